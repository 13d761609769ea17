"""The one statement in a text that a model wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.model import Prediction
from assay.sql.extraction import clean_query, extracted, read_text, written
from many_cases import each

QUERIES = (
    "SELECT a FROM t",
    "SELECT count(*) FROM t WHERE b = 'it''s; -- so'",
    "select a, b from t where b > 1 order by a limit 3",
    "Select a From t\nWhere b = 1",
    "WITH x AS (\n  SELECT a FROM t\n),\n\ny AS (SELECT b FROM t)\nSELECT * FROM x, y",
    "SELECT a\n\nFROM t\n\nWHERE b IN (SELECT b FROM u) -- the last one",
    "(SELECT a FROM t) UNION (SELECT b FROM u)",
    'SELECT [a b], `c` FROM "t u"',
)
WRAPPINGS: dict[str, Callable[[str], str]] = {
    "fence": lambda query: f"```sql\n{query}\n```",
    "fence without a language": lambda query: f"```\n{query};\n```",
    "fence with a dialect": lambda query: f"Here it is:\n```postgresql\n{query}\n```",
    "fence of tildes": lambda query: f"~~~sql\n{query}\n~~~",
    "fence on one line": lambda query: f"Here is the query: ```sql {query} ```",
    "words and a fence": lambda query: f"Here is the query:\n\n```sql\n{query};\n```\n\nIt reads the table t.",
    "twice the same": lambda query: f"```sql\n{query}\n```\nOnce more:\n```sql\n{query};\n```",
    "another block": lambda query: f"The tables:\n```\nt, u\n```\nso\n```sql\n{query}\n```",
    "select in the words": lambda query: f"We select from t, as a SELECT would:\n```sql\n{query}\n```",
    "thinking": lambda query: f"<think>Perhaps SELECT z FROM y? No.</think>\n{query}",
    "the end of thinking": lambda query: f"Perhaps SELECT z FROM y? No.</think>\n```sql\n{query}\n```",
    "words before": lambda query: f"The SQL is:\n{query}",
    "a label": lambda query: f"SQL: {query};",
    "words after": lambda query: f"{query};\n\nThis query reads the table t.",
    "a heading": lambda query: f"# Query\n\n{query}\n\n# Explanation\n\nIt reads the table t.",
    "an explanation": lambda query: f"{query}\n\nExplanation: it reads the table t.",
    "json": lambda query: json.dumps({"sql": query}),
    "json with reasons": lambda query: json.dumps({"reasoning": "SELECT z FROM y is wrong", "query": query + ";"}),
    "json in a fence": lambda query: f"```json\n{json.dumps({'sql': query}, indent=2)}\n```",
    "json among words": lambda query: f"Here you are: {json.dumps({'question': 'How many?', 'sql_query': query})}",
    "nested json": lambda query: json.dumps({"result": {"sql": query, "confidence": 0.9}}),
    "a labelled draft": lambda query: f"Draft:\n```sql\nSELECT z FROM y\n```\nFinal query:\n```sql\n{query}\n```",
    "a corrected draft": lambda query: f"```sql\nSELECT z FROM y\n```\nThe corrected query:\n```sql\n{query}\n```",
    "a draft in a comment": lambda query: f"```sql\n-- draft\nSELECT z FROM y\n```\n```sql\n{query}\n```",
    "a fence of a draft and the query": lambda query: f"```sql\n-- draft\nSELECT z FROM y;\n\n{query};\n```",
    "a fence of the final one and a draft": lambda query: f"```sql\n{query}\n; -- final\nSELECT z FROM y;\n```",
    "comments after semicolons": lambda query: f"```sql\nSELECT z FROM y; -- a draft\n{query};\n```",
    "a draft that is not final": lambda query: (
        f"This is not the final query:\n```sql\nSELECT z FROM y\n```\nUse this instead:\n```sql\n{query}\n```"
    ),
    "a draft that isn't yet final": lambda query: (
        f"```sql\n-- isn't the final one yet\nSELECT z FROM y\n```\nso:\n```sql\n{query}\n```"
    ),
    "a final one that is not a draft": lambda query: (
        f"The first attempt:\n```sql\nSELECT z FROM y\n```\nNot a draft any more:\n```sql\n{query}\n```"
    ),
    "a filter added": lambda query: (
        f"```sql\nSELECT z FROM y\n```\nWe add a filter to get the final query:\n```sql\n{query}\n```"
    ),
    "a sentence about the draft before it": lambda query: (
        f"Draft:\n```sql\nSELECT z FROM y\n```\nThat was a draft. Now it is right:\n```sql\n{query}\n```"
    ),
    "a JSON string": json.dumps,
    "a JSON list of one": lambda query: json.dumps([query]),
    "tags": lambda query: f"<sql>{query}</sql>",
    "words and tags": lambda query: f"I read the table.\n<code>\n{query};\n</code>\nIt has rows.",
    "HTML": lambda query: f"<pre><code>{escape(query)}</code></pre>",
    "HTML with a language": lambda query: f'<pre><code class="sql">\n{escape(query)};\n</code></pre>',
    "HTML among words": lambda query: (
        f'<p>Use this:</p>\n<pre class="x"><code class="language-sql">{escape(query)}</code></pre>\n<p>It reads t.</p>'
    ),
    "HTML without code": lambda query: f'Here:\n<pre lang="sql">{escape(query, quote=False)}</pre>',
    "a final one that is taken back": lambda query: (
        "Final answer below:\n```sql\nSELECT z FROM y\n```\nWait, that is wrong.\n```sql\n" + f"{query}\n```"
    ),
    "another that is taken back": lambda query: (
        f"The final query:\n```sql\nSELECT z FROM y\n```\nActually, scratch that.\n\n```sql\n{query}\n```"
    ),
    "a final one that is not right": lambda query: (
        f"Final SQL:\n```sql\nSELECT z FROM y\n```\nHmm, this isn't correct: y has no z.\n```sql\n{query}\n```"
    ),
    "a mistake": lambda query: f"```sql\nSELECT z FROM y\n```\nSorry, I made a mistake. So:\n```sql\n{query}\n```",
    "one that is not to be used": lambda query: (
        f"Do not use this query:\n```sql\nSELECT z FROM y\n```\nRun this:\n```sql\n{query}\n```"
    ),
    "tags for the answer": lambda query: f"<answer>\n{query}\n</answer>",
    "typographic quotes": lambda query: f"The query is “{query}”, which reads t.",
    "another script": lambda query: f"查询：\n\n{query}\n\n它返回行。",
    "bold": lambda query: f"The query is **{query}**",
    "tokens at the end": lambda query: f"{query}<|im_end|></s>",
    "tags in brackets": lambda query: f"[SQL]{query}[/SQL]",
    "a block of Python": lambda query: f"```python\nimport sqlite3\n```\n```sql\n{query}\n```",
    "output": lambda query: f"```sql\n{query}\n```\nwhich prints\n```\nShow | 5\n```",
    "no-break spaces": lambda query: f"\u00a0{query}\u00a0",
}


@each("wrapping", WRAPPINGS)
@each("query", QUERIES)
def test_the_one_statement_is_found_however_it_is_wrapped(wrapping: str, query: str) -> None:
    text = WRAPPINGS[wrapping](query)
    found = extracted(Prediction(case_id="1", query=text))
    assert found.query == query
    assert found.extraction is not None
    assert found.raw == text
    assert written(found) == Prediction(case_id="1", query=text)


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
def test_what_stands_in_texts_names_and_comments_of_a_statement_changes_nothing(
    text: str, condition: str, around: str
) -> None:
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
        "Do not run {}.",
        "Don't use {}.",
        "Never run `{}`.",
        "You should not execute this query: {}",
        "I avoid\n```sql\n{}\n```",
        "Instead of\n\n{}\n\nI say nothing.",
    ],
)
def test_a_statement_that_is_advised_against_is_not_the_answer(before: str) -> None:
    assert read_text(before.format("SELECT a FROM t")).query is None
    followed = f"{before.format('SELECT a FROM t')}\n\nThe query:\n```sql\nSELECT b FROM t\n```"
    assert read_text(followed).query == "SELECT b FROM t"


@each(
    "after",
    [
        "If that is wrong, try:",
        "That is not wrong, and so is:",
        "This is right. Or:",
        "No row is lost. Another way:",
        "It needs no join, no group.",
        "It counts t:",
    ],
)
def test_a_final_statement_that_is_not_taken_back_counts(after: str) -> None:
    text = f"Final query:\n```sql\nSELECT a FROM t\n```\n{after}\n```sql\nSELECT b FROM t\n```"
    assert read_text(text).query == "SELECT a FROM t"


@each(
    "text", ["Do not forget the join: {}", "Do not use SELECT *: {}", "It is not wrong to run this: {}", "Why not: {}"]
)
def test_advice_about_something_else_keeps_the_statement(text: str) -> None:
    assert read_text(text.format("SELECT a FROM t")).query == "SELECT a FROM t"


@each("text", ["Here: {}", "The rows are:\n{}", "`{}`", "Answer:\n\n{};\n\nThey are two."])
def test_values_in_words_are_a_query(text: str) -> None:
    assert read_text(text.format("VALUES (1), (2)")).query == "VALUES (1), (2)"


@pytest.mark.parametrize(
    "text",
    ["INSRT INTO x (a, b)\nVALUES (1, 2)", "Add a row: INSERT INTO x VALUES (1)", "The values: Values (of all) count."],
)
def test_values_of_another_statement_are_not_a_query(text: str) -> None:
    assert read_text(text).query in (None, text)


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


@pytest.mark.parametrize(
    "text",
    [
        "The unknown FILTERED JOIN u USING WEIRD (SELECT a FROM t) reads it.",
        "Add WHERE b IN (SELECT a FROM t) to your query.",
        "It would select (of all) the best.",
    ],
)
def test_a_part_of_a_statement_is_not_taken_for_one(text: str) -> None:
    assert read_text(text).query is None


_WORDS = st.lists(st.sampled_from(["we", "read", "the", "table", "and", "count", "its", "rows"]), min_size=2)


@given(query=st.sampled_from(QUERIES), before=_WORDS, after=_WORDS)
def test_words_around_a_fence_do_not_matter(query: str, before: list[str], after: list[str]) -> None:
    text = f"{' '.join(before).capitalize()}:\n```sql\n{query}\n```\n{' '.join(after).capitalize()}."
    assert read_text(text).query == query


@given(text=st.text(alphabet=st.sampled_from("SELECT FROM select`\n;:'\"{}() <think>/abc"), max_size=200))
def test_any_text_is_read_and_reading_what_was_found_changes_nothing(text: str) -> None:
    found = extracted(Prediction(case_id="1", query=text))
    if found.extraction is not None and found.extraction.place is not None and found.query is not None:
        assert found.query in text or found.extraction.place == "json"
