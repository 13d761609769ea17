"""Commands, files and workbooks of Denodo's own evaluator, as its users have them, on `assay denodo`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest
from processes import PASSWORD, assay, emulator, sheet

from assay.testing import DenodoEmulator, Fault, example

QUESTIONS = [str(one["question"]) for one in example.questions()]
GUIDE = ("--user", "demo", "--password", PASSWORD)


def config(folder: Path, server: DenodoEmulator, text: str | None = None) -> None:
    """The file that the evaluator reads from its working folder."""
    written = f"# ours\nDATA_CATALOG_URL={server.catalog_url}\nDATA_CATALOG_SERVER_ID=1\nDATA_CATALOG_VERIFY_SSL=0\n"
    (folder / "project_config.env").write_text(text or written, encoding="utf-8")


def run(server: DenodoEmulator, folder: Path, *more: object, env: dict[str, str] | None = None) -> Any:
    return assay("denodo", "--api-url", server.api_url, *GUIDE, "-q", *more, cwd=folder, env=env)


def written(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("prefix", ["DATA_CATALOG_", "DATA_MARKETPLACE_"])
def test_the_guides_exact_command_reads_the_folders_settings_unasked(
    server: DenodoEmulator, workbook: Path, tmp_path: Path, prefix: str
) -> None:
    folder = tmp_path / "eval"
    folder.mkdir()
    text = (
        f"\ufeffexport {prefix}URL='{server.catalog_url}'  # here\r\n{prefix}EXECUTION_URL={server.execute_url}\r\n"
        f'{prefix}SERVER_ID=7\r\n{prefix}SERVER_ID="1"\r\n{prefix}VERIFY_SSL=0\r\nOTHER=1\r\n'
    )
    config(folder, server, text)
    (tmp_path / "sample_input.xlsx").write_bytes(workbook.read_bytes())
    done = assay(
        *("denodo", "--input", "../sample_input.xlsx", "--output", "../results/evaluation_results.xlsx"),
        *("--api-url", server.api_url, *GUIDE, "--question-rows", "5"),
        cwd=folder,
    )
    assert (done.returncode, done.stderr.count("error")) == (0, 0), done.stderr
    details = sheet(tmp_path / "results" / "evaluation_results.xlsx", "Details")
    assert [row["Verdict"] for row in details] == ["correct", "correct", "incorrect", "correct", "correct"]
    assert written(folder) == ["project_config.env"]


def test_what_is_said_weighs_more_than_the_file_that_was_not_asked_for(
    server: DenodoEmulator, workbook: Path, tmp_path: Path
) -> None:
    config(tmp_path, server, "DATA_CATALOG_URL=http://127.0.0.1:9/no\nDATA_CATALOG_SERVER_ID=1\n")
    arguments = ("-i", workbook, "-o", "out.xlsx", "--question-rows", 1, "--no-ves")
    assert run(server, tmp_path, *arguments, "--catalog-url", server.catalog_url).returncode == 0
    other = {"DATA_MARKETPLACE_URL": server.catalog_url}
    assert run(server, tmp_path, *arguments, "--overwrite", env=other).returncode == 0
    (tmp_path / "project_config.env").write_text("DATA_CATALOG_URL=nowhere\n")
    done = run(server, tmp_path, *arguments, "--overwrite", env=other)
    assert (done.returncode, done.stdout) == (2, "")
    assert "project_config.env, line 1: DATA_CATALOG_URL is 'nowhere'" in done.stderr


OURS = (
    *("--input", "in.xlsx", "--output", "out.xlsx", "--question-rows", 3, "--gold-column", "Solution"),
    *("--difficulty-column", "difficulty", "--context-column", "Context", "--concurrency", 2, "--ves-iterations", 2),
    *("--timeout", 20, "--sheet", "Questions"),
)
THEIRS = (
    *("-i", "in.xlsx", "-o", "out.xlsx", "--question_rows", 3, "--expected-column", "Solution"),
    *("--difficulty-col", "difficulty", "--evidence-column", "Context", "--max-workers", 2, "--iterate-num", 2),
    *("-t", 20, "--sheet_name", "Questions"),
)


def test_the_originals_flags_are_ours_by_another_name(server: DenodoEmulator, workbook: Path, tmp_path: Path) -> None:
    config(tmp_path, server)
    (tmp_path / "in.xlsx").write_bytes(workbook.read_bytes())
    first = run(server, tmp_path, *OURS)
    assert (first.returncode, first.stderr) == (0, "")
    asked, executed = server.asked.total(), server.executed.total()
    again = run(server, tmp_path, *THEIRS, "--header", 0, "--num-cpus", 1)
    # The same run in the same folder: nothing is asked and nothing executed again, but the catalog tried.
    assert (again.returncode, again.stderr) == (0, "")
    assert (server.asked.total(), server.executed.total() - executed) == (asked, 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("--gold-column", "Solution"), ("--expected-column", "difficulty")),
        (("--difficulty-column", "difficulty"), ("--difficulty-col", "Context")),
        (("--context-column", "Context"), ("--evidence-column", "Solution")),
        (("--concurrency", "1"), ("--max-workers", "2")),
        (("--ves-iterations", "1"), ("--iterate-num", "2")),
        (("--question-rows", "1"), ("--question_rows", "2")),
        (("--workers", "1"), ("--num-cpus", "2")),
        (("--sheet", "Questions"), ("--sheet_name", "0")),
        (("--server-id", "1"), ("--data-catalog-server-id", "2")),
        (("--no-verify-ssl",), ("--data-catalog-verify-ssl", "1")),
    ],
)
def test_two_spellings_of_one_option_must_agree(
    server: DenodoEmulator, workbook: Path, tmp_path: Path, one: tuple[str, ...], other: tuple[str, ...]
) -> None:
    config(tmp_path, server)
    done = run(server, tmp_path, "-i", workbook, "-o", "out.xlsx", *one, *other)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert one[0].removeprefix("--no-").removeprefix("--") in done.stderr
    assert other[0] in done.stderr
    assert written(tmp_path) == ["project_config.env"]
    assert server.asked.total() == server.executed.total() == 0


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("-o", "in.xlsx"), "--output is in.xlsx, which is the questions, too"),
        (("-o", "out.xlsx", "--f1-output", "./out.xlsx"), "--f1-output is out.xlsx, which is --output, too"),
        (("-o", "out.xlsx", "--expected-column", "Solutoin"), 'did you mean "Solution"?'),
        (("-o", "out.xlsx", "--header", "4"), "row 5 does not name the columns"),
        (("-o", "out.xlsx", "--header", "900"), "row 901 is blank"),
        (("-o", "out.xlsx", "--sheet_name", "5"), 'no sheet "5" with content'),
        (("-o", "out.xlsx", "--api-url", "host:8008/x"), "--api-url is 'host:8008/x'"),
        (("-o", "out.xlsx", "--catalog-url", "host:9090"), "--catalog-url is 'host:9090'"),
        (("-o", "out.xlsx", "--api-password", "p"), "--api-password is given without --api-username"),
        (("-o", "out.xlsx", "-d", "db.json"), "unknown setting 'pasword' (did you mean 'password'?)"),
        (("-o", "out.xlsx", "--dificulty-col", "x"), "--difficulty-col"),
        (("-o", "out.xlsx", "--ves-budget", "-1"), "--ves-budget"),
    ],
)
def test_what_cannot_be_meant_is_named_and_leaves_nothing(
    server: DenodoEmulator, workbook: Path, tmp_path: Path, more: tuple[str, ...], says: str
) -> None:
    config(tmp_path, server)
    (tmp_path / "in.xlsx").write_bytes(workbook.read_bytes())
    (tmp_path / "db.json").write_text(json.dumps({"user": "a", "pasword": "hidden-one"}))
    before = written(tmp_path)
    done = run(server, tmp_path, "-i", "in.xlsx", *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "hidden-one" not in done.stderr
    assert written(tmp_path) == before
    assert (tmp_path / "in.xlsx").read_bytes() == workbook.read_bytes()
    assert server.asked.total() == 0


def test_without_a_data_catalog_this_commands_own_ways_to_name_one_are_said(
    server: DenodoEmulator, workbook: Path, tmp_path: Path
) -> None:
    done = run(server, tmp_path, "-i", workbook, "-o", "out.xlsx")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "project_config.env" in done.stderr
    assert "--catalog-url" in done.stderr
    assert "--db " not in done.stderr
    port = run(server, tmp_path, "-i", workbook, "-o", "out.xlsx", "--host", "127.0.0.1")
    assert (port.returncode, written(tmp_path)) == (2, [])
    assert "--database" in port.stderr


def test_the_three_further_workbooks_hold_their_parts(server: DenodoEmulator, workbook: Path, tmp_path: Path) -> None:
    config(tmp_path, server)
    parts = ("--f1-output", "f1.xlsx", "--ves-output", "ves.xlsx", "--output-original", "original.xlsx")
    done = run(server, tmp_path, "-i", workbook, "-o", "out.xlsx", "--question-rows", 4, *parts)
    assert (done.returncode, done.stderr) == (0, "")
    details = sheet(tmp_path / "out.xlsx", "Details")
    for name, page, columns in (
        ("f1.xlsx", "F1", ("Percent Overlap", "Have Same Column Count", "Bird Standard F1")),
        ("ves.xlsx", "VES", ("Results Match", "VES Score", "total_execution_time")),
        ("original.xlsx", "Answers", ("Question", "VQL Generated", "llm_time", "Tables used")),
    ):
        rows = sheet(tmp_path / name, page)
        assert [{title: row[title] for title in columns} for row in rows] == [
            {title: row[title] for title in columns} for row in details
        ]
    assert "Verdict" not in sheet(tmp_path / "original.xlsx", "Answers")[0]


def test_ves_is_off_with_one_flag_and_its_column_goes(server: DenodoEmulator, workbook: Path, tmp_path: Path) -> None:
    config(tmp_path, server)
    done = run(server, tmp_path, "-i", workbook, "-o", "out.xlsx", "--no-ves", "--question-rows", 2)
    assert (done.returncode, done.stderr) == (0, "")
    assert not any("VES Score" in row for row in sheet(tmp_path / "out.xlsx", "Details"))
    assert max(server.executed.values()) == 1


def test_a_budget_of_nothing_times_nothing_says_so_and_the_same_command_goes_on(
    server: DenodoEmulator, workbook: Path, tmp_path: Path
) -> None:
    config(tmp_path, server)
    arguments = ("-i", workbook, "-o", "out.xlsx", "--question-rows", 2, "--ves-iterations", 1)
    done = run(server, tmp_path, *arguments, "--ves-budget", 0)
    assert done.returncode == 0
    assert "1 right answer was not timed within --ves-budget: the same command continues with them" in done.stderr
    # The second question's answer is the gold query's own text.
    assert [row["VES Score"] for row in sheet(tmp_path / "out.xlsx", "Details")] == ["", 1]
    assert run(server, tmp_path, *arguments).returncode == 0
    assert sheet(tmp_path / "out.xlsx", "Details")[0]["VES Score"] in (0.25, 0.5, 0.75, 1, 1.25)
    assert server.asked.total() == 2


def test_a_catalog_that_stands_still_while_timing_costs_nobody_the_verdict(
    server: DenodoEmulator, workbook: Path, tmp_path: Path
) -> None:
    config(tmp_path, server)
    # Tried, gold and prediction executed: from then on each execution of the prediction takes too long.
    vql = "SELECT COUNT(client_id) AS client_count FROM client"
    server.faults.add(Fault(kind="slow", on="execute", question=vql, after=1, seconds=600))
    done = run(server, tmp_path, "-i", workbook, "-o", "out.xlsx", "--question-rows", 1, "-t", 2)
    [row] = sheet(tmp_path / "out.xlsx", "Details")
    assert (done.returncode, row["Verdict"], row["Results Match"]) == (0, "correct", 1)
    assert row["VES Score"] in (0, "")
    assert "executed again for its time" in row["VES detail"] + row["Failure"]


def test_as_denodo_counts_as_denodos_workbook_does(workbook: Path, tmp_path: Path) -> None:
    with emulator(answers=example.answers_path()) as server:
        config(tmp_path, server)
        done = run(server, tmp_path, "-i", workbook, "-o", "out.xlsx", "--as-denodo", "--retries", 0)
        assert done.returncode == 0
        assert max(server.executed.values()) >= 4  # each pair as often as it says, after a warm-up
    summary = {row["Difficulty"]: row for row in sheet(tmp_path / "out.xlsx", "Summary")}
    details = sheet(tmp_path / "out.xlsx", "Details")
    shown = f"in the workbook: Percent Correct Queries {summary['Overall']['Percent Correct Queries'] * 100:.1f} %"
    assert shown in " ".join(done.stdout.split())
    for name, row in summary.items():
        cases = [case for case in details if name in ("Overall", case["Difficulty"])]
        times = [case["total_execution_time"] or 0.0 for case in cases]
        assert row["Number of Samples"] == len(cases)
        assert row["Mean Time (s)"] == pytest.approx(fmean(times))
        assert row["Time Std Dev"] == pytest.approx(pstdev(times))
        for title, column in (("Percent Subset", "Subsetting Percentage"), ("Percent Overlap", "Percent Overlap")):
            assert row[title] == pytest.approx(fmean(case[column] or 0.0 for case in cases))
        assert "Scored" not in row
    assert math.isclose(details[2]["Percent Overlap"], 0.0)


def test_as_denodo_asks_for_a_hundred_rows_and_takes_them_for_the_whole(tmp_path: Path) -> None:
    question = {"Many?": "SELECT n FROM range(250) AS r(n) WHERE 1 = 1"}
    (tmp_path / "in.csv").write_text("Question,Solution\nMany?,SELECT n FROM range(250) AS r(n)\n")
    with emulator(answers=question) as server:
        config(tmp_path, server)
        for more, rows in (((), 250), (("--as-denodo",), 100)):
            done = run(server, tmp_path, "-i", "in.csv", "-o", f"{rows}.xlsx", "--no-ves", *more)
            assert (done.returncode, done.stderr) == (0, "")
            [line] = (tmp_path / f"{rows}.run" / "journal.jsonl").read_text().splitlines()
            assert f'"row_count":{rows}' in line
            assert sheet(tmp_path / f"{rows}.xlsx", "Details")[0]["Verdict"] == "correct"


def test_a_newer_server_is_judged_question_by_question(workbook: Path, tmp_path: Path) -> None:
    with emulator(answers=example.answers_path(), newer=True) as server:
        config(tmp_path, server)
        server.faults.add(Fault(kind="no_table", question=QUESTIONS[0]))
        server.faults.add(Fault(kind="passed_through", status=403, question=QUESTIONS[1], message="Access denied"))
        server.faults.add(Fault(kind="web_page", status=200, question=QUESTIONS[3]))
        done = run(server, tmp_path, "-i", workbook, "-o", "out.xlsx", "--no-ves", "--retries", 0)
    assert done.returncode == 0, done.stderr
    failures = {row["Question"]: row["Failure"] for row in sheet(tmp_path / "out.xlsx", "Details")}
    assert "No relevant tables were found" in failures[QUESTIONS[0]]
    assert "403: Access denied" in failures[QUESTIONS[1]]
    assert "not JSON" in failures[QUESTIONS[3]]
    assert "Highest in which currency" in failures[QUESTIONS[7]]
