"""Several runs on one question set: which are better, and which do not differ significantly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import combinations
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from assay.errors import AssayError, InputError, UsageError, plural
from assay.model import DiffSettings, Leaderboard, MetricDiff, Run, Standing, StandingPair
from assay.platform.surface import option
from assay.runs.aggregate.rates import rate_of
from assay.runs.compare.diff import labels_of, run_head
from assay.runs.compare.metric_differences import PairedColumn, adjusted, compare_column, database_numbers
from assay.runs.compare.notes import are, differing_databases, reviews_note, settings_differ, versions_note
from assay.runs.compare.same_cases import pair_cases
from assay.runs.reviews.applying import ReviewsChoice
from assay.runs.store.compared_cases import CaseRecord, RunRecords, read_records
from assay.sdmx.gc_pause import collector_paused
from assay.stats import clusters_needed, holm, is_significant, least_p_value, letter_groups, rank_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


from collections.abc import Iterator

from assay.model import BoardAnswer, BoardCase, BoardDetail, BoardGroup, Rate
from assay.runs.compare.metric_differences import groups_of


def rank(
    runs: Sequence[Run | Path],
    *,
    metric: str | None = None,
    settings: DiffSettings | None = None,
    labels: Sequence[str] | None = None,
    detailed: bool = False,
    optional: Collection[Path] = (),
    reviews: ReviewsChoice = None,
) -> Leaderboard:
    """Rank runs, in memory or in folders, by a metric over the cases that all of them have and score, best first.

    ``metric`` None: the metric that leads them all (`common_metric`). Every pair is tested, corrected across all pairs.
    ``detailed``: with `Leaderboard.detail`, also for a single run. ``optional``: folders that are left out, with a
    note, if their run cannot be read.

    Raises InputError if a folder contains no run, a run lacks the metric, or no case is common to all and scored
    by all; RunError if a run is unfinished or damaged; UsageError for fewer than two runs.
    """
    if len(runs) < (1 if detailed else 2):
        raise UsageError(f"a leaderboard needs at least two runs, and there {'is' if runs else 'are'} {len(runs)}")
    left_out: list[str] = []

    def spared(folder: Path, error: AssayError) -> None:
        if folder not in optional or len(left_out) + 1 == len(runs):
            raise error
        left_out.append(f"A run is left out, since it cannot be read: {error}.")

    with collector_paused():
        records = read_records(runs, metric=metric, spared=spared, reviews=reviews)
        if len(records) < (1 if detailed else 2):
            raise UsageError(f"a leaderboard needs two runs that can be read: {' '.join(left_out)}")
        board = _rank(records, settings or DiffSettings(), labels, detailed=detailed)
        return replace(board, notes=(*left_out, *board.notes))


def _rank(
    runs: Sequence[RunRecords], settings: DiffSettings, labels: Sequence[str] | None, *, detailed: bool
) -> Leaderboard:
    import numpy

    metric = runs[0].headline_metric
    everywhere = _common(runs)
    places = [run.metrics.index(metric) for run in runs]
    scored = [
        cases
        for cases in everywhere
        if all(case.values[place] is not None for case, place in zip(cases, places, strict=True))
    ]
    if not scored:
        raise InputError(_nothing_common(runs, metric, len(everywhere)))
    total = _all_cases(runs)
    names = tuple(labels) if labels is not None else labels_of(runs)
    columns = [
        numpy.array([cases[at].values[place] for cases in scored], dtype=numpy.float64)
        for at, place in enumerate(places)
    ]
    worth = [runs[0].infos[metric].gain(float(column.mean())) for column in columns]
    order = sorted(range(len(runs)), key=lambda at: -worth[at])
    ranked = [runs[at] for at in order]
    pairs = _pairs(ranked, [columns[at] for at in order], scored, settings)
    told_apart = {
        (pair.first, pair.second): pair.diff.improvement
        for pair in pairs
        if is_significant(pair.diff.adjusted_p_value, settings.alpha)
    }
    letters = letter_groups(len(runs), told_apart)
    bounds = rank_bounds(
        len(runs),
        [
            (second, first) if (difference or 0.0) > 0 else (first, second)
            for (first, second), difference in told_apart.items()
        ],
    )
    reviewed = _reviewed(everywhere, settings)
    standings = tuple(
        Standing(
            run=run_head(runs[at], names[at]),
            rate=rate_of(
                columns[at].tolist(),
                binary=metric not in runs[at].graded and runs[at].repeats == 1,
                confidence=settings.confidence,
            ),
            rank=1 + sum(other > worth[at] for other in worth),
            rank_low=low,
            rank_high=high,
            groups=letter,
            answer_time=next((one for one in runs[at].aggregates.times if one.name == "answer"), None),
            usage=runs[at].aggregates.usage,
            reviewed=None if reviewed is None else reviewed[at],
            reviewed_rank=None if reviewed is None else _rank_of(reviewed, at),
        )
        for at, (low, high), letter in zip(order, bounds, letters, strict=True)
    )
    return Leaderboard(
        metric=metric,
        settings=settings,
        cases=len(scored),
        left_out=total - len(scored),
        standings=standings,
        pairs=pairs,
        notes=(
            *_notes(runs, scored, len(everywhere), total),
            *(() if reviewed is None else reviews_note(runs, names)),
            *_power_notes(pairs, settings),
        ),
        detail=detail_of(ranked, [tuple(cases[at] for at in order) for cases in scored], confidence=settings.confidence)
        if detailed
        else None,
    )


def _common(runs: Sequence[RunRecords]) -> list[tuple[CaseRecord, ...]]:
    """The cases that all runs have with the same content, one record per run, in the first run's order."""
    first = runs[0]
    partners = [{id(old): new for old, new in pair_cases(first.cases, other.cases).pairs} for other in runs[1:]]
    return [
        (case, *(found[id(case)] for found in partners))
        for case in first.cases
        if all(id(case) in found for found in partners)
    ]


def _reviewed(common: Sequence[tuple[CaseRecord, ...]], settings: DiffSettings) -> list[Rate] | None:
    """Each run's accuracy by the reviewed verdicts, over the cases that all runs have scored then."""
    if not any(case.is_reviewed for cases in common for case in cases):
        return None
    scored = [cases for cases in common if all(case.reviewed is not None for case in cases)]
    values = zip(*([case.reviewed for case in cases] for cases in scored), strict=True)
    columns = list(values) or [()] * len(common[0])
    return [rate_of(column, binary=set(column) <= {0.0, 1.0}, confidence=settings.confidence) for column in columns]


def _rank_of(rates: Sequence[Rate], at: int) -> int | None:
    own = rates[at].value
    return None if own is None else 1 + sum(other.value is not None and other.value > own for other in rates)


def _all_cases(runs: Sequence[RunRecords]) -> int:
    """How many cases there are in all. A case that changed between runs counts once if its question stayed the same."""
    asked: Counter[tuple[str, str | None]] = Counter()
    for run in runs:
        asked |= Counter((case.content.question, case.content.database) for case in run.cases)
    return asked.total()


def _pairs(
    runs: Sequence[RunRecords],
    columns: Sequence[NDArray[Any]],
    scored: Sequence[tuple[CaseRecord, ...]],
    settings: DiffSettings,
) -> tuple[StandingPair, ...]:
    databases = database_numbers([cases[0].content.database for cases in scored])
    info = runs[0].infos[runs[0].headline_metric]
    places = list(combinations(range(len(runs)), 2))
    diffs: list[MetricDiff] = []
    for first, second in places:
        column = PairedColumn(
            info=info,
            binary=info.name not in runs[first].graded | runs[second].graded,
            repeated=max(runs[first].repeats, runs[second].repeats) > 1,
            baseline=columns[first],
            candidate=columns[second],
        )
        diffs.append(compare_column(column, databases, settings))
    return tuple(
        StandingPair(first=first, second=second, diff=diff)
        for (first, second), diff in zip(places, adjusted(diffs), strict=True)
    )


def _nothing_common(runs: Sequence[RunRecords], metric: str, common: int) -> str:
    if common:
        return (
            f"none of the {plural(common, 'case')} that all {len(runs)} runs have is scored by {metric} in all of them"
        )
    examples = "; ".join(
        f"{label} has {', '.join(repr(case.case_id) for case in run.cases[:3]) or 'none'}"
        for label, run in zip(labels_of(runs), runs, strict=True)
    )
    return (
        f"no case in common to all {len(runs)} runs: {examples}. Cases are compared by question, gold query, database, "
        "context and options; check that all runs are over one question set"
    )


def _notes(
    runs: Sequence[RunRecords], scored: Sequence[tuple[CaseRecord, ...]], common: int, total: int
) -> Iterator[str]:
    if common < total:
        yield f"{plural(total - common, 'case')} {are(total - common)} not the same in all runs, and excluded."
    unscored = common - len(scored)
    if unscored:
        yield (
            f"{plural(unscored, 'case')} that all runs have {are(unscored)} left unscored by at least one of them, "
            "and excluded."
        )
    pending = sum(any(case.pending for case in run.cases) for run in runs)
    if pending:
        yield (
            f"In {plural(pending, 'run')} some reviewed answers must be scored by a corrected gold query first, and "
            "are excluded from reviewed rates: run these again."
        )
    first = runs[0]
    databases = {cases[0].content.database for cases in scored}
    if any(differing_databases(first, run, databases) for run in runs[1:]):
        yield "The data of some databases is not the same in all runs: differences on it may come from the data."
    timed = first.infos[first.headline_metric].timed
    if any(settings_differ(first.settings, run.settings, timed=timed) for run in runs[1:]):
        yield "The runs were scored with other settings, so that equal answers may score differently."
    yield from versions_note(runs)


def _power_notes(pairs: Sequence[StandingPair], settings: DiffSettings) -> Iterator[str]:
    """Say that no pair can differ significantly, if there are too few databases or cases for the pairs."""
    tested = [pair.diff for pair in pairs if pair.diff.p_value is not None]
    if not tested:
        return
    # All pairs are over the same cases.
    clusters, count, alpha = tested[0].clusters, len(tested), settings.alpha
    by_database = clusters is not None and tested[0].test == "sign_flip_databases"
    units, unit = (clusters, "database") if clusters is not None and by_database else (tested[0].n, "case")
    least = least_p_value(units)
    if is_significant(min(1.0, count * least), alpha):
        return
    corrected = f", {min(1.0, count * least):.2g} after the correction across {count:,} pairs" if count > 1 else ""
    flipped = "whole databases" if by_database else "cases"
    enough = max((runs for runs in range(2, len(pairs) + 1) if comb(runs, 2) * least <= alpha), default=0)
    fewer = f", or a ranking of {enough:,} runs at most" if enough else ""
    yield (
        f"With {plural(units, unit)} and {plural(count, 'pair')} no two runs can differ significantly "
        f"at α = {alpha:g}: flipping {flipped} gives no p below {least:.2g}{corrected}. At least "
        f"{plural(clusters_needed(alpha, tests=count), unit)} are needed{fewer}."
    )
    one_by_one = holm([one.case_p_value for one in tested]) if by_database else []
    if apart := sum(is_significant(p, alpha) for p in one_by_one):
        yield (
            f"Tested by case, {plural(apart, 'pair')} of {count:,} {'differs' if apart == 1 else 'differ'} "
            "significantly on these databases; on others they may not. For a fixed benchmark, rank with "
            f"{option('--by', 'case')}."
        )


Common = Sequence[tuple[CaseRecord, ...]]
"""The cases that all runs have, a record for each run."""
_RIGHT = 1.0


def detail_of(runs: Sequence[RunRecords], common: Common, *, confidence: float) -> BoardDetail:
    """The detail of runs in the order of their standings, over the cases that all of them have and score."""
    headline = runs[0].headline_metric
    shared = [name for name in runs[0].metrics if all(name in run.metrics for run in runs)]
    metrics = (headline, *(name for name in shared if name != headline))
    places = [[run.metrics.index(name) for name in metrics] for run in runs]
    right = [[(cases[at].values[own[0]] or 0.0) >= _RIGHT for cases in common] for at, own in enumerate(places)]
    ids = [cases[0].case_id for cases in common]
    counts = [sum(one[place] for one in right) for place in range(len(common))]

    def alone(*, is_right: bool) -> tuple[tuple[str, ...], ...]:
        """For each run the ids of the cases that it alone has right, or wrong."""
        wanted = 1 if is_right else len(runs) - 1
        places = [at for at, count in enumerate(counts) if count == wanted and len(runs) > 1]
        return tuple(tuple(ids[at] for at in places if mine[at] == is_right) for mine in right)

    return BoardDetail(
        metrics=metrics,
        groups=tuple(_groups(runs, common, metrics, places, confidence)),
        only_right=tuple(
            tuple(sum(ours and not theirs for ours, theirs in zip(mine, other, strict=True)) for other in right)
            for mine in right
        ),
        alone_right=alone(is_right=True),
        alone_wrong=alone(is_right=False),
        all_right=counts.count(len(runs)),
        none_right=counts.count(0),
        cases=tuple(
            BoardCase(
                case_id=cases[0].case_id,
                question=cases[0].content.question,
                golds=tuple(map(str, cases[0].content.golds)),
                database=cases[0].content.database,
                difficulty=cases[0].difficulty,
                tags=cases[0].tags,
                answers=tuple(
                    BoardAnswer(value=case.values[own[0]], query=case.query, reason=case.reason, cause=case.cause)
                    for case, own in zip(cases, places, strict=True)
                ),
            )
            for cases in common
        ),
    )


def _groups(
    runs: Sequence[RunRecords],
    common: Common,
    metrics: Sequence[str],
    places: Sequence[Sequence[int]],
    confidence: float,
) -> Iterator[BoardGroup]:
    def rates(members: Sequence[int]) -> tuple[tuple[Rate, ...], ...]:
        return tuple(
            tuple(
                rate_of(
                    [common[member][at].values[place] for member in members],
                    binary=name not in run.graded and run.repeats == 1,
                    confidence=confidence,
                )
                for name, place in zip(metrics, own, strict=True)
            )
            for at, (run, own) in enumerate(zip(runs, places, strict=True))
        )

    yield BoardGroup(kind="overall", name=None, cases=len(common), rates=rates(range(len(common))))
    for kind, parts in groups_of([cases[0] for cases in common]):
        for name, members in parts:
            yield BoardGroup(kind=kind, name=name, cases=len(members), rates=rates(members))
