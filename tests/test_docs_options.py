"""An option that a document names by itself, without its verb, is one that some program of Assay's takes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from many_cases import each

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAMS = ("cli", "settings", "pytest_plugin", "testing", "linting")
FENCE = re.compile(r"^(`{3,}).*?^\1`*$", re.M | re.S)
THEIRS = frozenset({"--runxfail", "--collect-only", "--junitxml"})
"""Of pytest itself."""
THERE = re.compile(r"^\| (there|in place of) \|")
"""The head of a table whose first column is of another program."""


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def _options() -> frozenset[str]:
    sources = (path for room in PROGRAMS for path in (ROOT / "src" / "assay" / room).rglob("*.py"))
    return frozenset(re.findall(r"--[a-z][\w-]*", "\n".join(path.read_text(encoding="utf-8") for path in sources)))


def named_alone(text: str) -> set[str]:
    """The options that begin a piece of code in prose, but for those in a column of another program's."""
    found: set[str] = set()
    theirs = False
    for line in FENCE.sub("", text).splitlines():
        theirs = bool(THERE.match(line)) or (theirs and line.startswith("|"))
        ours = line.split(" | ", 1)[-1] if theirs else line
        found.update(re.findall(r"`(--[a-z][\w-]*)", ours))
    return found


@each("document", DOCUMENTS, ids=_relative)
def test_options_named_alone_exist(document: Path) -> None:
    assert named_alone(document.read_text(encoding="utf-8")) <= _options() | THEIRS


def test_options_of_other_programs_are_not_asked_for() -> None:
    table = (
        "| there | here |\n|---|---|\n| `--etype exec` | `--metrics` |\n\nBut `--here X`, not `assay run --there`.\n"
    )
    assert named_alone(table) == {"--metrics", "--here"}
