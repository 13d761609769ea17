"""The schema that a judge is shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from assay import registry
from assay.errors import DatabaseError, InputError
from assay.model import DatabaseUrl, Limits

_STATEMENTS = {
    "sqlite": (
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid"
    ),
    "duckdb": (
        "SELECT sql FROM (SELECT schema_name, table_name AS name, sql FROM duckdb_tables() WHERE NOT internal "
        "UNION ALL SELECT schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal) "
        "ORDER BY schema_name, name"
    ),
}

SchemaOf = Callable[[str | None], str]
"""From a case's database name to the text of its schema; empty where there is none."""


def schema_of_database(url: DatabaseUrl) -> str:
    """The DDL of a SQLite or DuckDB file. Raises DatabaseError where it cannot be read."""
    engine = registry.engine_class(url).open(url, Limits(timeout_s=10.0))
    try:
        execution = engine.execute(_STATEMENTS[url.scheme])
    finally:
        engine.close()
    if execution.result is None:
        why = execution.failure.message if execution.failure is not None else execution.status
        raise DatabaseError(f"the schema of {url} cannot be read: {why}")
    return "\n".join(f"{str(row[0]).strip().removesuffix(';')};" for row in execution.result.rows)


def schema_from_file(template: str) -> SchemaOf:
    """Schemas from a text file, or from one for each database where the path holds ``{db_id}``."""

    @lru_cache
    def schema(db_id: str | None) -> str:
        path = Path(template)
        if "{db_id}" in template:
            if db_id is None:
                raise InputError(f"{template} needs a db_id for each case, and a case has none: name one file")
            path = Path(template.replace("{db_id}", quote(db_id, safe=" ._-")))
        try:
            return path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(
                f"{path}: the schema cannot be read ({why}): name a text file of tables and columns"
            ) from None

    return schema


def schema_from_databases(database: str) -> SchemaOf | None:
    """Schemas from the databases of a run, read when asked for; None where its URL names no SQLite or DuckDB files.

    What cannot be read raises DatabaseError.
    """
    try:
        url = DatabaseUrl.parse(database)
    except InputError:
        return None
    if url.scheme not in _STATEMENTS:
        return None

    @lru_cache
    def schema(db_id: str | None) -> str:
        try:
            return schema_of_database(url.render(db_id))
        except DatabaseError as error:
            raise DatabaseError(f"{error}. Name a file with the schema: --schema FILE") from None

    return schema
