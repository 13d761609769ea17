"""Decoded values of SDMX case files: scalars, and the place of an unusable value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from assay.cases.fields import did_you_mean
from assay.cases.records import kind_of

Keys: TypeAlias = tuple[str | int, ...]
"""The path to a value from its record: keys of mappings, zero-based positions in lists."""


class Null(Struct, frozen=True):
    """An unquoted scalar that YAML reads as null, as written: ``null``, ``~``, or an empty text."""

    text: str = ""


class Misread(Exception):
    """A value that is invalid at its place. The caller adds the file and the line of ``keys``."""

    def __init__(self, message: str, keys: Keys = (), *, at_key: bool = False) -> None:
        self.message = message
        self.keys = keys
        self.at_key = at_key
        """Whether the last of ``keys`` itself is wrong, and not its value."""
        super().__init__(message, keys)

    def __str__(self) -> str:
        where = shown(self.keys)
        return f"{where}: {self.message}" if where else self.message


def shown(keys: Keys) -> str:
    """A path in the form for messages: ``conversation[0].target``, list entries counted from 0."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def is_null(value: object) -> bool:
    """Whether a value is null, as written in YAML or JSON."""
    return value is None or type(value) is Null


def text(value: object, keys: Keys) -> str:
    """A scalar as its written text: ``NO``, ``1.10``, ``true`` and ``null`` are texts here.

    Raises Misread for a list or mapping, and for an empty value.
    """
    if type(value) is str:
        if not value.isascii():
            _check(value, keys)
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if type(value) is Null and value.text:
        return value.text
    raise Misread(f"{what_of(value)}: expected text", keys)


def _check(value: str, keys: Keys) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Misread(f"holds {value[error.start]!r}, half of a surrogate pair: write it whole", keys) from error


def filled(value: object, keys: Keys) -> str:
    """A scalar as text without outer spaces. Raises Misread for a blank one."""
    written = text(value, keys).strip()
    if not written:
        raise Misread("is blank: expected text", keys)
    return written


def mapping(value: object, keys: Keys, known: Sequence[str], *, like: str) -> Mapping[str, object]:
    """A mapping with no keys other than ``known``. Raises Misread, with the closest known key, for any other key."""
    if not isinstance(value, dict):
        raise Misread(f"{what_of(value)}: expected {like}", keys)
    for key in value:
        if key not in known:
            raise unknown_key(key, known, keys)
    return value


def unknown_key(key: str, known: Iterable[str], keys: Keys) -> Misread:
    """The error for a key that has no meaning at its place."""
    known = tuple(known)
    hint = did_you_mean(key, known, form="; {}")
    return Misread(f'the key "{key}" is not known here: there is {", ".join(known)}{hint}', (*keys, key), at_key=True)


def entries(value: object, keys: Keys, *, like: str) -> Sequence[object]:
    """A list. Raises Misread for anything else."""
    if not isinstance(value, list):
        raise Misread(f"{what_of(value)}: expected {like}", keys)
    return value


def what_of(value: object) -> str:
    """The kind of a value, for messages: ``is a list``."""
    if type(value) is Null:
        return f"is {value.text}" if value.text else "is empty"
    return f"is {kind_of(value)}"
