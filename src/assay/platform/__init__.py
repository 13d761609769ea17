"""Operating system services: safeguards, temporary files, decompression, trusted certificates, shell quoting."""
