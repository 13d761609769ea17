"""The SDMX workbook, read back: the method's columns under its names, its text text."""

from __future__ import annotations

import io
import re
import zipfile
from xml.etree import ElementTree

import pytest
import selections
from msgspec.structs import replace
from selections import extra_gdp, make_selection_run

import workbook_figures
from assay.model import Run, SelectionTotals, TermCounts, TurnAnswer
from assay.reports.excel.run import XlsxReporter

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
FIRST = ["id", "name", "tags", "question", "outcome", "macro recall", "macro precision", "indicator selection details"]


@pytest.fixture
def run() -> Run:
    return selections.small_selection_run()


def sheets(run: Run) -> dict[str, list[list[object]]]:
    return workbook_figures.sheets(XlsxReporter().render(run))


def overview(run: Run) -> list[dict[str, object]]:
    head, *rows = sheets(run)["Overview"]
    return [dict(zip(map(str, head), row, strict=True)) for row in rows]


def test_the_method_s_sheets_and_columns_bear_its_names(run: Run) -> None:
    found = sheets(run)
    assert list(found) == ["Overview", "Statistics", "Settings"]
    assert found["Overview"][0][: len(FIRST)] == FIRST
    assert len(found["Overview"]) == 1 + 4
    assert found["Statistics"][0][0] == "Data Query Metrics"


def test_a_row_tells_a_test_case(run: Run) -> None:
    mexico, gdp, talk, broken = overview(run)
    assert (mexico["id"], mexico["tags"], mexico["outcome"]) == ("mexico", "imf, weo", "correct")
    assert mexico["name"] == "could_you_give_me_the_population_numbers_for_mexico"
    assert gdp["question"] == "What is the GDP, in all and per person?"
    assert gdp["reason"] == "INDICATOR: 1 term too many; FREQUENCY is not in the target."
    assert (gdp["macro recall"], gdp["macro precision"], gdp["exact match"]) == (1.0, 1 / 3, 0.0)
    assert str(gdp["indicator selection details"]).startswith("INDICATOR\n[recall: 1.00, precision: 0.67]\n")
    assert mexico["not scored"] == "time range: The selection is the target's."
    assert str(gdp["answer"]).startswith('{"urn": "IMF.RES:WEO(1.0.0)"')
    by_id = "id if a name is missing, else id and name"
    assert [row["terms compared by"] for row in overview(run)] == ["id and name", by_id, "id and name", ""]
    assert talk["failure"] == "system: 'data' is no JSON: it ends within a string"
    assert broken["outcome"] == "unscored"
    assert {broken[name] for name in ("macro recall", "macro precision", "exact match", "micro f1")} == {""}
    assert broken["not scored"] == "its target names the dataset '???'"
    assert broken["failure"] == "gold: its target names the dataset '???'"
    assert broken["indicator selection details"] == "not scored: its target names the dataset '???'"


def test_dimensions_have_a_table_and_several_turns_headings(run: Run) -> None:
    rows = sheets(run)["Statistics"]
    [country] = [row for row in rows if row[0] == "COUNTRY"]
    assert country[:11] == ["COUNTRY", 3, "", 0.4, 2 / 3, 0.5, 2, 1, 3, 2 / 3, 2 / 3]
    [pooled] = [row for row in rows if row[0] == "all dimensions"]
    assert pooled[1] == 4
    item = replace(extra_gdp(), turns=extra_gdp().turns * 2)
    turns = (TurnAnswer(raw="{}", latency_s=1.0), TurnAnswer(raw="[]", latency_s=1.5))
    [row] = overview(make_selection_run([replace(item, prediction=replace(item.prediction, turns=turns))]))
    assert (row["answer"], row["latency (s)"]) == ("Turn 1\n{}\n\nTurn 2\n[]", 2.5)


def test_the_settings_tell_how_selections_were_matched_and_nothing_of_queries(run: Run) -> None:
    settings = {str(row[0]): row[1] for row in sheets(run)["Settings"]}
    assert settings["Structures"] == "structures/imf"
    assert settings["Terms"] == "matched by code and name; a parent code does not count as its children"
    assert not {"Rows of a result, at most", "Tolerance", "Columns", "Limits"} & set(settings)


def test_charts_are_bound_to_the_cells_of_their_tables(run: Run) -> None:
    statistics = sheets(run)["Statistics"]
    with zipfile.ZipFile(io.BytesIO(XlsxReporter().render(run))) as archive:
        charts = [archive.read(name).decode() for name in archive.namelist() if "charts/chart" in name]
    assert len(charts) == 3
    titles = [re.findall(r"<a:t>([^<]*)</a:t>", chart)[0] for chart in charts]
    assert titles == [
        "Recall and precision by dimension",
        "Macro recall and macro precision by tag",
        "Macro recall and macro precision by turn",
    ]
    for chart in charts:
        ranges = re.findall(r"<c:f>Statistics!\$([B-Z])\$(\d+):\$\1\$(\d+)</c:f>", chart)
        assert len(ranges) == 2
        for column, first, last in ranges:
            cells = [statistics[row][ord(column) - ord("A")] for row in range(int(first) - 1, int(last))]
            assert any(isinstance(cell, float) for cell in cells)


def test_text_stays_text() -> None:
    evil = ["=1+1", "+2", "-3", "@SUM(1)", "\t=4", '=HYPERLINK("http://x")']
    case = extra_gdp().case
    run = make_selection_run(
        [replace(extra_gdp(), case=replace(case, id=text, name=text, question=text, tags=(text,))) for text in evil]
    )
    content = XlsxReporter().render(run)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            if name.startswith("xl/worksheets/sheet"):
                assert not list(ElementTree.fromstring(archive.read(name)).iter(f"{MAIN}f"))
    assert [row["name"] for row in overview(run)] == evil


def test_no_case_at_all_still_makes_a_workbook() -> None:
    empty = SelectionTotals(turns=0, micro=TermCounts(**dict.fromkeys(TermCounts.__slots__)))  # type: ignore[arg-type]
    empty = replace(empty, micro=replace(empty.micro, true_positives=0, false_positives=0, false_negatives=0))
    nothing = make_selection_run([])
    found = sheets(replace(nothing, aggregates=replace(nothing.aggregates, selection=empty)))
    assert found["Overview"][0][: len(FIRST)] == FIRST
    assert [row[0] for row in found["Statistics"]].count("Data Query Metrics") == 1


def test_hostile_text_shows_as_marks_and_breaks_nothing(hostile_text: str) -> None:
    hostile = selections.hostile_selection_run(hostile_text)
    found = sheets(hostile)
    assert len(found["Overview"]) == 1 + len(hostile.evidence)
    text = "\n".join(str(cell) for rows in found.values() for row in rows for cell in row)
    assert "⟨U+202E⟩" in text
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e\ud800-\udfff]", text)


def test_nothing_is_told_twice() -> None:
    first_column = [str(row[0]) for row in sheets(selections.small_selection_run())["Statistics"] if row[0]]
    assert [text for text in first_column if "for its children" in text] == [
        (
            "In 1 turn a parent code was selected for its children, or they for it, which does not count as right "
            "without --count-hierarchy."
        )
    ]
    starts = ("Exact selections by", "Data Query", "Terms by", "Wrong", "Selected")
    titles = [text for text in first_column if text.startswith(starts)]
    assert len(titles) == len(set(titles)) == 6
