"""Question sets and answers of SDMX assistants."""
