"""The message for a bug in Assay or in a plug-in: the error, its place in the code, whose it is; no traceback, no
secrets."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import get_args
from urllib.parse import quote

from assay._version import __version__

_MOST_CHARACTERS = 300
_PLACES = 4
_MASK = "***"
_USER_INFO = re.compile(r"(://)\S*@")
_SECRET_NAME = r"[\w.-]*(?:password|passwd|pwd|secret|token|api[-_]?key|authorization|credential)[\w.-]*"
_NAMED = re.compile(rf"(?i)({_SECRET_NAME}[\"']?\s*[=:]\s*)(?:[\"'][^\"']*[\"']|(?:bearer|basic)\s+\S+|[^\s,;&)}}\]]+)")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}")
_LEAST_SECRET = 4
_NOT_SECRET = ("PWD", "OLDPWD")
"""Working folders, which shells set."""


def crash_message(error: BaseException, secrets: Sequence[str] = ()) -> str:
    """The message to print for an unexpected exception."""
    from assay.reports.text.plain import one_line

    said = one_line(without_secrets(str(error), secrets), limit=_MOST_CHARACTERS)
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    made_with = f"Assay {__version__}, Python {sys.version.split()[0]}, {sys.platform}"
    # The package whose plug-in raised the error, or called what did; None if none of them was at work.
    from importlib.metadata import entry_points

    from assay.registry import Group

    packages = {
        entry.module.partition(".")[0]: entry.dist.name
        for group in get_args(Group)
        for entry in entry_points(group=group)
        if entry.dist is not None and not entry.module.startswith("assay.")
    }
    at = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__))
    package = next((package for name in at if (package := packages.get(name.partition(".")[0]))), None)
    whose = f"in the package {package}, which extends Assay" if package else "in Assay"
    where = f"to the source of {package or 'Assay'}"
    return (
        f"this is a fault {whose}, not in what it was given: {what}\n"
        f"  at {one_line(' < '.join(_places(error)))}; {made_with}\n"
        f"  Finished cases of a run are stored. Please report these lines {where}, with the command."
    )


def without_secrets(text: str, secrets: Sequence[str]) -> str:
    """The text without these secrets in any usual spelling, and without what looks like one."""
    for secret in secrets:
        for spelling in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1], repr(secret)[1:-1]):
            text = text.replace(spelling, _MASK)
    text = _USER_INFO.sub(rf"\1{_MASK}@", text)
    text = _NAMED.sub(rf"\1{_MASK}", text)
    return _BEARER.sub(rf"\1 {_MASK}", text)


def secrets_of(arguments: Sequence[str]) -> tuple[str, ...]:
    """The values of options and of environment variables whose names say that they are secret, the longest first.

    Call it before the command runs, which removes its secrets from the environment.
    """
    return tuple(sorted(set(_secrets(arguments)), key=len, reverse=True))


def _secrets(arguments: Sequence[str]) -> Iterator[str]:
    name = re.compile(_SECRET_NAME, re.IGNORECASE)
    given = [(option.partition("=")[0], option.partition("=")[2] or after) for option, after in pairwise(arguments)]
    given += [argument.partition("=")[::2] for argument in arguments[-1:]]
    options = [(option.lstrip("-"), value) for option, value in given if option.startswith("--")]
    for known_as, value in (*options, *os.environ.items()):
        if len(value) >= _LEAST_SECRET and known_as not in _NOT_SECRET and name.fullmatch(known_as):
            yield value


def _places(error: BaseException) -> list[str]:
    """The last places in the code, the innermost first. No values: they may hold anything."""
    frames = traceback.extract_tb(error.__traceback__)
    named = [f"{Path(frame.filename).parent.name}/{Path(frame.filename).name}:{frame.lineno}" for frame in frames]
    return named[::-1][:_PLACES] or ["an unknown place"]
