"""Ten thousand cases: few rows stand in the page, and every case can be reached."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from browser_window import Look


def test_only_rows_in_sight_are_in_the_page_and_the_last_one_can_be_scrolled_to(look: Look, large: Path) -> None:
    opened = look(large)
    rows = "document.querySelectorAll('#cases-rows .row').length"
    assert opened.shown == 10_000
    assert 20 < opened.has(rows) < 80
    opened.has("scrollTo(0, document.body.scrollHeight)")
    opened.page.wait_for_selector("#cases-rows [title='n-09999']")
    assert opened.ids[-1] == "n-09999"
    assert opened.has(rows) < 80
    last = opened.page.locator("#cases-rows .row").last.bounding_box()
    table = opened.page.locator("#cases-table").bounding_box()
    assert last is not None
    assert table is not None
    assert abs(last["y"] + last["height"] - table["y"] - table["height"]) < 4
    opened.has("scrollTo(0, document.body.scrollHeight / 2)")
    opened.page.wait_for_function("() => /n-04[0-9]+|n-05[0-9]+/.test(document.querySelector('#cases-rows .id').title)")
    # Each row stands where its number says.
    heights = opened.has(
        "[...document.querySelectorAll('#cases-rows .row')].map((one) => one.getBoundingClientRect().top)"
    )
    assert {round(after - before) for before, after in pairwise(heights)} == {38}
    opened.quiet()


def test_keys_reach_the_end_and_a_link_the_middle(look: Look, large: Path) -> None:
    opened = look(large)
    opened.page.keyboard.press("j")
    opened.page.keyboard.press("End")
    opened.page.wait_for_selector("#cases-rows .active [title='n-09999']")
    box = opened.page.locator("#cases-rows .active").bounding_box()
    assert box is not None
    assert 0 < box["y"] < 900
    opened.page.keyboard.press("Home")
    opened.page.wait_for_selector("#cases-rows .active [title='n-00000']")
    other = look(large, "#case=n-05003")
    assert "number 5003" in other.open_case()


def test_the_whole_text_of_all_cases_is_searched(look: Look, large: Path) -> None:
    opened = look(large)
    opened.page.wait_for_selector("html[data-searchable=all]", state="attached")
    opened.page.fill("#cases-search", "nme february 9999")
    opened.settle()
    assert opened.shown == 0
    opened.page.fill("#cases-search", "nme number 9898")
    opened.settle()
    assert opened.ids == ["n-09898"]
