"""Decode SDMX-ML structure messages (2.1, 3.0, 3.1): elements become objects with the keys of SDMX-JSON.

The versions differ in namespaces, in the names of a few elements, and in references (``Ref`` elements or URNs); all
of that is decoded by one table of local names. Nothing outside the document is opened, and no entity is followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from assay.errors import MissingDependency
from assay.sdmx.errors import NoStructures, is_too_old, refused_root
from assay.sdmx.structures.artefacts import Unreadable, add_artefact
from assay.sdmx.structures.catalogue import Catalogue

_COLLECTIONS = {
    "Codelist": "codelists",
    "GeographicCodelist": "codelists",
    "GeoGridCodelist": "codelists",
    "ValueList": "codelists",
    "ConceptScheme": "conceptSchemes",
    "DataStructure": "dataStructures",
    "Dataflow": "dataflows",
    "ContentConstraint": "dataConstraints",
    "DataConstraint": "dataConstraints",
    "AvailabilityConstraint": "dataConstraints",
    "HierarchicalCodelist": "hierarchies",
    "Hierarchy": "hierarchies",
}
"""The collection of each artefact's element."""


class _Part(Struct, frozen=True):
    """A child element: its key in JSON, what it is decoded as, and whether several make a list."""

    key: str
    kind: str
    many: bool = False


_CODES = dict.fromkeys(
    ("Code", "ValueItem", "GeoFeatureSetCode", "GeoGridCode", "GridCode"), _Part("codes", "code", many=True)
)
_NODES = {"HierarchicalCode": _Part("hierarchicalCodes", "node", many=True)}
_KEY_VALUES = {"KeyValue": _Part("keyValues", "member", many=True)}
_PARTS: Mapping[str, Mapping[str, _Part]] = {
    "codelists": {
        **_CODES,
        "CodelistExtension": _Part("codelistExtensions", "extension", many=True),
    },
    "code": {**_CODES, "Parent": _Part("parent", "id")},
    "extension": {
        "Codelist": _Part("codelist", "reference"),
        "InclusiveCodeSelection": _Part("inclusiveCodeSelection", "selection"),
        "ExclusiveCodeSelection": _Part("exclusiveCodeSelection", "selection"),
    },
    "selection": {"MemberValue": _Part("memberValues", "value", many=True)},
    "conceptSchemes": {"Concept": _Part("concepts", "concept", many=True)},
    "concept": {"CoreRepresentation": _Part("coreRepresentation", "representation")},
    "representation": {
        "Enumeration": _Part("enumeration", "reference"),
        "EnumerationFormat": _Part("enumerationFormat", "text"),
        "TextFormat": _Part("textFormat", "text"),
    },
    "dataStructures": {"DataStructureComponents": _Part("dataStructureComponents", "components")},
    "components": {"DimensionList": _Part("dimensionList", "dimensions")},
    "dimensions": {
        kind: _Part("dimensions", "dimension", many=True) for kind in ("Dimension", "MeasureDimension", "TimeDimension")
    },
    "dimension": {
        "ConceptIdentity": _Part("conceptIdentity", "reference"),
        "LocalRepresentation": _Part("localRepresentation", "representation"),
    },
    "dataflows": {"Structure": _Part("structure", "reference")},
    "dataConstraints": {
        "ConstraintAttachment": _Part("constraintAttachment", "attachment"),
        "CubeRegion": _Part("cubeRegions", "region", many=True),
        "DataKeySet": _Part("dataKeySets", "key set", many=True),
    },
    "attachment": {
        "Dataflow": _Part("dataflows", "reference", many=True),
        "DataStructure": _Part("dataStructures", "reference", many=True),
    },
    "region": _KEY_VALUES,
    "key set": {"Key": _Part("keys", "key", many=True)},
    "key": _KEY_VALUES,
    "member": {"Value": _Part("values", "value", many=True)},
    "hierarchies": {
        **_NODES,
        "Hierarchy": _Part("hierarchies", "tree", many=True),
        "IncludedCodelist": _Part("includedCodelists", "included", many=True),
    },
    "tree": _NODES,
    "node": {
        **_NODES,
        "Code": _Part("code", "reference"),
        "CodeID": _Part("codeID", "id"),
        "CodelistAliasRef": _Part("codelistAliasRef", "text"),
    },
}
"""The parts of each artefact and part that are read, by the element's name."""
_FLAGS = frozenset({"isExternalReference", "isPartial", "include", "isIncluded"})
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_LABELLED_WIDE = re.compile(rb"<\?xml[^>]*encoding\s*=\s*[\"']utf-?(?:16|32)", re.IGNORECASE)


def require_lxml() -> None:
    """Raise MissingDependency if lxml is not installed."""
    try:
        import lxml.etree  # noqa: F401
    except ImportError as error:
        raise MissingDependency("lxml", "sdmx") from error


def add_xml(catalogue: Catalogue, content: bytes, *, where: str, language: str) -> None:
    """Add the content of one SDMX-ML message, also within a SOAP envelope or a registry's answer.

    Its unreadable parts are noted. Raises NoStructures if it is not a message with structures.
    """
    root = parse(content, where)
    found = [one for one in root.iter("{*}Structures") if "sdmx" in str(one.tag)]
    if not any(len(one) for one in found):
        if _local(root) != "Structure" or "sdmx" not in str(root.tag) or is_too_old(root):
            raise refused_root(root, where)
        catalogue.notes.append(f"{where} is a structure message without any structures")
    for message in root.iter("{*}ErrorMessage"):
        said = " ".join(message.itertext()).strip()[:200]
        catalogue.notes.append(f"{where}: the message cannot be read: it contains an error: {said}")
    for artefact in (artefact for structures in found for artefact in _artefacts(structures)):
        name = _local(artefact)
        if name not in _COLLECTIONS:
            continue
        try:
            add_artefact(catalogue, _COLLECTIONS[name], _decoded(artefact, _COLLECTIONS[name]), language)
        except Unreadable as error:
            agency, id_ = artefact.get("agencyID"), artefact.get("id")
            shown = f"{name} {f'{agency}:' if agency else ''}{id_}" if id_ else f"{name} in line {artefact.sourceline}"
            catalogue.notes.append(f"{where}: the {shown[:200]} {error}")


def parse(content: bytes, where: str) -> Any:
    """The root element. Raises NoStructures for anything but XML without a document type."""
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
        raise NoStructures(f"{where} is not well-formed XML: {reason}. Fetch or save it again") from None
    if root.getroottree().docinfo.internalDTD is not None:
        if root.getroottree().docinfo.internalDTD.name.lower() == "html":
            raise refused_root(root, where)
        raise NoStructures(f"{where} declares a document type (DTD), which SDMX-ML does not allow: it is not read")
    return root


def _artefacts(structures: Any) -> Iterator[Any]:
    """The maintainable artefacts, either inside containers or directly below."""
    for container in structures:
        if container.get("id") is not None:
            yield container
        else:
            yield from container


def _decoded(element: Any, kind: str) -> object:
    """An element as a JSON value. For elements that may occur only once, the first one is taken."""
    if kind not in _PARTS:
        return _LEAVES[kind](element)
    written: dict[str, Any] = dict(element.attrib)
    for flag in _FLAGS.intersection(written):
        written[flag] = _TRUTH.get(written[flag].strip())
    parts = _PARTS[kind]
    for child in element:
        name = _local(child)
        part = parts.get(name)
        if part is not None:
            if part.many:
                written.setdefault(part.key, []).append(_decoded(child, part.kind))
            elif part.key not in written:
                written[part.key] = _decoded(child, part.kind)
        elif name == "Name" and child.text:
            written.setdefault("names", {}).setdefault(child.get(_LANGUAGE) or "en", child.text)
    if kind == "dimension":
        written["type"] = _local(element)
    return written


def _local(element: Any) -> str:
    """An element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def _text(element: Any) -> str:
    return (element.text or "").strip()


def _value(element: Any) -> dict[str, str]:
    return {"value": _text(element), "cascadeValues": (element.get("cascadeValues") or "").strip()}


def _id(element: Any) -> str:
    """The id of an item: in an inner Ref (2.1), or as text."""
    return next((str(child.get("id")) for child in element if child.get("id")), "") or _text(element)


def _reference(element: Any) -> str | dict[str, str]:
    """A reference: an inner Ref or URN (2.1), or a URN as text (3.x)."""
    for child in element:
        name = _local(child)
        if name == "Ref":
            return dict(child.attrib)
        if name == "URN":
            return _text(child)
    return _text(element)


def _included(element: Any) -> dict[str, Any]:
    return {"alias": element.get("alias"), "codelist": _reference(element)}


_LEAVES = {"text": _text, "id": _id, "value": _value, "reference": _reference, "included": _included}
