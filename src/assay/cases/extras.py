"""What a prediction file says besides the queries: seconds, tokens, cost, the system's decision and confidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from assay.cases.decisions import refusal_of
from assay.cases.fields import ALIASES, Field, columns_of, listed, normal
from assay.cases.paths import paths_within, texts_within
from assay.cases.records import Record, Table
from assay.cases.values import UnusableValue, count_of, is_absent, number_of, usable
from assay.errors import CaseFileError
from assay.model import ColumnUse, Decision, FieldNames, TokenUsage
from assay.sql.context import Context, InvalidContext, read_context

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
    """The columns of a prediction file that clearly name seconds, tokens, cost, a decision or a confidence."""

    def __init__(self, table: Table, fields: FieldNames) -> None:
        named = [(column, normal(column)) for column in table.columns]
        self.path = str(table.path)
        self.seconds = [column for column, name in named if name in _SECONDS]
        self.token_columns = [(column, _TOKENS[name]) for column, name in named if name in _TOKENS]
        self.token_objects = [column for column, name in named if name in _TOKEN_OBJECTS]
        self.costs = [column for column, name in named if name == _COST]
        self.decisions = refusal_of(
            table.columns,
            decision=named_column(table, "decision", fields.decision),
            confidence=named_column(table, "confidence", fields.confidence),
        )
        self.context = (
            _context_columns(table, "context_tables", fields.context_tables),
            _context_columns(table, "context_columns", fields.context_columns),
        )
        questions = {normal(name) for name in ALIASES["question"][0]}
        golds = {normal(name) for tier in ALIASES["gold"][:2] for name in tier}
        self.shared = any(name in questions for _, name in named) and any(name in golds for _, name in named)

    def decision(self, record: Record) -> Decision | None:
        """What the system did; None if nothing is said. Raises CaseFileError with the place."""
        if self.decisions is None:
            return None
        return read_at(self.path, record, (), self.decisions.decision, record, shared=self.shared)

    def confidence(self, record: Record) -> float | None:
        """How sure the system is, from 0 to 1; None if nothing is said. Raises CaseFileError with the place."""
        if self.decisions is None:
            return None
        return read_at(self.path, record, (), self.decisions.confidence, record)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        decisions = () if self.decisions is None else self.decisions.columns
        tokens = (*(column for column, _ in self.token_columns), *self.token_objects)
        return (*self.seconds, *tokens, *self.costs, *decisions, *self.context[0], *self.context[1])

    @property
    def context_uses(self) -> tuple[ColumnUse, ...]:
        """The columns that are read as what the system was given."""
        fields: tuple[Field, ...] = ("context_tables", "context_columns")
        named = zip(fields, self.context, strict=True)
        return tuple(ColumnUse(field=field, column=column) for field, columns in named for column in columns)

    def given(self, record: Record) -> Context:
        """The tables and columns that the system was given. Raises CaseFileError with the place."""
        if not any(self.context):
            return _NO_CONTEXT
        tables, columns = (
            next((column for column in named if not _is_blank(record.values.get(column))), None)
            for named in self.context
        )
        at = tuple(filter(None, (tables, columns)))
        return read_at(self.path, record, at, _context_of, record, tables, columns) if at else _NO_CONTEXT

    def timings(self, record: Record) -> tuple[tuple[str, float], ...]:
        """Seconds by the names of their columns."""
        if not self.seconds:
            return ()
        read = ((column, self._read(record, column, number_of)) for column in self.seconds)
        return tuple((column, seconds) for column, seconds in read if seconds is not None)

    def tokens(self, record: Record) -> TokenUsage | None:
        """The tokens, from columns of their own and from objects, for example ``usage``."""
        if not self.token_columns and not self.token_objects:
            return None
        counts: dict[str, int] = {}
        for column in self.token_objects:
            within = record.values.get(column)
            if not isinstance(within, dict):
                continue
            for name, value in within.items():
                part = _TOKENS_WITHIN.get(normal(str(name)))
                count = read_at(self.path, record, (column,), count_of, value, column) if part else None
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
        return read_at(self.path, record, (column,), lambda: convert(usable(record.values.get(column)), column))


_NO_CONTEXT = Context()


def _context_columns(table: Table, field: Field, named: str | None) -> tuple[str, ...]:
    """The columns with the tables, or the columns, that a system was given; of several the first filled one is read."""
    return columns_of(field, named, table.columns, path=str(table.path), within=paths_within(table) if named else ())


def _is_blank(value: object) -> bool:
    return is_absent(value) or (isinstance(value, str) and not value.strip())


def _context_of(record: Record, tables: str | None, columns: str | None) -> Context:
    """What these columns of a record say."""
    values = (None if name is None else usable(record.values.get(name)) for name in (tables, columns))
    try:
        return read_context(*values)
    except InvalidContext as error:
        raise UnusableValue(str(error)) from error


def placed(error: UnusableValue, path: str, record: Record, *columns: str) -> CaseFileError:
    """The error for an unusable value: file, row, and column unless the message already names it.

    With the paths of the texts within, if one of them may be meant.
    """
    if len(columns) != 1:
        return CaseFileError(error.message, path=path, place=record.place)
    within = texts_within(record.values.get(columns[0]), columns[0])[:3] if error.nested else ()
    hint = f"; name a value in it as the column, for example {listed(within)}" if within else ""
    return CaseFileError(f"{error.message}{hint}", path=path, place=f'{record.place}, column "{columns[0]}"')


def read_at(
    path: str, record: Record, columns: tuple[str, ...], convert: Callable[..., T], *given: object, **named: object
) -> T:
    """What ``convert`` makes of what it is given. Raises CaseFileError with the place of an unusable value."""
    try:
        return convert(*given, **named)
    except UnusableValue as error:
        raise placed(error, path, record, *columns) from error


def named_column(table: Table, field: Field, named: str | None) -> str | None:
    """The column that was named for a field. Raises CaseFileError, with the closest name, if the file lacks it."""
    if named is None:
        return None
    columns = columns_of(field, named, table.columns, path=str(table.path), within=paths_within(table))
    return columns[0]
