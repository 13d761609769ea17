"""What a cause's evidence reads like: what gold says, what the prediction says."""

from __future__ import annotations

from collections.abc import Mapping

from assay.sql.differences import Difference

_LONGEST = 160
_ONE_SIDED: Mapping[str, tuple[str, str]] = {
    "output": ("the prediction does not select {gold}", "the prediction also selects {predicted}, gold does not"),
    "distinct": (
        "gold counts each row once (DISTINCT), the prediction does not",
        "the prediction drops repetitions (DISTINCT), gold keeps them",
    ),
    "table": ("gold reads {gold}, the prediction does not", "the prediction also reads {predicted}, gold does not"),
    "condition": ("the prediction lacks the condition {gold}", "only the prediction has the condition {predicted}"),
    "null_condition": ("the prediction lacks the condition {gold}", ""),
    "group": ("gold groups by {gold}, the prediction does not", "the prediction groups by {predicted}, gold does not"),
    "order": ("gold orders by {gold}, the prediction does not", "the prediction orders by {predicted}, gold does not"),
    "limit": ("gold has {gold}, the prediction does not", "the prediction has {predicted}, gold does not"),
    "set_operation": (
        "gold combines queries by {gold}, the prediction does not",
        "the prediction combines queries by {predicted}, gold does not",
    ),
    "subquery": ("gold has the subquery {gold}, the prediction has none", "only the prediction has {predicted}"),
}
"""By the family of the difference: what to say where only gold has it, and where only the prediction has it."""
_ELSEWHERE: Mapping[str, tuple[str, str]] = {
    "output": (
        "gold selects {gold} more often than the prediction",
        "the prediction selects {predicted} more often than gold",
    ),
    "table": (
        "gold reads {gold} in more places than the prediction",
        "the prediction reads {predicted} in more places than gold",
    ),
    "condition": (
        "gold has the condition {gold} in more places than the prediction",
        "the prediction has the condition {predicted} in more places than gold",
    ),
}
"""By family: what to say where the other query has it too, in another place or not as often."""
_TWO_SIDED: Mapping[str, str] = {
    "literal": "the prediction looks for {predicted}, gold for {gold}",
    "literal_format": "the prediction writes the value as in {predicted}, gold as in {gold}",
    "operator": "the prediction compares {predicted}, gold {gold}",
    "connective": "the prediction combines its conditions as {predicted}, gold as {gold}",
    "direction": "the prediction orders by {predicted}, gold by {gold}",
    "join_condition": "the prediction joins on {predicted}, gold on {gold}",
    "join_type": "the prediction uses {predicted}, gold {gold}",
    "table_changed": "the prediction reads {predicted}, gold {gold}",
}


def message_of(difference: Difference) -> str:
    """One sentence without its full stop."""
    gold, predicted = cut(difference.gold), cut(difference.predicted)
    if bool(gold) != bool(predicted):
        family = difference.kind.rpartition("_")[0]
        if difference.kind == "join_condition":
            return f"gold joins on {gold}" if gold else f"the prediction joins on {predicted}, gold does not"
        if difference.kind == "join_type":
            return f"gold uses {gold}" if gold else f"the prediction uses {predicted}, gold inner joins"
        told = (_ELSEWHERE if difference.elsewhere else {}).get(family) or _ONE_SIDED.get(family)
        if told is not None:
            return told[0 if gold else 1].format(gold=gold, predicted=predicted)
    words = _TWO_SIDED.get(difference.kind, "the prediction has {predicted} where gold has {gold}")
    return words.format(gold=gold or "nothing", predicted=predicted or "nothing")


def cut(text: str) -> str:
    """A text in one line, cut where it is long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 1] + "…"
