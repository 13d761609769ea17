"""Question sets for several engines: a URL for each, what lacks one, and gold that is results, which needs none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from processes import assay as command
from processes import sqlite_file, succeeds

import assay
from assay import registry
from assay.errors import InputError, UsageError
from assay.model import Case
from assay.systems.options import SystemOptions

IDS = ("local001", "bq001", "ga001", "sf001", "sf_bq001")


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """Five questions with one result each, 2, and a database that the queries read."""
    results = tmp_path / "bench" / "evaluation_suite" / "gold" / "exec_result"
    results.mkdir(parents=True)
    lines = [{"instance_id": name, "condition_cols": [], "ignore_order": True} for name in IDS]
    (results.parent / "spider2lite_eval.jsonl").write_text("\n".join(map(json.dumps, lines)))
    asked = [{"instance_id": name, "db": "t", "question": f"How many for {name}?"} for name in IDS]
    (tmp_path / "bench" / "spider2-lite.jsonl").write_text("\n".join(map(json.dumps, asked)))
    for folder in ("sql", "csv"):
        (tmp_path / folder).mkdir()
    for name in IDS:
        (results / f"{name}.csv").write_text("n\n2\n")
        (tmp_path / "csv" / f"{name}.csv").write_text("count\n2\n")
        (tmp_path / "sql" / f"{name}.sql").write_text("SELECT COUNT(*) FROM t")
    sqlite_file(tmp_path / "t.sqlite", "CREATE TABLE t (n); INSERT INTO t VALUES (1), (2)")
    return tmp_path / "bench" / "spider2-lite.jsonl"


def _outcomes(run: assay.Run) -> dict[str, str]:
    return {one.case.id: one.outcome for one in run.evidence}


def test_each_question_runs_on_the_database_of_its_engine(benchmark: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/{{db_id}}.sqlite"
    metrics = ["match", "spider2_lite"]
    run = assay.evaluate(
        benchmark, tmp_path / "sql", databases={"sqlite": url, "snowflake": url, "bigquery": url}, metrics=metrics
    )
    assert set(_outcomes(run).values()) == {"correct"}
    run = assay.evaluate(benchmark, tmp_path / "sql", databases={"sqlite": url, "snowflake": url}, metrics=metrics)
    assert _outcomes(run) == {
        "local001": "correct",
        "bq001": "unscored",
        "ga001": "unscored",
        "sf001": "correct",
        "sf_bq001": "correct",
    }
    lacking = next(one for one in run.evidence if one.case.id == "ga001")
    failure = lacking.verdict.failure
    assert failure is not None
    assert (failure.kind, failure.blame) == ("no_database", "setup")
    assert "give --db bigquery=URL" in failure.message
    assert lacking.prediction.query == "SELECT COUNT(*) FROM t"
    assert run.settings.database == f"snowflake: {url}, sqlite: {url}"


def test_one_url_of_such_an_engine_serves_the_questions_for_it_and_another_one_all(
    benchmark: Path, tmp_path: Path
) -> None:
    one = assay.evaluate(benchmark, tmp_path / "sql", databases=f"sqlite:///{tmp_path}/t.sqlite", metrics=["match"])
    assert [name for name, outcome in _outcomes(one).items() if outcome == "correct"] == ["local001"]
    every = assay.evaluate(benchmark, tmp_path / "sql", databases="duckdb://", metrics=["match"])
    assert set(_outcomes(every).values()) == {"incorrect"}  # there is no such table


def test_results_for_answers_need_no_database(benchmark: Path, tmp_path: Path) -> None:
    run = assay.evaluate(benchmark, tmp_path / "csv", databases={}, metrics=["match", "spider2_lite"])
    assert set(_outcomes(run).values()) == {"correct"}
    with pytest.raises(InputError, match="no database is given, and its gold query must be executed"):
        assay.evaluate([Case(id="1", question="?", golds=("SELECT 1",))], {"1": "SELECT 1"}, databases={})


def test_the_engine_of_a_question_can_be_written_beside_it(benchmark: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) | {"engine": "SQLite"} for line in benchmark.read_text().splitlines()]
    benchmark.write_text("\n".join(map(json.dumps, lines)))
    run = assay.evaluate(benchmark, tmp_path / "sql", databases=f"sqlite:///{tmp_path}/t.sqlite", metrics=["match"])
    assert set(_outcomes(run).values()) == {"correct"}


def test_the_command_takes_a_url_for_each_engine_and_tells_once_what_lacks_one(benchmark: Path) -> None:
    folder = benchmark.parents[1]
    shared = ("run", "bench/spider2-lite.jsonl", "--metrics", "match,spider2_lite", "--workers", "1", "-q")
    done = command(*shared, "-p", "csv", cwd=folder)
    assert "5 of 5 correct" in done.stdout
    done = command(*shared, "-p", "sql", "--db", "sqlite=sqlite:///{db_id}.sqlite", "-o", "run", cwd=folder)
    assert "give --db bigquery=URL for 2, --db snowflake=URL for 2" in " ".join(done.stdout.split())
    assert done.stdout.count("bigquery=URL") == 1
    done = command(*shared, "-p", "sql", "--db", "snowflak=sqlite:///t.sqlite", cwd=folder)
    assert (done.returncode, "did you mean 'snowflake'" in done.stderr) == (2, True), done.stderr
    done = command(*shared, "-p", "sql", "--db", "sqlite:///t.sqlite", "--db", "duckdb://", cwd=folder)
    assert (done.returncode, "name the engine of each" in done.stderr) == (2, True), done.stderr


def test_a_further_database_adds_to_what_was_scored(benchmark: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.sqlite"

    def outcomes(*engines: str) -> list[str]:
        databases = dict.fromkeys(engines, url)
        run = assay.evaluate(benchmark, tmp_path / "sql", databases=databases, metrics=["match"], output=tmp_path / "r")
        return [*_outcomes(run).values()]

    assert outcomes() == ["unscored"] * 5
    assert outcomes("sqlite") == ["correct", *["unscored"] * 4]
    before = (tmp_path / "r" / "journal.jsonl").read_text().splitlines()
    assert outcomes("sqlite", "snowflake") == ["correct", "unscored", "unscored", "correct", "correct"]
    after = (tmp_path / "r" / "journal.jsonl").read_text().splitlines()
    assert len(after) == len(before) + 2
    with pytest.raises(assay.errors.RunError, match="other settings"):
        outcomes("snowflake")


def test_a_settings_file_has_a_mapping_of_urls(benchmark: Path) -> None:
    folder = benchmark.parents[1]
    succeeds(
        *("init", "bench/spider2-lite.jsonl", "-p", "sql", "-o", "eval.yaml"),
        *("--db", "sqlite=sqlite:///{db_id}.sqlite", "--db", "snowflake=sqlite:///t.sqlite"),
        cwd=folder,
    )
    assert "\ndb: {sqlite: " in (folder / "eval.yaml").read_text()
    done = command("run", "eval.yaml", "--metrics", "match", "--workers", "1", "-q", cwd=folder)
    assert "3 of 3 correct · 2 unscored" in done.stdout, (done.stdout, done.stderr)
    text = (folder / "eval.yaml").read_text()
    for wrong, words in (("snowflake: ", "unknown engine 'snowflak'"), ("sqlite:///t", "URL")):
        changed = text.replace(wrong, wrong.replace("snowflake", "snowflak").replace("sqlite:///t", "t"))
        (folder / "wrong.yaml").write_text(changed)
        done = command("run", "wrong.yaml", "-q", cwd=folder)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr


def test_lint_names_the_engines_without_a_database(benchmark: Path, tmp_path: Path) -> None:
    report = assay.lint(benchmark, databases=f"sqlite:///{tmp_path}/t.sqlite")
    told = {gap.why: gap.cases for gap in report.gaps}
    assert told["no database is given for BigQuery (--db bigquery=URL)"] == ("bq001", "ga001")
    assert told["no database is given for Snowflake (--db snowflake=URL)"] == ("sf001", "sf_bq001")


def test_what_runs_on_one_database_refuses_several(tmp_path: Path) -> None:
    done = command(
        *("check", "SELECT 1", "SELECT 1", "--db", "sqlite=sqlite:///a", "--db", "snowflake=sqlite:///b"), cwd=tmp_path
    )
    assert (done.returncode, "give one URL" in done.stderr) == (2, True), done.stderr
    from assay.cli.options.declared import by_engine

    with pytest.raises(UsageError, match="needs the engine of every URL"):
        by_engine(["sqlite=sqlite:///a", "sqlite:///b"], "--db")
    with pytest.raises(UsageError, match="--db is given 2 times for snowflake: write --db snowflake=URL once"):
        by_engine(["snowflake=snowflake://a", "sqlite=sqlite:///a", "Snowflake=snowflake://b"], "--db")
    assert by_engine(["sqlite:///a", "sqlite:///b"], "--db") == "sqlite:///b"
    assert by_engine(["sqlite:///a?mode=ro"], "--db") == "sqlite:///a?mode=ro"


def test_a_live_system_is_asked_after_a_warning_of_what_cannot_be_scored(benchmark: Path, tmp_path: Path) -> None:
    system = registry.open_system(f"python:{__name__}:two", SystemOptions())
    words = r"4 of 5 questions will be asked, .* give the URL of each engine \(databases=?\): bigquery for 2, snow"
    with pytest.warns(UserWarning, match=words):
        run = assay.evaluate(benchmark, system, databases=f"sqlite:///{tmp_path}/t.sqlite", metrics=["match"])
    assert list(_outcomes(run).values()).count("unscored") == 4
    done = command("run", "bench", "--system", "command:true", cwd=benchmark.parents[1])
    assert (done.returncode, "--db must be given" in done.stderr) == (2, True), done.stderr


def two(_: Case) -> str:
    """A system that answers every question alike."""
    return "SELECT 2"
