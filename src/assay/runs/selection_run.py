"""Execute a run over selections: no database, no workers, only what was asked and what was answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from time import perf_counter

from assay.model import Case, Evidence, Prediction, Provenance, Run, RunSettings, SelectionSettings
from assay.runs.aggregate.selections import selection_totals
from assay.runs.aggregate.totals import aggregate
from assay.runs.asking import OnProgress
from assay.runs.progress import Progress, counted
from assay.runs.store.codec import encode_evidence
from assay.runs.store.folder import begin_folder, check_folder, finish_folder, make_folder
from assay.runs.store.journal import Journal
from assay.runs.store.size import within_size
from assay.scoring.selections.scorer import SELECTION_METRICS, judge_case
from assay.sdmx.collecting import collector_paused
from assay.sdmx.structures.known import Structures


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionJob:
    """A run over selections."""

    settings: RunSettings
    """With ``selection`` set."""
    provenance: Provenance
    cases: Sequence[Case]
    predictions: Sequence[Prediction]
    """One for each case, in their order. A case that was asked several times stands there as often."""
    structures: Structures | None = None


def execute_selections(
    job: SelectionJob, *, folder: Path | None = None, overwrite: bool = False, on_progress: OnProgress | None = None
) -> Run:
    """Judge every case and put the run together. Judging takes moments: nothing of it is resumed.

    Raises RunError where the folder holds another run (unless ``overwrite``) or another process writes it.
    """
    with collector_paused():
        return _execute(job, folder, overwrite=overwrite, on_progress=on_progress)


def _execute(job: SelectionJob, folder: Path | None, *, overwrite: bool, on_progress: OnProgress | None) -> Run:
    started = perf_counter()
    if folder is None:
        return _run(job, [_judge(job, index) for index in _counted(job, on_progress)], started)
    check_folder(folder, job.settings, overwrite=overwrite)
    make_folder(folder)
    digests: list[str] = []
    evidence: list[Evidence] = []
    with Journal(folder, forget=True) as journal:
        begin_folder(folder, job.settings, job.provenance)
        for index in _counted(job, on_progress):
            # Nothing is resumed by it, so that it need not stand for the case's content.
            digests.append(_digest(job.cases[index].id, job.predictions[index].repeat))
            evidence.append(_judge(job, index))
            journal.append(digests[-1], encode_evidence(evidence[-1]))
        run = _run(job, evidence, started)
        finish_folder(folder, run, digests)
    return run


def _digest(case_id: str, repeat: int) -> str:
    name = case_id.encode("utf-8", "surrogatepass")
    return blake2b(name + (b"\0%d" % repeat if repeat else b""), digest_size=12).hexdigest()


def _counted(job: SelectionJob, on_progress: OnProgress | None) -> Iterator[int]:
    """The places of the cases, telling how far one has come."""
    total, noun = len(job.cases), counted(job.settings.repeats)
    for index in range(total):
        if on_progress is not None:
            on_progress(Progress(total=total, finished=index, noun=noun))
        yield index
    if on_progress is not None:
        on_progress(Progress(total=total, finished=total, noun=noun))


def _judge(job: SelectionJob, index: int) -> Evidence:
    settings = job.settings.selection or SelectionSettings()
    prediction = within_size(job.predictions[index])
    return judge_case(job.cases[index], prediction, structures=job.structures, settings=settings)


def _run(job: SelectionJob, evidence: Sequence[Evidence], started: float) -> Run:
    aggregates = aggregate(evidence, SELECTION_METRICS, repeats=job.settings.repeats)
    return Run(
        settings=job.settings,
        provenance=replace(job.provenance, wall_time_s=round(perf_counter() - started, 3)),
        evidence=tuple(evidence),
        aggregates=replace(aggregates, selection=selection_totals(evidence)),
    )
