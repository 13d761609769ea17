"""A page loads in silence, in any colours, on any screen, and with nothing but itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser_window import PHONE, Look

PAGES = ("report", "diff", "sdmx", "repeated", "hostile")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_loads_without_complaint_and_asks_for_nothing(
    name: str, dark: bool, look: Look, request: pytest.FixtureRequest
) -> None:
    opened = look(request.getfixturevalue(name), dark=dark)
    opened.quiet()
    assert opened.page.locator("h1").inner_text()
    assert opened.shown > 0
    assert opened.page.is_hidden("#cases-loading")


def test_the_colours_are_those_that_the_reader_wants(look: Look, report: Path) -> None:
    light, dark = (
        look(report, dark=dark).has("getComputedStyle(document.body).backgroundColor") for dark in (False, True)
    )
    brightness = [sum(map(int, colour[4:-1].split(","))) for colour in (light, dark)]
    assert brightness[0] > 600
    assert brightness[1] < 150


@pytest.mark.parametrize("name", PAGES)
def test_nothing_scrolls_sideways_on_a_phone(name: str, look: Look, request: pytest.FixtureRequest) -> None:
    opened = look(request.getfixturevalue(name), size=PHONE, has_touch=True, is_mobile=True)
    too_wide = "document.scrollingElement.scrollWidth - innerWidth"
    assert opened.has(too_wide) <= 0
    opened.page.locator("#cases-rows .row").first.click()
    opened.open_case()
    assert opened.has(too_wide) <= 0
    body = "document.getElementById('case-body')"
    assert opened.has(f"{body}.scrollWidth - {body}.clientWidth") <= 0


def test_without_its_script_the_first_screen_stands_and_says_what_is_missing(look: Look, report: Path) -> None:
    opened = look(report, java_script_enabled=False, ready=False)
    text = opened.page.inner_text("body")
    assert "correct" in text
    assert "The cases are shown by a script of this page. The JSON report contains them, too." in text
    assert "Reading the cases" not in text
    assert opened.page.is_hidden("#cases-controls")
