"""Look for witnesses for every answer that agrees with gold on spider-dev's own data.

    python benchmarks/witness.py FOLDER [--system din-sql-gpt4] [--workers 2] [--seconds 1] [--list]

FOLDER is spider-dev with ``dev.jsonl``, ``predictions/SYSTEM.jsonl`` and ``database/<db_id>/<db_id>.sqlite``; the empty
``wta_1`` is left out. Prints Markdown: how many pairs are refuted on which step of the ladder, how long that took, how
large the witnesses are; with ``--list`` every refutation of the ladder's top, to be read one by one.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from pathlib import Path
from statistics import median

import assay
from assay import registry
from assay.engines.pool.pool import WorkerPool
from assay.model import DatabaseUrl, Limits
from assay.model.witness import Refutation
from assay.ports import Task, TaskDone
from assay.runs.witness_worker import WITNESS_SETUP, WitnessTask, WitnessWorkerSettings

_EMPTY = "wta_1"


def main() -> None:
    """Look and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--system", default="din-sql-gpt4")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    template = f"sqlite:///{given.folder}/database/{{db_id}}/{{db_id}}.sqlite"
    predictions = given.folder / "predictions" / f"{given.system}.jsonl"
    run = assay.evaluate(given.folder / "dev.jsonl", predictions, databases=template)
    pairs = [
        (item.case, item.prediction.query)
        for item in run.evidence
        if item.outcome == "correct" and item.prediction.query is not None and item.case.database != _EMPTY
    ]
    tasks = [
        Task(
            id=number,
            payload=WitnessTask(
                first=case.golds[0],
                second=query,
                url=DatabaseUrl.parse(template).render(case.database),
                seconds=given.seconds,
            ),
        )
        for number, (case, query) in enumerate(pairs)
    ]
    settings = WitnessWorkerSettings(engines=registry.engine_references(), limits=Limits())
    started, before = time.monotonic(), sum(os.times()[:4])
    done: dict[int, Refutation] = {}
    with WorkerPool(workers=given.workers, setup=WITNESS_SETUP, argument=settings) as pool:
        for outcome in pool.run([[task] for task in tasks]):
            if isinstance(outcome, TaskDone) and isinstance(outcome.outcome, Refutation):
                done[outcome.task_id] = outcome.outcome
    elapsed, spent = time.monotonic() - started, sum(os.times()[:4]) - before
    print(
        f"{len(pairs)} answers agree with gold: {elapsed:.0f} s on {given.workers} workers, {spent:.0f} CPU seconds\n"
    )
    _print_counts(done)
    if given.list:
        _print_list(pairs, done)


def _print_counts(done: dict[int, Refutation]) -> None:
    counts = Counter(one.why or (f"{one.kind}, {one.level}" if one.level else one.kind) for one in done.values())
    print("| outcome | pairs |\n|---|---:|")
    for name, count in counts.most_common():
        print(f"| {name.replace('_', ' ')} | {count} |")
    differing = [one for one in done.values() if one.differs and one.witness is not None]
    if not differing:
        return
    sizes = sorted(one.witness.row_count for one in differing if one.witness is not None)
    large = sizes[int(len(sizes) * 0.9)]
    print(f"\n{len(differing)} differ: witnesses of {median(sizes):g} rows, {large} at the 90th percentile")
    for kind in ("refuted", "conditional"):
        times = [one.seconds * 1000 for one in differing if one.kind == kind]
        trials = [one.trials for one in differing if one.kind == kind]
        if times:
            print(f"{kind}: median {median(times):.0f} ms, {median(trials):g} databases")


def _print_list(pairs: list[tuple[assay.Case, str]], done: dict[int, Refutation]) -> None:
    for number, (case, query) in enumerate(pairs):
        outcome = done.get(number)
        if outcome is None or outcome.kind != "refuted":
            continue
        print(f"\n### {case.id}: {case.question}\n")
        print(f"gold: {' '.join(case.golds[0].split())}\n\nanswer: {' '.join(query.split())}\n\n{outcome.reason}")


if __name__ == "__main__":
    main()
