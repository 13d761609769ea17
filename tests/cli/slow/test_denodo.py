"""`assay denodo` as its users run it: real HTTP, the bundled example, and processes where they are killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import PASSWORD, assay, emulator, end_group, lines, sheet, started, succeeds, until

from assay.testing import DenodoEmulator, Fault, example
from process_tree import descendants

DETAILS = (
    *("Question ID", "Difficulty", "VQL Generated", "Ground Truth VQL", "Results Match", "Subsetting Percentage"),
    *("Percent Overlap", "Have Same Row Count", "Bird Standard F1", "VES Score", "sql_execution_time"),
    *("vector_store_search_time", "llm_time", "total_execution_time"),
)
SUMMARY = ("Difficulty", "Percent Subset", "Percent Correct Queries", "Number of Samples", "Mean Time (s)")
SECRET = {"ASSAY_PASSWORD": PASSWORD}
QUESTIONS = [str(one["question"]) for one in example.questions()]


def command(server: DenodoEmulator, workbook: Path, output: Path, *more: object, user: str = "demo") -> list[object]:
    """The command of the guide, without the password, with one timing in place of three to be quick."""
    return [
        *("denodo", "--input", workbook, "--output", output, "--api-url", server.api_url, "--user", user),
        *("--catalog-url", server.catalog_url, "--ves-iterations", "1", "-q", *more),
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, workbook: Path) -> Iterator[tuple[DenodoEmulator, Path, Any]]:
    """The whole example, its failing question included, by a password from the environment."""
    folder = tmp_path_factory.mktemp("whole")
    with emulator(answers=example.answers_path()) as server:
        yield server, folder, assay(*command(server, workbook, folder / "out.xlsx"), env=SECRET)


def verdicts(path: Path) -> dict[str, str]:
    return {row["Question"]: row["Verdict"] for row in sheet(path, "Details")}


def held(run: Path) -> set[str]:
    """The questions whose answers a run's folder holds, by their place."""
    found = [json.loads(line) for line in (run / "answers.jsonl").read_bytes().splitlines()]
    return {QUESTIONS[int(one["prediction"]["case_id"])] for one in found}


def test_the_guides_command_writes_its_workbook(server: DenodoEmulator, workbook: Path, tmp_path: Path) -> None:
    output = tmp_path / "results" / "evaluation_results.xlsx"
    done = assay(*command(server, workbook, output, "--password", PASSWORD, "--question-rows", 5))
    assert (done.returncode, done.stderr) == (0, "")
    details, summary = sheet(output, "Details"), sheet(output, "Summary")
    assert tuple(details[0])[: len(DETAILS)] == DETAILS
    assert tuple(summary[0])[: len(SUMMARY)] == SUMMARY
    assert [(row["Difficulty"], row["Number of Samples"], row["Percent Correct Queries"]) for row in summary] == [
        ("easy", 4, 0.75),
        ("medium", 1, 1),
        ("Overall", 5, 0.8),
    ]
    assert "answerDataQuestion on sample_input" in done.stdout
    assert [row["Question"] for row in details] == QUESTIONS[:5]
    assert (details[0]["sql_execution_time"], details[0]["total_execution_time"]) == (0.021, 1.141)
    assert sorted(server.asked) == sorted(QUESTIONS[:5])


RETRIES = 3
"""The default of --retries."""
ASKED = {**dict.fromkeys(QUESTIONS, 1), QUESTIONS[12]: 1 + RETRIES}
"""How often the example's questions are asked: the emulator answers 500 to the last, which may pass elsewhere."""


def test_the_whole_example_is_judged(whole: tuple[DenodoEmulator, Path, Any]) -> None:
    server, folder, done = whole
    assert (done.returncode, done.stderr) == (0, "")
    found = verdicts(folder / "out.xlsx")
    right = [0, 1, 3, 4, 5, 8]
    assert found == {question: "correct" if place in right else "incorrect" for place, question in enumerate(QUESTIONS)}
    assert server.asked == ASKED


def test_the_efficiency_score_is_there_for_right_answers_and_nought_for_wrong_ones(
    whole: tuple[DenodoEmulator, Path, Any],
) -> None:
    for row in sheet(whole[1] / "out.xlsx", "Details"):
        if row["Results Match"]:
            assert row["VES Score"] in (0.25, 0.5, 0.75, 1, 1.25)
            assert "gold" in row["VES detail"]
        else:
            assert (row["VES Score"], row["VES detail"]) == (0, "")


def test_a_500_is_that_questions_failure_once_every_retry_has_met_it(whole: tuple[DenodoEmulator, Path, Any]) -> None:
    server, folder, _ = whole
    row = next(row for row in sheet(folder / "out.xlsx", "Details") if row["Question"] == QUESTIONS[12])
    assert (row["Verdict"], row["VQL Generated"], row["total_execution_time"]) == ("incorrect", "", "")
    assert row["Failure"].startswith("system: the server answers 500")
    assert "traceback" not in row["Failure"].lower()
    assert server.asked[QUESTIONS[12]] == 1 + RETRIES


def test_the_password_is_in_nothing_that_is_written(whole: tuple[DenodoEmulator, Path, Any], tmp_path: Path) -> None:
    from urllib.parse import quote
    from zipfile import ZipFile

    _, folder, done = whole
    with ZipFile(folder / "out.xlsx") as workbook:
        written = [workbook.read(name) for name in workbook.namelist()]
    written += [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    written += [done.stdout.encode(), done.stderr.encode()]
    assert len(written) > 10
    for form in (PASSWORD, quote(PASSWORD, safe=""), json.dumps(PASSWORD)[1:-1]):
        assert not [content for content in written if form.encode() in content]


def test_run_with_a_system_gives_the_same(
    whole: tuple[DenodoEmulator, Path, Any], server: DenodoEmulator, workbook: Path, tmp_path: Path
) -> None:
    _, folder, _ = whole
    done = assay(
        *("run", workbook, "--system", f"denodo:{server.api_url}", "--db", f"denodo+{server.catalog_url}", "-q"),
        *("-o", tmp_path / "run", "--xlsx", tmp_path / "run.xlsx", "--metrics", "match"),
        env={**SECRET, "ASSAY_USER": "demo"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert verdicts(tmp_path / "run.xlsx") == verdicts(folder / "out.xlsx")


def test_rescoring_asks_nothing(whole: tuple[DenodoEmulator, Path, Any], workbook: Path, tmp_path: Path) -> None:
    server, folder, _ = whole
    shutil.copytree(folder / "out.run", tmp_path / "out.run")
    executed = server.executed.total()
    again = assay(*command(server, workbook, tmp_path / "out.xlsx", "--rescore", "--max-rows", "1000"), env=SECRET)
    assert (again.returncode, again.stderr) == (0, "")
    assert verdicts(tmp_path / "out.xlsx") == verdicts(folder / "out.xlsx")
    assert server.asked == ASKED
    assert server.executed.total() > executed


def test_rescoring_what_was_never_asked_says_so_and_keeps_the_run(
    whole: tuple[DenodoEmulator, Path, Any], workbook: Path, tmp_path: Path
) -> None:
    server, folder, _ = whole
    run = tmp_path / "out.run"
    shutil.copytree(folder / "out.run", run)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    other = command(server, workbook, tmp_path / "out.xlsx", "--rescore", "--param", "vdp_database_names=bank")
    done = assay(*other, env=SECRET)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "13 of the 13 questions" in done.stderr
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


@pytest.mark.parametrize(("flags", "kept"), [((), 2), (("--no-ves",), len(QUESTIONS)), (("--as-denodo",), 2)])
def test_a_folder_without_a_column_that_came_later_goes_on_without_it(
    flags: tuple[str, ...], kept: int, server: DenodoEmulator, workbook: Path, tmp_path: Path
) -> None:
    run = tmp_path / "out.run"
    arguments = command(server, workbook, tmp_path / "out.xlsx", *flags)
    assert assay(*arguments, env=SECRET).returncode == 0
    asked = server.asked.total()
    state = json.loads((run / "run.json").read_bytes())
    state["settings"]["metrics"].remove("same_column_count")
    state["status"] = "running"
    for left in ("order", "aggregates"):
        state.pop(left)
    (run / "run.json").write_text(json.dumps(state), encoding="utf-8")
    lines_of = (run / "journal.jsonl").read_bytes().splitlines(keepends=True)[:kept]
    without = [json.loads(line) for line in lines_of]
    for line in without:
        scores = line["evidence"]["scores"]
        line["evidence"]["scores"] = [score for score in scores if score["metric"] != "same_column_count"]
    journal = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in without)
    (run / "journal.jsonl").write_text(journal, encoding="utf-8")
    done = assay(*arguments, env=SECRET)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(verdicts(tmp_path / "out.xlsx")) == sorted(QUESTIONS)
    assert (run / "journal.jsonl").read_text(encoding="utf-8").startswith(journal), "no case is judged anew"
    assert server.asked.total() - asked <= ASKED[QUESTIONS[12]], "but for the one whose asking failed"
    assert "same_column_count" not in json.loads((run / "run.json").read_bytes())["settings"]["metrics"]
    again = assay(*arguments, "--rescore", env=SECRET)
    assert (again.returncode, again.stderr) == (0, "")
    assert "same_column_count" in json.loads((run / "run.json").read_bytes())["settings"]["metrics"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a process group")
def test_killed_while_judging_it_asks_nothing_again(server: DenodoEmulator, workbook: Path, tmp_path: Path) -> None:
    run, output = tmp_path / "out.run", tmp_path / "out.xlsx"
    server.faults.add(Fault(kind="slow", on="execute", after=6, seconds=600))
    arguments = command(server, workbook, output)
    process = started(arguments, env=SECRET)
    until(lambda: lines(run / "journal.jsonl") >= 1 and server.executed.total() >= 7, what="a case judged")
    until(lambda: lines(run / "answers.jsonl") >= len(QUESTIONS), what="every answer, while one case is judged")
    end_group(process, signal.SIGKILL)
    server.faults.clear()
    assert assay(*arguments, env=SECRET).returncode == 0
    assert server.asked == dict.fromkeys(QUESTIONS, 1)
    assert sorted(verdicts(output)) == sorted(QUESTIONS)


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a process group")
@pytest.mark.parametrize("stage", ["ask", "execute"])
def test_ctrl_c_ends_with_3_and_the_way_on(stage: Any, server: DenodoEmulator, workbook: Path, tmp_path: Path) -> None:
    run, output = tmp_path / "out.run", tmp_path / "out.xlsx"
    server.faults.add(Fault(kind="slow", on=stage, after=6, seconds=600))
    patient = ("--ask-timeout", 600, "--timeout", 600)  # the limits' own end would come first on a busy machine
    arguments = command(server, workbook, output, "--concurrency", 1, *patient)
    process = started(arguments, env=SECRET)
    until(lambda: _calls(server, stage) >= 7 and lines(run / "answers.jsonl") >= 6, what="the slow call")
    os.killpg(process.pid, signal.SIGINT)
    server.faults.clear()  # what is in flight is finished and kept
    said = process.communicate(timeout=300)[1]
    assert process.returncode == 3
    assert said.count("\n") == 1
    assert f"finished cases are in {run}: the same command resumes" in said
    answered = held(run)
    server.faults.clear()
    assert assay(*arguments, env=SECRET).returncode == 0
    assert all(server.asked[question] == 1 for question in answered)
    assert sorted(verdicts(output)) == sorted(QUESTIONS)


def _calls(server: DenodoEmulator, stage: str) -> int:
    return (server.asked if stage == "ask" else server.executed).total()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_no_child_process_has_the_password(server: DenodoEmulator, workbook: Path, tmp_path: Path) -> None:
    server.faults.add(Fault(kind="slow", on="execute", seconds=600))
    process = started(command(server, workbook, tmp_path / "out.xlsx"), env=SECRET)
    try:
        until(lambda: server.executed.total() >= 1, what="a worker at work")
        children = descendants(process.pid)
        assert children
        seen = {pid: [Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ")] for pid in children}
        seen[process.pid] = [Path(f"/proc/{process.pid}/cmdline").read_bytes()]
        assert not [pid for pid, texts in seen.items() if any(PASSWORD.encode() in text for text in texts)]
        assert all(texts[0] for texts in seen.values())
    finally:
        end_group(process, signal.SIGKILL)


def test_wrong_credentials_stop_at_the_first_answer(server: DenodoEmulator, workbook: Path, tmp_path: Path) -> None:
    done = assay(*command(server, workbook, tmp_path / "out.xlsx"), env={"ASSAY_PASSWORD": "wrong-one"})
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "rejects" in done.stderr
    assert "wrong-one" not in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert server.asked.total() == 0  # the Data Catalog is tried before anything is asked


def test_credentials_that_the_sdk_alone_refuses(server: DenodoEmulator, workbook: Path, tmp_path: Path) -> None:
    server.faults.add(Fault(kind="unauthorised"))
    done = assay(*command(server, workbook, tmp_path / "out.xlsx", "--concurrency", 1), env=SECRET)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "refuses the credentials (401" in done.stderr
    assert (server.asked.total(), (tmp_path / "out.xlsx").exists()) == (1, False)


@pytest.mark.parametrize(
    ("fault", "more", "says"),
    [
        (Fault(kind="rejected", message="no"), (), "the first 3 questions failed"),
        (Fault(kind="other_endpoint"), (), "no 'sql_query'"),
        (None, ("--param", "vdp_database_names=bank", "--param", "mode=nonsense"), "--param mode=nonsense"),
    ],
)
def test_what_can_never_succeed_is_said_once_and_draws_no_table(
    fault: Fault | None, more: tuple[str, ...], says: str, server: DenodoEmulator, workbook: Path, tmp_path: Path
) -> None:
    if fault is not None:
        server.faults.add(fault)
    arguments = command(server, workbook, tmp_path / "out.xlsx", "--api-url", server.question_url, *more)
    done = assay(*arguments, env=SECRET)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert says in done.stderr
    assert "same command" not in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert server.asked.total() < len(QUESTIONS)


def test_the_marketplace_is_read_as_the_catalog_is(workbook: Path, tmp_path: Path) -> None:
    results = []
    for marketplace in (False, True):
        output = tmp_path / f"{marketplace}.xlsx"
        with emulator(answers=example.answers_path(), marketplace=marketplace) as server:
            more = ("--param", "vdp_database_names=bank", "--no-ves", "--question-rows", 12)
            succeeds(*command(server, workbook, output, *more), env=SECRET)
        results.append({row["Question"]: (row["Verdict"], row["Bird Standard F1"]) for row in sheet(output, "Details")})
    assert results[0] == results[1]


def test_a_database_that_is_down_behind_its_server_is_said_at_once(
    server: DenodoEmulator, workbook: Path, tmp_path: Path
) -> None:
    server.faults.add(Fault(kind="execution_error", on="execute", message="no connection to Denodo"))
    done = assay(*command(server, workbook, tmp_path / "out.xlsx", "--question-rows", 4), env=SECRET)
    assert done.returncode == 3
    assert "answers SELECT 1 with an error (no connection to Denodo)" in done.stderr
    assert "every query of the first 3 cases failed, gold queries included" in done.stderr
    assert {row["Verdict"] for row in sheet(tmp_path / "out.xlsx", "Details")} == {"unscored"}


def test_masked_results_are_unscored_and_said_in_one_line(
    server: DenodoEmulator, workbook: Path, tmp_path: Path
) -> None:
    server.faults.add(Fault(kind="masked", on="execute"))
    done = assay(*command(server, workbook, tmp_path / "out.xlsx", "--question-rows", 2), env=SECRET)
    assert done.stdout.count("the database masked values in their results") == 1
    assert {row["Verdict"] for row in sheet(tmp_path / "out.xlsx", "Details")} == {"unscored"}


@pytest.mark.parametrize("down", ["--api-url", "--catalog-url"])
def test_a_server_that_is_down_says_so_in_time(
    down: str, server: DenodoEmulator, workbook: Path, tmp_path: Path
) -> None:
    with socket.socket() as taken:  # bound, and not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        arguments = command(server, workbook, tmp_path / "out.xlsx", "--ask-timeout", 2, "--timeout", 2)
        done = assay(*arguments, down, f"http://{place}/answerDataQuestion", env=SECRET)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert place in done.stderr
    assert PASSWORD not in done.stderr
    assert not (tmp_path / "out.xlsx").exists()


def test_the_file_the_environment_and_flags_weigh_in_that_order(
    server: DenodoEmulator, workbook: Path, tmp_path: Path
) -> None:
    config = tmp_path / "project_config.env"
    config.write_text(
        f"DATA_CATALOG_URL={server.catalog_url}\nDATA_CATALOG_EXECUTION_URL={server.execute_url}\n"
        "DATA_CATALOG_SERVER_ID=7\nDATA_CATALOG_VERIFY_SSL=0\n"
    )
    arguments = command(server, workbook, tmp_path / "out.xlsx", "--question-rows", 1)
    place = arguments.index("--catalog-url")
    arguments[place : place + 2] = ["--config", config]

    def failure(*more: object, status: int) -> str:
        environment = {**SECRET, "DATA_CATALOG_SERVER_ID": "8"}
        done = assay(*arguments, *more, "--overwrite", env=environment)
        assert done.returncode == status
        assert ("unfinished: nothing could be scored" in done.stderr) == (status == 3)
        return str(sheet(tmp_path / "out.xlsx", "Details")[0]["Failure"])

    assert "There is no server with id '8'" in failure(status=3)
    assert failure("--server-id", 1, status=0) == ""


def test_a_workbook_without_the_columns_names_those_it_has_and_they_can_be_named(
    server: DenodoEmulator, tmp_path: Path
) -> None:
    from xlsxwriter import Workbook

    with Workbook(tmp_path / "in.xlsx") as book:
        page = book.add_worksheet()
        page.write_row(0, 0, ["Frage", "Antwort", "difficulty"])
        # Several golds in one cell, and blank rows between questions.
        golds = "SELECT name FROM branch\n---\nSELECT COUNT(*) FROM client"
        for row, question in ((1, QUESTIONS[0]), (4, QUESTIONS[1])):
            page.write_row(row, 0, [question, golds, "easy"])
    done = assay(*command(server, tmp_path / "in.xlsx", tmp_path / "out.xlsx"), env=SECRET)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "Frage" in done.stderr
    assert "Antwort" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.xlsx"]
    assert server.asked.total() == 0
    columns = ("--question-column", "Frage", "--gold-column", "Antwort")
    assert assay(*command(server, tmp_path / "in.xlsx", tmp_path / "out.xlsx", *columns), env=SECRET).returncode == 0
    details = sheet(tmp_path / "out.xlsx", "Details")
    assert [(row["Question ID"], row["Verdict"]) for row in details] == [(0, "correct"), (1, "incorrect")]
