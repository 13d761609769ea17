"""Bring the datasets and terms of two selections together, under the names that structures know them by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from assay.errors import InputError
from assay.model import DatasetSelection, Selection, Term, TimeRange
from assay.sdmx.naming import ListedName
from assay.sdmx.structures.identifiers import ArtefactId, code_of, parse_artefact
from assay.sdmx.structures.known import DatasetStructure, DimensionStructure, Structures

TIME_DIMENSION = "TIME_PERIOD"
"""The id of the time dimension where no structure tells another. Its terms are periods."""


@dataclass(slots=True, kw_only=True)
class Chosen:
    """What one side says of one dimension of one dataset.

    ``codes`` is name by code, in order, the names taken from the code list where the side has
    none. ``everything``: a wildcard. Without codes and ``everything`` it is explicitly empty.
    """

    codes: dict[str, str | None] = field(default_factory=dict)
    everything: bool = False


@dataclass(slots=True, kw_only=True)
class Side:
    """One dataset as one side selects it, several mentions of it brought together."""

    dimensions: dict[str, Chosen] = field(default_factory=dict)
    time: tuple[TimeRange, ...] | None = None

    def add(self, dataset: DatasetSelection, structure: DatasetStructure | None) -> None:
        """Take in one mention of the dataset."""
        time_dimension = (structure.time_dimension if structure is not None else None) or TIME_DIMENSION
        for one in dataset.dimensions:
            if one.dimension == time_dimension:
                self._add_time(() if one.everything else tuple(TimeRange(start=t.id, end=t.id) for t in one.terms))
                continue
            chosen = self.dimensions.get(one.dimension)
            if chosen is None:
                chosen = self.dimensions[one.dimension] = Chosen()
            chosen.everything = chosen.everything or one.everything
            known = structure.dimension(one.dimension) if structure is not None else None
            _add_terms(chosen.codes, one.terms, known)
        if dataset.time is not None:
            self._add_time(dataset.time)

    def _add_time(self, time: tuple[TimeRange, ...]) -> None:
        """Take in periods. A mention of all of time makes the union all of time."""
        if self.time is None:
            self.time = time
        else:
            self.time = (*self.time, *time) if self.time and time else ()


_ID, _NAME = attrgetter("id"), attrgetter("name")


def _add_terms(codes: dict[str, str | None], terms: Sequence[Term], known: DimensionStructure | None) -> None:
    names = known.codes.names if known is not None and known.codes is not None else {}
    if ":" not in "".join(map(_ID, terms)):
        # No URN among them: hundreds of terms a case are taken in one go.
        codes.update(zip(map(_ID, terms), map(_NAME, terms), strict=True))
    else:
        codes.update((term.id if term.id in names else code_of(term.id), term.name) for term in terms)
    if names and None in codes.values():
        unnamed = [code for code, name in codes.items() if name is None]
        codes.update((code, ListedName(names[code])) for code in unnamed if names.get(code) is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetPair:
    """One dataset of either selection, and what both say of it. ``target`` or ``selected`` is None where absent."""

    label: str
    """The target's name for it, where the target has it."""
    structure: DatasetStructure | None
    target: Side | None
    selected: Side | None


def pair_datasets(target: Selection, selected: Selection, structures: Structures | None) -> list[DatasetPair]:
    """The datasets of both sides, the target's first, each side's own in its order.

    A selected dataset stands beside the target's of the same version, else beside the first one
    that its id can mean: an agency or version that only one side says is free.
    """
    wanted: dict[str, list[DatasetSelection]] = {}
    for dataset in target.datasets:
        wanted.setdefault(_label(dataset.dataset), []).append(dataset)
    labels = list(wanted)
    chosen: dict[str, list[DatasetSelection]] = {}
    for dataset in selected.datasets:
        label = _counterpart(dataset.dataset, labels)
        if label not in wanted and label not in chosen:
            labels.append(label)
        chosen.setdefault(label, []).append(dataset)
    pairs = []
    for label in labels:
        structure = _structure(structures, label, chosen.get(label, ()))
        pairs.append(
            DatasetPair(
                label=label,
                structure=structure,
                target=_side(wanted.get(label), structure),
                selected=_side(chosen.get(label), structure),
            )
        )
    return pairs


def _side(mentions: Sequence[DatasetSelection] | None, structure: DatasetStructure | None) -> Side | None:
    if mentions is None:
        return None
    side = Side()
    for dataset in mentions:
        side.add(dataset, structure)
    return side


def _structure(
    structures: Structures | None, label: str, selected: Sequence[DatasetSelection]
) -> DatasetStructure | None:
    """What both sides are judged by: a version that only the selection says holds for the target, too."""
    if structures is None:
        return None
    parsed = _parsed(label)
    free = parsed is not None and parsed.version is None
    names = [*(dataset.dataset for dataset in selected), label] if free else [label]
    return next((found for name in names if (found := structures.dataset(name)) is not None), None)


def _parsed(dataset: str) -> ArtefactId | None:
    try:
        return parse_artefact(dataset)
    except InputError:
        return None


def _label(dataset: str) -> str:
    """An id in one spelling, ``AGENCY:ID(VERSION)``; text that is no id stays as it is."""
    parsed = _parsed(dataset)
    return dataset.strip() if parsed is None else str(parsed)


def _counterpart(dataset: str, labels: Sequence[str]) -> str:
    """The label among those that this id means, else the id's own."""
    own = _label(dataset)
    if own in labels:
        return own
    parsed = _parsed(dataset)
    if parsed is None:
        return own
    # Only here can two versions be told apart: the same one first, then any that fits.
    fitting = [label for label in labels if (other := _parsed(label)) is not None and parsed.matches(other)]
    same = [label for label in fitting if (known := _parsed(label)) is not None and known.version is not None]
    return next(iter(same if parsed.version is not None and same else fitting), own)
