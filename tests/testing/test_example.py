"""The bundled example: every query runs, every kind of answer is there, the command serves it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from answering import ask_all
from assay.model import Case, Prediction, Secret
from assay.systems.denodo import DenodoSystem
from assay.systems.options import SystemOptions
from assay.testing import DenodoEmulator, example
from assay.testing.answers import Tables, VqlError


def test_every_solution_runs_and_finds_something() -> None:
    tables = Tables(example.tables_folder())
    for question in example.questions():
        _, rows = tables.run(question["solution"], 1000)
        assert rows, question["question"]
    tables.close()


def test_answers_are_right_wrong_wider_absent_slow_and_failing() -> None:
    cases = [
        Case(id=str(number), question=question["question"], golds=(question["solution"],), context=question["context"])
        for number, question in enumerate(example.questions(), start=1)
    ]
    got: dict[str, Prediction] = {}
    with DenodoEmulator(
        answers=example.answers_path(), tables=example.tables_folder(), user=example.USER, password=example.PASSWORD
    ) as server:
        options = SystemOptions(user=example.USER, password=Secret(example.PASSWORD))
        system = DenodoSystem.open(f"denodo:{server.api_url}", options)
        ask_all(system, cases, concurrency=4, on_answer=lambda one: got.update({one.case_id: one}))
        system.close()
        # A 500 is tried again; nothing else is asked twice.
        assert {case.id: server.asked[case.question] for case in cases if server.asked[case.question] > 1} == {"13": 4}
        kinds = {case.id: _kind(server.tables, case, got[case.id]) for case in cases}
    assert list(kinds.values()) == [
        *("right", "right", "wider", "right", "right", "right", "wrong", "wrong", "right", "wrong"),
        *("error", "clarification", "ask_failed"),
    ]


def _kind(tables: Tables, case: Case, prediction: Prediction) -> str:
    if prediction.query is None:
        return prediction.failure.kind
    _, gold = tables.run(case.golds[0], 1000)
    try:
        _, rows = tables.run(prediction.query, 1000)
    except VqlError:
        return "error"
    if sorted(map(str, rows)) == sorted(map(str, gold)):
        return "right"
    return "wider" if rows and len(rows) == len(gold) and len(rows[0]) > len(gold[0]) else "wrong"


def test_the_workbook_holds_the_questions_under_the_guides_names(tmp_path: Path) -> None:
    from python_calamine import CalamineWorkbook

    pytest.importorskip("xlsxwriter")
    first, second = (example.write_workbook(tmp_path / name) for name in ("a.xlsx", "b.xlsx"))
    assert first.read_bytes() == second.read_bytes()
    rows = CalamineWorkbook.from_path(first).get_sheet_by_index(0).to_python()
    assert rows[0] == ["Question", "Solution", "difficulty", "Context"]
    wanted = [
        [one["question"], one["solution"], one["difficulty"], one["context"] or ""] for one in example.questions()
    ]
    assert rows[1:] == wanted
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.xlsx", "b.xlsx"]


@pytest.mark.skipif(sys.platform == "win32", reason="it is stopped by a POSIX signal")
def test_the_command_serves_the_example_and_says_what_to_try(tmp_path: Path) -> None:
    pytest.importorskip("xlsxwriter")
    command = [sys.executable, "-m", "assay.testing", str(tmp_path / "my trial")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or "Ctrl-C" not in lines[-1]:
            lines.append(process.stdout.readline())
            assert lines[-1] or process.poll() is None
        text = "".join(lines)
        url = re.search(r"--api-url (\S+)", text)
        assert url is not None
        options = SystemOptions(user=example.USER, password=Secret(example.PASSWORD))
        system = DenodoSystem.open(f"denodo:{url[1]}", options)
        prediction = system.answer(Case(id="1", question=example.questions()[0]["question"]))
        system.close()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    assert prediction.query == "SELECT COUNT(client_id) AS client_count FROM client"
    assert f"assay denodo --input '{tmp_path}/my trial/sample_input.xlsx'" in text
    assert (process.returncode, errors) == (0, "")


def test_one_command_runs_the_whole_job_again_and_again(tmp_path: Path) -> None:
    pytest.importorskip("xlsxwriter")
    command = [sys.executable, "-m", "assay.testing", "--try", str(tmp_path)]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        assert f"of {len(example.questions())}" in done.stdout
    assert {"evaluation_results.xlsx", "evaluation_results.run"} <= {path.name for path in tmp_path.iterdir()}


def test_a_taken_port_is_unusable_input(tmp_path: Path) -> None:
    pytest.importorskip("xlsxwriter")
    with DenodoEmulator() as server:
        port = server.base_url.rpartition(":")[2]
        command = [sys.executable, "-m", "assay.testing", str(tmp_path), "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert "cannot start" in done.stderr
    assert "Traceback" not in done.stderr
