"""How to read a file: which column holds what, on which sheet and in which encoding."""

from __future__ import annotations

from msgspec import Struct


class FieldNames(Struct, frozen=True, kw_only=True):
    """The names of a file's columns or keys, where they differ from the known aliases. None: look for an alias.

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
    """Named for a question set, it says that the same file holds the predictions; it then needs no questions."""
    decision: str | None = None
    """What the system did."""
    confidence: str | None = None
    """How sure the system is."""
    shared_id: str | None = None
    """The other file's id column: it is this file's id, too, where this file has it and ``id`` is None."""
    sheet: str | None = None
    """Of a workbook. None: the only one that has the columns."""
    header_row: int | None = None
    """Of a sheet, from 0: the row that names the columns. None: the first that is not blank."""
    encoding: str | None = None
    """Of a text file. None: what its byte order mark says, else UTF-8."""
