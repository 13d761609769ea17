"""Read SDMX-ML structure messages (2.1, 3.0, 3.1), artefact by artefact, into a `Catalogue`.

The versions differ in namespaces, in the names of a few elements, and in references (``Ref`` elements or URNs); all
of that is read by one grammar of local names. Nothing outside the document is opened, and no entity is followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from assay.errors import MissingDependency
from assay.sdmx.structures.catalogue import Catalogue, Codes, Component, Concept, Dataflow, DataStructure
from assay.sdmx.structures.elements import Unreadable, children, flag, local, name_of, named, reference, text_of
from assay.sdmx.structures.identifiers import ArtefactId, nameless
from assay.sdmx.structures.refusals import NoStructures, is_too_old, refused_root
from assay.sdmx.structures.relations import read_constraints, read_extensions, read_hierarchies

_LISTS = frozenset({"Codelist", "GeographicCodelist", "GeoGridCodelist", "ValueList"})
_ITEMS = ("{*}Code", "{*}ValueItem", "{*}GeoFeatureSetCode", "{*}GeoGridCode", "{*}GridCode")
_CONSTRAINTS = frozenset({"ContentConstraint", "DataConstraint", "AvailabilityConstraint"})
_KEY = frozenset({"Dimension", "MeasureDimension"})
_LABELLED_WIDE = re.compile(rb"<\?xml[^>]*encoding\s*=\s*[\"']utf-?(?:16|32)", re.IGNORECASE)


def require_lxml() -> None:
    """Raise MissingDependency where lxml is not installed."""
    try:
        import lxml.etree  # noqa: F401
    except ImportError as error:
        raise MissingDependency("lxml", "sdmx") from error


def add_xml(catalogue: Catalogue, content: bytes, *, where: str, language: str) -> None:
    """Add the content of one SDMX-ML message, also within a SOAP envelope or a registry's answer.

    Its unreadable parts are noted. Raises NoStructures where it is no message with structures.
    """
    root = _parse(content, where)
    found = [one for one in root.iter("{*}Structures") if "sdmx" in str(one.tag)]
    if not any(len(one) for one in found):
        if local(root) != "Structure" or "sdmx" not in str(root.tag) or is_too_old(root):
            raise refused_root(root, where)
        catalogue.notes.append(f"{where} is a structure message without any structures")
    for message in root.iter("{*}ErrorMessage"):
        _note(catalogue, where, "the message", f"it holds an error: {' '.join(message.itertext()).strip()[:200]}")
    for structures in found:
        for artefact in _artefacts(structures):
            _add(catalogue, artefact, where, language)


def _parse(content: bytes, where: str) -> Any:
    require_lxml()
    from lxml import etree

    # A text that was written as UTF-16 and saved as UTF-8 keeps the wrong label, which parsers trust
    encoding = "utf-8" if _LABELLED_WIDE.match(content) else None
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        encoding=encoding,
    )
    try:
        root = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        reason = getattr(error, "msg", None) or str(error) or "it is empty"
        raise NoStructures(f"{where} is no well-formed XML: {reason}. Fetch or save it anew") from None
    if root.getroottree().docinfo.internalDTD is not None:
        if root.getroottree().docinfo.internalDTD.name.lower() == "html":
            raise refused_root(root, where)
        raise NoStructures(f"{where} declares a document type (DTD), which SDMX-ML never does: it is not read")
    return root


def _artefacts(structures: Any) -> Iterator[Any]:
    """The maintainable artefacts, either inside containers or directly below."""
    for container in structures:
        if container.get("id") is not None:
            yield container
        else:
            yield from container


def _add(catalogue: Catalogue, artefact: Any, where: str, language: str) -> None:
    kind = local(artefact)
    try:
        if flag(artefact, "isExternalReference", default=False) and kind not in _CONSTRAINTS:
            catalogue.stubs[named(artefact)] = None
            return
        if kind in _LISTS:
            _add_code_list(catalogue, artefact, language)
        elif kind == "ConceptScheme":
            _add_concepts(catalogue, artefact, language)
        elif kind == "DataStructure":
            catalogue.structures.setdefault(named(artefact), _data_structure(artefact, language))
        elif kind == "Dataflow":
            structure = next((reference(part) for part in children(artefact, "Structure")), None)
            flow = Dataflow(name=name_of(artefact, language), structure=None if structure is None else structure[0])
            catalogue.dataflows.setdefault(named(artefact), flow)
        elif kind in _CONSTRAINTS:
            catalogue.constraints.extend(read_constraints(artefact))
        elif kind in ("HierarchicalCodelist", "Hierarchy"):
            catalogue.hierarchies.setdefault(named(artefact), read_hierarchies(artefact))
    except Unreadable as error:
        agency = artefact.get("agencyID")
        id_ = artefact.get("id")
        shown = f"{kind} {f'{agency}:' if agency else ''}{id_}" if id_ else f"{kind} in line {artefact.sourceline}"
        _note(catalogue, where, f"the {shown[:200]}", str(error))


def _note(catalogue: Catalogue, where: str, what: str, why: str) -> None:
    catalogue.notes.append(f"{where}: {what} cannot be read: {why}")


def _add_code_list(catalogue: Catalogue, element: Any, language: str) -> None:
    names: dict[str, str | None] = {}
    below: dict[str, list[str]] = {}
    unnamed = 0
    for item in element.iter(*_ITEMS):
        code = item.get("id")
        if not code:
            unnamed += 1
            continue
        names.setdefault(code, name_of(item, language))
        parent = _parent(item, element)
        if parent:
            below.setdefault(parent, []).append(code)
    extensions = read_extensions(element)
    codes = catalogue.code_lists.setdefault(named(element), Codes())
    codes.add(names, below, whole=not unnamed and not flag(element, "isPartial", default=False))
    codes.extensions.extend(extensions)
    if unnamed:
        raise Unreadable(f"{unnamed:,} of its codes have no id (the others were read)")


def _parent(item: Any, code_list: Any) -> str | None:
    for child in item:
        if child.tag[-6:] == "Parent":
            said = next((one.get("id") for one in child if one.get("id")), None) or text_of(child)
            return str(said).rpartition(").")[2] if said.startswith("urn:") else said
    around = item.getparent()
    return None if around is code_list else around.get("id")


def _add_concepts(catalogue: Catalogue, element: Any, language: str) -> None:
    concepts = {}
    for concept in element.iter("{*}Concept"):
        id_ = concept.get("id")
        if id_:
            code_list = next((_enumeration(part) for part in children(concept, "CoreRepresentation")), None)
            concepts[id_] = Concept(name=name_of(concept, language), code_list=code_list)
    known = catalogue.concepts.setdefault(named(element), {})
    for id_, concept in concepts.items():
        known.setdefault(id_, concept)


def _enumeration(representation: Any) -> ArtefactId | None:
    """The list that values are taken from; for an unreadable name, a name that nothing has."""
    named_in = next(children(representation, "Enumeration"), None)
    if named_in is None:
        return None
    found = reference(named_in)
    return found[0] if found is not None and found[0].id else nameless(" ".join(named_in.itertext()))


def _data_structure(element: Any, language: str) -> DataStructure:
    components, time = [], None
    lists = [part for parts in children(element, "DataStructureComponents") for part in parts]
    dimensions = [one for part in lists if local(part) == "DimensionList" for one in part]
    for place, dimension in enumerate(dimensions, 1):
        kind = local(dimension)
        if kind != "TimeDimension" and kind not in _KEY:
            continue
        concept = next((reference(part) for part in children(dimension, "ConceptIdentity")), None)
        id_ = dimension.get("id") or (concept[1] if concept else None)
        if not id_:
            raise Unreadable(f"its dimension {place} has neither an id nor a concept")
        if kind == "TimeDimension":
            time = id_
            continue
        own = next(children(dimension, "LocalRepresentation"), None)
        enumerated = None if own is None else _enumeration(own)
        measure = kind == "MeasureDimension"
        components.append(
            Component(
                id=id_,
                concept=None if concept is None or concept[1] is None else (concept[0], concept[1]),
                code_list=None if measure else enumerated,
                measures=enumerated if measure else None,
                uncoded=own is not None and enumerated is None and len(own) > 0,
            )
        )
    if not components and time is None:
        raise Unreadable("it has no dimensions")
    return DataStructure(name=name_of(element, language), dimensions=tuple(components), time_dimension=time)
