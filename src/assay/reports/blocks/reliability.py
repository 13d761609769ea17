"""The sections on answering and declining, on confidence, and on conversations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from assay.model import CalibrationBin, RiskPoint
from assay.reports.blocks.values import (
    EVERYWHERE,
    TEXT_AND_PAGE,
    Block,
    Cell,
    Column,
    Curve,
    Link,
    Medium,
    Name,
    Names,
    Number,
    Paragraph,
    Remark,
    Row,
    Section,
    Table,
    columns,
    rows,
)
from assay.reports.text.plain import percent
from assay.reports.views.reliability import ConfidenceView, ConversationsView, ReliabilityView

_SHOWN: Final = 10
"""Points of the curve that a table of text shows."""


def reliability_sections(found: ReliabilityView | None) -> Iterable[Section]:
    """Answering and declining, and confidence, as far as there is any."""
    if found is None:
        return
    meaning = Column(title="meaning", only=frozenset({"wide", "comment", "page", "book"}))
    figures = Table(
        columns=columns("of answering", "value", meaning),
        rows=tuple(
            Row(
                cells=(Name(text=line.name, strong=line.leading), line.figure, Remark(meaning=line.meaning)),
                strong=line.leading,
                style="percent" if line.figure.share else "number",
            )
            for line in found.lines
        ),
        look="figures",
        headed=False,
    )
    titles = columns(
        "question and what the system did",
        Column(title="answers", strong=True),
        Column(title="share", only=frozenset({"book"})),
        Column(title="which", only=EVERYWHERE - {"book"}),
        Column(title="counts as", only=EVERYWHERE - {"plain"}),
    )
    counted = Table(
        columns=titles,
        rows=rows(
            (
                Name(text=row.name),
                _count(row.count, link),
                Number(value=row.share, text="", style="percent"),
                row.cases,
                Remark(meaning=row.meaning),
            )
            for row, link in zip(found.decisions, found.filters, strict=True)
        ),
        look="counts",
        headed=False,
    )
    yield Section(key="reliability", title="Answering and declining", blocks=(figures, counted), rank=1)
    if found.confidence is not None:
        yield _confidence(found.confidence)


def _confidence(found: ConfidenceView) -> Section:
    blocks: tuple[Block, ...] = (
        Curve(
            title="Risk over coverage",
            across="coverage",
            up="risk",
            points=tuple((point.coverage, point.risk) for point in reversed(found.points)),
            stepped=True,
        ),
        Curve(
            title="Calibration",
            across="confidence",
            up="accuracy",
            points=tuple((one.mean_confidence or 0.0, one.right / one.n) for one in found.bins),
            diagonal=True,
        ),
        _curve_table(found, found.points, only=frozenset({"book"})),
        _curve_table(found, _some(found.points), only=TEXT_AND_PAGE),
        _bins_table(found.bins),
        Paragraph(lines=found.said),
    )
    return Section(
        key="confidence", title="What the stated confidence is worth", blocks=blocks, tab="metrics", place="bottom"
    )


def _curve_table(found: ConfidenceView, points: Iterable[RiskPoint], *, only: frozenset[Medium]) -> Table:
    titles = columns(
        Column(title="threshold", long="answered from this confidence up", right=True),
        "answered",
        "wrong",
        Column(title="coverage", strong=True),
        Column(title="risk", strong=True),
        *(Column(title=name) for name in found.score_names),
    )

    def line(point: RiskPoint) -> tuple[Cell, ...]:
        scores = (Number(value=score, text=f"{score:,.3f}", style="number") for score in point.scores)
        return (
            Number(value=point.threshold, text=f"{point.threshold:.4g}", style="number"),
            _count(point.answered),
            _count(point.wrong),
            _share(point.coverage),
            _share(point.risk),
            *scores,
        )

    return Table(
        title="If the system declined what it is less sure of",
        columns=titles,
        rows=rows(map(line, points)),
        look="grid",
        only=only,
    )


def _bins_table(bins: Iterable[CalibrationBin]) -> Table:
    def line(one: CalibrationBin) -> tuple[Cell, ...]:
        mean, right = one.mean_confidence or 0.0, one.right / one.n
        gap = right - mean
        return (
            f"{one.low:.1f} to {one.high:.1f}",
            _count(one.n),
            _share(mean),
            _share(right),
            Number(value=gap, text=f"{gap * 100:+.1f} points", style="percent"),
        )

    titles = columns("confidence", "answers", "mean confidence", Column(title="accuracy", strong=True), "difference")
    return Table(title="Confidence and accuracy", columns=titles, rows=rows(map(line, bins)), look="grid")


def _some(points: tuple[RiskPoint, ...]) -> tuple[RiskPoint, ...]:
    """Points evenly spread over the curve, its ends among them."""
    if len(points) <= _SHOWN:
        return points
    places = sorted({round(number * (len(points) - 1) / (_SHOWN - 1)) for number in range(_SHOWN)})
    return tuple(points[place] for place in places)


def conversation_sections(found: ConversationsView | None) -> Iterable[Section]:
    """Whole conversations, and their turns by place."""
    if found is None:
        return
    whole = Row(cells=(Name(text="all turns right", strong=True), found.whole, None), strong=True)
    turns = (Row(cells=(Name(text=name), figure, _count(first))) for name, figure, first in found.turns)
    table = Table(
        columns=columns(
            "conversations", Column(title="value", counted="of"), Column(title="first wrong here", only=EVERYWHERE)
        ),
        rows=(whole, *turns),
        look="figures",
        most={"plain": 8, "narrow": 8, "wide": 12, "comment": 25},
    )
    named = Table(
        columns=columns("wrong in some turn"),
        rows=rows([(Names(names=found.failed),)]) if found.failed else (),
        look="counts",
        wraps=True,
        only=TEXT_AND_PAGE if found.failed else frozenset(),
    )
    yield Section(key="conversations", title="Conversations", blocks=(table, named), rank=1)


def _count(number: int, link: Link = ()) -> Number:
    return Number(value=number, text=f"{number:,}", link=link)


def _share(value: float) -> Number:
    return Number(value=value, text=percent(value), style="percent")
