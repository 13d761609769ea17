"""Read whether a question has an answer, and whether a prediction answers, declines or asks back.

Only columns that are made for it say so: no text in words is searched for a refusal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Final, TypeVar

from assay.cases.fields import normal
from assay.cases.records import Record, kind_of
from assay.cases.values import UnusableValue, is_absent, usable
from assay.model import Decision
from assay.model.cases.decision import DECISION_WORDS, decision_said, is_null_word

T = TypeVar("T")

_TRUTH: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

_EXPECTS: Final = frozenset(map(normal, ("expects", "expected_decision", "gold_decision")))
_ANSWERABLE: Final = frozenset(map(normal, ("answerable", "is_answerable", "feasible", "is_feasible")))
_IMPOSSIBLE: Final = frozenset(
    map(normal, ("unanswerable", "is_unanswerable", "is_impossible", "infeasible", "is_infeasible"))
)
_DECIDES: Final = frozenset(map(normal, ("decision", "predicted_decision")))
_DECLINES: Final = frozenset(map(normal, ("declined", "declines", "abstained", "abstains", "abstention", "refused")))
_CLARIFIES: Final = frozenset(map(normal, ("clarifies", "asks_back", "clarification", "clarifying_question")))
_CONFIDENCE: Final = frozenset(map(normal, ("confidence", "confidence_score", "predicted_confidence")))
_LOG_PROBABILITY: Final = frozenset(map(normal, ("logprob", "log_probability")))

Placed = Callable[[Record, str, Callable[[object], T]], T]
"""Reads a column of a record; an unusable value raises with its place."""


class Expectations:
    """The columns of a question set that say what is right to do with each question."""

    def __init__(self, columns: Sequence[str], *, named: str | None = None) -> None:
        """``named``: the column that says it, in place of the known ones."""
        self._expects = () if named else _named(columns, _EXPECTS)
        self._answerable = (named,) if named else _named(columns, _ANSWERABLE)
        self._impossible = () if named else _named(columns, _IMPOSSIBLE)
        self._in_words = named is not None
        self.columns = (*self._expects, *self._answerable, *self._impossible)

    def of(self, record: Record, golds: tuple[str, ...]) -> tuple[Decision, tuple[str, ...]]:
        """The right decision and the gold queries without EHRSQL's ``null``. Raises UnusableValue if columns differ."""
        null = bool(golds) and is_null_word(golds[0]) and all(map(is_null_word, golds))
        if not null and not self.columns:
            return "answer", golds  # as nearly all questions are
        said: dict[str, Decision] = {}
        for column in self._expects:
            if (found := decision_of(_value(record, column), column)) is not None:
                said[column] = found
        for columns, yes in ((self._answerable, True), (self._impossible, False)):
            for column in columns:
                value = _value(record, column)
                if self._in_words and isinstance(value, str) and (word := decision_said(value)) is not None:
                    said[column] = word
                elif (truth := truth_of(value, column)) is not None:
                    said[column] = "answer" if truth is yes else "decline"
        if null:
            said["gold"] = "decline"
        # What asks for clarification has no answer as it stands: both may be said of one question.
        kinds = set(said.values())
        if kinds == {"decline", "clarify"} and not null:
            kinds = {"clarify"}
        if len(kinds) > 1:
            told = " and ".join(f'"{column}" says {kind}' for column, kind in said.items())
            raise UnusableValue(f"{told}: a question has an answer or it has none")
        return next(iter(kinds), "answer"), () if null else golds


class Decisions:
    """The columns of a prediction file that say what the system did, and how sure it is."""

    def __init__(self, columns: Sequence[str], *, decision: str | None = None, confidence: str | None = None) -> None:
        """``decision`` and ``confidence``: the columns that say it, in place of the known ones."""
        self._decides = (decision,) if decision else _named(columns, _DECIDES)
        self._declines = () if decision else _named(columns, _DECLINES)
        self._answerable = () if decision else _named(columns, _ANSWERABLE)
        self._clarifies = () if decision else _named(columns, _CLARIFIES)
        self._confidence = (confidence,) if confidence else _named(columns, _CONFIDENCE)
        self._log = () if confidence else _named(columns, _LOG_PROBABILITY)
        saying = (*self._decides, *self._declines, *self._answerable, *self._clarifies)
        self.columns = (*saying, *self._confidence, *self._log)

    def decision(self, record: Record, *, shared: bool = False) -> Decision | None:
        """What the system did; None if nothing is said. Raises UnusableValue if columns disagree.

        ``shared``: the file contains the questions, too, so that ``answerable`` is said of the question.
        """
        said: dict[str, Decision] = {}
        for column in self._decides:
            if (found := decision_of(_value(record, column), column)) is not None:
                said[column] = found
        for column in self._declines:
            if truth_of(_value(record, column), column):
                said[column] = "decline"
        for column in () if shared else self._answerable:
            if truth_of(_value(record, column), column) is False:
                said[column] = "decline"
        for column in self._clarifies:
            if _says(_value(record, column), column):
                said[column] = "clarify"
        kinds = set(said.values())
        if len(kinds) > 1:
            told = " and ".join(f'"{column}" says {kind}' for column, kind in said.items())
            raise UnusableValue(f"{told}: a system does one of these")
        return next(iter(kinds), None)

    def confidence(self, record: Record) -> float | None:
        """From 0 to 1; None if nothing is said. Raises UnusableValue for anything else."""
        for column in self._confidence:
            if (found := confidence_of(_value(record, column), column)) is not None:
                return found
        for column in self._log:
            value = _value(record, column)
            if is_absent(value) or value == "":
                continue
            number = _number(value, column)
            if number > 0.0:
                raise UnusableValue(f"{column} is {kind_of(value)}: a logarithm of a probability is 0 or less")
            return math.exp(number)
        return None


def decision_of(value: object, what: str) -> Decision | None:
    """``answer``, ``decline`` or ``clarify``, or a common word for one of these; blank is None."""
    if is_absent(value) or (isinstance(value, str) and not value.strip()):
        return None
    found = decision_said(value)
    if found is None:
        near = get_close_matches(normal(value), DECISION_WORDS, n=1) if isinstance(value, str) else []
        hint = f' (did you mean "{near[0]}"?)' if near else ""
        raise UnusableValue(f"{what} is {kind_of(value)}{hint}: expected answer, decline or clarify")
    return found


def says_decision(column: str) -> bool:
    """Whether a column of a question set says what is right to do with its questions."""
    return normal(column) in _EXPECTS | _ANSWERABLE | _IMPOSSIBLE


def truth_of(value: object, what: str) -> bool | None:
    """A truth value, also as 0, 1 or a word (CSV); blank is None."""
    if is_absent(value) or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, (bool, int)) and value in (0, 1):
        return bool(value)
    known = _TRUTH.get(str(value).strip().lower().removesuffix(".0"))
    if known is None:
        raise UnusableValue(f"{what} is {kind_of(value)}: expected true or false")
    return known


def confidence_of(value: object, what: str) -> float | None:
    """A number from 0 to 1, also as text; blank is None."""
    if is_absent(value) or (isinstance(value, str) and not value.strip()):
        return None
    number = _number(value, what)
    if not 0.0 <= number <= 1.0:
        hint = f": {number:g} percent is {number / 100:g}" if 1.0 < number <= 100.0 else ""
        raise UnusableValue(f"{what} is {kind_of(value)}: expected a number from 0 to 1{hint}")
    return number


def _says(value: object, what: str) -> bool:
    """Whether a column of clarifying questions has one: true, or the question itself."""
    if isinstance(value, str) and value.strip() and value.strip().lower() not in _TRUTH:
        return True
    return bool(truth_of(value, what))


def _number(value: object, what: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise UnusableValue(f"{what} is {kind_of(value)}: expected a number")
    return number


def _named(columns: Sequence[str], names: frozenset[str]) -> tuple[str, ...]:
    return tuple(column for column in columns if normal(column) in names)


def _value(record: Record, column: str) -> object:
    return usable(record.values.get(column))


def refusal_of(columns: Sequence[str], *, decision: str | None, confidence: str | None) -> Decisions | None:
    """The decisions that a table of predictions states; None if it has no column for them."""
    found = Decisions(columns, decision=decision, confidence=confidence)
    return found if found.columns else None
