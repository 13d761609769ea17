"""Execute a run: unfinished cases go to the workers, finished ones to the journal."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from time import perf_counter

from msgspec.structs import replace

from assay.engines.pool.memory import give_back
from assay.model import CaseSummary, MetricInfo, Run
from assay.model.verdicts.retrieval import CONTEXT_COMPLETE
from assay.model.witness import AFTER_WITNESSES
from assay.platform.spool import LARGE
from assay.ports import Backend
from assay.runs.aggregate.metric_infos import info_of
from assay.runs.aggregate.spread import cache_use
from assay.runs.aggregate.totals import aggregate
from assay.runs.execution.asking import ResponseStream
from assay.runs.execution.replacing import check_replaced
from assay.runs.execution.runner import CaseRunner
from assay.runs.execution.strengths import awaits_search, has_untried_repair, lacks_score
from assay.runs.execution.timing import awaits_timing
from assay.runs.plan import Job, OnProgress
from assay.runs.store.folder import (
    RunFile,
    begin_folder,
    check_folder,
    finish_folder,
    is_same_run,
    make_folder,
    read_lint,
    relabel,
)
from assay.runs.store.journal import Journal
from assay.sdmx.gc_pause import collector_paused


def execute(
    job: Job,
    pool: Backend | None,
    *,
    folder: Path | None = None,
    overwrite: bool = False,
    live: ResponseStream | None = None,
    asked: bool = False,
    on_progress: OnProgress | None = None,
) -> Run:
    """Score every case and assemble the run, resuming from the cases that ``folder`` contains already.

    ``overwrite`` discards those instead. ``live`` gives the answers, which are scored as they arrive; those of the
    job's works do not count then. ``asked``: a live system gave the answers, which the folder contains. Raises RunError
    if the folder contains another run or a damaged one, or is being written by another process, and passes on why
    ``live`` ended early, after what was in flight is scored.
    """
    # There may be a hundred thousand evidences, which have no reference cycles. Asking takes hours, and makes cycles.
    with collector_paused() if live is None else nullcontext(), ExitStack() as opened:
        if folder is None:
            started = perf_counter()
            judging = CaseRunner(job, pool, on_progress, live=live)
            judging.judge()
            return _finished_run(job, judging, started)
        check_folder(folder, job.settings, overwrite=overwrite)
        make_folder(folder)
        journal = opened.enter_context(Journal(folder, forget=overwrite))
        # Checked again: another process may have written before the journal was locked.
        stored = check_folder(folder, job.settings, overwrite=overwrite)
        job = _with_strengths(job, stored)
        judging = CaseRunner(
            job,
            pool,
            on_progress,
            journal=journal,
            live=live,
            begin=lambda: begin_folder(folder, job.settings, job.provenance, lint=job.lint),
        )
        judging.take_over()
        if stored is not None and (finished := _finished(job, stored, judging, folder)):
            relabel(folder, stored, job.settings)
            judging.tell()
            return finished
        if stored is not None and not asked and live is None:
            check_replaced(folder, stored, job.works)
        if not judging.unanswered:
            judging.begin()
        started = perf_counter()
        judging.judge()
        # The answers that were still missing may turn out to be scored already: failures that came again.
        if stored is not None and not judging.begun and (finished := _finished(job, stored, judging, folder)):
            relabel(folder, stored, job.settings)
            return finished
        judging.begin()
        run = _finished_run(job, judging, started)
        journal.check_whole()
        finish_folder(folder, run, judging.digests)
        if len(judging.works) > LARGE:
            give_back()
        return run


def _with_strengths(job: Job, stored: RunFile | None) -> Job:
    """The job of a run that has strengths already, though they are not asked for now: they stay."""
    if stored is None or stored.settings.witness is None or job.settings.witness is not None:
        return job
    info = info_of(AFTER_WITNESSES, stored.settings)
    settings = replace(
        job.settings,
        witness=stored.settings.witness,
        metrics=(*job.settings.metrics, AFTER_WITNESSES),
        metric_infos=(*job.settings.metric_infos, info),
    )
    return replace(job, settings=settings, metrics=(*job.metrics, info))


def _with_retrieval(job: Job, summaries: Sequence[CaseSummary]) -> Job:
    """The job of a run in which some predictions say what the system was given: it has the metrics of retrieval."""
    distinct = {id(case.scores): case.scores for case in summaries}.values()
    if not any(score.metric == CONTEXT_COMPLETE for scores in distinct for score in scores):
        return job
    from assay.metrics.retrieval import RETRIEVAL

    added = [info for info in map(MetricInfo.of, RETRIEVAL) if info.name not in job.settings.metrics]
    settings = replace(
        job.settings,
        metrics=(*job.settings.metrics, *(info.name for info in added)),
        metric_infos=(*job.settings.metric_infos, *added),
    )
    return replace(job, settings=settings, metrics=(*job.metrics, *added))


def _finished(job: Job, stored: RunFile, judging: CaseRunner, folder: Path) -> Run | None:
    """The stored run, if nothing except its name or tags is new. Its lint stays if none is asked for."""
    if judging.unanswered or judging.remaining:
        return None
    if stored.aggregates is None or not is_same_run(stored, job.settings, job.provenance, judging.digests):
        return None
    summaries = judging.summaries()
    if any(map(awaits_timing, summaries)) or stored.settings.penalties != job.settings.penalties:
        return None
    if any(lacks_score(case, job.settings) or case.pending for case in summaries):
        return None
    if job.witness and any(awaits_search(case, job.witness) or has_untried_repair(case) for case in summaries):
        return None
    lint = read_lint(folder)
    if job.lint not in (None, lint):
        return None
    return Run(
        settings=_with_retrieval(job, summaries).settings,
        provenance=stored.provenance,
        summaries=summaries,
        evidence=judging.evidence(),
        aggregates=stored.aggregates,
        lint=lint,
    )


def _finished_run(job: Job, judging: CaseRunner, started: float) -> Run:
    """Time what has to be timed, once all is scored, look for witnesses, and assemble the run."""
    judging.time()
    judging.search()
    reviews = judging.review()
    summaries = judging.summaries()
    job = _with_retrieval(job, summaries)
    infos = [metric if isinstance(metric, MetricInfo) else MetricInfo.of(metric) for metric in job.metrics]
    doubtful = job.lint.doubtful() if job.lint is not None else frozenset[str]()
    large = len(summaries) > LARGE
    if large:
        give_back()
    aggregates = aggregate(
        summaries, infos, repeats=job.settings.repeats, doubtful=doubtful, penalties=job.settings.penalties
    )
    if large:
        give_back()
    aggregates = replace(aggregates, reviews=reviews.totals(summaries, repeats=job.settings.repeats))
    evidence = judging.evidence()
    if job.settings.selection is not None:
        from assay.runs.aggregate.selections import selection_totals

        aggregates = replace(aggregates, selection=selection_totals(evidence))
    cache = None if job.provenance.cache is None else cache_use(summaries)
    return Run(
        settings=job.settings,
        provenance=replace(job.provenance, wall_time_s=round(perf_counter() - started, 3), cache=cache),
        summaries=summaries,
        evidence=evidence,
        aggregates=aggregates,
        lint=job.lint,
    )
