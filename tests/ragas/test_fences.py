"""CSV in a code fence is the CSV inside; what else stands beside a fence is the reason why there is no score."""

from __future__ import annotations

import math
from math import isnan
from random import Random

import pytest
from tests.ragas import corpus

from assay.errors import InputError
from assay.ragas import DataCompyScore, SingleTurnSample, compare_tables
from assay.ragas.csv_text import unfenced

GOOD = "id,v\n1,a\n2,b\n"


@pytest.mark.parametrize("mark", ["```", "````", "~~~", "  ```"])
@pytest.mark.parametrize("word", ["csv", "", "CSV", " csv", "text", "plaintext"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_fenced_table_is_the_table(mark: str, word: str, end: str) -> None:
    table = GOOD.replace("\n", end)
    for text in (f"{mark}{word}{end}{table}{mark}", f"{end}{mark}{word}{end}{table}{mark}{end}{end}"):
        assert unfenced(text) == table
        assert compare_tables(GOOD, text).matches


@pytest.mark.parametrize("indent", [1, 2, 3])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_blanks_by_which_a_fence_is_indented_are_no_part_of_the_table(indent: int, end: str) -> None:
    table = ["id,v", "1,a", '2,"b', '   c"', "  3,d"]
    inside = ["id,v", "1,a", '2,"b', '   c"', f"{' ' * max(0, 2 - indent)}3,d"]
    blanks = " " * indent
    indented = [line if line.startswith(" ") else blanks + line for line in table]  # a cell's and a lesser indent stay
    text = end.join([f"{blanks}```csv", *indented, f"{blanks}```"])
    assert unfenced(text) == end.join([*inside, ""])
    assert unfenced(f"\ufeff{text}") == unfenced(text)
    assert compare_tables(GOOD, "\ufeff```csv\n" + GOOD + "```").matches


def test_fences_change_nothing_of_what_is_in_them() -> None:
    chance = Random(5)
    for _ in range(200):
        for text in corpus.pair(chance):
            whole = text if text.endswith("\n") else text + "\n"
            assert unfenced(f"```csv\n{whole}```") == whole
            assert unfenced(text) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"Here is your table:\n\n```csv\n{GOOD}```", "there is text before the fenced block, 'Here is your table:'"),
        (f"```csv\n{GOOD}```\nI hope this helps.", "there is text after the fenced block, 'I hope this helps.'"),
        (f"```csv\n{GOOD}```\n```csv\n{GOOD}```", "there is text after the fenced block"),
        (f"```csv\n{GOOD}", "its code fence (```) is not complete"),
        (f"{GOOD}```", "its code fence (```) is not complete"),
        (f"```csv\n{GOOD}```~~~\n", "its code fence (```) is not complete"),
        (f"```{GOOD}```", "its code fence names the language 'id,v'"),
        ('```json\n[{"id": 1}]\n```', "names the language 'json'"),
        ("```csv\n```", "the text is empty"),
        ("```sql\nSELECT 1\n```", "names the language 'sql'"),
    ],
)
def test_what_is_no_fenced_table_has_a_reason(text: str, reason: str) -> None:
    result = DataCompyScore().score(reference=GOOD, response=text)
    assert math.isnan(result.value)
    assert result.reason.startswith("response: the text is ")
    assert reason in result.reason


def test_a_fence_inside_a_cell_is_part_of_it() -> None:
    text = 'id,note\n1,"see\n```\nx\n```\n"\n'
    assert unfenced(text) == text
    assert compare_tables(text, text).matches


def test_many_marks_are_read_once() -> None:
    text = '"' + "```\n" * 200_000 + '"\n1\n'
    assert unfenced(text) == text


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
