"""Periods of time as SDMX writes them, as days.

Gregorian periods are ``2015``, ``2015-03``, ``2015-03-01`` and a dateTime (only its day counts); reporting periods
``2015-A1``, ``-S1``, ``-T1``, ``-Q1``, ``-M03``, ``-W05`` and ``-D032``, their reporting year taken to start on 1
January (weeks are those of ISO 8601). A range is a day (or dateTime) and a duration, ``2015-01-01/P1Y``. A time zone is
read but has no effect. Source: SDMX 2.1 and 3.0, section 6, "Time and Time Format".

Other forms that publishers and systems use are read, too: reporting periods without the hyphen and with fewer digits
(``2015Q1``, ``2015M01``, ``2015M1``), ``H`` for half-years, a range from one period to another (``2015-01/2015-06``,
both included).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta
from functools import lru_cache

from msgspec import Struct

from assay.model.cases.selection import TimeRange, TimeState
from assay.sdmx.errors import SelectionError, excerpt

_ZONE = r"(?:Z|[+-][0-9]{2}:[0-9]{2})?"
_CLOCK = r"T(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?|24:00:00(?:\.0+)?)"
_GREGORIAN = re.compile(rf"([0-9]{{4}})(?:-([0-9]{{2}})(?:-([0-9]{{2}})({_CLOCK})?)?)?{_ZONE}")
_REPORTING = re.compile(rf"([0-9]{{4}})(-?)([ASHTQMWD])([0-9]{{1,3}}){_ZONE}")
_DURATION = re.compile(
    r"P(?=[0-9T])(?:([0-9]{1,5})Y)?(?:([0-9]{1,6})M)?(?:([0-9]{1,6})W)?(?:([0-9]{1,7})D)?"
    r"(?:T(?=[0-9])(?:([0-9]{1,8})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})(?:\.[0-9]+)?S)?)?"
)
_MONTHS = {"A": 12, "S": 6, "T": 4, "Q": 3, "M": 1}
_DIGITS = {"A": 1, "S": 1, "T": 1, "Q": 1, "M": 2, "W": 2, "D": 3}
_LAST_YEAR = date.max.year
_LONGEST = 64
"""The maximum length of a text that is parsed, so that little of a hostile answer is cached."""

Days = tuple[int | None, int | None]
"""The first day and the day after the last one, as `datetime.date.toordinal` counts days. None: open."""

_OPEN_START, _OPEN_END = -1, date.max.toordinal() + 2


class Period(Struct, frozen=True, kw_only=True):
    """A period as days: from ``first`` up to but excluding ``after`` (both as `datetime.date.toordinal`)."""

    frequency: str
    """``year``, ``month`` or ``day`` if it is Gregorian, ``range``, otherwise the letter of the reporting period."""
    first: int
    after: int


def parse_period(text: str) -> Period | None:
    """The days of a period; None if the text is not an SDMX period."""
    return _parsed(text) if len(text) <= _LONGEST else None


@lru_cache(maxsize=65536)
def _parsed(text: str) -> Period | None:
    try:
        return _gregorian(text) or _reporting(text) or _range(text)
    except (ValueError, OverflowError):  # a month 13, a day 30 of February, a week 53 in a year that has 52
        return None


def _gregorian(text: str) -> Period | None:
    found = _GREGORIAN.fullmatch(text)
    if found is None:
        return None
    year, month, day = int(found[1]), found[2], found[3]
    if day is not None:
        first = date(year, int(month), int(day)).toordinal()
        return Period(frequency="day", first=first, after=first + 1)
    if month is not None:
        return _months("month", year, int(month), 1)
    return _months("year", year, 1, 12)


def _reporting(text: str) -> Period | None:
    found = _REPORTING.fullmatch(text)
    if found is None:
        return None
    frequency, digits = found[3].replace("H", "S"), len(found[4])
    if digits > _DIGITS[frequency] or (found[2] and digits < _DIGITS[frequency]):
        return None
    year, number = int(found[1]), int(found[4])
    if frequency == "W":
        first = date.fromisocalendar(year, number, 1).toordinal()
        return Period(frequency=frequency, first=first, after=first + 7)
    if frequency == "D":
        first = date(year, 1, 1).toordinal() + number - 1
        in_year = number >= 1 and date.fromordinal(first).year == year
        return Period(frequency=frequency, first=first, after=first + 1) if in_year else None
    months = _MONTHS[frequency]
    return _months(frequency, year, (number - 1) * months + 1, months)


def _range(text: str) -> Period | None:
    """A start and a duration, or a start and an end. None if it is neither, or has no day."""
    begin, slash, rest = text.partition("/")
    start = (_gregorian(begin) or _reporting(begin)) if slash else None
    if start is None:
        return None
    duration = _DURATION.fullmatch(rest)
    if duration is None:
        end = _gregorian(rest) or _reporting(rest)
        if end is None or end.after <= start.first:
            return None
        return Period(frequency="range", first=start.first, after=end.after)
    if start.frequency != "day":
        return None
    after = _after_duration(begin, start.first, [int(part or 0) for part in duration.groups()])
    within = start.first < after <= date.max.toordinal() + 1
    return Period(frequency="range", first=start.first, after=after) if within else None


def _after_duration(begin: str, first: int, parts: list[int]) -> int:
    """The day after the last one of a duration from a start, which may have a time of day."""
    years, months, weeks, days, hours, minutes, seconds = parts
    start = date.fromordinal(first)
    month = start.month - 1 + months
    year, month = start.year + years + month // 12, month % 12 + 1
    if (year, month, start.day) == (_LAST_YEAR + 1, 1, 1) and not any(parts[2:]):
        return date.max.toordinal() + 1
    # In a month without that day, its last day, by the rules for adding durations
    last = 31 if month == 12 else (date(year, month + 1, 1) - timedelta(days=1)).day
    moved = date(year, month, min(start.day, last)).toordinal() + 7 * weeks + days
    clock = re.search(r"T([0-9]{2}):([0-9]{2}):([0-9]{2})", begin)
    passed = sum(int(part) * size for part, size in zip(clock.groups(), (3600, 60, 1), strict=True)) if clock else 0
    passed += hours * 3600 + minutes * 60 + seconds
    return moved + -(-passed // 86_400)


def _months(frequency: str, year: int, month: int, length: int) -> Period:
    last = month + length - 1
    after_last = date(year, 12, 31).toordinal() + 1 if last == 12 else date(year, last + 1, 1).toordinal()
    return Period(frequency=frequency, first=date(year, month, 1).toordinal(), after=after_last)


def next_period(text: str) -> str:
    """The period after this one, of the same frequency. Raises SelectionError if there is none."""
    period = _known(text)
    return _period_at(period.frequency, period.after, text)


def previous_period(text: str) -> str:
    """The period before this one, of the same frequency. Raises SelectionError if there is none."""
    period = _known(text)
    return _period_at(period.frequency, period.first - 1, text)


def _known(text: str) -> Period:
    period = parse_period(text)
    if period is None:
        raise SelectionError(
            f"{text[:40]!r} is not a period of time: use an SDMX period, for example 2015, 2015-Q1, "
            "2015-03 or 2015-03-01"
        )
    return period


def _period_at(frequency: str, ordinal: int, beside: str) -> str:
    """The period of that frequency that contains that day."""
    try:
        day = date.fromordinal(ordinal)
    except (ValueError, OverflowError) as error:
        raise SelectionError(f"there is no period next to {beside!r}: years go from 1 to {_LAST_YEAR}") from error
    year = f"{day.year:04}"
    if frequency == "year":
        return year
    if frequency == "month":
        return f"{year}-{day.month:02}"
    if frequency in ("day", "range"):
        return day.isoformat()
    if frequency == "W":
        iso = day.isocalendar()
        return f"{iso.year:04}-W{iso.week:02}"
    if frequency == "D":
        return f"{year}-D{ordinal - date(day.year, 1, 1).toordinal() + 1:03}"
    number = (day.month - 1) // _MONTHS[frequency] + 1
    return f"{year}-{frequency}{number:0{_DIGITS[frequency]}}"


def ranges_of(periods: Iterable[str]) -> tuple[TimeRange, ...]:
    """One range per period, in order of time; adjacent periods of one frequency form one range.

    Texts that are not periods come last, separate and as written.
    """
    unknown: dict[TimeRange, None] = {}
    known: list[tuple[Period, str]] = []
    for text in periods:
        period = parse_period(text)
        if period is None:
            unknown[TimeRange(start=text, end=text)] = None
        else:
            known.append((period, text))
    known.sort(key=lambda one: (one[0].first, one[0].after, one[0].frequency))
    joined: list[tuple[str, str]] = []
    last_of: dict[str, int] = {}  # index in ``joined`` of the latest range of a frequency
    after_of: dict[str, int] = {}
    for period, text in known:
        frequency = period.frequency
        if frequency in last_of and period.first <= after_of[frequency]:
            if period.after <= after_of[frequency]:
                continue  # it lies within an existing range
            start, _ = joined[last_of[frequency]]
            joined[last_of[frequency]] = (start, text)
        else:
            last_of[frequency] = len(joined)
            joined.append((text, text))
        after_of[frequency] = period.after
    return (*(TimeRange(start=start, end=end) for start, end in joined), *unknown)


def ends_before_start(span: TimeRange) -> bool:
    """Whether a range has no day, because its end is before its start. False if that is unknown."""
    start = None if span.start is None else parse_period(span.start)
    end = None if span.end is None else parse_period(span.end)
    return start is not None and end is not None and end.after <= start.first


def odd_time(ranges: Iterable[TimeRange]) -> str | None:
    """The error in the ranges themselves: an invalid bound, or an end before the start. None: no error."""
    for span in ranges:
        for bound in (span.start, span.end):
            if bound is not None and parse_period(bound) is None:
                return (
                    f"{excerpt(bound, most=40)} is not a period of time (valid are, for example, 2015, "
                    "2015-Q1, 2015-03 and 2015-03-01)"
                )
        if ends_before_start(span):
            return f"the time range from {span.start} to {span.end} ends before it starts"
    return None


def intersection(one: tuple[TimeRange, ...], other: tuple[TimeRange, ...]) -> tuple[TimeRange, ...]:
    """The time that lies in a range of each side, with bounds as written.

    If the ranges do not overlap, the result is a range whose end is before its start: it has no day.
    Raises SelectionError if two bounds must be compared and one of them is not a period.
    """
    both = [_narrowed(mine, theirs) for mine in one for theirs in other]
    return tuple(dict.fromkeys(span for span in both if not ends_before_start(span))) or tuple(both[:1])


def _narrowed(one: TimeRange, other: TimeRange) -> TimeRange:
    start, end = one.start, one.end
    # Bounds that are written the same need not be periods
    if (
        other.start is not None
        and start != other.start
        and (start is None or _known(start).first < _known(other.start).first)
    ):
        start = other.start
    if other.end is not None and end != other.end and (end is None or _known(end).after > _known(other.end).after):
        end = other.end
    return TimeRange(start=start, end=end)


_ANY = Period(frequency="", first=_OPEN_END, after=_OPEN_START)


def merged_days(ranges: Iterable[TimeRange]) -> tuple[Days, ...] | None:
    """The days of all ranges as intervals in order, with at least one day between two of them.

    A range whose end is before its start has no day. None: some period cannot be read.
    """
    spans = _spans(ranges)
    if spans is None:
        return None
    return tuple((None if start < 0 else start, None if end >= _OPEN_END else end) for start, end in spans)


def _spans(ranges: Iterable[TimeRange]) -> list[tuple[int, int]] | None:
    found: list[tuple[int, int]] = []
    for span in ranges:
        start = _ANY if span.start is None else parse_period(span.start)
        end = _ANY if span.end is None else parse_period(span.end)
        if start is None or end is None:
            return None
        first = _OPEN_START if span.start is None else start.first
        after = _OPEN_END if span.end is None else end.after
        if first < after:
            found.append((first, after))
    found.sort()
    merged: list[tuple[int, int]] = []
    for first, after in found:
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], after))
        else:
            merged.append((first, after))
    return merged


def compare_time(
    target: tuple[TimeRange, ...] | None, selected: tuple[TimeRange, ...] | None
) -> tuple[TimeState, float | None]:
    """Compare the selected periods with the target's, by days: their relation, and the share of common days.

    None: time is not mentioned; ``()`` or a range open at both ends: all of time. The states are those of
    `TimeState`. The share is days of both / days of either: 1.0 if they are the same, None if an end
    is open otherwise, or nothing is scored. Periods that cannot be read compare as text: ranges that are
    written the same are exact, any others disjoint with share None.
    """
    if target is None:
        return "not_judged", None
    if _is_all(selected):
        return ("exact", 1.0) if _is_all(target) else ("missing", None)
    if _is_all(target):
        return "unexpected", None
    if set(target) == set(selected or ()):
        return "exact", 1.0
    mine, theirs = _spans(target), _spans(selected or ())
    if mine is None or theirs is None:
        return "disjoint", None
    if mine == theirs:
        return "exact", 1.0
    both = _shared_days(mine, theirs)
    is_open = any(first < 0 or after >= _OPEN_END for first, after in (*mine, *theirs))
    if not both:
        return "disjoint", None if is_open else 0.0
    either = sum(after - first for first, after in (*mine, *theirs)) - both
    return "overlap", None if is_open else both / either


def _is_all(ranges: tuple[TimeRange, ...] | None) -> bool:
    return not ranges or _spans(ranges) == [(_OPEN_START, _OPEN_END)]


def _shared_days(mine: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> int:
    shared = i = j = 0
    while i < len(mine) and j < len(theirs):
        shared += max(0, min(mine[i][1], theirs[j][1]) - max(mine[i][0], theirs[j][0]))
        if mine[i][1] < theirs[j][1]:
            i += 1
        else:
            j += 1
    return shared
