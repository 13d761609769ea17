"""Words for messages about joining: ids, and the columns that may be meant."""

from __future__ import annotations

from collections.abc import Sequence

from assay.cases.fields import POSITION
from assay.cases.joining.candidates import Candidate, candidates_of
from assay.cases.joining.sides import Sides

MOST_IDS = 3
"""Ids of either side that a message shows."""
MOST_TEXT = 160
"""Characters of a question that a message shows."""
BY_POSITION = f'--prediction-id-column "{POSITION}"'


def did_you_mean(found: Sequence[Candidate]) -> str:
    """A hint with the columns that may be the ids; empty where there are none."""
    if not found:
        return ""
    said = [f"{candidate.option} ({candidate.why})" for candidate in found[:MOST_IDS]]
    return f"Did you mean {', or '.join(said)}? {as_rows().capitalize()}."


def as_rows() -> str:
    return f"if the n-th prediction answers the n-th question, say {BY_POSITION}"


def no_fit(sides: Sides) -> str:
    count = sides.count
    given = some(sides.prediction_ids)
    if sides.loaded.by_position:
        return (
            f"no prediction fits a case: there are {count} cases, at positions from 0 to {count - 1}, "
            f"and the predictions are for the positions {given}. Where these are ids, name the column of the id "
            "(BIRD: question_id)"
        )
    message = (
        f"no prediction fits a case: the cases' ids are {some(sides.case_ids)}, the predictions' {given}. "
        "Name the columns that hold the same ids on both sides."
    )
    found = candidates_of(sides)
    if found:
        return f"{message} {did_you_mean(found)}"
    if count == len(sides.loaded.predictions):
        message += f" Or, if both files hold the same {count} in the same order, say {BY_POSITION}"
    return message


def some(ids: Sequence[str]) -> str:
    return ", ".join(f'"{id_}"' for id_ in ids[:MOST_IDS]) + (", ..." if len(ids) > MOST_IDS else "")
