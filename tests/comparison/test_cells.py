"""Values of drivers and callers become cells whose equality is that of the verdict: moments of zones, and maps."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
import pytz  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from assay.api.frames import as_result
from assay.comparison.cells import key_of
from assay.comparison.compare import compare
from assay.engines.execution_cache.entry import decode_execution, encode_execution
from assay.model import Cell, Execution, Result
from assay.model.results.cell_json import cell_from_json, cell_to_json
from assay.model.results.cells import (
    FrozenMap,
    MapEntries,
    cell_of_json,
    document_of,
    frozen,
    frozen_rows,
    map_of,
    settled,
)
from assay.model.results.given import GivenResult

NAMES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu", "Etc/UTC"]
ZONES: list[tzinfo] = [
    *map(ZoneInfo, NAMES),
    *map(pytz.timezone, NAMES),
    UTC,
    timezone(timedelta(hours=-3, minutes=-30)),
]
TRANSITIONS = [
    datetime(2024, 3, 31, 1, tzinfo=UTC),  # Berlin
    datetime(2024, 10, 27, 1, tzinfo=UTC),
    datetime(2024, 3, 10, 7, tzinfo=UTC),  # New York
    datetime(2024, 11, 3, 6, tzinfo=UTC),
    datetime(2024, 4, 6, 15, tzinfo=UTC),  # Lord Howe: half an hour
    datetime(2024, 10, 5, 15, 30, tzinfo=UTC),
    datetime(2024, 3, 10, 2, tzinfo=UTC),  # Casablanca: Ramadan
    datetime(2024, 4, 14, 2, tzinfo=UTC),
]
MOMENTS = st.builds(
    lambda transition, minutes: transition + timedelta(minutes=30 * minutes),
    st.sampled_from(TRANSITIONS),
    st.integers(-4, 4),
)
SHELLS: dict[str, Callable[[Any], Cell]] = {
    "plain": lambda moment: moment,
    "list": lambda moment: [1, [moment]],
    "tuple": lambda moment: (1, (moment, None)),
    "dict": lambda moment: {"a": {"b": moment}},
    "key": lambda moment: {moment: 1},
    "frozen": lambda moment: {FrozenMap({"a": moment}): 1},
    "set": lambda moment: {moment},
    "entries": lambda moment: MapEntries([("a", moment), ("a", 1)]),
}
BESIDE = datetime(2000, 1, 1, tzinfo=UTC)


def result(*moments: datetime, shell: Callable[[Any], Cell] = SHELLS["plain"]) -> Result:
    return Result(columns=("m",), rows=tuple([(shell(moment),) for moment in moments]))


@given(one=MOMENTS, two=MOMENTS, zones=st.tuples(*[st.sampled_from(ZONES)] * 2), shell=st.sampled_from(list(SHELLS)))
def test_moments_are_equal_in_any_zone(one: datetime, two: datetime, zones: tuple[tzinfo, tzinfo], shell: str) -> None:
    ours, theirs = one.astimezone(zones[0]), two.astimezone(zones[1])
    for rows, others in (((ours,), (theirs,)), ((ours, BESIDE), (BESIDE, theirs))):
        gold, predicted = result(*rows, shell=SHELLS[shell]), result(*others, shell=SHELLS[shell])
        assert compare(predicted, gold).equal == (one == two)
        for again in (pickle.loads(pickle.dumps(predicted)), msgspec.structs.replace(predicted)):
            assert compare(again, gold).equal == (one == two)


@given(moments=st.lists(MOMENTS, min_size=1, max_size=8), zone=st.sampled_from(ZONES))
def test_a_cell_is_the_same_moment_by_the_same_clock(moments: list[datetime], zone: tzinfo) -> None:
    local = [moment.astimezone(zone) for moment in moments]
    cells: list[Any] = [row[0] for row in result(*local).rows]
    assert cells == moments
    assert [str(cell) for cell in cells] == list(map(str, local))
    assert len(set(cells)) == len(set(moments))
    assert Result.of(Result.of([(cell,) for cell in cells]).rows).rows[0][0] is cells[0]
    kept = Execution(query="", status="rows", result=result(*local), row_count=len(cells), columns=("m",))
    content = encode_execution(kept)
    assert content is not None
    assert decode_execution("", content).result == kept.result
    assert GivenResult.of([(moment,) for moment in local]).result().rows == kept.result.rows  # type: ignore[union-attr]


def frames(moments: list[datetime], name: str) -> list[Any]:
    import pandas
    import polars
    import pyarrow as pa

    column = pa.array(moments, type=pa.timestamp("us", name))
    in_utc = pandas.DataFrame({"m": pandas.to_datetime(moments, utc=True)})
    return [
        pa.table({"m": column}),
        in_utc.assign(m=in_utc["m"].dt.tz_convert(name)),
        in_utc.assign(m=in_utc["m"].dt.tz_convert(name).astype(object)),
        in_utc.assign(m=in_utc["m"].astype(pandas.ArrowDtype(pa.timestamp("us", name)))),
        polars.DataFrame({"m": moments}).with_columns(polars.col("m").dt.convert_time_zone(name)),
        polars.DataFrame({"m": moments}).with_columns(polars.col("m").dt.convert_time_zone(name)).lazy(),
        [(moment.astimezone(ZoneInfo(name)),) for moment in moments],
    ]


@pytest.mark.parametrize("name", NAMES)
def test_frames_with_zones_have_the_moments(name: str) -> None:
    for module in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    moments = [transition + timedelta(minutes=30 * step) for transition in TRANSITIONS for step in range(-4, 5)]
    gold = Result.of([(moment,) for moment in moments], columns=["m"])
    for frame in frames(moments, name):
        found = as_result(frame)
        assert [row[0] for row in found.rows] == moments, type(frame)
        assert compare(found, gold).equal
    first, second = moments[10:12]
    for frame, other in zip(frames([first], name), frames([second], name), strict=True):
        assert not compare(as_result(frame), as_result(other)).equal


def test_what_is_not_a_moment_of_a_zone_stays_as_it_is() -> None:
    rows: tuple[tuple[Cell, ...], ...] = (
        (1, "a", None, datetime(2024, 1, 1), date(2024, 1, 1), [1], {"a": (1, {2})}, MapEntries([(1, 2), (1, 3)])),  # noqa: DTZ001
    )
    assert Result(columns=("a",) * 8, rows=rows).rows is rows or Result(columns=("a",) * 8, rows=rows).rows == rows
    assert all(settled(cell) is cell for cell in rows[0])
    assert Result(columns=("a",), rows=(1,)).rows == (1,)  # type: ignore[arg-type]  # a plug-in's fault


# Maps.

SIMPLE = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["", "a", "b"]), st.just(Decimal("0.5"))
)
KEYS = st.recursive(
    st.one_of(SIMPLE, st.just(float("nan")), st.sampled_from([datetime(2024, 1, 1), date(2024, 1, 1)])),  # noqa: DTZ001
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.tuples(inner, inner), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=3,
)
ENTRIES = st.lists(st.tuples(KEYS, SIMPLE), max_size=4)


def values_of(entries: list[tuple[Any, Any]], *, booleans: bool) -> list[tuple[Any, list[Any]]]:
    """Each key with its values, by the rules of `key_of`, without dictionaries of keys."""
    found: list[tuple[Any, list[Any]]] = []
    for name, value in entries:
        key, member = (key_of(cell, boolean_is_integer=booleans) for cell in (name, value))
        for other, members in found:
            if other == key:
                members.append(member)
                break
        else:
            found.append((key, [member]))
    return found


def same(one: list[tuple[Any, Any]], two: list[tuple[Any, Any]], *, booleans: bool) -> bool:
    ours, theirs = values_of(one, booleans=booleans), values_of(two, booleans=booleans)
    return len(ours) == len(theirs) and all(pair in theirs for pair in ours)


@given(one=ENTRIES, two=ENTRIES, booleans=st.booleans(), data=st.data())
def test_maps_are_equal_where_each_key_has_the_same_values_in_their_order(
    one: list[tuple[Any, Any]], two: list[tuple[Any, Any]], *, booleans: bool, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(one))
    for other in (two, shuffled, one, one[:-1]):
        keys = [key_of(map_of(entries), boolean_is_integer=booleans) for entries in (one, other)]
        assert (keys[0] == keys[1]) == same(one, other, booleans=booleans)
        assert keys[0] != keys[1] or hash(keys[0]) == hash(keys[1])


@given(entries=ENTRIES)
def test_a_map_keeps_all_entries_wherever_it_goes(entries: list[tuple[Any, Any]]) -> None:
    cell = map_of(entries)
    assert len(list(cell.items() if isinstance(cell, dict) else cell)) == len(entries)
    key = key_of(cell, boolean_is_integer=False)
    assert key == key_of(MapEntries(entries), boolean_is_integer=False)
    written = json.loads(json.dumps(cell_to_json(cell)))
    ((as_key,),) = frozen_rows([(cell,)])
    for back in (cell_from_json(written), pickle.loads(pickle.dumps(cell)), settled(cell), as_key, frozen(cell)):
        assert key_of(back, boolean_is_integer=False) == key
    hash(as_key)


@given(entries=ENTRIES, data=st.data())
def test_frozen_maps_that_are_equal_have_one_hash(entries: list[tuple[Any, Any]], data: st.DataObject) -> None:
    one, two = (frozen(map_of(pairs)) for pairs in (entries, data.draw(st.permutations(entries))))
    assert one != two or hash(one) == hash(two)


def test_maps_that_look_alike_are_not_equal_to_what_they_are_not() -> None:
    cells: list[Cell] = [
        MapEntries([("a", 1), ("a", 2)]),
        MapEntries([("a", 2), ("a", 1)]),
        {"a": 2},
        {"a": 1},
        {"a": [1, 2]},
        [("a", 1), ("a", 2)],
        {("repeated", "a"): [1, 2]},
        {1: "x"},
        {True: "x"},
        (True,),
        (1,),
    ]
    for (place, one), (other, two) in product(enumerate(cells), repeat=2):
        assert compare(Result.of([(one,)]), Result.of([(two,)])).equal == (place == other), (one, two)


def test_numbers_within_tolerance_are_equal_in_a_map_whose_keys_repeat() -> None:
    one = Result.of([(MapEntries([("a", 0.1), ("a", 2.0)]),)])
    assert compare(Result.of([(MapEntries([("a", 0.1 + 1e-16), ("a", 2.0)]),)]), one).equal
    assert not compare(Result.of([(MapEntries([("a", 2.0), ("a", 0.1 + 1e-16)]),)]), one).equal


def test_a_json_text_keeps_entries_and_digits() -> None:
    assert cell_of_json('{"a": [1, {"b": 0.10}]}') == {"a": [1, {"b": Decimal("0.10")}]}
    found = cell_of_json('{"a": 1, "b": {"c": 1, "c": 2}, "a": 2}')
    assert found == MapEntries([("a", 1), ("b", MapEntries([("c", 1), ("c", 2)])), ("a", 2)])
    assert repr(found) == "{'a': 1, 'b': {'c': 1, 'c': 2}, 'a': 2}"
    assert document_of("[" + "9" * 5000 + "]") == "[" + "9" * 5000 + "]"
    deep = ["[" * 100 + "]" * 100, "[" * 101 + "]" * 101]
    assert [type(document_of(text)) for text in deep] == [list, str]
    assert document_of(b'{"a": [1]}') == {"a": [1]}
