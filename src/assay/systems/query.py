"""Find the query in the text that a system answers."""

from assay.sql.extraction import clean_query

__all__ = ["clean_query"]
