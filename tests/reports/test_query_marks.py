"""Queries in a terminal: coloured, with the differences underlined, and harmless."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from assay.model import Case, Evidence, Prediction, Verdict
from assay.reports.console.queries import print_drawn
from assay.reports.text.explanation import explanation_of, explanation_parts
from assay.reports.text.parts import TextPart

UNDERLINED = re.compile(r"\x1b\[(?:[\d;]*;)?4(?:;[\d;]*)?m([^\x1b]*)")


def _drawn(parts: list[TextPart], *, no_color: bool = False, width: int = 80) -> str:
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=True,
        no_color=no_color,
        color_system="standard",
        legacy_windows=False,
    )
    with console.capture() as captured:
        assert print_drawn(parts, console)
    return captured.get()


def _item(gold: str, predicted: str, outcome: str = "incorrect", **verdict: object) -> Evidence:
    return Evidence(
        case=Case(id="1", question="Who?", golds=(gold, "SELECT 1")),
        prediction=Prediction(case_id="1", query=predicted),
        verdict=Verdict(outcome=outcome, reason="differs", **verdict),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("no_color", [False, True])
def test_differences_are_underlined_with_and_without_colour(*, no_color: bool) -> None:
    item = _item("SELECT name FROM t WHERE age > 1", "SELECT name\nFROM t\nWHERE age > 2")
    text = _drawn(list(explanation_parts(item)), no_color=no_color)
    assert UNDERLINED.findall(text) == ["1", "2"]
    assert "underlined: what the other query does not have there" in text
    assert ("\x1b[1;34mSELECT" in text) is not no_color
    assert "\x1b[1mSELECT" in text or not no_color


def test_without_colours_and_marks_the_text_is_the_plain_one() -> None:
    item = _item("SELECT name /* x */ FROM t WHERE c = 'é' AND age > 1", "SELECT\n  a FROM t")
    text = re.sub(r"\x1b\[[\d;]*m", "", _drawn(list(explanation_parts(item))))
    legend = "    underlined: what the other query does not have there\n"
    assert text.replace(legend, "") == explanation_of(item) + "\n"


def test_the_gold_query_that_the_verdict_names_is_compared() -> None:
    item = _item("SELECT name FROM t", "SELECT 2", gold_index=1)
    assert UNDERLINED.findall(_drawn(list(explanation_parts(item)))) == ["1", "2"]


def test_a_right_answer_is_coloured_but_not_marked() -> None:
    text = _drawn(list(explanation_parts(_item("SELECT name FROM t", "SELECT t.name FROM t", "correct"))))
    assert not UNDERLINED.findall(text)
    assert "underlined" not in text
    assert "SELECT" in text


def test_a_query_cannot_steer_the_terminal() -> None:
    item = _item("SELECT '\x1b[2J' FROM t", "SELECT '\x1b]0;title\x07' -- [red]\u202e\x9b2J")
    text = _drawn(list(explanation_parts(item)))
    left = re.sub(r"\x1b\[[\d;]*m", "", text)
    assert "\x1b" not in left
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", left)
    assert "[red]" in left


def test_long_lines_are_left_to_the_terminal() -> None:
    item = _item("SELECT " + ", ".join(f"column_{place}" for place in range(40)) + " FROM t", "SELECT 1")
    lines = re.sub(r"\x1b\[[\d;]*m", "", _drawn(list(explanation_parts(item)), width=40)).splitlines()
    assert any("column_39 FROM t" in line and "column_0" in line for line in lines)


def test_what_is_not_a_terminal_gets_plain_text() -> None:
    assert not print_drawn(["text"], Console(file=io.StringIO(), force_terminal=False))
