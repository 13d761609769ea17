"""Executions that runs share: kept in a folder by the content of the database, and never trusted without a check."""
