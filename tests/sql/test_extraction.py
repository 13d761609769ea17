"""The one statement in a text that a model wrote."""

from __future__ import annotations

import pytest
from completion_queries import QUERIES
from hypothesis import example, given
from hypothesis import strategies as st

from assay.model import Prediction
from assay.sql.extraction import clean_query, extracted, read_text
from many_cases import each


@each(
    "text",
    [
        *QUERIES,
        *(f"{query};" for query in QUERIES),
        *(f"-- a note\n{query}" for query in QUERIES),
        "SELECT 1; SELECT 2",
        "SELECT a FROM t; DROP TABLE t",
        "SELECT a FROM t; -- that is all",
        "SELECT '```sql\nSELECT 2\n```'",
        "SELECT '<think>no</think>' AS a",
        "SELECT a, -- Draft: SELECT b FROM t\n  b FROM t",
        "SELECT ```a``` FROM t",
        "SELECT a FROM v\n\nCONTEXT('i18n'='us')",
        (
            "WITH\n-- Get recent data\nRecent AS (SELECT a:b::STRING FROM t QUALIFY 1),\n\nlater as (SELECT 1) "
            "SELECT * FROM Recent"
        ),
        "EXPLAIN SELECT a FROM t",
        "EXPLAIN\nSELECT a FROM t",
        "INSERT INTO u\nSELECT a FROM t",
        "create table u as\nselect a from t",
        "PRAGMA table_info(t)",
        "set @a = 1;\nselect a from t",
        "null",
        "",
        " ;\n",
        "-- no query is possible",
        "I cannot answer this question.",
        "I'm sorry, I can't write this query. SELECT a FROM t would need a column a.",
        "The question cannot be answered from this schema. The closest is:\n```sql\nSELECT a FROM t\n```",
        "It is not possible to answer that:\n\nSELECT a FROM t",
        "null\n\nThe table has no such column, so SELECT a FROM t fails.",
        '{"sql": null, "reason": "SELECT a FROM t has no such column"}',
        '{"answerable": false, "sql": "SELECT a FROM t"}',
        '{"decision": "decline", "query": "SELECT a FROM t"}',
        "Select the customers and count them.",
        "I would select the best from the list of the singers.",
        "You need a SELECT statement to read from the table.",
        "```python\nwith open(path) as file:\n    print(1)\n```",
        "Which of the two do you mean?",
        "The SQL: SELECT a FROM t; DROP TABLE t",
    ],
)
def test_a_statement_and_an_answer_without_one_stay_as_they_are(text: str) -> None:
    prediction = Prediction(case_id="1", query=text)
    assert extracted(prediction) is prediction


NASTY = (
    *("$$it's;$$", "';'", "'```'", '\'{"sql": "SELECT 1;"}\'', "';\nThis is it'", "'<sql>SELECT 1</sql>'"),
    r"E'\'; SELECT 1; --'",
)
UNKNOWN = ("{}", "CAST(b AS BIG INT) = 1 AND c <> {}", "x AND NOT ARRAY[{}] @> ARRAY['c']", "[it's;] <> {}", "b !~ {}")
"""Conditions, some of which no parser knows."""


@each("text", NASTY)
@each("condition", UNKNOWN)
@each("around", ["SELECT a FROM t WHERE {}", 'SELECT a -- {{"sql": "SELECT 1"}};\nFROM t WHERE {}'])
def test_texts_names_and_comments_of_a_statement_change_nothing(text: str, condition: str, around: str) -> None:
    prediction = Prediction(case_id="1", query=around.format(condition.format(text)))
    assert extracted(prediction) is prediction


NOTES = (
    *("", "x", "a; b", "draft", "not the final query", "Do not run:", "Wait, that is wrong.", "it's \"so"),
    *("I cannot answer this question.", "lists all, i.e. 20 rows", "SELECT b FROM u", "old: SELECT b FROM u;"),
    *("DROP TABLE t;", "```sql", "```sql SELECT b FROM u```", "~~~", "<sql>SELECT b FROM u</sql>", "</think>"),
    *("<think>SELECT b FROM u</think>", '{"sql": "SELECT b FROM u"}'),
)
COMMENTS = st.one_of(
    st.sampled_from(NOTES).map(lambda note: f"-- {note}\n"),
    st.sampled_from(NOTES).map(lambda note: f"/* {note} */"),
    st.sampled_from(NOTES).map(lambda note: f"/*\n{note}\n\nThis is it.\n*/\n"),
)


@example(query="SELECT a FROM t", before="", within="-- old: SELECT b FROM u;\n", after="/* */", end=";")
@given(
    query=st.sampled_from((*QUERIES, "SELECT a FROM t WHERE CAST(b AS BIG INT) !~ 1")),
    before=st.lists(COMMENTS, max_size=2).map("".join),
    within=st.one_of(st.just(""), COMMENTS),
    after=st.lists(COMMENTS, max_size=2).map("\n".join),
    end=st.sampled_from(("", ";", " ;\n", ";\n\n")),
)
def test_comments_beside_a_statement_change_nothing(query: str, before: str, within: str, after: str, end: str) -> None:
    text = f"{before}{query}\n{within}{end}{after}"
    prediction = Prediction(case_id="1", query=text)
    assert extracted(prediction) is prediction
    reading = read_text(text)
    assert (reading.place, reading.words, reading.others) == (None, "", ())
    assert query in reading.query
    assert query in (clean_query(text) or "")


@each(
    "text",
    [
        "title FROM u UNION SELECT a FROM t",
        "a FROM t\nEXCEPT\nSELECT a FROM t",
        "WIHT x AS (SELECT a FROM t) SELECT a FROM x",
        "INSRT INTO x SELECT a FROM t",
        "CRATE VIEW x AS SELECT a FROM t",
        "SUMMARIZE SELECT a FROM t",
        "HELP 'SELECT a FROM t'",
        "Here: UPDATE t SET a = 1; then SELECT a FROM t",
        "I must decline. `SELECT a FROM t`",
        "INSRT INTO x (a, b)\nVALUES (1, 2)",
        "Add a row: INSERT INTO x VALUES (1)",
        "The values: Values (of all) count.",
        "The unknown FILTERED JOIN u USING WEIRD (SELECT a FROM t) reads it.",
        "Add WHERE b IN (SELECT a FROM t) to your query.",
        "It would select (of all) the best.",
        "No query can answer this. The nearest is:\n```sql\nSELECT a FROM t\n```",
        "I do not know the answer. SELECT a FROM t",
        '{"error": "cannot answer", "sql": "SELECT a FROM t"}',
        "Could you tell me whether you want `SELECT a FROM t`?",
        "```python\nimport sqlite3\ncursor.execute('SELECT a FROM t')\n```",
    ],
)
def test_no_query_is_made_of_a_part_of_another_statement_a_refusal_or_a_question(text: str) -> None:
    found = read_text(text)
    assert found.query in (None, text)
    assert found.place is None


@each(
    "before",
    [
        *("Do not run {}.", "Don't use {}.", "Never run `{}`.", "You should not execute this query: {}"),
        *("I avoid\n```sql\n{}\n```", "Instead of\n\n{}\n\nI say nothing."),
    ],
)
def test_a_statement_that_is_advised_against_is_not_the_answer(before: str) -> None:
    assert read_text(before.format("SELECT a FROM t")).query is None
    followed = f"{before.format('SELECT a FROM t')}\n\nThe query:\n```sql\nSELECT b FROM t\n```"
    assert read_text(followed).query == "SELECT b FROM t"


@each(
    "after",
    [
        *("If that is wrong, try:", "That is not wrong, and so is:", "This is right. Or:", "It counts t:"),
        *("No row is lost. Another way:", "It needs no join, no group."),
    ],
)
def test_a_final_statement_that_is_not_taken_back_counts(after: str) -> None:
    text = f"Final query:\n```sql\nSELECT a FROM t\n```\n{after}\n```sql\nSELECT b FROM t\n```"
    assert read_text(text).query == "SELECT a FROM t"


@each(
    "text",
    [
        *("Do not forget the join: {}", "It is not wrong to run this: {}", "Why not: {}"),
        *("Here: {}", "The rows are:\n{}", "`{}`", "Answer:\n\n{};\n\nThey are two."),
    ],
)
def test_advice_about_something_else_and_words_keep_a_query(text: str) -> None:
    for query in ("SELECT a FROM t", "VALUES (1), (2)"):
        assert read_text(text.format(query)).query == query
    assert read_text("Do not use SELECT *: SELECT a FROM t").query == "SELECT a FROM t"


@each(
    "label",
    [
        "Neither of these is the final query:",
        "There is no final query yet:",
        "Almost final:",
        "On the way to the final query:",
        "Unlike the final query below, this lacks a condition:",
        "To list players of the final:",
        "The final column is the name:",
        "Finally, we add the filter:",
        "Query of the draft table:",
        "Players of the NBA draft:",
    ],
)
def test_words_that_only_mention_a_final_or_a_draft_do_not_mark_one(label: str) -> None:
    text = f"{label}\n```sql\nSELECT a FROM t\n```\nAnd:\n```sql\nSELECT b FROM t\n```"
    assert read_text(text).query != "SELECT a FROM t"


@pytest.mark.parametrize("decision", ["decline", "clarify"])
def test_what_stands_beside_a_refusal_is_not_made_a_query(decision: str) -> None:
    prediction = Prediction(case_id="1", query="```sql\nSELECT a FROM t\n```", decision=decision)  # type: ignore[arg-type]
    assert extracted(prediction) is prediction


@each(
    "text",
    [
        "First: SELECT a FROM t;\nSecond: SELECT b FROM t;",
        "SELECT a FROM t;\n\nAlternatively you can write this:\n\nSELECT b FROM t;",
        '[{"sql": "SELECT a FROM t"}, {"sql": "SELECT b FROM t"}]',
        "The SQL: SELECT a FROM t; SELECT b FROM t",
        '["SELECT a FROM t", "SELECT b FROM t"]',
    ],
)
def test_of_several_statements_in_words_or_json_none_counts_unless_one_is_the_final_one(text: str) -> None:
    found = extracted(Prediction(case_id="1", query=text))
    assert found.query == text
    assert found.extraction.place is None
    assert found.extraction.others == ("SELECT a FROM t", "SELECT b FROM t")
    assert found.extraction.failure is not None


def test_a_draft_is_named_beside_the_query_that_counts() -> None:
    for text in (
        "Draft:\n```sql\nSELECT a FROM t\n```\nFinal:\n```sql\nSELECT b FROM t\n```",
        "Draft: SELECT a FROM t\nFinal: SELECT b FROM t",
        "<think>\n```sql\nSELECT a FROM t\n```\nNo.</think>SELECT b FROM t",
        "At first: SELECT a FROM t\n```sql\nSELECT b FROM t\n```",
        '{"draft_sql": "SELECT a FROM t", "sql": "SELECT b FROM t"}',
    ):
        found = read_text(text)
        assert found.query == "SELECT b FROM t"
        assert found.others == ("SELECT a FROM t",), text


IN_A_SENTENCE = {
    "quotes": 'The query "{}" reads the table "t".',
    "quotes alone": '"{}" is what you need.',
    "backticks": "Use `{}` for it, and `t` has it.",
    "parentheses": "The query ({}) returns the rows.",
    "full-width": "查询：{}。",
    "full-width parentheses": "这个查询（{}）返回行。",
    "corner brackets": "クエリは「{}」です。",
}


@each("sentence", IN_A_SENTENCE)
@each(
    "query",
    [
        "SELECT a FROM t",
        "SELECT count(*) FROM t WHERE b = 'it''s (so'",
        'SELECT "a" FROM t WHERE "b" = 1',
        "WITH x AS (SELECT a FROM t) SELECT a FROM x",
    ],
)
def test_a_statement_within_a_sentence_is_found(sentence: str, query: str) -> None:
    assert read_text(IN_A_SENTENCE[sentence].format(query)).query == query


@given(text=st.text(alphabet=st.sampled_from("SELECT FROM select`\n;:'\"{}() <think>/abc"), max_size=200))
def test_any_text_is_read_and_reading_what_was_found_changes_nothing(text: str) -> None:
    found = extracted(Prediction(case_id="1", query=text))
    if found.extraction is not None and found.extraction.place is not None and found.query is not None:
        assert found.query in text or found.extraction.place == "json"
