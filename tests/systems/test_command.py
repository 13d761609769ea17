"""Any command, as real processes."""

from __future__ import annotations

import os
import shlex
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.errors import InputError, SystemUnusable
from assay.model import Case, Prediction
from assay.systems.options import SystemOptions
from assay.systems.process.command import CommandSystem

Run = Callable[..., Prediction]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="these tests end processes by POSIX signals")


@pytest.fixture
def run(tmp_path: Path, case: Case, quick: Callable[..., SystemOptions]) -> Run:
    """Write a Python program and ask it the case, with the given words behind it."""

    def one(program: str, words: str = "", *, asked: Case = case, **options: object) -> Prediction:
        system = CommandSystem.open(_command(tmp_path, program, words), quick(**options))
        try:
            return system.answer(asked)
        finally:
            system.close()

    return one


def _command(folder: Path, program: str, words: str = "") -> str:
    path = folder / "ask it.py"
    path.write_text(textwrap.dedent(program), encoding="utf-8")
    return f"command:{shlex.quote(sys.executable)} {shlex.quote(str(path))} {words}"


def _failure(prediction: Prediction, kind: str = "ask_failed") -> str:
    assert prediction.query is None
    assert prediction.failure.kind == kind
    return prediction.failure.message


def test_the_question_comes_on_standard_input(run: Run) -> None:
    odd = Case(id="1", question="Wie viele Käufer 'gibt' es; $(date)?")
    read = "sys.stdin.buffer.readline().decode().rstrip()"  # as bytes: a locale may know no letter of it
    prediction = run(f"import sys; print('```sql\\nSELECT ' + ascii({read}) + ';\\n```')", asked=odd)
    assert prediction.query == "SELECT " + ascii(odd.question)
    assert dict(prediction.timings_s).keys() == {"wall_time"}


@pytest.mark.parametrize(
    "said",
    [
        "[[3], [4]]",
        '```json\n{"rows": [[3], [4]]}\n```',
        "```\n[3, 4]\n```\n",
        '{"columns": ["n"], "rows": [[3], [4]]}',
    ],
)
def test_rows_in_place_of_a_query_are_an_answer(run: Run, said: str) -> None:
    prediction = run(f"print({said!r})")
    assert (prediction.query, prediction.failure) == (None, None)
    assert prediction.result.result().rows == ((3,), (4,))
    assert run("print('[3, 4')").query == "[3, 4"


def test_a_failing_command_is_quoted_with_its_last_line_alone(run: Run) -> None:
    message = _failure(run("import sys; print('SELECT 1'); sys.exit('first\\nno model\\n')"))
    assert message == "the command ended with status 1: no model"


def test_the_question_comes_as_an_argument_without_a_shell(run: Run) -> None:
    odd = Case(id="1", question="a 'b' \"c\" $HOME; `id` {database}", database="shop", context=None)
    program = "import sys, json; print(json.dumps(sys.argv[1:]), sys.stdin.read() == '')"
    prediction = run(program, "--db={database} 'x y' {question} {context}", asked=odd)
    assert prediction.query == '["--db=shop", "x y", "a \'b\' \\"c\\" $HOME; `id` {database}", ""] True'


@pytest.mark.parametrize(
    ("program", "kind", "message"),
    [
        ("import os; os.kill(os.getpid(), 9)", "ask_failed", "killed by signal 9"),
        ("while True: print('x' * 100000)", "ask_failed", "more than 16 MiB"),
        ("import sys; print('too hard', file=sys.stderr)", "unanswered", "too hard"),
        *(
            (f"import sys; print({said!r}); print('a warning', file=sys.stderr)", "unanswered", "a warning")
            for said in ("  ", "```sql\n```", "-- hm", ";")
        ),
    ],
)
def test_a_command_that_answers_nothing_is_quoted(run: Run, program: str, kind: str, message: str) -> None:
    assert message in _failure(run(program), kind)


def test_status_75_is_tried_again(run: Run, tmp_path: Path) -> None:
    mark = tmp_path / "tries"
    program = f"""
        import sys
        with open({str(mark)!r}, "a+") as file:
            file.write("x"); file.flush(); file.seek(0); tries = len(file.read())
        sys.exit(75) if tries < 3 else print("SELECT 1")
    """
    assert run(program).query == "SELECT 1"
    mark.unlink()
    assert "status 75" in _failure(run(program, retries=1))
    assert mark.read_text() == "xx"


def test_a_command_over_its_time_is_killed_with_its_children(run: Run, tmp_path: Path) -> None:
    # The child holds the pipe's only writing end: what reads it comes to its end when the child does.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = f"""
        import subprocess, sys, time
        child = "import time\\nwith open({str(pipe)!r}, 'wb', 0) as pipe: pipe.write(b'x'), time.sleep(600)"
        subprocess.Popen([sys.executable, "-c", child])
        time.sleep(600)
    """
    said: list[bytes] = []
    reader = threading.Thread(target=lambda: said.append(pipe.read_bytes()), daemon=True)
    reader.start()
    for seconds in (1, 4, 16, 64):  # a busy machine may take longer to start both
        assert f"did not end within {seconds} s" in _failure(run(program, timeout_s=float(seconds)))
        reader.join(300 if seconds == 64 else seconds)
        if said:
            break
    assert said, "the child of the command lives on, or never came to life"


def test_a_child_left_behind_with_the_output_open_is_killed(run: Run) -> None:
    program = """
        import subprocess, sys
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        print("SELECT 1")
    """
    assert "did not end" in _failure(run(program, timeout_s=1.0))


def test_a_command_that_reads_nothing_may_get_much(run: Run) -> None:
    assert run("print('SELECT 1')", asked=Case(id="1", question="x" * 1_000_000)).query == "SELECT 1"


@pytest.mark.parametrize("question", ["a\x00b", "x" * 3_000_000])
def test_a_question_that_no_argument_can_hold_fails_alone(run: Run, question: str) -> None:
    assert "cannot be started with this question" in _failure(
        run("print('SELECT 1')", "{question}", asked=Case(id="1", question=question))
    )


def test_output_that_is_no_text_is_still_read(run: Run) -> None:
    assert run("import sys; sys.stdout.buffer.write(b'SELECT \\xff')").query == "SELECT \ufffd"


def test_closing_kills_what_runs(tmp_path: Path, case: Case, quick: Callable[..., SystemOptions]) -> None:
    runs = tmp_path / "it runs"
    program = f"import pathlib, time; pathlib.Path({str(runs)!r}).touch(); time.sleep(600)"
    system = CommandSystem.open(_command(tmp_path, program), quick(timeout_s=500))
    got: list[Prediction] = []
    thread = threading.Thread(target=lambda: got.append(system.answer(case)))
    thread.start()
    while not runs.exists() and thread.is_alive():
        time.sleep(0.01)
    system.close()
    system.close()
    thread.join(300)
    assert not thread.is_alive()
    assert "killed by signal" in _failure(got[0])
    assert "closed" in _failure(system.answer(case))


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        ("command:", InputError, "has no command"),
        ("command:./ask 'x", InputError, "cannot be split"),
        ("command:./no-such-command-here", SystemUnusable, "the command './no-such-command-here'"),
        ("command:cat {qestion}", InputError, "did you mean {question}"),
    ],
)
def test_a_command_that_cannot_be_is_refused(url: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        CommandSystem.open(url, SystemOptions())


def test_a_command_that_goes_away_ends_the_run(tmp_path: Path, case: Case) -> None:
    script = tmp_path / "ask.sh"
    script.write_text("#!/bin/sh\necho 'SELECT 1'\n")
    script.chmod(0o755)
    system = CommandSystem.open(f"command:{script}", SystemOptions())
    assert system.answer(case).query == "SELECT 1"
    script.unlink()
    with pytest.raises(SystemUnusable, match="cannot be started"):
        system.answer(case)


def test_describe_quotes_the_words() -> None:
    assert CommandSystem.open("command:cat 'a b' {question}", SystemOptions()).describe() == (
        "command:cat 'a b' '{question}'"
    )
