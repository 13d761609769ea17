"""One reading of a prediction's text, whether it comes from a file, memory, a live system or a pair."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import assay
from assay.api.run import Run
from assay.api.single import gather_evidence
from assay.model import Case, Evidence, Extraction, Prediction
from assay.reports.json.run import case_document
from assay.reports.text.explanation import explanation_of
from many_cases import each
from running import LiveSystem, sqlite_url

GOLD, OTHER = "SELECT a FROM t WHERE b = 1", "SELECT a FROM t"
WRAPPINGS = {
    "a fence": f"Here is the query:\n\n```sql\n{GOLD};\n```\n\nIt reads the table t.",
    "a fence on one line": f"Here is the query: ```sql {GOLD} ```",
    "thinking": f"<think>Perhaps SELECT z FROM y? No.</think>\n{GOLD}",
    "words before": f"The SQL is:\n{GOLD}",
    "a labelled draft": f"Draft:\n```sql\nSELECT z FROM y\n```\nFinal query:\n```sql\n{GOLD}\n```",
    "JSON": json.dumps({"question": "How many?", "sql_query": GOLD}),
}
AMBIGUOUS = f"First: {GOLD};\nSecond: {OTHER};"
SEVERAL = f"```sql\n{OTHER}\n```\nor\n```sql\n{GOLD}\n```"
TEXTS = {
    "bare": GOLD,
    **WRAPPINGS,
    "ambiguous": AMBIGUOUS,
    "several": SEVERAL,
    "only thinking": f"<think>```sql\n{GOLD}\n```",
    "declined": f"I cannot answer that. The closest is:\n```sql\n{GOLD}\n```",
    "code": f"```python\nimport sqlite3\nsqlite3.connect('t.sqlite').execute(\"{GOLD}\")\n```",
    "wrong": f"Here it is:\n```sql\n{OTHER}\n```",
}
NOT_RIGHT = {"ambiguous", "only thinking", "declined", "code", "wrong"}
CASES = [Case(id=name, question=name, golds=(GOLD,)) for name in TEXTS]
OFFICIAL = ("bird_ex", "bird_soft_f1", "spider_ex", "spider_em")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    script = "CREATE TABLE t (a INTEGER, b INTEGER); INSERT INTO t VALUES (1, 1), (2, 2), (3, 1);"
    return sqlite_url(tmp_path_factory.mktemp("data") / "t.sqlite", script)


def _run(source: str, folder: Path, database: str, **settings: object) -> Run:
    file = folder / "predictions.jsonl"
    file.write_text("".join(json.dumps({"id": name, "query": text}) + "\n" for name, text in TEXTS.items()))
    predictions = {
        "file": file,
        "mapping": TEXTS,
        "callable": lambda case: TEXTS[case.id],
        "system": LiveSystem(lambda case: TEXTS[case.id]),
    }[source]
    return assay.evaluate(
        CASES,
        predictions,  # type: ignore[arg-type]
        databases=database,
        metrics=["match", *OFFICIAL],
        workers=1,
        **settings,  # type: ignore[arg-type]
    )


def _by_id(run: Run) -> dict[str, Evidence]:
    return {item.case.id: item for item in run.evidence}


@each("source", ["file", "mapping", "callable", "system"])
def test_every_source_is_read_alike(source: str, tmp_path: Path, database: str) -> None:
    found = _by_id(_run(source, tmp_path, database))
    wrong = NOT_RIGHT
    assert {name for name, item in found.items() if item.outcome == "incorrect"} == wrong
    assert {item.prediction.query for name, item in found.items() if name not in wrong} == {GOLD}
    assert "contains 2 different statements" in found["ambiguous"].verdict.reason
    assert "the model's thinking" in found["only thinking"].verdict.reason
    flagged = {name for name, item in found.items() if "extracted" in item.verdict.flags}
    assert flagged == set(TEXTS) - NOT_RIGHT - {"bare"} | {"wrong"}
    assert {name for name, item in found.items() if "several_statements" in item.verdict.flags} == {"several"}
    for name, item in found.items():  # each metric scores the query that counts
        assert ({score.value for score in item.scores} == {1.0}) is (name not in wrong), name


@pytest.mark.parametrize("source", ["file", "mapping", "callable", "system"])
def test_without_extraction_every_text_is_evaluated_as_it_came(source: str, tmp_path: Path, database: str) -> None:
    run = _run(source, tmp_path, database, extract=False)
    assert not run.settings.extract
    for name, item in _by_id(run).items():
        assert item.prediction.query == TEXTS[name]
        assert item.score("bird_ex").value == float(name == "bare"), name  # type: ignore[union-attr]
        assert (item.outcome == "correct") is (name == "bare")
        assert "extracted" not in item.verdict.flags


def _call(case: Case) -> Prediction:
    """Call a tool with the query."""
    extraction = Extraction(place="tool")
    return Prediction(case_id=case.id, query=GOLD, raw=json.dumps({"sql": GOLD}), extraction=extraction)


@pytest.mark.parametrize("extract", [True, False])
def test_the_argument_of_a_tool_call_is_the_query_and_not_a_text(database: str, *, extract: bool) -> None:
    run = assay.evaluate(CASES, LiveSystem(_call), databases=database, workers=1, extract=extract)
    assert {item.outcome for item in run.evidence} == {"correct"}
    assert not any("extracted" in item.verdict.flags for item in run.evidence)
    assert "not a statement" not in str(run.summary())
    assert "the tool call" in explanation_of(run.evidence[0])


def test_the_summary_counts_them_in_one_note_and_explain_shows_the_text(tmp_path: Path, database: str) -> None:
    run = _run("file", tmp_path, database)
    count = sum("extracted" in item.verdict.flags for item in run.evidence)
    assert count == len(WRAPPINGS) + 2
    assert str(run.summary()).count("flag several_statements") == 1
    notes = [line for line in str(run.summary()).splitlines() if "not a statement but contain" in line]
    assert len(notes) == 1
    assert f"{count} predictions" in notes[0]
    found = _by_id(run)
    text = explanation_of(found["a labelled draft"])
    assert f"prediction:\n    {GOLD}" in text
    assert "also in the text, not counted:\n    SELECT z FROM y" in text
    assert "from a code fence in the text" in text
    assert OTHER in explanation_of(found["ambiguous"])
    assert "The last of several, which counts, is from" in explanation_of(found["several"])
    document = json.loads(case_document([found["a labelled draft"]]))
    assert "SELECT z FROM y" in json.dumps(document)


@each("name", TEXTS)
def test_a_single_pair_is_read_like_a_run(name: str, tmp_path: Path, database: str) -> None:
    evidence = gather_evidence(TEXTS[name], GOLD, database=database)
    assert (evidence.outcome == "correct") is (name not in NOT_RIGHT)
    assert ("extracted" in evidence.verdict.flags) is (
        name not in {"bare", "code", "ambiguous", "only thinking", "declined"}
    )


def test_equal_queries_from_different_texts_keep_their_own_flags(database: str) -> None:
    """The verdict on a pair of queries is remembered, but one text may be the query and another contain it."""
    cases = [Case(id=str(n), question="", golds=(GOLD,)) for n in range(4)]
    texts = {"0": GOLD, "1": f"Here:\n```sql\n{GOLD}\n```", "2": GOLD, "3": f"Here:\n```sql\n{GOLD}\n```"}
    run = assay.evaluate(cases, texts, databases=database, metrics=["match", "bird_ex"], workers=1)
    scores = [[item.score(name).value for name in ("match", "bird_ex")] for item in run.evidence]  # type: ignore[union-attr]
    assert scores == [[1.0, 1.0]] * 4
    assert ["extracted" in item.verdict.flags for item in run.evidence] == [False, True] * 2
