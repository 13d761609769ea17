"""Runs that share executions give the reports of runs that share none."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import assay
import commands
from assay.cli.app import app
from assay.errors import InputError, UsageError
from assay.model import CacheUse
from running import sqlite_url

CASES = [
    {"id": "right", "question": "?", "gold_sql": "SELECT a, b FROM t ORDER BY a"},
    {"id": "wrong", "question": "?", "gold_sql": "SELECT a FROM t"},
    {"id": "tied", "question": "?", "gold_sql": "SELECT b FROM t ORDER BY a > 0"},
    {"id": "cut", "question": "?", "gold_sql": "SELECT a FROM t ORDER BY c LIMIT 2"},
    {"id": "empty", "question": "?", "gold_sql": "SELECT a FROM t WHERE a > 9"},
    {"id": "chance", "question": "?", "gold_sql": "SELECT abs(random()) >= 0"},
    {"id": "broken", "question": "?", "gold_sql": "SELECT nope FROM t"},
    {"id": "none", "question": "?", "gold_sql": "SELECT 1"},
]
FIRST = {
    "right": "SELECT b, a FROM t ORDER BY a",
    "wrong": "SELECT b FROM t",
    "tied": "SELECT b FROM t",
    "cut": "SELECT max(a) FROM t UNION ALL SELECT 1",
    "empty": "SELECT b FROM t WHERE a > 8",
    "chance": "SELECT 1",
    "broken": "SELECT a FROM t",
    "none": "SELEC 1",
}
SECOND = {**FIRST, "right": "SELECT a, b FROM t ORDER BY a DESC", "wrong": "SELECT a FROM t WHERE 1"}
TIMES = ("wall_time_s", "earlier_time_s", "started_at", "cache", "times")


@pytest.fixture
def database(make_sqlite: Callable[..., Path]) -> str:
    script = "CREATE TABLE t(a INTEGER, b TEXT, c); INSERT INTO t VALUES (1, NULL, 0), (2, 0.5, 0), (3, x'ff', 1);"
    return f"sqlite:///{make_sqlite(script)}"


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_times(inner) for name, inner in value.items() if name not in TIMES}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def report(run: assay.Run) -> Any:
    from assay import registry

    return without_times(json.loads(registry.render("json", run.record)))


def evaluated(database: str, answers: dict[str, str], cache: Path | None = None, **more: Any) -> assay.Run:
    return assay.evaluate(CASES, answers, databases=database, cache=cache, workers=1, **more)


def use(run: assay.Run) -> CacheUse:
    found = run.record.provenance.cache
    assert found is not None
    return found


def test_a_run_from_the_cache_reports_what_one_without_it_does(database: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    plain = evaluated(database, FIRST)
    cold, warm = evaluated(database, FIRST, cache), evaluated(database, FIRST, cache)
    assert plain.record.provenance.cache is None
    assert (use(cold), use(warm)) == (CacheUse(executions=16, from_cache=0), CacheUse(executions=16, from_cache=13))
    assert report(plain) == report(cold) == report(warm)
    timed = {
        item.case.id
        for item in warm.record.evidence
        for one in (*item.gold_executions, item.predicted_execution)
        if one is not None and one.wall_time_s is not None
    }
    assert timed <= {"chance", "broken", "none"}, "a time in a report was measured in this run"


def test_another_system_pays_for_its_own_queries(database: str, tmp_path: Path) -> None:
    evaluated(database, FIRST, tmp_path)
    other = evaluated(database, SECOND, tmp_path)
    fresh = {
        item.case.id
        for item in other.record.evidence
        if item.predicted_execution is not None and item.predicted_execution.wall_time_s is not None
    }
    assert fresh == {"right", "wrong", "none"} | fresh & {"chance"}
    assert report(other) == report(evaluated(database, SECOND))


def test_efficiency_is_measured_whatever_is_known(database: str, tmp_path: Path) -> None:
    metrics = ["match", "ves"]
    evaluated(database, SECOND, tmp_path, metrics=metrics)
    run = evaluated(database, SECOND, tmp_path, metrics=metrics)
    assert use(run).from_cache
    (score,) = [score for item in run.record.evidence if item.case.id == "wrong" for score in item.scores[1:]]
    assert score.value > 0


def test_a_run_goes_on_with_or_without_the_cache(database: str, tmp_path: Path) -> None:
    """The cache changes nothing in a run, so it is no setting of it."""
    first = evaluated(database, FIRST, tmp_path / "cache", output=tmp_path / "run")
    again = evaluated(database, FIRST, output=tmp_path / "run")
    assert report(first) == report(again)
    assert use(assay.load_run(tmp_path / "run")) == CacheUse(executions=16, from_cache=0)


def test_a_changed_byte_of_the_database_is_a_miss(database: str, tmp_path: Path) -> None:
    evaluated(database, FIRST, tmp_path / "cache")
    path = Path(database.removeprefix("sqlite:///"))
    before = path.stat()
    place = path.read_bytes().index(b"0.5")
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"0.7")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    changed = evaluated(database, FIRST, tmp_path / "cache")
    assert use(changed).from_cache == 0
    assert report(changed) == report(evaluated(database, FIRST))


def test_a_spoilt_cache_costs_nothing_but_time(database: str, tmp_path: Path) -> None:
    plain = report(evaluated(database, FIRST))
    evaluated(database, FIRST, tmp_path / "cache")
    for number, path in enumerate(sorted(path for path in (tmp_path / "cache").rglob("*") if path.is_file())):
        whole = path.read_bytes()
        path.write_bytes([whole[: len(whole) // 2], b"", whole[:-1] + b"?", b"{}"][number % 4])
    spoilt = evaluated(database, FIRST, tmp_path / "cache")
    assert use(spoilt).from_cache == 0
    assert report(spoilt) == plain
    assert use(evaluated(database, FIRST, tmp_path / "cache")).from_cache == 13


@pytest.mark.parametrize("bad", [0, -1])
def test_a_bound_of_nothing_is_refused(database: str, tmp_path: Path, bad: int) -> None:
    with pytest.raises(UsageError, match="cache_bytes"):
        evaluated(database, FIRST, tmp_path, cache_bytes=bad)


def test_a_file_in_the_caches_place_is_told(database: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="name another folder"):
        evaluated(database, FIRST, tmp_path / "file")


def test_the_bound_holds_after_a_run(database: str, tmp_path: Path) -> None:
    cases = [{"id": f"{n}", "question": "?", "gold_sql": f"SELECT hex(zeroblob({n + 500}))"} for n in range(60)]
    answers = {case["id"]: case["gold_sql"] for case in cases}
    run = assay.evaluate(cases, answers, databases=database, cache=tmp_path / "cache", cache_bytes=20_000, workers=2)
    assert run.record.aggregates.correct == 60
    held = sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert 0 < held <= 20_000


@pytest.fixture
def files(database: str, tmp_path: Path) -> Path:
    """The cases and answers as files, and a run file that names a cache."""
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
    answers = [{"id": name, "predicted_sql": query} for name, query in FIRST.items()]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    (tmp_path / "eval.yaml").write_text(
        f"cases: cases.jsonl\npredictions: answers.jsonl\ndb: {database}\nworkers: 1\n"
        "cache: shared\ncache_size_mib: 5\n"
    )
    return tmp_path


def test_the_command_line_says_how_many_came_from_the_cache(files: Path) -> None:
    told = []
    for _ in range(2):
        done = commands.run(["run", str(files / "eval.yaml"), "--quiet", "--json"], env=os.environ)
        assert done.returncode == 0, done.stderr
        told.append((done.stderr.strip(), json.loads(done.stdout)["provenance"]["cache"]))
    assert told == [
        ("0 of 16 executions came from the cache", {"executions": 16, "from_cache": 0}),
        ("13 of 16 executions came from the cache", {"executions": 16, "from_cache": 13}),
    ]
    assert (files / "shared").is_dir(), "a run file's paths are its own"


def test_every_verb_that_executes_files_has_the_options() -> None:

    verbs = app.every_verb()
    having = {name for name, verb in verbs.items() if any("--cache" in one.opts for one in verb.params)}
    assert having >= {"run", "llmsql"}


def test_runs_at_once_and_a_killed_one_agree(files: Path, tmp_path: Path) -> None:
    """Two runs share the folder while a third is killed in the middle of writing it."""
    numbers = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 3000) SELECT i FROM c"
    database = sqlite_url(tmp_path / "big.sqlite", f"CREATE TABLE n AS {numbers}")
    queries = {f"{n}": f"SELECT i, i * {n} FROM n WHERE i % {n + 1} = 0 ORDER BY i" for n in range(150)}
    cases = [{"id": name, "question": "?", "gold_sql": query} for name, query in queries.items()]
    answers = [{"id": name, "predicted_sql": f"{query} LIMIT 100"} for name, query in queries.items()]
    (files / "many.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (files / "answered.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    base = ["run", str(files / "many.jsonl"), "-p", str(files / "answered.jsonl"), "--db", database]
    base += ["--workers", "2", "--quiet", "--json"]
    shared = [*base, "--cache", str(tmp_path / "shared")]
    killed, *others = (commands.start(shared, env=os.environ) for _ in range(3))
    while killed.poll() is None and not any((tmp_path / "shared").rglob("writing-*")):
        if sum(1 for path in (tmp_path / "shared").rglob("*") if path.is_file()) > 20:
            break
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    told = [json.loads(other.communicate()[0]) for other in others]
    last, plain = (json.loads(commands.run(one, env=os.environ).stdout) for one in (shared, base))
    assert [without_times(one) for one in (*told, last)] == [without_times(plain)] * 3
    assert last["provenance"]["cache"]["from_cache"] == 300
