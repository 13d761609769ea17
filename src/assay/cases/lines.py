"""Files of one query a line, as BIRD and Spider keep gold (``SQL\\tdb_id``) and Spider predictions (``SQL``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.cases.reading import unanswered
from assay.cases.text import empty, lines_of, read_text
from assay.errors import CaseFileError
from assay.model import Case, Prediction
from assay.ports import LoadedPredictions

SUFFIXES = frozenset({".sql", ".txt"})


def gold_lines(path: Path) -> Iterator[Case]:
    """A case a line: its gold and its database, no question; its id is the zero-based line number.

    Raises CaseFileError with the line: one without a tab, without a query, or blank before the end.
    """
    for number, line in enumerate(_lines(path)):
        place = f"line {number + 1}"
        query, tab, database = line.rpartition("\t")
        if not line.strip():
            raise CaseFileError(
                "is blank, and a later line is not: each question has its line; files of several turns "
                "(SParC, CoSQL) are not read",
                path=str(path),
                place=place,
            )
        if not tab or not database.strip():
            raise CaseFileError(
                "has no tab and database name after the query: a line of gold is SQL, a tab and the db_id",
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


def predicted_lines(path: Path) -> LoadedPredictions:
    """A prediction a line, by position: what stands before the first tab. A blank one is no answer."""
    predictions = []
    for number, line in enumerate(_lines(path)):
        query = line.split("\t", 1)[0].strip()
        origin = f"{path.name}, line {number + 1}"
        predictions.append(
            Prediction(
                case_id=str(number),
                query=query or None,
                failure=None if query else unanswered(f"{origin}, holds no query"),
                origin=origin,
            )
        )
    return LoadedPredictions(predictions=tuple(predictions), by_position=True)


def _lines(path: Path) -> list[str]:
    lines = lines_of(read_text(path))
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise empty(path)
    return lines
