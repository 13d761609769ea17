"""How much is executed to find a cause: counted, so that two runs find the same, with a clock as a guard only."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.diagnosis.diagnoser import MOST_PROBES, MOST_REPAIRS, CauseFinder
from assay.engines.pool.executor import Executor
from assay.model import Case, ComparisonOptions, DatabaseUrl, Diagnosis, Evidence, Execution, Limits, Prediction
from assay.runs.workers.known_schemas import KnownSchemas
from assay.scoring.queries.scorer import QueryScorer
from running import sqlite_url

ENGINES = {"sqlite": "assay.engines.sqlite.engine:SqliteEngine"}


class Counting(Executor):
    """Counts what is executed."""

    def __init__(self) -> None:
        super().__init__(engines=ENGINES, limits=Limits())
        self.executed: Counter[str] = Counter()

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        self.executed[query] += 1
        return super().execute(url, query)


@pytest.fixture
def url(tmp_path: Path) -> DatabaseUrl:
    draw = random.Random(3)
    rows = [(draw.randrange(9), draw.randrange(9), draw.randrange(9), draw.choice("xyz")) for _ in range(60)]
    script = (
        f"CREATE TABLE t(a INTEGER, b INTEGER, c INTEGER, d TEXT); INSERT INTO t VALUES {', '.join(map(str, rows))};"
    )
    return DatabaseUrl.parse(sqlite_url(tmp_path / "t.sqlite", script))


@pytest.fixture
def counting() -> Iterator[Callable[[], Counting]]:
    made: list[Counting] = []

    def make() -> Counting:
        made.append(Counting())
        return made[-1]

    yield make
    for one in made:
        one.close()


HOPELESS = (
    "SELECT a, COUNT(*) FROM t WHERE b > 2 GROUP BY a HAVING COUNT(*) > 1 ORDER BY a DESC LIMIT 5",
    "SELECT DISTINCT d FROM t WHERE c < 3 OR d = 'q' GROUP BY d, c HAVING SUM(b) > 3 ORDER BY c LIMIT 4",
)
"""Every clause differs, so that many repairs are tried."""


def judged(
    executor: Counting, url: DatabaseUrl, gold: str, query: str, clock: Callable[[], float]
) -> tuple[Evidence, Diagnosis]:
    finder = CauseFinder(executor, KnownSchemas(executor), clock=clock)
    scorer = QueryScorer(executor, [], ComparisonOptions(), diagnoser=finder)
    case = Case(id="1", question="", golds=(gold,))
    found = scorer.evidence(case, Prediction(case_id="1", query=query), url)
    assert found.diagnosis is not None
    return found, found.diagnosis


class Clock:
    """A clock that goes on by so many seconds whenever it is read."""

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._now = 0.0

    def __call__(self) -> float:
        self._now += self._step_s
        return self._now


def test_a_slow_machine_finds_what_a_fast_one_finds(url: DatabaseUrl, counting: Callable[[], Counting]) -> None:
    gold, query = HOPELESS
    fast, slow = (judged(counting(), url, gold, query, Clock(step))[1] for step in (0.0, 0.1))
    assert fast == slow
    assert 10 < fast.tried <= MOST_REPAIRS


def test_repairs_that_the_guard_cuts_off_are_told(url: DatabaseUrl, counting: Callable[[], Counting]) -> None:
    gold, query = HOPELESS
    found = judged(counting(), url, gold, query, Clock(4.0))[1]
    assert found.repair is None
    assert found.tried == 2
    assert "the time limit ended the search for repairs after 2" in found.notes
    assert found.causes


def test_no_more_is_executed_than_the_budget_allows(url: DatabaseUrl, counting: Callable[[], Counting]) -> None:
    draw = random.Random(11)
    columns = "abc"
    for _ in range(30):
        one, other = (
            f"SELECT {draw.choice(columns)}, {draw.choice(columns)} FROM t WHERE {draw.choice(columns)} > "
            f"{draw.randrange(9)} AND d = '{draw.choice('xyzq')}' ORDER BY {draw.choice(columns)}, 1, 2 "
            f"LIMIT {draw.randrange(1, 30)}"
            for _ in range(2)
        )
        executor = counting()
        finder = CauseFinder(executor, KnownSchemas(executor))
        scorer = QueryScorer(executor, [], ComparisonOptions(), diagnoser=finder)
        case, answer = Case(id="1", question="", golds=(one,)), Prediction(case_id="1", query=other)
        plain = counting()
        without = QueryScorer(plain, [], ComparisonOptions())
        found = scorer.evidence(case, answer, url)
        without.evidence(case, answer, url)
        extra = executor.executed.total() - plain.executed.total()
        tried = found.diagnosis.tried if found.diagnosis is not None else 0
        assert tried <= MOST_REPAIRS
        assert extra <= tried + MOST_PROBES


def test_equal_answers_are_diagnosed_once(url: DatabaseUrl, counting: Callable[[], Counting]) -> None:
    gold, query = HOPELESS
    executor = counting()
    asked: list[str] = []

    class Noting(CauseFinder):
        def diagnose(self, evidence: Evidence, url: DatabaseUrl, is_right: Callable[[str], bool]) -> Diagnosis | None:
            asked.append(evidence.case.id)
            return super().diagnose(evidence, url, is_right)

    scorer = QueryScorer(executor, [], ComparisonOptions(), diagnoser=Noting(executor, KnownSchemas(executor)))
    found = [
        scorer.score(Case(id=str(n), question=str(n), golds=(gold,)), Prediction(case_id=str(n), query=query), url)
        for n in range(3)
    ]
    assert asked == ["0"]
    assert len({item.evidence.diagnosis for item in found}) == 1
    assert {item.evidence.case.id for item in found} == {"0", "1", "2"}
