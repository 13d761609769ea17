"""Tell layouts with the same suffix apart by their content."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from assay.cases.fields import ALIASES, normal
from assay.cases.text.decoding import head_of, read_text
from assay.errors import CaseFileError

BIRD_MARK = "----- bird -----"
"""The mark that BIRD writes between a predicted query and its database, with a tab on either side."""

Layout = Literal["bird", "spider", "sparc", "other"]


def json_layout(path: Path) -> Layout:
    """The layout of a ``.json`` file: BIRD's questions or predictions, Spider's or SParC's questions, or another.

    BIRD's questions are a list of objects with ``db_id``, ``question``, ``SQL`` and BIRD's own
    ``question_id`` or ``evidence``; its predictions hold its mark. Spider's questions are a list of
    objects with ``db_id``, ``question``, ``query`` and no id of their own.
    """
    head = head_of(path).lstrip()
    if head.startswith("{"):
        return "bird" if BIRD_MARK in head or BIRD_MARK in _whole(path) else "other"
    if not head.startswith("["):
        return "other"
    keys = _first_keys(head[1:].lstrip()) or _first_keys(_whole(path).lstrip()[1:].lstrip())
    if {"database_id", "interaction"} <= keys:
        return "sparc"
    if "predictions" in keys:  # another tool keeps systems' answers beside the benchmark's questions
        return "other"
    if {"db_id", "question", "SQL"} <= keys and keys & {"question_id", "evidence"}:
        return "bird"
    ids = {normal(name) for tier in ALIASES["id"] for name in tier}
    if {"db_id", "question", "query"} <= keys and not any(normal(key) in ids for key in keys):
        return "spider"
    return "other"


def _first_keys(text: str) -> set[str]:
    """The keys of the object that a text starts with; empty where it starts with none, or the object is cut off."""
    import json

    try:
        first, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return set()
    return set(first) if isinstance(first, dict) else set()


def _whole(path: Path) -> str:
    try:
        return read_text(path)
    except CaseFileError:
        return ""
