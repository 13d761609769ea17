"""What a table's own statement says of its columns' values, beside type and constraints: collations and formulas."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from sqlglot import Token

_WORTH_READING = re.compile(r"\b(?:as|collate|strict)\b", re.IGNORECASE)
_KEPT_AS = frozenset({"stored", "virtual"})


class ColumnClauses(Struct, frozen=True, kw_only=True):
    """What a column's definition says that decides which value it holds, and which of its values are equal."""

    collation: str = ""
    """``COLLATE NOCASE``, as it is written; empty: none."""
    formula: str = ""
    """``(a + b)``: what the column is computed by; empty: it is given."""
    kept: str = ""
    """Of a computed column, ``STORED`` or ``VIRTUAL`` where that is said."""

    @property
    def text(self) -> str:
        """All of it, as it may follow the column's type."""
        computed = f"GENERATED ALWAYS AS {self.formula}" if self.formula else ""
        return " ".join(filter(None, (self.collation, computed, self.kept)))


class TableClauses(Struct, frozen=True, kw_only=True):
    """The clauses of a table."""

    columns: Mapping[str, ColumnClauses]
    """By the columns' names in lower case, of those that have any."""
    strict: bool = False
    """SQLite's STRICT, under which a column of the type ANY keeps each value as it is given."""

    def without_collations(self) -> TableClauses:
        """The clauses for an engine that lacks these collations."""
        formulas = {name: replace(one, collation="") for name, one in self.columns.items() if one.formula}
        return replace(self, columns=formulas)


NO_CLAUSES = TableClauses(columns={})


@lru_cache(maxsize=512)
def table_clauses(ddl: str, dialect: str) -> TableClauses:
    """The clauses of a CREATE TABLE statement; none of one that cannot be cut into tokens."""
    if not _WORTH_READING.search(ddl):
        return NO_CLAUSES
    from sqlglot import Dialect
    from sqlglot.errors import SqlglotError

    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(ddl)
    except SqlglotError:
        return NO_CLAUSES
    columns: dict[str, ColumnClauses] = {}
    parts, rest = _parts(tokens)
    for part in parts:
        found = _clauses(ddl, part)
        if found.text:
            columns.setdefault(part[0].text.lower(), found)
    return TableClauses(columns=columns, strict=any(token.text.lower() == "strict" for token in rest))


def _parts(tokens: Sequence[Token]) -> tuple[list[list[Token]], Sequence[Token]]:
    """The comma-separated parts between the statement's outermost parentheses, and what follows these."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for number, token in enumerate(tokens):
        kind = token.token_type.name
        if kind == "R_PAREN":
            depth -= 1
            if depth == 0:
                return [part for part in parts if part], tokens[number + 1 :]
        if depth == 1 and kind == "COMMA":
            parts.append([])
        elif depth:
            parts[-1].append(token)
        if kind == "L_PAREN":
            depth += 1
    return [], ()


def _clauses(ddl: str, part: Sequence[Token]) -> ColumnClauses:
    collation = formula = kept = ""
    depth = 0
    words = [token.text.lower() if token.token_type.name not in ("IDENTIFIER", "STRING") else "" for token in part]
    for number, token in enumerate(part):
        if token.token_type.name == "R_PAREN":
            depth -= 1
        if depth == 0 and number:
            if words[number] == "collate" and number + 1 < len(part):
                collation = _text(ddl, token, _last_of_name(part, number + 1))
            elif words[number].split(" ")[-1] == "as" and number + 1 < len(part) and part[number + 1].text == "(":
                end = _closing(part, number + 1)
                formula = _text(ddl, part[number + 1], part[end])
                kept = words[end + 1].upper() if end + 1 < len(part) and words[end + 1] in _KEPT_AS else ""
        if token.token_type.name == "L_PAREN":
            depth += 1
    return ColumnClauses(collation=collation, formula=formula, kept=kept)


def _last_of_name(part: Sequence[Token], start: int) -> Token:
    """The last token of a name with dots, as DuckDB combines collations: ``nocase.noaccent``."""
    last = start
    while last + 2 < len(part) and part[last + 1].text == ".":
        last += 2
    return part[last]


def _closing(part: Sequence[Token], start: int) -> int:
    depth = 0
    for number in range(start, len(part)):
        kind = part[number].token_type.name
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if depth == 0:
            return number
    return len(part) - 1


def _text(ddl: str, first: Token, last: Token) -> str:
    return ddl[first.start : last.end + 1]
