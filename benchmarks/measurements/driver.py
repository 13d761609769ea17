"""The driver alone: the main process of a run whose workers replay outcomes instead of judging.

With many cores, fast cases wait for the driver: one core does all its work, and no run is shorter than that. Workers
that only sleep for a millisecond per case show that bound on a machine with few cores. Reading, planning, handing out,
taking in, adding up and storing are the run's own, and frames come from as many processes as a larger machine has.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from assay import registry
from assay.api.inputs import FileOptions, read_inputs
from assay.api.workers import locator, worker_settings
from assay.engines.pool.pool import WorkerPool
from assay.model import ComparisonOptions, Limits, Provenance, RunSettings
from assay.runs.execution.execute import execute
from assay.runs.plan import Job, Works, databases_of, works_of
from assay.runs.progress import Progress
from assay.runs.workers.scoring_worker import WorkerScorer
from benchmarks.frame import ROOT, Setup, own_peak_mb
from benchmarks.measurements.scale import make_benchmark

WORKERS = 15
_SMALL, _FAST = 1_000, 20_680
_CASE_S = 0.001
"""How long a worker takes for a case."""
_RECORDED = 300
"""Cases that are judged for their outcomes. The outcome of each other case is one of theirs."""


class Driven(Struct, kw_only=True):
    """What the main process of a run took: processor seconds by stage, and memory."""

    reading_s: float = 0.0
    planning_s: float = 0.0
    judging_s: float = 0.0
    """From the first task to the last outcome."""
    storing_s: float = 0.0
    """Adding up, and writing all files besides the journal."""
    wall_s: float = 0.0
    """By the clock, from the first task to the last file."""
    peak_mb: float = 0.0

    @property
    def whole_s(self) -> float:
        """All stages."""
        return self.reading_s + self.planning_s + self.judging_s + self.storing_s


class _Index(Struct, array_like=True):
    """The first field of a `Work`."""

    index: int


def replay(argument: tuple[str, float]) -> Callable[[object], object]:
    """Set up a worker that answers each task with one of the outcomes in a file, under the task's own case id.

    ``argument``: the file, and the seconds that a case takes.
    """
    path, case_s = argument
    outcomes: list[tuple[bytes, ...]] = pickle.loads(Path(path).read_bytes())
    index_of = msgspec.msgpack.Decoder(_Index).decode

    def replayed(packed: object) -> object:
        assert isinstance(packed, bytes)
        index = index_of(packed).index
        number = index % len(outcomes)
        time.sleep(case_s)
        return tuple([part.replace(b'"q%d"' % number, b'"q%d"' % index) for part in outcomes[number]])

    return replayed


def driven(folder: Path, workers: int, case_s: float = _CASE_S) -> Driven:
    """Run a benchmark of `make_benchmark` with workers that replay its first outcomes, so many seconds for each."""
    found = Driven()

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        begun = time.process_time()
        yield
        setattr(found, name, time.process_time() - begun)

    with stage("reading_s"):
        inputs = read_inputs(folder / "cases.jsonl", folder / "answers.jsonl", FileOptions(), allow_unmatched=False)
    with stage("planning_s"):
        locate, database = locator(f"sqlite:///{folder / 'shop.sqlite'}")
        works = Works(works_of(inputs.cases, inputs.predictions, databases_of(inputs.cases, locate)), {})
    names = registry.default_metrics()
    settings = RunSettings(
        cases="cases", predictions="answers", database=database, metrics=names, limits=Limits(), workers=workers
    )
    provenance = Provenance(assay_version="", python_version="", platform="")
    job = Job(settings=settings, provenance=provenance, works=works, metrics=[*map(registry.metric, names)])
    judged_s: list[float] = []

    def watch(progress: Progress) -> None:
        if progress.finished == progress.total and not judged_s:
            judged_s.append(time.process_time())

    setup, argument = "benchmarks.measurements.driver:replay", (str(folder / "outcomes"), case_s)
    with WorkerPool(workers=workers, setup=setup, argument=argument) as pool:
        pool.wait_until_ready()
        begun_s, begun_at = time.process_time(), time.perf_counter()
        execute(job, pool, folder=folder / "run", overwrite=True, on_progress=watch)
        found.wall_s = time.perf_counter() - begun_at
        found.judging_s, found.storing_s = judged_s[0] - begun_s, time.process_time() - judged_s[0]
    found.peak_mb = own_peak_mb()
    return found


def _record(folder: Path) -> None:
    """Judge the first cases of a benchmark, for their outcomes."""
    inputs = read_inputs(folder / "cases.jsonl", folder / "answers.jsonl", FileOptions(), allow_unmatched=False)
    locate, _ = locator(f"sqlite:///{folder / 'shop.sqlite'}")
    works = Works(works_of(inputs.cases, inputs.predictions, databases_of(inputs.cases, locate)), {})
    scorer = WorkerScorer(worker_settings(ComparisonOptions(), Limits(), registry.default_metrics()))
    outcomes = [scorer(task) for task in works.tasks(range(_RECORDED))]
    scorer.close()
    (folder / "outcomes").write_bytes(pickle.dumps(outcomes))


def _alone(folder: Path) -> Driven:
    """As `driven`, in a process of its own, whose memory is its own."""
    command = [sys.executable, "-m", "benchmarks.measurements.driver", str(folder)]
    told = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    return msgspec.json.decode(told.splitlines()[-1], type=Driven)


def bound(setup: Setup) -> dict[str, float]:
    """A small, a middle and a large run: what each costs the driver, and so the least that it takes on any machine."""
    made: list[Driven] = []
    with tempfile.TemporaryDirectory() as name:
        for cases in (_SMALL, _FAST, setup.cases):
            folder = Path(name, str(cases))
            folder.mkdir()
            make_benchmark(folder, cases)
            _record(folder)
            made.append(_alone(folder))
    small, fast, large = made
    return {
        "driver.fast": 1000 * fast.whole_s / _FAST,
        "driver.fast_judging": 1000 * fast.judging_s / _FAST,
        "driver.large": 1000 * large.whole_s / setup.cases,
        "driver.large_judging": 1000 * large.judging_s / setup.cases,
        "driver.fast_bound": fast.whole_s,
        "driver.large_bound": large.whole_s,
        "driver.memory": large.peak_mb / small.peak_mb,
    }


def efficiency(_: Setup) -> dict[str, float]:
    """How much of the time of 2, 4, 8 and 15 workers is of use, against one worker."""
    found = {}
    for kind, cases, case_s in (("slow", 480, 0.05), ("fast", 6_000, 0.002)):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_benchmark(folder, cases)
            _record(folder)
            alone_s = driven(folder, 1, case_s).wall_s
            for count in (2, 4, 8, 15):
                found[f"workers.{kind}_{count}"] = 100 * alone_s / count / driven(folder, count, case_s).wall_s
    return found


if __name__ == "__main__":
    print(json.dumps(msgspec.to_builtins(driven(Path(sys.argv[1]), WORKERS))))
