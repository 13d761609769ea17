"""Read constraints and hierarchies of SDMX-ML from its elements.

sdmx1 reads them, too, but not all that they say: a key value's ``include`` and ``cascadeValues`` are
dropped, a region without its (optional) ``include`` is an error, and nested codes change parents where
one id occurs at two places of a hierarchy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.errors import InputError
from assay.sdmx.structures.catalogue import Constraint, Extension, Hierarchy, ItemReference, KeyValues, Region
from assay.sdmx.structures.identifiers import ArtefactId, parse_artefact

_URN = re.compile(r"urn:[^=]+=(?P<artefact>[^()]+(?:\([^)]*\))?)(?:\.(?P<item>.+))?", re.DOTALL)


def local(element: Any) -> str:
    """An element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def named(element: Any) -> ArtefactId:
    """The maintainable artefact that an element is."""
    return ArtefactId(
        id=element.get("id") or "", agency=element.get("agencyID") or None, version=element.get("version") or None
    )


def read_constraint(element: Any) -> Constraint | None:
    """A constraint with its cube regions; None where it is attached to no dataflow and no data structure, or has none.

    Sets of whole keys are not read: they seldom say anything of a single code.
    """
    attached: dict[str, list[ArtefactId]] = {"Dataflow": [], "DataStructure": []}
    for attachment in _children(element, "ConstraintAttachment"):
        for target in attachment:
            reference = _reference(target) if local(target) in attached else None
            if reference is not None:
                attached[local(target)].append(reference[0])
    regions = tuple(_region(region) for region in _children(element, "CubeRegion"))
    if not regions or not any(attached.values()):
        return None
    return Constraint(
        id=named(element),
        dataflows=tuple(attached["Dataflow"]),
        structures=tuple(attached["DataStructure"]),
        regions=regions,
    )


def _region(element: Any) -> Region:
    members = {}
    for member in _children(element, "KeyValue"):
        values = list(_children(member, "Value"))
        if values:  # without any it is a range of time
            members[member.get("id") or ""] = KeyValues(
                values=frozenset(_text(value) for value in values),
                cascading=frozenset(_text(value) for value in values if value.get("cascadeValues") in ("true", "1")),
                included=member.get("include") not in ("false", "0"),
            )
    return Region(included=element.get("include") not in ("false", "0"), members=members)


def read_extensions(element: Any) -> list[Extension]:
    """What a code list takes from others."""
    extensions = []
    for extension in _children(element, "CodelistExtension"):
        reference = next((_reference(part) for part in _children(extension, "Codelist")), None)
        if reference is None:
            continue
        chosen = [part for part in extension if local(part) in ("InclusiveCodeSelection", "ExclusiveCodeSelection")]
        values = tuple(_text(value) for part in chosen for value in _children(part, "MemberValue"))
        extensions.append(
            Extension(
                code_list=reference[0],
                prefix=extension.get("prefix") or "",
                values=values if chosen else None,
                excluded=bool(chosen) and local(chosen[0]) == "ExclusiveCodeSelection",
            )
        )
    return extensions


def read_hierarchies(element: Any) -> tuple[ArtefactId, list[Hierarchy]]:
    """The hierarchies of a hierarchical code list (2.1), or one hierarchy (3.0)."""
    aliases: dict[str, ArtefactId] = {}
    for included in _children(element, "IncludedCodelist"):
        reference = _reference(included)
        if reference is not None:
            aliases[included.get("alias") or ""] = reference[0]
    trees = [element] if local(element) == "Hierarchy" else list(_children(element, "Hierarchy"))
    return named(element), [_hierarchy(tree, aliases) for tree in trees]


def _hierarchy(tree: Any, aliases: Mapping[str, ArtefactId]) -> Hierarchy:
    children: dict[ItemReference, dict[ItemReference, None]] = {}
    pending = list(_children(tree, "HierarchicalCode"))
    while pending:
        node = pending.pop()
        below = list(_children(node, "HierarchicalCode"))
        pending.extend(below)
        parent = _code(node, aliases)
        if parent is None:
            continue
        for child in below:
            code = _code(child, aliases)
            if code is not None:
                children.setdefault(parent, {})[code] = None
    return Hierarchy(children={parent: tuple(below) for parent, below in children.items()})


def _code(node: Any, aliases: Mapping[str, ArtefactId]) -> ItemReference | None:
    """The code that stands at one place of a hierarchy; None where it names none that can be read."""
    alias = next(_children(node, "CodelistAliasRef"), None)
    for part in node:
        if local(part) == "Code":
            reference = _reference(part)
            return None if reference is None or reference[1] is None else (reference[0], reference[1])
        if local(part) == "CodeID" and alias is not None:
            code = next((child.get("id") for child in part if child.get("id")), None) or _text(part)
            code_list = aliases.get(_text(alias))
            return None if code_list is None or not code else (code_list, code)
    return None


def _reference(element: Any) -> tuple[ArtefactId, str | None] | None:
    """What an element refers to, by a Ref or a URN within it (2.1) or by the URN that is its text (3.0)."""
    for child in element:
        if local(child) == "Ref":
            get = child.get
            if get("maintainableParentID"):
                scheme, version = get("maintainableParentID"), get("maintainableParentVersion")
                return ArtefactId(id=scheme, agency=get("agencyID") or None, version=version or None), get("id")
            return ArtefactId(id=get("id") or "", agency=get("agencyID") or None, version=get("version") or None), None
        if local(child) == "URN":
            return _by_urn(_text(child))
    return _by_urn(_text(element))


def _by_urn(urn: str) -> tuple[ArtefactId, str | None] | None:
    found = _URN.fullmatch(urn)
    if found is None:
        return None
    try:
        return parse_artefact(found["artefact"]), found["item"]
    except InputError:
        return None


def _children(element: Any, name: str) -> Iterator[Any]:
    return (child for child in element if local(child) == name)


def _text(element: Any) -> str:
    return (element.text or "").strip()
