"""`assay sdmx`: what an SDMX assistant selected, scored term by term."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct
from msgspec.structs import replace

from assay.cli.messages import tell
from assay.cli.options.declared import Only, Overwrite, Quiet, ReportFlags, Rescore, Token, check_one_source
from assay.cli.options.gates import SelectionGateFlags
from assay.cli.options.two_files import selection_files_checked
from assay.cli.parsing.parameters import argument, option
from assay.errors import UsageError, plural
from assay.settings import Settings

if TYPE_CHECKING:
    from assay.api.gates import GateKeeper
    from assay.api.run import Run
    from assay.ports import System

_MOST_REASONS = 3
"""How many reasons are given for cases whose observations were not compared."""


class SelectionFlags(Struct, frozen=True, kw_only=True):
    """What selections are scored by."""

    structures: Annotated[
        list[str] | None,
        option(metavar="PATH|URL", help="SDMX structures: file, folder or service. Can be repeated."),
    ] = None
    data: Annotated[
        str | None,
        option(metavar="PATH|URL", help="Data to execute selections on: SDMX-CSV or SDMX-ML files, or a service."),
    ] = None
    match_on: Annotated[str, option(metavar="WHAT", help="Match by 'id_and_name' or 'id'.")] = "id_and_name"
    count_hierarchy: Annotated[
        bool, option("--count-hierarchy", help="Count a code as equal to its children in a hierarchy.")
    ] = False
    ignore_dimension: Annotated[
        list[str] | None, option(metavar="NAME", help="Dimension to ignore. Can be repeated.")
    ] = None
    language: Annotated[str, option(metavar="CODE", help="Language of names from code lists.")] = "en"


def sdmx(
    cases: Annotated[Path, argument(metavar="CASES", help="Cases in YAML or JSON: a file or a folder.")],
    *,
    settings: Annotated[
        Settings,
        Only(
            (
                "predictions",
                "system",
                "output",
                "limit",
                "name",
                "tags",
                "allow_unmatched",
                "prediction_fields.id",
                "concurrency",
                "repeat",
                "param",
                "headers",
                "system_timeout_s",
                "retries",
                "verify_ssl",
                "reviews",
                "no_reviews",
                "settle",
            ),
            helps={
                "predictions": "Assistant's answers.",
                "system": "Ask a live assistant: chat:https://host/openai/deployments/NAME/…",
                "prediction_fields.id": "Key of the answers' ids ('@position': in the cases' order).",
            },
        ),
    ],
    selection: SelectionFlags,
    overwrite: Overwrite = False,
    rescore: Rescore = False,
    token: Token = None,
    reports: ReportFlags,
    gates: SelectionGateFlags,
    quiet: Quiet = False,
) -> None:
    """Score what an SDMX assistant selected: per dimension, macro and micro, with every term named.

    Example:  assay sdmx cases.yaml --predictions answers.jsonl --structures structures/ -o runs/first --xlsx first.xlsx

    A live assistant:  assay sdmx cases/ --system chat:https://host/openai/deployments/statgpt -o runs/live
    """
    from assay import registry
    from assay.api.gates import keeper_of
    from assay.cli.options.access import Access
    from assay.cli.verbs.run import check_credentials
    from assay.scoring.selections.metrics import selection_metrics

    check_one_source(settings)
    computed = [metric.name for metric in selection_metrics(on_data=selection.data is not None)]
    keeper = keeper_of(gates.gathered(metrics=computed), computed, baseline=gates.baseline, output=settings.output)
    targets = reports.targets()
    access = Access.gathered(user=None, password=None, token=token, needed=False)
    if settings.predictions is None and settings.system is None:
        raise UsageError("--predictions or --system must be given: see  assay sdmx --help")
    opened = None
    if settings.system is not None:
        opened = registry.open_system(settings.system, access.system_options(settings))
        if not rescore:
            check_credentials(opened, settings.output)
    run_selections(
        replace(settings, cases=str(cases)),
        selection,
        system=opened,
        overwrite=overwrite,
        rescore=rescore,
        quiet=quiet,
        reports=targets,
        full=reports.full,
        keeper=keeper,
    )


def run_selections(
    settings: Settings,
    selection: SelectionFlags,
    *,
    system: System | None = None,
    overwrite: bool,
    rescore: bool = False,
    quiet: bool,
    reports: Mapping[str, Path | None],
    full: bool = False,
    keeper: GateKeeper | None = None,
) -> None:
    """Evaluate selections as the settings say, and show the run. A live system is closed in the end.

    Ends with status 1 if a gate is missed.
    """
    from assay.api.selections import evaluate_selections
    from assay.cli.output import check_targets, finish, keeping
    from assay.cli.progress import progress
    from assay.cli.verbs.run import reviews_of

    check_targets(reports, settings)
    if selection.match_on not in ("id_and_name", "id"):
        raise UsageError(f"--match-on is {selection.match_on!r}: write 'id_and_name' or 'id'")
    output = None if settings.output is None else Path(settings.output)
    arguments = settings.given(signature(evaluate_selections).parameters) | {
        "predictions": settings.predictions if system is None else system,
        "structures": selection.structures or None,
        "data": selection.data,
        "match_on": selection.match_on,
        "count_hierarchy": selection.count_hierarchy,
        "ignore_dimensions": selection.ignore_dimension or (),
        "language": selection.language,
        "repeats": settings.repeat or 1,
        "reviews": reviews_of(settings),
        "prediction_id": settings.prediction_fields.id,
        "overwrite": overwrite,
        "rescore": rescore,
        "on_cases": None if keeper is None else keeper.check_cases,
    }
    files = {
        "cases": [settings.cases or ""],
        "predictions": [settings.predictions] if settings.predictions else [],
        "structures": selection.structures or [],
        "data": [selection.data] if selection.data else [],
    }
    try:
        with (
            selection_files_checked(files),
            keeping(output, made="answered", kept="answers are kept in {}"),
            progress(quiet=quiet) as on_progress,
        ):
            done = evaluate_selections(**arguments, on_progress=on_progress)
    finally:
        if system is not None:
            system.close()
    notes = [*done.provenance.notes, *(_trouble_with_data(done) if selection.data is not None else ())]
    notes = [f"note: {note}" for note in notes]
    for note in notes:
        tell(note)
    advice = "--xlsx FILE writes the workbook"
    finish(done, keeper=keeper, reports=reports, full=full, folder=output, advice=advice, quiet=quiet, told=notes)


def _trouble_with_data(run: Run) -> Iterator[str]:
    """Why the observations of some cases were not compared, the most frequent reasons first."""
    scores = [item.score("observations_match") for item in run.evidence]
    failures = [score.failure for score in scores if score is not None and score.failure is not None]
    reasons = Counter(failure.message for failure in failures if failure.stage == "execute")
    for message, count in reasons.most_common(_MOST_REASONS):
        yield f"observations_match is unscored in {plural(count, 'case')}: {message}"
    others = reasons.total() - sum(count for _, count in reasons.most_common(_MOST_REASONS))
    if others:
        yield f"observations_match is unscored in {plural(others, 'more case')}, for other reasons"
