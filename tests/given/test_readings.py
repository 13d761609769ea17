"""Cells without types are read as the other result's types need it, and as nothing else."""

from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from math import inf, nan
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.comparison.answer import Answer
from assay.model import Cell, CellTypes, ComparisonOptions, Result, Row
from assay.scoring.queries.given_rows import in_readings
from assay.scoring.queries.gold_answers import GoldAnswer
from many_cases import each

DAY = date(2024, 1, 31)
KINDS: dict[str, st.SearchStrategy[Cell]] = {
    "integer": st.integers(-(10**20), 10**20),
    "float": st.floats(allow_nan=False, allow_infinity=False, width=64),
    "decimal": st.decimals(-(10**9), 10**9, places=3),
    "text": st.text("ab01.- ,\"'é", max_size=4).filter(lambda text: text != ""),
    "code": st.from_regex(r"0[0-9]{2}", fullmatch=True),
    "date": st.dates(),
    "timestamp": st.datetimes(),
    "time": st.times(),
    "duration": st.timedeltas(timedelta(days=-9), timedelta(days=9)),
    "bytes": st.binary(min_size=1, max_size=4),
    "list": st.lists(st.none() | st.integers(-9, 9), max_size=3),
    "words": st.lists(st.text("ab \"{}[],'\\\\é", max_size=3), max_size=3),
    "object": st.dictionaries(st.sampled_from("ab"), st.text("ab01", max_size=2) | st.none(), max_size=2),
}


def equal(
    gold: Result, predicted: Result, *, cells: tuple[CellTypes, CellTypes] = ("text", "typed"), ordered: bool = False
) -> bool:
    answer = Answer.strict(gold) if ordered else Answer.bag(gold)
    comparison, _, _ = in_readings(
        GoldAnswer(answer=answer),
        predicted,
        cells=cells,
        boolean_is_integer=False,
        compare=lambda known, rows: known.compare(rows, ComparisonOptions(near_misses=False)),
    )
    return comparison.equal


def written(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bytes):
        return f"\\x{cell.hex()}"
    if isinstance(cell, (list, dict)):
        return json.dumps(cell)
    return repr(cell) if isinstance(cell, float) else str(cell)


@st.composite
def tables(draw: st.DrawFn) -> list[list[Cell]]:
    """Rows whose columns have one kind each, with NULL among them."""
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3))
    row = st.tuples(*(st.none() | KINDS[kind] for kind in kinds)).map(list)
    return draw(st.lists(row, min_size=1, max_size=4))


@settings(max_examples=60)
@given(tables(), st.randoms(use_true_random=False))
def test_a_table_as_csv_equals_itself_with_columns_in_any_order(table: list[list[Cell]], random: object) -> None:
    order = list(range(len(table[0])))
    random.shuffle(order)  # type: ignore[attr-defined]
    text = Result.of([[written(row[column]) for column in order] for row in reversed(table)])
    typed = Result.of(table)
    assert equal(text, typed)
    assert equal(typed, text, cells=("typed", "text"))
    assert equal(text, text, cells=("text", "text"))


@settings(max_examples=60)
@given(tables(), st.data())
def test_a_table_as_csv_does_not_equal_one_with_another_value(table: list[list[Cell]], data: st.DataObject) -> None:
    at, column = data.draw(st.tuples(st.integers(0, len(table) - 1), st.integers(0, len(table[0]) - 1)))
    changed = [list(row) for row in table]
    before = changed[at][column]
    changed[at][column] = before + "x" if isinstance(before, str) else "another"
    assert not equal(Result.of([list(map(written, row)) for row in table]), Result.of(changed))


@each(
    ("cell", "typed"),
    [
        ("007", 7),
        ("7", 7.5),
        ("1e3", 1001),
        ("1,000", 1000),
        ("+007", 7),
        ("+-7", 7),
        ("inf", -inf),
        ("infinit", inf),
        ("Inf", "inf"),
        ("nan", None),
        ("nan", 0),
        ("0.30000000000000004", Decimal("0.31")),
        ("2024-01-31", date(2024, 1, 30)),
        ("2024-01-31 00:00:01", date(2024, 1, 31)),
        ("2024-13-01", date(2024, 1, 1)),
        ("NULL", None),
        ("x", True),
        ("7", "7.0"),
        (" ", None),
        ("3", timedelta(days=3)),
        ("3 days 1", timedelta(days=3)),
        ("24:00:01", timedelta(hours=24)),
        ("12:34:56+02", time(12, 34, 56)),
        ("\\xdeab", b"\xde"),
        ("{1,2", [1, 2]),
        ("{1,2}", [2, 1]),
        ("{1,2}", ["1", "2", "3"]),
        ("[1, 2]", {"a": 1}),
        ('["1"]', [1]),
        ('{"a": 1}', {"a": 1, "b": None}),
        ("[" * 5000, [[]]),
        ("{" * 5000 + "}" * 5000, [[]]),
        ('{"a', ["a"]),
        ("[123456789012345678.13]", [Decimal(123456789012345680)]),
        ('{"id": 9007199254740993, "share": 0.1}', {"id": 9007199254740992, "share": 0.1}),
        ("{9007199254740993,0.1}", [9007199254740992, 0.1]),
        ("[1e9999999999999999999999]", [1.0]),
    ],
)
def test_a_cell_is_no_value_that_it_does_not_spell(cell: str, typed: Cell) -> None:
    assert not equal(Result.of([(cell,)]), Result.of([(typed,)]))


@each(
    ("cell", "typed"),
    [
        ("7", 7),
        ("7", 7.0),
        ("+7", 7),
        ("+7.5e0", Decimal("7.5")),
        ("+0.30000000000000004", 0.3),
        ("+351912", "+351912"),
        ("inf", inf),
        ("-Infinity", -inf),
        ("+Inf", inf),
        ("NaN", nan),
        ("inf", "inf"),
        ("nan", "nan"),
        ("7", "7"),
        ("007", "007"),
        ("7.50", Decimal("7.5")),
        (".5", 0.5),
        ("1e3", 1000),
        ("0.1", 0.1),
        ("0.30000000000000004", Decimal("0.3")),
        ("", None),
        ("", ""),
        ("True", True),
        ("f", False),
        ("2024-01-31", datetime(2024, 1, 31)),  # noqa: DTZ001 - as engines give it
        ("2024-01-31", "2024-01-31"),
        ("9007199254740993", 9007199254740993),
        ("1 year 2 mons 3 days 04:05:06.5", timedelta(days=423, hours=4, minutes=5, seconds=6.5)),
        ("1 year 2 months", timedelta(days=420)),
        ("3 days, 0:00:00", timedelta(days=3)),
        ("-1 days +02:00:00", timedelta(hours=-22)),
        ("26:00:00", timedelta(hours=26)),
        ("12:34:56+02", time(12, 34, 56, tzinfo=timezone(timedelta(hours=2)))),
        ("\\xDE\\xADab", b"\xde\xadab"),
        ("\\xdead6162", b"\xde\xadab"),
        ("\\xde\\xadab", b"\xde\xadab"),
        ("\\xDEab", b"\xdeab"),
        ("\\x00A0", b"\x00A0"),
        ("bytearray(b'\\xde\\xad')", b"\xde\xad"),
        ("{1,NULL,-3}", [1, None, -3]),
        ('{a,"b c","d,\\"e"}', ["a", "b c", 'd,"e']),
        ("{{1,2},{3,4}}", [[1, 2], [3, 4]]),
        ("{}", []),
        ("{0.1,2}", [0.1, 2.0]),
        ("{0.1,2}", [Decimal("0.1"), Decimal(2)]),
        ("{2024-01-31}", [DAY]),
        ('["2024-01-31"]', [DAY]),
        ('["2024-01-31"]', ["2024-01-31"]),
        ("[a, b c, 'd,e', NULL]", ["a", "b c", "d,e", None]),
        ("{'a': 1, 'b': [x, y]}", {"a": 1, "b": ["x", "y"]}),
        ('{"b": [1.5], "a": null}', {"a": None, "b": [Decimal("1.5")]}),
        ("[123456789012345678.12]", [Decimal("123456789012345678.12")]),
        ('{"id": 9007199254740993, "share": 0.1}', {"id": 9007199254740993, "share": 0.1}),
    ],
)
def test_a_cell_is_each_value_that_it_spells(cell: str, typed: Cell) -> None:
    assert equal(Result.of([(cell,)]), Result.of([(typed,)]))
    for gold in ("typed", "engine"):
        assert equal(Result.of([(typed,)]), Result.of([(cell,)]), cells=(gold, "text"))
    assert equal(Result.of([(cell,)]), Result.of([(cell,)]), cells=("text", "engine"))


def test_exact_numbers_stay_exact_and_floats_keep_their_tolerance() -> None:
    assert not equal(Result.of([("1234567890123.45",)]), Result.of([(Decimal("1234567890123.46"),)]))
    assert not equal(Result.of([("9007199254740993",)]), Result.of([(9007199254740992,)]))
    assert equal(Result.of([(repr(0.1 + 0.2),)]), Result.of([(0.3,)]))


def test_columns_that_may_be_either_are_read_both_ways() -> None:
    rows: list[Row] = [("1", 2), ("3", 4)]
    assert equal(Result.of([("2", "1"), ("4", "3")]), Result.of(rows))
    assert equal(Result.of([("1", "2"), ("3", "4")]), Result.of(rows))
    assert not equal(Result.of([("1", "2"), ("3", "4")]), Result.of([("1", 4), ("3", 2)]))


def test_two_csv_files_read_signs_and_words_as_numbers_only_among_numbers() -> None:
    both: tuple[CellTypes, CellTypes] = ("text", "text")
    assert equal(Result.of([("1.50",), ("inf",), ("nan",)]), Result.of([("1.5",), ("Infinity",), ("NaN",)]), cells=both)
    assert not equal(Result.of([("+351912",)]), Result.of([("351912",)]), cells=both)
    assert not equal(Result.of([("Nan",)]), Result.of([("nan",)]), cells=both)


def test_json_has_numbers_and_writes_dates_as_text() -> None:
    cells: tuple[CellTypes, CellTypes] = ("json", "typed")
    assert equal(Result.of([("2024-01-31", 1)]), Result.of([(date(2024, 1, 31), 1)]), cells=cells)
    assert equal(Result.of([("2024-01-31", 1)]), Result.of([("2024-01-31", 1)]), cells=cells)
    assert not equal(Result.of([("1",)]), Result.of([(1,)]), cells=cells)
    assert not equal(Result.of([("",)]), Result.of([(None,)]), cells=cells)


@each(
    ("ours", "theirs", "cells", "same"),
    [
        ('{"a": [1]}', {"a": [1]}, ("engine", "engine"), True),
        ('{"a": [1]}', '{"a":[1]}', ("engine", "engine"), False),
        (UUID(int=7), str(UUID(int=7)), ("engine", "engine"), True),
        (timedelta(hours=3), time(3), ("engine", "engine"), True),
        (timedelta(hours=27), time(3), ("engine", "engine"), False),
        ("03:00:00", time(3), ("engine", "engine"), False),
        ("03:00:00", time(3), ("dateless", "engine"), True),
        ("27:00:00", timedelta(hours=27), ("dateless", "engine"), True),
        ("2024-01-31", DAY, ("dateless", "engine"), True),
        ("2024-01-31", DAY, ("engine", "engine"), False),
        ("\\xde", b"\xde", ("dateless", "engine"), False),
        ("7", 7, ("dateless", "engine"), False),
        (["2024-01-31"], [DAY], ("json", "engine"), True),
        (["1"], [1], ("json", "engine"), False),
    ],
)
def test_an_engine_stays_exact(ours: Cell, theirs: Cell, cells: tuple[CellTypes, CellTypes], same: bool) -> None:
    assert equal(Result.of([(ours,)]), Result.of([(theirs,)]), cells=cells) is same
    assert equal(Result.of([(theirs,)]), Result.of([(ours,)]), cells=(cells[1], cells[0])) is same


def test_bytes_of_a_column_are_all_written_in_one_way() -> None:
    r"""``\\x00ab`` is two bytes to PostgreSQL, and three to DuckDB."""
    text = Result.of([("\\x00ab",), ("\\x00cd",)])
    assert equal(text, Result.of([(b"\x00\xab",), (b"\x00\xcd",)]))
    assert equal(text, Result.of([(b"\x00ab",), (b"\x00cd",)]))
    assert not equal(text, Result.of([(b"\x00\xab",), (b"\x00cd",)]))
    lower = Result.of([("\\x00ab",), ("\\xdeab",)])  # DuckDB's escapes are in capitals
    assert equal(lower, Result.of([(b"\x00\xab",), (b"\xde\xab",)]))
    assert not equal(lower, Result.of([(b"\x00ab",), (b"\xdeab",)]))


def test_each_column_of_lists_is_read_as_its_own() -> None:
    """Texts in one and dates in another, in whatever order the columns stand."""
    rows: list[Row] = [(["2024-01-31"], [DAY], {"a": 0.1}, [Decimal("0.1")])]
    text = Result.of([('["2024-01-31"]', "{2024-01-31}", '{"a": 0.1}', "{0.1}")])
    assert equal(text, Result.of(rows))
    assert equal(Result.of([("{2024-01-31}", '["2024-01-31"]')]), Result.of([(["2024-01-31"], [DAY])]))
    assert not equal(text, Result.of([(["2024-01-31"], [DAY], {"a": 0.1}, [Decimal("0.2")])]))
