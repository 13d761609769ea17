"""Compare the figures of a run's workbook with those of its JSON report."""

from __future__ import annotations

import io
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

import pytest
from python_calamine import CalamineWorkbook

from assay.reports.excel.columns import READABLE

TITLES = {
    "match": "Percent Correct Queries",
    "percent_subset": "Percent Subset",
    "denodo_percent_subset": "Percent Subset",
    "percent_overlap": "Percent Overlap",
    "results_match": "Results Match",
    "same_row_count": "Have Same Row Count",
    "same_column_count": "Have Same Column Count",
    "bird_soft_f1": "Bird Standard F1",
    "ves": "VES Score",
}


DETAILS = TITLES | {"match": "Results Match", "percent_subset": "Subsetting Percentage"}
"""In the sheet of the cases; `match` has its own name there beside `results_match`."""


def sheets(content: bytes) -> dict[str, list[list[Any]]]:
    """The cells of every sheet."""
    with CalamineWorkbook.from_filelike(io.BytesIO(content)) as workbook:
        return {name: workbook.get_sheet_by_name(name).to_python() for name in workbook.sheet_names}


def agree(content: bytes, report: Mapping[str, Any]) -> int:
    """Check every figure that both have; returns how many figures were compared."""
    found = sheets(content)
    compared = _settings(found["Settings"], report)
    compared += _metrics(found.get("Summary") or found["Statistics"], report)
    compared += _cases(found.get("Details") or found["Overview"], report)
    if "Summary" in found:
        compared += _summary(found["Summary"], report) + _results(found["Summary"], report)
    return compared


def _same(cell: object, value: float | None) -> None:
    # XlsxWriter writes 16 digits, of which Excel keeps 15.
    assert cell == ("" if value is None else pytest.approx(value, rel=1e-14))


def _rates(group: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {one["metric"]: one["rate"] for one in group["metrics"]}


def _summary(rows: list[list[Any]], report: Mapping[str, Any]) -> int:
    """The table at the top: a row per difficulty, then Overall."""
    numbers = report["aggregates"]
    head, compared = rows[0], 0
    for row, group in zip(rows[1:], [*numbers["by_difficulty"], numbers["overall"]], strict=False):
        cells = dict(zip(head, row, strict=True))
        assert cells["Difficulty"] == ("Overall" if group["kind"] == "all" else group["name"] or "no difficulty")
        assert cells["Number of Samples"] == group["cases"]
        for metric, rate in _rates(group).items():
            _same(cells[TITLES.get(metric, READABLE.get(metric, metric))], rate["value"])
            compared += 1
        if "Scored" in cells:
            assert cells["Scored"] == _rates(group)["match"]["n"]
    assert dict(zip(head, row, strict=True))["Percent Correct Queries"] == pytest.approx(report["headline"]["value"])
    return compared


def _results(rows: list[list[Any]], report: Mapping[str, Any]) -> int:
    """The counts below the pie."""
    start = next(place for place, row in enumerate(rows) if row[:2] == ["Result", "Answers"])
    counts = {row[0]: row[1] for row in rows[start + 1 : start + 4]}
    assert counts == {name: report["aggregates"][name] for name in ("correct", "incorrect", "unscored")}
    return 3


def _metrics(rows: list[list[Any]], report: Mapping[str, Any]) -> int:
    """The table of all metrics with their intervals."""
    start = next(place for place, row in enumerate(rows) if row[:4] == ["Metric", "Value", "Low", "High"])
    table = {row[0]: row[1:6] for row in takewhile(lambda row: row[0] != "", rows[start + 1 :])}
    rates = _rates(report["aggregates"]["overall"])
    for metric, rate in rates.items():
        for cell, name in zip(table[metric], ("value", "low", "high", "n", "unscored"), strict=True):
            _same(cell, rate[name])
    return 5 * len(rates)


def _settings(rows: list[list[Any]], report: Mapping[str, Any]) -> int:
    cells = {row[0]: row[1] for row in rows if len(row) > 1}
    start = next(place for place, row in enumerate(rows) if row[0].startswith("Headline"))
    headline = {row[0]: row[1] for row in rows[start:]}
    for name in ("cases", "correct", "incorrect", "unscored", "unanswered"):
        assert cells[name.capitalize()] == report["aggregates"][name]
    _same(headline["Value"], report["headline"]["value"])
    assert headline["Scored cases"] == report["headline"]["n"]
    return 7


def _cases(rows: list[list[Any]], report: Mapping[str, Any]) -> int:
    """Every case: its verdict and its scores."""
    head, *table = rows
    compared = 0
    assert len(table) == len(report["cases"])
    for row, case in zip(table, report["cases"], strict=True):
        cells = dict(zip(head, row, strict=True))
        verdict = cells.get("Reviewed verdict") or cells.get("Verdict") or cells.get("outcome")
        outcome = (case["reviewed"] or {}).get("outcome") or case["verdict"]["outcome"]
        assert verdict == outcome
        for score in case["scores"]:
            metric = score["metric"]
            title = next(
                (
                    one
                    for one in (metric, READABLE.get(metric), DETAILS.get(metric), metric.replace("_", " "))
                    if one in cells
                ),
                None,
            )
            if title is None:
                assert all(
                    one["value"] is None
                    for each in report["cases"]
                    for one in each["scores"]
                    if one["metric"] == metric
                )
                continue
            _same(cells[title], score["value"])
            compared += 1
    return compared
