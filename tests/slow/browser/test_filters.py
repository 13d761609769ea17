"""Every filter says in full what it filters, and its counts are those of the cases that the other filters leave."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from browser_window import Look, Opened

_JS = dict(
    re.findall(
        r"^/\* (\w+)[^*]*\*/\n(.*?)(?=^/\*|\Z)",
        (Path(__file__).parent / "filters.js").read_text(encoding="utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )
)
_STATE, _CUT, _SHOWN, _FIGURES = (_JS[name].strip() for name in ("state", "cut", "shown", "figures"))


def _counted(text: str) -> int:
    return int(text.rpartition("(")[2].rstrip(")").replace(",", ""))


def _shown_with(opened: Opened, chosen: dict[str, str]) -> int:
    """How many cases the table shows with these filters: by loading the address that sets them."""
    address = "&".join(f"{name}={value}" for name, value in chosen.items()).replace(" ", "%20")
    opened.page.evaluate("(hash) => { location.hash = hash; }", address or "tab=cases")
    opened.settle()
    return opened.shown


def test_every_count_is_what_choosing_it_shows(look: Look, report: Path) -> None:
    """The oracle is the table itself: each choice of each filter is made, beside filters that were set before."""
    opened = look(report)
    generator = random.Random(36)
    first = opened.has(_STATE)
    values = {name: list(facet["counts"]) for name, facet in first["facets"].items()}
    assert len(values) > 4
    counted = 0
    for _ in range(6):
        others = {name: generator.choice(values[name]) for name in generator.sample(sorted(values), 2)}
        if generator.random() < 0.5:
            others["show"] = generator.choice(["correct", "incorrect"])
        if generator.random() < 0.5:
            others["q"] = generator.choice(["city", "name", "client"])
        _shown_with(opened, others)
        told = opened.has(_STATE)
        for name, facet in told["facets"].items():
            for value, text in generator.sample(sorted(facet["counts"].items()), min(2, len(facet["counts"]))):
                assert _shown_with(opened, others | {name: value}) == _counted(text), (others, name, value)
                counted += 1
        for state, number in told["states"].items():
            rest = {name: value for name, value in others.items() if name != "show"}
            wanted = rest if state == "all" else rest | {"show": state}
            assert _shown_with(opened, wanted) == int(number), (others, state)
    assert counted > 40
    opened.quiet()


def test_counts_follow_a_search_and_the_range_of_a_metric(look: Look, report: Path) -> None:
    opened = look(report)
    opened.page.fill("#cases-search", "york")
    opened.settle()
    told = opened.has(_STATE)
    assert int(told["states"]["all"]) == opened.shown < 12
    assert sum(map(_counted, told["facets"]["difficulty"]["counts"].values())) == opened.shown
    opened.page.fill("#cases-search", "")
    opened.page.select_option("#cases-metric", "match")
    opened.page.fill("#cases-low", "1")
    opened.settle()
    told = opened.has(_STATE)
    assert told["states"]["incorrect"] == "0"
    assert int(told["states"]["all"]) == int(told["states"]["correct"]) == opened.shown > 0


@pytest.mark.parametrize("width", [320, 375, 768, 1240, 1920])
def test_every_filter_names_in_full_what_it_filters(look: Look, report: Path, board: Path, width: int) -> None:
    opened = look(report, size=(width, 900), dark=width == 768)
    opened.has("document.getElementById('cases-more').open = true")
    told = opened.has(_STATE)
    for facet in told["facets"].values():
        assert facet["shown"] == f"{facet['label']}: any"
    assert opened.has(_CUT) == []
    labels = [facet["label"] for facet in told["facets"].values()]
    assert len(labels) == len(set(labels))
    opened.page.select_option("#cases-facets select[data-facet=difficulty]", "easy")
    opened.page.select_option("#cases-metric", "match")
    opened.page.select_option("#cases-sort", "-id")
    chosen = opened.has(_SHOWN)
    assert {"Difficulty: easy (4)", "Metric: match", "Order: id, last first"} <= set(chosen)
    assert opened.page.inner_text("#cases-facets label:first-of-type").strip() == "match from"
    assert opened.has(_CUT) == []
    listed = look(board, size=(width, 900))
    listed.page.select_option("#cases-state", "differ")
    listed.page.select_option("#cases-difficulty", label="hard")
    shown = listed.has(_SHOWN)
    assert shown[0] == "Cases: they disagree"
    assert "Difficulty: hard" in shown
    assert all(": " in one for one in shown)
    assert listed.has(_CUT) == []


@pytest.mark.parametrize("width", [320, 375, 768, 1240, 1920])
def test_a_leaderboard_shows_its_figure_without_scrolling_sideways(look: Look, board: Path, width: int) -> None:
    opened = look(board, size=(width, 800), dark=width == 375)
    boxes, slides = opened.has(_FIGURES)
    assert len(boxes) == 3
    for cells in boxes:
        assert all(all(cell[:3]) for cell in cells), boxes
        assert "%" in cells[2][3]
    assert not slides
