"""The reason of a failed query names characters that only look like those of SQL."""

from __future__ import annotations

import assay
from assay.engines.odd_characters import odd_character
from many_cases import each


@each(
    ("query", "named"),
    [
        ("SELECT\u00a01", "a no-break space (U+00A0) at character 7"),
        ("SELECT 1\u200b", "a zero width space (U+200B) at character 9"),
        ("\ufeffSELECT 1", "a zero width no-break space (U+FEFF) at character 1"),
        ("SELECT \u2018a\u2019", "a left single quotation mark (U+2018) at character 8"),
        ("SELECT \u201ca\u201d", "a left double quotation mark (U+201C) at character 8"),
        ("SELECT 2 \u2013 1", "an en dash (U+2013) at character 10"),
        ("SELECT 2 \u2212 1", "a minus sign (U+2212) at character 10"),
        ("SELECT max\uff081\uff09", "a fullwidth left parenthesis (U+FF08) at character 11"),
        ("SELECT 'a\u00a0' || \u00a0'b'", "a no-break space (U+00A0) at character 16"),
    ],
)
def test_the_first_odd_character_is_named_with_its_place(query: str, named: str) -> None:
    assert odd_character(query) == named


@each(
    "query",
    [
        "SELECT 1",
        "SELECT 'it\u2019s'",
        'SELECT "a\u00a0b"',
        "SELECT 1 -- \u2013",
        "/* \u201c */ SELECT 1",
        "SELECT größe FROM 表",
    ],
)
def test_characters_within_quotes_and_of_words_are_not_odd(query: str) -> None:
    assert odd_character(query) is None


@each("url", ["sqlite:///:memory:", "duckdb:///:memory:"])
def test_the_reason_has_it_only_if_the_query_fails(url: str) -> None:
    failed = assay.check("SELECT \u201ca\u201d\u00a0FROM nothing", "SELECT 1", database=url)
    assert failed.reason.endswith("; the query has a left double quotation mark (U+201C) at character 8")
    broken_gold = assay.check("SELECT 1", "SELECT 1 FROM nothing WHERE a\u00a0= 1", database=url)
    assert "the query has a no-break space (U+00A0) at character 30" in broken_gold.reason
    assert "the query has" not in assay.check("SELECT 'a\u00a0b'", "SELECT 1", database=url).reason
