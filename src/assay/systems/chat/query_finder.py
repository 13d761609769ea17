"""Find the one query in a chat model's answer to a request for SQL."""

from __future__ import annotations

from msgspec import Struct

from assay.model import Extraction
from assay.sql.extraction import read_text
from assay.systems.predictions import extraction_of


class Said(Struct, frozen=True, kw_only=True):
    """An answer, split into its query and its words."""

    query: str | None
    words: str
    """The text besides the query, without the thinking."""
    complete: bool = True
    """False if the query goes to the end of the answer and no mark ends it."""
    extraction: Extraction | None = None
    """How the query was taken from the answer; None if the answer has no words besides it."""


def read_answer(text: str) -> Said:
    """The query in an answer, as `assay.sql.extraction.read_text` reads every text."""
    reading = read_text(text)
    return Said(query=reading.query, words=reading.words, complete=reading.complete, extraction=extraction_of(reading))
