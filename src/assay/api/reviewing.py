"""People's reviews from Python."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from assay.errors import InputError
from assay.model.verdicts.review import Review
from assay.runs.reviews.applying import ReviewsChoice
from assay.runs.reviews.collection import Reviews
from assay.runs.reviews.deciding import Settle
from assay.runs.reviews.file import reviews_beside

if TYPE_CHECKING:
    from assay.api.inputs import FileOptions
    from assay.api.run import Run
    from assay.runs.reviews.export import ExportedSet

ReviewsInput: TypeAlias = "str | os.PathLike[str] | Reviews | Iterable[Review]"

__all__ = ["Reviews", "ReviewsInput", "chosen_reviews", "export_reviewed", "load_reviews", "reviews_for"]


def load_reviews(path: str | os.PathLike[str], *, settle: Settle = "latest") -> Reviews:
    """Read a file of reviews (docs/guides/review.md), or the ``reviews.jsonl`` in a folder.

    Args:
        path: the file, or the folder that it is in.
        settle: which decision counts if several people reviewed a case: ``latest``, ``majority``, or a reviewer's name.

    Raises:
        InputError: the file cannot be read, or a line of it is not a review: the message names the line.
        UsageError: ``settle`` is neither a rule nor a reviewer.
    """
    file = Path(path)
    return Reviews.read(reviews_beside(file) if file.is_dir() else file, settle=settle)


def chosen_reviews(given: ReviewsInput | Literal[False] | None) -> ReviewsChoice:
    """The reviews to apply to stored runs: those that a caller gave; None: each run's own; False: none."""
    return False if given is False else reviews_for(None, given)


def reviews_for(
    cases: object, given: ReviewsInput | Literal[False] | None = None, *, settle: Settle | None = None
) -> Reviews | None:
    """The reviews that a caller gave, or those beside the question set's file; None without any, and for False.

    Raises as `load_reviews` does.
    """
    settle = settle or "latest"
    if given is False:
        return None
    if isinstance(given, Reviews):
        return given
    if isinstance(given, str | os.PathLike):
        return load_reviews(given, settle=settle)
    if given is not None:
        return Reviews(given, settle=settle)
    if not isinstance(cases, str | os.PathLike):
        return None
    file = reviews_beside(Path(cases))
    return load_reviews(file, settle=settle) if file.is_file() else None


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
    ``ExportedSet.unwritten`` names. A question without a right gold query keeps its place without gold, unscored.

    Args:
        run: the run that was reviewed.
        target: the file to write. Without a suffix it has that of the question set.
        cases: the question set; None: where the run found it.
        reviews: a file of reviews, or what `load_reviews` read; None: ``reviews.jsonl`` beside the question set.
        files: how to read the question set, where the run does not show it.

    Raises:
        InputError: the question set or the reviews cannot be read, or the target cannot be written.
    """
    from assay import registry
    from assay.runs.reviews.export import write_reviewed_set

    source = Path(run.settings.cases if cases is None else cases)
    given = reviews_for(source, reviews)
    if given is None:
        raise InputError(f"{reviews_beside(source)} does not exist: name the file of the reviews (--reviews)")
    return write_reviewed_set(
        source,
        Path(target),
        given,
        run=run.record,
        formats=registry.case_formats(),
        format=None if files is None else files.case_format,
        fields=None if files is None else files.case_fields,
    )
