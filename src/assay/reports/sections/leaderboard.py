"""The sections of a leaderboard."""

from __future__ import annotations

from collections.abc import Iterable

from assay.reports.sections.values import Column, Facts, Matrix, Name, Number, Paragraph, Row, Section, Table
from assay.reports.views.leaderboard import LeaderboardView
from assay.reports.views.leaderboard_build import SAME
from assay.reports.views.run import Fact

_MATRIX, _ROWS = 12, 100
_PAIRS = 45
"""Of the pairs so many are written as plain lines: those of ten runs."""


def leaderboard_sections(view: LeaderboardView) -> tuple[Section, ...]:
    """All that a leaderboard has beneath its answer."""
    return tuple(_sections(view))


def _sections(view: LeaderboardView) -> Iterable[Section]:
    if view.standings:
        yield _ranking(view)
    if view.pairs:
        yield _matrix(view)
        yield _pairs(view)
    if view.legend:
        yield Section(key="legend", title="How to read it", blocks=(Paragraph(lines=view.legend),))
    facts = tuple(
        Fact(name=row.label, value=", ".join(f"{fact.name} {fact.value}" for fact in row.facts))
        for row in view.standings[:_ROWS]
    )
    runs, comment = (Facts(rows=facts),), frozenset({"comment"})
    yield Section(key="runs", title="The runs", blocks=runs, only=comment, folded=comment)  # type: ignore[arg-type]


def _ranking(view: LeaderboardView) -> Section:
    table = Table(
        columns=(
            Column(title="place", right=True, strong=True),
            Column(title="possible", right=True),
            Column(title="letters"),
            Column(title="run"),
            Column(title=view.metric, bar="range", parts="tally"),
        ),
        rows=tuple(
            Row(cells=(row.place, row.possible, row.letters, Name(text=row.label, strong=True), row.figure))
            for row in view.standings
        ),
        most={"comment": _ROWS},
    )
    return Section(key="ranking", title="Ranking", blocks=(table,))


def _matrix(view: LeaderboardView) -> Section:
    matrix = Matrix(
        names=tuple(row.label for row in view.standings),
        cells=tuple(
            tuple(None if cell is None else Number(value=float(cell != SAME), text=cell) for cell in line)
            for line in view.matrix
        ),
        caption=(
            "By how many points the run of a line lies above (+) or below (-) that of a column; "
            f"{SAME} cannot be told apart."
        ),
        most=_MATRIX,
    )
    return Section(key="apart", title="Who can be told apart", blocks=(matrix,))


def _pairs(view: LeaderboardView) -> Section:
    table = Table(
        columns=(
            Column(title="run"),
            Column(title="against"),
            Column(title="points", right=True),
            Column(title="interval"),
            Column(title="p"),
            Column(title="adjusted p"),
            Column(title="told apart"),
        ),
        rows=tuple(
            Row(
                cells=(
                    Name(text=pair.first),
                    Name(text=pair.second),
                    pair.difference,
                    pair.interval,
                    pair.p_value,
                    pair.adjusted_p_value,
                    "yes" if pair.apart else "no",
                )
            )
            for pair in view.pairs
        ),
        more="more in the JSON report",
        most={"plain": _PAIRS, "comment": _ROWS},
    )
    return Section(
        key="pairs",
        title="Every pair",
        blocks=(table,),
        only=frozenset({"plain", "comment"}),
        folded=frozenset({"comment"}),
    )
