"""Text files: encodings, JSON and YAML, with the place of what is wrong."""
