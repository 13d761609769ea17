"""Search, filters and order find the cases that they should, and the address keeps what was found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser_window import Look

from assay.model import Run


def test_a_search_finds_cases_that_hold_all_its_words_wherever_they_are(look: Look, report: Path, run: Run) -> None:
    opened = look(report)
    search = opened.page.locator("#cases-search")
    for text, found in {
        "york": ["c-01", "c-02"],  # in a question, and in a query alone
        "YORK lives": ["c-01"],
        "february": ["c-11"],
        "nme": ["c-11"],  # in the predicted query alone
        "nme february join": ["c-11"],
        "nme york": [],
        "no such column": ["c-07", "c-11"],  # in what the database said
        "c-03": ["c-03"],
        "2026-02-%": ["c-11"],
    }.items():
        search.fill(text)
        opened.settle()
        assert opened.ids == found, text
        assert opened.shown == len(found)
        assert opened.page.is_visible("#cases-none") is (not found)
    search.fill(next(item.verdict.reason for item in run.evidence if item.case.id == "c-06"))
    opened.settle()
    assert "c-06" in opened.ids
    opened.page.click("#cases-clear")
    assert opened.shown == 12
    assert search.input_value() == ""
    assert opened.fragment == "#tab=cases"
    opened.quiet()


@pytest.mark.parametrize("outcome", ["correct", "incorrect", "unscored"])
def test_a_verdict_button_leaves_the_cases_of_that_verdict(outcome: str, look: Look, report: Path, run: Run) -> None:
    opened = look(report)
    button = opened.page.locator(f"[data-state={outcome}]")
    button.click()
    wanted = [item.case.id for item in run.evidence if item.outcome == outcome]
    assert opened.ids == wanted
    assert re.findall(r"\d+", button.inner_text()) == [str(len(wanted))]
    assert button.get_attribute("aria-pressed") == "true"
    opened.page.click("[data-state=all]")
    assert opened.shown == len(run.evidence)


def test_a_metric_is_shown_and_its_range_filters(look: Look, report: Path, run: Run) -> None:
    opened = look(report)
    values = {item.case.id: item.score("bird_soft_f1") for item in run.evidence}
    known = {id_: score.value for id_, score in values.items() if score is not None and score.value is not None}
    assert any(0 < value < 1 for value in known.values())
    assert opened.page.is_hidden("#cases-low")
    opened.page.select_option("#cases-metric", "bird_soft_f1")
    assert opened.shown == 12
    assert opened.page.inner_text("#cases-head [role=columnheader]:last-child") == "bird_soft_f1"
    opened.page.fill("#cases-low", "0.01")
    opened.page.fill("#cases-high", "0.99")
    assert sorted(opened.ids) == sorted(id_ for id_, value in known.items() if 0.01 <= value <= 0.99)
    opened.page.select_option("#cases-metric", "")
    assert opened.shown == 12


def test_the_order_is_the_one_asked_for_and_what_has_no_value_is_last(look: Look, report: Path, run: Run) -> None:
    opened = look(report)
    opened.page.select_option("#cases-sort", "-id")
    assert opened.ids == sorted((item.case.id for item in run.evidence), reverse=True)
    opened.page.select_option("#cases-metric", "bird_soft_f1")
    for order, way in (("metric", 1), ("-metric", -1)):
        opened.page.select_option("#cases-sort", order)
        shown = opened.has("[...document.querySelectorAll('#cases-rows .value')].map((one) => one.textContent)")
        values = [float(text) for text in shown if text != "n/a"]
        assert values == sorted(values, key=lambda value: way * value)
        assert shown == [text for text in shown if text != "n/a"] + ["n/a"] * shown.count("n/a")
        assert "n/a" in shown
    opened.page.select_option("#cases-sort", "state")
    outcomes = opened.has("[...document.querySelectorAll('#cases-rows .mark')].map((one) => one.title)")
    assert outcomes == sorted(outcomes, key=["Incorrect", "Unscored", "Correct"].index)


def test_a_link_shows_the_same_view_to_others(look: Look, report: Path) -> None:
    opened = look(report)
    opened.page.click("[data-state=incorrect]")
    opened.page.select_option("[data-facet=tag]", "one table")
    opened.page.select_option("#cases-metric", "bird_soft_f1")
    opened.page.fill("#cases-low", "0")
    opened.page.select_option("#cases-sort", "-id")
    opened.page.fill("#cases-search", "select + %")
    opened.page.fill("#cases-search", "select from")
    opened.settle()
    assert opened.ids
    other = look(report, opened.fragment)
    assert other.ids == opened.ids
    assert other.page.input_value("#cases-search") == "select from"
    assert other.page.input_value("#cases-sort") == "-id"
    assert other.page.input_value("#cases-low") == "0"
    assert other.page.input_value("[data-facet=tag]") == "one table"
    assert other.page.get_attribute("[data-state=incorrect]", "aria-pressed") == "true"
    assert other.fragment == opened.fragment


@pytest.mark.parametrize("name", ["report", "diff", "sdmx", "repeated"])
def test_the_counts_of_the_first_screen_lead_to_exactly_that_many_cases(
    name: str, look: Look, request: pytest.FixtureRequest
) -> None:
    opened = look(request.getfixturevalue(name))
    links = opened.has(
        "[...document.querySelectorAll('main > :not(#cases) a[href*=\"=\"]')]"
        ".filter((one) => !one.hash.startsWith('#case='))"
        ".map((one) => [one.getAttribute('href'), one.textContent])"
    )
    counted = 0
    for address, text in links:
        opened.has(f"void (location.hash = {address!r})")
        opened.page.wait_for_function("(wanted) => location.hash === wanted", arg=address)
        opened.settle()
        said = re.match(r"[^\w]*(\d[\d,]*)", text)  # else it names a group or a kind
        if said:
            counted += 1
            # How steady answers are is counted by question.
            found = len(set(opened.ids)) if address.startswith("#steady") else opened.shown
            assert found == int(said[1].replace(",", "")), (address, text)
        assert opened.shown > 0 or (said and said[1] == "0"), (address, text)
    assert counted >= 2


def test_links_to_cases_on_the_first_screen_open_them_all(look: Look, report: Path) -> None:
    opened = look(report)
    links = opened.has(
        "[...new Set([...document.querySelectorAll('a[href^=\"#case=\"]')].map((one) => one.textContent))]"
    )
    assert len(links) > 3
    for id_ in links:
        opened.page.locator("a[href^='#case=']", has_text=id_).first.evaluate("(link) => link.click()")
        opened.page.wait_for_selector(f"dialog[open] h2:has-text('{id_}')")
        opened.page.keyboard.press("Escape")
        opened.page.wait_for_selector("dialog:not([open])", state="attached")
    opened.quiet()
