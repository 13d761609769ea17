"""How two results relate."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from assay.model.cases.case import ColumnRule
from assay.model.cases.leniency import STRICT, Leniency
from assay.model.results.result import Row

NearMissKind = Literal[
    "superset_columns",
    "subset_columns",
    "missing_rows",
    "extra_rows",
    "duplicates_only",
    "order_only",
    "column_order_only",
    "type_only",
    "rounding_only",
    "case_or_whitespace_only",
    "scaled",
    "sign",
    "pivoted",
    "unpivoted",
    "totals_row",
]


class NearMiss(Struct, frozen=True, kw_only=True, gc=False):
    """One way in which a wrong answer comes close to the gold query."""

    kind: NearMissKind
    detail: str


class ComparisonOptions(Struct, frozen=True, kw_only=True):
    """What counts as a difference between two results. The defaults are those of `match`."""

    columns: ColumnRule = "any"
    relative_tolerance: float = 1e-12
    """A share of the larger number, below 1. Only if a float takes part: integers and decimals compare exactly."""
    absolute_tolerance: float = 1e-12
    """If a float takes part, two numbers at most this far from 0 both count as 0. Larger numbers are unaffected."""
    boolean_is_integer: bool = False
    """True for engines without a boolean type, if True is 1 and False is 0."""
    near_misses: bool = True
    sample_rows: int = 20
    """How many missing, extra and aligned rows to keep as evidence, each."""
    leniency: Leniency = STRICT
    """Differences that do not count as mistakes: applied by `assay.comparison.compare_leniently`."""


RowState = Literal["matched", "missing", "extra"]
_SIGNS: dict[RowState, str] = {"matched": "", "missing": "− gold", "extra": "+ predicted"}
_SHOWN_ROWS, _SHOWN_COLUMNS = 20, 12


class AlignedRow(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One line of the aligned difference: the gold query's row and the predicted one.

    ``predicted`` has its columns in the gold query's order, by the comparison's column mapping, followed by the
    columns without a counterpart in the gold query. ``missing`` has no predicted row, ``extra`` no gold row;
    ``matched`` has a predicted row only if the prediction has columns that the gold query lacks, since the other cells
    are the gold query's.
    """

    state: RowState
    gold: Row | None = None
    predicted: Row | None = None


class Comparison(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """How a predicted result relates to the gold query's.

    ``column_mapping[i]`` is the predicted column that stands for the gold query's column i, or None if
    the gold query's column i has no counterpart. For a match it is the proof, for a mismatch the best
    mapping that was found. The row counts are exact; ``aligned`` is a sample.
    """

    equal: bool
    column_mapping: tuple[int | None, ...] = ()
    ordered: bool = False
    """Whether row order counted."""
    gold_row_count: int = 0
    predicted_row_count: int = 0
    matched_rows: int = 0
    missing_rows: int = 0
    extra_rows: int = 0
    aligned: tuple[AlignedRow, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    vacuous: bool = False
    """Equal, but that says little: both results are empty, or one row that both queries computed over no rows."""
    ambiguous: bool = False
    """The gold query does not determine its answer: a LIMIT cuts through rows that tie."""
    lenient: bool = False
    """Equal only by the leniency that the case or the run declares."""
    decided: bool = True
    """False if the search for a column permutation ran out of its budget; ``equal`` is then False."""
    provoked: bool = False
    """Only the predicted rows exhausted the search: the gold query's own rows in another order of columns are found."""
    reason: str = ""

    def _repr_html_(self) -> str:
        """What a notebook shows: the reason, near misses, and a sample of the rows, with a sign if they differ."""
        from assay.model.notebook import block, table

        told = [f"rows: {self.gold_row_count:,} of the gold query, {self.predicted_row_count:,} predicted"]
        told += [f"near miss: {miss.kind.replace('_', ' ')}: {miss.detail}" for miss in self.near_misses]
        shown = [
            (_SIGNS[row.state], *((row.predicted if row.gold is None else row.gold) or ())[:_SHOWN_COLUMNS])
            for row in self.aligned[:_SHOWN_ROWS]
        ]
        title = f"{'equal' if self.equal else 'different'}{f': {self.reason}' if self.reason else ''}"
        return block(title, told, [table((), shown)] if shown else (), mood="good" if self.equal else "bad")
