"""The data URLs of Eurostat's other interface: ``…/statistics/1.0/data/nama_10_gdp?geo=DE&geo=FR&time=2015``.

Each parameter is the name of a dimension with one of its codes, repeated for each further code. ``time`` lists
periods, ``sinceTimePeriod`` and ``untilTimePeriod`` bound them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

_PATH = re.compile(r"(?:^|/)statistics/[^/]+/data/[^/?#]")
_WITHOUT_EFFECT = frozenset(
    {"format", "lang", "compress", "compressed", "precision", "unitLabel", "shortLabel", "groupedIndicators"}
)
NOT_TOLD = frozenset({"geoLevel", "lastTimePeriod", "filterNonGeo"})
"""Parameters that select codes or periods in a way that no structure describes."""


class Parameters(Struct, frozen=True, kw_only=True):
    """The content of the query string. ``conditions`` are pairs of a dimension and its comma-separated codes."""

    conditions: tuple[tuple[str, str], ...]
    periods: tuple[str, ...]
    since: str | None
    until: str | None
    unread: tuple[str, ...]


def is_statistics(url: str) -> bool:
    """Whether a URL belongs to that interface."""
    return _PATH.search(url) is not None


def read_parameters(given: Iterable[tuple[str, str]]) -> Parameters:
    """The parameters, percent-decoded, by what they mean."""
    periods, unread = [], []
    codes: dict[str, dict[str, None]] = {}
    bounds: dict[str, str] = {}
    for name, value in given:
        if name in ("sinceTimePeriod", "untilTimePeriod"):
            bounds[name] = value
        elif name in ("time", "TIME_PERIOD"):
            periods.append(value)
        elif name in NOT_TOLD:
            unread.append(name)
        elif name not in _WITHOUT_EFFECT and value:
            codes.setdefault(name, {})[value] = None
    return Parameters(
        conditions=tuple((name, ",".join(values)) for name, values in codes.items()),
        periods=tuple(dict.fromkeys(one for one in periods if one)),
        since=bounds.get("sinceTimePeriod") or None,
        until=bounds.get("untilTimePeriod") or None,
        unread=tuple(dict.fromkeys(unread)),
    )
