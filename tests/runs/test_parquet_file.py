"""What is written into a Parquet file is read from it, by another program."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import RunError
from assay.runs.store.parquet_file import ParquetFile

COLUMNS = {"text": "VARCHAR", "texts": "VARCHAR[]", "double": "DOUBLE", "long": "BIGINT", "short": "INTEGER"}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ROW = st.tuples(
    st.none() | TEXT,
    st.none() | st.lists(TEXT, max_size=4),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.integers(-(2**31), 2**31 - 1),
)


def read(path: Path) -> tuple[dict[str, str], list[tuple[Any, ...]]]:
    """The types and the rows of the file."""
    with duckdb.connect(":memory:") as connection:
        relation = connection.read_parquet(str(path))
        types = dict(zip(relation.columns, map(str, relation.types), strict=True))
        return types, relation.fetchall()


def write(path: Path, *groups: list[Any], columns: dict[str, str] | None = None) -> None:
    with path.open("wb") as file:
        table = ParquetFile(file, columns or COLUMNS)
        for group in groups:
            if group:
                table.write(list(zip(*group, strict=True)))
        table.finish()


@given(rows=st.lists(ROW, max_size=12), first=st.integers(0, 12))
def test_every_row_is_read_as_it_was_written(
    rows: list[tuple[Any, ...]], first: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("table") / "rows.parquet"
    write(path, rows[:first], rows[first:])
    assert read(path) == (COLUMNS, rows)


def test_a_table_of_many_columns_and_rows_is_read(tmp_path: Path) -> None:
    columns = {f"metric {number} é": "DOUBLE" for number in range(40)}
    rows = [tuple(None if (row + column) % 7 == 0 else row / 3 for column in range(40)) for row in range(1000)]
    write(tmp_path / "rows.parquet", *[rows[start : start + 300] for start in range(0, 1000, 300)], columns=columns)
    assert read(tmp_path / "rows.parquet") == (columns, rows)


@pytest.mark.parametrize(("kind", "value"), [("INTEGER", 2**40), ("INTEGER", -(2**31) - 1), ("BIGINT", 2**70)])
def test_a_number_beyond_its_column_is_named(kind: str, value: int) -> None:
    with pytest.raises(RunError, match=f"'turn': a number does not fit into {kind}"):
        ParquetFile(io.BytesIO(), {"turn": kind}).write([[1, value]])
