"""Periods of time: what each form means in days, and how two selections of time relate."""

from __future__ import annotations

import random
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.model.cases.selection import TimeRange
from assay.sdmx.errors import SelectionError
from assay.sdmx.periods import (
    compare_time,
    ends_before_start,
    intersection,
    merged_days,
    next_period,
    parse_period,
    previous_period,
    ranges_of,
)

YEARS = st.integers(1995, 2005)
PERIODS = st.one_of(
    YEARS.map(str),
    st.builds(lambda year, month: f"{year}-{month:02}", YEARS, st.integers(1, 12)),
    st.dates(date(1995, 1, 1), date(2005, 12, 31)).map(date.isoformat),
    st.builds(lambda year, quarter: f"{year}-Q{quarter}", YEARS, st.integers(1, 4)),
    st.builds(lambda year, half: f"{year}-S{half}", YEARS, st.integers(1, 2)),
    st.builds(lambda year, third: f"{year}-T{third}", YEARS, st.integers(1, 3)),
    st.builds(lambda year, month: f"{year}-M{month:02}", YEARS, st.integers(1, 12)),
    st.builds(lambda year, week: f"{year}-W{week:02}", YEARS, st.integers(1, 52)),
    st.builds(lambda year, day: f"{year}-D{day:03}", YEARS, st.integers(1, 365)),
    YEARS.map(lambda year: f"{year}-A1"),
)
RANGES = st.builds(TimeRange, start=st.none() | PERIODS, end=st.none() | PERIODS)
CLOSED = st.builds(
    lambda one, other: TimeRange(start=min(one, other), end=max(one, other)), YEARS.map(str), YEARS.map(str)
)
SEVERAL = st.lists(RANGES, min_size=1, max_size=4).map(tuple)


def span(start: str | None = None, end: str | None = None) -> TimeRange:
    return TimeRange(start=start, end=end)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2015", date(2015, 1, 1), date(2015, 12, 31)),
        ("9999", date(9999, 1, 1), date(9999, 12, 31)),
        ("2016-02", date(2016, 2, 1), date(2016, 2, 29)),
        ("2015-12", date(2015, 12, 1), date(2015, 12, 31)),
        ("2015-03-01", date(2015, 3, 1), date(2015, 3, 1)),
        ("2015-03-01T23:59:59.5+02:00", date(2015, 3, 1), date(2015, 3, 1)),
        ("2015Z", date(2015, 1, 1), date(2015, 12, 31)),
        ("2015-A1", date(2015, 1, 1), date(2015, 12, 31)),
        ("2015-S2", date(2015, 7, 1), date(2015, 12, 31)),
        ("2015-T2", date(2015, 5, 1), date(2015, 8, 31)),
        ("2015-Q1", date(2015, 1, 1), date(2015, 3, 31)),
        ("2015-M03", date(2015, 3, 1), date(2015, 3, 31)),
        ("2015-W01", date(2014, 12, 29), date(2015, 1, 4)),
        ("2015-W53", date(2015, 12, 28), date(2016, 1, 3)),
        ("2015-D032", date(2015, 2, 1), date(2015, 2, 1)),
        ("2016-D366", date(2016, 12, 31), date(2016, 12, 31)),
        ("2015M01", date(2015, 1, 1), date(2015, 1, 31)),
        ("2015M1", date(2015, 1, 1), date(2015, 1, 31)),
        ("2015Q1", date(2015, 1, 1), date(2015, 3, 31)),
        ("2015H2", date(2015, 7, 1), date(2015, 12, 31)),
        ("2015-H2", date(2015, 7, 1), date(2015, 12, 31)),
        ("2015W5", date(2015, 1, 26), date(2015, 2, 1)),
        ("2015D032Z", date(2015, 2, 1), date(2015, 2, 1)),
        ("2015-01-01/P1Y", date(2015, 1, 1), date(2015, 12, 31)),
        ("2015-01-31/P1M", date(2015, 1, 31), date(2015, 2, 27)),
        ("2016-02-29/P1Y", date(2016, 2, 29), date(2017, 2, 27)),
        ("2015-01-01/P1Y2M10DT2H30M", date(2015, 1, 1), date(2016, 3, 11)),
        ("2015-01-01T12:00:00/PT12H", date(2015, 1, 1), date(2015, 1, 1)),
        ("2015-01-01T12:00:00/PT13H", date(2015, 1, 1), date(2015, 1, 2)),
        ("2015-01-01T00:00:00+02:00/P2W", date(2015, 1, 1), date(2015, 1, 14)),
        ("9999-01-01/P1Y", date(9999, 1, 1), date(9999, 12, 31)),
        ("2015-01/2015-06", date(2015, 1, 1), date(2015, 6, 30)),
        ("2015Q1/2015Q2", date(2015, 1, 1), date(2015, 6, 30)),
    ],
)
def test_a_period_is_read_as_its_days(text: str, first: date, last: date) -> None:
    period = parse_period(text)
    assert (period.first, period.after) == (first.toordinal(), last.toordinal() + 1)


@pytest.mark.parametrize(
    "text",
    [
        *["", "15", "0000", "-2015", "2015 ", "٢٠١٥", "soon", "last year", "2015-13", "2015-02-30"],
        *["2015-Q5", "2015-Q0", "2015-W54", "2016-W53", "2015-D366", "2015-D000", "2015-A2", "2015-M3", "2015-M13"],
        *["2015Q5", "2015Q01", "2015X1", "2015M13", "2015q1", "2015-03-01T25:00:00"],
        *["2015-01-01/P", "2015-01-01/PT", "2015-01-01/P0D", "2015/P1Y", "2015-01-01/P99999Y", "2016/2015", "/P1Y"],
        *["2015-01-01/P1Y/P1Y", "2015-01-01/-P1Y", "2015-02-30/P1Y", "2015-01-01/P9999999D"],
    ],
)
def test_what_is_no_period_is_not_read(text: str) -> None:
    assert parse_period(text) is None


@pytest.mark.parametrize(
    ("text", "following"),
    [
        ("2015", "2016"),
        ("2015-12", "2016-01"),
        ("2015-02-28", "2015-03-01"),
        ("2015-A1", "2016-A1"),
        ("2015-Q4", "2016-Q1"),
        ("2015-S1", "2015-S2"),
        ("2015-T3", "2016-T1"),
        ("2015-M09", "2015-M10"),
        ("2015-W53", "2016-W01"),
        ("2016-D366", "2017-D001"),
    ],
)
def test_the_neighbour_has_the_same_frequency(text: str, following: str) -> None:
    assert next_period(text) == following
    assert previous_period(following) == text


def test_the_neighbour_of_a_range_is_the_day_beside_it() -> None:
    assert (previous_period("2015-01-01/P1Y"), next_period("2015-01-01/P1Y")) == ("2014-12-31", "2016-01-01")
    assert next_period("2015Q4") == "2016-Q1", "as SDMX writes it"


@given(st.dates(date(1990, 1, 1), date(2030, 12, 31)), st.integers(1, 800))
def test_a_range_of_days_has_so_many_days_and_months_go_to_the_same_day(start: date, days: int) -> None:
    whole = parse_period(f"{start}/P{days}D")
    assert whole.after - whole.first == days
    year = parse_period(f"{start}/P1Y")
    months = parse_period(f"{start}/P12M")
    assert (year.first, year.after) == (months.first, months.after)
    assert compare_time((span(f"{start}/P{days}D", f"{start}/P{days}D"),), (span(str(start)),))[0] == "overlap"


@pytest.mark.parametrize(("step", "text"), [(next_period, "9999"), (previous_period, "0001-Q1"), (next_period, "soon")])
def test_a_neighbour_that_does_not_exist_is_an_error(step, text: str) -> None:
    with pytest.raises(SelectionError, match="period"):
        step(text)


@given(PERIODS)
def test_going_on_and_back_leads_home(text: str) -> None:
    assert previous_period(next_period(text)) == text


def test_adjacent_periods_of_one_frequency_become_one_range() -> None:
    assert ranges_of(["2016", "2015", "2018", "2015"]) == (span("2015", "2016"), span("2018", "2018"))
    assert ranges_of(["2015-Q4", "2016-Q1", "2016"]) == (span("2015-Q4", "2016-Q1"), span("2016", "2016"))
    assert ranges_of(["soon", "2015"]) == (span("2015", "2015"), span("soon", "soon"))


@given(st.lists(PERIODS, max_size=8))
def test_joining_periods_keeps_their_days(periods: list[str]) -> None:
    assert merged_days(ranges_of(periods)) == merged_days([span(one, one) for one in periods])


@given(SEVERAL)
def test_merging_is_idempotent(ranges: tuple[TimeRange, ...]) -> None:
    merged = merged_days(ranges)
    assert merged is not None
    again = [
        span(
            None if first is None else date.fromordinal(first).isoformat(),
            None if after is None else date.fromordinal(after - 1).isoformat(),
        )
        for first, after in merged
    ]
    assert merged_days(again) == merged


@given(SEVERAL, SEVERAL)
def test_comparing_is_symmetric_where_both_restrict_time(one, other) -> None:
    state, share = compare_time(one, other)
    if state in ("exact", "overlap", "disjoint"):
        assert compare_time(other, one) == (state, share)
    assert share is None or 0 <= share <= 1
    assert (share == 1.0) == (state == "exact")


@given(SEVERAL)
def test_a_selection_of_time_is_exactly_itself(ranges: tuple[TimeRange, ...]) -> None:
    assert compare_time(ranges, ranges) == ("exact", 1.0)
    assert compare_time(ranges, tuple(reversed(ranges))) == ("exact", 1.0)


@given(CLOSED, CLOSED)
def test_an_intersection_has_the_days_of_both(one: TimeRange, other: TimeRange) -> None:
    days = [
        {day for first, after in merged_days(ranges) or () for day in range(first or 0, after or 0)}
        for ranges in ((one,), (other,), intersection((one,), (other,)))
    ]
    assert days[2] == days[0] & days[1]


@pytest.mark.parametrize(
    ("target", "selected", "expected"),
    [
        (None, (span("2015", "2020"),), ("not_judged", None)),
        (None, None, ("not_judged", None)),
        ((), None, ("exact", 1.0)),
        ((), (), ("exact", 1.0)),
        ((), (span(),), ("exact", 1.0)),
        ((), (span("2015", None),), ("unexpected", None)),
        ((span("2015"),), None, ("missing", None)),
        ((span("2015"),), (), ("missing", None)),
        ((span("2015", "2020"),), (span("2015-01", "2020-12"),), ("exact", 1.0)),
        ((span("2015", "2020"),), (span("2015", "2017"), span("2018-Q1", "2020-Q4")), ("exact", 1.0)),
        ((span("2015", None),), (span("2015-01-01", None),), ("exact", 1.0)),
        ((span("2015", "2016"),), (span("2016", None),), ("overlap", None)),
        ((span("2001", "2003"),), (span("2002", "2003"),), ("overlap", 730 / 1095)),
        ((span("2015", "2016"),), (span("2017", "2018"),), ("disjoint", 0.0)),
        ((span("2015", "2016"),), (span("2017", None),), ("disjoint", None)),
        ((span("2015", "2016"),), (span("2016", "2015"),), ("disjoint", 0.0)),
        ((span("FY15", "FY16"),), (span("FY15", "FY16"),), ("exact", 1.0)),
        ((span("FY15", "FY16"),), (span("2015", "2016"),), ("disjoint", None)),
    ],
)
def test_how_two_selections_of_time_relate(target, selected, expected) -> None:
    assert compare_time(target, selected) == expected


def test_bounds_that_exclude_one_another_leave_no_day() -> None:
    (empty,) = intersection((span("2020", None),), (span(None, "2015"),))
    assert ends_before_start(empty)
    assert merged_days([empty]) == ()


def test_ranges_of_many_periods_have_the_days_of_each_and_no_others() -> None:
    """Also of durations, of which one may lie within another."""
    chance = random.Random(20)
    for _ in range(300):
        starts = [date(2015, 1, 1) + timedelta(days=chance.randrange(200)) for _ in range(chance.randint(1, 5))]
        written = [f"{start}/P{chance.choice(['3M', '40D', '1D', '2W', '1Y'])}" for start in starts]
        written += chance.sample(["2015", "2015-03", "2015-04", "2015-Q1", "2015-02-03", "2015-02-04"], 2)
        alone = [TimeRange(start=text, end=text) for text in written]
        assert merged_days(ranges_of(written)) == merged_days(alone), written
