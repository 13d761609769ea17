"""The text of a query within another one, by which a server says what it is without running it."""

from __future__ import annotations


def wrapped(text: str) -> str:
    """A query that parses only if the text is one query itself: the body of a common table expression is nothing else.

    In the place of a table it would not do: there ``(SHOW TABLES)`` is a table SHOW with an alias.
    """
    return f"WITH assay_query AS (\n{text}\n) SELECT * FROM assay_query"
