"""`assay runs`: a folder's runs, their trend, their export."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from assay.cli.messages import say, tell
from assay.cli.options.declared import JsonFile
from assay.cli.options.stored_runs import A_RUN
from assay.cli.parsing.parameters import argument, option
from assay.errors import InputError, RunError, UsageError, did_you_mean

if TYPE_CHECKING:
    from assay.model import HistoryPoint


def runs(  # one parameter an option
    folder: Annotated[Path, argument(metavar="FOLDER", help="Folder of runs, or one run."), A_RUN],
    tag: Annotated[
        list[str] | None,
        option(metavar="TEXT", help="Label of the runs to list, e.g. 'model=*'. Can be repeated."),
    ] = None,
    name: Annotated[
        str | None, option(metavar="GLOB", help="Name or folder of the runs to list, e.g. 'nightly-*'.")
    ] = None,
    cases: Annotated[
        str | None, option(metavar="NAME", help="Question set of the runs to list, e.g. dev.jsonl.")
    ] = None,
    metric: Annotated[str | None, option(metavar="NAME", help="Metric to show. [default: the headline metric]")] = None,
    html: Annotated[Path | None, option(metavar="FILE", help="Write an HTML file with the trend.")] = None,
    mlflow: Annotated[
        str | None, option(metavar="URI", help="MLflow store to export to, e.g. sqlite:///mlflow.db.")
    ] = None,
    experiment: Annotated[str | None, option(metavar="NAME", help="Experiment of --mlflow. [default: assay]")] = None,
    json: JsonFile = None,
) -> None:
    """List a folder's runs, the newest last: when, what, how right, and over which questions.

    Example:  assay runs runs --tag nightly

    The trend as a page:  assay runs runs --html trend.html

    Into MLflow:  assay runs runs --mlflow sqlite:///mlflow.db --experiment text-to-sql
    """
    if experiment is not None and mlflow is None:
        raise UsageError("--experiment was given without --mlflow URI: there is nothing to export to")
    from assay.cli.output import check_targets, deliver, say_written

    targets = {"html": html, "json": json}
    check_targets(targets)
    shown = _selected(folder, tags=tag or (), name=name, cases=cases, metric=metric)
    if html is not None or json is not None:
        from assay.reports.html.history import runs_html
        from assay.reports.json.comparisons import runs_json

        draw = {"html": runs_html, "json": runs_json}
        written = deliver(targets.items(), lambda name: draw[name](shown, folder=str(folder)))
        say_written(written, on_stderr=True)
    if mlflow is not None:
        _export(shown, mlflow, experiment)
    if html is None and json is None and mlflow is None:
        from assay.reports.console.printing import print_runs

        print_runs(shown, folder=str(folder))


def _selected(
    folder: Path, *, tags: Sequence[str], name: str | None, cases: str | None, metric: str | None
) -> tuple[HistoryPoint, ...]:
    """The selected runs. Raises InputError if there are none, with the names that exist."""
    from assay.api.history import list_runs
    from assay.model.runs.metric_names import metric_hint
    from assay.runs.store.history import question_set, run_name, select_runs

    points = list_runs(folder, metric=metric)
    if metric is not None and not any(point.headline is not None for point in points):
        every = {one for point in points if point.settings for one in point.settings.metrics}
        raise InputError(
            f"no run in {folder} has the metric {metric!r}{metric_hint(metric, every) or _instead(metric, every)}"
        )
    shown = select_runs(points, tags=tags, name=name, cases=cases)
    if shown:
        return shown
    asked = [f"the tag {one!r}" for one in tags]
    every = {one for point in points if point.settings for one in point.settings.tags}
    hint = "" if not tags else _instead(tags[0], every)
    if name is not None:
        asked.append(f"the name {name!r}")
        hint = hint or _instead(name, {run_name(point) for point in points})
    if cases is not None:
        asked.append(f"the cases {cases!r}")
        hint = hint or _instead(cases, {one.name for point in points if (one := question_set(point))})
    raise InputError(f"none of the {len(points)} runs in {folder} has {' and '.join(asked)}{hint}")


def _instead(wanted: str, known: set[str]) -> str:
    """A hint with the closest known name, or with all of them."""
    if close := did_you_mean(wanted, known):
        return close
    return f"; known: {', '.join(sorted(known)[:20])}" if known else "; none exists"


def _export(points: Sequence[HistoryPoint], uri: str, experiment: str | None) -> None:
    """Export the finished runs one after the other; a damaged run is named and skipped."""
    from assay.api.history import EXPERIMENT, export_mlflow

    target = experiment or EXPERIMENT
    finished = [point for point in points if point.status == "finished"]
    created = there = 0
    for point in finished:
        try:
            done = export_mlflow(point.folder, tracking_uri=uri, experiment=target)
        except RunError as error:
            say(f"not exported: {error}")
            continue
        created += done.created
        there += not done.created
    tell(f"exported {created} of {len(points)} runs to the experiment {target!r} at {uri}")
    if there:
        tell(f"{there} were there already")
    if created + there < len(points):
        tell(f"{len(points) - created - there} unfinished or damaged ones were left out")
