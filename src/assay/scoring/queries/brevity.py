"""Does judging surely end at once? Then no clock need watch it, which takes longer than the judging itself."""

from __future__ import annotations

from collections.abc import Sequence

from assay.model import Execution, Prediction, Row
from assay.scoring.queries.heads import is_short
from assay.sql.shape import is_plain

_MOST_ROWS = 100
_MOST_CHARACTERS = 20_000


def ends_at_once(prediction: Prediction, executed: Sequence[Execution | None], dialect: str) -> bool:
    """Whether a gold and an answer have a few cells in one column, and texts that need no parser.

    ``executed``: gold's execution and that of the answer.
    """
    if len(executed) != 2 or dialect != "sqlite" or len(prediction.raw or "") > _MOST_CHARACTERS:
        return False
    gold, predicted = executed
    if gold is None or predicted is None or gold.given is not None or predicted.given is not None:
        return False
    if gold.result is None or predicted.result is None:
        return False
    if not (_is_tiny(gold.result.rows) and (predicted is gold or _is_tiny(predicted.result.rows))):
        return False
    return is_plain(gold.query) and is_plain(predicted.query)


def _is_tiny(rows: Sequence[Row]) -> bool:
    return not rows or (len(rows) <= _MOST_ROWS and len(rows[0]) == 1 and is_short(rows))
