"""What the operating system and its tools lend: safeguards, temporary files, decompression, quoting for a shell."""
