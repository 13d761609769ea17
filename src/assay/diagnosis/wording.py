"""The sentences for a cause's evidence: what the gold query has, what the prediction has."""

from __future__ import annotations

from collections.abc import Mapping

from assay.sql.differences import Difference

_LONGEST = 160
_ONE_SIDED: Mapping[str, tuple[str, str]] = {
    "output": (
        "the prediction does not select {gold}",
        "the prediction also selects {predicted}, the gold query does not",
    ),
    "distinct": (
        "the gold query removes duplicates (DISTINCT), the prediction does not",
        "the prediction removes duplicates (DISTINCT), the gold query does not",
    ),
    "table": (
        "the gold query reads {gold}, the prediction does not",
        "the prediction also reads {predicted}, the gold query does not",
    ),
    "condition": ("the prediction omits the condition {gold}", "the prediction adds the condition {predicted}"),
    "null_condition": ("the prediction omits the condition {gold}", ""),
    "group": (
        "the gold query groups by {gold}, the prediction does not",
        "the prediction groups by {predicted}, the gold query does not",
    ),
    "order": (
        "the gold query orders by {gold}, the prediction does not",
        "the prediction orders by {predicted}, the gold query does not",
    ),
    "limit": (
        "the gold query has {gold}, the prediction does not",
        "the prediction has {predicted}, the gold query does not",
    ),
    "set_operation": (
        "the gold query combines queries by {gold}, the prediction does not",
        "the prediction combines queries by {predicted}, the gold query does not",
    ),
    "subquery": (
        "the gold query has the subquery {gold}, the prediction does not",
        "only the prediction has {predicted}",
    ),
}
"""By the family of the difference: the sentence if only the gold query has it, and if only the prediction has it."""
_ELSEWHERE: Mapping[str, tuple[str, str]] = {
    "output": (
        "the gold query selects {gold} more often than the prediction",
        "the prediction selects {predicted} more often than the gold query",
    ),
    "table": (
        "the gold query reads {gold} more often than the prediction",
        "the prediction reads {predicted} more often than the gold query",
    ),
    "condition": (
        "the gold query has the condition {gold} more often than the prediction",
        "the prediction has the condition {predicted} more often than the gold query",
    ),
}
"""By family: the sentence if the other query has it, too, elsewhere or less often."""
_TWO_SIDED: Mapping[str, str] = {
    "literal": "the prediction looks for {predicted}, the gold query for {gold}",
    "literal_format": "the prediction writes the value as in {predicted}, the gold query as in {gold}",
    "operator": "the prediction compares {predicted}, the gold query {gold}",
    "connective": "the prediction combines its conditions as {predicted}, the gold query as {gold}",
    "direction": "the prediction orders by {predicted}, the gold query by {gold}",
    "join_condition": "the prediction joins on {predicted}, the gold query on {gold}",
    "join_type": "the prediction uses {predicted}, the gold query {gold}",
    "table_changed": "the prediction reads {predicted}, the gold query {gold}",
}


def message_of(difference: Difference) -> str:
    """One sentence without its full stop."""
    gold, predicted = cut(difference.gold), cut(difference.predicted)
    if bool(gold) != bool(predicted):
        family = difference.kind.rpartition("_")[0]
        if difference.kind == "join_condition":
            return (
                f"the gold query joins on {gold}"
                if gold
                else f"the prediction joins on {predicted}, the gold query does not"
            )
        if difference.kind == "join_type":
            return (
                f"the gold query uses {gold}"
                if gold
                else f"the prediction uses {predicted}, the gold query inner joins"
            )
        told = (_ELSEWHERE if difference.elsewhere else {}).get(family) or _ONE_SIDED.get(family)
        if told is not None:
            return told[0 if gold else 1].format(gold=gold, predicted=predicted)
    words = _TWO_SIDED.get(difference.kind, "the prediction has {predicted}, the gold query {gold}")
    return words.format(gold=gold or "nothing", predicted=predicted or "nothing")


def cut(text: str) -> str:
    """A text in one line, truncated if it is long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 1] + "…"
