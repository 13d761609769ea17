"""How long scoring takes, against executing alone.

    python benchmarks/evaluation.py QUESTIONS PREDICTIONS DB_TEMPLATE [--rounds N] [--workers N]

for instance with Spider's development set:

    python benchmarks/evaluation.py spider-dev/dev.jsonl spider-dev/predictions/din-sql-gpt4.jsonl \
        'sqlite:///spider-dev/database/{db_id}/{db_id}.sqlite'

The floor executes every distinct query that the metrics need (gold, predictions, Spider's
rewritten ones, probes for ties) once through the plain driver, in one process, fetches all rows
and compares nothing. Beside it, measured in turn with it in the same run:

- evaluation: all built-in metrics by the workers, from the first case sent to the aggregates;
  workers are up and have imported their modules, nothing is cached. At most 3 times the floor.
- process: `assay run` as a user starts it, interpreter, imports, files, report and Parquet
  included. Under 2 s on the machine the figures in benchmarks/README.md are from.

Exits with 1 where a bound is missed.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from assay import registry
from assay.api.evaluation import make_pool
from assay.api.inputs import FileOptions, Inputs, locator, read_inputs
from assay.engines.pool.executor import Executor
from assay.model import ComparisonOptions, DatabaseUrl, Execution, Limits, Provenance, RunSettings
from assay.runs.execute import Job, execute
from assay.runs.plan import Work, plan_work
from assay.scoring.queries.scorer import QueryScorer

EVALUATION_BOUND = 3.0
PROCESS_BOUND_S = 2.0


class RecordingExecutor(Executor):
    """Notes each distinct query, so that the floor runs exactly the same ones."""

    def __init__(self) -> None:
        super().__init__(engines=registry.engine_references(), limits=Limits())
        self.queries: dict[str, dict[str, None]] = {}

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        """As the executor does, and noted."""
        self.queries.setdefault(url.path, {})[query] = None
        return super().execute(url, query)


def needed_queries(works: list[Work]) -> dict[str, list[str]]:
    """Database path to the distinct queries that scoring these cases executes there."""
    executor = RecordingExecutor()
    metrics = [registry.metric(name) for name in registry.default_metrics()]
    scorer = QueryScorer(executor, metrics, ComparisonOptions())
    for work in works:
        scorer.score(work.case, work.prediction, work.url)
    executor.close()
    return {path: list(queries) for path, queries in executor.queries.items()}


def floor_seconds(queries: dict[str, list[str]]) -> float:
    """Execute and fetch everything through the plain driver."""
    started = time.perf_counter()
    for path, texts in queries.items():
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        for text in texts:
            try:
                connection.execute(text).fetchall()
            except (sqlite3.Error, sqlite3.Warning):
                continue
        connection.close()
    return time.perf_counter() - started


def evaluation_seconds(inputs: Inputs, works: list[Work], workers: int) -> float:
    """Judge all cases with fresh workers that are ready."""
    metrics = [registry.metric(name) for name in registry.default_metrics()]
    settings = RunSettings(
        cases=inputs.case_name,
        predictions=inputs.prediction_name,
        database="",
        metrics=registry.default_metrics(),
        limits=Limits(),
        workers=workers,
    )
    provenance = Provenance(assay_version="", python_version="", platform="")
    job = Job(settings=settings, provenance=provenance, works=works, metrics=metrics)
    with make_pool(ComparisonOptions(), Limits(), registry.default_metrics(), workers) as pool:
        pool.wait_until_ready()
        started = time.perf_counter()
        execute(job, pool)
        return time.perf_counter() - started


def process_seconds(arguments: argparse.Namespace) -> float:
    """The whole command, into a fresh folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "assay", "run", arguments.questions]
        command += ["--predictions", arguments.predictions, "--db", arguments.db, "-o", str(Path(folder) / "run")]
        command += ["--workers", str(arguments.workers)]
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - started


def main() -> int:
    """Measure in turn, print the medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions")
    parser.add_argument("predictions")
    parser.add_argument("db")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    inputs = read_inputs(arguments.questions, arguments.predictions, FileOptions(), allow_unmatched=False)
    locate, _ = locator(arguments.db)
    works = plan_work(inputs.cases, inputs.predictions, locate)
    queries = needed_queries(works)
    print(f"{len(works)} cases, {sum(map(len, queries.values()))} distinct queries on {len(queries)} databases")
    rounds = [
        (floor_seconds(queries), evaluation_seconds(inputs, works, arguments.workers), process_seconds(arguments))
        for _ in range(arguments.rounds)
    ]
    floor, evaluation, process = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(each[1] / each[0] for each in rounds)
    print(f"floor       {floor:.3f} s")
    print(f"evaluation  {evaluation:.3f} s  {ratio:.2f} times the floor (bound {EVALUATION_BOUND:g})")
    print(f"process     {process:.3f} s  {process / floor:.2f} times the floor (bound {PROCESS_BOUND_S:g} s)")
    return int(ratio > EVALUATION_BOUND or process > PROCESS_BOUND_S)


if __name__ == "__main__":
    sys.exit(main())
