"""Dates, times and intervals that Python's own types cannot hold.

Engines have infinite dates, years beyond 9999 and before Christ, nanoseconds, 24:00, and intervals of months. Python's
times of day with a zone are equal if their moments are, which no engine with such a type says. `moment_of`, `clock_of`
and `interval_of` return a value of Python's own type if it says the same, and one of these types otherwise.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, timezone
from math import inf

from msgspec import Struct

_DAY_NS = 86_400_000_000_000
_SECOND_NS = 1_000_000_000
_DAYS_OF_MONTH = 30
_DAYS_OF_400_YEARS = 146_097
_EPOCH = date(1970, 1, 1).toordinal()
_DATE = r"(?P<sign>[-+])?(?P<year>\d{1,7})-(?P<month>\d\d)-(?P<day>\d\d)(?P<before> \(BC\))?"
_CLOCK = r"(?P<hours>[01]\d|2[0-4]):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d)(?:\.(?P<fraction>\d{1,9}))?"
_ZONE = r" ?(?P<zone>Z|UTC|[-+]\d\d(?::?\d\d(?::?\d\d)?)?)"
_MOMENT = re.compile(f"{_DATE}(?:[T ]{_CLOCK}(?:{_ZONE})?)?(?P<christ> BC)?", re.ASCII)
_TIME = re.compile(f"{_CLOCK}(?:{_ZONE})?", re.ASCII)
_PART = re.compile(r"([+-]?\d{1,10}) (years?|mons?|months?|weeks?|days?)(?:,? |\Z)", re.ASCII)
_LENGTH = re.compile(r"([+-])?(\d{1,13}):(\d\d):(\d\d)(?:\.(\d{1,9}))?", re.ASCII)
_MONTHS, _DAYS = {"year": 12, "month": 1, "mon": 1}, {"week": 7, "day": 1}


class Moment(Struct, frozen=True, kw_only=True):
    """A date or timestamp that `datetime` cannot hold: infinite, before year 1, after 9999, or with nanoseconds.

    A date is the moment of its midnight.
    """

    nanoseconds: int | float
    """Since 1970; infinite for ``infinity`` and ``-infinity``."""
    zoned: bool = False
    """Whether it is a moment in UTC and not one of any clock. An infinite one is neither."""

    def __str__(self) -> str:
        """``10000-01-01``, ``0044-03-15 12:00:00+00:00 BC``, ``2024-01-01 00:00:00.000000001``, ``-infinity``."""
        if isinstance(self.nanoseconds, float):
            return "infinity" if self.nanoseconds > 0 else "-infinity"
        days, rest = divmod(self.nanoseconds, _DAY_NS)
        cycles, within = divmod(days + _EPOCH - 1, _DAYS_OF_400_YEARS)
        alike = date.fromordinal(within + 1)
        year = alike.year + 400 * cycles
        shown = f"{year if year > 0 else 1 - year:04}-{alike:%m-%d}"
        if rest or self.zoned:
            shown += f" {_clock_text(rest)}{'+00:00' if self.zoned else ''}"
        return shown if year > 0 else f"{shown} BC"

    def __repr__(self) -> str:
        """As lists and structures show it."""
        return f"Moment({str(self)!r})"


class Clock(Struct, frozen=True, kw_only=True):
    """A time of day that `time` cannot hold: with an offset from UTC, with nanoseconds, or 24:00.

    As in PostgreSQL and DuckDB, 12:00+00 differs from 14:00+02: they are one moment, but two times of day.
    """

    nanoseconds: int
    """Since midnight, by the clock of its own offset."""
    offset_s: int | None = None
    """Seconds east of UTC; None: it has no zone."""

    def __str__(self) -> str:
        """``12:00:00+02:00``."""
        return _clock_text(self.nanoseconds) + ("" if self.offset_s is None else _offset_text(self.offset_s))

    def __repr__(self) -> str:
        """As lists and structures show it."""
        return f"Clock({str(self)!r})"


class Interval(Struct, frozen=True, kw_only=True, eq=False):
    """An interval that `timedelta` cannot hold: of months, of hours beyond a day, or longer than 2.7 million years.

    Intervals are equal if their lengths are, with months of 30 days and days of 24 hours, as in PostgreSQL, DuckDB and
    BigQuery. Equal ones may be written differently, and dates may differ by them: see `parts_of`.
    """

    months: int = 0
    days: int = 0
    nanoseconds: int = 0

    @property
    def length_ns(self) -> int:
        """Its length in nanoseconds."""
        return (self.months * _DAYS_OF_MONTH + self.days) * _DAY_NS + self.nanoseconds

    def __eq__(self, other: object) -> bool:
        """Whether the lengths are equal."""
        if isinstance(other, Interval):
            return self.length_ns == other.length_ns
        if isinstance(other, timedelta):
            return self.length_ns == _length_ns(other)
        return NotImplemented

    def __hash__(self) -> int:
        """The hash of the timedelta that is equal, if there is one."""
        length, rest = divmod(self.length_ns, 1000)
        try:
            return hash(self.length_ns) if rest else hash(timedelta(microseconds=length))
        except OverflowError:
            return hash(self.length_ns)

    def __str__(self) -> str:
        """``1 year 2 months -3 days 04:05:06``."""
        sign = -1 if self.months < 0 else 1
        years, months = divmod(abs(self.months), 12)
        counts = ((sign * years, "year"), (sign * months, "month"), (self.days, "day"))
        parts = [f"{count} {unit}{'' if abs(count) == 1 else 's'}" for count, unit in counts if count]
        if self.nanoseconds or not parts:
            parts.append(("-" if self.nanoseconds < 0 else "") + _clock_text(abs(self.nanoseconds)))
        return " ".join(parts)

    def __repr__(self) -> str:
        """As lists and structures show it."""
        return f"Interval({str(self)!r})"


def moment_of(text: str) -> date | datetime | Moment | None:
    """The date or timestamp that an engine writes like this; None if it is neither.

    Reads ISO 8601 with years of any length, ``infinity``, and years before Christ as PostgreSQL (``0044-03-15 BC``),
    DuckDB (``0044-03-15 (BC)``) and standards (``-0043-03-15``) write them.
    """
    if text in ("infinity", "-infinity"):
        return Moment(nanoseconds=inf if text == "infinity" else -inf)
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    year = int(match["year"]) * (-1 if match["sign"] == "-" else 1)
    if match["before"] or match["christ"]:
        year = 1 - year
    cycles, year_alike = divmod(year - 1, 400)
    try:
        day = date(year_alike + 1, int(match["month"]), int(match["day"]))
    except ValueError:
        return None
    if match["hours"] is None:
        if 1 <= year <= date.max.year:
            return day.replace(year=year)
        return Moment(nanoseconds=(day.toordinal() + cycles * _DAYS_OF_400_YEARS - _EPOCH) * _DAY_NS)
    offset_s, clock = _offset(match["zone"]), _nanoseconds(match)
    if clock >= _DAY_NS:
        return None
    days = day.toordinal() + cycles * _DAYS_OF_400_YEARS - _EPOCH
    return moment_at(days * _DAY_NS + clock, offset_s=offset_s)


def moment_at(nanoseconds: int, *, offset_s: int | None = None) -> datetime | Moment:
    """The timestamp at a number of nanoseconds since 1970, by the clock of its offset; None: it has no zone."""
    zone = None if offset_s is None else timezone(timedelta(seconds=offset_s))
    microseconds, rest = divmod(nanoseconds, 1000)
    if not rest:
        try:
            local = datetime(1970, 1, 1, tzinfo=zone) + timedelta(microseconds=microseconds)
            if zone is not None:
                local.astimezone(timezone.utc)  # noqa: UP017 - a moment that has no UTC in Python's years has no hash
            return local
        except OverflowError:
            pass
    return Moment(nanoseconds=nanoseconds - (offset_s or 0) * _SECOND_NS, zoned=offset_s is not None)


def clock_of(text: str) -> time | Clock | None:
    """The time of day that an engine writes like this, with or without an offset; None if it is not one."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    nanoseconds, offset_s = _nanoseconds(match), _offset(match["zone"])
    if nanoseconds > _DAY_NS:
        return None
    if offset_s is None and nanoseconds < _DAY_NS and not nanoseconds % 1000:
        return (datetime(1970, 1, 1) + timedelta(microseconds=nanoseconds // 1000)).time()  # noqa: DTZ001 - no zone
    return Clock(nanoseconds=nanoseconds, offset_s=offset_s)


def zoned_clock(value: time) -> time | Clock:
    """A time of day as Python has it, with an offset as part of its value."""
    offset = value.utcoffset()
    if offset is None:
        return value
    since = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
    return Clock(nanoseconds=_length_ns(since), offset_s=int(offset.total_seconds()))


def interval_of(text: str) -> timedelta | Interval | None:
    """The interval that an engine writes like this (``1 year 2 mons -3 days 04:05:06``); None if it is not one."""
    text = text.strip()
    months = days = position = 0
    while part := _PART.match(text, position):
        unit = part[2].removesuffix("s")
        months += int(part[1]) * _MONTHS.get(unit, 0)
        days += int(part[1]) * _DAYS.get(unit, 0)
        position = part.end()
    if position == len(text) and text:
        return interval(months=months, days=days)
    clock = _LENGTH.fullmatch(text, position)
    if clock is None:
        return None
    sign, hours, minutes, seconds, fraction = clock.groups()
    length = ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * _SECOND_NS + int((fraction or "").ljust(9, "0"))
    return interval(months=months, days=days, nanoseconds=-length if sign == "-" else length)


def interval(*, months: int = 0, days: int = 0, nanoseconds: int = 0) -> timedelta | Interval:
    """The interval of these parts: a timedelta if `parts_of` it are these."""
    if not months and not nanoseconds % 1000 and abs(nanoseconds) < _DAY_NS and days * nanoseconds >= 0:
        try:
            return timedelta(days=days, microseconds=nanoseconds // 1000)
        except OverflowError:
            pass
    return Interval(months=months, days=days, nanoseconds=nanoseconds)


def parts_of(value: timedelta | Interval) -> tuple[int, int, int]:
    """Months, days and nanoseconds. Those of a timedelta have one sign, and less than a day of nanoseconds."""
    if isinstance(value, Interval):
        return value.months, value.days, value.nanoseconds
    length = _length_ns(value)
    days, rest = divmod(abs(length), _DAY_NS)
    return (0, days, rest) if length >= 0 else (0, -days, -rest)


def _length_ns(value: timedelta) -> int:
    return (value.days * 86_400_000_000 + value.seconds * 1_000_000 + value.microseconds) * 1000


def _nanoseconds(match: re.Match[str]) -> int:
    seconds = (int(match["hours"]) * 60 + int(match["minutes"])) * 60 + int(match["seconds"])
    return seconds * _SECOND_NS + int((match["fraction"] or "").ljust(9, "0"))


def _offset(zone: str | None) -> int | None:
    """Seconds east of UTC."""
    if zone is None:
        return None
    if zone in ("Z", "UTC"):
        return 0
    digits = zone[1:].replace(":", "").ljust(6, "0")
    seconds = (int(digits[:2]) * 60 + int(digits[2:4])) * 60 + int(digits[4:])
    return -seconds if zone[0] == "-" else seconds


def _clock_text(nanoseconds: int) -> str:
    seconds, fraction = divmod(nanoseconds, _SECOND_NS)
    shown = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{shown}.{fraction:09}".rstrip("0") if fraction else shown


def _offset_text(offset_s: int) -> str:
    minutes, seconds = divmod(abs(offset_s), 60)
    shown = f"{'-' if offset_s < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{shown}:{seconds:02}" if seconds else shown
