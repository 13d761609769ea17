"""For everybody: with a screen reader, in the dark, on a phone, on paper, without motion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser_window import PHONE, Look

VIEWS = [
    *(("report", one) for one in ("", "#tab=cases", "#tab=metrics", "#tab=causes", "#tab=run", "#case=c-02")),
    ("report", "#show=incorrect&columns=tag&columns=metric%3Amatch&sort=-id&flag=gone"),
    *(("witnessed", one) for one in ("", "#case=c-09")),
    *(("diff", one) for one in ("", "#tab=metrics", "#case=c-01")),
    *(("sdmx", one) for one in ("", "#tab=causes", "#case=talk")),
    ("board", ""),
]


@pytest.mark.parametrize(("name", "fragment"), VIEWS, ids=[f"{name}{fragment}" for name, fragment in VIEWS])
def test_axe_finds_nothing(name: str, fragment: str, look: Look, axe: str, request: pytest.FixtureRequest) -> None:
    opened = look(request.getfixturevalue(name), fragment)
    if "case=" in fragment:
        opened.open_case()
    opened.page.evaluate(axe)

    def found(shape: str, options: str = "{}") -> list[tuple[str, ...]]:
        result: dict[str, Any] = opened.page.evaluate(f"() => axe.run(document, {options})")
        assert len(result["passes"]) > 0
        return [
            (shape, one["id"], node["html"][:120], node["failureSummary"])
            for one in result["violations"]
            for node in one["nodes"]
        ]

    told = found("light")
    opened.page.emulate_media(color_scheme="dark")
    told += found("dark", "{runOnly: ['color-contrast', 'link-in-text-block']}")
    opened.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    told += found("phone, dark")
    assert told == []


def test_rows_and_their_state_are_told_to_screen_readers(look: Look, report: Path) -> None:
    opened = look(report)
    table = opened.page.get_by_role("grid", name="Cases")
    assert table.get_attribute("aria-rowcount") == "13"
    assert opened.page.get_by_role("row").count() >= 13
    cells = opened.page.locator("#cases-rows .row").nth(1).get_by_role("gridcell").all_text_contents()
    assert cells[0] == "✗Incorrect"
    assert cells[1:3] == ["c-02", "Name, city and points of everybody"]
    assert opened.page.get_by_role("status").inner_text() == "12 cases"
    opened.page.locator("#cases-rows .row").nth(1).click()
    opened.open_case()
    assert opened.page.get_by_role("dialog").get_attribute("aria-labelledby") == "case-title"


def test_on_paper_all_rows_stand_and_no_controls(look: Look, report: Path, large: Path) -> None:
    opened = look(report)
    opened.page.emulate_media(media="print")
    assert opened.page.is_hidden("#cases-controls")
    assert opened.page.is_hidden(".keys")
    paper = opened.page.pdf()
    assert paper.startswith(b"%PDF")
    opened.page.emulate_media(media="screen")
    assert opened.page.is_visible("#cases-controls")
    assert opened.ids == [f"c-{place:02}" for place in range(1, 13)]
    many = look(large)
    many.has("void dispatchEvent(new Event('beforeprint'))")
    assert len(many.ids) == 300
    assert "and 9,700 more" in many.page.inner_text("#cases-rows")
    many.has("void dispatchEvent(new Event('afterprint'))")
    assert len(many.ids) < 80
    opened.quiet()


def test_paper_is_light_whatever_the_screen_is(look: Look, report: Path) -> None:
    opened = look(report, dark=True)
    opened.page.emulate_media(media="print")
    ink = opened.has("getComputedStyle(document.body).color")
    assert sum(map(int, ink[4:-1].split(","))) < 200


def test_nothing_moves_for_who_wants_no_motion(look: Look, report: Path) -> None:
    opened = look(report, "#case=c-02", reduced_motion="reduce")
    opened.open_case()
    moving = opened.has(
        "[...document.querySelectorAll('*')].filter((one) => { const style = getComputedStyle(one);"
        " return style.scrollBehavior === 'smooth' || parseFloat(style.transitionDuration) > 0.01"
        " || parseFloat(style.animationDuration) > 0.01; }).map((one) => one.tagName + '.' + one.className)"
    )
    assert moving == []
    assert opened.has("document.getAnimations().length") == 0
