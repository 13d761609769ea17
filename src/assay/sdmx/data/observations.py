"""Observations of datasets in memory, found by the codes of their series and by their periods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan
from typing import Protocol

from msgspec import Struct, field

from assay.errors import InputError
from assay.model import Failure, TimeRange
from assay.model.failure import Blame, FailureKind
from assay.sdmx.errors import suggestion
from assay.sdmx.periods import merged_days, parse_period
from assay.sdmx.structures.identifiers import ArtefactId, parse_artefact
from assay.sdmx.structures.known import DatasetStructure, Structures, version_key

MOST_OBSERVATIONS = 5_000_000
"""The maximum number of observations from all files, or from one answer of a service: a few hundred bytes each."""

SeriesKey = tuple[tuple[str, str], ...]
"""Dimension and code, sorted by dimension."""
Observation = tuple[str, SeriesKey, str | None, float | str | None]
"""Dataset, series, period and value."""


class DataQuery(Struct, frozen=True, kw_only=True):
    """One query on one dataset. An absent dimension means all its codes."""

    dataset: str
    codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    time: tuple[TimeRange, ...] = ()
    """``()``: all of time."""


class DataSource(Protocol):
    """A source of observations."""

    name: str
    """The name, safe to show in messages and runs."""

    @property
    def doubt(self) -> str:
        """Why the source may be the wrong one, for the end of a sentence about an empty result; or empty."""
        ...

    def select(self, query: DataQuery) -> Iterable[Observation]:
        """The observations of a query. Raises DataTrouble."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...


class DataTrouble(Exception):
    """A query cannot be executed: the dataset is missing, or a service fails or refuses. Internal to this package."""

    def __init__(
        self,
        message: str,
        *,
        blame: Blame = "setup",
        kind: FailureKind = "error",
        refused: bool = False,
        is_away: bool = False,
    ) -> None:
        self.message = message
        self.blame: Blame = blame
        self.kind: FailureKind = kind
        self.refused = refused
        """Whether the service rejects the request itself, for example for an unknown code."""
        self.is_away = is_away
        """Whether the service did not answer at all, which may be transient."""
        super().__init__(message)

    def failure(self) -> Failure:
        """The same as data of one case."""
        return Failure(stage="execute", kind=self.kind, blame=self.blame, message=self.message)


class UnknownDataset(DataTrouble):
    """The data do not include that dataset."""


class DataTable:
    """The observations of one dataset. For two with the same series and period, the first is stored."""

    def __init__(self, dataset: ArtefactId) -> None:
        self.dataset = dataset
        self._label = str(dataset)
        self._series: dict[SeriesKey, dict[str | None, float | str | None]] = {}
        self.dimensions: set[str] = set()
        """The dimensions in which some series has a code."""
        self._index: dict[str, dict[str, set[SeriesKey]]] | None = None

    @property
    def series(self) -> int:
        """The number of series."""
        return len(self._series)

    def add(self, key: Mapping[str, str], period: str | None, value: float | str | None) -> bool:
        """Add an observation. Returns False if it already exists."""
        sorted_key = tuple(sorted(key.items()))
        series = self._series.get(sorted_key)
        if series is None:
            series = self._series[sorted_key] = {}
            self.dimensions.update(key)
            self._index = None
        if period in series:
            return False
        series[period] = value
        return True

    def select(self, query: DataQuery) -> Iterator[Observation]:
        """The observations that a query selects, regardless of the dataset it names."""
        is_in = _Within(query.time)
        for key in self._keys(query.codes):
            for period, value in self._series[key].items():
                if is_in(period):
                    yield self._label, key, period, value

    def _keys(self, codes: Mapping[str, tuple[str, ...]]) -> Iterable[SeriesKey]:
        if not codes:
            return self._series
        if self._index is None:
            self._index = {}
            for key in self._series:
                for name, code in key:
                    self._index.setdefault(name, {}).setdefault(code, set()).add(key)
        found: set[SeriesKey] | None = None
        for name, wanted in codes.items():
            by_code = self._index.get(name, {})
            taken = set().union(*(by_code[code] for code in wanted if code in by_code))
            found = taken if found is None else found & taken
        return sorted(found or ())


class _Within:
    """Whether a period lies completely within ranges; a text that is not a period only matches itself."""

    def __init__(self, ranges: Sequence[TimeRange]) -> None:
        self._ranges = ranges
        self._known: dict[str | None, bool] = {}
        readable = [(span, merged_days([span])) for span in ranges]
        self._days = merged_days([span for span, days in readable if days is not None]) or ()
        self._texts = {text for span, days in readable if days is None for text in (span.start, span.end)}

    def __call__(self, period: str | None) -> bool:
        if not self._ranges:
            return True
        if period not in self._known:
            self._known[period] = self._lies_within(period)
        return self._known[period]

    def _lies_within(self, text: str | None) -> bool:
        period = None if text is None else parse_period(text)
        if period is None:
            return text in self._texts
        return any(
            (first is None or first <= period.first) and (after is None or period.after <= after)
            for first, after in self._days
        )


class DataTables:
    """The tables of several datasets, by name. ``structures`` resolves data that name no dataflow."""

    def __init__(self, *, name: str, structures: Structures | None = None) -> None:
        self.name = name
        self._structures = structures
        self.tables: dict[ArtefactId, DataTable] = {}
        self.without_values = 0
        """The number of files that have the form of data, but no column of values."""
        self._count = 0

    @property
    def doubt(self) -> str:
        """Empty: these are data."""
        return ""

    def close(self) -> None:
        """Nothing to close."""

    def add(self, dataset: ArtefactId, key: Mapping[str, str], period: str | None, value: float | str | None) -> None:
        """Add an observation. Raises InputError if there are too many."""
        table = self.tables.get(dataset)
        if table is None:
            table = self.tables[dataset] = DataTable(dataset)
        self._count += table.add(key, period, value)
        if self._count > MOST_OBSERVATIONS:
            raise InputError(
                f"{self.name} has more than {MOST_OBSERVATIONS:,} observations: give only the data of the cases"
            )

    def select(self, query: DataQuery) -> Iterable[Observation]:
        """The observations of a query. Raises UnknownDataset, and DataTrouble for a dimension without data."""
        table = self.table(query.dataset)
        structure = self._structures.dataset(query.dataset) if self._structures is not None else None
        for name in query.codes:
            if name in table.dimensions:
                continue
            if structure is not None and structure.dimension(name) is not None:
                raise DataTrouble(
                    f"{self.name}: the data of {query.dataset!r} have no code of its dimension "
                    f"{name!r}, so a selection of its codes cannot be executed"
                )
            raise DataTrouble(
                f"the dataset {query.dataset!r} has no dimension {name!r} in {self.name}"
                f"{suggestion(name, sorted(table.dimensions))}",
                refused=True,
            )
        return table.select(query)

    def table(self, dataset: str) -> DataTable:
        """The table of a dataset: of exactly that version, or one that its name can mean. Raises UnknownDataset."""
        try:
            wanted = parse_artefact(dataset)
        except InputError:
            wanted = ArtefactId(id=dataset)
        if wanted in self.tables:
            return self.tables[wanted]
        fitting = [table for id_, table in self.tables.items() if wanted.matches(id_)]
        if not fitting and self._structures is not None:
            # Data may name the data structure definition: the dataflow is known if no other one has it
            structure = self._structures.dataset(dataset)
            definition = None if structure is None else structure.definition
            if definition is not None and len(self._structures.defined_by(definition)) < 2:
                fitting = [table for id_, table in self.tables.items() if definition.matches(id_)]
        if not fitting:
            held = ", ".join(map(str, list(self.tables)[:5])) or "no dataset"
            more = f" and {len(self.tables) - 5} more" if len(self.tables) > 5 else ""
            raise UnknownDataset(f"{self.name} has no data of the dataset {dataset!r}: it has {held}{more}")
        return max(fitting, key=lambda table: version_key(table.dataset.version))


def described(dataset: ArtefactId, structures: Structures | None) -> DatasetStructure | None:
    """The structure of data that name a dataflow, or a data structure definition instead."""
    if structures is None:
        return None
    return structures.dataset(str(dataset)) or next(iter(structures.defined_by(dataset)), None)


def value_of(text: str | None) -> float | str | None:
    """The value of an observation: a number, None if it is missing or NaN, otherwise the text."""
    if text is None or not text.strip():
        return None
    try:
        number = float(text)
    except ValueError:
        return text.strip()
    return None if isnan(number) else number
