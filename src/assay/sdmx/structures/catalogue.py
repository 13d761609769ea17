"""The content of SDMX documents, extracted and merged: references are still names, not yet followed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from assay.sdmx.structures.identifiers import ArtefactId
from assay.sdmx.structures.known import version_key

ItemReference = tuple[ArtefactId, str]
"""A code of a code list, or a concept of a concept scheme."""


class Concept(Struct, frozen=True, kw_only=True):
    """A concept's name, and the code list of its core representation (None: it has none)."""

    name: str | None
    code_list: ArtefactId | None


class Component(Struct, frozen=True, kw_only=True):
    """A dimension as in its data structure; ``code_list`` is that of its local representation."""

    id: str
    concept: ItemReference | None
    code_list: ArtefactId | None
    measures: ArtefactId | None = None
    """The concept scheme whose concepts are its codes: that of a measure dimension (2.1)."""
    uncoded: bool = False
    """Whether its local representation has free values, even if its concept has codes."""


class DataStructure(Struct, frozen=True, kw_only=True):
    """Dimensions in the order of the key, and the time dimension's id."""

    name: str | None
    dimensions: tuple[Component, ...]
    time_dimension: str | None


class Dataflow(Struct, frozen=True, kw_only=True):
    """``structure`` names its data structure; None: the dataflow names none."""

    name: str | None
    structure: ArtefactId | None


class KeyValues(Struct, frozen=True, kw_only=True):
    """One dimension's values in a region, with all codes below the ``cascading`` ones, which need not be values."""

    values: frozenset[str]
    cascading: frozenset[str] = frozenset()
    included: bool = True


class Region(Struct, frozen=True, kw_only=True):
    """A cube region of a constraint: values by dimension."""

    included: bool
    members: Mapping[str, KeyValues]


class Constraint(Struct, frozen=True, kw_only=True):
    """Which data exist for the dataflows and data structures that the constraint is attached to."""

    id: ArtefactId
    dataflows: tuple[ArtefactId, ...]
    structures: tuple[ArtefactId, ...]
    regions: tuple[Region, ...]


class Hierarchy(Struct, frozen=True, kw_only=True):
    """One hierarchy over code lists: children by parent, in order. The children of a repeated parent are merged."""

    children: Mapping[ItemReference, tuple[ItemReference, ...]]


class Extension(Struct, frozen=True, kw_only=True):
    """The codes that a list (SDMX 3.0) takes from another, in front of its own, each with a prefix.

    ``values`` are the codes taken or, with ``excluded``, left out; ``%`` stands for any text. None: all are taken.
    """

    code_list: ArtefactId
    prefix: str = ""
    values: tuple[str, ...] | None = None
    cascading: frozenset[str] = frozenset()
    """The values whose child codes, at any depth, are taken or left out, too."""
    excluded: bool = False


class Codes(Struct, kw_only=True):
    """A code list under construction: it may come in several parts."""

    names: dict[str, str | None] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    extensions: list[Extension] = field(default_factory=list)
    whole: bool = False
    """Whether a part is declared as the whole list."""

    def add(self, names: Mapping[str, str | None], children: Mapping[str, Iterable[str]], *, whole: bool) -> None:
        """Merge one part: codes keep their first place and first name."""
        self.whole = self.whole or whole
        if not self.names:
            self.names.update(names)
            self.children.update({parent: list(below) for parent, below in children.items()})
            return
        for code, name in names.items():
            if self.names.get(code) is None:
                self.names[code] = name
        for parent, below in children.items():
            known = self.children.setdefault(parent, [])
            present = set(known)
            known.extend(code for code in below if code not in present)


class Catalogue(Struct, kw_only=True):
    """The content of all documents. If two of them describe one artefact, the descriptions are merged."""

    code_lists: dict[ArtefactId, Codes] = field(default_factory=dict)
    concepts: dict[ArtefactId, dict[str, Concept]] = field(default_factory=dict)
    structures: dict[ArtefactId, DataStructure] = field(default_factory=dict)
    dataflows: dict[ArtefactId, Dataflow] = field(default_factory=dict)
    constraints: list[Constraint] = field(default_factory=list)
    hierarchies: dict[ArtefactId, list[Hierarchy]] = field(default_factory=dict)
    stubs: dict[ArtefactId, None] = field(default_factory=dict)
    """Artefacts that a document only refers to (``isExternalReference``): these must not replace the artefacts."""
    notes: list[str] = field(default_factory=list)
    """The unreadable parts, one sentence each: where it is, and why it cannot be read."""


class Index:
    """Finds artefacts by references that may leave agency or version open."""

    def __init__(self, known: Iterable[ArtefactId]) -> None:
        self._by_id: dict[str, list[ArtefactId]] = {}
        for id_ in known:
            self._by_id.setdefault(id_.id, []).append(id_)
        for same in self._by_id.values():
            same.sort(key=lambda one: version_key(one.version), reverse=True)

    def find(self, wanted: ArtefactId | None) -> ArtefactId | None:
        """The artefact with exactly that name, otherwise the newest match; None: there is none."""
        if wanted is None:
            return None
        same = self._by_id.get(wanted.id, ())
        return wanted if wanted in same else next((one for one in same if wanted.matches(one)), None)
