"""What a run must reach: validated before it starts, and evaluated afterwards."""
