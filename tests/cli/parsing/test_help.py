"""Every verb's help: options in groups that fit, examples that can be copied, exit statuses, a page that exists."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.cli.app import app, run_command_line
from assay.cli.parsing.commands import command_lines
from assay.cli.parsing.panels import OTHER, PANELS, USUAL, panel_of
from assay.cli.verbs.docs import docs_folder, find_page
from many_cases import each

ROOT = Path(__file__).parents[3]


def _verbs(command: Any, name: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for inner, found in (command.every_verb() if hasattr(command, "every_verb") else {}).items():
        yield from _verbs(found, (*name, inner))
    if not hasattr(command, "every_verb"):
        yield name, command


VERBS = dict(_verbs(app))
GROUPS = [("suite",), ()]
PANELLED = [verb for verb in VERBS if len([one for one in VERBS[verb].params if one.param_type_name == "option"]) > 6]
ALONE = {"--lint", "--sdmx", "--browser", "--idle", "--port", "--database", "--help", "--json", "--force"}
"""Options whose verb has too few of them for groups."""


def _shown(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    assert run_command_line([*arguments, "--help"]) == 0
    return capsys.readouterr().out


@each("verb", [*VERBS, *GROUPS], ids=" ".join)
@each("columns", ["80", "120"])
def test_help_fits_and_says_where_to_read_on(
    verb: tuple[str, ...], columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    shown = _shown(verb, capsys)
    assert max(map(len, shown.splitlines())) <= int(columns)
    assert "\x1b" not in shown
    assert not verb or re.search(r"Exit status: 0 .*2 ", " ".join(shown.split()))
    [topic] = re.findall(r"Read more: assay docs *(\S*)", shown)
    assert not topic or find_page(docs_folder(), topic).is_file()


@each("verb", [*VERBS, *GROUPS], ids=" ".join)
def test_help_fits_a_screen(
    verb: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert len(_shown(verb, capsys).splitlines()) <= 45


@each("verb", VERBS, ids=" ".join)
def test_every_option_of_seconds_takes_a_unit(verb: tuple[str, ...]) -> None:
    assert not [one.opts for one in VERBS[verb].params if one.metavar in ("S", "SECONDS")]


@each("verb", VERBS, ids=" ".join)
def test_no_help_speaks_of_what_the_verb_lacks(verb: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    names = {name for one in VERBS[verb].params for name in one.opts}
    run_command_line([*verb, "--help-all" if verb[-1] in USUAL else "--help"])
    shown = capsys.readouterr().out
    if "--system" not in names and verb != ("denodo",):
        assert "live system" not in shown.lower()
    named: set[str] = set()
    for one in VERBS[verb].params:
        named |= set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", re.sub(r"assay \w+ --\S+", "", one.help or "")))
    every = names | {name for one in VERBS[verb].params for name in one.secondary_opts} | {"--header"}
    assert named <= every, named - every


@each("verb", [verb for verb in VERBS if verb[-1] in USUAL], ids=" ".join)
def test_the_short_help_fits_a_screen_and_leads_to_the_whole(
    verb: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = _shown(verb, capsys)
    assert len(shown.splitlines()) <= 45
    assert f"assay {' '.join(verb)} --help-all" in shown
    assert run_command_line([*verb, "--help-all"]) == 0
    whole = capsys.readouterr().out
    options = [one for one in VERBS[verb].params if one.param_type_name == "option"]
    names = {name for one in options for name in (*one.opts, *one.secondary_opts)}
    assert {*USUAL[verb[-1]]} <= names
    for option in options:
        assert re.search(rf"(?<![\w-]){re.escape(option.opts[0])}(?![\w-])", whole), option.opts


@each("verb", PANELLED, ids=" ".join)
def test_every_option_has_a_group_of_its_verb(verb: tuple[str, ...]) -> None:
    command = VERBS[verb]
    for option in (one for one in command.params if one.param_type_name == "option"):
        assert option.panel != OTHER or option.opts[0] in ALONE, option.opts


def test_every_option_that_a_group_names_exists() -> None:
    known = {name for command in VERBS.values() for one in command.params for name in one.opts}
    named = {name for names in PANELS.values() for name in names}
    assert named <= known
    assert panel_of("run", ["--cache"]) == panel_of("llmsql", ["--cache"]) != panel_of("judge", ["--cache"])


def test_verbs_stand_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    shown = _shown((), capsys)
    assert "Commands:" not in shown
    headings = re.findall(r"^(\S.*):$", shown, re.M)
    assert headings[0] == "Start here"
    assert headings[-1] == "Options"
    assert set(re.findall(r"^  ([a-z]+)  ", shown, re.M)) == set(app.every_verb())


@each("verb", VERBS, ids=" ".join)
def test_an_example_can_be_copied_from_the_help(
    verb: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = _shown(verb, capsys)
    examples = re.findall(r"^    (assay (?:.*\\\n)*.*)$", shown, re.M)
    assert examples or verb == ("suite", "show")
    whole = " ".join((VERBS[verb].help or "").split())
    for example in examples:
        joined = " ".join(example.replace("\\\n", " ").split())
        assert joined in whole
        words = shlex.split(joined)
        named = {name for one in VERBS[tuple(words[1 : 1 + (words[1] == "suite") + 1])].params for name in one.opts}
        assert {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)} <= named, joined


def test_a_long_command_is_broken_before_options_alone() -> None:
    command = "assay run 'a b.jsonl' --predictions p.jsonl --db 'sqlite:///a b.sqlite' -o runs/first"
    for width in (20, 40, 60, 200):
        lines = command_lines(command, width)
        assert shlex.split("\n".join(lines).replace("\\\n", " ")) == shlex.split(command)
        assert all(line.strip().startswith(("-", "assay")) for line in lines)
    assert len(command_lines(command, 200)) == 1


def test_help_imports_nothing_that_only_work_needs() -> None:
    """Each of these takes longer to import than the whole help to draw."""
    heavy = {"rich", "pydantic", "duckdb", "sqlglot", "numpy", "httpx", "ruamel", "jinja2"}
    program = (
        "import sys\nfrom assay.cli.app import run_command_line\n"
        "for verb in ([], ['run'], ['doctor'], ['init']): assert run_command_line([*verb, '--help']) == 0\n"
        f"sys.stderr.write(' '.join(sorted({heavy} & set(sys.modules))))"
    )
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
