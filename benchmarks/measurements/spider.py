"""Spider's development set: judging against the floor, the whole command, and what judging takes in calls."""

from __future__ import annotations

import cProfile
import pstats
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from assay import registry
from assay.api.inputs import FileOptions, Inputs, read_inputs
from assay.api.workers import locator, make_pool
from assay.engines.pool.executor import Executor
from assay.model import ComparisonOptions, DatabaseUrl, Execution, Limits, Provenance, Run, RunSettings
from assay.runs.execution.execute import execute
from assay.runs.plan import Job, Work, Works, plan_work
from assay.scoring.queries.scorer import QueryScorer
from assay.sql import warm_up
from benchmarks.frame import NotHere, Setup, assay, seconds

ANSWERS = "din-sql-gpt4"
_KINDS = ("correct", "incorrect")
_SCRIPT = Path(__file__).with_name("script.py")


def folder_of(setup: Setup) -> Path:
    """The benchmark's folder. Raises NotHere."""
    if setup.spider is None or not (setup.spider / "dev.jsonl").exists():
        raise NotHere("--spider DIR must name a folder with dev.jsonl, predictions/ and database/")
    return setup.spider.absolute()


def files_of(setup: Setup) -> tuple[Path, Path]:
    """The questions, and the answers to them."""
    folder = folder_of(setup)
    return folder / "dev.jsonl", folder / "predictions" / f"{ANSWERS}.jsonl"


def inputs_of(setup: Setup) -> tuple[Inputs, list[Work]]:
    """The cases as work."""
    questions, answers = files_of(setup)
    inputs = read_inputs(str(questions), str(answers), FileOptions(), allow_unmatched=False)
    locate, _ = locator(_databases(setup))
    return inputs, plan_work(inputs.cases, inputs.predictions, locate)


def _databases(setup: Setup) -> str:
    return f"sqlite:///{folder_of(setup)}/database/{{db_id}}/{{db_id}}.sqlite"


def command_of(setup: Setup, questions: Path, answers: Path) -> list[object]:
    """The command that judges such files."""
    return ["run", questions, "-p", answers, "--db", _databases(setup), "--workers", setup.workers, "-q"]


class RecordingExecutor(Executor):
    """Notes each distinct query, so that the floor runs exactly the same ones."""

    def __init__(self) -> None:
        super().__init__(engines=registry.engine_references(), limits=Limits())
        self.queries: dict[str, dict[str, None]] = {}

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        """As the executor does, and noted."""
        self.queries.setdefault(url.path, {})[query] = None
        return super().execute(url, query)


def judge_all(works: list[Work], executor: Executor) -> None:
    """Judge every case in this process by the built-in metrics."""
    warm_up()  # as in a worker: where a case's clock runs, an import may be cut off
    metrics = [registry.metric(name) for name in registry.default_metrics()]
    scorer = QueryScorer(executor, metrics, ComparisonOptions())
    for work in works:
        scorer.score(work.case, work.prediction, work.url)


def floor(queries: Mapping[str, Mapping[str, None]]) -> None:
    """Execute and fetch each distinct query once through the plain driver."""
    for path, texts in queries.items():
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        for text in texts:
            try:
                connection.execute(text).fetchall()
            except (sqlite3.Error, sqlite3.Warning):
                continue
        connection.close()


def evaluated(inputs: Inputs, works: list[Work], workers: int, *, causes: bool = True) -> tuple[Run, float]:
    """Judge cases with fresh workers that are ready, and the seconds it took. ``causes``: and why answers are wrong."""
    settings = RunSettings(
        cases=inputs.case_name,
        predictions=inputs.prediction_name,
        database="",
        metrics=registry.default_metrics(),
        limits=Limits(),
        workers=workers,
    )
    provenance = Provenance(assay_version="", python_version="", platform="")
    metrics = [registry.metric(name) for name in registry.default_metrics()]
    job = Job(settings=settings, provenance=provenance, works=Works(works, {}), metrics=metrics)
    names = registry.default_metrics()
    with make_pool(ComparisonOptions(), Limits(), names, workers, diagnose=causes) as pool:
        pool.wait_until_ready()
        start = time.perf_counter()
        run = execute(job, pool)
        return run, time.perf_counter() - start


def by_outcome(setup: Setup) -> dict[str, float]:
    """Processor time of one worker for a correct and for an incorrect answer, causes included.

    As many of each kind as there are of the rarer one; less what a worker takes that judges one case.
    """
    inputs, works = inputs_of(setup)
    run, _ = evaluated(inputs, works, setup.workers)
    outcomes = [case.outcome for case in run.summaries]
    kinds = {kind: [work for work, outcome in zip(works, outcomes, strict=True) if outcome == kind] for kind in _KINDS}
    count = min(map(len, kinds.values()))
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(setup.rounds):
        start = _worker_cpu_s(inputs, works[:1])
        for kind, chosen in kinds.items():
            found[f"outcome.{kind}"].append(1000 * (_worker_cpu_s(inputs, chosen[:count]) - start) / (count - 1))
    return {name: min(values) for name, values in found.items()}


def _worker_cpu_s(inputs: Inputs, works: list[Work]) -> float:
    before = _children_s()
    evaluated(inputs, works, 1)
    return _children_s() - before


def against_the_floor(setup: Setup) -> dict[str, float]:
    """Judging with and without causes, each in turn with the floor."""
    inputs, works = inputs_of(setup)
    executor = RecordingExecutor()
    judge_all(works, executor)
    executor.close()
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(setup.rounds):
        least = seconds(lambda: floor(executor.queries))
        found["spider.evaluation"].append(evaluated(inputs, works, setup.workers)[1] / least)
        found["spider.metrics"].append(evaluated(inputs, works, setup.workers, causes=False)[1] / least)
    return {name: statistics.median(values) for name, values in found.items()}


def whole_command(setup: Setup) -> dict[str, float]:
    """The whole command, each time in turn with a bare script, and with a run of one case."""
    questions, answers = files_of(setup)
    script = [sys.executable, str(_SCRIPT), str(questions), str(answers), str(folder_of(setup) / "database")]
    found: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        one = [Path(name, f"one.{kind}.jsonl") for kind in ("questions", "answers")]
        for source, copy in zip((questions, answers), one, strict=True):
            with source.open(encoding="utf-8") as lines:
                copy.write_text(next(lines), encoding="utf-8")
        for number in range(setup.rounds):
            bare_s, bare_cpu_s = _used(lambda: subprocess.run(script, check=True, stdout=subprocess.DEVNULL))
            all_s, all_cpu_s = _used(
                partial(assay, *command_of(setup, questions, answers), "-o", Path(name, f"{number}"))
            )
            _, one_cpu_s = _used(partial(assay, *command_of(setup, *one), "-o", Path(name, f"{number}.one")))
            found["command.wall"].append(all_s)
            found["command.cpu"].append(all_cpu_s)
            found["command.script_wall"].append(all_s / bare_s)
            found["command.script_cpu"].append(all_cpu_s / bare_cpu_s)
            found["command.one_case"].append(100 * one_cpu_s / all_cpu_s)
    return {name: statistics.median(values) for name, values in found.items()}


def _used(work: Callable[[], object]) -> tuple[float, float]:
    """The seconds of work that other processes do, and their processor time."""
    before = _children_s()
    return seconds(work), _children_s() - before


def _children_s() -> float:
    """Processor time of this process's children that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def counted(setup: Setup) -> dict[str, float]:
    """Calls of functions and memory, which no other work on the machine changes."""
    _, works = inputs_of(setup)
    warm = Executor(engines=registry.engine_references(), limits=Limits())
    judge_all(works[:50], warm)  # imports, grammars
    warm.close()
    executor = Executor(engines=registry.engine_references(), limits=Limits())
    profile = cProfile.Profile()
    profile.runcall(judge_all, works, executor)
    calls = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]
    executor.close()
    again = Executor(engines=registry.engine_references(), limits=Limits())
    tracemalloc.start()
    judge_all(works[:300], again)
    peak = tracemalloc.get_traced_memory()[1]
    again.close()
    return {"spider.calls": calls / len(works), "spider.allocated": peak / 1024**2}
