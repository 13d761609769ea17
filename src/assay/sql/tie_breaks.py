"""Break the ties on which a query's own choice of rows depends: those of ROW_NUMBER and of DISTINCT ON.

Each way breaks ties by additional keys, and so makes a choice that the query itself might make: its result is one
of the right answers. The ways sort by each output in turn, ascending and descending, to reach the extreme choices:
where all of them give the same answer, the choice does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.sql.order_rules import order_rules
from assay.sql.query_text import QueryText, closing, ctes_before, is_token
from assay.sql.shape import parse_query

if TYPE_CHECKING:
    from sqlglot import exp

_MOST_LEADING = 6
"""At most this many outputs are tried as the first key to break ties."""


class TieBreak(Struct, frozen=True, kw_only=True):
    """One place where a query chooses among rows that may tie."""

    whole: str
    place: int
    """The place in the text for additional keys."""
    before: str
    """The text before them: a comma, or an ORDER BY where the query lacks one."""
    keys: tuple[str, ...]
    """The outputs as keys: tied rows that agree in all of them are interchangeable."""
    columns_of: str | None
    """A query without rows whose columns are the outputs; None where no star hides their names."""
    named: frozenset[str]
    """Outputs named by an alias: these names are not columns to sort by."""
    by_place: bool
    """Whether the keys are places of outputs."""
    dialect: str

    def ways(self, columns: Sequence[str]) -> Iterator[str]:
        """The whole query with its ties broken in several ways; ``columns`` are those of `columns_of`."""
        from sqlglot import exp

        terms = list(self.keys)
        if columns and self.by_place:
            terms = [str(place) for place in range(1, len(columns) + 1)]
        elif columns:
            names = [name for name in columns if name.lower() not in self.named]
            terms += [exp.to_identifier(name, quoted=True).sql(self.dialect) for name in names]
        rules = order_rules(self.dialect)
        first, last = (" NULLS FIRST", " NULLS LAST") if rules.nulls_stay else ("", "")
        for lead in range(min(len(terms), _MOST_LEADING)):
            turned = [f"{term}{rules.exact_collation}" for term in (*terms[lead:], *terms[:lead])]
            for more in ([f"{term}{first}" for term in turned], [f"{term} DESC{last}" for term in turned]):
                yield f"{self.whole[: self.place]}{self.before} {', '.join(more)}{self.whole[self.place :]}"


def tie_breaks(query: str, dialect: str) -> list[TieBreak]:
    """The places where a query chooses rows by ROW_NUMBER or DISTINCT ON. None where it cannot be read."""
    parsed = parse_query(query, dialect)
    text = QueryText.read(query, parsed.tokens) if parsed is not None else None
    if text is None:
        return []
    found: list[TieBreak | None] = []
    for place in range(len(text.tokens) - 4):
        following = [token.token_type.name for token in text.tokens[place + 1 : place + 5]]
        if text.tokens[place].text.upper() == "ROW_NUMBER" and following == ["L_PAREN", "R_PAREN", "OVER", "L_PAREN"]:
            found.append(_row_number(text, place, dialect))
        elif is_token(text.tokens[place], "DISTINCT") and following[:2] == ["ON", "L_PAREN"]:
            found.append(_distinct_on(text, place, dialect))
    return [one for one in found if one is not None]


def _row_number(text: QueryText, place: int, dialect: str) -> TieBreak | None:
    from sqlglot import exp

    over = closing(text.tokens, place + 4)
    around = _select_around(text, place, dialect)
    if over is None or around is None or not any(is_token(token, "ORDER_BY") for token in text.tokens[place:over]):
        return None
    read, tree = around
    outputs = [] if read.begins_with_from else tree.selects
    if len(read.outputs) != len(outputs):
        return None
    keys = [
        f"({bare})"
        for bare, output in zip(read.bare_outputs(outputs), outputs, strict=True)
        if not output.is_star and not output.find(exp.Window) and not isinstance(output.unalias(), exp.Literal)
    ]
    return TieBreak(
        whole=text.query,
        place=text.tokens[over].start,
        before=",",
        keys=tuple(keys),
        columns_of=_without_rows(text, read) if read.begins_with_from or tree.is_star else None,
        named=frozenset(output.alias.lower() for output in outputs if output.alias),
        by_place=False,
        dialect=dialect,
    )


def _distinct_on(text: QueryText, place: int, dialect: str) -> TieBreak | None:
    end = closing(text.tokens, place + 2)
    around = _select_around(text, place, dialect)
    if end is None or around is None:
        return None
    read, tree = around
    return TieBreak(
        whole=text.query,
        place=read.end,
        before="," if read.keys else f" ORDER BY {text.slice(text.tokens[place + 3 : end])},",
        keys=() if tree.is_star else tuple(str(number) for number in range(1, len(tree.selects) + 1)),
        columns_of=_without_rows(text, read) if tree.is_star else None,
        named=frozenset(),
        by_place=True,
        dialect=dialect,
    )


def _select_around(text: QueryText, place: int, dialect: str) -> tuple[QueryText, exp.Select] | None:
    """The innermost SELECT around a token, as text and as tree."""
    from sqlglot import exp

    tokens = text.tokens
    for opening in range(place, 0, -1):
        if is_token(tokens[opening - 1], "L_PAREN") and is_token(tokens[opening], "SELECT", "WITH", "FROM"):
            end = closing(tokens, opening - 1)
            if end is not None and end > place:
                tokens = tokens[opening:end]
                break
    read = QueryText.read(text.query, tokens)
    parsed = parse_query(text.query[tokens[0].start : tokens[-1].end + 1], dialect)
    if read is None or parsed is None or not isinstance(parsed.tree, exp.Select):
        return None
    return read, parsed.tree


def _without_rows(text: QueryText, read: QueryText) -> str:
    return f"{ctes_before(text, read.start)}SELECT * FROM ({read.uncut}) AS assay_none LIMIT 0"
