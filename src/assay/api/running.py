"""Make a run: ask the live system, if there is one, score every prediction, store the results."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from assay._version import __version__
from assay.api.inputs import Inputs
from assay.api.run import Run
from assay.errors import UsageError
from assay.model import Case, Fingerprint, Prediction, Provenance
from assay.model.lint import LintReport
from assay.platform.safeguards import unsupported_safeguards
from assay.platform.surface import option
from assay.ports import Backend, NeededDatabase, System
from assay.runs.execution.asking import WAITING_PER_WORKER, ResponseStream, answers_held, ask
from assay.runs.execution.execute import execute
from assay.runs.plan import Job, OnProgress
from assay.runs.reviews.applying import cases_for_run, path_for_run
from assay.runs.reviews.collection import Reviews
from assay.runs.store.claim import claim_folder, run_lock
from assay.runs.store.folder import read_lint


def carry_out(
    job: Job,
    pool: Backend | None,
    *,
    system: System | None,
    cases: Sequence[Case],
    answered: Callable[[tuple[Prediction, ...]], Job],
    output: str | os.PathLike[str] | None,
    overwrite: bool,
    rescore: bool,
    concurrency: int,
    on_progress: OnProgress | None,
    lint: Callable[[Job, LintReport | None], LintReport] | None = None,
) -> Run:
    """Make the run of a job; ``answered`` returns the job with the answers of a live ``system`` to the cases.

    With a ``pool``, answers are scored as they arrive. ``pool`` None: the cases are scored in this process, once all
    are answered, since the scores may depend on all answers. ``lint`` looks at the job's gold queries, and is given
    what an earlier run in the folder found. Raises as `evaluate` does.
    """
    folder = Path(output) if output is not None else None
    if rescore and system is not None and folder is None:
        raise UsageError(f"there is no run to re-score: name its folder ({option('--output', 'RUN')})")
    anew, forget = overwrite or rescore, overwrite and not rescore

    def linted(job: Job) -> Job:
        return job if lint is None else replace(job, lint=lint(job, None if folder is None else read_lint(folder)))

    # The folder is locked for this run from the first question on.
    with nullcontext() if folder is None else run_lock(folder, job.settings, overwrite=anew, forget=forget):
        if system is not None:
            held: tuple[Prediction, ...] | None = None
            repeats = job.settings.repeats
            if rescore and folder is not None:
                # Checked before anything is cleared: a run that cannot be judged again stays as it is.
                held = answers_held(system, cases, folder, repeats=repeats)
            if folder is not None:
                claim_folder(folder, job.settings, job.provenance, overwrite=anew)
            if held is None and pool is not None:
                with ResponseStream(
                    system,
                    cases,
                    concurrency=concurrency,
                    most_waiting=WAITING_PER_WORKER * pool.size,
                    repeats=repeats,
                    folder=folder,
                ) as live:
                    places = ((case.id, repeat) for case in cases for repeat in range(repeats))
                    job = answered(tuple(Prediction(case_id=id_, repeat=repeat) for id_, repeat in places))
                    job = linted(job)
                    return Run(execute(job, pool, folder=folder, overwrite=anew, live=live, on_progress=on_progress))
            job = answered(
                held
                or ask(system, cases, concurrency=concurrency, repeats=repeats, folder=folder, on_progress=on_progress)
            )
        asked = system is not None
        return Run(execute(linted(job), pool, folder=folder, overwrite=anew, asked=asked, on_progress=on_progress))


def provenance_of(
    inputs: Inputs,
    databases: Sequence[NeededDatabase] = (),
    *,
    reviews: Reviews | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> Provenance:
    """The provenance of a run that starts now: versions, files and databases. ``folder`` is the run's own."""
    named = tuple(
        Fingerprint(name=str(one.url), digest=one.fingerprint)
        for one in sorted(databases, key=lambda needed: needed.url.text)
    )
    file = None if reviews is None else reviews.path
    reviewed = () if reviews is None else (reviews.fingerprint,)
    versions = {one.url.scheme: one.version for one in databases}
    return Provenance(
        assay_version=__version__,
        python_version=platform.python_version(),
        platform=f"{sys.platform} {platform.machine()}",
        engine_versions=tuple(Fingerprint(name=scheme, digest=versions[scheme]) for scheme in sorted(versions)),
        inputs=(*inputs.files, *reviewed, *named),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        unmatched_predictions=inputs.unmatched,
        blank_rows=inputs.blank_rows,
        cases_left_out=inputs.cases_left_out,
        joining=inputs.joining,
        unread_columns=inputs.unread,
        input_notes=inputs.notes,
        unprotected=unsupported_safeguards(),
        reviews=None if file is None else path_for_run(file, None if folder is None else Path(folder)),
        cases=None if folder is None else cases_for_run(inputs.case_name, Path(folder)),
        case_format=inputs.case_format,
        case_fields=inputs.case_fields,
    )
