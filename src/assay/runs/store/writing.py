"""Write the files of a run whole or not at all, and large ones part by part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.errors import RunError
from assay.runs.store import journal
from assay.runs.store.codec import encode_value

_INDENT = 2
_DEEPEST = 3
"""How deep a value is taken apart: a run's numbers, its disagreements, and each of these."""


def write_value(path: Path, content: object) -> None:
    """Write a value as indented JSON, completely or not at all. Raises RunError if the disk does not take it."""
    aside = temporary(path)
    try:
        with taking(path):
            with aside.open("wb") as file:
                file.writelines(json_pieces(content))
            os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def json_pieces(content: object, *, depth: int = 0) -> Iterator[bytes]:
    """A value as indented JSON, part by part: the numbers of a large run name a hundred thousand cases many times."""
    if depth < _DEEPEST and isinstance(content, Struct):
        members = [(b'"%s": ' % name.encode(), getattr(content, name)) for name in content.__struct_fields__]
        brackets = b"{}"
    elif depth < _DEEPEST and isinstance(content, tuple) and content and isinstance(content[0], Struct):
        members, brackets = [(b"", item) for item in content], b"[]"
    else:
        # No text can match: the line ends within texts are escaped.
        yield msgspec.json.format(encode_value(content), indent=_INDENT).replace(b"\n", _line(depth))
        return
    yield brackets[:1]
    for place, (name, value) in enumerate(members):
        yield (b"," if place else b"") + _line(depth + 1) + name
        yield from json_pieces(value, depth=depth + 1)
    yield _line(depth) + brackets[1:]


def _line(depth: int) -> bytes:
    return b"\n" + b" " * (_INDENT * depth)


def write_whole(path: Path, content: bytes) -> None:
    """Write a small file completely or not at all. Raises OSError."""
    aside = temporary(path)
    try:
        aside.write_bytes(content)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def temporary(path: Path) -> Path:
    """Where a file is written before it gets its name."""
    return path.with_suffix(".tmp")


@contextmanager
def taking(path: Path) -> Iterator[None]:
    """If the disk does not take a file, raise RunError with what that means for the run."""
    try:
        yield
    except OSError as error:
        if not path.parent.exists():
            raise journal.gone(path.parent) from error
        raise RunError(
            f"{path}: cannot be written ({error.strerror}); what was finished before is kept: "
            "make room and run the same command again"
        ) from error
