"""Small databases in memory on which untrusted queries are tried by the thousand, and what reads an answer's ties."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from assay.model import Comparison, ComparisonOptions, DatabaseSchema, DatabaseUrl, Execution, Result, Row


class ScratchDatabase(Protocol):
    """A database in memory whose rows are replaced for each trial. Used by one thread.

    Its tables are those of a schema. Everything except reading is refused, and each query has
    limits of time and rows.
    """

    dialect: str
    has_boolean_type: bool
    engine: str
    """The engine's name and version."""
    refused: tuple[str, ...]
    """Tables, views or constraints that could not be made, a sentence each."""

    def statements_for(self, tables: Collection[str], queries: Sequence[str]) -> tuple[str, ...]:
        """What made these tables, by their names as a query writes them, and the views that the queries may name."""
        ...

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table that rows may be given for; none for a table that could not be made."""
        ...

    def prepare(self, filled: Mapping[str, Sequence[str]]) -> None:
        """Name the tables and columns that `fill` will be given, by the tables' names as a query writes them."""
        ...

    def fill(self, rows: Sequence[Sequence[Row]]) -> bool:
        """Replace every row, table by table as prepared. False if a constraint refused one, which is then left out."""
        ...

    def content(self) -> list[list[Row]]:
        """The rows that the prepared tables contain now, with the prepared columns."""
        ...

    def rejected_rows(self, rows: Sequence[Sequence[Row]]) -> tuple[str, ...]:
        """The tables, by name, whose triggers refuse or change rows like these, as prepared, or may do so.

        Triggers run in nothing else: its rows are what `fill` is given.
        """
        ...

    def rows(self, query: str) -> list[Row] | None:
        """The rows of a query; None if it fails, takes too long or returns too many."""
        ...

    def execute(self, query: str) -> Execution:
        """As `rows`, with the columns' names, or the reason of the failure."""
        ...

    def reverse_scan(self, *, on: bool) -> bool:
        """Scan rows in the opposite order if the query asks for none. False if the engine cannot."""
        ...

    def close(self) -> None:
        """Release it. Closing twice is harmless."""
        ...


class MakesScratchInMemory(Protocol):
    """An optional ability of an engine's class: databases in memory of its own kind and version."""

    def scratch(
        self, schema: DatabaseSchema, *, without_keys: bool = False, timeout_s: float = 0.25
    ) -> ScratchDatabase:
        """An empty database with the schema's tables, views and constraints.

        ``without_keys``: without any constraint, so that rows are stored in the order in which they are given.
        """
        ...


class MakesScratchOnServer(Protocol):
    """An optional ability of the class of an engine that is a server: small databases in a schema of their own."""

    def scratch_on_server(
        self,
        url: DatabaseUrl,
        schema: DatabaseSchema,
        *,
        prefix: str,
        without_keys: bool = False,
        timeout_s: float = 1.0,
    ) -> ScratchDatabase:
        """As `MakesScratchInMemory.scratch`, on the server of the URL, in a schema whose name begins with ``prefix``.

        Closing it drops the schema. Raises `assay.errors.DatabaseError` if the server cannot be used.
        """
        ...

    def drop_scratch(self, url: DatabaseUrl, prefix: str, *, wait_s: float = 0.0) -> tuple[str, ...]:
        """Drop the schemas with that prefix whose makers are gone, and return their names.

        ``wait_s``: how long to wait for makers that are just ending.
        Raises `assay.errors.DatabaseError` if the server cannot be used.
        """
        ...


class PossibleAnswers(Protocol):
    """All answers that a query's own text allows on one database."""

    @property
    def open(self) -> bool:
        """Whether the query leaves a choice to the engine that changes its answer: a LIMIT that cuts a tie."""
        ...

    @property
    def others(self) -> Sequence[Result]:
        """Results of other choices within the query, as far as they were found."""
        ...

    def compare(self, other: Result, options: ComparisonOptions) -> Comparison:
        """How another result relates to the answer that is closest to it."""
        ...


class ReadsAnswers(Protocol):
    """Finds the answers that a query allows, by the verdict's own rules."""

    def __call__(self, database: ScratchDatabase, query: str, result: Result) -> PossibleAnswers: ...
