"""The files of IBM's text2sql-eval-toolkit: questions with the predictions of one or several pipelines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from assay.cases.records import Record, Table
from assay.cases.tools.frame import ToolFormat, changed, chosen
from assay.errors import CaseFileError
from assay.model import FieldNames
from assay.platform.surface import option

_ANSWER = "predicted_sql"
_GOLDS = ("sql", "SQL", "target", "query")
"""Where the toolkit looks for gold queries, in this order."""
_GOLD = "sql"


class Text2SqlEvalToolkitFormat(ToolFormat):
    """Records with ``utterance`` (or ``page_content``, ``question``), ``sql`` (or ``SQL``, ``target``, ``query``: one
    query or a list), ``db_id`` and, in prediction files, ``predictions``: an object from the pipeline's name to its
    ``predicted_sql``, tokens and times. Names that a benchmark brought along are read in the toolkit's own order.

    The prediction column names the pipeline if there are several: ``--prediction-column PIPELINE``.
    """

    name = "text2sql_eval_toolkit"
    marks: ClassVar[tuple[frozenset[str], ...]] = (
        frozenset({"sql", "db_id", "predictions"}),
        frozenset({"sql", "db_id", "meta"}),
        frozenset({"predictions"}),
    )
    names: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "id": ("id", "question_id", "qid", "_id"),
        "question": ("utterance", "page_content", "question"),
        "gold": (_GOLD,),
        "tags": ("tags", "meta.categories"),
        "context": ("evidence", "commonsense_knowledge"),
    }

    def fits(self, first: Mapping[str, object]) -> bool:
        """Whether the pipelines, if there are any, say what they predicted as the toolkit does."""
        pipelines = first.get("predictions")
        if not isinstance(pipelines, Mapping):
            return pipelines is None and "sql" in first
        if not pipelines and "db_id" not in first:
            return False
        return all(isinstance(answer, Mapping) and _ANSWER in answer for answer in pipelines.values())

    def for_cases(self, table: Table, fields: FieldNames) -> tuple[Table, FieldNames]:
        """The records, with gold queries if the toolkit finds it: not in a query that was taken apart."""
        if fields.gold is not None:
            return table, fields
        return changed(table, map(_gold, table.records)), fields

    def for_predictions(self, table: Table, fields: FieldNames) -> tuple[Table, FieldNames]:
        """The records of one pipeline, with its tokens and seconds."""
        names = list(dict.fromkeys(name for record in table.records for name in _pipelines(record)))
        if not names:
            raise CaseFileError(
                'has no pipeline under "predictions": expected an object from names to predicted_sql',
                path=str(table.path),
            )
        if fields.prediction is not None and fields.prediction.startswith("predictions"):
            return table, fields  # a path
        name = chosen(table.path, fields.prediction, names, "pipeline", option("--prediction-column", names[0]))
        answers = [_pipelines(record).get(name) for record in table.records]
        if not any(isinstance(answer, Mapping) and _ANSWER in answer for answer in answers):
            raise CaseFileError(
                f'the pipeline "{name}" has no {_ANSWER}: name the path of its query, for example '
                + option("--prediction-column", f'predictions["{name}"].sql'),
                path=str(table.path),
            )
        more = [_answer(answer) for answer in answers]
        return changed(table, more), FieldNames(
            id=fields.id, prediction=_ANSWER, shared_id=fields.shared_id, encoding=fields.encoding
        )


def _gold(record: Record) -> dict[str, object]:
    for name in _GOLDS:
        found = record.values.get(name)
        if found and not isinstance(found, Mapping):
            return {_GOLD: found}
    about = record.values.get("metadata")
    return {_GOLD: about.get("sql") if isinstance(about, Mapping) else None}


def _pipelines(record: Record) -> Mapping[str, object]:
    found = record.values.get("predictions")
    return found if isinstance(found, Mapping) else {}


def _answer(found: object) -> dict[str, object]:
    answer: Mapping[str, object] = found if isinstance(found, Mapping) else {}
    more: dict[str, object] = {_ANSWER: answer.get(_ANSWER), "predictions": None}
    if isinstance(usage := answer.get("token_usage"), Mapping):
        more["tokens"] = usage
    milliseconds = answer.get("inference_time_ms")
    if isinstance(milliseconds, (int, float)) and not isinstance(milliseconds, bool):
        more["latency_s"] = milliseconds / 1000
    return more
