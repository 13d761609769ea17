"""How often the intervals of kappa hold the true one.

    python benchmarks/agreement.py [--samples N]

Reviewers decide on cases that are right at a given rate, each with their own chance to be mistaken; the true kappa
follows from that. Draws samples of such decisions and prints, over all truths and numbers of cases, how often an
interval meant for 95 % holds the true kappa, and how wide it is. Seeds are fixed. The table in
docs/background/measured/statistics.md is its output. Exits with 1 where `cohen_kappa` or `fleiss_kappa` hold it less
often than the bound. Needs numpy.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy

from assay.stats.agreement import ADDED, Kappa, cohen_kappa, fleiss_kappa

BOUND = 0.91
CASES = (30, 50, 100, 200)
Votes = tuple[int, ...]
"""The category that each reviewer chose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """How often a case is of each category, and how often each reviewer sees it as what it is."""

    rates: Sequence[float]
    skills: Sequence[float]

    def votes(self) -> dict[Votes, float]:
        """The chance of all that reviewers can say of a case; who errs chooses any other category."""
        categories = range(len(self.rates))
        found = dict.fromkeys(itertools.product(categories, repeat=len(self.skills)), 0.0)
        for votes in found:
            for truth, rate in enumerate(self.rates):
                chance = rate
                for vote, skill in zip(votes, self.skills, strict=True):
                    chance *= skill if vote == truth else (1 - skill) / (len(self.rates) - 1)
                found[votes] += chance
        return found


def truths(reviewers: int, categories: int) -> Iterator[Truth]:
    """From balanced to rare, from good reviewers to poor ones, who are not all alike."""
    for right in (0.5, 0.7, 0.8, 0.9, 0.95):
        rest = (1 - right) / (categories - 1)
        for skill in (0.75, 0.85, 0.92, 0.97):
            skills = [skill - 0.05 * (number % 2) for number in range(reviewers)]
            yield Truth(rates=[right] + [rest] * (categories - 1), skills=skills)


def cohen(counts: dict[Votes, float], categories: int, *, added: float) -> Kappa | None:
    """Of two reviewers."""
    table = [[counts.get((row, column), 0) for column in range(categories)] for row in range(categories)]
    return cohen_kappa(table, added=added)  # type: ignore[arg-type]  # also of chances, in place of counts


def fleiss(counts: dict[Votes, float], categories: int, *, added: float) -> Kappa | None:
    """Of more."""
    patterns: defaultdict[Votes, float] = defaultdict(float)
    for votes, count in counts.items():
        patterns[tuple(votes.count(category) for category in range(categories))] += count
    raters = len(next(iter(counts)))
    return fleiss_kappa(patterns, raters=raters, categories=categories, added=added)  # type: ignore[arg-type]


def measure(
    method: Callable[..., Kappa | None], reviewers: int, categories: int, samples: int
) -> tuple[list[float], dict[int, list[float]]]:
    """How often it holds the true kappa, by truth and number of cases; and its widths by number of cases."""
    generator = numpy.random.default_rng([reviewers, categories])
    held: list[float] = []
    widths: dict[int, list[float]] = {n: [] for n in CASES}
    for truth in truths(reviewers, categories):
        chances = truth.votes()
        true = method(chances, categories)
        assert true is not None
        for n in CASES:
            hits: Counter[bool] = Counter()
            for drawn in generator.multinomial(n, list(chances.values()), size=samples):
                found = method(dict(zip(chances, drawn.tolist(), strict=True)), categories)
                if found is not None:
                    hits[found.low <= true.value <= found.high] += 1
                    widths[n].append(found.high - found.low)
            held.append(hits[True] / hits.total())
    return held, widths


def main() -> int:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    samples = parser.parse_args().samples
    print("| kappa | reviewers | categories | settings | mean | lowest | width at", "/".join(map(str, CASES)), "|")
    print("|---|---|---|---|---|---|---|")
    missed = False
    for reviewers, categories in ((2, 2), (2, 3), (3, 2), (5, 2), (3, 3)):
        method, name = (cohen, "Cohen") if reviewers == 2 else (fleiss, "Fleiss")
        for added in (0.0, ADDED):
            held, widths = measure(partial(method, added=added), reviewers, categories, samples)
            of = " ".join(f"{numpy.mean(widths[n]):.2f}" for n in CASES)
            lowest = min(held)
            missed |= added > 0 and lowest < BOUND
            shown = f"{name}, {added:g} cases added" if added else f"{name}, textbook"
            print(
                f"| {shown} | {reviewers} | {categories} | {len(held)} "
                f"| {100 * numpy.mean(held):.1f} % | {100 * lowest:.1f} % | {of} |",
                flush=True,
            )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
