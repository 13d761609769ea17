"""Whose fault it is: a table of what fails, on which side, and what that comes to in every metric."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import pytest

import commands
from assay import load_run
from assay.engines import outcomes
from assay.engines.pool.cache import ByteCache
from assay.engines.pool.executor import Executor
from assay.metrics.bird import BirdEx, BirdSoftF1
from assay.metrics.denodo import PercentOverlap, PercentSubset, ResultsMatch, SameRowCount
from assay.metrics.match import Match, NonEmptyMatch
from assay.metrics.spider import SpiderEx
from assay.metrics.spider2 import Spider2Lite
from assay.metrics.ves import BirdRves, Ves
from assay.model import (
    Blame,
    Case,
    Comparison,
    ComparisonOptions,
    DatabaseUrl,
    Execution,
    Failure,
    FailureKind,
    Limits,
    Outcome,
    Prediction,
    Score,
)
from assay.model.failure import Side, is_final, ruling
from assay.ports import Executions, QueryRequest
from assay.scoring.queries.scorer import QueryScorer
from ports import free_port

GOLD, PREDICTED = "SELECT 1", "SELECT 1 AS predicted"
URL = DatabaseUrl.parse("sqlite:///nowhere")


class Hopeful:
    """A metric of a caller's that gives 0 wherever the rows are not equal, whatever the reason."""

    name = "hopeful"
    label = "Hopeful"
    binary = True

    def requests(self, case: Case, prediction: Prediction) -> list[QueryRequest]:
        return []

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Score:
        return Score(metric=self.name, value=float(comparison is not None and comparison.equal))


METRICS = (
    *(Match(), NonEmptyMatch(), ResultsMatch(), SameRowCount(), PercentSubset(), PercentOverlap()),
    *(BirdEx(), BirdSoftF1(), SpiderEx(), Spider2Lite(), Ves(), BirdRves(), Hopeful()),
)


@dataclass
class Scripted:
    """An executor that says of each query what it was told to."""

    said: dict[str, Execution] = field(default_factory=dict)
    cache: ByteCache = field(default_factory=lambda: ByteCache(1_000_000))

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        found = self.said.get(query)
        return found or outcomes.fetched(query, ("a",), [(1,)], wall_time_s=0.1, cap=None, limits=Limits())

    def siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:
        return ()

    def has_boolean_type(self, url: DatabaseUrl) -> bool:
        return False

    def dialect(self, url: DatabaseUrl) -> str:
        return "sqlite"


def failing(query: str, kind: FailureKind, blame: Blame = "system") -> Execution:
    if kind == "truncated":
        return outcomes.fetched(query, ("a",), [], wall_time_s=0.1, cap="bytes", limits=Limits())
    status: Any = "timeout" if kind == "timeout" else "refused" if kind in ("refused", "writes") else "error"
    return outcomes.failed(query, status, kind, "it failed", blame=blame)


SYSTEM = ("incorrect", "system", True)
TABLE: list[tuple[FailureKind, Blame, Side, tuple[Outcome, Blame, bool]]] = [
    *(
        (kind, "system", "predicted", SYSTEM)
        for kind in ("error", "timeout", "out_of_memory", "crashed", "truncated", "billing_limit")
    ),
    *((kind, "system", "predicted", SYSTEM) for kind in ("refused", "writes", "several_statements", "no_query")),
    *(
        (kind, "system", "gold", ("unscored", "gold", True))
        for kind in ("error", "timeout", "out_of_memory", "refused", "writes", "several_statements", "no_query")
    ),
    ("crashed", "system", "gold", ("unscored", "engine", False)),
    *((kind, "system", "gold", ("unscored", "setup", True)) for kind in ("truncated", "billing_limit")),
    *(("masked", "system", side, ("unscored", "setup", True)) for side in get_args(Side)),
    *(("unreadable_value", "assay", side, ("unscored", "assay", True)) for side in get_args(Side)),
    ("unreadable_database", "engine", "predicted", ("unscored", "engine", False)),
    ("unreadable_database", "system", "predicted", ("unscored", "setup", False)),
    ("unreadable_database", "engine", "gold", ("unscored", "engine", False)),
    ("unreadable_database", "system", "gold", ("unscored", "setup", False)),
]


@pytest.mark.parametrize(("kind", "blame", "side", "wanted"), TABLE)
def test_a_failed_query_counts_alike_in_every_metric(
    kind: FailureKind, blame: Blame, side: Side, wanted: tuple[Outcome, Blame, bool]
) -> None:
    query = GOLD if side == "gold" else PREDICTED
    executor = Scripted({query: failing(query, kind, blame)})
    judge = QueryScorer(executor, METRICS, ComparisonOptions())
    evidence = judge.evidence(Case(id="1", question="q", golds=(GOLD,)), Prediction(case_id="1", query=PREDICTED), URL)
    outcome, at_fault, final = wanted
    failure = evidence.verdict.failure
    assert failure is not None
    assert (evidence.outcome, failure.blame, is_final(failure)) == (outcome, at_fault, final)
    said = {score.metric: score.value for score in evidence.scores}
    if outcome == "unscored":
        assert set(said.values()) == {None}
    elif kind == "no_query":  # the benchmarks' own scripts run such a text as an empty result
        assert {said["match"], said["hopeful"], said["results_match"]} == {0.0}
    else:
        assert set(said.values()) == {0.0}, said


ASKED: list[tuple[Failure, tuple[Outcome, Blame, bool]]] = [
    (Failure(stage="ask", kind="unanswered", blame="system", message="m"), SYSTEM),
    (Failure(stage="ask", kind="clarification", blame="system", message="m"), SYSTEM),
    (Failure(stage="read", kind="unreadable_answer", blame="system", message="m"), SYSTEM),
    (Failure(stage="ask", kind="ask_failed", blame="system", message="m"), ("incorrect", "system", False)),
    (Failure(stage="ask", kind="ask_failed", blame="network", message="m"), ("unscored", "network", False)),
    (Failure(stage="ask", kind="rejected", blame="system", message="m"), SYSTEM),
    (Failure(stage="read", kind="unreadable_answer", blame="setup", message="m"), ("unscored", "setup", True)),
]


@pytest.mark.parametrize(("failure", "wanted"), ASKED, ids=lambda value: getattr(value, "kind", ""))
def test_a_question_without_a_query_counts_alike_in_every_metric(
    failure: Failure, wanted: tuple[Outcome, Blame, bool]
) -> None:
    judge = QueryScorer(Scripted(), METRICS, ComparisonOptions())
    prediction = Prediction(case_id="1", failure=failure)
    evidence = judge.evidence(Case(id="1", question="q", golds=(GOLD,)), prediction, URL)
    found = evidence.verdict.failure
    assert found is not None
    assert (evidence.outcome, found.blame, is_final(found)) == wanted
    values = {score.value for score in evidence.scores}
    assert values == ({None} if wanted[0] == "unscored" else {0.0})


@pytest.mark.parametrize("side", get_args(Side))
@pytest.mark.parametrize("kind", get_args(FailureKind))
def test_only_the_system_is_ever_counted_as_wrong(kind: FailureKind, side: Side) -> None:
    for stage in ("load", "ask", "read", "execute", "compare", "score"):
        for blame in get_args(Blame):
            rule = ruling(Failure(stage=stage, kind=kind, blame=blame, message="m"), side)
            assert (rule.outcome == "incorrect") <= (rule.blame == "system")
            assert side != "gold" or rule.outcome == "unscored"


def test_a_gold_that_was_kept_from_running_might_have_been_met() -> None:
    lost = failing("SELECT 2", "unreadable_database", "engine")
    executor = Scripted(
        {
            "SELECT 2": lost,
            PREDICTED: outcomes.fetched(PREDICTED, ("a",), [(2,)], wall_time_s=0.1, cap=None, limits=Limits()),
        }
    )
    judge = QueryScorer(executor, METRICS, ComparisonOptions())
    case = Case(id="1", question="q", golds=(GOLD, "SELECT 2"))
    evidence = judge.evidence(case, Prediction(case_id="1", query=PREDICTED), URL)
    assert evidence.outcome == "unscored"
    assert {score.value for score in evidence.scores} == {None}
    executor.said["SELECT 2"] = failing("SELECT 2", "error")
    again = QueryScorer(executor, METRICS, ComparisonOptions()).evidence(
        case, Prediction(case_id="1", query=PREDICTED), URL
    )
    assert again.outcome == "incorrect"


def test_a_server_that_is_lost_while_gold_s_ties_are_looked_for_leaves_the_case_unscored() -> None:
    gold = "SELECT b FROM t ORDER BY a"

    class Losing(Scripted):
        def execute(self, url: DatabaseUrl, query: str) -> Execution:
            if query not in (gold, PREDICTED):
                return outcomes.server_lost(query, "gone")
            rows = [(2,), (3,)] if query == gold else [(3,), (2,)]
            return outcomes.fetched(query, ("b",), rows, wall_time_s=0.1, cap=None, limits=Limits())

    judge = QueryScorer(Losing(), (Match(),), ComparisonOptions())
    evidence = judge.evidence(Case(id="1", question="q", golds=(gold,)), Prediction(case_id="1", query=PREDICTED), URL)
    assert (evidence.outcome, evidence.scores[0].value) == ("unscored", None)
    assert not is_final(evidence.verdict.failure)


# On real servers.


def executor_of(url: str, **limits: Any) -> Executor:
    from assay.registry import engine_references

    return Executor(engines=engine_references(), limits=Limits(**{"timeout_s": 60.0, **limits}), patience_s=1.0)


def failure_of(execution: Execution) -> Failure:
    assert execution.failure is not None, execution
    return execution.failure


@pytest.fixture
def postgres_url(postgres: Any) -> Iterator[str]:
    script = """CREATE TABLE t(a int); INSERT INTO t VALUES (1);
    CREATE FUNCTION dying() RETURNS int LANGUAGE sql SECURITY DEFINER
      AS 'SELECT pg_terminate_backend(pg_backend_pid())::int';
    CREATE FUNCTION killing() RETURNS bigint LANGUAGE sql SECURITY DEFINER
      AS 'SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database()'"""
    url = postgres.create("assay_blame", script)
    try:
        yield url
    finally:
        postgres.drop("assay_blame")


@pytest.mark.parametrize("query", ["SELECT dying()", "SELECT killing()", "SELECT a, dying() FROM t"])
def test_a_query_that_ends_its_own_connection_is_at_fault_and_the_next_runs(postgres_url: str, query: str) -> None:
    url = DatabaseUrl.parse(postgres_url)
    with closing(executor_of(postgres_url)) as executor:
        found = failure_of(executor.execute(url, query))
        assert (found.kind, ruling(found, "predicted").outcome) == ("crashed", "incorrect")
        assert executor.execute(url, "SELECT a FROM t").status == "rows"


def test_a_query_that_is_at_fault_on_mariadb_is_one_that_kills_itself_each_time(mariadb: Any) -> None:
    with closing(mariadb.connect()) as connection, connection.cursor() as cursor:
        for statement in (
            "CREATE DATABASE IF NOT EXISTS blame",
            "CREATE OR REPLACE FUNCTION blame.dying() RETURNS INT BEGIN KILL CONNECTION_ID(); RETURN 1; END",
        ):
            cursor.execute(statement)
    address = f"mariadb+pymysql://root@{mariadb.host}:{mariadb.port}/blame"
    url = DatabaseUrl.parse(address)
    with closing(executor_of(address)) as executor:
        found = failure_of(executor.execute(url, "SELECT dying()"))
        assert ruling(found, "predicted").outcome == "incorrect", found
        assert executor.execute(url, "SELECT 1").status == "rows"


def test_a_duckdb_function_that_fails_on_its_files_is_the_query_s_fault(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "a.duckdb"
    duckdb.connect(str(path)).close()
    address = f"duckdb:///{path}"
    with closing(executor_of(address)) as executor:
        engine_class = executor._class(DatabaseUrl.parse(address))

        def execute(self: Any, query: str) -> Execution:
            if query == "SELECT 1":
                return original(self, query)
            return self._failed(query, duckdb.IOException("IO Error: no such file"), 0.1)

        original = engine_class.execute  # type: ignore[attr-defined]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine_class, "execute", execute)
            found = failure_of(executor.execute(DatabaseUrl.parse(address), "SELECT * FROM some_function()"))
    assert (ruling(found, "predicted").outcome, ruling(found, "gold").blame) == ("incorrect", "engine")


def test_a_server_that_is_away_is_nobodys_query() -> None:
    address = f"postgresql://a:b@127.0.0.1:{free_port()}/x"
    with closing(executor_of(address)) as executor:
        found = failure_of(executor.execute(DatabaseUrl.parse(address), GOLD))
    assert ruling(found, "predicted").outcome == ruling(found, "gold").outcome == "unscored"
    assert not ruling(found, "gold").final


# Through the command line.


def shop(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection:
        connection.execute("CREATE TABLE t(a)")
        connection.execute("INSERT INTO t VALUES (1), (2)")
        connection.commit()
    return f"sqlite:///{folder / 'shop.sqlite'}"


def assay(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return commands.run([*arguments, "--workers", "1", "--metrics", "match,bird_ex"], cwd=folder, env=os.environ)


def write(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_broken_characters_in_an_answer_are_incorrect_and_end_nothing(tmp_path: Path) -> None:
    cases = write(tmp_path / "c.jsonl", [{"id": i, "question": "q", "gold_sql": "SELECT a FROM t"} for i in range(3)])
    answers = ["SELECT '\ud800' FROM t", "\udfff", "SELECT a FROM t"]
    predictions = write(tmp_path / "p.jsonl", [{"id": i, "predicted_sql": text} for i, text in enumerate(answers)])
    done = assay(tmp_path, "run", cases, "-p", predictions, "--db", shop(tmp_path), "-o", "run", "--html", "r.html")
    assert done.returncode == 0, done.stderr
    assert "1 of 3 correct · 0 unscored" in done.stdout


def test_a_gold_in_a_fence_is_read_and_one_that_is_null_is_not_called_broken(tmp_path: Path) -> None:
    golds = ["```sql\nSELECT a FROM t;\n```", None, "```\nSELECT a FROM t\n```", "SELECT '```' FROM t"]
    cases = write(tmp_path / "c.jsonl", [{"id": i, "question": "q", "gold_sql": gold} for i, gold in enumerate(golds)])
    fenced = "```sql\nSELECT a FROM t\n```"
    answers = [fenced, fenced, "SELECT a FROM t", "SELECT '```' FROM t"]
    predictions = write(tmp_path / "p.jsonl", [{"id": i, "predicted_sql": text} for i, text in enumerate(answers)])
    done = assay(tmp_path, "run", cases, "-p", predictions, "--db", shop(tmp_path))
    assert "3 of 3 correct · 1 unscored" in done.stdout
    assert "it has no gold" in done.stdout
    assert "broken" not in done.stdout


@pytest.fixture
def questions(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    rows = [{"id": i, "question": f"q{i}", "gold_sql": "SELECT a FROM t"} for i in range(3)]
    cases, database = write(tmp_path / "c.jsonl", list(rows)), shop(tmp_path)

    def ask(url: str) -> subprocess.CompletedProcess[str]:
        options = ("--retries", "1", "--concurrency", "1", "-o", "run")
        return assay(tmp_path, "run", cases, "--system", url, "--db", database, *options)

    return ask


@pytest.mark.parametrize(("status", "said"), [(500, "rate limit"), (503, "overloaded"), (429, "too many requests")])
def test_where_nothing_could_be_asked_the_run_is_unfinished_and_the_same_command_goes_on(
    questions: Any, status: int, said: str
) -> None:
    from assay.testing import DenodoEmulator, Fault

    fault = Fault(kind="unavailable", status=status, message=said)
    with DenodoEmulator(answers={f"q{i}": "SELECT a FROM t" for i in range(3)}, faults=[fault]) as server:
        url = f"denodo:{server.api_url}"
        stopped = questions(url)
        assert stopped.returncode == 3, (stopped.stdout, stopped.stderr)
        assert f"nothing could be scored: the server answers {status}: {said}" in stopped.stdout.splitlines()[1]
        server.faults.clear()
        done = questions(url)
    assert done.returncode == 0, done.stderr
    assert "3 correct" in done.stdout


@pytest.mark.parametrize(
    ("status", "failing", "exit_status", "accuracy"),
    [
        (500, ("q0", "q1", "q2"), 3, "nothing could be scored"),
        (500, ("q0", "q1"), 0, "1 of 3 correct · 0 unscored"),
        (503, ("q0", "q1"), 3, "1 of 1 correct · 2 unscored"),
    ],
)
def test_a_persistent_failure_has_the_same_exit_status_each_time_and_is_asked_again(
    questions: Any, status: int, failing: tuple[str, ...], exit_status: int, accuracy: str
) -> None:
    from assay.testing import DenodoEmulator, Fault

    faults = [Fault(kind="unavailable", status=status, message="down", question=question) for question in failing]
    with DenodoEmulator(answers={f"q{i}": "SELECT a FROM t" for i in range(3)}, faults=faults) as server:
        url = f"denodo:{server.api_url}"
        for _ in range(2):
            done = questions(url)
            assert done.returncode == exit_status, (done.stdout, done.stderr)
            said = " ".join(done.stdout.split())
            assert accuracy in said
            assert f"{len(failing)} cases failed; the same command tries them again" in said
            ending = "run the same command again to resume; if the failure persists, correct its cause"
            assert (ending in done.stderr) == (exit_status == 3)
        server.faults.clear()
        done = questions(url)
    assert done.returncode == 0, done.stderr
    assert "3 of 3 correct · 0 unscored" in done.stdout
    assert f"asking: {3 - len(failing)} of 3" in done.stderr or len(failing) == 3


def test_a_question_that_the_service_fails_at_counts_as_unanswered_beside_those_that_it_answers(questions: Any) -> None:
    from assay.testing import DenodoEmulator, Fault

    faults = [
        Fault(kind="error", message="rate limit", question="q0"),
        Fault(kind="unavailable", status=502, question="q1"),
    ]
    with DenodoEmulator(answers={f"q{i}": "SELECT a FROM t" for i in range(3)}, faults=faults) as server:
        url = f"denodo:{server.api_url}"
        done = questions(url)
        assert done.returncode == 3, done.stderr
        assert "1 of 3 could not be scored (the server answers 502" in done.stderr
        assert "1 of 2 correct · 1 unscored" in done.stdout
        said = " ".join(done.stdout.split())
        assert "2 cases are unanswered (no predicted query); 1 of them counts as incorrect." in said
        assert "2 cases failed; the same command tries them again: HTTP 500 (1), HTTP 502 (1)." in said
        server.faults.clear()
        done = questions(url)
    assert done.returncode == 0, done.stderr
    assert "3 of 3 correct · 0 unscored" in done.stdout


def test_broken_characters_in_a_live_answer_are_incorrect_in_the_same_words_when_judged_again(tmp_path: Path) -> None:
    (tmp_path / "ask.py").write_text(
        "def to_sql(question):\n    return 'SELECT a FROM t -- \\ud800'\n", encoding="utf-8"
    )
    cases = write(tmp_path / "c.jsonl", [{"id": 1, "question": "q", "gold_sql": "SELECT a FROM t"}])
    command = ("run", cases, "--system", "python:ask:to_sql", "--db", shop(tmp_path), "-o", "run")
    for again in ((), ("--rescore",)):
        done = assay(tmp_path, *command, *again)
        assert done.returncode == 0, done.stderr
        assert "0 of 1 correct · 0 unscored" in done.stdout
        reason = load_run(tmp_path / "run").evidence[0].verdict.reason
        assert reason.endswith("the query is not valid text: character 20 is a lone surrogate")
