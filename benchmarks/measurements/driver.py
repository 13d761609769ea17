"""The driver alone: what the main process of a run takes, with workers that replay outcomes instead of judging.

On many cores the driver is what a run of fast cases waits for: all its work is done by one core, and a run cannot last
shorter than that. So workers that take next to no time show, on any machine, the least that such a run takes on a
machine with any number of cores. Reading, planning, handing out, taking in, adding up and storing are the run's own;
the frames go through pipes, from as many worker processes as a larger machine would have.
"""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, msgpack

from assay import registry
from assay.api.inputs import FileOptions, read_inputs
from assay.api.workers import locator, worker_settings
from assay.engines.pool.pool import WorkerPool
from assay.model import ComparisonOptions, Limits, Provenance, RunSettings
from assay.runs.execution.execute import execute
from assay.runs.plan import Job, Works, databases_of, works_of
from assay.runs.progress import Progress
from assay.runs.workers.scoring_worker import WorkerScorer
from benchmarks.frame import Setup, own_peak_mb
from benchmarks.measurements.scale import make_benchmark

WORKERS = 15
SMALL, FAST, LARGE = 1_000, 20_680, 100_000
_RECORDED = 300
"""Cases that are judged for their outcomes. The outcome of each other case is one of theirs."""


class _Index(Struct, array_like=True):
    """The first field of a `Work`."""

    index: int


def replay(argument: tuple[str, float]) -> Callable[[object], object]:
    """Set up a worker that answers each task with one of the outcomes in a file, under the task's own case id."""
    path, pace_s = argument
    outcomes: list[object] = pickle.loads(Path(path).read_bytes())
    index_of = msgpack.Decoder(_Index).decode

    def replayed(packed: object) -> object:
        assert isinstance(packed, bytes)
        if pace_s:
            time.sleep(pace_s)
        index = index_of(packed).index
        number = index % len(outcomes)
        return renamed(outcomes[number], b'"q%d"' % number, b'"q%d"' % index)

    return replayed


def renamed(outcome: object, old: bytes, new: bytes) -> object:
    """An outcome as of another case."""
    assert isinstance(outcome, tuple)
    return tuple([part.replace(old, new) for part in outcome])


class Stages(Struct, kw_only=True):
    """Processor seconds of the main process, by stage."""

    read_s: float = 0.0
    plan_s: float = 0.0
    judge_s: float = 0.0
    store_s: float = 0.0
    judge_wall_s: float = 0.0

    @property
    def whole_s(self) -> float:
        """All stages."""
        return self.read_s + self.plan_s + self.judge_s + self.store_s


@contextmanager
def _timed(stages: Stages, name: str) -> Iterator[None]:
    begun = time.process_time()
    yield
    setattr(stages, name, time.process_time() - begun)


def driven(folder: Path, workers: int, pace_s: float = 0.0) -> Stages:
    """Run a benchmark of `make_benchmark` with workers that replay its first outcomes."""
    stages = Stages()
    names = registry.default_metrics()
    with _timed(stages, "read_s"):
        inputs = read_inputs(folder / "cases.jsonl", folder / "answers.jsonl", FileOptions(), allow_unmatched=False)
    with _timed(stages, "plan_s"):
        locate, database = locator(f"sqlite:///{folder / 'shop.sqlite'}")
        works = Works(works_of(inputs.cases, inputs.predictions, databases_of(inputs.cases, locate)), {})
    recorded = folder / "outcomes"
    if not recorded.exists():
        scorer = WorkerScorer(worker_settings(ComparisonOptions(), Limits(), names))
        recorded.write_bytes(pickle.dumps([scorer(task) for task in works.tasks(range(_RECORDED))]))
        scorer.close()
    settings = RunSettings(
        cases="cases", predictions="answers", database=database, metrics=names, limits=Limits(), workers=workers
    )
    provenance = Provenance(assay_version="", python_version="", platform="")
    job = Job(settings=settings, provenance=provenance, works=works, metrics=[*map(registry.metric, names)])
    judged_at: list[tuple[float, float]] = []

    def watch(progress: Progress) -> None:
        if progress.finished == progress.total and not judged_at:
            judged_at.append((time.process_time(), time.perf_counter()))

    with (
        tempfile.TemporaryDirectory() as output,
        WorkerPool(
            workers=workers, setup="benchmarks.measurements.driver:replay", argument=(str(recorded), pace_s)
        ) as pool,
    ):
        pool.wait_until_ready()
        begun, begun_at = time.process_time(), time.perf_counter()
        execute(job, pool, folder=Path(output, "run"), on_progress=watch)
        ((judged, when),) = judged_at
        stages.judge_s, stages.store_s, stages.judge_wall_s = (
            judged - begun,
            time.process_time() - judged,
            when - begun_at,
        )
    return stages


def main(setup: Setup) -> dict[str, float]:
    import sys

    found = {}
    with tempfile.TemporaryDirectory() as name:
        pace = float(sys.argv[1])
        for cases in map(int, sys.argv[2:]):
            folder = Path(name, str(cases))
            folder.mkdir()
            make_benchmark(folder, cases)
            s = driven(folder, WORKERS, pace)
            print(
                cases,
                {k: round(1000 * getattr(s, k) / cases, 4) for k in s.__struct_fields__},
                round(1000 * s.whole_s / cases, 4),
                own_peak_mb(),
            )
    return found


if __name__ == "__main__":
    main(Setup())
