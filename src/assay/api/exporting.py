"""Write the question set of a run as people's reviews corrected it."""

from __future__ import annotations

import os
from pathlib import Path

from assay import registry
from assay.api.inputs import FileOptions
from assay.api.public import public
from assay.api.reviewing import ReviewsInput, reviews_for
from assay.api.run import Run
from assay.errors import InputError
from assay.platform.surface import argument
from assay.runs.reviews.export import ExportedSet, write_reviewed_set
from assay.runs.reviews.file import reviews_beside


@public
def export_reviewed(
    run: Run,
    target: str | os.PathLike[str],
    *,
    cases: str | os.PathLike[str] | None = None,
    reviews: ReviewsInput | None = None,
    files: FileOptions | None = None,
) -> ExportedSet:
    """Write the question set of a run as people's reviews corrected it: corrected and additional gold queries.

    A run on the written set has the reviewed accuracy without the reviews, except for the answers that
    ``ExportedSet.unwritten`` names. A question without a right gold query keeps its place and is unscored.

    Args:
        run: the run that was reviewed.
        target: the file to write. Without a suffix it has that of the question set.
        cases: the question set; None: the file that the run was made from.
        reviews: a file of reviews, or what `load_reviews` read; None: ``reviews.jsonl`` next to the question set.
        files: how to read the question set, if the run does not show it.

    Raises:
        InputError: the question set or the reviews cannot be read, or the target cannot be written.
    """
    source = Path(run.settings.cases if cases is None else cases)
    given = reviews_for(source, reviews)
    if given is None:
        raise InputError(
            f"{reviews_beside(source)} does not exist: name the file of the reviews ({argument('--reviews')})"
        )
    return write_reviewed_set(
        source,
        Path(target),
        given,
        run=run.record,
        formats=registry.case_formats(),
        format=None if files is None else files.case_format,
        fields=None if files is None else files.case_fields,
    )
