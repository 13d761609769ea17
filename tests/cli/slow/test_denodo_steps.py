"""The steps of Denodo's evaluator on their own: F1 and VES of queries that a workbook holds, and merging both parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from processes import PASSWORD, assay, sheet
from xlsxwriter import Workbook

from assay.testing import DenodoEmulator

QUERIES = [
    # gold, generated, AI SDK's time
    ("SELECT COUNT(*) AS clients FROM client", "SELECT COUNT(client_id) AS n FROM client", 1.5),
    ("SELECT name FROM branch", "SELECT name FROM branch WHERE 1 = 0", 2.5),
    ("SELECT name FROM branch", None, "N/A"),
    ("SELECT nothing FROM branch", "SELECT name FROM branch", "N/A"),
]


def step(server: DenodoEmulator, folder: Path, *more: object) -> Any:
    where = ("--catalog-url", server.catalog_url, "--user", "demo", "--password", PASSWORD)
    return assay("denodo", *where, "--ves-iterations", 1, "--ves-budget", 20, "-q", *more, cwd=folder)


def details_as_denodo_writes_them(path: Path, gold: str = "Ground Truth VQL", made: str = "VQL Generated") -> Path:
    """A workbook without questions: a super header, the names, a row that describes them, N/A for missing times."""
    with Workbook(path) as book:
        page = book.add_worksheet("Details")
        page.merge_range(0, 0, 0, 3, "AI SDK Results and Answer")
        page.write_row(1, 0, ["Question ID", "Difficulty", made, gold, "total_execution_time"])
        page.write_row(2, 0, ["Unique identifier", "How hard it is", "What the AI wrote", "Reference", "Total time"])
        for row, (expected, generated, seconds) in enumerate(QUERIES, start=3):
            page.write_row(row, 0, [10 + row, row % 3 + 1, generated, expected, seconds])
    return path


def test_both_parts_of_a_workbooks_own_queries_need_no_ai_sdk_and_merge_into_the_whole(
    server: DenodoEmulator, workbook: Path, tmp_path: Path
) -> None:
    asking = ("-i", workbook, "-o", "live.xlsx", "--api-url", server.api_url, "--question-rows", 6)
    assert step(server, tmp_path, *asking).returncode == 0
    asked = server.asked.copy()
    columns = ("-i", "live.xlsx", "--ground-truth-col", "Ground Truth VQL", "--generated-col", "VQL Generated")
    before = server.executed.copy()
    f1 = step(server, tmp_path, *columns, "--f1-output", "f1.xlsx")
    assert (f1.returncode, f1.stderr) == (0, "")
    executed = server.executed - before
    del executed["SELECT 1"]  # once per connection
    assert set(executed.values()) == {1}  # nothing is timed
    ves = step(server, tmp_path, *columns, "--ves-output", "ves.xlsx")
    assert (ves.returncode, ves.stderr) == (0, "")
    assert server.asked == asked
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"live.xlsx", "live.run", "f1.xlsx", "f1.run", "ves.xlsx", "ves.run"}

    live = sheet(tmp_path / "live.xlsx", "Details")
    [f1_rows, ves_rows] = [sheet(tmp_path / "f1.xlsx", "F1"), sheet(tmp_path / "ves.xlsx", "VES")]
    for row, f1_row, ves_row in zip(live, f1_rows, ves_rows, strict=True):
        assert f1_row == {title: row[title] for title in f1_row}
        timed = ("VES Score", "VES detail", "Flags")
        assert {**ves_row, **dict.fromkeys(timed)} == {
            title: None if title in timed else row[title] for title in ves_row
        }
        assert (ves_row["VES Score"] > 0) == (row["VES Score"] > 0)
    assert "VES Score" not in f1_rows[0]
    assert "Percent Overlap" not in ves_rows[0]

    merged = assay("denodo", "--merge", "f1.xlsx", "ves.xlsx", "-o", "whole.xlsx", cwd=tmp_path)
    assert (merged.returncode, merged.stderr, merged.stdout) == (0, "", "wrote whole.xlsx\n")
    for row, f1_row, ves_row in zip(sheet(tmp_path / "whole.xlsx", "Details"), f1_rows, ves_rows, strict=True):
        assert row == {**f1_row, **ves_row}
    live_summary, summary = (sheet(tmp_path / name, "Summary") for name in ("live.xlsx", "whole.xlsx"))
    for row, expected in zip(summary, live_summary, strict=True):
        for title, value in row.items():
            if title != "VES Score":
                assert value == pytest.approx(expected[title]), title


def test_a_workbook_in_denodos_own_layout_and_without_questions_is_evaluated(
    server: DenodoEmulator, tmp_path: Path
) -> None:
    details_as_denodo_writes_them(tmp_path / "in.xlsx", gold="sol_sql", made="made")
    columns = ("-i", "in.xlsx", "-g", "sol_sql", "-p", "made", "-c", "Difficulty")
    done = step(server, tmp_path, *columns, "--f1-output", "f1.xlsx", "--ves-output", "ves.xlsx")
    assert (done.returncode, done.stderr.count("the row describes the columns")) == (0, 1)
    rows = sheet(tmp_path / "f1.xlsx", "F1")
    assert [row["Question ID"] for row in rows] == [13, 14, 15, 16]
    assert [row["Difficulty"] for row in rows] == ["simple", "moderate", "challenging", "simple"]
    assert [row["Results Match"] for row in rows] == [1, 0, 0, ""]
    assert not (tmp_path / "combined_results.xlsx").exists()
    assert server.asked.total() == 0
    for more, unscored in (((), ""), (("--as-denodo",), 0)):
        merging = ("--merge", "ves.xlsx", "f1.xlsx", *more)  # in either order, into the usual workbook
        assert assay("denodo", *merging, cwd=tmp_path).returncode == 0
        summary = {row["Difficulty"]: row for row in sheet(tmp_path / "combined_results.xlsx", "Summary")}
        assert list(summary) == ["simple", "moderate", "challenging", "Overall"]
        assert summary["Overall"]["Percent Correct Queries"] == pytest.approx(1 / 4 if more else 1 / 3)
        assert summary["Overall"]["Mean Time (s)"] == pytest.approx(4 / 4 if more else 4 / 2)
        assert summary["challenging"]["Mean Time (s)"] == unscored


def test_the_whole_workbook_of_a_workbooks_own_queries_is_the_default(server: DenodoEmulator, tmp_path: Path) -> None:
    details_as_denodo_writes_them(tmp_path / "in.xlsx")
    done = step(server, tmp_path, "-i", "in.xlsx", "--generated-col", "VQL Generated", "--no-ves")
    assert done.returncode == 0
    rows = sheet(tmp_path / "combined_results.xlsx", "Details")
    assert [row["Verdict"] for row in rows] == ["correct", "incorrect", "incorrect", "unscored"]
    assert server.asked.total() == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("-i", "in.xlsx", "-p", "VQL Generatd"), 'did you mean "VQL Generated"?'),
        (("-i", "in.xlsx", "-p", "Ground Truth VQL"), "has the gold queries of the question set"),
        (("-i", "in.xlsx", "-p", "VQL Generated", "--param", "a=b", "--retries", "1"), "omit --param, --retries"),
        (("-i", "in.xlsx", "-p", "VQL Generated", "--api-url", "http://127.0.0.1/x"), "omit --api-url"),
        (
            ("-i", "in.xlsx", "-p", "VQL Generated", "--prediction-column", "x"),
            "different values, 'VQL Generated' and 'x': give it once",
        ),
        (("-i", "in.xlsx", "-p", "VQL Generated", "--f1-output", "in.xlsx"), "--f1-output is in.xlsx"),
        (("--merge", "a.xlsx", "b.xlsx", "-i", "in.xlsx"), "omit --input"),
        (("--merge", "a.xlsx"), "--merge"),
        (("--merge", "in.xlsx", "./in.xlsx"), "--merge is in.xlsx, which --merge names, too"),
        (("--merge", "a.xlsx", "in.xlsx", "-o", "in.xlsx"), "--output is in.xlsx, which --merge names, too"),
        ((), "--input must be given"),
    ],
)
def test_options_that_do_not_fit_the_step_are_named_and_nothing_is_written(
    server: DenodoEmulator, tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    details_as_denodo_writes_them(tmp_path / "in.xlsx")
    run = assay("denodo", *options, cwd=tmp_path) if "--merge" in options else step(server, tmp_path, *options)
    assert (run.returncode, run.stdout) == (2, "")
    assert says in run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.xlsx"]
    assert server.executed.total() == 0
