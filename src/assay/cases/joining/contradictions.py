"""Find rows that contradict their joining in columns with unknown names: repeated questions, or shared columns.

Names do not help here, so values are compared: a column that contains the questions themselves repeats them, whatever
its name and depth, and two columns with the same values in a different order show that the rows are in a different
order.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from msgspec import Struct

from assay.cases.joining.candidates import loose_id
from assay.cases.joining.sides import Sides, column_of
from assay.cases.values import UnusableValue, is_absent, name_of
from assay.platform.spool import parts_of
from assay.ports import Column

_LONG_ENOUGH = 8
"""Characters of a question that is searched for within a prompt: a shorter one could occur in any text."""
_SEARCHED = 50
"""The most rows without their own question that are searched for another one: each is compared with all questions."""
_TELLING = 3
"""Number of different values from which on two columns with different names count as the same."""


class Contradiction(Struct, frozen=True, kw_only=True):
    """A column by which a prediction belongs to a different case, and the first such row."""

    column: Column
    row: int
    asked: object
    """The value of the case to which the row was joined."""
    question: bool
    """Whether the column repeats questions; otherwise the questions have the same column."""


def contradiction(sides: Sides, places: Sequence[int | None], *, by_position: bool) -> Contradiction | None:
    """The first column of the predictions that contradicts how they were joined; None if there is none.

    A join by position has no other evidence: then questions are also searched for within longer texts, and
    columns that both files have are compared.
    """
    if not sides.prediction_columns:
        return None
    asked = [as_question(text) for text in sides.asked]
    for column in sides.prediction_columns:
        row = _other_question(column, asked, places, within=by_position)
        if row is not None:
            place = places[row]
            own = "" if place is None else sides.questions.cases[place].question
            return Contradiction(column=column, row=row, asked=own, question=True)
    return _other_order(sides, places) if by_position else None


def as_question(value: object) -> str:
    """A question in the form for comparing: with white space and Unicode normalized."""
    return " ".join(unicodedata.normalize("NFKC", value).split()) if isinstance(value, str) else ""


def as_name(value: object) -> str:
    """An id or a name in the form for comparing; empty for any other value."""
    if is_absent(value) or isinstance(value, (bool, dict, list, tuple)):
        return ""
    try:
        return loose_id(str(value) if not isinstance(value, float) else name_of(value, "") or "")
    except UnusableValue:
        return ""


def _other_question(column: Column, asked: Sequence[str], places: Sequence[int | None], *, within: bool) -> int | None:
    """The first row that repeats a question other than its own; None if there is none."""
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


def _other_order(sides: Sides, places: Sequence[int | None]) -> Contradiction | None:
    """A column with the same values as one of the questions' columns, but in a different order."""
    held: dict[tuple[str, ...], list[tuple[str, list[str], Column]]] = {}
    for own in _own_columns(sides):
        values = [as_name(value) for value in own.values]
        held.setdefault(tuple(sorted(values)), []).append((as_name(own.name), values, own))
    for column in sides.prediction_columns:
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


def _own_columns(sides: Sides) -> Iterator[Column]:
    yield from sides.case_columns
    named = column_of("difficulty", sides.questions.columns)
    if named is not None:
        difficulties = parts_of(sides.questions.cases, "difficulty")
        yield Column(name=named, values=tuple(case.difficulty for case in difficulties))
