"""Small parts of SDMX-ML elements: names without namespaces, texts, references. The same in 2.1, 3.0 and 3.1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.sdmx.structures.identifiers import ArtefactId, artefact_of, referred
from assay.sdmx.structures.naming import name_in

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
TRUE = frozenset({"true", "1"})
FALSE = frozenset({"false", "0"})


class Unreadable(Exception):
    """One artefact cannot be read. Not raised outside this package: the message, which says why, becomes a note."""


def local(element: Any) -> str:
    """An element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def children(element: Any, name: str) -> Iterator[Any]:
    """The direct children with that name."""
    return (child for child in element if local(child) == name)


def text_of(element: Any) -> str:
    """The text within an element, without outer spaces."""
    return (element.text or "").strip()


def flag(element: Any, name: str, *, default: bool) -> bool:
    """A truth value among the attributes."""
    said = (element.get(name) or "").strip()
    return said in TRUE or (default and said not in FALSE)


def named(element: Any) -> ArtefactId:
    """The maintainable artefact that an element is. Raises Unreadable where it has no id."""
    id_ = (element.get("id") or "").strip()
    if id_:
        return artefact_of(id_, element.get("agencyID"), element.get("version"))
    found = referred(element.get("urn") or "")
    if found is None:
        raise Unreadable("it has no id")
    return found[0]


def name_of(element: Any, language: str) -> str | None:
    """The name of an artefact or item in that language, or the closest one to it."""
    names = [
        (child.get(_LANGUAGE) or "en", child.text or "")
        for child in element
        if child.tag[-4:] == "Name" and local(child) == "Name"
    ]
    return name_in(names, language)


def reference(element: Any) -> tuple[ArtefactId, str | None] | None:
    """The artefact that an element refers to, and its item: by an inner Ref or URN (2.1), or its text, a URN (3.x)."""
    for child in element:
        kind = local(child)
        if kind == "Ref":
            get = child.get
            if get("maintainableParentID"):
                scheme = artefact_of(get("maintainableParentID"), get("agencyID"), get("maintainableParentVersion"))
                return scheme, get("id")
            return artefact_of(get("id"), get("agencyID"), get("version")), None
        if kind == "URN":
            return referred(text_of(child))
    return referred(text_of(element))
