"""What a near miss shows about the cause.

A near miss holds for every row: except for one kind of difference the answer is correct. So the cause is a difference
of that kind. The signs in the queries alone may point elsewhere: a 100 instead of a 1 in the select list looks like a
wrong value, but it is a percentage instead of a share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from assay.diagnosis.signs import Sign
from assay.diagnosis.wording import cut, message_of
from assay.model import Evidence, NearMiss
from assay.model.verdicts.comparison import NearMissKind
from assay.model.verdicts.diagnosis import Cause, CauseKind, Repair

_OF_VALUES: Mapping[NearMissKind, CauseKind] = {
    "scaled": "scale",
    "sign": "sign",
    "rounding_only": "rounding",
    "type_only": "result_type",
    "case_or_whitespace_only": "letter_case",
}
"""The rows match the gold result; only how their values are computed or written differs."""
_SAYS_THE_SAME: Mapping[NearMissKind, CauseKind] = {
    "type_only": "conversion_functions",
    "case_or_whitespace_only": "string_functions",
}
"""Causes that explain such a near miss themselves: a cast, an UPPER. Integer division explains any."""
_OF_COLUMNS: Mapping[NearMissKind, CauseKind] = {
    "superset_columns": "attribute_redundancy",
    "subset_columns": "attribute_missing",
}
_SHOWN_BY: Mapping[CauseKind, str] = {"attribute_redundancy": "output_extra", "attribute_missing": "output_missing"}
_OF_ROWS = ("extra_rows", "missing_rows", "duplicates_only", "order_only")
Selected = Callable[[], tuple[str, str]]
_CHOOSE_ROWS = frozenset({"WHERE", "HAVING", "GROUP BY", "DISTINCT", "ORDER BY", "LIMIT", "set operation"})
"""Clauses that choose and order rows, and compute no value."""


def near_miss_of(evidence: Evidence) -> NearMiss | None:
    """The near miss in the verdict's reason."""
    near = evidence.comparison.near_misses if evidence.comparison is not None else ()
    return near[0] if near else None


def agreeing(
    causes: Sequence[Cause],
    near: NearMiss | None,
    found: Sequence[Sign] = (),
    repair: Repair | None = None,
    *,
    selected: Selected | None = None,
) -> list[Cause]:
    """The causes, so that none contradicts the near miss.

    A repair is executed, so it decides: if it does not touch the difference of the near miss, that near miss is chance,
    and
    the primary cause says so. ``selected`` gives the select lists of the gold query and the prediction.
    """
    kind = None if near is None else _OF_VALUES.get(near.kind) or _OF_COLUMNS.get(near.kind)
    mended = None if repair is None else {step.clause for step in repair.steps}
    if near is None or not causes:
        return list(causes)
    if kind is None:
        is_chance = near.kind in _OF_ROWS and mended == {"SELECT"} and causes[0].clause == "SELECT"
        if is_chance:
            return _by_chance(causes, near)
        if near.kind in _OF_ROWS and repair is None:  # the select list is correct, so the cause is elsewhere
            return sorted(causes, key=lambda one: one.clause == "SELECT" or not one.clause)
        return list(causes)
    if near.kind in _OF_COLUMNS:
        if mended is not None and "SELECT" not in mended:
            return list(causes)
        others = [one for one in causes if one.clause != "SELECT" and one.kind not in ("other", "rewrite")]
        return [_own(kind, near, found, repair, selected), *others]
    if mended is not None and mended != {"SELECT"}:
        return _by_chance(causes, near) if mended <= _CHOOSE_ROWS else list(causes)
    first = causes[0]
    explains = first.kind == _SAYS_THE_SAME.get(near.kind) or first.symptom == "integer_division"
    return [first if explains else _own(kind, near, found, repair, selected)]


def _by_chance(causes: Sequence[Cause], near: NearMiss) -> list[Cause]:
    first = causes[0]
    return [replace(first, message=f"{first.message}; by chance, {near.detail}"), *causes[1:]]


def _own(
    kind: CauseKind, near: NearMiss, found: Sequence[Sign], repair: Repair | None, selected: Selected | None
) -> Cause:
    """The near miss as the cause, with the two expressions if they are known."""
    outputs = [sign.difference for sign in found if sign.difference.clause == "SELECT"]
    wanted = _SHOWN_BY.get(kind)
    shown = next((one for one in outputs if wanted is None or one.kind == wanted), None)
    proved = repair is not None and any(step.clause == "SELECT" for step in repair.steps)
    if shown is not None:
        message, gold, predicted = message_of(shown), shown.gold, shown.predicted
    elif proved and selected is not None:
        gold, predicted = selected()
        message = f"the prediction selects {cut(predicted)}, the gold query {cut(gold)}"
    else:
        return Cause(kind=kind, message=near.detail)
    return Cause(
        kind=kind, message=f"{near.detail}: {message}", clause="SELECT", gold=gold, predicted=predicted, proved=proved
    )
