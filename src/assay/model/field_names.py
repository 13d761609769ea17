"""How the columns of a file are called."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldNames:
    """The names of a file's columns or keys, where they are not among the known aliases. None: an alias."""

    id: str | None = None
    question: str | None = None
    gold: str | None = None
    database: str | None = None
    difficulty: str | None = None
    tags: str | None = None
    context: str | None = None
    prediction: str | None = None
