"""The structures of datasets: their dimensions in order, their code lists, and the codes that have data.

A `Structures` is built once (`assay.sdmx.structures.load`), and every look-up in it takes constant time.
`missing_parts` and `missing_datasets` report what is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from assay.errors import InputError
from assay.model import DatabaseUrl
from assay.sdmx.errors import suggestion
from assay.sdmx.structures.identifiers import ArtefactId, parse_artefact, version_part


class CodeList(Struct, frozen=True, kw_only=True):
    """Codes with their names and their positions in hierarchies."""

    id: ArtefactId
    names: Mapping[str, str | None]
    """Name by code, in the list's order; None if a code has none."""
    children: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    """The children of each parent code, once for each hierarchy that has it: the list's own, and those over it."""
    whole: bool = True
    """Whether the list is complete: False if only parts are available, so that other codes may exist."""


class DimensionStructure(Struct, frozen=True, kw_only=True):
    """One dimension of a dataset. ``codes`` is None if its values are not coded, or the list is missing."""

    id: str
    name: str | None = None
    codes: CodeList | None = None
    available: frozenset[str] | None = None
    """The codes that have data, by the dataset's constraint. None: no constraint mentions the dimension."""
    missing: str | None = None
    """The missing artefact that would give its codes, for example ``code list IMF:CL_AREA(1.0)``."""
    _found: dict[str, Any] = field(default_factory=dict)
    """Cached properties: they are needed for each selection, and a list may have 100,000 codes."""

    @property
    def all_codes(self) -> tuple[str, ...] | None:
        """The codes that a wildcard covers, in the list's order: those with data, otherwise all. None: not known."""
        if "all" not in self._found:
            available = self.available
            if self.codes is None:
                codes = None if available is None else tuple(sorted(available))
            else:
                codes = tuple(code for code in self.codes.names if available is None or code in available)
            self._found["all"] = codes
        found: tuple[str, ...] | None = self._found["all"]
        return found

    @property
    def every_code(self) -> frozenset[str]:
        """`all_codes` as a set; empty if they are not known."""
        if "every" not in self._found:
            self._found["every"] = frozenset(self.all_codes or ())
        found: frozenset[str] = self._found["every"]
        return found


class DatasetStructure(Struct, frozen=True, kw_only=True):
    """A dataflow with its data structure definition."""

    id: ArtefactId
    name: str | None = None
    dimensions: tuple[DimensionStructure, ...] = ()
    """In the order of the key, without the time dimension."""
    time_dimension: str | None = None
    """The id of the time dimension, usually ``TIME_PERIOD``; None if it has none."""
    definition: ArtefactId | None = None
    """Its data structure definition, which data may name instead of the dataflow; None if it is not available."""

    @property
    def has_dimensions(self) -> bool:
        """Whether its data structure is available."""
        return bool(self.dimensions) or self.time_dimension is not None

    def dimension(self, id: str) -> DimensionStructure | None:
        """The dimension of that id, None if there is none."""
        return next((one for one in self.dimensions if one.id == id), None)


class Structures:
    """All datasets that are known, by name."""

    def __init__(
        self, datasets: Iterable[DatasetStructure], *, sources: tuple[str, ...] = (), notes: tuple[str, ...] = ()
    ) -> None:
        self.sources: tuple[str, ...] = tuple(map(shown_source, sources))
        """The sources as the user named them, without credentials."""
        self.notes = notes
        """The unreadable parts of the sources, one sentence each. See also `assay.sdmx.structures.known`."""
        self._by_id: dict[str, list[DatasetStructure]] = {}
        for dataset in datasets:
            self._by_id.setdefault(dataset.id.id, []).append(dataset)
        for known in self._by_id.values():
            known.sort(key=lambda one: version_key(one.id.version), reverse=True)
        self._found: dict[str, DatasetStructure | None] = {}

    @property
    def datasets(self) -> tuple[DatasetStructure, ...]:
        """Every dataset, by id, the newest version first."""
        return tuple(dataset for _, known in sorted(self._by_id.items()) for dataset in known)

    def dataset(self, reference: str) -> DatasetStructure | None:
        """The dataset that an id names: the newest of those that match it; None if none does.

        An id that cannot be read names none.
        """
        if reference not in self._found:
            self._found[reference] = next(iter(self.versions(reference)), None)
        return self._found[reference]

    def defined_by(self, definition: ArtefactId) -> tuple[DatasetStructure, ...]:
        """The datasets of a data structure definition."""
        return tuple(one for one in self.datasets if one.definition is not None and definition.matches(one.definition))

    def versions(self, reference: str) -> tuple[DatasetStructure, ...]:
        """All datasets that an id can mean, the newest version first; empty if the id cannot be read."""
        try:
            wanted = parse_artefact(reference)
        except InputError:
            return ()
        return tuple(one for one in self._by_id.get(wanted.id, ()) if wanted.matches(one.id))


def version_key(version: str | None) -> tuple[int, ...]:
    """A sort key for versions, with absent and non-numeric ones first.

    So ``2.0.0-draft`` comes before ``1.1.0``: an unstable version is used only if it is named.
    """
    numbers = [version_part(part) for part in (version or "").split(".")]
    return (int(None not in numbers), *(-1 if number is None else number for number in numbers))


def shown_source(source: str) -> str:
    """The name of a source for messages and runs: a service's address without its credentials."""
    return str(DatabaseUrl(text=source)) if source.lower().startswith(("http://", "https://")) else source


_SHOWN = 20
_MOST_COMPARED = 2_000


def missing_parts(datasets: Iterable[DatasetStructure]) -> tuple[str, ...]:
    """The missing code lists and data structures that these datasets refer to, one sentence each."""
    lists: dict[str, list[str]] = {}
    bare: list[str] = []
    partial: dict[str, None] = {}
    for dataset in datasets:
        if not dataset.has_dimensions:
            bare.append(str(dataset.id))
        for dimension in dataset.dimensions:
            if dimension.missing is not None:
                lists.setdefault(dimension.missing, []).append(f"{dimension.id} of {dataset.id}")
            elif dimension.codes is not None and not dimension.codes.whole:
                partial[str(dimension.codes.id)] = None
    said = []
    if lists:
        named = _some([f"{name} (for {_some(users, 3)})" for name, users in lists.items()], _SHOWN)
        said.append(
            f"missing in the structures: {named}. Codes of these dimensions have no names, invented "
            "codes cannot be distinguished from wrong ones, and the codes of a wildcard are not known"
        )
    if partial:
        said.append(
            f"incomplete in the structures: the code lists {_some(list(partial), _SHOWN)}. It is "
            "unknown whether other codes exist"
        )
    if bare:
        said.append(
            f"missing in the structures: the data structure of {_some(bare, _SHOWN)}. Series keys and "
            "URLs with keys cannot be read there, and no dimension or code can be checked"
        )
    return tuple(said)


def missing_datasets(wanted: Iterable[str], structures: Structures) -> tuple[str, ...]:
    """One sentence on the datasets that targets name but the structures lack; empty if there are none."""
    absent = [name for name in dict.fromkeys(wanted) if structures.dataset(name) is None]
    if not absent:
        return ()
    near = suggestion(absent[0], [str(one.id) for one in structures.datasets[:_MOST_COMPARED]])
    said = (
        f"missing in the structures: the dataset{'s' * (len(absent) > 1)} "
        f"{_some(absent, _SHOWN)}{near}. Selections from them cannot be checked, and keys cannot be "
        "read"
    )
    return (said,)


def _some(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")
