"""The parts of a page under tabs: the address names them, back and forward lead through them, none needs a script."""

from __future__ import annotations

from pathlib import Path

import browser_runs as runs
import pytest
from browser_window import PHONE, Look, Opened, written
from msgspec.structs import replace

from assay.model import Run
from assay.reports.html.run import HtmlReporter

_SHOWN = "[...document.querySelectorAll('.part:not([hidden])')].map((one) => one.id)"
_CURRENT = "[...document.querySelectorAll('#tabs [aria-current=page]')].map((one) => one.textContent)"
_IN_VIEW = "(() => { const edge = {}.getBoundingClientRect(); return edge.top >= 0 && edge.top < innerHeight; })()"


def at(opened: Opened, name: str) -> None:
    """Wait for that part alone to be shown, and its tab to say so."""
    opened.page.wait_for_function(f"() => {_SHOWN}.join() === 'tab={name}'")
    assert [one.lower() for one in opened.has(_CURRENT)] == [name]


@pytest.mark.parametrize(
    ("fragment", "name"),
    [
        ("", "overview"),
        ("#", "overview"),
        ("#tab=metrics", "metrics"),
        ("#tab=run", "run"),
        ("#tab=nothing", "overview"),
        ("#show=incorrect", "cases"),
        ("#tab=causes&show=incorrect", "causes"),
        ("#made", "run"),
        ("#trust", "overview"),
        ("#nosuch", "overview"),
        ("#%", "overview"),
        ("#&&==&case", "cases"),
    ],
)
def test_a_link_opened_fresh_shows_the_part_that_it_means(fragment: str, name: str, look: Look, report: Path) -> None:
    opened = look(report, fragment)
    at(opened, name)
    if fragment in ("#made", "#trust"):
        assert opened.has(_IN_VIEW.replace("{}", f"document.getElementById('{fragment[1:]}')"))
    opened.quiet()


def test_tabs_keep_the_filters_and_back_and_forward_lead_through_them(look: Look, report: Path) -> None:
    opened = look(report, "")
    at(opened, "overview")
    opened.page.click("#tabs >> text=Cases")
    assert opened.fragment == "#tab=cases"
    opened.page.click("[data-state=incorrect]")
    assert opened.fragment == "#show=incorrect"
    found = opened.ids
    opened.page.click("#tabs >> text=Metrics")
    at(opened, "metrics")
    assert opened.fragment == "#show=incorrect&tab=metrics"
    opened.page.click("#tabs >> text=Cases")
    at(opened, "cases")
    assert opened.ids == found
    for name, fragment in (
        ("metrics", "#show=incorrect&tab=metrics"),
        ("cases", "#show=incorrect"),
        ("cases", "#tab=cases"),
        ("overview", ""),
    ):
        opened.page.go_back()
        opened.page.wait_for_function("(wanted) => location.hash === wanted", arg=fragment)
        at(opened, name)
    assert opened.shown == 12
    opened.page.go_forward()
    opened.page.go_forward()
    at(opened, "cases")
    opened.page.wait_for_function("() => location.hash === '#show=incorrect'")
    opened.settle()
    assert opened.ids == found
    opened.quiet()


def test_typing_is_one_step_of_the_history(look: Look, report: Path) -> None:
    opened = look(report)
    for text in ("y", "yo", "york"):
        opened.page.fill("#cases-search", text)
        opened.settle()
    assert opened.ids == ["c-01", "c-02"]
    opened.page.go_back()
    opened.page.wait_for_function("() => location.hash === '#tab=cases'")
    opened.settle()
    assert opened.shown == 12
    assert opened.page.input_value("#cases-search") == ""


def test_a_case_that_another_part_names_opens_over_it(look: Look, report: Path) -> None:
    opened = look(report, "#tab=causes")
    link = opened.page.locator("[id='tab=causes'] a[href^='#case=']").first
    name = link.inner_text()
    link.click()
    assert name in opened.open_case()
    at(opened, "causes")
    other = look(report, opened.fragment)
    assert name in other.open_case()
    at(other, "causes")
    other.page.keyboard.press("Escape")
    other.page.wait_for_function("() => location.hash === '#tab=causes'")


def test_what_a_link_names_in_vain_is_said(look: Look, report: Path) -> None:
    for fragment, said in (
        ("#case=nosuch", "There is no case “nosuch” in this report."),
        ("#flag=gone&colour=red", "flag “gone”, colour “red”"),
        ("#show=correct&case=c-11", "The link's filters leave out its case"),
        ("#nosuch", "nothing that is called “nosuch”"),
    ):
        opened = look(report, fragment)
        assert said in opened.page.inner_text("#notice"), fragment
        opened.page.keyboard.press("Escape")
        opened.page.click("#tabs >> text=Run")
        assert opened.page.is_hidden("#notice")
    assert look(report, "#show=correct").page.is_hidden("#notice")


@pytest.mark.parametrize("name", ["report", "repeated", "diff", "sdmx"])
def test_each_filter_means_itself_alone_in_the_address(name: str, look: Look, request: pytest.FixtureRequest) -> None:
    opened = look(request.getfixturevalue(name))
    heads = opened.page.locator("#cases-head [role=columnheader]").all_inner_texts()
    facets = opened.has("[...document.querySelectorAll('[data-facet]')].map((one) => one.dataset.facet)")
    assert len(facets) > 2
    for facet in facets:
        opened.page.select_option(f"[data-facet={facet}]", index=1)
        chosen, shown = opened.page.input_value(f"[data-facet={facet}]"), opened.shown
        opened.page.reload()
        opened.page.wait_for_selector("html[data-searchable]", state="attached")
        assert opened.page.input_value(f"[data-facet={facet}]") == chosen
        assert opened.shown == shown
        assert opened.page.is_hidden("#notice"), facet
        assert opened.page.locator("#cases-filters button").count() == 1
        assert opened.page.locator("#cases-head [role=columnheader]").all_inner_texts() == heads, facet
        opened.page.click("#cases-clear")
    opened.quiet()


@pytest.mark.parametrize(
    ("fragment", "said"),
    [
        ("#tab=nothing", "tab “nothing”"),
        ("#columns=nosuch", "columns “nosuch”"),
        ("#columns=tag&columns=__proto__", "columns “__proto__”"),
        ("#low=0.5", "low “0.5”"),
        ("#metric=match&low=nan&high=1e999", "low “nan”, high “1e999”"),
        ("#show=%E0%A4%A", "show “"),
        ("#sort=--id", "sort “--id”"),
        ("#sort=__proto__", "sort “__proto__”"),
        ("#constructor=1", "constructor “1”"),
        ("#%E0%A4%A", "nothing that is called “%E0%A4%A”"),
        *((f"#{kind}{'x' * 60_000}", "x…”") for kind in ("", "case=", "flag=", "tab=")),
        (f"#{'x' * 60_000}=1", "x… “1”"),
    ],
    ids=lambda text: text[:24],
)
def test_a_broken_link_shows_all_cases_and_a_short_word_of_what_is_wrong(
    fragment: str, said: str, look: Look, report: Path
) -> None:
    opened = look(report, fragment)
    notice = " ".join(opened.page.inner_text("#notice").split())
    assert said in notice
    assert len(notice) < 200
    assert opened.shown == 12
    assert opened.has("document.scrollingElement.scrollWidth <= innerWidth")
    opened.quiet()


def test_what_is_filtered_is_said_and_taken_back_piece_by_piece(look: Look, report: Path) -> None:
    opened = look(report, "#show=incorrect&difficulty=easy&q=select&metric=match&low=0&high=1")
    chips = opened.page.locator("#cases-filters button")
    said = ["Incorrect ✕", "Difficulty: easy ✕", "match ≥ 0 ✕", "match ≤ 1 ✕", "“select” ✕"]
    assert chips.all_inner_texts() == said
    shown = opened.shown
    opened.page.click("#cases-filters >> text=Difficulty")
    assert chips.all_inner_texts() == [one for one in said if "Difficulty" not in one]
    assert opened.shown > shown
    for _ in range(4):
        chips.first.click()
    assert opened.shown == 12
    assert chips.count() == 0


def test_heads_of_columns_sort_by_mouse_and_keyboard(look: Look, report: Path) -> None:
    opened = look(report)
    head = opened.page.locator("#cases-head [role=columnheader]", has_text="question")
    by_order = opened.ids
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    asked = opened.page.locator("#cases-rows .question").all_inner_texts()
    assert asked == sorted(asked, key=str.casefold)
    assert opened.fragment == "#sort=question"
    opened.page.keyboard.press("Enter")  # the focus is still there
    assert head.get_attribute("aria-sort") == "descending"
    assert opened.page.locator("#cases-rows .question").all_inner_texts() == asked[::-1]
    assert look(report, opened.fragment).page.locator("#cases-rows .question").all_inner_texts() == asked[::-1]
    opened.page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") is None
    assert opened.ids == by_order
    for button in opened.page.locator("#cases-head button").all():
        button.click()
        assert opened.page.locator("#cases-head [aria-sort]").count() == 1
    opened.quiet()


def test_columns_are_chosen_and_the_address_keeps_them(look: Look, report: Path) -> None:
    opened = look(report)
    heads = opened.page.locator("#cases-head [role=columnheader]")
    usual = heads.all_inner_texts()
    opened.page.click("#cases-columns summary")
    opened.page.locator("#cases-columns-list label", has_text="what is known").locator("input").uncheck()
    opened.page.locator("#cases-columns-list label", has_text="bird_soft_f1").locator("input").check()
    opened.page.locator("#cases-columns-list label", has_text="tag").locator("input").check()
    chosen = heads.all_inner_texts()
    assert "what is known" not in chosen
    assert {"tag", "bird_soft_f1"} <= set(chosen)
    again = look(report, opened.fragment)
    assert again.page.locator("#cases-head [role=columnheader]").all_inner_texts() == chosen
    assert again.page.is_hidden("#notice")
    cells = opened.page.locator("#cases-rows .row").first.get_by_role("gridcell")
    assert cells.count() == len(chosen)
    opened.page.click("#cases-columns-list button")
    assert heads.all_inner_texts() == usual
    assert opened.fragment == "#tab=cases"


def test_what_a_narrow_window_has_no_room_for_gives_way(look: Look, report: Path) -> None:
    opened = look(report)
    wide = opened.page.locator("#cases-head [role=columnheader]").count()
    opened.page.set_viewport_size({"width": 620, "height": 900})
    opened.page.wait_for_function(f"() => document.querySelectorAll('#cases-head [role=columnheader]').length < {wide}")
    narrow = look(report, "#columns=difficulty&columns=database&columns=known&columns=reason", size=PHONE)
    assert narrow.has("document.scrollingElement.scrollWidth <= innerWidth")


def test_a_run_with_decisions_is_filtered_by_them(look: Look, folder: Path) -> None:
    file = written(folder / "deciding.html", HtmlReporter().render(runs.deciding_run(folder)))
    opened = look(file, "#decision=declined")
    declined = opened.shown
    assert 0 < declined < 12
    told = opened.has("[...document.querySelector('[data-facet=decision]').options].map((one) => one.value)")
    assert {"answered", "declined", "unanswered"} == set(told[1:])
    assert "decision" in opened.page.inner_text("#cases-head")
    opened = look(file, "")
    links = opened.page.locator("#reliability td.n a").all()
    assert links
    for link in links:
        opened.page.evaluate("(address) => { location.hash = address; }", link.get_attribute("href"))
        opened.settle()
        assert opened.shown == int(link.text_content() or ""), link.get_attribute("href")


def test_the_skip_link_leads_past_the_bar_and_leaves_the_address(look: Look, report: Path) -> None:
    opened = look(report, "#show=incorrect")
    opened.page.keyboard.press("Tab")
    assert opened.has("document.activeElement.textContent") == "Skip to the content"
    opened.page.keyboard.press("Enter")
    assert opened.has("document.activeElement.id") == "main"
    assert opened.fragment == "#show=incorrect"


@pytest.mark.parametrize("name", ["report", "diff", "board"])
def test_without_a_script_and_on_paper_all_parts_stand_one_after_the_other(
    name: str, look: Look, request: pytest.FixtureRequest
) -> None:
    file = request.getfixturevalue(name)
    still = look(file, "#tab=run", ready=False, java_script_enabled=False)
    parts = still.page.locator(".part:not([id='tab=cases'])")
    assert all(part.is_visible() for part in parts.all())
    assert all(card.is_visible() for card in still.page.locator(".card").all())
    printed = look(file, "#tab=cases")
    printed.page.emulate_media(media="print")
    heights = printed.has("[...document.querySelectorAll('.card')].map((one) => one.getBoundingClientRect().height)")
    assert heights
    assert all(height > 20 for height in heights)
    assert all(
        printed.has(
            "[...document.querySelectorAll('.part')].map((one) => one.checkVisibility({contentVisibilityAuto: true}))"
        )
    )


def test_where_there_is_no_interval_stands_a_dash_or_a_word(look: Look, folder: Path, run: Run) -> None:
    numbers = run.aggregates
    bare = [
        replace(one, rate=replace(one.rate, low=None, high=None)) if place % 2 == 0 else one
        for place, one in enumerate(numbers.overall.metrics)
    ]
    numbers = replace(numbers, overall=replace(numbers.overall, metrics=tuple(bare)))
    file = written(folder / "bare.html", HtmlReporter().render(replace(run, aggregates=numbers)))
    opened = look(file, "#tab=metrics")
    ranges = [one.strip() for one in opened.page.locator("#metrics td.range").all_inner_texts()]
    assert all(one == "–" or one.startswith("[") for one in ranges)
    assert ranges.count("–") == (len(ranges) + 1) // 2
    text = " ".join(opened.page.locator("main").all_text_contents())
    assert "no interval · " in text
    assert "[, ]" not in text
    assert "[]" not in text
