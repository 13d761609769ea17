"""The query within what a system says."""

from __future__ import annotations

import time

from assay.systems.query import clean_query
from many_cases import each


@each(
    ("text", "query"),
    [
        ("SELECT 1", "SELECT 1"),
        (" SELECT 1 ; ;\n", "SELECT 1"),
        ("SELECT 1; -- that is all", "SELECT 1"),
        ("SELECT 1 -- all; done", "SELECT 1 -- all; done"),
        ("-- count them\nSELECT 1", "-- count them\nSELECT 1"),
        ("SELECT ';' AS a", "SELECT ';' AS a"),
        ("SELECT 1 WHERE 'x' = 'a; -- b'", "SELECT 1 WHERE 'x' = 'a; -- b'"),
        ("SELECT 1; SELECT 2;", "SELECT 1; SELECT 2"),
        ("```sql\nSELECT 1;\n```", "SELECT 1"),
        ("```vql\r\nSELECT 1\r\n```", "SELECT 1"),
        ("Here it is:\n```\nSELECT 1\n```\nIt counts.", "SELECT 1"),
        ("```SELECT 1```", "SELECT 1"),
        ("```sql SELECT 1```", "SELECT 1"),
        ("```sql\nSELECT 1", "SELECT 1"),
        ("```\n```\n```sql\nSELECT 2\n```", "SELECT 2"),
        ("", None),
        (None, None),
        (" ;\n", None),
        ("-- no query is possible", None),
        ("/* a */ /* b */ -- c", None),
        ("```sql\n```", None),
    ],
)
def test_fence_semicolon_and_space_go_and_the_rest_stays(text: str | None, query: str | None) -> None:
    assert clean_query(text) == query


@each(
    "text",
    [
        "/*a*/" * 20_000 + "x",
        "/*" * 50_000,
        "; " * 50_000 + "x",
        ";" * 100_000,
        "SELECT 1" + " ;" * 50_000,
        "```" * 30_000,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    clean_query(text)
    assert time.process_time() - started < 10
