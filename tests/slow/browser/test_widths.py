"""At every width between a phone and a wide screen: nothing cut, nothing over its neighbour, no sideways scroll.

One load of a page is resized through all widths; each width is one look at every element, so that this stays cheap.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import browser_runs as runs
import pytest
from browser_window import Look, Opened, written

import assay
from assay.reports.html.diff import diff_page
from assay.reports.html.history import runs_html
from assay.reports.html.leaderboard import leaderboard_page
from assay.reports.html.run import HtmlReporter
from assay.reports.lint import lint_html
from assay.runs.compare.diff import diff_runs
from assay.runs.compare.leaderboard import rank
from assay.runs.store.history import point_of

if TYPE_CHECKING:
    from assay.model import Run


WIDTHS = range(360, 1921, 40)
_SIZES = 6

_WRONG = (Path(__file__).parent / "widths.js").read_text(encoding="utf-8").partition("*/")[2].strip()


def faults(opened: Opened, widths: range = WIDTHS) -> tuple[list[str], dict[str, str]]:
    """What is wrong at any width, and every size of text with an element that has it."""
    found: list[str] = []
    sizes: dict[str, str] = {}
    for width in widths:
        opened.page.set_viewport_size({"width": width, "height": 900})
        # Two frames: what follows the window's width has followed it.
        opened.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        seen = opened.page.evaluate(_WRONG)
        found += [f"{width}: {one}" for one in seen["wrong"]]
        sizes |= seen["sizes"]
    return found, sizes


@pytest.fixture(scope="session")
def pages(run: Run, folder: Path) -> dict[str, Path]:
    """Every kind of page, and runs of extremes."""
    later = runs.real_run(folder, runs.LATER, "second")
    extreme, one, none = runs.extreme_run(run), runs.first_of(run, 1), runs.first_of(run, 0)
    drawn = {
        "extreme": HtmlReporter().render(extreme),
        "one": HtmlReporter().render(one),
        "none": HtmlReporter().render(none),
        "extreme diff": diff_page(diff_runs(extreme, extreme), extreme, extreme),
        "one diff": diff_page(diff_runs(one, one), one, one),
        "extreme board": leaderboard_page(rank([extreme, runs.renamed(extreme, "b" * 90)], detailed=True)),
        "deciding": HtmlReporter().render(runs.deciding_run(folder)),
        "lint": lint_html(assay.lint(runs.CASES, databases=runs.shop(folder), workers=1)),
        "runs": runs_html([point_of(run), point_of(later), point_of(extreme)], folder="x" * 120),
    }
    return {name: written(folder / f"widths-{name.replace(' ', '-')}.html", content) for name, content in drawn.items()}


CLOSELY, LOOSELY = WIDTHS, range(360, 1921, 120)
VIEWS = {
    **dict.fromkeys(("report", "extreme", "diff", "sdmx", "deciding", "board"), CLOSELY),
    **dict.fromkeys(("extreme diff", "extreme board", "repeated", "witnessed"), LOOSELY),
    **dict.fromkeys(("one", "none", "one diff", "runs", "lint"), LOOSELY),
}


@pytest.mark.parametrize("name", VIEWS)
def test_nothing_is_cut_and_nothing_lies_over_another_at_any_width(
    name: str, look: Look, pages: dict[str, Path], request: pytest.FixtureRequest
) -> None:
    file = pages[name] if name in pages else request.getfixturevalue(name)
    opened = look(file, ready=name not in ("runs", "lint"))
    # All parts at once, as they stand without tabs: one look sees them all.
    opened.all_parts()
    found, sizes = faults(opened, VIEWS[name])
    assert found[:12] == [], len(found)
    assert len(sizes) <= _SIZES, sizes
    opened.quiet()


def test_an_open_case_has_the_same_few_sizes_and_fits(look: Look, report: Path, sdmx: Path) -> None:
    sizes: dict[str, str] = {}
    for file, fragment in ((report, "#case=c-02"), (report, "#case=c-11"), (sdmx, "#case=talk")):
        opened = look(file, fragment)
        opened.open_case()
        found, seen = faults(opened, range(360, 1921, 120))
        assert found[:12] == []
        sizes |= seen
    assert len(sizes) <= _SIZES, sizes


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (".tile { padding-right: 90rem; }", "the page scrolls sideways"),
        (".figures td { min-width: 30rem; }", "out of its card"),
        (".card { margin-bottom: -2rem; }", "over its neighbour"),
        (".counts th { display: block; width: 2rem; overflow: hidden; white-space: nowrap; }", "cut"),
        (".quiet { font-size: 13px; }", "sizes"),
    ],
)
def test_the_look_at_a_page_sees_what_is_wrong_with_it(rule: str, said: str, look: Look, report: Path) -> None:
    opened = look(report, "")
    opened.all_parts()
    _, before = faults(opened, range(820, 821))
    opened.styled(rule)
    found, after = faults(opened, range(820, 821))
    assert len(after) == len(before) + 1 if said == "sizes" else any(said in one for one in found), found[:9]
