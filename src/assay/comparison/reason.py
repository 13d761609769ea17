"""One sentence on how a wrong answer differs from the gold answer."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from assay.comparison.cells import key_of
from assay.comparison.tolerance import numbers_equal
from assay.model import AlignedRow, Cell, ComparisonOptions, NearMiss, Result

_LONGEST_VALUE = 60


class Finding(Struct, frozen=True, kw_only=True):
    """What a comparison found out about two results that differ."""

    gold: Result
    predicted: Result
    ordered: bool
    mapping: tuple[int | None, ...]
    missing: int
    extra: int
    aligned: Sequence[AlignedRow]
    close: Sequence[NearMiss]
    options: ComparisonOptions

    def reason(self) -> str:
        """The sentence: the most important difference, and in brackets the near miss that explains it."""
        hint = f" ({self.close[0].detail})" if self.close else ""
        ours, theirs = self.gold.column_count, self.predicted.column_count
        count, their_count = len(self.gold.rows), len(self.predicted.rows)
        # An empty result of a source that names no columns says nothing about columns.
        if ours != theirs and ours and theirs:
            return f"the prediction returns {_count(theirs, 'column')}, the gold query {ours}{hint}"
        if count != their_count:
            return f"the prediction returns {_count(their_count, 'row')}, the gold query {count:,}{hint}"
        if cell := self._lone_cell():
            return f"{cell}{hint}"
        if self.missing == 0 and None in self.mapping:
            # All rows are equal in the mapped columns: the columns without a counterpart are wrong.
            lone = self.mapping.count(None)
            have = "has" if lone == 1 else "have"
            return f"{lone:,} of {_count(ours, 'gold column')} {have} no counterpart in the prediction{hint}"
        if self.missing == 0 and self.ordered:
            return "the rows match, but not their order"
        if self.missing == 0:
            return f"the numbers are close, but the rows do not pair one to one within the tolerance{hint}"
        if self.missing == count:
            which = "the gold row is not" if count == 1 else f"none of the {count:,} gold rows is"
            return f"{which} in the prediction{hint}"
        are = "is" if self.missing == 1 else "are"
        return f"{self.missing:,} of {_count(count, 'gold row')} {are} not in the prediction{hint}"

    def _lone_cell(self) -> str | None:
        """``one cell differs: gold 13, predicted 0``, if only that cell differs."""
        pair = self._unlike_rows()
        if pair is None:
            return None
        places = [place for place, (one, two) in enumerate(zip(*pair, strict=True)) if not self._equal(one, two)]
        if len(places) != 1:
            return None
        place = places[0]
        names = self.gold.columns
        name = names[place] if len(names) > 1 and place < len(names) else ""
        where = f" in gold column {_cut(name)}" if name else ""
        count = len(self.gold.rows)
        which = "one cell" if count == 1 else f"one cell of {count:,} rows"
        return f"{which} differs{where}: gold {shown(pair[0][place])}, predicted {shown(pair[1][place])}"

    def _unlike_rows(self) -> tuple[Sequence[Cell], Sequence[Cell]] | None:
        """The only missing gold row, and the only extra row of the prediction."""
        lone = [column for column, option in enumerate(self.mapping) if option is None]
        if len(self.gold.rows) == 1 and len(lone) <= 1:
            free = [place for place in range(self.predicted.column_count) if place not in self.mapping]
            order = [free[0] if option is None else option for option in self.mapping]
            return self.gold.rows[0], [self.predicted.rows[0][option] for option in order]
        if lone or (self.missing, self.extra) != (1, 1):
            return None
        gold = next((row.gold for row in self.aligned if row.state == "missing"), None)
        predicted = next((row.predicted for row in self.aligned if row.state == "extra"), None)
        return None if gold is None or predicted is None else (gold, predicted)

    def _equal(self, one: Cell, two: Cell) -> bool:
        boolean = self.options.boolean_is_integer
        return numbers_equal(
            key_of(one, boolean_is_integer=boolean), key_of(two, boolean_is_integer=boolean), self.options
        )


def shown(cell: Cell) -> str:
    """A value as SQL writes it, truncated if long: text in quotes, so that '7' is not 7."""
    if cell is None:
        return "NULL"
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        doubled = _cut(cell).replace("'", "''")
        return f"'{doubled}'"
    if isinstance(cell, (bytes, bytearray, memoryview)):
        return f"x'{_cut(bytes(cell[: _LONGEST_VALUE // 2 + 1]).hex())}'"
    try:
        return _cut(str(cell))
    except ValueError:  # Python refuses to write integers of more than 4,300 digits
        return "a number of thousands of digits"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
