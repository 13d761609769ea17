"""What a metric says of itself."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite
from typing import Any

from assay.errors import UsageError

_OF_ONE_NAME = frozenset({"label", "meaning", "heading", "guide_column", "default_place"})
"""What is said of a name: a class that inherits from another metric and has a name of its own does not inherit it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricInfo:
    """What a metric's class says of it: each field but ``timed`` is an attribute that the class may have.

    What a class does not say has the default. Whatever counts, demands, compares or draws a metric asks this. A run
    keeps it of each of its metrics, so that it is drawn alike where a metric's package is not installed.
    """

    name: str
    label: str = ""
    """What people call it, shown beside the name."""
    meaning: str = ""
    """What it measures, in a line, for whoever reads a report for the first time."""
    heading: str = ""
    """What titles call its rate where it leads a run, such as ``Accuracy``. Empty: the label, or else the name."""
    binary: bool = False
    """Whether its values are 0 and 1 only."""
    lowest: float | None = None
    """The least value that it can have; None: there is none. Binary metrics need not say 0 and 1."""
    highest: float | None = None
    higher_is_better: bool = True
    guide_column: str | None = None
    """Its column in the workbook, such as one of the Denodo AI SDK guide's. None: its name."""
    default_place: int | None = None
    """Where it stands in a run that names no metrics; None: nowhere. Only Assay's own metrics are asked."""
    timed: bool = False
    """Whether it scores wall times: it is then an `assay.ports.TimedMetric`."""

    @classmethod
    def of(cls, metric: object) -> MetricInfo:
        """What a metric, or its class, says. Raises UsageError for an attribute that cannot be."""
        import msgspec

        names = [field.name for field in fields(cls) if field.name != "timed" and _says(metric, field.name)]
        said: dict[str, Any] = {name: getattr(metric, name) for name in names}
        said["timed"] = callable(getattr(metric, "timed", None))
        if said.get("binary") is True:
            said = {"lowest": 0.0, "highest": 1.0, **{k: v for k, v in said.items() if v is not None}}
        who = f"the metric {said.get('name', type(metric).__name__)!r}"
        try:
            info = msgspec.convert(said, cls)
        except msgspec.ValidationError as error:
            raise UsageError(f"{who} says of itself what cannot be: {error}") from error
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
        """What a title calls its rate."""
        return self.heading or self.label or self.name

    @property
    def is_share(self) -> bool:
        """Whether its values read as percentages: all but those that may go far beyond 1."""
        return not any(bound is not None and abs(bound) >= 2.0 for bound in (self.lowest, self.highest))

    def reads_as_share(self, *values: float | None) -> bool:
        """Whether these values of it read as percentages. Where it names no range, none may be beyond 1."""
        known = self.lowest is not None or self.highest is not None
        return self.is_share and (known or not any(value is not None and abs(value) > 1.0 for value in values))

    def gain(self, difference: float) -> float:
        """How much better a value is that is higher by ``difference``: below 0 where it is worse."""
        return difference if self.higher_is_better else -difference


def _says(metric: object, attribute: str) -> bool:
    kind = metric if isinstance(metric, type) else type(metric)
    if attribute not in _OF_ONE_NAME or (kind is not metric and "name" in getattr(metric, "__dict__", ())):
        return hasattr(metric, attribute)
    for one in kind.__mro__:
        if attribute in vars(one) or "name" in vars(one):
            return attribute in vars(one)
    return False
