"""Reviewing in the browser: by keyboard and mouse, two people at once, killed in the middle, whatever a text holds."""

from __future__ import annotations

import http.server
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import browser_runs as runs
import pytest
import selections
from browser_window import DESKTOP, PHONE, new_window

import assay
from assay.cli.view.review import OtherRun, ReviewSite
from assay.runs.reviews.file import read_reviews
from assay.runs.reviews.queue import QueuedCase, review_queue
from assay.runs.store.folder import save_run
from reviewing_site import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from assay.model import Review, Run


class Reviewing:
    """A review page in a browser."""

    def __init__(self, page: Page, address: str, file: Path) -> None:
        self.page, self.file = page, file
        self.address = address
        self.complaints: list[str] = []
        page.set_default_timeout(60_000)
        page.on("console", lambda said: self.complaints.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        page.clock.install()
        page.goto(address)
        page.wait_for_selector("html[data-searchable=all]", state="attached")

    @property
    def case(self) -> str:
        """The id of the opened case."""
        return (self.page.text_content("#case-title .quiet") or "").split(" · ")[0]

    @property
    def said(self) -> str:
        return self.page.text_content("#review-said") or ""

    @property
    def reviews(self) -> list[Review]:
        return read_reviews(self.file) if self.file.exists() else []

    def press(self, *keys: str) -> Reviewing:
        for key in keys:
            self.page.keyboard.press(key)
        return self

    def shows(self, place: object = None) -> str:
        """Wait for a case to be open, the one at that place if there is one; its place."""
        shown = "(place) => { const found = document.getElementById('case');"
        shown += " return found.open && (place === null || found.dataset.place === place) && found.dataset.place; }"
        return str(self.page.wait_for_function(shown, arg=None if place is None else str(place)).json_value())

    def leaves(self, place: str) -> None:
        """Wait for another case than that at the place."""
        self.page.wait_for_function("(place) => document.getElementById('case').dataset.place !== place", arg=place)

    def looks(self) -> Reviewing:
        """Look at what is shown for a moment, by the page's clock: a decision needs that."""
        self.page.clock.run_for(400)
        return self

    def opened(self, case: str) -> Reviewing:
        """Wait for a case to be open, and look at it."""
        self.page.wait_for_function(
            "(id) => document.getElementById('case').open && "
            "document.querySelector('#case-title .quiet').textContent.split(' · ')[0] === id",
            arg=case,
        )
        return self.looks()

    def counted(self, done: int) -> None:
        """Wait for the page to say how many cases are reviewed."""
        self.page.wait_for_function(
            "(done) => document.querySelector('.review-count').textContent.startsWith(`${done} of`)", arg=done
        )

    def hears(self, text: str) -> None:
        """Wait for the page to say so."""
        self.page.wait_for_function(
            "(text) => document.getElementById('review-said').textContent.includes(text)", arg=text
        )

    def quiet(self) -> None:
        assert self.complaints == []
        assert self.page.evaluate("() => window.violations") == []


Start = Callable[..., Reviewing]


def as_asked(run: Run, reviews: object, **_: object) -> list[QueuedCase]:
    """A queue of all cases in the run's order."""
    return [QueuedCase(index=place, case_id=case.case_id) for place, case in enumerate(run.summaries)]


@pytest.fixture
def begin(chromium: Browser, run: Run, folder: Path, tmp_path: Path) -> Iterator[Start]:
    """Serve a run and open its review page; by default the run of real queries."""
    with ExitStack() as opened:

        def start(
            reviewed: Run = run,
            *,
            reviewer: str = "Ana",
            others: tuple[Run, ...] = (),
            size: tuple[int, int] = DESKTOP,
            dark: bool = False,
            address: str = "",
            queue: Callable[..., Any] = as_asked,
            minutes: float | None = None,
        ) -> Reviewing:
            stored, file = tmp_path / "run", tmp_path / "reviews.jsonl"
            if not stored.exists():
                save_run(reviewed, stored)
            if not address:
                beside = [OtherRun(name=other.settings.name or "", run=other) for other in others]
                site = ReviewSite(
                    stored,
                    file,
                    reviewer=reviewer,
                    databases=runs.shop(folder),
                    others=beside,
                    queue=queue,
                    minutes=minutes,
                )
                server = opened.enter_context(serving(site))
                address = f"{server.url}#token={site.token}"
            context = chromium.new_context(
                viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light"
            )
            opened.callback(context.close)
            page = new_window(context)
            return Reviewing(page, address, file)

        yield start


def test_a_newcomer_decides_a_case_by_a_key_and_comes_to_the_next(begin: Start) -> None:
    seen = begin().opened("c-01")
    assert "token" not in seen.page.url
    seen.press("1").opened("c-02")
    assert "c-01: the verdict is right. Saved." in seen.said
    seen.press("2").opened("c-03").press("7").opened("c-04")
    seen.counted(2)
    assert [(one.case_id, one.decision, one.outcome) for one in seen.reviews] == [
        ("c-01", "confirm", "correct"),
        ("c-02", "accept", "correct"),
        ("c-03", "unsure", None),
    ]
    seen.quiet()


def test_what_is_decided_is_taken_back_one_after_the_other(begin: Start) -> None:
    seen = begin().opened("c-01").press("1").opened("c-02").press("1").opened("c-03")
    seen.press("u").opened("c-02").hears("is taken back")
    seen.counted(1)
    seen.press("u").opened("c-01").hears("c-01: “the verdict is right” is taken back")
    seen.counted(0)
    seen.press("u").hears("decided nothing")
    assert [one.decision for one in seen.reviews] == ["confirm", "confirm", "undo", "undo"]
    seen.quiet()


def test_a_note_is_saved_with_the_decision_and_waits_for_it(begin: Start) -> None:
    seen = begin().opened("c-01").press("n")
    seen.page.keyboard.type("keys 1 u / in a note")
    seen.press("Enter", "ArrowRight").opened("c-02")
    assert seen.page.input_value("#review-note") == ""
    seen.press("k").opened("c-01")
    assert seen.page.input_value("#review-note") == "keys 1 u / in a note"
    seen.press("1").opened("c-02").press("k").opened("c-01")
    assert [one.note for one in seen.reviews] == ["keys 1 u / in a note"]
    assert "keys 1 u / in a note" in seen.page.inner_text("#review-earlier")
    seen.press("n")
    seen.page.keyboard.type("better")
    seen.press("Enter").hears("Saved")
    assert [one.note for one in seen.reviews] == ["keys 1 u / in a note", "better"]
    seen.quiet()


def test_a_corrected_gold_is_seen_before_it_is_saved(begin: Start) -> None:
    seen = begin().opened("c-01").press("j", "j", "j").opened("c-04").press("4")
    assert seen.page.input_value("#review-gold").splitlines()[0] == "SELECT client_id, sum(total)"
    seen.page.fill("#review-gold", "SELECT client_id, sum(total) * 100 FROM orders GROUP BY 1")
    assert seen.page.is_hidden("#review-gold-save")
    seen.press("Control+Enter")
    seen.page.wait_for_selector("#review-gold-save:not([hidden])")
    assert "3 matched" in seen.page.inner_text("#review-tried")
    assert seen.reviews == []
    seen.looks().press("Enter").opened("c-05")
    [review] = seen.reviews
    assert (review.decision, review.outcome) == ("gold_wrong", "correct")
    assert review.gold == "SELECT client_id, sum(total) * 100 FROM orders GROUP BY 1"
    seen.quiet()


def test_a_gold_that_is_changed_after_its_result_was_shown_must_be_run_again(begin: Start) -> None:
    seen = begin().opened("c-01").press("4")
    seen.page.click("#review-gold")
    seen.page.fill("#review-gold", "SELECT name FROM client")
    seen.page.click("#review-try")
    seen.page.wait_for_selector("#review-gold-save:not([hidden])")
    seen.page.fill("#review-gold", "SELECT nme FROM client")
    assert seen.page.is_hidden("#review-gold-save")
    seen.press("Control+Enter")
    seen.page.wait_for_selector("#review-tried .failed")
    assert "no such column: nme" in seen.page.inner_text("#review-tried")
    assert seen.page.is_hidden("#review-gold-save")
    seen.press("Escape")
    assert seen.page.is_hidden("#review-gold-panel")
    assert seen.case == "c-01"
    assert seen.reviews == []
    seen.press("j").opened("c-02").press("k").opened("c-01").press("4")
    assert seen.page.input_value("#review-gold") == "SELECT nme FROM client", "what was typed is not lost"
    seen.page.click("#review-gold-none")
    seen.opened("c-02")
    assert [(one.decision, one.gold, one.outcome) for one in seen.reviews] == [("gold_wrong", None, "unscored")]


def test_a_target_selection_is_wrong_without_a_query(begin: Start) -> None:
    seen = begin(selections.small_selection_run())
    seen.page.wait_for_selector("dialog#case[open]")
    seen.looks().press("4")
    assert seen.page.is_hidden("#review-gold")
    seen.looks().press("Enter").hears("the gold query is wrong. Saved")
    seen.looks().press("1").hears("the verdict is right. Saved")
    assert [one.decision for one in seen.reviews] == ["gold_wrong", "confirm"]
    seen.quiet()


def test_an_ambiguous_question_is_one_to_ask_back_or_has_a_leniency(begin: Start) -> None:
    seen = begin().opened("c-01").press("5", "Enter").opened("c-02").press("k").opened("c-01")
    seen.press("j").opened("c-02").press("j").opened("c-03").press("5")
    seen.page.check("input[name=duplicates]")
    seen.press("Enter").opened("c-04")
    assert [(one.leniency.said, one.outcome) for one in seen.reviews] == [
        ("", "incorrect"),
        ("duplicates ignored", "correct"),
    ]
    seen.quiet()


def test_everything_can_be_done_with_the_mouse(begin: Start) -> None:
    seen = begin(size=PHONE).opened("c-01")
    seen.page.click("[data-decision=confirm]")
    seen.opened("c-02")
    seen.page.click("[data-decision=unanswerable]")
    seen.opened("c-03")
    seen.page.click("#review-undo")
    seen.opened("c-02")
    seen.page.click("#review-help")
    assert "take back your last decision" in seen.page.inner_text("#review-keys")
    seen.page.click("#case-close")
    seen.page.click("#review-go")
    seen.opened("c-02")
    seen.page.click("#case-previous")
    seen.opened("c-01")
    seen.page.click("#review-earlier button")
    seen.hears("is taken back")
    assert [one.decision for one in seen.reviews] == ["confirm", "unanswerable", "undo", "undo"]
    seen.quiet()


def test_the_keys_are_told_and_search_leads_to_the_table(begin: Start) -> None:
    seen = begin().opened("c-01").press("?")
    assert seen.page.is_visible("#review-keys")
    seen.press("?")
    assert seen.page.is_hidden("#review-keys")
    seen.press("/")
    assert seen.page.evaluate("() => document.activeElement.id") == "cases-search"
    seen.page.keyboard.type("dearest")
    seen.page.wait_for_function("() => document.getElementById('cases-shown').textContent.startsWith('1 of')")
    seen.press("Enter", "Enter").opened("c-06")
    seen.press("1").hears("No case is left to review in this table")
    seen.press("Escape", "Escape")
    assert seen.page.is_hidden("dialog#case")
    seen.quiet()


def test_filters_know_what_is_reviewed(begin: Start) -> None:
    seen = begin().opened("c-01").press("1").opened("c-02").press("7").opened("c-03").press("Escape")

    def shown(value: str) -> str:
        seen.page.select_option("[data-facet=review]", value)
        return (seen.page.text_content("#cases-shown") or "").split(" ")[0]

    found = {value: shown(value) for value in ("unreviewed", "reviewed", "mine", "not mine", "conflict", "not sure")}
    assert found == {
        "unreviewed": "11", "reviewed": "1", "mine": "1", "not mine": "11", "conflict": "0", "not sure": "1",
    }  # fmt: skip
    seen.page.select_option("[data-facet=review]", "unreviewed")
    seen.press("r").opened("c-02").press("1").opened("c-03")
    assert seen.page.text_content("#case-place") == "1 of 10"
    seen.quiet()


def test_the_queue_begins_with_what_is_worth_a_look_and_says_why(begin: Start) -> None:
    seen = begin(queue=review_queue)
    seen.shows()
    assert seen.case != "c-01", "a match without a doubt is not queued"
    assert "Worth a look:" in seen.page.inner_text("#case-body")
    assert re.search(r"0 of 12 reviewed · \d+ queued, about \d+ min", seen.page.inner_text("#review"))
    seen.press("Escape")
    seen.page.select_option("[data-facet=review]", "queued")
    queued = seen.page.evaluate("() => document.getElementById('cases-shown').textContent")
    assert not queued.startswith("12")
    seen.quiet()


def test_a_budget_shows_the_queued_cases_alone(begin: Start) -> None:
    seen = begin(queue=review_queue, minutes=2)
    seen.shows()
    assert (seen.page.text_content("#case-place") or "") == "1 of 2"
    seen.looks().press("7")
    seen.page.wait_for_function("() => document.getElementById('case-place').textContent === '2 of 2'")
    seen.looks().press("1").counted(1)
    seen.press("Escape")
    assert (seen.page.text_content("#cases-shown") or "").startswith("1 of")


def test_a_decision_is_repeated_in_cases_that_are_alike_one_by_one(begin: Start) -> None:
    def alike(run: Run, reviews: object, **_: object) -> list[QueuedCase]:
        return [QueuedCase(index=place, case_id="", cluster="alike" if place < 3 else "") for place in range(12)]

    seen = begin(queue=alike).opened("c-01")
    assert seen.page.is_hidden("#review-again")
    seen.press("6").opened("c-02")
    assert "Enter Like c-01: Unanswerable" in " ".join(seen.page.inner_text("#review-again").split())
    seen.press("Enter").opened("c-03")
    seen.page.click("#review-again")
    seen.opened("c-04")
    assert seen.page.is_hidden("#review-again")
    seen.press("Enter")
    assert [(one.case_id, one.decision) for one in seen.reviews] == [
        (case, "unanswerable") for case in ("c-01", "c-02", "c-03")
    ]
    seen.quiet()


def test_what_other_runs_answered_stands_below(begin: Start, folder: Path) -> None:
    later = runs.real_run(folder, runs.LATER, "second")
    seen = begin(others=(later,)).opened("c-01")
    seen.page.wait_for_selector("#review-others:not([hidden])")
    assert "second" in seen.page.inner_text("#review-others")
    seen.page.click("#review-others summary")
    assert "SELECT city" in seen.page.inner_text("#review-others")
    seen.press("j").opened("c-02")
    seen.page.wait_for_function("() => document.getElementById('review-others').textContent.includes('the same query')")
    seen.quiet()


def test_two_people_see_each_other_and_where_they_disagree(begin: Start) -> None:
    ana, ben = begin().opened("c-01"), begin(reviewer="Ben").opened("c-01")
    ana.press("1").opened("c-02")
    ben.counted(1)
    assert "Ana: the verdict is right" in ben.page.inner_text("#review-earlier")
    assert ben.page.locator("#review-earlier button").count() == 0, "nobody takes back what another decided"
    ben.press("3").opened("c-02")
    ana.press("k").opened("c-01")
    ana.page.wait_for_function(
        "() => document.getElementById('review-earlier').textContent.includes('people disagree')"
    )
    ana.press("Escape")
    ana.page.select_option("[data-facet=review]", "conflict")
    assert (ana.page.text_content("#cases-shown") or "").startswith("1 of")
    ana.quiet()
    ben.quiet()


@pytest.fixture(scope="module")
def many(folder: Path) -> Run:
    """A run of 260 cases."""
    cases = [
        {"id": f"m{number:03}", "question": f"Number {number}?", "gold_sql": f"SELECT {number}"}
        for number in range(260)
    ]
    answers = {case["id"]: "SELECT 7" for case in cases}
    return assay.evaluate(cases, answers, databases="sqlite://", workers=1, name="many").record


@pytest.mark.parametrize("one_server", [True, False])
def test_of_24_decisions_from_two_browsers_none_is_lost(begin: Start, many: Run, one_server: bool) -> None:
    ana = begin(many).opened("m000")
    ben = begin(many, address=ana.address) if one_server else begin(many, reviewer="Ben")
    both = (ana, ben)
    decided = []
    for _ in range(12):
        for seen in both:  # each is at its own case; a key while the last one is being saved would be dropped
            before = seen.looks().shows()
            decided.append(seen.case)
            seen.press("1").leaves(before)
    reviews = ana.reviews
    # In two windows of one person a case may be decided twice: the same decision is written once.
    assert len(decided) == 24
    assert {review.case_id for review in reviews} == set(decided)
    assert len({review.id for review in reviews}) == len(reviews) <= 24
    assert len(reviews) == 24 or one_server
    distinct = len(set(decided))
    for seen in both:
        seen.counted(distinct)
        seen.quiet()


_TAPS = """
([selector, key, times, repeat]) => {
  for (let time = 0; time < times; time += 1)
    document.querySelector(selector).dispatchEvent(
      new KeyboardEvent("keydown", { key, repeat: repeat && time > 0, bubbles: true, cancelable: true }));
}
"""


def test_keys_faster_than_the_server_decide_no_case_unseen(begin: Start, many: Run) -> None:
    seen = begin(many).opened("m000")
    seen.page.evaluate(_TAPS, ["#case-body", "1", 30, False])
    seen.opened("m001")
    assert len(seen.reviews) == 1


def test_a_case_is_decided_only_after_it_was_visible_for_a_moment(begin: Start, many: Run) -> None:
    seen = begin(many).opened("m000")
    too_early: list[Callable[[], object]] = [
        lambda: seen.press("1", "1", "7", "4", "5"),
        lambda: seen.page.dblclick("[data-decision=confirm]"),
        lambda: seen.page.click("[data-decision=gold_wrong]"),
    ]

    for number, act in enumerate(too_early):
        seen.press("1")
        seen.shows(number + 1)
        act()
        seen.hears("only just appeared")
        assert seen.page.locator(".panel:not([hidden])").count() == 0
        assert seen.case == f"m{number + 1:03}"
        assert len(seen.reviews) == number + 1
        seen.looks()
    seen.press("j")
    seen.shows(4)
    seen.press("1").hears("only just appeared")
    seen.page.clock.run_for(100)
    seen.press("1").hears("only just appeared")
    seen.page.clock.run_for(300)
    seen.press("1").opened("m005")
    assert [one.case_id for one in seen.reviews] == ["m000", "m001", "m002", "m004"]
    seen.quiet()


@pytest.mark.parametrize("key", ["1", "2", "3", "6", "7"])
def test_a_key_that_is_held_down_decides_one_case(begin: Start, key: str) -> None:
    first, second = ("c-02", "c-03") if key == "2" else ("c-01", "c-02")
    seen = begin().opened("c-01")
    if key == "2":
        seen.press("j").opened("c-02")
    seen.page.evaluate(_TAPS, ["#case-body", key, 2, True])
    seen.opened(second)
    for _ in range(5):  # the clock runs on while the key stays down
        seen.page.evaluate(
            "(key) => document.getElementById('case-body').dispatchEvent("
            "new KeyboardEvent('keydown', { key, repeat: true, bubbles: true, cancelable: true }))",
            key,
        )
        seen.looks()
    assert seen.case == second
    assert [one.case_id for one in seen.reviews] == [first]
    seen.quiet()


def test_other_keys_that_are_held_down_act_once(begin: Start) -> None:
    def alike(run: Run, reviews: object, **_: object) -> list[QueuedCase]:
        return [QueuedCase(index=place, case_id="", cluster="alike") for place in range(12)]

    def held(key: str) -> None:
        """Keep a key down: the browser itself repeats it."""
        *modifiers, last = key.split("+")
        for modifier in modifiers:
            seen.page.keyboard.down(modifier)
        for _ in range(6):
            seen.page.keyboard.down(last)
            seen.looks()
        for one in (last, *modifiers):
            seen.page.keyboard.up(one)

    seen = begin(queue=alike).opened("c-01").press("6").opened("c-02")
    held("Enter")
    seen.opened("c-03")
    assert len(seen.reviews) == 2
    held("5")
    assert seen.page.is_visible("#review-ambiguous-panel")
    held("Enter")
    seen.opened("c-04")
    assert len(seen.reviews) == 3
    seen.page.focus("[data-decision=unsure]")
    held("Enter")
    seen.opened("c-05")
    assert len(seen.reviews) == 4
    held("u")
    seen.opened("c-04").hears("is taken back")
    assert [one.decision for one in seen.reviews][4:] == ["undo"]
    seen.press("n")
    held("1")
    assert set(seen.page.input_value("#review-note")) == {"1"}, "a field takes the keys that are held down"
    seen.press("Escape", "4")
    seen.page.fill("#review-gold", "SELECT 1")
    held("Control+Enter")
    seen.page.wait_for_selector("#review-tried *")
    held("Control+Enter")
    assert len(seen.reviews) == 5, "a result is seen before it is saved"
    held("ArrowRight")
    seen.quiet()


def test_a_key_that_does_not_fit_says_why_and_what_to_press(begin: Start) -> None:
    seen = begin().opened("c-01").press("2")
    seen.hears("The verdict is already correct: press 1 to confirm it.")
    seen.press("1").opened("c-02").hears("Saved")
    seen.press("3")
    seen.hears("The verdict is already incorrect: press 1 to confirm it.")
    seen.page.click("[data-decision=reject]", force=True)
    seen.hears("already incorrect")
    assert seen.page.get_attribute("[data-decision=reject]", "aria-disabled") == "true"
    assert seen.case == "c-02"
    assert len(seen.reviews) == 1
    seen.press("j").opened("c-03")
    assert seen.said == "", "a message goes with its case"
    seen.press("k", "k").opened("c-01")
    assert seen.said == ""
    seen.press("u").hears("is taken back")
    seen.press("Escape").page.wait_for_selector("dialog#case:not([open])", state="attached")
    seen.press("r").opened("c-01")
    seen.press("j").opened("c-02")
    assert seen.said == ""
    seen.quiet()


def test_a_case_that_is_opened_while_another_is_closing_stays_open(begin: Start) -> None:
    """A browser may tell of the closing after the key that follows it."""
    seen = begin().opened("c-01")
    close, press = "document.getElementById('case').close()", "new KeyboardEvent('keydown', {key: 'r'})"
    seen.page.evaluate(f"() => {{ {close}; document.dispatchEvent({press}) }}")
    seen.opened("c-01").press("j").opened("c-02").press("Escape")
    seen.page.wait_for_selector("dialog#case:not([open])", state="attached")
    assert "case=" not in seen.page.evaluate("() => location.hash")
    seen.quiet()


def test_without_a_gold_query_no_verdict_is_confirmed(begin: Start) -> None:
    run = assay.evaluate(
        [{"id": "q", "question": "Who?", "gold_sql": None}], {"q": "SELECT 1"}, databases="sqlite://", workers=1
    ).record
    seen = begin(run).opened("q").press("1")
    seen.hears("Without a gold query there is no verdict to confirm: press 2 or 3.")
    assert seen.reviews == []


def test_killed_in_the_middle_what_was_said_to_be_saved_is_on_the_disk(
    chromium: Browser, run: Run, tmp_path: Path
) -> None:
    save_run(run, tmp_path / "run")
    file = tmp_path / "reviews.jsonl"
    command = [sys.executable, "-m", "assay", "review", str(tmp_path / "run"), "--no-browser", "--reviewer", "Ana"]
    command += ["--reviews", str(file)]
    decided: list[str] = []

    def decide(seen: Reviewing) -> None:
        case = seen.case
        seen.looks().press("1").hears(f"{case}: the verdict is right. Saved")
        decided.append(case)

    with ExitStack() as opened:

        def started() -> tuple[Reviewing, subprocess.Popen[str]]:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
            opened.enter_context(process)
            opened.callback(process.kill)
            context = chromium.new_context()
            opened.callback(context.close)
            assert process.stdout is not None
            seen = Reviewing(new_window(context), process.stdout.readline().strip(), file)
            seen.page.wait_for_selector("dialog#case[open]")
            return seen, process

        seen, process = started()
        for _ in range(3):
            decide(seen)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert [one.case_id for one in seen.reviews] == decided
        case = seen.case
        seen.looks().press("1").hears("Not saved: assay review has ended")
        assert seen.case == case
        with file.open("ab") as torn:
            torn.write(b'{"id":"half')
        seen, process = started()
        assert seen.case not in decided
        seen.counted(3)
        decide(seen)
        assert [one.case_id for one in seen.reviews] == decided


def test_a_page_without_the_token_can_only_be_looked_at(begin: Start) -> None:
    seen = begin()
    plain = seen.page.context.browser.new_context()  # type: ignore[union-attr]
    page = new_window(plain)
    for address in (seen.address.partition("#")[0], seen.address.partition("=")[0] + "=wrong"):
        page.goto(address)
        page.wait_for_selector("html[data-ready]", state="attached")
        assert "Nothing can be reviewed here: the token is wrong" in (page.text_content("#review-strip") or "")
        page.evaluate("() => { location.hash = '#case=c-01'; }")
        page.wait_for_selector("dialog#case[open]")
        assert page.is_hidden("#review")
    plain.close()
    assert seen.reviews == []


def test_a_reload_keeps_the_token_and_the_case(begin: Start) -> None:
    seen = begin().opened("c-01").press("1").opened("c-02")
    seen.page.reload()
    seen.opened("c-02").press("1").opened("c-03").press("Escape")
    assert len(seen.reviews) == 2
    token = seen.address.partition("token=")[2]
    assert token
    assert token not in seen.page.content() + seen.page.url
    seen.quiet()


class _Evil(http.server.BaseHTTPRequestHandler):
    """Another site, whose page writes to the review server as well as it can."""

    target = ""

    def do_GET(self) -> None:
        body = json.dumps({"case": "c-01", "decision": "accept"})
        page = f"""<form id=f method=post action="{self.target}decide" enctype="text/plain" target="i">
        <input name='{body[:-1]},"x":"' value='"}}'></form><iframe name=i></iframe><script>
        const body = {json.dumps(body)};
        const send = (more) => fetch("{self.target}decide", {{method: "POST", body, ...more}}).catch(() => 0);
        Promise.all([send({{}}), send({{mode: "no-cors"}}), send({{headers: {{"Content-Type": "application/json"}}}}),
          send({{headers: {{"Content-Type": "application/json", "X-Assay-Token": "guess"}}}}),
          navigator.sendBeacon("{self.target}decide", body)]).then(() => {{
            document.getElementById("f").submit(); setTimeout(() => {{ document.title = "done"; }}, 500); }});
        </script>"""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def test_another_site_cannot_write(begin: Start) -> None:
    seen = begin().opened("c-01")
    _Evil.target = seen.address.partition("#")[0]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Evil) as evil:
        threading.Thread(target=evil.serve_forever, daemon=True).start()
        page = seen.page.context.new_page()
        page.goto(f"http://127.0.0.1:{evil.server_port}/")
        page.wait_for_function("() => document.title === 'done'")
        evil.shutdown()
    assert seen.reviews == []
    seen.press("1").opened("c-02")


@pytest.fixture(scope="module")
def hostile_cases(folder: Path) -> Run:
    """Attacks in ids, questions, queries and answers."""
    attacks = [text for text in runs.ATTACKS if text and "\ud800" not in text and "/" not in text[:1]]
    cases = [
        {"id": f"{number:02} {text}", "question": text, "gold_sql": f"SELECT '{text.replace(chr(39), chr(39) * 2)}'"}
        for number, text in enumerate(attacks)
    ]
    answers = {case["id"]: f'SELECT 1 AS "{case["question"].replace(chr(34), chr(34) * 2)}"' for case in cases}
    return assay.evaluate(cases, answers, databases="sqlite://", workers=1, name=runs.ATTACKS[0]).record


def test_no_text_is_taken_for_markup(begin: Start, hostile_cases: Run) -> None:
    name = runs.ATTACKS[1]
    seen = begin(hostile_cases, reviewer=name)
    for text in runs.ATTACKS[:6]:
        place = seen.shows()
        seen.looks().page.fill("#review-note", text.replace("\r", ""))
        seen.page.click("[data-decision=confirm]")
        seen.leaves(place)
        seen.press("k").shows(place)
        assert name in seen.page.inner_text("#review-earlier")
        seen.press("j")
    assert [one.note for one in seen.reviews] == [text.strip() for text in runs.ATTACKS[:6]]
    assert seen.page.evaluate("() => typeof window.executed") == "undefined"
    assert seen.page.evaluate("() => document.querySelectorAll('img, iframe, object, embed, main script').length") == 0
    seen.press("Escape")
    seen.page.select_option("[data-facet=review]", "mine")
    seen.quiet()


SHOWN: dict[str, Callable[[Reviewing], Any]] = {
    "case": lambda seen: seen,
    "gold": lambda seen: seen.press("4"),
    "ambiguous": lambda seen: seen.press("5"),
    "keys": lambda seen: seen.press("?"),
    "table": lambda seen: seen.press("Escape"),
}


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_in_any_view(begin: Start, axe: str, dark: bool, folder: Path) -> None:
    later = runs.real_run(folder, runs.LATER, "second")
    begin(others=(later,), reviewer="Ben").opened("c-01").press("3").opened("c-02")
    for size in (DESKTOP, (390, 844)):
        seen = begin(others=(later,), size=size, dark=dark)
        seen.page.evaluate("() => { location.hash = '#case=c-01'; }")
        seen.opened("c-01")
        seen.page.wait_for_selector("#review-others:not([hidden])")
        seen.page.evaluate(axe)
        for name, show in SHOWN.items():
            show(seen)
            result: dict[str, Any] = seen.page.evaluate("() => axe.run(document)")
            found = [
                (name, size, one["id"], node["html"][:120], node["failureSummary"])
                for one in result["violations"]
                for node in one["nodes"]
            ]
            assert found == []
            if name not in ("case", "table"):
                seen.press("Escape")
        seen.quiet()


_FAULTS = r"""
() => {
  const wrong = [];
  const box = document.querySelector("dialog[open]") || document.querySelector("main");
  if (document.scrollingElement.scrollWidth > innerWidth) wrong.push("the page scrolls sideways");
  for (const one of box.querySelectorAll(".deciding *, .review *, .reviewed *, header *")) {
    if (!one.checkVisibility() || one.closest(".offscreen, pre, .scroll, svg") || one.tagName === "OPTION") continue;
    const edge = one.getBoundingClientRect();
    const beyond = edge.width && (edge.right > innerWidth + 1 || edge.left < -1);
    if (beyond) wrong.push(`beyond the window: ${one.outerHTML.slice(0, 90)}`);
    if (one.tagName === "BUTTON") {
      const range = document.createRange();
      range.selectNodeContents(one);
      const text = range.getBoundingClientRect();
      const out = text.right > edge.right + 1 || text.bottom > edge.bottom + 1;
      if (out) wrong.push(`out of its button: ${one.textContent}`);
    }
  }
  const body = document.getElementById("case-body");
  const alone = body.checkVisibility() && !document.querySelector(".panel:not([hidden])");
  if (alone && body.clientHeight < innerHeight * 0.5)
    wrong.push(`the case has ${body.clientHeight} of ${innerHeight} px`);
  if (body.scrollWidth > body.clientWidth) wrong.push("the case scrolls sideways");
  const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const within = text.parentElement;
    if (!within.checkVisibility() || within.closest("pre, .offscreen, svg, textarea, #review-file")) continue;
    for (const word of text.data.matchAll(/(?<![\p{L}\p{N}])[\p{L}\p{N}]{2,16}(?![\p{L}\p{N}])/gu)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((line) => Math.round(line.top)));
      if (lines.size > 1) wrong.push(`a broken word: ${word[0]} in ${within.outerHTML.slice(0, 90)}`);
    }
  }
  return wrong;
}
"""


_SIZES = [
    *((width, 600 if width < 380 else 844) for width in (320, 340, 360, 375, 390, 430, 480, 560, 640, 641)),
    *((width, 900) for width in (700, 768, 860, 861, 960, 1150, 1151, 1280, 1440, 1920)),
    (667, 375),
    (844, 390),
]


def test_nothing_is_cut_at_any_width(begin: Start, folder: Path) -> None:
    begin(reviewer="Ben " + "x" * 90).opened("c-01").press("3").opened("c-02")
    seen = begin().opened("c-02")
    for name, show in SHOWN.items():
        seen.page.evaluate("() => { location.hash = '#case=c-01'; }")
        seen.opened("c-01")
        show(seen)
        for width, height in _SIZES:
            seen.page.set_viewport_size({"width": width, "height": height})
            seen.looks()
            assert seen.page.evaluate(_FAULTS) == [], (name, width, height)
        if name not in ("case", "table"):
            seen.press("Escape")
    seen.quiet()


def test_no_word_of_a_case_is_broken_on_a_phone(begin: Start) -> None:
    seen = begin(size=(320, 600))
    for number in range(1, 13):
        seen.page.evaluate("(id) => { location.hash = `#case=${id}`; }", f"c-{number:02}")
        seen.opened(f"c-{number:02}")
        for width in (320, 360, 390, 480):
            seen.page.set_viewport_size({"width": width, "height": 600})
            seen.looks()
            assert seen.page.evaluate(_FAULTS) == [], (number, width)
    seen.quiet()
