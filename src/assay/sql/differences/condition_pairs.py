"""Which conditions of two queries correspond, and how corresponding conditions differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from assay.sql.differences.difference import Difference, Kind
from assay.sql.differences.parts import SelectParts, Term
from assay.sql.differences.terms import text_of


class _Placed(Struct, frozen=True):
    term: Term
    clause: Literal["WHERE", "HAVING", "JOIN"]
    inside: bool


def condition_differences(gold: Sequence[SelectParts], predicted: Sequence[SelectParts]) -> list[Difference]:
    """The differences of all conditions of two queries, anywhere in them."""
    ours, theirs = _without_common(list(_conditions(gold)), list(_conditions(predicted)))
    connectives = [one for one in (*ours, *theirs) if one.term.parts]
    left, right = _leaves(ours), _leaves(theirs)
    if left or right:
        left, right = _without_common(left, right)
        if not left and not right:
            return [_connective(ours, theirs)]
    found: list[Difference] = []
    sizes = [len(_leaves(side)) for side in (ours, theirs)]
    if connectives and min(sizes) > 1 and len(left) < sizes[0] and len(right) < sizes[1]:
        has = [any(one.term.parts for one in side) for side in (ours, theirs)]
        if has[0] != has[1]:
            found.append(_connective(ours, theirs))
    for one, other in _paired(left, right):
        found.append(_pair(one, other))
    if len(gold) != len(predicted):  # what is in a subquery that the other lacks is part of that difference
        left = [one for one in left if not one.inside or len(predicted) > 1]
        right = [one for one in right if not one.inside or len(gold) > 1]
    if len(left) == len(right) == 1:
        found.append(replace(_alone(left[0]), kind="condition_replaced", predicted_term=right[0].term))
        return found
    said = [conditions_of(side) for side in (gold, predicted)]
    found += [replace(_alone(one), elsewhere=one.term.merged in said[1]) for one in left]
    found += [
        Difference(
            kind="condition_extra",
            clause=one.clause,
            predicted_term=one.term,
            inside=one.inside,
            elsewhere=one.term.merged in said[0],
        )
        for one in right
    ]
    return found


def conditions_of(selects: Sequence[SelectParts]) -> set[str]:
    """The texts of all conditions, with the conditions of an OR separately."""
    return {one.term.merged for one in _leaves(list(_conditions(selects)))}


def _conditions(selects: Sequence[SelectParts]) -> Iterator[_Placed]:
    for place, select in enumerate(selects):
        for term in select.where:
            yield _Placed(_hollow(term), "WHERE", bool(place))
        for term in select.having:
            yield _Placed(_hollow(term), "HAVING", bool(place))
        for term in select.outer_joins:
            yield _Placed(_hollow(term), "JOIN", bool(place))


def _hollow(term: Term) -> Term:
    """The condition without the texts of its subqueries, whose differences are found separately."""
    parts = tuple(_hollow(part) for part in term.parts)
    text, merged = term.text, term.merged
    for query in term.inner:
        inside = f"({text_of(query)})"
        text, merged = text.replace(inside, "(…)"), merged.replace(inside, "(…)")
    return replace(term, text=text, merged=merged, parts=parts)


def _leaves(placed: Sequence[_Placed]) -> list[_Placed]:
    return [replace(one, term=leaf) for one in placed for leaf in one.term.leaves()]


def _without_common(gold: list[_Placed], predicted: list[_Placed]) -> tuple[list[_Placed], list[_Placed]]:
    ours, theirs = list(gold), list(predicted)
    for merged in (False, True):
        for one in list(ours):
            text = one.term.merged if merged else one.term.text
            twin = next((x for x in theirs if (x.term.merged if merged else x.term.text) == text), None)
            if twin is not None:
                ours.remove(one)
                theirs.remove(twin)
    return ours, theirs


def _connective(ours: Sequence[_Placed], theirs: Sequence[_Placed]) -> Difference:
    left, right = (next(iter([*_ors(side), *side]), None) for side in (ours, theirs))
    placed = left or right
    return Difference(
        kind="connective",
        clause=placed.clause if placed else "WHERE",
        gold_term=_together(ours),
        predicted_term=_together(theirs),
        inside=placed.inside if placed else False,
    )


def _ors(side: Sequence[_Placed]) -> list[_Placed]:
    return [one for one in side if one.term.parts]


def _together(side: Sequence[_Placed]) -> Term | None:
    if not side:
        return None

    def show() -> str:
        return " AND ".join(f"({one.term.shown})" if one.term.parts else one.term.shown for one in side)

    return replace(side[0].term, show=show)


def _paired(left: list[_Placed], right: list[_Placed]) -> Iterator[tuple[_Placed, _Placed]]:
    """The conditions that correspond, the most similar first; they are removed from the lists."""
    while left and right:
        likest = max(
            ((_alike(one.term, other.term), one, other) for one in left for other in right), key=lambda x: x[0]
        )
        score, one, other = likest
        if score < _LEAST:
            return
        left.remove(one)
        right.remove(other)
        yield one, other


_LEAST = 2


def _alike(gold: Term, predicted: Term) -> int:
    shared = set(gold.columns) & set(predicted.columns)
    score = 4 * len(shared) if shared else 0
    score += 3 if gold.literals and gold.literals == predicted.literals else 0
    score += 1 if gold.operator == predicted.operator else 0
    score += 1 if gold.aggregates == predicted.aggregates else 0
    score += 3 if gold.aggregates == predicted.aggregates != () and set(gold.columns) == set(predicted.columns) else 0
    bare = {column.rpartition(".")[2] for column in gold.columns} & {c.rpartition(".")[2] for c in predicted.columns}
    score += 1 if bare and not shared else 0
    same_number = bool(gold.inner) == bool(predicted.inner)
    return score if score >= 3 and same_number else score - 1


def _pair(gold: _Placed, predicted: _Placed) -> Difference:
    ours, theirs = gold.term, predicted.term
    kind: Kind = "condition_changed"
    columns = set(ours.columns) == set(theirs.columns)
    literals = ours.literals == theirs.literals
    functions = (*ours.functions, *ours.aggregates) == (*theirs.functions, *theirs.aggregates)
    if bool(ours.inner) != bool(theirs.inner):
        kind = "condition_changed"
    elif ours.aggregates != theirs.aggregates and literals and ours.operator == theirs.operator:
        kind = "aggregate"
    elif columns and functions and _formats(ours.literals) != _formats(theirs.literals):
        kind = "function"
    elif columns and literals and functions and ours.operator != theirs.operator:
        kind = "operator"
    elif columns and not literals and functions and _comparable(ours.operator, theirs.operator):
        kind = "literal_format" if _same_but_format(ours.literals, theirs.literals) else "literal"
    elif literals and functions and ours.operator == theirs.operator and not columns:
        kind = "condition_column"
    elif columns and not functions:
        kind = "function" if ours.aggregates == theirs.aggregates else "aggregate"
    return Difference(
        kind=kind, clause=gold.clause, gold_term=ours, predicted_term=theirs, inside=gold.inside and predicted.inside
    )


def _formats(literals: Sequence[str]) -> list[str]:
    """The formats of dates among the arguments of functions."""
    return [literal for literal in literals if re.fullmatch(r"'(?:[-/: ]?%[A-Za-z])+'", literal)]


_EQUALITIES = frozenset({"=", "IN", "LIKE", "GLOB"})


def _comparable(left: str, right: str) -> bool:
    return left == right or {left, right} <= _EQUALITIES


def _same_but_format(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether the values are the same numbers or dates in another form: quotes, zeros, separators, order."""
    read = [[_digits(one) for one in side] for side in (left, right)]
    return bool(left) and read[0] == read[1] and None not in read[0]


def _digits(literal: str) -> tuple[int, ...] | None:
    """The numbers that a number or a date consists of, a date's in order of size; None for any other text."""
    text = literal.strip("'")
    if not re.fullmatch(r"\d[\d\s./:-]*", text):
        return None
    found = tuple(int(part) for part in re.findall(r"\d+", text))
    return tuple(sorted(found)) if len(found) == _PARTS_OF_A_DATE else found


_PARTS_OF_A_DATE = 3


def _alone(one: _Placed) -> Difference:
    kind: Kind = "condition_missing"
    if one.term.operator in ("IS NULL", "NOT IS NULL"):
        kind = "null_condition_missing"
    return Difference(kind=kind, clause=one.clause, gold_term=one.term, inside=one.inside)
