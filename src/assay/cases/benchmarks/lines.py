"""The files of BIRD and Spider: which of their layouts a file of JSON has, and files with one query per line.

BIRD and Spider keep gold so (``SQL\\tdb_id``), and Spider predictions (``SQL``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from assay.cases.fields import ALIASES, POSITION, normal
from assay.cases.from_records import unanswered
from assay.cases.text.decoding import empty, head_of, lines_of, read_text
from assay.errors import CaseFileError
from assay.model import Case, ColumnUse, FieldNames, Prediction
from assay.platform.surface import option
from assay.ports import Column, LoadedCases, LoadedPredictions

SUFFIXES = frozenset({".sql", ".txt"})

_USE = {field: ColumnUse(field=field, column="before the tab") for field in ("gold", "prediction")}


def gold_lines(path: Path, *, encoding: str | None = None) -> LoadedCases:
    """Gold lines as a question set without ids. Raises as `_gold_lines` does."""
    return LoadedCases(cases=tuple(_gold_lines(path, encoding)), by_position=True, columns=(_USE["gold"],))


def _gold_lines(path: Path, encoding: str | None) -> Iterator[Case]:
    """One case per line: its gold and its database, no question; its id is the zero-based line number.

    Raises CaseFileError with the line: one without a tab, without a query, or blank before the end.
    """
    for number, line in enumerate(_lines(path, encoding)):
        place = f"line {number + 1}"
        query, tab, database = line.rpartition("\t")
        if not line.strip():
            raise CaseFileError(
                "is blank, and a later line is not: each question has its line; of conversations (SParC, CoSQL) give "
                f"the format sparc ({option('--case-format', 'sparc')})",
                path=str(path),
                place=place,
            )
        if not tab or not database.strip():
            raise CaseFileError(
                "has no tab and database name after the query: a gold line is SQL, a tab and the db_id",
                path=str(path),
                place=place,
            )
        if not query.strip():
            raise CaseFileError("has no query before the tab", path=str(path), place=place)
        yield Case(
            id=str(number),
            question="",
            golds=(query.strip(),),
            database=database.strip(),
            origin=f"{path.name}, {place}",
        )


def predicted_lines(path: Path, fields: FieldNames) -> LoadedPredictions:
    """One prediction per line, by position: the text before the first tab. A blank text is not an answer."""
    lines = enumerate(_lines(path, fields.encoding))
    loaded = predictions_of(path, ((str(number), number + 1, line) for number, line in lines))
    return replace(loaded, by_position=True, stated=fields.id == POSITION, columns=(_USE["prediction"],))


def predictions_of(path: Path, lines: Iterable[tuple[str, int, str]]) -> LoadedPredictions:
    """The predictions of lines, each with the id of its case and its number in the file."""
    predictions = []
    databases: list[str | None] = []
    for case_id, number, line in lines:
        query, _, database = (part.strip() for part in line.partition("\t"))
        # A query may also hold a tab: only a single word can be a database's name.
        databases.append(database if len(database.split()) == 1 else None)
        origin = f"{path.name}, line {number}"
        predictions.append(
            Prediction(
                case_id=case_id,
                query=query or None,
                failure=None if query else unanswered(f"{origin}, contains no query"),
                origin=origin,
            )
        )
    return LoadedPredictions(predictions=tuple(predictions), beside=(Column(name="db_id", values=tuple(databases)),))


def _lines(path: Path, encoding: str | None) -> list[str]:
    lines = lines_of(read_text(path, encoding))
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise empty(path)
    return lines


BIRD_MARK = "----- bird -----"
"""The mark that BIRD writes between a predicted query and its database, with a tab on either side."""

Layout = Literal["bird", "spider", "sparc", "other"]


def json_layout(path: Path) -> Layout:
    """The layout of a ``.json`` file: BIRD's questions or predictions, Spider's or SParC's questions, or another.

    BIRD's questions are a list of objects with ``db_id``, ``question``, ``SQL`` and BIRD's own
    ``question_id`` or ``evidence``; its predictions contain its mark. Spider's questions are a list of
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
    """The keys of the object at the start of a text; empty if it starts with none, or the object is cut off."""
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
