"""Histograms, the cards of the first screen, and that every count leads to its cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import parse_qsl
from xml.etree import ElementTree

import pytest
from counted import counted
from handmade import RUNS
from msgspec.structs import replace
from pages import Page
from selections import small_selection_run

from assay.model import Evidence, GateResult, Run, TimeSpread, TokenUsage
from assay.reports.blocks.run import RunReport
from assay.reports.blocks.values import Figure, Name, Number, Table, sections_in
from assay.reports.console.run import plain_summary
from assay.reports.html.page import template
from assay.reports.html.run import HtmlReporter, tiles
from assay.reports.html.tables import FOLDED, histogram, histograms, page_rows, parts
from assay.reports.json.run import JsonReporter
from assay.reports.markdown.run import MarkdownReporter
from assay.runs.aggregate.repeats import repeat_totals
from assay.runs.aggregate.spread import spread_of
from assay.runs.aggregate.summarize import summaries_of
from many_cases import each


def rows_of(**times: list[float]) -> tuple[TimeSpread, ...]:
    spreads = (spread_of(name.replace("_", " "), seconds) for name, seconds in times.items())
    return tuple(filter(None, spreads))


def drawn(chart: dict[str, object]) -> ElementTree.Element:
    return ElementTree.fromstring(str(template("charts.html").module.histogram(**chart)))  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [*RUNS, "selections"])
def test_every_link_of_the_first_screen_names_something_that_the_table_of_cases_knows(
    name: str, request: pytest.FixtureRequest
) -> None:
    run = small_selection_run() if name == "selections" else request.getfixturevalue(name)
    page = Page(HtmlReporter().render(run))
    index = page.index
    facets = {facet["name"]: set(facet["values"]) for facet in index["facets"]}
    anchors = set(page.anchors)
    assert len(page.anchors) == len(anchors)
    seen = set()
    for link in page.links:
        if "=" not in link:
            assert link in anchors
            continue
        for facet, value in parse_qsl(link, keep_blank_values=True, strict_parsing=True):
            seen.add(facet)
            if facet == "show":
                assert value in [state["name"] for state in index["states"]]
            elif facet == "case":
                assert value in index.get("link", index["id"])
            elif facet == "metric":
                assert value in [metric["name"] for metric in index["metrics"]]
            elif facet == "sort":
                assert value == "metric"
            elif facet == "tab":
                assert f"tab={value}" in anchors
            else:
                assert value in facets[facet], link
    if name == "large_run":
        expected = {"show", "database", "difficulty", "failure", "near", "flag", "only", "case", "metric", "sort"}
        assert expected <= seen


def test_every_count_is_as_many_cases_as_its_link_shows(large_run: Run) -> None:
    view = RunReport(large_run)
    index = Page(HtmlReporter().render(large_run)).index
    facets = {facet["name"]: facet for facet in index["facets"]}

    def shown(facet: str, value: str) -> int:
        place = facets[facet]["values"].index(value)
        return sum(place in found for found in facets[facet]["of"])

    rows = counted(view)
    assert rows
    for row in rows:
        (facet,) = row.link
        assert shown(*facet) == row.count
    for kind, groups in view.groups:
        for group in groups:
            assert group.name is None or shown(kind, group.name) == group.cases
    tables = [block for one in view.sections for block in one.blocks if isinstance(block, Table)]
    (matrix,) = (table for table in tables if table.look == "matrix")
    for row in matrix.rows:
        says, *cells = row.cells
        assert isinstance(says, Name)
        for column, cell in zip(matrix.columns[1:], cells, strict=True):
            if isinstance(cell, Number) and cell.value:
                assert shown("only", f"{says.text}, not {column.title}") == cell.value


def test_the_steadiness_of_repeated_answers_leads_to_them(
    build_run: Callable[..., Run], right_case: Evidence, wrong_case: Evidence
) -> None:
    def asked(name: str, *templates: Evidence) -> list[Evidence]:
        return [
            replace(
                template,
                case=replace(right_case.case, id=name),
                prediction=replace(template.prediction, case_id=name, repeat=repeat),
            )
            for repeat, template in enumerate(templates)
        ]

    evidence = [
        *asked("a", right_case, right_case),
        *asked("b", right_case, wrong_case),
        *asked("c", wrong_case, wrong_case),
        *asked("d", wrong_case, right_case),
    ]
    run = build_run(evidence)
    numbers = replace(run.aggregates, repeats=repeat_totals(summaries_of(evidence), asked=2))
    run = replace(run, aggregates=numbers, settings=replace(run.settings, repeats=2))
    page = Page(HtmlReporter().render(run))
    (facet,) = [facet for facet in page.index["facets"] if facet["name"] == "steady"]
    shown = [[facet["values"][place] for place in found] for found in facet["of"]]
    assert shown == [["stable right"]] * 2 + [["flaky"]] * 2 + [["stable wrong"]] * 2 + [["flaky"]] * 2
    assert {"steady=stable%20right", "steady=flaky", "steady=stable%20wrong"} <= page.links


def test_gold_failures_and_what_is_unanswered_stand_beside_the_headline(small_run: Run) -> None:
    found = {tile.label: (tile.count, tile.link) for tile in tiles(RunReport(small_run))}
    assert found == {
        "correct": (2, ("show", "correct")),
        "incorrect": (3, ("show", "incorrect")),
        "unscored": (1, ("show", "unscored")),
        "unanswered": (1, ("prediction", "unanswered")),
        "broken gold": (1, ("failure", "gold: error")),
    }


def test_a_run_without_trouble_has_no_tile_for_broken_gold(build_run: Callable[..., Run], right_case: Evidence) -> None:
    found = [(tile.label, tile.count, tile.link) for tile in tiles(RunReport(build_run([right_case])))]
    assert found[1:] == [("incorrect", 0, None), ("unscored", 0, None), ("unanswered", 0, None)]


def test_each_section_stands_under_one_tab_and_the_overview_is_first(large_run: Run) -> None:
    sections = sections_in(RunReport(large_run).sections, "full")
    found = {part.name: [one.key for one in (*part.top, *part.cards, *part.bottom)] for part in parts(sections)}
    assert list(found) == ["overview", "metrics", "causes", "run"]
    assert sorted(key for keys in found.values() for key in keys) == sorted(one.key for one in sections)
    assert "by-difficulty" in found["overview"]
    assert found["metrics"][:2] == ["metrics", "cross"]
    assert found["run"][0] == "made"
    assert parts(())[0].name == "overview"
    assert len(parts(())) == 1


def test_of_many_databases_those_with_most_cases_are_shown_lowest_first(
    build_run: Callable[..., Run], right_case: Evidence, wrong_case: Evidence
) -> None:
    evidence = []
    for number in range(FOLDED["figures"] + 3):
        for answer in range(1 if number < 3 else 4):
            template = right_case if answer < number % 5 else wrong_case
            case = replace(template.case, id=f"{number}-{answer}", database=f"db{number}")
            evidence.append(replace(template, case=case))
    view = RunReport(build_run(evidence))
    (section,) = [section for section in view.sections if section.key == "by-database"]
    (table,) = section.blocks
    assert isinstance(table, Table)
    shown, folded = page_rows(table)
    assert len(shown) == FOLDED["figures"]
    assert {row.cells[0].text for row in folded if isinstance(row.cells[0], Name)} == {"db0", "db1", "db2"}
    values = [cell.rate.value or 0.0 for row in shown for cell in row.cells if isinstance(cell, Figure)]
    assert values == sorted(values)


def test_a_histogram_has_a_column_for_each_bin_and_says_itself_in_words(small_run: Run) -> None:
    (row,) = rows_of(gold_query=[0.001, 0.0012, 0.003, 0.04])
    chart = histogram(row, [row])
    root = drawn(chart)
    assert root.get("role") == "img"
    assert root.get("aria-label") == (
        "Histogram of the time of 4 different gold queries: "
        "median 2.1 ms, 90 % within 29 ms, longest 40 ms, mean 11 ms."
    )
    assert [title.text for title in root.iter("title")] == ["1 ms to 2 ms: 2", "2 ms to 5 ms: 1", "20 ms to 50 ms: 1"]
    texts = [text.text for text in root.iter("text")]
    assert "median 2.1 ms" in texts
    assert "90 % 29 ms" in texts


@each(
    "times",
    [[0.0], [1e-9], [1e9], [0.0, 1e9], [1.0] * 5, [0.5, 0.5001], [2e-5], [float(f"1e{n}") for n in range(-6, 9)]],
)
def test_a_histogram_lies_within_its_drawing_whatever_the_times(small_run: Run, times: list[float]) -> None:
    (row,) = rows_of(answer=times)
    root = drawn(histogram(row, [row]))
    columns = list(root.iter("rect"))
    assert sum(int((title.text or "").rpartition(": ")[2]) for title in root.iter("title")) == len(times)
    for column in columns:
        x, y, width, height = (float(column.get(name) or "nan") for name in ("x", "y", "width", "height"))
        assert 0 <= x <= x + width <= 360
        assert 0 <= y <= y + height <= 168
    for mark in (path for path in root.iter("path") if "at" in (path.get("class") or "").split()):
        x = float((mark.get("d") or "")[1:].split()[0])
        assert 0 <= x <= 360


def test_gold_and_predicted_queries_share_a_scale_and_answers_have_their_own(small_run: Run) -> None:
    rows = rows_of(answer=[2.0, 3.0], gold_query=[0.001], predicted_query=[0.001, 0.9])
    charts = [drawn(chart) for _, chart in histograms(rows)]
    ticks = [[text.text for text in chart.iter("text") if text.get("class") == "tick"] for chart in charts]
    assert ticks[1] == ticks[2] != ticks[0]


def test_all_formats_say_the_same_times_and_cost(build_run: Callable[..., Run], right_case: Evidence) -> None:
    answers = [
        replace(
            right_case,
            case=replace(right_case.case, id=str(number)),
            prediction=replace(
                right_case.prediction,
                timings_s=(("total_execution_time", float(number)),),
                tokens=TokenUsage(input=100 * number) if number < 5 else None,
                cost_usd=0.01 if number < 4 else None,
            ),
        )
        for number in range(1, 6)
    ]
    run = build_run(answers)
    page = Page(HtmlReporter().render(run)).text
    for text in (page, plain_summary(RunReport(run)), MarkdownReporter().render(run).decode()):
        for said in ("3.0 s", "4.6 s", "5.0 s", "1,000", "250", "4 of 5 answers", "0.0300 USD", "0.010000 USD"):
            assert said in text
    times = json.loads(JsonReporter().render(run))["aggregates"]["times"]
    assert [(one["name"], one["n"], one["median_s"]) for one in times] == [
        ("answer", 5, 3.0),
        ("gold query", 1, 0.0012),
        ("predicted query", 1, 0.0012),
    ]


def test_missed_gates_are_open_above_the_numbers_and_name_their_cases(small_run: Run) -> None:
    passed = GateResult(gate="min match=0.1", passed=True, wanted="at least 10.0 %", found="40.0 %")
    missed = GateResult(
        gate="must-pass id:88", passed=False, wanted="correct", found="incorrect", missed_by="1 of 1", case_ids=("88",)
    )
    page = HtmlReporter().render(replace(small_run, gates=(passed, missed))).decode()
    gates = page[page.index('id="gates"') : page.index('class="columns"', page.index('id="gates"'))]
    assert "<details open>" in gates
    assert "✗ missed" in gates
    assert 'href="#case=88"' in gates
    page = HtmlReporter().render(replace(small_run, gates=(passed,))).decode()
    assert "<details>" in page[page.index('id="gates"') : page.index('class="columns"', page.index('id="gates"'))]


def test_how_the_run_was_made_stands_above_the_cases(small_run: Run, empty_run: Run) -> None:
    assert 'id="latency"' not in HtmlReporter().render(empty_run).decode(), "nobody timed it: no empty card"
    page = HtmlReporter().render(small_run).decode()
    assert page.index('id="made"') < page.index('id="cases"')
    assert "predictions/din-sql-gpt4.jsonl" in page
