"""Comparisons of runs as Python objects: numbers, cases, summary, files."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec.structs import replace

from assay.api.public import public
from assay.api.reviewing import ReviewsInput, chosen_reviews
from assay.api.run import Run, target_of
from assay.errors import UsageError, plural
from assay.model import (
    CaseChange,
    DiffSettings,
    GroupDiff,
    Matching,
    MetricDiff,
    RunHead,
    SamplingUnit,
    Standing,
    StandingPair,
)
from assay.model import Leaderboard as LeaderboardRecord
from assay.model import Run as RunRecord
from assay.model import RunDiff as RunDiffRecord
from assay.platform.surface import argument
from assay.reports.files import replace_file
from assay.runs.compare.diff import diff_runs
from assay.runs.compare.leaderboard import rank
from assay.runs.store.folder import RUN_FILE, load_run, run_folder

RunInput: TypeAlias = Run | RunRecord | str | os.PathLike[str]
"""A run, or the folder of a saved one. Only the parts that a comparison needs are read."""


class RunDiff:
    """Two runs over the same cases: what was fixed and broken, and how sure the difference is."""

    __slots__ = ("_runs", "record")

    def __init__(self, record: RunDiffRecord, runs: tuple[RunRecord | Path, RunRecord | Path]) -> None:
        self.record: RunDiffRecord = record
        self._runs = runs

    @property
    def baseline(self) -> RunHead:
        """The earlier run, which the candidate is compared with."""
        return self.record.baseline

    @property
    def candidate(self) -> RunHead:
        """The later run, which the comparison evaluates."""
        return self.record.candidate

    @property
    def matching(self) -> Matching:
        """Which cases are the same, and which were changed, added or removed."""
        return self.record.matching

    @property
    def notes(self) -> tuple[str, ...]:
        """Reasons why the two runs are less comparable than they look, as sentences."""
        return self.record.notes

    @property
    def metrics(self) -> tuple[MetricDiff, ...]:
        """Every metric that both runs have, in the candidate's order."""
        return self.record.metrics

    @property
    def groups(self) -> tuple[GroupDiff, ...]:
        """The metrics by difficulty, database and tag."""
        return self.record.groups

    @property
    def changes(self) -> tuple[CaseChange, ...]:
        """Every case that both runs have, in the candidate's order."""
        return self.record.changes

    @property
    def fixed(self) -> tuple[CaseChange, ...]:
        """The cases that were wrong and are right."""
        return tuple(change for change in self.record.changes if change.kind == "fixed")

    @property
    def broken(self) -> tuple[CaseChange, ...]:
        """The cases that were right and are wrong."""
        return tuple(change for change in self.record.changes if change.kind == "broken")

    def metric(self, name: str | None = None) -> MetricDiff | None:
        """One metric's difference, by default the headline metric's. None if the two runs do not both have it."""
        wanted = self.record.headline_metric if name is None else name
        return next((one for one in self.record.metrics if one.metric == wanted), None)

    def summary(self, *, full: bool = False) -> str:
        """The summary that `assay diff` prints, at most 40 lines of 80 columns; ``full``: everything, as `--full`."""
        from assay.reports.blocks.diff import DiffReport
        from assay.reports.console.diff import plain_diff
        from assay.reports.screen.diff import diff_screen
        from assay.reports.screen.run import screen_text

        return plain_diff(self.record) if full else screen_text(diff_screen(DiffReport(self.record)))

    def report(self, path: str | os.PathLike[str], *, format: str | None = None) -> None:
        """Write a report; the format is that of the path's suffix if none is given."""
        from assay.reports.diff_formats import render_diff

        target, name = target_of(path, format)
        replace_file(target, render_diff(self.record, name, runs=self.runs))

    def runs(self) -> tuple[RunRecord, RunRecord]:
        """The baseline and the candidate with all their evidence, read from disk if they were given as folders."""
        baseline, candidate = (run if isinstance(run, RunRecord) else load_run(run) for run in self._runs)
        return baseline, candidate

    def __repr__(self) -> str:
        return (
            f"<assay.RunDiff of {plural(self.matching.paired, 'case')}, "
            f"{self.baseline.label} to {self.candidate.label}: "
            f"{len(self.fixed)} fixed, {len(self.broken)} broken>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the answer, the metrics, and which cases were fixed and broken."""
        from assay.reports.notebook import diff_html

        return diff_html(self.record)


class Leaderboard:
    """Several runs on one question set, best first, and which of them do not differ significantly."""

    __slots__ = ("record",)

    def __init__(self, record: LeaderboardRecord) -> None:
        self.record: LeaderboardRecord = record

    @property
    def metric(self) -> str:
        """The metric that the runs are ranked by."""
        return self.record.metric

    @property
    def cases(self) -> int:
        """The number of cases that the ranking is over: those that all runs have with the same content, and score."""
        return self.record.cases

    @property
    def standings(self) -> tuple[Standing, ...]:
        """Each run with its rate, the ranks it may have, and its letters."""
        return self.record.standings

    @property
    def pairs(self) -> tuple[StandingPair, ...]:
        """Every pair of runs, tested."""
        return self.record.pairs

    @property
    def notes(self) -> tuple[str, ...]:
        """Reasons why the runs are less comparable than they look, as sentences."""
        return self.record.notes

    def summary(self, *, full: bool = False) -> str:
        """The ranking that `assay leaderboard` prints; ``full``: everything, as `--full`."""
        from assay.reports.console.printing import plain_leaderboard
        from assay.reports.screen.leaderboard import leaderboard_screen
        from assay.reports.screen.run import screen_text

        return plain_leaderboard(self.record) if full else screen_text(leaderboard_screen(self.record))

    def report(self, path: str | os.PathLike[str], *, format: str | None = None) -> None:
        """Write a report; the format is that of the path's suffix if none is given."""
        from assay.reports.diff_formats import render_leaderboard

        target, name = target_of(path, format)
        replace_file(target, render_leaderboard(self.record, name))

    def __repr__(self) -> str:
        order = ", ".join(standing.run.label for standing in self.standings)
        return f"<assay.Leaderboard by {self.metric} over {plural(self.cases, 'case')}: {order}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: which run is first, and each run with its rate and the places it may have."""
        from assay.reports.notebook import leaderboard_html

        return leaderboard_html(self.record)


@public
def diff(
    baseline: RunInput,
    candidate: RunInput,
    *,
    confidence: float = 0.95,
    alpha: float = 0.05,
    power: float = 0.80,
    resamples: int = 2000,
    seed: int = 0,
    reviews: ReviewsInput | Literal[False] | None = None,
) -> RunDiff:
    """Compare a run with an earlier one over the cases that both have unchanged.

    Args:
        baseline: the earlier run: an `assay.Run`, or the folder of one.
        candidate: the later run, likewise.
        confidence: the confidence level of the intervals.
        alpha: the level at which a difference counts as significant.
        power: the power at which the smallest detectable difference is computed.
        resamples: the number of draws for intervals that need resampling.
        seed: the seed of every draw: the same runs give the same numbers.
        reviews: what people decided, applied to runs that are given as folders. None: the reviews of each run, as their
            file is now; False: none.

    Raises:
        InputError: a folder contains no run, or the runs share no case or no metric, or are of two kinds.
        RunError: a run is unfinished or damaged; the message says where.
        UsageError: a setting is out of its range.
    """
    settings = _settings(confidence, alpha, power, resamples, seed)
    runs = (_run(baseline), _run(candidate))
    if runs[0] is runs[1] or _same_folder(*runs):
        raise UsageError(f"{_named(baseline)} twice: this is one run, which cannot be compared with itself")
    return RunDiff(diff_runs(*runs, settings=settings, reviews=chosen_reviews(reviews)), runs)


@public
def leaderboard(
    runs: Sequence[RunInput],
    *,
    metric: str | None = None,
    confidence: float = 0.95,
    alpha: float = 0.05,
    power: float = 0.80,
    resamples: int = 2000,
    seed: int = 0,
    by: SamplingUnit = "database",
    detailed: bool = True,
    optional: Collection[Path] = (),
    reviews: ReviewsInput | Literal[False] | None = None,
) -> Leaderboard:
    """Rank runs by a metric over the cases that all of them have unchanged and score.

    ``metric`` None: `match`, for selections `exact_match`, or the first that all runs have. ``by``: what the tests and
    the intervals of differences resample: ``database``, whole databases if there are several, or ``case``, for a fixed
    benchmark. The rest is as for `diff`; every pair of runs is tested, corrected across all pairs.
    ``detailed``: with every metric by difficulty, database and tag, and with all cases (`assay.model.BoardDetail`).
    Raises as `diff` does, and UsageError for no run, without the detail for fewer than two. ``reviews`` are as for
    `diff`. ``optional``: folders that are left out, with a note, if their run cannot be read.
    """
    settings = replace(_settings(confidence, alpha, power, resamples, seed), by=sampling_unit(by))
    if isinstance(runs, (Run, RunRecord, str, os.PathLike)):
        raise UsageError(
            f"runs is one run, {_named(runs)}: give a list of runs or of their folders, such as "
            'leaderboard(["runs/one", "runs/two"])'
        )
    given = [_run(run) for run in runs]
    board = rank(
        given,
        metric=metric,
        settings=settings,
        detailed=detailed,
        optional=optional,
        reviews=chosen_reviews(reviews),
    )
    return Leaderboard(board)


def _same_folder(first: RunRecord | Path, second: RunRecord | Path) -> bool:
    if not (isinstance(first, Path) and isinstance(second, Path)):
        return False
    folder = run_folder(first)
    return folder.resolve() == run_folder(second).resolve() and (folder / RUN_FILE).exists()


def _named(run: object) -> str:
    return repr(os.fspath(run)) if isinstance(run, (str, os.PathLike)) else "an assay.Run"


def _run(run: RunInput) -> RunRecord | Path:
    if isinstance(run, Run):
        return run.record
    if isinstance(run, RunRecord):
        return run
    if not isinstance(run, (str, os.PathLike)):
        raise UsageError(f"a run is given as {type(run).__name__}: give an assay.Run, or the path of a run's folder")
    return Path(run)


def sampling_unit(by: str) -> SamplingUnit:
    """What tests resample, by its name. Raises UsageError for any other name."""
    if by == "database":
        return "database"
    if by == "case":
        return "case"
    raise UsageError(f"{argument('--by')} is {by!r}: give 'database' or 'case'")


def _settings(confidence: float, alpha: float, power: float, resamples: int, seed: int) -> DiffSettings:
    for name, value in (("confidence", confidence), ("alpha", alpha), ("power", power)):
        if not 0.0 < value < 1.0:
            raise UsageError(f"{name} is {value!r}: give a number between 0 and 1")
    if resamples < 1:
        raise UsageError(f"resamples is {resamples!r}: give a number from 1 up")
    if seed < 0:
        raise UsageError(f"seed is {seed!r}: give a number from 0 up")
    return DiffSettings(confidence=confidence, alpha=alpha, power=power, resamples=resamples, seed=seed)
