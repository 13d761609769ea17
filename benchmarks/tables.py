"""How long comparing two tables takes, against datacompy, which ragas uses.

    python -P benchmarks/tables.py [--rows N] [--rounds N]

Prints ratios measured in one run, each measurement in turn with datacompy's, and exits with 1 where ours
is the slower one:

- two CSV texts of 100,000 x 8 paired by position, from the texts to the six numbers (theirs: pandas reads)
- the same as pandas frames, read before
- the same frames in another order, paired by a key column: reported, without a bound

Both must find the same numbers. Needs the packages datacompy and pandas.
"""

from __future__ import annotations

import argparse
import io
import logging
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from assay.ragas import compare_tables

SCORES = [(mode, measure) for mode in ("rows", "columns") for measure in ("precision", "recall", "f1")]


def text_of(rows: int, chance: random.Random, *, wrong: float) -> str:
    """A key, measures, names, truths, dates and absent cells; a few of them not as in the other text."""
    steady = random.Random(1)
    lines = ["id,amount,name,count,ratio,paid,day,note"]
    for number in range(rows):
        amount, name, count = f"{steady.random() * 1000:.2f}", f"name {steady.randrange(5000)}", steady.randrange(50)
        ratio = "" if steady.random() < 0.1 else repr(steady.random())
        paid, day = steady.random() < 0.5, f"2024-{steady.randrange(1, 13):02d}-{steady.randrange(1, 29):02d}"
        if chance.random() < wrong:
            amount, name = "0", "someone else"
        lines.append(f"{number},{amount},{name},{count},{ratio},{paid},{day},{'' if number % 3 else 'third'}")
    return "\n".join(lines) + "\n"


def theirs(reference: Any, response: Any, **options: Any) -> list[float]:
    """ragas' formulas over datacompy's comparison."""
    import datacompy

    compared = datacompy.PandasCompare(reference, response, **options)
    columns = sum(column["unequal_cnt"] == 0 for column in compared.column_stats)
    found: list[float] = []
    for right, axis in ((compared.count_matching_rows(), 0), (columns, 1)):
        precision, recall = right / response.shape[axis], right / reference.shape[axis]
        found += [precision, recall, 2 * precision * recall / (precision + recall)]
    return found


def ours(reference: Any, response: Any, **options: Any) -> list[float]:
    """The same six numbers."""
    compared = compare_tables(reference, response, **options)
    return [compared.score(mode, measure) for mode, measure in SCORES]  # type: ignore[arg-type]


def seconds(work: Callable[[], list[float]]) -> tuple[float, list[float]]:
    """How long it takes, and what it finds."""
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


def median_ratio(
    mine: Callable[[], list[float]], other: Callable[[], list[float]], rounds: int
) -> tuple[float, float, float]:
    """The median of our time over theirs, and both times."""
    measured = []
    for _ in range(rounds):
        (their_s, expected), (our_s, found) = seconds(other), seconds(mine)
        assert all(abs(a - b) < 1e-12 for a, b in zip(found, expected, strict=True)), (found, expected)
        measured.append((our_s / their_s, our_s, their_s))
    middle, our_s, their_s = (statistics.median(column) for column in zip(*measured, strict=True))
    return middle, our_s, their_s


def ratio(title: str, mine: Callable[[], list[float]], other: Callable[[], list[float]], rounds: int) -> bool:
    """Print the median of our time over theirs; True where it is at most 1."""
    median, our_s, their_s = median_ratio(mine, other, rounds)
    print(f"{title:<34} {our_s:6.3f} s   datacompy {their_s:6.3f} s   {median:.2f} times")
    return median <= 1


def main() -> int:
    """Measure; 0 where every bound holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    import pandas

    logging.disable()
    chance = random.Random(2)
    texts = [text_of(given.rows, chance, wrong=wrong) for wrong in (0.0, 0.01)]
    frames = [pandas.read_csv(io.StringIO(text)) for text in texts]
    shuffled = frames[1].sample(frac=1, random_state=3).reset_index(drop=True)

    def read() -> list[Any]:
        return [pandas.read_csv(io.StringIO(text)) for text in texts]

    held = [
        ratio("CSV texts, by position", lambda: ours(*texts), lambda: theirs(*read(), on_index=True), given.rounds),
        ratio(
            "pandas frames, by position",
            lambda: ours(*frames),
            lambda: theirs(frames[0].copy(), frames[1].copy(), on_index=True),
            given.rounds,
        ),
        ratio(
            "pandas frames, by key",
            lambda: ours(frames[0], shuffled, join_columns="id"),
            lambda: theirs(frames[0].copy(), shuffled.copy(), join_columns="id"),
            given.rounds,
        ),
    ]
    return 0 if all(held[:2]) else 1


if __name__ == "__main__":
    sys.exit(main())
