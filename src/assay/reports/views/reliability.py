"""What a system is worth that may decline, and how conversations fare, in words and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from assay.model import (
    CalibrationBin,
    ConfidenceTotals,
    ConversationTotals,
    Count,
    Decision,
    DecisionCount,
    Given,
    PenaltyScore,
    Rate,
    ReliabilityTotals,
    RiskPoint,
)
from assay.reports.text.plain import interval, one_line, percent, plural
from assay.reports.views.figures import CountRow, Figure

FigureOf = Callable[[Rate], Figure]
RowOf = Callable[[Count, str, str], CountRow]

ASKED: Mapping[Decision, str] = {
    "answer": "has an answer",
    "decline": "has no answer",
    "clarify": "has several readings",
}
DID: Mapping[Given, str] = {
    "answer": "answered",
    "decline": "declined",
    "clarify": "asked back",
    "nothing": "nothing came",
}


class Line(Struct, frozen=True, kw_only=True):
    """A figure with its name and meaning."""

    name: str
    figure: Figure
    meaning: str
    leading: bool = False


class ConfidenceView(Struct, frozen=True, kw_only=True):
    """What the stated confidence is worth."""

    totals: ConfidenceTotals
    said: tuple[str, ...]
    score_names: tuple[str, ...]
    """Of the scores of each point of the curve."""
    points: tuple[RiskPoint, ...]
    bins: tuple[CalibrationBin, ...]
    """Those that hold answers."""


class ReliabilityView(Struct, frozen=True, kw_only=True):
    """Answering and declining, ready to draw."""

    lines: tuple[Line, ...]
    decisions: tuple[CountRow, ...]
    filters: tuple[tuple[tuple[str, str], ...], ...]
    """For each of them, what the page's table of cases is filtered by to show its cases."""
    said: str
    """The whole in a sentence."""
    confidence: ConfidenceView | None
    silent: str = ""
    """That some predictions neither answer nor say that they decline, where declining was right."""


class ConversationsView(Struct, frozen=True, kw_only=True):
    """Conversations, ready to draw."""

    whole: Figure
    said: str
    turns: tuple[tuple[str, Figure, int], ...]
    """For each place: its name, the share of right answers, and how many conversations go wrong there first."""
    failed: tuple[str, ...]


def reliability_view(
    totals: ReliabilityTotals | None, penalties: tuple[float, ...], figure: FigureOf, row: RowOf
) -> ReliabilityView | None:
    """None where there is nothing of that kind in the run."""
    if totals is None:
        return None
    leading = totals.leading(penalties)
    return ReliabilityView(
        lines=tuple(_lines(totals, leading, figure)),
        decisions=tuple(map(_decision(row), totals.decisions)),
        filters=tuple(map(_filters, totals.decisions)),
        said=_said(totals, leading, figure),
        confidence=None if totals.confidence is None else _confidence(totals, totals.confidence),
        silent=_silent(totals),
    )


def _lines(totals: ReliabilityTotals, leading: PenaltyScore, figure: FigureOf) -> Iterable[Line]:
    yield Line(name="coverage", figure=figure(totals.coverage), meaning="questions that were answered with a query")
    yield Line(name="accuracy when answered", figure=figure(totals.accuracy), meaning="right ones among these answers")
    if totals.declined_rightly.n:
        meaning = "questions without an answer among those declined"
        yield Line(name="declined rightly", figure=figure(totals.declined_rightly), meaning=meaning)
    if totals.found_unanswerable.n:
        meaning = "declined ones among the questions without an answer"
        yield Line(name="unanswerable found", figure=figure(totals.found_unanswerable), meaning=meaning)
    for score in totals.scores:
        cost = "as many points as there are questions" if score.of_n else f"{score.penalty:g}"
        yield Line(
            name=score.name,
            figure=score_figure(score.rate),
            meaning=f"reliability: what is right counts 1, what is held back 0, a wrong answer costs {cost}",
            leading=score is leading,
        )


def score_figure(rate: Rate) -> Figure:
    """A reliability score: a number, for it may go far below 0."""
    tally = f"mean of {rate.n:,}" if rate.n else "no scored case"
    text, bounds = percent(rate.value, share=False), interval(rate, share=False)
    return Figure(rate=rate, text=text, interval=bounds, tally=tally, share=False)


def _decision(row: RowOf) -> Callable[[DecisionCount], CountRow]:
    def made(one: DecisionCount) -> CountRow:
        name = f"{ASKED[one.expects]}: {DID[one.given]}"
        if one.given == one.expects == "answer":
            name += " right" if one.right else " wrong"
        count = Count(name=name, count=one.count, case_ids=one.case_ids)
        return row(
            count, name, "right" if one.right else "wrong" if one.given == "answer" else "not right, costs nothing"
        )

    return made


def _filters(one: DecisionCount) -> tuple[tuple[str, str], ...]:
    outcome = "correct" if one.right else "incorrect"
    return ("asks", ASKED[one.expects]), ("decision", DID[one.given]), ("show", outcome)


def _said(totals: ReliabilityTotals, leading: PenaltyScore, figure: FigureOf) -> str:
    without = []
    if totals.unanswerable:
        without.append(f"{totals.unanswerable:,} {_have(totals.unanswerable)} no answer")
    if totals.ambiguous:
        without.append(f"{totals.ambiguous:,} must be clarified first")
    cases = plural(totals.answerable + totals.unanswerable + totals.ambiguous, "question")
    of = f"Of {cases} {' and '.join(without)}: the" if without else "The"
    covered, right = figure(totals.coverage), figure(totals.accuracy)
    score = score_figure(leading.rate)
    return (
        f"{of} system answers {covered.text} of the questions, and {right.text} of these answers are right; "
        f"{leading.name} is {score.text}."
    )


def _silent(totals: ReliabilityTotals) -> str:
    none = sum(one.count for one in totals.decisions if (one.expects, one.given) == ("decline", "nothing"))
    if not none:
        return ""
    which = "1 question without an answer" if none == 1 else f"{none:,} questions without an answer"
    return (
        f"For {which} there is no query, and no word that the system declines: they count as unanswered, and not as "
        "right. A prediction declines by the query null, or by a field such as decision: decline."
    )


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _confidence(totals: ReliabilityTotals, found: ConfidenceTotals) -> ConfidenceView:
    overall = found.curve[-1].risk
    area = f"Risk over coverage: AURC {found.area:.3f}; {found.least_area:.3f} is the best that these answers allow"
    said = [
        f"{plural(found.n, 'answer')} with a confidence. {area}, {overall:.3f} says nothing.",
        f"Calibration: ECE {found.ece:.3f} over {len(found.bins)} bins, Brier score {found.brier:.3f}.",
    ]
    if found.without:
        said.append(
            f"{plural(found.without, 'answer')} without a confidence {_are(found.without)} held back at every "
            "threshold, and in none of the other numbers."
        )
    return ConfidenceView(
        totals=found,
        said=tuple(said),
        score_names=tuple(score.name for score in totals.scores),
        points=found.curve,
        bins=tuple(one for one in found.bins if one.n),
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def conversations_view(totals: ConversationTotals | None, figure: FigureOf) -> ConversationsView | None:
    """None where no question is part of a conversation."""
    if totals is None:
        return None
    whole = figure(totals.whole)
    first = dict(totals.first_wrong)
    of = f"{plural(totals.conversations, 'conversation')} of {plural(totals.turns, 'turn')}"
    return ConversationsView(
        whole=whole,
        said=f"In {of}, {whole.text} of the conversations are right in every turn.",
        turns=tuple((f"turn {turn}", figure(rate), first.get(turn, 0)) for turn, rate in totals.by_turn),
        failed=tuple(one_line(name, limit=40) for name in totals.failed),
    )
