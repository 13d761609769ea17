"""The declaration of a setting besides its type: its option, group, help and bounds.

A setting is a field of a Struct that is annotated with a `Setting`. The command line's options, the checks of a
settings file, the file that `assay init` writes and the reference's tables are made from it.
"""

from __future__ import annotations

import math
import os
import re
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

ANSWERS: Final = "Answers"
DATABASE: Final = "Database"
RUN: Final = "The run"
GATES: Final = "Gates"
QUESTIONS: Final = "Questions"
LIVE: Final = "Live systems"
COMPARISON: Final = "Metrics and comparison"
LIMITS: Final = "Limits"
EVIDENCE: Final = "Evidence"
LINT: Final = "Rules"
MOST_SECONDS: Final = 1_000_000
"""Twelve days. What is longer is a slip, and far longer times no clock can count."""
DURATION: Final = "TIME"
"""The metavar of a duration."""
DURATION_EXAMPLES: Final = "30, 500ms, 2s, 10m or 1h"
_DURATION: Final = re.compile(r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)\s*(ms|s|m|min|h)?", re.ASCII)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, None: 1.0}


class Setting(Struct, frozen=True):
    """The declaration of one setting."""

    option: str | None
    """The option's name, e.g. ``--timeout``, or ``--extract/--no-extract`` for a switch; None: only in the file."""
    group: str
    """The heading of the help that it stands under."""
    help: str
    metavar: str | None = None
    """What the option takes. ``TIME`` marks a duration; ``FILE``, ``DIR`` and ``RUN`` mark a path."""
    short: str | None = None
    """A second name of one letter, e.g. ``-o``."""
    old: tuple[str, ...] = ()
    """Earlier names of the option and of the key in a file. They work, and no help shows them."""
    least: float | None = None
    """The smallest value. Whole for counts."""
    most: float | None = None
    """The largest value, if a larger one cannot be meant or counted."""
    words: tuple[str, ...] = ()
    """All values, if they are few."""
    example: str | None = None
    """A value in YAML, for messages and for the file that `assay init` writes. None: the first word, or by its type."""
    with_commas: bool = False
    """A list that is one text on the command line, separated by commas."""
    meaning: str | None = None
    """The text in the reference's table of the file, if it is not the help."""

    @property
    def is_path(self) -> bool:
        """Whether it names a file or a folder."""
        return self.metavar in ("FILE", "DIR", "RUN")

    @property
    def is_duration(self) -> bool:
        """Whether it is a duration: a number of seconds, or a number with a unit."""
        return self.metavar == DURATION

    @property
    def reach(self) -> str:
        """The numbers that it can be."""
        return f"from {self.least:g} up" if self.most is None else f"from {self.least:g} to {self.most:,.0f}"

    def has(self, number: float) -> bool:
        """Whether it can be this number."""
        return self.least is None or (self.least <= number < math.inf and number <= (self.most or math.inf))

    @property
    def durations(self) -> str:
        """The durations that it can be, with the ways to write one."""
        return f"a time {self.reach} seconds (for example {DURATION_EXAMPLES})"

    def seconds(self, written: object) -> float | None:
        """Seconds from a number alone, or one with a unit: ms, s, m, min or h. None if it cannot be the value."""
        match = _DURATION.fullmatch(str(written).strip())
        seconds = math.nan if match is None else float(match[1]) * _UNITS[match[2]]
        return seconds if self.has(seconds) else None

    @property
    def names(self) -> tuple[str, ...]:
        """The option's names, the short one first."""
        return tuple(name for name in (self.short, self.option) if name is not None)


class Field(Struct, frozen=True):
    """One declared field of a Struct."""

    name: str
    kinds: tuple[Any, ...]
    """Its type, or the types of a union, without None."""
    is_optional: bool
    setting: Setting | None
    columns: dict[str, Setting] | None = None
    """The declaration of each name in a group of columns."""

    @property
    def section(self) -> type[Any] | None:
        """The Struct that contains the settings below this one; None for a plain value."""
        return next((kind for kind in self.kinds if isinstance(kind, type) and issubclass(kind, Struct)), None)

    @property
    def is_text_or_mapping(self) -> bool:
        """Whether it takes one text, or a text for each of several names."""
        return str in self.kinds and any(get_origin(kind) is dict for kind in self.kinds)

    @property
    def is_list(self) -> bool:
        """Whether it takes a list."""
        return any(get_origin(kind) is tuple for kind in self.kinds)


def fields_of(declared: type[Any]) -> dict[str, Field]:
    """The fields of a Struct of settings by name, in their order, its own before those of what it extends."""
    made: dict[str, Field] = _fields_of(declared)  # type: ignore[arg-type]  # a class is hashable
    return made


@cache
def _fields_of(declared: Any) -> dict[str, Field]:
    found = {}
    hints = get_type_hints(declared, include_extras=True)
    for name in (name for base in declared.__mro__ for name in vars(base).get("__annotations__", ()) if name in hints):
        hint = hints[name]
        marks = hint.__metadata__ if get_origin(hint) is Annotated else ()
        plain = get_args(hint)[0] if marks else hint
        members = members_of(plain)
        found[name] = Field(
            name,
            tuple(member for member in members if member is not NoneType),
            NoneType in members,
            next((mark for mark in marks if isinstance(mark, Setting)), None),
            next((mark for mark in marks if isinstance(mark, dict)), None),
        )
    return found


KINDS: Final = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    dict: "a mapping",
    list: "a list",
    NoneType: "nothing",
}
"""What messages call the types of values."""


def is_of(value: object, kind: Any) -> bool:
    """Whether a plain value is of a plain type: a whole number is a number, and true is not a number."""
    if kind is Any:
        return True
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if kind is float:
        return isinstance(value, int | float)
    return isinstance(kind, type) and isinstance(value, kind)


def fault_of_path(text: str) -> str | None:
    """Why a text cannot name a file or a folder; None if it can."""
    if not text.strip():
        return "is empty"
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        return "contains a character that no path has"
    return "contains a NUL character" if b"\0" in encoded else None


def members_of(hint: Any) -> tuple[Any, ...]:
    """The types of a union, or the one type."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def key_of(declared: type[Any], name: str) -> str | None:
    """The setting that a key of a file names, by its own or an earlier name; None if there is none."""
    fields = fields_of(declared)
    if name in fields:
        return name
    return next((own for own, field in fields.items() if field.setting is not None and name in field.setting.old), None)
