"""A cell as JSON: what comes back is what was written, value and type."""

from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import RunError
from assay.model.results.cell_json import cell_from_json, cell_to_json
from many_cases import each

SCALARS = st.one_of(
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
    st.uuids(),
)
CELLS = st.recursive(
    SCALARS,
    lambda cells: (
        st.lists(cells, max_size=3)
        | st.lists(cells, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.booleans(), cells, max_size=3)
    ),
    max_leaves=6,
)


@given(CELLS)
def test_a_cell_comes_back_as_it_was(cell: object) -> None:
    written = json.dumps(cell_to_json(cell), allow_nan=False)
    written.encode()
    back = cell_from_json(json.loads(written))
    assert type(back) is type(cell)
    assert repr(back) == repr(cell)


@each(
    ("cell", "form"),
    [
        (2**53, {"type": "integer", "text": "9007199254740992"}),
        ([1, None, b"\x00"], {"type": "list", "items": [1, None, {"type": "bytes", "hex": "00"}]}),
        ({"a": float("inf")}, {"type": "map", "entries": [["a", {"type": "float", "text": "inf"}]]}),
        (1 + 2j, {"type": "complex", "text": "(1+2j)"}),
    ],
)
def test_cells_beyond_json_are_tagged(cell: object, form: object) -> None:
    assert cell_to_json(cell) == form


def test_an_integer_too_long_for_decimal_digits_is_kept() -> None:
    assert cell_from_json(cell_to_json(10**5000)) == 10**5000


def test_what_no_json_can_hold_comes_back_as_its_text() -> None:
    assert cell_from_json(cell_to_json(1 + 2j)) == "(1+2j)"


@each(
    ("kind", "value", "cell"),
    [
        ("int", "9223372036854775808", 2**63),
        ("float", "inf", float("inf")),
        ("decimal", "1.10", Decimal("1.10")),
        ("bytes", "AP8=", b"\x00\xff"),
        ("text", "7aCA", "\ud800"),
        ("timestamp", "2024-02-29T12:30:00", datetime(2024, 2, 29, 12, 30)),  # noqa: DTZ001 - a cell without a zone
        ("date", "2024-02-29", date(2024, 2, 29)),
        ("time", "12:30:00", time(12, 30)),
        ("interval", 90_000_000, timedelta(seconds=90)),
        ("uuid", "12345678-1234-5678-1234-567812345678", UUID("12345678-1234-5678-1234-567812345678")),
        ("list", [1, {"$": "decimal", "v": "0.5"}], [1, Decimal("0.5")]),
        ("tuple", [1, "a"], (1, "a")),
        ("map", [["a", {"$": "bytes", "v": ""}]], {"a": b""}),
        ("other", "(1+2j)", "(1+2j)"),
    ],
)
def test_a_run_that_was_stored_in_the_earlier_form_is_read(kind: str, value: object, cell: object) -> None:
    read = cell_from_json({"$": kind, "v": value})
    assert type(read) is type(cell)
    assert read == cell


@each(
    "damaged",
    [
        {},
        {"$": "nonsense", "v": 1},
        {"$": "int"},
        {"type": "decimal", "text": "x"},
        {"type": "bytes"},
        {"type": "list"},
    ],
)
def test_what_is_no_cell_is_a_run_that_cannot_be_read(damaged: object) -> None:
    with pytest.raises(RunError, match="is not a stored cell"):
        cell_from_json(damaged)
