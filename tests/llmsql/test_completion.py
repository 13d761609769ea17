"""Which queries a completion holds, and what the placeholder becomes."""

from __future__ import annotations

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from assay.sql.extraction.completions import MOST_QUERIES, queries_in, with_table
from many_cases import each


def specified(text: str) -> list[str]:
    """The benchmark's rule, said as plainly as possible: from each SELECT to the nearest end."""
    found: list[str] = []
    for match in re.finditer("select", text, re.IGNORECASE):
        rest = text[match.start() :]
        query = re.search(r"SELECT\b.*?(?=;|\n\n\n\n|```|\Z)", rest, re.IGNORECASE | re.DOTALL)
        if query and query[0].strip() not in found:
            found.append(query[0].strip())
    return found[:MOST_QUERIES]


@each(
    ("completion", "queries"),
    [
        ("", []),
        ("I do not know.", []),
        ("SELECT 1", ["SELECT 1"]),
        ("  select 1 ;  and no more", ["select 1"]),
        ("Here:\n```sql\nSELECT a\nFROM t\n```\nThat is all.", ["SELECT a\nFROM t"]),
        ("SELECT 1\n\n\n\nI hope this helps", ["SELECT 1"]),
        ("SELECT 1\n\n\nFROM t", ["SELECT 1\n\n\nFROM t"]),
        ("SELECT a FROM (SELECT b FROM t)", ["SELECT a FROM (SELECT b FROM t)", "SELECT b FROM t)"]),
        ("SELECT 1; SELECT 2; SELECT 1", ["SELECT 1", "SELECT 2"]),
        ("one selects it: SELECTED; let us useSELECT 3", ["SELECT 3"]),
        ("select", ["select"]),
        ("WITH x AS (SELECT 1) SELECT * FROM x", ["SELECT 1) SELECT * FROM x", "SELECT * FROM x"]),
    ],
)
def test_each_select_begins_a_query_that_ends_at_the_first_end(completion: str, queries: list[str]) -> None:
    assert queries_in(completion) == queries
    assert specified(completion) == queries


def test_at_most_ten_queries_are_taken() -> None:
    completion = "".join(f"SELECT {number}; SELECT {number}; " for number in range(30))
    assert queries_in(completion) == [f"SELECT {number}" for number in range(10)]


PIECES = [
    *("SELECT", "select ", "Select\t", "sſelect", "ſelect 1", "SELECTED", " a", "1", ";", "```", "\n", "\n\n", "x"),
    *("İ", "ß"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_any_text_gives_what_the_rule_says(completion: str) -> None:
    assert queries_in(completion) == specified(completion)


@each("piece", ["SELECT ", "SELECTED ", "SELECT 1; ", "select;", "SELECT\n\n\n", "``"])
def test_a_long_completion_takes_no_long_time(piece: str) -> None:
    started = time.process_time()
    assert len(queries_in(piece * (1_000_000 // len(piece)))) <= MOST_QUERIES
    assert time.process_time() - started < 20


@each(
    ("query", "expected"),
    [
        ("SELECT a FROM Table", 'SELECT a FROM "1-2-3"'),
        ('SELECT a FROM "Table" WHERE b = 1', 'SELECT a FROM "1-2-3" WHERE b = 1'),
        ("SELECT a FROM 'Table'", 'SELECT a FROM "1-2-3"'),
        ('SELECT a FROM Table UNION SELECT b FROM "Table"', 'SELECT a FROM "1-2-3" UNION SELECT b FROM "1-2-3"'),
        ("SELECT a from Table", "SELECT a from Table"),
        ("SELECT a FROM table", "SELECT a FROM table"),
        ("SELECT a FROM `Table`", "SELECT a FROM `Table`"),
        ("SELECT a FROM t JOIN Table", "SELECT a FROM t JOIN Table"),
    ],
)
def test_the_placeholder_becomes_the_table_in_its_three_forms_only(query: str, expected: str) -> None:
    assert with_table(query, "1-2-3") == expected


def test_a_quote_in_a_table_id_stays_within_the_name() -> None:
    assert with_table("SELECT 1 FROM Table", 'a"b') == 'SELECT 1 FROM "a""b"'
