"""The page of a leaderboard: sorted by a click, systems chosen, every case beside every run."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser_window import Look

_RANKED = (
    "[...document.querySelectorAll('#ranking tbody tr:not([hidden])')].map((row) => row.cells[3].textContent.trim())"
)


def test_tables_are_sorted_and_systems_chosen(look: Look, board: Path) -> None:
    opened = look(board)
    labels = opened.has(_RANKED)
    assert len(labels) == 3
    opened.page.click("#ranking th button:has-text('place')")
    assert opened.has(_RANKED) == [*labels[1:], labels[0]]
    assert opened.page.get_attribute("#ranking th:first-child", "aria-sort") == "descending"
    opened.page.click("#systems summary")
    opened.page.locator("#systems-list input").nth(2).uncheck()
    assert labels[2] not in opened.has(_RANKED)
    assert opened.page.locator("#cases-head th.mark").count() == 2
    assert opened.page.inner_text("#systems-count") == "2 of 3"
    opened.quiet()


def test_a_case_opens_with_every_answer_equal_ones_together(look: Look, board: Path) -> None:
    opened = look(board)
    opened.page.select_option("#cases-state", "differ")
    shown = opened.page.locator("#cases-rows button.open").all_inner_texts()
    assert shown
    assert opened.page.inner_text("#cases-shown") == f"{len(shown)} cases"
    opened.page.click("#cases-rows button.open >> nth=0")
    assert opened.page.locator("#case-body article h3").count() == 3  # gold, one system, and the two that agree
    assert opened.page.locator("#case-body pre .sql-keyword").count() > 3
    wrong = opened.page.locator("#case-body article:has(.mark.wrong) pre")
    assert wrong.locator("ins").count() > 0, "a wrong answer is marked beside gold"
    assert opened.page.locator("#case-body article:has(.mark.right) pre ins").count() == 0
    assert opened.has("location.hash") == f"#case={shown[0]}"
    again = look(board, f"#case={shown[0]}")
    assert again.page.inner_text("#case-title") == shown[0]
    again.quiet()
    gone = look(board, "#case=nosuch")
    assert gone.page.inner_text("#notice") == "There is no case “nosuch” in this leaderboard."


@pytest.mark.parametrize("width", [360, 800, 1400])
@pytest.mark.parametrize("scripts", [True, False])
def test_nothing_sticks_out_at_any_width_and_without_scripts_the_tables_are_there(
    look: Look, board: Path, width: int, scripts: bool
) -> None:
    opened = look(board, size=(width, 900), dark=not scripts, ready=scripts, java_script_enabled=scripts)
    assert opened.page.locator("#ranking tbody tr").count() == 3
    assert opened.page.locator(".board-cases tbody tr:visible").count() > 0
    if scripts:
        assert opened.has("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
