"""Several runs over time: list them, add them to a report, export them."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from assay.api.public import public
from assay.api.run import Run, load_run
from assay.model import HistoryPoint
from assay.reports.mlflow import MlflowExport, export_run
from assay.runs.store.history import earlier_runs, point_of, scan_runs

EXPERIMENT = "assay"


@public
def list_runs(folder: str | os.PathLike[str], *, metric: str | None = None) -> tuple[HistoryPoint, ...]:
    """The runs in a folder and up to four levels below it, oldest first; of each only run.json is read.

    Unfinished and damaged runs are among them (``status``, ``trouble``). The headline is each run's
    own, or ``metric``'s value: None for a run without that metric. Raises InputError if there is no run.
    """
    return scan_runs(Path(folder), metric=metric)


def with_history(run: Run, folder: str | os.PathLike[str]) -> Run:
    """The run together with the folder's runs that started before it, for its HTML report.

    Raises InputError if there is no run in the folder.
    """
    metric = point_of(run.record).headline_metric
    earlier = earlier_runs(list_runs(folder, metric=metric), run.record)
    return Run(replace(run.record, history=earlier))


@public
def export_mlflow(
    run: Run | str | os.PathLike[str], *, tracking_uri: str | None = None, experiment: str = EXPERIMENT
) -> MlflowExport:
    """Write a run, or the one stored in a folder, into an MLflow experiment. Repeated calls write it only once.

    Settings become params; every metric comes with its interval (``match.low``, ``match.high``) and ``match.n``;
    a label ``model=x`` becomes the tag ``tag.model``; run.json and the HTML report are artifacts. ``tracking_uri``
    None: MLflow's own setting. Raises MissingDependency without MLflow (extra ``mlflow``), InputError if the
    MLflow store cannot be written.
    """
    if isinstance(run, Run):
        return export_run(run.record, tracking_uri=tracking_uri, experiment=experiment)
    stored = load_run(run)
    return export_run(stored.record, tracking_uri=tracking_uri, experiment=experiment, folder=os.fspath(run))
