"""Assemble a code list that takes codes from others (SDMX 3.0)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from assay.sdmx.structures.catalogue import Catalogue, Extension, Index
from assay.sdmx.structures.identifiers import ArtefactId

_DEEPEST = 32
_List = tuple[Mapping[str, str | None], Mapping[str, Sequence[str]]]
"""Name by code, and the codes below each code."""
_MOST_TAKEN = 2_000_000
"""The most codes that one list takes from others. A few lists that take twice from one another never end."""


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
            return f"a part of the code list {self._id}, which takes more than {_MOST_TAKEN:,} codes from others"
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
    """The codes that an extension names, where ``%`` stands for any text; None: it names none, and means all."""
    if extension.values is None:
        return None
    chosen = like(extension.values, codes)
    return frozenset(chosen | all_below(extension.cascading, {parent: (below,) for parent, below in children.items()}))


def like(values: Iterable[str], codes: Iterable[str]) -> set[str]:
    """The codes that match one of the values, in which ``%`` stands for any text."""
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
