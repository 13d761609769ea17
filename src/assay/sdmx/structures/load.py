"""Load the structures of datasets from SDMX files, folders of them, or an SDMX REST service."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from assay.errors import InputError, UsageError
from assay.sdmx.errors import NoStructures
from assay.sdmx.gc_pause import collector_paused
from assay.sdmx.structures.catalogue import Catalogue, Component, Constraint, Extension, Index, KeyValues
from assay.sdmx.structures.documents import MOST_BYTES, add_document
from assay.sdmx.structures.identifiers import ArtefactId
from assay.sdmx.structures.known import CodeList, DatasetStructure, DimensionStructure, Structures

__all__ = ["load_structures"]


def load_structures(
    sources: Sequence[str | os.PathLike[str]],
    *,
    language: str = "en",
    datasets: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> Structures:
    """Load dataflows, data structures, concept schemes, code lists, hierarchies and constraints, and resolve their
    references.

    A source is a file (SDMX-ML 2.1, 3.0 or 3.1, SDMX-JSON 1.0 or 2.x; plain, gzipped or zipped), a folder (each such
    file in it and below) or the address of an SDMX REST service (``http``, ``https``), from which the datasets in
    ``datasets`` and ``optional`` are fetched; one that the service does not have is absent from the result. Several
    sources are merged; the first one takes precedence. Names are in ``language`` if there is one, otherwise
    in English, otherwise in any language.

    A data structure that no dataflow uses is a dataset under its own id. If no source has a code list, concept or
    data structure, its dimension has no codes (``missing``), or its dataset no dimensions. The result's ``notes`` name
    the unreadable parts.

    Raises MissingDependency for XML without lxml, InputError for a source that is absent, empty, unreachable or without
    any structures, or a service that has none of ``datasets`` (all of ``optional`` may be absent: an assistant may have
    invented them), and UsageError if a service is given without either.
    """
    if isinstance(sources, str | os.PathLike):
        raise UsageError(
            f"sources is a single value, {os.fspath(sources)!r}: give a list of files, folders and addresses"
        )
    catalogue = Catalogue()
    with collector_paused():
        for source in sources:
            name = os.fspath(source)
            if name.lower().startswith(("http://", "https://")):
                from assay.sdmx.structures.service import add_service

                add_service(catalogue, name, datasets, optional, language=language)
            else:
                _add_files(catalogue, Path(source), language)
        known = tuple(_Builder(catalogue).datasets())
    notes = tuple(dict.fromkeys(catalogue.notes))
    return Structures(known, sources=tuple(os.fspath(source) for source in sources), notes=notes)


def _add_files(catalogue: Catalogue, path: Path, language: str) -> None:
    """Add a file, or the files of a folder. A file without structures is noted; raises if no file has any."""
    refused: list[NoStructures] = []
    read = 0
    for file in _files(path):
        try:
            add_document(catalogue, _content(file), where=f'"{file}"', language=language)
            read += 1
        except NoStructures as error:
            refused.append(error)
    if refused and not read:
        more = f" (and {len(refused) - 1:,} more files in that folder have none, either)" if refused[1:] else ""
        raise InputError(f"{refused[0]}{more}") from refused[0]
    catalogue.notes.extend(error.message for error in refused)


def _files(path: Path) -> Iterator[Path]:
    """The files of a source. Raises InputError if it is missing, or a folder without any files."""
    if not path.exists():
        folder = path.parent
        if not folder.is_dir():
            raise InputError(f'"{path}" does not exist: there is no folder "{folder}"')
        near = get_close_matches(path.name, sorted(entry.name for entry in folder.iterdir()), n=1)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        raise InputError(f'"{path}" does not exist in the folder "{folder}"{hint}')
    if not path.is_dir():
        yield path
        return
    found = sorted(one for one in path.rglob("*") if one.name.lower().endswith(_NAMES) and one.is_file())
    files = [one for one in found if not one.name.lower().endswith(".json") or _is_json_structure(one)]
    if not files:
        raise InputError(f'the folder "{path}" has no SDMX structures: no .xml or SDMX .json file is in it or below it')
    yield from files


_NAMES = (".xml", ".json", ".xml.gz", ".json.gz", ".zip")


def _is_json_structure(path: Path) -> bool:
    """Whether a JSON file is declared as SDMX: cases or predictions may be in the same folder."""
    try:
        with path.open("rb") as file:
            return b"sdmx" in file.read(1 << 16).replace(b"\0", b"").lower()
    except OSError:
        return True  # reading it later reports the error


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise NoStructures(f'"{path}" has more than {MOST_BYTES >> 20:,} MiB: use smaller files')
        return path.read_bytes()
    except OSError as error:
        raise InputError(f'"{path}" cannot be read: {error.strerror or error}') from error


class _Builder:
    """Follows the references of a catalogue. Each code list is built once and shared."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._code_lists = Index(catalogue.code_lists)
        self._schemes = Index(catalogue.concepts)
        self._structures = Index(catalogue.structures)
        self._built: dict[ArtefactId, CodeList] = {}
        self._lacking: dict[ArtefactId, str | None] = {}
        """For each built list, the missing lists that it takes codes from."""
        self._over: dict[ArtefactId, list[dict[str, list[str]]]] = {}
        self._users: dict[ArtefactId, list[ArtefactId]] = {}
        """The dataflows of each data structure."""
        for dataflow, said in catalogue.dataflows.items():
            found = self._structures.find(said.structure)
            if found is not None:
                self._users.setdefault(found, []).append(dataflow)
        self._spread_hierarchies()

    def datasets(self) -> Iterator[DatasetStructure]:
        """Every dataflow, then every data structure without a dataflow."""
        for dataflow, said in self._catalogue.dataflows.items():
            yield self._dataset(dataflow, self._structures.find(said.structure), said.name)
        for structure in self._catalogue.structures:
            if structure not in self._users:
                yield self._dataset(structure, structure, None)

    def _dataset(self, id_: ArtefactId, structure: ArtefactId | None, name: str | None) -> DatasetStructure:
        if structure is None:
            return DatasetStructure(id=id_, name=name)
        known = self._catalogue.structures[structure]
        constraints = [one for one in self._catalogue.constraints if self._applies(one, id_, structure)]
        return DatasetStructure(
            id=id_,
            name=name or known.name,
            dimensions=tuple(self._dimension(component, constraints) for component in known.dimensions),
            time_dimension=known.time_dimension,
            definition=structure,
        )

    def _applies(self, constraint: Constraint, dataflow: ArtefactId, structure: ArtefactId) -> bool:
        if any(one.matches(dataflow) for one in constraint.dataflows):
            return True
        if not any(one.matches(structure) for one in constraint.structures):
            return False
        # A service answers for one dataflow with its data structure as the attachment, and the dataflow's id
        meant = [one for one in self._users.get(structure, ()) if one.matches(constraint.id)]
        return not meant or dataflow in meant

    def _dimension(self, component: Component, constraints: Iterable[Constraint]) -> DimensionStructure:
        concept, missing = None, None
        if component.concept is not None:
            scheme = self._schemes.find(component.concept[0])
            concept = None if scheme is None else self._catalogue.concepts[scheme].get(component.concept[1])
            if concept is None and not component.uncoded:
                missing = f"concept scheme {component.concept[0]}"
        if component.measures is not None:
            codes = self._measures(self._schemes.find(component.measures))
            missing = None if codes is not None else f"concept scheme {component.measures}"
        else:
            wanted = component.code_list or (None if concept is None or component.uncoded else concept.code_list)
            codes = self._code_list(self._code_lists.find(wanted))
            if wanted is not None:
                missing = f"code list {wanted}" if codes is None else self._lacking[codes.id]
        available: frozenset[str] | None = None
        for constraint in constraints:
            allowed = _allowed(constraint, component.id, codes)
            if allowed is not None:
                available = allowed if available is None else available & allowed
        if available and codes is not None and codes.whole and available.isdisjoint(codes.names):
            # From another version of the list, or without the prefix that the list gives its codes
            self._catalogue.notes.append(
                f"a constraint allows no code of {component.id} in the code list {codes.id}: it is ignored there"
            )
            available = None
        return DimensionStructure(
            id=component.id,
            name=None if concept is None else concept.name,
            codes=codes,
            available=available,
            missing=missing,
        )

    def _measures(self, scheme: ArtefactId | None) -> CodeList | None:
        """The concepts of a scheme as codes: the values of a measure dimension."""
        if scheme is None:
            return None
        concepts = self._catalogue.concepts[scheme]
        return CodeList(id=scheme, names={id_: concept.name for id_, concept in concepts.items()})

    def _code_list(self, id_: ArtefactId | None) -> CodeList | None:
        if id_ is None:
            return None
        if id_ not in self._built:
            extended = Extended(id_, self._catalogue, self._code_lists)
            children: dict[str, tuple[tuple[str, ...], ...]] = {}
            for hierarchy in (extended.children, *self._over.get(id_, ())):
                for parent, codes in hierarchy.items():
                    below = tuple(codes)
                    if extended.whole:  # an id that is not in the list is not a code, even if a code names it as parent
                        below = tuple(code for code in codes if code in extended.names)
                        if parent not in extended.names:
                            continue
                    if below and below not in children.get(parent, ()):
                        children[parent] = (*children.get(parent, ()), below)
            self._built[id_] = CodeList(id=id_, names=extended.names, children=children, whole=extended.whole)
            self._lacking[id_] = extended.lacking
        return self._built[id_]

    def _spread_hierarchies(self) -> None:
        """Give each code list the part of each hierarchy within it: parents and children from the same list."""
        for hierarchies in self._catalogue.hierarchies.values():
            for hierarchy in hierarchies:
                own: dict[ArtefactId, dict[str, list[str]]] = {}
                for (parents_list, parent), children in hierarchy.children.items():
                    list_ = self._code_lists.find(parents_list)
                    below = [code for childs_list, code in children if self._code_lists.find(childs_list) == list_]
                    if list_ is not None and below:
                        own.setdefault(list_, {})[parent] = below
                for list_, part in own.items():
                    self._over.setdefault(list_, []).append(part)


def _allowed(constraint: Constraint, dimension: str, codes: CodeList | None) -> frozenset[str] | None:
    """The codes of a dimension that a constraint allows; None: all, or it is unknown."""
    everything = None if codes is None else frozenset(codes.names)
    allowed: frozenset[str] | None = None
    including = [region for region in constraint.regions if region.included]
    if including and all(dimension in region.members for region in including):
        parts = [_members(region.members[dimension], codes, everything) for region in including]
        known = [part for part in parts if part is not None]
        allowed = frozenset().union(*known) if len(known) == len(parts) else None
    for region in constraint.regions:
        # A code excluded together with other dimensions is excluded only in combination: it may still have data
        if region.included or set(region.members) != {dimension}:
            continue
        excluded = _members(region.members[dimension], codes, everything)
        start = everything if allowed is None else allowed
        allowed = allowed if start is None or excluded is None else start - excluded
    return allowed


def _members(member: KeyValues, codes: CodeList | None, everything: frozenset[str] | None) -> frozenset[str] | None:
    values = member.values
    if any("%" in value for value in values):
        if codes is None:
            return None
        values = frozenset(like(values, codes.names))
    values |= all_below(member.cascading, codes.children) if codes is not None else set()
    if member.included:
        return values
    return None if everything is None else everything - values


_DEEPEST = 32
_List = tuple[Mapping[str, str | None], Mapping[str, Sequence[str]]]
"""Name by code, and the codes below each code."""
_MOST_TAKEN = 2_000_000
"""The maximum number of codes that one list takes from others. A few lists that take codes twice from one another never
end."""


class Extended:
    """One code list with all codes that it takes from others, which come first."""

    def __init__(self, id: ArtefactId, catalogue: Catalogue, lists: Index) -> None:
        self._lists = lists
        self._known = catalogue.code_lists
        self._left = _MOST_TAKEN
        self._absent: dict[str, None] = {}
        self._id = id
        self.whole: bool = True
        """Whether the list is complete: any other code does not exist."""
        self.names, self.children = self._taken(id, (id,))
        """Name by code; codes by parent. Codes taken from another list keep their hierarchy."""

    @property
    def lacking(self) -> str | None:
        """The missing lists among those that it takes codes from; None: none is missing."""
        if self._left < 0:
            return f"part of the code list {self._id}, which takes more than {_MOST_TAKEN:,} codes from others"
        absent = ", ".join(self._absent)
        return f"code list {absent}, from which {self._id} takes codes" if absent else None

    def _taken(self, id_: ArtefactId, within: tuple[ArtefactId, ...]) -> _List:
        said = self._known[id_]
        self.whole = self.whole and said.whole
        if not said.extensions:
            return said.names, said.children
        names: dict[str, str | None] = {}
        below: dict[str, list[str]] = {}
        for extension in said.extensions:
            other = self._lists.find(extension.code_list)
            if other is None:
                self._absent[str(extension.code_list)] = None
                self.whole = False
            elif len(within) >= _DEEPEST or self._left < 0:
                self.whole = False
            elif other not in within:  # a list never takes its own codes through another
                self._take(names, below, extension, self._taken(other, (*within, other)))
        for parent, codes in said.children.items():
            below.setdefault(parent, []).extend(codes)
        return names | said.names, {parent: list(dict.fromkeys(codes)) for parent, codes in below.items()}

    def _take(
        self, names: dict[str, str | None], below: dict[str, list[str]], extension: Extension, other: _List
    ) -> None:
        every, children = other
        self._left -= len(every) + 1
        if self._left < 0:
            self.whole = False
            return
        chosen = _chosen(extension, every, children)
        taken = {code for code in every if chosen is None or extension.excluded != (code in chosen)}
        names.update({extension.prefix + code: name for code, name in every.items() if code in taken})
        for parent, codes in children.items():
            kept = [extension.prefix + code for code in codes if code in taken] if parent in taken else ()
            if kept:
                below.setdefault(extension.prefix + parent, []).extend(kept)


def _chosen(extension: Extension, codes: Iterable[str], children: Mapping[str, Sequence[str]]) -> frozenset[str] | None:
    """The codes that an extension names; ``%`` stands for any text. None: it names none, and means all."""
    if extension.values is None:
        return None
    chosen = like(extension.values, codes)
    return frozenset(chosen | all_below(extension.cascading, {parent: (below,) for parent, below in children.items()}))


def like(values: Iterable[str], codes: Iterable[str]) -> set[str]:
    """The codes that match one of the values; ``%`` stands for any text."""
    plain, patterns = set(), []
    for value in values:
        if "%" in value:
            patterns.append(value.split("%"))
        else:
            plain.add(value)
    return {code for code in codes if code in plain or any(_fits(code, parts) for parts in patterns)}


def _fits(code: str, parts: Sequence[str]) -> bool:
    """Whether a code contains these parts in order, the first at its start and the last at its end."""
    first, *between, last = parts
    if len(code) < len(first) + len(last) or not code.startswith(first) or not code.endswith(last):
        return False
    place, end = len(first), len(code) - len(last)
    for part in between:
        place = code.find(part, place, end)
        if place < 0:
            return False
        place += len(part)
    return True


def all_below(roots: Iterable[str], children: Mapping[str, Iterable[Iterable[str]]]) -> set[str]:
    """The codes below any of the roots, at any depth, in any hierarchy."""
    below: set[str] = set()
    pending = list(roots)
    while pending:
        for several in children.get(pending.pop(), ()):
            fresh = [code for code in several if code not in below]
            below.update(fresh)
            pending.extend(fresh)
    return below
