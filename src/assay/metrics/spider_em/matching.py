"""How two queries that were read compare, component by component, as in Spider's script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from assay.metrics.spider_em.queries import Query


class Agreement(Struct, frozen=True, kw_only=True):
    """How one component fares: how many of its parts gold and the prediction have, and how many are shared."""

    gold: int
    predicted: int
    shared: int

    @property
    def full(self) -> bool:
        """Whether the component counts as matched: both have as many parts, and all are shared."""
        return self.gold == self.predicted == self.shared

    @property
    def absent(self) -> bool:
        """Whether neither has anything of it."""
        return self.gold == self.predicted == 0


def _selected(query: Query) -> list[Any]:
    return list(query.selected)


def _selected_terms(query: Query) -> list[Any]:
    return [term for _, term in query.selected]


def _where(query: Query) -> list[Any]:
    return list(query.where.each)


def _where_terms(query: Query) -> list[Any]:
    return [condition.term for condition in query.where.each]


def _grouped_names(query: Query) -> list[Any]:
    return [column.name.rpartition(".")[2] for column in query.grouped]


def _shared(parts: Callable[[Query], Iterable[Any]]) -> Callable[[Query, Query], Agreement]:
    def agreement(gold: Query, predicted: Query) -> Agreement:
        ours, theirs = Counter(parts(gold)), Counter(parts(predicted))
        return Agreement(gold=ours.total(), predicted=theirs.total(), shared=(ours & theirs).total())

    return agreement


def _grouping(gold: Query, predicted: Query) -> Agreement:
    """GROUP BY with HAVING: the columns in their order."""
    names = [[column.name for column in query.grouped] for query in (gold, predicted)]
    same = all(names) and names[0] == names[1] and gold.having == predicted.having
    return _once(gold.grouped, predicted.grouped, same)


def _ordering(gold: Query, predicted: Query) -> Agreement:
    """ORDER BY, and whether there is a LIMIT, whatever its number."""
    same = (gold.direction, gold.ordered) == (predicted.direction, predicted.ordered)
    limited = (gold.limit is None) == (predicted.limit is None)
    return _once(gold.direction, predicted.direction, same and limited)


def _once(gold: object, predicted: object, same: bool) -> Agreement:  # noqa: FBT001
    return Agreement(gold=int(bool(gold)), predicted=int(bool(predicted)), shared=int(bool(gold) and same))


def _connectives(gold: Query, predicted: Query) -> Agreement:
    ours, theirs = set(gold.where.connectives), set(predicted.where.connectives)
    if ours == theirs:
        return Agreement(gold=1, predicted=1, shared=1)
    return Agreement(gold=len(ours), predicted=len(theirs), shared=0)


def _combinations(gold: Query, predicted: Query) -> Agreement:
    pairs = [
        (gold.intersect, predicted.intersect),
        (gold.except_, predicted.except_),
        (gold.union, predicted.union),
    ]
    return Agreement(
        gold=sum(one is not None for one, _ in pairs),
        predicted=sum(other is not None for _, other in pairs),
        shared=sum(one is not None and other is not None and matches(one, other) for one, other in pairs),
    )


def _keywords(query: Query) -> Iterator[str]:
    conditions = list(query.conditions)
    parts = (query.on, query.where, query.having)
    said = {
        "where": bool(query.where.each),
        "group": bool(query.grouped),
        "having": bool(query.having.each),
        "order": query.direction is not None,
        str(query.direction): query.direction is not None,
        "limit": query.limit is not None,
        "except": query.except_ is not None,
        "union": query.union is not None,
        "intersect": query.intersect is not None,
        "or": any("or" in part.connectives for part in parts),
        "not": any(condition.negated for condition in conditions),
        "in": any(condition.operator == "in" for condition in conditions),
        "like": any(condition.operator == "like" for condition in conditions),
    }
    return (word for word, there in said.items() if there)


COMPONENTS: dict[str, Callable[[Query, Query], Agreement]] = {
    "select": _shared(_selected),
    "select(no AGG)": _shared(_selected_terms),
    "where": _shared(_where),
    "where(no OP)": _shared(_where_terms),
    "group(no Having)": _shared(_grouped_names),
    "group": _grouping,
    "order": _ordering,
    "and/or": _connectives,
    "IUEN": _combinations,
    "keywords": _shared(_keywords),
}
"""The script's components by its own names, in its order."""


def matches(gold: Query, predicted: Query) -> bool:
    """Whether all components match and both read the same tables."""
    if not all(agreement(gold, predicted).full for agreement in COMPONENTS.values()):
        return False
    return not gold.tables or Counter(gold.tables) == Counter(predicted.tables)
