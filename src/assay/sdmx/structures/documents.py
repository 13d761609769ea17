"""Read a document of structures in any form: SDMX-ML or SDMX-JSON, plain, gzipped or zipped.

SDMX-JSON messages (1.0, 2.x) have a list for each kind of artefact under ``data``. Those of SDMX-ML are decoded into
the same form (`assay.sdmx.structures.xml`).
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from assay.sdmx.errors import NoStructures, refused_json
from assay.sdmx.structures.artefacts import COLLECTIONS, Unreadable, add_artefact
from assay.sdmx.structures.catalogue import Catalogue
from assay.sdmx.structures.xml import add_xml

MOST_BYTES = 1 << 29
"""The largest document that is read, and the largest unpacked size."""
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_UTF8, _UTF16, _UTF32 = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff"), (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")
_NAMES = (".xml", ".json")


def add_document(catalogue: Catalogue, content: bytes, *, where: str, language: str) -> None:
    """Add the content of one document. Its unreadable parts are left out and noted in the catalogue.

    Raises NoStructures, with ``where``, if the document has no structures or cannot be read at all.
    """
    if content.startswith(_ZIP):
        _add_archive(catalogue, content, where=where, language=language)
        return
    _add_plain(catalogue, _unpacked(content, where), where=where, language=language)


def _add_plain(catalogue: Catalogue, content: bytes, *, where: str, language: str) -> None:
    if len(content) > MOST_BYTES:
        raise _too_large(where)
    content = content.removeprefix(_UTF8)
    text = _json_text(content, where)
    if text is not None:
        add_json(catalogue, text, where=where, language=language)
    else:
        # Blanks before the declaration are invalid XML, but harmless
        add_xml(catalogue, content if content.startswith(_UTF16) else content.lstrip(), where=where, language=language)


def _json_text(content: bytes, where: str) -> bytes | None:
    """A document's JSON in UTF-8; None if it does not look like JSON."""
    wide = "utf-32" if content.startswith(_UTF32) else "utf-16" if content.startswith(_UTF16) else None
    if wide is None:
        return content if content.lstrip()[:1] in (b"{", b"[") else None
    try:
        if content[:64].decode(wide, "ignore").lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
            return None
        return content.decode(wide).encode()
    except UnicodeError as error:
        raise NoStructures(f"{where} is not valid {wide.upper()} text: {error}") from None


def _unpacked(content: bytes, where: str) -> bytes:
    if not content.startswith(_GZIP):
        return content
    unpacker = zlib.decompressobj(wbits=31)
    try:
        plain = unpacker.decompress(content, MOST_BYTES + 1)
    except zlib.error as error:
        raise NoStructures(f"{where} is gzipped and cannot be unpacked: {error}. Fetch or save it again") from None
    if len(plain) > MOST_BYTES:
        raise _too_large(where)
    if not unpacker.eof:
        raise NoStructures(f"{where} is gzipped and ends too early. Fetch or save it again")
    return plain


def _add_archive(catalogue: Catalogue, content: bytes, *, where: str, language: str) -> None:
    refused: list[NoStructures] = []
    read = 0
    for member, plain in _members(content, where):
        inside = f"{where}, {member[:200]!r} in it,"
        try:
            _add_plain(catalogue, plain, where=inside, language=language)
            read += 1
        except NoStructures as error:
            refused.append(error)
    if not read:
        raise refused[0] if refused else NoStructures(f"{where} is a ZIP archive without .xml and .json files")
    catalogue.notes.extend(error.message for error in refused)


def _members(content: bytes, where: str) -> Iterator[tuple[str, bytes]]:
    left = MOST_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for info in archive.infolist():
                name = info.filename
                if not name.lower().endswith(_NAMES) or name.startswith("__MACOSX/"):
                    continue
                with archive.open(info) as file:
                    plain = file.read(left + 1)
                left -= len(plain)
                if left < 0:
                    raise _too_large(where)
                yield name, plain
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError) as error:
        # An archive with a password raises RuntimeError; an unknown compression, NotImplementedError
        raise NoStructures(f"{where} is a ZIP archive that cannot be unpacked: {error}") from None


def _too_large(where: str) -> NoStructures:
    return NoStructures(f"{where} has more than {MOST_BYTES >> 20:,} MiB: split the structures into smaller files")


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
"""Ends of the names of collections that a structure message may contain alone, but that are not read."""


def add_json(catalogue: Catalogue, content: bytes, *, where: str, language: str) -> None:
    """Add the content of one SDMX-JSON structure message.

    Its unreadable parts are noted. Raises NoStructures if it is not a message with structures.
    """
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NoStructures(f"{where} is not JSON: {error or 'it is nested too deep'}. Fetch or save it again") from None
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
                catalogue.notes.append(f"{where}: the {_shown(collection, place, artefact)} {error}")


def _is_structure(message: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
    """Whether a message is declared as one of structures, or has a list of them."""
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
