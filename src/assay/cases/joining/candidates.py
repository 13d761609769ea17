"""Find the columns that may contain the ids if no column's name says so, and suggest them in messages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from msgspec import Struct

from assay.cases.fields import POSITION, normal
from assay.cases.joining.sides import Sides, first_number, repeats_case, same_name
from assay.cases.values import UnusableValue, is_absent, name_of
from assay.platform.surface import on_command_line, option, options
from assay.ports import Column

_LONGEST = 200
"""The most characters of an id: longer texts are prompts and answers."""
_NUMBER = re.compile(r"([+-]?)0*(\d+)(?:\.0+)?")
_SOUNDS_LIKE_ID = re.compile(r"(?:id|ids|no|nr|num|number|key|case|index|idx|ref|test|item|uuid|guid|unnamed:0)$")

_WORD = re.compile(r"[\w.:#/-]{1,64}")
_FRACTION = re.compile(r"-?\d*\.\d+")
_MEASURE = re.compile(
    r"token|latenc|time|second|duration|elapsed|cost|price|score|prob|confiden|length|chars|size|count|rows$|ms$"
)
"""Names of counts and measurements, which differ from row to row but do not identify it."""


class Candidate(Struct, frozen=True, kw_only=True):
    """A column that may be the predictions' id."""

    option: str
    """The command-line option that chooses this column."""
    why: str
    in_order: bool
    """Whether joining by this column is the same as joining by position."""
    shared: str | None = None
    """The column's name if both files have it, with values that are more than row numbers: surely an id."""


def loose_id(text: str) -> str:
    """An id without the details that a spreadsheet changes: letter case, blanks, leading zeros, ``.0``."""
    plain = "".join(unicodedata.normalize("NFKC", text).casefold().split())
    number = _NUMBER.fullmatch(plain)
    return f"{number[1].replace('+', '')}{number[2]}" if number else plain


def candidates_of(sides: Sides) -> list[Candidate]:
    """The columns of predictions whose values identify rows and occur among the questions, or may still be ids.

    Columns that contain the questions' ids come first. The others have a name like an id's, or a different number or
    word in each row: what they refer to is not in the questions, so the order of the rows cannot be checked. They are
    omitted if both files have one column of ids.
    """
    own = {loose_id(id_) for id_ in sides.case_ids} if not sides.questions.by_position else set()
    beside = [(column.name, ids) for column in sides.case_columns if (ids := ids_in(column)) is not None]
    certain: list[Candidate] = []
    by_name: list[Candidate] = []
    plain = {column.name for column in sides.loaded.beside}
    for column in sides.prediction_columns:
        ids = ids_in(column)
        if ids is None or repeats_case(column):
            continue
        found = _found(column.name, ids, own, beside, sides.count)
        certain += found
        if not found and (
            _SOUNDS_LIKE_ID.search(normal(column.name)) or (column.name in plain and _labels_rows(column.name, ids))
        ):
            why = "its values are distinct"
            option = named_ids(prediction=column.name)
            by_name.append(Candidate(option=option, why=why, in_order=False))
    certain.sort(key=lambda candidate: candidate.shared is None)
    return certain + ([] if certain and certain[0].shared else by_name)


def _labels_rows(name: str, ids: Sequence[str]) -> bool:
    """Whether whole numbers or single words identify the rows, in a column not named like a measurement."""
    return (
        len(ids) > 1
        and not _MEASURE.search(normal(name))
        and all(_WORD.fullmatch(one) and not _FRACTION.fullmatch(one) for one in ids)
    )


def _found(
    name: str, ids: Sequence[str], own: set[str], beside: Sequence[tuple[str, Sequence[str]]], count: int
) -> list[Candidate]:
    """The column as an id: it holds the questions' ids, another column of theirs, or their row numbers."""
    half = len(ids) / 2
    option = named_ids(prediction=name)
    if own and len(own.intersection(ids)) >= half:
        return [Candidate(option=option, why="its values are the questions' ids", in_order=False)]
    found = []
    # A column with the same name first.
    for other, values in sorted(beside, key=lambda one: not same_name(one[0], name)):
        if len(set(values).intersection(ids)) >= half:
            same = same_name(other, name) and other == name
            found.append(
                Candidate(
                    option=named_ids(questions=other, prediction=None if same else name),
                    why="both files have its values" if same else "both contain the same values",
                    in_order=list(values) == list(ids),
                    shared=other if same and first_number(ids, count) is None else None,
                )
            )
    if not found and (first := first_number(ids, count)) is not None:
        in_order = ids == [str(first + row) for row in range(count)]
        found.append(Candidate(option=option, why="its values number the rows", in_order=in_order))
    return found


def named_ids(*, questions: str | None = None, prediction: str | None = None, bare: bool = False) -> str:
    """The options that name the columns of ids, to copy; ``bare``: in quotes only if that is needed."""
    named = [
        (name, value) for name, value in (("--id-column", questions), ("--prediction-id-column", prediction)) if value
    ]
    if on_command_line():
        return " ".join(f"{name} {value if bare and value.isidentifier() else _quoted(value)}" for name, value in named)
    return options(*named)


def both_ids() -> str:
    """The options that name the id of both files, or of each."""
    if on_command_line():
        return "--id-column, --prediction-id-column"
    return options(("--id-column", None), ("--prediction-id-column", None))


def _quoted(name: str) -> str:
    """A column's name, quoted for a shell; a path may itself hold quotes."""
    return f"'{name}'" if '"' in name else f'"{name}"'


def ids_in(column: Column) -> list[str] | None:
    """The column's values as ids; None if one is missing or long, or two are the same."""
    ids: dict[str, None] = {}
    for value in column.values:
        if is_absent(value) or isinstance(value, (bool, dict, list, tuple)):
            return None
        try:
            text = name_of(value, "")
        except UnusableValue:
            return None
        if text is None or len(text) > _LONGEST:
            return None
        loose = loose_id(text)
        if loose in ids:
            return None
        ids[loose] = None
    return list(ids)


MOST_IDS = 3
"""Ids of either side that a message shows."""
MOST_TEXT = 160
"""Characters of a question that a message shows."""


def by_position() -> str:
    """The option that joins by position, to copy."""
    return named_ids(prediction=POSITION)


def did_you_mean(found: Sequence[Candidate]) -> str:
    """A hint with the columns that may be the ids; empty if there are none."""
    if not found:
        return ""
    said = [f"{candidate.option} ({candidate.why})" for candidate in found[:MOST_IDS]]
    return f"Did you mean {', or '.join(said)}? {as_rows().capitalize()}."


def as_rows() -> str:
    return f"if the n-th prediction answers the n-th question, say {by_position()}"


def no_fit(sides: Sides) -> str:
    count = sides.count
    given = some(sides.prediction_ids)
    if sides.loaded.by_position:
        return (
            f"no prediction matches a case: there are {count} cases, at positions from 0 to {count - 1}, "
            f"and the predictions are for the positions {given}. If these are ids, name their column "
            f"(BIRD: {named_ids(prediction='question_id')})"
        )
    # Without columns, as in SDMX cases, the key of the cases' ids is fixed.
    columns = f"columns that have the same ids on both sides ({both_ids()})"
    if not sides.questions.columns:
        columns = f"predictions' column that has the cases' ids ({option('--prediction-id-column')})"
    message = (
        f"no prediction matches a case: the cases' ids are {some(sides.case_ids)}, the predictions' {given}. "
        f"Name the {columns}."
    )
    found = candidates_of(sides)
    if found:
        return f"{message} {did_you_mean(found)}"
    if count == len(sides.loaded.predictions):
        message += f" Or, if both files have the same {count} in the same order, say {by_position()}"
    return message


def some(ids: Sequence[str]) -> str:
    return ", ".join(f'"{id_}"' for id_ in ids[:MOST_IDS]) + (", …" if len(ids) > MOST_IDS else "")
