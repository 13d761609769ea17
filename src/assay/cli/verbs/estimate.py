"""`assay estimate`: accuracy without gold queries, from people's labels of a few answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from assay.cli.messages import tell
from assay.cli.options.declared import CONCURRENCY, JsonFile, Markdown, Only, Quiet, file_options
from assay.cli.options.stored_runs import A_RUN
from assay.cli.parsing.parameters import argument, option
from assay.errors import UsageError
from assay.settings import Settings

if TYPE_CHECKING:
    from assay.model.runs.estimate import Estimate, EstimatedDifference
    from assay.ports import ChatModel


def estimate(  # one parameter an option
    answers: Annotated[
        Path,
        argument(metavar="ANSWERS", help="File with questions and predicted queries, or the folder of a run."),
        A_RUN,
    ],
    *,
    reviews: Annotated[
        Path | None,
        option(metavar="FILE", help="People's reviews. Default: reviews.jsonl in the folder of ANSWERS."),
    ] = None,
    judge: Annotated[
        str | None,
        option(metavar="MODEL", help="LLM to ask whether each query answers its question, e.g. gpt-4.1."),
    ] = None,
    beside: Annotated[
        list[Path] | None,
        option(metavar="ANSWERS2", help="Other answers, whose agreement is a signal. Can be repeated."),
    ] = None,
    compare: Annotated[
        Path | None,
        option(metavar="OTHER", help="Estimate the accuracy of OTHER minus that of ANSWERS."),
        A_RUN,
    ] = None,
    more: Annotated[int | None, option("--next", metavar="N", least=1, help="Draw the next N cases to label.")] = None,
    queue: Annotated[Path | None, option(metavar="FILE", help="File for --next. Default: RUN/queue.jsonl.")] = None,
    target: Annotated[
        str, option(metavar="WHAT", help="Target: 'frame' (these answers) or 'future' questions.")
    ] = "frame",
    declare_random: Annotated[
        bool, option("--declare-random", help="Treat labels without a draw as a random sample.")
    ] = False,
    unlabelled: Annotated[
        str,
        option(metavar="HOW", help="Stratum without labels: 'refuse', 'bounds' or 'merge'."),
    ] = "refuse",
    settle: Annotated[
        str, option(metavar="HOW", help="Decision if reviewers disagree: 'latest', 'majority' or a name.")
    ] = "latest",
    seed: Annotated[int, option(metavar="N", least=0, help="Seed of --next.")] = 0,
    confidence: Annotated[float, option(metavar="SHARE", help="Confidence of the intervals.")] = 0.95,
    output: Annotated[
        Path | None, option("--output", "-o", metavar="RUN", help="Store the answers as a run for assay review.")
    ] = None,
    token: Annotated[str | None, option(metavar="TEXT", help="API key of the judge. Prefer OPENAI_API_KEY.")] = None,
    settings: Annotated[
        Settings,
        Only(
            (
                *("db", "timeout_s", "workers", "limit", "case_format", "case_fields", "prediction_fields"),
                *("concurrency", "param", "headers", "system_timeout_s", "retries", "verify_ssl"),
            ),
            helps={"db": "Database URL, or a template. Default: that of the run."},
        ),
    ],
    md: Markdown = None,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Estimate accuracy without gold queries, with a valid interval, from people's labels of a few answers.

    Example:  assay estimate answers.jsonl --db sqlite:///shop.sqlite -o runs/july --next 50

    People label them:  assay review runs/july --queue runs/july/queue.jsonl

    The estimate:  assay estimate runs/july --reviews reviews.jsonl

    Which of two systems is better:  assay estimate runs/july --compare runs/august --next 30
    """
    from assay.cli.output import check_targets, deliver, say_written

    targets = {"md": md, "json": json}
    printed = check_targets(targets)
    if compare is not None and (judge is not None or beside or unlabelled != "refuse"):
        raise UsageError("--compare takes no signals: omit --judge, --beside and --unlabelled")
    if queue is not None and more is None:
        raise UsageError("--queue is the file for the cases of --next: add --next N")
    if queue is not None:
        from assay.runs.estimates.drawing import check_queue

        check_queue(queue)
    made = _estimated(
        answers,
        settings,
        quiet=quiet,
        compare=compare,
        judge=judge,
        token=token,
        reviews=_reviews(reviews, answers),
        beside=beside or [],
        shared={
            "target": target,
            "design": "random" if declare_random else "recorded",
            "settle": settle,
            "more": more or 0,
            "queue": queue,
            "seed": seed,
            "output": output,
            "confidence": confidence,
        },
        unlabelled=unlabelled,
    )
    from assay.reports.json.comparisons import estimate_json
    from assay.reports.markdown.comparisons import estimate_markdown

    draw = {"md": estimate_markdown, "json": estimate_json}
    written = deliver(targets.items(), lambda name: draw[name](made))
    if printed is None:
        from assay.reports.console.printing import print_estimate

        print_estimate(made)
    say_written(written, on_stderr=printed is not None)
    if made.drawn is not None and printed != "json":
        sys.stdout.flush()
        run = output or answers
        tell(f"label them:  assay review {run} --queue {made.drawn.queue}")


def _estimated(
    answers: Path,
    settings: Settings,
    *,
    quiet: bool,
    compare: Path | None,
    judge: str | None,
    token: str | None,
    reviews: Path | None,
    beside: list[Path],
    shared: dict[str, Any],
    unlabelled: str,
) -> Estimate | EstimatedDifference:
    from assay.api import estimating
    from assay.cli.output import keeping
    from assay.cli.progress import progress
    from assay.model import Limits

    shared |= {
        "databases": settings.db,
        "limits": None if settings.timeout_s is None else Limits(timeout_s=settings.timeout_s),
        "workers": settings.workers,
        "files": file_options(settings),
    }
    folder = shared["output"] or (answers if answers.is_dir() else None)
    with keeping(folder), progress(quiet=quiet) as on_progress:
        if compare is not None:
            return estimating.estimate_difference(answers, compare, reviews, on_progress=on_progress, **shared)
        opened = None if judge is None else _model(judge, token, settings)
        try:
            return estimating.estimate(
                answers,
                reviews,
                judge=opened,
                beside=beside,
                concurrency=settings.concurrency or CONCURRENCY,
                unlabelled=unlabelled,  # type: ignore[arg-type]
                on_progress=on_progress,
                **shared,
            )
        finally:
            if opened is not None:
                opened.close()


def _model(model: str, token: str | None, settings: Settings) -> ChatModel:
    from assay.api.models import open_model
    from assay.cli.options.access import Access

    access = Access.gathered(user=None, password=None, token=token, needed=False)
    options = access.system_options(settings)
    return open_model(
        model,
        token=None if access.token is None else access.token.reveal(),
        timeout_s=options.timeout_s,
        retries=options.retries,
        parameters=dict(options.parameters),
        verify_ssl=options.verify_ssl,
    )


def _reviews(given: Path | None, answers: Path) -> Path | None:
    """The file of reviews; None if none is named, and none is next to the answers or in the run's place."""
    from assay.runs.reviews.file import reviews_beside
    from assay.runs.reviews.finding import reviews_file
    from assay.runs.store.folder import read_finished

    if given is not None:
        return given
    places = [reviews_beside(answers)]
    if answers.is_dir():
        run = read_finished(answers)
        places.append(reviews_file(answers, run.settings, run.provenance) or places[0])
    return next((one for one in places if one.exists()), None)
