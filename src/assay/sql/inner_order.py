"""A query that only puts a LIMIT on an ordered one, written as a derived table or a CTE.

`SELECT * FROM (SELECT … ORDER BY x) LIMIT 1` asks for the first row by x. Its outermost query may
select columns, but does nothing else to the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.sql.query_text import QueryText, at_top, closing, ctes_before, is_token
from assay.sql.shape import cutting, outermost, parse_query

if TYPE_CHECKING:
    from sqlglot import Token, exp

_CHANGES_ROWS = (
    *("where", "group", "having", "distinct", "joins", "laterals", "windows", "qualify", "order", "match", "pivots"),
    *("sample", "cluster", "sort", "distribute", "connect"),
)


class OrderedInside(Struct, frozen=True):
    """The ordered query inside a plain one."""

    alone: str
    """The ordered query by itself, with the CTEs before it."""
    place: tuple[int, int]
    """Its place in the whole text."""
    names: tuple[str, ...] | None
    """The columns that the outer query selects, in its order; None where it selects all as they are."""
    width: int
    """How many columns it returns; 0 where that is unknown."""


def ordered_inside(tree: exp.Query, text: QueryText, dialect: str) -> OrderedInside | None:
    """The ordered query inside, where the outermost query only puts a LIMIT on it."""
    from sqlglot import exp

    top = outermost(tree)
    if not isinstance(top, exp.Select) or any(top.args.get(part) for part in _CHANGES_ROWS) or not cutting(tree):
        return None
    source = top.args.get("from_") or top.args.get("from")
    outputs = top.selects
    stars = len(outputs) == 1 and isinstance(outputs[0], exp.Star) and not outputs[0].args.get("except")
    plain = all(isinstance(output.unalias(), exp.Column) and not output.is_star for output in outputs)
    if source is None or not (stars or plain) or text.begins_with_from:
        return None
    place = _place(source.this, tree, text.tokens)
    if place is None:
        return None
    parsed = parse_query(text.query[place[0] : place[1]], dialect)
    if parsed is None:
        return None
    columns = outermost(parsed.tree).selects
    return OrderedInside(
        alone=ctes_before(text, place[0]) + text.query[place[0] : place[1]],
        place=place,
        names=None if stars else tuple(output.unalias().name for output in outputs),
        width=0 if any(column.is_star for column in columns) else len(columns),
    )


def _place(source: exp.Expr, tree: exp.Query, tokens: Sequence[Token]) -> tuple[int, int] | None:
    """The place of the source's text: a derived table, or the CTE of that name."""
    from sqlglot import exp

    if isinstance(source, exp.Subquery):
        if any(source.args.get(part) for part in ("limit", "offset", "order", "pivots", "sample")):
            return None
        opening = next(
            (
                place + 1
                for place in at_top(tokens)[:-1]
                if is_token(tokens[place], "FROM") and is_token(tokens[place + 1], "L_PAREN")
            ),
            None,
        )
    elif isinstance(source, exp.Table) and not source.args.get("db"):
        opening = _body_of(source.name, tree, tokens)
    else:
        return None
    end = closing(tokens, opening) if opening is not None else None
    if opening is None or end is None or end == opening + 1:
        return None
    return tokens[opening + 1].start, tokens[end - 1].end + 1


def _body_of(name: str, tree: exp.Query, tokens: Sequence[Token]) -> int | None:
    """The parenthesis that opens a CTE's query. None for a recursive CTE, and for a CTE that names its columns."""
    holder = tree.args.get("with_") or tree.args.get("with") or outermost(tree).args.get("with_")
    if holder is None or holder.args.get("recursive"):
        return None
    named = [found for found in holder.expressions if found.alias.lower() == name.lower()]
    if len(named) != 1 or named[0].args["alias"].args.get("columns"):
        return None
    for place in range(len(tokens) - 2):
        if tokens[place].text.lower() == name.lower() and is_token(tokens[place + 1], "ALIAS"):
            opening = place + 2
            while opening < len(tokens) and not is_token(tokens[opening], "L_PAREN"):
                opening += 1  # NOT MATERIALIZED
            return opening if opening < len(tokens) else None
    return None
