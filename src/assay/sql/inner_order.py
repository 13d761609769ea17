"""A query that is nothing but a LIMIT over an ordered one, written as a derived table or a CTE.

`SELECT * FROM (SELECT … ORDER BY x) LIMIT 1` asks for the first row by x. Its outermost query may
choose among columns, and does nothing else to the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.sql.query_text import QueryText, closing, is_token
from assay.sql.shape import cutting, outermost, parse_query

if TYPE_CHECKING:
    from sqlglot import Token, exp

_CHANGES_ROWS = (
    *("where", "group", "having", "distinct", "joins", "laterals", "windows", "qualify", "order", "match", "pivots"),
    *("sample", "cluster", "sort", "distribute", "connect"),
)


@dataclass(frozen=True, slots=True)
class OrderedInside:
    """An ordered query, and the plain one round it."""

    tree: exp.Query
    text: QueryText
    """Of the ordered one; its places are those in the whole query."""
    outer: QueryText
    place: tuple[int, int]
    """Where the ordered one stands in the whole, with its own LIMIT."""
    stars: bool
    """The outer one takes all columns as they are."""

    def around(self, inner: str, column: str) -> str:
        """The outer query, uncut, with another inner one, whose last column is handed out as the last."""
        outer, (start, stop) = self.outer, self.place
        if self.stars:
            return f"{outer.query[outer.start : start]}{inner}{outer.query[stop : outer.end]}"
        output = outer.outputs[-1][-1].end + 1
        if start < output:  # a CTE stands before
            middle = f"{inner}{outer.query[stop:output]}, {column}{outer.query[output : outer.end]}"
            return f"{outer.query[outer.start : start]}{middle}"
        middle = f"{outer.query[outer.start : output]}, {column}{outer.query[output:start]}"
        return f"{middle}{inner}{outer.query[stop : outer.end]}"


def ordered_inside(tree: exp.Query, text: QueryText, dialect: str) -> OrderedInside | None:
    """The ordered query inside, where the outermost is nothing but a LIMIT over it."""
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
    inner = text.query[place[0] : place[1]]
    parsed = parse_query(inner, dialect)
    # The tokens of the whole, so that places are those in it.
    tokens = [token for token in text.tokens if place[0] <= token.start and token.end < place[1]]
    read = QueryText.read(text.query, tokens) if parsed is not None else None
    if parsed is None or read is None or not isinstance(outermost(parsed.tree), exp.Select):
        return None
    if not outermost(parsed.tree).args.get("order"):
        return None
    return OrderedInside(parsed.tree, read, text, place, stars)


def _place(source: exp.Expr, tree: exp.Query, tokens: Sequence[Token]) -> tuple[int, int] | None:
    """Where the text of the source stands: of a derived table, or of the CTE of its name."""
    from sqlglot import exp

    if isinstance(source, exp.Subquery):
        if any(source.args.get(part) for part in ("limit", "offset", "order", "pivots", "sample")):
            return None
        opening = next(
            (
                place + 1
                for place in _at_depth_0(tokens)
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


def _at_depth_0(tokens: Sequence[Token]) -> list[int]:
    from assay.sql.query_text import at_top

    return [place for place in at_top(tokens) if place + 1 < len(tokens)]


def _body_of(name: str, tree: exp.Query, tokens: Sequence[Token]) -> int | None:
    """The parenthesis that opens a CTE's query. None for a recursive one, and for one that names its columns."""
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
