"""What the script of Spider 2.0-lite does with result tables, in our words, by pandas: the oracle of `spider2_lite`."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path
from typing import Any

import pandas


def score_of(folder: Path, case_id: str, prediction: Path, condition_cols: Any, *, ignore_order: Any = True) -> int:
    """The score of one prediction's table against the results of a case in ``folder``. Every error is 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas' own, which tests would take for errors
        return _score_of(folder, case_id, prediction, condition_cols, ignore_order)


def _score_of(folder: Path, case_id: str, prediction: Path, condition_cols: Any, ignore_order: Any) -> int:
    try:
        predicted = pandas.read_csv(prediction)
        plain = folder / f"{case_id}.csv"
        if plain.exists():
            return _compared(predicted, pandas.read_csv(plain), condition_cols, ignore_order)
        named = re.compile(rf"{re.escape(case_id)}(_[a-z])?\.csv")
        golds = [
            pandas.read_csv(folder / name)
            for name in sorted(file.name for file in folder.iterdir() if named.fullmatch(file.name))
        ]
        lists = condition_cols
        if lists in (None, [], [[]], [None]):
            lists = [[] for _ in golds]
        elif len(golds) > 1 and not all(isinstance(each, list) for each in lists):
            lists = [lists for _ in golds]
        return int(any(_compared(predicted, gold, lists[index], ignore_order) for index, gold in enumerate(golds)))
    except Exception:  # noqa: BLE001 - as the script has it
        return 0


def _compared(predicted: Any, gold: Any, wanted: Any, ignore_order: Any) -> int:
    if wanted:
        gold = gold.iloc[:, wanted if isinstance(wanted, list) else [wanted]]
    theirs = _columns(predicted)
    return int(all(any(_alike(column, other, ignore_order) for other in theirs) for column in _columns(gold)))


def _columns(table: Any) -> list[list[Any]]:
    return [[0 if pandas.isna(cell) else cell for cell in column] for column in table.transpose().values.tolist()]


def _alike(gold: list[Any], predicted: list[Any], ignore_order: Any) -> bool:
    if ignore_order:
        gold, predicted = (
            sorted(column, key=lambda cell: (str(cell), isinstance(cell, (int, float)))) for column in (gold, predicted)
        )
    return len(gold) == len(predicted) and all(map(_same, gold, predicted))


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, (int, float)) and isinstance(two, (int, float)):
        return math.isclose(float(one), float(two), abs_tol=0.01)
    return bool(one == two)
