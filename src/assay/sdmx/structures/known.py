"""The structures of datasets: their dimensions in order, their code lists, and which codes have data.

A `Structures` is built once (`assay.sdmx.structures.load`), and every look-up in it takes constant time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from assay.errors import InputError
from assay.model import DatabaseUrl
from assay.sdmx.structures.identifiers import ArtefactId, parse_artefact, version_part


class CodeList(Struct, frozen=True, kw_only=True):
    """Codes with their names and their places in hierarchies."""

    id: ArtefactId
    names: Mapping[str, str | None]
    """Name by code, in the list's order; None where a code has none."""
    children: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    """The children of each parent code, once for each hierarchy that has it: the list's own, and those over it."""
    whole: bool = True
    """Whether the list is complete: False where only parts are available, so that other codes may exist."""


class DimensionStructure(Struct, frozen=True, kw_only=True):
    """One dimension of a dataset. ``codes`` is None where its values are not coded, or the list is missing."""

    id: str
    name: str | None = None
    codes: CodeList | None = None
    available: frozenset[str] | None = None
    """The codes that have data, by the dataset's constraint. None: no constraint mentions the dimension."""
    missing: str | None = None
    """The missing artefact that would give its codes, such as ``code list IMF:CL_AREA(1.0)``."""
    _found: dict[str, Any] = field(default_factory=dict)
    """Cached properties: they are needed for each selection, and a list may have 100,000 codes."""

    @property
    def all_codes(self) -> tuple[str, ...] | None:
        """The codes that a wildcard covers, in the list's order: those with data, else all. None: not known."""
        if "all" not in self._found:
            self._found["all"] = self._find_all_codes()
        found: tuple[str, ...] | None = self._found["all"]
        return found

    def _find_all_codes(self) -> tuple[str, ...] | None:
        if self.codes is None:
            return None if self.available is None else tuple(sorted(self.available))
        if self.available is None:
            return tuple(self.codes.names)
        return tuple(code for code in self.codes.names if code in self.available)

    @property
    def every_code(self) -> frozenset[str]:
        """`all_codes` as a set; empty where they are not known."""
        if "every" not in self._found:
            self._found["every"] = frozenset(self.all_codes or ())
        found: frozenset[str] = self._found["every"]
        return found


class DatasetStructure(Struct, frozen=True, kw_only=True):
    """A dataflow with its data structure definition."""

    id: ArtefactId
    name: str | None = None
    dimensions: tuple[DimensionStructure, ...] = ()
    """In the order of the key, the time dimension not among them."""
    time_dimension: str | None = None
    """The id of the time dimension, ``TIME_PERIOD`` as a rule; None where it has none."""
    definition: ArtefactId | None = None
    """Its data structure definition, which data may name in the dataflow's place; None where it is not at hand."""

    @property
    def has_dimensions(self) -> bool:
        """Whether its data structure is at hand."""
        return bool(self.dimensions) or self.time_dimension is not None

    def dimension(self, id: str) -> DimensionStructure | None:
        """The dimension of that id, None where there is none."""
        return next((one for one in self.dimensions if one.id == id), None)


class Structures:
    """All datasets that are known, by name."""

    def __init__(
        self, datasets: Iterable[DatasetStructure], *, sources: tuple[str, ...] = (), notes: tuple[str, ...] = ()
    ) -> None:
        self.sources: tuple[str, ...] = tuple(map(shown_source, sources))
        """The sources as the user named them, without credentials."""
        self.notes = notes
        """The unreadable parts of the sources, a sentence for each. See also `assay.sdmx.structures.missing`."""
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
        """The dataset that an id names: the newest of those that match it; None where none does.

        An id that cannot be read names none.
        """
        if reference not in self._found:
            self._found[reference] = self._find(reference)
        return self._found[reference]

    def defined_by(self, definition: ArtefactId) -> tuple[DatasetStructure, ...]:
        """The datasets of a data structure definition."""
        return tuple(one for one in self.datasets if one.definition is not None and definition.matches(one.definition))

    def versions(self, reference: str) -> tuple[DatasetStructure, ...]:
        """All datasets that an id can mean, the newest version first; empty where the id cannot be read."""
        try:
            wanted = parse_artefact(reference)
        except InputError:
            return ()
        return tuple(one for one in self._by_id.get(wanted.id, ()) if wanted.matches(one.id))

    def _find(self, reference: str) -> DatasetStructure | None:
        return next(iter(self.versions(reference)), None)


def version_key(version: str | None) -> tuple[int, ...]:
    """A sort key for versions, with absent and non-numeric ones first.

    So ``2.0.0-draft`` comes before ``1.1.0``: an unstable version is used only where it is named.
    """
    numbers = [version_part(part) for part in (version or "").split(".")]
    return (int(None not in numbers), *(-1 if number is None else number for number in numbers))


def shown_source(source: str) -> str:
    """The name of a source for messages and runs: a service's address without its credentials."""
    return str(DatabaseUrl(text=source)) if source.lower().startswith(("http://", "https://")) else source
