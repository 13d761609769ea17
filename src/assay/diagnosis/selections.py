"""Why a selection is wrong: `SelectionCauses`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.diagnosis.failures import cause_of_failure
from assay.diagnosis.kinds import CAUSES
from assay.model import (
    DatasetSelection,
    Evidence,
    ScoredTerm,
    Selection,
    SelectionScore,
    SelectionSettings,
    TimeRange,
)
from assay.model.verdicts.diagnosis import Cause, CauseKind, Diagnosis, Repair, RepairStep
from assay.sdmx.matching import TIME_DIMENSION, pair_datasets
from assay.sdmx.scoring import score_selection
from assay.sdmx.structures.known import Structures

_ORDER: tuple[CauseKind, ...] = (
    "wrong_dataset",
    "invented_term",
    "wrong_term",
    "missing_term",
    "extra_term",
    "wrong_period",
)
"""The primary cause is the first of these: an earlier one entails the later ones."""
_INVENTED = ("unknown_code", "unknown_dimension", "unknown_dataset")
_SHOWN = 5


class _Part(Struct, frozen=True, kw_only=True):
    """One wrong part of a selection: a dimension, the datasets, the time."""

    kind: CauseKind
    name: str
    gold: str
    predicted: str
    number: int
    """The number of the question in the conversation."""
    invented: str = ""
    """The selected terms that the structures do not have."""


class SelectionCauses(Struct, frozen=True, kw_only=True):
    """Implements `assay.ports.SelectionDiagnoser`: scores the answer again with its wrong parts repaired.

    A wrong dataset is replaced first, and the rest is compared again: its different dimensions are not a cause of their
    own.
    Each part that still differs must be repaired, so all of them together are the smallest repair.
    """

    structures: Structures | None = None
    settings: SelectionSettings = SelectionSettings()

    def diagnose(self, evidence: Evidence) -> Diagnosis | None:
        """The causes of an incorrect answer; None for any other."""
        if evidence.outcome != "incorrect":
            return None
        failure = evidence.verdict.failure
        if failure is None:
            found = self._of_terms(evidence)
        elif failure.kind == "unknown_structure":
            cause = Cause(kind="wrong_dataset", message=failure.message, clause=DATASET)
            found = Diagnosis(causes=(cause,))
        else:
            found = Diagnosis(causes=(cause_of_failure(failure, None, "", None)[0],))
        return replace(found, title=CAUSES[found.causes[0].kind].title)

    def _of_terms(self, evidence: Evidence) -> Diagnosis:
        parts: list[_Part] = []
        repaired: list[str] = []
        exact = True
        for turn in evidence.turns:
            if turn.score is None or turn.score.exact:
                continue
            given = evidence.prediction.turns
            answer = given[turn.number - 1].selection if turn.number <= len(given) else None
            target = evidence.case.turns[turn.number - 1].targets[turn.score.target_index]
            found, mended = self._of_turn(answer or Selection(), target, turn.score, turn.number)
            parts += found
            exact = exact and mended is not None
            repaired.append(_told(mended) if mended is not None else "")
        if not parts:
            return Diagnosis(causes=(Cause(kind="other", message=evidence.verdict.reason),))
        several = len(evidence.turns) > 1
        in_order = sorted(parts, key=lambda part: (_ORDER.index(part.kind), part.number))
        causes = tuple(_cause(part, proved=exact, several=several) for part in in_order)
        if not exact:
            return Diagnosis(causes=causes, tried=1)
        steps = []  # one per part of the selection, over all questions of a conversation
        for name in dict.fromkeys(part.name for part in parts):
            mine = [part for part in parts if part.name == name]
            before = "; ".join(part.predicted for part in mine if part.predicted)
            after = "; ".join(part.gold for part in mine if part.gold)
            steps.append(RepairStep(clause=name, before=before, after=after))
        return Diagnosis(causes=causes, repair=Repair(steps=tuple(steps), query="\n".join(repaired)), tried=1)

    def _of_turn(
        self, answer: Selection, target: Selection, score: SelectionScore, number: int
    ) -> tuple[list[_Part], Selection | None]:
        """The wrong parts of one answer, and the answer with all of them repaired; None if it is then still not
        correct."""
        parts: list[_Part] = []
        if score.missing_datasets or score.extra_datasets:
            gold, predicted = _joined(score.missing_datasets), _joined(score.extra_datasets)
            parts.append(_Part(kind="wrong_dataset", name=DATASET, gold=gold, predicted=predicted, number=number))
            answer = mended_datasets(answer, target, self.structures)
            score = self._score(answer, target)
        parts += _dimensions(score, number)
        wrong = [time for time in score.time if time.state not in ("exact", "not_judged")]
        if wrong:
            gold = _joined([_spans(time.target) for time in wrong])
            predicted = _joined([_spans(time.selected) for time in wrong])
            parts.append(_Part(kind="wrong_period", name=TIME, gold=gold, predicted=predicted, number=number))
        mended = repaired_dimensions(answer, target, {part.name for part in parts}, self.structures)
        return parts, mended if parts and self._score(mended, target).exact else None

    def _score(self, answer: Selection, target: Selection) -> SelectionScore:
        return score_selection(answer, [target], structures=self.structures, settings=self.settings)


DATASET, TIME = "dataset", "time"
"""The names of the parts that are not dimensions."""


def _dimensions(score: SelectionScore, number: int) -> Iterator[_Part]:
    for one in score.dimensions:
        extra, missing = one.false_positives, one.false_negatives
        if extra or missing:
            invented = [term.id for term in extra if term.note in _INVENTED]
            kind: CauseKind = "wrong_term" if extra and missing else "missing_term" if missing else "extra_term"
            yield _Part(
                kind="invented_term" if invented else kind,
                name=one.dimension,
                gold=_named(missing, (*extra, *one.true_positives)),
                predicted=_named(extra, (*missing, *one.true_positives)),
                number=number,
                invented=_joined(invented),
            )


def _spans(ranges: tuple[TimeRange, ...] | None) -> str:
    if not ranges:
        return "all of time"
    return _joined([f"{one.start or '…'} to {one.end or '…'}" if one.start != one.end else one.start for one in ranges])


def _named(terms: Sequence[ScoredTerm], others: Sequence[ScoredTerm]) -> str:
    """The terms by their codes, with the name if ``others`` have the same code under another name."""
    codes = {term.id for term in others}
    return _joined([f"{term.id} “{term.name}”" if term.id in codes and term.name else term.id for term in terms])


def _joined(names: Sequence[str | None]) -> str:
    shown = ", ".join(name or "" for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else shown


def _cause(part: _Part, *, proved: bool, several: bool) -> Cause:
    name, gold, predicted = part.name, part.gold, part.predicted
    if part.kind == "invented_term":
        instead = f"; the target has {gold}" if gold else ""
        message = f"{name}: no code list has {part.invented}{instead}"
    elif gold and predicted:
        message = f"{name}: {predicted} instead of {gold}"
    elif gold:
        message = f"{name}: {gold} is not selected"
    else:
        message = f"{name}: {predicted} is selected, but not in the target"
    return Cause(
        kind=part.kind,
        message=f"question {part.number}: {message}" if several else message,
        clause=name,
        gold=gold,
        predicted=predicted,
        proved=proved,
        column="" if name in (DATASET, TIME) else name,
    )


def _told(selection: Selection) -> str:
    """A selection, one line per dataset."""
    lines = []
    for one in selection.datasets:
        terms = [
            f"{chosen.dimension}={'*' if chosen.everything else '+'.join(term.id for term in chosen.terms)}"
            for chosen in one.dimensions
        ]
        times = [] if one.time is None else [f"time {_spans(one.time)}"]
        lines.append(f"{one.dataset}: {', '.join([*terms, *times])}")
    return "\n".join(lines)


def mended_datasets(answer: Selection, target: Selection, structures: Structures | None) -> Selection:
    """The answer on the target's datasets: a replaced one keeps its terms; missing ones are the target's."""
    own = [one for one in answer.datasets if any(_same(one, other, structures) for other in target.datasets)]
    others = [one for one in answer.datasets if one not in own]
    wanted = [one for one in target.datasets if not any(_same(one, other, structures) for other in answer.datasets)]
    names = list(dict.fromkeys(one.dataset for one in others))
    for name in dict.fromkeys(one.dataset for one in wanted):
        if names:
            wrong = names.pop(0)
            own += [replace(one, dataset=name) for one in others if one.dataset == wrong]
        else:
            own += [one for one in wanted if one.dataset == name]
    return Selection(datasets=tuple(own))


def repaired_dimensions(
    answer: Selection, target: Selection, parts: Collection[str], structures: Structures | None
) -> Selection:
    """The answer with the target's values for these dimensions, and for its time if ``time`` is among the parts.

    If there are several queries on one dataset, each gets the values of the target's query at the same position.
    """
    made: list[DatasetSelection] = []
    seen: dict[str, int] = {}
    for one in answer.datasets:
        givers = [other for other in target.datasets if _same(one, other, structures)]
        if not givers:
            made.append(one)
            continue
        place = seen.get(givers[0].dataset, 0)
        seen[givers[0].dataset] = place + 1
        made.append(_mended(one, givers[min(place, len(givers) - 1)], parts, structures))
    return Selection(datasets=tuple(made))


def _mended(
    one: DatasetSelection, giver: DatasetSelection, parts: Collection[str], structures: Structures | None
) -> DatasetSelection:
    kept = [chosen for chosen in one.dimensions if chosen.dimension not in parts]
    given = [chosen for chosen in giver.dimensions if chosen.dimension in parts]
    time = one.time
    if "time" in parts:
        pairs = pair_datasets(Selection(datasets=(giver,)), Selection(datasets=(one,)), structures)
        # The possible names of the time dimension.
        names = {TIME_DIMENSION, *(pair.structure.time_dimension for pair in pairs if pair.structure is not None)}
        kept = [chosen for chosen in kept if chosen.dimension not in names]
        given += [chosen for chosen in giver.dimensions if chosen.dimension in names]
        time = giver.time
    return replace(one, dimensions=(*kept, *given), time=time)


def _same(one: DatasetSelection, other: DatasetSelection, structures: Structures | None) -> bool:
    """Whether both are queries on one dataset."""
    if one.dataset == other.dataset:
        return True
    pairs = pair_datasets(Selection(datasets=(other,)), Selection(datasets=(one,)), structures)
    return any(pair.target is not None and pair.selected is not None for pair in pairs)
