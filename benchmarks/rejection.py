"""How often a test finds a difference between two runs that do not differ.

    python benchmarks/rejection.py [--samples N]

Draws pairs of runs without a true difference, over databases whose own differences vary: one database suits the one
run, another the other. Prints how often each test rejects at 5 %. The table in
docs/background/measured/statistics.md is its output. Seeds are fixed. Exits with 1 where the test that is used
(last column) rejects more often than the bound. Needs numpy.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy

from assay.stats import least_p_value, mcnemar_exact, sign_flip_test

ALPHA = 0.05
BOUND = 0.05
"""Of 5 % that are meant, plus three standard errors of the simulation."""
DIFFERING = 0.2
ICC = (0.0, 0.02, 0.15)
"""Correlation within a database."""
SCENES = [
    *((groups, sizes, correlation) for groups in (20, 10, 6) for sizes in ("even", "uneven") for correlation in ICC),
    (3, "even", 0.15),
]


def draw(
    generator: numpy.random.Generator, groups: int, sizes: str, correlation: float
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Differences of yes/no pairs, and the database of each; gains and losses are alike over all databases."""
    counts = numpy.full(groups, 40) if sizes == "even" else generator.lognormal(3.5, 0.8, size=groups).astype(int) + 5
    share = DIFFERING / 2
    parts = numpy.array([share, share, 1 - DIFFERING])
    if correlation:
        # A Dirichlet's parts vary by p(1-p)/(total+1): 1/(total+1) is the correlation within a database.
        own = generator.dirichlet(parts * (1.0 / correlation - 1.0), size=groups)
    else:
        own = numpy.tile(parts, (groups, 1))
    differences = [generator.choice([1.0, -1.0, 0.0], size=n, p=p) for n, p in zip(counts, own, strict=True)]
    return numpy.concatenate(differences), numpy.repeat(numpy.arange(groups), counts)


def rejections(groups: int, sizes: str, correlation: float, samples: int) -> tuple[float, float]:
    """How often McNemar's test, and flipping whole databases, find something."""
    generator = numpy.random.default_rng([groups, int(100 * correlation), sizes == "even"])
    by_case = by_database = 0
    for _ in range(samples):
        differences, databases = draw(generator, groups, sizes, correlation)
        by_case += mcnemar_exact(int((differences > 0).sum()), int((differences < 0).sum())) < ALPHA
        p = sign_flip_test(differences, clusters=databases, permutations=2_000)
        by_database += p is not None and p < ALPHA
    return by_case / samples, by_database / samples


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=2_000)
    samples = parser.parse_args().samples
    print("| databases | cases in each |", " | ".join(f"ICC {correlation:g}" for correlation in ICC), "| smallest p |")
    print("|---" * (len(ICC) + 3) + "|")
    worst = 0.0
    cells: dict[tuple[int, str], dict[float, str]] = {}
    for groups, sizes, correlation in SCENES:
        by_case, by_database = rejections(groups, sizes, correlation, samples)
        worst = max(worst, by_database)
        cells.setdefault((groups, sizes), {})[correlation] = f"{by_case:.1%} / {by_database:.1%}"
    for (groups, sizes), found in cells.items():
        each = "40" if sizes == "even" else "10 to 200"
        rates = " | ".join(found.get(correlation, "") for correlation in ICC)
        print(f"| {groups} | {each} | {rates} | {least_p_value(groups):.2g} |")
    bound = BOUND + 3 * math.sqrt(ALPHA * (1 - ALPHA) / samples)
    print(f"by database at most {worst:.1%}, bound {bound:.1%}")
    return int(worst > bound)


if __name__ == "__main__":
    sys.exit(main())
