"""What `assay review RUN --export FILE` does: write the question set as people corrected it."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.messages import tell
from assay.errors import InputError

_SHOWN = 20


def export(run: Path, target: Path, *, reviews: Path, settle: str = "latest") -> None:
    """Write the corrected question set of a run, and say what is different in it and what it cannot say.

    Raises InputError if the question set is not found from here, or the target cannot be written.
    """
    from assay.api.exporting import export_reviewed
    from assay.api.reviewing import load_reviews
    from assay.api.run import load_run
    from assay.platform.shell import quoted
    from assay.reports.text.plain import one_line, plural, visible
    from assay.runs.reviews.finding import question_set

    if not reviews.exists():
        raise InputError(f"{reviews}: no reviews are stored there yet: make some with  assay review {quoted(str(run))}")
    given = load_reviews(reviews, settle=settle)
    stored = load_run(run, reviews=given)
    named = question_set(run, stored.settings, stored.provenance)
    if named is None:
        raise InputError(f"{run}: its question set {stored.settings.cases!r} is not found from here: go to its folder")
    written = export_reviewed(stored, target, cases=named, reviews=given)
    corrected = plural(len(written.changes), "corrected question")
    click.echo(visible(f"written: {written.path} ({written.format}), with {corrected}"))
    for case_id, reason in written.changes[:_SHOWN]:
        click.echo(visible(f"  {one_line(case_id, limit=60)}: {one_line(reason, limit=200)}"))
    if len(written.changes) > _SHOWN:
        click.echo(f"  and {len(written.changes) - _SHOWN:,} more, each with its reason in the file")
    if written.note:
        tell(f"note: {written.note}")
    for one in written.unwritten:
        said = f"{one_line(one.case_id, limit=60)}: {one.reviewed} by its review, {one.exported} by the written set"
        tell(f"note: a question set cannot say this: {said} ({one_line(one.reason, limit=200)})")
