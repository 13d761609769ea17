"""The SDMX workbook, read back: the method's columns under its names, its numbers the run's, its text text."""

from __future__ import annotations

import io
import re
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace
from python_calamine import CalamineWorkbook

from assay.model import (
    Case,
    Count,
    DimensionScore,
    DimensionTotal,
    Evidence,
    Failure,
    Group,
    Limits,
    MetricSummary,
    Prediction,
    Provenance,
    Rate,
    Run,
    RunSettings,
    Score,
    ScoredTerm,
    Selection,
    SelectionScore,
    SelectionSettings,
    SelectionTotals,
    TermCounts,
    Turn,
    TurnAnswer,
    TurnScore,
    Verdict,
)
from assay.reports.excel.page import CELL_LIMIT
from assay.reports.excel.run import XlsxReporter
from assay.reports.text.selections import details
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.aggregate.totals import aggregate

if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))

import selections

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
FIRST = ["id", "name", "tags", "question", "outcome", "macro recall", "macro precision", "indicator selection details"]


class Named:
    def __init__(self, name: str, *, binary: bool = False) -> None:
        self.name, self.binary = name, binary


METRICS = (
    Named("exact_match", binary=True),
    *map(Named, ("macro_precision", "macro_recall", "macro_f1", "micro_precision", "micro_recall", "micro_f1")),
    *map(Named, ("dataset_precision", "dataset_recall", "time_range")),
)
GDP = (
    ScoredTerm(id="GDP", name="gross domestic product"),
    ScoredTerm(id="GDPPC", name="GDP per capita"),
    ScoredTerm(id="GDP_CONST", name="gross domestic product constant prices"),
)


def scores(*values: float | None, failure: Failure | None = None) -> tuple[Score, ...]:
    return tuple(
        Score(metric=metric.name, value=value, failure=failure if value is None else None)
        for metric, value in zip(METRICS, values, strict=True)
    )


NO_TIME = Failure(stage="score", kind="unscorable", blame="assay", message="the target says nothing of time")


def gdp(identifier: str = "gdp", *, tags: Sequence[str] = ("imf", "weo")) -> Evidence:
    """The method's worked example: precision 0.67, recall 1.0."""
    score = DimensionScore(
        dimension="INDICATOR",
        in_target=True,
        true_positives=GDP[:2],
        false_positives=GDP[2:],
        precision=2 / 3,
        recall=1.0,
        f1=0.8,
    )
    return Evidence(
        case=Case(
            id=identifier,
            name="gdp_of_mexico",
            question="What is the GDP?",
            tags=tuple(tags),
            turns=(Turn(question="What is the GDP?", targets=(Selection(),)),),
        ),
        prediction=Prediction(case_id=identifier, turns=(TurnAnswer(raw='{"urn": "IMF.RES:WEO"}', latency_s=1.5),)),
        verdict=Verdict(outcome="incorrect", reason="1 term is not the target's."),
        scores=scores(0, 2 / 3, 1.0, 0.8, 2 / 3, 1.0, 0.8, 1.0, 1.0, None, failure=NO_TIME),
        turns=(TurnScore(number=1, score=SelectionScore(exact=False, dimensions=(score,), macro_precision=2 / 3)),),
    )


def right(identifier: str = "right", *, tags: Sequence[str] = ("imf",)) -> Evidence:
    score = DimensionScore(
        dimension="COUNTRY",
        in_target=True,
        true_positives=(ScoredTerm(id="MEX", name="Mexico"),),
        precision=1.0,
        recall=1.0,
        f1=1.0,
    )
    turn = TurnScore(number=1, score=SelectionScore(exact=True, dimensions=(score,), names_compared=False))
    return replace(
        gdp(identifier, tags=tags),
        verdict=Verdict(outcome="correct", reason="All is the target's."),
        scores=scores(*[1.0] * 10),
        turns=(turn,),
    )


def unreadable(identifier: str = "unreadable") -> Evidence:
    failure = Failure(stage="read", kind="unknown_structure", blame="setup", message="no structure of IMF.STA:CPI")
    return replace(
        gdp(identifier, tags=()),
        verdict=Verdict(outcome="unscored", reason="Its key cannot be read.", failure=failure),
        scores=scores(*[None] * 10, failure=failure),
        turns=(TurnScore(number=1, failure=failure),),
    )


def counts(positives: int, extra: int, missing: int) -> TermCounts:
    precision, recall = positives / (positives + extra), positives / (positives + missing)
    f1 = 2 * precision * recall / (precision + recall)
    return TermCounts(
        true_positives=positives,
        false_positives=extra,
        false_negatives=missing,
        precision=precision,
        recall=recall,
        f1=f1,
    )


def group(kind: str, name: str, cases: int, value: float) -> Group:
    rate = Rate(n=cases, numerator=value * cases, unscored=0, value=value, low=value / 2, high=1.0)
    return Group(
        kind=kind,
        name=name,
        cases=cases,
        metrics=tuple(MetricSummary(metric=metric.name, rate=rate) for metric in METRICS),
    )


TOTALS = SelectionTotals(
    turns=3,
    micro=counts(40, 10, 20),
    by_dimension=(
        DimensionTotal(
            dimension="INDICATOR",
            turns=3,
            turns_beyond_target=0,
            counts=counts(30, 10, 0),
            mean_precision=0.7,
            mean_recall=1.0,
        ),
        DimensionTotal(
            dimension="COUNTRY",
            turns=2,
            turns_beyond_target=1,
            counts=counts(10, 0, 20),
            mean_precision=1.0,
            mean_recall=0.4,
        ),
    ),
    by_turn=(group("turn", "1", 3, 0.75), group("turn", "2", 1, 0.5)),
    wrong_terms=(Count(name="unknown_code", count=2, case_ids=("gdp", "b")),),
    time_states=(Count(name="missing", count=1, case_ids=("gdp",)),),
    through_hierarchy=1,
    compared_by_id_only=2,
)


def make_run(evidence: Sequence[Evidence], *, totals: SelectionTotals = TOTALS) -> Run:
    return Run(
        settings=RunSettings(
            cases="cases/weo",
            predictions="statgpt.jsonl",
            database="",
            metrics=tuple(metric.name for metric in METRICS),
            limits=Limits(),
            selection=SelectionSettings(structures=("imf-sdmx",)),
        ),
        provenance=Provenance(
            assay_version="0.1.0",
            python_version="3.11.7",
            platform="Linux x86_64",
            started_at="2026-03-01T09:30:00Z",
            wall_time_s=1.42,
        ),
        summaries=summaries_of(tuple(evidence)),
        evidence=tuple(evidence),
        aggregates=replace(aggregate(summaries_of(evidence), METRICS), selection=totals),
    )


@pytest.fixture
def run() -> Run:
    return make_run([gdp(), right(), unreadable()])


def sheets(run: Run) -> dict[str, list[list[object]]]:
    with CalamineWorkbook.from_filelike(io.BytesIO(XlsxReporter().render(run))) as workbook:
        return {name: workbook.get_sheet_by_name(name).to_python() for name in workbook.sheet_names}


def overview(run: Run) -> list[dict[str, object]]:
    head, *rows = sheets(run)["Overview"]
    return [dict(zip(map(str, head), row, strict=True)) for row in rows]


def part(name: str, rows: list[list[object]]) -> list[dict[str, object]]:
    """A table of the statistics by its title: its rows by the names of its columns."""
    start = next(place for place, row in enumerate(rows) if row[0] == name)
    head = [str(title) for title in rows[start + 1]]
    body = []
    for row in rows[start + 2 :]:
        if not row[0] or not isinstance(row[1], float):
            break
        body.append({title: value for title, value in zip(head, row, strict=True) if title})
    return body


def test_the_method_s_sheets_and_columns_bear_its_names(run: Run) -> None:
    found = sheets(run)
    assert list(found) == ["Overview", "Statistics", "Settings"]
    assert found["Overview"][0][: len(FIRST)] == FIRST
    assert len(found["Overview"]) == 1 + 3
    assert found["Statistics"][0][0] == "Data Query Metrics"


def test_a_row_tells_a_test_case(run: Run) -> None:
    row = overview(run)[0]
    assert (row["id"], row["name"], row["tags"]) == ("gdp", "gdp_of_mexico", "imf, weo")
    assert (row["question"], row["outcome"], row["reason"]) == (
        "What is the GDP?",
        "incorrect",
        "1 term is not the target's.",
    )
    assert (row["macro recall"], row["macro precision"], row["exact match"]) == (1.0, 2 / 3, 0.0)
    assert row["indicator selection details"] == (
        "INDICATOR\n[recall: 1.00, precision: 0.67]\nTrue Positives [2]\n  * GDP: gross domestic product\n"
        "  * GDPPC: GDP per capita\nFalse Negatives [0]\nFalse Positives [1]\n"
        "  * GDP_CONST: gross domestic product constant prices"
    )
    assert row["not scored"] == "time range: the target says nothing of time"
    assert (row["answer"], row["latency (s)"]) == ('{"urn": "IMF.RES:WEO"}', 1.5)
    assert [row["terms compared by"] for row in overview(run)] == [
        "id and name",
        "id if a name is missing, else id and name",
        "",
    ]


def test_what_could_not_be_scored_is_blank_with_its_reason(run: Run) -> None:
    row = overview(run)[2]
    assert row["outcome"] == "unscored"
    assert {row[name] for name in ("macro recall", "macro precision", "exact match", "micro f1", "time range")} == {""}
    assert row["not scored"] == "no structure of IMF.STA:CPI"
    assert row["failure"] == "setup: no structure of IMF.STA:CPI"
    assert row["indicator selection details"] == "not scored: no structure of IMF.STA:CPI"


def test_the_data_query_metrics_are_the_run_s_aggregates(run: Run) -> None:
    rows = {str(row["Metric"]): row for row in part("Data Query Metrics", sheets(run)["Statistics"])}
    assert list(rows) == [metric.name for metric in METRICS]
    for metric in METRICS:
        rate = run.aggregates.overall.rate(metric.name)
        row = rows[metric.name]
        assert rate is not None
        assert (row["Value"], row["n"], row["Unscored"]) == (rate.value, rate.n, rate.unscored)
        assert (row["Low"], row["High"]) == (pytest.approx(rate.low), pytest.approx(rate.high))
    assert rows["macro_precision"]["Value"] == pytest.approx((2 / 3 + 1) / 2)
    assert rows["time_range"]["Unscored"] == 2


def test_tags_turns_and_dimensions_have_their_tables(run: Run) -> None:
    rows = sheets(run)["Statistics"]
    tags = {row["Tag"]: row for row in part("Exact selections by tag", rows)}
    assert list(tags) == ["imf", "weo", "no tag"]
    assert (tags["imf"]["Cases"], tags["imf"]["macro precision"]) == (2, pytest.approx(5 / 6))
    assert (tags["no tag"]["n"], tags["no tag"]["macro precision"]) == (0, "")
    turns = part("Exact selections by turn", rows)
    assert [(row["Turn"], row["Turns"], row["macro recall"]) for row in turns] == [
        ("turn 1", 3, 0.75),
        ("turn 2", 1, 0.5),
    ]
    *_, country, pooled = part("Terms by dimension", rows)
    assert list(country.values()) == ["COUNTRY", 2, 1, 1 / 3, 1.0, 0.5, 10, 0, 20, 0.4, 1.0]
    assert (pooled["Dimension"], pooled["Turns"]) == ("all dimensions", 3)
    text = "\n".join(str(row[0]) for row in rows)
    assert "In 1 turn a parent code was selected for its children" in text
    assert ["invented code", 2.0] in [row[:2] for row in rows]
    assert ["missing", 1.0] in [row[:2] for row in rows]


def test_the_settings_tell_how_selections_were_matched_and_nothing_of_queries(run: Run) -> None:
    settings = {str(row[0]): row[1] for row in sheets(run)["Settings"]}
    assert settings["Structures"] == "imf-sdmx"
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


def test_text_stays_text(run: Run) -> None:
    evil = ["=1+1", "+2", "-3", "@SUM(1)", "\t=4", '=HYPERLINK("http://x")']
    evidence = [
        replace(gdp(text, tags=(text,)), case=replace(gdp().case, id=text, name=text, question=text, tags=(text,)))
        for text in evil
    ]
    content = XlsxReporter().render(make_run(evidence))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            if name.startswith("xl/worksheets/sheet"):
                assert not list(ElementTree.fromstring(archive.read(name)).iter(f"{MAIN}f"))
    assert [row["name"] for row in overview(make_run(evidence))] == evil


def test_a_cell_holds_what_excel_holds_and_says_what_is_missing() -> None:
    terms = tuple(ScoredTerm(id=f"CODE_{number}", name="a name of some length") for number in range(2000))
    score = DimensionScore(dimension="INDICATOR", in_target=True, true_positives=terms, precision=1.0, recall=1.0)
    item = replace(right(), turns=(TurnScore(number=1, score=SelectionScore(exact=True, dimensions=(score,))),))
    cell = str(overview(make_run([item]))[0]["indicator selection details"])
    assert len(cell) <= CELL_LIMIT
    assert details(item.turns).startswith(cell[: cell.rindex("\n")])
    left_out = details(item.turns).count("\n") - cell.count("\n") + 1
    assert cell.endswith(f"\n… {left_out:,} more lines (the whole is in the JSON report)")


def test_several_turns_stand_under_headings() -> None:
    item = replace(
        gdp(),
        prediction=Prediction(
            case_id="gdp",
            turns=(
                TurnAnswer(raw="{}", latency_s=1.0),
                TurnAnswer(failure=Failure(stage="ask", kind="ask_failed", blame="system", message="HTTP 500")),
            ),
        ),
        turns=(*gdp().turns, TurnScore(number=2)),
    )
    row = overview(make_run([item]))[0]
    assert str(row["indicator selection details"]).startswith("Turn 1\nINDICATOR\n")
    assert str(row["indicator selection details"]).endswith("\n\nTurn 2\nnot scored: the question has no target")
    assert row["answer"] == "Turn 1\n{}"
    assert row["failure"] == "system: HTTP 500 (turn 2)"


def test_no_case_at_all_still_makes_a_workbook() -> None:
    empty = SelectionTotals(turns=0, micro=TermCounts(**dict.fromkeys(TermCounts.__slots__)))  # type: ignore[arg-type]
    empty = replace(empty, micro=replace(empty.micro, true_positives=0, false_positives=0, false_negatives=0))
    found = sheets(make_run([], totals=empty))
    assert found["Overview"][0][: len(FIRST)] == FIRST
    assert [row[0] for row in found["Statistics"]].count("Data Query Metrics") == 1


def test_the_same_run_gives_the_same_bytes(run: Run) -> None:
    assert XlsxReporter().render(run) == XlsxReporter().render(run)


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
    titles = [
        text
        for text in first_column
        if text.startswith(("Exact selections by", "Data Query", "Terms by", "Wrong", "Selected"))
    ]
    assert len(titles) == len(set(titles)) == 6
