"""A suite: for each gold query a few small databases that distinguish it from similar queries with another meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from assay.model.databases.schema import DatabaseSchema
from assay.model.results.result import Row

SuiteAssumption = Literal["observed", "declared"]
"""What the databases keep: ``observed``: all that was observed in the real data; ``declared``: some keep no more than
the declared constraints."""

SUITE_MATCH = "suite_match"
"""The metric of a run with a suite."""


class SuiteLayout(Struct, frozen=True, kw_only=True):
    """The tables of one database of the benchmark, which all databases of its cases have."""

    database: str | None
    """The benchmark's name of it (``db_id``)."""
    schema: DatabaseSchema
    tables: tuple[tuple[str, tuple[str, ...]], ...]
    """Each table, by its name as a query writes it, and its columns: what `SuiteDatabase.rows` holds, in order."""


class SuiteDatabase(Struct, frozen=True, kw_only=True):
    """One small database of a case."""

    name: str
    """Within its case: ``1``, ``2`` …"""
    rows: tuple[tuple[Row, ...], ...]
    """Per table of the layout."""
    answers: int = 0
    """How many answers of the runs that the suite was built from it tells from the gold query."""
    neighbours: int = 0
    """How many small changes of gold it tells from the gold query."""
    keeps: SuiteAssumption = "observed"

    @property
    def row_count(self) -> int:
        """How many rows all its tables hold."""
        return sum(map(len, self.rows))


class SuiteCase(Struct, frozen=True, kw_only=True):
    """The databases of one case. On each, each of its gold queries gives one answer whatever order its rows are
    stored in."""

    case_id: str
    database: str | None
    golds: tuple[str, ...]
    databases: tuple[SuiteDatabase, ...] = ()
    answers: int = 0
    """How many different answers of the runs were held against the gold query."""
    answers_told: int = 0
    """How many of them some database of the case tells from the gold query."""
    neighbours: int = 0
    neighbours_told: int = 0
    neighbours_proved: int = 0
    """How many of the others are proved to be equivalent to the gold query."""
    why: str = ""
    """Why there is no database; empty if there is one."""


class Suite(Struct, frozen=True, kw_only=True):
    """A suite as a run uses it."""

    name: str
    """The folder, as the user named it."""
    digest: str
    """Hash of its content."""
    engine: str
    """The kind of engine that its databases are for, for example ``sqlite``."""
    layouts: Mapping[str | None, SuiteLayout] = field(default_factory=dict)
    """By the benchmark's name of the database."""
    cases: Mapping[str, SuiteCase] = field(default_factory=dict)
    """By the case's id."""
    made_with: str = ""
    """Assay's version and the engine's."""
    keeps: SuiteAssumption = "observed"
    runs: tuple[str, ...] = ()
    """The runs whose answers it was built from."""
    seed: int = 0
    most_databases: int = 0

    @property
    def database_count(self) -> int:
        """How many databases all its cases have."""
        return sum(len(case.databases) for case in self.cases.values())


class SuiteFinding(Struct, frozen=True, kw_only=True):
    """How one answer fares on the databases of its case."""

    databases: int = 0
    agreed: int = 0
    """On how many of them it gives the result of the gold query with which it agrees most often."""
    parted_by: tuple[str, ...] = ()
    """The names of the databases on which it gives another."""
    difference: str = ""
    """How the results differ on the first of these, in a clause."""
    witness: tuple[str, ...] = ()
    """The rows of the first of these that the two queries read, a line for each table."""
    problem: str = ""
    """Why nothing can be said; empty if something can."""
