"""The folder of a run: one process at a time, nothing lost to another, nothing left behind by what came to nothing."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live_verbs import NOBODY, LiveVerb, live_verb
from processes import assay, lines, started, until

from assay import load_run

VERBS = ("run", "denodo", "sdmx")

if sys.platform == "win32":
    pytest.skip("Windows has no locks of files that other processes see", allow_module_level=True)


@pytest.fixture(params=VERBS)
def verb(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveVerb]:
    """Each verb that asks and writes a run."""
    with live_verb(request.param, tmp_path / "input") as made:
        yield made


def content(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir()}


def answers(run: Path) -> int:
    return lines(run / "answers.jsonl")


@pytest.mark.parametrize("verb", ["run", "sdmx"], indirect=True)  # what looks after the folder is the same for each
def test_of_two_processes_on_one_folder_one_wins_and_the_other_says_so(verb: LiveVerb, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert assay(*verb.command(run), env=verb.env).returncode == 0
    before, count = verb.asked(), answers(run)
    verb.slow(after=0)  # who wins cannot be done before the other comes
    both = [started(verb.command(run, "--overwrite"), env=verb.env) for _ in range(2)]  # a fork apart, all imported
    until(lambda: any(process.poll() is not None for process in both), what="the end of the one that came second")
    verb.server.faults.clear()
    said = [process.communicate(timeout=300)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], said
    [refusal] = [text for process, text in zip(both, said, strict=True) if process.returncode]
    assert "another process is writing this run; wait for it, or choose another folder" in refusal
    assert refusal.count("\n") == 1
    assert answers(run) == count
    assert verb.asked() == {question: 2 * times for question, times in before.items()}, "once more each, and not twice"
    assert len(load_run(run).evidence) == count
    assert not [name for name in content(run) if name.startswith(".")]


def test_who_comes_while_another_asks_is_sent_away_and_costs_it_nothing(verb: LiveVerb, tmp_path: Path) -> None:
    run = tmp_path / "run"
    verb.slow(after=2)
    first = started(verb.command(run), env=verb.env)
    until(lambda: answers(run) >= 1, what="an answer")
    first.send_signal(signal.SIGSTOP)
    for more in ((), ("--overwrite",), ("--rescore",)):
        second = assay(*verb.command(run, *more), env=verb.env)
        assert (second.returncode, second.stdout) == (2, ""), more
        assert "another process is writing this run" in second.stderr
    first.send_signal(signal.SIGCONT)
    verb.server.faults.clear()
    _, said = first.communicate(timeout=300)
    assert first.returncode == 0, said
    assert set(verb.asked().values()) == {1}
    assert len(load_run(run).evidence) == answers(run)


def test_a_mistyped_address_leaves_nothing_and_the_next_command_begins(verb: LiveVerb, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "nightly" / "first"
    done = assay(*verb.command(run, mistyped=True), env=verb.env)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert NOBODY in done.stderr
    assert not (tmp_path / "runs").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["input"]
    done = assay(*verb.command(run), env=verb.env)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_mistyped_address_with_overwrite_leaves_the_run_as_it_was(verb: LiveVerb, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert assay(*verb.command(run), env=verb.env).returncode == 0
    before = content(run)
    done = assay(*verb.command(run, "--overwrite", mistyped=True), env=verb.env)
    assert (done.returncode, done.stdout) == (2, "")
    assert content(run) == before


@pytest.mark.parametrize("verb", ["denodo"], indirect=True)  # what looks after the folder is the same for each
def test_overwriting_that_is_killed_keeps_one_run_whole(verb: LiveVerb, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert assay(*verb.command(run), env=verb.env).returncode == 0
    before = content(run)
    asked = sum(verb.asked().values())
    verb.slow(after=0)
    process = started(verb.command(run, "--overwrite"), env=verb.env)
    until(lambda: sum(verb.asked().values()) > asked, what="a question")
    process.kill()
    process.communicate()
    verb.server.faults.clear()
    done = assay(*verb.command(run), env=verb.env)
    assert (done.returncode, done.stderr) == (0, ""), "the earlier run is back, and is finished"
    assert sum(verb.asked().values()) == asked + 1
    assert content(run)["answers.jsonl"] == before["answers.jsonl"]
    assert not [name for name in content(run) if name.startswith(".")]


@pytest.mark.parametrize("verb", ["run", "denodo"], indirect=True)  # what looks after the folder is the same for each
def test_a_run_that_was_killed_before_anything_came_leaves_the_folder_free(verb: LiveVerb, tmp_path: Path) -> None:
    run = tmp_path / "run"
    verb.slow(after=0)
    process = started(verb.command(run), env=verb.env)
    until(lambda: bool(verb.asked()), what="a question")
    process.kill()
    process.communicate()
    verb.server.faults.clear()
    more = ["--name", "another", *(("--max-rows", 99) if "denodo" in verb.arguments else ("--limit", 2))]
    done = assay(*verb.command(run, *more), env=verb.env)
    assert (done.returncode, done.stderr) == (0, ""), "other settings: nothing is there that they could contradict"


@pytest.mark.parametrize("verb", ["run"], indirect=True)  # what looks after the folder is the same for each
def test_a_folder_that_is_removed_meanwhile_ends_the_run_with_that_reason(verb: LiveVerb, tmp_path: Path) -> None:
    run = tmp_path / "run"
    verb.slow(after=1)
    process = started(verb.command(run), env=verb.env)
    until(lambda: answers(run) >= 1, what="an answer")
    shutil.rmtree(run)
    verb.server.faults.clear()
    out, said = process.communicate(timeout=300)
    assert (process.returncode, out, said.count("\n")) == (2, "", 1)
    assert "was moved or deleted during the run" in said
    assert not run.exists()
    assert len(verb.asked()) < 6, "what cannot be kept is not asked for"


def test_a_folder_that_is_moved_meanwhile_can_be_gone_on_from(tmp_path: Path) -> None:
    with live_verb("run", tmp_path / "input") as verb:
        run, moved = tmp_path / "run", tmp_path / "moved"
        verb.slow(after=1)
        process = started(verb.command(run), env=verb.env)
        until(lambda: answers(run) >= 1, what="an answer")
        run.rename(moved)
        verb.server.faults.clear()
        _, said = process.communicate(timeout=300)
        assert process.returncode == 2
        assert "was moved or deleted" in said
        done = assay(*verb.command(moved), env=verb.env)
        assert (done.returncode, set(verb.asked().values())) == (0, {1}), done.stderr


def test_the_sdmx_demo_without_its_extra_writes_nothing(tmp_path: Path) -> None:
    stub = tmp_path / "stub"
    stub.mkdir()
    (stub / "lxml.py").write_text("raise ImportError('no module named lxml')\n", encoding="utf-8")
    folder = tmp_path / "example"
    done = assay("demo", folder, "--sdmx", env={"PYTHONPATH": str(stub)})
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'lxml>=" in done.stderr
    assert not folder.exists()


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Any]:
    """Make a folder a disk of its own, that can then no more be written. Root only."""
    mounted = []

    def mount(folder: Path) -> Any:
        kept = tmp_path / "kept"
        shutil.copytree(folder, kept)
        made = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False)
        if made.returncode:
            pytest.skip("no file system can be mounted here")
        mounted.append(folder)
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)

    yield mount
    for folder in mounted:
        subprocess.run(["umount", folder], check=True)


def test_a_read_only_disk_under_a_finished_run(read_only: Any, tmp_path: Path) -> None:
    with live_verb("run", tmp_path / "input") as verb:
        run = tmp_path / "run"
        assert assay(*verb.command(run), env=verb.env).returncode == 0
        before, asked = content(run), verb.asked()
        read_only(run)
        for more in ((), ("--overwrite",), ("--rescore",), ("--name", "another")):
            done = assay(*verb.command(run, *more), env=verb.env)
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
            assert "the run cannot be written there (Read-only file system)" in done.stderr
        assert verb.asked() == asked
        assert assay("report", run).returncode == 0, "reading it is no trouble"
        for command in (["report", run, "--html", run / "r.html"], ["judge", run, "--model", "any"]):
            done = assay(*command, env={"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": f"http://{NOBODY}/v1"})
            assert (done.returncode, done.stdout) == (2, "")
            assert "Traceback" not in done.stderr
            assert str(run) in done.stderr
        assert content(run) == before


@pytest.mark.parametrize(
    ("verb", "harm"),  # what looks after the file is the same for each verb
    [("run", "cut"), ("run", "added"), ("run", "overwritten"), ("denodo", "cut"), ("sdmx", "added")],
    indirect=["verb"],
)
def test_answers_that_something_else_changes_meanwhile_end_the_run_with_that_reason(
    verb: LiveVerb, tmp_path: Path, harm: str
) -> None:
    run = tmp_path / "run"
    verb.slow(after=1)
    process = started(verb.command(run), env=verb.env)
    until(lambda: answers(run) >= 1, what="an answer")
    with (run / "answers.jsonl").open("r+b") as file:
        if harm == "cut":
            file.truncate(5)
        else:
            file.seek(0, 2 if harm == "added" else 0)
            file.write(b"#")
    verb.server.faults.clear()
    _, said = process.communicate(timeout=300)
    assert process.returncode == 2
    assert "answers.jsonl: was changed by another program during the run" in said


def test_a_folder_that_was_put_in_the_place_of_the_runs_is_left_alone(tmp_path: Path) -> None:
    with live_verb("run", tmp_path / "input") as verb:
        run, moved = tmp_path / "run", tmp_path / "moved"
        verb.slow(after=1)
        process = started(verb.command(run), env=verb.env)
        until(lambda: answers(run) >= 1, what="an answer")
        run.rename(moved)
        run.mkdir()
        verb.server.faults.clear()
        _, said = process.communicate(timeout=300)
        assert process.returncode == 2
        assert "was moved or deleted" in said
        assert run.is_dir()
