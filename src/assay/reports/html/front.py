"""The first screen of a page: tiles, and the parts of the page that its tabs lead to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from assay.reports.blocks.values import Section, Tab
from assay.reports.views.run import RunView


class Part(Struct, frozen=True, kw_only=True):
    """What stands under one tab: over the whole width, then as cards in columns, then over the whole width again."""

    name: Tab
    title: str
    top: tuple[Section, ...]
    cards: tuple[Section, ...]
    bottom: tuple[Section, ...]


class Tile(Struct, frozen=True, kw_only=True):
    """One count next to the headline; ``tone`` is a class of the style sheet, ``link`` None where no case has it."""

    count: int
    label: str
    mark: str
    tone: str
    link: tuple[str, str] | None


def parts(sections: Sequence[Section], *, run: str = "Run", metrics: str = "Metrics") -> tuple[Part, ...]:
    """The parts of a page, the overview first; a part in which nothing stands is left out, but for the overview.

    ``run`` and ``metrics`` are the titles of those tabs.
    """
    titles: dict[Tab, str] = {"overview": "Overview", "metrics": metrics, "causes": "Causes", "run": run}

    def part(name: Tab) -> Part:
        own = [one for one in sections if one.tab == name]
        return Part(
            name=name,
            title=titles[name],
            top=tuple(one for one in own if one.place == "top"),
            cards=tuple(sorted((one for one in own if one.place == "columns"), key=lambda one: one.rank)),
            bottom=tuple(one for one in own if one.place == "bottom"),
        )

    made = map(part, titles)
    return tuple(one for one in made if one.name == "overview" or one.top or one.cards or one.bottom)


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
