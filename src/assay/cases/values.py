"""Values of records: texts, ids, lists, numbers. An unusable value raises UnusableValue."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Sequence
from functools import partial
from typing import SupportsFloat

from assay.cases.records import InvalidCell, kind_of, shortened
from assay.model.cases.usage import MOST

_FENCE = re.compile(r"\s*```(?:[ \t]*\w*[ \t]*\r?\n|(?:sql|vql)\b)?(.*?)```[\s;]*", re.DOTALL | re.IGNORECASE)
_DASHES = re.compile(r"^[ \t]*-{3,}[ \t]*\r?$\n?", re.MULTILINE)
_LIST_OF_TEXTS = re.compile(r"""\s*\[\s*["']""")
_TAG_SEPARATORS = re.compile(r"[,;]")


class UnusableValue(Exception):
    """A value that does not suit its column; the caller adds file, row and column.

    ``nested``: the text that was expected may be within the value.
    """

    def __init__(self, message: str, *, nested: bool = False) -> None:
        self.message = message
        self.nested = nested
        super().__init__(message)


def usable(value: object) -> object:
    """The value. Raises UnusableValue for an invalid cell: it is not blank, but no field can be read from it."""
    if isinstance(value, InvalidCell):
        raise UnusableValue(
            f"the cell {value.cell} contains {value.what}: correct it in Excel and save, or write the value itself"
        )
    return value


def is_absent(value: object) -> bool:
    """Whether a value means no value: null, or the NaN that some writers use instead, or NA or NaT of pandas."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def text_of(value: object, what: str) -> str | None:
    """A text, unchanged; None if it is absent. A number is not text."""
    if type(value) is str:
        if not value.isascii():
            check_characters(value)
        return value
    if is_absent(value):
        return None
    raise UnusableValue(f"{what} is {kind_of(value)}: expected text", nested=True)


def answer_of(value: object, what: str) -> str | None:
    """As `text_of`, but with broken characters allowed: a system's answer is evaluated, not refused."""
    return value if type(value) is str else text_of(value, what)


def unfenced(text: str) -> str:
    """The query of a text that consists of one code fence, as models write them; any other text unchanged."""
    fence = _FENCE.fullmatch(text) if "```" in text else None
    return text if fence is None or "```" in fence[1] else fence[1].strip()


def check_characters(text: str) -> None:
    """Raise if a text contains half of a surrogate pair, which no file or database can store."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UnusableValue(
            f"{shortened(text)} contains {text[error.start]!r}, half of a surrogate pair: write the character whole"
        ) from error


def name_of(value: object, what: str) -> str | None:
    """An id or another name as text: 0 gives ``0``, 1.0 gives ``1``; outer spaces are dropped; blank gives None."""
    if type(value) is str:
        if not value.isascii():
            check_characters(value)
        return value.strip() or None
    if is_absent(value):
        return None
    if type(value) is int:
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return _rare_name(value, what)


def _rare_name(value: object, what: str) -> str:
    """A name from a value of a type that only Parquet has."""
    from decimal import Decimal
    from uuid import UUID

    if isinstance(value, Decimal):
        return str(int(value)) if value.is_finite() and value == value.to_integral_value() else str(value)
    if isinstance(value, UUID):
        return str(value)
    raise UnusableValue(f"{what} is {kind_of(value)}: expected text or a number")


def golds_of(value: object, *, in_text: bool) -> tuple[str, ...]:
    """The accepted gold queries: one text or a list of texts; blank ones are dropped.

    A text that is a list of texts in JSON is that list: tables and data frames of one type write a list like this, and
    no query begins with a bracket and a quote. If ``in_text``, a line of three or more dashes within a text separates
    queries.
    """
    if isinstance(value, str) and _LIST_OF_TEXTS.match(value):
        value = _read_list(value)
    if type(value) is str and not in_text:
        text_of(value, "gold")
        return (unfenced(value),) if value.strip() else ()
    entries = value if isinstance(value, (list, tuple)) else (value,)
    golds: list[str] = []
    for entry in entries:
        text = text_of(entry, "gold")
        if text is None:
            continue
        text = unfenced(text)
        parts = _DASHES.split(text) if in_text and "---" in text else [text]
        if len(parts) > 1:
            parts = [part.strip("\r\n") for part in parts]
        golds.extend(part for part in parts if part.strip())
    return tuple(golds)


def _read_list(text: str) -> object:
    """The list of texts that a text writes in JSON, or as Python does (pandas' CSV); any other text unchanged."""
    for read in (partial(json.loads, strict=False), ast.literal_eval):
        try:
            entries = read(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(entries, list) and all(entry is None or isinstance(entry, str) for entry in entries):
            return entries
    return text


def tags_of(value: object) -> tuple[str, ...]:
    """Tags: a list of texts, or one text with commas or semicolons between them."""
    entries: Sequence[object] = value if isinstance(value, (list, tuple)) else (value,)
    if isinstance(value, str):
        entries = _TAG_SEPARATORS.split(value)
    names = (name_of(entry, "a tag") for entry in entries)
    return tuple(dict.fromkeys(name for name in names if name))


def context_of(value: object) -> str | None:
    """The text that accompanies the question; a list of texts becomes lines; blank is None."""
    if isinstance(value, (list, tuple)):
        lines = [text_of(entry, "context") for entry in value]
        value = "\n".join(line for line in lines if line)
    text = text_of(value, "context")
    return text if text and text.strip() else None


def number_of(value: object, what: str) -> float | None:
    """A number from 0 to `MOST`, also as text (CSV); blank or N/A is None."""
    if isinstance(value, str):
        if value.strip().casefold() in {"", "n/a"}:
            return None
        try:
            value = float(value)
        except ValueError:
            raise UnusableValue(f"{what} is {kind_of(value)}: expected a number") from None
    if is_absent(value):
        return None
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        raise UnusableValue(f"{what} is {kind_of(value)}: expected a number")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not 0 <= number <= MOST:
        raise UnusableValue(f"{what} is {kind_of(value)}: expected a number from 0 to {MOST:,}")
    return number


def count_of(value: object, what: str) -> int | None:
    """A whole number from 0 to `MOST`; blank is None."""
    number = number_of(value, what)
    if number is None:
        return None
    if not number.is_integer():
        raise UnusableValue(f"{what} is {kind_of(value)}: expected a whole number")
    return int(number)
