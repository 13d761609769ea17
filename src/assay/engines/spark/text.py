"""The text of a query within another one, which lets a server classify it without running it."""

from __future__ import annotations


def wrapped(text: str) -> str:
    """A query that parses only if the text is one query itself, because the body of a common table expression is
    nothing else.

    A subquery in FROM would not do: there ``(SHOW TABLES)`` is a table SHOW with an alias.
    """
    return f"WITH assay_query AS (\n{text}\n) SELECT * FROM assay_query"
