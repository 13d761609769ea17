"""Every format shows the same numbers: parsed back, they are the aggregates'."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace
from python_calamine import CalamineWorkbook

if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))

from counted import counted

from assay.model import Evidence, Failure, Run
from assay.reports.blocks.run import RunReport
from assay.reports.blocks.run_numbers import differing
from assay.reports.blocks.values import Number, Table
from assay.reports.console.run import plain_summary
from assay.reports.excel.run import XlsxReporter
from assay.reports.html.run import HtmlReporter
from assay.reports.json.run import JsonReporter
from assay.reports.markdown.run import MarkdownReporter
from assay.reports.text.plain import interval, percent
from drawing import draw_summary

REPORTERS = [JsonReporter(), MarkdownReporter(), HtmlReporter()]
RUNS = ["small_run", "hostile_run", "empty_run", "all_failing_run", "large_run"]


class Tables(HTMLParser):
    """The rows of every table of a page, as texts of its cells."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def html_rows(run: Run) -> list[list[str]]:
    tables = Tables()
    tables.feed(HtmlReporter().render(run).decode())
    return tables.rows


def markdown_rows(run: Run) -> list[list[str]]:
    rows: list[list[str]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(MarkdownReporter().render(run).decode()):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows and token.level >= 4:
            rows[-1].append("".join(child.content for child in token.children or []))
    return rows


def workbook_rows(run: Run, sheet: str) -> list[list[object]]:
    with CalamineWorkbook.from_filelike(io.BytesIO(XlsxReporter().render(run))) as workbook:
        return workbook.get_sheet_by_name(sheet).to_python()


def shown_figures(run: Run) -> list[tuple[str, ...]]:
    """Name, value, interval and tally of every metric and group."""
    view = RunReport(run)
    figures = [(row.metric, row.figure) for row in view.metrics]
    figures += [
        (view.group_name(group), view.figure(group, view.leading)) for _, groups in view.groups for group in groups
    ]
    return [(name, figure.text, figure.interval, figure.tally) for name, figure in figures]


@pytest.mark.parametrize("name", ["small_run", "large_run", "all_failing_run"])
def test_every_format_shows_every_figure(name: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(name)
    figures = shown_figures(run)
    assert figures
    in_html = {tuple(part for part in row if part)[:6] for row in html_rows(run)}
    in_html_flat = ["\x00".join(row) for row in in_html]
    in_markdown = ["\x00".join(row) for row in markdown_rows(run)]
    plain = plain_summary(RunReport(run))
    drawn = draw_summary(run, width=120)
    for figure in figures:
        for place in (in_html_flat, in_markdown, plain.splitlines(), drawn.splitlines()):
            assert any(all(part in line for part in figure) for line in place), figure


@pytest.mark.parametrize("name", ["small_run", "large_run", "all_failing_run"])
def test_the_workbook_reads_as_the_other_formats(name: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(name)
    view = RunReport(run)
    rows = workbook_rows(run, "Summary")
    start = next(place for place, row in enumerate(rows) if row[0] == "Metric") + 1
    listed = {str(row[0]): row[1:6] for row in rows[start : start + len(view.metrics)]}
    for metric in view.metrics:
        value, low, high, n, unscored = (None if cell == "" else float(str(cell)) for cell in listed[metric.metric])
        rate = replace(metric.figure.rate, value=value, low=low, high=high)
        assert (percent(rate.value), interval(rate)) == (metric.figure.text, metric.figure.interval), metric.metric
        assert (n, unscored) == (rate.n, rate.unscored)
    flat = ["\x00".join(map(str, row)) for row in rows]
    line = f"{view.headline_name} {view.headline.text} {view.headline.interval} · {view.tally}"
    assert any(line in row for row in flat)
    assert all(any(note in row for row in flat) for note in view.notes)
    for count in counted(view):
        assert any(row[:2] == [count.label, count.count] for row in rows), count.label
    head, *cases = workbook_rows(run, "Details")
    verdict, reason = head.index("Verdict"), head.index("Reason")
    room = view.room()
    shown = [(case.outcome, case.reason) for case in (view.case(item, room) for item in run.evidence)]
    assert [(case[verdict], case[reason]) for case in cases] == shown


def test_the_json_report_holds_the_aggregates_exactly(small_run: Run) -> None:
    document = json.loads(JsonReporter().render(small_run))
    overall = {row["metric"]: row["rate"] for row in document["aggregates"]["overall"]["metrics"]}
    for summary in small_run.aggregates.overall.metrics:
        assert overall[summary.metric] == {
            name: getattr(summary.rate, name)
            for name in ("n", "numerator", "unscored", "value", "low", "high", "confidence")
        }
    assert (document["headline"]["value"], document["headline"]["n"]) == (2 / 5, 5)
    assert [case["case"]["id"] for case in document["cases"]] == ["12", "88", "g1", "t1", "u1", "v1"]


def test_the_headline_reads_the_same_everywhere(small_run: Run) -> None:
    view = RunReport(small_run)
    line = f"{view.headline.text} {view.headline.interval} · {view.tally}"
    assert line == "40.0 % [11.8, 76.9] · 2 of 5 correct · 1 unscored"
    assert line in draw_summary(small_run, width=80)
    assert line.replace("40.0 %", "**40.0 %**") in MarkdownReporter().render(small_run).decode()
    page = re.sub("<[^>]+>", " ", HtmlReporter().render(small_run).decode())
    assert line in " ".join(page.split())
    headline = json.loads(JsonReporter().render(small_run))["headline"]
    assert f"{headline['text']} · {headline['tally']}" == line
    assert "match: 40.0 % [11.8, 76.9] (2 of 5), 1 unscored" in plain_summary(view)


@pytest.mark.parametrize("reporter", REPORTERS, ids=lambda reporter: reporter.name)
@pytest.mark.parametrize("name", RUNS)
def test_any_run_renders_the_same_bytes_twice(name: str, reporter: object, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(name)
    rendered = reporter.render(run)  # type: ignore[attr-defined]
    assert rendered == reporter.render(run)  # type: ignore[attr-defined]
    rendered.decode()


@pytest.mark.parametrize("name", RUNS)
def test_counts_and_their_cases_are_in_html_and_markdown(name: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(name)
    html = ["\x00".join(row) for row in html_rows(run)]
    markdown = ["\x00".join(row) for row in markdown_rows(run)]
    for row in counted(RunReport(run)):
        if "script" in row.name:
            continue
        wanted = (row.label, f"{row.count:,}")
        assert any(all(part in line for part in wanted) for line in html), wanted
        assert any(all(part in line for part in wanted) for line in markdown), wanted


def test_gold_failures_come_first_and_are_not_held_against_the_system(small_run: Run) -> None:
    view = RunReport(small_run)
    failures = counted(view, "failures")
    assert [row.blame for row in failures] == ["gold", "system", "system"]
    assert failures[0].example == "no such column: T1.nme"
    assert view.notes[0] == "1 case is excluded: its gold query fails (g1): no such column: T1.nme"


def test_notes_say_what_the_headline_hides(small_run: Run) -> None:
    notes = " ".join(RunReport(small_run).notes)
    assert "1 case is unanswered (no predicted query) and counts as incorrect." in notes
    assert "1 match over an empty input proves little" in notes
    assert '1 prediction matches no case: "zz".' in notes


def test_an_unanswered_case_that_is_in_no_rate_is_not_said_to_count(
    build_run: Callable[..., Run], wrong_case: Evidence
) -> None:
    unanswered = replace(_gold_failure(), stage="predict", kind="unanswered", blame="system")
    silent = replace(wrong_case.prediction, query=None, failure=unanswered)
    counted = replace(wrong_case, prediction=silent)
    unscored = replace(counted, verdict=replace(counted.verdict, outcome="unscored", failure=_gold_failure()))
    unscored = replace(unscored, case=replace(unscored.case, id="other"), prediction=replace(silent, case_id="other"))
    notes = RunReport(build_run([counted, unscored])).notes
    assert "2 cases are unanswered (no predicted query); 1 of them counts as incorrect." in notes
    assert "1 case is unanswered (no predicted query)." in RunReport(build_run([unscored])).notes


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (["x"], ["1 case is excluded: its gold query fails (c0): x"]),
        (["x", "x"], ["2 cases are excluded: their gold queries fail (c0, c1): x"]),
        (
            ["x", "x", "y"],
            [
                "3 cases are excluded: their gold queries fail (c0, c1, c2).",
                "Most frequent message on gold queries (2 of 3): x",
            ],
        ),
        (
            ["x", None],
            [
                "2 cases are excluded: broken gold query in 1, transient failures in 1 (c0).",
                "Message on gold queries: x",
            ],
        ),
    ],
)
def test_what_gold_queries_fail_with_is_said_once(
    build_run: Callable[..., Run], wrong_case: Evidence, messages: list[str | None], said: list[str]
) -> None:
    cases = []
    for place, message in enumerate(messages):
        lost = Failure(stage="execute", kind="crashed", blame="engine", message="gone")
        failure = lost if message is None else replace(_gold_failure(), message=message)
        verdict = replace(wrong_case.verdict, outcome="unscored", failure=failure)
        case = replace(wrong_case.case, id=f"c{place}")
        prediction = replace(wrong_case.prediction, case_id=case.id)
        cases.append(replace(wrong_case, case=case, prediction=prediction, verdict=verdict))
    notes = RunReport(build_run(cases)).notes
    assert list(notes[: len(said)]) == said
    assert sum(": x" in note for note in notes) == 1


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (Failure(stage="ask", kind="ask_failed", blame="network", message="HTTP 503"), "could not be asked or scored"),
        (Failure(stage="execute", kind="crashed", blame="engine", message="gone"), "could not be asked or scored"),
        (Failure(stage="compare", kind="uncomparable", blame="assay", message="x"), "could not be"),
        (Failure(stage="execute", kind="no_database", blame="setup", code="duckdb", message="x"), "need"),
    ],
)
def test_a_cause_of_exclusion_agrees_with_its_number(
    build_run: Callable[..., Run], wrong_case: Evidence, failure: Failure, said: str, count: int
) -> None:
    verdict = replace(wrong_case.verdict, outcome="unscored", failure=failure)
    ids = [f"c{place}" for place in range(count)]
    cases = [
        replace(
            wrong_case,
            case=replace(wrong_case.case, id=name),
            prediction=replace(wrong_case.prediction, case_id=name),
            verdict=verdict,
        )
        for name in ids
    ]
    note = RunReport(build_run(cases)).notes[0]
    assert note.startswith(f"1 case is excluded: it {said}" if count == 1 else f"2 cases are excluded: they {said}")


def test_a_broken_gold_beside_a_good_one_is_named(build_run: Callable[..., Run], wrong_case: Evidence) -> None:
    failure = replace(wrong_case.gold_executions[1], status="error", failure=_gold_failure())
    case = replace(wrong_case, gold_executions=(wrong_case.gold_executions[0], failure))
    assert "In 1 scored case one of several gold queries fails." in RunReport(build_run([case])).notes


def test_the_slowest_queries_are_distinct_and_in_order(build_run: Callable[..., Run], wrong_case: Evidence) -> None:
    again = replace(wrong_case, case=replace(wrong_case.case, id="89"))
    [section] = [one for one in RunReport(build_run([wrong_case, again])).sections if one.key == "slowest"]
    [table] = section.blocks
    assert isinstance(table, Table)
    rows = [row.cells for row in table.rows]
    assert [(time.text, side) for time, side, *_ in rows if isinstance(time, Number)] == [
        ("4.2 s", "predicted"),
        ("1.2 ms", "gold"),
        ("1.2 ms", "gold"),
    ]


def test_an_empty_run_says_that_there_is_nothing(empty_run: Run) -> None:
    view = RunReport(empty_run)
    assert (view.headline.text, view.headline.interval, view.tally) == ("n/a", "", "no scored case · 0 unscored")
    assert "no scored case" in HtmlReporter().render(empty_run).decode()


def test_a_run_without_match_is_headed_by_its_first_metric(build_run: Callable[..., Run], right_case: Evidence) -> None:
    class Overlap:
        name = "percent_overlap"
        binary = False

    score = replace(right_case.scores[0], metric="percent_overlap", value=0.25)
    view = RunReport(build_run([replace(right_case, scores=(score,))], metrics=[Overlap()]))
    assert (view.headline_metric, view.headline_name) == ("percent_overlap", "percent_overlap")
    assert view.tally == "mean of 1 · 0 unscored"


def test_the_cross_table_counts_what_the_pairs_count(large_run: Run) -> None:
    view = RunReport(large_run)
    tables = [block for one in view.sections for block in one.blocks if isinstance(block, Table)]
    (matrix,) = (table for table in tables if table.look == "matrix")
    names = [column.title for column in matrix.columns[1:]]
    cells = [row.cells[1:] for row in matrix.rows]
    only = [[int(cell.value or 0) if isinstance(cell, Number) else 0 for cell in line] for line in cells]
    for row in view.disagreements:
        first, second = names.index(row.first), names.index(row.second)
        assert (only[first][second], only[second][first]) == (len(row.only_first), len(row.only_second))
        assert differing(row) == only[first][second] + only[second][first]
    assert sum(map(sum, only)) == sum(map(differing, view.disagreements))
    assert all(cells[place][place] is None for place in range(len(names)))


def test_loading_the_reporters_loads_none_of_their_libraries() -> None:
    code = (
        "import sys, assay.reports.html.run, assay.reports.json.run, assay.reports.markdown.run, "
        "assay.reports.console.run, assay.reports.excel.run, "
        "assay.runs.aggregate.totals; "
        "assert not {'jinja2', 'markupsafe', 'rich', 'numpy', 'xlsxwriter'} & set(sys.modules), "
        "sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def _gold_failure() -> object:
    from assay.model import Failure

    return Failure(stage="execute", kind="error", blame="gold", message="no such table: x")
