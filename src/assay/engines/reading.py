"""Tell a value that cannot be read from a query that fails.

Servers evaluate a query while its rows are fetched: a division by zero may arrive after a thousand rows. So the moment
of an error does not say whose it is, but its class does. What a database reports arrives as an exception of the
driver's own. The exceptions of Python itself come from code that converts values, the driver's or Assay's. A few
drivers report their own conversions like errors of the database, and their engines know these (`also`).

    with reading(lambda: [("born", "date")]):
        rows = cursor.fetchmany(100)  # OverflowError: UnreadableValue("a value of the column 'born' (date) …")

A query whose values cannot be read has not failed: its case is unscored (`assay.engines.outcomes.unreadable_value`).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

CONVERSION_ERRORS = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    NotImplementedError,
    SystemError,
    struct.error,
)
"""What Python raises for a value that it cannot convert."""
_SURELY_READABLE = re.compile(
    r"U?(?:TINY|SMALL|MEDIUM|BIG|HUGE)?INT(?:EGER)?\d*|INT\d|LONG(?:LONG)?|SHORT|YEAR|BOOL(?:EAN)?|FLOAT\d*|DOUBLE|REAL",
    re.IGNORECASE,
)
_MOST_COLUMNS = 4

Column: TypeAlias = tuple[str, str]
"""A column's name and type."""


class UnreadableValue(Exception):
    """A value of a result that cannot be converted. The text names its column, the type, and the driver's message."""


@contextmanager
def reading(
    columns: Callable[[], Sequence[Column]], *, also: Callable[[Exception], bool] = lambda _: False
) -> Iterator[None]:
    """Raise UnreadableValue for a value that cannot be converted; pass on any other exception.

    ``columns`` returns the columns that may contain it. ``also``: whether an exception of the driver's own is one of
    its conversions.
    """
    try:
        yield
    except Exception as error:
        if not (is_conversion_error(error) or also(error)):
            raise
        raise UnreadableValue(description(columns(), error)) from error


def is_conversion_error(error: BaseException) -> bool:
    """Whether Python raised it for a value. Errors of a file or a network may be ValueErrors, too, and are not."""
    return isinstance(error, CONVERSION_ERRORS) and not isinstance(error, OSError)


def description(columns: Sequence[Column], error: BaseException) -> str:
    """Which value cannot be read, and why. Columns of numbers are omitted if there are others."""
    doubtful = [column for column in columns if not _SURELY_READABLE.fullmatch(column[1])] or columns
    names = [f"{name!r} ({kind})" if kind else repr(name) for name, kind in doubtful]
    more = f", or of {len(names) - _MOST_COLUMNS} more" if len(names) > _MOST_COLUMNS else ""
    where = f"the column {' or '.join(names[:_MOST_COLUMNS])}{more}" if names else "the result"
    original = getattr(error, "orig", error)  # SQLAlchemy adds the statement
    text = str(original).strip().split("\n", 1)[0].strip()
    return f"a value of {where} cannot be read ({text or type(error).__name__}): cast it to text in the query"


def failing(columns: Sequence[Column], attempts: Iterable[Callable[[], object]]) -> Sequence[Column]:
    """The first column whose value fails when it is read again, one attempt per column; all if none fails."""
    for column, attempt in zip(columns, attempts, strict=False):
        try:
            attempt()
        except Exception:  # noqa: BLE001 - whatever it raised the first time
            return [column]
    return columns
