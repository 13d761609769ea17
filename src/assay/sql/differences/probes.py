"""Small queries about another query, for its diagnosis."""

from __future__ import annotations

from assay.sql.nodes import exp
from assay.sql.shape import outermost, parse_query


def count_of_joined_rows(query: str, dialect: str) -> str | None:
    """The query that counts the rows of the outermost FROM and WHERE; None if there is no such SELECT."""
    parsed = parse_query(query, dialect)
    if parsed is None:
        return None
    try:
        tree = outermost(parsed.tree)
        if not isinstance(tree, exp.Select) or tree.args.get("from_") is None:
            return None
        made = exp.Select(expressions=[exp.Count(this=exp.Star())])
        for part in ("with_", "from_", "where"):
            found = tree.args.get(part)
            made.set(part, found.copy() if found is not None else None)
        made.set("joins", [join.copy() for join in tree.args.get("joins") or ()])
        return made.sql(dialect)
    except RecursionError:
        return None


def quoted_for(name: str, dialect: str) -> str:
    """An identifier in a dialect's quotes."""
    return exp.to_identifier(name, quoted=True).sql(dialect)
