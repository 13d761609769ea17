"""The two results of one case side by side, as the comparison aligned them.

The comparison says which rows are in both results, only in the gold result, or only in the predicted one. Here a row
that only one side has is paired with the closest row of the other side, if one is close enough: such a *near* row shows
which of its cells differ. This helps the reader and changes no number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Literal, TypeAlias

from msgspec import Struct

from assay.model import AlignedRow, Comparison, Evidence
from assay.model.verdicts.comparison import RowState
from assay.reports.text.plain import CellText, cell_text, one_line, plural

_ROWS: Mapping[RowState, int] = {"matched": 5, "missing": 20, "extra": 20}
_COLUMNS = 30
_NEAR = 0.5
"""The mean likeness of cells from which a pair of rows is near."""
_CLOSE = 0.6
"""The likeness of two cells that differ only in letter case, type, sign, scale or rounding."""

AlignedState: TypeAlias = Literal["matched", "near", "missing", "extra"]


class AlignedColumn(Struct, frozen=True, array_like=True, gc=False):
    """One column of the aligned results; a side's name is None if that side has no such column, '' if unnamed."""

    gold: str | None
    predicted: str | None


class AlignedRowView(Struct, frozen=True, array_like=True, gc=False):
    """One line. A cell is None if that side has no such row or column, or if it equals the gold cell
    (``matched``).

    ``differs`` has the places of the columns in which the two cells of a ``near`` row differ.
    """

    state: AlignedState
    gold: tuple[CellText | None, ...]
    predicted: tuple[CellText | None, ...]
    differs: tuple[int, ...] = ()


class Alignment(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    gc=False,
    rename={"left_columns": "leftColumns"},
):
    """A sample of both results side by side: rows in both first, then near ones, then rows of only one side."""

    summary: str
    left: int = 0
    """How many rows are not shown."""
    left_columns: int = 0
    columns: tuple[AlignedColumn, ...] = ()
    rows: tuple[AlignedRowView, ...] = ()

    @property
    def headings(self) -> tuple[str, ...]:
        """The gold result's names; a column of only one side has the sign of its rows: ``- name``, ``+ name``."""
        return tuple(
            one_line(f"{'+ ' if column.gold is None else '- ' if column.predicted is None else ''}{name}", limit=40)
            for column in self.columns
            for name in [column.predicted if column.gold is None else column.gold]
        )

    @property
    def text(self) -> str:
        """The rows with their signs, a line each, under the headings."""
        shown = [("  ", self.headings)] if any(self.headings) else []
        signed = [*shown, *((f"{sign} ", texts) for sign, texts in self.lines())]
        left = [f"  … {plural(self.left, 'more row')}"] if self.left else []
        return "\n".join([*(sign + " | ".join(texts) for sign, texts in signed), *left])

    def lines(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The rows as text, each with its sign: a row of gold only has ``-``, one of the prediction only ``+``."""
        for row in self.rows:
            if row.state == "matched":
                yield (
                    " ",
                    _texts(
                        theirs if ours is None else ours for ours, theirs in zip(row.gold, row.predicted, strict=True)
                    ),
                )
            if row.state in ("near", "missing"):
                yield "-", _texts(row.gold)
            if row.state in ("near", "extra"):
                yield "+", _texts(row.predicted)


def _texts(cells: Iterable[CellText | None]) -> tuple[str, ...]:
    return tuple("" if cell is None else cell.whole for cell in cells)


def alignment(item: Evidence, *, most: Mapping[RowState, int] = _ROWS, columns: int = _COLUMNS) -> Alignment | None:
    """The two results of a case, with at most those rows of each state and columns; None if they were not compared."""
    comparison = item.comparison
    if comparison is None:
        return None
    counted = comparison.matched_rows + comparison.missing_rows + comparison.extra_rows
    if not comparison.aligned:
        return Alignment(summary=_summary(comparison), left=counted)
    names, lines = _spread_rows(item, comparison, _sample(comparison.aligned, most))
    width = len(names)
    shown = min(width, columns)
    both = tuple(
        place for place, column in enumerate(names) if column.gold is not None and column.predicted is not None
    )
    rows = [_shown("matched", line.gold, line.predicted, shown) for line in lines if line.state == "matched"]
    missing = [line for line in lines if line.state == "missing"]
    extra = [line for line in lines if line.state == "extra"]
    near = _near_rows(missing, extra, both)
    taken = {id(line) for pair in near for line in pair}
    rows += [
        _shown("near", ours.gold, theirs.predicted, shown, _differing(ours.gold, theirs.predicted, both, shown))
        for ours, theirs in near
    ]
    rows += [
        _shown(line.state, line.gold, line.predicted, shown) for line in (*missing, *extra) if id(line) not in taken
    ]
    return Alignment(
        summary=_summary(comparison),
        left=max(0, counted - len(rows) - len(near)),
        left_columns=width - shown,
        columns=names[:shown],
        rows=tuple(rows),
    )


def _sample(aligned: Sequence[AlignedRow], room: Mapping[RowState, int]) -> list[AlignedRow]:
    """As many rows of each state as there is room for, in the comparison's order."""
    left = dict(room)
    kept = []
    for row in aligned:
        if left[row.state]:
            left[row.state] -= 1
            kept.append(row)
    return kept


_ABSENT = object()
"""Stands for a missing cell, which is not NULL."""


class _Line(Struct, frozen=True, eq=False, gc=False):
    """A row spread over all columns of both sides."""

    state: Literal["matched", "missing", "extra"]
    gold: tuple[object, ...]
    predicted: tuple[object, ...]


def _spread_rows(
    item: Evidence, comparison: Comparison, rows: Sequence[AlignedRow]
) -> tuple[tuple[AlignedColumn, ...], list[_Line]]:
    """The columns of both sides, and the rows spread over them."""
    gold_widths = [len(row.gold) for row in comparison.aligned if row.gold]
    names = _columns(item, comparison, gold_widths)
    mapping, width = comparison.column_mapping, len(names)
    nothing = (_ABSENT,) * width
    # The comparison gives the predicted columns with a counterpart first, in gold's order.
    places = [place for place, option in enumerate(mapping) if option is not None]
    places += range(max([len(mapping), *gold_widths]), width)
    is_in_place = places == list(range(len(places)))
    lines = []
    for row in rows:
        gold = predicted = nothing
        if row.gold is not None:
            gold = row.gold if len(row.gold) == width else (*row.gold, *nothing)[:width]
        if row.predicted is not None:
            if is_in_place:
                predicted = (*row.predicted[: len(places)], *nothing)[:width]
            else:
                spread = list(nothing)
                for place, cell in zip(places, row.predicted, strict=False):
                    spread[place] = cell
                predicted = tuple(spread)
        lines.append(_Line(row.state, gold, predicted))
    return names, lines


def _columns(item: Evidence, comparison: Comparison, gold_widths: Sequence[int]) -> tuple[AlignedColumn, ...]:
    """Gold's columns with their predicted counterparts, then the columns that only the prediction has."""
    index = item.verdict.gold_index or 0
    gold = item.gold_executions[index].columns if index < len(item.gold_executions) else ()
    predicted = item.predicted_execution.columns if item.predicted_execution else ()
    mapping = comparison.column_mapping
    columns = [
        AlignedColumn(_name(gold, place), None if option is None else _name(predicted, option))
        for place, option in enumerate(mapping)
    ]
    columns += [AlignedColumn(_name(gold, place), None) for place in range(len(mapping), max(gold_widths, default=0))]
    mapped = len(mapping) - mapping.count(None)
    widths = [len(row.predicted) - mapped for row in comparison.aligned if row.predicted is not None]
    alone = [place for place in range(len(predicted)) if place not in mapping]
    for place in range(max([len(alone), *widths])):
        name = _name(predicted, alone[place]) if place < len(alone) else ""
        columns.append(AlignedColumn(None, name))
    return tuple(columns)


def _name(names: Sequence[str], place: int) -> str:
    return one_line(names[place], limit=60) if place < len(names) else ""


def _near_rows(missing: Sequence[_Line], extra: Sequence[_Line], both: Sequence[int]) -> list[tuple[_Line, _Line]]:
    """Each missing row with the most similar free extra row, in gold's order, if the two are near."""
    free = list(extra)
    pairs = []
    for line in missing:
        likeness = [(_row_likeness(line.gold, other.predicted, both), -place) for place, other in enumerate(free)]
        best, place = max(likeness, default=(0.0, 0))
        if best >= _NEAR:
            pairs.append((line, free.pop(-place)))
    return pairs


def _row_likeness(gold: Sequence[object], predicted: Sequence[object], both: Sequence[int]) -> float:
    if not both:
        return 0.0
    return sum(_likeness(gold[place], predicted[place]) for place in both) / len(both)


def _likeness(gold: object, predicted: object) -> float:
    """1 for the same cell, `_CLOSE` for a nearly equal one, 0 for any other."""
    if type(gold) is type(predicted) and gold == predicted:
        return 1.0
    if gold is None or predicted is None or gold is _ABSENT or predicted is _ABSENT:
        return 0.0
    ours, theirs = _number(gold), _number(predicted)
    if ours is not None and theirs is not None:
        if ours == theirs:
            return 1.0
        larger, smaller = max(abs(ours), abs(theirs)), min(abs(ours), abs(theirs))
        # Off by rounding, by sign, or by a power of ten.
        return _CLOSE if any(abs(larger - smaller * scale) <= 0.01 * larger for scale in (1, 10, 100, 1000)) else 0.0
    return _CLOSE if str(gold).strip().casefold() == str(predicted).strip().casefold() else 0.0


def _number(cell: object) -> float | None:
    if isinstance(cell, (int, float, Decimal)):
        try:
            return float(cell)
        except OverflowError:
            return None
    return None


def _differing(gold: Sequence[object], predicted: Sequence[object], both: Sequence[int], shown: int) -> tuple[int, ...]:
    return tuple(place for place in both if place < shown and _likeness(gold[place], predicted[place]) < 1.0)


def _shown(
    state: AlignedState,
    gold: Sequence[object],
    predicted: Sequence[object],
    shown: int,
    differs: tuple[int, ...] = (),
) -> AlignedRowView:
    return AlignedRowView(state, _cell_texts(gold[:shown]), _cell_texts(predicted[:shown]), differs)


def _cell_texts(cells: Iterable[object]) -> tuple[CellText | None, ...]:
    return tuple([None if cell is _ABSENT else cell_text(cell) for cell in cells])


def _summary(comparison: Comparison) -> str:
    """How many rows the two results have, share and lack."""
    parts = [
        f"gold {plural(comparison.gold_row_count, 'row')}, predicted {plural(comparison.predicted_row_count, 'row')}"
    ]
    parts += [
        f"{count:,} {name}"
        for count, name in (
            (comparison.matched_rows, "matched"),
            (comparison.missing_rows, "missing"),
            (comparison.extra_rows, "extra"),
        )
        if count
    ]
    return " · ".join([*parts, *(["row order counts"] if comparison.ordered else [])])
