"""Whether a query returns the same result again, as long as the file is the same.

DuckDB reports which of its functions depend on more than their arguments. A query whose text contains such a name, even
as a column or in a literal, may call it; so may every query of a file with a view or a macro whose text has such a
name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_WORD = re.compile(r"\w+")
_FUNCTIONS = """
SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE internal AND (
    function_type IN ('scalar', 'aggregate') AND stability IS DISTINCT FROM 'CONSISTENT'
    OR function_type = 'table_macro'
    OR function_type = 'macro' AND regexp_matches(macro_definition, '(?i)current_|now|today|random|uuid|setting|user')
)
"""
_ALSO = frozenset(
    {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp", "current_localtime"}
    | {"current_localtimestamp", "get_current_time", "now", "today", "yesterday", "tomorrow", "random", "uuid"}
    | {
        "nextval",
        "sample",
        "tablesample",
        "reservoir",
        "reservoir_quantile",
        "bernoulli",
        "current_user",
        "session_user",
        "current_role",
        "user",
    }
    | {"explain", "pragma", "show", "describe", "summarize", "summary", "call", "getvariable", "current_setting"}
)
"""Words with such an effect that are not functions, and functions of other versions."""
_OF_SYSTEM = ("duckdb_", "pragma_", "pg_", "icu_", "information_schema", "sqlite_")
_AGE = re.compile(r"\bage\b", re.IGNORECASE)
"""With one argument, it counts from today, which DuckDB does not report."""
_DEFINITIONS = """
SELECT sql FROM duckdb_views() WHERE NOT internal
UNION ALL SELECT macro_definition FROM duckdb_functions() WHERE NOT internal
UNION ALL SELECT sql FROM duckdb_tables() WHERE contains(lower(sql), 'generated')
"""
_SESSION = """
SELECT name, value FROM duckdb_settings() WHERE name != 'allowed_paths'
UNION ALL SELECT 'name', current_database() ORDER BY 1
"""
"""Without the file's own path, but with its name: a query may name its database."""


class Repeatable:
    """Finds the queries of one connection that depend on the file only."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        functions = connection.execute(_FUNCTIONS).fetchall()
        self._unsteady = _ALSO | {name for (name,) in functions}
        definitions = [text for (text,) in connection.execute(_DEFINITIONS).fetchall()]
        self._file = all(text is None or self._is_steady(text) for text in definitions)

    def __call__(self, query: str) -> bool:
        """Whether the query depends on the file only."""
        return self._file and self._is_steady(query)

    def _is_steady(self, text: str) -> bool:
        words = {word.lower() for word in _WORD.findall(text)}
        if words & self._unsteady or any(word.startswith(_OF_SYSTEM) for word in words):
            return False
        if "age" in words:
            hidden = "--" in text or "/*" in text
            return not hidden and all(
                not text[found.end() :].lstrip(' \t\r\n\f\v"').startswith("(") for found in _AGE.finditer(text)
            )
        return True


def session_of(connection: duckdb.DuckDBPyConnection) -> str:
    """All settings of a connection, including the time zone and the calendar. No extension is loaded at run time."""
    return repr(connection.execute(_SESSION).fetchall())
