"""What a worker keeps is bounded, and what takes too long costs one metric: real workers, results of some size."""

from __future__ import annotations

import collections
import itertools
import random
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from decimal import Decimal
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import assay
from assay import registry
from assay.api.single import gather_evidence
from assay.api.workers import make_pool
from assay.comparison.answer import Answer
from assay.engines.pool.cache import ByteCache, size_of
from assay.engines.pool.pool import Task, TaskDone
from assay.model import Case, ComparisonOptions, DatabaseUrl, Limits, Prediction, Result
from assay.model.verdicts.summary import summarized
from assay.ports import Executions, QueryRequest
from assay.runs.plan import Work
from assay.runs.workers.scoring_worker import WorkerScorer
from assay.runs.workers.worker_tasks import WorkerSettings
from assay.scoring.time_limit import OutOfTimeError, TimeLimit
from running import sqlite_url

posix = pytest.mark.skipif(sys.platform == "win32", reason="a timer that raises is POSIX's")
# The signal of the other method is what is tested here.
pytestmark = pytest.mark.timeout(method="thread")
ROWS = 4000


@pytest.fixture
def url(tmp_path: Path) -> DatabaseUrl:
    rows = ", ".join(f"({n}, '{n:030}', {n / 7})" for n in range(ROWS))
    script = f"CREATE TABLE t(a INTEGER, b TEXT, c REAL); INSERT INTO t VALUES {rows};"
    return DatabaseUrl.parse(sqlite_url(tmp_path / "big.sqlite", script))


@pytest.fixture
def make_judge() -> Iterator[Callable[..., WorkerScorer]]:
    """Make a judge of this process, with metrics by name and options of WorkerSettings."""
    with ExitStack() as stack:

        def make(*metrics: str, **options: Any) -> WorkerScorer:
            settings = WorkerSettings(
                engines=registry.engine_references(),
                metrics=tuple(registry.reference("assay.metrics", name) for name in metrics),
                options=ComparisonOptions(),
                **options,
            )
            return stack.enter_context(closing(WorkerScorer(settings)))

        yield make


# What is kept


def gold(number: int) -> str:
    return f"SELECT a, b, c, {number} AS n FROM t ORDER BY a % 97, c"


def test_the_answers_of_any_number_of_golds_stay_within_the_workers_room(
    url: DatabaseUrl, monkeypatch: pytest.MonkeyPatch, make_judge: Callable[..., WorkerScorer]
) -> None:
    made: list[ByteCache] = []

    class Seen(ByteCache):
        def __init__(self, most_bytes: int) -> None:
            super().__init__(most_bytes)
            made.append(self)

    monkeypatch.setattr("assay.runs.workers.scoring_worker.ByteCache", Seen)
    room = 8 * 1024 * 1024
    judge = make_judge("match", limits=Limits(), cache_bytes=room)
    for number in range(20):
        case = Case(id=str(number), question="q", golds=(gold(number),))
        for query in (gold(number).replace("a % 97", "1"), f"{gold(number)}, b"):
            scored = judge(Work(case=case, prediction=Prediction(case_id=case.id, query=query), url=url))
            assert isinstance(scored, tuple)
            assert b'"outcome":"unscored"' not in scored[0]
            assert all(cache.held_bytes <= room for cache in made)
    [cache] = [cache for cache in made if len(cache)]
    assert room / 2 < cache.held_bytes
    kinds = {key[0] for key in cache._entries}
    assert kinds >= {"execution", "answer", "verdict"}


def test_a_worker_with_little_memory_scores_all_of_many_large_ordered_golds(url: DatabaseUrl) -> None:
    limits = Limits(max_memory_bytes=64 * 1024 * 1024, max_result_bytes=24 * 1024 * 1024)
    cases = [Case(id=str(number), question="q", golds=(gold(number),)) for number in range(60)]
    tasks = [
        Task(id=n, payload=Work(case=one, prediction=Prediction(case_id=one.id, query=one.golds[0] + ", b"), url=url))
        for n, one in enumerate(cases)
    ]
    with make_pool(ComparisonOptions(), limits, ["match"], 1) as pool:
        done = list(pool.run([tasks]))
        assert pool.restarts == 0
    assert all(isinstance(one, TaskDone) and b'"outcome":"correct"' in one.outcome[0] for one in done)  # type: ignore[index]


def _memory_of(make: Any) -> int:
    import gc
    import tracemalloc

    gc.collect()
    tracemalloc.start()
    kept = make()
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept is not None
    return taken


def _rows(seed: int, *, plain: bool) -> tuple[tuple[Any, ...], ...]:
    rng = random.Random(seed)
    makers = [rng.random, lambda: rng.randrange(10**6), lambda: "x" * rng.randrange(200), lambda: None]
    if not plain:
        makers += [lambda: Decimal(rng.randrange(1000)), lambda: [rng.random() for _ in range(9)]]
    return tuple(tuple(rng.choice(makers)() for _ in range(3)) for _ in range(3000))


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("kind", ["rows", "strict", "ranked"])
def test_sizes_are_honest(kind: str, plain: bool) -> None:
    def make() -> object:
        rows = _rows(1, plain=plain)
        result = Result(columns=("a", "b", "c"), rows=rows)
        if kind == "rows":
            return result
        if kind == "strict":
            return Answer.strict(result)
        return Answer.ranked(result, rows, [n // 3 for n in range(len(rows))], offset=0, ordered=True)

    assert 0.8 * _memory_of(make) <= size_of(make()) <= 4 * _memory_of(make)


def test_one_large_cell_among_many_rows_is_counted() -> None:
    rows = tuple((n, "y" * 50_000_000 if n == 54_321 else "x") for n in range(100_000))
    assert size_of(Result(columns=("a", "b"), rows=rows)) > 50_000_000


def test_evidence_in_the_cache_is_counted_by_its_encoded_form(tmp_path: Path) -> None:
    """That takes a tenth of the time, and is off by less than half."""
    database = sqlite_url(tmp_path / "d.sqlite", "CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x'), ('y');")
    evidence = gather_evidence("SELECT a FROM t LIMIT 1", "SELECT a FROM t", database=database)
    cache = ByteCache(1_000_000)
    cache.put("key", evidence)
    assert 0.5 < cache.held_bytes / size_of(evidence) < 2


def test_the_cache_drops_what_went_longest_without_use_and_counts_right() -> None:
    cache, rng = ByteCache(20_000), random.Random(7)
    latest: dict[int, str] = {}
    for step in range(3000):
        key = rng.randrange(40)
        if rng.random() < 0.5:
            found = cache.get(key)
            assert found in (None, latest.get(key))
            continue
        latest[key] = f"{step}" + "z" * rng.randrange(3000)
        cache.put(key, latest[key])
        assert cache.get(key) == latest[key]
        assert cache.held_bytes == sum(size for _, size in cache._entries.values()) <= 20_000
    assert cache.put("large", "z" * 30_000) == ["large"]
    assert cache.get("large") is None
    cache.clear()
    assert (len(cache), cache.held_bytes) == (0, 0)


# What takes too long


class _Metric:
    label = "a trial"
    binary = True

    def requests(self, case: Case, prediction: Prediction) -> Sequence[QueryRequest]:
        return ()

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Any) -> assay.Score:
        self.take(case)
        return assay.Score(metric=type(self).__name__.lower(), value=1.0)

    def take(self, case: Case) -> None:
        raise NotImplementedError


class Loops(_Metric):
    name = "loops"

    def take(self, case: Case) -> None:
        while case.id == "slow":
            try:
                sum(range(1000))
            except Exception:  # noqa: BLE001 - as such metrics do
                continue


class Stubborn(_Metric):
    name = "stubborn"

    def take(self, case: Case) -> None:
        while case.id == "slow":
            try:
                time.sleep(0.01)
            except BaseException:  # noqa: BLE001 - as such metrics do
                sum(range(1000))


class Backtracks(_Metric):
    name = "backtracks"

    def take(self, case: Case) -> None:
        if case.id == "slow":
            re.match(r"(a|a)*b", "a" * 60)


class OneCall(_Metric):
    name = "onecall"

    def take(self, case: Case) -> None:
        if case.id == "slow":
            collections.deque(itertools.repeat(0), maxlen=0)


class AsksForever(_Metric):
    name = "asksforever"

    def requests(self, case: Case, prediction: Prediction) -> Sequence[QueryRequest]:
        Loops().take(case)
        return ()

    def take(self, case: Case) -> None:
        pass


class Deadly(_Metric):
    name = "deadly"

    def take(self, case: Case) -> None:
        if case.id == "slow":
            import os

            os.abort()


LIMITS_S = (0.3, 3.0, 30.0)
"""One after the other, until only what never ends meets the limit: a busy machine may hold up what takes no time."""
TRIALS = (Loops, Stubborn, Backtracks, OneCall, AsksForever, Deadly)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The trial metrics under their names, as if a package had registered them."""
    reference, metric, known = registry.reference, registry.metric, registry.registered
    ours: dict[str, type[_Metric]] = {one.name: one for one in TRIALS}

    def reference_of(group: str, name: str) -> str:
        return f"{__name__}:{ours[name].__name__}" if name in ours else reference(group, name)

    def registered_in(group: Any) -> dict[str, EntryPoint]:
        entries = {name: EntryPoint(name, reference_of(group, name), group) for name in ours}
        return known(group) | (entries if group == "assay.metrics" else {})

    def metric_of(name: str) -> Any:
        return ours[name]() if name in ours else metric(name)

    monkeypatch.setattr(registry, "reference", reference_of)
    monkeypatch.setattr(registry, "metric", metric_of)
    monkeypatch.setattr(registry, "registered", registered_in)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return


@posix
@pytest.mark.parametrize("trial", TRIALS, ids=lambda one: one.__name__)
def test_a_metric_that_never_ends_is_unscored_alone_and_in_that_case_alone(
    trial: type[_Metric], url: DatabaseUrl, registered: None
) -> None:
    cases = [
        Case(id=name, question="q", golds=(f"SELECT a FROM t WHERE a < {n}",)) for n, name in ((3, "slow"), (4, "b"))
    ]
    for limit_s in LIMITS_S:
        run = assay.evaluate(
            cases,
            {"slow": "SELECT a FROM t WHERE a < 3", "b": "SELECT a FROM t WHERE a < 9"},
            databases=url.text,
            metrics=["match", trial.name, "bird_ex"],
            limits=Limits(comparison_timeout_s=limit_s),
            workers=1,
        )
        slow, other = run.record.evidence
        values = {score.metric: score.value for score in slow.scores}
        if list(values.values()).count(None) == 1 and None not in [score.value for score in other.scores]:
            break
    assert (slow.outcome, values) == ("correct", {"match": 1.0, trial.name: None, "bird_ex": 1.0})
    [failure] = [score.failure for score in slow.scores if score.failure is not None]
    assert failure.blame == "assay"
    assert f"the metric '{trial.name}'" in failure.message
    assert ("brought its process down" if trial is Deadly else f"took longer than {limit_s} s") in failure.message
    assert {score.metric: score.value for score in other.scores} == {"match": 0.0, trial.name: 1.0, "bird_ex": 0.0}


@posix
def test_a_metric_of_the_callers_own_is_held_in_its_process_too(url: DatabaseUrl) -> None:
    case = Case(id="slow", question="q", golds=("SELECT 1",))
    metrics: list[Any] = ["match", Loops(), "bird_ex"]
    for limit_s in LIMITS_S:
        limits = Limits(comparison_timeout_s=limit_s)
        run = assay.evaluate(
            [case], {"slow": "SELECT 1"}, databases=url.text, metrics=metrics, limits=limits, workers=1
        )
        values = [score.value for score in run.record.evidence[0].scores]
        if values.count(None) == 1:
            break
    assert values == [1.0, None, 1.0]


@posix
def test_a_comparison_that_never_ends_leaves_the_case_unscored_and_other_metrics_scored(
    url: DatabaseUrl, monkeypatch: pytest.MonkeyPatch, make_judge: Callable[..., WorkerScorer]
) -> None:
    def endless(*_: object, **__: object) -> None:
        Loops().take(case)

    case = Case(id="slow", question="q", golds=("SELECT a, b FROM t WHERE a < 3",))
    monkeypatch.setattr("assay.scoring.queries.gold_answers.compare", endless)
    from assay.runs.store.codec import decode_evidence

    prediction = Prediction(case_id="slow", query="SELECT a, b FROM t WHERE 3 > a")
    for limit_s in LIMITS_S:
        judge = make_judge("match", "results_match", "bird_ex", limits=Limits(comparison_timeout_s=limit_s))
        scored = judge(Work(case=case, prediction=prediction, url=url))
        assert isinstance(scored, tuple)
        evidence = decode_evidence(scored[0])
        if evidence.scores[2].value is not None:
            break
    assert evidence.outcome == "unscored"
    assert evidence.verdict.reason == f"comparing the results took longer than {limit_s} s"
    assert evidence.verdict.failure.blame == "assay"
    assert [score.value for score in evidence.scores] == [None, None, 1.0]


@posix
@pytest.mark.parametrize("query", ["SELECT b, a FROM t WHERE a < 3", "SELECT a FROM t WHERE a < 4", "SELECT a FROM no"])
def test_what_takes_too_long_in_one_go_is_done_again_step_by_step(
    url: DatabaseUrl, monkeypatch: pytest.MonkeyPatch, make_judge: Callable[..., WorkerScorer], query: str
) -> None:
    from assay.runs.store.codec import decode_evidence
    from assay.scoring.queries.metric_scores import MetricScorer

    monkeypatch.setattr("assay.scoring.time_limit._BRIEFLY_S", 5.0)
    case = Case(id="slow", question="q", golds=("SELECT a, b FROM t WHERE a < 3 ORDER BY a LIMIT 5",))
    task = Work(case=case, prediction=Prediction(case_id="slow", query=query), url=url)
    metrics = ("match", "results_match", "spider_ex", "bird_ex")

    def judged() -> Any:
        scored = make_judge(*metrics, limits=Limits())(task)
        assert isinstance(scored, tuple)
        evidence = decode_evidence(scored[0])
        times = {"wall_time_s": None}
        golds = tuple(replace(gold, **times) for gold in evidence.gold_executions)
        predicted = evidence.predicted_execution
        return replace(evidence, gold_executions=golds, predicted_execution=predicted and replace(predicted, **times))

    score, usual, goes = MetricScorer.score, judged(), 0

    def slow_at_first(self: MetricScorer, *given: Any) -> Any:
        nonlocal goes
        goes += 1
        if goes == 1:
            signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)  # the time is over now
            Loops().take(case)
        return score(self, *given)

    monkeypatch.setattr(MetricScorer, "score", slow_at_first)
    assert judged() == usual
    assert goes == 1 + len(metrics)


@posix
@pytest.mark.parametrize("trouble", ["time", "memory"])
@pytest.mark.parametrize("gold_too", [False, True])
def test_an_answer_that_cannot_be_compared_is_at_fault_where_gold_beside_itself_can_be(
    url: DatabaseUrl,
    monkeypatch: pytest.MonkeyPatch,
    make_judge: Callable[..., WorkerScorer],
    trouble: str,
    gold_too: bool,
) -> None:
    from assay.comparison.compare import compare
    from assay.runs.store.codec import decode_evidence
    from assay.scoring.queries.verdicts import is_final_answer, needs_retry

    case = Case(id="heavy", question="q", golds=("SELECT a, b FROM t WHERE a < 3",))
    heavy = "SELECT a, 'x' FROM t WHERE a < 3"

    def burdened(predicted: Any, *rest: Any, **options: Any) -> Any:
        if gold_too or any("x" in str(cell) for row in predicted.rows for cell in row):
            if trouble == "memory":
                raise MemoryError
            while True:
                time.sleep(0.01)
        return compare(predicted, *rest, **options)

    monkeypatch.setattr("assay.scoring.queries.gold_answers.compare", burdened)
    for limit_s in LIMITS_S:
        judge = make_judge("match", "results_match", "bird_ex", limits=Limits(comparison_timeout_s=limit_s))
        scored = judge(Work(case=case, prediction=Prediction(case_id="heavy", query=heavy), url=url))
        assert isinstance(scored, tuple)
        evidence = decode_evidence(scored[0])
        if evidence.scores[2].value is not None and (gold_too or evidence.outcome == "incorrect"):
            break
    assert is_final_answer(summarized(evidence))
    if gold_too:
        assert (evidence.outcome, [score.value for score in evidence.scores]) == ("unscored", [None, None, 0.0])
        return
    assert (evidence.outcome, evidence.verdict.strength) == ("incorrect", "none")
    assert [score.value for score in evidence.scores] == [0.0, 0.0, 0.0]
    assert evidence.verdict.reason.endswith("gold query compared with itself stays within them")
    assert needs_retry(summarized(evidence))  # the machine may have stood still: tried once more before the run ends


@posix
def test_what_is_done_while_paused_does_not_count() -> None:
    def mostly_elsewhere(keeper: TimeLimit) -> str:
        for _ in range(3):
            with keeper.paused():
                time.sleep(keeper.limit_s * 0.75)
        return "done"

    for limit_s in LIMITS_S:
        short = TimeLimit(limit_s)
        with suppress(OutOfTimeError):
            assert short.run(("what",), partial(mostly_elsewhere, short)) == "done"
            break
    else:
        pytest.fail("what is done while paused counts")
    with pytest.raises(OutOfTimeError, match=rf"took longer than {limit_s} s"):
        short.run(("what",), lambda: time.sleep(600))
    keeper = TimeLimit(600.0)
    with pytest.raises(ZeroDivisionError):
        keeper.run(("what",), lambda: 1 // 0)
    assert keeper.run(("what",), lambda: "fine") == "fine"


def test_files_of_other_databases_are_no_siblings_and_spiders_metric_scores(tmp_path: Path) -> None:
    for flat in (True, False):
        cases = []
        for name in ("one", "two", "three"):
            home = tmp_path / ("dbs" if flat else "spider") / ("" if flat else name)
            for file in (name,) if flat else (name, f"{name}v0"):
                script = f"CREATE TABLE of_{name}(a); INSERT INTO of_{name} VALUES (1);"
                sqlite_url(home / f"{file}.sqlite", script)
            cases.append(Case(id=name, question="q", database=name, golds=(f"SELECT a FROM of_{name}",)))
        template = "dbs/{db_id}.sqlite" if flat else "spider/{db_id}/{db_id}.sqlite"
        run = assay.evaluate(
            cases,
            {case.id: case.golds[0] for case in cases},
            databases=f"sqlite:///{tmp_path.as_posix()}/{template}",
            metrics=["spider_ex"],
            workers=1,
        )
        assert [evidence.scores[0].value for evidence in run.record.evidence] == [1.0, 1.0, 1.0]
