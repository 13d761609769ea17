"""Read an SDMX assistant's answers, in any layout. They are kept as they came, and interpreted later."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.cases.fields import ALIASES, POSITION, columns_of, listed, normal
from assay.cases.from_records import unanswered
from assay.cases.records import kind_of
from assay.cases.sdmx.records import Keys, Misread, Null, Record, is_null
from assay.cases.values import UnusableValue, number_of
from assay.errors import CaseFileError
from assay.model import FieldNames, Prediction, TurnAnswer
from assay.ports import LoadedPredictions
from assay.sdmx.answers.messages import answer_by_question

ANSWER_KEYS = ("answer", "prediction", "selection", "query", "url")
_WRAPPERS = ("cases", "predictions", "results", "answers")
_SHAPES = (
    ("indicator_selection",),
    ("urn", "filters", "metadata"),
    ("datasetUrn", "filters", "requestedPeriod", "metadata"),
    ("structuredContent", "_meta", "content", "isError"),
    ("structured_content", "meta", "content", "is_error"),
    ("_meta", "content", "isError"),
    ("queries",),
    ("choices",),
    ("custom_content", "role", "content"),
    ("customContent", "role", "content"),
    ("role", "content"),
)
"""Keys of answers that may be in the record itself: the targets' shape, StatGPT's query, results and messages."""
_OWN = ("turns", "conversation", "messages", *ANSWER_KEYS, *(keys[0] for keys in _SHAPES))
_IDS = frozenset(normal(name) for tier in ALIASES["id"] for name in tier)


class PredictionReader:
    """Reads the predictions of records. ``fields`` may name the keys of the id and of the answer."""

    def __init__(self, fields: FieldNames) -> None:
        self._id = fields.id
        self._answer = fields.prediction
        self._with_id = False
        self._without_id: str | None = None
        self._count = 0

    def read(self, path: Path, called: str, record: Record) -> Iterator[Prediction]:
        """The predictions of a record: one, or all that a document holds in a list or by id."""
        for key, value, place, keys in self._each(record):
            try:
                yield self._prediction(path, key, value, f"{called}, {place}")
            except Misread as error:
                at = record.place_of((*keys, *error.keys), at_key=error.at_key)
                at = place if at == record.place else at
                raise CaseFileError(str(error), path=str(path), place=at) from error
            except UnusableValue as error:
                raise CaseFileError(error.message, path=str(path), place=place) from error

    def loaded(self, path: Path, predictions: Sequence[Prediction]) -> LoadedPredictions:
        """All predictions; by position if no record has an id. Raises CaseFileError if only some have one."""
        if self._with_id and self._without_id is not None:
            raise CaseFileError(
                f"the prediction at {self._without_id} has no id, and others have one: write it", path=str(path)
            )
        return LoadedPredictions(
            predictions=tuple(predictions),
            by_position=bool(predictions) and not self._with_id,
            stated=self._id == POSITION,
        )

    def _each(self, record: Record) -> Iterator[tuple[str | None, object, str, Keys]]:
        held = record.value
        if not record.alone or not isinstance(held, dict):
            yield None, held, record.place, ()
            return
        wrapper = next((key for key in _WRAPPERS if isinstance(held.get(key), list)), None)
        if wrapper is not None and "conversation" not in held:
            for number, value in enumerate(held[wrapper]):
                yield None, value, f"item {number + 1}", (wrapper, number)
        elif any(key in held for key in (*_OWN, self._id, self._answer)) or any(normal(key) in _IDS for key in held):
            yield None, held, record.place, ()
        else:
            for key, value in held.items():
                yield str(key), value, f'key "{key}"', (key,)

    def _prediction(self, path: Path, key: str | None, value: object, origin: str) -> Prediction:
        number = self._count
        self._count += 1
        held = value if isinstance(value, dict) else None
        id_ = key if key is not None else self._id_of(path, held) if held is not None else None
        if id_ is None:
            self._without_id = self._without_id or origin
            id_ = str(number)
        else:
            self._with_id = True
        turns = (
            self._turns(held, of_key=key is not None, origin=origin) if held is not None else (_answer(value, origin),)
        )
        silent = [turn.failure for turn in turns if turn.failure is not None]
        return Prediction(
            case_id=id_,
            failure=silent[0] if len(silent) == len(turns) and silent else None,
            origin=origin,
            turns=turns,
        )

    def _id_of(self, path: Path, held: Mapping[str, object]) -> str | None:
        """A record's id, or its name if it has no id, as for cases."""
        if self._id == POSITION:
            return None
        columns = columns_of("id", self._id, tuple(map(str, held)), path=str(path))
        column = columns[0] if columns else "name" if "name" in held else None
        if column is None:
            return None
        value = held[column]
        written = value.text if type(value) is Null else _scalar(value)
        if written is None or not written.strip():
            raise Misread("the id is blank: write one", (column,))
        return written.strip()

    def _turns(self, held: Mapping[str, object], *, of_key: bool, origin: str) -> tuple[TurnAnswer, ...]:
        for key in ("conversation", "messages"):
            logged = _logged(held.get(key))
            if logged is not None:
                return tuple(
                    _answer(message, origin, (key, place))
                    if message is not None
                    else TurnAnswer(failure=unanswered(f"{origin}, contains no answer to this question"))
                    for place, message in logged
                )
        if "conversation" in held:
            return tuple(_conversation(held["conversation"], origin))
        if "turns" in held:
            turns = held["turns"]
            if not isinstance(turns, list):
                raise Misread(f"is {kind_of(turns)}: expected a list of answers, one for each question", ("turns",))
            return tuple(
                self._wrapped(one, origin) if isinstance(one, dict) else _answer(one, origin, ("turns", number))
                for number, one in enumerate(turns)
            )
        return (self._wrapped(held, origin, bare=of_key),)

    def _wrapped(self, held: Mapping[str, object], origin: str, *, bare: bool = True) -> TurnAnswer:
        """An answer with its neighbouring fields; if ``bare``, a mapping without a known key is the answer itself."""
        named = (self._answer,) if self._answer is not None else ANSWER_KEYS
        usual = frozenset(map(normal, ANSWER_KEYS))
        found = [key for key in held if (normal(str(key)) in usual if self._answer is None else key == self._answer)]
        given = [key for key in found if not is_null(held[key]) and held[key] != ""]
        if len(given) > 1:
            raise Misread(f'both "{given[0]}" and "{given[1]}" could be the answer: keep one of them', (given[1],))
        if found:
            key = (given or found)[0]
            return _answer(held[key], origin, (key,), beside=held)
        for shape in _SHAPES:
            if shape[0] in held:
                return _answer({key: held[key] for key in shape if key in held}, origin, beside=held)
        if bare:
            return _answer(held, origin)
        if self._answer is None and (columns := columns_of("prediction", None, tuple(map(str, held)), path="")):
            return _answer(held[columns[0]], origin, (columns[0],), beside=held)
        raise Misread(
            f"has no answer, only {listed([str(key) for key in held]) or 'an empty object'}. Write it under "
            f'"{named[0]}", several under "turns", or in the shape of a target (indicator_selection)'
        )


def _logged(messages: object) -> list[tuple[int, dict[str, object] | None]] | None:
    """The answer to each question of a logged conversation, with its place; None if the value is not a conversation.

    If it has the shape of the cases, its questions have targets, and these are the answers.
    """
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
        return None
    if any("target" in one or "targets" in one for one in messages):
        return None
    places = answer_by_question(messages)
    return [(0, None) if place is None else (place, messages[place]) for place in places] or None


def _conversation(messages: object, origin: str) -> Iterator[TurnAnswer]:
    """The answers of a file in the shape of the cases: each question's target is the selection."""
    if not isinstance(messages, list):
        raise Misread(f"is {kind_of(messages)}: expected a list of messages", ("conversation",))
    for number, message in enumerate(messages):
        keys = ("conversation", number)
        if not isinstance(message, dict):
            raise Misread(f"is {kind_of(message)}: expected a message with role, content and target", keys)
        if message.get("role") != "user":
            continue
        several = message.get("targets")
        if isinstance(several, list) and len(several) > 1:
            raise Misread("contains several selections: expected one", (*keys, "targets"))
        only = several[0] if isinstance(several, list) and several else None
        yield _answer(only if is_null(message.get("target")) else message["target"], origin, (*keys, "target"))


def _answer(value: object, origin: str, keys: Keys = (), *, beside: Mapping[str, object] | None = None) -> TurnAnswer:
    beside = beside or {}
    said = beside.get("text")
    failure = None
    raw: str | None = None
    if is_null(value) or value == "":
        failure = unanswered(f"{origin}, contains no answer")
    elif isinstance(value, str):
        raw = value
        failure = None if value.strip() else unanswered(f"{origin}, contains a blank answer")
    elif isinstance(value, (dict, list, tuple)):
        raw = _json(value)
    else:
        raise Misread(f"the answer is {kind_of(value)}: expected text, or a selection", keys)
    seconds = beside.get("latency_s")
    return TurnAnswer(
        raw=raw,
        text=said if isinstance(said, str) else None,
        latency_s=None if is_null(seconds) else number_of(seconds, "latency_s"),
        failure=failure,
    )


def _json(value: object) -> str:
    import msgspec

    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_unknown)
        text.encode()
    except (_NotPlain, ValueError):
        pass
    else:
        return text
    return msgspec.json.encode(_plain(value)).decode()


class _NotPlain(Exception):
    """A value is not a JSON value. Not raised outside this module."""


def _unknown(value: object) -> object:
    raise _NotPlain(value)


def _plain(value: Any) -> object:
    """A decoded value as JSON values. A code is the text as written, even if that is ``null``."""
    if isinstance(value, dict):
        return {
            str(key): one.text if type(one) is Null and key == "id" and one.text else _plain(one)
            for key, one in value.items()
        }
    if isinstance(value, tuple):
        return [{"id": term.id, "name": term.name} if term.name else {"id": term.id} for term in value]
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return None if type(value) is Null else value


def _scalar(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise Misread(f"the id is {kind_of(value)}: expected text")
    return str(value)
