"""What reads question sets and predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from assay.model import Case, ColumnUse, FieldNames, Prediction


class Column(Struct, frozen=True, kw_only=True):
    """One column of a file as it came: a value for each case or prediction, None if there is none."""

    name: str
    values: tuple[object, ...]


class LoadedCases(Struct, frozen=True, kw_only=True):
    """A question set as a file gave it. A format may return it in place of bare cases, for safer joining.

    ``by_position`` is true if the file has no ids, so that a case's id is its zero-based position;
    ``stated`` is true if the user asked for positions.
    """

    cases: Sequence[Case]
    """A large set is a sequence whose cases are made when they are asked for (`assay.platform.spool`)."""
    by_position: bool = False
    stated: bool = False
    columns: tuple[ColumnUse, ...] = ()
    """What was taken for what."""
    beside: tuple[Column, ...] = ()
    """The unused columns: one of them may be the id that the predictions use."""
    left_out: tuple[str, ...] = ()
    """Sheets with content that were not read."""
    unread: tuple[str, ...] = ()
    """Columns of a table that were not read as a field, to tell the user."""
    missing: tuple[str, ...] = ()
    """The ids of the cases that a log of an evaluation names, but does not contain since it ended early."""
    notes: tuple[str, ...] = ()
    """Sentences that say how the evaluation of a log ended, and what is missing."""

    def __iter__(self) -> Iterator[Case]:
        """The cases."""
        return iter(self.cases)


class LoadedPredictions(Struct, frozen=True, kw_only=True):
    """Predictions as a file gave them, before they meet their cases.

    ``by_position`` is true if the format has no ids: then the n-th prediction answers the n-th
    case, and ``case_id`` of each contains its zero-based position. They are joined by position only if the cases
    have no ids either and are as many, or if ``stated`` is true: the format or the user asks for positions.
    """

    predictions: Sequence[Prediction]
    by_position: bool = False
    stated: bool = False
    chosen: bool = False
    """The user asks for positions."""
    columns: tuple[ColumnUse, ...] = ()
    """What was taken for what."""
    beside: tuple[Column, ...] = ()
    """The unused columns, for example a copy of the question: their content is compared with the cases."""
    left_out: tuple[str, ...] = ()
    """Sheets with content that were not read."""
    unread: tuple[str, ...] = ()
    """Columns of a table that were not read as a field, to tell the user."""
    notes: tuple[str, ...] = ()
    """Sentences that say how the evaluation of a log ended, and what is missing."""


class CaseFormat(Protocol):
    """Reads question sets and prediction files of one layout.

    Its class may set ``takes_encoding = True``: its files are text in the encoding that ``FieldNames.encoding`` names;
    without it a user who names one is told that the format has its own. With ``by_suffix_alone = True`` it says that it
    recognises any file with its suffix, and is asked after those that look at the content.
    """

    name: str

    def recognises(self, path: Path) -> bool:
        """Whether this file or folder has this layout: by suffix, and by content if layouts share a suffix."""
        ...

    def cases(self, path: Path, fields: FieldNames) -> Iterable[Case]:
        """Read a question set. Raises `assay.errors.CaseFileError` with file, row and column."""
        ...

    def predictions(self, path: Path, fields: FieldNames) -> LoadedPredictions:
        """Read a prediction file. Raises `assay.errors.CaseFileError` with file, row and column."""
        ...
