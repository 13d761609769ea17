"""One gold query as the rules see it: its meaning, its question's words, its database through probes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias, cast

from msgspec import Struct

from assay.linting.column_probes import column_probe, pairs_probe, value_probe
from assay.model import Case, DatabaseUrl, Execution, Limits
from assay.model.witness import Refutation
from assay.ports import QueryExecutor
from assay.sql.dialects import DECLARED_KEYS
from assay.sql.query import Query, Span, Unreadable, read_query
from assay.sql.schema import SchemaNames
from assay.sql.select import StoredColumn

MOST_QUESTION = 5_000
"""Characters of a question, and of its evidence, that rules read."""
MOST_VALUES = 20_000
"""Distinct values of a column that are read; columns with more values are not checked."""


FindsCounterexamples: TypeAlias = Callable[[str, str], Refutation]
"""Searches for a counterexample that distinguishes two gold queries."""


class Found(Struct, frozen=True, kw_only=True):
    """What a rule found. ``evidence`` is a sentence; ``remedy`` only if it differs from the rule's own."""

    evidence: str
    place: Span | None = None
    remedy: str | None = None
    severity: str | None = None
    root_cause: str = ""
    """Its root cause, in the same words for every finding with that root cause in this database."""


class ColumnValues(Struct, frozen=True, kw_only=True):
    """A column's distinct values with their numbers of rows, without NULL."""

    counts: Mapping[object, int]
    nulls: int
    whole: bool
    """False: the column has more than `MOST_VALUES` distinct values, and these are only some."""

    @property
    def rows(self) -> int:
        """How many rows have a value."""
        return sum(self.counts.values())

    @property
    def unique(self) -> bool:
        """No value occurs twice."""
        return self.whole and all(count == 1 for count in self.counts.values())


class GoldDatabase:
    """A database behind the executor's guards and limits. Results are cached for all gold queries of the database."""

    def __init__(
        self,
        executor: QueryExecutor,
        url: DatabaseUrl,
        names: SchemaNames | None,
        limits: Limits,
        *,
        part: FindsCounterexamples | None = None,
    ) -> None:
        """``part`` searches for a counterexample that distinguishes two queries; None: no search."""
        self.part = part
        self.executor = executor
        self.url = url
        self.names = names
        self.limits = limits
        self._values: dict[tuple[str, str], ColumnValues | None] = {}
        self._asked: dict[str, Execution] = {}

    @property
    def dialect(self) -> str:
        """sqlglot's name of the database's SQL dialect."""
        return self.executor.dialect(self.url)

    def run(self, query: str) -> Execution:
        """Execute a query. Never raises for what it does."""
        found = self._asked.get(query)
        if found is None:
            found = self._asked[query] = self.executor.execute(self.url, query)
        return found

    def rows(self, query: str | None) -> Sequence[tuple[object, ...]] | None:
        """The rows of a probe; None if it fails, or returns too many."""
        if query is None:
            return None
        done = self.run(query)
        return done.result.rows if done.succeeded and done.result is not None else None

    def values(self, column: StoredColumn | None) -> ColumnValues | None:
        """The values of a stored column; None if they cannot be read."""
        if column is None or self.names is None:
            return None
        stored = self.names.column(column.table, column.column)
        if stored is None:
            return None
        if column.key in self._values:
            return self._values[column.key]
        table = self.names.tables[column.key[0]].schema
        rows = self.rows(column_probe(table, stored.name, self.dialect, MOST_VALUES + 1))
        values = None
        if rows is not None:
            counts: Counter[object] = Counter()
            nulls = 0
            for value, count in rows:
                number = count if isinstance(count, int) else int(str(count))
                if value is None:
                    nulls = number
                else:
                    counts[_hashable(value)] += number
            values = ColumnValues(counts=counts, nulls=nulls, whole=len(rows) <= MOST_VALUES)
        self._values[column.key] = values
        return values

    def run_anew(self, query: str) -> Execution | None:
        """Execute a query again, without the cache; None if the executor cannot."""
        anew = getattr(self.executor, "execute_anew", None)
        return None if anew is None else cast("Execution", anew(self.url, query))

    def shares(self, left: StoredColumn, right: StoredColumn) -> bool | None:
        """Whether two columns have a value in common, as the database compares them; None if it cannot say."""
        if self.names is None:
            return None
        return _some(self.rows(pairs_probe(left, right, self.names, self.dialect)))

    def holds(self, column: StoredColumn, value: str, *, is_number: bool) -> bool | None:
        """Whether a column contains a value, as the database itself compares them; None if it cannot say."""
        if self.names is None:
            return None
        return _some(self.rows(value_probe(column, value, self.names, is_number=is_number, dialect=self.dialect)))

    def is_unique(self, column: StoredColumn | None) -> bool:
        """Whether the column is unique: it is the key, or its values are distinct."""
        if column is None or self.names is None:
            return False
        if self.dialect not in DECLARED_KEYS and self.names.is_key(column.table, column.column):
            return True
        values = self.values(column)
        return values is not None and values.unique


def _some(rows: Sequence[tuple[object, ...]] | None) -> bool | None:
    """Whether a probe's only number is more than 0; None if the probe failed."""
    return None if not rows else rows[0][0] != 0


def _hashable(value: object) -> object:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


class Gold:
    """One gold query of one case. It is read when a rule first needs it."""

    def __init__(
        self, case: Case, index: int, dialect: str, names: SchemaNames | None, database: GoldDatabase | None
    ) -> None:
        self.case = case
        self.index = index
        self.text = case.golds[index]
        self.dialect = dialect
        self.names = names
        self.database = database

    @cached_property
    def reading(self) -> Query | Unreadable:
        """The query, or why it cannot be read."""
        return read_query(self.text, self.dialect, self.names)

    @property
    def query(self) -> Query | None:
        """The query; None if it cannot be read."""
        return None if isinstance(self.reading, Unreadable) else self.reading

    @cached_property
    def execution(self) -> Execution | None:
        """The result of executing the query; None without a database."""
        return None if self.database is None else self.database.run(self.text)

    @property
    def rows(self) -> Sequence[tuple[object, ...]] | None:
        """The query's rows; None if it did not return all of them."""
        done = self.execution
        return done.result.rows if done is not None and done.succeeded and done.result is not None else None

    @property
    def question(self) -> str:
        """The question; only the beginning of a very long one."""
        return self.case.question[:MOST_QUESTION]

    @property
    def evidence(self) -> str:
        """The question set's hints for the question; only the beginning of very long ones."""
        return (self.case.context or "")[:MOST_QUESTION]


class CaseGolds(Struct, frozen=True, kw_only=True):
    """What is known of one case when all cases are compared."""

    case: Case
    digests: tuple[str | None, ...] = ()
    """Per gold query, a hash of its result, regardless of the order of rows; None if it has none."""
    texts: tuple[str, ...] = ()
    """Per gold query, its normalised text."""
    rows: tuple[int, ...] = ()
    """Per gold query, the number of rows; 0 if it has no result."""
    widths: tuple[int, ...] = ()
    """Per gold query, the number of columns."""
    agreeing: tuple[str, ...] = ()
    """The runs of the largest group with one result other than every gold result."""
    others: int = 0
    """How many stored runs have a result."""
    contradiction: str | None = None
    """How the query that should give the case's results contradicts them."""
    parted: tuple[tuple[int, Refutation], ...] = ()
    """The gold queries that return the first one's result here, and a different one on another database."""
