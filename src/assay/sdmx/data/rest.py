"""Data from an SDMX REST service, 2.1 or 3.0: each query of a selection is a request.

The first answers show which of the two a service supports. If it offers a constraint of available data, codes
without data are not requested with others: many services refuse a whole request because of one unknown code. A
constraint that contradicts the service's own data is not used, and neither is one that cannot be fetched.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Protocol
from urllib.parse import quote

from msgspec.structs import replace

from assay.errors import InputError
from assay.model import TimeRange
from assay.model.failure import Blame
from assay.platform.surface import argument
from assay.sdmx.data.csv import add_csv, is_sdmx_csv
from assay.sdmx.data.observations import DataQuery, DataTables, DataTrouble, Observation, UnknownDataset
from assay.sdmx.data.xml import add_xml, read_available
from assay.sdmx.errors import suggestion
from assay.sdmx.periods import merged_days, parse_period
from assay.sdmx.structures.identifiers import ArtefactId, parse_artefact
from assay.sdmx.structures.known import DatasetStructure, Structures

_TIME = "TIME_PERIOD"
_DATA = (
    "application/vnd.sdmx.data+csv;version=2.0.0, application/vnd.sdmx.data+csv;version=1.0.0;q=0.9, "
    "application/vnd.sdmx.structurespecificdata+xml;version=2.1;q=0.7, "
    "application/vnd.sdmx.data+xml;version=3.0.0;q=0.6, application/vnd.sdmx.genericdata+xml;version=2.1;q=0.5"
)
_STRUCTURE = (
    "application/vnd.sdmx.structure+xml;version=2.1, application/vnd.sdmx.structure+xml;version=3.0.0;q=0.9, "
    "application/xml;q=0.5"
)
_NOT_THERE = frozenset({400, 404, 405, 406, 501})
"""Statuses for a request in an unsupported version; 404 also if there are no data."""
_PERIOD = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?|-[ASTQ][0-9]|-[MW][0-9]{2}|-D[0-9]{3})?")
"""How SDMX itself writes periods, without those that have a time of day."""
_LONGEST_URL = 3500
"""Services and their gateways refuse longer URLs: then codes are requested in portions."""
_MOST_KEPT = 64
"""The number of cached answers: many cases of a set need the same ones."""

StructureOf = Callable[[str], DatasetStructure | None]


class ServiceRefused(Exception):
    """The service answered with a status that no retry would change. Not raised outside this package."""

    def __init__(self, message: str, *, status: int) -> None:
        self.status = status
        super().__init__(message)


class Fetch(Protocol):
    """Fetches URLs from a service."""

    def __call__(self, url: str, accept: str) -> bytes:
        """The body of an answer. Raises ServiceRefused, and DataTrouble if the service cannot be reached."""
        ...

    def close(self) -> None:
        """Close connections."""
        ...


class RestSource:
    """The data of one service. ``structure_of`` gives a dataset's structure, which has the order of keys."""

    def __init__(self, url: str, fetch: Fetch, *, name: str, structure_of: StructureOf) -> None:
        self.name = name
        base, _, self._parameters = url.partition("?")
        self._base = base.rstrip("/")
        self._fetch = fetch
        self._structure_of = structure_of
        self._versions: list[_Version2 | _Version3] = [_Version2(), _Version3()]
        self._available: dict[ArtefactId, Mapping[str, frozenset[str]] | None] = {}
        self._has_answered = False
        """Whether any request for data had an answer other than a refusal."""
        self._kept: dict[tuple[object, ...], list[Observation] | DataTrouble] = {}

    @property
    def doubt(self) -> str:
        """A service answers 404 if there are no data, and so does a server without the service at that address."""
        if self._has_answered:
            return ""
        return (
            " (it has answered 404 to each request for data so far. Check that the URL is the service "
            "root, without /data)"
        )

    def close(self) -> None:
        """Close connections."""
        self._fetch.close()

    def _address(self, path: str) -> str:
        """The address of a resource, with the parameters of the service's own address, for example a key."""
        if not self._parameters:
            return self._base + path
        return f"{self._base}{path}{'&' if '?' in path else '?'}{self._parameters}"

    def select(self, query: DataQuery) -> Iterable[Observation]:
        """The observations of a query. Raises DataTrouble."""
        key = (query.dataset, tuple(sorted(query.codes.items())), query.time)
        if key not in self._kept:
            found = self._found(query)
            if isinstance(found, DataTrouble) and found.is_away:
                raise found
            if len(self._kept) >= _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = found
        kept = self._kept[key]
        if isinstance(kept, DataTrouble):
            raise kept.with_traceback(None)
        return kept

    def _found(self, query: DataQuery) -> list[Observation] | DataTrouble:
        """The observations of a query, or why there are none. Cached, since many cases ask the same."""
        try:
            dataset = parse_artefact(query.dataset)
        except InputError as error:
            return UnknownDataset(str(error))
        dataset = _named(dataset, self._structure_of(query.dataset))
        if query.time and merged_days(query.time) == ():
            return []
        try:
            found = self._select(dataset, query)
            if self._contradicts(dataset, found):
                self._available[dataset] = None
                self._kept = {key: kept for key, kept in self._kept.items() if key[0] != query.dataset}
                found = self._select(dataset, query)
        except DataTrouble as trouble:
            return trouble
        return found

    def _select(self, dataset: ArtefactId, query: DataQuery) -> list[Observation]:
        codes, has_data = self._with_data(dataset, query)
        structure = self._structure_of(query.dataset)
        found: list[Observation] = []
        try:
            for span in query.time or (TimeRange(),):
                for portion in self._portions(dataset, codes, span, structure):
                    found += self._ask(dataset, portion, span, structure, query.dataset)
        except DataTrouble as trouble:
            if has_data or not trouble.refused:
                raise
        return found

    def _contradicts(self, dataset: ArtefactId, found: Iterable[Observation]) -> bool:
        """Whether there are data for codes that have none by the service's constraint."""
        available = self._available.get(dataset)
        if available is None:
            return False
        keys = dict.fromkeys(key for _, key, _, _ in found)
        return any(name in available and code not in available[name] for key in keys for name, code in key)

    def _with_data(self, dataset: ArtefactId, query: DataQuery) -> tuple[Mapping[str, tuple[str, ...]], bool]:
        """The codes to request: those that have data, as far as is known; and whether each dimension has one."""
        structure = self._structure_of(query.dataset)
        available = self._availability(dataset)
        has_data = True
        names = [one.id for one in structure.dimensions] if structure is not None else list(available or ())
        codes: dict[str, tuple[str, ...]] = {}
        for name, wanted in query.codes.items():
            if names and name not in names:
                raise DataTrouble(
                    f"the dataset {query.dataset!r} has no dimension {name!r}{suggestion(name, names)}", refused=True
                )
            have = None if available is None else available.get(name)
            with_data = wanted if have is None else tuple(code for code in wanted if code in have)
            has_data = has_data and bool(with_data)
            # If none has data by the constraint, the service itself decides.
            codes[name] = with_data or wanted
        return codes, has_data

    def _availability(self, dataset: ArtefactId) -> Mapping[str, frozenset[str]] | None:
        """The codes with data by dimension; None: the service does not offer this."""
        if dataset not in self._available:
            self._available[dataset] = None
            for version in list(self._versions):
                try:
                    content = self._fetch(self._address(version.availability(dataset)), _STRUCTURE)
                except ServiceRefused:
                    continue
                except DataTrouble:
                    break  # optional; the data themselves show whether the service is available
                found = read_available(content)
                if found is not None:
                    self._available[dataset] = found
                    self._versions = [version]
                    break
        return self._available[dataset]

    def _portions(
        self,
        dataset: ArtefactId,
        codes: Mapping[str, tuple[str, ...]],
        span: TimeRange,
        structure: DatasetStructure | None,
    ) -> Iterator[Mapping[str, tuple[str, ...]]]:
        """The codes in one portion, or in several, so that no request is too long."""
        longest = max(codes, key=lambda name: len(",".join(codes[name])), default=None)
        urls = [version.data(dataset, codes, span, structure) or "" for version in self._versions]
        if longest is None or len(codes[longest]) < 2 or max(map(len, urls)) <= _LONGEST_URL:
            yield codes
            return
        middle = len(codes[longest]) // 2
        for half in (codes[longest][:middle], codes[longest][middle:]):
            yield from self._portions(dataset, {**codes, longest: half}, span, structure)

    def _ask(
        self,
        dataset: ArtefactId,
        codes: Mapping[str, tuple[str, ...]],
        span: TimeRange,
        structure: DatasetStructure | None,
        label: str,
    ) -> Iterator[Observation]:
        refused: ServiceRefused | None = None
        for version in list(self._versions):
            path = version.data(dataset, codes, span, structure)
            if path is None:
                continue
            try:
                content = self._fetch(self._address(path), _DATA)
            except ServiceRefused as error:
                if error.status not in _NOT_THERE:
                    passing = error.status >= 500 or error.status in (408, 425, 429)
                    blame: Blame = "network" if passing else "setup"
                    raise DataTrouble(f"{self.name}: {error}", blame=blame) from None
                refused = error if refused is None or refused.status == 404 else refused
                continue
            self._versions = [version]
            self._has_answered = True
            time = () if span == TimeRange() else (span,)
            yield from self._read(content, DataQuery(dataset=label, codes=codes, time=time), structure)
            return
        if refused is None:
            raise DataTrouble(
                f"{self.name}: a key of the dataset {label!r} needs the order of its dimensions, "
                f"which is unknown: set {argument('--structures')} to a source that has it",
                kind="unknown_structure",
            )
        if refused.status != 404:
            raise DataTrouble(f"{self.name} refuses the request: {refused}", refused=True)

    def _read(self, content: bytes, query: DataQuery, structure: DatasetStructure | None) -> Iterator[Observation]:
        tables = DataTables(name=self.name)
        known = None if structure is None else Structures([structure])
        where = f"the answer of {self.name}"
        beginning = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
        try:
            if beginning.startswith(b"<"):
                is_data = add_xml(tables, io.BytesIO(content.lstrip()), where=where, structures=known)
            else:
                text = content.decode("utf-8-sig")
                is_data = not text.strip() or is_sdmx_csv(text[:4096])
                if is_data and text.strip():
                    add_csv(tables, io.StringIO(text, newline=""), where=where, structures=known)
        except UnicodeDecodeError:
            is_data = False
        except InputError as error:
            raise DataTrouble(str(error), blame="network") from None
        if not is_data:
            raise DataTrouble(
                f"{where} is not recognized (expected SDMX-CSV or SDMX-ML). Check that the URL is the "
                "service root, without /data",
            )
        for table in tables.tables.values():
            # Services differ in how they complete versions, and name data structures instead of dataflows.
            for _, key, period, value in table.select(query):
                yield query.dataset, key, period, value


def _bound(text: str | None, *, is_end: bool = False) -> str | None:
    """A period in a form that every service reads: others are requested by their first or last day."""
    period = None if text is None or _PERIOD.fullmatch(text) else parse_period(text)
    if period is None:
        return text
    return date.fromordinal(min(period.after - 1, date.max.toordinal()) if is_end else period.first).isoformat()


def _named(dataset: ArtefactId, structure: DatasetStructure | None) -> ArtefactId:
    """The dataset as a service names it: a version that stands for several, or is shortened, is the structure's."""
    if dataset.version is None:
        return dataset
    if structure is not None and dataset.matches(structure.id):
        return replace(dataset, version=structure.id.version or dataset.version)
    return dataset


def _quoted(texts: Iterable[str], mark: str) -> str:
    return mark.join(quote(text, safe="") for text in texts)


class _Version2:
    """Paths of the REST interface of SDMX 2.1."""

    def availability(self, dataset: ArtefactId) -> str:
        return f"/availableconstraint/{_flow(dataset)}/all/all/all?mode=available&references=none"

    def data(
        self,
        dataset: ArtefactId,
        codes: Mapping[str, tuple[str, ...]],
        span: TimeRange,
        structure: DatasetStructure | None,
    ) -> str | None:
        """None: the key cannot be written, since the order of dimensions is unknown."""
        if codes and (structure is None or not structure.dimensions):
            return None
        key = "all"
        if codes and structure is not None:
            key = ".".join(_quoted(codes.get(one.id, ()), "+") for one in structure.dimensions)
        bounds = [("startPeriod", _bound(span.start)), ("endPeriod", _bound(span.end, is_end=True))]
        query = "&".join(f"{name}={quote(text, safe='')}" for name, text in bounds if text is not None)
        return f"/data/{_flow(dataset)}/{key}{'?' if query else ''}{query}"


class _Version3:
    """Paths of the REST interface of SDMX 3.0, which names the dimensions."""

    def availability(self, dataset: ArtefactId) -> str:
        return f"/availability/dataflow/{self._flow(dataset)}/*/*?mode=available&references=none"

    def data(
        self,
        dataset: ArtefactId,
        codes: Mapping[str, tuple[str, ...]],
        span: TimeRange,
        structure: DatasetStructure | None,
    ) -> str | None:
        time = (structure.time_dimension if structure is not None else None) or _TIME
        filters = [f"c[{quote(name, safe='')}]={_quoted(wanted, ',')}" for name, wanted in codes.items()]
        bounds = [("ge", _bound(span.start)), ("le", _bound(span.end, is_end=True))]
        periods = "+".join(f"{operator}:{quote(text, safe='')}" for operator, text in bounds if text is not None)
        query = "&".join([*filters, *([f"c[{time}]={periods}"] if periods else [])])
        return f"/data/dataflow/{self._flow(dataset)}/*{'?' if query else ''}{query}"

    def _flow(self, dataset: ArtefactId) -> str:
        parts: Sequence[str] = (dataset.agency or "*", dataset.id, dataset.version or "~")
        return "/".join(quote(part, safe="*~+") for part in parts)


def _flow(dataset: ArtefactId) -> str:
    if dataset.agency is None:
        return quote(dataset.id, safe="")
    version = None if dataset.version is None or set(dataset.version) & set("+*~") else dataset.version
    parts = [dataset.agency, dataset.id, *([version] if version else [])]
    return _quoted(parts, ",")
