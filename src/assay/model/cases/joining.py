"""Which column of a file contains what, and how a run's answers were joined to their questions."""

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
    id_column: str | None = None
    """For positions: a column of both files with the same unique values, which the user may name as the id."""
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


class FieldNames(Struct, frozen=True, kw_only=True):
    """The names of a file's columns or keys, if they differ from the known aliases. None: look for an alias.

    A name that no column has may be a path into nested values: ``predictions.pipeA.sql``, ``runs[0].sql``.
    """

    id: str | None = None
    question: str | None = None
    gold: str | None = None
    database: str | None = None
    difficulty: str | None = None
    tags: str | None = None
    context: str | None = None
    answerable: str | None = None
    """Whether a question has an answer, as true or false, or what is right to do (`assay.model.Decision`)."""
    prediction: str | None = None
    """Named for a question set, it says that the same file contains the predictions; it then needs no questions."""
    decision: str | None = None
    """What the system did."""
    confidence: str | None = None
    """How sure the system is."""
    context_tables: str | None = None
    """The tables that the system was given, perhaps with their columns."""
    context_columns: str | None = None
    """The columns that the system was given."""
    shared_id: str | None = None
    """The other file's id column: it is this file's id, too, if this file has it and ``id`` is None."""
    sheet: str | None = None
    """Worksheet of a workbook. None: the only one that has the columns."""
    header_row: int | None = None
    """Header row of a sheet, from 0. None: the first row that is not blank."""
    encoding: str | None = None
    """Encoding of a text file. None: what its byte order mark says, otherwise UTF-8."""
