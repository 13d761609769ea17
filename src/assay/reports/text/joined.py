"""How answers were matched to their questions, in words."""

from __future__ import annotations

from collections.abc import Sequence

from assay.model import ColumnUse, Joining
from assay.reports.text.plain import one_line

_BY = {
    "id": "by id",
    "question": "by the text of the question",
    "position": "by position",
    "row": "in one row of one file",
}


def joined_text(joining: Joining) -> str:
    """One line: the matching key, and which column was used for which field on either side."""
    said = _BY[joining.by]
    if joining.stated:
        said += ", as was said"
    sides = [("questions", joining.case_columns), ("predictions", joining.prediction_columns)]
    told = [f"{side}: {_columns(columns)}" for side, columns in sides if columns]
    return "; ".join([said, *told])


def _columns(uses: Sequence[ColumnUse]) -> str:
    """Which column was used for which field; a column named as its field is written once."""
    return ", ".join(
        use.field if use.field == use.column else f"{use.field} from {one_line(use.column, limit=40)}" for use in uses
    )
