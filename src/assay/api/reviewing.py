"""People's reviews from Python."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

from assay.api.public import public
from assay.model.verdicts.review import Review
from assay.runs.reviews.applying import ReviewsChoice
from assay.runs.reviews.collection import Reviews
from assay.runs.reviews.deciding import Settle
from assay.runs.reviews.file import reviews_beside

ReviewsInput: TypeAlias = "str | os.PathLike[str] | Reviews | Iterable[Review]"

__all__ = ["Reviews", "ReviewsInput", "chosen_reviews", "load_reviews", "reviews_for"]


@public
def load_reviews(path: str | os.PathLike[str], *, settle: Settle = "latest") -> Reviews:
    """Read a file of reviews (`assay docs reviews`), or the ``reviews.jsonl`` in a folder.

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
    """The reviews that a caller gave, or those next to the question set's file; None without any, and for False.

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
    return load_reviews(file, settle=settle) if file.exists() else None
