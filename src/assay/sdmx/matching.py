"""Match the datasets and terms of two selections, under the names in the structures; compare names as texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from unicodedata import normalize

from msgspec import Struct, field

from assay.errors import InputError
from assay.model import DatasetSelection, Selection, Term, TimeRange
from assay.sdmx.periods import merged_days
from assay.sdmx.structures.identifiers import ArtefactId, code_of, parse_artefact
from assay.sdmx.structures.known import DatasetStructure, DimensionStructure, Structures

TIME_DIMENSION = "TIME_PERIOD"
"""The id of the time dimension, unless a structure gives another. Its terms are periods."""


class Chosen(Struct, kw_only=True):
    """One side's selection in one dimension of one dataset.

    ``codes`` is name by code, in order, the names taken from the code list if the side has
    none. ``everything``: a wildcard. Without codes and ``everything`` it is explicitly empty.
    """

    codes: dict[str, str | None] = field(default_factory=dict)
    names: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    """All names of each code that has several; ``codes`` has the first of them. None: it was also given without one."""
    everything: bool = False

    def add(self, terms: Sequence[tuple[str, str | None]]) -> None:
        """Add codes with their names. A code keeps each of its names, in an order that is not the order of adding."""
        once = dict(terms)
        if not self.codes and len(once) == len(terms):
            self.codes.update(once)  # as nearly always
            return
        for code, name in terms:
            known = self.names.get(code) or (self.codes.get(code, name),)
            names = known if name in known and code in self.codes else _names((*known, name))
            self.codes[code] = names[0]
            if len(names) > 1:
                self.names[code] = names

    def all_names(self, code: str) -> tuple[str | None, ...]:
        """Every name that the side gives a code."""
        return self.names.get(code) or (self.codes[code],)


def _names(given: Iterable[str | None]) -> tuple[str | None, ...]:
    """Different names, those of the side itself first. If one of them is also the list's, only that one is taken."""
    by_text: dict[str | None, str | None] = {}
    for name in sorted(given, key=_rank, reverse=True):
        by_text[None if name is None else plain_name(name)] = name
    return tuple(sorted(by_text.values(), key=_rank))


def _rank(name: str | None) -> tuple[bool, bool, str]:
    return name is None, isinstance(name, ListedName), name or ""


class Query(Struct, kw_only=True):
    """One query on one dataset. An absent dimension is not restricted."""

    dimensions: dict[str, Chosen] = field(default_factory=dict)
    time: tuple[TimeRange, ...] | None = None

    def add_time(self, time: tuple[TimeRange, ...]) -> None:
        """Add periods. If any are all of time, so is the union."""
        self.time = time if self.time is None else (*self.time, *time) if self.time and time else ()


class Side(Struct, kw_only=True):
    """One side's selection of one dataset: a union of queries, and its content in each dimension.

    A dimension, or time, that only some of the queries restrict is selected as a whole. One that no query mentions is
    absent.
    """

    queries: list[Query]
    dimensions: dict[str, Chosen]
    time: tuple[TimeRange, ...] | None = None


def _side(
    mentions: Sequence[DatasetSelection] | None, structure: DatasetStructure | None, ignored: frozenset[str]
) -> Side | None:
    if mentions is None:
        return None
    queries = [_query(dataset, structure, ignored) for dataset in mentions]
    if len(queries) == 1:
        return Side(queries=queries, dimensions=queries[0].dimensions, time=queries[0].time)
    speaks_of_time = any(query.time is not None for query in queries)
    # A range that ends before it starts has no day, and adds nothing to the other queries.
    queries = [one for one in queries if not one.time or merged_days(one.time) != ()] or queries
    names = dict.fromkeys(name for query in queries for name in query.dimensions)
    times = [query.time for query in queries]
    time = tuple(dict.fromkeys(span for time in times for span in time or ())) if all(times) else ()
    return Side(
        queries=queries,
        dimensions={name: _union([query.dimensions.get(name) for query in queries]) for name in names},
        time=time if speaks_of_time else None,
    )


def _query(dataset: DatasetSelection, structure: DatasetStructure | None, ignored: frozenset[str]) -> Query:
    query = Query()
    time_dimension = (structure.time_dimension if structure is not None else None) or TIME_DIMENSION
    for one in dataset.dimensions:
        if one.dimension in ignored:
            continue
        if one.dimension == time_dimension:
            query.add_time(() if one.everything else tuple(TimeRange(start=t.id, end=t.id) for t in one.terms))
            continue
        chosen = query.dimensions.get(one.dimension)
        if chosen is None:
            chosen = query.dimensions[one.dimension] = Chosen()
        chosen.everything = chosen.everything or one.everything
        known = structure.dimension(one.dimension) if structure is not None else None
        chosen.add(_with_names(one.terms, known))
    if dataset.time is not None and time_dimension not in ignored:
        query.add_time(dataset.time)
    return query


def _union(several: Sequence[Chosen | None]) -> Chosen:
    """The union of several queries in one dimension."""
    said = [one for one in several if one is not None and (one.everything or one.codes)]
    if not said:
        return Chosen()
    if len(said) < len(several) or any(one.everything for one in said):
        return Chosen(everything=True)
    union = Chosen()
    for one in said:
        union.add([(code, name) for code in one.codes for name in one.all_names(code)])
    return union


_ID, _NAME = attrgetter("id"), attrgetter("name")


def _with_names(terms: Sequence[Term], known: DimensionStructure | None) -> list[tuple[str, str | None]]:
    """The codes of terms with their names: the list's if a term has none."""
    names = known.codes.names if known is not None and known.codes is not None else {}
    if ":" not in "".join(map(_ID, terms)):
        # No URN among them: the hundreds of terms of a case are taken at once.
        found = list(zip(map(_ID, terms), map(_NAME, terms), strict=True))
    else:
        found = [(term.id if term.id in names else code_of(term.id), term.name) for term in terms]
    if not names or None not in map(_NAME, terms):
        return found
    return [
        (code, ListedName(listed) if name is None and (listed := names.get(code)) is not None else name)
        for code, name in found
    ]


class DatasetPair(Struct, frozen=True, kw_only=True):
    """One dataset as both selections have it. ``target`` or ``selected`` is None if absent."""

    label: str
    """The target's name for the dataset, if the target has it."""
    structure: DatasetStructure | None
    target: Side | None
    selected: Side | None


def pair_datasets(
    target: Selection,
    selected: Selection,
    structures: Structures | None,
    *,
    ignored: frozenset[str] = frozenset(),
) -> list[DatasetPair]:
    """The datasets of both sides, the target's first, each side's own in its order.

    A dataset that occurs several times is a union of queries. A selected dataset is paired with the target's of the
    same version, otherwise with the first one that its id can mean: an agency or version that only one side gives is
    free.
    The ``ignored`` dimensions are left out of both sides.
    """
    wanted = _by_label(target, [])
    labels = list(wanted)
    chosen = _by_label(selected, labels)
    pairs = []
    for label in dict.fromkeys((*labels, *chosen)):
        structure = _structure(structures, label, chosen.get(label, ()))
        pairs.append(
            DatasetPair(
                label=label,
                structure=structure,
                target=_side(wanted.get(label), structure, ignored),
                selected=_side(chosen.get(label), structure, ignored),
            )
        )
    return pairs


def _by_label(selection: Selection, labels: Sequence[str]) -> dict[str, list[DatasetSelection]]:
    """The queries of a selection by dataset, under one of ``labels`` if it is the same dataset, otherwise its own."""
    label_of = labels_of((one.dataset for one in selection.datasets), labels)
    found: dict[str, list[DatasetSelection]] = {}
    for dataset in selection.datasets:
        found.setdefault(label_of[dataset.dataset], []).append(dataset)
    return found


def labels_of(names: Iterable[str], labels: Sequence[str] = ()) -> dict[str, str]:
    """One label for all names that can mean the same dataset: one of ``labels``, otherwise the most specific one.

    Neither the order of ``names`` nor that of ``labels`` makes a difference.
    """
    known = sorted(labels, key=_says_less)
    found: dict[str, str] = {}
    # Names with a version first: a name without one can mean any of them, and must not represent two different ones.
    for name in sorted(set(names), key=_says_less):
        found[name] = _counterpart(name, known)
        if found[name] not in known:
            known.append(found[name])
    return found


def _says_less(dataset: str) -> tuple[bool, bool, str]:
    """For sorting: ids with a version first, then those with an agency."""
    parsed = _parsed(dataset)
    return parsed is None or parsed.version is None, parsed is None or not parsed.agency, dataset


def _structure(
    structures: Structures | None, label: str, selected: Sequence[DatasetSelection]
) -> DatasetStructure | None:
    """The structure for scoring both sides: a version that only the selection gives applies to the target, too."""
    if structures is None:
        return None
    parsed = _parsed(label)
    free = parsed is not None and parsed.version is None
    names = [*sorted({dataset.dataset for dataset in selected}, key=_says_less), label] if free else [label]
    return next((found for name in names if (found := structures.dataset(name)) is not None), None)


def _parsed(dataset: str) -> ArtefactId | None:
    try:
        return parse_artefact(dataset)
    except InputError:
        return None


def _counterpart(dataset: str, labels: Sequence[str]) -> str:
    """The label among those that this id means, otherwise the id's own."""
    parsed = _parsed(dataset)
    if parsed is None:
        return dataset.strip()
    own = str(parsed)
    if own in labels:
        return own
    # Two versions can be distinguished only here: the same one first, then any that fits.
    fitting = [label for label in labels if (other := _parsed(label)) is not None and parsed.matches(other)]
    same = [label for label in fitting if (known := _parsed(label)) is not None and known.version is not None]
    return next(iter(same if parsed.version is not None and same else fitting), own)


class ListedName(str):
    """A code list's name for a code that was selected without one. Not used outside this package."""

    __slots__ = ()


def plain_text(name: str | None) -> str | None:
    """A name in a form that reports and files can store."""
    return None if name is None else str(name)


def same_name(one: str | None, other: str | None) -> bool:
    """Whether two names are the same text, apart from the number and kind of blanks."""
    if one is None or other is None:
        return one is other
    return one == other or plain_name(one) == plain_name(other)


def plain_name(name: str) -> str:
    """A name with its letters composed, and single blanks between its words."""
    return " ".join(normalize("NFC", name).split())
