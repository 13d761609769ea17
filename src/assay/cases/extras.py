"""What a prediction file says beside the predictions: seconds, tokens, cost, what the system did and how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from assay.cases.decisions import refusal_of
from assay.cases.fields import ALIASES, Field, columns_of, listed, normal
from assay.cases.paths import paths_within, texts_within
from assay.cases.records import Record, Table
from assay.cases.values import UnusableValue, count_of, number_of, usable
from assay.errors import CaseFileError
from assay.model import Decision, FieldNames, TokenUsage

T = TypeVar("T")

_SECONDS = frozenset(
    normal(name)
    for name in (
        "latency_s",
        "time_s",
        "duration_s",
        "elapsed_s",
        "total_execution_time",
        "llm_time",
        "sql_execution_time",
        "vector_store_search_time",
    )
)
"""Columns of seconds. Other columns of times do not name their unit, and are not read."""

_TOKENS: Mapping[str, str] = {
    "inputtokens": "input",
    "prompttokens": "input",
    "outputtokens": "output",
    "completiontokens": "output",
    "totaltokens": "total",
}
_TOKENS_WITHIN: Mapping[str, str] = {**_TOKENS, "input": "input", "output": "output", "total": "total"}
_TOKEN_OBJECTS = frozenset({"tokens", "usage"})
_COST = "costusd"


class Extras:
    """The columns beside a prediction that plainly name seconds, tokens, cost, a decision or a confidence."""

    def __init__(self, table: Table, fields: FieldNames) -> None:
        named = [(column, normal(column)) for column in table.columns]
        self.path = str(table.path)
        self.seconds = [column for column, name in named if name in _SECONDS]
        self.token_columns = [(column, _TOKENS[name]) for column, name in named if name in _TOKENS]
        self.token_objects = [column for column, name in named if name in _TOKEN_OBJECTS]
        self.costs = [column for column, name in named if name == _COST]
        self.decisions = refusal_of(
            table.columns,
            decision=prediction_metadata(table, "decision", fields.decision),
            confidence=prediction_metadata(table, "confidence", fields.confidence),
        )
        questions = {normal(name) for name in ALIASES["question"][0]}
        golds = {normal(name) for tier in ALIASES["gold"][:2] for name in tier}
        self.shared = any(name in questions for _, name in named) and any(name in golds for _, name in named)

    def decision(self, record: Record) -> Decision | None:
        """What the system did; None where nothing is said. Raises CaseFileError with the place."""
        if self.decisions is None:
            return None
        try:
            return self.decisions.decision(record, shared=self.shared)
        except UnusableValue as error:
            raise placed(error, self.path, record) from error

    def confidence(self, record: Record) -> float | None:
        """How sure the system is, from 0 to 1; None where nothing is said. Raises CaseFileError with the place."""
        if self.decisions is None:
            return None
        try:
            return self.decisions.confidence(record)
        except UnusableValue as error:
            raise placed(error, self.path, record) from error

    def timings(self, record: Record) -> tuple[tuple[str, float], ...]:
        """Seconds by the names of their columns."""
        if not self.seconds:
            return ()
        read = ((column, self._read(record, column, number_of)) for column in self.seconds)
        return tuple((column, seconds) for column, seconds in read if seconds is not None)

    def tokens(self, record: Record) -> TokenUsage | None:
        """The tokens, from columns of their own and from objects such as ``usage``."""
        if not self.token_columns and not self.token_objects:
            return None
        counts: dict[str, int] = {}
        for column in self.token_objects:
            within = record.values.get(column)
            if not isinstance(within, dict):
                continue
            for name, value in within.items():
                part = _TOKENS_WITHIN.get(normal(str(name)))
                count = self._count(record, column, value) if part else None
                if part and count is not None:
                    counts[part] = count
        for column, part in self.token_columns:
            count = self._read(record, column, count_of)
            if count is not None:
                counts[part] = count
        return TokenUsage(**counts) if counts else None

    def cost(self, record: Record) -> float | None:
        """The cost in US dollars."""
        return next((self._read(record, column, number_of) for column in self.costs), None)

    def _read(self, record: Record, column: str, convert: Callable[[object, str], T]) -> T:
        try:
            return convert(usable(record.values.get(column)), column)
        except UnusableValue as error:
            raise placed(error, self.path, record, column) from error

    def _count(self, record: Record, column: str, value: object) -> int | None:
        try:
            return count_of(value, column)
        except UnusableValue as error:
            raise placed(error, self.path, record, column) from error


def placed(error: UnusableValue, path: str, record: Record, *columns: str) -> CaseFileError:
    """The error for an unusable value: file, row, and column unless the message already names it.

    With the paths of the texts within, where one of them may be meant.
    """
    if len(columns) != 1:
        return CaseFileError(error.message, path=path, place=record.place)
    within = texts_within(record.values.get(columns[0]), columns[0])[:3] if error.nested else ()
    hint = f"; of what is in it name the column, such as {listed(within)}" if within else ""
    return CaseFileError(f"{error.message}{hint}", path=path, place=f'{record.place}, column "{columns[0]}"')


def prediction_metadata(table: Table, field: Field, named: str | None) -> str | None:
    """The column that was named for a field. Raises CaseFileError, with the closest name, where the file lacks it."""
    if named is None:
        return None
    columns = columns_of(field, named, table.columns, path=str(table.path), within=paths_within(table))
    return columns[0]
