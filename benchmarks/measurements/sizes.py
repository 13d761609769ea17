"""What a comparison takes at the sizes of `assay.comparison.sizes`, from which it does less or does it by numpy."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from functools import partial

from assay.comparison import sizes, tolerance
from assay.comparison.compare import compare
from assay.comparison.hashed_cells import FewHashed, ManyHashed
from assay.comparison.sides import NoPlaces, Side
from assay.model import ComparisonOptions, Result
from benchmarks.frame import Setup, cpu_seconds
from benchmarks.measurements.comparing import copied, rows_of, wrong

_LOADING = "import time; before = time.process_time(); import numpy; print(1000 * (time.process_time() - before))"


def at_each_size(setup: Setup) -> dict[str, float]:
    """One wrong cell, with near misses and where columns are guessed; clusters and hashes with numpy and without."""
    chance = random.Random(7)
    numbers = {chance.random() for _ in range(sizes.NUMPY_NUMBERS)}
    columns = [[chance.randrange(2) for _ in range(sizes.NUMPY_CELLS // 20)] for _ in range(20)]
    side, weights = Side(columns=columns, places=NoPlaces(len(columns[0]))), list(range(20))

    def hashed(make: Callable[[Side], FewHashed | ManyHashed]) -> None:
        cells = make(side)
        for _ in range(sizes.NUMPY_ROUNDS):
            cells.column_sums(cells.sums(weights))

    def ms(work: Callable[[], object]) -> float:
        work()
        return 1000 * min(cpu_seconds(work) for _ in range(setup.rounds))

    near, far = (partial(_compared, sizes.NEAR_MISS_CELLS // 10, near=near) for near in (True, False))
    loading_ms = min(
        float(subprocess.check_output([sys.executable, "-c", _LOADING], text=True)) for _ in range(setup.rounds)
    )
    return {
        "sizes.near": near() / far(),
        "sizes.greedy": _compared(sizes.GREEDY_CELLS // 10, near=False),
        "sizes.clusters": ms(lambda: list(tolerance._few_in_line(numbers, set(), ComparisonOptions())[1])),
        "sizes.clusters_numpy": ms(lambda: list(tolerance._many_in_line(numbers, set(), ComparisonOptions())[1])),
        "sizes.hashes": ms(partial(hashed, FewHashed)),
        "sizes.hashes_numpy": ms(partial(hashed, ManyHashed.of)),
        "sizes.numpy": loading_ms,
    }


def _compared(count: int, *, near: bool) -> float:
    """The processor time of comparing two results of ``count`` rows and five columns that differ in one cell."""
    chance = random.Random(7)
    gold = rows_of(count, 5, chance)
    ours, theirs = Result.of(gold), Result.of(wrong(copied(gold, chance)))
    return cpu_seconds(partial(compare, theirs, ours, ComparisonOptions(near_misses=near)))
