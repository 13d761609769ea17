"""Build a suite from some systems' answers to spider-dev, and try it on another's: what it catches, what it costs.

    python benchmarks/suites.py FOLDER [--built-from dts-sql-deepseek graphix-t5] [--tried din-sql-gpt4] [--workers 2]
                                [--limit N] [--suite DIR]

FOLDER is spider-dev with ``dev.jsonl``, ``predictions/SYSTEM.jsonl`` and ``database/<db_id>/<db_id>.sqlite``. Prints
Markdown: the suite; of the third system's matches how many it parts from gold, beside what `assay refute` says of the
same pairs; the milliseconds for each case. ``--suite`` takes a suite that is there instead of building one.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

import assay
from assay import registry
from assay.engines.pool.pool import WorkerPool
from assay.model import ComparisonOptions, DatabaseUrl, Limits
from assay.model.databases.suite import Suite
from assay.model.witness import Refutation
from assay.ports import Task, TaskDone
from assay.runs.workers.suite_checking import SuiteChecker
from assay.runs.workers.witness_worker import WITNESS_SETUP, WitnessTask, WitnessWorkerSettings

_EMPTY = "wta_1"


def main() -> None:
    """Build, try, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--built-from", nargs="+", default=["dts-sql-deepseek", "graphix-t5"])
    parser.add_argument("--tried", default="din-sql-gpt4")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--suite", type=Path)
    given = parser.parse_args()
    template = f"sqlite:///{given.folder}/database/{{db_id}}/{{db_id}}.sqlite"
    files = assay.FileOptions(limit=given.limit)

    def judged(system: str, suite: Suite | None = None) -> assay.Run:
        answers = given.folder / "predictions" / f"{system}.jsonl"
        return assay.evaluate(
            given.folder / "dev.jsonl",
            answers,
            databases=template,
            metrics=["match"],
            workers=given.workers,
            files=files,
            suite=suite,
            allow_unmatched=True,
        )

    if given.suite is None:
        started = time.monotonic()
        runs = [judged(name) for name in given.built_from]
        suite = assay.build_suite(
            given.folder / "dev.jsonl", runs, databases=template, workers=given.workers, files=files
        )
        print(f"built in {time.monotonic() - started:.0f} s on {given.workers} workers, the runs included\n")
    else:
        suite = assay.load_suite(given.suite)
    _print_suite(suite)
    tried = judged(given.tried, suite)
    _print_caught(tried, template, given.workers)
    _print_cost(tried, suite)


def _print_suite(suite: Suite) -> None:
    cases = list(suite.cases.values())
    with_some = sum(bool(case.databases) for case in cases)
    rows = [one.row_count for case in cases for one in case.databases]
    mean = sum(rows) / max(1, len(rows))
    print(f"{suite.database_count:,} databases for {with_some:,} of {len(cases):,} cases, {mean:.0f} rows each")
    for kind in ("answers", "neighbours"):
        told, all_ = sum(getattr(one, f"{kind}_told") for one in cases), sum(getattr(one, kind) for one in cases)
        print(f"{kind}: {told:,} of {all_:,} told from gold")
    print(f"{sum(one.neighbours_proved for one in cases):,} other neighbours are proved equivalent\n")


def _print_caught(run: assay.Run, template: str, workers: int) -> None:
    matches = [
        item
        for item in run.evidence
        if item.outcome == "correct" and item.case.database != _EMPTY and item.prediction.query
    ]
    tasks = [
        Task(
            id=number,
            payload=WitnessTask(
                first=item.case.golds[0],
                second=item.prediction.query or "",
                url=DatabaseUrl.parse(template).render(item.case.database),
            ),
        )
        for number, item in enumerate(matches)
    ]
    settings = WitnessWorkerSettings(engines=registry.engine_references(), limits=Limits())
    kinds: dict[int, str] = {}
    with WorkerPool(workers=workers, setup=WITNESS_SETUP, argument=settings) as pool:
        for outcome in pool.run([[task] for task in tasks]):
            if isinstance(outcome, TaskDone) and isinstance(outcome.outcome, Refutation):
                kinds[outcome.task_id] = outcome.outcome.kind
    print("| `assay refute` says of a match | pairs | parted by the suite |\n|---|---:|---:|")
    values = [item.score("suite_match") for item in matches]
    parted = Counter(
        kinds[n] for n, score in enumerate(values) if score is not None and score.value == 0.0 and n in kinds
    )
    for kind, count in Counter(kinds.values()).most_common():
        print(f"| {kind} | {count} | {parted[kind]} |")
    missed = [item.case.id for n, item in enumerate(matches) if kinds.get(n) == "refuted" and _agrees(item)]
    print(f"\nrefuted and not parted: {', '.join(missed) or 'none'}")


def _agrees(item: assay.Evidence) -> bool:
    score = item.score("suite_match")
    return score is not None and score.value == 1.0


def _print_cost(run: assay.Run, suite: Suite) -> None:
    checker = SuiteChecker(suite, registry.engine_references(), Limits())
    items = [item for item in run.evidence if item.prediction.query not in item.case.golds]
    spent = []
    for _ in range(2):  # the first time also reads the schemas and imports the parser
        started = time.process_time()
        for item in items:
            checker.check(item.case, item.prediction, ComparisonOptions())
        spent.append(time.process_time() - started)
    checker.close()
    print(f"\n{len(items):,} answers that are not gold's text: {spent[1] / max(1, len(items)) * 1000:.1f} ms each")


if __name__ == "__main__":
    main()
