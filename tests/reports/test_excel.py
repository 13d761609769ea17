"""The workbook, read back: its numbers are the view's, its text stays text, and no text can harm it."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Callable
from itertools import takewhile
from statistics import mean, stdev
from typing import Any
from xml.etree import ElementTree

import pytest
from handmade import Named
from msgspec.structs import replace

import workbook_figures
from assay.model import Evidence, Prediction, Run, Score, TokenUsage
from assay.reports.blocks.run import RunReport
from assay.reports.excel.columns import READABLE, _title
from assay.reports.excel.page import CELL_LIMIT, cell_text, lines_of
from assay.reports.excel.run import XlsxReporter
from assay.reports.text.plain import percent
from many_cases import each
from workbook_figures import TITLES

GUIDE = [
    *("Question ID", "Difficulty", "VQL Generated", "Ground Truth VQL", "Results Match", "Subsetting Percentage"),
    *("Percent Overlap", "Have Same Row Count", "Bird Standard F1", "VES Score", "sql_execution_time"),
    *("vector_store_search_time", "llm_time", "total_execution_time"),
]
SQL = ["Question ID", "Predicted SQL", "Gold SQL"]
OURS = [
    *("Question", "Verdict", "Reason", "Flags", "Near misses", "Failure", "Database", "Tags", "Explanation"),
    *("Tables used", "Input tokens", "Output tokens", "Total tokens"),
]
SUMMARY = ["Difficulty", "Percent Subset", "Percent Correct Queries", "Number of Samples", "Mean Time (s)"]
RUNS = ["small_run", "hostile_run", "empty_run", "all_failing_run", "large_run", "denodo_run"]
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


DENODO = (
    Named("match"),
    Named("results_match"),
    Named("percent_subset", binary=False),
    Named("percent_overlap", binary=False),
    Named("same_row_count"),
    Named("bird_soft_f1", binary=False),
    Named("ves", binary=False),
)
TIMES = {"easy": (1.5, 2.5, 4.25), "hard": (20.0,)}


@pytest.fixture
def denodo_run(build_run: Callable[..., Run], right_case: Evidence, wrong_case: Evidence) -> Run:
    """Answers of an AI SDK: with its timings, tokens and words, and every metric of its guide."""
    evidence = []
    for index, (difficulty, seconds) in enumerate((d, s) for d, times in TIMES.items() for s in times):
        item = wrong_case if index == 1 else right_case
        values = (0, 0, 0.5, 1 / 3, 1, 0.6, 0.0) if index == 1 else (1, int(index != 2), 1.0, 1.0, 1, 1.0, 1.25)
        prediction = Prediction(
            case_id=str(index + 1),
            query=item.prediction.query,
            timings_s=(("llm_time", seconds / 2), ("Total Execution Time", seconds), ("rerank_s", 0.125)),
            tokens=TokenUsage(input=1200, output=80, total=1280),
            explanation="=adds up the payments",
            tables_used=("bank.customer", "bank.payment"),
        )
        scores = tuple(
            Score(metric=metric.name, value=value, detail="ratio 2.4 [2.1, 2.7]" if metric.name == "ves" else None)
            for metric, value in zip(DENODO, values, strict=True)
        )
        case = replace(item.case, id=str(index + 1), difficulty=difficulty)
        evidence.append(replace(item, case=case, prediction=prediction, scores=scores))
    unasked = replace(evidence[0], case=replace(evidence[0].case, id="5"), prediction=Prediction(case_id="5"))
    made = build_run([*evidence, unasked], metrics=DENODO)
    return replace(made, settings=replace(made.settings, database="denodo+http://demo:***@host/denodo-data-catalog"))


def sheets(run: Run) -> dict[str, list[list[Any]]]:
    return workbook_figures.sheets(XlsxReporter().render(run))


def details(run: Run) -> list[dict[str, object]]:
    head, *rows = sheets(run)["Details"]
    return [dict(zip(map(str, head), row, strict=True)) for row in rows]


def summary(run: Run) -> dict[str, dict[str, object]]:
    head, *rows = sheets(run)["Summary"]
    names = [name for name in head if name != ""]
    table = rows[: [row[0] for row in rows].index("Overall") + 1]
    return {str(row[0]): dict(zip(map(str, names), row, strict=False)) for row in table}


def parts(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def charts_of(run: Run) -> list[tuple[str, str]]:
    """The title and the text of each chart, in the sheet's order."""
    found = [part.decode() for name, part in parts(XlsxReporter().render(run)).items() if "charts/chart" in name]
    titles = [re.search(r"<c:title>.*?<a:t>(.*?)</a:t>", one, flags=re.DOTALL) for one in found]
    return [(title[1], one) for title, one in zip(titles, found, strict=True) if title]


@pytest.mark.parametrize("name", RUNS)
def test_any_run_makes_a_whole_workbook_and_the_same_twice(name: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(name)
    content = XlsxReporter().render(run)
    assert content == XlsxReporter().render(run)
    for part in parts(content).values():
        ElementTree.fromstring(part)
    found = sheets(run)
    assert list(found) == ["Summary", "Details", "Settings"]
    head = found["Details"][0]
    if name == "denodo_run":
        assert head[: len(GUIDE)] == GUIDE
        assert head[len(GUIDE) : len(GUIDE) + len(OURS)] == OURS
    else:
        assert [title for title in head if title in (*SQL, "Question", "Verdict", "Reason")] == [*SQL, *OURS[:3]]
        assert not {*head} & {"VQL Generated", "Ground Truth VQL"}
    assert len(found["Details"]) == 1 + len(run.evidence)
    assert found["Summary"][0][: len(SUMMARY)] == SUMMARY


@pytest.mark.parametrize("name", ["small_run", "all_failing_run", "large_run", "denodo_run"])
def test_the_summary_says_over_how_many_questions_each_mean_is(name: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(name)
    table, view, rows = summary(run), RunReport(run), sheets(run)["Summary"]
    for (label, row), group in zip(table.items(), [*run.aggregates.by_difficulty, run.aggregates.overall], strict=True):
        for metric, figure in zip(view.metrics, view.figures(group), strict=True):
            title = TITLES.get(metric.metric, READABLE.get(metric.metric, metric.metric))
            assert _counted(rows, title, label, row) == figure.rate.n, (label, title)


def _counted(rows: list[list[Any]], title: str, label: str, row: dict[str, Any]) -> float:
    """How many questions a mean is over: as the table of exceptions says, else as the summary says of all."""
    start = next(
        (at for at, cells in enumerate(rows) if str(cells[0]).startswith("Number of questions in each mean")), None
    )
    if start is not None:
        head, *found = rows[start + 1 : start + 30]
        for cells in takewhile(lambda cells: cells[0] != "", found):
            if cells[0] == title:
                return float(cells[head.index(label)])
    return float(row.get("Scored", row["Number of Samples"]))


def test_broken_golds_widen_the_summary_by_one_column_and_no_more(denodo_run: Run, small_run: Run) -> None:
    for run in (denodo_run, small_run):
        heads = list(summary(run)["Overall"])
        assert sum(name == "Scored" for name in heads) <= 1
        assert len(heads) <= 6 + 1 + len(run.settings.metrics)
        assert not [name for name in heads if name.startswith("n (")]


def test_times_are_the_mean_and_the_sample_deviation_of_the_total(denodo_run: Run) -> None:
    table = summary(denodo_run)
    for difficulty, times in TIMES.items():
        assert table[difficulty]["Mean Time (s)"] == pytest.approx(mean(times))
        assert table[difficulty]["Time Std Dev"] == ("" if len(times) == 1 else pytest.approx(stdev(times)))
    every = [time for times in TIMES.values() for time in times]
    assert table["Overall"]["Mean Time (s)"] == pytest.approx(mean(every))
    assert table["Overall"]["Time Std Dev"] == pytest.approx(stdev(every))
    assert _counted(sheets(denodo_run)["Summary"], "Mean Time (s)", "Overall", table["Overall"]) == len(every)
    assert table["Overall"]["Number of Samples"] == len(every) + 1


def test_times_are_blank_where_no_case_has_any(small_run: Run) -> None:
    assert {(row["Mean Time (s)"], row["Time Std Dev"]) for row in summary(small_run).values()} == {("", "")}
    assert [title for title, _ in charts_of(small_run)] == [
        "Percent Correct Queries by difficulty",
        "Correct and incorrect answers",
    ]


def test_percent_correct_queries_says_which_metric_it_is(denodo_run: Run, small_run: Run) -> None:
    def notes(run: Run) -> str:
        return "\n".join(str(row[0]) for row in sheets(run)["Summary"])

    said = "Percent Correct Queries is the accuracy: the rate of match, with columns in any order."
    assert f"{said} Results Match requires the gold query's order of columns, too." in notes(denodo_run)
    assert said in notes(small_run)
    assert "Results Match requires" not in notes(small_run)
    assert summary(denodo_run)["Overall"]["Percent Correct Queries"] == 4 / 5
    assert summary(denodo_run)["Overall"]["Results Match"] == 3 / 5


def test_a_case_stands_under_the_guides_names(denodo_run: Run) -> None:
    first, second = details(denodo_run)[:2]
    assert (first["Question ID"], first["Difficulty"]) == (1, "easy")
    assert first["VQL Generated"] == denodo_run.evidence[0].prediction.query
    assert second["Ground Truth VQL"] == "\n-----\n".join(denodo_run.evidence[1].case.golds)
    assert [second[name] for name in GUIDE[4:10]] == [0, 0.5, 1 / 3, 1, 0.6, 0]
    assert [first[name] for name in GUIDE[10:14]] == ["", "", 0.75, 1.5]
    assert (first["VES Score"], first["VES detail"], first["rerank_s"]) == (1.25, "ratio 2.4 [2.1, 2.7]", 0.125)
    assert (second["Verdict"], second["Reason"]) == ("incorrect", denodo_run.evidence[1].verdict.reason)
    assert str(second["Near misses"]).startswith("type only: text '31'")
    assert (second["Flags"], second["Tags"], second["Database"]) == ("nondeterministic", "aggregation, join", "bank")
    assert (first["Tables used"], first["Total tokens"]) == ("bank.customer\nbank.payment", 1280)
    assert first["Explanation"] == "=adds up the payments"


def test_scores_that_are_not_there_are_blank_never_zero(small_run: Run) -> None:
    broken = next(row for row in details(small_run) if row["Question ID"] == "g1")
    assert (broken["Verdict"], broken["Results Match"], broken["Bird Standard F1"]) == ("unscored", "", "")
    assert "gold: no such column: T1.nme" in str(broken["Failure"])


def test_ids_are_numbers_only_where_all_of_them_are(build_run: Callable[..., Run], right_case: Evidence) -> None:
    def ids(*names: str) -> list[object]:
        cases = [replace(right_case, case=replace(right_case.case, id=name)) for name in names]
        return [row["Question ID"] for row in details(build_run(cases))]

    assert ids("1", "20", "0") == [1, 20, 0]
    assert ids("1", "007") == ["1", "007"]
    assert ids("1", "-5") == ["1", "-5"]
    assert ids("1", "12345678901234567") == ["1", "12345678901234567"]


TEXTS = (
    *("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "=cmd|' /C calc'!A0", '=HYPERLINK("http://x.example","y")', "{=1}"),
    *("http://x.example", "mailto:a@x.example", "internal:Summary!A1", "1e5", "007", "TRUE", "_x0041_"),
    *("</t></is></c>", "<r><t>x</t></r>", "<r></row></r>", "#DIV/0!", "'quoted", " blank at both ends "),
    *("two\nlines", "😀"),
)


def test_text_stays_text(build_run: Callable[..., Run], right_case: Evidence) -> None:
    items = []
    for text in TEXTS:
        named = dict.fromkeys(("id", "question", "difficulty", "database"), text)
        case = replace(right_case.case, golds=(text,), tags=(text,), **named)
        prediction = replace(right_case.prediction, query=text, explanation=text, tables_used=(text,))
        verdict = replace(right_case.verdict, reason=text)
        items.append(replace(right_case, case=case, prediction=prediction, verdict=verdict))
    run = build_run(items)
    for text, row in zip(TEXTS, details(run), strict=True):
        for name in ("Question", "Predicted SQL", "Gold SQL", "Reason", "Explanation", "Tags", "Difficulty"):
            assert row[name] == (text + " " if text.startswith("<r>") else text), (name, text)
    for name, part in parts(XlsxReporter().render(run)).items():
        tree = ElementTree.fromstring(part)
        if name.startswith("xl/worksheets/"):
            assert tree.find(f".//{MAIN}sheetData//{MAIN}f") is None
            assert tree.find(f".//{MAIN}hyperlink") is None


def test_what_nobody_could_see_is_marked(hostile_run: Run, hostile_text: str) -> None:
    row = details(hostile_run)[0]
    for name in ("Question", "Predicted SQL", "Gold SQL", "Failure"):
        assert "⟨U+202E⟩" in str(row[name])
        assert "⟨U+D800⟩" in str(row[name])
        assert "⟨U+001B⟩" in str(row[name])
    assert hostile_text not in str(row)


@each("character", ["x", "é", "😀", "\x00"])
def test_a_text_too_long_for_a_cell_is_cut_and_says_so(character: str) -> None:
    whole = cell_text(character * 40_000)
    assert len(whole.encode("utf-16-le")) // 2 <= CELL_LIMIT
    kept, notice = whole.rsplit("\n", 1)
    found = re.fullmatch(r"… ([\d,]+) more characters: a cell of Excel contains no more", notice)
    assert found is not None
    missing = int(found[1].replace(",", ""))
    assert missing + len(kept) == 40_000 * len(cell_text(character))
    fits = character * (CELL_LIMIT // len(cell_text(character).encode("utf-16-le")) * 2)
    assert cell_text(fits).count(cell_text(character)) == len(fits)


def test_a_long_query_reaches_the_file_up_to_the_limit(build_run: Callable[..., Run], right_case: Evidence) -> None:
    query = "SELECT '" + "é" * 50_000 + "'"
    item = replace(right_case, prediction=replace(right_case.prediction, query=query))
    cell = str(details(build_run([item]))[0]["Predicted SQL"])
    assert CELL_LIMIT - 100 < len(cell) <= CELL_LIMIT
    assert cell.endswith("more characters: a cell of Excel contains no more")


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_blank(seconds: float, build_run: Callable[..., Run], right_case: Evidence) -> None:
    prediction = replace(right_case.prediction, timings_s=(("total_execution_time", seconds),))
    run = build_run([replace(right_case, prediction=prediction)])
    assert details(run)[0]["total_execution_time"] == ""
    assert summary(run)["Overall"]["Mean Time (s)"] == ""
    document = XlsxReporter().render(run)
    for name, part in parts(document).items():
        if name.startswith("xl/worksheets/"):
            values = [value.text or "" for value in ElementTree.fromstring(part).iter(f"{MAIN}v")]
            assert all(math.isfinite(float(value)) for value in values)


def test_charts_are_bound_to_the_cells_and_carry_what_they_hold(denodo_run: Run) -> None:
    charts = dict(charts_of(denodo_run))
    assert list(charts) == [
        "Percent Correct Queries by difficulty",
        "Percent Subset by difficulty",
        "Correct and incorrect answers",
        "Mean time in seconds by difficulty, ± its standard deviation",
    ]
    accuracy, subset, results, times = charts.values()
    for one, column in ((accuracy, "C"), (subset, "B"), (times, "E")):
        assert "<c:f>Summary!$A$2:$A$3</c:f>" in one
        assert f"<c:f>Summary!${column}$2:${column}$3</c:f>" in one
    assert times.count("<c:f>Summary!$F$2:$F$3</c:f>") == 2
    assert "<c:errBars>" in times
    assert "<c:v>easy</c:v>" in accuracy
    assert f"<c:v>{mean(TIMES['easy']):.16g}</c:v>" in times
    assert "<c:pieChart>" in results


@pytest.mark.parametrize("name", ["denodo_run", "small_run", "large_run", "all_failing_run"])
def test_the_pie_shows_the_cells_that_count_correct_and_incorrect_answers(
    name: str, request: pytest.FixtureRequest
) -> None:
    run = request.getfixturevalue(name)
    pie = dict(charts_of(run))["Correct and incorrect answers"]
    rows = sheets(run)["Summary"]
    ranges = re.findall(r"<c:f>Summary!\$([A-Z])\$(\d+):\$\1\$(\d+)</c:f>", pie)
    (names, first, last), (counts, *same) = ranges
    assert (names, counts, same) == ("A", "B", [first, last])
    held = {row[0]: row[1] for row in rows[int(first) - 1 : int(last)]}
    assert list(held) == ["correct", "incorrect", "unscored"]
    for count in held.values():
        assert f"<c:v>{count:.16g}</c:v>" in pie
    overall = summary(run)["Overall"]
    assert sum(held.values()) == overall["Number of Samples"]
    scored = held["correct"] + held["incorrect"]
    assert scored == overall.get("Scored", overall["Number of Samples"])
    rate = overall["Percent Correct Queries"]
    assert rate == ("" if not scored else pytest.approx(held["correct"] / scored))


def test_the_details_have_a_frozen_header_filters_and_a_coloured_verdict(denodo_run: Run) -> None:
    sheet = ElementTree.fromstring(parts(XlsxReporter().render(denodo_run))["xl/worksheets/sheet2.xml"])
    pane = sheet.find(f".//{MAIN}pane")
    assert pane is not None
    assert (pane.get("state"), pane.get("xSplit"), pane.get("ySplit")) == ("frozen", "1", "1")
    filters = sheet.find(f"{MAIN}autoFilter")
    assert filters is not None
    assert str(filters.get("ref")).endswith(f"{len(denodo_run.evidence) + 1}")
    formulas = [formula.text for formula in sheet.iter(f"{MAIN}formula")]
    assert {'"correct"', '"incorrect"', '"unscored"'} <= set(formulas)


def test_the_settings_name_versions_counts_and_the_headlines_interval(denodo_run: Run) -> None:
    found = {str(row[0]): row[1] for row in sheets(denodo_run)["Settings"]}
    rate = RunReport(denodo_run).headline.rate
    interval = (found["Low end of the 95 % interval"], found["High end of the 95 % interval"])
    assert (found["Value"], *interval) == pytest.approx((rate.value, rate.low, rate.high), rel=1e-14)
    assert (found["sqlite"], found["Unanswered"], found["Correct"]) == ("3.46.1", 0, denodo_run.aggregates.correct)
    assert str(found["Assay"]).startswith("0.1.0 on Python")
    assert b"2026-03-01T09:30:00Z" in parts(XlsxReporter().render(denodo_run))["docProps/core.xml"]


def test_lines_are_counted_by_breaks_and_width() -> None:
    texts = (None, "", "short", "x" * 11, "a\nb\nc", "x" * 25 + "\ny")
    assert [lines_of(text, 10) for text in texts] == [1, 1, 1, 2, 3, 4]


def test_memory_does_not_grow_with_the_rows(build_run: Callable[..., Run], wrong_case: Evidence) -> None:
    import gc
    import tracemalloc

    def peak(count: int) -> int:
        cases = [replace(wrong_case, case=replace(wrong_case.case, id=str(index))) for index in range(count)]
        run = build_run(cases)
        gc.collect()  # garbage of others is collected now or never, not in the middle
        tracemalloc.start()
        try:
            size = len(XlsxReporter().render(run))
            return tracemalloc.get_traced_memory()[1] - 2 * size
        finally:
            tracemalloc.stop()

    peak(10)
    assert peak(2000) < peak(200) + 2_000_000


@pytest.mark.parametrize("name", ["small_run", "large_run", "denodo_run"])
def test_sheets_print_at_a_legible_size_with_their_heads(name: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(name)
    found = parts(XlsxReporter().render(run))
    for number, sheet in enumerate(("Summary", "Details"), start=1):
        text = found[f"xl/worksheets/sheet{number}.xml"].decode()
        head = sheets(run)[sheet][0]
        spans = re.findall(r'<col min="(\d+)" max="(\d+)" width="([\d.]+)"', text)
        total = sum((int(last) - int(first) + 1) * float(width) for first, last, width in spans)
        pages = int((re.search(r'fitToWidth="(\d+)"', text) or ["", "1"])[1])
        assert len(head) == len(set(head)) or "" in head
        assert 'orientation="landscape"' in text
        assert total / pages <= 260, (sheet, total, pages)
    assert "_xlnm.Print_Titles" in found["xl/workbook.xml"].decode()
    assert percent(RunReport(run).headline.rate.value) in found["xl/worksheets/sheet1.xml"].decode()


def test_columns_have_readable_names_and_none_is_empty(denodo_run: Run, build_run: Callable[..., Run]) -> None:
    without = build_run(list(denodo_run.evidence), metrics=[one for one in DENODO if one.name != "ves"])
    without = replace(without, settings=replace(without.settings, database=denodo_run.settings.database))
    for run in (denodo_run, without):
        head = [str(title) for title in sheets(run)["Details"][0]]
        assert ("VES Score" in head) == (run is denodo_run)
        assert not [title for title in head if title in READABLE]


def test_a_metric_keeps_its_own_name_if_another_claims_the_readable_one() -> None:
    assert _title("bird_ex", {}) == "BIRD EX"
    assert _title("bird_ex", {"gap": "BIRD EX"}) == "bird_ex"
    assert _title("gap", {}) == "gap"


@pytest.mark.parametrize("name", ["small_run", "large_run", "denodo_run"])
def test_charts_print_whole(name: str, request: pytest.FixtureRequest) -> None:
    """Each between two page breaks, on pages of A4 in landscape, also if columns are a third wider than in Excel."""
    found = parts(XlsxReporter().render(request.getfixturevalue(name)))
    drawings = {one for one in found if re.fullmatch(r"xl/drawings/drawing\d+\.xml", one)}
    assert drawings
    for sheet, text in (
        (one, found[one].decode()) for one in found if re.fullmatch(r"xl/worksheets/sheet\d+.xml", one)
    ):
        relations = found.get(sheet.replace("worksheets/", "worksheets/_rels/") + ".rels", b"").decode()
        drawn = re.search(r"drawings/drawing\d+\.xml", relations)
        if drawn is None:
            continue
        scale = int(re.search(r'<pageSetup[^>]* scale="(\d+)"', text)[1]) / 100  # type: ignore[index]
        heights = {int(row): float(height) for row, height in re.findall(r'<row r="(\d+)"[^>]* ht="([\d.]+)"', text)}
        default = float(re.search(r'defaultRowHeight="([\d.]+)"', text)[1])  # type: ignore[index]
        breaks = {int(row) for row in re.findall(r'<brk id="(\d+)"', text)}
        page, used, pages = (8.27 - 1.1) * 72 / scale, 0.0, list[int]()
        for row in range(1, 2000):
            height = heights.get(row, default)
            if row - 1 in breaks or used + height > page:
                pages.append(row - 1)
                used = 0.0
            used += height
        anchors = re.findall(r"<xdr:from>(.*?)</xdr:from><xdr:to>(.*?)</xdr:to>", found[f"xl/{drawn[0]}"].decode())
        assert anchors
        for place, end in anchors:
            first, last = (int(re.search(r"<xdr:row>(\d+)", one)[1]) for one in (place, end))  # type: ignore[index]
            assert not [one for one in pages if first < one <= last], (name, sheet, first, last)
