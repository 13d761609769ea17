"""Every kind of case takes the same way: kept by what it is, taken over where nothing changed, judged by its scorer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay import demo, evaluate, evaluate_selections, load_run
from assay.api.inputs import FileOptions
from assay.errors import RunError
from assay.model import Case, CaseOptions, DatabaseUrl, Execution, Prediction
from assay.runs.execution.asking import _digests
from assay.runs.plan import Work, digest_of, plan_work
from assay.sql.extraction.completions import candidates, completed
from many_cases import each
from running import LiveSystem, sqlite_url

CASE = Case(
    id="1",
    question='Which "table":null, then?',
    golds=("SELECT 1",),
    database="db",
    tags=("t",),
    difficulty="easy",
)
URL = DatabaseUrl(text="sqlite:///x")


def test_a_folder_from_before_completions_still_holds_its_cases() -> None:
    # Both as they were before a case could name a table: else nothing that was judged or asked would be found again.
    system = LiveSystem(str)
    system.name = "s"
    system.describe = lambda: "system s"
    work = Work(index=0, case=CASE, prediction=Prediction(case_id="1", query="SELECT 2"), url=URL)
    assert digest_of(work, {URL.text: "basis"}) == "b0fc8da9fcf732d7c49ded92"
    assert _digests(system, [CASE], 1) == {("1", 0): "2ecb1c60eb34f6b1d43f7cd9"}
    other = replace(CASE, options=CaseOptions(table="t"))
    assert digest_of(replace(work, case=other), {URL.text: "basis"}) != digest_of(work, {URL.text: "basis"})


@each(
    ("text", "query", "further"),
    [
        ("SELECT a FROM Table", 'SELECT a FROM "t""1"', []),
        ("Sure: SELECT a FROM Table; or SELECT b FROM 'Table'.", 'SELECT a FROM "t""1"', ['SELECT b FROM "t""1".']),
        ("SELECT a WHERE b = (SELECT 1)", "SELECT a WHERE b = (SELECT 1)", ["SELECT 1)"]),
        ("I cannot.", None, []),
        ("", None, []),
    ],
)
def test_a_completion_is_read_once_and_stays_what_it_is(text: str, query: str | None, further: list[str]) -> None:
    case = replace(CASE, options=CaseOptions(table='t"1'))
    (work,) = plan_work([case], [Prediction(case_id="1", query=text)], lambda _: URL)
    assert (work.prediction.query, work.prediction.raw) == (query, text)
    assert candidates(case, work.prediction) == further
    assert (work.prediction.failure is None) == (query is not None)
    assert completed(case, work.prediction) == work.prediction
    plain = Prediction(case_id="1", query=text)
    assert completed(CASE, plain) is plain


def test_of_an_answer_that_is_too_long_to_be_kept_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.runs.store.codec.MOST_CHARACTERS", 2_000)
    case = replace(CASE, options=CaseOptions(table="t"))
    answer = Prediction(case_id="1", query="SELECT 1; SELECT 2; " + "x" * 2_000)
    (work,) = plan_work([case], [answer], lambda _: URL)
    assert work.prediction.query is None
    assert work.prediction.failure.kind == "unreadable_answer"
    assert candidates(case, work.prediction) == []


def test_llmsqls_questions_serve_any_run_of_queries(tmp_path: Path, make_benchmark: tuple[Path, str]) -> None:
    questions, database = make_benchmark

    def answer(case: Case) -> str:
        return f"For {case.id}: SELECT wrong FROM Table; SELECT a FROM Table" if case.id != "3" else "No idea."

    run = evaluate(
        questions,
        answer,
        databases=database,
        metrics=["match", "llmsql_ex"],
        files=FileOptions(case_format="llmsql"),
        workers=1,
        output=tmp_path / "run",
    )
    values = [[score.value for score in evidence.scores] for evidence in run.evidence]
    assert values == [[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    assert [evidence.outcome for evidence in run.evidence] == ["incorrect"] * 3
    kept = load_run(tmp_path / "run").evidence
    assert kept == run.evidence
    assert [[_told(one) for one in evidence.candidates] for evidence in kept] == [[("rows", 2)], [("rows", 2)], []]


def _told(execution: Execution) -> tuple[str, int | None]:
    return execution.status, execution.row_count


@pytest.fixture
def make_benchmark(tmp_path: Path) -> tuple[Path, str]:
    """Three questions on one table."""
    database = sqlite_url(tmp_path / "tables.db", "CREATE TABLE one (a); INSERT INTO one VALUES (1), (NULL);")
    golds = ("SELECT a FROM one ORDER BY a DESC", "SELECT a FROM one WHERE a = 1", "SELECT a FROM one")
    path = tmp_path / "questions.jsonl"
    lines = (
        {"question_id": number, "table_id": "one", "question": "?", "sql": gold}
        for number, gold in enumerate(golds, start=1)
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path, database


def test_selections_are_resumed_as_queries_are(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    predictions = tmp_path / "answers.jsonl"
    lines = demo.sdmx_path("predictions.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    predictions.write_text("".join(lines[1:]), encoding="utf-8")
    seen: list[tuple[int, int]] = []

    def run() -> None:
        seen.clear()
        evaluate_selections(
            demo.sdmx_path("cases.yaml"),
            predictions,
            output=folder,
            on_progress=lambda state: seen.append((state.finished, state.resumed)),
        )

    run()
    first, journal = load_run(folder).evidence, (folder / "journal.jsonl").read_bytes()
    assert seen[0] == (0, 0)
    run()
    assert seen == [(len(first), len(first))]
    assert ((folder / "journal.jsonl").read_bytes(), load_run(folder).evidence) == (journal, first)
    # An answer that was missing is judged, the rest is as it was, also what was read of the answers.
    predictions.write_text("".join([*lines[1:], lines[0]]), encoding="utf-8")
    run()
    assert seen[0] == (len(first) - 1, len(first) - 1)
    changed, *others = load_run(folder).evidence
    assert (first[0].outcome, changed.outcome) == ("incorrect", "correct")
    assert [replace(one.prediction, origin=None) for one in others] == [
        replace(one.prediction, origin=None) for one in first[1:]
    ]
    assert [one.verdict for one in others] == [one.verdict for one in first[1:]]
    # A finished run is not replaced by one of another answer, unless that is asked for.
    journal = (folder / "journal.jsonl").read_bytes()
    other = lines[0].replace('"MEX"', '"BRA"')
    predictions.write_text("".join([*lines[1:], other]), encoding="utf-8")
    with pytest.raises(RunError, match=r"other predictions: 1 prediction of \d+ cases differs.*overwrite"):
        run()
    assert (folder / "journal.jsonl").read_bytes() == journal
    predictions.write_text("".join([*lines[1:], lines[0]]), encoding="utf-8")
    head, _, rest = journal.partition(b"\n")
    (folder / "journal.jsonl").write_bytes(head[:20] + b"\n" + rest)
    with pytest.raises(RunError, match="line 1"):
        run()
