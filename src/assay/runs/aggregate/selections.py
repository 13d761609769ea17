"""The totals of a run's scored selections: pooled terms, dimensions, turns, kinds of errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean

from assay.model import (
    DimensionScore,
    DimensionTotal,
    Evidence,
    Group,
    MetricSummary,
    SelectionScore,
    SelectionTotals,
    TurnScore,
)
from assay.runs.aggregate.rates import mean_of_each, rate_of
from assay.runs.aggregate.totals import counts_of
from assay.scoring.selections.metrics import selection_metrics
from assay.sdmx.matching import labels_of
from assay.sdmx.scoring import term_counts


def selection_totals(evidence: Sequence[Evidence]) -> SelectionTotals:
    """The totals over all answers to the scored questions of a run. Case ids are in the run's order."""
    scores = [score for item in evidence for score in _scores(item)]
    by_dimension: dict[str, list[DimensionScore]] = {}
    for in_target in (True, False):
        for score in scores:
            for dimension in score.dimensions:
                if dimension.in_target == in_target:
                    by_dimension.setdefault(dimension.dimension, []).append(dimension)
    every = [dimension for dimensions in by_dimension.values() for dimension in dimensions]
    totals = []
    for name, found in by_dimension.items():
        precisions = [one.precision for one in found if one.precision is not None]
        recalls = [one.recall for one in found if one.recall is not None and one.in_target]
        totals.append(
            DimensionTotal(
                dimension=name,
                turns=sum(one.in_target for one in found),
                turns_beyond_target=sum(not one.in_target for one in found),
                counts=term_counts(*_pooled(found)),
                mean_precision=fmean(precisions) if precisions else None,
                mean_recall=fmean(recalls) if recalls else None,
            )
        )
    return SelectionTotals(
        turns=len(scores),
        micro=term_counts(*_pooled(every)),
        by_dimension=tuple(totals),
        by_turn=_by_turn(evidence),
        by_dataset=_by_dataset(evidence),
        wrong_terms=counts_of(
            (item.case.id, [term.note])
            for item in evidence
            for score in _scores(item)
            for one in score.dimensions
            for term in one.false_positives
            if term.note is not None
        ),
        time_states=counts_of(
            (item.case.id, [one.state])
            for item in evidence
            for score in _scores(item)
            for one in score.time
            if one.state != "not_judged"
        ),
        through_hierarchy=sum(bool(score.equivalences) for score in scores),
        compared_by_id_only=sum(not score.names_compared for score in scores),
    )


def _pooled(dimensions: Iterable[DimensionScore]) -> tuple[int, int, int]:
    counts = [dimension.counts for dimension in dimensions]
    right, extra, missing = (sum(column) for column in zip((0, 0, 0), *counts, strict=True))
    return right, extra, missing


def _by_turn(evidence: Sequence[Evidence]) -> tuple[Group, ...]:
    """The metrics by the question's place in its conversation; empty if every case has one question."""
    if all(len(item.turns) <= 1 for item in evidence):
        return ()
    found = _groups("turn", evidence, lambda _, turn: [str(turn.number)])
    return tuple(sorted(found, key=lambda group: int(group.name or 0)))


def _by_dataset(evidence: Sequence[Evidence]) -> tuple[Group, ...]:
    """The metrics by the datasets of the targets; empty if there is at most one."""
    every = (one for item in evidence for turn in item.case.turns for one in turn.targets)
    labels = labels_of(dataset.dataset for one in every for dataset in one.datasets)

    def datasets(item: Evidence, turn: TurnScore) -> Iterable[str]:
        targets = item.case.turns[turn.number - 1].targets
        chosen = targets[turn.score.target_index if turn.score is not None else 0]
        return dict.fromkeys(labels[dataset.dataset] for dataset in chosen.datasets)

    groups = sorted(_groups("dataset", evidence, datasets), key=lambda group: group.name or "")
    return tuple(groups) if len(groups) > 1 else ()


def _groups(
    kind: str, evidence: Sequence[Evidence], names: Callable[[Evidence, TurnScore], Iterable[str]]
) -> Iterator[Group]:
    """The metrics over the scored questions that share a name."""
    found: dict[str, dict[tuple[str, int], list[SelectionScore | None]]] = {}
    for item in evidence:
        for turn in item.turns:
            for name in names(item, turn) if turn.score is not None or turn.failure is not None else ():
                found.setdefault(name, {}).setdefault((item.case.id, turn.number), []).append(turn.score)
    scored = {score.metric for item in evidence for score in item.scores}
    metrics = [metric for metric in selection_metrics(on_data=True) if metric.name in scored]
    for name, by_question in found.items():
        once = all(len(scores) == 1 for scores in by_question.values())  # as in most runs
        rates = []
        for metric in metrics:
            # Over questions, each by the mean of its scored answers.
            means = mean_of_each(
                [None if score is None else metric.value(score) for score in scores] for scores in by_question.values()
            )
            rates.append(MetricSummary(metric=metric.name, rate=rate_of(means, binary=metric.binary and once)))
        yield Group(kind=kind, name=name, cases=len(by_question), metrics=tuple(rates))


def _scores(item: Evidence) -> Iterable[SelectionScore]:
    return (turn.score for turn in item.turns if turn.score is not None)
