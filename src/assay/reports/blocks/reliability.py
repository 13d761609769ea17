"""What a system is worth that may decline, how sure its stated confidence is, and how conversations fare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from assay.model import (
    CalibrationBin,
    ConfidenceTotals,
    ConversationTotals,
    Count,
    Decision,
    DecisionCount,
    Given,
    PenaltyScore,
    ReliabilityTotals,
    RiskPoint,
)
from assay.reports.blocks.counts import count_table, figure_row, figure_table
from assay.reports.blocks.run_numbers import RunNumbers
from assay.reports.blocks.values import (
    Block,
    Cell,
    Column,
    Curve,
    IdList,
    Name,
    Number,
    Row,
    Section,
    Table,
    Text,
    columns,
    count,
    figure,
    rows,
)
from assay.reports.text.plain import one_line, percent, plural

_SHOWN: Final = 10
"""Points of the curve that a table of text shows."""

ASKED: Mapping[Decision, str] = {
    "answer": "has an answer",
    "decline": "has no answer",
    "clarify": "has several readings",
}
DID: Mapping[Given, str] = {
    "answer": "answered",
    "decline": "declined",
    "clarify": "asked back",
    "nothing": "unanswered",
}


def said(totals: ReliabilityTotals, penalties: tuple[float, ...]) -> Iterable[str]:
    """The whole in a sentence; and that some predictions neither answer nor say that they decline."""
    without = []
    if totals.unanswerable:
        without.append(f"{totals.unanswerable:,} {'has' if totals.unanswerable == 1 else 'have'} no answer")
    if totals.ambiguous:
        without.append(f"{totals.ambiguous:,} must be clarified first")
    cases = plural(totals.answerable + totals.unanswerable + totals.ambiguous, "question")
    of = f"Of {cases} {' and '.join(without)}: the" if without else "The"
    leading = totals.leading(penalties)
    yield (
        f"{of} system answers "
        f"{percent(totals.coverage.value)} of the questions, and {percent(totals.accuracy.value)} of these answers are "
        f"right; {leading.name} is {percent(leading.rate.value, share=False)}."
    )
    none = sum(one.count for one in totals.decisions if (one.expects, one.given) == ("decline", "nothing"))
    if none:
        which = "1 question without an answer" if none == 1 else f"{none:,} questions without an answer"
        yield (
            f"For {which}, the prediction has neither a query nor a refusal: unanswered, not correct. To decline, a "
            "prediction has the query null or, for example, the field decision: decline."
        )


def sections(report: RunNumbers, totals: ReliabilityTotals) -> Iterable[Section]:
    """Answering and declining, and confidence if any is stated."""
    figures = figure_table("of answering", _lines(report, totals))
    decisions = count_table(
        ("question and what the system did", "answers"),
        (_decision(report, one) for one in totals.decisions),
        meaning="counts as",
        most=None,
    )
    yield Section(key="reliability", title="Answering and declining", blocks=(figures, decisions), rank=1)
    if totals.confidence is not None:
        yield _confidence(totals.scores, totals.confidence)


def _lines(report: RunNumbers, totals: ReliabilityTotals) -> Iterable[Row]:
    rates = [
        ("coverage", totals.coverage, "questions that were answered with a query"),
        ("accuracy when answered", totals.accuracy, "right ones among these answers"),
    ]
    if totals.declined_rightly.n:
        rates.append(("declined rightly", totals.declined_rightly, "questions without an answer among those declined"))
    if totals.found_unanswerable.n:
        meaning = "declined ones among the questions without an answer"
        rates.append(("unanswerable found", totals.found_unanswerable, meaning))
    for name, rate, meaning in rates:
        yield figure_row(name, report.verdict_figure(rate), meaning)
    leading = totals.leading(report.run.settings.penalties)
    for score in totals.scores:
        cost = "as many points as there are questions" if score.of_n else f"{score.penalty:g}"
        meaning = f"reliability: what is right counts 1, what is held back 0, a wrong answer costs {cost}"
        shown = figure(score.rate, share=False, counted=False)
        yield figure_row(score.name, shown, meaning, leads=score is leading, number=True)


def _decision(report: RunNumbers, one: DecisionCount) -> Row:
    name = f"{ASKED[one.expects]}: {DID[one.given]}"
    if one.given == one.expects == "answer":
        name += " right" if one.right else " wrong"
    meaning = "right" if one.right else "wrong" if one.given == "answer" else "not right, costs nothing"
    outcome = "correct" if one.right else "incorrect"
    link = (("asks", ASKED[one.expects]), ("decision", DID[one.given]), ("show", outcome))
    return report.counted(Count(name=name, count=one.count, case_ids=one.case_ids), name, meaning, link=link)


def _confidence(scores: Iterable[PenaltyScore], found: ConfidenceTotals) -> Section:
    names = tuple(score.name for score in scores)
    bins = tuple(one for one in found.bins if one.n)
    blocks: tuple[Block, ...] = (
        Curve(
            title="Risk over coverage",
            across="coverage",
            up="risk",
            points=tuple((point.coverage, point.risk) for point in reversed(found.curve)),
            stepped=True,
            table=_curve_table(names, found.curve),
        ),
        Curve(
            title="Calibration",
            across="confidence",
            up="accuracy",
            points=tuple((one.mean_confidence or 0.0, one.right / one.n) for one in bins),
            diagonal=True,
            table=_bins_table(bins),
        ),
        Text(lines=tuple(_confidence_said(found))),
    )
    return Section(
        key="confidence", title="What the stated confidence is worth", blocks=blocks, tab="metrics", place="bottom"
    )


def _confidence_said(found: ConfidenceTotals) -> Iterable[str]:
    area = f"Risk over coverage: AURC {found.area:.3f}; {found.least_area:.3f} is the best that these answers allow"
    yield f"{plural(found.n, 'answer')} with a confidence. {area}, {found.curve[-1].risk:.3f} says nothing."
    yield f"Calibration: ECE {found.ece:.3f} over {len(found.bins)} bins, Brier score {found.brier:.3f}."
    if found.without:
        yield (
            f"{plural(found.without, 'answer')} without a confidence {'is' if found.without == 1 else 'are'} held back "
            "at every threshold, and in none of the other numbers."
        )


def _curve_table(score_names: tuple[str, ...], points: tuple[RiskPoint, ...]) -> Table:
    """Every point; with less room, points evenly spread over the curve, its ends among them."""
    last = len(points) - 1
    some = {round(number * last / (_SHOWN - 1)) for number in range(_SHOWN)}
    titles = columns(
        Column(title="threshold", long="answered from this confidence up", right=True),
        "answered",
        "wrong",
        Column(title="coverage", strong=True),
        Column(title="risk", strong=True),
        *(Column(title=name) for name in score_names),
    )

    def line(place: int, point: RiskPoint) -> Row:
        scores = (Number(value=score, text=f"{score:,.3f}", style="number") for score in point.scores)
        cells = (
            Number(value=point.threshold, text=f"{point.threshold:.4g}", style="number"),
            count(point.answered),
            count(point.wrong),
            _share(point.coverage),
            _share(point.risk),
            *scores,
        )
        return Row(cells=cells, weight=int(place in some))

    return Table(
        title="If the system declined what it is less sure of",
        columns=titles,
        rows=tuple(line(place, point) for place, point in enumerate(points)),
        look="grid",
        more="more points",
        most_in_lines=_SHOWN,
        most=_SHOWN,
    )


def _bins_table(bins: Iterable[CalibrationBin]) -> Table:
    def line(one: CalibrationBin) -> tuple[Cell, ...]:
        mean, right = one.mean_confidence or 0.0, one.right / one.n
        gap = right - mean
        return (
            f"{one.low:.1f} to {one.high:.1f}",
            count(one.n),
            _share(mean),
            _share(right),
            Number(value=gap, text=f"{gap * 100:+.1f} points", style="percent"),
        )

    titles = columns("confidence", "answers", "mean confidence", Column(title="accuracy", strong=True), "difference")
    return Table(title="Confidence and accuracy", columns=titles, rows=rows(map(line, bins)), look="grid")


def conversations(report: RunNumbers, totals: ConversationTotals) -> Section:
    """Whole conversations, and their turns by place."""
    first = dict(totals.first_wrong)
    figure = report.verdict_figure
    whole = Row(cells=(Name(text="all turns right", strong=True), figure(totals.whole), None), strong=True)
    turns = (
        Row(cells=(Name(text=f"turn {turn}"), figure(rate), count(first.get(turn, 0)))) for turn, rate in totals.by_turn
    )
    table = Table(
        columns=columns("conversations", Column(title="value", counted="of"), "first wrong here"),
        rows=(whole, *turns),
        look="figures",
        most_in_lines=8,
        most=25,
    )
    failed = tuple(one_line(name, limit=40) for name in totals.failed)
    named = Table(
        columns=columns("wrong in some turn"), rows=rows([(IdList(names=failed),)]), look="counts", wraps=True
    )
    blocks = (table, named) if failed else (table,)
    return Section(key="conversations", title="Conversations", blocks=blocks, rank=1)


def _share(value: float) -> Number:
    return Number(value=value, text=percent(value), style="percent")
