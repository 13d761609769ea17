"""A run as a run of an MLflow experiment: its settings, numbers, labels and report.

MLflow is imported only here, when an export is asked for. During the export its telemetry and its messages on
standard output are switched off, unless the user's environment says otherwise.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from assay.errors import InputError, MissingDependency, install_command
from assay.model import Run, RunSettings
from assay.reports.html.run import HtmlReporter
from assay.reports.text.plain import one_line
from assay.runs.aggregate.reliability import RUN_RATES, run_rate
from assay.runs.store.folder import RUN_FILE, finished_file
from assay.runs.store.history import identity_of, point_of, question_set, run_name, started_at

IDENTITY = "assay.identity"
"""The tag by which an earlier export of the same run is found."""
_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    # The default of seven waits for minutes where no server answers.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
}
_LONGEST_PARAM = 500
_LONGEST_TAG = 5000
_BATCH = 100
_NOT_IN_A_NAME = re.compile(r"[^\w\-. /]", re.ASCII)


class MlflowExport(Struct, frozen=True, kw_only=True):
    """Where an exported run is in MLflow."""

    run_id: str
    experiment: str
    created: bool
    """False if the run was there already; its name and tags were then brought up to date."""


def export_run(run: Run, *, tracking_uri: str | None, experiment: str, folder: str = "") -> MlflowExport:
    """Write the run into the experiment, which is created if it is absent; an exported run is not written again.

    ``tracking_uri`` None: MLflow's own (``MLFLOW_TRACKING_URI``). Raises MissingDependency without MLflow,
    InputError if the store cannot be written.
    """
    with _environment():
        return _exported(run, tracking_uri, experiment, folder)


@contextmanager
def _environment() -> Iterator[None]:
    """Set our defaults for variables that the user's environment does not set, while this context lasts."""
    added = {name: value for name, value in _ENVIRONMENT.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _exported(run: Run, tracking_uri: str | None, experiment: str, folder: str) -> MlflowExport:
    try:
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient
    except ImportError as error:
        raise MissingDependency("mlflow-skinny", "mlflow") from error
    try:
        return _export(MlflowClient(tracking_uri=tracking_uri), run, experiment, folder)
    except (MlflowException, ImportError, OSError) as error:
        where = tracking_uri or "the store of MLFLOW_TRACKING_URI"
        hint = f"; {advice}" if (advice := _advice(str(error))) else ""
        raise InputError(f"MLflow cannot write to {where}: {one_line(str(error), limit=300)}{hint}") from error


def _advice(message: str) -> str:
    if "MLFLOW_ALLOW_FILE_STORE" in message:
        return "give a database, for example sqlite:///mlflow.db, or a server's URL"
    if "unsupported URI" in message:
        return f"a database needs SQLAlchemy and Alembic: run  {install_command(extra='mlflow')}"
    return ""


def _export(client: Any, run: Run, experiment: str, folder: str) -> MlflowExport:
    found = client.get_experiment_by_name(experiment)
    experiment_id = found.experiment_id if found is not None else client.create_experiment(experiment)
    identity = identity_of(run)
    point = point_of(run, folder)
    name, tags = run_name(point) or "assay", _tags(run, folder, identity)
    for existing in client.search_runs([experiment_id], f"tags.`{IDENTITY}` = '{identity}'"):
        if existing.info.status == "FINISHED":
            _bring_up_to_date(client, existing, name, tags)
            return MlflowExport(run_id=existing.info.run_id, experiment=experiment, created=False)
        client.delete_run(existing.info.run_id)  # an export that was interrupted
    start = started_at(point)
    start_ms = int(start.timestamp() * 1000) if start is not None else None
    created = client.create_run(experiment_id, start_time=start_ms, tags=tags, run_name=name)
    run_id = created.info.run_id
    _write_numbers(client, run_id, run, created.info.start_time)
    _write_files(client, run_id, run)
    took = timedelta(seconds=run.provenance.wall_time_s or 0.0)
    end_ms = created.info.start_time + took // timedelta(milliseconds=1)
    client.set_terminated(run_id, status="FINISHED", end_time=end_ms)
    return MlflowExport(run_id=run_id, experiment=experiment, created=True)


def _bring_up_to_date(client: Any, existing: Any, name: str, tags: dict[str, str]) -> None:
    """Update name and tags: labels may be added to a run later, or removed."""
    before = existing.data.tags
    for key in before:
        if key.startswith("tag.") and key not in tags:
            client.delete_tag(existing.info.run_id, key)
    for key, value in {**tags, "mlflow.runName": name}.items():
        if before.get(key) != value:
            client.set_tag(existing.info.run_id, key, value)


def _write_numbers(client: Any, run_id: str, run: Run, at_ms: int) -> None:
    from mlflow.entities import Metric, Param

    metrics = [Metric(name, value, at_ms, 0) for name, value in _metrics(run)]
    for start in range(0, len(metrics), _BATCH):
        client.log_batch(run_id, metrics=metrics[start : start + _BATCH])
    params = [Param(name, value[:_LONGEST_PARAM]) for name, value in _params(run.settings) if value]
    client.log_batch(run_id, params=params)


def _write_files(client: Any, run_id: str, run: Run) -> None:
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        for name, content in ((RUN_FILE, finished_file(run)), ("report.html", HtmlReporter().render(run))):
            path = Path(folder) / name
            path.write_bytes(content)
            client.log_artifact(run_id, str(path))


def _metrics(run: Run) -> Iterator[tuple[str, float]]:
    """Every metric with its interval, its n and its unscored cases, then the run's counts; absent values are left
    out."""
    numbers = run.aggregates
    for summary in numbers.overall.metrics:
        name, rate = _NOT_IN_A_NAME.sub("_", summary.metric), summary.rate
        for suffix, value in (("", rate.value), (".low", rate.low), (".high", rate.high)):
            if value is not None:
                yield f"{name}{suffix}", value
        yield f"{name}.n", float(rate.n)
        yield f"{name}.unscored", float(rate.unscored)
    for name in RUN_RATES:
        found = run_rate(run, name)
        if found is not None and found.value is not None:
            yield name, found.value
    for counted in ("cases", "correct", "incorrect", "unscored", "unanswered"):
        yield counted, float(getattr(numbers, counted))
    if run.provenance.wall_time_s is not None:
        yield "wall_time_s", run.provenance.wall_time_s
    usage = numbers.usage
    if usage is not None:
        for counted, value in (("tokens.total", usage.total), ("cost_usd", usage.cost_usd)):
            if value is not None:
                yield counted, float(value)


def _params(settings: RunSettings) -> Iterator[tuple[str, str]]:
    """The settings that decide the numbers, as text."""
    limits, selection = settings.limits, settings.selection
    yield "cases", settings.cases
    yield "predictions", settings.predictions
    yield "metrics", ", ".join(settings.metrics)
    yield "repeats", str(settings.repeats)
    if selection is not None:
        yield "structures", ", ".join(selection.structures)
        yield "match_on", selection.match_on
        yield "count_hierarchy", str(selection.count_hierarchy)
        yield "language", selection.language
        return
    yield "database", settings.database
    if settings.gold_database is not None:
        yield "gold_database", settings.gold_database
    yield "columns", settings.columns
    yield "leniency", settings.leniency.said or "none"
    yield "relative_tolerance", f"{settings.relative_tolerance:g}"
    yield "absolute_tolerance", f"{settings.absolute_tolerance:g}"
    yield "timing_iterations", str(settings.timing_iterations)
    yield "limits.timeout_s", f"{limits.timeout_s:g}"
    if limits.gold_timeout_s is not None:
        yield "limits.gold_timeout_s", f"{limits.gold_timeout_s:g}"
    yield "limits.max_rows", str(limits.max_rows)
    yield "limits.max_memory_bytes", str(limits.max_memory_bytes)


def _tags(run: Run, folder: str, identity: str) -> dict[str, str]:
    """A label like ``model=gpt-4.1`` becomes the tag ``tag.model``, any other one a tag that says ``true``."""
    asked = question_set(point_of(run))
    tags = {
        IDENTITY: identity,
        "assay.version": run.provenance.assay_version,
        "assay.python_version": run.provenance.python_version,
        "assay.platform": run.provenance.platform,
        "assay.folder": folder,
        "assay.question_set": (asked.digest or "") if asked is not None else "",
    }
    tags |= {f"assay.engine.{engine.name}": engine.digest for engine in run.provenance.engine_versions}
    for tag in run.settings.tags:
        key, _, value = tag.partition("=")
        tags[f"tag.{_NOT_IN_A_NAME.sub('_', key)}"[:250]] = value or "true"
    return {key: one_line(value, limit=_LONGEST_TAG) for key, value in tags.items() if value}
