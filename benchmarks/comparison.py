"""How long a sound comparison takes, against `set(predicted) == set(gold)`, which is not sound.

    python benchmarks/comparison.py [--rounds N]

Prints ratios measured in one run, each measurement in turn with its floor, and exits with 1 where
a bound is missed:

- 100,000 x 5 shuffled equal rows: at most 3 times the floor
- the same with two columns swapped: at most 5 times
- 100,000 x 5 with floating-point noise in one column: reported, without a bound
- 10,000 x 20 permuted columns of 0 and 1: under 0.3 s
- 1,000,000 x 8 shuffled equal rows: at most 2.5 times, and at most twice the memory more than the
  two results take themselves
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable

from assay.comparison import compare
from assay.model import Result, Row

Rows = list[Row]


def seconds(work: Callable[[], bool]) -> float:
    """Time one piece of work that must say True."""
    started = time.perf_counter()
    assert work()
    return time.perf_counter() - started


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
    return [*found, report("1,000,000 x 8 shuffled", value, 2.5, "times the floor")]


def main() -> int:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    chance = random.Random(7)
    good = big(rounds, chance)
    gold = rows_of(100_000, 5, chance)
    same = copied(gold, chance)
    swapped: Rows = [(a, d, c, b, e) for a, b, c, d, e in same]
    noisy: Rows = [(a, b * (1 + 1e-13), c, d, e) for a, b, c, d, e in same]  # type: ignore[operator]
    good.append(report("100,000 x 5 shuffled", ratio(gold, same, same, rounds), 3.0, "times the floor"))
    good.append(report("100,000 x 5, two columns swapped", ratio(gold, swapped, same, rounds), 5.0, "times the floor"))
    good.append(report("100,000 x 5, noise in a column", ratio(gold, noisy, same, 2), None, "times the floor"))
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
