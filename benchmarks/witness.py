"""Decide every answer that agrees with gold on spider-dev's own data: refuted, proved, or neither.

    python benchmarks/witness.py FOLDER [--system din-sql-gpt4] [--workers 2] [--seconds 1] [--list] [--undecided]

FOLDER is spider-dev with ``dev.jsonl``, ``predictions/SYSTEM.jsonl`` and ``database/<db_id>/<db_id>.sqlite``; the empty
``wta_1`` is left out. Prints Markdown: how many pairs have one text, are proved, are refuted on which step of the
ladder, are undecided; how long that took, how large the witnesses are; with ``--list`` every refutation of the ladder's
top, with ``--undecided`` every pair without an answer.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median

import assay
from assay import registry
from assay.engines.pool.pool import WorkerPool
from assay.model import DatabaseUrl, Limits
from assay.model.witness import Refutation
from assay.ports import Task, TaskDone
from assay.runs.workers.witness_worker import WITNESS_SETUP, WitnessTask, WitnessWorkerSettings

_EMPTY = "wta_1"


def main() -> None:
    """Look and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--system", default="din-sql-gpt4")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--undecided", action="store_true")
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
    started, before = time.monotonic(), sum(os.times()[:4])
    done = _decide(tasks, given.workers)
    elapsed, spent = time.monotonic() - started, sum(os.times()[:4]) - before
    print(
        f"{len(pairs)} answers agree with gold: {elapsed:.0f} s on {given.workers} workers, {spent:.0f} CPU seconds\n"
    )
    _print_counts(done)
    if given.list:
        _print_list(pairs, done, lambda one: one.kind == "refuted")
    if given.undecided:
        _print_list(pairs, done, lambda one: one.kind == "unknown")


def _decide(tasks: list[Task], workers: int) -> dict[int, Refutation]:
    settings = WitnessWorkerSettings(engines=registry.engine_references(), limits=Limits())
    done: dict[int, Refutation] = {}
    with WorkerPool(workers=workers, setup=WITNESS_SETUP, argument=settings) as pool:
        for outcome in pool.run([[task] for task in tasks]):
            if isinstance(outcome, TaskDone) and isinstance(outcome.outcome, Refutation):
                done[outcome.task_id] = outcome.outcome
    return done


def _outcome(one: Refutation) -> str:
    if one.kind == "conditional":
        return f"conditional, {one.level}"
    if one.proof is not None:
        return "the same text" if one.proof.rules == ("same text",) else one.kind
    return f"undecided: {one.why}" if one.kind == "unknown" else one.kind


def _print_counts(done: dict[int, Refutation]) -> None:
    counts = Counter(map(_outcome, done.values()))
    print("| outcome | pairs |\n|---|---:|")
    for name, count in counts.most_common():
        print(f"| {name.replace('_', ' ')} | {count} |")
    decided = sum(one.kind not in ("unknown", "bounded") for one in done.values())
    print(f"\n{decided} of {len(done)} decided ({decided / max(1, len(done)):.1%})")
    differing = [one for one in done.values() if one.differs and one.witness is not None]
    if not differing:
        return
    sizes = sorted(one.witness.row_count for one in differing if one.witness is not None)
    large = sizes[int(len(sizes) * 0.9)]
    print(f"\n{len(differing)} differ: witnesses of {median(sizes):g} rows, {large} at the 90th percentile")
    for kind in ("refuted", "conditional", "proved", "unknown"):
        there = [one for one in done.values() if one.kind == kind and one.engine]
        times, trials = [one.seconds * 1000 for one in there], [one.trials for one in there]
        if times:
            print(f"{kind}: median {median(times):.0f} ms, {median(trials):g} databases")


def _print_list(
    pairs: list[tuple[assay.Case, str]], done: dict[int, Refutation], wanted: Callable[[Refutation], bool]
) -> None:
    for number, (case, query) in enumerate(pairs):
        outcome = done.get(number)
        if outcome is None or not wanted(outcome):
            continue
        print(f"\n### {case.id}: {case.question}\n")
        print(f"gold: {' '.join(case.golds[0].split())}\n\nanswer: {' '.join(query.split())}\n\n{outcome.reason}")
        if outcome.not_proved:
            print(f"\nnot proved: {outcome.not_proved}")


if __name__ == "__main__":
    main()
