"""Spark by Spark Connect, and Databricks' SQL warehouses by their own connector."""
