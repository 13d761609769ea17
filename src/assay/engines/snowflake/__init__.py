"""Snowflake, through its own connector."""
