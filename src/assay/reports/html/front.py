"""The first screen of a run's page: tiles, and cards in two columns of about the same height."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.reports.sections.values import Block, Matrix, Section, Table
from assay.reports.views.run import RunView

_CARD, _ROW, _TWO_LINES = 92, 30, 50
"""Approximate heights in pixels, used only to balance the columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A section in one of the columns; ``order`` is its place from 1 on a narrow screen with a single column."""

    section: Section
    height: int
    order: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One count next to the headline; ``tone`` is a class of the style sheet, ``link`` None where no case has it."""

    count: int
    label: str
    mark: str
    tone: str
    link: tuple[str, str] | None


def tiles(view: RunView) -> Iterable[Tile]:
    """The counts of outcomes, and how many of them are gold's fault."""
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
        # No single filter shows several kinds of failure: the link leads to their table.
        link = broken[0].facet if len(broken) == 1 else None
        yield Tile(count=len(cases), label=label, mark="!", tone="unscored", link=link or ("failures", ""))


def _link(count: int, facet: str, value: str) -> tuple[str, str] | None:
    return (facet, value) if count else None


def two_columns(sections: Sequence[Section]) -> tuple[list[Card], list[Card]]:
    """The cards, the most important first; each goes into the shorter column, the first one to the left."""
    columns: tuple[list[Card], list[Card]] = ([], [])
    heights = [0, 0]
    cards = sorted((one for one in sections if one.place == "columns"), key=lambda one: one.rank)
    for order, section in enumerate(cards, start=1):
        side = 0 if heights[0] <= heights[1] else 1
        height = _CARD + sum(map(_height, section.blocks_for("page")))
        columns[side].append(Card(section=section, height=height, order=order))
        heights[side] += height
    return columns


def _height(block: Block) -> int:
    if isinstance(block, Table):
        shown, hidden = block.shown("page")
        # Two lines per row: a name and its meaning, or a figure from each of two columns.
        high = block.look == "counts" or (block.look == "figures" and len(block.for_medium("page").columns) > 2)
        return (_TWO_LINES if high else _ROW) * len(shown) + (_ROW if hidden else 0)
    return _ROW * (len(block.names) + 2) if isinstance(block, Matrix) else 0
