"""The numbers are those of ragas with datacompy wherever these give one; 0 where they divide by zero."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.ragas import TableComparison, compare_tables

pandas = pytest.importorskip("pandas")
pytest.importorskip("datacompy")

from tests.ragas.oracle import comparison, frame, numbers  # noqa: E402 (after the skip)

MANY = settings(max_examples=100)


def assert_same(ours: TableComparison, theirs: Any) -> None:
    for (mode, measure), number in numbers(theirs).items():
        expected = 0.0 if math.isnan(number) else number
        assert ours.score(mode, measure) == pytest.approx(expected, abs=1e-12), (mode, measure)  # type: ignore[arg-type]
    assert ours.matching_rows == theirs.count_matching_rows()
    assert ours.paired_rows == len(theirs.intersect_rows)
    unequal = {column["column"]: int(column["unequal_cnt"]) for column in theirs.column_stats}
    assert {column.name: column.unequal for column in ours.columns} == unequal


KINDS = {
    "integers": st.integers(-3, 3).map(str),
    "large integers": st.sampled_from(
        ["9223372036854775807", "9223372036854775808", "18446744073709551615", "1", "-1"]
    ),
    "huge integers": st.sampled_from(["1", "99999999999999999999999", "-99999999999999999999999", "3"]),
    "floats": st.sampled_from(
        ["1", "1.0", "0.1", "0.10", "-0.0", "0", "1e3", "1000", "inf", "-INF", "1.", ".5", "5E-1"]
    ),
    "truths": st.sampled_from(["True", "False", "true", "FALSE"]),
    "dates": st.sampled_from(["2017-01-01", "2017-01-02", "2017-01-01 00:00:00"]),
    "texts": st.sampled_from(["a", "A", " a", "b ", "x,y", 'q"q', "two\nlines", "é", "1_000", "NAN", "0x1", "+", "١"]),
    "spaced numbers": st.sampled_from([" 1", "1 ", "\t2", "2", " inf", " 1.5"]),
    "anything": st.sampled_from(["1", "1.5", "True", "x", "2017-01-01"]),
}
ABSENT = st.sampled_from(["", "", "NULL", "nan", "None", "N/A", "<NA>"])
NAMES = ["a", "b", "C", "d"]
MISREAD = re.compile(r"\r[ \t]")
"""A line that ends in CR alone before one that begins with a blank: pandas gives the header as a row, or an error. That
is a fault of its reader and says nothing of how tables are compared."""


@st.composite
def columns(draw: st.DrawFn, rows: int, kinds: list[str]) -> list[str]:
    kind = draw(st.sampled_from(kinds))
    cells = KINDS[kind]
    if kind != "huge integers" and draw(st.booleans()):
        cells = cells | ABSENT
    return draw(st.lists(cells, min_size=rows, max_size=rows))


@st.composite
def texts(draw: st.DrawFn, *, large: bool = True) -> tuple[str, str]:
    """Two CSV texts whose columns are mostly of the same kinds and mostly agree."""
    sizes = draw(st.tuples(st.integers(0, 6), st.integers(0, 6)))
    longest = max(sizes)
    kinds = [kind for kind in KINDS if large or kind not in {"large integers", "huge integers"}]
    common = {name: draw(columns(longest, kinds)) for name in NAMES}
    found = []
    for size in sizes:
        names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
        own = {name: common[name][:size] for name in names}
        for name in names:
            if size and draw(st.integers(0, 2)) == 0:
                own[name] = draw(columns(size, kinds))
        spelt = [name.swapcase() if draw(st.integers(0, 3)) == 0 else name for name in names]
        text = _text(spelt, own.values(), size, draw(st.sampled_from(["\n", "\r\n", "\r"])))
        found.append(_text(spelt, own.values(), size, "\n") if MISREAD.search(text) else text)
    return found[0], found[1]


def _text(names: Any, cells: Any, size: int, end: str) -> str:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator=end)
    writer.writerow(names)
    writer.writerows(list(zip(*cells, strict=True)) if size else [])
    return buffer.getvalue()


@MANY
@given(texts())
def test_csv_texts_score_as_with_ragas(pair: tuple[str, str]) -> None:
    assert_same(compare_tables(*pair), comparison(frame(pair[0]), frame(pair[1])))


@MANY
@given(texts(), st.sampled_from([0, 1e-9, 0.1, 1, 1000]), st.sampled_from([0, 1e-9, 0.5]), st.booleans(), st.booleans())
def test_tolerances_case_and_whitespace_are_those_of_datacompy(
    pair: tuple[str, str], abs_tol: float, rel_tol: float, ignore_case: bool, ignore_spaces: bool
) -> None:
    options: dict[str, Any] = {
        "abs_tol": abs_tol,
        "rel_tol": rel_tol,
        "ignore_case": ignore_case,
        "ignore_spaces": ignore_spaces,
    }
    assert_same(compare_tables(*pair, **options), comparison(frame(pair[0]), frame(pair[1]), **options))


@st.composite
def keyed(draw: st.DrawFn) -> tuple[str, str, list[str]]:
    """Two CSV texts with one or two key columns of the same kinds, their keys often repeated."""
    keys = ["k", "K2"][: draw(st.integers(1, 2))]
    alphabets = [
        draw(st.sampled_from([["1", "2", "3", "4"], ["x", "y", "Z", "é"], ["1.5", "2", "3.0", "1"]])) for _ in keys
    ]
    found = []
    for _ in range(2):
        size = draw(st.integers(1, 6))
        cells = [draw(st.lists(st.sampled_from(letters), min_size=size, max_size=size)) for letters in alphabets]
        cells += [draw(st.lists(st.sampled_from(["1", "2"]), min_size=size, max_size=size))] * draw(st.integers(0, 1))
        found.append(_text([*keys, "v"][: len(cells)], cells, size, "\n"))
    return found[0], found[1], keys


@MANY
@given(keyed())
def test_keys_pair_rows_as_with_datacompy(case: tuple[str, str, list[str]]) -> None:
    reference, response, keys = case
    ours = compare_tables(reference, response, join_columns=keys)
    assert_same(ours, comparison(frame(reference), frame(response), join_columns=keys))


@settings(MANY, max_examples=60)
@given(texts(large=False), st.sampled_from(["pandas", "polars", "arrow", "dicts"]))
def test_frames_score_as_their_csv(pair: tuple[str, str], library: str) -> None:
    frames = [frame(text) for text in pair]
    held = [_held(each, library) for each in frames]
    ours = compare_tables(*held)
    theirs = compare_tables(*pair)
    assert (ours.paired_rows, ours.reference_columns) == (theirs.paired_rows, theirs.reference_columns)
    typed = [column.name for column in theirs.columns if {column.reference_kind, column.response_kind} <= {"number"}]
    for name in typed:
        [left], [right] = ([c for c in each.columns if c.name == name] for each in (ours, theirs))
        assert left.unequal == right.unequal


def _held(table: Any, library: str) -> Any:
    if library == "polars":
        polars = pytest.importorskip("polars")
        return polars.DataFrame({name: _plain(table[name]) for name in table.columns}, strict=False)
    if library == "arrow":
        pyarrow = pytest.importorskip("pyarrow")
        return pyarrow.table({name: pyarrow.array(_plain(table[name])) for name in table.columns})
    if library == "dicts":
        return {name: _plain(table[name]) for name in table.columns}
    return table


def _plain(column: Any) -> list[Any]:
    return [None if pandas.isna(cell) else cell for cell in column.tolist()]
