"""The differences that a case or a run declares not to be mistakes."""

from __future__ import annotations

import math
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import asdict, replace

from assay.errors import UsageError

ExtraColumns = Literal["wrong", "allowed"]
Duplicates = Literal["counted", "ignored"]
LetterCase = Literal["exact", "ignored"]
Shape = Literal["gold", "any"]
_CHOICES = (
    ("extra_columns", get_args(ExtraColumns)),
    ("duplicates", get_args(Duplicates)),
    ("case", get_args(LetterCase)),
    ("shape", get_args(Shape)),
)


class Leniency(Struct, frozen=True, kw_only=True, gc=False):
    """Differences that do not count as mistakes, though the verdict's rules would say so.

    None leaves a field open: a case's own value comes before the run's, and a field that neither
    declares is scored strictly. Raises UsageError for an unknown value.
    """

    extra_columns: ExtraColumns | None = None
    """``allowed``: the prediction may return columns that the gold query lacks; the gold query's are found among
    them."""
    duplicates: Duplicates | None = None
    """``ignored``: how often a row occurs does not count, nor if it occurs again."""
    case: LetterCase | None = None
    """``ignored``: text is compared without regard to upper and lower case."""
    shape: Shape | None = None
    """``any``: a dimension may be across the columns in place of down the rows, or the other way round, and a row of
    totals may be there or not, if the gold query asks for no order of rows."""
    tolerance: float | None = None
    """The relative tolerance of numbers, in place of the run's own. It applies if a float takes part."""

    def __post_init__(self) -> None:
        if (self.extra_columns, self.duplicates, self.case, self.shape, self.tolerance) == (None,) * 5:
            return  # as nearly every case's: reading a stored run makes one for each
        for name, known in _CHOICES:
            value = getattr(self, name)
            if value is not None and value not in known:
                raise UsageError(f"{name} is {value!r}: write {' or '.join(map(repr, known))}")
        tolerance = self.tolerance
        if tolerance is not None and not (isinstance(tolerance, (int, float)) and 0 <= tolerance < math.inf):
            raise UsageError(f"tolerance is {tolerance!r}: give a number from 0 up, for example 1e-6")

    def over(self, other: Leniency) -> Leniency:
        """This declaration, with its open fields taken from another."""
        if self == STRICT:
            return other
        return replace(other, **{name: value for name, value in asdict(self).items() if value is not None})

    @property
    def said(self) -> str:
        """The declaration in words: ``extra columns allowed, duplicates ignored``; empty if nothing is declared."""
        parts = ["extra columns allowed"] if self.extra_columns == "allowed" else []
        parts += ["duplicates ignored"] if self.duplicates == "ignored" else []
        parts += ["letter case ignored"] if self.case == "ignored" else []
        parts += ["any shape"] if self.shape == "any" else []
        parts += [f"tolerance {self.tolerance:g}"] if self.tolerance is not None else []
        return ", ".join(parts)


STRICT = Leniency()
"""Nothing is declared."""
