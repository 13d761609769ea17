"""Help, messages, documents and public docstrings are plain technical English, as `english` defines it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assay.cli.app import app
from english import WORDINGS, Wording, bad_opening, faults

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "assay"
CODE = sorted([*SOURCE.rglob("*.py"), *(ROOT / "scripts" / "reference").glob("*.py")])
TEMPLATES = sorted(path for kind in ("*.html", "*.js") for path in SOURCE.rglob(kind))
MADE = "Made from the code by"
PAGES = [
    page
    for page in (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")))
    if MADE not in page.read_text(encoding="utf-8")
]
"""What people wrote. Pages made from the code are held by what they are made from."""

JUDGE = "an LLM judge judges"
WORDS = "a list of words, not a sentence"
EXCEPTIONS = {
    ("llm_judge/", "judge"): JUDGE,
    ("testing/judge.py", "judge"): JUDGE,
    ("api/llm_judging.py", "judge"): JUDGE,
    ("cli/verbs/judge", "judge"): JUDGE,
    ("assay judge", "judge"): JUDGE,
    ("llm_judge/prompt.py", "where"): "calibrations measured this very prompt",
    ("docs/background/denodo-differs.md", "where"): "a quotation",
    ("linting/words.py", "where"): WORDS,
    ("cli/parsing/mistakes.py", "golds"): WORDS,
    ("engines/warehouse/held.py", "where"): WORDS,
}
"""Why a wording is right in a place, by the beginning of the place and the wording's name."""


PATTERN = re.compile(r"\(\?[P:!=<]|\\[bs]")
"""What tells a regular expression from a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text that a person reads, where it is, and the room that it belongs to."""

    room: str
    place: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A wording in a passage."""

    room: str
    place: str
    wording: str
    message: str


@cache
def _verbs() -> tuple[tuple[str, Any], ...]:
    """Each verb by its words, groups included."""

    def walk(command: Any, words: str) -> Iterator[tuple[str, Any]]:
        yield words, command
        for name, verb in (command.every_verb() if hasattr(command, "every_verb") else {}).items():
            yield from walk(verb, f"{words} {name}")

    return tuple(walk(app, "assay"))


def _options() -> Iterator[tuple[str, str]]:
    for words, verb in _verbs():
        for parameter in verb.params:
            yield f"{words} {parameter.opts[0]}", getattr(parameter, "help", None) or ""


def _helps() -> Iterator[Passage]:
    for words, verb in _verbs():
        yield Passage(room="cli", place=words, text=f"{verb.help or ''}\n\n{verb.epilog or ''}")
    for place, text in _options():
        yield Passage(room="cli", place=place, text=text)


def _strings(path: Path) -> Iterator[Passage]:
    """Messages and public docstrings of one module."""
    name = path.relative_to(SOURCE if path.is_relative_to(SOURCE) else ROOT).as_posix()
    room = name.partition("/")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = {id(node) for node in _docstrings(tree)}
    public = {id(node) for node in _docstrings(tree, public=True)}
    pieces = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        text = "" if id(node) in pieces or PATTERN.search(_text(node)) else _text(node)
        if len(text.split()) > 2 and (id(node) in public or id(node) not in documented):
            prose = _without_code(text) if id(node) in public else text
            yield Passage(room=room, place=f"{name}:{getattr(node, 'lineno', 0)}", text=prose)


def _text(node: ast.AST) -> str:
    """The text of a literal; what an f-string fills in is ``{}``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def _docstrings(node: ast.AST, *, public: bool = False) -> Iterator[ast.Constant]:
    """Strings that stand alone in the body of a module, class or function, those after an attribute included."""
    body: list[ast.stmt] = getattr(node, "body", [])
    for before, statement in zip([None, *body], body, strict=False):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            if not (public and _is_private(before)):
                yield statement.value
        elif hasattr(statement, "body") and not (public and _is_private(statement)):
            yield from _docstrings(statement, public=public)


def _is_private(statement: ast.stmt | None) -> bool:
    if isinstance(statement, ast.AnnAssign):
        return ast.unparse(statement.target).startswith("_")
    if isinstance(statement, ast.Assign):
        return ast.unparse(statement.targets[0]).startswith("_")
    return getattr(statement, "name", "").startswith("_")


def _without_code(text: str) -> str:
    """The text without doctests, blocks after ``::`` and fenced blocks."""
    text = re.sub(r"^( *)```.*?^\1```", "", text, flags=re.S | re.M)
    text = re.sub(r"::\n\n(?:(?: {4,}[^\n]*)?\n)+", ":\n\n", text)
    return re.sub(r"^ *>>>.*?(?=\n\s*\n|\Z)", "", text, flags=re.S | re.M)


def _template(path: Path) -> Iterator[Passage]:
    """What a page says: the text between the tags of a template, and the texts of a script."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        source = re.sub(
            r"<(script|style)\b.*?</\1>|\{[%#].*?[%#]\}", lambda code: "\n" * code[0].count("\n"), source, flags=re.S
        )
        found = re.finditer(r"(?<=>)[^<>]+(?=<)|(?<=title=\")[^\"]+|(?<=aria-label=\")[^\"]+", source)
    else:
        source = re.sub(r"^\s*//.*$|/\*.*?\*/", lambda code: "\n" * code[0].count("\n"), source, flags=re.S | re.M)
        found = re.finditer(r"\"[^\"\n]+\"|'[^'\n]+'|`[^`\n]+`", source)
    name = path.relative_to(SOURCE).as_posix()
    for match in found:
        text = re.sub(r"\{\{.*?\}\}|\$\{[^}]*\}", "{}", match[0], flags=re.S).strip("\"'`")
        if len(text.split()) > 2 and not re.search(r"=>|\|\||[;(]$", text):
            line = source.count("\n", 0, match.start()) + 1
            yield Passage(room=name.partition("/")[0], place=f"{name}:{line}", text=text)


def _prose(page: Path) -> Iterator[Passage]:
    """The paragraphs, table cells and list items of a page in Markdown."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^( *)```.*?^\1```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.S | re.M)
    text = re.sub(r"(?<=\n\n)(?: {4}.*\n)+", lambda block: "\n" * block[0].count("\n"), text)
    text = re.sub(r"<!--.*?-->", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.S)
    name = page.relative_to(ROOT).as_posix()
    room = name.partition("/")[0]
    line = 1
    for block in re.split(r"(\n(?=\s*\n|\s*(?:[-*|#]|\d+\.) ?))", text):
        first = line + len(block) - len(block.lstrip("\n"))
        for cell in re.sub(r"\]\([^)]*\)", "]", block).split("|"):
            yield Passage(room=room, place=f"{name}:{first}", text=re.sub(r"^[\s#>*-]*(?:\d+\. )?", "", cell))
        line += block.count("\n")


def _is_exception(place: str, wording: str) -> bool:
    return any(place.startswith(beginning) and wording == name for beginning, name in EXCEPTIONS)


@cache
def findings() -> tuple[Finding, ...]:
    """All that is not plain."""
    passages = [*_helps(), *(one for path in CODE for one in _strings(path))]
    passages += [one for path in TEMPLATES for one in _template(path)]
    passages += [one for page in PAGES for one in _prose(page)]
    return tuple(
        Finding(
            room=one.room,
            place=one.place,
            wording=wording.name,
            message=f"{one.place}: {wording.name!r} in '…{around}…'; write {wording.instead}",
        )
        for one in passages
        for wording, around in faults(one.text)
    )


def test_texts_are_plain_english() -> None:
    wrong = [one.message for one in findings() if not _is_exception(one.place, one.wording)]
    assert not wrong, "\n".join(wrong)


def test_every_exception_is_needed_and_has_a_reason() -> None:
    found = {(one.place, one.wording) for one in findings()}
    for (beginning, name), reason in EXCEPTIONS.items():
        assert reason
        assert any(place.startswith(beginning) and wording == name for place, wording in found), (beginning, name)


@pytest.mark.parametrize("wording", WORDINGS, ids=lambda wording: wording.name)
def test_each_pattern_finds_its_example_and_not_what_to_write_instead(wording: Wording) -> None:
    assert wording.name in {found.name for found, _ in faults(wording.example)}
    assert not [found for found, _ in faults(wording.instead) if found is wording]


def test_every_option_begins_with_a_noun_or_an_imperative() -> None:
    wrong = {place: f"{reason}: {text}" for place, text in _options() if (reason := bad_opening(text))}
    assert not wrong, "\n".join(f"{place}: {reason}" for place, reason in wrong.items())


@pytest.mark.parametrize(
    "opening",
    [
        *("", "Of a workbook.", "[config: X] Of the key.", "Whether rows count.", "Where to run.", "Only the first."),
        *(
            "The path.",
            "'ignored': no duplicates.",
            "Shows the version.",
            "Asking again.",
            "For each query.",
            "a path.",
        ),
    ],
)
def test_any_other_opening_is_an_error(opening: str) -> None:
    assert bad_opening(opening)


@pytest.mark.parametrize(
    "opening", ["Worksheet to read.", "[default: a] Ids, e.g. 3.", "Print JSON.", "Do not ask.", "URL."]
)
def test_a_noun_or_an_imperative_is_accepted(opening: str) -> None:
    assert not bad_opening(opening)
