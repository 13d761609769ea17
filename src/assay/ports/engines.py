"""Engines: what executes queries, and optional abilities."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, Protocol

from assay.model import DatabaseSchema, DatabaseUrl, Execution, Limits


class Engine(Protocol):
    """Executes queries on one database, read-only and under limits.

    An engine lives in one worker process and is used by one thread. Its class is an `EngineClass`. With `schema`
    (`DescribesSchema`) lint, causes and chat systems know the tables; with `session` and `repeats` (`TellsContent`)
    executions can be cached; with `scratch` (`MakesScratchInMemory`) or `scratch_on_server` (`MakesScratchOnServer`)
    counterexamples are tried on databases of its own kind.
    """

    name: str
    """The scheme that it is registered under, for example ``sqlite``."""
    dialect: str
    """sqlglot's name of its SQL dialect."""
    has_boolean_type: bool
    """False if the engine returns 1 for True and 0 for False."""

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> Engine:
        """Open a database read-only. Returns an engine that is ready; called once per worker and database.

        Raises `assay.errors.DatabaseError` if the database cannot be read.
        """
        ...

    def execute(self, query: str) -> Execution:
        """Run one query under the limits given at opening. Never raises for what the query does.

        Returns an `Execution` with one of these statuses:

        - ``rows``, or ``empty`` without rows: ``result`` has all rows, as tuples of None, bool, int, float, Decimal,
          str, bytes, date, time, datetime, timedelta, list or dict.
        - ``truncated``: ``result`` has the rows up to ``max_rows`` or ``max_result_bytes``, and ``failure`` has the
          kind ``truncated``.
        - ``timeout``: no result; the query ran longer than ``timeout_s``. ``failure`` has the kind ``timeout``.
        - ``refused``: no result, and nothing was executed. The kind is ``writes``, ``no_query``,
          ``several_statements`` or ``refused``.
        - ``error``: no result. The kind is ``error`` for the query's own error, ``out_of_memory``, ``masked``,
          ``billing_limit``, or ``unreadable_value`` if a value of the result cannot be converted; for a lost
          connection it is ``crashed`` with ``blame`` ``engine`` or ``network``.

        The `Failure` has the stage ``execute`` and a message of one line without credentials. Its ``blame`` is
        ``system``; the caller changes it to ``gold`` for a gold query.
        """
        ...

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        """Return the other databases of the same schema stored with this one (Spider's test suite), sorted.

        An empty tuple if there are none.
        """
        ...

    def close(self) -> None:
        """Release the database. Returns nothing; closing twice is harmless."""
        ...


class EngineClass(Protocol):
    """The class of an `Engine`: what an entry point of `assay.engines` loads to.

    Optional methods: ``warnings(url) -> tuple[str, ...]``, one sentence for each thing that the URL's user may do
    besides reading, shown before a run; ``estimate(url, queries, timeout_s=…, max_bytes_billed=…) -> Cost | None``,
    what the queries will cost, without running them, counting each as often as it is listed;
    ``reader_grants(url) -> tuple[str, ...]``, the statements that grant an account the rights of a reader and no
    others, which ``assay doctor`` prints.
    """

    name: str
    dialect: str
    has_boolean_type: bool

    def open(self, url: DatabaseUrl, limits: Limits) -> Engine:
        """Open a database, as `Engine.open`."""
        ...

    def check(self, url: DatabaseUrl) -> None:
        """Return nothing if the database can be read; cheap, and callable in any process.

        Raises `assay.errors.DatabaseError` if it cannot be read.
        """
        ...

    def version(self) -> str:
        """Return the version of the database's library or server, for the run's provenance."""
        ...

    def fingerprint(self, url: DatabaseUrl) -> str:
        """Return a hash of the database's content, or of something that changes with it."""
        ...


class DescribesSchema(Protocol):
    """An optional ability of an Engine: describe its database.

    Systems that write queries from the schema, lint, causes, and the search for counterexamples use it.
    """

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """Return all tables and views except system tables, with a few values, read under the engine's limits.

        Each table has its columns, its excluded columns, its keys and its conditions, as far as a user with read
        access sees them. A key or condition is included only if all rows satisfy it, as the columns' values compare;
        partial indexes and indexes on expressions are left out.

        The same content gives the same schema. What cannot be read (a view on a dropped table) is left out. Raises
        `assay.errors.DatabaseError` if the tables cannot be listed.
        """
        ...


class TellsContent(Protocol):
    """An optional ability of an Engine whose database is one file: its executions can be cached across runs."""

    beside: ClassVar[tuple[str, ...]]
    """Suffixes of the file's name that give further files with content of the database."""

    def session(self) -> str | None:
        """Return everything that determines results besides the file, the query and the limits: settings, extensions,
        the library. None if that is unknown.
        """
        ...

    def repeats(self, query: str) -> bool:
        """Return whether the query, just executed for the first time on this connection, depends on the file alone.

        False if that is not certain: for random values, the clock, the session, and anything unknown.
        """
        ...


class QueryExecutor(Protocol):
    """Executes queries on any database by its URL."""

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        """Run one query. Never raises for what the query does."""
        ...

    def siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:
        """The other databases of the same schema stored with this one."""
        ...

    def has_boolean_type(self, url: DatabaseUrl) -> bool:
        """False if that database returns 1 for True and 0 for False."""
        ...

    def dialect(self, url: DatabaseUrl) -> str:
        """sqlglot's name of that database's SQL dialect."""
        ...


class Cache(Protocol):
    """A cache across cases. It may drop any value."""

    def get(self, key: Hashable) -> object | None:
        """The value under this key; None if there is none."""
        ...

    def put(self, key: Hashable, value: object) -> object:
        """Store a value, if there is room for it."""
        ...


class CachingExecutor(QueryExecutor, Protocol):
    """An executor with a cache for what is computed from its results."""

    @property
    def cache(self) -> Cache: ...
