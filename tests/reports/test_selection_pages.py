"""Runs over SDMX selections in HTML, Markdown, JSON and on the terminal: all numbers, every term, nothing of SQL."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import selections
from msgspec.structs import replace
from pages import Page, texts_of
from selections import SETTINGS, dimension, evidence, make_selection_run, selection_score

from assay.model import Evidence, Run, ScoredTerm, SelectionSettings, TurnScore
from assay.model.runs.run import Aggregates
from assay.reports.blocks.run import RunReport
from assay.reports.cases.selection import TermLengths
from assay.reports.console.run import plain_summary
from assay.reports.html.run import HtmlReporter
from assay.reports.json.run import JsonReporter
from assay.reports.markdown.run import MarkdownReporter
from drawing import draw_summary
from many_cases import each


def html(run: Run) -> str:
    return HtmlReporter().render(run).decode()


def markdown(run: Run) -> str:
    return MarkdownReporter().render(run).decode()


def plain(run: Run) -> str:
    return plain_summary(RunReport(run))


def drawn(run: Run) -> str:
    return draw_summary(run, width=80)


@pytest.fixture
def run() -> Run:
    return selections.small_selection_run()


@each("draw", [html, markdown, plain, drawn])
def test_the_headline_is_exact_match_with_macro_recall_and_precision_beside_it(
    run: Run, draw: Callable[[Run], str]
) -> None:
    text = draw(run)
    places = [text.find(part) for part in ("33.3 %", "83.3 %", "61.1 %")]
    assert -1 not in places
    assert places == sorted(places)
    for part in ("[6.1, 79.2]", "1 of 3", "macro recall", "macro precision"):
        assert part in text


@each("draw", [html, markdown, plain, drawn])
def test_nothing_that_only_concerns_sql_is_shown(run: Run, draw: Callable[[Run], str]) -> None:
    text = Page(draw(run)).everything if draw is html else draw(run)
    for word in ("gold", "query", "queries", "SQL", "database", "Slowest", "near miss", "tolerance", "columns in"):
        assert not re.search(rf"\b{word}\b", text, re.IGNORECASE), word


@each("draw", [html, markdown, plain, drawn])
def test_dimensions_tags_turns_wrong_terms_and_times_are_broken_down(run: Run, draw: Callable[[Run], str]) -> None:
    text = draw(run)
    for title in ("erms by dimension", "Exact selections by tag", "Exact selections by turn"):
        assert title in text
    row = re.sub(r"<[^>]+>|[|`*]", " ", next(line for line in text.splitlines() if "COUNTRY" in line))
    assert re.search(r"COUNTRY +3 +40\.0 % +66\.7 % +50\.0 % +2 +1 +3", row.replace("\u2502", " "))
    for kind in ("invented code", "through the hierarchy", "overlap", "missing"):
        assert kind in text
    assert re.search(r"target(</span>)?: no target", text)


def test_the_notes_tell_how_terms_were_matched(run: Run) -> None:
    assert RunReport(run).notes == (
        "1 case is excluded: it has no target (broken).",
        "1 case is unanswered (no predicted selection) and counts as incorrect.",
        "In 1 turn some terms were compared by their codes alone: one side or both had no name for them.",
        "1 selected code in 1 case is invented: no code list has it.",
        (
            "In 1 turn a parent code was selected for its children, or they for it, which does not count as right "
            "without --count-hierarchy."
        ),
    )
    by_code = replace(SETTINGS, selection=SelectionSettings(match_on="id", count_hierarchy=True))
    notes = RunReport(replace(run, settings=by_code)).notes
    assert "Terms were compared by their codes alone, as asked for: names did not count." in notes
    assert "No structures were given, so it is unknown which of the wrong codes exist." in notes
    assert any(note.endswith("which counts as right.") for note in notes)


def dimensions_of(turn: dict[str, Any], part: str = "dimensions") -> dict[str, dict[str, list[list[str]]]]:
    """Per dimension and list the terms that are shown."""
    return {
        one["name"]: {found["state"]: [list(term.values()) for term in found["terms"]] for found in one["lists"]}
        for one in turn[part]
    }


def test_a_case_shows_each_turn_with_its_terms(run: Run) -> None:
    gdp, talk, broken = Page(html(run)).cases[1:]
    first, second, third, fourth = talk["turns"]
    assert (second["label"], second["said"], second["question"]) == ("Turn 2", "not exact", "And its neighbours?")
    assert second["figures"] == "macro recall 0.000, macro precision 0.000"
    (answer,) = gdp["turns"]
    assert dimensions_of(answer)["INDICATOR"]["extra"] == [
        ["GDP_CONST", "gross domestic product constant prices", "", "invented code"]
    ]
    assert dimensions_of(answer, "beyond")["FREQUENCY"]["extra"] == [["A", "Annual", "", ""]]
    assert ["NAM", "North America", "IMF.STA:CPI", "through the hierarchy"] in dimensions_of(second)["COUNTRY"]["extra"]
    assert dimensions_of(first)["SECTOR"] == {"right": [], "extra": [], "missing": []}
    assert ["extra", "IMF.STA:CPI"] in second["datasets"]
    (period,) = answer["time"]
    assert (period["said"], period["good"]) == ("overlap, 50.0 % in common", False)
    assert (period["target"], period["selected"]) == ("2015 to 2020", "from 2018")
    (period,) = second["time"]
    assert (period["said"], period["dataset"]) == ("missing", "IMF.RES:WEO")
    assert (period["target"], period["selected"]) == ("2015-Q1", "none")
    assert "Scored by target 1 of 2, the closest one." in answer["remarks"]
    assert any(
        "the parent NAM (North America) was selected for its children CAN, MEX, USA, which does not count as right "
        "without --count-hierarchy." in remark
        for remark in second["remarks"]
    )
    assert third["said"] == "asked, and not scored: it has no target"
    assert fourth["failures"] == ["system: 'data' is no JSON: it ends within a string"]
    assert broken["turns"][0]["failures"] == ["target: its target names the dataset '???'"]
    assert '"component_code": "INDICATOR"' in answer["raw"]
    assert answer["text"] == "Here is the GDP of all countries."


def test_markdown_shows_terms_as_a_difference(run: Run) -> None:
    text = markdown(run)
    assert "\n  GDP: gross domestic product\n" in text
    assert "\n+ GDP_CONST: gross domestic product constant prices (invented code)\n" in text
    assert "\n- CAN (in IMF.RES:WEO)\n" in text
    assert "not in target, recall n/a" in text


def test_hostile_text_is_shown_and_not_obeyed(hostile_text: str) -> None:
    run = selections.hostile_selection_run(hostile_text)
    page = html(run)
    assert "<img" not in page
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x1b]", page)
    for shown in (Page(page).text, " ".join(texts_of(Page(page).cases))):
        assert "<img src=x onerror=alert(1)>⟨U+202E⟩gnp.exe" in shown
    for text in (drawn(run), plain(run)):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", re.sub("\x1b\\[[0-9;]*m", "", text))
    json.loads(JsonReporter().render(run))


def test_json_holds_every_turn_and_reads_back_as_the_model(run: Run) -> None:
    document = json.loads(JsonReporter().render(run))
    assert document["headline"]["metric"] == "exact_match"
    assert msgspec.convert(document["aggregates"], Aggregates) == run.aggregates
    parts = {"case", "prediction", "verdict", "scores", "turns", "cause", "diagnosis", "reviewed"}
    assert set(document["cases"][0]) == parts
    for item, case in zip(run.evidence, document["cases"], strict=True):
        assert msgspec.convert(case["turns"], tuple[TurnScore, ...]) == item.turns
        assert case["prediction"]["turns"] == json.loads(msgspec.json.encode(item.prediction.turns))


@each("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(run: Run, width: int, hostile_text: str) -> None:
    for shown in (run, selections.hostile_selection_run(hostile_text)):
        assert max(map(len, draw_summary(shown, width=width).splitlines())) <= width


def test_a_run_without_scored_cases_or_totals_is_drawn() -> None:
    for items in ([], [selections.unscored()]):
        run = make_selection_run(items)
        for shown in (run, replace(run, aggregates=replace(run.aggregates, selection=None))):
            for draw in (html, markdown, plain, drawn):
                assert "n/a" in draw(shown)
            JsonReporter().render(shown)


def long_case(terms: int, number: int = 0) -> Evidence:
    found = [ScoredTerm(id=f"C{place}") for place in range(terms)]
    return evidence(f"long-{number}", [("All?", selection_score([dimension("AREA", missing=found)]))])


def test_long_lists_are_cut_and_say_so() -> None:
    page = Page(html(make_selection_run([long_case(50)])))
    (found,) = [one for one in page.cases[0]["turns"][0]["dimensions"][0]["lists"] if one["count"]]
    assert [term["code"] for term in found["terms"]] == [f"C{place}" for place in range(40)]
    assert (found["state"], found["count"]) == ("missing", 50)
    assert "The first 40 terms of each list are shown; the JSON report has them all." in page.text
    assert "- and 40 more\n" in markdown(make_selection_run([long_case(50)]))
    assert "Of each list" not in html(make_selection_run([long_case(40)]))


def test_the_more_lists_there_are_the_fewer_terms_of_each_are_shown() -> None:
    assert TermLengths([long_case(100)]).room().terms == 40
    assert TermLengths([long_case(100)] * 3000).room().terms == 20
    assert TermLengths([long_case(100)] * 50_000).room().terms == 5


def test_of_many_lists_those_of_right_terms_are_cut_first() -> None:
    found = [ScoredTerm(id=f"C{place}") for place in range(40)]
    item = evidence("a", [("All?", selection_score([dimension("AREA", right=found, extra=found)]))])
    few, many = TermLengths([item]).room(), TermLengths([item] * 1500).room()
    assert (few.terms, few.right, few.cut) == (40, 40, False)
    assert (many.terms, many.right, many.cut) == (40, 10, True)


def test_a_thousand_cases_of_200_terms_are_drawn_quickly() -> None:
    run = selections.large_selection_run(1000, 200)
    start = time.process_time()
    page = len(HtmlReporter().render(run))
    html_s = time.process_time() - start
    document = len(JsonReporter().render(run))
    json_s = time.process_time() - start - html_s
    print(f"HTML {page / 1e6:.1f} MB in {html_s:.2f} s, JSON {document / 1e6:.1f} MB in {json_s:.2f} s")
    assert page < 10_000_000
    assert html_s < 20
    assert json_s < 10
    assert len(MarkdownReporter().render(run).decode()) < 65_536


def test_target_codes_that_the_structures_lack_are_not_told_as_the_systems_inventions() -> None:
    stale = ScoredTerm(id="GONE", note="unknown_code")
    score = selection_score([dimension("INDICATOR", missing=[stale])])
    run = make_selection_run([evidence("old", [("How many?", score)])])
    assert (
        'In 1 case the target has codes or dimensions that the structures lack: "old". '
        "The case is out of date, or the structures are."
    ) in RunReport(run).notes
    page = Page(html(run))
    terms = dimensions_of(page.cases[0]["turns"][0])["INDICATOR"]["missing"]
    assert terms == [["GONE", "", "", "no such code"]]
    assert "invented" not in page.everything


@each(
    ("predictions", "title"),
    [
        ("chat:http://h/openai/deployments/statgpt/chat/completions (2 parameters)", "statgpt on sdmx"),
        ("answers/first.jsonl", "first on sdmx"),
    ],
)
def test_a_run_of_a_live_assistant_is_titled_by_the_assistants_name(run: Run, predictions: str, title: str) -> None:
    settings = replace(SETTINGS, name=None, cases="cases/sdmx.yaml", predictions=predictions)
    assert RunReport(replace(run, settings=settings)).title == title
