"""Judging begins while a live system is still being asked, and comes to the same as asking first."""

from __future__ import annotations

import json
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from answering import Answering
from assay import Run, evaluate, load_run, open_system
from assay.errors import SystemUnusable
from assay.model import Case
from assay.ports import System
from assay.runs.execution.asking import WAITING_PER_WORKER, ResponseStream
from assay.runs.plan import Waiting
from assay.runs.progress import Progress
from running import LiveSystem

SCRIPT = "CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z'), (3, 'z');"
SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT count(*) FROM n"
GOLDS = ("SELECT a FROM t ORDER BY a LIMIT 3", "SELECT DISTINCT b FROM t", "SELECT sum(a) FROM t", "SELECT a, b FROM t")
ANSWERS = (*GOLDS, "SELECT b, a FROM t", "SELECT nonsense", "SELECT a FROM t WHERE 0", "", "no query at all")
COUNT = 60


def cases_of(count: int) -> list[Case]:
    """Several databases' worth of questions, of which many share a gold."""
    return [
        Case(id=f"c{n}", question=f"question {n}", golds=(GOLDS[n % 4],), database="ab"[n % 2]) for n in range(count)
    ]


def answers_of(count: int) -> dict[str, str]:
    return {f"question {n}": ANSWERS[n % len(ANSWERS)] for n in range(count)}


@pytest.fixture
def databases(make_sqlite: Callable[..., Path]) -> dict[str, str]:
    return {name: f"sqlite:///{make_sqlite(SCRIPT, f'{name}.sqlite')}" for name in "ab"}


@pytest.fixture
def judge(databases: dict[str, str]) -> Callable[..., Run]:
    def run(system: System, cases: list[Case], output: Path | None = None, **changes: Any) -> Run:
        given = {"metrics": ["match", "bird_ex", "bird_soft_f1"], "workers": 2, "concurrency": 5, **changes}
        return evaluate(cases, system, databases=databases, output=output, **given)

    return run


def opened(server: Answering) -> System:
    return open_system(
        f"http:{server.url}", body_template='{"q": "{question}"}', query_path="sql", retries=0, timeout_s=600
    )


def content(run: Path) -> list[str]:
    """The journal's lines without what was measured, sorted."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: bare(one) for name, one in value.items() if name != "wall_time_s"}
        return [bare(one) for one in value] if isinstance(value, list) else value

    lines = (run / "journal.jsonl").read_bytes().splitlines()
    return sorted(json.dumps(bare(json.loads(line)), sort_keys=True) for line in lines)


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("most_delay_s", [0.0, 0.05])
def test_it_comes_to_the_same_as_asking_first(
    most_delay_s: float, repeats: int, judge: Callable[..., Run], tmp_path: Path
) -> None:
    cases, count = cases_of(COUNT // repeats), COUNT // repeats
    with Answering(answers_of(count), most_delay_s=most_delay_s) as server:
        system = opened(server)
        together = judge(system, cases, tmp_path / "together", repeats=repeats)
        assert server.asked == dict.fromkeys(answers_of(count), repeats)
        # The same answers, all there before the first is judged.
        (tmp_path / "first").mkdir()
        for name in ("answers.jsonl", "run.json"):
            shutil.copy(tmp_path / "together" / name, tmp_path / "first" / name)
        first = judge(system, cases, tmp_path / "first", repeats=repeats)
        assert server.asked.total() == repeats * count, "nothing is asked again"
        again = judge(system, cases, tmp_path / "together", repeats=repeats, rescore=True)
        system.close()
    assert content(tmp_path / "together") == content(tmp_path / "first")
    assert [(one.case.id, one.prediction.repeat) for one in together.evidence] == [
        (case.id, repeat) for case in cases for repeat in range(repeats)
    ]
    bare = [replace(run.record.aggregates, times=()) for run in (together, first, again)]
    assert bare[0] == bare[1] == bare[2]
    assert load_run(tmp_path / "together").evidence == again.evidence


def test_judging_begins_while_questions_wait(judge: Callable[..., Run]) -> None:
    judged = threading.Event()
    cases = cases_of(6)

    def ask(case: Case) -> str:
        if case.id == "c5":
            assert judged.wait(300), "the others were not judged before this one was answered"
        return GOLDS[0]

    said: list[Progress] = []

    def listen(state: Progress) -> None:
        said.append(state)
        if state.judged == 5:
            judged.set()

    judge(LiveSystem(ask), cases, concurrency=1, on_progress=listen)
    asking = [state for state in said if state.stage == "asking"]
    assert {state.total for state in said} == {6}
    assert asking[0].finished == asking[0].judged == 0
    assert (asking[-1].finished, asking[-1].judged) == (5, 5)
    assert asking[-1].left_s is not None
    assert [(state.stage, state.finished, state.judged) for state in said[-1:]] == [("scoring", 6, None)]
    assert all(state.finished >= (state.judged or 0) for state in asking)


def test_a_fast_system_does_not_run_ahead_of_slow_queries(judge: Callable[..., Run]) -> None:
    """What was asked and is not judged is bounded, whatever the queries take."""
    asked: list[str] = []
    ahead: list[int] = []
    judged = [0]

    def ask(case: Case) -> str:
        asked.append(case.id)
        ahead.append(len(asked) - judged[0])
        return f"{SLOW} WHERE i > {case.id[1:]}"

    def listen(state: Progress) -> None:
        judged[0] = state.judged or 0

    count, workers, concurrency = 115, 2, 4
    judge(
        LiveSystem(ask),
        cases_of(count),
        workers=workers,
        concurrency=concurrency,
        on_progress=listen,
        metrics=["match"],
    )
    assert len(asked) == count
    in_lanes = workers * 20  # a batch, and what a worker has been sent
    assert max(ahead) <= workers * WAITING_PER_WORKER + concurrency + in_lanes < count


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_system_that_proves_unusable_half_way_costs_nothing_that_was_answered(
    concurrency: int, judge: Callable[..., Run], tmp_path: Path
) -> None:
    run, cases = tmp_path / "run", cases_of(40)
    with Answering(answers_of(40)) as server:
        system = opened(server)
        server.most = 25
        with pytest.raises(SystemUnusable):
            judge(system, cases, run, concurrency=concurrency)
        held = len((run / "answers.jsonl").read_bytes().splitlines())
        assert 25 - concurrency < held <= 25
        kept = (run / "journal.jsonl").read_bytes()
        server.most = None
        before = Counter(server.asked)
        done = judge(system, cases, run, concurrency=concurrency)
        system.close()
    assert (server.asked - before).total() == 40 - held, "only what has no answer is asked"
    assert (run / "journal.jsonl").read_bytes().startswith(kept), "no case is judged anew"
    assert len(done.evidence) == 40


def test_what_a_listener_raises_ends_the_asking_and_keeps_the_answers(
    judge: Callable[..., Run], tmp_path: Path
) -> None:
    run, cases = tmp_path / "run", cases_of(40)

    class Enough(Exception):
        pass

    def listen(state: Progress) -> None:
        if state.finished >= 10:
            raise Enough

    before = set(threading.enumerate())
    with Answering(answers_of(40)) as server:
        system = opened(server)
        with pytest.raises(Enough):
            judge(system, cases, run, on_progress=listen)
        assert [one.name for one in set(threading.enumerate()) - before if one.name == "assay-answers"] == []
        held = len((run / "answers.jsonl").read_bytes().splitlines())
        asked = Counter(server.asked)
        assert held <= asked.total() <= held + 5, "no question is begun once nobody wants the answers"
        judge(system, cases, run)
        system.close()
        twice = [question for question, times in server.asked.items() if times > 1]
        assert len(twice) <= 5, "only questions that were in flight are asked again"
        assert len(server.asked) == 40
        assert max(server.asked.values()) <= 2


def test_failures_that_come_again_leave_a_finished_run_as_it_was(judge: Callable[..., Run], tmp_path: Path) -> None:
    def ask(case: Case) -> str:
        if case.id == "c1":
            raise ValueError("never")
        return GOLDS[0]

    run = tmp_path / "run"
    first = judge(LiveSystem(ask), cases_of(4), run)
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.name != "answers.jsonl"}
    second = judge(LiveSystem(ask), cases_of(4), run)
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.name != "answers.jsonl"} == before
    assert (second.evidence, second.provenance) == (first.evidence, first.provenance)


@pytest.fixture
def live() -> Iterator[ResponseStream]:
    with ResponseStream(LiveSystem(lambda _: "SELECT 1"), cases_of(50), concurrency=3, most_waiting=10) as live:
        yield live


def test_questions_wait_until_answers_are_done_with(live: ResponseStream) -> None:
    arrived = threading.Semaphore(0)
    live.begin(arrived.release)
    taken: list[int] = []
    most = 0
    while not live.over:
        arrived.acquire(timeout=300)
        new = [place for place, _ in live.take()]
        taken += new
        most = max(most, len(new))
        live.acknowledge(len(new))
    assert sorted(taken) == list(range(50))
    assert most <= 10 + 3
    assert live.left_s() == 0.0


def test_who_leaves_early_is_not_waited_for(live: ResponseStream) -> None:
    arrived = threading.Semaphore(0)
    live.begin(arrived.release)
    assert arrived.acquire(timeout=300)
    live.stop()
    while not live.over:
        arrived.acquire(timeout=1)
        list(live.take())
    assert 1 <= live.count <= 13
    assert live.failure is None


def test_what_waits_goes_by_database_the_oldest_first() -> None:
    waiting = Waiting(workers=2)
    for place in range(40):
        waiting.add(place, "ab"[place % 2])
    batches = []
    while batch := waiting.batch():
        batches.append(batch)
    assert sorted(place for batch in batches for place in batch) == list(range(40))
    assert all(len({place % 2 for place in batch}) == 1 and len(batch) <= 16 for batch in batches)
    assert batches[0] == list(range(0, 32, 2))
    assert batches[1][:3] == [1, 3, 5], "no database waits for another's end"
    assert len(waiting) == 0
