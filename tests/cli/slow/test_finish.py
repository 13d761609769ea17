"""How a command ends: closed pipes, faults of ours, and the exit status that says which it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from live_verbs import live_verb
from processes import assay, environment, json_lines, sqlite_file, until

import commands
from assay.cli.app import BY_CTRL_C, OUR_FAULT, UNUSABLE_INPUT, run_command_line
from assay.cli.crash import crash_message, secrets_of, without_secrets

HOSTILE = "\x1b]0;owned\x07\x1b[31mred\u202e postgresql://me:pa/ss@word@host/db api_key='k-1 2' "
HOSTILE += "Authorization: Bearer abcdef123"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a question set, answers, a database and two finished runs."""
    folder = tmp_path_factory.mktemp("made")
    sqlite_file(folder / "shop.sqlite", "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2);")
    cases = [
        {"id": str(n), "question": "how many?" * 200, "gold_sql": f"SELECT count(*) + {n} FROM t"} for n in range(60)
    ]
    answers = [{"id": str(n), "predicted_sql": "SELECT 2"} for n in range(60)]
    for name, rows in (("cases", cases), ("answers", answers)):
        json_lines(folder / f"{name}.jsonl", rows)
    for run in ("a", "b"):
        assert assay(*evaluating(run), cwd=folder).returncode == 0
    return folder


def evaluating(run: str, *more: str) -> list[str]:
    return [
        *("run", "cases.jsonl", "-p", "answers.jsonl", "--db", "sqlite:///shop.sqlite", "-o", run),
        *("--metrics", "match", "--workers", "1", "-q", *more),
    ]


VERBS: dict[str, list[str]] = {
    "help": ["--help"],
    "help of a verb": ["run", "--help"],
    "version": ["--version"],
    "run": evaluating("a"),
    "run --json": evaluating("a", "--json"),
    "run --md -": evaluating("a", "--md", "-"),
    "demo": ["demo", "shown", "-q"],
    "report": ["report", "a"],
    "report --json -": ["report", "a", "--json", "-"],
    "report --md -": ["report", "a", "--md", "-"],
    "report --html -": ["report", "a", "--html", "-"],
    "diff": ["diff", "a", "b"],
    "diff --json -": ["diff", "a", "b", "--json", "-"],
    "leaderboard": ["leaderboard", "a", "b"],
    "runs": ["runs", "."],
    "runs --json": ["runs", ".", "--json"],
    "judge": ["judge", "a", "--show-prompt"],
    "sdmx": ["sdmx", "sdmx.yaml", "-p", "sdmx.jsonl"],
    "a missed gate": ["report", "a", "--min", "match=100%"],
    "a missed gate --json": ["report", "a", "--min", "match=100%", "--json", "-"],
    "a misspelt option": ["report", "a", "--jsno"],
    "no such run": ["report", "nowhere"],
}


def unread(arguments: list[str], made: Path, *, errors_too: bool = False) -> tuple[int, str]:
    """Run a command whose output goes into a pipe that nobody reads any more."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = commands.run(arguments, stdout=write, stderr=write if errors_too else None, cwd=made, env=environment())
    finally:
        os.close(write)
    return done.returncode, done.stderr


def closed(arguments: list[str], made: Path, descriptors: str) -> tuple[int, str]:
    """Run a command that is started without these descriptors."""
    line = f'exec "$@" {" ".join(f"{one}>&-" for one in descriptors)}'
    done = subprocess.run(
        ["/bin/sh", "-c", line, "sh", sys.executable, "-m", "assay", *arguments],
        capture_output=True,
        cwd=made,
        env=environment(),
        timeout=300,
        check=False,
    )
    return done.returncode, done.stderr.decode()


@pytest.fixture(scope="module")
def as_usual(made: Path) -> dict[str, tuple[int, str]]:
    """What each command ends with where somebody reads it."""
    import shutil

    from assay import demo

    for ours, theirs in (("sdmx.yaml", "cases.yaml"), ("sdmx.jsonl", "predictions.jsonl")):
        shutil.copyfile(demo.sdmx_path(theirs), made / ours)
    found = {}
    for name, arguments in VERBS.items():
        done = assay(*arguments, cwd=made)
        found[name] = (done.returncode, done.stderr)
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
@pytest.mark.parametrize("name", VERBS)
def test_whoever_stops_reading_changes_nothing(name: str, made: Path, as_usual: dict[str, tuple[int, str]]) -> None:
    status, said = as_usual[name]
    assert status == {"a missed gate": 1, "a missed gate --json": 1, "a misspelt option": 2, "no such run": 2}.get(
        name, 0
    )
    assert unread(VERBS[name], made) == (status, said)
    if name in ("run", "report", "a missed gate"):
        assert unread(VERBS[name], made, errors_too=True) == (status, "")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX descriptors")
@pytest.mark.parametrize("name", ["run", "run --json", "report", "report --md -", "a missed gate", "help"])
def test_without_standard_streams_a_command_does_its_work(
    name: str, made: Path, as_usual: dict[str, tuple[int, str]]
) -> None:
    status, said = as_usual[name]
    assert closed(VERBS[name], made, "1") == (status, said)
    assert closed(VERBS[name], made, "012") == (status, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("name", ["report", "report --json -", "runs", "help"])
def test_output_that_nothing_takes_is_said(name: str, made: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = commands.run(VERBS[name], stdout=full.fileno(), cwd=made, env=environment())
    assert done.returncode == UNUSABLE_INPUT
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


# Faults of ours


@pytest.fixture(params=["evaluate", "report", "runs"])
def failing(request: pytest.FixtureRequest, made: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Let something deep within a verb raise what it is given; gives the verb's arguments."""
    monkeypatch.chdir(made)

    def fail(error: BaseException) -> list[str]:
        def raising(*_: object, **__: object) -> None:
            raise error

        place, arguments = {
            "evaluate": ("assay.api.evaluation.evaluate", evaluating("new")),
            "report": ("assay.reports.console.run.print_summary", ["report", "a", "--full"]),
            "runs": ("assay.reports.console.printing.print_runs", ["runs", "."]),
        }[request.param]
        monkeypatch.setattr(place, raising)
        return arguments

    return fail


@pytest.mark.parametrize(
    "error",
    [
        *(RuntimeError(HOSTILE), AssertionError(), MemoryError(), RecursionError("deep"), SystemExit(1)),
        *(SystemExit("x"), BrokenPipeError()),
    ],
)
def test_a_fault_of_ours_is_status_70_and_one_clean_message(
    failing: Any, error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(failing(error)) == OUR_FAULT
    said = capsys.readouterr().err
    assert said.startswith(f"assay: this is a fault in Assay, not in what it was given: {type(error).__name__}")
    assert "Please report these lines" in said
    assert "test_finish.py:" in said, "where it happened"
    assert "Traceback" not in said
    assert not [one for one in said if ord(one) < 32 and one != "\n"]
    assert "\u202e" not in said
    for secret in ("pa/ss", "word@host", "k-1 2", "abcdef123"):
        assert secret not in said


def test_a_file_that_refuses_is_no_fault_of_ours(failing: Any, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = failing(PermissionError(13, "Permission denied", "some/\x1bfile"))
    assert run_command_line(arguments) == UNUSABLE_INPUT
    said = capsys.readouterr().err
    assert "Permission denied" in said
    assert "\x1b" not in said
    assert said.count("\n") == 1


def test_ctrl_c_anywhere_is_130_or_3(failing: Any, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = failing(KeyboardInterrupt())
    assert run_command_line(arguments) == (3 if arguments[0] == "run" else BY_CTRL_C)
    assert capsys.readouterr().err.startswith("assay: interrupted")


@pytest.mark.parametrize("secret", ["s3cret+Kennwort/äöü", "a b'c\"d", "….,;", "p@ss:w/rd"])
def test_what_was_given_as_a_secret_is_in_no_message(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from urllib.parse import quote

    monkeypatch.setenv("ASSAY_TOKEN", "t" + secret)
    for arguments in (["run", "--password", secret, "x"], [f"--password={secret}"], ["--api-key", secret]):
        known = secrets_of(arguments)
        assert {secret, "t" + secret} <= set(known)
        for form in (secret, quote(secret, safe=""), json.dumps(secret), repr(secret), f"x{secret}y", "t" + secret):
            said = crash_message(ValueError(f"cannot use {form} here"), known)
            assert secret not in said
            assert quote(secret, safe="") not in said
            assert "cannot use" in said
    assert without_secrets("no secret at all: 3 tokens, the password field, host/path", ()) == (
        "no secret at all: 3 tokens, the password field, host/path"
    )


def test_an_answer_of_any_size_is_kept_and_the_table_says_where_it_is_cut(tmp_path: Path) -> None:
    import duckdb

    from assay.runs.store import results_table

    sqlite_file(tmp_path / "shop.sqlite", "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2);")
    sizes = (results_table.MOST_CHARACTERS, results_table.MOST_CHARACTERS + 1, 5_000_000)
    texts = ["SELECT a FROM t -- " + "é" * (size - 19) for size in sizes]
    texts += ["\x01" * 1_000_000, "SELECT a FROM t"]
    rows = [{"id": str(n), "question": "q" * 600_000, "gold_sql": "SELECT a FROM t"} for n in range(len(texts))]
    answers = [{"id": str(n), "predicted_sql": text} for n, text in enumerate(texts)]
    for name, given in (("cases", rows), ("answers", answers)):
        json_lines(tmp_path / f"{name}.jsonl", given)
    done = assay(*evaluating("new"), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    table = duckdb.read_parquet(str(tmp_path / "new" / "results.parquet")).fetchall()
    columns = list(results_table.RESULT_COLUMNS)
    kept = [dict(zip(columns, row, strict=False))["predicted_sql"] for row in table]
    assert kept[0] == texts[0]
    assert kept[4] == texts[4]
    for text, cut in zip(texts[1:4], kept[1:4], strict=True):
        assert cut.startswith(text[: results_table.MOST_CHARACTERS])
        assert cut.endswith(f"… [cut: {len(text):,} characters, all of them in journal.jsonl]")
    from assay import load_run

    assert [one.prediction.query for one in load_run(tmp_path / "new").evidence] == texts
    assert assay(*evaluating("new"), cwd=tmp_path).returncode == 0


def test_an_answer_beyond_what_is_read_is_the_systems_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.model import Prediction
    from assay.runs.store import codec

    monkeypatch.setattr(codec, "MOST_CHARACTERS", 2000)
    fits = Prediction(case_id="1", query="x" * 2000, raw="y" * 2000)
    assert codec.within_size(fits) is fits
    long = codec.within_size(Prediction(case_id="1", query="x" * 2001, explanation="z" * 3000))
    assert (long.query, long.raw) == (None, "x" * 1000 + "… [cut: 2,001 characters]")
    assert long.explanation == "z" * 1000 + "… [cut: 3,000 characters]"
    assert long.failure is not None
    assert (long.failure.blame, long.failure.kind) == ("system", "unreadable_answer")
    assert "2,001 characters, more than the 2,000 that are read" in long.failure.message


def _pressed(process: subprocess.Popen[str], terminal: int) -> bool:
    """Press Ctrl-D, which counts once the prompt is there. Whether the process has ended."""
    if process.poll() is None:
        with suppress(OSError):  # it has just closed its terminal
            os.write(terminal, b"\x04")
    return process.poll() is not None


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")
def test_a_password_that_nobody_types_is_unusable_input(tmp_path: Path) -> None:
    import pty

    with live_verb("denodo", tmp_path / "input") as verb:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "assay", *map(str, verb.command(tmp_path / "run"))],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            start_new_session=True,
            text=True,
        )
        os.close(theirs)
        until(lambda: _pressed(process, ours), what="its end after Ctrl-D")
        _, said = process.communicate()
        os.close(ours)
    assert (process.returncode, verb.asked()) == (2, {}), said
    assert "no password was given" in said
