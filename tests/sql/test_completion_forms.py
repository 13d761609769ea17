"""Any query is extracted from any form of completion, whatever draft precedes it."""

from __future__ import annotations

import json
from html import escape
from itertools import product

import pytest
from completion_queries import QUERIES
from hypothesis import example, given
from hypothesis import strategies as st

from assay.model import Prediction
from assay.sql.extraction import extracted, read_text, written
from many_cases import each

FORMS = {
    "solution": "<solution>QUERY</solution>",
    "SOLUTION": "<SOLUTION>\nQUERY;\n</SOLUTION>",
    "answer": "<answer>QUERY</answer>",
    "final_answer": "<final_answer>\nQUERY\n</final_answer>",
    "Final-Answer": "<final-answer>QUERY</final-answer>",
    "finalAnswer": "<finalAnswer>QUERY</finalAnswer>",
    "output": "<output>QUERY</output>",
    "response": "<response>QUERY</response>",
    "result": "<result>QUERY</result>",
    "sql_query": "<sql_query>QUERY</sql_query>",
    "SQLQuery": "SQLQuery: QUERY\nSQLResult: [(1,)]\nAnswer: 1",
    "final_sql": "<final_sql>QUERY</final_sql>",
    "query": "<query>QUERY</query>",
    "custom": "<my_tag>QUERY</my_tag>",
    "attr": '<sql dialect="sqlite">QUERY</sql>',
    "cdata": "<sql><![CDATA[QUERY]]></sql>",
    "cdata alone": "<![CDATA[QUERY]]>",
    "xmldoc": (
        '<?xml version="1.0"?>\n<response>\n  <sql>QUERY</sql>\n  <explanation>It reads t.</explanation>\n</response>'
    ),
    "answer+fence": "<answer>\n```sql\nQUERY\n```\n</answer>",
    "answer+sql": "<answer><sql>QUERY</sql></answer>",
    "answer prose": "<answer>The query is:\nQUERY\n</answer>",
    "answer json": "<answer>OBJECT</answer>",
    "unclosed solution": "<solution>QUERY",
    "unclosed answer prose": "I think so.\n<answer>\nQUERY",
    "stray": "QUERY</solution>",
    "stray sql": "QUERY\n</sql>",
    "stray [/SQL]": "QUERY [/SQL]",
    "stray [/SQL] nl": "QUERY\n[/SQL]\nThis query reads the table.",
    "[SQL]": "[SQL]\nQUERY\n[/SQL]",
    "[SQL] open": "[SQL] QUERY",
    "[sql]": "[sql]QUERY[/sql]",
    "[ANSWER]": "[ANSWER]QUERY[/ANSWER]",
    "[INST]": "[INST] What? [/INST] QUERY </s>",
    "[INST] end": "QUERY [INST]",
    "[/INST]": "[/INST] QUERY",
    "boxed": "\\boxed{QUERY}",
    "$boxed$": "The answer is $\\boxed{QUERY}$",
    "boxed text": "$$\\boxed{\\text{QUERY}}$$",
    "boxed texttt": "\\boxed{\\texttt{QUERY}}",
    "boxed fence": "\\boxed{\n```sql\nQUERY\n```\n}",
    "boxed words": "Thus the final answer is \\boxed{QUERY}.",
    "harmony": (
        "<|channel|>analysis<|message|>We may use SELECT z FROM y.<|end|><|start|>as"
        "sistant<|channel|>final<|message|>QUERY<|return|>"
    ),
    "harmony start": (
        "<|start|>assistant<|channel|>analysis<|message|>```sql\nSELECT z FROM y\n```<"
        "|end|><|start|>assistant<|channel|>final<|message|>```sql\nQUERY\n```<|return"
        "|>"
    ),
    "harmony noend": "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>QUERY",
    "harmony constrain": (
        "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final <|"
        "constrain|>sql<|message|>QUERY<|end|>"
    ),
    "harmony commentary": (
        "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>commenta"
        "ry to=functions.run_sql <|constrain|>json<|message|>OBJECT<|call|>"
    ),
    "harmony preamble": (
        "<|channel|>commentary<|message|>I will try SELECT z FROM y<|end|><|start|>a"
        "ssistant<|channel|>final<|message|>QUERY<|return|>"
    ),
    "harmony final only": "<|channel|>final<|message|>QUERY",
    "harmony cut head": (
        "analysis<|message|>We need SELECT z FROM y<|end|><|start|>assistant<|channel|>final<|message|>QUERY"
    ),
    "assistantfinal": "analysisWe need SELECT z FROM y.assistantfinalQUERY",
    "im_end": "QUERY<|im_end|>",
    "chatml": (
        "<|im_start|>system\nYou write SQL.<|im_end|>\n<|im_start|>user\nHow many?<|im_"
        "end|>\n<|im_start|>assistant\nQUERY<|im_end|>"
    ),
    "chatml head": "<|im_start|>assistant\nQUERY<|im_end|>",
    "eot": "QUERY<|eot_id|>",
    "llama": (
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHow many?<|eot_i"
        "d|><|start_header_id|>assistant<|end_header_id|>\n\nQUERY<|eot_id|>"
    ),
    "llama runaway": "QUERY;<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd SELECT z FROM y?<|eot_id|>",
    "gemma": "QUERY<end_of_turn>\n<eos>",
    "gemma full": "<bos><start_of_turn>user\nHow many?<end_of_turn>\n<start_of_turn>model\nQUERY<end_of_turn>",
    "deepseek": "QUERY<｜end▁of▁sentence｜>",
    "deepseek full": (
        "<｜begin▁of▁sentence｜><｜User｜>How many?<｜Assistant｜><think>\nSELECT z FROM y\n"
        "</think>\n\nQUERY<｜end▁of▁sentence｜>"
    ),
    "phi": "<|assistant|>\nQUERY<|end|>",
    "mistral": "<s>[INST] How many? [/INST] QUERY</s>",
    "endoftext": "QUERY<|endoftext|>Question: and SELECT z FROM y",
    "gemma4": "<|channel>thought\nSELECT z FROM y\n<channel|>QUERY<turn|>",
    "cohere": "<|START_THINKING|>SELECT z FROM y<|END_THINKING|><|START_RESPONSE|>QUERY<|END_RESPONSE|>",
    "think": "<think>SELECT z FROM y</think>QUERY",
    "Think": "<Think>\n```sql\nSELECT z FROM y\n```\n</Think>\n\nQUERY",
    "thinking": "<thinking>SELECT z FROM y</thinking>\n<sql>QUERY</sql>",
    "reasoning": "<reasoning>SELECT z FROM y;</reasoning>\nQUERY",
    "thought": "<thought>SELECT z FROM y</thought>\nQUERY",
    "kimi": "◁think▷SELECT z FROM y◁/think▷QUERY",
    "kimi stray": "SELECT z FROM y◁/think▷\nQUERY",
    "magistral": "[THINK]SELECT z FROM y[/THINK]QUERY",
    "sky": "<|begin_of_thought|>SELECT z FROM y<|end_of_thought|>\n\n<|begin_of_solution|>QUERY<|end_of_solution|>",
    "seed": "<seed:think>SELECT z FROM y</seed:think>QUERY",
    "think+solution": "<think>First <solution>SELECT z FROM y</solution>? No.</think>\n<solution>QUERY</solution>",
    "think+boxed": "<think>\\boxed{SELECT z FROM y}</think>\\boxed{QUERY}",
    "nested think": "<think>a <think>b</think> SELECT z FROM y</think>QUERY",
    "two thinks": "<think>SELECT z FROM y</think>\n<think>SELECT x FROM y</think>\nQUERY",
    "think attr": '<think id="1">SELECT z FROM y</think>QUERY',
    "think unclosed answer": "<think>SELECT z FROM y\nSo:\n<answer>QUERY</answer>",
    "stray think": "SELECT z FROM y\n</think>\n\n```sql\nQUERY\n```",
    "think then SQLQuery": "<think>SELECT z FROM y</think>SQLQuery: QUERY",
    "reflection": "<reflection>SELECT z FROM y</reflection>\n<output>QUERY</output>",
    "SQLQuery in one line": "SQLQuery: QUERY SQLResult: 5 Answer: There are 5.",
    "a heading after": "### SQL\nQUERY\n### Explanation\nIt counts.",
    "a heading alone after": "QUERY\n## Notes\nIt counts.",
    "SQLQuery2": "Question: How many?\nSQLQuery: QUERY\nSQLResult:\n5\nAnswer: There are 5.",
    "SQL Query": "SQL Query: QUERY\nSQL Result: 5\nAnswer: 5",
    "SQLQuery semi": "SQLQuery: QUERY;\nSQLResult: 5",
    "SQLResult only": "QUERY\nSQLResult: 5",
    "SQLResult empty": "SQLQuery: QUERY\nSQLResult:",
    "Answer after": "QUERY\nAnswer: There are five.",
    "Result after": "SQL: QUERY\nResult: 5",
    "sqlresult lower": "sqlquery: QUERY\nsqlresult: 5",
    "Observation": "Action: query_sql_db\nAction Input: QUERY\nObservation: [(1,)]",
    "nl SQLResult": "SQLQuery:\nQUERY\n\nSQLResult:\n| 5 |",
    "### SQL": "### SQL:\nQUERY",
    "### Response": "### Response:\nQUERY\n\n### Explanation:\nIt reads t.",
    "**SQL Query:**": "**SQL Query:** QUERY",
    "**SQL Query**:": "**SQL Query**:\n\nQUERY",
    "Final answer": "Final answer: QUERY",
    "Final Answer bold": "**Final Answer:**\nQUERY",
    "FINAL SQL": "FINAL SQL: QUERY",
    "Answer:": "Answer: QUERY",
    "hash": "#### QUERY",
    "hash2": "Some steps.\n#### QUERY",
    "tildes": "~~~\nQUERY\n~~~",
    "tildes sql": "Here:\n~~~~sql\nQUERY\n~~~~\nDone.",
    "nested fence": "````markdown\nHere:\n```sql\nQUERY\n```\n````",
    "nested fence2": "````\n```sql\nQUERY\n```\n````",
    "fence upper": "```SQL\nQUERY\n```",
    "fence unclosed": "```sql\nQUERY",
    "fence stray end": "QUERY\n```",
    "fence stray text": "QUERY\n```\nThis query reads the table t.",
    "xml fence": "```xml\n<sql>QUERY</sql>\n```",
    "fence in list": "1. Here:\n   ```sql\n   QUERY\n   ```",
    "fence crlf": "```sql\r\nQUERY\r\n```",
    "two": "```sql\nSELECT z FROM y\n```\nThen\n```sql\nQUERY\n```",
    "two tags": "<sql>SELECT z FROM y</sql>\n<observation>5 rows</observation>\n<solution>QUERY</solution>",
    "fence+tag": "```sql\nSELECT z FROM y\n```\n<answer>QUERY</answer>",
    "tool_call": "<tool_call>\nCALL\n</tool_call>",
    "two tool_calls": (
        '<tool_call>\n{"name": "run", "arguments": {"sql": "SELECT z FROM y"}}\n</tool'
        "_call>\n<tool_call>\nCALL\n</tool_call>"
    ),
    "json fence": "```json\nOBJECT\n```",
    "bold": "**QUERY**",
    "html": "<p>Use</p><sql>QUERY</sql>",
    "function": "<function=run_sql>\n<parameter=sql>\nQUERY\n</parameter>\n</function>",
    "invoke": '<invoke name="run"><parameter name="sql">QUERY</parameter></invoke>',
    "fence with a dialect": "Here it is:\n```postgresql\nQUERY\n```",
    "fence on one line": "Here is the query: ```sql QUERY ```",
    "words and a fence": "Here is the query:\n\n```sql\nQUERY;\n```\n\nIt reads the table t.",
    "twice the same": "```sql\nQUERY\n```\nOnce more:\n```sql\nQUERY;\n```",
    "another block": "The tables:\n```\nt, u\n```\nso\n```sql\nQUERY\n```",
    "select in the words": "We select from t, as a SELECT would:\n```sql\nQUERY\n```",
    "words before": "The SQL is:\nQUERY",
    "words after": "QUERY;\n\nThis query reads the table t.",
    "a heading": "# Query\n\nQUERY\n\n# Explanation\n\nIt reads the table t.",
    "an explanation": "QUERY\n\nExplanation: it reads the table t.",
    "json": "OBJECT",
    "json with reasons": '{"reasoning": "DRAFT is wrong", "query": STRING}',
    "json among words": 'Here you are: {"question": "How many?", "sql_query": STRING}',
    "nested json": '{"result": {"sql": STRING, "confidence": 0.9}}',
    "a labelled draft": "Draft:\n```sql\nDRAFT\n```\nFinal query:\n```sql\nQUERY\n```",
    "a corrected draft": "```sql\nDRAFT\n```\nThe corrected query:\n```sql\nQUERY\n```",
    "a draft in a comment": "```sql\n-- draft\nDRAFT\n```\n```sql\nQUERY\n```",
    "a fence of a draft and the query": "```sql\n-- draft\nDRAFT;\n\nQUERY;\n```",
    "a fence of the final one and a draft": "```sql\nQUERY\n; -- final\nDRAFT;\n```",
    "comments after semicolons": "```sql\nDRAFT; -- a draft\nQUERY;\n```",
    "not final": "This is not the final query:\n```sql\nDRAFT\n```\nUse this instead:\n```sql\nQUERY\n```",
    "not yet final": "```sql\n-- isn't the final one yet\nDRAFT\n```\nso:\n```sql\nQUERY\n```",
    "not a draft": "The first attempt:\n```sql\nDRAFT\n```\nNot a draft any more:\n```sql\nQUERY\n```",
    "a filter added": "```sql\nDRAFT\n```\nWe add a filter to get the final query:\n```sql\nQUERY\n```",
    "about the draft": "Draft:\n```sql\nDRAFT\n```\nThat was a draft. Now it is right:\n```sql\nQUERY\n```",
    "a JSON string": "STRING",
    "a JSON list of one": "[STRING]",
    "HTML": "<pre><code>HTML</code></pre>",
    "HTML with a language": '<pre><code class="sql">\nHTML;\n</code></pre>',
    "HTML among words": '<p>Do:</p>\n<pre class="x"><code class="language-sql">HTML</code></pre>\n<p>It reads t.</p>',
    "HTML without code": 'Here:\n<pre lang="sql">HTML</pre>',
    "taken back": "Final answer below:\n```sql\nDRAFT\n```\nWait, that is wrong.\n```sql\nQUERY\n```",
    "scratched": "The final query:\n```sql\nDRAFT\n```\nActually, scratch that.\n\n```sql\nQUERY\n```",
    "not right": "Final SQL:\n```sql\nDRAFT\n```\nHmm, this isn't correct: y has no z.\n```sql\nQUERY\n```",
    "a mistake": "```sql\nDRAFT\n```\nSorry, I made a mistake. So:\n```sql\nQUERY\n```",
    "not to be used": "Do not use this query:\n```sql\nDRAFT\n```\nRun this:\n```sql\nQUERY\n```",
    "typographic quotes": "The query is “QUERY”, which reads t.",
    "another script": "查询：\n\nQUERY\n\n它返回行。",
    "a block of Python": "```python\nimport sqlite3\n```\n```sql\nQUERY\n```",
    "printed": "```sql\nQUERY\n```\nwhich prints\n```\nShow | 5\n```",
    "no-break spaces": "\u00a0QUERY\u00a0",
}
"""QUERY stands for the query, also as OBJECT, CALL (of a tool), STRING and HTML; DRAFT for one that is none."""


def _form(name: str, query: str) -> str:
    call = json.dumps({"name": "run", "arguments": {"sql": query}})
    forms = {"OBJECT": json.dumps({"sql": query}), "CALL": call, "STRING": json.dumps(query), "HTML": escape(query)}
    text = FORMS[name].replace("DRAFT", "SELECT z FROM y")
    for place, written_query in {**forms, "QUERY": query}.items():
        text = text.replace(place, written_query)
    return text


COMMENTED = "SELECT a\n\nFROM t\n\nWHERE b IN (SELECT b FROM u) -- the last one"


@pytest.mark.journey
@each("form,query", [*product(FORMS, QUERIES), *((form, COMMENTED) for form in FORMS if "QUERY\n" in FORMS[form])])
def test_the_query_of_every_form_is_extracted_exactly(form: str, query: str) -> None:
    prediction = Prediction(case_id="1", query=_form(form, query))
    extraction = extracted(prediction)
    assert extraction.query == query
    assert extraction.extraction is not None
    assert written(extraction) == prediction


DRAFTS = {
    "none": "",
    "tag": "<think>Perhaps SELECT z FROM y? No.</think>\n",
    "fence in a tag": "<thinking>\n```sql\nSELECT z FROM y\n```\nNo.\n</thinking>\n\n",
    "answer in a tag": "<think>So <answer>SELECT z FROM y</answer>, but it's wrong.</think>",
    "no start": "Perhaps SELECT z FROM y;\n</think>\n",
    "capitals": "<THINK>SELECT z FROM y</THINK>",
    "Kimi": "◁think▷SELECT z FROM y◁/think▷",
    "Magistral": "[THINK]SELECT z FROM y[/THINK]",
    "channel": "<|channel|>analysis<|message|>SELECT z FROM y<|end|><|start|>assistant<|channel|>final<|message|>",
}
MARKED = (
    *("solution", "answer", "sql_query", "custom", "attr", "answer+fence", "[SQL]", "boxed", "boxed text"),
    *("tildes sql", "fence upper", "tool_call", "json fence", "cdata alone", "unclosed solution", "im_end", "eot"),
)
"""Forms in which a mark or a token is next to the query, and no prose."""
LITERALS = (
    *("</think>", "<think>no</think>", "```", "[/SQL]", ";", "</b>", "<|channel|>final<|message|>x", "<|im_end|>"),
    *("{1}", "<b>SELECT 1</b>", "\nSQLResult: 5", "Answer: 5", "◁/think▷", "</s>", "[INST]", "assistantfinal", "<x>"),
)
"""Marks in a literal, a name or a comment of the query."""


@st.composite
def _queries(draw: st.DrawFn) -> str:
    if not draw(st.booleans()):
        return draw(st.sampled_from(QUERIES))
    forms = ("SELECT a FROM t WHERE b <> '{}'", 'SELECT a AS "{}" FROM t', "SELECT a /* {} */ FROM t")
    return draw(st.sampled_from(forms)).replace("{}", draw(st.sampled_from(LITERALS)))


@example(draft="tag", form="solution", query="SELECT a FROM t WHERE b <> '</think>'")
@given(draft=st.sampled_from(sorted(DRAFTS)), form=st.sampled_from(MARKED), query=_queries())
def test_no_draft_and_no_literal_changes_what_is_extracted(draft: str, form: str, query: str) -> None:
    reading = read_text(DRAFTS[draft] + _form(form, query))
    assert reading.query == query
    assert not reading.several


@given(query=_queries(), end=st.sampled_from(("", ";", ";; -- done", "; -- </think>", " -- </sql>", "\n/* ``` */;")))
def test_a_bare_query_stays_as_it_is(query: str, end: str) -> None:
    prediction = Prediction(case_id="1", query=query + end)
    assert extracted(prediction) is prediction


@each("draft", [draft for draft in DRAFTS if draft != "none"])
def test_a_draft_without_an_answer_is_no_answer(draft: str) -> None:
    for text in (DRAFTS[draft], f"{DRAFTS[draft]}  <|im_end|>"):
        prediction = Prediction(case_id="1", query=text)
        extraction = extracted(prediction)
        assert (extraction.query, extraction.raw) == (None, text)
        assert (extraction.failure.kind, extraction.failure.blame) == ("unanswered", "system")
        assert written(extraction) == prediction


@each(
    "text",
    ["<think>SELECT a FROM t", "<|channel|>analysis<|message|>SELECT a FROM t", "[THINK]\n```sql\nSELECT 1\n```"],
)
def test_thinking_that_does_not_end_is_no_answer(text: str) -> None:
    assert read_text(text).query is None
    assert read_text(text).only_thinking


SEVERAL = {
    "fences": "```sql\nSELECT a FROM t\n```\nor\n```sql\nSELECT b FROM t\n```",
    "one fence": "```sql\nSELECT a FROM t;\nSELECT b FROM t;\n```",
    "comments": "```sql\nSELECT a FROM t; -- one\nSELECT b FROM t; -- two\n```",
    "tags": "<sql>SELECT a FROM t</sql> or <sql>SELECT b FROM t</sql>",
    "fence and tags": "```sql\nSELECT a FROM t\n```\n<answer>SELECT b FROM t</answer>",
    "tags and fence": "<sql>SELECT a FROM t</sql>\n```sql\nSELECT b FROM t\n```",
    "boxes": "\\boxed{SELECT a FROM t} or rather \\boxed{SELECT b FROM t}",
    "rollout": "<sql>SELECT a FROM t</sql>\n<observation>5 rows</observation>\n<solution>SELECT b FROM t</solution>",
    "tool calls": '<tool_call>{"sql": "SELECT a FROM t"}</tool_call><tool_call>{"sql": "SELECT b FROM t"}</tool_call>',
    "repeated": "".join(f"```sql\nSELECT {name} FROM t\n```\n" for name in "bab"),
    "no final one": (
        "Not the final one:\n```sql\nSELECT a FROM t\n```\nNot final either:\n```sql\nSELECT b FROM t\n```"
    ),
}


@each("text", SEVERAL.values())
def test_the_last_of_several_in_fences_or_tags_counts(text: str) -> None:
    prediction = extracted(Prediction(case_id="1", query=text))
    assert prediction.query == "SELECT b FROM t"
    assert prediction.extraction.place in ("fence", "json")
    assert prediction.extraction.several
    assert prediction.extraction.others == ("SELECT a FROM t",)


@each("query", ["SELECT a FROM t WHERE b = 'x &lt; y'", "SELECT a FROM t WHERE b = ’x’", "SELECT\\na FROM t"])
def test_nothing_is_repaired(query: str) -> None:
    assert read_text(query).query == query
    assert read_text(f"<sql>{query}</sql>").query == query


@pytest.mark.parametrize(
    "text", ["<think>" * 5000, "<a>" * 5000, "<sql>SELECT a FROM t</sql>" * 500, "\\boxed{" * 3000]
)
def test_texts_with_many_marks_are_read(text: str) -> None:
    assert read_text(text).query in (None, "SELECT a FROM t", text)
