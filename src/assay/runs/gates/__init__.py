"""What a run must reach so that a build may pass, and whether it does."""
