"""A message on a terminal: no line breaks a word, and what is to be copied has a line of its own."""

from __future__ import annotations

import ast
import io
import re
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import assay
from assay.cli.app import run_command_line
from assay.cli.messages import message_lines

COMMANDS = (
    "assay run questions.jsonl --predictions 'a: b, c.jsonl' --db sqlite:///shop.sqlite",
    "--question-column Kontext --gold-column 'Erwartetes VQL'",
    "python -m pip install 'adbc-driver-flightsql>=1.3' 'denodo-sqlalchemy>=2.0' 'psycopg2-binary>=2.9'",
    "export OPENAI_API_KEY=YOUR-KEY",
    '--db "postgresql://user@host/shop; drop (all): no, never"',
)
TAILS = ("", ".", ": see the guide", ", or another", "; it is free", " (usual names: a, b)", ". Then again")
words = st.lists(st.text("abcxyz\"'.,", min_size=1, max_size=12), min_size=1, max_size=60).map(" ".join)


@given(before=words, command=st.sampled_from(COMMANDS), tail=st.sampled_from(TAILS), width=st.integers(20, 140))
@example("file.xlsx: no column", COMMANDS[1], TAILS[5], 80)
def test_a_command_is_on_a_line_of_its_own(before: str, command: str, tail: str, width: int) -> None:
    message = f"assay: error: {before}: write  {command}{tail}"
    lines = list(message_lines(message, width))
    if len(message) <= width:
        assert lines == [message]
        return
    assert f"    {command}" in lines
    assert "".join("".join(lines).split()).replace(":", "") == "".join(message.split()).replace(":", "") or tail
    for line in lines:
        assert len(line) <= width or line.strip() == command or " " not in line.strip() or line == lines[0]
    assert all(line.startswith("  ") for line in lines[1:])


@given(st.lists(words, min_size=1, max_size=4), st.integers(20, 140))
def test_no_word_is_lost_or_broken(paragraphs: list[str], width: int) -> None:
    message = "assay: " + "\n".join(paragraphs)
    assert " ".join(message_lines(message, width)).split() == message.split()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_errors_fit_the_terminal_and_are_one_line_in_a_pipe(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", "questions.jsonl", "predictions-of-the-system.jsonl", "--db", "sqlite:///shop.sqlite"]
    assert run_command_line(arguments) == 2
    piped = capsys.readouterr().err
    assert piped.count("\n") == 1
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stderr", shown := _Terminal())
    assert run_command_line(arguments) == 2
    lines = shown.getvalue().splitlines()
    assert all(len(line) <= columns or line.startswith("    ") for line in lines)
    assert len(lines) > 1


@pytest.mark.parametrize(
    "path", sorted(Path(assay.__file__).parent.joinpath("cli").rglob("*.py")), ids=lambda one: one.name
)
def test_prose_on_standard_error_goes_through_the_messages(path: Path) -> None:
    """Elsewhere a terminal would break it inside words."""
    if path.name in ("messages.py", "progress.py"):
        return
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    written = [ast.unparse(one) for one in calls if ast.unparse(one.func) in ("click.echo", "print")]
    to_stderr = [one for one in written if "err=True" in one or "sys.stderr" in one]
    allowed = re.compile(r"click\.echo\((''|f'wrote |ctx\.get_help)")
    assert [one for one in to_stderr if not allowed.match(one)] == []
