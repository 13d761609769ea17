"""Tables from data frames and dicts compare as the same table in CSV, and large texts as small ones."""

from __future__ import annotations

import io
import re
import warnings
from random import Random
from typing import Any

import pytest
from tests.ragas import corpus

from assay.ragas import compare_tables
from assay.ragas.tables import frames
from assay.ragas.tables.csv import read_csv_table
from assay.ragas.tables.frames import as_table
from assay.ragas.tables.numbers import may_hold_huge_numbers
from many_cases import each

pandas = pytest.importorskip("pandas")


def held(text: str, library: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = pandas.read_csv(io.StringIO(text))
    cells = {name: [None if pandas.isna(cell) else cell for cell in table[name].tolist()] for name in table.columns}
    if library == "polars":
        return pytest.importorskip("polars").DataFrame(cells, strict=False)
    if library == "arrow":
        pyarrow = pytest.importorskip("pyarrow")
        return pyarrow.table({name: pyarrow.array(column) for name, column in cells.items()})
    return cells if library == "dicts" else table


@each("library", ["pandas", "polars", "arrow", "dicts"])
def test_frames_score_as_their_csv(library: str) -> None:
    chance = Random(library)
    for _ in range(60):
        pair = corpus.pair(chance, huge=False)
        ours = compare_tables(*(held(text, library) for text in pair))
        theirs = compare_tables(*pair)
        assert (ours.paired_rows, ours.reference_columns) == (theirs.paired_rows, theirs.reference_columns)
        typed = [c.name for c in theirs.columns if {c.reference_kind, c.response_kind} <= {"number"}]
        for name in typed:
            [left], [right] = ([c for c in each.columns if c.name == name] for each in (ours, theirs))
            assert left.unequal == right.unequal


@each("seed", range(4))
def test_a_large_text_is_the_table_that_a_small_one_is(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_LARGE", 0)
    chance = Random(seed)
    for _ in range(60):
        for text in corpus.pair(chance):
            large, small = as_table(text), read_csv_table(text)
            assert [(c.name, c.kind) for c in large.columns] == [(c.name, c.kind) for c in small.columns], text
            assert [list(map(str, c.cells)) for c in large.columns] == [list(map(str, c.cells)) for c in small.columns]


def test_what_releases_of_pandas_read_differently_is_found() -> None:
    chance = Random(1)
    wanted = re.compile(r"(?<![0-9.])[0-9]{19}|[eE][+-]?[0-9]{3}")
    signs = ["1", "12345678", "0", ".", "e", "E", "+", "-", ",", "x", "\n"]
    held = 0
    for _ in range(5_000):
        text = "".join(chance.choice(signs) for _ in range(chance.randint(0, 14)))
        assert may_hold_huge_numbers(text) == bool(wanted.search(text)), text
        held += may_hold_huge_numbers(text)
    assert held > 100
