"""The HTML report: complete, self-contained, and proof against what it shows."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from assay.model import Evidence, Run
from assay.reports import html as html_report
from assay.reports.html import HtmlReporter

VOID = {"meta", "input", "br"}


class Page(HTMLParser):
    """Tags, attributes and texts of a page; fails where tags do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.inline: dict[str, str] = {}
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("style", "script"):
            self.inline[self.open[-1]] = data
        else:
            self.texts.append(data)


def page_of(run: Run) -> Page:
    return Page(HtmlReporter().render(run).decode())


def policy_of(page: Page) -> str:
    return next(
        attrs["content"] or "" for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"
    )


@pytest.mark.parametrize("name", ["small_run", "hostile_run", "empty_run", "all_failing_run"])
def test_a_page_is_well_formed_and_loads_nothing(name: str, request: pytest.FixtureRequest) -> None:
    page = page_of(request.getfixturevalue(name))
    assert {tag for tag, _ in page.tags}.isdisjoint({"img", "link", "iframe", "object", "embed", "form", "base"})
    assert [tag for tag, _ in page.tags].count("script") == 1
    for tag, attrs in page.tags:
        assert not [name for name in attrs if name.startswith("on") or name in ("style", "src")], (tag, attrs)
        assert (attrs.get("href") or "#").startswith("#")


def test_the_policy_allows_only_this_style_and_this_script_by_hash(hostile_run: Run) -> None:
    page = page_of(hostile_run)
    policy = policy_of(page)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "*" not in policy
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        digest = base64.b64encode(hashlib.sha256(page.inline[tag].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy


def test_the_policy_stands_before_anything_that_it_governs(small_run: Run) -> None:
    text = HtmlReporter().render(small_run).decode()
    assert text.index("Content-Security-Policy") < text.index("<style") < text.index("<script")


def test_hostile_text_is_shown_and_not_obeyed(hostile_run: Run) -> None:
    text = HtmlReporter().render(hostile_run).decode()
    assert "<img" not in text
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x1b]", text)
    shown = "".join(page_of(hostile_run).texts)
    assert "</script></style><img src=x onerror=alert(1)>⟨U+202E⟩gnp.exe⟨U+202C⟩⟨U+001B⟩[31mred⟨U+0007⟩" in shown
    assert "{{7*7}}" in shown


def test_null_is_told_from_empty_text_and_from_the_word(small_run: Run) -> None:
    text = HtmlReporter().render(small_run).decode()
    assert '<td>&#39;&#39;</td><td><span class="null">NULL</span></td>' in text
    assert "<td>&#39;NULL&#39;</td><td>31</td>" in text
    assert "<td>&#39;NULL&#39;</td><td>&#39;31&#39;</td>" in text


def test_every_case_is_there_with_its_queries_reason_and_scores(small_run: Run) -> None:
    page = page_of(small_run)
    cases = [attrs for tag, attrs in page.tags if tag == "details" and "case" in (attrs.get("class") or "").split()]
    assert [attrs["class"] for attrs in cases] == [f"case {item.outcome}" for item in small_run.evidence]
    shown = "\n".join(page.texts)
    for item in small_run.evidence:
        for text in (item.case.question, *item.case.golds, item.prediction.query or "", item.verdict.reason):
            assert text in shown
    assert "0.667" in shown


def test_links_to_cases_lead_somewhere(large_run: Run) -> None:
    page = page_of(large_run)
    anchors = [attrs["id"] for _, attrs in page.tags if attrs.get("id")]
    links = {(attrs["href"] or "")[1:] for tag, attrs in page.tags if tag == "a"}
    assert len(anchors) == len(set(anchors))
    assert links
    assert links <= set(anchors)


def test_a_benchmark_renders_quickly_into_a_modest_file(large_run: Run) -> None:
    seconds = []  # of this process, whatever else the machine does
    for _ in range(2):
        start = time.process_time()
        size = len(HtmlReporter().render(large_run))
        seconds.append(time.process_time() - start)
    print(f"{size / 1e6:.1f} MB in {min(seconds):.2f} s")
    assert size < 5_000_000
    assert min(seconds) < 1.5


def test_of_too_many_cases_correct_ones_are_left_out_and_counted(
    small_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html_report, "_MOST_CASES", 4)
    page = page_of(small_run)
    shown = "".join(page.texts)
    assert "the 2 that are left out are in the JSON report" in shown
    assert [attrs["class"] for tag, attrs in page.tags if "id" in attrs and tag == "details"] == [
        "case incorrect",
        "case unscored",
        "case incorrect",
        "case incorrect",
    ]
    anchors = {attrs["id"] for _, attrs in page.tags if attrs.get("id")}
    assert {(attrs["href"] or "")[1:] for tag, attrs in page.tags if tag == "a"} <= anchors


def test_long_queries_and_wide_rows_are_cut_and_say_so(build_run: Callable[..., Run], wrong_case: Evidence) -> None:
    comparison = wrong_case.comparison
    assert comparison is not None
    wide = replace(comparison.aligned[2], gold=tuple(range(40)))
    case = replace(
        wrong_case,
        prediction=replace(wrong_case.prediction, query="SELECT " + "x" * 50_000),
        comparison=replace(comparison, aligned=(wide,), missing_rows=900, matched_rows=0, extra_rows=0),
    )
    shown = "".join(page_of(build_run([case])).texts)
    assert "… 44,007 more characters" in shown
    assert "899 more rows, 28 more columns" in shown
