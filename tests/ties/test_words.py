"""How far a gold query is ambiguous, in words: each number once."""

from __future__ import annotations

import re

from assay.model import Ambiguity
from many_cases import each


@each(
    ("taken", "tied", "choices", "said"),
    [
        (1, 12, 12, "the gold query takes one of 12 tied rows, any choice is right"),
        (3, 7, 35, "the gold query takes some of 7 tied rows, 35 choices are right"),
        (2, 3, 3, "the gold query takes some of 3 tied rows, any choice is right"),
        (0, 0, None, "the gold query takes some of the tied rows, more than a billion choices are right"),
    ],
)
def test_a_cut_tie_is_said_with_each_number_once(taken: int, tied: int, choices: int | None, said: str) -> None:
    for all_tie in (False, True):
        text = Ambiguity(taken_rows=taken, tied_rows=tied, choices=choices, all_tie=all_tie).text
        assert text.replace(", which are all it has", "") == said
        numbers = re.findall(r"\d+", text)
        assert len(numbers) == len(set(numbers))
