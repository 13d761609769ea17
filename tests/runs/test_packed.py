"""A large run keeps its cases packed and only facts of what was judged: all that comes of it is the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay import Run, evaluate, load_run
from assay.model import Case, DatabaseUrl, Failure, Prediction, TokenUsage
from assay.platform import spool
from assay.platform.spool import Spool
from assay.runs.plan import Work, Works, digest_of, plan_places, plan_work
from assay.runs.store.codec import unpack_task

SCRIPT = "CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z'), (3, 'z');"
GOLDS = ("SELECT a FROM t ORDER BY a LIMIT 3", "SELECT DISTINCT b FROM t", "SELECT sum(a) FROM t", "SELECT a, b FROM t")
ANSWERS = (*GOLDS, "SELECT b, a FROM t", "SELECT nonsense", "SELECT a FROM t WHERE 0", "", "no query", None, "\ud800")
FAILURE = Failure(stage="ask", kind="ask_failed", blame="system", message="500")


def cases_of(count: int) -> list[Case]:
    return [
        Case(
            id=f"c{n}",
            question=f"question {n} ä",
            golds=(GOLDS[n % 4], GOLDS[0])[: 1 + n % 3 % 2],
            database="ab"[n % 2],
            difficulty=("easy", "hard", None)[n % 3],
            tags=(("t",), ())[n % 2],
            context="\udfff" if n == 7 else None,
            origin=f"file, line {n}",
        )
        for n in range(count)
    ]


def answers_of(count: int) -> list[Prediction]:
    return [
        Prediction(
            case_id=f"c{n}",
            query=ANSWERS[n % len(ANSWERS)],
            timings_s=(("total_execution_time", n / 7),) if n % 5 else (),
            tokens=TokenUsage(input=n, output=1) if n % 2 else None,
            cost_usd=n / 1000 if n % 3 else None,
            failure=FAILURE if n % len(ANSWERS) == 9 else None,
        )
        for n in range(count)
    ]


@pytest.fixture
def judge(make_sqlite: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    databases = {name: f"sqlite:///{make_sqlite(SCRIPT, f'{name}.sqlite')}" for name in "ab"}

    def run(output: Path | None, *, large: int, count: int = 60, **more: Any) -> Run:
        monkeypatch.setattr(spool, "LARGE", large)
        return evaluate(
            cases_of(count), answers_of(count), databases=databases, output=output, **{"workers": 2, **more}
        )

    return run


def bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: bare(one) for name, one in value.items() if name != "wall_time_s"}
    return [bare(one) for one in value] if isinstance(value, list) else value


def content(run: Path) -> list[str]:
    """The journal's lines without what was measured, sorted."""
    return sorted(
        json.dumps(bare(json.loads(line)), sort_keys=True) for line in (run / "journal.jsonl").read_bytes().splitlines()
    )


def rows(run: Path) -> list[tuple[Any, ...]]:
    """The table without what was measured."""
    return (
        duckdb.connect().execute(f"SELECT * EXCLUDE (gold_s, predicted_s) FROM '{run / 'results.parquet'}'").fetchall()
    )


def test_a_packed_run_comes_to_the_same(judge: Callable[..., Run], tmp_path: Path) -> None:
    plain, packed = (judge(tmp_path / name, large=large) for name, large in (("plain", 10**9), ("packed", 0)))
    assert replace(packed.record.aggregates, times=()) == replace(plain.record.aggregates, times=())
    assert [(one.name, one.n) for one in packed.record.aggregates.times[:1]] == [("answer", 48)]
    assert content(tmp_path / "packed") == content(tmp_path / "plain")
    assert rows(tmp_path / "packed") == rows(tmp_path / "plain")
    assert [one.verdict for one in packed.evidence] == [one.verdict for one in plain.evidence]
    assert [one.case for one in packed.evidence] == cases_of(60)
    assert [one.case for one in load_run(tmp_path / "packed").evidence] == [
        one.case for one in load_run(tmp_path / "plain").evidence
    ]
    unkept = judge(None, large=0)
    assert replace(unkept.record.aggregates, times=()) == replace(plain.record.aggregates, times=())


def test_a_packed_run_goes_on_from_what_a_plain_one_has_and_the_other_way_round(
    judge: Callable[..., Run], tmp_path: Path
) -> None:
    for first, then in ((10**9, 0), (0, 10**9)):
        run = tmp_path / str(first)
        whole = judge(run, large=first)
        lines = (run / "journal.jsonl").read_bytes().splitlines(keepends=True)
        again = judge(run, large=then)
        assert (run / "journal.jsonl").read_bytes() == b"".join(lines), "a finished run is not done again"
        assert again.provenance == whole.provenance
        (run / "journal.jsonl").write_bytes(b"".join(lines[:20]))
        judge(run, large=then)
        now = (run / "journal.jsonl").read_bytes().splitlines(keepends=True)
        assert now[:20] == lines[:20]
        assert len(now) == 60


def test_timing_waits_for_packed_cases_too(judge: Callable[..., Run], tmp_path: Path) -> None:
    more = {"metrics": ["match", "ves"], "timing_iterations": 1, "timing_extra_s": 0.0, "count": 24}
    plain, packed = (judge(tmp_path / f"{large}", large=large, **more) for large in (10**9, 0))

    def timed(run: Run) -> list[bool]:
        return [(score := one.score("ves")) is not None and score.value is not None for one in run.evidence]

    assert timed(packed) == timed(plain)
    assert any(timed(packed))


@pytest.mark.parametrize("large", [0, 10**9])
def test_works_are_those_that_were_planned_in_memory_and_in_a_file(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def url(name: str | None) -> DatabaseUrl:
        return DatabaseUrl(text=f"sqlite:///{name}.sqlite")

    planned = plan_work(cases_of(90), answers_of(90), url)
    bases = {f"sqlite:///{name}.sqlite": name for name in "ab"}
    monkeypatch.setattr(spool, "LARGE", large)
    works = Works(iter(planned), bases)
    assert isinstance(works._works, Spool) == (large == 0)
    assert list(works) == planned
    assert works[10:12] == planned[10:12]
    assert [works.digest(index) for index in range(90)] == [digest_of(work, bases) for work in planned]
    assert [works.url(index) for index in range(90)] == [work.url for work in planned]
    tasks = works.tasks(range(90))
    assert [unpack_task(task, Work) for task in tasks] == planned
    assert sum(not isinstance(task, bytes) for task in tasks) == 9, "text that is not valid Unicode stays as it is"
    later = replace(planned[5].prediction, query="SELECT 5")
    works.answer(5, later)
    assert works[5] == unpack_task(works.tasks([5])[0], Work) == replace(planned[5], prediction=later)
    assert works.digest(5) == digest_of(works[5], bases)
    assert works.digest(6) == digest_of(planned[6], bases)
    assert works[6] == planned[6]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=300), st.integers(1, 4))
@settings(max_examples=50)
def test_batches_hold_each_case_once_and_those_of_one_gold_query_together(
    cases: list[tuple[int, int]], workers: int
) -> None:
    batches = plan_places(range(len(cases)), lambda n: cases[n][0], lambda n: cases[n][1], workers)
    assert sorted(index for batch in batches for index in batch) == list(range(len(cases)))
    assert all(len({cases[index][0] for index in batch}) == 1 for batch in batches)
    size = max(1, len(cases) // (workers * 8))
    assert all(len(batch) <= size or len(batch) == Counter(cases)[cases[batch[0]]] for batch in batches)
    for case, count in Counter(cases).items():
        held = [batch for batch in batches if any(cases[index] == case for index in batch)]
        assert len(held) <= -(-count // size), "a gold query is in no more batches than it has to be"
