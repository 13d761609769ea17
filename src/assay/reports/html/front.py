"""The first screen of a page: tiles, and the parts of the page that its tabs lead to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from assay.reports.blocks.run import RunReport
from assay.reports.blocks.values import Section, Tab


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


def tiles(report: RunReport) -> Iterable[Tile]:
    """The counts of outcomes, and how many of them are gold's fault."""
    numbers = report.numbers
    for name, mark, count in (
        ("correct", "✓", numbers.correct),
        ("incorrect", "✗", numbers.incorrect),
        ("unscored", "–", numbers.unscored),
    ):
        yield Tile(count=count, label=name, mark=mark, tone=name if count else "", link=_link(count, "show", name))
    failures = [(*report.failure(one), one.case_ids) for one in numbers.failures]
    silent = [("failure", f"{blame}: {name}") for blame, name, _ in failures if name == "unanswered"]
    link = silent[0] if numbers.unanswered and silent else None
    yield Tile(count=numbers.unanswered, label="unanswered", mark="∅", tone="", link=link)
    broken = [one for one in failures if one[0] in ("gold", "target") and one[1] not in ("no gold", "no target")]
    if broken:
        blame, name, _ = broken[0]
        cases = {case.anchor for *_, case_ids in broken for case in report.linked(case_ids)}
        # No single filter shows several kinds of failure: the link leads to their table.
        link = ("failure", f"{blame}: {name}") if len(broken) == 1 else ("failures", "")
        yield Tile(count=len(cases), label=f"broken {blame}", mark="!", tone="unscored", link=link)


def _link(count: int, facet: str, value: str) -> tuple[str, str] | None:
    return (facet, value) if count else None
