"""What the documents show is true: examples run, links lead somewhere, names and numbers are those of the code.

A fenced block marked ``python`` is executed (as a doctest where it holds ``>>>``), one marked ``console``
has its lines after ``$ `` run by a shell and must exit 0. The blocks of one document run in their order
in one temporary folder that holds ``shop.sqlite``, ``cases.jsonl`` and ``predictions.jsonl`` of the
bundled sample, whose one endless query ends here: else each run of it would take the whole limit. A comment
on the line before a block changes that:

    <!-- example: exit 2 -->            each command must exit with that status
    <!-- example: needs spider-dev -->  runs only where that folder of shared data is at hand
    <!-- example: file eval.yaml -->    is written to that file, for the blocks that follow
    <!-- example: with emulator -->     what it calls 127.0.0.1:8008 is an emulated Denodo with the bundled example
    <!-- example: with chat model -->   OPENAI_BASE_URL and OPENAI_API_KEY lead to a judge by rule, which says
                                        equivalent where two queries are the same text
    <!-- example: signature -->         is only compiled: a function or class as the reference shows it

Blocks in other languages are held to what they say they are (`blocks`). Links are in `test_docs_links`, what the
reference says of the code in `test_reference`.
"""

from __future__ import annotations

import atexit
import doctest
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

import blocks
import commands
from assay import demo
from assay.cli.app import app
from assay.cli.parsing.panels import USUAL
from assay.model import Limits
from assay.testing import ChatEmulator, DenodoEmulator, judge_by, same_text
from assay.testing import example as bank
from many_cases import each

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
GUIDES = sorted((ROOT / "docs").rglob("*.md"))
DOCUMENTS = [README, *GUIDES]
OTHERS = [
    one
    for folder, kind in ((".", "*.md"), ("benchmarks", "*.md"), ("examples", "**/*.md"))
    for one in (ROOT / folder).glob(kind)
]
"""What else is written in Markdown; the README is in both."""
WRITTEN = [one for one in DOCUMENTS if one.parent.parent.name != "reference"]
"""Documents that are not made from the code."""
SHARED = Path(os.environ.get("ASSAY_SHARED_DATA", ROOT.parent / "shared" / "data"))
FENCE = re.compile(
    r"^(?:<!-- example: (?P<directive>[^\n]*?) -->\n)?^```(?P<language>[\w-]*)[^\n]*\n(?P<body>.*?)^```$", re.M | re.S
)
DIRECTIVE = re.compile(r"|exit \d+|file [\w.-]+|signature|with (emulator|chat model)")
VERB = r"[a-z][a-z0-9-]*"
NO_VERBS = {"is", "judges", "says", "reads", "does", "knows", "itself", "and", "or", "as", "to"}
GROUPS = {"suite"}
"""Verbs that have verbs of their own."""
LIMITED = (
    ("SELECT date(day, '+1 day') FROM days)", "SELECT date(day, '+1 day') FROM days LIMIT 5)"),
    (
        ", order_items AS c, order_items AS d WHERE a.product_id < b.product_id AND c.quantity <= d.quantity",
        ", orders WHERE a.product_id < b.product_id",
    ),
)
"""The two of the sample's predictions that run into the time limit, and how they end at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One fenced block."""

    place: str
    language: str
    body: str
    directive: str


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _examples(document: Path) -> Iterator[Example]:
    text = document.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        line = text.count("\n", 0, block.start("body"))
        yield Example(
            place=f"{_relative(document)}:{line}",
            language=block["language"],
            body=block["body"],
            directive=block["directive"] or "",
        )


@cache
def _tools() -> Path:
    """A folder for PATH with ``assay``."""
    folder = tempfile.mkdtemp(prefix="assay-tools-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    commands.program(Path(folder))
    return Path(folder)


def _environment() -> dict[str, str]:
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)
    tools = os.pathsep.join([str(_tools()), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    plain = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"}
    # Who reviews is who git says; not every machine's git knows a name.
    plain |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Ana"}
    plain["PYTEST_ADDOPTS"] = "-p no:randomly"  # what a document shows stands in the order of its files
    return {**os.environ, **plain, "PYTHONPATH": path, "PATH": tools}


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run one command line; ``assay`` is this very interpreter's, whatever the machine has installed.

    A line that is a command and nothing else runs in this process, unless it could import what stands in the folder.
    """
    if command.startswith("assay ") and not re.search(r"[$`|&;<>*?~#]", command) and not any(folder.rglob("*.py")):
        return commands.here(shlex.split(command)[1:], env=_environment(), cwd=folder)
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=_environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def _commands(body: str) -> list[str]:
    joined = re.sub(r"\\\n\s*", " ", body)
    return [line[2:].strip() for line in joined.splitlines() if line.startswith("$ ")]


def _run_python(example: Example, names: dict[str, object]) -> None:
    if ">>>" in example.body:
        test = doctest.DocTestParser().get_doctest(example.body, names, example.place, example.place, 0)
        report: list[str] = []
        options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        doctest.DocTestRunner(optionflags=options).run(test, out=report.append, clear_globs=False)
        names.update(test.globs)
        assert not report, "".join(report)
    else:
        exec(compile(example.body, example.place, "exec"), names)


def _run_console(example: Example, folder: Path) -> None:
    status = int(example.directive.removeprefix("exit ")) if example.directive.startswith("exit ") else 0
    commands = _commands(example.body)
    assert commands, f"{example.place}: a console block without a line that starts with '$ '"
    for command in commands:
        done = _run(command, folder)
        shown = f"{example.place}: {command}\nexit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == status, shown


@contextmanager
def _emulated(example: Example, folder: Path) -> Iterator[Example]:
    """The example with the address of an emulator that runs meanwhile, and the emulator's workbook in the folder."""
    bank.write_workbook(folder / bank.WORKBOOK)
    answers, tables = bank.answers_path(), bank.tables_folder()
    with DenodoEmulator(answers=answers, tables=tables, user=bank.USER, password=bank.PASSWORD) as server:
        assert "http://127.0.0.1:8008/" in example.body, f"{example.place} does not use the emulator"
        yield replace(example, body=example.body.replace("http://127.0.0.1:8008", server.base_url))


def _run_one(example: Example, folder: Path, names: dict[str, object]) -> None:
    if example.language == "python":
        _run_python(example, names)
    elif example.language == "console":
        _run_console(example, folder)


@contextmanager
def _chat_model() -> Iterator[None]:
    """A chat model in the environment while an example runs."""
    with (
        ChatEmulator(answers=judge_by(same_text), token="example-key") as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("OPENAI_BASE_URL", server.openai_url)
        patch.setenv("OPENAI_API_KEY", "example-key")
        yield


def _run_until_ctrl_c(example: Example, folder: Path) -> None:
    """Run a command that serves a page: it is fetched, and the command then ended as one ends it."""
    [command] = _commands(example.body)
    words = shlex.split(command)
    server = subprocess.Popen(
        [sys.executable, "-m", *words, "--no-browser"],
        cwd=folder,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            with urllib.request.urlopen(address, timeout=120) as page:
                assert b"<html" in page.read()
        finally:
            server.send_signal(signal.SIGINT)
    assert server.returncode == 0, example.place


def test_the_readme_runs_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From an empty folder, with nothing but what the README's own commands make."""
    examples = [one for one in _examples(README) if one.language in ("sh", "console", "python")]
    # The first installs Assay and tries it; the last installs it for development, and runs these tests.
    first, *others, last = examples
    assert first.body == "python -m pip install '.[compiled]' && assay demo\n"
    assert "python -m pytest" in last.body
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(commands, "here", commands.run)  # as users do
    _run_console(replace(first, body="$ assay demo"), tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for example in others:
        if example.directive == "until Ctrl-C":
            _run_until_ctrl_c(example, tmp_path)
        else:
            assert re.fullmatch(r"|exit \d+", example.directive), f"{example.place} needs more than the demo makes"
            _run_one(example, tmp_path, names)


def _runs(document: Path) -> bool:
    return any(one.language in blocks.RUN and one.directive != "signature" for one in _examples(document))


@each("document", [one for one in sorted({*DOCUMENTS, *OTHERS}) if any(_examples(one))], ids=_relative)
def test_blocks_that_do_not_run_are_what_they_say(document: Path, tmp_path: Path) -> None:
    for example in _examples(document):
        if example.language in blocks.RUN and example.directive != "signature":
            continue
        try:
            blocks.check_block("py" if example.directive == "signature" else example.language, example.body, tmp_path)
        except Exception as error:
            raise AssertionError(f"{example.place}, a block marked {example.language!r}: {error!r}") from error


@pytest.mark.parametrize("document", [one for one in GUIDES if _runs(one)], ids=_relative)
def test_examples_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo.build_database(tmp_path)
    shutil.copy(demo.cases_path(), tmp_path)
    predictions = demo.predictions_path().read_text(encoding="utf-8")
    for endless, short in LIMITED:
        assert predictions.count(endless) == 1
        predictions = predictions.replace(endless, short)
    (tmp_path / "predictions.jsonl").write_text(predictions, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    skipped: list[str] = []
    for example in _examples(document):
        if needed := re.fullmatch(r"needs ([\w.-]+)", example.directive):
            data = SHARED / needed[1]
            if not data.is_dir():
                skipped.append(f"{example.place} needs the shared data {needed[1]}")
                continue
            if not (tmp_path / needed[1]).exists():
                (tmp_path / needed[1]).symlink_to(data, target_is_directory=True)
        else:
            assert DIRECTIVE.fullmatch(example.directive), example.directive
        if example.directive == "signature":
            continue
        if example.directive.startswith("file "):
            (tmp_path / example.directive.removeprefix("file ")).write_text(example.body, encoding="utf-8")
            continue
        if example.directive == "with chat model":
            with _chat_model():
                _run_one(example, tmp_path, names)
            continue
        if example.directive == "with emulator":
            with _emulated(example, tmp_path) as addressed:
                _run_console(addressed, tmp_path)
        else:
            _run_one(example, tmp_path, names)
    if skipped:
        pytest.skip("; ".join(skipped))


def _named_verbs_and_options() -> list[tuple[str, str]]:
    """Every ``assay VERB`` written as code in a document, with each of its options; '' stands for the verb itself.

    A verb of a group stands behind the group's name: ``suite build``.
    """
    found: set[tuple[str, str]] = set()
    for document in WRITTEN:
        text = document.read_text(encoding="utf-8")
        code = [re.sub(r"\\\n\s*", " ", example.body) for example in _examples(document)]
        code += re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
        for line in "\n".join(code).splitlines():
            for command in re.split(r"&&|;|\|", line.removeprefix("$ ")):
                match = re.match(rf"\s*assay ({VERB})(?=\s|$)(.*)", command)
                if match and match[1] not in NO_VERBS:
                    inner = re.match(rf"\s+({VERB})(?=\s|$)", match[2]) if match[1] in GROUPS else None
                    verb = f"{match[1]} {inner[1]}" if inner else match[1]
                    found.add((verb, ""))
                    found.update((verb, option) for option in re.findall(r"(?<!\S)--?[a-z][\w-]*", match[2]))
    return sorted(found)


@cache
def _help(*verb: str) -> subprocess.CompletedProcess[str]:
    asked = "--help-all" if verb[-1:] and verb[-1] in USUAL else "--help"
    return commands.here([*verb, asked], env={**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"})


@each(("verb", "option"), _named_verbs_and_options())
def test_verbs_and_options_named_in_documents_exist(verb: str, option: str) -> None:
    shown = _help(*verb.split())
    assert shown.returncode == 0, f"assay {verb} --help: {shown.stderr}"
    assert not option or re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", shown.stdout), shown.stdout


def test_every_verb_is_documented() -> None:
    verbs = set(app.every_verb())
    assert verbs
    assert verbs <= {verb.split()[0] for verb, _ in _named_verbs_and_options()}, (
        "a verb is missing from README.md and docs/"
    )


def _text(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_limits_in_the_documents_are_those_of_the_code() -> None:
    limits = Limits()
    for document in (_text("reference/limits.md"), README.read_text(encoding="utf-8")):
        assert f"{limits.timeout_s:g} s" in document
        assert f"{limits.max_rows:,} rows" in document
        assert f"{limits.max_result_bytes // 2**20} MiB" in document
        assert f"{limits.max_memory_bytes // 2**30} GiB" in document


def _words(pages: Iterable[Path]) -> int:
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def test_the_readme_is_short_and_has_a_command_early() -> None:
    text = README.read_text(encoding="utf-8")
    assert _words([README]) <= 900
    assert len(text.partition("<!-- first-command -->")[0].split()) <= 120


@each("guide", sorted((ROOT / "docs" / "guides").rglob("*.md")), ids=_relative)
def test_a_guide_has_700_words_at_most(guide: Path) -> None:
    assert _words([guide]) <= 700


def test_the_documents_have_70000_words_at_most() -> None:
    made = ("reference/commands", "reference/python", "reference/run-file.md", "reference/lint-rules.md")
    measured = ("background/measured/benchmarks.md", "background/measured/estimates.md")
    generated = tuple(f"docs/{name}" for name in (*made, *measured))
    assert _words(page for page in GUIDES if not _relative(page).startswith(generated)) <= 70_000


def test_decisions_fit_in_6000_words() -> None:
    pages = sorted((ROOT / "docs" / "background" / "decisions").glob("*.md"))
    assert len(pages) > 5
    assert _words(pages) <= 6000


def test_nothing_promises_a_package_index_or_a_machine_path() -> None:
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"#.*|[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+", line) for line in pins)
    assert not any("/" in line and "scripts/pin" not in line for line in pins)


_SAYS_NOTHING_OF_THE_RUN = re.compile(
    r" (?:-q\b|--(?:html|md|xlsx|junit|json|min|must-pass|max-drop|baseline) \S+|--fail-on-regression|>>? *\S+)"
)


def test_guides_read_one_after_the_other_do_not_disturb_each_other() -> None:
    """They share the sample's folder: one run is made by one command, and the sample's own files stay."""
    made: dict[str, set[str]] = {}
    for guide in sorted((ROOT / "docs" / "guides").glob("*.md")):
        for example in (one for one in _examples(guide) if one.language == "console"):
            for line in re.findall(r"^\$ (.*)", example.body.replace("\\\n", " "), re.M):
                written = set(re.findall(r">>? *(\S+)", line))
                assert not written & {"cases.jsonl", "predictions.jsonl", "newer.jsonl"}, f"{example.place}: {line}"
                if line.startswith("assay run ") and (found := re.search(r" (?:-o|--output) +(\S+)", line)):
                    words = sorted(_SAYS_NOTHING_OF_THE_RUN.sub("", line).split())
                    made.setdefault(found[1], set()).add(" ".join(words))
    assert len(made) > 10
    assert {folder: commands for folder, commands in made.items() if len(commands) > 1} == {}
