"""What ragas computes with datacompy's current release, by ragas' formulas, for frames or CSV texts."""

from __future__ import annotations

import io
import math
import warnings
from typing import Any

import pytest

pandas = pytest.importorskip("pandas")
datacompy = pytest.importorskip("datacompy")


def frame(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pandas.read_csv(io.StringIO(text))


def comparison(reference: Any, response: Any, **options: Any) -> Any:
    if "join_columns" not in options:
        options["on_index"] = True
    with warnings.catch_warnings():
        # Newer releases of pandas deprecate what datacompy does: no concern of these tests.
        warnings.simplefilter("ignore")
        return datacompy.PandasCompare(reference.copy(), response.copy(), **options)


def numbers(compared: Any) -> dict[tuple[str, str], float]:
    """ragas' six numbers; NaN where it divides by zero."""
    counts = compared.count_matching_rows()
    columns = len([column for column in compared.column_stats if column["unequal_cnt"] == 0])
    found = {}
    for mode, right, axis in (("rows", counts, 0), ("columns", columns, 1)):
        recall, precision = _over(right, compared.df1.shape[axis]), _over(right, compared.df2.shape[axis])
        found[mode, "precision"], found[mode, "recall"] = precision, recall
        found[mode, "f1"] = _over(2 * (precision * recall), precision + recall)
    return found


def _over(part: float, whole: float) -> float:
    return float(part) / float(whole) if whole else math.nan
