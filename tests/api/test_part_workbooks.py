"""Merging an F1 part and a VES part: by question, in either order, and with a message where they do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from python_calamine import CalamineWorkbook
from xlsxwriter import Workbook

from assay.api.part_workbooks import read_parts
from assay.errors import InputError
from assay.reports.excel.merged import MergedParts, merged_workbook
from many_cases import each

F1 = ["Question ID", "Difficulty", "VQL Generated", "Ground Truth VQL", "Results Match", "Percent Overlap"]
VES = ["Question ID", "Difficulty", "VQL Generated", "Ground Truth VQL", "Results Match", "VES Score", "llm_time"]


def part(path: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    with Workbook(path) as book:
        page = book.add_worksheet("Part")
        for number, row in enumerate([columns, *rows]):
            page.write_row(number, 0, row)
    return path


def f1(folder: Path, *ids: object, **other: Any) -> Path:
    said = {"generated": "SELECT 1", "match": 1, **other}
    rows = [[name, "easy", said["generated"], "SELECT 1", said["match"], 0.5] for name in ids]
    return part(folder / "f1.xlsx", F1, rows)


def ves(folder: Path, *ids: object, name: str = "ves.xlsx") -> Path:
    return part(folder / name, VES, [[name, "easy", "SELECT 1", "SELECT 1", 1, 1.25, 2.0] for name in ids])


def merged(one: Path, other: Path) -> MergedParts:
    return read_parts(one, other, difficulty_names={})


def test_rows_meet_by_question_whatever_their_order_and_whichever_part_is_first(tmp_path: Path) -> None:
    one, other = f1(tmp_path, 3, 1, 2), ves(tmp_path, 1, 2, 3)
    first, second = merged(one, other), merged(other, one)
    assert first.values("Question ID") == ["3", "1", "2"]
    assert second.values("Question ID") == ["1", "2", "3"]
    assert first.titles == second.titles
    assert sorted(map(str, first.rows)) == sorted(map(str, second.rows))
    assert first.values("VES Score") == [1.25] * 3
    assert first.values("Percent Overlap") == [0.5] * 3


@each(
    ("one", "says"),
    [
        (lambda folder: f1(folder, 1, 2, 3, 4), 'f1.xlsx has "3", "4"'),
        (lambda folder: f1(folder, 1), 've.xlsx has "2"'),
        (lambda folder: f1(folder, *range(1, 20)), "and 12 more"),
        (lambda folder: f1(folder, 1, 2, generated="SELECT 2"), '"VQL Generated" of question "1" differs'),
        (lambda folder: f1(folder, 1, 2, match=0), '"Results Match" of question "1" differs'),
        (lambda folder: f1(folder, 1, 2, match="maybe"), "row 2: \"Results Match\" is the text 'maybe'"),
        (lambda folder: f1(folder, 1, 1), 'row 3: the question "1" occurs twice'),
        (lambda folder: f1(folder, 1, None), "row 3: Question ID is blank"),
        (lambda folder: ves(folder, 1, 2, name="f1.xlsx"), "has the column"),
        (lambda folder: part(folder / "f1.xlsx", ["a", "b"], [[1, 2]]), "the column Question ID is missing"),
        (lambda folder: part(folder / "f1.xlsx", F1, []), "contains no question"),
        (lambda folder: folder / "f2.xlsx", "does not exist"),
    ],
)
def test_parts_that_do_not_fit_together_say_why(tmp_path: Path, one: Any, says: str) -> None:
    other = ves(tmp_path, 1, 2, name="ve.xlsx")
    path = one(tmp_path)
    for parts in ((path, other), (other, path)):
        with pytest.raises(InputError) as caught:
            merged(*parts)
        assert says in str(caught.value)


def test_a_score_that_one_part_lacks_is_taken_from_the_other(tmp_path: Path) -> None:
    assert merged(f1(tmp_path, 1, match=None), ves(tmp_path, 1)).values("Results Match") == [1.0]
    assert merged(f1(tmp_path, 1, match="N/A"), ves(tmp_path, 1)).values("Results Match") == [1.0]


def test_the_parts_of_denodos_own_evaluator_are_read_by_its_names_as_shares(tmp_path: Path) -> None:
    one = part(
        tmp_path / "f1.xlsx",
        ["Question ID", "Difficulty", "sol_sql", "precision", "set_precision", "f1score", "same_row_count"],
        [
            ["Unique identifier", "How hard", "Reference query", "Share of cells", "Share", "F1 of BIRD", "1 if equal"],
            [1, 1, "SELECT 1", 75, 100, 0.8, 1],
            [2, 3, "SELECT 2", 0, 50, 0.2, 0],
        ],
    )
    other = part(tmp_path / "ves.xlsx", ["Question ID", "Results Match", "reward"], [[1, 1, 1.25], [2, 0, "N/A"]])
    found = read_parts(one, other, difficulty_names={"1": "simple", "2": "moderate", "3": "challenging"})
    assert found.values("Difficulty") == ["simple", "challenging"]
    assert found.values("Percent Overlap") == [0.75, 0.0]
    assert found.values("Subsetting Percentage") == [1.0, 0.5]
    assert found.values("Bird Standard F1") == [0.8, 0.2]
    assert found.values("VES Score") == [1.25, None]
    assert found.values("Ground Truth VQL") == ["SELECT 1", "SELECT 2"]


SCORES = st.one_of(st.none(), st.sampled_from([0.0, 1.0]))


@settings(max_examples=20, deadline=None)
@given(
    rows=st.lists(st.tuples(SCORES, SCORES, st.sampled_from(["easy", "hard", None])), min_size=1, max_size=8),
    as_denodo=st.booleans(),
)
def test_the_summary_is_of_the_rows_whatever_is_missing(
    rows: list[tuple[float | None, float | None, str | None]], as_denodo: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    titles = ("Question ID", "Results Match", "total_execution_time", "Difficulty")
    parts = MergedParts(titles=titles, rows=tuple((str(at), *row) for at, row in enumerate(rows)))
    path = tmp_path_factory.mktemp("merged") / "whole.xlsx"
    path.write_bytes(merged_workbook(parts, "a and b", as_denodo=as_denodo))
    with CalamineWorkbook.from_path(path) as book:
        head, *table = book.get_sheet_by_name("Summary").to_python()
        assert len(book.get_sheet_by_name("Details").to_python()) == len(rows) + 1
    overall = next(dict(zip(head, row, strict=True)) for row in table if row[0] == "Overall")
    for title, values in (
        ("Percent Correct Queries", [match for match, _, _ in rows]),
        ("Mean Time (s)", [seconds for _, seconds, _ in rows]),
    ):
        there = [value or 0.0 for value in values if value is not None or as_denodo]
        none = not there or all(value is None for value in values)
        assert overall[title] == ("" if none else pytest.approx(sum(there) / len(there)))
    assert overall["Number of Samples"] == len(rows)
