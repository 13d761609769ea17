"""Which functions a query may call in DuckDB.

A file that is opened read-only still has functions that log into files, print profiles, sleep, seed the random numbers
of later queries, or run a text as a query; each version adds more. So functions that make tables must be on an
allow-list. Others are checked by what DuckDB reports about them: only a few of those with effects are allowed.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import pairwise
from typing import TYPE_CHECKING

from assay.sql.lexing import pieces

if TYPE_CHECKING:
    import duckdb

_TABLES = frozenset(
    {"range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree", "summary"}
    | {"histogram", "histogram_values", "duckdb_columns", "duckdb_constraints", "duckdb_databases", "duckdb_functions"}
    | {"duckdb_indexes", "duckdb_keywords", "duckdb_schemas", "duckdb_sequences", "duckdb_settings", "duckdb_tables"}
    | {"duckdb_types", "duckdb_views", "pragma_collations", "pragma_database_size", "pragma_platform", "pragma_show"}
    | {"pragma_storage_info", "pragma_table_info", "pragma_user_agent", "pragma_version"}
    | {"icu_calendar_names", "pg_timezone_names"}
)
"""Functions that make rows of their arguments, or describe the database."""
_VOLATILE = frozenset(
    {"random", "uuid", "gen_random_uuid", "uuidv4", "uuidv7", "error", "stats", "vector_type", "current_query"}
    | {"current_connection_id", "current_query_id", "current_transaction_id"}
    | {"nextval", "currval"}  # nextval fails on the read-only file, with the message that it writes
)
_ALWAYS = frozenset({"getenv", "setseed", "write_log", "sleep_ms", "query", "query_table"})
"""Refused regardless of what the library reports."""
_FUNCTIONS = """
SELECT lower(function_name), bool_or(function_type IN ('table', 'table_macro', 'pragma')),
       bool_or(coalesce(has_side_effects, false) OR coalesce(stability = 'VOLATILE', false))
FROM duckdb_functions() WHERE internal GROUP BY 1
"""
_USUAL = frozenset(
    {"abs", "and", "as", "avg", "cast", "coalesce", "concat", "count", "date_part", "date_trunc", "exists", "extract"}
    | {
        "from",
        "if",
        "in",
        "join",
        "length",
        "like",
        "lower",
        "max",
        "min",
        "not",
        "nullif",
        "on",
        "or",
        "over",
        "round",
    }
    | {"select", "strftime", "substr", "substring", "sum", "trim", "union", "upper", "using", "values", "when", "where"}
)
"""Words that usually precede a parenthesis. A text without any other such word does not need the full list."""
_WORD = re.compile(r"[A-Za-z0-9_]+")
_LAST_WORD = re.compile(r"[A-Za-z0-9_]+\Z")
_GAP = re.compile(r""""?(?>\s++|--[^\n\r]*+(?:[\n\r]|\Z)|/\*(?>[^*]++|\*(?!/))*+(?:\*/|\Z)|\*/)*+(?=(.?))""", re.DOTALL)
_LONGEST_GAP = 300
"""Characters of blanks and comments before a parenthesis that are read; a longer gap counts as a name before it."""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def calls_only_usual(query: str) -> bool:
    """Whether a text clearly calls no function with effects, without asking the library."""
    if not query.isascii() or "--" in query or "/*" in query:
        return False
    before = (text.rstrip(' \t\n\r\f\v"') for text in query.split("(")[:-1])
    last = (_LAST_WORD.search(text[-40:]) for text in before)
    return all(found is None or found[0].lower() in _USUAL for found in last)


def effectful_functions(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """The names, in lower case, of this library's functions that no query may call. Takes 50 ms: call it once."""
    found = set(_ALWAYS)
    for name, makes_tables, volatile in connection.execute(_FUNCTIONS).fetchall():
        if (makes_tables and name not in _TABLES) or (volatile and name not in _VOLATILE):
            found.add(name)
    return frozenset(found)


def called(query: str, functions: Collection[str]) -> str | None:
    """The first of these functions that a text may call, or None. Never raises.

    A name followed by a parenthesis counts anywhere in the text, since DuckDB may end a literal elsewhere than this
    reader. Names within literals are allowed only if the literals are certain: in a text without backslash and dollar
    sign.
    """
    # DuckDB treats non-ASCII blanks as blanks, and no function's name contains such a character.
    text = _NOT_ASCII.sub(" ", query)
    named = [found for found in _WORD.finditer(text) if found[0].lower() in functions]
    if not named:
        return None
    if "\\" in text or "$" in text:
        for found in named:
            after = text[found.end() : found.end() + _LONGEST_GAP]
            gap = _GAP.match(after)
            if gap is not None and (gap[1] == "(" or (not gap[1] and len(after) == _LONGEST_GAP)):
                return found[0].lower()
        return None
    cut = list(pieces(text))
    for piece, following in pairwise(cut):
        if piece.kind in ("word", "name") and following.text == "(" and piece.name.lower() in functions:
            return piece.name.lower()
    return None
