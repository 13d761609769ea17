"""An answer's selection with some of its parts replaced by the target's."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from assay.model import DatasetSelection, Selection
from assay.sdmx.matching import TIME_DIMENSION, pair_datasets
from assay.sdmx.structures.known import Structures


def mended_datasets(answer: Selection, target: Selection, structures: Structures | None) -> Selection:
    """The answer on the target's datasets: one in place of another keeps its terms; what is missing is the target's."""
    own = [one for one in answer.datasets if any(_same(one, other, structures) for other in target.datasets)]
    others = [one for one in answer.datasets if one not in own]
    wanted = [one for one in target.datasets if not any(_same(one, other, structures) for other in answer.datasets)]
    names = list(dict.fromkeys(one.dataset for one in others))
    for name in dict.fromkeys(one.dataset for one in wanted):
        if names:
            wrong = names.pop(0)
            own += [replace(one, dataset=name) for one in others if one.dataset == wrong]
        else:
            own += [one for one in wanted if one.dataset == name]
    return Selection(datasets=tuple(own))


def repaired_dimensions(
    answer: Selection, target: Selection, parts: Collection[str], structures: Structures | None
) -> Selection:
    """The answer with these dimensions of the target's, and its time where ``time`` is among the parts.

    Of several queries on one dataset, each takes over from the target's query in the same place.
    """
    made: list[DatasetSelection] = []
    seen: dict[str, int] = {}
    for one in answer.datasets:
        givers = [other for other in target.datasets if _same(one, other, structures)]
        if not givers:
            made.append(one)
            continue
        place = seen.get(givers[0].dataset, 0)
        seen[givers[0].dataset] = place + 1
        made.append(_mended(one, givers[min(place, len(givers) - 1)], parts, structures))
    return Selection(datasets=tuple(made))


def _mended(
    one: DatasetSelection, giver: DatasetSelection, parts: Collection[str], structures: Structures | None
) -> DatasetSelection:
    kept = [chosen for chosen in one.dimensions if chosen.dimension not in parts]
    given = [chosen for chosen in giver.dimensions if chosen.dimension in parts]
    time = one.time
    if "time" in parts:
        names = _time_names(one, giver, structures)
        kept = [chosen for chosen in kept if chosen.dimension not in names]
        given += [chosen for chosen in giver.dimensions if chosen.dimension in names]
        time = giver.time
    return replace(one, dimensions=(*kept, *given), time=time)


def _time_names(one: DatasetSelection, giver: DatasetSelection, structures: Structures | None) -> Sequence[str]:
    """What the time dimension may be called."""
    pairs = pair_datasets(Selection(datasets=(giver,)), Selection(datasets=(one,)), structures)
    known = [pair.structure.time_dimension for pair in pairs if pair.structure is not None]
    return [TIME_DIMENSION, *(name for name in known if name)]


def _same(one: DatasetSelection, other: DatasetSelection, structures: Structures | None) -> bool:
    """Whether both are queries on one dataset."""
    if one.dataset == other.dataset:
        return True
    pairs = pair_datasets(Selection(datasets=(other,)), Selection(datasets=(one,)), structures)
    return any(pair.target is not None and pair.selected is not None for pair in pairs)
