"""The page of two runs: what broke first, the same case in both, the same ways to find it."""

from __future__ import annotations

from pathlib import Path

from browser_window import Look


def test_broken_cases_come_first_then_fixed_ones(look: Look, diff: Path) -> None:
    opened = look(diff)
    marks = opened.has("[...document.querySelectorAll('#cases-rows .mark')].map((one) => one.title)")
    assert marks[:3] == ["Broken", "Fixed", "Fixed"]
    assert opened.ids[:3] == ["c-01", "c-06", "c-10"]
    assert opened.shown == 12
    opened.quiet()


def test_the_first_screen_leads_to_what_it_counts(look: Look, diff: Path) -> None:
    opened = look(diff, "")
    opened.page.click("a[href='#show=fixed']")
    opened.page.wait_for_function("() => location.hash === '#show=fixed'")
    opened.settle()
    assert opened.ids == ["c-06", "c-10"]
    assert opened.page.get_attribute("[data-state=fixed]", "aria-pressed") == "true"
    opened.page.select_option("[data-facet=difficulty]", "easy")
    assert opened.ids == ["c-10"]


def test_a_case_shows_both_answers_beside_gold(look: Look, diff: Path) -> None:
    opened = look(diff, "#case=c-01")
    text = opened.open_case()
    for part in (
        "↓ Broken",
        "right in the baseline, wrong in the candidate",
        "first",
        "second",
        "✓ correct",
        "✗ incorrect",
    ):
        assert part.replace("✓ ", "").replace("✗ ", "") in text, part
    queries = [" ".join(one.split()) for one in opened.page.locator("#case-body pre").all_inner_texts()]
    assert queries == [
        "SELECT name FROM client WHERE city = 'York'",
        "SELECT name FROM client WHERE city = 'York'",
        "SELECT city FROM client WHERE city = 'York'",
    ]
    assert opened.page.locator("pre ins").all_inner_texts() == ["city"]
    chips = opened.has("[...document.querySelectorAll('.clause')].map((one) => one.title)")
    assert chips == ["differs", "the same in both", "the same in both"]
    assert opened.page.locator(".scores tr.changed").count() > 0
    opened.quiet()
    same = look(diff, "#case=c-03").open_case()
    assert "Both runs gave the same query." in same


def test_the_difference_of_a_metric_can_be_shown_and_filtered(look: Look, diff: Path) -> None:
    opened = look(diff)
    opened.page.select_option("#cases-metric", "Δ match")
    opened.page.fill("#cases-high", "-0.5")
    assert opened.ids == ["c-01"]
