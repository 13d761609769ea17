"""People's reviews from Python."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from assay.model.verdicts.review import Review
from assay.runs.reviews.collection import Reviews
from assay.runs.reviews.deciding import Settle
from assay.runs.reviews.file import reviews_beside

ReviewsInput: TypeAlias = "str | os.PathLike[str] | Reviews | Iterable[Review]"

__all__ = ["Reviews", "ReviewsInput", "as_reviews", "load_reviews", "reviews_of_set"]


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


def as_reviews(given: ReviewsInput) -> Reviews:
    """What a caller gave, as reviews. Raises as `load_reviews` does."""
    if isinstance(given, Reviews):
        return given
    if isinstance(given, str | os.PathLike):
        return load_reviews(given)
    return Reviews(given)


def reviews_of_set(cases: object) -> Reviews | None:
    """The reviews beside a question set's file; None if there are none, or the questions are in memory."""
    if not isinstance(cases, str | os.PathLike):
        return None
    file = reviews_beside(Path(cases))
    return load_reviews(file) if file.is_file() else None
