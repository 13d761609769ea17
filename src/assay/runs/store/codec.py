"""Evidence as one line of JSON and back, without losing a cell's type."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from functools import lru_cache
from itertools import chain
from threading import RLock
from types import NoneType
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import force_setattr, replace

from assay.errors import RunError
from assay.model import Case, Evidence, Execution, Failure, Prediction, Result, Row, TurnAnswer
from assay.model.results.cell_json import PACKED, cell_from_json, cell_to_json
from assay.model.witness import WitnessTable

_Value = TypeVar("_Value")
_Evidence = TypeVar("_Evidence", bound=Evidence)
_Table = TypeVar("_Table", Result, WitnessTable)
_PLAIN = frozenset({NoneType, bool, int, str})
_NOT_USED = (
    b'"table":null,',
    b'"results":[],',
    b'"result":null,',
    b'"shape":null,',
    b'"expects":"answer",',
    b'"conversation":null,',
    b'"turn":null,',
    b'"history":[],',
    b'"decision":null,"confidence":null,',
    b',"code":null',
    b'"query_source":null,',
    b',"extraction":null',
    b'"script_columns":null,',
    b'"result_query":null,',
    b'"engine":null,',
    b',"note":null',
    b'"context_tables":null,',
    b'"context_columns":null,',
)
"""Fields of cases and answers that were added later, as they are if nothing uses them."""
_MOST_REMEMBERED = 4_000
_BLAME_OF_BEFORE, _BLAME = b'"blame":"judge"', b'"blame":"assay"'
"""The old and the new name of Assay's own failures in stored runs. Texts cannot match: their quotes are escaped."""


_PACKED, _PACKED_BEFORE = PACKED
_ENCODER = msgspec.json.Encoder(order="deterministic")
_ONE_AT_A_TIME = RLock()
"""msgspec publishes what it learns of a type before it has learned all: a second thread then crashes the process."""


@lru_cache(maxsize=8)
def _decoder(kind: Hashable) -> msgspec.json.Decoder[Any]:
    with _ONE_AT_A_TIME:
        return msgspec.json.Decoder(kind)


def encode_evidence(evidence: Evidence) -> bytes:
    """One line of JSON, without the line's end."""
    try:
        return _ENCODER.encode(evidence if _is_plain(evidence) else _with_rows(evidence, _plain_or_packed))
    except (UnicodeEncodeError, OverflowError):  # text that is not valid Unicode, an integer beyond 64 bits
        return encode_value(_with_rows(evidence, _packed))


def _is_plain(evidence: Evidence) -> bool:
    """Whether JSON can hold each of its rows, as of most cases."""
    if evidence.candidates or evidence.refutation is not None:
        return False
    predicted, comparison = evidence.predicted_execution, evidence.comparison
    rows = list(chain.from_iterable([gold.head for gold in evidence.gold_executions]))
    rows += () if predicted is None else predicted.head
    for line in () if comparison is None else comparison.aligned:
        rows += [row for row in (line.gold, line.predicted) if row]
    return _PLAIN.issuperset(map(type, chain.from_iterable(rows)))


def _packed(row: Row) -> Row:
    return tuple(map(cell_to_json, row))


def _plain_or_packed(row: Row) -> Row:
    """The row unchanged if JSON can hold it, going by the types of its cells."""
    return row if _PLAIN.issuperset(map(type, row)) else _packed(row)


def _with_rows(evidence: _Evidence, change: Callable[[Row], Row]) -> _Evidence:
    """The evidence with each row of the samples in it changed."""

    def head(execution: Execution) -> Execution:
        return replace(execution, head=tuple(map(change, execution.head)))

    def rows(table: _Table) -> _Table:
        return replace(table, rows=tuple(map(change, table.rows)))

    predicted, refutation, comparison = evidence.predicted_execution, evidence.refutation, evidence.comparison
    if refutation is not None and (witness := refutation.witness) is not None:
        tables = tuple(map(rows, witness.tables))
        witness = replace(witness, tables=tables, first=rows(witness.first), second=rows(witness.second))
        refutation = replace(refutation, witness=witness)
    if comparison is not None and comparison.aligned:
        aligned = tuple(
            replace(line, gold=line.gold and change(line.gold), predicted=line.predicted and change(line.predicted))
            for line in comparison.aligned
        )
        comparison = replace(comparison, aligned=aligned)
    return replace(
        evidence,
        gold_executions=tuple(map(head, evidence.gold_executions)),
        predicted_execution=predicted and head(predicted),
        candidates=tuple(map(head, evidence.candidates)),
        refutation=refutation,
        comparison=comparison,
    )


def decode_evidence(line: bytes) -> Evidence:
    """The evidence of one line. Raises RunError if the line does not contain one."""
    evidence = decode_evidence_as(line, Evidence)
    if _PACKED not in line and _PACKED_BEFORE not in line:  # most lines have no cell that JSON could not hold
        return evidence
    return _with_rows(evidence, lambda row: tuple(map(cell_from_json, row)))


def decode_evidence_as(line: bytes, kind: type[_Evidence]) -> _Evidence:
    """The evidence of one line in another form than usual, its cells as they are in the line. Raises as above."""
    # Failures get their present names, since they are compared. Evidence does not mention LLMs, whose failures are
    # stored with their opinions.
    return decode_value(line.replace(_BLAME_OF_BEFORE, _BLAME), kind)


def current_line(line: bytes) -> bytes:
    """A line as this Assay would have written it: with the present names of failures and the present form of cells."""
    line = line.replace(_BLAME_OF_BEFORE, _BLAME)
    return packed_line(line) if _PACKED_BEFORE in line else line


def packed_line(line: bytes) -> bytes:
    """A line whose every cell is as `assay.model.results.cell_json` has it, also large integers."""
    return encode_value(_with_rows(decode_evidence(line), _packed))


def encode_value(value: object) -> bytes:
    """Any value of the model as JSON; invalid Unicode in text is escaped."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(_valid_text(msgspec.to_builtins(value)))


def identity_of(value: object) -> bytes:
    """The encoding of a value for a digest, without unused fields that were added later.

    A folder written before these fields existed thus still contains the same cases.
    """
    # No text can match anything of this: its quotes are escaped.
    try:
        head, mark, tail = _ENCODER.encode(value).partition(b',"result')
    except UnicodeEncodeError:
        return _without_unused(encode_value(value))  # its fields are in another order
    if not mark or len(tail) > _MOST_REMEMBERED:
        return _without_unused(head + mark + tail)
    return head + _without_unused_again(mark + tail)  # the fields before the results are always used


def _without_unused(encoded: bytes) -> bytes:
    for unused in _NOT_USED:
        encoded = encoded.replace(unused, b"")
    return encoded


_without_unused_again = lru_cache(maxsize=256)(_without_unused)
"""Apart from their texts, most cases of a question set are alike, and so are most answers."""


def identity_without_origin(value: Case | Prediction) -> bytes:
    """As `identity_of`, of a case or an answer without its place in its file."""
    alike = copy(value)  # unlike `replace`, without checking its fields again
    force_setattr(alike, "origin", None)
    return identity_of(alike)


def decode_value(data: bytes, kind: type[_Value]) -> _Value:
    """A value of the model from JSON. Raises RunError if the JSON does not contain one."""
    try:
        value: _Value = _decoder(cast("Hashable", kind)).decode(data)
    except (msgspec.DecodeError, KeyError, ValueError) as error:
        raise RunError(f"{data[:60]!r} is not a stored {kind.__name__}: {error}") from error
    return value


def pack_task(task: object) -> bytes | object:
    """A task for a worker as bytes, several times as fast as pickling; unchanged if its text is not valid Unicode."""
    try:
        return msgspec.msgpack.encode(task)
    except UnicodeEncodeError:
        return task


def unpack_task(packed: object, kind: type[_Value]) -> _Value:
    """The task that `pack_task` packed."""
    return msgspec.msgpack.decode(packed, type=kind) if isinstance(packed, bytes) else cast("_Value", packed)


def _valid_text(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, (list, tuple)):
        return [_valid_text(item) for item in value]
    if isinstance(value, dict):
        return {_valid_text(name): _valid_text(item) for name, item in value.items()}
    return value


MOST_CHARACTERS = 64_000_000
"""The limit for each text of an answer. A longer query is the system's failure; other texts are cut, and say so."""
_SHOWN = 1000
_Answer = TypeVar("_Answer", Prediction, TurnAnswer)


def within_size(prediction: Prediction) -> Prediction:
    """The answer as it is kept and scored, nearly always unchanged."""
    query = prediction.query
    if not (prediction.turns or _is_long(query) or _is_long(prediction.raw) or _is_long(prediction.explanation)):
        return prediction
    if _is_long(query):
        prediction = replace(prediction, query=None, raw=query, failure=_too_long("query", query))
    if prediction.turns:
        turns = (
            replace(turn, failure=_too_long("answer", turn.raw))
            if turn.selection is None and _is_long(turn.raw)
            else turn
            for turn in prediction.turns
        )
        prediction = replace(prediction, turns=tuple(_cut(turn, "raw", "text") for turn in turns))
    return _cut(prediction, "raw", "explanation")


def _is_long(text: str | None) -> bool:
    return text is not None and len(text) > MOST_CHARACTERS


def _cut(answer: _Answer, *names: str) -> _Answer:
    """The answer, with those of its texts cut that are too long."""
    long = {name: text for name in names if _is_long(text := getattr(answer, name))}
    texts = {name: f"{text[:_SHOWN]}… [cut: {len(text):,} characters]" for name, text in long.items()}
    return replace(answer, **texts) if texts else answer


def _too_long(what: str, text: str | None) -> Failure:
    length = len(text or "")
    message = f"the {what} has {length:,} characters, more than the {MOST_CHARACTERS:,} that are read"
    return Failure(stage="read", kind="unreadable_answer", blame="system", message=message)
