"""The Python API on real databases: what may be passed, what comes back, and that no case costs the run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import assay
from assay import registry
from assay.model import Case, Comparison, Prediction, Score
from assay.ports import Executions, QueryRequest
from assay.runs.store.results_table import RESULT_COLUMNS
from many_cases import each

CASES = [
    {"id": "right", "question": "?", "gold_sql": "SELECT a, b FROM t ORDER BY a", "difficulty": "easy", "tags": ["x"]},
    {"id": "wrong", "question": "?", "gold_sql": "SELECT a FROM t", "difficulty": "hard"},
    {"id": "empty", "question": "?", "gold_sql": "SELECT a FROM t WHERE a > 9", "difficulty": "hard"},
    {"id": "broken", "question": "?", "gold_sql": "SELECT nope FROM t", "difficulty": "hard"},
]
ANSWERS: dict[str, str | None] = {
    "right": "SELECT b, a FROM t ORDER BY a",
    "wrong": "SELECT b FROM t",
    "empty": "SELECT b FROM t WHERE a > 8",
    "broken": "SELECT a FROM t",
}


@pytest.fixture
def database(make_sqlite: Callable[..., Path]) -> str:
    return f"sqlite:///{make_sqlite('CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES (1, NULL), (2, 0.5);')}"


def _outcomes(run: assay.Run) -> dict[str, str]:
    return {evidence.case.id: evidence.outcome for evidence in run.evidence}


@pytest.mark.journey
def test_a_broken_gold_is_outside_the_denominator_and_shown(database: str) -> None:
    run = assay.evaluate(CASES, ANSWERS, databases=database)
    assert _outcomes(run) == {"right": "correct", "wrong": "incorrect", "empty": "correct", "broken": "unscored"}
    rate = run.rate()
    assert (rate.numerator, rate.n, rate.unscored) == (2, 3, 1)
    assert [(count.name, count.case_ids) for count in run.aggregates.failures] == [("gold: error", ("broken",))]
    non_empty = run.rate("non_empty_match")
    assert (non_empty.numerator, non_empty.n, non_empty.unscored) == (1, 2, 2)
    assert "2 of 3" in run.summary()


@pytest.mark.parametrize(
    "answers",
    [
        ANSWERS,
        list(ANSWERS.values()),
        [{"id": name, "predicted_sql": query} for name, query in ANSWERS.items()],
        [Prediction(case_id=name, query=query) for name, query in ANSWERS.items()],
        lambda case: ANSWERS[case.id],
        lambda case: Prediction(case_id=case.id, query=ANSWERS[case.id]),
    ],
    ids=["mapping", "texts", "mappings", "predictions", "callable", "callable giving predictions"],
)
def test_answers_come_in_many_shapes(database: str, answers: Any) -> None:
    run = assay.evaluate(CASES, answers, databases=database, metrics=["match"])
    assert _outcomes(run) == {"right": "correct", "wrong": "incorrect", "empty": "correct", "broken": "unscored"}


def test_a_case_without_an_answer_is_unanswered_and_a_raising_system_is_its_own_failure(database: str) -> None:
    run = assay.evaluate(CASES[:2], {"right": None}, databases=database, metrics=["match"])
    assert _outcomes(run) == {"right": "incorrect", "wrong": "incorrect"}
    assert run.aggregates.unanswered == 2

    def system(case: Case) -> str:
        raise ValueError(f"no idea of {case.id}")

    run = assay.evaluate(CASES[:2], system, databases=database, metrics=["match"])
    assert [evidence.prediction.failure.kind for evidence in run.evidence if evidence.prediction.failure] == [
        "ask_failed"
    ] * 2
    assert "no idea of right" in run.evidence[0].verdict.reason


def test_all_failing_answers_make_a_complete_report(database: str, tmp_path: Path) -> None:
    answers = dict.fromkeys(ANSWERS, "SELEC a FORM t")
    run = assay.evaluate(CASES, answers, databases=database, output=tmp_path / "run")
    rate = run.rate()
    assert (rate.numerator, rate.n) == (0, 3)
    for name in registry.registered("assay.reports"):
        assert registry.reporter(name).render(run.record)
    assert "0 of 3" in run.summary()


class RowCount:
    """A metric of the caller's, which needs the rows and one query more."""

    name = "row_count"
    label = "Rows"
    binary = False

    def requests(self, case: Case, prediction: Prediction) -> Sequence[QueryRequest]:
        return [QueryRequest(query="SELECT count(*) FROM t")]

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Score:
        (counted,) = executions.requested[QueryRequest(query="SELECT count(*) FROM t")]
        if case.id == "wrong":
            raise RuntimeError("a bug")
        return Score(metric=self.name, value=float(len(executions.predicted.result.rows) + counted.result.rows[0][0]))  # type: ignore[operator]


def test_a_metric_of_ones_own_scores_beside_the_named_ones_and_its_bug_costs_one_score(database: str) -> None:
    run = assay.evaluate(
        CASES[:3], ANSWERS, databases=database, metrics=["match", RowCount(), "bird_ex"], allow_unmatched=True
    )
    assert run.settings.metrics == ("match", "row_count", "bird_ex")
    assert [[score.metric for score in evidence.scores] for evidence in run.evidence] == [
        ["match", "row_count", "bird_ex"]
    ] * 3
    values = [evidence.score("row_count") for evidence in run.evidence]
    assert [score.value for score in values if score] == [4.0, None, 2.0]
    assert "RuntimeError: a bug" in values[1].failure.message


_ANSWERED = {name: ANSWERS[name] for name in ("right", "wrong")}


class Giving:
    """A metric of the caller's that gives what it is told to, whatever it says of itself."""

    name = "giving"
    label = "Giving"

    def __init__(self, given: object, *, binary: bool) -> None:
        self.given = given
        self.binary = binary

    def requests(self, case: Case, prediction: Prediction) -> Sequence[QueryRequest]:
        if isinstance(self.given, Exception):
            raise self.given
        return ()

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Any:
        return Score(metric=self.name, value=self.given) if isinstance(self.given, float) else self.given


@pytest.mark.parametrize(
    ("given", "binary", "said"),
    [
        *((value, True, f"gave {value}, and says that its values are 0 and 1 only") for value in (-1.0, 0.999, 2.0)),
        (Score(metric="match", value=1.0), True, "gave a score under the name 'match'"),
        ([], True, "gave [] where an assay.Score belongs"),
        (LookupError("a bug"), False, "failed with LookupError when asked what to execute: a bug"),
    ],
)
def test_a_metric_that_does_not_do_what_it_says_scores_nothing_and_is_told_so(
    database: str, given: object, binary: bool, said: str
) -> None:
    run = assay.evaluate(CASES[:2], _ANSWERED, databases=database, metrics=["match", Giving(given, binary=binary)])
    assert _outcomes(run) == {"right": "correct", "wrong": "incorrect"}
    for evidence in run.evidence:
        score = evidence.score("giving")
        assert (score.value, score.failure.blame) == (None, "assay")
        assert said in score.failure.message
    rate = run.rate("giving")
    assert (rate.n, rate.unscored) == (0, 2)


@pytest.mark.parametrize(("given", "binary"), [(0.0, True), (1.0, True), (0.5, False), (2.0, False), (-1.0, False)])
def test_a_metric_that_does_what_it_says_scores(database: str, given: float, binary: bool) -> None:
    run = assay.evaluate(CASES[:2], _ANSWERED, databases=database, metrics=["match", Giving(given, binary=binary)])
    rate = run.rate("giving")
    assert (rate.value, rate.n, rate.unscored) == (given, 2, 0)


def test_databases_by_template_and_by_mapping(make_sqlite: Callable[..., Path], tmp_path: Path) -> None:
    for name, value in (("one", 1), ("two", 2)):
        make_sqlite(f"CREATE TABLE t(a); INSERT INTO t VALUES ({value});", f"{name}.sqlite")
    cases = [{"id": name, "question": "?", "gold_sql": "SELECT a FROM t", "db_id": name} for name in ("one", "two")]
    answers = {"one": "SELECT 1", "two": "SELECT 1"}
    template = f"sqlite:///{tmp_path}/{{db_id}}.sqlite"
    mapping = {name: f"sqlite:///{tmp_path}/{name}.sqlite" for name in ("one", "two")}
    for databases in (template, mapping):
        run = assay.evaluate(cases, answers, databases=databases, metrics=["match"])
        assert _outcomes(run) == {"one": "correct", "two": "incorrect"}
    with pytest.raises(assay.InputError, match="two"):
        assay.evaluate(cases, answers, databases={"one": mapping["one"]}, metrics=["match"])


@pytest.mark.journey
def test_a_saved_run_reads_back_as_it_was(database: str, tmp_path: Path) -> None:
    run = assay.evaluate(CASES, ANSWERS, databases=database)
    run.save(tmp_path / "saved")
    stored = assay.load_run(tmp_path / "saved")
    assert stored.record == run.record
    with pytest.raises(assay.RunError, match="is not an empty folder"):
        run.save(tmp_path / "saved")


def test_the_table_of_a_run(database: str, tmp_path: Path) -> None:
    run = assay.evaluate(CASES, ANSWERS, databases=database, metrics=["match", "bird_soft_f1"], output=tmp_path / "run")
    table = run.to_arrow()
    names = ["case_id", "question", "db_id", "difficulty", "predicted_sql", "gold_sql", "outcome", "reason", "flags"]
    assert table.column_names[: len(names)] == names
    assert table.column_names == [*RESULT_COLUMNS, "match", "bird_soft_f1"]
    assert pa.types.is_list(table.schema.field("flags").type)
    assert table.column("match").to_pylist() == [1.0, 0.0, 1.0, None]
    assert table.column("flags").to_pylist() == [[], [], ["vacuous"], []]
    rows = duckdb.sql(f"SELECT case_id FROM '{tmp_path}/run/results.parquet' WHERE match IS NULL").fetchall()
    assert rows == [("broken",)]


@pytest.mark.journey
def test_several_golds_and_hostile_pairs_are_judged_one_by_one(database: str) -> None:
    assert assay.check("SELECT 2", ["SELECT 1", "SELECT 2"], database=database).gold_index == 1
    verdict = assay.check("DELETE FROM t", "SELECT 1", database=database)
    assert verdict.outcome == "incorrect"
    assert verdict.failure.kind == "writes"
    assert assay.check("SELECT count(*) FROM t", "SELECT 2", database=database).outcome == "correct"
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    for timeout_s in (0.3, 3.0, 30.0):  # until gold does not meet the limit, too
        verdict = assay.check(endless, "SELECT 1", database=database, limits=assay.Limits(timeout_s=timeout_s))
        if verdict.outcome != "unscored":
            break
    assert verdict.flags == {"timeout"}
    evidence = assay.gather_evidence("SELECT a FROM t", "SELECT a, b FROM t", database=database)
    assert [near.kind for near in evidence.comparison.near_misses] == ["subset_columns"]


def test_a_relative_path_means_the_folder_of_now(
    make_sqlite: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, value in (("one", 1), ("two", 2)):
        make_sqlite(f"CREATE TABLE t(a); INSERT INTO t VALUES ({value});", f"{folder}/x.sqlite")
        monkeypatch.chdir(tmp_path / folder)
        assert assay.check("SELECT a FROM t", f"SELECT {value}", database="sqlite:///x.sqlite").outcome == "correct"


def test_blank_rows_are_skipped_and_counted_and_columns_that_are_not_read_are_named(
    database: str, tmp_path: Path
) -> None:
    path = tmp_path / "cases.csv"
    head, blank = "id,question,gold_sql,Owner,C1,C2,C3,C4,C5", ",,,,,,,,"
    lines = (head, "a,?,SELECT a FROM t,1,1,1,1,1,1", blank, "b,?,SELECT b FROM t,,,,,,", blank)
    path.write_text("\n".join(lines), encoding="utf-8")
    run = assay.evaluate(path, {"a": "SELECT a FROM t", "b": "SELECT a FROM t"}, databases=database, metrics=["match"])
    assert _outcomes(run) == {"a": "correct", "b": "incorrect"}
    assert run.provenance.blank_rows == 1
    said = " ".join(run.summary().split())
    assert "1 blank row in the question set is skipped" in said
    assert '6 columns of the input files are not read: "Owner", "C1", "C2", "C3", "C4" and 1 more.' in said


@pytest.mark.parametrize("limit", [1, 2, 3, 9, None])
def test_cases_that_a_limit_leaves_out_are_counted_in_a_note(database: str, tmp_path: Path, limit: int | None) -> None:
    cases = [{"id": str(n), "question": "?", "gold_sql": f"SELECT {n}"} for n in range(3)]
    answers = {case["id"]: "SELECT 0" for case in cases}
    given = {"databases": database, "metrics": ["match"], "files": assay.FileOptions(limit=limit)}
    run = assay.evaluate(cases, answers, output=tmp_path / "run", **given)
    summary = " ".join(assay.load_run(tmp_path / "run").summary().split())
    evaluated = min(limit or 3, 3)
    assert run.provenance.cases_left_out == 3 - evaluated
    verb = "is" if evaluated == 1 else "are"
    assert (f"Only the first {evaluated} of 3 cases {verb} evaluated (--limit)." in summary) == (evaluated < 3)


def test_judging_works_in_a_script_without_a_main_guard(database: str) -> None:
    script = f"import assay; print(assay.check('SELECT 1', 'SELECT 1.0', database={database!r}).outcome)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.returncode) == ("correct\n", 0), done.stderr


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_compare_with_rows(library: str) -> None:
    module = pytest.importorskip(library)
    columns = {"n": [1, 2], "name": ["a", None]}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    assert assay.compare(frame, [(2, None), (1, "a")]).equal
    assert assay.compare([("a", 1.0), (None, Decimal(2))], frame).equal
    assert not assay.compare(frame, [(2, None), (1, "b")]).equal


@each("rows", ["text", 7, [1, 2], [(1,), (1, 2)], {"a": 1}])
def test_what_is_no_result_is_refused(rows: Any) -> None:
    with pytest.raises(assay.UsageError):
        assay.compare(rows, [(1,)])


def test_run_json_holds_no_cell_that_json_cannot_hold(make_sqlite: Callable[..., Path], tmp_path: Path) -> None:
    database = make_sqlite(
        "CREATE TABLE t(a); INSERT INTO t VALUES (9e999), (x'ff00'), (CAST(x'c328' AS TEXT)), (NULL);"
    )
    cases = [{"id": "odd", "question": "odd?", "gold_sql": "SELECT a FROM t"}]
    run = assay.evaluate(
        cases, {"odd": "SELECT a FROM t LIMIT 3"}, databases=f"sqlite:///{database}", output=tmp_path / "r"
    )
    assert _outcomes(run) == {"odd": "incorrect"}
    for line in (tmp_path / "r" / "journal.jsonl").read_text(encoding="utf-8").splitlines():
        json.loads(line, parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))
    stored = assay.load_run(tmp_path / "r").evidence[0].comparison
    assert stored == run.evidence[0].comparison
