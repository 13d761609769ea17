"""Database schemas as text, for an LLM judge."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import cast

from assay import registry
from assay.api.database_schemas import describes_schema
from assay.errors import DatabaseError, InputError
from assay.model import DatabaseUrl, Limits
from assay.model.database import filled_path
from assay.ports import DescribesSchema

_FILES = ("sqlite", "duckdb")
"""A judge is shown what its kept opinions were asked with; of a server that is nothing but what a file says."""
SchemaOf = Callable[[str | None], str]
"""From a case's database name to the text of its schema; empty where there is none."""


def schema_of_database(url: DatabaseUrl) -> str:
    """The DDL of a SQLite or DuckDB file. Raises DatabaseError where it cannot be read."""
    with closing(registry.engine_class(url).open(url, Limits(timeout_s=10.0))) as engine:
        try:
            found = cast("DescribesSchema", engine).schema(with_values=False)
        except DatabaseError as error:
            raise DatabaseError(f"{url}: {error}") from None
    return "\n".join(f"{table.ddl};" for table in found.tables)


def schema_from_file(template: str) -> SchemaOf:
    """Schemas from a text file, or from one for each database where the path holds ``{db_id}``."""

    @lru_cache
    def schema(db_id: str | None) -> str:
        path = Path(template)
        if "{db_id}" in template:
            if db_id is None:
                raise InputError(f"{template} needs a db_id for each case, and a case has none: name one file")
            path = Path(filled_path(template, db_id))
        try:
            return path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(
                f"{path}: the schema cannot be read ({why}): name a text file of tables and columns"
            ) from None

    return schema


def schema_from_databases(database: str) -> SchemaOf | None:
    """Schemas of a run's databases, read when asked for; None where its URL names no SQLite or DuckDB files.

    The function raises DatabaseError for a file that cannot be read.
    """
    try:
        url = DatabaseUrl.parse(database)
        if url.scheme not in _FILES or not describes_schema(url):
            return None
    except InputError:
        return None

    @lru_cache
    def schema(db_id: str | None) -> str:
        try:
            return schema_of_database(url.render(db_id))
        except DatabaseError as error:
            raise DatabaseError(f"{error}. Name a file with the schema: --schema FILE") from None

    return schema
