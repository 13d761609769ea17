"""What executes queries, and what it may also be able to do."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, Protocol

from assay.model import DatabaseSchema, DatabaseUrl, Execution, Limits


class Engine(Protocol):
    """Executes queries on one database, read-only and under limits.

    An engine lives in one worker process and is used by one thread. It never raises for what a
    query does: every trouble of a query comes back as an Execution with a Failure.
    """

    name: str
    """The scheme it is registered under, such as ``sqlite``."""
    dialect: str
    """sqlglot's name of its SQL dialect."""
    has_boolean_type: bool
    """False where the engine returns 1 for True and 0 for False."""

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> Engine:
        """Open a database read-only. Raises `assay.errors.DatabaseError` where it cannot be read."""
        ...

    def execute(self, query: str) -> Execution:
        """Run one query under the limits given at opening. Never raises for what the query does."""
        ...

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        """The other databases of the same schema kept beside this one (Spider's test suite), sorted."""
        ...

    def close(self) -> None:
        """Release the database. Closing twice is harmless."""
        ...


class EngineClass(Protocol):
    """What an `assay.engines` entry point loads to: the class of an Engine.

    It may also have ``warnings(url) -> tuple[str, ...]``: one sentence for each thing that the URL's user may
    do beyond reading. A run shows them before it starts. With
    ``estimate(url, queries, timeout_s=…, max_bytes_billed=…) -> Cost | None`` it says what queries will bill, without
    running them, and each as often as it is listed; with ``reader_grants(url) -> tuple[str, ...]`` the statements
    that give an account the rights of a reader, and no others, which ``assay doctor`` prints.
    """

    name: str
    dialect: str
    has_boolean_type: bool

    def open(self, url: DatabaseUrl, limits: Limits) -> Engine:
        """As `Engine.open`."""
        ...

    def check(self, url: DatabaseUrl) -> None:
        """Raise `assay.errors.DatabaseError` where the database cannot be read, cheaply and in any process."""
        ...

    def version(self) -> str:
        """The database library's or server's version, for the run's provenance."""
        ...

    def fingerprint(self, url: DatabaseUrl) -> str:
        """A hash of the database's content, or of something that changes with it."""
        ...


class DescribesSchema(Protocol):
    """An optional ability of an Engine: say what its database holds.

    Whoever needs a schema asks here: systems that write queries from it, the lint of gold, causes, the search for
    databases on which two queries differ.
    """

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """All tables and views but the database's own, and a few values, read under the engine's limits.

        Of each table its columns, what is kept out of them, its keys and its conditions; a user who may only read
        sees enough for that. A key or condition is told only if all rows keep to it, as the columns' values compare:
        of indexes neither those of some rows nor those of expressions.

        The same content gives the same answer. What cannot be read (a view on a table that is gone) is left
        out. Raises `assay.errors.DatabaseError` where the tables cannot be listed.
        """
        ...


class TellsContent(Protocol):
    """An optional ability of an Engine whose database is one file: its executions may be kept from run to run."""

    beside: ClassVar[tuple[str, ...]]
    """What is appended to the file's name for the files that may hold a part of its content."""

    def session(self) -> str | None:
        """All that decides answers besides the file, the query and the limits: settings, extensions, the library.

        None where that cannot be told.
        """
        ...

    def repeats(self, query: str) -> bool:
        """Whether the query that was just executed, for the first time on this connection, depends on the file alone.

        False wherever that is not certain: for chance, the clock, the session, and whatever is unknown.
        """
        ...


class QueryExecutor(Protocol):
    """Executes what scoring needs, on any database by its URL."""

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        """Run one query. Never raises for what the query does."""
        ...

    def siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:
        """The databases of the same schema beside this one."""
        ...

    def has_boolean_type(self, url: DatabaseUrl) -> bool:
        """False where that database returns 1 for True and 0 for False."""
        ...

    def dialect(self, url: DatabaseUrl) -> str:
        """sqlglot's name of that database's SQL dialect."""
        ...


class Cache(Protocol):
    """Keeps values from case to case. It may drop any of them."""

    def get(self, key: Hashable) -> object | None:
        """The value under this key; None where there is none."""
        ...

    def put(self, key: Hashable, value: object) -> object:
        """Keep a value, if there is room for it."""
        ...


class CachingExecutor(QueryExecutor, Protocol):
    """An executor with a cache for what is computed from its results."""

    @property
    def cache(self) -> Cache: ...
