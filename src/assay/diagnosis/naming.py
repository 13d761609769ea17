"""The causes that the signs point to, the most probable first.

`READINGS` lists what each sign may mean. Its first entry is the literal meaning of a difference that occurs alone; the
others are labels that experts may also give it. How strongly a sign points to each is fitted (`CauseModel`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import exp

from msgspec import Struct
from msgspec.structs import replace

from assay.diagnosis.signs import Sign, has_same_columns
from assay.model.verdicts.diagnosis import CauseKind

NAMED_FROM = 0.22
"""Minimum probability of a cause besides the primary one if those before it are most likely wrong."""
NAMED_WHERE_SURE = 0.1
"""How much more probable it must be if those before it are certain."""
NAMED_BESIDE_REPAIR = 0.1
"""How much more probable it must be if a repair works without changing its clause."""
MOST_NAMED = 3

READINGS: Mapping[str, tuple[CauseKind, ...]] = {
    "output_changed": ("attribute_mismatch",),
    "count_argument": ("attribute_mismatch", "attribute_redundancy", "distinct"),
    "ratio_argument": ("attribute_mismatch", "explicit_condition_missing", "value_mismatch"),
    "aggregate_argument": ("attribute_mismatch",),
    "count_distinct": ("distinct", "attribute_mismatch"),
    "condition_column": ("attribute_mismatch",),
    "order_changed": ("attribute_mismatch",),
    "order_aggregate": ("aggregate_functions", "attribute_mismatch"),
    "output_missing": ("attribute_missing",),
    "output_extra": ("attribute_redundancy",),
    "output_literal": ("value_mismatch",),
    "aggregate": ("aggregate_functions", "attribute_mismatch"),
    "aggregate_in_ratio": ("aggregate_functions", "explicit_condition_missing", "attribute_mismatch"),
    "aggregate_of_other_column": ("attribute_mismatch", "aggregate_functions"),
    "conditional": ("conditional_functions", "aggregate_functions", "attribute_mismatch"),
    "conditional_in_ratio": ("explicit_condition_missing", "aggregate_functions"),
    "condition_into_case": ("explicit_condition_mismatch", "aggregate_functions", "explicit_condition_missing"),
    "function": ("other", "aggregate_functions", "string_functions"),
    "function_in_condition": ("value_mismatch",),
    "string_function_in_condition": ("string_functions", "value_mismatch"),
    "math_function_in_condition": ("math_functions", "value_mismatch"),
    "conversion_in_condition": ("conversion_functions", "value_mismatch"),
    "conditional_in_condition": ("conditional_functions", "value_mismatch"),
    "date_function": ("date_time_functions", "attribute_mismatch", "value_mismatch"),
    "math_function": ("math_functions",),
    "string_function": ("string_functions",),
    "conversion": ("conversion_functions",),
    "arithmetic": ("math_functions", "aggregate_functions"),
    "window": ("window_functions",),
    "literal": ("value_mismatch", "attribute_mismatch"),
    "literal_format": ("data_format_mismatch", "value_mismatch", "attribute_mismatch"),
    "operator": ("comparison_operator_mismatch", "logical_operator_mismatch"),
    "connective": ("logical_operator_mismatch", "value_mismatch"),
    "condition_missing": ("explicit_condition_missing", "table_missing"),
    "having_missing": ("clause_missing", "explicit_condition_missing"),
    "subquery_condition_missing": ("subquery_missing", "explicit_condition_missing"),
    "condition_extra": ("explicit_condition_redundancy", "value_mismatch"),
    "condition_changed": ("explicit_condition_mismatch", "value_mismatch", "attribute_mismatch"),
    "condition_replaced": (
        "explicit_condition_mismatch",
        "attribute_mismatch",
        "value_mismatch",
        "explicit_condition_missing",
    ),
    "condition_replaced_in_ratio": (
        "explicit_condition_missing",
        "attribute_mismatch",
        "value_mismatch",
        "explicit_condition_mismatch",
    ),
    "condition_replacing": ("attribute_mismatch", "value_mismatch"),
    "null_condition_missing": ("implicit_condition_missing",),
    "table_changed": ("table_mismatch", "attribute_mismatch"),
    "table_missing": ("table_missing",),
    "bridge_missing": ("table_missing", "join_condition_mismatch", "table_mismatch", "attribute_mismatch"),
    "table_extra": ("table_redundancy", "attribute_mismatch"),
    "table_extra_used": ("table_redundancy", "attribute_mismatch"),
    "join_condition": ("join_condition_mismatch", "attribute_mismatch"),
    "join_on_other_key": ("attribute_mismatch", "join_condition_mismatch"),
    "join_with_other_tables": ("join_condition_mismatch", "attribute_mismatch"),
    "join_or_subquery": ("join_condition_mismatch",),
    "join_type": ("join_type_mismatch",),
    "order_missing": ("clause_missing",),
    "limit_missing": ("clause_missing",),
    "order_became_subquery": ("clause_missing", "subquery_mismatch"),
    "order_extra": ("clause_redundancy",),
    "limit_extra": ("clause_redundancy",),
    "subquery_became_order": ("subquery_missing", "clause_redundancy", "clause_missing"),
    "subquery_missing": ("subquery_missing",),
    "subquery_extra": ("subquery_mismatch", "clause_missing"),
    "subquery_changed": ("subquery_mismatch",),
    "group_missing": ("clause_missing",),
    "group_extra": ("clause_redundancy", "clause_missing"),
    "group_changed": ("attribute_mismatch", "clause_missing"),
    "distinct_missing": ("distinct",),
    "distinct_extra": ("distinct",),
    "direction": ("asc_desc",),
    "limit_changed": ("value_mismatch", "clause_missing"),
    "set_operation_missing": ("partial_query", "clause_missing"),
    "set_operation_extra": ("clause_redundancy",),
    "set_operation_changed": ("logical_operator_mismatch", "clause_missing"),
}
"""By sign (`assay.diagnosis.signs`)."""

EXCLUDED: Mapping[str, frozenset[CauseKind]] = {"condition_into_case": frozenset({"aggregate_functions"})}
"""By sign: the causes that are named for another sign or not at all, although experts call the pair so. A missing
condition does not indicate another aggregate: the CASE in its place may."""


ALWAYS = "always"
"""The key of the entries that apply to every pair."""


class CauseModel(Struct, frozen=True, kw_only=True):
    """How strongly each sign and each trait points to each cause: one fitted model, log-odds to be added up."""

    weights: Mapping[CauseKind, Mapping[str, float]]

    def probability(self, kind: CauseKind, held: Iterable[str]) -> float:
        """The probability that experts would give this label to a pair with these signs and traits."""
        weights = self.weights.get(kind, {})
        return 1 / (1 + exp(-weights.get(ALWAYS, 0.0) - sum([weights.get(name, 0.0) for name in held])))

    def points_to(self, kind: CauseKind, sign: str) -> float:
        """How strongly a sign points to a cause."""
        return self.weights.get(kind, {}).get(sign, 0.0)


@cache
def cause_model() -> CauseModel:
    """The content of ``cause_model.json``, which ``python benchmarks/causes.py --learn`` writes."""
    text = files("assay.diagnosis").joinpath("cause_model.json").read_text(encoding="utf-8")
    return CauseModel(weights=json.loads(text))


class RankedCause(Struct, frozen=True, kw_only=True):
    """A cause with the sign that points to it most strongly."""

    kind: CauseKind
    probability: float
    sign: Sign


def name_causes(
    found: Sequence[Sign],
    traits: Iterable[str] = (),
    *,
    proved: frozenset[int] = frozenset(),
    model: CauseModel | None = None,
) -> list[RankedCause]:
    """The causes that the signs point to: the primary one, then those that are probable enough to be named.

    ``proved`` are the locations of the signs whose clauses the repair replaces. If there are any, the primary cause is
    one
    of theirs.
    """
    if not found:
        return []
    model, held = model or cause_model(), tuple(traits)
    settled = [sign for place, sign in enumerate(found) if place in proved]
    unsettled = frozenset(sign.name for place, sign in enumerate(found) if place not in proved)
    others = unsettled | frozenset(sign.name for sign in settled if not has_same_columns(sign.difference))
    same = frozenset(sign.name for sign in settled) - others
    ranked = _ranked(found, held, model, same)
    if settled and len(settled) < len(found):
        if len({sign.name for sign in settled}) == 1:  # the repair shows that no other difference matters
            first = _ranked(settled, held, model, same)[0]
        else:
            first = _supported(ranked, settled, model, same) or _ranked(settled, held, model, same)[0]
        ranked = [first, *(one for one in ranked if one.kind != first.kind)]
        return _likely_enough(ranked, doubted=unsettled - frozenset(sign.name for sign in settled))
    return _likely_enough(ranked)


def _supported(
    ranked: Sequence[RankedCause], settled: Sequence[Sign], model: CauseModel, same: frozenset[str]
) -> RankedCause | None:
    """The most probable cause that one of these signs may mean, with the sign that points to it most strongly."""
    for one in ranked:
        signs = [sign for sign in settled if one.kind in READINGS.get(sign.name, ())]
        signs = [sign for sign in signs if not _is_excluded(one.kind, sign.name, same)]
        if signs:
            return replace(one, sign=max(signs, key=lambda sign: model.points_to(one.kind, sign.name)))
    return None


def _likely_enough(ranked: Sequence[RankedCause], *, doubted: frozenset[str] = frozenset()) -> list[RankedCause]:
    """The first cause, and each further one worth a line. The more certain those before it, the more certain it must
    be.

    The signs that are ``doubted`` are of differences that need no repair: their causes must be more certain.
    """
    named = [ranked[0]]
    wrong = 1 - ranked[0].probability
    for one in ranked[1:MOST_NAMED]:
        needed = (
            NAMED_FROM + NAMED_WHERE_SURE * (1 - wrong) + (NAMED_BESIDE_REPAIR if one.sign.name in doubted else 0.0)
        )
        if one.probability >= needed:
            named.append(one)
            wrong *= 1 - one.probability
    return named


def _ranked(found: Sequence[Sign], traits: Sequence[str], model: CauseModel, same: frozenset[str]) -> list[RankedCause]:
    """The causes that some sign points to. ``same``: see `_is_excluded`."""
    by_name = {sign.name: sign for sign in reversed(found)}
    held = (*by_name, *traits)
    named = []
    for kind, weights in model.weights.items():
        speaking = [name for name in by_name if weights.get(name, 0.0) >= _POINTS]
        speaking = [name for name in speaking if not _is_excluded(kind, name, same)]
        if not speaking:
            continue
        names = [name for name in by_name if default_cause(name) == kind] or speaking
        name = max(names, key=lambda name: weights.get(name, 0.0))
        if weights.get(name, 0.0) >= _POINTS:
            named.append(RankedCause(kind=kind, probability=model.probability(kind, held), sign=by_name[name]))
    named.sort(key=lambda one: (-one.probability, one.kind))
    if len(by_name) == 1 or not named:
        name = found[0].name
        own = default_cause(name)
        others = [one for one in named if one.kind != own]
        likely = next((one.probability for one in named if one.kind == own), 1.0)
        return [RankedCause(kind=own, probability=likely, sign=by_name[name]), *others]
    return named


def _is_excluded(kind: CauseKind, name: str, same: frozenset[str]) -> bool:
    """Whether the differences of a sign rule out a cause.

    ``same`` are the signs whose differences are all repaired and have the same columns on both sides: with the gold
    query's
    value in ``name = 'Ann'`` the answer is correct, so ``name`` is the right column.
    """
    if kind == "attribute_mismatch" and name in same and default_cause(name) != kind:
        return True
    return kind in EXCLUDED.get(name, ())


_POINTS = 0.3
"""The minimum weight of the sign on which a cause rests."""


def default_cause(name: str) -> CauseKind:
    """What a sign means if nothing else differs."""
    return READINGS.get(name, ("other",))[0]
