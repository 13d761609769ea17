"""What the parser quotes of a command line cannot steer a terminal, and its exit statuses are as they were."""

from __future__ import annotations

import pytest

from assay.cli.app import run_command_line
from many_cases import each

HIDDEN = ("\x1b]0;x\x07", "\x1b[31m", "\x9b1m", "\u202e", "\u2066", "\u200b", "\x08", "\u2028", "\ufeff")


PLACES = [
    ["{}"],
    ["--{}"],
    ["run{}"],
    ["run", "--{}"],
    ["run", "a", "b{}"],
    ["run", "a", "--limit", "{}"],
    ["run", "a", "--columns", "{}"],
    ["report", "{}"],
    ["report", "a", "--min", "{}=1"],
    ["runs", "{}"],
    ["sdmx", "{}", "-p", "{}"],
]


# All of them at every place, and each alone at one.
@pytest.mark.parametrize(
    ("arguments", "hidden"),
    [
        *((place, "x".join(HIDDEN)) for place in PLACES),
        *((PLACES[number % len(PLACES)], hidden) for number, hidden in enumerate(HIDDEN)),
    ],
)
def test_nothing_hidden_reaches_the_terminal(
    arguments: list[str], hidden: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line([argument.format(hidden) for argument in arguments]) == 2
    printed = capsys.readouterr()
    assert not [one for one in hidden if not one.isprintable() and one in printed.err + printed.out]
    assert printed.err.strip()


@each(
    ("arguments", "status"),
    [(["--help"], 0), (["run", "-h"], 0), (["--version"], 0), ([], 2), (["run"], 2), (["run", "--limit", "0", "x"], 2)],
)
def test_the_parsers_own_ends(arguments: list[str], status: int) -> None:
    assert run_command_line(arguments) == status
