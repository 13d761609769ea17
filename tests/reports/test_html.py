"""The HTML report: complete, self-contained, and proof against what it shows."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from pages import Page, texts_of

from assay import registry
from assay.model import Evidence, Run
from assay.reports.html.run import HtmlReporter
from assay.reports.text.plain import one_line


def page_of(run: Run) -> Page:
    return Page(HtmlReporter().render(run))


def policy_of(page: Page) -> str:
    return next(
        attrs["content"] or "" for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"
    )


@pytest.mark.parametrize("name", ["small_run", "hostile_run", "empty_run", "all_failing_run"])
def test_a_page_is_well_formed_and_loads_nothing(name: str, request: pytest.FixtureRequest) -> None:
    page = page_of(request.getfixturevalue(name))
    assert {tag for tag, _ in page.tags}.isdisjoint({"img", "link", "iframe", "object", "embed", "form", "base"})
    scripts = [attrs.get("type") for tag, attrs in page.tags if tag == "script"]
    assert scripts == [None, "application/json"]
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
    page = page_of(hostile_run)
    attack = "</script></style><img src=x onerror=alert(1)>⟨U+202E⟩gnp.exe⟨U+202C⟩⟨U+001B⟩[31mred⟨U+0007⟩"
    for shown in (page.text, " ".join(texts_of(page.cases[0])), " ".join(texts_of(page.index))):
        assert attack in shown
        assert "{{7*7}}" in shown


def test_nothing_in_the_packed_data_could_be_taken_for_markup(hostile_run: Run) -> None:
    assert re.fullmatch(r'[\w+/=:,"{}\[\] ]+', page_of(hostile_run).inline["data"], re.ASCII)


def test_null_is_told_from_empty_text_and_from_the_word(small_run: Run) -> None:
    rows = page_of(small_run).cases[1]["difference"]["rows"]
    assert ["matched", [["text", "''", 0], ["null", "NULL", 0]], [["text", "''", 0], ["null", "NULL", 0]], []] in rows
    assert [
        "near",
        [["text", "'NULL'", 0], ["number", "31", 0]],
        [["text", "'NULL'", 0], ["text", "'31'", 0]],
        [1],
    ] in rows


def test_every_case_is_there_with_its_queries_reason_and_scores(small_run: Run) -> None:
    page = page_of(small_run)
    assert page.outcomes == [item.outcome for item in small_run.evidence]
    for item, case in zip(small_run.evidence, page.cases, strict=True):
        shown = texts_of(case)
        for text in (item.case.question, *item.case.golds, *filter(None, [item.prediction.query]), item.verdict.reason):
            assert text in shown
        assert [metric for metric, *_ in case["scores"]] == [score.metric for score in item.scores]
    assert ["bird_soft_f1", pytest.approx(2 / 3, abs=0.001), "0.667", ""] in page.cases[1]["scores"]


def test_the_index_tells_of_each_case_what_the_table_needs(small_run: Run) -> None:
    index = page_of(small_run).index
    facets = {facet["name"]: facet for facet in index["facets"]}
    carried = {name: [[facet["values"][at] for at in of] for of in facet["of"]] for name, facet in facets.items()}
    assert index["id"] == index["link"] == [item.case.id for item in small_run.evidence]
    assert carried["tag"] == [list(item.case.tags) for item in small_run.evidence]
    assert carried["flag"] == [sorted(item.verdict.flags) for item in small_run.evidence]
    assert carried["near"][1] == ["type only"]
    assert "gold: error" in carried["failure"][2]
    values = {metric["name"]: metric["value"] for metric in index["metrics"]}
    assert values["bird_soft_f1"] == [0.0, 0.6667, None, 0.0, 0.0, 1.0]


def test_cases_whose_ids_look_the_same_have_links_of_their_own(
    build_run: Callable[..., Run], right_case: Evidence
) -> None:
    ids = ["x" * 90 + "first", "x" * 90 + "second", "x" * 79 + "…~2", "plain"]
    page = page_of(build_run([replace(right_case, case=replace(right_case.case, id=one)) for one in ids]))
    shown = one_line(ids[0], limit=80)
    assert page.index["id"] == [shown, shown, one_line(ids[2], limit=80), "plain"]
    assert page.index["link"][0] == shown
    assert page.index["link"][3] == "plain"
    assert len(set(page.index["link"])) == 4


def test_a_query_that_is_not_shown_as_it_was_given_is_kept_for_the_clipboard(
    build_run: Callable[..., Run], wrong_case: Evidence
) -> None:
    queries = ("SELECT 1", "SELECT\r\n1 -- \u202e \ud800", "SELECT '" + "x" * 40_000 + "'", "x" * 60_000)
    cases = [
        replace(
            wrong_case,
            case=replace(wrong_case.case, id=str(place)),
            prediction=replace(wrong_case.prediction, query=query),
        )
        for place, query in enumerate(queries)
    ]
    kept = [case["predicted"].get("original") for case in page_of(build_run(cases)).cases]
    assert kept == [None, queries[1], queries[2], None]


def test_a_benchmark_renders_quickly_into_a_modest_file(large_run: Run) -> None:
    seconds = []  # of this process, whatever else the machine does
    for _ in range(2):
        start = time.process_time()
        size = len(HtmlReporter().render(large_run))
        seconds.append(time.process_time() - start)
    print(f"{size / 1e6:.1f} MB in {min(seconds):.2f} s")
    assert size < 5_000_000
    assert min(seconds) < 10


def test_the_page_says_how_far_it_is_and_is_the_same_for_it(small_run: Run, build_run: Callable[..., Run]) -> None:
    items = [
        replace(small_run.evidence[0], case=replace(small_run.evidence[0].case, id=str(place))) for place in range(450)
    ]
    run = build_run(items)
    told: list[int] = []
    assert b"".join(registry.pieces("html", run, drawn=told.append)) == HtmlReporter().render(run)
    assert told == [0, 200, 400]
    assert b"".join(registry.pieces("json", small_run, drawn=told.append)) == registry.render("json", small_run)
    assert told == [0, 200, 400]  # which does not count


def test_however_many_cases_there_are_none_is_left_out(large_run: Run) -> None:
    page = page_of(large_run)
    assert len(page.packed["chunks"]) > 1
    assert len(page.cases) == len(page.index["id"]) == len(large_run.evidence)
    assert [case["question"] for case in page.cases] == [item.case.question for item in large_run.evidence]


def test_long_queries_and_wide_rows_are_cut_and_say_so(build_run: Callable[..., Run], wrong_case: Evidence) -> None:
    comparison = wrong_case.comparison
    assert comparison is not None
    wide = replace(comparison.aligned[2], gold=tuple(range(40)))
    case = replace(
        wrong_case,
        prediction=replace(wrong_case.prediction, query="SELECT " + "x" * 50_000),
        comparison=replace(comparison, aligned=(wide,), missing_rows=900, matched_rows=0, extra_rows=0),
    )
    shown = page_of(build_run([case])).cases[0]
    assert shown["predicted"]["query"].endswith("… 44,007 more characters")
    assert (shown["difference"]["left"], shown["difference"]["leftColumns"]) == (899, 10)
