"""How two queries differ, clause by clause: `differences`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from assay.sql.differences.condition_pairs import condition_differences, conditions_of
from assay.sql.differences.difference import Difference, Kind, sided
from assay.sql.differences.parts import OrderTerm, QueryParts, SelectParts, Term, inner_queries
from assay.sql.differences.table_differences import (
    joined_with,
    joins_otherwise,
    table_differences,
    table_uses,
    unshared_tables,
)
from assay.sql.differences.terms import text_of


def differences(gold: QueryParts, predicted: QueryParts) -> tuple[Difference, ...]:
    """All differences, clause by clause; empty if the queries are equivalent.

    A query that uses a table twice may number the uses differently: the numbering with the fewest differences counts.
    """
    if text_of(gold) == text_of(predicted) and not any(unshared_tables(gold, predicted)):
        return ()
    return tuple(_of_queries(gold, predicted))


def _of_queries(gold: QueryParts, predicted: QueryParts) -> Iterator[Difference]:
    if len(gold.selects) != len(predicted.selects) or gold.operators != predicted.operators:
        yield _set_operation(gold, predicted)
    for left, right in zip(gold.selects, predicted.selects, strict=False):
        yield from _of_selects(left, right, inside=False)
    yield from _order_and_limit(gold, predicted, inside=False)
    ours = [select for query in _inner(gold) for select in query.all_selects]
    theirs = [select for query in _inner(predicted) for select in query.all_selects]
    yield from _subqueries(gold, predicted, ours, theirs)
    if len(ours) == len(theirs):
        for left, right in zip(ours, theirs, strict=True):
            yield from _of_selects(left, right, inside=True)
    least = min(len(gold.selects), len(predicted.selects))
    further = [replace(query, selects=query.selects[least:]) for query in (gold, predicted)]
    gold, predicted = (replace(query, selects=query.selects[:least]) for query in (gold, predicted))
    # What an additional part of a set operation contains is not extra: the part itself is the difference.
    kept = [conditions_of(query.all_selects) for query in further]
    conditions = [
        found
        for found in condition_differences(gold.all_selects, predicted.all_selects)
        if not (found.predicted_term is None and found.gold_term is not None and found.gold_term.merged in kept[1])
        and not (
            found.gold_term is None and found.predicted_term is not None and found.predicted_term.merged in kept[0]
        )
    ]
    read = [table_uses(query) for query in further]
    for one in table_differences(gold, predicted):
        if (one.kind == "table_missing" and one.gold_text in read[1]) or (
            one.kind == "table_extra" and one.predicted_text in read[0]
        ):
            continue
        joining = [other for other in conditions if one.kind == "join_condition" and joins_otherwise(one, other)]
        conditions = [other for other in conditions if other not in joining]
        yield joined_with(one, joining)
    yield from conditions


def _inner(query: QueryParts) -> list[QueryParts]:
    return [inner for select in query.selects for inner in inner_queries(select)]


def _set_operation(gold: QueryParts, predicted: QueryParts) -> Difference:
    return Difference(
        kind=sided("set_operation", gold=gold.operators, predicted=predicted.operators),
        clause="set operation",
        gold_text=", ".join(gold.operators),
        predicted_text=", ".join(predicted.operators),
    )


def _subqueries(
    gold: QueryParts, predicted: QueryParts, ours: Sequence[SelectParts], theirs: Sequence[SelectParts]
) -> Iterator[Difference]:
    if len(ours) == len(theirs):
        return
    if not ours and _is_condition_more(gold, predicted):
        return  # the condition that contains it is the difference
    yield Difference(
        kind=sided("subquery", gold=ours, predicted=theirs),
        clause="WHERE",
        gold_text="; ".join(query.shown for query in _inner(gold)),
        predicted_text="; ".join(query.shown for query in _inner(predicted)),
    )


def _is_condition_more(gold: QueryParts, predicted: QueryParts) -> bool:
    """Whether the prediction has all of the gold query's conditions, with its subqueries in other conditions."""
    holders = [term for select in predicted.selects for term in select.where if term.inner]
    held = sum(len(inner.all_selects) for term in holders for inner in term.inner)
    texts = [{term.merged for select in query.selects for term in select.where} for query in (gold, predicted)]
    return texts[0] <= texts[1] and held == len(predicted.all_selects) - len(predicted.selects)


def _of_selects(gold: SelectParts, predicted: SelectParts, *, inside: bool) -> Iterator[Difference]:
    yield from _outputs(gold, predicted, inside=inside)
    if gold.distinct != predicted.distinct and not _only_groups(gold, predicted):
        kind: Kind = "distinct_missing" if gold.distinct else "distinct_extra"
        words = ("DISTINCT", "") if gold.distinct else ("", "DISTINCT")
        yield Difference(kind=kind, clause="DISTINCT", gold_text=words[0], predicted_text=words[1], inside=inside)
    yield from _groups(gold, predicted, inside=inside)
    yield from _order_and_limit(gold, predicted, inside=inside)


def _only_groups(gold: SelectParts, predicted: SelectParts) -> bool:
    """Whether one has DISTINCT and the other has the same effect by grouping without aggregates."""
    distinct, other = (gold, predicted) if gold.distinct else (predicted, gold)
    if not other.group or other.aggregated or other.having:
        return False
    return {term.merged for term in other.group} == {term.merged for term in distinct.outputs}


def _outputs(gold: SelectParts, predicted: SelectParts, *, inside: bool) -> Iterator[Difference]:
    ours, theirs = unmatched(gold.outputs, predicted.outputs)
    if len(ours) != len(theirs):
        _drop_equal_by_join(ours, theirs, (*gold.joins, *predicted.joins))
    pairs: list[tuple[Term, Term]] = []
    for left in list(ours):
        right = max(theirs, key=lambda term: likeness(left, term), default=None)
        if right is None or (likeness(left, right) == 0 and len(ours) != len(theirs)):
            continue
        pairs.append((left, right))
        ours.remove(left)
        theirs.remove(right)
    for left, right in pairs:
        yield Difference(
            kind=output_kind(left, right),
            clause="SELECT",
            inside=inside,
            gold_term=left,
            predicted_term=right,
        )
    for left in ours:
        repeats = any(left.merged == other.merged for other in predicted.outputs)
        yield Difference(kind="output_missing", clause="SELECT", gold_term=left, inside=inside, elsewhere=repeats)
    for right in theirs:
        repeats = any(right.merged == other.merged for other in gold.outputs)
        yield Difference(kind="output_extra", clause="SELECT", predicted_term=right, inside=inside, elsewhere=repeats)


def _drop_equal_by_join(ours: list[Term], theirs: list[Term], joins: Sequence[frozenset[str]]) -> None:
    """Drop the columns that one of the queries makes equal by a join: each selects the other's column."""
    for left in list(ours):
        same = next((one for one in joins if left.text in one), frozenset())
        twin = next((right for right in theirs if right.text in same), None)
        if twin is not None:
            ours.remove(left)
            theirs.remove(twin)


_DATES = ("DATE", "TIME", "STRFTIME", "JULIAN", "EXTRACT", "YEAR", "MONTH", "DAY")
_MATH = ("ROUND", "ABS", "CEIL", "FLOOR", "POWER", "SQRT", "MOD", "SIGN", "LN", "LOG")
_TEXTS = ("SUBSTR", "LOWER", "UPPER", "TRIM", "REPLACE", "CONCAT", "LENGTH", "INSTR", "LEFT", "RIGHT", "STR_POSITION")
_CASES = ("CASE", "COUNT_IF", "IF")
_CONDITIONAL = (*_CASES, "COALESCE", "NULLIF", "IIF")


def output_kind(gold: Term, predicted: Term) -> Kind:
    """How two outputs differ: in the aggregate, a function, the column."""
    if gold.windowed or predicted.windowed:
        return "window"
    if _names(gold, *_CASES) != _names(predicted, *_CASES):
        return "conditional" if gold.columns or predicted.columns else "aggregate"
    if Counter(gold.aggregates) != Counter(predicted.aggregates):
        return "aggregate"
    same = set(gold.columns) == set(predicted.columns) or (gold.aggregates == ("COUNT",) and not gold.arithmetic)
    if same and gold.distinct != predicted.distinct and gold.arithmetic == predicted.arithmetic:
        return "distinct_missing" if gold.distinct else "distinct_extra"
    if Counter(gold.functions) != Counter(predicted.functions):
        return function_kind(gold, predicted)
    if gold.arithmetic != predicted.arithmetic:
        return "arithmetic"
    if set(gold.columns) == set(predicted.columns):
        if _names(gold, *_CONDITIONAL) and Counter(gold.literals) == Counter(predicted.literals):
            return "conditional"  # its conditions differ, or their results
        if gold.literals != predicted.literals:
            kind = function_kind(gold, predicted)
            return kind if kind in ("date_function", "string_function", "math_function") else "output_literal"
        return "arithmetic"
    return "aggregate_argument" if gold.aggregates else "output_changed"


def function_kind(gold: Term, predicted: Term) -> Kind:
    """The family of the functions that only one side calls."""
    ours, theirs = Counter(gold.functions), Counter(predicted.functions)
    names = set((ours - theirs) | (theirs - ours)) or set(ours)
    families: tuple[tuple[Kind, Callable[[str], bool]], ...] = (
        ("date_function", lambda name: any(part in name for part in _DATES)),
        ("conversion", lambda name: "CAST" in name),
        ("string_function", lambda name: name.startswith(_TEXTS)),
        ("math_function", lambda name: name.startswith(_MATH)),
        ("conditional", lambda name: name in _CONDITIONAL),
    )
    return next((kind for kind, fits in families if any(map(fits, names))), "function")


def _names(term: Term, *names: str) -> bool:
    return any(name in names for name in (*term.functions, *term.aggregates))


def likeness(left: Term, right: Term) -> int:
    """How much two terms have in common."""
    shared = len(set(left.columns) & set(right.columns))
    same = 1 if left.aggregates and left.aggregates == right.aggregates else 0
    return 2 * shared + same + (1 if left.literals and left.literals == right.literals else 0)


def unmatched(gold: Sequence[Term], predicted: Sequence[Term]) -> tuple[list[Term], list[Term]]:
    """The terms of each side that the other lacks."""
    ours, theirs = list(gold), list(predicted)
    for merged in (False, True):
        for term in list(ours):
            text = term.merged if merged else term.text
            twin = next((other for other in theirs if (other.merged if merged else other.text) == text), None)
            if twin is not None:
                ours.remove(term)
                theirs.remove(twin)
    return ours, theirs


def _groups(gold: SelectParts, predicted: SelectParts, *, inside: bool) -> Iterator[Difference]:
    if _only_groups(gold, predicted) and gold.distinct != predicted.distinct:
        return
    ours, theirs = unmatched(gold.group, predicted.group)
    if not ours and not theirs:
        return
    kind = sided("group", gold=gold.group, predicted=predicted.group)
    shown = (", ".join(term.shown for term in gold.group), ", ".join(term.shown for term in predicted.group))
    yield Difference(kind=kind, clause="GROUP BY", gold_text=shown[0], predicted_text=shown[1], inside=inside)


def _order_and_limit(
    gold: SelectParts | QueryParts, predicted: SelectParts | QueryParts, *, inside: bool
) -> Iterator[Difference]:
    ours, theirs = _ordering(gold.order), _ordering(predicted.order)
    if ours != theirs:
        shown = (_shown_order(gold.order), _shown_order(predicted.order))
        same = [key for key, _ in ours] == [key for key, _ in theirs]
        kind: Kind = "direction" if same else sided("order", gold=ours, predicted=theirs)
        yield Difference(kind=kind, clause="ORDER BY", gold_text=shown[0], predicted_text=shown[1], inside=inside)
    if (gold.limit, gold.offset) != (predicted.limit, predicted.offset):
        texts = [_shown_limit(parts) for parts in (gold, predicted)]
        kind = sided("limit", gold=texts[0], predicted=texts[1])
        yield Difference(kind=kind, clause="LIMIT", gold_text=texts[0], predicted_text=texts[1], inside=inside)


def _ordering(order: Sequence[OrderTerm]) -> list[tuple[str, bool]]:
    return [(key.term.merged, key.descending) for key in order]


def _shown_order(order: Sequence[OrderTerm]) -> str:
    return ", ".join(key.term.shown + (" DESC" if key.descending else "") for key in order)


def _shown_limit(parts: SelectParts | QueryParts) -> str:
    limit = "" if parts.limit is None else f"LIMIT {parts.limit}"
    return limit if parts.offset is None else f"{limit} OFFSET {parts.offset}".strip()
