"""DISTINCT ON and WITH TIES over ties, and how long ties are looked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from assay import Case, check, evaluate, load_run
from assay.engines.pool.executor import Executor
from assay.model import Ambiguity, DatabaseUrl, Execution, Result
from assay.scoring.queries.context import ExecutionContext, FailureLog
from assay.scoring.time_limit import TimeLimit
from assay.sql import tie_probes
from many_cases import each


def test_a_choice_of_distinct_on_is_right_whichever_it_is(database: Callable[[str, Sequence[str]], str]) -> None:
    rows = "INSERT INTO t VALUES (1, 10, 1), (1, 20, 1), (2, 30, 1)"
    url = database("duckdb", ["CREATE TABLE t (g INTEGER, h INTEGER, k INTEGER)", rows])
    gold = "SELECT DISTINCT ON (g) g, h FROM t ORDER BY g, k"
    outcomes = {h: check(f"VALUES (1, {h}), (2, 30)", gold, database=url).outcome for h in (10, 20, 30)}
    assert outcomes == {10: "correct", 20: "correct", 30: "incorrect"}
    assert "ambiguous_gold" in check(gold, gold, database=url).flags


def test_with_ties_cuts_no_tie() -> None:
    [probe, *_] = tie_probes("SELECT id, v FROM t ORDER BY v FETCH FIRST 2 ROWS WITH TIES", "postgres", 2)
    assert probe.ranked
    assert "FETCH" not in probe.query


class _Slow:
    """Each query takes a second of a clock that stands still else."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.executed = 0
        monkeypatch.setattr("assay.scoring.queries.context.time.monotonic", lambda: self.now)

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        self.now += 1.0
        self.executed += 1
        return Execution(query=query, status="rows", result=Result(columns=("n",), rows=((1,),)), row_count=1)

    siblings = Executor.siblings
    has_boolean_type = Executor.has_boolean_type
    dialect = Executor.dialect


@each(("took", "executed"), [(0.0, 3), (None, 3), (1.0, 4), (5.0, 20)])
def test_looking_for_ties_is_bounded_by_gold(
    took: float | None, executed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = _Slow(monkeypatch)
    context = ExecutionContext(
        executor=slow,  # type: ignore[arg-type]
        url=DatabaseUrl(text="sqlite:///x"),
        dialect="sqlite",
        clock=TimeLimit(60.0),
        failures=FailureLog(),
    )
    probes = context.with_budget(took)
    found = [probes.execute("SELECT 1") for _ in range(40)]
    assert slow.executed == executed
    assert [one.result is None for one in found] == [place >= executed for place in range(40)]


def test_a_run_tells_accuracy_over_the_determined_cases(make_sqlite: Callable[..., Path], tmp_path: Path) -> None:
    path = make_sqlite("CREATE TABLE t(id, v); INSERT INTO t VALUES (1, 5), (2, 5), (3, 5), (4, 1)")
    golds = {
        "open": "SELECT id FROM t ORDER BY v DESC LIMIT 1",
        "all": "SELECT id FROM t LIMIT 1",
        "inside": "SELECT id FROM t WHERE id = (SELECT id FROM t ORDER BY v DESC LIMIT 1)",
        "sure": "SELECT id FROM t WHERE v = 1",
    }
    predictions = {"open": "SELECT 3", "all": "SELECT 4", "inside": "SELECT 2", "sure": "SELECT 9"}
    run = evaluate(
        [Case(id=name, question="", golds=(gold,)) for name, gold in golds.items()],
        predictions,
        databases=f"sqlite:///{path.as_posix()}",
        metrics=["match"],
        workers=1,
    )
    run.save(tmp_path / "run")
    stored = load_run(tmp_path / "run")
    for one in (run, stored):
        found = {item.case.id: item.verdict.ambiguity for item in one.evidence}
        counts = {name: (a.taken_rows, a.tied_rows, a.choices, a.all_tie) for name, a in found.items() if a is not None}
        assert counts == {"open": (1, 3, 3, False), "all": (1, 4, 4, True), "inside": (1, 3, 3, False)}
        rate = one.aggregates.determined.rate("match")
        assert (rate.numerator, rate.n) == (0, 1)
        overall = one.aggregates.overall.rate("match")
        assert (overall.numerator, overall.n) == (3, 4)


@each(
    ("taken", "tied", "choices", "said"),
    [
        (1, 12, 12, "the gold query takes one of 12 tied rows, any choice is right"),
        (3, 7, 35, "the gold query takes some of 7 tied rows, 35 choices are right"),
        (2, 3, 3, "the gold query takes some of 3 tied rows, any choice is right"),
        (0, 0, None, "the gold query takes some of the tied rows, more than a billion choices are right"),
    ],
)
def test_a_cut_tie_is_said_with_each_number_once(taken: int, tied: int, choices: int | None, said: str) -> None:
    for all_tie in (False, True):
        text = Ambiguity(taken_rows=taken, tied_rows=tied, choices=choices, all_tie=all_tie).text
        assert text.replace(", which are all it has", "") == said
        numbers = re.findall(r"\d+", text)
        assert len(numbers) == len(set(numbers))
