"""Convert cells whose source cannot express their type to the types of the other result.

CSV only has text, JSON has no dates, and an engine without dates returns texts. Such a column is converted as a whole:
to numbers, dates or truth values if each of its texts spells one and the other result has a column of that kind, else
it stays text. If the other result allows several readings, each is compared, up to a limit. A reading never creates a
false match, since the comparison itself follows the verdict's rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache, partial
from itertools import islice, product
from math import isfinite
from typing import Literal, TypeAlias
from uuid import UUID

from assay.comparison.text_values import Leaves, nested, spelt_bytes, spelt_nested
from assay.model import Cell, CellTypes, Result, Row
from assay.model.results.cells import MapEntries
from assay.model.results.times import Clock, Interval, Moment, clock_of, interval_of, moment_of

Kind: TypeAlias = Literal["number", "moment", "time", "clock", "length", "truth", "bytes", "nested"]
"""What a text may spell. A moment is a date or a timestamp, a length a duration, ``nested`` a list or an object; a
clock is a duration that another result has as a time of day."""

LACKS: dict[CellTypes, frozenset[Kind]] = {
    "typed": frozenset(),
    "engine": frozenset({"nested", "clock"}),
    "dateless": frozenset({"moment", "time", "length", "nested"}),
    "json": frozenset({"moment", "time", "length", "bytes", "nested"}),
    "sheet": frozenset({"moment", "time", "length", "bytes", "nested"}),
    "text": frozenset({"number", "moment", "time", "length", "truth", "bytes", "nested"}),
}
"""The kinds of value that a source cannot write, so that a text represents them."""

_BLANK_IS_NULL: frozenset[CellTypes] = frozenset({"sheet", "text"})
_MOST_READINGS = 16

_NUMBER = re.compile(r"[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
"""A number as programs write it. ``007`` is not one: a text with leading zeros is a code."""
_NO_FINITE = re.compile(r"[-+]?(?:inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE)
"""What programs write for infinite floats and NaN."""
_LONGEST = 400
_BEYOND_MICROSECONDS = re.compile(r"(?<=\.\d{6})\d{1,3}", re.ASCII)
_WITHOUT_SECONDS = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d)(?![:\d])", re.ASCII)
_TRUTH = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_OF_OTHERS: frozenset[Kind] = frozenset({"clock", "nested"})
"""Kinds other than text that cells may be read as."""
_LEAVES: tuple[Kind, ...] = ("number", "moment", "time", "truth")
_EXAMPLES: tuple[Cell, ...] = (True, 1, 1.0, Decimal(1), date.min, datetime.min, time.min, "")  # noqa: DTZ901
_DEEPEST = 40
_EXACT_DIGITS, _FLOAT_DIGITS = 15, 17
"""A 64-bit float is written with 16 or 17 digits only if fewer are ambiguous; decimals have any number."""

_Column: TypeAlias = Sequence[Cell]
_Reading: TypeAlias = "Kind | Literal['text', 'mixed']"


def spelt_number(text: str) -> Cell:
    """The number that a text spells; None if it spells none.

    Integers stay integers. Others are exact decimals, except texts whose 16 or 17 digits indicate a float, and ``inf``
    and ``nan``: these are floats, to which the tolerance applies.
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


def _number(cell: Cell) -> Cell:
    return spelt_number(cell) if isinstance(cell, str) else None


def _moment(cell: Cell) -> Cell:
    return moment_of(_WITHOUT_SECONDS.sub(r"\1:00", cell.strip())) if isinstance(cell, str) else None


def _microseconds(cell: Cell) -> Cell:
    """The same, cut to microseconds, as by an engine or a client that has no more."""
    return _moment(_BEYOND_MICROSECONDS.sub("", cell)) if isinstance(cell, str) else None


def _time(cell: Cell) -> Cell:
    return clock_of(cell.strip()) if isinstance(cell, str) else None


def _clock(cell: Cell) -> Cell:
    """The time of day at this duration after midnight."""
    if not isinstance(cell, timedelta) or not timedelta() <= cell < timedelta(days=1):
        return None
    return (datetime.min + cell).time()  # noqa: DTZ901 - a time of day, of no zone


def _length(cell: Cell) -> Cell:
    return interval_of(cell) if isinstance(cell, str) else None


def _truth(cell: Cell) -> Cell:
    return _TRUTH.get(cell.strip().lower()) if isinstance(cell, str) else None


def _bytes(cell: Cell) -> Cell:
    return spelt_bytes(cell) if isinstance(cell, str) else None


def _escaped_bytes(cell: Cell) -> Cell:
    return spelt_bytes(cell, escapes=True) if isinstance(cell, str) else None


_AS_IT_STANDS = Leaves(quoted=str, bare=str, number=lambda number: number)


def _nested(cell: Cell, leaves: Leaves = _AS_IT_STANDS) -> Cell:
    return spelt_nested(cell, leaves) if isinstance(cell, str) else nested(cell, leaves)


_SPELL: dict[Kind, Callable[[Cell], Cell]] = {
    "number": _number,
    "moment": _moment,
    "time": _time,
    "clock": _clock,
    "length": _length,
    "truth": _truth,
    "bytes": _bytes,
    "nested": _nested,
}
_MIXED: tuple[Kind, ...] = ("number", "moment", "time")
"""What texts may be in a column of several types."""


def normalised(rows: Sequence[Row], cells: CellTypes) -> tuple[Row, ...]:
    """The rows as a source of that kind would return them: values that it cannot distinguish become one."""
    blank = cells in _BLANK_IS_NULL
    return tuple(tuple([_alike(cell, blank=blank) for cell in row]) for row in rows)


def _alike(cell: Cell, *, blank: bool) -> Cell:
    if cell == "" and blank and isinstance(cell, str):
        return None
    return str(cell) if isinstance(cell, UUID) else cell


Reading: TypeAlias = Callable[[tuple[Row, ...]], tuple[Row, ...]]
"""Converts rows by a reading: those of a result, or more of the same query."""


def readings(
    poor: Result, cells: CellTypes, other: Result, others: CellTypes = "typed", *, boolean_is_integer: bool = False
) -> Iterator[Reading]:
    """The readings of a result whose cells lack types, compared with another; at least one, the most likely first.

    If both results lack types, each is read by itself: call it for both, in turn. ``boolean_is_integer``: the other
    result has 1 and 0 for true and false.
    """
    lacks = LACKS[cells]
    if not lacks or not poor.rows:
        yield _as_it_is
        return
    ours, theirs = _columns(poor), _columns(other)
    within: dict[int, Leaves] = {}
    if others == "text" and cells == "text":
        chosen = [[_natural(column)] for column in ours]
    else:
        kinds = [_kind(column) for column in theirs]
        within = {place: _leaves(*_within(theirs[place])) for place, kind in enumerate(kinds) if kind == "nested"}
        known = {*kinds, *_also(kinds, boolean_is_integer=boolean_is_integer)}
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
    options = [
        [reader for reading in found for reader in _readers(reading, ours[place], lacks, within, place)]
        for place, found in enumerate(chosen)
    ]
    for choice in islice(product(*options), _MOST_READINGS):
        yield _as_it_is if all(reader is _unread for reader in choice) else partial(_read, choice)


def _as_it_is(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    return rows


def _read(readers: Sequence[Callable[[Cell], Cell]], rows: tuple[Row, ...]) -> tuple[Row, ...]:
    return tuple([tuple([read(cell) for read, cell in zip(readers, row, strict=True)]) for row in rows])


def _columns(result: Result) -> list[_Column]:
    return list(zip(*result.rows, strict=True)) if result.rows else [() for _ in result.columns]


def _also(kinds: Sequence[str], *, boolean_is_integer: bool) -> Iterator[str]:
    """What else a column may be, compared with columns of these kinds."""
    if boolean_is_integer and "number" in kinds:
        yield "truth"
    if "time" in kinds:
        yield "clock"


def _kind_of(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "truth"
    if isinstance(cell, (int, float, Decimal)):
        return "number"
    if isinstance(cell, (date, Moment)):
        return "moment"
    if isinstance(cell, (time, Clock)):
        return "time"
    if isinstance(cell, (timedelta, Interval)):
        return "length"
    if isinstance(cell, (bytes, bytearray, memoryview)):
        return "bytes"
    if isinstance(cell, (list, tuple, Mapping)):
        return "nested"
    return "text" if isinstance(cell, str) else "other"


def _kind(column: _Column) -> str:
    """The kind of a typed column: ``null`` if no cell has a type, ``mixed`` if its cells differ."""
    found = {_kind_of(cell) for cell in column if cell is not None}
    return "null" if not found else found.pop() if len(found) == 1 else "mixed"


def _within(column: _Column) -> tuple[frozenset[type], bool]:
    """The types inside the lists and objects of a column, and whether there are only lists."""
    types: set[type] = set()

    def look(cell: Cell, depth: int) -> None:
        inner = list(cell.values()) if isinstance(cell, Mapping) else cell
        if not isinstance(inner, (list, tuple)):
            types.add(type(inner))
        elif depth < _DEEPEST:
            for one in inner:
                look(one, depth + 1)

    for cell in column:
        if cell is not None:
            look(cell, 0)
    return frozenset(types), not any(isinstance(cell, (Mapping, MapEntries)) for cell in column)


@lru_cache(maxsize=256)
def _leaves(types: frozenset[type], lists: bool) -> Leaves:  # noqa: FBT001 - private, one caller
    """How to read the contents of lists and objects, compared with values of these types."""
    kinds = {_kind_of(value) for value in _EXAMPLES if type(value) in types}
    words = [_SPELL[kind] for kind in _LEAVES if kind in kinds]
    numbers = partial(
        _number_as, float if float in types else Decimal if Decimal in types else None, whole=int in types
    )
    return Leaves(
        # Compared with texts, a text stays a text.
        quoted=partial(_spelt, () if "text" in kinds else [spell for spell in words if spell in (_moment, _time)]),
        bare=lambda word: numbers(_spelt(words, word)),
        number=numbers,
        lists=lists,
    )


def _number_as(kind: type[float | Decimal] | None, value: Cell, *, whole: bool) -> Cell:
    """A number as a float or a decimal, as in the other result: within lists both are distinguished.

    ``whole``: it has integers, too, so that an integer stays exact.
    """
    if kind is None or isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return value
    if whole and isinstance(value, int):
        return value
    try:
        return kind(str(value))
    except (InvalidOperation, ValueError, OverflowError):
        return value


def _spells(column: _Column, kind: Kind) -> bool:
    """Whether each non-empty cell of the column spells a value of that kind, and there is one."""
    spell, found, of_texts = _SPELL[kind], False, kind not in _OF_OTHERS
    for cell in column:
        if isinstance(cell, str) if of_texts else cell is not None:
            if cell == "" and kind != "bytes":
                continue
            if spell(cell) is None:
                return False
            found = True
    return found


def _choices(
    column: _Column, kinds: Set[Kind], texts: Sequence[_Column], beside: str, *, mixed: bool
) -> list[_Reading]:
    """The readings of a column that the other result allows, that of the column at the same position first.

    ``kinds`` are those that the source cannot write, and the other result has.
    """
    fitting: list[Kind] = [kind for kind in _SPELL if kind in kinds and _spells(column, kind)]
    found: list[_Reading] = [*fitting, *(("mixed",) if mixed else ())]
    # As text it can only match a column of texts that spell such values, too.
    as_text = not fitting or any(_spells(one, kind) for one in texts for kind in fitting)
    if as_text:
        found.append("text")
    return sorted(found, key=lambda reading: reading != beside)


def _natural(column: _Column) -> _Reading:
    """How a column is read by itself.

    Unless the other result says that they are numbers, ``+351…`` may be a telephone number, and a column of only
    ``nan`` a name.
    """
    found: _Reading = next((kind for kind in ("number", "moment", "time") if _spells(column, kind)), "text")
    if found != "number":
        return found
    texts = [cell.strip() for cell in column if isinstance(cell, str) and cell]
    signed = any(text.startswith("+") for text in texts)
    return "text" if signed or all(map(_NO_FINITE.fullmatch, texts)) else found


def _readers(
    reading: _Reading, column: _Column, lacks: frozenset[Kind], within: Mapping[int, Leaves], place: int
) -> Iterator[Callable[[Cell], Cell]]:
    """Converts a cell from its text. A cell that spells nothing stays as it is.

    ``within`` says by column how lists and objects of the other result's columns are read: there may be several ways,
    as there are for bytes.
    """
    if reading == "text":
        yield _unread
    elif reading == "nested":
        ways = [within[place], *within.values()] if place in within else within.values()
        for leaves in {id(way): way for way in ways}.values():
            yield partial(_spelt, (partial(_nested, leaves=leaves),))
    elif reading == "bytes":
        texts = [cell for cell in column if isinstance(cell, str)]
        escaped = list(map(_escaped_bytes, texts))
        yield partial(_spelt, (_bytes,))
        if None not in escaped and escaped != list(map(_bytes, texts)):
            yield partial(_spelt, (_escaped_bytes,))
    else:
        if reading == "moment" and any(isinstance(cell, str) and _BEYOND_MICROSECONDS.search(cell) for cell in column):
            yield partial(_spelt, (_microseconds,))
        kinds: Sequence[Kind] = _MIXED if reading == "mixed" else (reading,)
        yield partial(_spelt, tuple(_SPELL[kind] for kind in kinds if kind in lacks))


def _unread(cell: Cell) -> Cell:
    return cell


def _spelt(spells: Sequence[Callable[[Cell], Cell]], cell: Cell) -> Cell:
    return next((value for spell in spells if (value := spell(cell)) is not None), cell)
