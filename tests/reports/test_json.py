"""The JSON report: valid for any cell, and lossless."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.model import AlignedRow, Evidence, Run
from assay.reports.json.run import JsonReporter, cell_json

CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=[])),
    st.binary(),
    st.decimals(),
    st.dates(),
    # ISO 8601 has no word for the second of two equal hours (fold), nor does a driver ever give one.
    st.times().map(lambda value: value.replace(fold=0)),
    st.datetimes().map(lambda value: value.replace(fold=0)),
    st.timedeltas(),
)


def parse(text: bytes) -> dict[str, object]:
    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is not JSON")

    document = json.loads(text, parse_constant=refuse)
    assert isinstance(document, dict)
    return document


def restored(cell: object) -> object:
    """What a reader of the documented form gets back."""
    if not isinstance(cell, dict):
        return cell
    text = cell.get("text")
    readers: dict[str, Callable[[], object]] = {
        "integer": lambda: int(str(text), 0),
        "decimal": lambda: Decimal(str(text)),
        "float": lambda: float(str(text)),
        "bytes": lambda: bytes.fromhex(cell["hex"]),
        "date": lambda: date.fromisoformat(str(text)),
        "time": lambda: time.fromisoformat(str(text)),
        "timestamp": lambda: datetime.fromisoformat(str(text)),
        "interval": lambda: timedelta(**{name: cell[name] for name in ("days", "seconds", "microseconds")}),
        "text": lambda: bytes.fromhex(cell["utf8_surrogatepass_hex"]).decode("utf-8", "surrogatepass"),
    }
    return readers[cell["type"]]()


@given(CELLS)
def test_a_cell_comes_back_as_it_was(cell: object) -> None:
    encoded = json.dumps(cell_json(cell), allow_nan=False)
    encoded.encode()
    back = restored(json.loads(encoded))
    assert type(back) is type(cell)
    assert repr(back) == repr(cell)


@pytest.mark.parametrize(
    ("cell", "form"),
    [
        (2**53, {"type": "integer", "text": "9007199254740992"}),
        ([1, None, b"\x00"], {"type": "list", "items": [1, None, {"type": "bytes", "hex": "00"}]}),
        ({"a": float("inf")}, {"type": "map", "entries": [["a", {"type": "float", "text": "inf"}]]}),
        (1 + 2j, {"type": "complex", "text": "(1+2j)"}),
    ],
)
def test_cells_beyond_json_are_tagged(cell: object, form: object) -> None:
    assert cell_json(cell) == form


def test_an_integer_too_long_for_decimal_digits_is_kept() -> None:
    assert restored(cell_json(10**5000)) == 10**5000


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
