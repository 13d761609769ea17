"""Opening cases by link, mouse and keyboard; back, forth, and where the focus is meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser_window import Look

FOCUSED = "document.activeElement.id"
ACTIVE = "document.querySelector('#cases-rows .active .id')?.title ?? null"


def test_a_link_to_a_case_opens_it_and_keeps_the_view(look: Look, report: Path) -> None:
    opened = look(report, "#show=incorrect&case=c-11")
    assert "Sales of February" in opened.open_case()
    assert opened.shown == len(opened.ids) < 12
    opened.page.keyboard.press("Escape")
    opened.page.wait_for_function("() => !location.hash.includes('case=')")
    assert opened.dialog is None
    other = look(report, "#show=correct&case=c-11")
    assert "Sales of February" in other.open_case()  # which the view does not hold
    assert other.shown == 12


def test_going_back_closes_the_case_and_forward_opens_it(look: Look, report: Path) -> None:
    opened = look(report)
    opened.page.click("[data-state=incorrect]")
    before = opened.ids
    opened.page.locator("#cases-rows .row", has_text="c-11").click()
    opened.open_case()
    opened.page.go_back()
    opened.page.wait_for_selector("dialog:not([open])", state="attached")
    assert opened.ids == before
    assert opened.fragment == "#show=incorrect"
    opened.page.go_forward()
    assert "Sales of February" in opened.open_case()
    opened.quiet()


def test_the_keyboard_moves_opens_and_closes(look: Look, report: Path) -> None:
    opened = look(report)
    keys = opened.page.keyboard
    keys.press("j")
    assert opened.has(ACTIVE) == "c-01"
    assert opened.has(FOCUSED) == "cases-table"
    for key, place in (("j", 2), ("ArrowDown", 3), ("k", 2), ("ArrowUp", 1), ("End", 12), ("Home", 1)):
        keys.press(key)
        assert opened.has(ACTIVE) == f"c-{place:02}", key
    row = opened.page.get_attribute("#cases-table", "aria-activedescendant")
    assert opened.page.get_attribute(f"#{row}", "aria-selected") == "true"
    keys.press("k")
    assert opened.has(ACTIVE) == "c-01"
    keys.press("Enter")
    assert "Who lives in York?" in opened.open_case()
    assert opened.fragment == "#case=c-01"
    keys.press("j")
    opened.page.wait_for_selector("dialog[open] h2:has-text('c-02')")
    assert opened.fragment == "#case=c-02"
    keys.press("k")
    opened.page.wait_for_selector("dialog[open] h2:has-text('c-01')")
    assert opened.page.is_disabled("#case-previous")
    keys.press("k")
    keys.press("ArrowRight")
    opened.page.wait_for_selector("dialog[open] h2:has-text('c-02')")
    keys.press("Escape")
    opened.page.wait_for_selector("dialog:not([open])", state="attached")
    opened.page.wait_for_function("() => document.activeElement.id === 'cases-table'")
    assert opened.has(ACTIVE) == "c-02"  # where the reader got to
    keys.press("j")
    assert opened.has(ACTIVE) == "c-03"
    opened.quiet()


def test_keys_reach_the_search_and_leave_it(look: Look, report: Path) -> None:
    opened = look(report)
    keys = opened.page.keyboard
    keys.press("/")
    assert opened.has(FOCUSED) == "cases-search"
    keys.type("york jk")  # are letters here
    keys.press("Escape")
    assert (opened.has(FOCUSED), opened.page.input_value("#cases-search")) == ("cases-search", "")
    keys.type("orders")
    opened.settle()
    found = opened.ids
    keys.press("Enter")
    assert opened.has(ACTIVE) == found[0]
    keys.press("/")
    keys.press("Escape")
    keys.press("Escape")
    assert opened.has(FOCUSED) != "cases-search"


def test_focus_stays_within_the_open_case_and_returns_to_where_it_was(look: Look, report: Path) -> None:
    opened = look(report, "")
    link = opened.page.locator("a[href^='#case=']").first
    link.focus()
    opened.page.keyboard.press("Enter")
    opened.open_case()
    for _ in range(12):
        opened.page.keyboard.press("Tab")
        assert opened.has("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    opened.page.keyboard.press("Escape")
    opened.page.wait_for_selector("dialog:not([open])", state="attached")
    assert link.evaluate("(link) => document.activeElement === link")


def test_the_buttons_of_an_open_case_step_and_close(look: Look, report: Path) -> None:
    opened = look(report, "#show=incorrect&case=c-11")
    opened.open_case()
    place = opened.page.inner_text("#case-place")
    opened.page.click("#case-previous")
    opened.page.wait_for_selector("dialog[open] h2:not(:has-text('c-11'))")
    assert opened.page.inner_text("#case-place") != place
    opened.page.click("#case-next")
    opened.page.wait_for_selector("dialog[open] h2:has-text('c-11')")
    assert opened.page.inner_text("#case-place") == place
    opened.page.click("#case-close")
    assert opened.dialog is None
    opened.page.locator("#cases-rows .row").first.click()
    opened.open_case()
    opened.page.mouse.click(5, 400)  # beside it
    assert opened.dialog is None


def test_answers_to_one_question_are_told_apart_and_each_has_a_link(look: Look, repeated: Path) -> None:
    opened = look(repeated)
    assert opened.ids == ["c-01"] * 3 + ["c-02"] * 3 + ["c-03"] * 3
    said = []
    for place in range(3):
        opened.page.locator("#cases-rows .row").nth(place).click()
        said.append(opened.open_case())
        fragment = opened.fragment
        other = look(repeated, fragment)
        assert other.open_case() == said[-1]
        assert f"answer {place + 1} of 3" in said[-1]
        opened.page.keyboard.press("Escape")
        opened.page.wait_for_selector("dialog:not([open])", state="attached")
    assert len(set(said)) == 3
    opened.page.fill("#cases-search", "answer c-02")
    opened.settle()
    assert opened.shown == 3


@pytest.mark.parametrize("place", [-1, 0])
def test_a_link_can_be_copied_and_leads_back(place: int, look: Look, report: Path) -> None:
    opened = look(report, "#show=incorrect", permissions=("clipboard-read", "clipboard-write"))
    opened.page.locator("#cases-rows .row").nth(place).click()
    text = opened.open_case()
    opened.page.click("#case-link")
    opened.page.wait_for_selector("#case-link:has-text('Copied')")
    copied = opened.page.evaluate("() => navigator.clipboard.readText()")
    assert copied.startswith(report.as_uri() + "#case=")
    other = look(report, "#" + copied.partition("#")[2])
    assert other.open_case().splitlines()[0] == text.splitlines()[0]
    opened.quiet()
