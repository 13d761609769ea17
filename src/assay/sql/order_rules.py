"""What a name or a number in ORDER BY stands for, by each engine's own rule.

Every engine takes a whole key that is an output's alias for that output, and a whole number for an
output's place. They differ in what still counts as *whole*: parentheses, COLLATE, a plus sign.
Inside a larger expression a name is a column if there is one; otherwise some engines take the alias.
The table of tests/sql/test_order_rules.py runs each rule on its engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from assay.sql.query_text import QueryText, is_token, wholly_parenthesised

if TYPE_CHECKING:
    from sqlglot import Token

_MOST_READINGS = 4


class OrderRules(Struct, frozen=True, kw_only=True):
    """How one engine reads ORDER BY. The defaults hold for all engines."""

    collated_number: bool = False
    """``1 COLLATE c`` is still a place."""
    collated_name: bool = False
    """``name COLLATE c`` is still the alias."""
    signed_number: bool = False
    """``+1`` is still a place."""
    signed_name: bool = False
    """``+name`` is still the alias."""
    twice: Literal["first", "last"] = "first"
    """Which of two outputs with the same alias the alias stands for."""
    alias_inside: bool = False
    """Inside an expression, a name that is not a column may be an alias."""
    exact_case: bool = False
    """Quoted names keep their case, other names are in lower case."""
    quotes_fall_back: bool = False
    """An unknown double-quoted name silently becomes text."""
    keeps_inner_order: bool = False
    """A LIMIT directly on an ordered inner query takes that query's first rows."""
    nulls_stay: bool = False
    """NULLs come last whatever the direction, unless the key says where."""
    exact_collation: str = ""
    """A suffix to a place in ORDER BY that makes the comparison of texts exact."""


_RULES = {
    "sqlite": OrderRules(
        collated_number=True,
        collated_name=True,
        signed_number=True,
        alias_inside=True,
        quotes_fall_back=True,
        keeps_inner_order=True,
        exact_collation=" COLLATE BINARY",
    ),
    "duckdb": OrderRules(collated_name=True, twice="last", alias_inside=True, keeps_inner_order=True, nulls_stay=True),
    "postgres": OrderRules(exact_case=True, keeps_inner_order=True),
    "mysql": OrderRules(signed_number=True, signed_name=True, alias_inside=True),
}


def order_rules(dialect: str) -> OrderRules:
    """The rules of the engine with this dialect; for an unknown one, the rules that hold for all."""
    return _RULES.get(dialect, OrderRules())


class OrderKey(Struct, frozen=True):
    """What one key of an ORDER BY stands for."""

    output: int | None
    """The output that the whole key stands for, from 0; None where it is an expression of its own."""
    core: int | None
    """The place, among the key's tokens, of the name or number that stands for the output."""
    constant: bool = False
    """The key has no name and is not a place: its meaning is not guessed."""


def read_key(tokens: Sequence[Token], aliases: Sequence[str | None], rules: OrderRules) -> OrderKey:
    """Read one key. ``aliases`` are the outputs' aliases as written, None for an output without one."""
    number, name = _core(tokens, rules, number=True), _core(tokens, rules, number=False)
    if number is not None and is_token(tokens[number], "NUMBER"):
        if tokens[number].text.isdecimal():
            return OrderKey(int(tokens[number].text) - 1, number)
        return OrderKey(None, None, constant=True)
    if name is not None and not is_token(tokens[name], "NUMBER", "STRING"):
        spelt = spelling(tokens[name], rules)
        places = [place for place, alias in enumerate(aliases) if alias is not None and alias == spelt]
        if places:
            return OrderKey(places[0 if rules.twice == "first" else -1], name)
        return OrderKey(None, None)
    return OrderKey(None, None, constant=not any(_may_name(token) for token in tokens))


def spelling(token: Token, rules: OrderRules) -> str:
    """A name as the engine compares it."""
    quoted = is_token(token, "IDENTIFIER")
    return token.text if rules.exact_case and quoted else token.text.lower()


def readings(text: QueryText, tokens: Sequence[Token], outputs: dict[str, str], rules: OrderRules) -> Iterator[str]:
    """The possible readings of the expression ``tokens``: first with all names as columns, then with aliases.

    The first reading that the engine can run is the engine's own: it takes an alias only where there is
    no such column. ``outputs`` are the bare expressions by their aliases.
    """
    found: dict[str, list[int]] = {}
    for place, token in enumerate(tokens):
        qualified = place > 0 and is_token(tokens[place - 1], "DOT")
        called = place + 1 < len(tokens) and is_token(tokens[place + 1], "L_PAREN")
        if qualified or called or is_token(token, "STRING", "NUMBER"):
            continue
        spelt = spelling(token, rules)
        if spelt in outputs:
            found.setdefault(spelt, []).append(place)
    as_columns = {}
    if rules.quotes_fall_back:
        quoted = [place for places in found.values() for place in places if is_token(tokens[place], "IDENTIFIER")]
        as_columns = {place: f"[{tokens[place].text}]" for place in quoted if "]" not in tokens[place].text}
    given = 0
    for size in range(len(found) + 1 if rules.alias_inside else 1):
        for taken in combinations(found, size):
            if given == _MOST_READINGS:
                return
            given += 1
            aliased = {place: outputs[name] for name in taken for place in found[name]}
            yield text.replaced(tokens, {**as_columns, **aliased})


def _core(tokens: Sequence[Token], rules: OrderRules, *, number: bool) -> int | None:
    """The place of a key's only token once direction, parentheses, COLLATE and plus are removed."""
    collated = rules.collated_number if number else rules.collated_name
    signed = rules.signed_number if number else rules.signed_name
    start, stop = 0, key_end(tokens)
    while stop - start > 1:
        if wholly_parenthesised(tokens[start:stop]):
            start, stop = start + 1, stop - 1
        elif collated and stop - start > 2 and is_token(tokens[stop - 2], "COLLATE"):
            stop -= 2
        elif signed and is_token(tokens[start], "PLUS"):
            start += 1
        else:
            return None
    return start if stop > start else None


def key_end(tokens: Sequence[Token]) -> int:
    """The place where a key's ASC, DESC, NULLS FIRST and the like begin."""
    stop = len(tokens)
    if stop > 2 and tokens[stop - 2].text.upper() == "NULLS" and tokens[stop - 1].text.upper() in ("FIRST", "LAST"):
        stop -= 2
    if stop > 1 and is_token(tokens[stop - 1], "ASC", "DESC"):
        stop -= 1
    return stop


def _may_name(token: Token) -> bool:
    """Whether a token may name something that differs from row to row."""
    return is_token(token, "VAR", "IDENTIFIER", "SELECT", "STAR") or (
        token.text[:1].isalpha() and not is_token(token, "STRING", "COLLATE", "ASC", "DESC", "NULL", "TRUE", "FALSE")
    )
