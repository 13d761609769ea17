"""Worker processes that outlive whatever their tasks do. Nothing is imported here: workers start in an instant."""
