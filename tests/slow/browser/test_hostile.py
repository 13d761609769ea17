"""Whatever a text holds, it is shown: nothing runs, nothing loads, nothing breaks."""

from __future__ import annotations

from pathlib import Path

import browser_runs as runs
import pytest
from browser_window import Look, Opened

from assay.reports.text.plain import visible

PARTS = ("#case-title", ".reason", ".cause", ".context", "ul.near", ".aligned")


def calm(opened: Opened) -> None:
    opened.quiet()
    assert opened.has("typeof window.executed") == "undefined"
    forbidden = "img, iframe, object, embed, main script:not(#data), svg[onload]"
    assert opened.has(f"document.querySelectorAll('{forbidden}').length") == 0
    assert opened.has("({}).polluted === undefined && Object.keys(Object.prototype).length === 0")
    attributes = "[...document.querySelectorAll('*')].flatMap((one) => [...one.attributes])"
    assert opened.has(f"{attributes}.filter((one) => one.name.startsWith('on')).length") == 0


def test_every_attack_is_shown_as_text_wherever_it_stands(look: Look, hostile: Path) -> None:
    opened = look(hostile)
    opened.page.wait_for_selector("html[data-searchable=all]", state="attached")
    assert opened.shown == len(runs.ATTACKS) + 1
    opened.page.keyboard.press("j")
    opened.page.keyboard.press("Enter")
    for place, text in enumerate(runs.ATTACKS):
        opened.page.wait_for_selector(f"dialog[open][data-place='{place}']")
        shown = " ".join(visible(text).split())
        found = opened.page.evaluate(
            "(parts) => parts.map((part) => document.querySelector(`#case ${part}`)?.textContent ?? '')", list(PARTS)
        )
        for part, said in zip(PARTS, found, strict=True):
            assert not shown or shown[:50] in " ".join(said.split()), (part, text)
        assert "that the system was given" in opened.has("document.querySelector('#case').textContent")
        opened.page.keyboard.press("j")
    calm(opened)
    opened.page.keyboard.press("Escape")
    for select in ("cases-metric", "cases-sort"):
        for option in opened.has(f"[...document.getElementById('{select}').options].map((one) => one.value)"):
            opened.page.select_option(f"#{select}", option)
    calm(opened)


def test_links_of_ids_that_look_like_fragments_open_the_right_case(look: Look, hostile: Path) -> None:
    opened = look(hostile)
    links = []
    opened.page.keyboard.press("j")
    opened.page.keyboard.press("Enter")
    for place in range(len(runs.ATTACKS)):
        opened.page.wait_for_selector(f"dialog[open][data-place='{place}']")
        links.append(opened.fragment)
        opened.page.keyboard.press("j")
    assert len(set(links)) == len(links)
    for place, link in enumerate(links):
        opened.page.evaluate("(link) => { location.hash = link; }", link)
        opened.page.wait_for_selector(f"dialog[open][data-place='{place}']")
        assert opened.fragment == link
    calm(opened)


def test_values_of_filters_may_be_any_text(look: Look, hostile: Path) -> None:
    opened = look(hostile)
    values = opened.has("[...document.querySelector('[data-facet=tag]').options].slice(1).map((one) => one.value)")
    assert {"__proto__", "constructor", "#case=1", "100%"} <= set(values)
    for value in values:
        opened.page.select_option("[data-facet=tag]", value)
        assert opened.shown >= 1
    opened.go(opened.fragment)
    assert opened.page.input_value("[data-facet=tag]") == values[-1]
    opened.page.click("#cases-clear")
    for text in runs.ATTACKS:
        opened.page.fill("#cases-search", visible(text))
        opened.settle()
        assert opened.shown >= 1, text
    calm(opened)


@pytest.mark.parametrize(
    "text",
    [
        "'" * 1_000_000,
        "'a''" * 250_000,
        "/* " * 350_000,
        "SELECT " + ", ".join(f"column_{place}" for place in range(80_000)),
        "(" * 1_000_000,
        '"' + "x" * 1_000_000,
        "SELECT UNION " * 80_000,
    ],
    ids=["quotes", "texts", "comments", "columns", "parentheses", "open name", "clauses"],
)
def test_no_query_keeps_the_page_from_answering(text: str, look: Look, report: Path) -> None:
    opened = look(report)
    length = opened.page.evaluate(
        "(text) => sql.draw(sql.compare(text, text + ' x').gold, 'del').textContent.length",
        text,
    )
    assert length >= len(text) - 1


def test_the_policy_holds_even_against_the_page_itself(look: Look, report: Path) -> None:
    opened = look(report)
    for attack in (
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(1)>')",
        "document.body.innerHTML = '<b>x</b>'",
    ):
        refused = opened.has(
            f"{{ try {{ {attack}; return false; }} catch (error) {{ return error instanceof TypeError; }} }}"
        )
        assert refused, attack
    assert opened.has("fetch('https://example.com/').then(() => 'loaded', () => 'refused')") == "refused"
    assert {url for url in opened.requests if not url.startswith(("file:", "about:"))} <= {"https://example.com/"}
    assert len(opened.has("window.violations")) >= 2
