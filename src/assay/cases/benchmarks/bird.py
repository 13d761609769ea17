"""BIRD's own files as they come: questions, gold and predictions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from assay.cases.benchmarks import lines
from assay.cases.benchmarks.lines import BIRD_MARK, json_layout
from assay.cases.fields import POSITION
from assay.cases.from_records import read_cases, unanswered
from assay.cases.records import kind_of
from assay.cases.text.decoding import read_text
from assay.errors import CaseFileError
from assay.model import Case, ColumnUse, FieldNames, Prediction
from assay.ports import Column, LoadedCases, LoadedPredictions


class BirdFormat:
    """BIRD's questions (JSON with ``question_id, db_id, question, evidence, SQL, difficulty``), its
    gold (lines ``SQL\\tdb_id``) and its predictions (``{"0": "SQL\\t----- bird -----\\tdb_id"}``).

    The key of a prediction is the position of its question in the questions file, as in BIRD's
    scripts, not its ``question_id``; if yours are keyed by ``question_id``, name that as the id.
    """

    name = "bird"
    takes_encoding = True

    def recognises(self, path: Path) -> bool:
        """Whether a ``.json`` file has BIRD's layout. Its gold lines look like Spider's, whose format reads them."""
        return path.suffix.lower() == ".json" and json_layout(path) == "bird"

    def cases(self, path: Path, fields: FieldNames) -> LoadedCases:
        """Read questions or gold lines. Raises CaseFileError with file, row and column.

        BIRD's mini-dev contains two questions twice, word for word. Each keeps its position, since predictions are
        matched by position, and the second gets an id, for example ``137#2``.
        """
        from assay.cases.text.json import json_table

        if path.suffix.lower() in lines.SUFFIXES:
            return lines.gold_lines(path, encoding=fields.encoding)
        loaded = read_cases(json_table(path, encoding=fields.encoding), fields)
        return replace(loaded, cases=_tell_repeats_apart(loaded.cases))

    def predictions(self, path: Path, fields: FieldNames) -> LoadedPredictions:
        """Read predictions. Raises CaseFileError with file and key.

        A value without BIRD's mark is a query as a whole; a value that is not text (BIRD's scripts write a number if
        a model failed) is not an answer. ``fields.id`` other than `POSITION` says that the keys are ids.
        """
        from assay.cases.text.json import parse_json

        if path.suffix.lower() in lines.SUFFIXES:
            return lines.predicted_lines(path, fields)
        document = parse_json(path, read_text(path, fields.encoding))
        if not isinstance(document, dict):
            raise CaseFileError(
                f"contains {kind_of(document)}: BIRD's predictions are one object from positions to queries, "
                f'{{"0": "SELECT ...\\t{BIRD_MARK}\\tdb_id"}}; for another layout give its format, for example json',
                path=str(path),
            )
        if not document:
            raise CaseFileError("contains no predictions: the object has no keys", path=str(path))
        by_position = fields.id in (None, POSITION)
        databases = tuple(
            value.partition(BIRD_MARK)[2].strip() or None if isinstance(value, str) else None
            for value in document.values()
        )
        return LoadedPredictions(
            predictions=tuple(
                _prediction(path, key, value, by_position=by_position) for key, value in document.items()
            ),
            by_position=by_position,
            stated=by_position,
            columns=(ColumnUse(field="id", column="its keys"),),
            beside=(Column(name="db_id", values=databases),),
        )


def _prediction(path: Path, key: str, value: object, *, by_position: bool) -> Prediction:
    origin = f'{path.name}, key "{key}"'
    if by_position and not (key.isascii() and key.isdigit()):
        raise CaseFileError(
            f'the key "{key}" is not a position: BIRD keys predictions by the zero-based position of the question; '
            "if these are ids, name question_id as the id",
            path=str(path),
        )
    query = value.partition(BIRD_MARK)[0].rstrip() if isinstance(value, str) and BIRD_MARK in value else value
    text = query if isinstance(query, str) else None
    return Prediction(
        case_id=str(int(key)) if by_position else key.strip(),
        query=text,
        failure=None if text is not None else unanswered(f"{origin}, contains {kind_of(value)} instead of a query"),
        origin=origin,
    )


def _tell_repeats_apart(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Number the repeats of a case that are the same word for word; other cases keep their id."""
    seen: dict[str, tuple[Case, int]] = {}
    told: list[Case] = []
    for case in cases:
        first, times = seen.get(case.id, (case, 0))
        if replace(case, origin=None) != replace(first, origin=None):
            # Same id, different question: a mistake, which the loader reports with both places.
            told.append(case)
            continue
        seen[case.id] = (first, times + 1)
        told.append(case if times == 0 else replace(case, id=f"{case.id}#{times + 1}"))
    return tuple(told)
