"""Tables from data frames and dicts compare as the same table in CSV, and so does a text with quotes."""

from __future__ import annotations

import io
import warnings
from random import Random
from typing import Any

import pytest
from tests.ragas import corpus

from assay.errors import InputError
from assay.ragas import compare_tables, tables
from assay.ragas.csv_text import read_csv

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


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "dicts"])
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


@pytest.mark.parametrize("seed", range(4))
def test_pandas_reads_a_large_text_as_the_same_table(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance = Random(f"large {seed}")
    read_by_pandas = 0
    for _ in range(150):
        pair, options = corpus.pair(chance), corpus.options(chance)
        read_by_pandas += sum(tables._read_by_pandas(text) is not None for text in pair)
        compared = list[str]()
        for least in (1_000_000, 0):
            monkeypatch.setattr(tables, "_LARGE", least)
            try:
                compared.append(repr(compare_tables(*pair, **options)))
            except InputError as error:
                compared.append(str(error))
        assert compared[0] == compared[1], pair
    assert read_by_pandas > 100


@pytest.mark.parametrize(
    "number", ["18446744073709551615", "-9223372036854775808", "1e400", "1.E-400", "-1e+1234567890123"]
)
def test_a_text_with_a_huge_number_is_not_read_by_pandas(number: str) -> None:
    assert tables._read_by_pandas("a,b\n1,2\n3.5,0.0001234567890123456789\n") is not None
    for text in (f"a,b\n1,{number}\n", f"a,b\n{number},1\n", f'a,b\r\n"{number}",1', f"a,b\n1, {number} "):
        assert tables._read_by_pandas(text) is None


@pytest.mark.parametrize("seed", range(4))
def test_a_text_is_the_same_table_with_and_without_quotes(seed: int) -> None:
    """Even texts without quotes are split at once; one quoted name has the text read row by row."""
    chance = Random(seed)
    held = 0
    for _ in range(200):
        for text in corpus.pair(chance):
            name, comma, rest = text.partition(",")
            if '"' in text or not comma or "\n" in name:
                continue
            held += 1
            names, columns = read_csv(text)
            quoted = read_csv(f'"{name}",{rest}')
            assert (names, list(map(list, columns))) == (quoted[0], list(map(list, quoted[1])))
    assert held > 100
