"""ROW_NUMBER and DISTINCT ON over ties: each choice is taken by hand, and the engine says what comes of it."""

from __future__ import annotations

import random
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import combinations, product
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assay import check
from assay.engines.pool.executor import Executor
from assay.model import DatabaseUrl, Execution, Result
from assay.scoring.queries.context import ExecutionContext, FailureLog
from assay.scoring.time_limit import TimeLimit
from assay.sql import tie_probes
from many_cases import each

Rows = list[tuple[Any, ...]]

# How gold chooses, how many of each part, and what is made of the chosen rows of ``t``.
NUMBERED = {
    "WITH r AS (SELECT t.*, ROW_NUMBER() OVER ({window}) AS rn FROM t) SELECT {made} FROM r WHERE rn <= {most}": 0,
    "SELECT {made} FROM (SELECT id, h, k, ROW_NUMBER() OVER ({window}) AS rn FROM t) AS r WHERE rn <= {most}": 0,
    "WITH r AS (SELECT h, k, ROW_NUMBER() OVER ({window}) AS rn, g FROM t) SELECT {made} FROM r WHERE rn <= {most}": 0,
}
DISTINCT_ON = {
    "SELECT {made} FROM (SELECT DISTINCT ON (g) * FROM t ORDER BY g, k) AS r": 1,
    "SELECT {made} FROM (SELECT DISTINCT ON (g) h, k FROM t ORDER BY g, k) AS r": 1,
    "WITH r AS (SELECT DISTINCT  on (g) h, k FROM t ORDER BY g, k) SELECT {made} FROM r": 1,
}
MADE = ["COUNT(*)", "SUM(h), COUNT(*)", "MAX(h)", "MIN(k), MAX(k)", "AVG(k)", "h, k", "k", "COUNT(DISTINCT h)"]


def _table(chance: random.Random) -> Rows:
    return [
        (place, chance.choice([1, 2, None]), chance.choice([1, 1, 2, -3, None]), chance.choice([1, 1, 2]))
        for place in range(chance.randint(3, 6))
    ]


def _choices(rows: Rows, *, parted: bool, most: int) -> Iterator[list[int]]:
    """The ids that may be taken, a list for each choice."""
    parts: dict[Any, Rows] = defaultdict(list)
    for row in rows:
        parts[row[1] if parted else 0].append(row)
    ways = []
    for part in parts.values():
        left, fixed = most, []
        options: list[tuple[int, ...]] = [()]
        for key in sorted({row[3] for row in part}):
            tied = [row[0] for row in part if row[3] == key]
            if left >= len(tied):
                fixed += tied
                left -= len(tied)
            else:
                options = list(combinations(tied, left))
                break
        ways.append([[*fixed, *option] for option in options])
    for way in product(*ways):
        yield [taken for part_taken in way for taken in part_taken]


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("seed", [0])
def test_gold_is_ambiguous_where_its_choice_matters_and_only_there(engine: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    rows = _table(chance)
    run, url = _made(engine, rows, tmp_path)
    told = [0, 0]
    for form, wanted in {**NUMBERED, **(DISTINCT_ON if engine == "duckdb" else {})}.items():
        for made in MADE:
            most = wanted or chance.choice([1, 2])
            parted = bool(wanted) or chance.random() < 0.5
            window = f"{'PARTITION BY g ' * parted}ORDER BY k"
            gold = form.format(made=made, most=most, window=window)
            allowed = {
                repr(sorted(run(f"SELECT {made} FROM t WHERE id IN ({', '.join(map(str, ids))})"), key=repr))
                for ids in _choices(rows, parted=parted, most=most)
            }
            verdict = check(gold, gold, database=url)
            assert verdict.outcome == "correct", gold
            assert ("ambiguous_gold" in verdict.flags) == (len(allowed) > 1), (gold, rows, allowed, verdict)
            told[len(allowed) > 1] += 1
            if verdict.ambiguity is not None and verdict.ambiguity.complete:
                assert verdict.ambiguity.choices == len(allowed), (gold, rows)
    assert min(told) > 3


def _made(engine: str, rows: Rows, folder: Path) -> tuple[Callable[[str], Rows], str]:
    path = folder / f"t.{engine}"
    connection: Any
    table, insert = "CREATE TABLE t (id INTEGER, g INTEGER, h INTEGER, k INTEGER)", "INSERT INTO t VALUES (?, ?, ?, ?)"
    connect: Any = sqlite3.connect if engine == "sqlite" else duckdb.connect
    with closing(connect(path)) as connection:
        connection.execute(table)
        connection.executemany(insert, rows)
        connection.commit()

    def run(query: str) -> Rows:
        with closing(connect(path)) as again:
            found: Rows = again.execute(query).fetchall()
            return found

    return run, f"{engine}:///{path.as_posix()}"


def test_a_choice_of_distinct_on_is_right_whichever_it_is(tmp_path: Path) -> None:
    _, url = _made("duckdb", [(1, 1, 10, 1), (2, 1, 20, 1), (3, 2, 30, 1)], tmp_path)
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
def test_what_looks_for_ties_takes_a_few_times_as_long_as_gold(
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
