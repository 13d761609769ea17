"""No table hides a part of its text at the widths of phones, tablets and screens, in light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import browser_runs as runs
import pytest
from browser_window import Look, Opened, written

import assay
from assay.reports.html.diff import diff_page
from assay.reports.html.leaderboard import leaderboard_page
from assay.reports.html.run import HtmlReporter
from assay.reports.lint import lint_html
from assay.runs.compare.diff import diff_runs
from assay.runs.compare.leaderboard import rank

if TYPE_CHECKING:
    from assay.model import Run


WIDTHS = (390, 768, 1024, 1280, 1920)
NAMES = (
    "gpt-4.1-2025-04-14 few-shot, schema linking, self-consistency of five",
    "anthropic/claude-sonnet-4-5-20250929 with the whole schema and samples",
    "runs_of_the_text_to_sql_system_version_12_of_2025_11_28",
    "qwen2.5-coder",
)
_CUTS = (Path(__file__).parent / "cuts.js").read_text(encoding="utf-8").partition("*/")[2].strip()


def cuts(opened: Opened) -> list[str]:
    """What is cut off at any of the widths."""
    found: list[str] = []
    for width in WIDTHS:
        opened.page.set_viewport_size({"width": width, "height": 900})
        opened.page.evaluate("() => new Promise((done) => setTimeout(() => requestAnimationFrame(done), 60))")
        found += [f"{width}: {cut}" for cut in opened.page.evaluate(_CUTS)]
    return found


@pytest.fixture(scope="session")
def wide(run: Run, folder: Path) -> dict[str, Path]:
    """Pages of realistic runs whose names and ids are long, and whose tables have many columns."""
    ids = [f"c48d7624-d376-48ca-b2d8-{number:012}" for number in range(len(runs.CASES))]
    cases = [{**case, "id": id_} for case, id_ in zip(runs.CASES, ids, strict=True)]
    answers = {id_: runs.ANSWERS[str(case["id"])] for case, id_ in zip(runs.CASES, ids, strict=True)}
    with_ids = assay.evaluate(cases, answers, databases=runs.shop(folder), workers=1, name=NAMES[0]).record
    broken = [{**case, "gold_sql": "SELECT nothing FROM nowhere"} for case in runs.CASES]
    mixed = [*({**case, "id": f"x-{case['id']}"} for case in broken), *runs.CASES]
    named = [runs.renamed(run, name) for name in NAMES]
    drawn = {
        "ids": HtmlReporter().render(with_ids),
        "board": leaderboard_page(rank(named, detailed=True)),
        "diff": diff_page(diff_runs(named[0], named[1]), named[0], named[1]),
        "lint": lint_html(assay.lint(mixed, databases=runs.shop(folder), workers=1)),
    }
    return {name: written(folder / f"cuts-{name}.html", content) for name, content in drawn.items()}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["report", "sdmx", "ids", "board", "diff", "lint"])
def test_no_text_is_cut_off_in_any_table(
    name: str, dark: bool, look: Look, wide: dict[str, Path], request: pytest.FixtureRequest
) -> None:
    file = wide[name] if name in wide else request.getfixturevalue(name)
    opened = look(file, "", dark=dark, ready=name not in ("board", "lint"))
    opened.all_parts().has("document.querySelectorAll('main details').forEach((part) => part.open = true)")
    assert cuts(opened) == []


@pytest.mark.parametrize("name", ["report", "sdmx", "ids"])
def test_no_text_is_cut_off_in_the_table_of_cases(
    name: str, look: Look, wide: dict[str, Path], request: pytest.FixtureRequest
) -> None:
    file = wide[name] if name in wide else request.getfixturevalue(name)
    assert cuts(look(file, "#tab=cases")) == []


def test_the_table_of_a_lint_counts_what_its_head_counts_on_a_phone(look: Look, wide: dict[str, Path]) -> None:
    opened = look(wide["lint"], "", size=(390, 900), ready=False)
    errors = opened.page.inner_text(".figure span").split("· ")[1].split(" ")[0]
    shown = opened.has(
        "[...document.querySelectorAll('.lint-counts tr.all td[data-title=errors]')]"
        ".map((cell) => [cell.textContent, cell.getBoundingClientRect().right <= innerWidth])"
    )
    assert shown == [[errors, True]]


def test_the_look_at_a_table_sees_what_is_cut(look: Look, report: Path) -> None:
    opened = look(report, "#tab=cases")
    assert cuts(opened) == []
    opened.styled(".row .badges > * { max-width: .8rem; overflow: hidden; }")
    assert any("pill" in cut for cut in cuts(opened))
