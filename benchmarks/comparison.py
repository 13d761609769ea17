"""How long a sound comparison takes, against `set(predicted) == set(gold)`, which is not sound.

    python benchmarks/comparison.py [--rounds N]

Prints ratios measured in one run, each measurement in turn with its floor, and exits with 1 where
a bound is missed:

- 100,000 x 5 shuffled equal rows: at most 3 times the floor
- the same with two columns swapped: at most 5 times
- 100,000 x 5 with floating-point noise in one column: at most 3 times
- 10,000 x 20 permuted columns of 0 and 1: under 0.3 s
- 1,000,000 x 8 shuffled equal rows: at most 2.5 times, and at most twice the memory more than the
  two results take themselves
- the same with noise in one column: at most 3 times
- 1,000,000 x 8 in another order, the comparison and all metrics, in a process of its own: at most 5 s, and 1 GiB in all
- DuckDB, 1,000,000 x 8, fetched and compared, against a plain fetch and sets: reported, without a bound

Times are of CPU, which other work on the machine changes less than the clock's.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import duckdb

from assay.comparison import compare
from assay.comparison.codes.shared import shared_codes
from assay.engines.duckdb import DuckdbEngine
from assay.metrics.bird import BirdEx, BirdSoftF1
from assay.metrics.denodo import (
    DenodoPercentOverlap,
    DenodoPercentSubset,
    PercentOverlap,
    PercentSubset,
    ResultsMatch,
    SameRowCount,
)
from assay.metrics.llmsql import LlmsqlEx
from assay.metrics.spider import results_equal
from assay.metrics.spider2 import Spider2Lite
from assay.model import Case, DatabaseUrl, Execution, Limits, Prediction, Result, Row
from assay.ports import Executions

Rows = list[Row]


def seconds(work: Callable[[], bool]) -> float:
    """The CPU time of one piece of work that must say True."""
    started = time.process_time()
    assert work()
    return time.process_time() - started


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


def ratio(gold: Rows, predicted: Rows, floor_predicted: Rows, rounds: int) -> float:
    """Median over the rounds of comparison time over floor time, measured in turn."""
    ours, theirs = Result.of(gold), Result.of(predicted)
    measured = [
        (seconds(lambda: set(floor_predicted) == set(gold)), seconds(lambda: compare(theirs, ours).equal))
        for _ in range(rounds)
    ]
    return statistics.median(comparison / floor for floor, comparison in measured)


def resident_bytes() -> int:
    """What this process holds in memory now (Linux)."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def peak_bytes() -> int:
    """The most that it ever held."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def report(name: str, value: float, bound: float | None, unit: str) -> bool:
    """Print one line; True where its bound holds."""
    good = bound is None or value <= bound
    limit = "no bound" if bound is None else f"bound {bound:g}"
    print(f"{name:<52} {value:6.2f} {unit:<16} {limit}{'' if good else '  MISSED'}")
    return good


def big(rounds: int, chance: random.Random) -> list[bool]:
    """A million rows: time and memory. First, so that the peak is its own."""
    before_inputs = resident_bytes()
    gold = rows_of(1_000_000, 8, chance)
    predicted = copied(gold, chance)
    ours, theirs = Result.of(gold), Result.of(predicted)
    inputs = resident_bytes() - before_inputs
    base = resident_bytes()
    assert compare(theirs, ours).equal
    more = (peak_bytes() - base) / inputs
    found = [report("1,000,000 x 8, memory beside that of the results", more, 2.0, "times theirs")]
    value = ratio(gold, predicted, predicted, max(2, rounds // 2))
    found.append(report("1,000,000 x 8 shuffled", value, 2.5, "times the floor"))
    noisy: Rows = [(a, b * (1 + 1e-13), *rest) for a, b, *rest in predicted]  # type: ignore[operator]
    value = ratio(gold, noisy, predicted, 2)
    return [*found, report("1,000,000 x 8, noise in a column", value, 3.0, "times the floor")]


def every_metric() -> list[bool]:
    """The comparison and all metrics of one large case. Run it in a process of its own, whose peak it reports."""
    chance = random.Random(7)
    gold = rows_of(1_000_000, 8, chance)
    ours, theirs = Result.of(gold), Result.of(copied(gold, chance))
    del gold
    golds, predicted = (Execution(query="q", status="rows", result=one) for one in (ours, theirs))
    case, prediction = Case(id="1", question="", golds=("q",)), Prediction(case_id="1", query="q")
    executions = Executions(golds=(golds,), predicted=predicted)
    metrics = [create() for create in METRICS]

    def work() -> bool:
        with shared_codes():
            comparison = compare(theirs, ours)
            spider = results_equal(ours.rows, theirs.rows, ordered=False)
            scores = [metric.score(case, prediction, executions, comparison).value for metric in metrics]
        return comparison.equal and spider and None not in scores

    taken = seconds(work)
    return [
        report("1,000,000 x 8 in another order, all metrics", taken, 5.0, "s"),
        report("the same, memory in all", peak_bytes() / 2**30, 1.0, "GiB"),
    ]


def from_duckdb() -> list[bool]:
    """A million rows as DuckDB's engine fetches them, against the library's own fetch."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute(_MILLION)
        queries = "SELECT * FROM t", "SELECT * FROM t ORDER BY hash(i)"
        with duckdb.connect(path, read_only=True, config={"threads": 1}) as connection:

            def plain() -> bool:
                first, second = (connection.execute(query).fetchall() for query in queries)
                return set(first) == set(second)

            floor = seconds(plain)
        engine = DuckdbEngine.open(DatabaseUrl.parse(f"duckdb:///{path}"), Limits())

        def ours() -> bool:
            first, second = (engine.execute(query).result for query in queries)
            return first is not None and second is not None and compare(second, first).equal

        taken = seconds(ours)
        engine.close()
    return [report("DuckDB, 1,000,000 x 8 fetched and compared", taken / floor, None, "times the floor")]


_MILLION = """
CREATE TABLE t AS SELECT i, (hash(i) % 1000000007) / 7e9 r, 'name ' || (hash(i) % 1000) n, (hash(i + 1) % 50)::INT s,
CASE WHEN hash(i + 2) % 10 = 0 THEN NULL ELSE (hash(i + 3) % 1000000)::INT END m, (hash(i + 4) % 1000000007) / 3e9 q,
'x' x, i * 2 d FROM range(1000000) t(i)
"""
METRICS = (
    BirdEx,
    BirdSoftF1,
    Spider2Lite,
    ResultsMatch,
    SameRowCount,
    PercentSubset,
    PercentOverlap,
    LlmsqlEx,
    DenodoPercentOverlap,
    DenodoPercentSubset,
)


def main() -> int:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=["metrics", "duckdb"], help="one part alone, in this process")
    options = parser.parse_args()
    rounds = options.rounds
    if options.only:
        return int(not all(every_metric() if options.only == "metrics" else from_duckdb()))
    chance = random.Random(7)
    good = big(rounds, chance)
    for part in ("metrics", "duckdb"):
        good.append(not subprocess.run([sys.executable, __file__, "--only", part], check=False).returncode)
    gold = rows_of(100_000, 5, chance)
    same = copied(gold, chance)
    swapped: Rows = [(a, d, c, b, e) for a, b, c, d, e in same]
    noisy: Rows = [(a, b * (1 + 1e-13), c, d, e) for a, b, c, d, e in same]  # type: ignore[operator]
    good.append(report("100,000 x 5 shuffled", ratio(gold, same, same, rounds), 3.0, "times the floor"))
    good.append(report("100,000 x 5, two columns swapped", ratio(gold, swapped, same, rounds), 5.0, "times the floor"))
    good.append(report("100,000 x 5, noise in a column", ratio(gold, noisy, same, rounds), 3.0, "times the floor"))
    bits: Rows = [tuple(chance.randrange(2) for _ in range(20)) for _ in range(10_000)]
    order = list(range(20))
    chance.shuffle(order)
    permuted = copied([tuple(row[column] for column in order) for row in bits], chance)
    ours, theirs = Result.of(bits), Result.of(permuted)
    taken = statistics.median(seconds(lambda: compare(theirs, ours).equal) for _ in range(rounds))
    good.append(report("10,000 x 20 permuted columns of bits", taken, 0.3, "s"))
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
