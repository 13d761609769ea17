"""Whatever cannot be used of a command line is said in one line: what, the value, what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.cli.app import run_command_line
from many_cases import each

A_TIME = "a time from 0.01 to 1,000,000 seconds (for example 30, 500ms, 2s, 10m or 1h)"
FAULTS = [
    (["run"], "CASES must be given (question set, or YAML file with all settings of a run)"),
    (["run", "a\0b"], "CASES: it contains a NUL character"),
    (["run", "x", "--timeot", "3"], "assay run has no option --timeot (did you mean --timeout?)"),
    (["run", "x", "--timeot=3"], "assay run has no option --timeot (did you mean --timeout?)"),
    (["run", "x", "--nothing-like-it"], "assay run has no option --nothing-like-it"),
    (["run", "x", "-y"], "assay run has no option -y"),
    (["run", "x", "--limit", "abc"], "--limit is 'abc': write a whole number from 1 up"),
    (["run", "x", "--limit", "5", "--limit", "0"], "--limit is '0': write a whole number from 1 up"),
    (["run", "x", "--limit=1.5"], "--limit is '1.5': write a whole number from 1 up"),
    (["run", "x", "--limit", "--limit"], "--limit: write a whole number from 1 up"),
    (["run", "x", "--relative-tolerance", "nan"], "--relative-tolerance is 'nan': write a number from 0 up"),
    (["run", "x", "--penalty", "a"], "--penalty is 'a': write a number"),
    (["run", "x", "--timeout", "much"], f"--timeout is 'much': write {A_TIME}"),
    (["denodo", "-i", "x", "-t", "much"], f"--timeout is 'much': write {A_TIME}"),
    (["view", "x", "--port", "70000"], "--port is '70000': write a whole number from 0 to 65535"),
    (["run", "x", "y z"], "assay run takes CASES and options, not 'y z' as well"),
    (["demo", "a", "b", "c"], "assay demo takes FOLDER and options, not 'b' 'c' as well"),
    (["denodo", "--input", "x", "y"], "assay denodo takes options only, not 'y' as well"),
    (["run", "x", "--limit"], "--limit takes a value: write  --limit N"),
    (["run", "x", "-p"], "-p takes a value: write  -p FILE"),
    (["run", "x", "--quiet=3"], "--quiet takes no value"),
    (["check", "a"], "SQL_GOLD... must be given (gold query, or several; any match is correct)"),
    (["suite", "build", "x"], "--output must be given (folder of the suite)"),
    (["rnu"], "assay has no verb 'rnu' (did you mean 'run'?)"),
    (["suite", "bild"], "assay suite has no verb 'bild' (did you mean 'build'?)"),
    (["--fo"], "assay has no option --fo"),
]


@each(("arguments", "said"), FAULTS, ids=[" ".join(arguments) for arguments, _ in FAULTS])
def test_a_fault_is_one_line_with_its_remedy(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(arguments) == 2
    printed = capsys.readouterr()
    of = said.partition(" takes")[0].partition(" has")[0] if said.startswith("assay") else f"assay {arguments[0]}"
    of = "assay suite build" if arguments[:2] == ["suite", "build"] else of
    assert printed.err == f"assay: error: {said}: see  {of} --help\n"
    assert not printed.out


@each("suffix", [".txt", ".jsonl", ".md", ".csv"])
@each("order", [["x", "--json", "FILE"], ["--json", "FILE", "x"], ["x", "--full", "--json", "FILE"]])
def test_a_file_of_json_with_another_suffix_is_refused_whether_it_exists_or_not(
    suffix: str, order: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for exists in (False, True):
        if exists:
            Path(f"out{suffix}").write_text("", encoding="utf-8")
        assert run_command_line(["report", *(word.replace("FILE", f"out{suffix}") for word in order)]) == 2
        said = capsys.readouterr().err
        assert f"{suffix} is not a suffix of " in said
        assert "--json out.json" in said


def test_a_verb_like_none_is_told_all_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["qqq"]) == 2
    assert "(there is demo, " in capsys.readouterr().err
