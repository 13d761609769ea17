"""Pairs of DuckDB's values: which ones match, and what a match says."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import assay

INFINITY, LAST = "'infinity'::DATE", "(SELECT valid_to FROM prices)"
NEAR = "TIMESTAMP_NS '2024-01-01 00:00:00.00000000"


@pytest.fixture
def prices(tmp_path: Path) -> str:
    path = tmp_path / "prices.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE prices AS SELECT DATE '9999-12-31' AS valid_to, 1 AS id")
    return f"duckdb:///{path}"


@pytest.mark.parametrize("shell", ["{}", "[{}]", "{{'a': [{}]}}", "map {{1: {}}}", "union_value(u := {})"])
@pytest.mark.parametrize(
    ("gold", "predicted", "outcome"),
    [
        (INFINITY, LAST, "incorrect"),
        ("'-infinity'::DATE", "DATE '0001-01-01'", "incorrect"),
        (INFINITY, "'infinity'::TIMESTAMP", "correct"),
        (INFINITY, "'infinity'", "incorrect"),
        ("DATE '10000-01-01'", "TIMESTAMP '10000-01-01'", "correct"),
        ("DATE '10000-01-01'", "'10000-01-01'", "incorrect"),
        (f"{NEAR}1'", f"{NEAR}2'", "incorrect"),
        (f"{NEAR}1'", f"{NEAR}1'", "correct"),
        ("'12:00:00+00'::TIMETZ", "'14:00:00+02'::TIMETZ", "incorrect"),
        ("map {[1]: 2, [3]: 4}", "map {[3]: 4, [1]: 2}", "correct"),
        ("map {[1]: 2}", "{'key': [[1]], 'value': [2]}", "incorrect"),
        ("map {{'a': 1}: 2}", "map {{'a': 2}: 2}", "incorrect"),
        ("INTERVAL '100000000 years'", "INTERVAL '100000000 years'", "correct"),
    ],
)
def test_values_match_where_duckdb_says_so(prices: str, shell: str, gold: str, predicted: str, outcome: str) -> None:
    queries = [f"SELECT id, {shell.format(value)} AS v FROM prices" for value in (predicted, gold)]
    assert assay.check(*queries, database=prices).outcome == outcome


@pytest.mark.parametrize("shell", ["{}", "[{}]", "{{'a': {}}}"])
@pytest.mark.parametrize(
    ("gold", "predicted", "flagged"),
    [
        ("1 month", "30 days", True),
        ("24 hours", "1 day", True),
        ("1 year", "12 months", False),
        ("1 month", "1 month", False),
        ("26 hours", "26 hours", False),
    ],
)
def test_a_match_of_intervals_by_their_length_is_flagged(
    prices: str, shell: str, gold: str, predicted: str, *, flagged: bool
) -> None:
    queries = [f"SELECT {shell.format(f'INTERVAL {value!r}')}" for value in (predicted, gold)]
    verdict = assay.check(*queries, database=prices)
    assert (verdict.outcome, "interval_length" in verdict.flags) == ("correct", flagged)
