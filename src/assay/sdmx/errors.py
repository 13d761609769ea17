"""The errors of SDMX: unreadable selections, with the location in the answer, and documents without structures.

For a document that is not a structure message, the error names what it is, and what to fetch instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from assay.errors import InputError
from assay.model.failure import Blame, Failure, FailureKind

Path = tuple[str | int, ...]
"""Keys and zero-based indices from the outermost value to the wrong one."""

_CREDENTIALS = re.compile(r"//[^/@\s]*@")


class SelectionError(InputError):
    """A value is not a selection. ``path`` leads to the error, so that a reader of files can name its line."""

    def __init__(
        self, message: str, *, path: Path = (), kind: FailureKind = "unreadable_answer", blame: Blame = "system"
    ) -> None:
        self.message = message
        self.path = path
        self.kind: FailureKind = kind
        self.blame: Blame = blame
        super().__init__(message, path, kind, blame)

    def __str__(self) -> str:
        return f"at {dotted(self.path)}: {self.message}" if self.path else self.message

    def __reduce__(self) -> tuple[object, ...]:
        return (_selection_error, (self.message, self.path, self.kind, self.blame))

    def failure(self) -> Failure:
        """The same error as data of one case."""
        return Failure(stage="read", kind=self.kind, blame=self.blame, message=str(self))


def _selection_error(message: str, path: Path, kind: FailureKind, blame: Blame) -> SelectionError:
    return SelectionError(message, path=path, kind=kind, blame=blame)


@contextmanager
def located(*path: str | int) -> Iterator[None]:
    """Read an inner value: ``path`` is put before the path of its error."""
    try:
        yield
    except SelectionError as error:
        raise SelectionError(error.message, path=(*path, *error.path), kind=error.kind, blame=error.blame) from error


def unknown_structure(message: str) -> SelectionError:
    """The error if reading needs a missing data structure definition: a matter of the setup."""
    return SelectionError(message, kind="unknown_structure", blame="setup")


def dotted(path: Path) -> str:
    """A path as messages write it: ``dimensions[1].values[2].id``."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def excerpt(text: str, *, most: int = 80) -> str:
    """The beginning of a text in quotes on one line, free of credentials in URLs."""
    # Masked in a longer piece than shown, since a cut within the credentials would hide their end.
    masked = _CREDENTIALS.sub("//***@", text.strip()[: most + 2000])
    return repr(masked) if len(masked) <= most else f"{masked[:most]!r}…"


def described(value: object) -> str:
    """The name of a JSON or YAML value in messages."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return f"the truth value {str(value).lower()}"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {excerpt(value, most=40)}"
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list | tuple) else f"a {type(value).__name__}"


def suggestion(name: str, names: Iterable[str]) -> str:
    """``; did you mean "…"?`` with the closest of ``names``, or nothing if none is near."""
    from difflib import get_close_matches

    known = {one.casefold(): one for one in names}
    near = get_close_matches(name[:100].casefold(), known, n=1)
    return f'; did you mean "{known[near[0]]}"?' if near else ""


_GIVE = (
    "Give the files with dataflows, data structures, concept schemes and code lists "
    "(SDMX-ML 2.1, 3.0 or 3.1, SDMX-JSON 1.0 or 2.x)"
)
_NOTHING_FOUND = "100"
"""SDMX's code of the error "no results found"."""


class NoStructures(InputError):
    """A document has no structures, or cannot be read at all."""

    def __init__(self, message: str, advice: str = "", *, nothing_found: bool = False) -> None:
        self.message = message
        """The error, without advice on what to give instead: enough for one file among others."""
        self.nothing_found = nothing_found
        """Whether a service reports that it found nothing."""
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
        return NoStructures(f"{where} is SDMX-ML {edition}, which is not supported: fetch it as 2.1 or later")
    if name.lower() == "html":
        return NoStructures(f"{where} is an HTML page, not an SDMX structure message", _GIVE)
    return NoStructures(f"{where} is not an SDMX structure message: its root element is <{name[:100]}>", _GIVE)


def refused_json(value: object, where: str) -> NoStructures:
    """The error for a JSON document without structures."""
    errors = value.get("errors") if isinstance(value, Mapping) else None
    if isinstance(errors, list) and errors:
        held = [one for one in errors if isinstance(one, Mapping)]
        told = [str(one.get("title") or one.get("detail") or one.get("message") or one.get("code")) for one in held]
        return _error(where, "; ".join(told), {str(one.get("code")) for one in held})
    data = value.get("data") if isinstance(value, Mapping) else None
    inner = data if isinstance(data, Mapping) else value
    what = "not an SDMX structure message"
    if isinstance(inner, Mapping):
        if "dataSets" in inner:
            what = "an SDMX-JSON data message, not a structure message"
        elif "metadataSets" in inner:
            what = "an SDMX-JSON metadata message, not a structure message"
        elif "Codelist" in inner or "DataStructure" in inner or "Dataflow" in inner:
            what = "Fusion-JSON, which is not supported: fetch it as SDMX-JSON or SDMX-ML"
    return NoStructures(f"{where} is {what}", _GIVE)


def _error(where: str, told: str, codes: set[str]) -> NoStructures:
    said = told[:300] or "it has no message"
    return NoStructures(
        f"{where} is a service's error, not a structure message: {said}",
        nothing_found=_NOTHING_FOUND in codes or "404" in codes,
    )
