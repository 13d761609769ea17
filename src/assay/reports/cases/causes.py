"""Why an answer is wrong, in lines of text."""

from __future__ import annotations

from assay.diagnosis import CAUSES, SELECTION
from assay.model import Cause, Diagnosis, Evidence
from assay.reports.text import meanings
from assay.reports.text.plain import one_line

_LENGTH = 400


def why(item: Evidence) -> tuple[str, ...]:
    """Each cause with its evidence, the primary one first, then notes; nothing for an answer without causes."""
    found = item.diagnosis
    if found is None:
        return ()
    use = schema_use_line(found)
    notes = (one_line(note, limit=_LENGTH) for note in found.notes)
    return (*map(_told, found.causes), *([f"Schema use: {use}"] if use else ()), *notes)


def schema_use_line(found: Diagnosis) -> str:
    """The tables and columns that the prediction uses, in words; empty: that is not known."""
    if found.schema_use is None:
        return ""
    return f"{meanings.label_of(found.schema_use)} ({meanings.SCHEMA_USE[found.schema_use]})"


def repair(item: Evidence) -> tuple[str, ...]:
    """The repair of an answer, a line for each clause; nothing where none is known."""
    return () if item.diagnosis is None else repair_lines(item.diagnosis)


def _told(cause: Cause) -> str:
    return f"{CAUSES[cause.kind].title}: {one_line(cause.message, limit=_LENGTH)}"


def repair_lines(found: Diagnosis) -> tuple[str, ...]:
    """The repair, a line for each clause: what to write there."""
    if found.repair is None:
        return ()
    lines = []
    selection = CAUSES[found.causes[0].kind].category == SELECTION
    for step in found.repair.steps:
        before, after = (one_line(text, limit=_LENGTH) for text in (step.before, step.after))
        if selection:  # the terms of one dimension stand beside its name
            before, after = (f"{step.clause} {text}" if text else "" for text in (before, after))
        if before and after:
            lines.append(f"right with {after} in place of {before}")
        else:
            lines.append(f"right with {after}" if after else f"right without {before}")
    if found.repair.elsewhere:
        return (*lines, f"but not everywhere: {one_line(found.repair.elsewhere, limit=_LENGTH)}")
    return tuple(lines) if len(lines) == 1 else tuple(f"{place}. {line}" for place, line in enumerate(lines, 1))


def advice_of(title: str) -> str:
    """What to do about a cause, by its title."""
    return next((info.advice for info in CAUSES.values() if info.title == title), "")
