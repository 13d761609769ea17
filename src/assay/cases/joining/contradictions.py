"""What rows say of each other under names that nobody knows: the question again, or a column that both files have.

Names are no help here, so values are: a column that holds the questions themselves repeats them, whatever it is called
and however deep it lies, and two columns with the same values in another order say that the rows are in another order.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.cases.joining.candidates import loose_id
from assay.cases.paths import leaf_columns
from assay.cases.values import UnusableValue, is_absent, name_of
from assay.ports import Column, LoadedCases, LoadedPredictions

_LONG_ENOUGH = 8
"""Characters of a question that is looked for within a prompt: a shorter one stands in any text."""
_SEARCHED = 50
"""Rows whose text lacks their own question and is searched for another: each is held against all questions."""
_TELLING = 3
"""Different values by which two columns of different names are known to be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """A column by which a prediction belongs to another case, and the first row that says so."""

    column: Column
    row: int
    asked: object
    """What the case has, to which the row was joined."""
    question: bool
    """Whether it repeats questions; else it is a column that the questions have, too."""


def contradiction(
    questions: LoadedCases, loaded: LoadedPredictions, places: Sequence[int | None], *, by_position: bool
) -> Contradiction | None:
    """The first column of the predictions that contradicts how they were joined, None where none does.

    By position nothing else vouches for the rows: there questions are looked for within longer texts, too, and columns
    that both files have are compared.
    """
    columns = leaf_columns(loaded.beside)
    asked = [as_question(case.question) for case in questions.cases]
    for column in columns:
        row = _other_question(column, asked, places, within=by_position)
        if row is not None:
            return Contradiction(column=column, row=row, asked=_asked(questions, places, row), question=True)
    return _other_order(columns, questions, places) if by_position else None


def as_question(value: object) -> str:
    """A question as it is compared: without differences of white space and of how Unicode writes a character."""
    return " ".join(unicodedata.normalize("NFKC", value).split()) if isinstance(value, str) else ""


def as_name(value: object) -> str:
    """An id or a name as it is compared; empty for what is none."""
    if is_absent(value) or isinstance(value, (bool, dict, list, tuple)):
        return ""
    try:
        return loose_id(str(value) if not isinstance(value, float) else name_of(value, "") or "")
    except UnusableValue:
        return ""


def _asked(questions: LoadedCases, places: Sequence[int | None], row: int) -> object:
    place = places[row]
    return "" if place is None else questions.cases[place].question


def _other_question(column: Column, asked: Sequence[str], places: Sequence[int | None], *, within: bool) -> int | None:
    """The first row that repeats a question, and not its own; None where the column does not repeat questions."""
    said = [as_question(value) for value in column.values]
    known = set(asked)
    filled = sum(bool(text) for text in said)
    repeated = [row for row, text in enumerate(said) if text and text in known]
    if repeated and len(repeated) * 2 >= filled:
        return next((row for row in repeated if (place := places[row]) is not None and asked[place] != said[row]), None)
    if not within or not filled:
        return None
    folded = [text.casefold() for text in asked]
    lacking = [
        row
        for row, (text, place) in enumerate(zip(said, places, strict=True))
        if text and place is not None and folded[place] not in text.casefold()
    ][:_SEARCHED]
    others = [text for text in set(folded) if len(text) >= _LONG_ENOUGH]
    wrong = [row for row in lacking if any(other in said[row].casefold() for other in others)]
    return wrong[0] if wrong and len(wrong) * 2 >= len(lacking) else None


def _other_order(
    columns: Sequence[Column], questions: LoadedCases, places: Sequence[int | None]
) -> Contradiction | None:
    """A column whose values the questions have, too, each as often, and in another order."""
    held: dict[tuple[str, ...], list[tuple[str, list[str], Column]]] = {}
    for own in _own_columns(questions):
        values = [as_name(value) for value in own.values]
        held.setdefault(tuple(sorted(values)), []).append((as_name(own.name), values, own))
    for column in columns:
        said = [as_name(value) for value in column.values]
        different = len(set(said))
        alike = [
            (values, own)
            for name, values, own in held.get(tuple(sorted(said)), ())
            if different >= _TELLING or (different > 1 and name == as_name(column.name))
        ]
        if not alike or any(values == said for values, _ in alike):
            continue
        values, own = alike[0]
        for row, place in enumerate(places):
            if place is not None and values[place] != said[row]:
                return Contradiction(column=column, row=row, asked=own.values[place], question=False)
    return None


def _own_columns(questions: LoadedCases) -> Iterator[Column]:
    yield from leaf_columns(questions.beside)
    named = next((use.column for use in questions.columns if use.field == "difficulty"), None)
    if named is not None:
        yield Column(name=named, values=tuple(case.difficulty for case in questions.cases))
