"""Would other choices among tied rows be right as well? Few choices are all compared with gold, of many some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from assay.comparison import Answer
from assay.model import Comparison, ComparisonOptions, Row
from assay.scoring.queries.choices import choices, with_rows
from assay.scoring.queries.gold_answers import GoldAnswer

_MOST_STRANGE = 4
"""At most this many rows are tried that gold does not have, but for what the comparison may not count."""


class Choices(Struct, frozen=True):
    """Compares what a prediction may return with gold. One of its results matched already: see ``comparison``."""

    known: GoldAnswer
    comparison: Comparison
    options: ComparisonOptions

    def may_be_wrong(self, own: Answer) -> bool:
        """Whether some choice of rows is not right, in whatever order rows come that tie."""
        gold = self.known.answer
        places: dict[str, list[int]] = {}
        for place, segment in enumerate(gold.segments):
            for row in segment.rows:
                places.setdefault(self._key(row), []).append(place)
        strange = (
            (number, row)
            for number, segment in enumerate(own.segments)
            if segment.take < len(segment.rows)
            for row in segment.rows
            if self._key(row) not in places
        )
        for _, (number, row) in zip(range(_MOST_STRANGE), strange, strict=False):
            if not self._is_right(with_rows(own.segments, number, [row]), own, places):
                return True
        if self._written(own) == self._written(gold):
            return False
        return any(not self._is_right(choice, own, places) for choice in choices(own.segments))

    def _is_right(self, choice: Sequence[Sequence[Row]], own: Answer, places: dict[str, list[int]]) -> bool:
        if not self.known.answer.ordered:
            rows = [row for part in choice for row in part]
        else:  # rows that tie are put into gold's order
            told: Counter[str] = Counter()

            def place(row: Row) -> int:
                key = self._key(row)
                told[key] += 1
                return places.get(key, [0])[: told[key]][-1]

            rows = [row for part in choice for row in sorted(part, key=place)]
        predicted = replace(own.result, rows=tuple(rows))
        return self.known.compare(predicted, self.options, described=False).equal

    def _key(self, row: Row) -> str:
        """The row as a text with gold's columns, where they are known, and whole numbers alike, whatever their type."""
        mapping = [column for column in self.comparison.column_mapping if column is not None]
        cells = [row[column] for column in mapping] if len(mapping) == len(row) else row
        return repr([float(cell) if isinstance(cell, int) and abs(cell) < 2**53 else cell for cell in cells])

    def _written(self, answer: Answer) -> list[tuple[int, Counter[str]]]:
        return [(segment.take, Counter(map(self._key, segment.rows))) for segment in answer.segments]
