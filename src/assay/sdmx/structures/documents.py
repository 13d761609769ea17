"""Read SDMX-ML structure messages with sdmx1, artefact by artefact, into a `Catalogue`.

A document is parsed once by a parser that follows no entity and opens no other resource. Each
artefact in it is then given to sdmx1 in a message of its own, without the parts that nothing here
needs (annotations, descriptions, attributes): what sdmx1 does not know in one of those does no
harm, references stay what the document says rather than what a stub of the same id says, an
artefact that cannot be read is named, and reading is faster. `assay.sdmx.structures.relations` reads
constraints and hierarchies.
"""

from __future__ import annotations

import contextlib
import gc
import io
import logging
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from assay.errors import InputError, MissingDependency
from assay.sdmx.structures.catalogue import Catalogue, Codes, Component, Concept, Dataflow, DataStructure
from assay.sdmx.structures.identifiers import ArtefactId
from assay.sdmx.structures.relations import local, named, read_constraint, read_extensions, read_hierarchies

_READ_BY_SDMX1 = frozenset(
    {"Codelist", "GeographicCodelist", "GeoGridCodelist", "ValueList", "ConceptScheme", "DataStructure", "Dataflow"}
)
_UNNEEDED = ("Annotations", "Description", "AttributeList", "MeasureList", "Group", "CodelistExtension")
_WILD, _TAME = "+", "_plus_"
"""sdmx1 reads no URN whose version has a plus (SDMX 3.0: the latest of that major version), so it is written out."""


def require_sdmx1() -> None:
    """Raise MissingDependency where sdmx1 is not installed."""
    try:
        import sdmx  # noqa: F401
    except ImportError as error:
        raise MissingDependency("sdmx1", "sdmx") from error


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Keep sdmx1 from printing, warning and logging, and the garbage collector from pausing, while it reads.

    Collections of the many small objects of a large code list cost a fifth of the time to read it.
    """
    log = logging.getLogger("sdmx")
    level, collecting = log.level, gc.isenabled()
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log.setLevel(logging.CRITICAL + 1)
        gc.disable()
        try:
            yield
        finally:
            log.setLevel(level)
            if collecting:
                gc.enable()


def add_document(catalogue: Catalogue, content: bytes, *, where: str, language: str) -> None:
    """Add what one SDMX-ML structure message says. Raises InputError, with ``where``, where it is none."""
    root = _parse(content, where)
    structures = next((child for child in root if local(child) == "Structures"), None)
    if local(root) != "Structure" or "sdmx" not in str(root.tag) or structures is None:
        raise InputError(
            f"{where} is no SDMX structure message: its root element is <{local(root)}>. Give the files with "
            "dataflows, data structures, concept schemes and code lists (SDMX-ML 2.1 or 3.0)"
        )
    for artefact in list(_artefacts(structures)):
        kind = local(artefact)
        if artefact.get("isExternalReference") == "true":
            continue  # a stub: it says where the artefact is, and must not stand for it
        if kind in ("ContentConstraint", "DataConstraint"):
            constraint = read_constraint(artefact)
            if constraint is not None:
                catalogue.constraints.append(constraint)
        elif kind in ("HierarchicalCodelist", "Hierarchy"):
            read = read_hierarchies(artefact)
            catalogue.hierarchies.setdefault(read[0], read[1])
        elif kind in _READ_BY_SDMX1:
            extensions = read_extensions(artefact)
            _add_artefact(catalogue, _message(root, artefact, where), kind, language)
            if extensions:
                catalogue.code_lists.setdefault(named(artefact), Codes()).extensions.extend(extensions)


def _parse(content: bytes, where: str) -> Any:
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise InputError(
            f"{where} is no well-formed XML: {error.msg or 'it is empty'}. Fetch or save it anew"
        ) from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise InputError(f"{where} declares a document type (DTD), which SDMX-ML never does: it is not read")
    return root


def _artefacts(structures: Any) -> Iterator[Any]:
    """The maintainable artefacts, which stand one or (3.0: none but) one container below."""
    for container in structures:
        yield from container


def _message(root: Any, artefact: Any, where: str) -> Any:
    """sdmx1's message of one artefact alone. Raises InputError, naming the artefact, where sdmx1 cannot read it."""
    from lxml import etree

    import sdmx

    for name in _UNNEEDED:
        etree.strip_elements(artefact, f"{{*}}{name}", with_tail=False)
    for element in artefact.iter():
        if element.text and element.text.lstrip().startswith("urn:"):
            element.text = element.text.strip().replace(_WILD, _TAME)
    container = artefact.getparent()
    envelope = etree.Element(root.tag, nsmap=root.nsmap)
    parts = etree.SubElement(envelope, container.getparent().tag)
    etree.SubElement(parts, container.tag).text = "@"
    # Put together as text: lxml takes quadratic time to move a large element to another document (17 s for 100,000)
    body = etree.tostring(artefact, encoding="utf-8", xml_declaration=False, with_tail=False)
    message = etree.tostring(envelope, encoding="utf-8", xml_declaration=False).replace(b">@<", b">" + body + b"<")
    name = f"{local(artefact)} {artefact.get('agencyID')}:{artefact.get('id')}"
    try:
        return sdmx.read_sdmx(io.BytesIO(message))
    except Exception as error:  # sdmx1 raises whatever its parser ran into, from AssertionError to XMLParseError
        cause = error.__cause__ or error
        reason = f"{type(cause).__name__}: {cause}".strip(": ")
        raise InputError(f"{where}: sdmx1 cannot read the {name} in it ({reason}). Check it against SDMX-ML") from error


def _add_artefact(catalogue: Catalogue, message: Any, kind: str, language: str) -> None:
    if kind == "ConceptScheme":
        for scheme in _own(message.concept_scheme):
            catalogue.concepts.setdefault(artefact_id(scheme), {}).update(
                {
                    concept.id: Concept(name=_name(concept, language), code_list=_enumeration(concept))
                    for concept in scheme.items.values()
                }
            )
    elif kind == "DataStructure":
        for structure in _own(message.structure):
            catalogue.structures.setdefault(artefact_id(structure), _data_structure(structure, language))
    elif kind == "Dataflow":
        for dataflow in _own(message.dataflow):
            structure = dataflow.structure
            named = structure is not None and structure.id and structure.maintainer is not None
            catalogue.dataflows.setdefault(
                artefact_id(dataflow),
                Dataflow(name=_name(dataflow, language), structure=artefact_id(structure) if named else None),
            )
    else:
        for code_list in (*_own(message.codelist), *_own(message.valuelist)):
            items = code_list.items
            catalogue.code_lists.setdefault(artefact_id(code_list), Codes()).add(
                {code: _name(item, language) for code, item in items.items()},
                {code: [child.id for child in item.child] for code, item in items.items() if item.child},
            )


def _own(collection: Mapping[str, Any]) -> Iterator[Any]:
    """The artefacts that the message holds, not those that it only refers to."""
    return (one for one in collection.values() if not one.is_external_reference)


def _data_structure(structure: Any, language: str) -> DataStructure:
    components, time = [], None
    for dimension in structure.dimensions.components:  # in the order of the key, which sdmx1 keeps
        if type(dimension).__name__ == "TimeDimension":
            time = dimension.id
            continue
        concept = dimension.concept_identity
        scheme = None if concept is None else concept.get_scheme()
        components.append(
            Component(
                id=dimension.id,
                concept=None if scheme is None else (artefact_id(scheme), concept.id),
                code_list=_enumerated(dimension.local_representation),
            )
        )
    return DataStructure(name=_name(structure, language), dimensions=tuple(components), time_dimension=time)


def artefact_id(artefact: Any) -> ArtefactId:
    """The name of one of sdmx1's maintainable artefacts."""
    version = None if artefact.version is None else str(artefact.version).replace(_TAME, _WILD)
    return ArtefactId(id=artefact.id, agency=getattr(artefact.maintainer, "id", None) or None, version=version or None)


def _enumeration(concept: Any) -> ArtefactId | None:
    return _enumerated(concept.core_representation)


def _enumerated(representation: Any) -> ArtefactId | None:
    enumerated = getattr(representation, "enumerated", None)
    return None if enumerated is None else artefact_id(enumerated)


def _name(artefact: Any, language: str) -> str | None:
    """The name in that language, else in a variant of it, else in English, else in any."""
    names: Mapping[str, str] = artefact.name.localizations
    if not names:
        return None
    if len(names) == 1 or language in names:
        return names.get(language) or next(iter(names.values()))
    by_language: dict[str, str] = {key.split("-")[0].casefold(): name for key, name in reversed(list(names.items()))}
    for wanted in (language.split("-", maxsplit=1)[0].casefold(), "en"):
        if wanted in by_language:
            return by_language[wanted]
    return next(iter(names.values()))
