"""The JSON report: valid for any cell, and lossless."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import NoReturn

from msgspec.structs import replace

from assay.model import AlignedRow, Evidence, Run
from assay.reports.json.run import JsonReporter


def parse(text: bytes) -> dict[str, object]:
    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is not JSON")

    document = json.loads(text, parse_constant=refuse)
    assert isinstance(document, dict)
    return document


def test_the_report_is_json_whatever_the_run_holds(hostile_run: Run) -> None:
    document = parse(JsonReporter().render(hostile_run))
    first = document["cases"][0]  # type: ignore[index]
    assert first["comparison"]["aligned"][0]["gold"][1] == {"type": "float", "text": "nan"}
    assert first["case"]["question"].endswith("\\ud800")


def test_any_cell_in_a_row_keeps_the_document_valid(build_run: Callable[..., Run], wrong_case: Evidence) -> None:
    cells = (float("nan"), float("inf"), "\ud800", b"\xff", 2**70, Decimal("NaN"), object)
    assert wrong_case.comparison is not None
    comparison = replace(wrong_case.comparison, aligned=(AlignedRow(state="missing", gold=cells),))
    document = parse(JsonReporter().render(build_run([replace(wrong_case, comparison=comparison)])))
    row = document["cases"][0]["comparison"]["aligned"][0]  # type: ignore[index]
    assert [cell["type"] for cell in row["gold"]] == ["float", "float", "text", "bytes", "integer", "decimal", "type"]
    assert row["predicted"] is None
