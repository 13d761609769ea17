"""A query's outermost SELECT as text, by the positions of its tokens: cut and joined, never generated from a tree.

So an engine sees the author's own text, quirks included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from sqlglot import Token, exp


class QueryText(Struct, frozen=True, kw_only=True):
    """The outermost SELECT of a query as text, by the positions of its tokens."""

    query: str
    start: int
    end: int
    """The end of the query before LIMIT, OFFSET and the clauses after them."""
    whole_end: int
    """The end of the query with them."""
    outputs: tuple[tuple[Token, ...], ...]
    keys: tuple[tuple[Token, ...], ...]
    begins_with_from: bool
    """The query has no SELECT; FROM is its first word (DuckDB)."""
    tokens: tuple[Token, ...]
    """The query's tokens, without parentheses around it."""
    distinct: bool

    @classmethod
    def read(cls, query: str, tokens: Sequence[Token]) -> QueryText | None:
        """Find the positions. None where the tokens are not a plain query's."""
        tokens = unwrapped(tokens)
        if not tokens:
            return None
        top = at_top(tokens)
        last = _cut_place(tokens, top)
        last = len(tokens) if last is None else last
        if last < 1:
            return None
        select = next((place for place in top if is_token(tokens[place], "SELECT")), None)
        order = next((place for place in reversed(top) if place < last and is_token(tokens[place], "ORDER_BY")), None)
        keys = split_at_commas(tokens, order + 1, last) if order is not None else ()
        outputs: tuple[tuple[Token, ...], ...] = ()
        distinct = False
        if select is not None:
            begin = select + 1
            while begin < len(tokens) and is_token(tokens[begin], "DISTINCT", "ALL"):
                distinct = distinct or is_token(tokens[begin], "DISTINCT")
                begin += 1
            stop = next((place for place in top if place >= begin and _ends_outputs(tokens, place)), last)
            outputs = split_at_commas(tokens, begin, min(stop, last))
        return cls(
            query=query,
            start=tokens[0].start,
            end=tokens[last - 1].end + 1,
            whole_end=tokens[-1].end + 1,
            outputs=outputs,
            keys=keys,
            begins_with_from=select is None and is_token(tokens[0], "FROM"),
            tokens=tuple(tokens),
            distinct=distinct,
        )

    @property
    def uncut(self) -> str:
        """The query without LIMIT and OFFSET."""
        return self.query[self.start : self.end]

    def with_column(self, column: str) -> str:
        """The uncut query with one more output column at the end."""
        if self.begins_with_from:
            return f"SELECT *, {column} {self.uncut}"
        place = self.outputs[-1][-1].end + 1
        return f"{self.query[self.start : place]}, {column}{self.query[place : self.end]}"

    def with_keys(self, count: int, more: str) -> str:
        """The uncut query, ordered by its first ``count`` keys and then by further keys."""
        return f"{self.query[self.start : self.keys[count - 1][-1].end + 1]}, {more}"

    def slice(self, tokens: Sequence[Token]) -> str:
        """The text from the first to the last of these tokens."""
        return self.query[tokens[0].start : tokens[-1].end + 1] if tokens else ""

    def bare_outputs(self, outputs: Sequence[exp.Expr]) -> list[str]:
        """The output expressions without their aliases."""
        from sqlglot import exp

        texts: list[str] = []
        for tokens, output in zip(self.outputs, outputs, strict=True):
            bare = tokens
            if isinstance(output, exp.Alias):
                bare = tokens[:-2] if len(tokens) > 2 and is_token(tokens[-2], "ALIAS") else tokens[:-1]
            texts.append(self.slice(bare))
        return texts

    def replaced(self, tokens: Sequence[Token], texts: Mapping[int, str]) -> str:
        """The text of these tokens, with some of them, given by place, replaced."""
        parts: list[str] = []
        position = tokens[0].start
        for place, token in enumerate(tokens):
            parts.append(self.query[position : token.start])
            parts.append(texts.get(place, self.query[token.start : token.end + 1]))
            position = token.end + 1
        return "".join(parts)


def is_token(token: Token, *names: str) -> bool:
    """Whether a token has one of these types."""
    return token.token_type.name in names


def unwrapped(tokens: Sequence[Token]) -> Sequence[Token]:
    """The tokens without trailing semicolons, parentheses around the whole, and a LIMIT after such parentheses."""
    while tokens and is_token(tokens[-1], "SEMICOLON"):
        tokens = tokens[:-1]
    while tokens and is_token(tokens[0], "L_PAREN"):
        cut = _cut_place(tokens, at_top(tokens))
        inner = tokens if cut is None else tokens[:cut]
        if not wholly_parenthesised(inner):
            break
        tokens = inner[1:-1]
    return tokens


def wholly_parenthesised(tokens: Sequence[Token]) -> bool:
    """Whether the first token is a parenthesis that the last one closes."""
    if len(tokens) < 2 or not is_token(tokens[0], "L_PAREN"):
        return False
    return closing(tokens, 0) == len(tokens) - 1


def closing(tokens: Sequence[Token], opening: int) -> int | None:
    """The place of the parenthesis that closes the one at ``opening``."""
    depth = 0
    for place in range(opening, len(tokens)):
        depth += is_token(tokens[place], "L_PAREN") - is_token(tokens[place], "R_PAREN")
        if depth == 0:
            return place
    return None


def at_top(tokens: Sequence[Token]) -> list[int]:
    """Places of the tokens outside all parentheses, without the parentheses themselves."""
    places: list[int] = []
    depth = 0
    for place, token in enumerate(tokens):
        if is_token(token, "L_PAREN", "L_BRACKET", "L_BRACE"):
            depth += 1
        elif is_token(token, "R_PAREN", "R_BRACKET", "R_BRACE"):
            depth -= 1
        elif depth == 0:
            places.append(place)
    return places


def _cut_place(tokens: Sequence[Token], top: Sequence[int]) -> int | None:
    """The place where the last run of LIMIT, OFFSET or FETCH clauses begins."""
    cuts = [place for place in top if is_token(tokens[place], "LIMIT", "OFFSET", "FETCH")]
    barrier = max(
        (place for place in top if is_token(tokens[place], "ORDER_BY", "FROM", "UNION", "EXCEPT", "INTERSECT")),
        default=-1,
    )
    return next((place for place in cuts if place > barrier), None)


def _ends_outputs(tokens: Sequence[Token], place: int) -> bool:
    if is_token(tokens[place], "FROM"):
        return not is_token(tokens[place - 1], "DISTINCT")  # not the FROM of IS DISTINCT FROM
    return is_token(
        tokens[place], "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT", "OFFSET", "FETCH", "WINDOW", "QUALIFY"
    )


def split_at_commas(tokens: Sequence[Token], start: int, stop: int) -> tuple[tuple[Token, ...], ...]:
    """The tokens between two places, split at the commas outside parentheses."""
    parts: list[tuple[Token, ...]] = []
    depth, begin = 0, start
    for place in range(start, stop):
        token = tokens[place]
        if is_token(token, "L_PAREN", "L_BRACKET", "L_BRACE"):
            depth += 1
        elif is_token(token, "R_PAREN", "R_BRACKET", "R_BRACE"):
            depth -= 1
        elif depth == 0 and is_token(token, "COMMA"):
            parts.append(tuple(tokens[begin:place]))
            begin = place + 1
    parts.append(tuple(tokens[begin:stop]))
    return tuple(part for part in parts if part)


def ctes_before(text: QueryText, position: int) -> str:
    """The part of the WITH clause whose CTEs a query at this position can use."""
    tokens = text.tokens
    if not is_token(tokens[0], "WITH"):
        return ""
    stop: int | None = None
    place = 1
    while place < len(tokens):
        if is_token(tokens[place], "L_PAREN"):
            end = closing(tokens, place)
            if end is None:
                return ""
            if tokens[place].start < position <= tokens[end].start:
                break  # this CTE holds the inner query
            if end + 1 < len(tokens) and is_token(tokens[end + 1], "COMMA"):
                stop, place = end, end + 2
                continue
            if end + 1 < len(tokens) and is_token(tokens[end + 1], "ALIAS"):
                place = end + 1  # a list of columns
                continue
            stop = end
            break
        place += 1
    return "" if stop is None else text.query[tokens[0].start : tokens[stop].end + 1] + " "
