"""How a run's answers were joined to their questions."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

JoinedBy = Literal["id", "question", "position", "row"]
"""``id``: both sides name the case; ``question``: by the text of the question; ``position``: the n-th answer is to the
n-th question; ``row``: question and answer stand in one row of one file."""


class ColumnUse(Struct, frozen=True, kw_only=True):
    """Which column of a file was read as which field."""

    field: str
    """``id``, ``question``, ``gold``, ``prediction``, ``database`` …"""
    column: str


class Joining(Struct, frozen=True, kw_only=True):
    """How answers from a file were joined to their questions."""

    by: JoinedBy
    stated: bool = False
    """For positions: the user or the format asks for them. Else neither file has ids, and both have as many rows."""
    case_columns: tuple[ColumnUse, ...] = ()
    prediction_columns: tuple[ColumnUse, ...] = ()
    loose_ids: int = 0
    """Ids that are equal only when letter case, blanks, leading zeros and ``.0`` are ignored."""
    questions_compared: int = 0
    """How many answers repeat their question (or database) and were found to repeat the case's."""
    questions_ignored: bool = False
    """The questions that answers repeat were not checked, at the user's request."""
    questions_differ: int = 0
    """If they were not checked: how many answers repeat another question or database than their case's."""
    left_out: tuple[str, ...] = ()
    """Sheets with content that were not read."""
