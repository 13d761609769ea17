"""Decode SDMX-JSON structure messages (1.0, 2.x): they have a list for each kind of artefact under ``data``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from assay.sdmx.structures.artefacts import COLLECTIONS, Unreadable, add_artefact
from assay.sdmx.structures.catalogue import Catalogue
from assay.sdmx.structures.refusals import NoStructures, refused_json

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
"""Ends of the names of collections that a structure message may hold alone, and that are not read."""


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
    for collection in COLLECTIONS:
        artefacts = data.get(collection)
        if artefacts is None:
            continue
        if not isinstance(artefacts, list):
            catalogue.notes.append(f'{where}: "{collection}" cannot be read: it is not a list')
            continue
        for place, artefact in enumerate(artefacts):
            try:
                add_artefact(catalogue, collection, artefact, language)
            except Unreadable as error:
                catalogue.notes.append(f"{where}: the {_shown(collection, place, artefact)} cannot be read: {error}")


def _is_structure(message: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
    """Whether a message is declared as one of structures, or holds a list of them."""
    meta = message.get("meta")
    schema = meta.get("schema") if isinstance(meta, dict) else None
    if isinstance(schema, str) and "structure" in schema and not message.get("errors"):
        return True
    return any(isinstance(held, list) and (key in COLLECTIONS or key.endswith(_OTHERS)) for key, held in data.items())


def _shown(collection: str, place: int, artefact: object) -> str:
    id_, agency = (artefact.get("id"), artefact.get("agencyID")) if isinstance(artefact, dict) else (None, None)
    if not isinstance(id_, str):
        return f"item {place + 1} of {collection}"
    return f"{collection} {f'{agency}:' if isinstance(agency, str) else ''}{id_}"[:200]
