"""Whether a query returns the same result again, as long as the file is the same.

Its text alone does not show it. While SQLite prepares a statement, it reports every function that the statement calls,
including those of views, so only functions may occur that are known to depend on nothing else. Those of date and time
depend on the clock for some arguments, which may come from anywhere, so they may occur only if no argument can be such
a word.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection

from assay.sql.lexing import Piece, pieces

_PLAIN = frozenset(
    {"abs", "avg", "ceil", "ceiling", "coalesce", "count", "cume_dist", "dense_rank", "first_value", "floor", "glob"}
    | {"if", "ifnull", "iif", "instr", "lag", "last_value", "lead", "length", "like", "likelihood", "likely", "max"}
    | {"min", "mod", "nth_value", "ntile", "nullif", "percent_rank", "rank", "round", "row_number", "sign", "sum"}
    | {"total", "trunc", "typeof", "unicode", "unlikely", "octet_length", "pi"}
)
"""Functions that return a number, or one of their arguments: none of them makes a new text."""
_MAKE_TEXT = frozenset(
    {"char", "concat", "concat_ws", "format", "group_concat", "hex", "lower", "ltrim", "printf", "quote", "replace"}
    | {"rtrim", "soundex", "string_agg", "substr", "substring", "trim", "unhex", "upper", "zeroblob", "->", "->>"}
    | {"json", "json_array", "json_array_length", "json_error_position", "json_extract", "json_group_array"}
    | {"json_group_object", "json_insert", "json_object", "json_patch", "json_quote", "json_remove", "json_replace"}
    | {"json_set", "json_type", "json_valid", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh"}
    | {"degrees", "exp", "ln", "log", "log10", "log2", "pow", "power", "radians", "sin", "sinh", "sqrt", "tan", "tanh"}
)
"""Further functions that depend on their arguments only."""
_LEAST_ARGUMENTS = {"strftime": 2, "timediff": 2} | dict.fromkeys(
    ("date", "time", "datetime", "julianday", "unixepoch"), 1
)
"""The functions of date and time, with the number of arguments before the moment is explicit. With fewer they return
the current one."""
_MOMENTS = ("now", "subsec", "subsecond", "localtime", "utc")
"""The words by which a moment depends on the clock or on the time zone; "subsec" alone is the current moment, too."""
_CLOCK = re.compile(r"now|subsec|local|utc|json|\|\||\bx'|[$\\]|--|/\*", re.IGNORECASE)
"""What makes the moment depend on clock or time zone, what constructs a text (the tables of JSON extract it from larger
texts, too), and what hides words from `pieces`."""


def is_repeatable(
    query: str, called: Collection[str], connection: sqlite3.Connection, holds_now: Callable[[], bool]
) -> bool:
    """Whether the query depends on the file only. ``called`` are the functions that it called; see `Guard.called`.

    ``holds_now`` says whether some cell of the file is a word that makes a date depend on more than the file.
    """
    if "pragma" in query.lower() or query.lstrip().lower().startswith("explain"):
        return False
    names = frozenset(called)
    dated = names & _LEAST_ARGUMENTS.keys()
    if not dated:
        return names <= _PLAIN | _MAKE_TEXT
    if not names - dated <= _PLAIN:
        return False
    views = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'view'").fetchall()
    return all(map(_names_its_moments, [query, *(str(text) for (text,) in views)])) and not holds_now()


def _names_its_moments(text: str) -> bool:
    """Whether every date function in a text has the arguments that make its moment explicit."""
    if _CLOCK.search(text):
        return False
    found = list(pieces(text))
    if any(piece.kind == "open" for piece in found):
        return False
    return all(
        _arguments(found, index + 1) >= _LEAST_ARGUMENTS[piece.name.lower()]
        for index, piece in enumerate(found)
        if piece.kind in ("word", "name") and piece.name.lower() in _LEAST_ARGUMENTS
    )


_MANY = 99


def _arguments(found: list[Piece], place: int) -> int:
    """How many arguments the function has whose name ends before this offset; a large number if it is not a
    function."""
    while place < len(found) and found[place].text in ("]", "`"):
        place += 1
    if place >= len(found) or found[place].text != "(":
        return _MANY
    if place + 1 < len(found) and found[place + 1].text == ")":
        return 0
    depth, count = 0, 1
    for piece in found[place:]:
        depth += (piece.text == "(") - (piece.text == ")")
        count += piece.text == "," and depth == 1
        if depth == 0:
            break
    return count


def holds_now(connection: sqlite3.Connection) -> bool:
    """Whether some cell makes a date depend on the clock or the time zone. True if that cannot be determined.

    Date functions read a cell up to its first NUL. ``length`` counts up to there, too.
    """
    try:
        tables = connection.execute("SELECT name, rootpage FROM sqlite_master WHERE type = 'table'").fetchall()
        if not all(page for _, page in tables):
            return True  # a virtual table computes its content
        for table, _ in [*tables, ("sqlite_master", 1)]:
            columns = connection.execute(f"PRAGMA table_xinfo({_quoted(table)})").fetchall()
            if not columns:
                return True
            told = " OR ".join(_is_a_moment(f"CAST({_quoted(column[1])} AS TEXT)") for column in columns)
            if connection.execute(f"SELECT 1 FROM {_quoted(table)} WHERE {told} LIMIT 1").fetchall():
                return True
    except (sqlite3.Error, ValueError, MemoryError, OverflowError):
        return True
    return False


def _is_a_moment(text: str) -> str:
    lengths = ", ".join(sorted({str(len(word)) for word in _MOMENTS}))
    words = ", ".join(f"'{word}'" for word in _MOMENTS)
    return f"(length({text}) IN ({lengths}) AND lower(substr({text}, 1, length({text}))) IN ({words}))"


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))
