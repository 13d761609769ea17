"""Several answers to one question in one file: its samples, numbered like the repeated answers of a live system.

Rows with one id are samples if a column numbers them (`SAMPLE_COLUMNS`), or if the user says how many there are. The
column decides their order if all questions share its numbers; otherwise, and without a column, the file's order
does. A question set in the same rows repeats each question for its samples, and then counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from assay.cases.fields import normal
from assay.errors import InputError, plural
from assay.model import Case, ColumnUse, Prediction
from assay.platform.spool import parts_of, spooled
from assay.platform.surface import argument, option
from assay.ports import Column, LoadedCases, LoadedPredictions

SAMPLE_COLUMNS: Final = (
    *("sample", "sample_index", "sample_idx", "sample_number", "sample_no", "sample_id"),
    *("repeat", "repetition", "trial", "trial_index", "trial_idx", "epoch"),
    *("rollout", "rollout_index", "rollout_idx", "generation_index", "generation_idx"),
    *("candidate", "candidate_index", "candidate_idx", "completion_index", "completion_idx"),
)
"""The names of columns that number the answers to a question. Not ``attempt``: it often numbers repeated requests."""
MOST_SAMPLES: Final = 1_000
"""As many as a live system can be asked for."""


def with_samples(loaded: LoadedPredictions, name: str, *, repeats: int = 1) -> LoadedPredictions:
    """The predictions, with the samples of each question numbered from 0 in ``repeat``; unchanged if it has only one.

    ``name`` is the file's, for messages; ``repeats`` how many answers to each question the user expects. Raises
    InputError if the largest number of answers to a question is another one. Ids that occur more than once without a
    column that numbers them, and without ``repeats``, stay as they are.
    """
    ids = [one.case_id for one in parts_of(loaded.predictions, "case_id")]
    most = max(Counter(ids).values())
    if repeats > 1 and most != repeats:
        raise InputError(_other_number(loaded, name, repeats=repeats, most=most))
    if has_samples(loaded):
        _check_numbers(loaded, name)
        return loaded
    if most == 1:
        return loaded
    column, numbers = _numbered(ids, loaded.beside)
    if column is None and repeats == 1:
        return loaded
    if most > MOST_SAMPLES:
        raise InputError(f"{name}: has {most:,} answers to one question: at most {MOST_SAMPLES:,} are evaluated")
    rows = zip(loaded.predictions, _ranks(ids, numbers, most=most), strict=True)
    numbered = spooled((replace(one, repeat=rank) for one, rank in rows), Prediction)
    if column is None:
        return replace(loaded, predictions=numbered)
    return replace(
        loaded,
        predictions=numbered,
        columns=(*loaded.columns, ColumnUse(field="sample", column=column)),
        beside=tuple(one for one in loaded.beside if one.name != column),
        unread=tuple(one for one in loaded.unread if one != column),
    )


def has_samples(loaded: LoadedPredictions) -> bool:
    """Whether some question has several answers."""
    return any(one.repeat for one in parts_of(loaded.predictions, "repeat"))


def first_answers(loaded: LoadedPredictions) -> tuple[LoadedPredictions, Sequence[int]]:
    """The first answer to each question, and for each prediction the place of its question's answer among these."""
    places: dict[str, int] = {}
    rows = [places.setdefault(one.case_id, len(places)) for one in parts_of(loaded.predictions, "case_id")]
    kept = _first_rows(rows)
    first = spooled((loaded.predictions[row] for row in kept), Prediction)
    return replace(loaded, predictions=first, beside=_rows_of(loaded.beside, kept)), rows


def first_questions(found: LoadedCases, *, repeats: int) -> LoadedCases:
    """The question set without the rows that repeat a case for its samples; unchanged if ids occur once.

    Rows are samples as in `with_samples`. Rows of one id that differ stay, so that the id is refused.
    """
    ids = [case.id for case in parts_of(found.cases, "id")]
    if len(set(ids)) == len(ids) or (repeats == 1 and _numbered(ids, found.beside)[0] is None):
        return found
    places: dict[str, int] = {}
    kept = _first_rows([places.setdefault(id_, len(places)) for id_ in ids])
    first = {id_: replace(found.cases[row], origin=None) for id_, row in zip(places, kept, strict=True)}
    if any(replace(case, origin=None) != first[case.id] for case in found.cases):
        return found
    cases = spooled((found.cases[row] for row in kept), Case)
    return replace(found, cases=cases, beside=_rows_of(found.beside, kept))


def _check_numbers(loaded: LoadedPredictions, name: str) -> None:
    """Raise InputError if two predictions that came with numbers (`Prediction.repeat`) have the same."""
    counts = Counter((one.case_id, one.repeat) for one in parts_of(loaded.predictions, "case_id", "repeat"))
    (id_, repeat), count = counts.most_common(1)[0]
    if count > 1:
        raise InputError(f"{name}: {count} answers to the case {id_!r} have the number {repeat}: give each its own")


def _numbered(ids: Sequence[str], columns: Sequence[Column]) -> tuple[str | None, Sequence[int]]:
    """The column that numbers the samples of each id, and its numbers; None if there is none."""
    by_name = {normal(column.name): column for column in columns}
    for name in map(normal, SAMPLE_COLUMNS):
        column = by_name.get(name)
        numbers = None if column is None else _whole_numbers(column.values)
        if column is not None and numbers is not None and len(set(zip(ids, numbers, strict=True))) == len(ids):
            return column.name, numbers
    return None, range(len(ids))


def _whole_numbers(values: Sequence[object]) -> list[int] | None:
    try:
        return [int(str(value).removesuffix(".0")) for value in values]
    except ValueError:
        return None


def _ranks(ids: Sequence[str], numbers: Sequence[int], *, most: int) -> list[int]:
    """The number of each sample, from 0: by its number if all questions share these, otherwise by order within its id.

    With shared numbers a sample that is missing from the middle leaves a gap in its place.
    """
    shared = sorted(set(numbers))
    if len(shared) == most:
        rank = {number: place for place, number in enumerate(shared)}
        return [rank[number] for number in numbers]
    ranks = [0] * len(ids)
    count: Counter[str] = Counter()
    for row in sorted(range(len(ids)), key=lambda row: numbers[row]):
        ranks[row] = count[ids[row]]
        count[ids[row]] += 1
    return ranks


def _first_rows(places: Sequence[int]) -> list[int]:
    """The first row of each place, for places that count up from 0 as they first occur."""
    kept: list[int] = []
    for row, place in enumerate(places):
        if place == len(kept):
            kept.append(row)
    return kept


def _rows_of(columns: Sequence[Column], rows: Sequence[int]) -> tuple[Column, ...]:
    return tuple(replace(column, values=tuple(column.values[row] for row in rows)) for column in columns)


def _other_number(loaded: LoadedPredictions, name: str, *, repeats: int, most: int) -> str:
    expected = f"{argument('--repeat')} expects {repeats:,} for each"
    if loaded.by_position:
        return (
            f"{name}: the predictions have no ids, so nothing says which of them answer one question, and {expected}: "
            f"name the column with the question's id or text ({option('--prediction-id-column', 'NAME')})"
        )
    if most == 1:
        return (
            f"{name}: has one answer to each question, and {expected}: leave {argument('--repeat')} out, or give a "
            "live system, which is asked that often"
        )
    return f"{name}: has up to {plural(most, 'answer')} to a question, and {expected}: write {option('--repeat', most)}"
