"""Read SDMX-JSON structure messages (1.0, 2.x), artefact by artefact, into a `Catalogue`.

All versions have a list for each kind of artefact under ``data``. They differ in the names of a few lists, in ``type``
or ``role``, ``isIncluded`` or ``include``, and in values that are texts or objects; all of that is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

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
from assay.sdmx.structures.elements import Unreadable
from assay.sdmx.structures.identifiers import ArtefactId, artefact_of, nameless, referred
from assay.sdmx.structures.naming import name_in
from assay.sdmx.structures.refusals import NoStructures, refused_json
from assay.sdmx.structures.relations import ROOT_EXCLUDED, constraints, hierarchy, key_region

_Object = Mapping[str, Any]


def add_json(catalogue: Catalogue, content: bytes, *, where: str, language: str) -> None:
    """Add the content of one SDMX-JSON structure message.

    Its unreadable parts are noted. Raises NoStructures where it is no message with structures.
    """
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NoStructures(f"{where} is no JSON: {error or 'it is nested too deep'}. Fetch or save it anew") from None
    data = value.get("data", {}) if isinstance(value, dict) else None
    if not isinstance(data, dict) or "dataSets" in data or "metadataSets" in data or not _is_structure(value, data):
        raise refused_json(value, where)
    if not data:
        catalogue.notes.append(f"{where} is a structure message without any structures")
    for collection, add in _READERS.items():
        held = data.get(collection)
        if held is None:
            continue
        if not isinstance(held, list):
            catalogue.notes.append(f'{where}: "{collection}" cannot be read: it is {_kind(held)}, expected a list')
            continue
        for place, artefact in enumerate(held):
            try:
                _add(catalogue, _mapping(artefact, "the artefact"), add, language)
            except Unreadable as error:
                catalogue.notes.append(f"{where}: the {_shown(collection, place, artefact)} cannot be read: {error}")


def _is_structure(message: _Object, data: _Object) -> bool:
    """Whether a message is declared as one of structures, or holds a list of them."""
    meta = message.get("meta")
    schema = meta.get("schema") if isinstance(meta, dict) else None
    if isinstance(schema, str) and "structure" in schema and not message.get("errors"):
        return True
    return any(isinstance(held, list) and (key in _READERS or key.endswith(_OTHERS)) for key, held in data.items())


_OTHERS = (
    "Schemes",
    "Constraints",
    "Agreements",
    "Maps",
    "Taxonomies",
    "Sets",
    "flows",
    "Structures",
    "categorisations",
)


def _add(
    catalogue: Catalogue, artefact: _Object, add: Callable[[Catalogue, _Object, str], None], language: str
) -> None:
    if artefact.get("isExternalReference") is True and add is not _add_constraint:
        catalogue.stubs[_named(artefact)] = None
        return
    add(catalogue, artefact, language)


def _shown(collection: str, place: int, artefact: object) -> str:
    named = isinstance(artefact, dict) and isinstance(artefact.get("id"), str)
    if not named:
        return f"item {place + 1} of {collection}"
    agency = artefact.get("agencyID")  # type: ignore[attr-defined]
    return f"{collection} {f'{agency}:' if isinstance(agency, str) else ''}{artefact['id']}"[:200]  # type: ignore[index]


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


def _mapping(value: object, what: str) -> _Object:
    if not isinstance(value, dict):
        raise Unreadable(f"{what} is {_kind(value)}, expected an object")
    return value


def _objects(holder: _Object, key: str) -> Iterator[_Object]:
    """The objects of a list; nothing where it is absent or null."""
    held = holder.get(key)
    if held is None:
        return
    if not isinstance(held, list):
        raise Unreadable(f'"{key}" is {_kind(held)}, expected a list')
    for one in held:
        yield _mapping(one, f'an item of "{key}"')


def _text(holder: _Object, key: str) -> str | None:
    value = holder.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise Unreadable(f'"{key}" is {_kind(value)}, expected a text')
    return value.strip() or None


def _flag(holder: _Object, *keys: str, default: bool) -> bool:
    said = next((holder[key] for key in keys if holder.get(key) is not None), default)
    if not isinstance(said, bool):
        raise Unreadable(f'"{keys[0]}" is {_kind(said)}, expected true or false')
    return said


def _named(artefact: _Object) -> ArtefactId:
    id_ = _text(artefact, "id")
    if id_ is not None:
        return artefact_of(id_, _text(artefact, "agencyID"), _text(artefact, "version"))
    urns = [one.get("urn") for one in (artefact, *_objects(artefact, "links"))]
    found = next((name for urn in urns if isinstance(urn, str) and (name := referred(urn)) is not None), None)
    if found is None:
        raise Unreadable("it has no id")
    return found[0]


def _name(artefact: _Object, language: str) -> str | None:
    names = artefact.get("names")
    if isinstance(names, dict):
        said = [(key, text) for key, text in names.items() if isinstance(text, str)]
        if (found := name_in(said, language)) is not None:
            return found
    name = artefact.get("name")
    if isinstance(name, dict):  # drafts of 1.0
        return name_in([(key, text) for key, text in name.items() if isinstance(text, str)], language)
    return name.strip() or None if isinstance(name, str) else None


def _reference(holder: _Object, key: str) -> ArtefactId | None:
    urn = _text(holder, key)
    found = None if urn is None else referred(urn)
    return None if found is None else found[0]


def _list(holder: _Object, key: str) -> ArtefactId | None:
    """The list that is named there; for an unreadable name, a name that nothing has."""
    urn = _text(holder, key)
    return None if urn is None else _reference(holder, key) or nameless(urn)


def _item(holder: _Object, key: str) -> ItemReference | None:
    urn = _text(holder, key)
    found = None if urn is None else referred(urn)
    return None if found is None or found[1] is None else (found[0], found[1])


def _add_code_list(catalogue: Catalogue, artefact: _Object, language: str) -> None:
    names: dict[str, str | None] = {}
    below: dict[str, list[str]] = {}
    items = [
        one for key in ("codes", "valueItems", "geoFeatureSetCodes", "geoGridCodes") for one in _objects(artefact, key)
    ]
    unnamed = 0
    while items:
        deeper: list[_Object] = []
        for item in items:
            code = _text(item, "id")
            if code is None:
                unnamed += 1
                continue
            names.setdefault(code, _name(item, language))
            parent = _text(item, "parent")
            if parent:
                below.setdefault(parent.rpartition(").")[2] if parent.startswith("urn:") else parent, []).append(code)
            for child in _objects(item, "codes"):
                deeper.append({"parent": code, **child})
        items = deeper
    extensions = list(_extensions(artefact))
    codes = catalogue.code_lists.setdefault(_named(artefact), Codes())
    codes.add(names, below, whole=not _flag(artefact, "isPartial", default=False) and not unnamed)
    codes.extensions.extend(extensions)
    if unnamed:
        raise Unreadable(f"{unnamed:,} of its codes have no id (the others were read)")


def _extensions(artefact: _Object) -> Iterator[Extension]:
    for extension in _objects(artefact, "codelistExtensions"):
        code_list = _list(extension, "codelist") or nameless("")
        key = next((one for one in ("inclusiveCodeSelection", "exclusiveCodeSelection") if extension.get(one)), None)
        chosen = None if key is None else _mapping(extension[key], f'"{key}"')
        values: list[str] = []
        cascading: frozenset[str] = frozenset()
        if chosen is not None:
            values, cascading = _values(chosen, "memberValues")
            values += _values(chosen, "wildcardedMemberValues")[0]
        yield Extension(
            code_list=code_list,
            prefix=_text(extension, "prefix") or "",
            values=None if chosen is None else tuple(values),
            cascading=cascading,
            excluded=key == "exclusiveCodeSelection",
        )


def _values(holder: _Object, key: str) -> tuple[list[str], frozenset[str]]:
    """The values of a list, and those that include the codes below them: texts, or objects with a flag."""
    held = holder.get(key) or ()
    if not isinstance(held, list | tuple):
        raise Unreadable(f'"{key}" is {_kind(held)}, expected a list')
    values, cascading = [], set()
    for one in held:
        said = one.get("value") if isinstance(one, dict) else one
        if not isinstance(said, str):
            raise Unreadable(f'a value of "{key}" is {_kind(said)}, expected a text')
        cascade = one.get("cascadeValues") if isinstance(one, dict) else None
        if cascade in (True, "true", ROOT_EXCLUDED):
            cascading.add(said.strip())
        if cascade != ROOT_EXCLUDED:
            values.append(said.strip())
    return values, frozenset(cascading)


def _add_concepts(catalogue: Catalogue, artefact: _Object, language: str) -> None:
    known = catalogue.concepts.setdefault(_named(artefact), {})
    for concept in _objects(artefact, "concepts"):
        id_ = _text(concept, "id")
        if id_ is None:
            raise Unreadable("one of its concepts has no id")
        core = concept.get("coreRepresentation")
        code_list = None if core is None else _list(_mapping(core, '"coreRepresentation"'), "enumeration")
        known.setdefault(id_, Concept(name=_name(concept, language), code_list=code_list))


def _add_structure(catalogue: Catalogue, artefact: _Object, language: str) -> None:
    parts = _mapping(artefact.get("dataStructureComponents") or {}, '"dataStructureComponents"')
    listed = _mapping(parts.get("dimensionList") or {}, '"dimensionList"')
    coded = [(one, False) for one in _objects(listed, "dimensions")]
    coded += [(one, True) for one in _objects(listed, "measureDimensions")]
    positions = [one.get("position") for one, _ in coded]
    if all(type(place) is int for place in positions) and len(set(positions)) == len(positions):
        # Two lists form one key: only the positions give the place of a measure dimension
        coded.sort(key=lambda one: one[0]["position"])
    times = [*_objects(listed, "timeDimensions")]
    if listed.get("timeDimension") is not None:
        times.append(_mapping(listed["timeDimension"], '"timeDimension"'))
    components, time = [], None
    for dimension, measure in [*coded, *((one, False) for one in times)]:
        concept = _item(dimension, "conceptIdentity")
        id_ = _text(dimension, "id") or (concept[1] if concept else None)
        if id_ is None:
            raise Unreadable("one of its dimensions has neither an id nor a concept")
        if dimension.get("type") == "TimeDimension" or any(dimension is one for one in times):
            time = id_
            continue
        own = _mapping(dimension.get("localRepresentation") or {}, '"localRepresentation"')
        enumerated = _list(own, "enumeration")
        of_measures = measure or dimension.get("type") == "MeasureDimension"
        components.append(
            Component(
                id=id_,
                concept=concept,
                code_list=None if of_measures else enumerated,
                measures=enumerated if of_measures else None,
                uncoded=enumerated is None and bool(own),
            )
        )
    if not components and time is None:
        raise Unreadable("it has no dimensions")
    structure = DataStructure(name=_name(artefact, language), dimensions=tuple(components), time_dimension=time)
    catalogue.structures.setdefault(_named(artefact), structure)


def _add_dataflow(catalogue: Catalogue, artefact: _Object, language: str) -> None:
    flow = Dataflow(name=_name(artefact, language), structure=_reference(artefact, "structure"))
    catalogue.dataflows.setdefault(_named(artefact), flow)


def _add_constraint(catalogue: Catalogue, artefact: _Object, language: str) -> None:  # noqa: ARG001 - as the others
    attached = _mapping(artefact.get("constraintAttachment") or {}, '"constraintAttachment"')
    dataflows, structures = (_references(attached, key) for key in ("dataflows", "dataStructures"))
    cubes = tuple(map(_region, _objects(artefact, "cubeRegions")))
    keys = tuple(_key_region(one) for one in _objects(artefact, "dataKeySets"))
    id_ = _named(artefact) if artefact.get("id") else ArtefactId(id="")
    read: list[Constraint] = constraints(id_, dataflows, structures, cubes, keys)
    catalogue.constraints.extend(read)


def _references(holder: _Object, key: str) -> list[ArtefactId]:
    held = holder.get(key) or ()
    listed = [held] if isinstance(held, str) else held
    if not isinstance(listed, list | tuple) or not all(isinstance(one, str) for one in listed):
        raise Unreadable(f'"{key}" is {_kind(held)}, expected a list of URNs')
    return [found[0] for urn in listed if (found := referred(urn)) is not None]


def _region(region: _Object) -> Region:
    members = {}
    for member in _objects(region, "keyValues"):
        values, cascading = _values(member, "values")
        # 1.0 has a separate list of the values that include the codes below them
        more = _values(member, "cascadeValues")[0] if isinstance(member.get("cascadeValues"), list) else []
        if values or cascading or more:  # without values it is a range of time
            members[_text(member, "id") or ""] = KeyValues(
                values=frozenset((*values, *more)),
                cascading=cascading | frozenset(more),
                included=_flag(member, "include", default=True),
            )
    return Region(included=_flag(region, "include", "isIncluded", default=True), members=members)


def _key_region(key_set: _Object) -> Region:
    keys = []
    for key in _objects(key_set, "keys"):
        values: dict[str, frozenset[str]] = {}
        for member in _objects(key, "keyValues"):
            single = _text(member, "value") if isinstance(member.get("value"), str) else None
            listed = _values(member, "values")[0] if single is None else [single]
            values[_text(member, "id") or ""] = frozenset(listed)
        keys.append(values)
    return key_region(keys, included=_flag(key_set, "isIncluded", "include", default=True))


def _add_hierarchy(catalogue: Catalogue, artefact: _Object, language: str) -> None:  # noqa: ARG001 - as the others
    aliases = _aliases(artefact)
    trees = [artefact] if "hierarchies" not in artefact else list(_objects(artefact, "hierarchies"))
    read: list[Hierarchy] = [
        hierarchy(
            list(_objects(tree, "hierarchicalCodes")),
            lambda node: list(_objects(node, "hierarchicalCodes")),
            lambda node: _node_code(node, aliases),
        )
        for tree in trees
    ]
    catalogue.hierarchies.setdefault(_named(artefact), read)


def _aliases(artefact: _Object) -> dict[str, ArtefactId]:
    """The code lists of a hierarchical code list, by alias: from an object of URNs by alias, or a list of pairs."""
    included = artefact.get("includedCodelists")
    if isinstance(included, dict):
        pairs = [(alias, urn) for alias, urn in included.items()]
    elif isinstance(included, list):
        pairs = [(one.get("alias"), one.get("codelist") or one.get("urn")) for one in included if isinstance(one, dict)]
    else:
        pairs = []
    return {
        str(alias): found[0] for alias, urn in pairs if isinstance(urn, str) and (found := referred(urn)) is not None
    }


def _node_code(node: _Object, aliases: Mapping[str, ArtefactId]) -> ItemReference | None:
    full = _item(node, "code")
    if full is not None:
        return full
    code, alias = _text(node, "codeID"), _text(node, "codelistAliasRef")
    code_list = aliases.get(alias or "")
    return None if code is None or code_list is None else (code_list, code)


_READERS: Mapping[str, Callable[[Catalogue, _Object, str], None]] = {
    "codelists": _add_code_list,
    "geographicCodelists": _add_code_list,
    "geoGridCodelists": _add_code_list,
    "valueLists": _add_code_list,
    "valuelists": _add_code_list,
    "conceptSchemes": _add_concepts,
    "dataStructures": _add_structure,
    "dataflows": _add_dataflow,
    "contentConstraints": _add_constraint,
    "dataConstraints": _add_constraint,
    "availabilityConstraints": _add_constraint,
    "hierarchicalCodelists": _add_hierarchy,
    "hierarchies": _add_hierarchy,
}
