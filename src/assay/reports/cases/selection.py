"""Make the parts of a view that only runs over selections of SDMX data have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from msgspec import Struct

from assay.model import (
    DimensionScore,
    Evidence,
    Failure,
    HierarchyEquivalence,
    Run,
    ScoredTerm,
    SelectionScore,
    Term,
    TimeRange,
    TimeScore,
    Turn,
    TurnAnswer,
    TurnScore,
)
from assay.reports.blocks.values import CaseLink
from assay.reports.cases.case import (
    CaseView,
    DimensionView,
    TermList,
    TermState,
    TermView,
    TimeView,
    TurnView,
    flags,
    message,
    repair,
    score_view,
    short_name,
    why,
)
from assay.reports.text import meanings
from assay.reports.text.plain import clipped, hundredths, one_line, percent, words

_TERM_LIMITS = ((40, 40), (40, 10), (20, 5), (10, 3), (5, 1))
"""How many terms a list of wrong and a list of right terms show at most, the most generous pair first."""
_TERMS_OF_A_REPORT = 80_000
_TEXTS_OF_A_REPORT = 3_000_000
"""Characters of raw answers, over all cases."""
_TEXT_LENGTH = 6000
_DATASETS = 20
_EQUIVALENCES = 8
_CHILDREN = 8
_PERIODS = 6


class Room(Struct, frozen=True, kw_only=True):
    """How much of each case a report shows, so that a report of many cases can still be opened."""

    terms: int
    """Terms per list of false positives or false negatives."""
    right: int
    """Terms per list of true positives, which need less attention."""
    text: int
    """Characters of a raw answer."""
    cut: bool
    """Whether any list is cut."""


class TermLengths:
    """How long the lists of right and of wrong terms are, over the cases that are shown together."""

    def __init__(self, evidence: Iterable[Evidence] = ()) -> None:
        self._cases = 0
        self._right: Counter[int] = Counter()
        self._wrong: Counter[int] = Counter()
        for item in evidence:
            self.add(item)

    def add(self, item: Evidence) -> None:
        """Count one answer's lists."""
        self._cases += 1
        for turn in item.turns:
            for one in turn.score.dimensions if turn.score else ():
                self._right[len(one.true_positives)] += 1
                self._wrong[len(one.false_positives)] += 1
                self._wrong[len(one.false_negatives)] += 1

    def _shown(self, limits: tuple[int, int]) -> int:
        wrong, right = limits
        return sum(
            count * min(length, most)
            for lengths, most in ((self._wrong, wrong), (self._right, right))
            for length, count in lengths.items()
        )

    def room(self, *, terms: int | None = None) -> Room:
        """The room for these cases; ``terms`` sets the length of lists, None: decided by their number."""
        fitting = (limits for limits in _TERM_LIMITS if self._shown(limits) <= _TERMS_OF_A_REPORT)
        most_wrong, most_right = (terms, terms) if terms else next(fitting, _TERM_LIMITS[-1])
        return Room(
            terms=most_wrong,
            right=most_right,
            text=min(_TEXT_LENGTH, max(300, _TEXTS_OF_A_REPORT // max(1, self._cases))),
            cut=max(self._wrong, default=0) > most_wrong or max(self._right, default=0) > most_right,
        )


class TermNotes:
    """Finds, answer by answer, what the notes on the terms of a run say."""

    def __init__(self, run: Run) -> None:
        totals = run.aggregates.selection
        counts = totals.wrong_terms if totals else ()
        self.invented = next((count for count in counts if count.name == "unknown_code"), None)
        self._case_ids = frozenset(self.invented.case_ids) if self.invented else frozenset()
        self.codes = 0
        """How many selected codes are invented."""
        self.stale: dict[str, None] = {}
        """The cases whose target has what the structures lack."""

    def add(self, item: Evidence) -> None:
        """Look at one answer's terms."""
        scores = [turn.score for turn in item.turns if turn.score is not None]
        if item.case.id in self._case_ids:
            self.codes += sum(
                term.note == "unknown_code"
                for score in scores
                for dimension in score.dimensions
                for term in dimension.false_positives
            )
        if any(map(_is_stale, scores)):
            self.stale[item.case.id] = None


def _is_stale(score: SelectionScore) -> bool:
    """Whether the structures lack a missing term of the target."""
    return any(
        term.note in ("unknown_code", "unknown_dimension") for one in score.dimensions for term in one.false_negatives
    )


def case_view(item: Evidence, link: CaseLink, room: Room) -> CaseView:
    """All that is known of one case, turn by turn."""
    case, verdict = item.case, item.verdict
    turns = tuple(_turns(item, room))
    failure = verdict.failure
    told = {text for turn in turns for text in turn.failures}
    rest = failure_lines(failure, item.prediction.failure)
    return CaseView(
        id=link.id,
        anchor=link.anchor,
        answer=link.answer,
        name=short_name(case.name),
        question=clipped(case.question, limit=_TEXT_LENGTH),
        context=clipped(case.context, limit=_TEXT_LENGTH) if case.context else None,
        difficulty=short_name(case.difficulty),
        tags=tuple(one_line(tag, limit=60) for tag in case.tags),
        outcome=verdict.outcome,
        reason=message(verdict.reason),
        flags=flags(item),
        cause=short_name(item.cause),
        scores=tuple(map(score_view, item.scores)),
        failures=tuple(text for text in rest if text not in told),
        turns=turns,
        why=why(item),
        repair=repair(item),
    )


def failure_lines(*found: Failure | None) -> tuple[str, ...]:
    """Each failure once, as ``blame: message``; the gold query is called the target here."""
    return tuple(dict.fromkeys(f"{blamed(failure.blame)}: {message(failure.message)}" for failure in found if failure))


def blamed(blame: str) -> str:
    """Whose failure it is, in the words of selections."""
    return "target" if blame == "gold" else blame


def failure_name(blame: str, kind: str) -> tuple[str, str]:
    """Whose a failure is and what it is called, in the words of selections."""
    return blamed(blame), "no target" if kind == "no_gold" else words(kind)


def _turns(item: Evidence, room: Room) -> Iterable[TurnView]:
    """The questions of the conversation with their answers by place, and their scores by each score's own number."""
    scores = {turn.number: turn for turn in item.turns}
    several = len(item.case.turns) > 1 or len(scores) > 1
    last = max(scores, default=0)
    answers = item.prediction.turns
    asked: list[Turn | None] = [*item.case.turns, *[None] * (last - len(item.case.turns))]
    for number, (turn, answer) in enumerate(zip_longest(asked, answers), 1):
        yield _turn(number, turn, answer, scores.get(number), several=several, room=room)


def _turn(
    number: int,
    turn: Turn | None,
    answer: TurnAnswer | None,
    judged: TurnScore | None,
    *,
    several: bool,
    room: Room,
) -> TurnView:
    score = judged.score if judged else None
    targets = len(turn.targets) if turn else 0
    dimensions = _dimensions(score, room) if score else ()
    raw = answer.raw if answer else None
    text = answer.text if answer else None
    figures: list[str] = []
    said = "not scored" if targets else "asked, and not scored: it has no target"
    if score is not None:
        said = "exact" if score.exact else "not exact"
        pairs = (("macro recall", score.macro_recall), ("macro precision", score.macro_precision))
        figures = [f"{name} {'n/a' if value is None else f'{value:.3f}'}" for name, value in pairs]
    return TurnView(
        label=f"Turn {number:,}" if several else "",
        question=clipped(turn.question, limit=_TEXT_LENGTH) if turn and several else "",
        said=said,
        exact=score.exact if score else None,
        figures=", ".join(figures),
        dimensions=tuple(view for in_target, view in dimensions if in_target),
        beyond=tuple(view for in_target, view in dimensions if not in_target),
        datasets=_datasets(score) if score else (),
        time=tuple(map(_time, score.time)) if score else (),
        remarks=tuple(_remarks(score, targets)) if score else (),
        failures=failure_lines(judged.failure if judged else None, answer.failure if answer else None),
        text=clipped(text, limit=room.text) if text else None,
        raw=clipped(raw, limit=room.text) if raw and raw != text else None,
    )


def _dimensions(score: SelectionScore, room: Room) -> tuple[tuple[bool, DimensionView], ...]:
    several = len(score.matched_datasets) + len(score.extra_datasets) + len(score.missing_datasets) > 1
    return tuple((one.in_target, _dimension(one, room, several=several)) for one in score.dimensions)


def _dimension(score: DimensionScore, room: Room, *, several: bool) -> DimensionView:
    def terms(state: TermState, found: Sequence[ScoredTerm]) -> TermList:
        most = room.right if state == "right" else room.terms
        labels = meanings.TARGET_LABELS if state == "missing" else meanings.TERM_LABELS
        shown = tuple(_term(term, labels, dataset=several) for term in found[:most])
        return TermList(state=state, count=len(found), terms=shown)

    return DimensionView(
        name=one_line(score.dimension, limit=60) or "''",
        lists=(
            terms("right", score.true_positives),
            terms("extra", score.false_positives),
            terms("missing", score.false_negatives),
        ),
        precision=hundredths(score.precision),
        recall=hundredths(score.recall),
    )


def _term(term: ScoredTerm, labels: Mapping[str, str], *, dataset: bool) -> TermView:
    """One term as shown; ``dataset``: whether to name its dataset, because there are several."""
    return TermView(
        code=one_line(term.id, limit=80) or "''",
        name=one_line(term.name, limit=160) if term.name else "",
        dataset=one_line(term.dataset, limit=80) if dataset and term.dataset else "",
        note=labels.get(term.note, words(term.note)) if term.note else "",
    )


def _datasets(score: SelectionScore) -> tuple[tuple[TermState, str], ...]:
    found: list[tuple[TermState, str]] = [("right", name) for name in score.matched_datasets]
    found += [("extra", name) for name in score.extra_datasets]
    found += [("missing", name) for name in score.missing_datasets]
    # Wrong datasets come first, so that the cut keeps them.
    found.sort(key=lambda entry: entry[0] == "right")
    shown = sorted(found[:_DATASETS], key=lambda entry: entry[0] != "right")
    return tuple((state, one_line(name, limit=100)) for state, name in shown)


def _time(score: TimeScore) -> TimeView:
    share = f", {percent(score.share)} in common" if score.state == "overlap" and score.share is not None else ""
    return TimeView(
        dataset=one_line(score.dataset, limit=100),
        said=words(score.state) + share,
        target=periods(score.target),
        selected=periods(score.selected) if score.selected is not None else "none",
        good=None if score.state == "not_judged" else score.state == "exact",
    )


def periods(ranges: Sequence[TimeRange] | None) -> str:
    """How periods read: ``2015 to 2020``, ``from 2015``, ``until 2020``, ``all periods``, ``nothing said``."""
    if ranges is None:
        return "nothing said"
    if not ranges:
        return "all periods"
    told = ", ".join(map(_period, ranges[:_PERIODS]))
    return f"{told} and {len(ranges) - _PERIODS:,} more" if len(ranges) > _PERIODS else told


def _period(found: TimeRange) -> str:
    start = one_line(found.start, limit=40) if found.start else ""
    end = one_line(found.end, limit=40) if found.end else ""
    if start and end:
        return start if start == end else f"{start} to {end}"
    return f"from {start}" if start else f"until {end}" if end else "all periods"


def _remarks(score: SelectionScore, targets: int) -> Iterable[str]:
    if targets > 1:
        yield f"Scored by target {score.target_index + 1:,} of {targets:,}, the closest one."
    shown = score.equivalences[:_EQUIVALENCES]
    yield from map(equivalence, shown)
    if len(score.equivalences) > len(shown):
        yield f"{len(score.equivalences) - len(shown):,} more codes stand for their children, or they for them."
    if not score.names_compared:
        yield "Some terms were compared by their codes alone: one side or both had no name for them."


def equivalence(found: HierarchyEquivalence) -> str:
    """A code that stands for its children, or they for it, in a sentence."""
    children = ", ".join(one_line(child.id, limit=40) for child in found.children[:_CHILDREN])
    if len(found.children) > _CHILDREN:
        children += f" and {len(found.children) - _CHILDREN:,} more"
    parent = _named(found.parent)
    dimension = one_line(found.dimension, limit=60)
    what = (
        f"the parent {parent} was selected for its children {children}"
        if found.selected == "parent"
        else f"the children {children} were selected for their parent {parent}"
    )
    counted = "counts as right" if found.counted else "does not count as right without --count-hierarchy"
    return f"Through the hierarchy of {dimension}, {what}, which {counted}."


def _named(term: Term) -> str:
    code = one_line(term.id, limit=40)
    return f"{code} ({one_line(term.name, limit=80)})" if term.name else code
