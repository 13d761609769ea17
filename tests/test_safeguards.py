"""What an operating system does not lend is missed by no import and by no run, and the run says what it lacks."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay.cli.streams import _Forgiving
from assay.errors import InputError
from assay.model import DatabaseUrl
from assay.platform.safeguards import protections, unsupported_safeguards
from assay.systems.process.command import split_words
from many_cases import each

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(assay.__file__).parent
ON_LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="takes away what Linux has")
NOT_EVERYWHERE = {"fcntl", "grp", "msvcrt", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty", "winreg"}
MEMORY, WORKBOOK, TIMER, LOCK, CHILDREN = (one.name for one in protections())
WITHOUT = """
import os, signal, subprocess, sys
for name in ("resource", "fcntl", "pwd", "grp", "termios"):
    sys.modules[name] = None
for holder, names in (
    (os, ("pread", "killpg", "sched_getaffinity", "getuid", "O_NONBLOCK", "O_CLOEXEC")),
    (signal, ("setitimer", "getitimer", "SIGALRM", "ITIMER_REAL")),
):
    for name in names:
        if hasattr(holder, name):
            delattr(holder, name)
"""
"""A ``sitecustomize`` that takes from every process what Windows has not."""
RUN = """
import json, sys
import assay
from assay.model import Case

cases = [Case(id=str(n), question="?", golds=(f"SELECT {n}",)) for n in range(4)]
answers = {"0": "SELECT 0", "1": "SELECT 2", "2": "SELECT nothing", "3": "SELECT 3.0"}
run = assay.evaluate(cases, answers, databases="sqlite:///:memory:", output=sys.argv[1], workers=1)
run.report(sys.argv[1] + "/report.md")
print(json.dumps({
    "verdicts": [[one.case.id, one.verdict.outcome] for one in run.evidence],
    "lacks": run.provenance.unprotected,
}))
"""


@ON_LINUX
def test_linux_lacks_nothing() -> None:
    assert unsupported_safeguards() == ()
    assert all(one.holds for one in protections())


@ON_LINUX
@pytest.mark.parametrize(
    ("gone", "lost"),
    [
        ("resource", {MEMORY, WORKBOOK}),
        ("fcntl", {LOCK}),
        ("signal.setitimer", {TIMER}),
        ("signal.SIGALRM", {TIMER}),
        ("os.killpg", {CHILDREN}),
    ],
)
def test_what_is_gone_is_named_and_nothing_else(monkeypatch: pytest.MonkeyPatch, gone: str, lost: set[str]) -> None:
    holder, _, name = gone.rpartition(".")
    if holder:
        monkeypatch.delattr({"os": os, "signal": signal}[holder], name)
    else:
        monkeypatch.setitem(sys.modules, name, None)
    assert set(unsupported_safeguards()) == lost


@ON_LINUX
def test_without_the_system_s_own_figures_memory_is_not_capped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("assay.platform.safeguards.STATISTICS", str(tmp_path / "nothing"))
    assert unsupported_safeguards() == (MEMORY,)


@ON_LINUX
@pytest.mark.parametrize(("platform", "lost"), [("darwin", {MEMORY, WORKBOOK}), ("freebsd14", {MEMORY})])
def test_other_systems_lack_what_they_do_not_take(
    monkeypatch: pytest.MonkeyPatch, platform: str, lost: set[str]
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert set(unsupported_safeguards()) == lost


def test_the_page_of_systems_names_every_protection() -> None:
    page = (ROOT / "docs" / "reference" / "platforms.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| yes \|", page, re.M)
    assert rows == [one.name for one in protections()]


@ON_LINUX
def test_a_run_without_them_judges_alike_and_says_what_it_lacks(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "sitecustomize.py").write_text(WITHOUT, encoding="utf-8")
    found = []
    for place, paths in enumerate(([], [str(bare)])):
        entries = [*paths, *(os.path.abspath(entry) for entry in sys.path)]
        done = subprocess.run(
            [sys.executable, "-c", RUN, str(tmp_path / f"run{place}")],
            capture_output=True, text=True, encoding="utf-8", timeout=300, check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(entries)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        report = (tmp_path / f"run{place}" / "report.md").read_text(encoding="utf-8")
        found.append({**json.loads(done.stdout), "markdown": report})
    with_them, without = found
    assert with_them["lacks"] == []
    assert set(without["lacks"]) == {one.name for one in protections()}
    assert without["verdicts"] == with_them["verdicts"]
    for name in without["lacks"]:
        assert name in without["markdown"]
        assert name not in with_them["markdown"]


def test_no_module_needs_another_system_to_be_imported() -> None:
    """What only some systems have is imported where it is used, or within a ``try``."""
    only_there = re.compile(rf"^(?:import|from) (?:{'|'.join(sorted(NOT_EVERYWHERE))})\\b", re.M)
    for path in SOURCE.rglob("*.py"):
        assert not only_there.search(path.read_text(encoding="utf-8")), path


def test_files_are_opened_as_they_are_by_descriptor_and_with_an_encoding_as_text() -> None:
    opened = 0
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"os\.open\(|\.(?:read|write)_text\(", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call):
                continue
            called, words = ast.unparse(node.func), ast.unparse(node)
            if called == "os.open":
                opened += 1
                nowhere = any(name in words for name in ("os.devnull", "STATISTICS"))
                empty = path.name == "claim.py"  # the file that is only locked
                assert nowhere or empty or "BINARY" in words, f"{path}:{node.lineno}: Windows would change line ends"
            elif called.endswith((".read_text", ".write_text")) and called != "formatter.write_text":  # a page of help
                opened += 1
                assert "encoding" in words, f"{path}:{node.lineno}: by the encoding of the machine"
    assert opened > 10


@each("encoding", ["ascii", "cp437", "cp1252", "utf-8"])
def test_what_an_encoding_lacks_is_written_as_an_escape(tmp_path: Path, encoding: str) -> None:
    text = "≥ 1 → ü 数"
    with (tmp_path / "out").open("w", encoding=encoding) as file:
        assert file.errors == "strict"
        stream = _Forgiving.of(file, file.fileno())
        stream.write(text)
        stream.flush()
        stream.detach()
    written = (tmp_path / "out").read_bytes().decode(encoding)
    assert written == text.encode(encoding, "backslashreplace").decode(encoding)


@each("line", ["ask --flag 'a b' c\\ d", "ask # no comment", 'ask "x\\"y"', "ask {question}", ""])
def test_a_command_line_is_split_as_a_shell_does(line: str) -> None:
    assert split_words(line, backslashes=False) == shlex.split(line)


def test_where_paths_have_backslashes_these_stay() -> None:
    found = split_words(r'C:\Tools\ask.exe "C:\My Files\new.py" {question}', backslashes=True)
    assert found == [r"C:\Tools\ask.exe", r"C:\My Files\new.py", "{question}"]


@pytest.mark.parametrize("text", [r"C:\data\shop.sqlite", "d:/data/shop.duckdb"])
def test_a_path_with_a_drive_is_no_url_and_a_url_with_one_is(text: str) -> None:
    with pytest.raises(InputError, match=r"write  (sqlite|duckdb):///"):
        DatabaseUrl.parse(text)
    assert DatabaseUrl.parse(f"sqlite:///{text}").path == text


@ON_LINUX
def test_a_workbook_is_read_by_a_process_that_may_take_less_than_its_own_limit(tmp_path: Path) -> None:
    import xlsxwriter

    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as workbook:
        workbook.add_worksheet("first").write(0, 0, "cell")
    program = (
        "import resource, sys; from pathlib import Path; most = 1 << 30; "
        "resource.setrlimit(resource.RLIMIT_AS, (most, most)); "
        "from assay.cases.tables.workbook import read_sheets; print(read_sheets(Path(sys.argv[1]))[0].rows)"
    )
    entries = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "a.xlsx")],
        capture_output=True, text=True, timeout=300, check=False, env={**os.environ, "PYTHONPATH": entries},
    )  # fmt: skip
    assert done.stdout.strip() == "[['cell']]", done.stderr
