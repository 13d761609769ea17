"""How a run's answers were brought to their questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

JoinedBy = Literal["id", "question", "position", "row"]
"""``id``: both sides name the case; ``question``: by the text of the question; ``position``: the n-th answer is to the
n-th question; ``row``: question and answer stand in one row of one file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnUse:
    """Which column of a file was taken for what."""

    field: str
    """``id``, ``question``, ``gold``, ``prediction``, ``database`` …"""
    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """How answers from a file were brought to their questions."""

    by: JoinedBy
    stated: bool = False
    """Of positions: the user or the format says them. Else both files have no id, and as many rows."""
    case_columns: tuple[ColumnUse, ...] = ()
    prediction_columns: tuple[ColumnUse, ...] = ()
    loose_ids: int = 0
    """Ids that are the same only without letter case, blanks, leading zeros and ``.0``."""
    questions_compared: int = 0
    """Answers that repeat their question (or database), which was found to be the case's."""
    questions_ignored: bool = False
    """What answers repeat of their questions was not looked at, as the user asked."""
    left_out: tuple[str, ...] = ()
    """Sheets with content that were not read."""
