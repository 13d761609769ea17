"""Build a catalogue's values from the artefacts of a message, whose form is in `assay.sdmx.structures.forms`.

`_ARTEFACTS` is the table: for each collection of artefacts, the form that it is read in, and the function that adds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from assay.sdmx.structures import forms
from assay.sdmx.structures.catalogue import (
    Catalogue,
    Codes,
    Component,
    Concept,
    Constraint,
    Dataflow,
    DataStructure,
    Extension,
    Hierarchy,
    ItemReference,
    KeyValues,
    Region,
)
from assay.sdmx.structures.identifiers import ArtefactId, artefact_of, nameless, referred

_ROOT_EXCLUDED = "excluderoot"
"""Marks a value that means the codes below it, without itself (SDMX 3.0)."""
_CASCADING = (True, "true", "1", _ROOT_EXCLUDED)


class Unreadable(Exception):
    """One artefact cannot be read. Not raised outside this package: the message, which says why, becomes a note.

    ``partly``: the rest of it was read.
    """

    def __init__(self, why: str, *, partly: bool = False) -> None:
        super().__init__(f"{'is read in part' if partly else 'cannot be read'}: {why}")


def add_artefact(catalogue: Catalogue, collection: str, written: object, language: str) -> None:
    """Add an artefact of a collection. Raises Unreadable if a part has another type, or is missing."""
    kind, add = _ARTEFACTS[collection]
    try:
        artefact = msgspec.convert(written, kind)
    except msgspec.ValidationError as error:
        raise Unreadable(_wrong_type(str(error))) from None
    except RecursionError:
        raise Unreadable("it is nested too deep") from None
    if artefact.is_external_reference is True and kind is not forms.Constraint:
        catalogue.stubs[_id_of(artefact)] = None
    else:
        add(catalogue, artefact, language)


_TYPE_ERROR = re.compile(r"Expected `(?P<expected>[^`]*)`, got `(?P<got>[^`]*)`(?: - at `\$\.?(?P<path>.*)`)?")
_TYPES = {
    "object": "an object",
    "array": "a list",
    "str": "a text",
    "bool": "a truth value",
    "int": "a number",
    "float": "a number",
}


def _wrong_type(message: str) -> str:
    """A decoder's error as a sentence: the value's location, its type, and the expected type."""
    error = _TYPE_ERROR.fullmatch(message)
    if error is None:  # a value of a list without its text
        return message
    expected = [_TYPES[name] for name in error["expected"].split(" | ") if name != "null"]
    where = f'"{error["path"]}"' if error["path"] else "the artefact"
    return f"{where} is {_TYPES.get(error['got'], error['got'])}, expected {' or '.join(expected)}"


def _stripped(text: str | None) -> str | None:
    return None if text is None else text.strip() or None


def _id_of(artefact: forms.Artefact) -> ArtefactId:
    id_ = _stripped(artefact.id)
    if id_ is not None:
        return artefact_of(id_, artefact.agency, artefact.version)
    for urn in (artefact.urn, *(link.urn for link in artefact.links or ())):
        named = None if urn is None else referred(urn)
        if named is not None:
            return named[0]
    raise Unreadable("it has no id")


def _name(named: forms.Named, language: str) -> str | None:
    for given in (named.names, named.name):
        if isinstance(given, dict):
            name = name_in([(key, text) for key, text in given.items() if isinstance(text, str)], language)
            if name is not None:
                return name
    return _stripped(named.name) if isinstance(named.name, str) else None


def name_in(names: Sequence[tuple[str, str]], language: str) -> str | None:
    """The name in that language, otherwise in a variant of it, in English, or the first; None without any.

    ``names`` are pairs of language and text. Outer spaces do not count, and a blank name is ignored.
    """
    if len(names) == 1:
        return names[0][1].strip() or None
    given = [(key.casefold().replace("_", "-"), text.strip()) for key, text in names if text.strip()]
    wanted = language.casefold().replace("_", "-")
    for key, text in given:
        if key == wanted:
            return text
    for base in (wanted.partition("-")[0], "en"):
        for key, text in given:
            if key.partition("-")[0] == base:
                return text
    return given[0][1] if given else None


def _referred(reference: forms.Reference) -> tuple[ArtefactId, str | None] | None:
    """The artefact in a reference, and its item, if any; None if it cannot be read."""
    if isinstance(reference, str):
        return referred(reference)
    if reference is None:
        return None
    if reference.parent:
        return artefact_of(reference.parent, reference.agency, reference.parent_version), reference.id
    named = artefact_of(reference.id, reference.agency, reference.version)
    return (named, None) if named.id else None


def _artefact(reference: forms.Reference) -> ArtefactId | None:
    named = _referred(reference)
    return None if named is None else named[0]


def _list(reference: forms.Reference) -> ArtefactId | None:
    """The list in a reference; if its name cannot be read, a name that no artefact has."""
    if reference is None:
        return None
    return _artefact(reference) or nameless(reference if isinstance(reference, str) else "")


def _item(reference: forms.Reference) -> ItemReference | None:
    named = _referred(reference)
    return None if named is None or named[1] is None else (named[0], named[1])


def _add_code_list(catalogue: Catalogue, artefact: forms.CodeList, language: str) -> None:
    names: dict[str, str | None] = {}
    below: dict[str, list[str]] = {}
    unnamed = 0
    lists = (artefact.codes, artefact.value_items, artefact.geo_feature_set_codes, artefact.geo_grid_codes)
    pending: list[tuple[forms.Item, str | None]] = [
        (item, None) for items in reversed(lists) for item in reversed(items or ())
    ]
    while pending:
        item, around = pending.pop()
        code = _stripped(item.id)
        if code is None:
            unnamed += 1
        else:
            names.setdefault(code, _name(item, language))
            parent = _stripped(item.parent) or around
            if parent:
                below.setdefault(parent.rpartition(").")[2] if parent.startswith("urn:") else parent, []).append(code)
        if item.codes:
            pending += [(child, code) for child in reversed(item.codes)]
    codes = catalogue.code_lists.setdefault(_id_of(artefact), Codes())
    codes.add(names, below, whole=not artefact.is_partial and not unnamed)
    codes.extensions.extend(map(_extension, artefact.codelist_extensions or ()))
    if unnamed:
        raise Unreadable(f"{unnamed:,} of its codes {'has' if unnamed == 1 else 'have'} no id", partly=True)


def _extension(extension: forms.Extension) -> Extension:
    chosen = extension.inclusive_code_selection or extension.exclusive_code_selection
    values, cascading = _values(() if chosen is None else chosen.member_values)
    if chosen is not None:
        values += _values(chosen.wildcarded_member_values)[0]
    return Extension(
        code_list=_list(extension.codelist) or nameless(""),
        prefix=_stripped(extension.prefix) or "",
        values=None if chosen is None else tuple(values),
        cascading=cascading,
        excluded=chosen is not None and chosen is not extension.inclusive_code_selection,
    )


def _values(written: Iterable[str | forms.Value] | None) -> tuple[list[str], frozenset[str]]:
    """The values of a list, and those that include the codes below them, with or without themselves."""
    values, cascading = [], set()
    for one in written or ():
        text, cascade = (one.strip(), None) if isinstance(one, str) else (one.value.strip(), one.cascade_values)
        if cascade in _CASCADING:
            cascading.add(text)
        if cascade != _ROOT_EXCLUDED:
            values.append(text)
    return values, frozenset(cascading)


def _add_concepts(catalogue: Catalogue, artefact: forms.ConceptScheme, language: str) -> None:
    known = catalogue.concepts.setdefault(_id_of(artefact), {})
    unnamed = 0
    for concept in artefact.concepts or ():
        id_ = _stripped(concept.id)
        if id_ is None:
            unnamed += 1
            continue
        core = concept.core_representation
        code_list = None if core is None else _list(core.enumeration)
        known.setdefault(id_, Concept(name=_name(concept, language), code_list=code_list))
    if unnamed:
        raise Unreadable(f"{unnamed:,} of its concepts {'has' if unnamed == 1 else 'have'} no id", partly=True)


def _add_structure(catalogue: Catalogue, artefact: forms.DataStructure, language: str) -> None:
    components = artefact.data_structure_components or forms.Components()
    listed = components.dimension_list or forms.DimensionList()
    coded = [*(listed.dimensions or ()), *(listed.measure_dimensions or ())]
    positions = [dimension.position for dimension in coded]
    if all(type(position) is int for position in positions) and len(set(positions)) == len(positions):
        # Two lists form one key: only the positions tell where a measure dimension is
        coded.sort(key=lambda dimension: dimension.position)
    times = [*(listed.time_dimensions or ()), *([listed.time_dimension] if listed.time_dimension else ())]
    of_measures = {id(dimension) for dimension in listed.measure_dimensions or ()}
    read, time = [], None
    for place, dimension in enumerate((*coded, *times), 1):
        concept = _item(dimension.concept_identity)
        id_ = _stripped(dimension.id) or (concept[1] if concept else None)
        if id_ is None:
            raise Unreadable(f"its dimension {place} has neither an id nor a concept")
        if dimension.type == "TimeDimension" or place > len(coded):
            time = id_
            continue
        own = dimension.local_representation or forms.Representation()
        enumerated = _list(own.enumeration)
        measures = dimension.type == "MeasureDimension" or id(dimension) in of_measures
        read.append(
            Component(
                id=id_,
                concept=concept,
                code_list=None if measures else enumerated,
                measures=enumerated if measures else None,
                uncoded=enumerated is None and own != forms.Representation(),
            )
        )
    if not read and time is None:
        raise Unreadable("it has no dimensions")
    structure = DataStructure(name=_name(artefact, language), dimensions=tuple(read), time_dimension=time)
    catalogue.structures.setdefault(_id_of(artefact), structure)


def _add_dataflow(catalogue: Catalogue, artefact: forms.Dataflow, language: str) -> None:
    flow = Dataflow(name=_name(artefact, language), structure=_artefact(artefact.structure))
    catalogue.dataflows.setdefault(_id_of(artefact), flow)


def _add_constraint(catalogue: Catalogue, artefact: forms.Constraint, language: str) -> None:  # noqa: ARG001
    """Add the cube regions as one constraint, and the sets of whole keys as another: data must lie in both.

    A constraint that is not attached to a dataflow or data structure is left out.
    """
    attached = artefact.constraint_attachment or forms.Attachment()
    dataflows, structures = (
        tuple(
            named
            for reference in ([references] if isinstance(references, str) else references or ())
            if (named := _artefact(reference)) is not None
        )
        for references in (attached.dataflows, attached.data_structures)
    )
    cubes = tuple(map(_cube_region, artefact.cube_regions or ()))
    keys = tuple(map(_key_region, artefact.data_key_sets or ()))
    # A service's answer about available data may have no id
    id_ = _id_of(artefact) if _stripped(artefact.id) else ArtefactId(id="")
    if dataflows or structures:
        catalogue.constraints += [
            Constraint(id=id_, dataflows=dataflows, structures=structures, regions=regions)
            for regions in (cubes, keys)
            if regions
        ]


def _included(region: forms.Region) -> bool:
    return next((flag for flag in (region.include, region.is_included) if flag is not None), True)


def _cube_region(region: forms.Region) -> Region:
    members = {}
    for member in region.key_values or ():
        values, cascading = _values(member.values)
        # 1.0 has a separate list of the values that include the codes below them
        more = _values(member.cascade_values)[0] if isinstance(member.cascade_values, list) else []
        if values or cascading or more:  # without values it is a range of time
            members[_stripped(member.id) or ""] = KeyValues(
                values=frozenset((*values, *more)),
                cascading=cascading | frozenset(more),
                included=member.include is not False,
            )
    return Region(included=_included(region), members=members)


def _key_region(key_set: forms.Region) -> Region:
    """The smallest region that contains a set of whole keys: the values of the dimensions that all keys name.

    Excluded keys exclude a code only if they name nothing else.
    """
    values: dict[str, set[str]] = {}
    shared: set[str] | None = None
    for key in key_set.keys or ():
        single = {
            _stripped(member.id) or "": _values(member.values if member.value is None else [member.value])[0]
            for member in key.key_values or ()
        }
        shared = set(single) if shared is None else shared & single.keys()
        for dimension, codes in single.items():
            values.setdefault(dimension, set()).update(codes)
    included = _included(key_set)
    members = {
        dimension: KeyValues(values=frozenset(codes))
        for dimension, codes in values.items()
        if not included or dimension in (shared or ())
    }
    return Region(included=included, members=members)


def _add_hierarchy(catalogue: Catalogue, artefact: forms.Hierarchy, language: str) -> None:  # noqa: ARG001
    included = artefact.included_codelists or ()
    aliases = {
        alias: named
        for alias, reference in (
            included.items()
            if isinstance(included, dict)
            else ((one.alias, one.codelist or one.urn) for one in included)
        )
        if (named := _artefact(reference)) is not None
    }
    trees = (artefact, *(artefact.hierarchies or ()))
    read = [_hierarchy(tree.hierarchical_codes, aliases) for tree in trees if tree.hierarchical_codes]
    catalogue.hierarchies.setdefault(_id_of(artefact), read)


def _hierarchy(roots: Iterable[forms.Node], aliases: Mapping[str | None, ArtefactId]) -> Hierarchy:
    def code_of(node: forms.Node) -> ItemReference | None:
        code, code_list = _stripped(node.code_id), aliases.get(node.codelist_alias_ref)
        return _item(node.code) or (None if code is None or code_list is None else (code_list, code))

    children: dict[ItemReference, dict[ItemReference, None]] = {}
    pending = list(roots)
    while pending:
        node = pending.pop()
        pending += node.hierarchical_codes or ()
        parent = code_of(node)
        for child in node.hierarchical_codes or ():
            code = code_of(child)
            if parent is not None and code is not None:
                children.setdefault(parent, {})[code] = None
    return Hierarchy(children={parent: tuple(below) for parent, below in children.items()})


_ARTEFACTS: Mapping[str, tuple[type[forms.Artefact], Callable[[Catalogue, Any, str], None]]] = {
    "codelists": (forms.CodeList, _add_code_list),
    "geographicCodelists": (forms.CodeList, _add_code_list),
    "geoGridCodelists": (forms.CodeList, _add_code_list),
    "valueLists": (forms.CodeList, _add_code_list),
    "valuelists": (forms.CodeList, _add_code_list),
    "conceptSchemes": (forms.ConceptScheme, _add_concepts),
    "dataStructures": (forms.DataStructure, _add_structure),
    "dataflows": (forms.Dataflow, _add_dataflow),
    "contentConstraints": (forms.Constraint, _add_constraint),
    "dataConstraints": (forms.Constraint, _add_constraint),
    "availabilityConstraints": (forms.Constraint, _add_constraint),
    "hierarchicalCodelists": (forms.Hierarchy, _add_hierarchy),
    "hierarchies": (forms.Hierarchy, _add_hierarchy),
}
COLLECTIONS = tuple(_ARTEFACTS)
"""The collections of artefacts that are read, by their keys in JSON."""
