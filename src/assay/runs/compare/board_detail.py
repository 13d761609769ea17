"""What a leaderboard says beyond the ranking: every metric by group, and on which cases the runs disagree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.model import BoardAnswer, BoardCase, BoardDetail, BoardGroup, Rate
from assay.runs.aggregate.rates import rate_of
from assay.runs.compare.metric_differences import groups_of
from assay.runs.store.compared_cases import CaseRecord, RunRecords

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
