"""The cause of an answer that gave no rows to compare."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

from assay.diagnosis.wording import cut
from assay.model import DatabaseSchema, Failure
from assay.model.failure import WITHOUT_QUERY
from assay.model.verdicts.diagnosis import Cause, CauseKind
from assay.sql.query import Unreadable, read_query
from assay.sql.unknown_names import UnknownColumn, unknown_names

_BY_KIND: Mapping[str, CauseKind] = {
    **dict.fromkeys(WITHOUT_QUERY, "unanswered"),
    "declined": "held_back",
    "asked_back": "held_back",
    "several_statements": "refused",
    "writes": "refused",
    "refused": "refused",
    "timeout": "timeout",
    "truncated": "failed",
    "billing_limit": "failed",
    "out_of_memory": "failed",
    "crashed": "failed",
}
_SYNTAX = re.compile(r"syntax error|incomplete input|unrecognized token|unterminated|parser error|\b1064\b", re.I)
_TYPE = re.compile(
    r"datatype mismatch|operator does not exist|cannot (?:be )?cast|could not convert|conversion error|"
    r"invalid input syntax|type mismatch|no function matches|must be type",
    re.I,
)
_MOST_NAMED = 3


def cause_of_failure(failure: Failure, query: str | None, dialect: str, schema: DatabaseSchema | None) -> list[Cause]:
    """The causes of a failed prediction. Names that the database does not have come first."""
    kind = _BY_KIND.get(failure.kind)
    if kind is not None:
        return [Cause(kind=kind, message=failure.message)]
    if failure.kind != "error" or query is None:
        return [Cause(kind="failed", message=failure.message)]
    causes = [] if schema is None else _unknown(query, dialect, schema)
    if causes:
        return causes
    text = failure.message
    is_readable = not isinstance(read_query(query, dialect), Unreadable)
    if _SYNTAX.search(text) or not is_readable:
        told = text if is_readable else f"{text}; the query cannot be parsed as {dialect or 'SQL'}"
        return [Cause(kind="syntax", message=cut(told))]
    return [Cause(kind="type_error" if _TYPE.search(text) else "failed", message=cut(text))]


def _unknown(query: str, dialect: str, schema: DatabaseSchema) -> list[Cause]:
    found = unknown_names(query, dialect, schema)
    if isinstance(found, Unreadable):
        return []
    causes = []
    tables = [table.name for table in schema.tables]
    for name in found.tables[:_MOST_NAMED]:
        message = f"the database has no table {name}{_nearest(name, tables)}"
        causes.append(Cause(kind="unknown_table", clause="FROM", predicted=name, message=message, table=name))
    for column in found.columns[:_MOST_NAMED]:
        causes.append(_unknown_qualifier(column) if column.unknown_qualifier else _unknown_column(column, schema))
    return causes


def _unknown_qualifier(column: UnknownColumn) -> Cause:
    name = f"{column.unknown_qualifier}.{column.name}"
    if column.is_out_of_scope:
        problem = f"{column.unknown_qualifier} is not in scope at {name}"
    else:
        problem = f"{name} refers to {column.unknown_qualifier}, which is not a table or alias in the query"
    sources = ", ".join(column.sources[:_MOST_NAMED])
    message = f"{problem}; in scope: {sources or 'nothing'}" + (", …" if len(column.sources) > _MOST_NAMED else "")
    return Cause(kind="unknown_column", predicted=name, message=message, column=column.name)


def _unknown_column(unknown: UnknownColumn, schema: DatabaseSchema) -> Cause:
    column, own = unknown.name, {table.name.lower(): table for table in schema.tables}
    read = [own[name] for name in unknown.tables if name in own]
    names = [one.name for table in read for one in table.columns]
    elsewhere = [
        f"{table.name}.{one.name}"
        for table in schema.tables
        for one in table.columns
        if one.name.lower() == column.lower()
    ]
    where = " or ".join(table.name for table in read) or "the tables of the query"
    near = _nearest(column, names)
    if elsewhere:
        near = f"; {' and '.join(elsewhere[:_MOST_NAMED])} exist" + ("" if len(elsewhere) > 1 else "s")
    return Cause(
        kind="unknown_column",
        predicted=column,
        message=f"no column {column} in {where}{near}",
        column=column,
        table=read[0].name if len(read) == 1 else "",
    )


def _nearest(name: str, names: list[str]) -> str:
    by_small = {one.lower(): one for one in names}
    near = get_close_matches(name.lower(), list(by_small), n=1, cutoff=0.6)
    return f"; the closest is {by_small[near[0]]}" if near else ""
