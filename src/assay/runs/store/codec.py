"""Evidence as one line of JSON and back, without losing a cell's type."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from math import isfinite
from types import NoneType
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import replace

from assay.errors import RunError
from assay.model import (
    AlignedRow,
    Case,
    Cell,
    Evidence,
    Execution,
    Prediction,
    Row,
)
from assay.model.cell_json import cell_from_json, cell_to_json
from assay.model.witness import Witness

_Value = TypeVar("_Value")
_PLAIN = frozenset({NoneType, bool, int, str})
_ORIGIN = b'"origin":'
_NOT_USED = (
    *(
        b'"table":null,',
        b'"results":[],',
        b'"result":null,',
        b'"shape":null,',
        b'"expects":"answer",',
        b'"conversation":null,',
        b'"turn":null,',
        b'"history":[],',
    ),
    b'"decision":null,"confidence":null,',
    b',"code":null',
    b'"query_source":null,',
    b',"extraction":null',
)
"""Fields of cases and answers that were added later, as they are where nothing uses them."""
_BLAME_OF_BEFORE, _BLAME = b'"blame":"judge"', b'"blame":"assay"'
"""The old and the new name of Assay's own failures in stored runs. Texts cannot match: their quotes are escaped."""
_NUMERIC = _PLAIN | {float}


@lru_cache(maxsize=1)
def _encoder() -> msgspec.json.Encoder:
    return msgspec.json.Encoder(order="deterministic")


@lru_cache(maxsize=8)
def _decoder(kind: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def encode_evidence(evidence: Evidence) -> bytes:
    """One line of JSON, without the line's end."""
    if _plain(evidence, _as_they_are):
        try:
            return _encoder().encode(evidence)
        except (UnicodeEncodeError, OverflowError):  # text that is not valid Unicode, an integer beyond 64 bits
            pass
    return encode_value(_with_rows(evidence, lambda row: tuple(map(cell_to_json, row))))


def _as_they_are(cells: list[Cell]) -> bool:
    """Whether JSON can hold the cells unchanged, judging by their types."""
    kinds = set(map(type, cells))
    return kinds <= _PLAIN or (kinds <= _NUMERIC and all(isfinite(cell) for cell in cells if type(cell) is float))


def _as_they_were(cells: list[Cell]) -> bool:
    """Whether no cell was packed."""
    return dict not in set(map(type, cells))


def _plain(evidence: Evidence, test: Callable[[list[Cell]], bool]) -> bool:
    """Whether all cells of the sample pass the test."""
    cells: list[Cell] = []
    for line in evidence.comparison.aligned if evidence.comparison is not None else ():
        cells += line.gold or ()
        cells += line.predicted or ()
    for execution in _executions(evidence):
        for row in execution.head:
            cells += row
    if evidence.refutation is not None:
        for rows in _witness_rows(evidence.refutation.witness):
            for row in rows:
                cells += row
    return test(cells)


def _witness_rows(witness: Witness | None) -> Iterable[Iterable[Row]]:
    if witness is None:
        return ()
    return (*(table.rows for table in witness.tables), witness.first.rows, witness.second.rows)


def _executions(evidence: Evidence) -> tuple[Execution, ...]:
    predicted = evidence.predicted_execution
    golds = evidence.gold_executions
    return golds if predicted is None else (*golds, predicted, *evidence.candidates)


def decode_evidence(line: bytes) -> Evidence:
    """The evidence of one line. Raises RunError where the line does not hold one."""
    return _unpacked(decode_value(of_today(line), Evidence))


def _unpacked(evidence: Evidence) -> Evidence:
    """With the cells as they were: most lines have none that JSON could not hold."""
    if _plain(evidence, _as_they_were):
        return evidence
    return _with_rows(evidence, lambda row: tuple(map(cell_from_json, row)))


def of_today(line: bytes) -> bytes:
    """A line of evidence with its failures under their present names: they are compared, so names must be unique.

    Evidence does not mention LLMs, whose failures are kept with their opinions.
    """
    return line.replace(_BLAME_OF_BEFORE, _BLAME)


@lru_cache(maxsize=1)
def _findings() -> type[msgspec.Struct]:
    """The fields of `Evidence` besides the case and the prediction."""
    held = [field for field in msgspec.structs.fields(Evidence) if field.name not in ("case", "prediction")]
    return msgspec.defstruct(
        "Findings",
        [(field.name, field.type) if field.required else (field.name, field.type, field.default) for field in held],
        frozen=True,
    )


def decode_findings(line: bytes, case: Case, prediction: Prediction) -> Evidence:
    """As `decode_evidence`, with the case and the prediction given: not reading them saves half the work."""
    found = decode_value(of_today(line), _findings())
    return _unpacked(Evidence(case=case, prediction=prediction, **msgspec.structs.asdict(found)))


def encode_value(value: object) -> bytes:
    """Any value of the model as JSON; invalid Unicode in text is escaped."""
    try:
        return _encoder().encode(value)
    except UnicodeEncodeError:
        return _encoder().encode(_valid_text(msgspec.to_builtins(value)))


def identity_of(value: object) -> bytes:
    """The encoding of a value for a digest, without unused fields that were added later.

    A folder written before these fields existed thus still holds the same cases.
    """
    encoded = encode_value(value)
    for unused in _NOT_USED:
        encoded = encoded.replace(unused, b"")  # texts cannot match: their quotes are escaped
    return encoded


def identity_without_origin(value: Case | Prediction) -> bytes:
    """As `identity_of`, of a case or an answer without its place in its file."""
    encoded = identity_of(value)
    if value.origin is None:
        return encoded
    # No text can match, as the quotes within texts are escaped; no other value of a case or an answer has that name.
    before, _, rest = encoded.partition(_ORIGIN)
    return before + _ORIGIN + b"null" + rest[len(_encoder().encode(value.origin)) :]


def decode_value(data: bytes, kind: type[_Value]) -> _Value:
    """A value of the model from JSON. Raises RunError where the JSON does not hold one."""
    try:
        value: _Value = _decoder(cast("Hashable", kind)).decode(data)
    except (msgspec.DecodeError, KeyError, ValueError) as error:
        raise RunError(f"{data[:60]!r} is no stored {kind.__name__}: {error}") from error
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


def _with_rows(evidence: Evidence, change: Callable[[Row], Row]) -> Evidence:
    if any(execution.head for execution in _executions(evidence)):
        predicted = evidence.predicted_execution
        evidence = replace(
            evidence,
            gold_executions=tuple(_with_head(gold, change) for gold in evidence.gold_executions),
            predicted_execution=predicted and _with_head(predicted, change),
            candidates=tuple(_with_head(candidate, change) for candidate in evidence.candidates),
        )
    found = evidence.refutation
    if found is not None and found.witness is not None:
        evidence = replace(evidence, refutation=replace(found, witness=_with_cells(found.witness, change)))
    comparison = evidence.comparison
    if comparison is None or not comparison.aligned:
        return evidence
    aligned = tuple(
        AlignedRow(
            state=line.state,
            gold=None if line.gold is None else change(line.gold),
            predicted=None if line.predicted is None else change(line.predicted),
        )
        for line in comparison.aligned
    )
    return replace(evidence, comparison=replace(comparison, aligned=aligned))


def _with_cells(witness: Witness, change: Callable[[Row], Row]) -> Witness:
    first, second = (
        replace(result, rows=tuple(map(change, result.rows))) for result in (witness.first, witness.second)
    )
    tables = tuple(replace(table, rows=tuple(map(change, table.rows))) for table in witness.tables)
    return replace(witness, tables=tables, first=first, second=second)


def _with_head(execution: Execution, change: Callable[[Row], Row]) -> Execution:
    return replace(execution, head=tuple(map(change, execution.head))) if execution.head else execution


def _valid_text(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, (list, tuple)):
        return [_valid_text(item) for item in value]
    if isinstance(value, dict):
        return {_valid_text(name): _valid_text(item) for name, item in value.items()}
    return value
