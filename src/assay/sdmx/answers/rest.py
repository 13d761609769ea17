"""SDMX REST data URLs, 2.1 and 3.0.

    2.1:  …/data/FLOW/KEY[/PROVIDER]?startPeriod=…&endPeriod=…
    3.0:  …/data/CONTEXT/AGENCY/ID/VERSION/KEY?c[DIM]=…

Both are read by one grammar: a query string of either may follow a path of either. ``updatedAfter``,
``lastNObservations`` and other parameters that name neither a code nor a period have no effect. Eurostat's
``…/statistics/1.0/data/FLOW?geo=DE&geo=FR&time=2015`` names dimensions as parameters.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from msgspec import Struct, field
from msgspec.structs import replace

from assay.model.cases.selection import Selection, TimeRange
from assay.sdmx.answers.draft import WILDCARD, SelectionDraft
from assay.sdmx.answers.keys import (
    Codes,
    cubes_of,
    join,
    meet,
    position_codes,
    read_key,
    selects_everything,
    structure_for,
)
from assay.sdmx.answers.statgpt import bounded
from assay.sdmx.errors import SelectionError, excerpt, suggestion, unknown_structure
from assay.sdmx.periods import intersection, ranges_of
from assay.sdmx.structures.identifiers import code_of
from assay.sdmx.structures.known import Structures

_CONTEXTS = frozenset({"dataflow", "datastructure", "provisionagreement", WILDCARD})
_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_COMPONENT = re.compile(r"c\[([^\]]*)\]")
_COMPARISON = re.compile(r"(eq|ne|lt|le|gt|ge|co|nc|sw|ew):(.*)", re.DOTALL)
_ORDERED = frozenset({"lt", "le", "gt", "ge"})
_TIME = "TIME_PERIOD"
_WITHOUT_EFFECT = frozenset(
    {
        "updatedAfter",
        "firstNObservations",
        "lastNObservations",
        "dimensionAtObservation",
        "detail",
        "includeHistory",
        "attributes",
        "measures",
        "includeMetadata",
        "reportingYearStartDay",
        "asOf",
        "limit",
        "offset",
        "sort",
        "format",
        "lang",
        "locale",
        "compress",
        "compressed",
        "returnData",
        "references",
        "saveAs",
        "labels",
    }
)
"""Parameters that shape a service's answer, but name neither a code nor a period."""
_STATISTICS = re.compile(r"(?:^|/)statistics/[^/]+/data/[^/?#]")
"""The path of Eurostat's other interface."""
_WITHOUT_EFFECT_THERE = frozenset(
    {"format", "lang", "compress", "compressed", "precision", "unitLabel", "shortLabel", "groupedIndicators"}
)
_UNDESCRIBED = frozenset({"geoLevel", "lastTimePeriod", "filterNonGeo"})
"""Its parameters that select codes or periods in a way that no structure describes."""
_PARAMETERS = ("startPeriod", "endPeriod", *sorted(_WITHOUT_EFFECT))


class DataUrl(Struct, frozen=True, kw_only=True):
    """A data URL in its parts, percent-decoded. Without keys all series are meant."""

    dataset: str
    keys: tuple[str, ...] = ()
    start: str | None = None
    end: str | None = None
    filters: tuple[tuple[str, str], ...] = field(default=())
    """Component and condition of each ``c[…]``, in the URL's order."""
    loose: bool = False
    """Whether names of datasets and dimensions may be in either case, as in Eurostat's other interface."""
    unread: tuple[str, ...] = ()
    """Parameters that SDMX does not define, and that were ignored."""


def is_data_url(text: str) -> bool:
    """Whether a text looks like the URL of a data query, absolute or from the service's root."""
    if any(letter.isspace() for letter in text):
        return False
    if _SCHEME.match(text) is None and not text.startswith(("/", "data/")):
        return False
    return _below_data(text) is not None


def read_url(url: str, structures: Structures | None) -> Selection:
    """The selection of a data URL. Raises SelectionError.

    Several keys are the union of their series: one query for a cross product, otherwise several. Positions
    missing at a key's end are wildcards. If a dimension has both a condition and values in the key, only their
    common codes count; a query without any common code is dropped.
    """
    parts = _with_known_names(split_url(url), structures)
    structure = structures.dataset(parts.dataset) if structures else None
    time_names = {_TIME, structure.time_dimension if structure and structure.time_dimension else _TIME}
    cubes = _key_cubes(parts, structures)
    spans: tuple[TimeRange, ...] | None = None
    if parts.start is not None or parts.end is not None:
        spans = (TimeRange(start=parts.start, end=parts.end),)
    for component, condition in parts.filters:
        if component in time_names:
            found = _periods(condition)
            spans = found if spans is None else intersection(spans, found)
        else:
            codes = _Condition(parts.dataset, component, structures).read(condition)
            cubes = [{**cube, component: meet(cube.get(component), codes)} for cube in cubes]
    draft = SelectionDraft()
    for cube in cubes:
        if () in cube.values():
            continue
        query = draft.dataset(parts.dataset)
        for dimension, selected in cube.items():
            query.add_codes(dimension, selected)
        query.add_time(spans)
    return draft.finish()


def _key_cubes(parts: DataUrl, structures: Structures | None) -> list[dict[str, Codes]]:
    if all(selects_everything(key) for key in parts.keys):
        known = structures.dataset(parts.dataset) if structures else None
        if known is None:
            return [{}]
        keys = parts.keys or ("all",)
    else:
        keys = parts.keys
        known = structure_for(
            parts.dataset, structures, why=f"the key {excerpt(','.join(keys))} lists values by position"
        )
    return cubes_of(read_key(key, known, dataset=parts.dataset) for key in keys)


def split_url(url: str) -> DataUrl:
    """Split a data URL into its parts. Raises SelectionError if it names no dataset."""
    path, _, query = url.partition("#")[0].partition("?")
    segments = _below_data(path)
    if segments is None:
        raise SelectionError(
            f"{excerpt(path)} is not a data URL: use …/data/FLOW/KEY or …/data/dataflow/AGENCY/ID/VERSION/KEY"
        )
    if segments[0].lower() in _CONTEXTS:
        dataset, key = _version_3(segments, path)
    else:
        dataset, key = segments[0], segments[1] if len(segments) > 1 else ""
    start = end = None
    filters: list[tuple[str, str]] = []
    unread: list[str] = []
    pairs = [pair.partition("=") for pair in query.split("&") if pair.strip()]
    # A "+" joins codes here: it must not become a space, as in forms.
    given = [(unquote(name).strip(), unquote(text).strip()) for name, _, text in pairs]
    if _STATISTICS.search(path) is not None:
        return _statistics(dataset, given)
    for name, value in given:
        component = _COMPONENT.fullmatch(name)
        if component is not None:
            filters.append((component[1].strip(), value))
        elif name == "startPeriod":
            start = value or None
        elif name == "endPeriod":
            end = value or None
        elif name not in _WITHOUT_EFFECT:
            unread.append(name)
    keys = tuple(dict.fromkeys(one.strip() for one in key.split(",")))
    return DataUrl(
        dataset=dataset, keys=keys, start=start, end=end, filters=tuple(filters), unread=tuple(dict.fromkeys(unread))
    )


def _statistics(dataset: str, given: list[tuple[str, str]]) -> DataUrl:
    """A URL of Eurostat's other interface.

    Each parameter is the name of a dimension with one of its codes, repeated for each further code. ``time`` lists
    periods, ``sinceTimePeriod`` and ``untilTimePeriod`` bound them.
    """
    bounds: dict[str, str] = {}
    codes: dict[str, dict[str, None]] = {_TIME: {}}
    unread: dict[str, None] = {}
    for name, value in given:
        if name in ("sinceTimePeriod", "untilTimePeriod"):
            bounds[name] = value
        elif name in _UNDESCRIBED:
            unread[name] = None
        elif name not in _WITHOUT_EFFECT_THERE and value:
            codes.setdefault(_TIME if name == "time" else name, {})[value] = None
    return DataUrl(
        dataset=dataset,
        keys=("",),
        start=bounds.get("sinceTimePeriod") or None,
        end=bounds.get("untilTimePeriod") or None,
        filters=tuple((name, ",".join(values)) for name, values in codes.items() if values),
        loose=True,
        unread=tuple(unread),
    )


def _with_known_names(parts: DataUrl, structures: Structures | None) -> DataUrl:
    """The same URL with the structures' names: Eurostat writes datasets and dimensions in either case."""
    if not parts.loose:
        return parts
    known = None if structures is None else structures.dataset(parts.dataset)
    if known is None:
        parts = replace(parts, dataset=parts.dataset.upper())
        known = None if structures is None else structures.dataset(parts.dataset)
    names = {} if known is None else {one.id.casefold(): one.id for one in known.dimensions}
    return replace(parts, filters=tuple((names.get(name.casefold(), name), said) for name, said in parts.filters))


def url_notes(url: str) -> tuple[str, ...]:
    """The ignored parts of a data URL, one sentence each. Empty if the URL is unreadable."""
    try:
        unread = split_url(url).unread
    except SelectionError:
        return ()
    return tuple(
        f"the URL's parameter {excerpt(name, most=40)} was ignored"
        + ("" if name in _UNDESCRIBED else suggestion(name, _PARAMETERS))
        for name in unread
    )


def _version_3(segments: list[str], path: str) -> tuple[str, str]:
    """Dataset and key from the segments context, agency, id, version, key; missing segments are wildcards."""
    _, agency, id, version, key, *_ = (*segments, "", "", "", "", "")
    if id in ("", WILDCARD) or "," in id:
        raise SelectionError(
            f"{excerpt(path)} names {'several datasets' if ',' in id else 'no dataset'}: use "
            "…/data/dataflow/AGENCY/ID/VERSION/KEY, one URL per dataset"
        )
    owner = "" if agency in ("", WILDCARD) else f"{agency}:"
    edition = "" if version in ("", WILDCARD, "+", "~", "latest") else f"({version})"
    return f"{owner}{id}{edition}", key


def _below_data(url: str) -> list[str] | None:
    """The decoded segments after the last ``data`` segment that is followed by any; None without one."""
    path = url.partition("#")[0].partition("?")[0]
    if _SCHEME.match(path):
        path = path.partition("://")[2].partition("/")[2]
    segments = path.split("/")
    for place in range(len(segments) - 2, -1, -1):
        if segments[place] == "data" and segments[place + 1].strip():
            return [unquote(segment).strip() for segment in segments[place + 1 :]]
    return None


def _periods(condition: str) -> tuple[TimeRange, ...]:
    """The ranges of a condition on time: commas separate alternatives, and ``+`` joins bounds that hold together."""
    listed: list[str] = []
    found: list[TimeRange] = []
    for alternative in condition.split(","):
        spans: tuple[TimeRange, ...] = (TimeRange(),)
        parts = [_comparison(part) for part in alternative.split("+") if part.strip()]
        if len(parts) == 1 and parts[0][0] == "eq" and parts[0][1] != WILDCARD:
            listed.append(parts[0][1])
            continue
        for operator, period in parts:
            if operator == "eq":
                one = TimeRange() if period == WILDCARD else TimeRange(start=period, end=period)
            elif operator in _ORDERED:
                one = bounded(operator, period)
            else:
                raise SelectionError(f"c[{_TIME}]={excerpt(condition)}: {operator!r} is not supported for time")
            spans = intersection(spans, (one,))
        found += spans
    return tuple(dict.fromkeys((*found, *ranges_of(listed))))


def _comparison(text: str) -> tuple[str, str]:
    found = _COMPARISON.fullmatch(text.strip())
    return (found[1], found[2].strip()) if found else ("eq", text.strip())


class _Condition:
    """Reads conditions on one coded dimension."""

    def __init__(self, dataset: str, dimension: str, structures: Structures | None) -> None:
        self._dataset = dataset
        self._dimension = dimension
        self._structures = structures

    def read(self, condition: str) -> Codes:
        """The codes: all of the comma-separated alternatives; within ``+``, those that fulfil every part.

        Plain values joined by ``+``, as in 2.1, are alternatives. Raises SelectionError.
        """
        return join(self._alternative(one) for one in condition.split(","))

    def _alternative(self, text: str) -> Codes:
        parts = text.split("+")
        if not any(_COMPARISON.fullmatch(part.strip()) for part in parts):
            return position_codes(text)
        codes: Codes = None
        for part in parts:
            codes = meet(codes, self._compared(*_comparison(part)))
        return codes

    def _compared(self, operator: str, value: str) -> Codes:
        if operator == "eq":
            return position_codes(value)
        where = f"c[{self._dimension}]={operator}:{excerpt(value, most=40)}"
        if operator in _ORDERED:
            raise SelectionError(f"{where}: {operator!r} is not supported, since codes have no order: list them")
        value = code_of(value)
        known = self._codes(where)
        if operator == "ne":
            return tuple(code for code in known if code != value)
        if operator in ("co", "nc"):
            return tuple(code for code in known if (value in code) is (operator == "co"))
        return tuple(code for code in known if (code.startswith(value) if operator == "sw" else code.endswith(value)))

    def _codes(self, where: str) -> tuple[str, ...]:
        structure = structure_for(self._dataset, self._structures, why=f"{where} stands for codes of a list")
        dimension = structure.dimension(self._dimension)
        if dimension is None:
            names = [one.id for one in structure.dimensions]
            raise SelectionError(
                f"{where}: the dataset {self._dataset!r} has no such "
                f"dimension{suggestion(self._dimension, names)} (it has {', '.join(names)})"
            )
        codes = dimension.all_codes
        if codes is None:
            raise unknown_structure(
                f"{where} stands for codes of a list, but the list of that dimension is not available"
            )
        return codes
