"""Values for columns: the queries' constants with their neighbours, values of the real data, and a few plain ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta

from msgspec import Struct, field

from assay.model import Cell
from assay.sql.schema import TypeFamily
from assay.witness.constants import Constant
from assay.witness.plan import Plan, PlanColumn
from assay.witness.query_facts import ColumnKey, PairFacts

_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_ENUM = re.compile(r"'((?:[^']|'')*)'")
_LONGEST = 60
_LONGEST_REAL = 1_000
_MOST_LENGTH = 40
_NUMBERS = frozenset({"integer", "real", "numeric"})
_NUMERALS = ("10", "9", "01", "1")
_PLAIN: Mapping[TypeFamily, tuple[Cell, ...]] = {
    "integer": (1, 2, 3, 0, 10, 100),
    "real": (1.0, 2.0, 3.5, 0.0, 10.0, 100.0),
    "numeric": (1, 2, 3, 0, 10, 100),
    "text": ("a", "b", "c", "A", ""),
    "date": ("2001-01-01", "2001-01-02", "2002-03-04", "1999-12-31"),
    "other": (1, 2, 3, 0),
}


class Pool(Struct, frozen=True):
    """The values of one column, without NULL."""

    values: tuple[Cell, ...]
    hits: tuple[Cell, ...] = ()
    """Those among them that some condition of a query accepts."""
    fresh: Callable[[int], Cell] = field(default=lambda number: number)
    """Any number of further values, for columns without duplicates."""


class _Gathered(Struct):
    """Values while they are gathered, in order and without duplicates."""

    hits: dict[Cell, None] = field(default_factory=dict)
    near: dict[Cell, None] = field(default_factory=dict)

    def bend(self, uses: Collection[str], family: TypeFamily) -> None:
        """Add values that functions distinguish: numbers below zero, blanks around a text, numbers as texts."""
        own = [*self.hits, *self.near]
        if "negative" in uses and family in _NUMBERS:
            below = [-value for value in own if isinstance(value, int | float) and value > 0]
            self.near |= dict.fromkeys([*below[:6], *((-1.0, -2.5) if family == "real" else (-1, -2))])
        if "padded" in uses and family == "text":
            bare = [value for value in own if isinstance(value, str)][:3] or ["a"]
            self.near |= dict.fromkeys([padded for value in bare for padded in (value, f" {value}", f"{value} ")])
        if "numeral" in uses and family == "text":
            self.near |= dict.fromkeys(_NUMERALS)


def make_pools(
    plan: Plan,
    facts: PairFacts,
    observed: Mapping[ColumnKey, Sequence[Cell]],
    *,
    allowed: Callable[[ColumnKey, Cell], bool] | None = None,
) -> list[list[Pool]]:
    """A pool for each column of each table. Columns that are compared with one another share theirs.

    ``observed`` are a few values of the real data; ``allowed`` says which values a column may have.
    """
    families = {column.key: column for table in plan.tables for column in table.columns}
    group_of = {key: group for group in facts.classes for key in group}
    pools: list[list[Pool]] = []
    for table in plan.tables:
        row = []
        for column in table.columns:
            mates = sorted(group_of.get(column.key, {column.key}))
            constants = [one for key in mates for one in facts.constants.get(key, ())]
            # A comparison with a computed value: its constants may belong to any column.
            constants += [one for one in facts.loose if isinstance(one.value, str) == (column.family == "text")][:6]
            if column.family == "text" and any(families[key].family in _NUMBERS for key in mates if key in families):
                constants.append(Constant("10", "numeral"))  # it is compared with a number
            real = [value for key in mates for value in observed.get(key, ()) if key in families or key == column.key]
            row.append(_pool(column, constants, real, allowed))
        pools.append(row)
    return pools


def _pool(
    column: PlanColumn,
    constants: Sequence[Constant],
    real: Sequence[Cell],
    allowed: Callable[[ColumnKey, Cell], bool] | None,
) -> Pool:
    gathered = _Gathered()
    family = _family(column, real)
    for constant in constants:
        for value, passes in _around(constant, family):
            fitting = _fitting(value, family)
            if fitting is not None:
                (gathered.hits if passes else gathered.near)[fitting] = None
    gathered.bend({constant.use for constant in constants}, family)
    given = _given_values(column.type)
    plain = given or _PLAIN[family]
    fitted = [value for one in real if (value := _fitting(one, family)) is not None]
    values = dict.fromkeys([*gathered.hits, *gathered.near, *fitted, *plain])
    if column.truth:  # only SQLite would store a 2 there
        values = {value: None for value in values if value in (0, 1) or value in fitted}
        gathered.hits = {value: None for value in gathered.hits if value in values}
    if allowed is not None:
        values = {value: None for value in values if allowed(column.key, value)}
        gathered.hits = {value: None for value in gathered.hits if value in values}
    # 1 and 1.0 are one key: if values of both kinds are needed, the first is used.
    fresh = _fresh(family, real, given)
    if allowed is not None and not allowed(column.key, fresh(0)):
        fresh = _fresh_within(tuple(values), real, fresh)
    return Pool(values=tuple(values), hits=tuple(gathered.hits), fresh=fresh)


def _family(column: PlanColumn, real: Sequence[Cell]) -> TypeFamily:
    """The kind of values: as declared, or as in the real data if the declaration is unusual."""
    if column.family == "date" and real and all(isinstance(value, int) for value in real):
        return "integer"  # YEAR, and dates stored as numbers
    if column.family == "date" and column.type.lower().startswith("year"):
        return "integer"
    if column.family != "other":
        return column.family
    if "bool" in column.type.lower():
        return "integer"
    kinds = {type(value) for value in real}
    if kinds and kinds <= {str}:
        return "text"
    if float in kinds and kinds <= {int, float}:
        return "real"
    return "other"


def _given_values(declared: str) -> tuple[Cell, ...]:
    if declared.lower().startswith("enum"):
        return tuple(value.replace("''", "'") for value in _ENUM.findall(declared))
    if "bool" in declared.lower():
        return (1, 0)
    return ()


def _fresh(family: TypeFamily, real: Sequence[Cell], given: Sequence[Cell]) -> Callable[[int], Cell]:
    if given:
        return lambda number: given[number % len(given)]
    if family == "text":
        if real and all(isinstance(value, str) and value.isdigit() for value in real):
            return lambda number: str(1 + number)
        return lambda number: f"v{number}"
    if family == "date":
        return lambda number: str(date(2001, 1, 1) + timedelta(days=number))
    if family == "real":
        return lambda number: float(1 + number)
    return lambda number: 1 + number


def _fresh_within(values: Sequence[Cell], real: Sequence[Cell], usual: Callable[[int], Cell]) -> Callable[[int], Cell]:
    """Further values if the usual ones are not allowed: numbers from the least on, otherwise the same ones again."""
    numbers = [value for value in (*values, *real) if isinstance(value, int | float) and not isinstance(value, bool)]
    if numbers and all(isinstance(value, int | float) for value in values):
        least = min(numbers)
        return lambda number: least + number
    return (lambda number: values[number % len(values)]) if values else usual


def _fitting(value: Cell, family: TypeFamily) -> Cell:
    """The value as a column of this family stores it; None if it cannot."""
    if not isinstance(value, int | float | str):
        return value  # an engine's own value for the column: a date, bytes, a list
    match family:
        case "text" | "date":
            if isinstance(value, int | float):
                if family == "date":
                    return None
                return str(int(value)) if value == int(value) and abs(value) < 1e15 else str(value)
            text = str(value)
            return text if len(text) <= _LONGEST else None
        case "integer" | "numeric":
            number = _number(value)
            if number is None or family == "numeric":
                return number
            return int(number) if number == int(number) else None
        case "real":
            number = _number(value)
            return None if number is None else float(number)
    return value


def _number(value: Cell) -> int | float | None:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value if abs(value) < 1e300 else None
    if not isinstance(value, str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    if not abs(number) <= 1e15:  # excludes NaN, too
        return None
    return int(number) if number == int(number) else number


def _around(constant: Constant, family: TypeFamily) -> Iterator[tuple[Cell, bool]]:
    """Values that a condition with this constant distinguishes, and whether it accepts each."""
    value = constant.value
    match constant.use:
        case "negative" | "padded" | "numeral":
            return  # for `_Gathered.bend`
        case "pattern":
            yield from _of_pattern(str(value), glob=constant.detail == "glob")
        case "part":
            text = str(value)
            yield from ((text, True), (f"{text}x", True), (f"x{text}", False), (text[:-1], False))
        case "length":
            number = _number(value)
            if number is not None and 0 <= number <= _MOST_LENGTH:
                yield from (("x" * max(0, int(number) + step), step == 0) for step in (0, 1, -1))
        case "date_part":
            yield from _of_date_part(value, constant.detail)
        case "sum":
            number = _number(value)
            if number is not None:
                yield from ((one, True) for one in (number, number + 1, number + 100))
                yield from ((one, False) for one in (number - 1, number / 2, number * 2))
        case use:
            number = None if isinstance(value, str) and family == "text" else _number(value)
            if number is not None:
                yield from _near_number(number, use)
                if family == "real" and number == int(number):
                    yield number + 0.5, use == "above"  # a value that > 20 accepts but >= 21 does not
            else:
                yield from _near_text(str(value), use)


def _near_number(number: int | float, use: str) -> Iterator[tuple[Cell, bool]]:
    step = 1 if number == int(number) else 0.5
    yield number, True  # the boundary itself distinguishes strict comparisons from others
    yield number + step, use == "above"
    yield number - step, use == "below"
    if use in ("above", "below"):
        yield number + 100, use == "above"
        yield number * 2, use == "above"


def _near_text(text: str, use: str) -> Iterator[tuple[Cell, bool]]:
    found = _DATE.match(text)
    if found is not None:
        try:
            day = date(int(found[1]), int(found[2]), int(found[3]))
        except ValueError:
            day = None
        if day is not None and date(2, 1, 1) < day < date(9998, 1, 1):
            rest = text[found.end() :]
            yield text, True
            yield f"{day + timedelta(days=1)}{rest}", use == "above"
            yield f"{day - timedelta(days=1)}{rest}", use == "below"
            return
    yield text, use in ("equal", "other")
    if use in ("above", "below"):
        yield f"{text}a", use == "above"
        yield text[:-1], use == "below"
        return
    for other in (text.lower(), text.upper(), f"{text}x"):
        if other != text:
            yield other, False


def _of_pattern(pattern: str, *, glob: bool) -> Iterator[tuple[Cell, bool]]:
    many, one = ("*", "?") if glob else ("%", "_")
    bare = pattern.replace(many, "").replace(one, "q")
    yield bare, True
    yield pattern.replace(many, "z").replace(one, "q"), True
    for other in (bare.upper(), bare.lower(), bare.swapcase()):
        if other != bare:
            yield other, False
    yield f"z{bare}", pattern.startswith(many)
    yield f"{bare}z", pattern.endswith(many)
    yield bare[:-1], False


def _of_date_part(value: str | int | float, part: str) -> Iterator[tuple[Cell, bool]]:
    number = _number(value)
    if number is None or number != int(number):
        return
    whole = int(number)
    match part:
        case "year" if 2 <= whole <= 9997:
            yield from ((f"{whole + step:04}-06-15", step == 0) for step in (0, 1, -1))
        case "month" if 1 <= whole <= 12:
            yield from ((f"2001-{1 + (whole - 1 + step) % 12:02}-15", step == 0) for step in (0, 1))
        case "day" if 1 <= whole <= 28:
            yield from ((f"2001-01-{1 + (whole - 1 + step) % 28:02}", step == 0) for step in (0, 1))


def distinct_values(rows: Iterable[Sequence[Cell]], place: int, most: int) -> list[Cell]:
    """The first distinct values of a column, without NULL and without values too long for a small database."""
    found: dict[Cell, None] = {}
    for row in rows:
        value = row[place]
        if value is not None and is_short(value):
            found[value] = None
            if len(found) >= most:
                break
    return list(found)


def is_short(value: Cell) -> bool:
    """Whether a value of the real data is short enough for a database of a few rows that a reader is shown."""
    return not isinstance(value, str | bytes | tuple | dict) or len(value) <= _LONGEST_REAL
