"""`assay run`: the main job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click
from msgspec.structs import replace

from assay.cli.messages import tell
from assay.cli.options.declared import (
    Only,
    Overwrite,
    Password,
    Quiet,
    ReportFlags,
    Rescore,
    Token,
    file_options,
)
from assay.cli.options.evidence import EvidenceFlags
from assay.cli.options.gates import GateFlags
from assay.cli.options.settings_file import at, check_used, may_lack_database, with_file
from assay.cli.options.two_files import missing_database, roles_checked
from assay.cli.parsing.parameters import argument, option
from assay.errors import InputError, UsageError
from assay.model import Case, Gates
from assay.model.databases.suite import SUITE_MATCH
from assay.model.witness import AFTER_WITNESSES, WitnessSettings
from assay.settings import GateSettings, Settings
from assay.settings.values import urls_of

if TYPE_CHECKING:
    from assay.api.gates import GateKeeper
    from assay.api.inputs import OnCases
    from assay.api.reviewing import Reviews
    from assay.api.run import Run
    from assay.model.lint import LintOptions
    from assay.ports import System

TIMING_EXTRA_S = 60.0


def run(
    cases: Annotated[
        Path,
        argument(metavar="CASES", help="Question set, or YAML file with all settings of a run."),
    ],
    *,
    settings: Annotated[Settings, Only(without=("baseline",))],
    overwrite: Overwrite = False,
    rescore: Rescore = False,
    password: Password = None,
    token: Token = None,
    show_prompt: Annotated[
        bool, option("--show-prompt", help="Print the prompt of the first case and exit (chat).")
    ] = False,
    evidence: EvidenceFlags,
    reports: ReportFlags,
    gates: GateFlags,
    quiet: Quiet = False,
) -> None:
    """Evaluate predictions or a live system against a question set on real databases.

    Example:  assay run dev.jsonl --predictions predictions.jsonl --db 'sqlite:///dbs/{db_id}.sqlite' -o runs/first

    A live system:  assay run dev.jsonl --system 'command:./ask.sh' --db sqlite:///shop.sqlite -o runs/live

    All of it in one file:  assay run eval.yaml
    """
    typed_user = settings.user
    settings = with_file(cases, replace(settings, cases=str(cases), baseline=gates.baseline), needs_database=True)
    if token is not None and typed_user is None:
        settings = replace(settings, user=None)  # what is typed weighs more than the file
    check_used(cases, settings)
    targets = reports.targets()
    witness = evidence.gathered(settings.witness)
    from assay import registry
    from assay.api.gates import keeper_of
    from assay.cli.options.access import Access

    # Before asking for a password, and long before asking a model.
    with nullcontext() if gates.any_given or settings.gates is None else at(cases, "gates"):
        keeper = keeper_of(
            gates.gathered(settings.gates),
            _with_added(_metrics(settings), witness, suite=settings.suite),
            baseline=settings.baseline,
            output=settings.output,
            is_new=True,
        )
    access = Access.gathered(user=settings.user, password=password, token=token, needed=_needs_access(settings))
    settings = replace(
        settings, db=access.databases(settings.db, settings), gold_db=access.database(settings.gold_db, settings)
    )
    opened = None
    if settings.system is not None:
        opened = registry.open_system(settings.system, access.system_options(settings))
    if show_prompt:
        _print_prompt(settings, opened)
        return
    if opened is not None and not rescore:
        check_credentials(opened, settings.output)
    run_settings(
        settings,
        system=opened,
        overwrite=overwrite,
        rescore=rescore,
        quiet=quiet,
        reports=targets,
        full=reports.full,
        keeper=keeper,
        on_cases=_checking(keeper, cases, settings.gates),
        lint=evidence.lint_options(settings.lint),
        witness=witness,
        scratch=evidence.server(settings.witness),
    )


def check_credentials(system: object, stored: str | Path | None) -> None:
    """Raise SystemUnusable, before anything is read, if a system knows that it lacks a key.

    If answers are stored already, no more of them may be needed, and the system raises when it is asked.
    """
    check = getattr(system, "check_credentials", None)
    if check is not None and not (stored is not None and Path(stored).exists()):
        check()


def _checking(keeper: GateKeeper, path: Path, file: GateSettings | None) -> OnCases:
    """Check the gates with the cases of the run. An error names the place of a selector that the file has."""

    from assay.runs.gates.checks import check_cases

    def check(cases: Sequence[Case]) -> None:
        try:
            keeper.check_cases(cases)
        except InputError:
            for place, selector in enumerate(() if file is None else file.selectors):
                with at(path, "gates", "must_pass", place):
                    check_cases(Gates(must_pass=(selector,)), cases)
            raise

    return check


def _metrics(settings: Settings) -> Sequence[str]:
    from assay import registry

    if not settings.metrics:
        return registry.default_metrics()
    return (
        tuple(dict.fromkeys(registry.named_metrics(settings.metrics)))
        if "all" in settings.metrics
        else settings.metrics
    )


def _with_added(metrics: Sequence[str], witness: WitnessSettings | None, *, suite: str | None) -> Sequence[str]:
    """The metrics of the run, for its gates: with those that come of themselves with witnesses and a suite."""
    added = ((AFTER_WITNESSES, witness is not None), (SUITE_MATCH, suite is not None))
    return (*metrics, *(name for name, there in added if there and name not in metrics))


def _print_prompt(settings: Settings, system: System | None) -> None:
    """Print the prompt for the first case."""
    from assay.api.schemas import prompt_of

    if system is None or settings.cases is None or settings.db is None:
        raise UsageError("--show-prompt needs --system chat:… and --db: the prompt shows the database")
    try:
        text = prompt_of(settings.cases, system, databases=settings.db, files=file_options(settings))
    finally:
        system.close()
    click.echo(text)


def _needs_access(settings: Settings) -> bool:
    """Whether credentials may be needed: otherwise no password is asked for."""
    databases = [*urls_of(settings.db), settings.gold_db or ""]
    return settings.system is not None or any(one.startswith("denodo+") for one in databases)


def run_settings(
    settings: Settings,
    *,
    system: System | None = None,
    overwrite: bool = False,
    rescore: bool = False,
    quiet: bool,
    reports: Mapping[str, Path | None],
    full: bool = False,
    keeper: GateKeeper | None = None,
    on_cases: OnCases | None = None,
    timing_extra_s: float = TIMING_EXTRA_S,
    lint: LintOptions | bool = False,
    witness: WitnessSettings | None = None,
    scratch: str | None = None,
    difficulty_names: tuple[tuple[str, str], ...] = (),
) -> None:
    """Evaluate by the settings, and show the run. Ends with status 1 if a gate is missed."""
    from assay.api.evaluation import evaluate
    from assay.cli.output import check_targets, finish, keeping, tell_cache_use
    from assay.cli.progress import progress

    check_targets(reports, settings)
    answers = system if system is not None else settings.predictions
    if system is not None and settings.predictions is not None:
        raise UsageError("--predictions and --system were both given: give one of them")
    if settings.db is None and not may_lack_database(settings):
        raise missing_database(settings)
    folder = None if settings.output is None else Path(settings.output)
    arguments = settings.given(signature(evaluate).parameters) | {
        "predictions": answers,
        "databases": {} if settings.db is None else settings.db,
        "gold_databases": settings.gold_db,
        "limits": settings.limits(),
        "leniency": settings.leniency(),
        "cache_bytes": settings.cache_bytes(),
        "overwrite": overwrite,
        "rescore": rescore,
        "repeats": settings.repeat or 1,
        "timing_extra_s": timing_extra_s,
        "files": file_options(settings, difficulty_names),
        "lint": lint,
        "witness": witness or False,
        "scratch": scratch,
        "reviews": reviews_of(settings),
        "on_cases": keeper.check_cases if on_cases is None and keeper is not None else on_cases,
    }
    try:
        with roles_checked(settings), keeping(folder), progress(quiet=quiet) as on_progress:
            done = evaluate(**arguments, on_progress=on_progress)
    finally:
        if system is not None:
            system.close()
    told = [*_tell_untimed(done), *_tell_unsearched(done, asked=witness is not None), *tell_cache_use(done)]
    advice = "--html FILE writes every case"
    baseline = None if settings.baseline is None else Path(settings.baseline)
    finish(
        done,
        keeper=keeper,
        reports=reports,
        full=full,
        folder=folder,
        advice=advice,
        quiet=quiet,
        told=told,
        baseline=baseline,
    )


def reviews_of(settings: Settings) -> Reviews | Literal[False]:
    """The reviews that the settings name, or those next to the question set; False: none.

    Raises InputError, naming the line, for a damaged file, and UsageError for options that do not go together.
    """
    from assay.api.reviewing import reviews_for

    if settings.no_reviews and settings.reviews is not None:
        raise UsageError("--reviews and --no-reviews were both given: omit one of them")
    found = None if settings.no_reviews else reviews_for(settings.cases, settings.reviews, settle=settings.settle)
    if found is None and settings.settle is not None:
        raise UsageError("--settle is for reviews, and there are none: add --reviews, or omit it")
    if found is not None and found.note:
        tell(f"note: {found.note}")
    return found or False


def _tell_untimed(done: Run) -> list[str]:
    """Say on standard error how many pairs the timing budget did not reach."""
    from assay.runs.execution.timing import BUDGET_SPENT

    cases = done.record.summaries if any(info.timed for info in done.record.settings.metric_infos) else ()
    untimed = sum(any(score.failure == BUDGET_SPENT for score in case.scores) for case in cases)
    if not untimed:
        return []
    pairs = "1 right answer was" if untimed == 1 else f"{untimed} right answers were"
    advice = "the same command continues with them, and a longer budget reaches more"
    return _told(f"{pairs} not timed within --ves-budget: {advice}")


def _tell_unsearched(done: Run, *, asked: bool) -> list[str]:
    """Say on standard error how many matches the budget for witnesses did not reach."""
    totals = done.record.aggregates.witnesses
    left = 0 if totals is None else totals.matches - totals.searched
    if not asked or not left:
        return []
    were = "1 match was" if left == 1 else f"{left:,} matches were"
    return _told(f"{were} not searched within --witness-total: the same command continues")


def _told(text: str) -> list[str]:
    """The text, printed on standard error."""
    tell(text)
    return [text]
