"""Where queries run: URLs, schemas, secrets, and suites of small databases."""
