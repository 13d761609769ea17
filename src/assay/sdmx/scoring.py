"""Score a selection against its target, by section two of `assay docs sdmx` (metrics of indicator selection)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from assay.model import (
    DimensionScore,
    HierarchyEquivalence,
    ScoredTerm,
    Selection,
    SelectionScore,
    SelectionSettings,
    TermCounts,
    TermNote,
    TimeScore,
)
from assay.sdmx.dimensions import NoteOf, Sorted, count_of, judged, sort_terms, weigh_hierarchy
from assay.sdmx.matching import DatasetPair, pair_datasets
from assay.sdmx.periods import compare_time
from assay.sdmx.structures.known import DimensionStructure, Structures
from assay.sdmx.unions import Union, compare_unions, swaps_of, unrestricted


def score_selection(
    selected: Selection,
    targets: Sequence[Selection],
    *,
    structures: Structures | None = None,
    settings: SelectionSettings = SelectionSettings(),  # noqa: B008 (frozen)
) -> SelectionScore:
    """Score a selection against the closest of the acceptable targets, or the first of equally close ones.

    The closest target is an exact match, otherwise the one with the highest macro F1, then micro F1, then share of the
    time
    range, then the other numbers. Raises ValueError without a target.
    """
    scores = [
        _score_one(selected, target, index, structures=structures, settings=settings)
        for index, target in enumerate(targets)
    ]
    return max(scores, key=_closeness)


def _closeness(score: SelectionScore) -> tuple[float, ...]:
    first = (score.macro_f1, score.micro_f1, score.time_range)
    # Targets that are equally close by these may differ in the others: the choice must not be random.
    others = (
        *(score.macro_recall, score.macro_precision, score.micro_recall, score.micro_precision),
        *(score.dataset_recall, score.dataset_precision, score.series_recall, score.series_precision),
    )
    ties = (*first, *others)
    return (score.exact, *(value or 0.0 for value in first), *(-1.0 if value is None else value for value in ties))


def _score_one(
    selected: Selection, target: Selection, index: int, *, structures: Structures | None, settings: SelectionSettings
) -> SelectionScore:
    pairs = pair_datasets(target, selected, structures, ignored=frozenset(settings.ignored_dimensions))
    scoring = _Scoring(pairs, structures, settings)
    dimensions = scoring.dimensions()
    matched = tuple(pair.label for pair in pairs if pair.target is not None and pair.selected is not None)
    extra = tuple(pair.label for pair in pairs if pair.target is None)
    missing = tuple(pair.label for pair in pairs if pair.selected is None)
    datasets = term_counts(len(matched), len(extra), len(missing))
    time = tuple(_time_scores(pairs))
    scored_time = [one for one in time if one.state != "not_judged"]
    micro = term_counts(*map(sum, zip(*(one.counts for one in dimensions), strict=True))) if dimensions else datasets
    unions = scoring.unions()
    same_parts = (
        not extra
        and not missing
        and not any(one.false_positives or one.false_negatives for one in dimensions)
        and all(one.state == "exact" for one in scored_time)
    )
    sames = [one.same for one in unions]
    by_label = sorted(zip(pairs, unions, strict=True), key=lambda each: each[0].label)
    differing = next((union for _, union in by_label if union.same is False), None) if same_parts else None
    series = _series_counts(pairs, unions)
    recalls = [one.recall for one in dimensions if one.in_target and one.recall is not None]
    return SelectionScore(
        exact=same_parts and all(sames),
        dimensions=dimensions,
        # If neither side mentions any dimension, only the datasets were selected.
        macro_precision=_mean([one.precision for one in dimensions]) if dimensions else datasets.precision,
        macro_recall=_mean(recalls) if dimensions else datasets.recall,
        macro_f1=_mean([one.f1 for one in dimensions]) if dimensions else datasets.f1,
        micro_precision=micro.precision,
        micro_recall=micro.recall,
        micro_f1=micro.f1,
        matched_datasets=matched,
        extra_datasets=extra,
        missing_datasets=missing,
        dataset_precision=datasets.precision,
        dataset_recall=datasets.recall,
        time=time,
        time_range=_mean([1.0 if one.state == "exact" else one.share or 0.0 for one in scored_time]),
        series_precision=None if series is None else series.precision,
        series_recall=None if series is None else series.recall,
        missing_series=None if differing is None else differing.missing,
        extra_series=None if differing is None else differing.extra,
        undecided=same_parts and None in sames and False not in sames,
        equivalences=tuple(scoring.equivalences),
        target_index=index,
        names_compared=scoring.names_compared or settings.match_on == "id",
    )


def _series_counts(pairs: Sequence[DatasetPair], unions: Sequence[Union]) -> TermCounts | None:
    """The series of all datasets; None if they cannot be counted."""
    totals = [0, 0, 0]
    for pair, union in zip(pairs, unions, strict=True):
        if union.counts is None:
            return None
        counts, factor = union.counts, unrestricted(pair) if len(pairs) > 1 else 1
        for place, count in enumerate((counts.both, counts.selected - counts.both, counts.target - counts.both)):
            totals[place] += count * factor
    return term_counts(*totals)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def term_counts(true_positives: int, false_positives: int, false_negatives: int) -> TermCounts:
    """Precision, recall and F1 of counted terms.

    Nothing selected though something is wanted: precision 0 and recall 0. Nothing selected and nothing wanted: 1 and 1.
    Something selected and nothing wanted: precision 0, and recall None, since there is nothing to find.
    """
    selected, wanted = true_positives + false_positives, true_positives + false_negatives
    neither = not selected and not wanted
    precision = 1.0 if neither else true_positives / selected if selected else 0.0
    recall = 1.0 if neither else true_positives / wanted if wanted else None
    f1 = 1.0 if neither else 2 * true_positives / (selected + wanted)
    return TermCounts(
        true_positives=true_positives,
        false_positives=false_positives,
        false_negatives=false_negatives,
        precision=precision,
        recall=recall,
        f1=f1,
    )


class _Scoring:
    """Scores one selection against one target, dimension by dimension."""

    def __init__(
        self, pairs: Sequence[DatasetPair], structures: Structures | None, settings: SelectionSettings
    ) -> None:
        self.pairs = pairs
        self.equivalences: list[HierarchyEquivalence] = []
        self.names_compared = True
        self._structures = structures
        self._settings = settings

    def dimensions(self) -> tuple[DimensionScore, ...]:
        """The target's dimensions in their order, then those in which only the selection has something."""
        wanted = dict.fromkeys(
            name for pair in self.pairs if pair.target is not None for name in pair.target.dimensions
        )
        selected = dict.fromkeys(
            name for pair in self.pairs if pair.selected is not None for name in pair.selected.dimensions
        )
        scores = []
        for name in dict.fromkeys((*wanted, *selected)):
            score = self._dimension(name, in_target=name in wanted)
            if score is not None:
                scores.append(score)
        return tuple(scores)

    def _dimension(self, name: str, *, in_target: bool) -> DimensionScore | None:
        found: list[tuple[DatasetPair, DimensionStructure | None, Sorted]] = []
        for pair in self.pairs:
            known = pair.structure.dimension(name) if pair.structure is not None else None
            terms = sort_terms(pair, name, known, compare_names=self._settings.match_on == "id_and_name")
            if terms is None:
                continue
            if known is not None and terms.false_positives and terms.false_negatives:
                weigh_hierarchy(terms, pair, name, known, count=self._settings.count_hierarchy)
            self.equivalences += terms.equivalences
            self.names_compared = self.names_compared and terms.names_compared
            found.append((pair, known, terms))
        if not found:
            return None
        elsewhere = frozenset(code for _, _, terms in found for code in terms.false_negatives) if found[1:] else None
        right: list[ScoredTerm] = []
        extra: list[ScoredTerm] = []
        missing: list[ScoredTerm] = []
        totals = [0, 0, 0]
        for pair, known, terms in found:
            note_of = self._notes(pair, name, known, terms, elsewhere or frozenset())
            for place, (held, side, noted, names) in enumerate(
                (
                    (right, terms.true_positives, _through_hierarchy(terms), terms.right_names),
                    (extra, terms.false_positives, note_of, terms.extra_names),
                    (missing, terms.false_negatives, note_of, terms.missing_names),
                )
            ):
                held.extend(judged(side, pair.label, noted, terms.rest, names))
                totals[place] += count_of(side, terms.rest, names)
        counts = term_counts(*totals)
        return DimensionScore(
            dimension=name,
            in_target=in_target,
            true_positives=tuple(right),
            false_positives=tuple(extra),
            false_negatives=tuple(missing),
            precision=counts.precision,
            recall=counts.recall,
            f1=counts.f1,
        )

    def unions(self) -> list[Union]:
        """The comparison of both sides of each dataset as a whole. Call it after `dimensions`."""
        return [
            compare_unions(pair, swaps_of(one for one in self.equivalences if one.dataset == pair.label))
            for pair in self.pairs
        ]

    def _notes(
        self,
        pair: DatasetPair,
        dimension: str,
        known: DimensionStructure | None,
        terms: Sorted,
        elsewhere: frozenset[str],
    ) -> NoteOf | None:
        """A function from a wrong or missing code to a note on it; None: there are no notes."""
        if not (self._structures or terms.renamed or terms.equivalences or elsewhere):
            return None
        # A dataset that the target also has is not invented by the system: the structures lack it.
        unknown_dataset = self._structures is not None and pair.structure is None and pair.target is None
        unknown_dimension = pair.structure is not None and known is None and dimension != pair.structure.time_dimension
        linked = {code for one in terms.equivalences for code in (one.parent.id, *(child.id for child in one.children))}

        def note_of(code: str) -> TermNote | None:
            if code in terms.renamed:
                return "name_differs"
            if code in linked:
                return "through_hierarchy"
            if unknown_dataset:
                return "unknown_dataset"
            if unknown_dimension:
                return "unknown_dimension"
            if known is not None and known.codes is not None and known.codes.whole and code not in known.codes.names:
                return "unknown_code"
            if code in elsewhere and code in terms.false_positives:
                return "other_dataset"
            if known is not None and known.available is not None and code not in known.available:
                return "unavailable"
            return None

        return note_of


def _through_hierarchy(terms: Sorted) -> NoteOf | None:
    """The notes on true positives: only those that are correct through a hierarchy have one."""
    counted = [one for one in terms.equivalences if one.counted]
    if not counted:
        return None
    codes = {
        code
        for one in counted
        for code in ([one.parent.id] if one.selected == "children" else [child.id for child in one.children])
    }
    return lambda code: "through_hierarchy" if code in codes else None


def _time_scores(pairs: Sequence[DatasetPair]) -> Iterable[TimeScore]:
    """The time scores of each dataset for which either side mentions time."""
    for pair in pairs:
        target = pair.target.time if pair.target is not None else None
        selected = pair.selected.time if pair.selected is not None else None
        if target is None and not selected:
            continue
        if pair.target is None:
            continue  # an extra dataset is already wrong as a whole
        state, share = ("missing", None) if pair.selected is None else compare_time(target, selected)
        yield TimeScore(dataset=pair.label, state=state, target=target, selected=selected, share=share)
