"""Worker processes that outlive crashes of their tasks. Nothing is imported here, so that workers start quickly."""
