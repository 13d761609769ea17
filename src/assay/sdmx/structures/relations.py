"""Read the constraints, hierarchies and code list extensions of SDMX-ML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from assay.sdmx.structures.catalogue import Constraint, Extension, Hierarchy, ItemReference, KeyValues, Region
from assay.sdmx.structures.elements import TRUE, children, flag, local, named, reference, text_of
from assay.sdmx.structures.identifiers import ArtefactId, nameless

ROOT_EXCLUDED = "excluderoot"
"""Marks a value that means the codes below it, without itself (SDMX 3.0)."""
_ATTACHED = ("Dataflow", "DataStructure")
_Node = TypeVar("_Node")


def read_constraints(element: Any) -> list[Constraint]:
    """A constraint's content as regions; empty where it is attached to no dataflow and no data structure.

    Its cube regions are one constraint, its sets of whole keys another: data must lie in both.
    """
    attached: dict[str, list[ArtefactId]] = {name: [] for name in _ATTACHED}
    for attachment in children(element, "ConstraintAttachment"):
        for target in attachment:
            found = reference(target) if local(target) in attached else None
            if found is not None:
                attached[local(target)].append(found[0])
    cubes = tuple(_region(region, "include") for region in children(element, "CubeRegion"))
    keys = tuple(key_region(_keys(one), included=_included(one)) for one in children(element, "DataKeySet"))
    id_ = named(element) if element.get("id") else ArtefactId(id="")
    return constraints(id_, attached["Dataflow"], attached["DataStructure"], cubes, keys)


def constraints(
    id: ArtefactId, dataflows: Iterable[ArtefactId], structures: Iterable[ArtefactId], *several: tuple[Region, ...]
) -> list[Constraint]:
    """One constraint for each set of regions that has any."""
    flows, of_structures = tuple(dataflows), tuple(structures)
    if not flows and not of_structures:
        return []
    return [Constraint(id=id, dataflows=flows, structures=of_structures, regions=one) for one in several if one]


def key_region(keys: Iterable[Mapping[str, frozenset[str]]], *, included: bool) -> Region:
    """The smallest region that contains a set of whole keys: the values of the dimensions that all keys name.

    Excluded keys exclude a code only where they name nothing else.
    """
    values: dict[str, set[str]] = {}
    shared: set[str] | None = None
    for key in keys:
        shared = set(key) if shared is None else shared & key.keys()
        for dimension, codes in key.items():
            values.setdefault(dimension, set()).update(codes)
    kept = values if not included else (shared or ())
    return Region(
        included=included, members={dimension: KeyValues(values=frozenset(values[dimension])) for dimension in kept}
    )


def _included(element: Any) -> bool:
    return flag(element, "isIncluded", default=True)


def _keys(element: Any) -> Iterator[dict[str, frozenset[str]]]:
    for key in children(element, "Key"):
        yield {
            member.get("id") or "": frozenset(text_of(value) for value in children(member, "Value"))
            for member in children(key, "KeyValue")
        }


def _region(element: Any, included: str) -> Region:
    members = {}
    for member in children(element, "KeyValue"):
        values, cascading = _values(children(member, "Value"))
        if values or cascading:  # without values it is a range of time
            members[member.get("id") or ""] = KeyValues(
                values=frozenset(values), cascading=cascading, included=flag(member, "include", default=True)
            )
    return Region(included=flag(element, included, default=True), members=members)


def _values(elements: Iterable[Any]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The values in elements, and those that mean the codes below them, with or without themselves."""
    values, cascading = [], set()
    for element in elements:
        said = (element.get("cascadeValues") or "").strip()
        if said in TRUE or said == ROOT_EXCLUDED:
            cascading.add(text_of(element))
        if said != ROOT_EXCLUDED:
            values.append(text_of(element))
    return tuple(values), frozenset(cascading)


def read_extensions(element: Any) -> list[Extension]:
    """The extensions of a code list by others."""
    extensions = []
    for extension in children(element, "CodelistExtension"):
        named_in = next(children(extension, "Codelist"), None)
        found = None if named_in is None else reference(named_in)
        other = found[0] if found is not None else nameless("" if named_in is None else " ".join(named_in.itertext()))
        chosen = [part for part in extension if local(part) in ("InclusiveCodeSelection", "ExclusiveCodeSelection")]
        values, cascading = _values(value for part in chosen for value in children(part, "MemberValue"))
        extensions.append(
            Extension(
                code_list=other,
                prefix=extension.get("prefix") or "",
                values=values if chosen else None,
                cascading=cascading,
                excluded=bool(chosen) and local(chosen[0]) == "ExclusiveCodeSelection",
            )
        )
    return extensions


def read_hierarchies(element: Any) -> list[Hierarchy]:
    """The hierarchies of a hierarchical code list (2.1), or one hierarchy (3.x)."""
    aliases: dict[str, ArtefactId] = {}
    for included in children(element, "IncludedCodelist"):
        found = reference(included)
        if found is not None:
            aliases[included.get("alias") or ""] = found[0]
    trees = [element] if local(element) == "Hierarchy" else children(element, "Hierarchy")
    return [hierarchy(_below(tree), _below, lambda node: _code(node, aliases)) for tree in trees]


def _below(node: Any) -> list[Any]:
    return list(children(node, "HierarchicalCode"))


def hierarchy(
    roots: Iterable[_Node], below_of: Callable[[_Node], list[_Node]], code_of: Callable[[_Node], ItemReference | None]
) -> Hierarchy:
    """The tree over nodes of any kind: ``below_of`` gives the nodes under one, ``code_of`` its code or None."""
    found: dict[ItemReference, dict[ItemReference, None]] = {}
    pending = list(roots)
    while pending:
        node = pending.pop()
        below = below_of(node)
        pending.extend(below)
        parent = code_of(node)
        if parent is None:
            continue
        for child in below:
            code = code_of(child)
            if code is not None:
                found.setdefault(parent, {})[code] = None
    return Hierarchy(children={parent: tuple(below) for parent, below in found.items()})


def _code(node: Any, aliases: Mapping[str, ArtefactId]) -> ItemReference | None:
    """The code that stands at one place of a hierarchy; None where it names none that can be read."""
    alias = next(children(node, "CodelistAliasRef"), None)
    for part in node:
        if local(part) == "Code":
            found = reference(part)
            return None if found is None or found[1] is None else (found[0], found[1])
        if local(part) == "CodeID" and alias is not None:
            code = next((child.get("id") for child in part if child.get("id")), None) or text_of(part)
            code_list = aliases.get(text_of(alias))
            return None if code_list is None or not code else (code_list, code)
    return None
