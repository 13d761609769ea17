"""Tools whose files need no more than the names of their fields: DeepEval, ragas, Braintrust."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from msgspec.structs import replace

from assay.cases.records import Record, Table
from assay.cases.tools.frame import ToolFormat, changed, last_said, value_of
from assay.model import FieldNames

_DATABASE = ("db_id", "database", "db_name")

_MEASURED = {
    "latency_s": "completion_time",
    "cost_usd": "token_cost",
    "input_tokens": "input_token_count",
    "output_tokens": "output_token_count",
}
"""Our names of what DeepEval's test runs measure."""


def _within(*places: str) -> tuple[str, ...]:
    """The names of a database's name, at these places of a record."""
    return tuple(f"{place}.{name}" for place in places for name in _DATABASE)


class DeepEvalFormat(ToolFormat):
    """DeepEval's data sets (``save_as``: goldens with ``input``, ``expected_output``, ``actual_output``) and test runs
    (``testCases`` with ``input``, ``expectedOutput``, ``actualOutput``, also within ``testRunData``).

    Data sets are JSON, JSON Lines or CSV, whose cells contain the metadata as JSON. A golden's ``name`` is its id if
    each has one; the database's name is looked for in ``additional_metadata``.
    """

    name = "deepeval"
    in_cells: ClassVar[bool] = True
    objects: ClassVar[tuple[str, ...]] = ("additional_metadata", "custom_column_key_values")
    marks: ClassVar[tuple[frozenset[str], ...]] = (
        frozenset({"input", "expected_output", "actual_output"}),
        frozenset({"input", "expectedOutput", "actualOutput"}),
        frozenset({"input", "expectedOutput", "metricsData"}),
        frozenset({"input", "expected_output", "retrieval_context"}),
    )
    names: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "question": ("input",),
        "gold": ("expected_output", "expectedOutput"),
        "prediction": ("actual_output", "actualOutput"),
        "context": ("context",),
        "database": (
            *_DATABASE,
            *_within("additional_metadata", "additionalMetadata", "custom_column_key_values", "metadata"),
        ),
        "difficulty": ("additional_metadata.difficulty", "additionalMetadata.difficulty", "metadata.difficulty"),
    }

    def for_cases(self, table: Table, fields: FieldNames) -> tuple[Table, FieldNames]:
        """The records; their names are ids only if each has its own."""
        return _with_names(table), fields

    def for_predictions(self, table: Table, fields: FieldNames) -> tuple[Table, FieldNames]:
        """The records; ``completionTime`` are seconds, ``tokenCost`` dollars."""

        more = [
            {own: value for own, name in _MEASURED.items() if (value := value_of(record, name)) is not None}
            for record in table.records
        ]
        return _with_names(changed(table, more)), fields


def _with_names(table: Table) -> Table:
    names = [record.values.get("name") for record in table.records]
    if all(isinstance(name, str) and name for name in names) and len(set(map(str, names))) == len(names):
        return changed(table, ({"case_id": name} for name in names))
    return table


class RagasFormat(ToolFormat):
    """ragas' data sets: samples with ``user_input``, ``reference`` and ``response``, a list under ``samples`` or one
    per line. Further values of a sample, for example ``db_id``, are read by their usual names.

    If a sample has several turns (``user_input`` is a list of messages), the question is the last message of type
    ``human``, and without a ``response`` the answer is the last one of type ``ai`` after it.
    """

    name = "ragas"
    marks: ClassVar[tuple[frozenset[str], ...]] = (
        frozenset({"user_input", "reference"}),
        frozenset({"user_input", "response"}),
    )
    names: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "question": ("user_input",),
        "gold": ("reference_sql", "reference"),
        "prediction": ("response",),
        "context": ("reference_contexts",),
    }

    def table(self, path: Path, fields: FieldNames) -> Table:
        """The samples; of those of several turns the last question and its answer. Raises CaseFileError."""
        table = super().table(path, fields)
        if not any(isinstance(value_of(record, "user_input"), list) for record in table.records):
            return table
        return changed(table, map(_last_turn, table.records))


def _last_turn(record: Record) -> dict[str, object]:
    said = value_of(record, "user_input")
    if not isinstance(said, list):
        return {}
    messages = [message for message in said if isinstance(message, Mapping)]
    asked = [place for place, message in enumerate(messages) if message.get("type") == "human"]
    found: dict[str, object] = {"user_input": last_said(messages, "type", "human")}
    answers = [message for message in messages[asked[-1] + 1 :] if message.get("type") == "ai"] if asked else []
    if answers and value_of(record, "response") is None:
        found["response"] = last_said(answers, "type", "ai")
    return found


class BraintrustFormat(ToolFormat):
    """Braintrust's exported experiments, logs and data sets: ``input``, ``expected``, ``output``, ``metadata``.

    Each may be text or an object, in which the question, the query and the database's name are looked for. Only the
    root span of a trace is read.
    """

    name = "braintrust"
    marks: ClassVar[tuple[frozenset[str], ...]] = (
        frozenset({"input", "expected", "span_id"}),
        frozenset({"input", "expected", "_xact_id"}),
        frozenset({"input", "expected", "dataset_id"}),
        frozenset({"input", "output", "expected", "scores"}),
    )
    names: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "id": ("metadata.case_id", "metadata.question_id", "dataset_record_id", "id"),
        "question": ("input.question", "input.input", "input.query", "input"),
        "gold": ("expected.sql", "expected.query", "expected.gold_sql", "expected"),
        "prediction": ("output.sql", "output.query", "output.predicted_sql", "output"),
        "database": _within("metadata", "input"),
        "difficulty": ("metadata.difficulty",),
    }

    def for_cases(self, table: Table, fields: FieldNames) -> tuple[Table, FieldNames]:
        """The root spans."""
        return _roots(table), fields

    def for_predictions(self, table: Table, fields: FieldNames) -> tuple[Table, FieldNames]:
        """The root spans, with tokens and seconds from their metrics. One with an error has no output."""
        table = _roots(table)
        return changed(table, map(_answered, table.records)), fields


def _answered(record: Record) -> dict[str, object]:
    failed = {"output": None} if record.values.get("error") else {}
    return {**_measured(record.values.get("metrics")), **failed}


def _roots(table: Table) -> Table:
    roots = [
        record
        for record in table.records
        if not record.values.get("span_parents") and record.values.get("is_root") is not False
    ]
    return replace(table, records=tuple(roots))


def _measured(metrics: object) -> dict[str, object]:
    if not isinstance(metrics, Mapping):
        return {}
    found: dict[str, object] = {
        name: metrics[name] for name in ("prompt_tokens", "completion_tokens") if metrics.get(name) is not None
    }
    start, end = metrics.get("start"), metrics.get("end")
    if isinstance(start, (int, float)) and isinstance(end, (int, float)) and end >= start:
        found["latency_s"] = end - start
    if metrics.get("estimated_cost") is not None:
        found["cost_usd"] = metrics["estimated_cost"]
    return found
