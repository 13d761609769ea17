"""The sections of a leaderboard."""

from __future__ import annotations

from collections.abc import Iterable

from assay.reports.sections.values import (
    Cell,
    Column,
    Facts,
    Matrix,
    Medium,
    Name,
    Number,
    Paragraph,
    Section,
    Table,
    columns,
    rows,
)
from assay.reports.views.leaderboard import LeaderboardView, PairFigure
from assay.reports.views.leaderboard_build import SAME
from assay.reports.views.run import Fact

_MATRIX, _ROWS = 12, 100
_WRITTEN: frozenset[Medium] = frozenset({"plain", "comment"})
_PAIRS = 45
"""How many pairs plain lines show: those of ten runs."""


def leaderboard_sections(view: LeaderboardView) -> tuple[Section, ...]:
    """Every section below the answer of a leaderboard."""
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
    runs = (Facts(rows=facts),)
    yield Section(key="runs", title="The runs", blocks=runs, only=_WRITTEN - {"plain"}, folded=_WRITTEN - {"plain"})


def _ranking(view: LeaderboardView) -> Section:
    table = Table(
        columns=columns(
            Column(title="place", right=True, strong=True),
            Column(title="possible", right=True),
            "letters",
            "run",
            Column(title=view.metric, bar="range", parts="tally"),
        ),
        rows=rows(
            (row.place, row.possible, row.letters, Name(text=row.label, strong=True), row.figure)
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
    def line(pair: PairFigure) -> tuple[Cell, ...]:
        said = (pair.difference, pair.interval, pair.p_value, pair.adjusted_p_value, "yes" if pair.apart else "no")
        return Name(text=pair.first), Name(text=pair.second), *said

    titles = columns("run", "against", Column(title="points", right=True), "interval", "p", "adjusted p", "told apart")
    most: dict[Medium, int] = {"plain": _PAIRS, "comment": _ROWS}
    table = Table(columns=titles, rows=rows(map(line, view.pairs)), more="more in the JSON report", most=most)
    return Section(key="pairs", title="Every pair", blocks=(table,), only=_WRITTEN, folded=_WRITTEN - {"plain"})
