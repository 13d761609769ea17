"""The query within what a chat model says."""

from __future__ import annotations

import time

from assay.systems.chat.query_finder import read_answer
from many_cases import each


@each(
    ("said", "query"),
    [
        ("SELECT 1", "SELECT 1"),
        ("```sql\nSELECT a FROM t;\n```", "SELECT a FROM t"),
        ("Sure!\n```\nSELECT a FROM t\n```\nIt counts `a`.", "SELECT a FROM t"),
        ("```sql SELECT a FROM t```", "SELECT a FROM t"),
        ("```SELECT a FROM t```", "SELECT a FROM t"),
        ("The tables:\n```\norders, items\n```\nso\n```sqlite\nSELECT a FROM t\n```", "SELECT a FROM t"),
        ("```python\nprint(1)\n```\nSELECT a FROM t", "SELECT a FROM t"),
        ("```sql\nDROP TABLE t\n```", "DROP TABLE t"),
        ("```sql\n-- all of them\nWITH x AS (SELECT 1) SELECT * FROM x\n```", None),
        ('{"sql": "SELECT a FROM t;"}', "SELECT a FROM t"),
        ('Here:\n```json\n{"reasoning": "SELECT b FROM u", "query": "SELECT a FROM t"}\n```', "SELECT a FROM t"),
        ("SQL: SELECT a FROM t; -- done", "SELECT a FROM t"),
        ("The query is `SELECT a FROM t`.", "SELECT a FROM t"),
        ("The query is `SELECT `a` FROM `t``.", "SELECT `a` FROM `t`"),
        ("SELECT a\nFROM t\n\nThis doesn't count b.", "SELECT a\nFROM t"),
        ("SELECT a\n\nFROM t\n\nWHERE a = ';'\n\nIt reads t.", "SELECT a\n\nFROM t\n\nWHERE a = ';'"),
        (
            "WITH x AS (SELECT 1),\n\ny AS (SELECT 2)\nSELECT * FROM x;",
            "WITH x AS (SELECT 1),\n\ny AS (SELECT 2)\nSELECT * FROM x",
        ),
        ("With this schema, we select from t:\nselect a from t", "select a from t"),
        ("Select the best one. SELECT a FROM t", "SELECT a FROM t"),
        ("Select from the best:\nSELECT a FROM t", "SELECT a FROM t"),
        ("Select a From t", "Select a From t"),
        ("<think>SELECT b FROM u? No.\n```sql\nSELECT c\n```</think>\nSELECT a FROM t", "SELECT a FROM t"),
        ("I think SELECT b FROM u</think>SELECT a FROM t", "SELECT a FROM t"),
        ("- (SELECT a FROM t) UNION (SELECT b FROM u);", "(SELECT a FROM t) UNION (SELECT b FROM u)"),
    ],
)
def test_the_query_is_found(said: str, query: str | None) -> None:
    expected = "-- all of them\nWITH x AS (SELECT 1) SELECT * FROM x" if query is None else query
    assert read_answer(said).query == expected


@each(
    "said",
    [
        "",
        "I cannot answer that.",
        "I would use a SELECT statement, but there is no such table.",
        "Select the customers and count them.",
        '{"sql": null, "reason": "no such table"}',
        "<think>SELECT a FROM t",
        "```sql\n-- nothing fits\n```",
    ],
)
def test_no_query_is_made_up(said: str) -> None:
    assert read_answer(said).query is None


def test_what_is_said_beside_the_query_is_kept() -> None:
    found = read_answer("<think>hm</think>It counts.\n```sql\nSELECT 1\n```\nEach once.")
    assert found.words == "It counts.\nEach once."


def test_a_query_that_nothing_ends_is_not_complete() -> None:
    assert not read_answer("```sql\nSELECT a FROM t WHERE").complete
    assert not read_answer("SELECT a FROM t WHERE").complete
    assert read_answer("```sql\nSELECT a FROM t\n```").complete
    assert read_answer("SELECT a FROM t;").complete


@each("piece", ["SELECT ", "with a as (", "`", "{", "\n\n(", "```", "'", "/*", "--\n", "<think>"])
def test_long_nonsense_is_read_in_reasonable_time(piece: str) -> None:
    started = time.process_time()
    read_answer(piece * (100_000 // len(piece)))
    assert time.process_time() - started < 20
