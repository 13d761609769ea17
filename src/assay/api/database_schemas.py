"""The schemas of an evaluation's databases, for systems that write queries from them."""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing
from threading import Lock
from typing import cast

from msgspec.structs import replace

from assay import registry
from assay.api.inputs import CasesInput, DatabasesInput, FileOptions, locator, read_inputs
from assay.errors import DatabaseError, InputError, UsageError
from assay.model import Case, DatabaseSchema, DatabaseUrl, Limits
from assay.ports import AsksAboutDatabases, DescribesSchema, System
from assay.runs.plan import Locate

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
    """Whether the database's engine can describe its schema. Raises InputError where no engine takes the URL."""
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

        Raises InputError where the engine cannot describe it, and DatabaseError where the database cannot be read.
        """
        url = self._locate(case.database)
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
                f"{url}: the engine {url.scheme!r} cannot say which tables a database holds, which the prompt shows: "
                "give a prompt of your own with {question} and {context} alone (--prompt FILE), and write the tables "
                "into it"
            )
        with closing(registry.engine_class(url).open(url, self._limits)) as engine:
            found = cast("DescribesSchema", engine).schema()
        if not found.tables:
            raise DatabaseError(f"{url} holds no table to ask about: is it the right file?")
        return found
