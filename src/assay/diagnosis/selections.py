"""Why a selection is wrong: `SelectionCauses`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.diagnosis.failures import cause_of_failure
from assay.diagnosis.kinds import CAUSES
from assay.diagnosis.repairs import mended_datasets, repaired_dimensions
from assay.model import (
    DimensionScore,
    Evidence,
    Failure,
    ScoredTerm,
    Selection,
    SelectionScore,
    SelectionSettings,
    TimeRange,
    TimeScore,
)
from assay.model.verdicts.diagnosis import Cause, CauseKind, Diagnosis, Repair, RepairStep
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
"""The primary cause is the first of these: what stands earlier brings what stands later with it."""
_INVENTED = ("unknown_code", "unknown_dimension", "unknown_dataset")
_SHOWN = 5


class _Part(Struct, frozen=True, kw_only=True):
    """One part of a selection that is wrong: a dimension, the datasets, the time."""

    kind: CauseKind
    name: str
    gold: str
    predicted: str
    number: int
    """Which question of the conversation."""
    invented: str = ""
    """The selected terms that the structures do not have."""


class SelectionCauses(Struct, frozen=True, kw_only=True):
    """Implements `assay.ports.SelectionDiagnoser`: judges the answer again with its wrong parts mended.

    A dataset in place of another is mended first, and the rest compared anew: that its dimensions differ, too, is no
    cause of its own. Each part that then differs must be mended, so that all of them together are the smallest repair.
    """

    structures: Structures | None = None
    settings: SelectionSettings = SelectionSettings()

    def diagnose(self, evidence: Evidence) -> Diagnosis | None:
        """The causes of an incorrect answer; None for any other."""
        if evidence.outcome != "incorrect":
            return None
        failure = evidence.verdict.failure
        found = self._of_terms(evidence) if failure is None else Diagnosis(causes=(_of_failure(failure),))
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
        causes = tuple(_cause(part, proved=exact, several=several) for part in sorted(parts, key=_rank))
        steps = tuple(_steps(parts))
        repair = Repair(steps=steps, query="\n".join(repaired)) if exact else None
        return Diagnosis(causes=causes, repair=repair, tried=1)

    def _of_turn(
        self, answer: Selection, target: Selection, score: SelectionScore, number: int
    ) -> tuple[list[_Part], Selection | None]:
        """What is wrong in one answer, and the answer with all of that mended; None where it then is not right."""
        parts = list(_datasets(score, number))
        if parts:
            answer = mended_datasets(answer, target, self.structures)
            score = self._score(answer, target)
        parts += _dimensions(score, number)
        parts += _periods(score.time, number)
        mended = repaired_dimensions(answer, target, {part.name for part in parts}, self.structures)
        return parts, mended if parts and self._score(mended, target).exact else None

    def _score(self, answer: Selection, target: Selection) -> SelectionScore:
        return score_selection(answer, [target], structures=self.structures, settings=self.settings)


DATASET, TIME = "dataset", "time"
"""The names of the parts that are no dimension."""


def _datasets(score: SelectionScore, number: int) -> Iterator[_Part]:
    if score.missing_datasets or score.extra_datasets:
        gold, predicted = _joined(score.missing_datasets), _joined(score.extra_datasets)
        yield _Part(kind="wrong_dataset", name=DATASET, gold=gold, predicted=predicted, number=number)


def _dimensions(score: SelectionScore, number: int) -> Iterator[_Part]:
    for one in score.dimensions:
        extra, missing = one.false_positives, one.false_negatives
        if extra or missing:
            yield _Part(
                kind=_kind(one),
                name=one.dimension,
                gold=_named(missing, (*extra, *one.true_positives)),
                predicted=_named(extra, (*missing, *one.true_positives)),
                number=number,
                invented=_joined([term.id for term in extra if term.note in _INVENTED]),
            )


def _kind(one: DimensionScore) -> CauseKind:
    if any(term.note in _INVENTED for term in one.false_positives):
        return "invented_term"
    if one.false_positives and one.false_negatives:
        return "wrong_term"
    return "missing_term" if one.false_negatives else "extra_term"


def _periods(scores: Sequence[TimeScore], number: int) -> Iterator[_Part]:
    wrong = [one for one in scores if one.state not in ("exact", "not_judged")]
    if wrong:
        gold, predicted = (_joined([_spans(side) for side in sides]) for sides in _sides(wrong))
        yield _Part(kind="wrong_period", name=TIME, gold=gold, predicted=predicted, number=number)


def _sides(
    scores: Sequence[TimeScore],
) -> tuple[list[tuple[TimeRange, ...] | None], list[tuple[TimeRange, ...] | None]]:
    return [one.target for one in scores], [one.selected for one in scores]


def _spans(ranges: tuple[TimeRange, ...] | None) -> str:
    if not ranges:
        return "all of time"
    return _joined([f"{one.start or '…'} to {one.end or '…'}" if one.start != one.end else one.start for one in ranges])


def _named(terms: Sequence[ScoredTerm], others: Sequence[ScoredTerm]) -> str:
    """The terms by their codes, with the name where ``others`` have the same code under another one."""
    codes = {term.id for term in others}
    return _joined([f"{term.id} “{term.name}”" if term.id in codes and term.name else term.id for term in terms])


def _joined(names: Sequence[str | None]) -> str:
    shown = ", ".join(name or "" for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else shown


def _cause(part: _Part, *, proved: bool, several: bool) -> Cause:
    where = f"question {part.number}: " if several else ""
    return Cause(
        kind=part.kind,
        message=where + _message(part),
        clause=part.name,
        gold=part.gold,
        predicted=part.predicted,
        proved=proved,
        column="" if part.name in (DATASET, TIME) else part.name,
    )


def _message(part: _Part) -> str:
    name, gold, predicted = part.name, part.gold, part.predicted
    if part.kind == "invented_term":
        instead = f"; the target has {gold}" if gold else ""
        return f"{name}: no code list has {part.invented}{instead}"
    if gold and predicted:
        return f"{name}: {predicted} in place of {gold}"
    return f"{name}: {gold} is not selected" if gold else f"{name}: {predicted} is selected, the target has none of it"


def _steps(parts: Sequence[_Part]) -> Iterator[RepairStep]:
    """A step for each part of the selection, over all questions of a conversation."""
    for name in dict.fromkeys(part.name for part in parts):
        mine = [part for part in parts if part.name == name]
        before = "; ".join(part.predicted for part in mine if part.predicted)
        after = "; ".join(part.gold for part in mine if part.gold)
        yield RepairStep(clause=name, before=before, after=after)


def _rank(part: _Part) -> tuple[int, int]:
    return _ORDER.index(part.kind), part.number


def _of_failure(failure: Failure) -> Cause:
    if failure.kind == "unknown_structure":
        return Cause(kind="wrong_dataset", message=failure.message, clause=DATASET)
    return cause_of_failure(failure, None, "", None)[0]


def _told(selection: Selection) -> str:
    """A selection in one line for each dataset."""
    lines = []
    for one in selection.datasets:
        terms = [
            f"{chosen.dimension}={'*' if chosen.everything else '+'.join(term.id for term in chosen.terms)}"
            for chosen in one.dimensions
        ]
        times = [] if one.time is None else [f"time {_spans(one.time)}"]
        lines.append(f"{one.dataset}: {', '.join([*terms, *times])}")
    return "\n".join(lines)
