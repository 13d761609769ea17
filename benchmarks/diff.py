"""How long comparing two large runs takes, reading them included.

    python benchmarks/diff.py [--cases N] [--rounds N] [--keep FOLDER]

Two made-up runs are written by the run store: 100,000 cases each, ten metrics (three of them graded), 20 databases,
4 difficulties, 5 tags, each line with queries, executions and a sample of the rows as real ones have them. Then

- whole: `assay.diff(FOLDER, FOLDER)` in a new process, imports and reading included. Under 10 s on the machine that the
  figures in benchmarks/README.md are from.
- parts: reading, pairing, the metrics, the groups and the cases, in this process.
- full: reading one of the two runs as `assay.load_run` does, for what reading only what is needed spares.

Exits with 1 where the bound is missed.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import assay
from assay import registry
from assay.model import (
    AlignedRow,
    Case,
    Comparison,
    DiffSettings,
    Evidence,
    Execution,
    Limits,
    NearMiss,
    Prediction,
    Provenance,
    Run,
    RunSettings,
    Score,
    Verdict,
)
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.aggregate.totals import aggregate
from assay.runs.compare.diff import compare_records
from assay.runs.compare.metric_differences import compare_groups, compare_metrics, paired_columns
from assay.runs.compare.same_cases import pair_cases
from assay.runs.store.compared_cases import read_records
from assay.runs.store.folder import save_run
from assay.sdmx.gc_pause import collector_paused

BOUND_S = 10.0
METRICS = registry.default_metrics()
GRADED = frozenset({"bird_soft_f1", "percent_subset", "percent_overlap"})
DIFFICULTIES = ("easy", "medium", "hard", "extra")
TAGS = ("join", "aggregate", "order", "nested", "set")


def made_run(cases: int, *, seed: int, name: str) -> Run:
    """A run of so many cases. The cases are the same for any seed, the answers are not."""
    chance = random.Random(seed)
    evidence = tuple(_evidence(number, right=chance.random() < 0.8, chance=chance) for number in range(cases))
    return Run(
        settings=RunSettings(
            cases="cases.jsonl",
            predictions=f"{name}.jsonl",
            database="sqlite:///{db_id}.sqlite",
            metrics=tuple(METRICS),
            limits=Limits(),
            name=name,
        ),
        provenance=Provenance(assay_version=assay.__version__, python_version="3", platform="made up"),
        summaries=summaries_of(evidence),
        evidence=evidence,
        aggregates=aggregate(summaries_of(evidence), [registry.metric(one) for one in METRICS]),
    )


def _evidence(number: int, *, right: bool, chance: random.Random) -> Evidence:
    database = f"database_{number % 20}"
    gold = (
        f"SELECT T1.name, COUNT(*) FROM customers AS T1 JOIN orders AS T2 ON T1.id = T2.customer_id "
        f"WHERE T2.year > {1900 + number % 120} AND T2.total > {number} GROUP BY T1.name ORDER BY COUNT(*) DESC"
    )
    query = gold if right else gold.replace("COUNT(*)", f"COUNT(DISTINCT T2.v{chance.randrange(9)})")
    rows = tuple(AlignedRow(state="matched" if right else "missing", gold=(f"customer {row}", row)) for row in range(5))
    reason = "all 5 rows match" if right else "5 of gold's 5 rows not found in the prediction"
    execution = Execution(query=query, status="rows", wall_time_s=0.0001, row_count=5, columns=("name", "COUNT(*)"))
    return Evidence(
        case=Case(
            id=str(number),
            question=f"How many orders of more than {number} did each customer place, the most first, by name?",
            database=database,
            golds=(gold,),
            difficulty=DIFFICULTIES[number % 4],
            tags=(TAGS[number % 5],),
            origin=f"cases.jsonl, line {number + 1}",
        ),
        prediction=Prediction(case_id=str(number), query=query, origin=f"answers.jsonl, line {number + 1}"),
        verdict=Verdict(
            outcome="correct" if right else "incorrect", reason=reason, strength="matched_on_one_database", gold_index=0
        ),
        scores=tuple(Score(metric=metric, value=_value(metric, chance, right=right)) for metric in METRICS),
        comparison=Comparison(
            equal=right,
            column_mapping=(0, 1),
            gold_row_count=5,
            predicted_row_count=5,
            matched_rows=5 * right,
            missing_rows=5 * (not right),
            aligned=rows,
            near_misses=() if right else (NearMiss(kind="extra_rows", detail="gold's rows are there, and more"),),
            reason=reason,
        ),
        gold_executions=(execution,),
        predicted_execution=execution,
    )


def _value(metric: str, chance: random.Random, *, right: bool) -> float | None:
    if metric == "non_empty_match" and chance.random() < 0.08:
        return None
    if metric in GRADED and not right:
        return chance.randrange(100) / (100 + chance.randrange(9))
    return float(right if chance.random() < 0.97 else not right)


def whole_s(folders: tuple[Path, Path]) -> tuple[float, float]:
    """A new process, from its start to its end: seconds by the clock and of processor time, which others share less."""
    script = "import sys, assay; print(assay.diff(sys.argv[1], sys.argv[2]))"
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", script, *map(str, folders)], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, used


def parts_s(folders: tuple[Path, Path]) -> dict[str, float]:
    """Seconds by part, in this process; ``whole comparison`` is all but reading, notes and changes included."""
    seconds: dict[str, float] = {}

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        seconds[name] = time.perf_counter() - started

    settings = DiffSettings()
    with collector_paused():
        with timed("reading both"):
            baseline, candidate = read_records(list(folders))
        with timed("pairing"):
            pairs = pair_cases(baseline.cases, candidate.cases).pairs
        columns = paired_columns(baseline, candidate, pairs)
        with timed("metrics"):
            compare_metrics(columns, pairs, settings)
        with timed("groups"):
            compare_groups(columns, pairs, settings)
        with timed("whole comparison"):
            compare_records(baseline, candidate, settings)
    return seconds


def load_s(folder: Path) -> float:
    """Reading a run as a whole."""
    started = time.perf_counter()
    assay.load_run(folder)
    return time.perf_counter() - started


def main() -> int:
    """Write, measure, report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="write the runs into this folder and keep them")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-diff-") as temporary:
        home = arguments.keep or Path(temporary)
        folders = (home / "baseline", home / "candidate")
        for seed, folder in enumerate(folders):
            if not (folder / "run.json").exists():
                save_run(made_run(arguments.cases, seed=seed, name=folder.name), folder)
        size = sum((folder / "journal.jsonl").stat().st_size for folder in folders)
        print(f"{arguments.cases:,} cases, {len(METRICS)} metrics, {size / 2**20:.0f} MiB of journals")
        rounds = [whole_s(folders) for _ in range(arguments.rounds)]
        whole, used = (statistics.median(one) for one in zip(*rounds, strict=True))
        print(f"whole, a new process: {whole:.2f} s (bound {BOUND_S:g} s), {used:.2f} s of processor time")
        for name, seconds in parts_s(folders).items():
            print(f"  {name}: {seconds:.2f} s")
        full = load_s(folders[0])
        print(f"reading one run in full: {full:.2f} s")
    return 0 if whole <= BOUND_S else 1


if __name__ == "__main__":
    sys.exit(main())
