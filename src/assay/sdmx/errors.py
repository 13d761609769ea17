"""The error for an unreadable selection, with the place inside the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from assay.errors import InputError
from assay.model.failure import Blame, Failure, FailureKind

Path = tuple[str | int, ...]
"""Keys and zero-based indices from the outermost value to the wrong one."""

_CREDENTIALS = re.compile(r"//[^/@\s]*@")


class SelectionError(InputError):
    """A value is no selection. ``path`` leads to the error, so that a reader of files can name its line."""

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
    """The error where reading needs a missing data structure definition: a matter of the setup."""
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
    """``; did you mean "…"?`` with the closest of ``names``, or nothing where none is near."""
    from difflib import get_close_matches

    known = {one.casefold(): one for one in names}
    near = get_close_matches(name[:100].casefold(), known, n=1)
    return f'; did you mean "{known[near[0]]}"?' if near else ""
