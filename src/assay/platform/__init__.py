"""Operating system services: safeguards, temporary files, decompression, shell quoting."""
