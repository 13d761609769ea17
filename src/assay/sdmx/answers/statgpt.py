"""StatGPT's data query: ``{"urn": …, "filters": [{"component_code": …, "operator": …, "values": […]}]}``.

Names come in snake or camel case; in the older form ``values`` is one comma-joined string. In a tool's result, the
query names its dataset ``datasetUrn`` and its dimensions ``dimensionId``, each value is an object with ``id`` and
``name``, and the period is in ``requestedPeriod`` and not in a filter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.model.cases.selection import Selection, Term, TimeRange
from assay.sdmx.answers.draft import WILDCARD, SelectionDraft
from assay.sdmx.errors import SelectionError, described, located, suggestion
from assay.sdmx.periods import intersection, next_period, previous_period, ranges_of
from assay.sdmx.structures.known import Structures

DATASET_NAMES = ("urn", "dataset_urn", "datasetUrn", "dataset_id", "datasetId")
_COMPONENT_NAMES = (
    *("component_code", "componentCode", "component_id", "componentId"),
    *("dimension_id", "dimensionId"),
)
_PERIOD_NAMES = ("requestedPeriod", "requested_period")
_BOUNDS = (("startPeriod", "start_period"), ("endPeriod", "end_period"))
_OPERATORS = ("in", "eq", "between", "ge", "le", "gt", "lt")
_TIME = "TIME_PERIOD"


def read_query(value: Mapping[Any, object], structures: Structures | None) -> Selection:
    """The selection of one query. Raises SelectionError.

    For several filters on one dimension, the codes of all are selected. On time, ranges and lists of periods are
    joined, and then bounded by all of ``ge``, ``gt``, ``le`` and ``lt``. A filter without values selects nothing in a
    dimension, but all of time.
    """
    dataset = _first(value, DATASET_NAMES, 'the name of its dataset, "urn",')
    draft = SelectionDraft()
    one = draft.dataset(dataset)
    known = structures.dataset(dataset) if structures else None
    time_names = {_TIME, known.time_dimension if known and known.time_dimension else _TIME}
    spans = _TimeFilters()
    filters = value.get("filters")
    if not isinstance(filters, list | None):
        raise SelectionError(f"contains {described(filters)} instead of a list of filters", path=("filters",))
    for place, given in enumerate(filters or ()):
        with located("filters", place):
            component, operator, terms = _filter(given)
            if component in time_names:
                spans.add(operator, [term.id for term in terms])
            elif operator in ("in", "eq"):
                one.add(component, terms)
            else:
                raise SelectionError(
                    f"the operator {operator!r} needs ordered values, as those of {_TIME}; the codes "
                    f"of {component!r} have no order: list them with the operator 'in'"
                )
    spans.add_period(_period(value))
    one.add_time(spans.finish())
    return draft.finish()


def _period(value: Mapping[Any, object]) -> TimeRange | None:
    """The requested period, if it is separate from the filters; None if there is none, or it is all of time."""
    for name in _PERIOD_NAMES:
        held = value.get(name)
        if held is None:
            continue
        if not isinstance(held, dict):
            raise SelectionError(
                f"contains {described(held)} instead of an object with startPeriod and endPeriod", path=(name,)
            )
        start, end = (held.get(key, held.get(other)) for key, other in _BOUNDS)
        for key, bound in zip(("startPeriod", "endPeriod"), (start, end), strict=True):
            if not isinstance(bound, str | None):
                raise SelectionError(f"contains {described(bound)} instead of a period", path=(name, key))
        if start or end:
            return TimeRange(start=(start or "").strip() or None, end=(end or "").strip() or None)
    return None


def _filter(given: object) -> tuple[str, str, list[Term]]:
    if not isinstance(given, dict):
        raise SelectionError(f'contains {described(given)} instead of an object with "component_code" and "values"')
    component = _first(given, _COMPONENT_NAMES, 'the name of its dimension, "component_code",')
    operator = given.get("operator") or "in"
    if not isinstance(operator, str) or operator.strip().lower() not in _OPERATORS:
        hint = suggestion(operator, _OPERATORS) if isinstance(operator, str) else ""
        raise SelectionError(
            f"contains {described(operator)}{hint}: expected one of {', '.join(_OPERATORS)}", path=("operator",)
        )
    return component, operator.strip().lower(), _terms(given.get("values"))


def _terms(values: object) -> list[Term]:
    if values is None:
        return []
    if isinstance(values, str):  # the older form
        return [Term(id=part.strip()) for part in values.split(",") if part.strip()]
    if not isinstance(values, list):
        raise SelectionError(f"contains {described(values)} instead of a list of codes", path=("values",))
    terms = []
    for place, value in enumerate(values):
        code = value.get("id") if isinstance(value, dict) else value
        name = value.get("name") if isinstance(value, dict) else None
        if not isinstance(code, str) or not code.strip():
            raise SelectionError(f"contains {described(code)} instead of a code", path=("values", place))
        terms.append(Term(id=code.strip(), name=(name.strip() or None) if isinstance(name, str) else None))
    return terms


def _first(value: Mapping[Any, object], names: tuple[str, ...], what: str) -> str:
    for name in names:
        if name in value:
            text = value[name]
            if isinstance(text, str) and text.strip():
                return text.strip()
            raise SelectionError(f"contains {described(text)} instead of text", path=(name,))
    raise SelectionError(f"{what} is missing")


class _TimeFilters:
    """The combination of all filters on time."""

    def __init__(self) -> None:
        self._ranges: list[TimeRange] = []
        self._periods: list[str] = []
        self._bounds: list[TimeRange] = []
        self._everything = False
        self._said = False

    def add(self, operator: str, values: list[str]) -> None:
        """Add a filter. Raises SelectionError if its values do not fit its operator."""
        self._said = True
        if operator in ("in", "eq"):
            self._everything = self._everything or not values or WILDCARD in values
            self._periods += values
            return
        wanted = 2 if operator == "between" else 1
        if len(values) != wanted:
            count = "two periods" if wanted == 2 else "one period"
            raise SelectionError(f"the operator {operator!r} takes {count}, but got {len(values)}", path=("values",))
        if operator == "between":
            self._ranges.append(TimeRange(start=values[0], end=values[1]))
        else:
            self._bounds.append(bounded(operator, values[0]))

    def add_period(self, period: TimeRange | None) -> None:
        """Add the period that was requested in addition to the filters."""
        if period is not None:
            self._said = True
            self._bounds.append(period)

    def finish(self) -> tuple[TimeRange, ...] | None:
        """The ranges; None if no filter was on time, ``()`` if the filters leave all of time."""
        if not self._said:
            return None
        listed = () if self._everything else (*self._ranges, *ranges_of(self._periods))
        found = listed or (TimeRange(),)
        for bound in self._bounds:
            found = intersection(found, (bound,))
        return () if TimeRange() in found else tuple(dict.fromkeys(found))


def bounded(operator: str, period: str) -> TimeRange:
    """The range, open at one end, for ``ge``, ``le``, ``gt`` or ``lt``; the last two exclude their period.

    Raises SelectionError if ``gt`` or ``lt`` has a value that is not a period.
    """
    if operator == "ge":
        return TimeRange(start=period)
    if operator == "le":
        return TimeRange(end=period)
    return TimeRange(start=next_period(period)) if operator == "gt" else TimeRange(end=previous_period(period))
