"""The clauses of a CREATE TABLE as written: types, collations, formulas, CHECK conditions, options.

Also whether an untrusted statement only makes a table, a view or an index.

The text is split into tokens, not parsed: it is copied into other statements, so that each engine must get it
unchanged, and sqlglot's tree loses clauses that SQLite accepts (``VIRTUAL``, ``STRICT``, ``CONSTRAINT x AS (a)``, the
names of functions). Nor may a collation or a CHECK get lost because another part of the statement cannot be parsed.
`assay.sql.schema.ddl` reads the rest, including keys and references, from the tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from sqlglot import Token

_LONGEST = 200_000
"""Maximum number of characters of a statement that are read."""
_CONSTRAINTS = frozenset({"constraint", "primary", "foreign", "unique", "check"})
"""Reserved words with which a table constraint begins."""
_BEFORE_KIND = frozenset({"or", "replace", "temp", "temporary", "virtual"})
_FILLS = frozenset({"as", "select", "values", "from"})
"""Words after a table's columns that would fill it on creation."""
_SQLITE_TYPE = re.compile(r"(?:\w+(?:\s+\w+)*(?:\s*\(\s*\d+(?:\s*,\s*\d+)?\s*\))?)?")
_STORAGE = frozenset({"stored", "virtual"})
_AFTER_TYPE = frozenset(
    {"constraint", "primary", "not", "null", "unique", "check", "default", "collate", "references", "generated", "as"}
    | {"on", "autoincrement"}
)


class ColumnClauses(Struct, frozen=True, kw_only=True):
    """The clauses of a column that decide which value it holds, and which of its values are equal."""

    type: str = ""
    """As written, which decides in SQLite how values are stored; empty if there is none."""
    collation: str = ""
    """``COLLATE NOCASE``, as written; empty if there is none."""
    formula: str = ""
    """``(a + b)``: how the column is computed; empty if it is stored as given."""
    storage: str = ""
    """For a computed column, ``STORED`` or ``VIRTUAL`` if given."""

    @property
    def text(self) -> str:
        """What may follow the column's type."""
        computed = f"GENERATED ALWAYS AS {self.formula}" if self.formula else ""
        return " ".join(filter(None, (self.collation, computed, self.storage)))


class TableClauses(Struct, frozen=True, kw_only=True):
    """The clauses of a table."""

    columns: Mapping[str, ColumnClauses]
    """By the columns' names in lower case."""
    checks: tuple[str, ...] = ()
    """The CHECK conditions, in order."""
    options: frozenset[str] = frozenset()
    """The words that follow the columns, in lower case: ``strict``, ``without``, ``rowid``."""
    end: int = 0
    """The offset in the text after the columns' closing parenthesis."""

    @property
    def strict(self) -> bool:
        """SQLite's STRICT, with which a column of the type ANY stores each value unchanged."""
        return "strict" in self.options

    def without_collations(self) -> TableClauses:
        """The clauses for an engine that lacks these collations."""
        return replace(self, columns={name: replace(one, collation="") for name, one in self.columns.items()})


NO_CLAUSES = TableClauses(columns={})


@lru_cache(maxsize=512)
def table_clauses(ddl: str, dialect: str) -> TableClauses:
    """The clauses of a CREATE TABLE statement; empty if it cannot be tokenized."""
    tokens = _tokens(ddl, dialect) if len(ddl) <= _LONGEST else ()
    if not tokens:
        return NO_CLAUSES
    parts, rest = _parts(tokens)
    columns: dict[str, ColumnClauses] = {}
    for part in parts:
        if _first_word(part[0]) not in _CONSTRAINTS:
            columns.setdefault(part[0].text.lower(), _column(ddl, part))
    return TableClauses(
        columns=columns,
        checks=tuple(_checks(ddl, tokens)),
        options=frozenset(word for token in rest for word in _word(token).split()),
        end=rest[0].start if rest else len(ddl),
    )


class MadeTable(Struct, frozen=True):
    """What a statement makes, by name."""

    name: tuple[str, ...]
    """The name with its qualifiers, for example its schema."""
    columns: tuple[str, ...]
    """Empty if it does not list them, for example a view."""


def made_table(ddl: str, dialect: str) -> MadeTable | None:
    """The table or view that a CREATE statement makes; None for any other text. Only names are read, not types."""
    tokens = _tokens(ddl, dialect)
    place = next((number for number, token in enumerate(tokens) if _word(token) in ("table", "view")), len(tokens)) + 1
    while place < len(tokens) and _word(tokens[place]) in _BEFORE_NAME:
        place += 1
    last = _end_of_name(tokens, place)
    name = tokens[place : last + 1 : 2]
    if not name or not all(token.token_type.name in _IN_QUOTES or _NAME.match(token.text) for token in name):
        return None
    parts = _parts(tokens)[0] if tokens[last + 1 : last + 2] and tokens[last + 1].text == "(" else []
    columns, within = [], 0
    for part in parts:
        if within <= 0 and not _is_constraint(part):
            columns.append(part[0].text)
        within += _angles(part)  # the fields of STRUCT<a INT64, b STRING> are split, too
    return MadeTable(tuple(token.text for token in name), tuple(columns))


def _angles(part: Sequence[Token]) -> int:
    """How many more angle brackets are opened than closed outside of parentheses."""
    depth = found = 0
    for token in part:
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and not token.text.strip("<>"):
            found += token.text.count("<") - token.text.count(">")
    return found


_BEFORE_NAME = frozenset({"if", "not", "exists", "if not exists"})
_IN_QUOTES = frozenset({"IDENTIFIER", "STRING"})
_NAME = re.compile(r"[^\W\d]")
_MAY_BE_COLUMNS = frozenset({"key", "index", "fulltext", "spatial", "exclude", "period", "like"})
"""Words that begin a constraint in some dialects, and may be column names in others."""


def _is_constraint(part: Sequence[Token]) -> bool:
    """Whether a part between a table's parentheses is not a column, in any dialect: ``KEY by_name (name)``."""
    word = _first_word(part[0])
    if word in _CONSTRAINTS:
        return True
    follows = [token.token_type.name for token in part[1:3]]
    return word in _MAY_BE_COLUMNS and ("L_PAREN" in follows) and not _is_type(part)


def _is_type(part: Sequence[Token]) -> bool:
    """Whether the parentheses after a word contain a number, as in ``key VARCHAR(20)``."""
    return len(part) > 3 and part[2].text == "(" and part[3].token_type.name == "NUMBER"


def check_conditions(ddl: str, dialect: str) -> tuple[str, ...]:
    """The CHECK conditions of a CREATE TABLE statement as written, in order."""
    return table_clauses(ddl, dialect).checks if "check" in ddl.lower() else ()


def without_sqlites_own(ddl: str) -> str:
    """A SQLite CREATE TABLE without the clauses in `table_clauses`, which sqlglot may not be able to parse.

    Each type that SQLite reads as one is TEXT. Columns' collations, formulas and options are omitted, as are the names
    of constraints, the direction of keys, and conflict clauses.
    """
    tokens = _tokens(ddl, "sqlite")
    written = []
    for part in _parts(tokens)[0]:
        words: list[str] = []
        number = 0
        is_column = _first_word(part[0]) not in _CONSTRAINTS
        if is_column:
            type_end = _end_of_type(part)
            kind = _text(ddl, part[1], part[type_end]) if type_end else ""
            words = [_text(ddl, part[0], part[0]), "TEXT" if _SQLITE_TYPE.fullmatch(kind) else kind]
            number = type_end + 1
        while number < len(part):
            match [_word(token) for token in part[number : number + 2]]:
                case ["generated" | "always" | "asc" | "desc", *_]:
                    number += 1
                case ["as", "("]:
                    number = _closing(part, number + 1) + 1
                    number += number < len(part) and _word(part[number]) in _STORAGE
                case ["constraint", _]:
                    number += 2
                case ["on", "conflict"]:
                    number += 3
                case ["collate", _] if is_column:  # in a key, it decides what is unique
                    number = _end_of_name(part, number + 1) + 1
                case _:
                    words.append(_text(ddl, part[number], part[number]))
                    number += 1
        written.append(" ".join(words))
    return f"{ddl[: tokens[_opening(tokens)].start]} ({', '.join(written)})" if written else ddl


def only_makes(statement: str, kind: str, dialect: str) -> bool:
    """Whether a statement makes one empty table, or one view, and does nothing else."""
    tokens = _tokens(statement, dialect)
    if tokens and _is_end(tokens[-1]):
        tokens = tokens[:-1]
    words = [_word(token) for token in tokens]
    place = next((number for number, word in enumerate(words[1:], 1) if word not in _BEFORE_KIND), len(words))
    if words[:1] != ["create"] or words[place : place + 1] != [kind] or any(map(_is_end, tokens)):
        return False
    if kind == "view" or "virtual" in words[:place]:
        return True
    # The outermost parentheses contain the columns. Without them, a query would fill the table.
    first = _opening(tokens)
    last = _closing(tokens, first)
    named, after = words[place + 1 : first], words[last + 1 :]
    return 0 < len(named) <= 6 and last < len(tokens) and _FILLS.isdisjoint((*named, *after))


def only_makes_index(statement: str, dialect: str) -> bool:
    """Whether a statement makes one index and does nothing else."""
    tokens = _tokens(statement, dialect)
    words = [token.text.lower() for token in tokens[:3]]
    return words[:1] == ["create"] and words[1:2] in (["index"], ["unique"]) and not any(map(_is_end, tokens))


def stays_inside(fragment: str, dialect: str) -> bool:
    """Whether a part of a statement, for example a column's type, ends at its apparent end: no parenthesis closes
    early."""
    tokens = _tokens(f"({fragment}\n)", dialect)
    is_whole = len(tokens) > 2 and _closing(tokens, 0) == len(tokens) - 1
    return not fragment.strip() or (is_whole and not any(map(_is_end, tokens)))


def _tokens(text: str, dialect: str) -> Sequence[Token]:
    """Empty for a text that cannot be tokenized."""
    from sqlglot import Dialect
    from sqlglot.errors import SqlglotError

    try:
        return Dialect.get_or_raise(dialect).tokenize(text)
    except (SqlglotError, ValueError):
        return ()


def _checks(ddl: str, tokens: Sequence[Token]) -> Iterator[str]:
    """CHECK is a reserved word: a column of that name must be quoted, so that the word always begins a constraint."""
    end = 0
    for number, token in enumerate(tokens[:-1]):
        if number >= end and _word(token) == "check" and tokens[number + 1].token_type.name == "L_PAREN":
            end = _closing(tokens, number + 1)
            if number + 2 < end < len(tokens):
                yield _text(ddl, tokens[number + 2], tokens[end - 1])


def _parts(tokens: Sequence[Token]) -> tuple[list[Sequence[Token]], Sequence[Token]]:
    """The comma-separated parts between the statement's outermost parentheses, and what follows these."""
    first = _opening(tokens)
    last = _closing(tokens, first)
    if last == len(tokens):
        return [], ()
    parts: list[Sequence[Token]] = []
    start = number = first + 1
    while number <= last:
        kind = tokens[number].token_type.name
        if kind == "L_PAREN":
            number = _closing(tokens, number)
        elif kind == "COMMA" or number == last:
            parts.append(tokens[start:number])
            start = number + 1
        number += 1
    return [part for part in parts if part], tokens[last + 1 :]


def _column(ddl: str, part: Sequence[Token]) -> ColumnClauses:
    """The clauses of one column, from its tokens starting at its name."""
    type_end = _end_of_type(part)
    found = ColumnClauses(type=_text(ddl, part[1], part[type_end]) if type_end else "")
    number = type_end + 1
    while number < len(part):
        word, kind = _word(part[number]), part[number].token_type.name
        end = _closing(part, number) if kind == "L_PAREN" else number
        if word == "collate" and number + 1 < len(part):
            end = _end_of_name(part, number + 1)
            found = replace(found, collation=_text(ddl, part[number], part[end]))
        elif word.split(" ")[-1:] == ["as"] and number + 1 < len(part) and part[number + 1].text == "(":
            end = _closing(part, number + 1)
            storage = _word(part[end + 1]) if end + 1 < len(part) else ""
            formula = _text(ddl, part[number + 1], part[end])
            found = replace(found, formula=formula, storage=storage.upper() if storage in _STORAGE else "")
        number = end + 1
    return found


def _end_of_type(part: Sequence[Token]) -> int:
    """The index of the last token of a column's type; 0 if it has none."""
    place = 0
    while place + 1 < len(part) and _first_word(part[place + 1]) not in _AFTER_TYPE:
        is_open = part[place + 1].token_type.name == "L_PAREN"
        place = min(_closing(part, place + 1), len(part) - 1) if is_open else place + 1
    return place


def _first_word(token: Token) -> str:
    """``primary`` of ``PRIMARY KEY``, which is one token."""
    return _word(token).partition(" ")[0]


def _word(token: Token) -> str:
    """A keyword or a name without quotes, in lower case; empty for anything in quotes."""
    return "" if token.token_type.name in ("IDENTIFIER", "STRING") else token.text.lower()


def _end_of_name(part: Sequence[Token], start: int) -> int:
    """The last token of a name with dots, for example DuckDB's combined collations: ``nocase.noaccent``."""
    last = start
    while last + 2 < len(part) and part[last + 1].text == ".":
        last += 2
    return last


def _is_end(token: Token) -> bool:
    return token.token_type.name == "SEMICOLON"


def _opening(tokens: Sequence[Token]) -> int:
    """The index of the first parenthesis; one after the last token if there is none."""
    return next((number for number, token in enumerate(tokens) if token.token_type.name == "L_PAREN"), len(tokens))


def _closing(tokens: Sequence[Token], start: int) -> int:
    """The index of the parenthesis that closes the one at ``start``; one after the last token if there is none."""
    depth = 0
    for number in range(start, len(tokens)):
        kind = tokens[number].token_type.name
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if depth == 0:
            return number
    return len(tokens)


def _text(ddl: str, first: Token, last: Token) -> str:
    return ddl[first.start : last.end + 1]
