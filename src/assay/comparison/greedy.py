"""Guess which predicted column corresponds to which gold column, if no mapping makes the rows equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay.comparison.cells import Column, Key
from assay.comparison.sizes import GREEDY_WORK


def greedy_mapping(gold: Sequence[Column], predicted: Sequence[Column]) -> tuple[int | None, ...]:
    """The best guess at which predicted column corresponds to which gold column, if no mapping makes the rows equal.

    Pairs are chosen by the share of values in common; the same position wins ties. A column that shares no value with a
    free column is paired by position if that is free, else with None.
    """
    most = max((len(column) for column in (*gold, *predicted)), default=0)
    ours, theirs = list(map(Counter, gold)), list(map(Counter, predicted))
    mapping = _same_bags(ours, theirs)
    used = {option for option in mapping if option is not None}
    left = [column for column, option in enumerate(mapping) if option is None]
    free = [option for option in range(len(predicted)) if option not in used]
    if len(free) * sum(len(ours[column]) for column in left) > GREEDY_WORK:
        return tuple(column if option is None and column in free else option for column, option in enumerate(mapping))
    scored: list[tuple[float, bool, int, int]] = []
    for column in left:
        for option in free:
            common = _common(ours[column], theirs[option])
            scored.append((common / max(most, 1), column == option, -column, -option))
    for share, same_place, column, option in sorted(scored, reverse=True):
        if mapping[-column] is None and -option not in used and (share > 0 or same_place):
            mapping[-column] = -option
            used.add(-option)
    return tuple(mapping)


def _common(ours: Counter[Key], theirs: Counter[Key]) -> int:
    """How many values both have in common, each as often as in both."""
    return sum(min(count, theirs[key]) for key, count in ours.items() if key in theirs)


def _same_bags(gold: Sequence[Counter[Key]], predicted: Sequence[Counter[Key]]) -> list[int | None]:
    """For each gold column, a predicted column with exactly the same values, preferably at the same position."""
    places: dict[int, list[int]] = {}
    for option, theirs in enumerate(predicted):
        if theirs:
            places.setdefault(hash(frozenset(theirs.items())), []).append(option)
    alike = [
        [option for option in places.get(hash(frozenset(ours.items())), ()) if dict.__eq__(ours, predicted[option])]
        for ours in gold
    ]
    mapping: list[int | None] = [column if column in options else None for column, options in enumerate(alike)]
    used = set(mapping)
    for column, options in enumerate(alike):
        if mapping[column] is None:
            mapping[column] = next((option for option in options if option not in used), None)
            used.add(mapping[column])
    return mapping
