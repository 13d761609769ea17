"""The data behind selections: read from files or a service, and filtered by a selection."""
