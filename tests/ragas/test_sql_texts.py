"""SQL in place of a result is not compared as if it were CSV."""

from __future__ import annotations

from math import isnan

import pytest

from assay.errors import InputError
from assay.ragas import DataCompyScore, SingleTurnSample, compare_tables

TABLE = "id,name\n1,a\n"
QUERIES = [
    "SELECT 1",
    "select id, name from t",
    "SELECT\n  id\nFROM t",
    "  -- all of them\nSELECT * FROM t",
    "/* x */ SELECT 1",
    "(SELECT 1) UNION (SELECT 2)",
    "WITH a AS (SELECT 1) SELECT * FROM a",
    "```sql\nSELECT 1\n```",
    "INSERT INTO t VALUES (1)",
    "DELETE FROM t",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("side", ["reference", "response"])
def test_sql_text_is_a_failure_that_says_so(query: str, side: str) -> None:
    scorer = DataCompyScore()
    given = {"reference": TABLE, "response": TABLE} | {side: query}
    detail = scorer.detail(SingleTurnSample(**given))
    assert detail.value is None
    assert detail.failure.blame == {"reference": "gold", "response": "system"}[side]
    if not query.startswith("```"):  # what a fence called SQL says already
        assert f"{side}: the text looks like SQL, not CSV" in detail.reason
    assert isnan(scorer.single_turn_score(SingleTurnSample(**given)))
    with pytest.raises(InputError):
        compare_tables(**given)


@pytest.mark.parametrize("header", ["select,name", "selected,name", "with,as", "select", "update,set", "id,select x"])
def test_headers_that_only_resemble_sql_are_csv(header: str) -> None:
    text = f"{header}\n1,a\n" if "," in header else f"{header}\n1\n"
    assert DataCompyScore().score(text, text).value == 1.0
