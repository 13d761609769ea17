"""Names of SDMX artefacts: with or without agency and version, as URNs, and in the form of SDMX 2.1 REST."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from assay.errors import InputError

_WORD = r"[A-Za-z0-9_@$\-]+"
_AGENCY = rf"{_WORD}(?:\.{_WORD})*"
_VERSION = r"[0-9A-Za-z.+*~\-]+"
_COLON_FORM = re.compile(rf"(?:(?P<agency>{_AGENCY}):)?(?P<id>{_WORD})(?:\((?P<version>{_VERSION})\))?")
_COMMA_FORM = re.compile(rf"(?P<agency>{_AGENCY}),(?P<id>{_WORD})(?:,(?P<version>{_VERSION}))?")
_URN = re.compile(r"urn:sdmx:[A-Za-z0-9.]+=(?P<rest>.+)", re.IGNORECASE)
_REFERENCE = re.compile(r"urn:[^=]+=(?P<artefact>[^()]+(?:\([^)]*\))?)(?:\.(?P<item>.+))?", re.DOTALL | re.IGNORECASE)
_ITEM_OF_URN = re.compile(rf"(?:{_AGENCY}):(?:{_WORD})\((?:{_VERSION})\)\.(?P<item>.+)")
_MOST_DIGITS = 18
_ANY_VERSION = frozenset({"latest", "all", "*", "+", "~"})


class ArtefactId(Struct, frozen=True, kw_only=True):
    """The name of a dataflow, data structure or code list. ``agency`` and ``version`` None: not given."""

    id: str
    agency: str | None = None
    version: str | None = None

    def __str__(self) -> str:
        agency = "" if self.agency is None else f"{self.agency}:"
        version = "" if self.version is None else f"({self.version})"
        return f"{agency}{self.id}{version}"

    def matches(self, other: ArtefactId) -> bool:
        """Whether both can name the same artefact: a part that only one of them gives matches any.

        Versions are equal up to trailing zeros (``1.0`` is ``1.0.0``); ``latest``, ``*``, ``+`` and ``~``
        stand for any, ``2+`` or ``2.1+`` for that version and later ones (for ``2.1+.0`` and
        ``2.1.0+`` of the same major, and of the same minor version).
        """
        if self.id != other.id or (self.agency and other.agency and self.agency != other.agency):
            return False
        return versions_match(self.version, other.version)


@lru_cache(maxsize=4096)
def parse_artefact(text: str) -> ArtefactId:
    """Read ``IMF.RES:WEO``, ``IMF.RES:WEO(1.0.0)``, ``IMF.RES,WEO,1.0.0``, ``WEO`` or a URN of any of these.

    Raises InputError for any other text.
    """
    stripped = text.strip()
    urn = _URN.fullmatch(stripped)
    found = None
    for form in (_COLON_FORM, _COMMA_FORM):
        found = form.fullmatch(urn["rest"] if urn else stripped)
        if found is not None:
            break
    if found is None:
        raise InputError(
            f"{text!r} is not an id of an SDMX dataset: use AGENCY:ID, AGENCY:ID(VERSION), AGENCY,ID,VERSION or a URN"
        )
    agency, version = found["agency"], found["version"]
    return ArtefactId(
        id=found["id"],
        agency=None if agency in (None, "all") else agency,
        version=None if version is None or version.lower() in _ANY_VERSION else version,
    )


def artefact_of(id: object, agency: object = None, version: object = None) -> ArtefactId:
    """The name of an artefact from its parts; a version that stands for any becomes None."""
    said = str(version).strip() if version else ""
    return ArtefactId(
        id=str(id or "").strip(),
        agency=str(agency).strip() or None if agency else None,
        version=None if not said or said.lower() in _ANY_VERSION else said,
    )


def referred(urn: str) -> tuple[ArtefactId, str | None] | None:
    """The artefact that a URN names, and its item, if any. None if the text is not such a URN."""
    found = _REFERENCE.fullmatch(urn.strip())
    if found is None:
        return None
    try:
        return parse_artefact(found["artefact"]), found["item"]
    except InputError:
        return None


def nameless(text: str) -> ArtefactId:
    """A placeholder for an artefact with an unreadable name: no artefact has it, but messages can show it."""
    return ArtefactId(id=" ".join(text.split())[:100] or "without a name")


def code_of(value: str) -> str:
    """The code that a value names: ``MEX`` itself, or the last part of a code's URN (``…=IMF:CL_AREA(1.0).MEX``)."""
    urn = _URN.fullmatch(value)
    if urn is None:
        return value
    item = _ITEM_OF_URN.fullmatch(urn["rest"])
    return item["item"] if item else value


def versions_match(one: str | None, other: str | None) -> bool:
    """Whether two versions can be the same; None is any. See `ArtefactId.matches`."""
    if one is None or other is None or one == other:
        return True
    if "+" in one and "+" in other:
        return True  # two open ranges: a later version may lie in both
    if "+" in one or "+" in other:
        return _within(other, one) if "+" in one else _within(one, other)
    return _numbers(one) == _numbers(other) is not None


def _within(version: str, span: str) -> bool:
    """Whether a version lies in a span, for example ``2.1+.0``: at least that, and equal before the free part."""
    own, least = _numbers(version), _numbers(span.replace("+", ""))
    if own is None or least is None:
        return False
    parts = span.split(".")
    free = next(place for place, part in enumerate(parts) if "+" in part)
    length = max(len(own), len(least), len(parts))
    own, least = own + (0,) * (length - len(own)), least + (0,) * (length - len(least))
    return own[:free] == least[:free] and own >= least


def version_part(part: str) -> int | None:
    """A part of a version as a number; None if it is not a number."""
    return int(part) if part.isascii() and part.isdigit() and len(part) <= _MOST_DIGITS else None


def _numbers(version: str) -> tuple[int, ...] | None:
    """The parts of a version without trailing zeros; None if a part is not a number."""
    numbers = []
    for part in version.split("."):
        number = version_part(part)
        if number is None:
            return None
        numbers.append(number)
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
