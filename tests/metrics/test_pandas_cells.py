"""Cells of CSV as pandas reads them, against pandas itself."""

from __future__ import annotations

import csv
import math
import sqlite3
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from assay.cases.given.files import ResultFiles, of_answer, of_gold
from assay.metrics.pandas_cells import pandas_result, written_by_pandas
from assay.metrics.spider2 import Spider2Lite
from assay.model import Case, CaseOptions, Cell, GivenResult, Prediction, Result
from assay.ports import Executions
from many_cases import each

pandas = pytest.importorskip("pandas")
from tests.given.spider2_script import score_of  # noqa: E402

POOLS = (
    ["1", "-2", "+3", "007", "10"],
    ["1", "2.50", ".5", "5.", "1e3", "-inf", "+inf", "Infinity", " 7"],
    ["True", "False", "TRUE", "false"],
    ["a", "True", "1", " ", "0x1", "1_000", "1,000", "2024-01-31"],
    ["9223372036854775807", "1"],
)
ABSENT = ["", "NA", "N/A", "nan", "NaN", "None", "NULL", "null", "#N/A", "<NA>", "n/a", "-nan"]


def _tables() -> list[list[list[str]]]:
    random = Random(20)
    tables = []
    for _ in range(150):
        pools = [random.choice(POOLS) for _ in range(random.choice((1, 1, 2, 3)))]
        holes = random.choice((0, 0, 0.4, 1))
        tables.append(
            [
                [random.choice(ABSENT if random.random() < holes else pool) for pool in pools]
                for _ in range(random.choice((1, 2, 4)))
            ]
        )
    return tables


def test_every_table_is_read_as_pandas_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    for rows in _tables():
        with file.open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([[f"c{at}" for at in range(len(rows[0]))], *rows])
        theirs = pandas.read_csv(file).values.tolist()
        ours = pandas_result(ResultFiles(tmp_path, of_answer).read("r.csv").result()).rows
        assert list(map(list, ours)) == [[None if pandas.isna(cell) else cell for cell in row] for row in theirs], rows
        assert [type(cell) for row in ours for cell in row if cell is not None] == [
            type(cell) for row in theirs for cell in row if not pandas.isna(cell)
        ]


@each("text", ["c\n\n1\n1\n", "c\n1\n1\n\n", "\nc\n1\n\n\n1", "c\n1\n \n1", 'c\r\n1\r\n\r\n""\r\n'])
def test_blank_lines_are_no_rows_and_blank_texts_are(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.csv").write_bytes(text.encode())
    ours = pandas_result(ResultFiles(tmp_path, of_answer).read("r.csv").result())
    assert len(ours.rows) == len(pandas.read_csv(tmp_path / "r.csv"))


def _score(gold: list[Cell], predicted: list[Cell], *, ignore_order: bool) -> float | None:
    results = [GivenResult.of([(cell,) for cell in side], columns=("c",), cells="text") for side in (gold, predicted)]
    case = Case(id="1", question="?", results=(results[0],), options=CaseOptions(ignore_order=ignore_order))
    prediction = Prediction(case_id="1", result=results[1])
    executions = Executions(golds=(results[0].execution(),), predicted=results[1].execution())
    return Spider2Lite().score(case, prediction, executions, None).value


@each("ignore_order", [True, False])
@each(
    ("gold", "predicted", "value"),
    [
        (["False", "True"], ["", "True"], 1.0),
        (["0", "1"], ["N/A", "1"], 1.0),
        ([None, "1", "1"], ["1", "1", None], 1.0),
        (["null", "a"], ["None", "a"], 1.0),
        (["7"], ["007"], 1.0),
        (["inf"], ["Infinity"], 1.0),
        (["False", "True"], ["a", "True"], 0.0),
        (["1", "1"], ["1", "1", ""], 0.0),
    ],
)
def test_columns_score_as_published(gold: list[Cell], predicted: list[Cell], value: float, ignore_order: bool) -> None:
    assert _score(gold, predicted, ignore_order=ignore_order) == value


TYPED: tuple[Cell, ...] = (
    *(None, 0, 1, 7, 10**12, 1.5, 2.0, 0.004, float("inf"), "1", "007", "1.0"),
    *("NA", "null", "", " ", "True", "abc", "1,000", "a\nb", "é", "2024-01-31"),
)


def test_what_a_query_returns_is_scored_as_the_script_does_that_writes_it_to_a_file(tmp_path: Path) -> None:
    """Rows with types, among them NULL, texts that pandas takes for numbers or for NaN, and columns of mixed types."""
    random, seen = Random(21), set()
    for _ in range(80):
        width, pools = random.choice((1, 1, 2)), [random.sample(TYPED, random.choice((1, 2, 4))) for _ in range(2)]
        rows = [tuple(map(random.choice, pools[:width])) for _ in range(random.choice((1, 2, 4)))]
        columns = tuple(f"c{at}" for at in range(width))
        connection = sqlite3.connect(":memory:")
        connection.execute(f"CREATE TABLE t ({', '.join(columns)})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * width)})", rows)
        pandas.read_sql_query("SELECT * FROM t", connection).to_csv(tmp_path / "p.csv", index=False)
        connection.close()
        gold = [[random.choice(TYPED) if random.random() < 0.1 else cell for cell in row] for row in rows]
        with (tmp_path / "g.csv").open("w", newline="", encoding="utf-8") as out:
            csv.writer(out, lineterminator="\n").writerows([columns, *gold])
        ignore_order = random.random() < 0.5
        given = ResultFiles(tmp_path, of_gold).read("g.csv")
        ran = given.execution()
        returned = replace(ran, result=Result(columns=columns, rows=tuple(rows)))
        case = Case(id="1", question="?", results=(given,), options=CaseOptions(ignore_order=ignore_order))
        prediction = Prediction(case_id="1", query="SELECT * FROM t")
        score = Spider2Lite().score(case, prediction, Executions(golds=(ran,), predicted=returned), None).value
        assert score == score_of(tmp_path, "g", tmp_path / "p.csv", [], ignore_order=ignore_order), (rows, gold)
        seen.add(score)
    assert seen == {0.0, 1.0}


DAY, NIGHT = datetime(2024, 1, 31), datetime(2024, 1, 31, 3)  # noqa: DTZ001 - as engines give them


@each(
    "column",
    [
        [DAY, DAY],
        [DAY, None],
        [DAY, NIGHT],
        [DAY.replace(microsecond=500_000), None, NIGHT],
        [DAY.replace(microsecond=12), NIGHT],
        [NIGHT.replace(tzinfo=UTC)],
        [DAY.replace(tzinfo=UTC)],
        [date(2024, 1, 31), None],
        [DAY, "a"],
        [b"ab", None],
        [1.5, 2.0, 1e16, math.inf],
        [True, False],
    ],
)
def test_what_a_query_returns_is_written_as_by_pandas(tmp_path: Path, column: list[Cell]) -> None:
    """Also timestamps, which pandas writes as dates where none has a time of day."""
    rows = tuple((at, cell) for at, cell in enumerate(column))
    pandas.DataFrame(rows, columns=["at", "c"]).to_csv(tmp_path / "p.csv", index=False)
    with (tmp_path / "p.csv").open(newline="", encoding="utf-8") as file:
        theirs = list(csv.reader(file))[1:]
    ours = written_by_pandas(Result(columns=("at", "c"), rows=rows))
    assert [list(row) for row in ours.rows] == theirs
