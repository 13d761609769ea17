"""The numbers of a comparison: every metric over the cases that both runs score, and over groups of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from assay.model import DiffSettings, GroupDiff, MetricDiff, MetricInfo, PairedTest
from assay.runs.aggregate.difficulties import named, partition, spelled_once
from assay.runs.aggregate.reliability import RUN_RATES
from assay.runs.store.compared_cases import CaseRecord, RunRecords
from assay.stats import (
    cases_needed,
    clusters_needed,
    design_effect,
    detectable_difference,
    holm,
    mcnemar_exact,
    paired_interval,
    sign_flip_test,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

Pairs = Sequence[tuple[CaseRecord, CaseRecord]]

_PERMUTATIONS = 10_000
_PERMUTATIONS_OF_A_GROUP = 2_000
"""There are many groups: their p-values use fewer draws."""


class PairedColumn(Struct, frozen=True, kw_only=True):
    """One metric's values of both runs over the paired cases. NaN, only within this room, means unscored."""

    info: MetricInfo
    binary: bool
    repeated: bool
    baseline: NDArray[Any]
    candidate: NDArray[Any]

    def at(self, members: NDArray[Any]) -> PairedColumn:
        """The same column over some of the cases."""
        return replace(self, baseline=self.baseline[members], candidate=self.candidate[members])


def paired_columns(baseline: RunRecords, candidate: RunRecords, pairs: Pairs) -> list[PairedColumn]:
    """The metrics that both runs have, in the candidate's order."""
    import numpy

    repeated = max(baseline.repeats, candidate.repeats) > 1
    graded = baseline.graded | candidate.graded
    old = numpy.array([old.values for old, _ in pairs], dtype=numpy.float64)
    new = numpy.array([new.values for _, new in pairs], dtype=numpy.float64)
    columns = [
        PairedColumn(
            info=candidate.infos[metric],
            binary=metric not in graded,
            repeated=repeated,
            baseline=old[:, baseline.metrics.index(metric)],
            candidate=new[:, place],
        )
        for place, metric in enumerate(candidate.metrics)
        if metric in baseline.metrics
    ]
    if baseline.aggregates.reliability is not None and candidate.aggregates.reliability is not None:
        score = candidate.aggregates.reliability.leading(candidate.settings.penalties)

        def worth(case: CaseRecord) -> float | None:
            return None if case.share is None or case.bad is None else case.share - score.penalty * case.bad

        # In both runs something was declined.
        values: tuple[tuple[str, Callable[[CaseRecord], float | None]], ...] = (
            ("coverage", lambda case: case.answered),
            ("reliability", worth),
        )
        columns += [
            PairedColumn(
                info=RUN_RATES[name],
                binary=name == "coverage" and not repeated,
                repeated=repeated,
                baseline=numpy.array([value(old) for old, _ in pairs], dtype=numpy.float64),
                candidate=numpy.array([value(new) for _, new in pairs], dtype=numpy.float64),
            )
            for name, value in values
        ]
    return columns


def compare_metrics(columns: Sequence[PairedColumn], pairs: Pairs, settings: DiffSettings) -> tuple[MetricDiff, ...]:
    """Every metric over all paired cases, corrected across the metrics."""
    databases = database_numbers([new.content.database for _, new in pairs])
    return adjusted([compare_column(column, databases, settings, _PERMUTATIONS) for column in columns])


def compare_groups(columns: Sequence[PairedColumn], pairs: Pairs, settings: DiffSettings) -> tuple[GroupDiff, ...]:
    """Every metric over the cases that share something, corrected across the groups of a kind for each metric.

    Difficulties are in their order, the other groups by name, the cases without one last.
    """
    import numpy

    databases = database_numbers([new.content.database for _, new in pairs])
    found: list[GroupDiff] = []
    for kind, members_of in groups_of([new for _, new in pairs]):
        parts = [(name, numpy.array(places)) for name, places in members_of]
        by_metric = [
            adjusted(
                [
                    compare_column(
                        column.at(members),
                        None if databases is None else databases[members],
                        settings,
                        _PERMUTATIONS_OF_A_GROUP,
                    )
                    for _, members in parts
                ]
            )
            for column in columns
        ]
        found += [
            GroupDiff(kind=kind, name=name, cases=len(members), metrics=tuple(metric[at] for metric in by_metric))
            for at, (name, members) in enumerate(parts)
        ]
    return tuple(found)


def groups_of(
    cases: Sequence[CaseRecord],
) -> Iterator[tuple[Literal["difficulty", "database", "tag"], list[tuple[str | None, list[int]]]]]:
    """The places of the cases that share something, kind by kind; a kind with a single group is left out."""
    difficulties = [named(name) for name in spelled_once(case.difficulty for case in cases)]
    if len(parts := partition(difficulties, easiest_first=True)) > 1:
        yield "difficulty", parts
    if len(parts := partition(named(case.content.database) for case in cases)) > 1:
        yield "database", parts
    if len(parts := partition(case.tags for case in cases)) > 1:
        yield "tag", parts


def database_numbers(databases: Sequence[str | None]) -> NDArray[Any] | None:
    """A number for each case's database; None if there are fewer than two databases."""
    import numpy

    numbers: dict[str | None, int] = {}
    codes = [numbers.setdefault(database, len(numbers)) for database in databases]
    return numpy.array(codes) if len(numbers) > 1 else None


def compare_column(
    column: PairedColumn, databases: NDArray[Any] | None, settings: DiffSettings, permutations: int = _PERMUTATIONS
) -> MetricDiff:
    """One metric over the cases given, not corrected for others."""
    import numpy

    if settings.by == "case":
        databases = None

    scored = ~(numpy.isnan(column.baseline) | numpy.isnan(column.candidate))
    n = int(scored.sum())
    old, new = column.baseline[scored], column.candidate[scored]
    differences = new - old
    rose, fell = int((differences > 0).sum()), int((differences < 0).sum())
    gained, lost = (rose, fell) if column.info.higher_is_better else (fell, rose)
    plain = MetricDiff(
        metric=column.info.name,
        higher_is_better=column.info.higher_is_better,
        binary=column.binary,
        n=n,
        unscored=len(scored) - n,
        baseline=None,
        candidate=None,
        difference=None,
        low=None,
        high=None,
        gained=gained,
        lost=lost,
    )
    if n == 0:
        return plain
    clusters = None if databases is None else databases[scored]
    interval = paired_interval(
        differences,
        clusters=clusters,
        confidence=settings.confidence,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    counted = column.binary and not column.repeated
    by_case = (
        mcnemar_exact(gained, lost)
        if counted
        else sign_flip_test(differences, permutations=permutations, seed=settings.seed)
    )
    by_database = None
    # A single case gives no interval if the metric is unbounded.
    over = interval.clusters if interval is not None else None
    if over is not None:
        by_database = sign_flip_test(differences, clusters=clusters, permutations=permutations, seed=settings.seed)
    test: PairedTest = "mcnemar_exact" if counted else "sign_flip"
    detectable, needed = _power(differences, (gained + lost) / n if counted else None, clusters, settings, over)
    return replace(
        plain,
        baseline=float(old.mean()),
        candidate=float(new.mean()),
        difference=float(differences.mean()),
        low=interval.low if interval is not None else None,
        high=interval.high if interval is not None else None,
        test=test if by_database is None else "sign_flip_databases",
        p_value=by_case if by_database is None else by_database,
        case_p_value=None if by_database is None else by_case,
        clusters=over,
        detectable=detectable,
        cases_needed=needed,
    )


def _power(
    differences: NDArray[Any],
    discordant: float | None,
    clusters: NDArray[Any] | None,
    settings: DiffSettings,
    databases: int | None,
) -> tuple[float | None, int | None]:
    """The smallest difference that these cases can show, and how many cases would show the observed one.

    With fewer cases (or ``databases``, if the test flips these) than it takes for any significant difference, the first
    is None. More cases of too few databases show nothing either.
    """
    n = len(differences)
    variance = float(differences.var(ddof=1)) if discordant is None and n > 1 else None
    if discordant is None and variance is None:
        return None, None
    effect = (design_effect(differences, clusters) if clusters is not None else None) or 1.0
    how: dict[str, Any] = {
        "variance": variance,
        "discordant": discordant,
        "alpha": settings.alpha,
        "power": settings.power,
        "design_effect": effect,
    }
    needed, least = cases_needed(float(differences.mean()), **how), clusters_needed(settings.alpha)
    if databases is not None and databases < least:
        return None, None
    return detectable_difference(n, **how) if n >= least else None, needed and max(needed, least)


def adjusted(diffs: Sequence[MetricDiff]) -> tuple[MetricDiff, ...]:
    """The same differences with their p-values corrected for their number (Holm)."""
    values = holm([diff.p_value for diff in diffs])
    return tuple(replace(diff, adjusted_p_value=value) for diff, value in zip(diffs, values, strict=True))
