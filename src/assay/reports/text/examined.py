"""One judged pair with all that was found out about it, as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from assay.model import Evidence
from assay.ports import Executions
from assay.reports.text.explanation import diagnosis_parts
from assay.reports.text.pair import pair_parts
from assay.reports.text.parts import TextPart, plain_text
from assay.reports.text.plain import visible, words
from assay.reports.text.refutation import refutation_parts


def examined_text(item: Evidence, executions: Executions) -> str:
    """The verdict, the reason, both queries and results, causes with the repair, and what parts the two elsewhere.

    Nothing in it steers a terminal.
    """
    return visible(plain_text(examined_parts(item, executions))).rstrip("\n") + "\n"


def examined_parts(item: Evidence, executions: Executions) -> Iterator[TextPart]:
    """The same in parts."""
    reason, *parts = pair_parts(item, executions)
    yield f"{item.outcome.upper()}: {reason}"
    yield from parts
    if item.diagnosis is not None:
        yield from diagnosis_parts(item.diagnosis)
    if item.refutation is None:
        return
    if item.outcome == "correct":
        yield f"\nhow sure: {words(item.verdict.strength)}"
    yield from refutation_parts(item.refutation)
