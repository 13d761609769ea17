"""How answers were matched to their questions, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.model import CaseSummary, ColumnUse, Joining
from assay.reports.text.plain import one_line, plural

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


def joining_notes(joining: Joining | None) -> Iterable[str]:
    """Notes on the matching to read before trusting a number: each a sentence."""
    if joining is None:
        return
    if joining.by == "position":
        why = "" if joining.stated else ", since neither file has ids"
        yield f"The n-th prediction was taken for the answer to the n-th question{why}."
    if joining.by == "question":
        yield "Predictions were joined by the text of their questions, since they have no ids of the question set."
    if joining.loose_ids:
        ids = plural(joining.loose_ids, "id")
        yield f"{ids} of predictions differ from the case's in letter case, blanks, leading zeros or .0 alone."
    if joining.questions_ignored:
        ignored = "What predictions repeat of their questions was not compared (--ignore-questions)."
        if differ := joining.questions_differ:
            repeat = "repeats" if differ == 1 else "repeat"
            ignored += (
                f" Warning: {plural(differ, 'prediction')} {repeat} another question or database than the case's and "
                "may belong to another case."
            )
        yield ignored
    if joining.left_out:
        names = ", ".join(one_line(name, limit=40) for name in joining.left_out[:5])
        yield f"Not read, of the workbook: {plural(len(joining.left_out), 'sheet')} ({names})."


class GoldCopies:
    """Whether every given answer is the exact text of one of its case's gold queries, which no real system produces."""

    def __init__(self) -> None:
        self._answered = self._other = False

    def take(self, case: CaseSummary) -> None:
        """Look at one answer."""
        if not self._other and case.repeats_gold is not None:
            self._answered = True
            self._other = not case.repeats_gold

    @property
    def all(self) -> bool:
        """Whether there were answers, and all were gold's text."""
        return self._answered and not self._other


def _columns(uses: Sequence[ColumnUse]) -> str:
    """Which column was used for which field; a column named as its field is written once."""
    return ", ".join(
        use.field if use.field == use.column else f"{use.field} from {one_line(use.column, limit=40)}" for use in uses
    )
