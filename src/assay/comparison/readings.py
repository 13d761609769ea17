"""Read cells that cannot say their type as the other result's types need it.

CSV holds nothing but text, JSON no dates, and an engine without dates gives texts. Such a column is read as a whole: as
numbers, dates or truth values where each of its texts spells one and the other result has a column of that kind, else
as text. Where the other result leaves more than one reading open, each is compared, up to a few; a reading never
invents an equality, since the comparison itself keeps to the verdict's rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from itertools import islice, product
from math import isfinite
from typing import Literal, TypeAlias
from uuid import UUID

from assay.model import Cell, CellTypes, Result, Row
from assay.model.result import Rows

Kind: TypeAlias = Literal["number", "moment", "time", "truth"]
"""What a text may spell besides itself; a moment is a date or a timestamp."""

LACKS: dict[CellTypes, frozenset[Kind]] = {
    "typed": frozenset(),
    "json": frozenset({"moment", "time"}),
    "sheet": frozenset({"moment", "time"}),
    "text": frozenset({"number", "moment", "time", "truth"}),
}
"""The kinds of value that a source cannot write, so that a text stands for them."""

_BLANK_IS_NULL: frozenset[CellTypes] = frozenset({"sheet", "text"})
_MOST_READINGS = 16

_NUMBER = re.compile(r"[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
"""A number as programs write it. ``007`` is none: a text with leading zeros is a code."""
_NO_FINITE = re.compile(r"[-+]?(?:inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE)
"""What programs write for the floats that have no digits."""
_LONGEST = 400
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d\d(?::?\d\d)?))?)?", re.ASCII
)
_TIME = re.compile(r"\d\d:\d\d:\d\d(?:\.\d{1,9})?", re.ASCII)
_TRUTH = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_EXACT_DIGITS, _FLOAT_DIGITS = 15, 17
"""A float of 64 bits is written with 16 or 17 digits only where fewer do not tell it; decimals have any number."""

_Column: TypeAlias = Sequence[Cell]
_Reading: TypeAlias = "Kind | Literal['text', 'mixed']"


def spelt_number(text: str) -> Cell:
    """The number that a text spells; None where it spells none.

    Whole numbers are integers. Others are exact decimals, but floats where their 16 or 17 digits say that one was
    written: then the tolerance for floats counts; so are ``inf`` and ``nan``.
    """
    text = text.strip()
    if _NO_FINITE.fullmatch(text):
        return float(text)
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        return None
    if not set(text) & set(".eE"):
        return int(text)
    digits = len(re.sub(r"[eE].*|[-+.]", "", text).lstrip("0"))
    if _EXACT_DIGITS < digits <= _FLOAT_DIGITS and isfinite(value := float(text)):
        return value
    return Decimal(text)


def _moment(text: str) -> Cell:
    text = text.strip()
    if not _MOMENT.fullmatch(text):
        return None
    try:
        if len(text) == len("2024-01-31"):
            return date.fromisoformat(text)
        return datetime.fromisoformat(re.sub(r" ?(?:UTC|Z)$", "+00:00", text))
    except ValueError:
        return None


def _time(text: str) -> Cell:
    try:
        return time.fromisoformat(text.strip()) if _TIME.fullmatch(text.strip()) else None
    except ValueError:
        return None


def _truth(text: str) -> Cell:
    return _TRUTH.get(text.strip().lower())


_SPELL: dict[Kind, Callable[[str], Cell]] = {"number": spelt_number, "moment": _moment, "time": _time, "truth": _truth}


def normalised(rows: Sequence[Row], cells: CellTypes) -> tuple[Row, ...]:
    """The rows as they are beside a source of that kind: what it cannot tell apart is one."""
    blank = cells in _BLANK_IS_NULL
    return tuple(tuple([_alike(cell, blank=blank) for cell in row]) for row in rows)


def _alike(cell: Cell, *, blank: bool) -> Cell:
    if cell == "" and blank and isinstance(cell, str):
        return None
    return str(cell) if isinstance(cell, UUID) else cell


Reading: TypeAlias = Callable[[Rows], Rows]
"""What a reading makes of rows: those of a result, or more of the same query."""


def readings(
    poor: Result, cells: CellTypes, other: Result, others: CellTypes = "typed", *, boolean_is_integer: bool = False
) -> Iterator[Reading]:
    """The readings of a result whose cells cannot say their type, beside another; at least one, the likeliest first.

    Of two results that say nothing of their types, each is read by itself: call it for both, in turn.
    ``boolean_is_integer``: the other result has 1 and 0 for true and false.
    """
    lacks = LACKS[cells]
    if not lacks or not poor.rows:
        yield _as_it_is
        return
    ours, theirs = _columns(poor), _columns(other)
    if others == "text" and cells == "text":
        chosen = [[_natural(column)] for column in ours]
    else:
        kinds = [_kind(column) for column in theirs]
        known = {*kinds, "truth"} if boolean_is_integer and "number" in kinds else set(kinds)
        texts = [column for column, kind in zip(theirs, kinds, strict=True) if kind == "text"]
        chosen = [
            _choices(
                column,
                lacks & known,
                texts,
                kinds[place] if place < len(kinds) else "null",
                mixed="mixed" in kinds,
            )
            for place, column in enumerate(ours)
        ]
    for choice in islice(product(*chosen), _MOST_READINGS):
        if all(reading == "text" for reading in choice):
            yield _as_it_is
        else:
            yield partial(_read, tuple(_reader(reading, lacks) for reading in choice))


def _as_it_is(rows: Rows) -> Rows:
    return rows


def _read(readers: Sequence[Callable[[Cell], Cell]], rows: Rows) -> Rows:
    return tuple([tuple([read(cell) for read, cell in zip(readers, row, strict=True)]) for row in rows])


def _columns(result: Result) -> list[_Column]:
    return list(zip(*result.rows, strict=True)) if result.rows else [() for _ in result.columns]


def _kind_of(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "truth"
    if isinstance(cell, (int, float, Decimal)):
        return "number"
    if isinstance(cell, date):
        return "moment"
    if isinstance(cell, time):
        return "time"
    return "text" if isinstance(cell, str) else "other"


def _kind(column: _Column) -> str:
    """The kind of a typed column: ``null`` where nothing tells, ``mixed`` where its cells differ."""
    found = {_kind_of(cell) for cell in column if cell is not None}
    return "null" if not found else found.pop() if len(found) == 1 else "mixed"


def _spells(column: _Column, kind: Kind) -> bool:
    """Whether each text of the column spells a value of that kind, and there is one."""
    spell, found = _SPELL[kind], False
    for cell in column:
        if isinstance(cell, str) and cell:
            if spell(cell) is None:
                return False
            found = True
    return found


def _choices(
    column: _Column, kinds: Set[Kind], texts: Sequence[_Column], beside: str, *, mixed: bool
) -> list[_Reading]:
    """The readings of a column that the other result leaves open, that of the column at the same place first.

    ``kinds`` are those that the source cannot write, and the other result has.
    """
    fitting: list[Kind] = [kind for kind in _SPELL if kind in kinds and _spells(column, kind)]
    found: list[_Reading] = [*fitting, *(("mixed",) if mixed else ())]
    # As text it can only be a column of texts that spell such values, too.
    as_text = not fitting or any(_spells(one, kind) for one in texts for kind in fitting)
    if as_text:
        found.append("text")
    return sorted(found, key=lambda reading: reading != beside)


def _natural(column: _Column) -> _Reading:
    """How a column reads by itself.

    Where no other result says that they are numbers, ``+351…`` may be a telephone, and nothing but ``nan`` a name.
    """
    found: _Reading = next((kind for kind in ("number", "moment", "time") if _spells(column, kind)), "text")
    if found != "number":
        return found
    texts = [cell.strip() for cell in column if isinstance(cell, str) and cell]
    signed = any(text.startswith("+") for text in texts)
    return "text" if signed or all(map(_NO_FINITE.fullmatch, texts)) else found


def _reader(reading: _Reading, lacks: frozenset[Kind]) -> Callable[[Cell], Cell]:
    """What makes a cell of what it says. A text that spells nothing stays as it is."""
    if reading == "text":
        return _unread
    kinds: Sequence[Kind] = ("number", "moment", "time") if reading == "mixed" else (reading,)
    return partial(_spelt, tuple(_SPELL[kind] for kind in kinds if kind in lacks))


def _unread(cell: Cell) -> Cell:
    return cell


def _spelt(spells: Sequence[Callable[[str], Cell]], cell: Cell) -> Cell:
    if not isinstance(cell, str) or not cell:
        return cell
    return next((value for spell in spells if (value := spell(cell)) is not None), cell)
