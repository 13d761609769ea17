"""Ask a live system under test (rooms for them open with the first live system)."""
