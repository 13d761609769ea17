"""What a metric's class says of the metric, and the rates that metrics give."""

from __future__ import annotations

from math import isfinite
from typing import Any

from msgspec import Struct

from assay.errors import UsageError

_OF_ONE_NAME = frozenset({"label", "meaning", "heading", "guide_column", "default_place"})
"""Attributes of one name: a class with a name of its own does not inherit them from another metric."""


class MetricInfo(Struct, frozen=True, kw_only=True):
    """What a metric's class says of it: each field but ``timed`` is an attribute that the class may have.

    An absent attribute has the default. Totals, gates, comparisons and reports ask this. A run stores it for each of
    its metrics, so that its reports look the same if a metric's package is not installed.
    """

    name: str
    label: str = ""
    """What people call it, shown next to the name."""
    meaning: str = ""
    """What the metric measures, in a line, for a first-time reader of a report."""
    heading: str = ""
    """The name of its rate in titles if it leads a run, for example ``Accuracy``. Empty: the label, or else the
    name."""
    binary: bool = False
    """Whether its values are 0 and 1 only."""
    lowest: float | None = None
    """The lowest possible value; None: unbounded. Binary metrics need not say 0 and 1."""
    highest: float | None = None
    higher_is_better: bool = True
    guide_column: str | None = None
    """The metric's column in the workbook, such as a name from the Denodo AI SDK's guide. None: its name."""
    default_place: int | None = None
    """Its place in a run that names no metrics; None: it is left out. Read only from Assay's own metrics."""
    timed: bool = False
    """Whether it scores wall times: it is then an `assay.ports.TimedMetric`."""

    @classmethod
    def of(cls, metric: object) -> MetricInfo:
        """Read the attributes of a metric or its class. Raises UsageError for an invalid one."""
        import msgspec

        names = [name for name in cls.__struct_fields__ if name != "timed" and _says(metric, name)]
        said: dict[str, Any] = {name: getattr(metric, name) for name in names}
        said["timed"] = callable(getattr(metric, "timed", None))
        if said.get("binary") is True:
            said = {"lowest": 0.0, "highest": 1.0, **{k: v for k, v in said.items() if v is not None}}
        who = f"the metric {said.get('name', type(metric).__name__)!r}"
        try:
            info = msgspec.convert(said, cls)
        except msgspec.ValidationError as error:
            raise UsageError(f"{who} describes itself inconsistently: {error}") from error
        bounds = [bound for bound in (info.lowest, info.highest) if bound is not None]
        if not all(map(isfinite, bounds)) or bounds != sorted(bounds):
            raise UsageError(f"{who} says that its values go from {info.lowest} to {info.highest}: give finite numbers")
        return info

    @property
    def said(self) -> str:
        """Label and meaning, as far as there are any: ``Row gap: how many rows more or fewer than gold``."""
        return ": ".join(filter(None, (self.label, self.meaning)))

    @property
    def title(self) -> str:
        """The name of the metric's rate in titles."""
        return self.heading or self.label or self.name

    @property
    def is_share(self) -> bool:
        """Whether the metric's values are shown as percentages: not if they may go far beyond 1."""
        return not any(bound is not None and abs(bound) >= 2.0 for bound in (self.lowest, self.highest))

    def reads_as_share(self, *values: float | None) -> bool:
        """Whether these values are shown as percentages. Without a declared range, all must be at most 1."""
        known = self.lowest is not None or self.highest is not None
        return self.is_share and (known or not any(value is not None and abs(value) > 1.0 for value in values))

    def gain(self, difference: float) -> float:
        """How much better a value is that is larger by ``difference``: below 0 if it is worse."""
        return difference if self.higher_is_better else -difference


def _says(metric: object, attribute: str) -> bool:
    kind = metric if isinstance(metric, type) else type(metric)
    if attribute not in _OF_ONE_NAME or (kind is not metric and "name" in getattr(metric, "__dict__", ())):
        return hasattr(metric, attribute)
    for one in kind.__mro__:
        if attribute in vars(one) or "name" in vars(one):
            return attribute in vars(one)
    return False


class Kappa(Struct, frozen=True, kw_only=True):
    """The agreement beyond chance, with its interval: 1 is perfect, 0 is chance, below 0 worse than that."""

    value: float
    low: float
    high: float
    confidence: float = 0.95


class Rate(Struct, frozen=True, kw_only=True):
    """A mean of per-case values with everything needed to score it.

    ``value`` is numerator / n, and None where n is 0. ``low`` and ``high`` bound it at
    ``confidence``: Wilson's interval for values within [0, 1], at an effective sample size if
    they are not all 0 or 1; Student's t for any others. ``unscored`` cases are in none of these
    numbers.
    """

    n: int
    numerator: float
    unscored: int
    value: float | None
    low: float | None
    high: float | None
    confidence: float = 0.95


class Count(Struct, frozen=True, kw_only=True):
    """How many cases carry a name (a flag, a near miss, a failure, a cause)."""

    name: str
    count: int
    case_ids: tuple[str, ...] = ()
