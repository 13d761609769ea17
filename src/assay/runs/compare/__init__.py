"""Two runs or more over the same cases: what differs, and whether it is significant."""
