"""Executions that runs share: cached in a folder by the content of the database, and never trusted without a check."""
