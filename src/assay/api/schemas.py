"""Database schemas as text: for an LLM judge, and for the prompts of a live system."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import cast

from msgspec.structs import replace

from assay import registry
from assay.api.inputs import CasesInput, FileOptions, read_inputs
from assay.api.workers import DatabasesInput, locator
from assay.errors import DatabaseError, InputError, UsageError
from assay.model import Case, DatabaseSchema, DatabaseUrl, Limits
from assay.model.databases.database import filled_path
from assay.platform.surface import option
from assay.ports import AsksAboutDatabases, DescribesSchema, System
from assay.runs.plan import Locate, url_of

_FILES = ("sqlite", "duckdb")
"""A judge is shown what its kept opinions were asked with; of a server that is nothing but what a file says."""
SchemaOf = Callable[[str | None], str]
"""From a case's database name to the text of its schema; empty if there is none."""


def schema_of_database(url: DatabaseUrl) -> str:
    """The DDL of a SQLite or DuckDB file. Raises DatabaseError if it cannot be read."""
    with closing(registry.engine_class(url).open(url, Limits(timeout_s=10.0))) as engine:
        try:
            found = cast("DescribesSchema", engine).schema(with_values=False)
        except DatabaseError as error:
            raise DatabaseError(f"{url}: {error}") from None
    return "\n".join(f"{table.ddl};" for table in found.tables)


def schema_from_file(template: str) -> SchemaOf:
    """Schemas from a text file, or from one for each database where the path contains ``{db_id}``."""

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
    """Schemas of a run's databases, read when asked for; None if its URL names no SQLite or DuckDB files.

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
            raise DatabaseError(f"{error}. Name a file with the schema: {option('--schema', 'FILE')}") from None

    return schema


_TIMEOUT_S = 10.0
_RESULT_BYTES = 64 * 1024 * 1024
_ROWS = 100_000


def with_databases(system: System, locate: Locate, limits: Limits) -> System:
    """The system with access to the databases' schemas if it asks for them; else unchanged."""
    if not callable(getattr(system, "with_databases", None)):
        return system
    return cast("AsksAboutDatabases", system).with_databases(Schemas(locate, limits))


def prompt_of(cases: CasesInput, system: System, *, databases: DatabasesInput, files: FileOptions | None = None) -> str:
    """The prompt that a chat model gets for the first case, without sending it.

    Raises InputError, and UsageError for a system that takes no prompt.
    """
    locate, _ = locator(databases)
    told = with_databases(system, locate, Limits())
    prompt = getattr(told, "prompt", None)
    if not callable(prompt):
        raise UsageError(f"{system.describe()} is sent no prompt of ours: only chat:… is")
    first = read_inputs(cases, told, files or FileOptions(), allow_unmatched=False).cases[0]
    return str(prompt(first).text)


def describes_schema(url: DatabaseUrl) -> bool:
    """Whether the database's engine can describe its schema. Raises InputError if no engine takes the URL."""
    return callable(getattr(registry.engine_class(url), "schema", None))


class Schemas:
    """Implements `assay.ports.SchemaSource`: each database is opened once, read, and closed again."""

    def __init__(self, locate: Locate, limits: Limits) -> None:
        self._locate = locate
        self._limits = replace(
            limits,
            timeout_s=min(limits.timeout_s, _TIMEOUT_S),
            max_result_bytes=min(limits.max_result_bytes, _RESULT_BYTES),
            max_rows=max(limits.max_rows, _ROWS),  # a cap on answers must not cut the list of columns
        )
        self._lock = Lock()
        self._locks: dict[str, Lock] = defaultdict(Lock)
        self._found: dict[str, DatabaseSchema | InputError] = {}

    def __call__(self, case: Case) -> DatabaseSchema:
        """The schema of the case's database.

        Raises InputError where the engine cannot describe it, and DatabaseError if the database cannot be read.
        """
        url = url_of(case, self._locate)
        with self._lock:
            lock = self._locks[url.text]
        with lock:  # one lock per database: others are read at the same time
            if url.text not in self._found:
                try:
                    self._found[url.text] = self._read(url)
                except InputError as error:
                    self._found[url.text] = error
            found = self._found[url.text]
        if isinstance(found, InputError):
            raise found
        return found

    def _read(self, url: DatabaseUrl) -> DatabaseSchema:
        if not describes_schema(url):
            raise InputError(
                f"{url}: the engine {url.scheme!r} cannot list the tables of a database, which the prompt shows: "
                "give a prompt of your own with {question} and {context} alone "
                f"({option('--prompt', 'FILE')}), and write the tables "
                "into it"
            )
        with closing(registry.engine_class(url).open(url, self._limits)) as engine:
            found = cast("DescribesSchema", engine).schema()
        if not found.tables:
            raise DatabaseError(f"{url} contains no table to ask about. Is it the right file?")
        return found
