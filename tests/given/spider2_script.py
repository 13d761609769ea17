"""What the script of Spider 2.0-lite does with result tables, in our words, by pandas: the oracle of `spider2_lite`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas


def score_of(folder: Path, case_id: str, prediction: Path, condition_cols: Any, *, ignore_order: bool = True) -> int:
    """The score of one prediction's table against the results of a case in ``folder``. Every error is 0."""
    named = re.compile(rf"{re.escape(case_id)}(_[a-z])?\.csv")
    files = sorted(file for file in folder.iterdir() if named.fullmatch(file.name))
    try:
        predicted = _columns(pandas.read_csv(prediction))
        for index, file in enumerate(files):
            gold = pandas.read_csv(file)
            if wanted := _wanted(condition_cols, index, files, case_id):
                gold = gold.iloc[:, wanted]
            if all(any(_alike(ours, theirs, ignore_order) for theirs in predicted) for ours in _columns(gold)):
                return 1
    except Exception:  # noqa: BLE001 - as the script has it
        return 0
    return 0


def _wanted(said: Any, index: int, files: Sequence[Path], case_id: str) -> list[int]:
    """The columns of one result that count; none: all."""
    if said in (None, [], [[]], [None]):
        return []
    if [file.name for file in files] == [f"{case_id}.csv"]:
        wanted: list[int] = said  # as it is written, so that a list of lists fails
    elif len(files) == 1 and not isinstance(said[0], list):
        wanted = [said[0]] if said[0] else []
    elif all(isinstance(one, list) for one in said):
        wanted = said[index]
    else:
        wanted = said
    return wanted


def _columns(table: Any) -> list[list[Any]]:
    return [[0 if pandas.isna(cell) else cell for cell in column] for column in table.transpose().values.tolist()]


def _alike(gold: list[Any], predicted: list[Any], ignore_order: bool) -> bool:
    if len(gold) != len(predicted):
        return False
    if ignore_order:
        gold, predicted = (
            sorted(column, key=lambda cell: (str(cell), isinstance(cell, (int, float)))) for column in (gold, predicted)
        )
    return all(map(_same, gold, predicted))


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, (int, float)) and isinstance(two, (int, float)):
        return math.isclose(float(one), float(two), abs_tol=0.01)
    return bool(one == two)
