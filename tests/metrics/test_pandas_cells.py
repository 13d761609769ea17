"""Cells of CSV as pandas reads them, against pandas itself."""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random

import pytest

from assay.cases.given.files import ResultFiles, of_answer
from assay.metrics.pandas_cells import pandas_result
from assay.metrics.spider2 import Spider2Lite
from assay.model import Case, CaseOptions, Cell, GivenResult, Prediction
from assay.ports import Executions

pandas = pytest.importorskip("pandas")

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


@pytest.mark.parametrize("text", ["c\n\n1\n1\n", "c\n1\n1\n\n", "\nc\n1\n\n\n1", "c\n1\n \n1", 'c\r\n1\r\n\r\n""\r\n'])
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


@pytest.mark.parametrize("ignore_order", [True, False])
@pytest.mark.parametrize(
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
def test_two_columns_of_csv_score_as_in_the_benchmark(
    gold: list[Cell], predicted: list[Cell], value: float, ignore_order: bool
) -> None:
    assert _score(gold, predicted, ignore_order=ignore_order) == value
