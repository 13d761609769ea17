"""A run as a Python object: numbers, evidence, summary, files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from assay import registry
from assay.api.public import public, python_messages
from assay.api.reviewing import ReviewsInput, chosen_reviews
from assay.errors import InputError, MissingDependency, UsageError, did_you_mean, plural
from assay.model import Aggregates, Evidence, GateResult, Gates, Provenance, Rate, RunSettings
from assay.model import Run as RunRecord
from assay.reports.files import replace_file
from assay.runs.aggregate.reliability import RUN_RATES, run_rate
from assay.runs.reviews.applying import cases_for_run, load_reviewed_run
from assay.runs.store.folder import run_folder, save_run
from assay.scoring.queries.verdicts import unfinished
from assay.scoring.selections.metrics import selection_metrics

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Run:
    """Every Evidence of one evaluation, with its settings, provenance and aggregates.

    ``evidence`` is in the question set's order.
    """

    __slots__ = ("record",)

    def __init__(self, record: RunRecord) -> None:
        self.record: RunRecord = record

    @property
    def settings(self) -> RunSettings:
        """What was asked for, without secrets."""
        return self.record.settings

    @property
    def provenance(self) -> Provenance:
        """The versions, files and databases that the run was made with."""
        return self.record.provenance

    @property
    def evidence(self) -> Sequence[Evidence]:
        """The evidence per answer, in the question set's order: one per case, unless cases were asked several times."""
        return self.record.evidence

    @property
    def aggregates(self) -> Aggregates:
        """The numbers, computed once."""
        return self.record.aggregates

    def rate(self, metric: str = "match") -> Rate | None:
        """A metric's rate over all cases; None if the run did not ask for that metric.

        In a run in which no question was answered, for example because the system raised each time, its value is None.

        So are ``coverage``, ``selective_accuracy``, ``reliability`` and ``interaction_match``, None if the run has
        no such numbers. Raises UsageError for a name that is none of these, and names the nearest.
        """
        found = self.aggregates.overall.rate(metric)
        if found is None and metric in RUN_RATES:
            return run_rate(self.record, metric)
        if found is None:
            known = {
                *registry.registered("assay.metrics"),
                *(one.name for one in selection_metrics(on_data=True)),
                *self.settings.metrics,
                *RUN_RATES,
            }
            if metric not in known:
                own = self.settings.metrics
                if "accuracy" in str(metric).lower().split("_") and "match" in own:
                    hint = " (did you mean 'match'? Its mean is the accuracy)"
                else:
                    hint = did_you_mean(str(metric), own) or did_you_mean(str(metric), sorted(known))
                raise UsageError(f"there is no metric {metric!r}{hint}: the run has {', '.join(own) or 'none'}")
        if found is not None and unfinished(self.record.summaries):
            return replace(
                found, n=0, numerator=0.0, unscored=found.n + found.unscored, value=None, low=None, high=None
            )
        return found

    def summary(self, *, full: bool = False) -> str:
        """The summary that `assay run` prints, at most 40 lines of 80 columns; ``full``: everything, as `--full`."""
        from assay.reports.blocks.run import RunReport
        from assay.reports.console.run import plain_summary
        from assay.reports.screen.run import run_screen, screen_text

        report = RunReport(self.record)
        return plain_summary(report) if full else screen_text(run_screen(report))

    def report(self, path: str | os.PathLike[str], *, format: str | None = None) -> None:
        """Write a report; the format is that of the path's suffix if none is given.

        Raises UsageError for a file that a run needs, and for this run's questions or predictions.
        """
        target, name = target_of(path, format)
        read = {"questions": self.settings.cases, "predictions": self.settings.predictions}
        if replaced := next((what for what, file in read.items() if target.resolve() == Path(file).resolve()), None):
            raise UsageError(f"{target} contains the {replaced} of this run: give the report another name")
        replace_file(target, registry.pieces(name, self.record))

    @python_messages
    def check(self, gates: Gates, baseline: Run | str | os.PathLike[str] | None = None) -> tuple[GateResult, ...]:
        """Check the run against gates, one result per demand (`assay docs gates`).

        ``baseline`` is the finished run, or its folder, that ``max_drop`` and ``fail_on_regression`` compare with.
        Raises UsageError, InputError or RunError for gates or a baseline that do not fit the run.
        """
        if not isinstance(gates, Gates):
            raise UsageError(f'gates is {gates!r}: give assay.Gates, such as Gates(minimum=(("match", 0.9),))')
        from assay.api.gates import keeper_of
        from assay.runs.aggregate.metric_infos import knowing

        other = baseline.record if isinstance(baseline, Run) else baseline
        keeper = keeper_of(gates, self.settings.metrics, baseline=other, infos=knowing(self.settings))
        return keeper.judged(self.record).gates if gates.any else ()

    def with_penalties(self, penalties: Sequence[float]) -> Run:
        """The same run with other penalties of its reliability score; nothing is re-scored.

        Raises UsageError for one below 0, and if the run has no such score.
        """
        from assay.api.arguments import checked_penalties
        from assay.runs.aggregate.reliability import with_penalties

        return Run(with_penalties(self.record, checked_penalties(penalties)))

    def to_arrow(self) -> pyarrow.Table:
        """One row per answer, as in ``results.parquet``. Raises MissingDependency without pyarrow."""
        from assay.runs.store.results_table import with_parquet

        parquet = _library("pyarrow.parquet", "pyarrow", "arrow")
        return with_parquet(self.record, lambda path: parquet.read_table(path, memory_map=False))

    def to_pandas(self) -> pandas.DataFrame:
        """One row per answer, as in ``results.parquet``. Raises MissingDependency without pandas; needs no pyarrow.

        Lists are numpy arrays.
        """
        from assay.runs.store.results_table import read_pandas, with_parquet

        _library("pandas", "pandas", "pandas")
        frame: pandas.DataFrame = with_parquet(self.record, read_pandas)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """One row per answer, as in ``results.parquet``. Raises MissingDependency without polars; needs no pyarrow."""
        from assay.runs.store.results_table import with_parquet

        library = _library("polars", "polars", "polars")
        frame: polars.DataFrame = with_parquet(self.record, lambda path: library.read_parquet(path.read_bytes()))
        return frame

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the run into a new or empty folder. Raises RunError if the folder is not empty."""
        cases = cases_for_run(self.settings.cases, Path(folder))
        save_run(replace(self.record, provenance=replace(self.provenance, cases=cases)), Path(folder))

    def __repr__(self) -> str:
        numbers = self.aggregates
        if failures := unfinished(self.record.summaries):
            from assay.reports.blocks.unscored import causes

            return f"<assay.Run of {plural(numbers.cases, 'case')}: nothing could be scored: {causes(failures)}>"
        return (
            f"<assay.Run of {plural(numbers.cases, 'case')}: {numbers.correct} correct, {numbers.incorrect} incorrect, "
            f"{numbers.unscored} unscored>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the counts, and every metric with its interval."""
        from assay.reports.notebook import run_html

        return run_html(self.record)


def _library(module: str, package: str, extra: str) -> Any:
    """An optional library. Raises MissingDependency."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependency(package, extra) from error


def target_of(path: str | os.PathLike[str], format: str | None) -> tuple[Path, str]:
    """Where a report goes, and its format: that of the path's suffix if none is given."""
    target = Path(path)
    name = format or target.suffix.lstrip(".").lower()
    if not target.parent.is_dir():
        raise InputError(f"{target}: the folder {str(target.parent)!r} does not exist: create it, or name another path")
    if not name:
        raise UsageError(f"{target} has no suffix: name the report's format, such as format='html'")
    return target, name


@public
def load_run(folder: str | os.PathLike[str], *, reviews: ReviewsInput | Literal[False] | None = None) -> Run:
    """Read a stored run, with the reviewed verdicts by what the file of reviews says now.

    Args:
        folder: the run's folder, or its run.json.
        reviews: a file of reviews, or what `load_reviews` read. None: the file that the run was made with, or else
            the one next to its question set, if there is one; False: none.

    Raises:
        InputError: there is no run, or a line of the reviews is damaged.
        RunError: the run is unfinished or damaged.
    """
    return Run(load_reviewed_run(run_folder(Path(folder)), chosen_reviews(reviews)))
