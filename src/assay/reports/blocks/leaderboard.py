"""The sections of a leaderboard."""

from __future__ import annotations

from collections.abc import Iterable

from assay.reports.blocks.values import (
    Cell,
    Column,
    Facts,
    Matrix,
    Medium,
    Name,
    Names,
    Number,
    Paragraph,
    Section,
    Table,
    columns,
    rows,
)
from assay.reports.views.leaderboard import LeaderboardView, PairFigure, RateGrid
from assay.reports.views.leaderboard_build import SAME

_MATRIX, _ROWS, _COLUMNS = 12, 100, 12
_WRITTEN: frozenset[Medium] = frozenset({"plain", "comment"})
_MEANT = {"time": "time: the median of an answer", "tokens": "tokens: per answer", "cost": "cost: of all answers"}
_PAIRS = 45
"""How many pairs plain lines show: those of ten runs."""


def leaderboard_sections(view: LeaderboardView) -> tuple[Section, ...]:
    """Every section below the answer of a leaderboard."""
    return tuple(_sections(view))


def _sections(view: LeaderboardView) -> Iterable[Section]:
    if view.standings:
        yield _ranking(view)
    yield from map(_grid, [view] * len(view.grids), view.grids)
    if view.pairs:
        yield _matrix(view)
    if view.alone:
        yield _alone(view)
        yield _only_right(view)
    if view.pairs:
        yield _pairs(view)
    if view.legend:
        yield Section(key="legend", title="How to read it", blocks=(Paragraph(lines=view.legend),))
    facts = tuple(
        (row.label, ", ".join(f"{name} {value}" for name, value in row.facts)) for row in view.standings[:_ROWS]
    )
    runs = (Facts(rows=facts),)
    yield Section(key="runs", title="The runs", blocks=runs, only=_WRITTEN - {"plain"}, folded=_WRITTEN - {"plain"})


def _ranking(view: LeaderboardView) -> Section:
    extra = [
        (title, name)
        for title, name in (("time", "time"), ("tokens", "tokens"), ("cost", "cost"))
        if any(getattr(row, name) for row in view.standings)
    ]
    minor = [Column(title=title, right=True, minor=True, rank=1) for title, _ in extra]
    table = Table(
        look="grid",
        columns=columns(
            Column(title="place", right=True, strong=True),
            Column(title="possible", right=True),
            "letters",
            "run",
            Column(title=view.metric, bar="range", parts="tally"),
            *minor,
        ),
        rows=rows(
            (
                row.place,
                row.possible,
                row.letters,
                Name(text=row.label, strong=True),
                row.figure,
                *(getattr(row, name) for _, name in extra),
            )
            for row in view.standings
        ),
        most={"comment": _ROWS},
        foot="; ".join(_MEANT[title] for title, _ in extra),
    )
    return Section(key="ranking", title="Ranking", blocks=(table,), place="top")


def _grid(view: LeaderboardView, grid: RateGrid) -> Section:
    """Every run's rates; where there are many columns, those of the most cases."""
    most = _COLUMNS
    kept = sorted(range(len(grid.columns)), key=lambda at: -(grid.cases[at] if grid.cases else 0))[:most]
    kept.sort()
    heads = [Column(title=grid.columns[at], right=True, rank=place) for place, at in enumerate(kept)]
    table = Table(
        look="grid",
        columns=columns("run", *heads),
        rows=rows(
            (
                Name(text=row.label),
                *(
                    Number(
                        value=line[at].rate.value, text=line[at].text, style="percent" if line[at].share else "number"
                    )
                    for at in kept
                ),
            )
            for row, line in zip(view.standings, grid.cells, strict=True)
        )
        + (
            rows([("cases", *(Number(value=float(grid.cases[at]), text=f"{grid.cases[at]:,}") for at in kept))])
            if grid.cases
            else ()
        ),
        most={"comment": _ROWS},
    )
    left = len(grid.columns) - len(kept)
    aside = f"the {len(kept)} of {len(grid.columns):,} with the most cases" if left and grid.cases else ""
    if grid.cases:
        aside = f"{view.metric}; {aside}" if aside else view.metric
    return Section(
        key=f"grid-{grid.key}",
        title=grid.title,
        aside=aside,
        blocks=(table,),
        place="top",
        folded=frozenset({"comment"}),
    )


def _alone(view: LeaderboardView) -> Section:
    def count(ids: tuple[str, ...]) -> Number:
        return Number(value=float(len(ids)), text=f"{len(ids):,}")

    titles = columns(
        "run",
        Column(title="alone right", right=True),
        Column(title="which", rank=2),
        Column(title="alone wrong", right=True),
        Column(title="which", rank=1),
    )
    table = Table(
        columns=titles,
        rows=rows(
            (Name(text=row.label), count(row.right), Names(names=row.right), count(row.wrong), Names(names=row.wrong))
            for row in view.alone
        ),
        most={"comment": _ROWS},
    )
    said = Paragraph(lines=(view.agreed,))
    return Section(
        key="alone",
        title="Who alone is right, who alone is wrong",
        blocks=(table, said),
        place="top",
        folded=frozenset({"comment"}),
    )


def _only_right(view: LeaderboardView) -> Section:
    matrix = Matrix(
        names=tuple(row.label for row in view.standings),
        cells=tuple(
            tuple(None if count is None else Number(value=float(count), text=f"{count:,}") for count in line)
            for line in view.only_right
        ),
        caption="How many cases the run of a line has right and that of a column wrong.",
        most=_MATRIX,
    )
    return Section(key="disagree", title="Where two runs disagree", blocks=(matrix,), folded=frozenset({"comment"}))


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
