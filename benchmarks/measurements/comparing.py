"""Comparing two results soundly, against `set(predicted) == set(gold)`, which is not sound."""

from __future__ import annotations

import random
import shutil
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

import duckdb

from assay import registry
from assay.comparison.compare import compare
from assay.engines.duckdb import DuckdbEngine
from assay.model import Case, ComparisonOptions, DatabaseUrl, Execution, Limits, Prediction, Result, Row
from assay.ports import Executions
from benchmarks.frame import Setup, cpu_seconds, own_peak_mb
from benchmarks.tpch.tables import make_tables, queries

Rows = list[Row]
_WIDE = 1_000_000


def rows_of(count: int, width: int, chance: random.Random) -> Rows:
    """Rows like those of real tables: a key, measures, names, small integers, NULLs, a constant."""
    return [
        (
            number,
            chance.random(),
            f"name {chance.randrange(1000)}",
            chance.randrange(50),
            None if chance.random() < 0.1 else chance.randrange(10**6),
            chance.random(),
            "x",
            number * 2,
        )[:width]
        for number in range(count)
    ]


def copied(rows: Rows, chance: random.Random) -> Rows:
    """The same rows as other objects, shuffled."""
    other = [(*row,) for row in rows]
    chance.shuffle(other)
    return other


def noisy(rows: Rows) -> Rows:
    """The second column with the noise of floats."""
    return [(row[0], row[1] * (1 + 1e-13), *row[2:]) for row in rows]  # type: ignore[operator]


def wrong(rows: Rows) -> Rows:
    """The rows with one wrong cell."""
    return [(-1, *rows[0][1:]), *rows[1:]]


def against_sets(gold: Rows, predicted: Rows, floor_predicted: Rows, rounds: int, *, equal: bool = True) -> float:
    """How often the floor's processor time a comparison takes."""
    ours, theirs = Result.of(gold), Result.of(predicted)

    def judged() -> None:
        assert compare(theirs, ours).equal is equal

    def floor() -> None:
        assert set(floor_predicted) == set(gold)

    return statistics.median([(1 / cpu_seconds(floor)) * cpu_seconds(judged) for _ in range(rounds)])


def rows(setup: Setup) -> dict[str, float]:
    """100,000 rows: shuffled, swapped, noisy; and many columns that look alike."""
    chance = random.Random(7)
    gold = rows_of(100_000, 5, chance)
    same = copied(gold, chance)
    swapped: Rows = [(a, d, c, b, e) for a, b, c, d, e in same]
    bits: Rows = [tuple(chance.randrange(2) for _ in range(20)) for _ in range(10_000)]
    order = list(range(20))
    chance.shuffle(order)
    permuted = copied([tuple(row[column] for column in order) for row in bits], chance)
    return {
        "rows.shuffled": against_sets(gold, same, same, setup.rounds),
        "rows.swapped": against_sets(gold, swapped, same, setup.rounds),
        "rows.noisy": against_sets(gold, noisy(same), same, setup.rounds),
        "rows.wrong": against_sets(gold, wrong(same), same, setup.rounds, equal=False),
        "rows.bits": cpu_seconds(lambda: compare(Result.of(permuted), Result.of(bits))),
    }


def many_rows(_: Setup) -> dict[str, float]:
    """A million rows of five columns: shuffled, noisy, with one wrong cell."""
    chance = random.Random(7)
    gold = rows_of(_WIDE, 5, chance)
    same = copied(gold, chance)
    floor_s = cpu_seconds(lambda: set(same) == set(gold))
    figures = {}
    for name, predicted in (("shuffled", same), ("noisy", noisy(same)), ("wrong", wrong(same))):
        took_s = cpu_seconds(partial(compare, Result.of(predicted), Result.of(gold)))
        figures |= {
            f"million.{name}": took_s / floor_s,
            "million.longest": max(took_s, figures.get("million.longest", 0.0)),
        }
    return figures


def all_metrics(_: Setup) -> dict[str, float]:
    """A million rows in another order, through every built-in metric, and the memory of the whole process."""
    chance = random.Random(7)
    gold = rows_of(_WIDE, 5, chance)
    ours, theirs = (_ran(rows) for rows in (gold, copied(gold, chance)))
    del gold
    case, answer = Case(id="0", question="", golds=("gold",)), Prediction(case_id="0", query="predicted")
    metrics = [registry.metric(name) for name in registry.default_metrics()]
    requests = [request for metric in metrics for request in metric.requests(case, answer)]
    requested = {request: (theirs if "predicted" in request.query.lower() else ours,) for request in requests}

    assert ours.result is not None
    assert theirs.result is not None
    started = time.process_time()
    comparison = compare(theirs.result, ours.result, ComparisonOptions())
    executions = Executions(golds=(ours,), predicted=theirs, requested=requested)
    longest_s = max(cpu_seconds(partial(metric.score, case, answer, executions, comparison)) for metric in metrics)
    return {
        "metrics.million": time.process_time() - started,
        "metrics.longest": longest_s,
        "metrics.million_memory": own_peak_mb(),
    }


def _ran(rows: Rows) -> Execution:
    result = Result.of(rows)
    return Execution(
        query="q", status="rows", result=result, row_count=len(rows), columns=result.columns, wall_time_s=1.0
    )


def from_duckdb(setup: Setup) -> dict[str, float]:
    """DuckDB, a million rows: fetched and compared by Assay, against fetched by the client and compared as sets."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "wide.duckdb")
        with duckdb.connect(path) as connection:
            connection.execute(
                "CREATE TABLE t AS SELECT range AS id, range * 0.37 AS a, 'name ' || (range % 1000) AS b,"
                f" range % 50 AS c, range / 3.0 AS d FROM range({_WIDE})"
            )
        queries = ("SELECT * FROM t ORDER BY id", "SELECT * FROM t ORDER BY id DESC")
        url, limits = DatabaseUrl.parse(f"duckdb:///{path}"), Limits(max_rows=2 * _WIDE)
        engine = DuckdbEngine.open(url, limits)

        def judged() -> None:
            gold, predicted = (engine.execute(query).result for query in queries)
            assert gold is not None
            assert predicted is not None
            assert compare(predicted, gold).equal

        def plain() -> None:
            with duckdb.connect(path, read_only=True, config={"threads": 1}) as connection:
                gold, predicted = (connection.execute(query).fetchall() for query in queries)
            assert set(gold) == set(predicted)

        found = []
        for _ in range(min(3, setup.rounds)):
            ours_s = cpu_seconds(judged)
            engine.close()
            found.append(ours_s / cpu_seconds(plain))
            engine = DuckdbEngine.open(url, limits)
        engine.close()
        return {"duckdb.million": statistics.median(found)}


def tpch(setup: Setup) -> dict[str, float]:
    """22 queries over tables in TPC-H's shape, each as gold and prediction, against executing both."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "tpch.duckdb")
        make_tables(path)
        bare_path = shutil.copyfile(path, str(Path(folder) / "bare.duckdb"))  # one process opens a file in one way
        engine = DuckdbEngine.open(DatabaseUrl.parse(f"duckdb:///{path}"), Limits(timeout_s=300))
        with duckdb.connect(bare_path, read_only=True, config={"threads": 1}) as connection:
            connection.execute("SET enable_progress_bar = false")

            def judged(query: str) -> None:
                gold, predicted = engine.execute(query).result, engine.execute(query).result
                assert gold is not None
                assert predicted is not None
                assert compare(predicted, gold).equal

            def bare(query: str) -> None:
                for _ in range(2):
                    connection.execute(query).fetchall()

            # The least of some rounds, query by query in turn: what other work on the machine added is left out.
            times = [
                [(cpu_seconds(partial(judged, query)), cpu_seconds(partial(bare, query))) for _ in range(setup.rounds)]
                for query in queries()
            ]
        engine.close()
    ours, floor = (sum(min(round_[side] for round_ in rounds) for rounds in times) for side in (0, 1))
    return {"tpch.ratio": ours / floor}
