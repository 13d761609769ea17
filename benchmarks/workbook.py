"""How much time and memory the Excel workbook of a large run takes.

    python benchmarks/workbook.py [--rows N]

Draws a made-up run of 20,000 cases with queries, reasons and timings of usual length, and prints
the time, the file's size, and how far the process's peak memory grew over what the run itself
takes. Exits with 1 where it grew by more than 64 MiB: rows are to be written as they come.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

from assay import registry
from assay.model import (
    Case,
    Evidence,
    Limits,
    Prediction,
    Provenance,
    Run,
    RunSettings,
    Score,
    Verdict,
)
from assay.runs.aggregate.totals import aggregate

GROWTH_BOUND_MIB = 64
METRICS = ("match", "results_match", "percent_subset", "percent_overlap", "same_row_count", "bird_soft_f1")
QUERY = "SELECT c.name, SUM(o.total) AS total FROM client c JOIN orders o ON o.client_id = c.id WHERE o.day > '{}'"


def made_up(number: int) -> Evidence:
    """One case of the made-up run."""
    right = number % 3 > 0
    value = float(right)
    timings = (("llm_time", 1.5 + number % 7), ("total_execution_time", 2.5 + number % 11))
    return Evidence(
        case=Case(
            id=str(number),
            question=f"What did each client order after day {number}?",
            golds=(QUERY.format(number),),
            difficulty=("easy", "medium", "hard")[number % 3],
        ),
        prediction=Prediction(case_id=str(number), query=QUERY.format(number + 1), timings_s=timings),
        verdict=Verdict(outcome="correct" if right else "incorrect", reason="12 of gold's 40 rows not found"),
        scores=tuple(Score(metric=metric, value=value) for metric in METRICS),
    )


def peak_mib() -> float:
    """The most memory that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Draw one small workbook, so that everything is imported, then the large one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    rows = parser.parse_args().rows
    settings = RunSettings(cases="made up", predictions="made up", database="", metrics=METRICS, limits=Limits())
    provenance = Provenance(assay_version="", python_version="", platform="")
    metrics = [registry.metric(name) for name in METRICS]
    reporter = registry.reporter("xlsx")
    small = tuple(map(made_up, range(10)))
    reporter.render(Run(settings=settings, provenance=provenance, evidence=small, aggregates=aggregate(small, metrics)))
    evidence = tuple(map(made_up, range(rows)))
    run = Run(settings=settings, provenance=provenance, evidence=evidence, aggregates=aggregate(evidence, metrics))
    before = peak_mib()
    started = time.perf_counter()
    content = reporter.render(run)
    taken = time.perf_counter() - started
    growth = peak_mib() - before
    print(
        f"{rows:,} rows: {taken:.1f} s, {len(content) / 1024**2:.1f} MiB, memory grew by {growth:.0f} MiB "
        f"(bound {GROWTH_BOUND_MIB})"
    )
    return int(growth > GROWTH_BOUND_MIB)


if __name__ == "__main__":
    sys.exit(main())
