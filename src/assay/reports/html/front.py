"""What leads the page of a run, and where: cards in two columns of about the same height."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from assay.reports.views.run import CountRow, GroupRow, GroupTable, RunView, most_cases

GROUP_ROWS = {"database": 20, "tag": 12, "dataset": 20}
COUNT_ROWS = 12
_CARD, _ROW, _TWO_LINES = 92, 30, 50
"""About how high things are, in pixels: only the balance of the columns depends on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One card of the page; of ``table`` and ``counts`` the one that its kind says."""

    kind: Literal["groups", "repeats", "metrics", "cross", "counts"]
    height: int
    order: int = 0
    """Where it stands in one column, on a narrow screen, from 1 on."""
    table: GroupTable | None = None
    rows: tuple[GroupRow, ...] = ()
    folded: tuple[GroupRow, ...] = ()
    title: str = ""
    anchor: str = ""
    counts: tuple[CountRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One count beside the headline; ``tone`` is a class of the style sheet, ``link`` None where there is no case."""

    count: int
    label: str
    mark: str
    tone: str
    link: tuple[str, str] | None


def tiles(view: RunView) -> Iterable[Tile]:
    """What became of the answers, and how much of it is gold's fault."""
    for name, mark, count in (
        ("correct", "✓", view.correct),
        ("incorrect", "✗", view.incorrect),
        ("unscored", "–", view.unscored),
    ):
        yield Tile(count=count, label=name, mark=mark, tone=name if count else "", link=_link(count, "show", name))
    silent = [row.facet for row in view.failures if row.name == "unanswered" and row.facet is not None]
    link = silent[0] if view.unanswered and silent else None
    yield Tile(count=view.unanswered, label="unanswered", mark="∅", tone="", link=link)
    broken = [
        row for row in view.failures if row.blame in ("gold", "target") and row.name not in ("no gold", "no target")
    ]
    if broken:
        cases = {case.anchor for row in broken for case in row.cases}
        label = f"broken {broken[0].blame}"
        # Of several kinds no one filter shows them all: their table names each.
        link = broken[0].facet if len(broken) == 1 else None
        yield Tile(count=len(cases), label=label, mark="!", tone="unscored", link=link or ("failures", ""))


def _link(count: int, facet: str, value: str) -> tuple[str, str] | None:
    return (facet, value) if count else None


def two_columns(view: RunView) -> tuple[list[Card], list[Card]]:
    """The cards, what matters most first; each goes where the column is shorter, the first one to the left."""
    columns: tuple[list[Card], list[Card]] = ([], [])
    heights = [0, 0]
    for order, card in enumerate(_cards(view), start=1):
        side = 0 if heights[0] <= heights[1] else 1
        columns[side].append(replace(card, order=order))
        heights[side] += card.height
    return columns


def _cards(view: RunView) -> Iterable[Card]:
    tables = () if view.selection else view.groups
    yield from (_groups(table) for table in tables if table.kind in ("difficulty", "database"))
    if view.repeats:
        yield Card(kind="repeats", height=_CARD + 2 * _ROW * len(view.repeats.rows))
    yield Card(kind="metrics", height=_CARD + _TWO_LINES * len(view.metrics))
    if view.cross:
        pairs = sum(1 for row in view.disagreements if row.leading)
        yield Card(kind="cross", height=_CARD + _ROW * (len(view.cross.metrics) + 2 + 2 * pairs))
    for title, rows in view.count_tables:
        height = _CARD + _TWO_LINES * min(len(rows), COUNT_ROWS)
        anchor = "failures" if rows is view.failures else ""
        yield Card(kind="counts", height=height, title=title, anchor=anchor, counts=tuple(rows))
    yield from (_groups(table) for table in tables if table.kind not in ("difficulty", "database"))


def _groups(table: GroupTable) -> Card:
    rows, folded = leading_rows(table)
    height = _CARD + _ROW * (len(rows) + bool(folded))
    return Card(kind="groups", height=height, table=table, rows=rows, folded=folded)


def leading_rows(table: GroupTable) -> tuple[tuple[GroupRow, ...], tuple[GroupRow, ...]]:
    """The rows to show and those to fold away.

    Difficulties and turns keep their order. Databases and tags are in that of the headline, the lowest first: there
    is most to win; of many those with most cases are shown.
    """
    if table.kind in ("difficulty", "turn"):
        return table.rows, ()
    shown = most_cases(table, GROUP_ROWS[table.kind])
    kept = {row.name for row in shown}
    return _lowest_first(shown), _lowest_first([row for row in table.rows if row.name not in kept])


def _lowest_first(rows: Sequence[GroupRow]) -> tuple[GroupRow, ...]:
    def place(row: GroupRow) -> tuple[bool, float, int]:
        value = row.headline.rate.value
        return value is None, 0.0 if value is None else value, -row.cases

    return tuple(sorted(rows, key=place))
