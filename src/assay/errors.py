"""Every exception that Assay raises on purpose.

    AssayError
    ├── UsageError            the call itself is wrong (a programmer's mistake)
    ├── InputError            what was given cannot be used: a file, a column, a URL, a setting
    │   ├── CaseFileError     a question set or prediction file, with its place
    │   ├── DatabaseError     a database that is absent, unreadable, or not what its URL says
    │   └── SystemUnusable    a live system that can answer no question at all: its address, its credentials
    │       └── SystemLost    one that answered before: the same command goes on
    ├── MissingDependency     an extra is not installed; says the command that installs it
    ├── UnscoredError         a pair of queries cannot be judged, and the prediction is not to blame
    ├── PluginError           an entry point that is registered twice or fails to load
    ├── RunError              a stored run that is damaged, or that another process writes
    └── Interrupted           stopped by the user; what was finished is kept and resumable

Trouble of one case is data (`assay.model.Failure`), not an exception. Each message says what,
the offending value, where, and what to do.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` with the closest of the known names; nothing if none is close."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def plural(count: int, noun: str, many: str | None = None) -> str:
    """``1 case``, ``2 cases``; the one place where a count and its noun are put together."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def requirements() -> Iterator[tuple[str | None, str]]:
    """What the installed Assay requires, e.g. ``("sdmx", "lxml>=5.2")``; the extra is None for the core.

    Nothing if Assay runs from a folder that was never installed.
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("assay") or []
    except PackageNotFoundError:
        return
    for line in lines:
        requirement, _, marker = line.partition(";")
        if not requirement.strip().startswith("assay["):
            extra = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", marker)
            name, bounds = re.findall(r"^([\w.-]+(?:\[.*?\])?)(.*)", re.sub(r"[\s()]", "", requirement))[0]
            lowest_first = ",".join(sorted(bounds.split(","), reverse=True))
            yield (extra[1] if extra else None), f"{name}{lowest_first}"


def install_command(*packages: str, extra: str | None = None, windows: bool = os.name == "nt") -> str:
    """The command that installs these packages, quoted for a shell, with the version bounds of Assay's own metadata.

    With an extra, the packages of that extra: for the extra itself pip would search an index, where the name of this
    project may belong to another one.
    """
    required = list(requirements())
    wanted = tuple(text for name, text in required if name == extra) if extra is not None else ()
    bounds = {re.split(r"[^\w.-]", text)[0].lower(): text for _, text in reversed(required)}
    wanted = wanted or tuple(bounds.get(package.lower(), package) for package in packages)
    quote = '"' if windows else "'"
    words = (word if word.replace("-", "").replace("_", "").isalnum() else f"{quote}{word}{quote}" for word in wanted)
    return f"python -m pip install {' '.join(words)}"


class Notice(UserWarning):
    """A sentence about a run that warns of nothing, such as what it will cost."""


class AssayError(Exception):
    """The root: catch it to catch everything that Assay raises on purpose."""


class UsageError(AssayError):
    """The call itself is wrong: arguments that do not go together, a name that does not exist."""


class InputError(AssayError):
    """What was given cannot be used. The command line answers it with exit status 2."""


class CaseFileError(InputError):
    """A question set or prediction file cannot be read. The message opens with file, row and column."""

    def __init__(self, message: str, *, path: str | None = None, place: str | None = None) -> None:
        self.message = message
        self.path = path
        self.place = place
        super().__init__(message, path, place)

    def __str__(self) -> str:
        where = ", ".join(part for part in (self.path, self.place) if part)
        return f"{where}: {self.message}" if where else self.message

    def __reduce__(self) -> tuple[object, ...]:
        return (_case_file_error, (self.message, self.path, self.place))


def _case_file_error(message: str, path: str | None, place: str | None) -> CaseFileError:
    return CaseFileError(message, path=path, place=place)


class DatabaseError(InputError):
    """A database is absent, unreadable, or not what its URL says."""


class SystemUnusable(InputError):
    """A live system under test can answer no question at all: nobody is there, or it refuses the credentials."""


class SystemLost(SystemUnusable):
    """A live system that answered, and now answers no question at all: it is away, or its token ran out.

    What was answered is kept, and the same command goes on from there. The command line ends with status 3.
    """


class MissingDependency(AssayError):
    """Something needs an optional package that is not installed.

    ``extra`` is the one of Assay's that brings it; None where none does.
    """

    def __init__(self, package: str, extra: str | None) -> None:
        self.package = package
        self.extra = extra
        super().__init__(package, extra)

    def __str__(self) -> str:
        return f"this needs the package {self.package!r}: run  {install_command(self.package, extra=self.extra)}"


class UnscoredError(AssayError):
    """A pair of queries cannot be judged, and that is not the prediction's fault: gold is broken, or a cap cut it."""


class PluginError(AssayError):
    """An entry point is registered twice, or fails to load."""


class RunError(AssayError):
    """A stored run is damaged, is no run, or is being written by another process."""


class Interrupted(AssayError):
    """Stopped by the user. What was finished is kept: the same command goes on from there."""
