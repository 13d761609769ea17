"""What a case is scored with: the database of each side's queries, and under which clock, limits, cache and budget."""

from __future__ import annotations

import time
from collections.abc import Hashable

from msgspec import Struct
from msgspec.structs import replace

from assay.model import Case, ComparisonOptions, DatabaseUrl, Execution, Failure, Limits, Prediction
from assay.model.failure import blamed, is_final
from assay.ports import Cache, QueryExecutor
from assay.scoring.time_limit import TimeLimit
from assay.sql import leaves_choice
from assay.sql.probes.any_row import AnyRow, merging_places


class FailureLog(Struct):
    """The first failure that kept a query from running since `CaseContext.forget_failures`.

    If a probe of the gold query's ties fails, less is known; if it fails because a server went away, a verdict from
    the rest would be wrong.
    """

    first: Failure | None = None


class Budget(Struct):
    """The seconds that are left for the probes of one query."""

    left_s: float


class ExecutionContext(Struct, frozen=True, kw_only=True):
    """Where the queries of one side run, and under what: handed down to whatever executes a query for scoring.

    ::

        QueryScorer ── CaseContext ──┬─ gold       ExecutionContext(executor, url, clock, limits, cache, failures)
                                     └─ predicted  ExecutionContext(executor, url, clock, limits, cache, failures)
                                                   └─ with_budget(took_s): the same, for probes of the prediction

    Both sides are one context unless the gold query has limits or a database of its own. `execute` stops the clock of
    the scoring step, since a query has a limit of its own; it notes the first failure that is not final; and once the
    budget is spent it executes nothing more. Ties that were not seen then count as unknown, as if a probe fails.
    """

    executor: QueryExecutor
    url: DatabaseUrl
    dialect: str
    """sqlglot's name of the database's SQL dialect."""
    clock: TimeLimit
    limits: Limits = Limits()
    cache: Cache | None = None
    """What is computed from results, as long as there is room; None: nothing is kept."""
    failures: FailureLog
    budget: Budget | None = None
    folds_texts: bool = True
    """Whether collations are looked for that treat different texts as equal."""

    @property
    def has_boolean_type(self) -> bool:
        """False if the database returns 1 for True and 0 for False."""
        return self.executor.has_boolean_type(self.url)

    def leaves_choice(self, query: str) -> bool:
        """Whether a query may choose among rows, or among texts that are equal to the database."""
        return leaves_choice(query, self.dialect) or bool(self.merging_places(query))

    def merging_places(self, query: str) -> tuple[AnyRow, ...]:
        """The place where a query may keep one of several texts that are equal to the database; empty if there is
        none."""
        return merging_places(query, self.dialect) if self.folds_texts and self._has_collations else ()

    @property
    def _has_collations(self) -> bool:
        """Whether a column of the database may have a collation that treats different texts as equal."""
        probe = _FOLDS_TEXTS.get(self.dialect)
        if probe is None:
            return self.dialect == "mysql"
        folds = self.recall("folds texts", self.url.text)
        if not isinstance(folds, bool):
            with self.clock.paused():
                result = self.executor.execute(self.url, probe).result
            folds = result is not None and bool(result.rows)
            self.keep(folds, "folds texts", self.url.text)
        return folds

    def execute(self, query: str) -> Execution:
        """Execute the query. Never raises for what the query does."""
        budget = self.budget
        if budget is not None and budget.left_s <= 0:
            failure = Failure(stage="execute", kind="timeout", blame="assay", message="no more time to look for ties")
            return Execution(query=query, status="timeout", failure=failure)
        began = 0.0 if budget is None else time.monotonic()
        if self.clock.is_running:
            with self.clock.paused():
                execution = self.executor.execute(self.url, query)
        else:
            execution = self.executor.execute(self.url, query)
        if budget is not None:
            budget.left_s -= time.monotonic() - began
        if execution.failure is not None and self.failures.first is None:
            failure = blamed(execution.failure, "gold")
            if not is_final(failure):
                self.failures.first = failure
        return execution

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        """The databases of the same schema next to this one."""
        found = self.recall("siblings", self.url.text)
        if isinstance(found, tuple):
            return found
        with self.clock.paused():
            siblings = self.executor.siblings(self.url)
        self.keep(siblings, "siblings", self.url.text)
        return siblings

    def recall(self, *key: Hashable) -> object | None:
        """The value kept under this key; None if there is none."""
        return None if self.cache is None else self.cache.get(key)  # which may be interrupted: the cache stays whole

    def keep(self, value: object, *key: Hashable) -> None:
        """Keep something besides the results of queries, as long as there is room."""
        if self.cache is not None:
            with self.clock.paused():
                self.cache.put(key, value)

    def with_budget(self, took_s: float | None) -> ExecutionContext:
        """The same for probes of a query: all of them together may take a few times as long as that query took."""
        return replace(self, budget=Budget(max(_LEAST_S, _TIMES * (took_s or 0.0))))


_FOLDS_TEXTS = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE sql LIKE '%collate%' LIMIT 1",
    "duckdb": "SELECT 1 FROM duckdb_tables() WHERE sql ILIKE '%collate%' LIMIT 1",
    "postgres": "SELECT 1 FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid "
    "LEFT JOIN pg_catalog.pg_collation AS c ON c.oid = a.attcollation "
    "WHERE a.attnum > 0 AND (t.typname = 'citext' OR NOT c.collisdeterministic) LIMIT 1",
}
"""By dialect, a query with a row if some column may have such a collation. MySQL's columns have one by default."""
_LEAST_S = 3.0
_TIMES = 4
"""The time limit for all probes of one query: `_LEAST_S`, or this many times the query's own time."""


class CaseContext(Struct, frozen=True, kw_only=True):
    """A case whose queries are executed, and what its verdict is found with."""

    case: Case
    prediction: Prediction
    gold: ExecutionContext
    predicted: ExecutionContext
    options: ComparisonOptions
    """The run's options, with what the case and its database say themselves."""
    golds: tuple[Execution, ...]
    """The gold query's executions, and the gold results that are given."""
    execution: Execution | None
    """The prediction's; None if there is nothing to execute."""
    apart: bool
    """Whether the gold query runs on another database than the prediction."""

    @property
    def key(self) -> str:
        """What tells the databases of this case from others."""
        return self.predicted.url.text if not self.apart else f"{self.predicted.url.text}\0{self.gold.url.text}"

    @property
    def brief_options(self) -> ComparisonOptions:
        """The options for comparisons that need not say how results differ."""
        return replace(self.options, near_misses=False, sample_rows=0)

    @property
    def failure(self) -> Failure | None:
        """The first failure that kept a query of either side from running."""
        return self.gold.failures.first

    def forget_failures(self) -> None:
        """Forget the failure that was noted."""
        self.gold.failures.first = None
