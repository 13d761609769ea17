"""Timing right answers: until the reward is settled, within a budget, and never one query against itself."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.api.evaluation import evaluate
from assay.engines.pool.pool import Task, TaskDone, TaskLost
from assay.metrics.ves import BirdRves, Ves
from assay.model import (
    Case,
    DatabaseUrl,
    Evidence,
    Execution,
    Failure,
    Limits,
    PairTiming,
    Prediction,
    RunSettings,
    Score,
    Verdict,
)
from assay.model.verdicts.summary import summarized
from assay.ports import AWAITS_TIMING
from assay.runs.execution.timing import BUDGET_SPENT, MOST_TIMINGS, ONE_QUERY, awaits_timing, one_query, time_pairs
from assay.runs.plan import Work
from assay.runs.progress import Progress
from assay.runs.workers.scoring_worker import time_pair
from assay.runs.workers.worker_tasks import Timed, TimingTask
from many_cases import each

URL = DatabaseUrl(text="sqlite:///x.sqlite")
GOLD = "SELECT a FROM t"
Ratios = Callable[[random.Random], float]


class Clock:
    """A clock that the fake pool moves on."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Pool:
    """Times pairs by rule: each execution of a pair takes a second of the clock."""

    def __init__(self, clock: Clock, ratios: Ratios, *, ends: Callable[[TimingTask], object] | None = None) -> None:
        self.clock, self.ratios, self.ends = clock, ratios, ends
        self.random = random.Random(7)
        self.tasks: list[list[TimingTask]] = []
        self.starting_s = 0.0

    def wait_until_ready(self) -> None:
        self.clock.now += self.starting_s
        self.starting_s = 0.0

    def run(self, batches: Sequence[Sequence[Task]]) -> Iterator[TaskDone | TaskLost]:
        [batch] = batches
        self.wait_until_ready()
        self.tasks.append([task.payload for task in batch])  # type: ignore[misc]
        for task in batch:
            assert isinstance(task.payload, TimingTask)
            ended = self.ends(task.payload) if self.ends else None
            if isinstance(ended, TaskLost):
                yield ended
            else:
                yield TaskDone(task.id, ended or self.timed(task.payload))

    def timed(self, task: TimingTask) -> Timed:
        found: list[PairTiming] = []
        for _ in range(task.iterations):
            if task.until is not None and self.clock.now >= task.until:
                return Timed(timings=tuple(found), out_of_time=True)
            self.clock.now += 1.0
            found.append(PairTiming(gold_s=self.ratios(self.random), predicted_s=1.0))
        return Timed(timings=tuple(found))


def work_of(index: int, predicted: str) -> Work:
    case = Case(id=str(index), question="?", golds=(GOLD,))
    return Work(index=index, case=case, prediction=Prediction(case_id=case.id, query=predicted), url=URL)


def waiting(work: Work, took_s: float = 0.5) -> Evidence:
    score = Score(metric="ves", value=None, failure=AWAITS_TIMING)
    execution = Execution(query=GOLD, status="rows", wall_time_s=took_s, row_count=1)
    return Evidence(
        case=work.case,
        prediction=work.prediction,
        verdict=Verdict(outcome="correct", reason="equal", gold_index=0),
        scores=(Score(metric="match", value=1.0), score),
        gold_executions=(execution,),
    )


def settings(**given: Any) -> RunSettings:
    return RunSettings(cases="", predictions="", database="", metrics=("match", "ves"), limits=Limits(), **given)


class Trial:
    """Time so many pairs under these settings, and keep all that came of it."""

    def __init__(
        self,
        ratios: Ratios,
        *,
        pairs: int = 1,
        predicted: str = "SELECT a FROM t WHERE 1",
        ends: Any = None,
        starting_s: float = 0.0,
        took_s: Sequence[float] = (),
        **given: Any,
    ) -> None:
        self.clock = Clock()
        self.pool = Pool(self.clock, ratios, ends=ends)
        self.pool.starting_s = starting_s
        works = [work_of(index, predicted) for index in range(pairs)]
        times = took_s or [0.5] * pairs
        self.found = {work.index: waiting(work, took_s) for work, took_s in zip(works, times, strict=True)}
        self.told: list[Progress] = []
        self.given: list[int] = []
        timing = time_pairs(
            works,
            list(map(summarized, self.found.values())),
            [Ves()],
            settings(**given),
            self.pool,  # type: ignore[arg-type]
            evidence_of=dict(self.found).__getitem__,
            on_progress=self.told.append,
            clock=self.clock,
        )
        for index, evidence in timing:
            self.found[index] = evidence
            self.given.append(index)

    def ves(self, index: int = 0) -> Score:
        score = self.found[index].score("ves")
        assert score is not None
        return score

    def noisy(self, index: int = 0) -> bool:
        return "noisy_timing" in self.found[index].verdict.flags


def about(mean: float, spread: float) -> Ratios:
    return lambda chance: max(0.01, chance.gauss(mean, spread))


@each(
    "same",
    [
        GOLD,
        "select  a\nfrom T",
        "SELECT a FROM t;",
        "SELECT a FROM t ; ;\n",
        "-- what is asked\nSELECT /* all */ a FROM t -- end",
        " SELECT a FROM t ",
    ],
)
def test_one_query_needs_no_timing_and_is_as_fast_as_itself(same: str) -> None:
    assert one_query(GOLD, same)
    trial = Trial(about(9.0, 1.0), predicted=same, timing_budget_s=0.0)
    assert trial.pool.tasks == []
    assert (trial.ves().value, trial.ves().detail, trial.noisy()) == (1.0, ONE_QUERY, False)
    assert trial.found[0].pair_timings == ()


@each(
    ("one", "other"),
    [
        *(("SELECT 'a b'", "SELECT 'a  b'"), ("SELECT 'a'", "SELECT 'A'"), ('SELECT "a"', 'SELECT "A"')),
        *(('SELECT "a"', "SELECT a"), ("SELECT '--x'", "SELECT ''"), ("SELECT 1.0", "SELECT 1.00")),
        *(("SELECT a, b FROM t", "SELECT b, a FROM t"), ("SELECT a FROM t", "SELECT a FROM t WHERE 1 = 1")),
        *(("SELECT a b", "SELECT ab"), ("SELECT a; SELECT a", "SELECT a")),
    ],
)
def test_what_differs_in_more_than_looks_is_timed(one: str, other: str) -> None:
    assert not one_query(one, other)
    assert not one_query(other, one)


@each(("mean", "value"), [(0.1, 0.25), (0.35, 0.5), (0.8, 0.75), (1.3, 1.0), (3.0, 1.25)])
@each("spread", [0.02, 0.3])
def test_pairs_are_repeated_until_their_interval_fits_into_one_reward(mean: float, value: float, spread: float) -> None:
    trial = Trial(about(mean, spread * mean), timing_extra_s=10_000.0)
    assert (trial.ves().value, trial.noisy()) == (value, False)
    assert trial.told[-1].finished == trial.told[-1].total


def test_a_steady_pair_is_timed_no_more_often_than_asked() -> None:
    trial = Trial(about(1.5, 0.001), pairs=4, timing_iterations=5, timing_extra_s=10_000.0)
    assert [len(batch) for batch in trial.pool.tasks] == [4]
    assert [len(evidence.pair_timings) for evidence in trial.found.values()] == [5] * 4
    assert trial.given == [0, 1, 2, 3]


def test_each_round_times_a_noisy_pair_as_often_as_before_up_to_the_most() -> None:
    # At a step, with noise that no number of measurements takes away.
    trial = Trial(about(2.0, 1.0), timing_extra_s=1e9)
    assert [task.iterations for [task] in trial.pool.tasks] == [3, 3, 6, 12, 24, 48, 96, 192, 16]
    assert [task.begun for [task] in trial.pool.tasks] == [0, 3, 6, 12, 24, 48, 96, 192, 384]
    assert (len(trial.found[0].pair_timings), trial.noisy()) == (MOST_TIMINGS, True)


def test_one_stray_measurement_moves_nothing_and_without_more_time_none_is_added() -> None:
    ratios = [1.5] * 60 + [500.0]
    assert Ves().timed([PairTiming(gold_s=r, predicted_s=1.0) for r in ratios]).score.value == 1.0
    trial = Trial(about(1.0, 0.5), pairs=3, timing_iterations=4)
    assert [len(evidence.pair_timings) for evidence in trial.found.values()] == [4] * 3


def test_queries_that_are_equally_fast_are_no_toss_of_a_coin() -> None:
    trial = Trial(about(1.0, 0.05), pairs=20, timing_extra_s=1e9)
    settled = [index for index in trial.found if not trial.noisy(index)]
    assert len(settled) >= 18
    assert {trial.ves(index).value for index in settled} <= {1.0, 0.75}
    assert sum(trial.ves(index).value == 1.0 for index in settled) >= 18
    assert Ves().timed([PairTiming(gold_s=0.99, predicted_s=1.0)] * 30).score.value == 0.75
    assert BirdRves().timed([PairTiming(gold_s=r, predicted_s=1.0) for r in (0.995, 1.004) * 30]).score.value == 100.0


def test_starting_a_worker_is_no_part_of_the_budget() -> None:
    trial = Trial(about(9.0, 0.1), pairs=2, timing_budget_s=7.0, starting_s=30.0)
    assert [trial.ves(index).value for index in range(2)] == [1.25, 1.25]


def test_a_slow_pair_does_not_take_the_budget_from_those_after_it() -> None:
    trial = Trial(about(9.0, 0.1), pairs=4, timing_budget_s=9.0, took_s=[60.0, 0.1, 9.0, 0.2])
    assert [trial.ves(index).value for index in range(4)] == [None, 1.25, 1.25, 1.25]
    assert trial.given == [1, 3, 2, 0]


@each("budget_s", [0.0, 1.0, 7.0, 20.0, 55.0, 1000.0])
def test_a_budget_is_kept_and_what_it_does_not_reach_waits_for_the_next_time(budget_s: float) -> None:
    trial = Trial(about(1.0, 0.5), pairs=5, timing_budget_s=budget_s)
    assert trial.clock.now - 1000.0 <= budget_s + 1.0
    timed = [index for index, evidence in trial.found.items() if evidence.pair_timings]
    assert timed == list(range(len(timed)))
    for index, evidence in trial.found.items():
        if index in timed:
            assert trial.ves(index).value is not None
            assert len(evidence.pair_timings) >= 2
        else:
            assert trial.ves(index).failure == BUDGET_SPENT
            assert awaits_timing(summarized(evidence))
    assert all(state.most_left_s is not None and 0 <= state.most_left_s <= budget_s for state in trial.told)
    assert (len(timed) == 5) == (budget_s >= 15)


def test_what_fails_while_it_is_repeated_keeps_what_was_measured() -> None:
    timeout = Failure(stage="execute", kind="timeout", blame="system", message="too slow this time")

    def ends(task: TimingTask) -> object:
        return Timed(failure=timeout) if task.begun else None

    trial = Trial(about(1.0, 0.5), ends=ends, timing_extra_s=1e9)
    assert (len(trial.found[0].pair_timings), trial.noisy()) == (3, True)
    assert trial.ves().value is not None


@pytest.mark.parametrize(("blame", "value"), [("system", 0.0), ("gold", None), ("network", None)])
def test_what_fails_at_first_is_nought_only_where_the_answer_is_at_fault(blame: Any, value: float | None) -> None:
    failure = Failure(stage="execute", kind="timeout", blame=blame, message="too slow")
    trial = Trial(about(1.0, 0.5), ends=lambda _: Timed(failure=failure), timing_extra_s=1e9)
    assert trial.ves().value == value
    assert not awaits_timing(summarized(trial.found[0]))
    assert len(trial.pool.tasks) == 1


def test_a_worker_that_is_lost_while_timing_costs_that_pair_alone() -> None:
    losses = [TaskLost(0, "crashed", "gone")]
    trial = Trial(about(1.5, 0.001), pairs=3, ends=lambda _: losses.pop() if losses else None)
    assert [trial.ves(index).value for index in range(3)] == [None, 1.0, 1.0]


class Engine:
    """Counts executions; the slow side takes a stated time."""

    def __init__(self, *, fails_at: int | None = None) -> None:
        self.queries: list[str] = []
        self.fails_at = fails_at

    def execute_anew(self, url: DatabaseUrl, query: str) -> Execution:
        self.queries.append(query)
        if len(self.queries) == self.fails_at:
            failure = Failure(stage="execute", kind="timeout", blame="system", message="too slow")
            return Execution(query=query, status="timeout", failure=failure)
        return Execution(query=query, status="rows", wall_time_s=2.0 if query == "G" else 1.0, row_count=1)


def test_which_goes_first_alternates_and_the_warm_up_counts_for_nothing() -> None:
    engine = Engine()
    done = time_pair(engine, TimingTask(gold="G", predicted="P", url=URL, iterations=3))  # type: ignore[arg-type]
    assert "".join(engine.queries) == "GPPGGPPG"
    assert done.timings == (PairTiming(gold_s=2.0, predicted_s=1.0),) * 3


def test_nothing_is_executed_once_the_time_is_up() -> None:
    engine = Engine()
    task = TimingTask(gold="G", predicted="P", url=URL, iterations=3, until=0.0)
    assert time_pair(engine, task) == Timed(out_of_time=True)  # type: ignore[arg-type]
    assert engine.queries == []


@each("at", range(1, 9))
def test_a_time_out_in_mid_timing_ends_it_with_the_side_that_is_to_blame(at: int) -> None:
    engine = Engine(fails_at=at)
    done = time_pair(engine, TimingTask(gold="G", predicted="P", url=URL, iterations=3))  # type: ignore[arg-type]
    assert len(engine.queries) == at
    assert done.failure.blame == ("gold" if engine.queries[-1] == "G" else "system")


def test_the_same_command_goes_on_with_what_the_budget_left(make_sqlite: Callable[..., Path], tmp_path: Path) -> None:
    database = make_sqlite("CREATE TABLE t(a INTEGER); INSERT INTO t VALUES (1), (2);")

    cases = [{"id": "1", "question": "?", "gold_sql": GOLD}, {"id": "2", "question": "!", "gold_sql": GOLD}]
    answers = {"1": "SELECT a FROM t WHERE 1 = 1", "2": "select a from t"}
    given = {"databases": f"sqlite:///{database}", "metrics": ["match", "ves"], "workers": 1}

    def run(budget_s: float | None) -> list[Score | None]:
        done = evaluate(cases, answers, timing_budget_s=budget_s, output=tmp_path / "run", **given)
        return [evidence.score("ves") for evidence in done.evidence]

    first, same = run(0.0)
    assert (first.value, first.failure, same.value) == (None, BUDGET_SPENT, 1.0)
    then = run(None)[0]
    assert then.value is not None
    assert run(0.0)[0] == then


def test_a_run_of_before_that_was_cut_ahead_of_its_timing_is_timed(
    make_sqlite: Callable[..., Path], tmp_path: Path
) -> None:
    """Such a folder blames the wait for the timing on ``judge``: it is the same wait."""
    database, run = make_sqlite("CREATE TABLE t(a INTEGER); INSERT INTO t VALUES (1), (2);"), tmp_path / "run"
    cases = [{"id": id_, "question": f"{id_}?", "gold_sql": GOLD} for id_ in "12345"]
    answers = {id_: f"SELECT a FROM t WHERE {id_} = {id_}" for id_ in "12345"}

    given = {"databases": f"sqlite:///{database}", "metrics": ["match", "ves", "bird_rves"], "workers": 1}

    def go_on() -> list[float | None]:
        done = evaluate(cases, answers, output=run, **given)
        return [score.value for evidence in done.evidence for score in evidence.scores]

    go_on()
    journal = run / "journal.jsonl"
    waiting = journal.read_bytes().splitlines(keepends=True)[:5]
    assert all(line.count(b'"blame":"assay"') == 2 for line in waiting)
    journal.write_bytes(b"".join(waiting).replace(b'"blame":"assay"', b'"blame":"judge"'))
    state = (run / "run.json").read_text(encoding="utf-8")
    (run / "run.json").write_text(state.replace('"status": "finished"', '"status": "running"'), encoding="utf-8")
    assert None not in go_on()
    assert journal.read_bytes().count(b'"blame":"judge"') == 10, "no case is judged anew"
