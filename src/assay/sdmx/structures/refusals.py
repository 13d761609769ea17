"""Errors for documents that are no structure messages: they say what the document is and what to fetch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.errors import InputError

_GIVE = (
    "Give the files with dataflows, data structures, concept schemes and code lists "
    "(SDMX-ML 2.1, 3.0 or 3.1, SDMX-JSON 1.0 or 2.x)"
)
_NOTHING_FOUND = "100"
"""SDMX's code of the error "no results found"."""


class NoStructures(InputError):
    """A document holds no structures, or cannot be read at all."""

    def __init__(self, message: str, advice: str = "", *, nothing_found: bool = False) -> None:
        self.message = message
        """The error, without advice on what to give instead: enough for one file among others."""
        self.nothing_found = nothing_found
        """Whether it is a service's answer that it found nothing."""
        super().__init__(f"{message}. {advice}" if advice else message, advice)

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[object, ...]:
        return (NoStructures, (self.message, self.args[1]), {"nothing_found": self.nothing_found})


def is_too_old(root: Any) -> bool:
    """Whether a document is SDMX-ML from before 2.1."""
    return any(version in str(root.tag) for version in ("/v1_0/", "/v2_0/"))


def refused_root(root: Any, where: str) -> NoStructures:
    """The error for an XML document without structures."""
    space, _, name = str(root.tag).rpartition("}")
    if name == "Error" and "sdmx" in space:
        codes = {str(one.get("code")) for one in root.iter("{*}ErrorMessage")}
        return _error(where, " ".join(" ".join(root.itertext()).split()), codes)
    fault = next(root.iter("{*}Fault"), None)
    if fault is not None:
        return _error(where, " ".join(" ".join(fault.itertext()).split()), set())
    if is_too_old(root):
        edition = "1.0" if "/v1_0/" in space else "2.0"
        return NoStructures(f"{where} is SDMX-ML {edition}, which is not read: fetch it as 2.1 or later")
    if name.lower() == "html":
        return NoStructures(f"{where} is an HTML page, no SDMX structure message", _GIVE)
    return NoStructures(f"{where} is no SDMX structure message: its root element is <{name[:100]}>", _GIVE)


def refused_json(value: object, where: str) -> NoStructures:
    """The error for a JSON document without structures."""
    errors = value.get("errors") if isinstance(value, Mapping) else None
    if isinstance(errors, list) and errors:
        held = [one for one in errors if isinstance(one, Mapping)]
        told = [str(one.get("title") or one.get("detail") or one.get("message") or one.get("code")) for one in held]
        return _error(where, "; ".join(told), {str(one.get("code")) for one in held})
    data = value.get("data") if isinstance(value, Mapping) else None
    inner = data if isinstance(data, Mapping) else value
    what = "no SDMX structure message"
    if isinstance(inner, Mapping):
        if "dataSets" in inner:
            what = "an SDMX-JSON data message, no structure message"
        elif "metadataSets" in inner:
            what = "an SDMX-JSON metadata message, no structure message"
        elif "Codelist" in inner or "DataStructure" in inner or "Dataflow" in inner:
            what = "Fusion-JSON, which is not read: fetch it as SDMX-JSON or SDMX-ML"
    return NoStructures(f"{where} is {what}", _GIVE)


def _error(where: str, told: str, codes: set[str]) -> NoStructures:
    said = told[:300] or "it says nothing"
    return NoStructures(
        f"{where} is an error that a service answered with, and no structure message: {said}",
        nothing_found=_NOTHING_FOUND in codes or "404" in codes,
    )
