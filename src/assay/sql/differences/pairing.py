"""Set two queries beside each other before their clauses are compared: `pair_trees`.

What has no order in SQL is brought into gold's: the halves of a UNION or an INTERSECT, and the uses of a table that a
query reads several times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product
from typing import TYPE_CHECKING

from assay.sql.differences.leaves import leaves_of, operators_of, uses_of
from assay.sql.differences.writing import plain_text

if TYPE_CHECKING:
    from sqlglot import exp

_COMMUTE = ({"UNION"}, {"UNION ALL"}, {"INTERSECT"})
_MOST_HALVES = 4
_MOST_USES = 3
_MOST_NUMBERINGS = 6


def in_golds_order(gold: exp.Query, predicted: exp.Query) -> exp.Query:
    """The prediction with the halves of its set operation in the order in which they are most like gold's."""
    ours, theirs = leaves_of(gold), leaves_of(predicted)
    operators = set(operators_of(predicted))
    if len(ours) != len(theirs) or not 1 < len(theirs) <= _MOST_HALVES or operators not in _COMMUTE:
        return predicted
    if any(half.args.get("limit") or half.args.get("order") for half in (*ours, *theirs)):
        return predicted
    words = [[_words(half) for half in side] for side in (ours, theirs)]
    places = range(len(theirs))
    best = min(permutations(places), key=lambda order: (_unlike(words, order), order))
    if best == tuple(places):
        return predicted
    made = predicted.copy()
    own = leaves_of(made)
    copies = [own[place].copy() for place in best]
    for half, other in zip(own, copies, strict=True):
        half.replace(other)
    return made


def _words(half: exp.Expr) -> Counter[str]:
    return Counter(plain_text(half).lower().replace("(", " ").replace(")", " ").replace(",", " ").split())


def _unlike(words: Sequence[Sequence[Counter[str]]], order: Sequence[int]) -> int:
    ours, theirs = words
    pairs = ((left, theirs[place]) for left, place in zip(ours, order, strict=True))
    return sum(((left - right) + (right - left)).total() for left, right in pairs)


def best_numbering(gold: exp.Query, predicted: exp.Query, differ: Callable[[exp.Query], int]) -> exp.Query:
    """The prediction with the uses of each table numbered so that ``differ`` counts fewest differences from gold.

    ``SELECT b.name FROM person a JOIN person b`` and the same with a and b exchanged are one query.
    """
    found = [predicted]
    for numbering in _numberings(gold, predicted):
        if len(found) == _MOST_NUMBERINGS:
            break
        made = predicted.copy()
        for (place, spot), number in numbering.items():
            items = uses_of(leaves_of(made)[place])
            items[spot][0].meta["use"] = number
        found.append(made)
    return found[0] if len(found) == 1 else min(found, key=differ)


def _numberings(gold: exp.Query, predicted: exp.Query) -> Iterator[dict[tuple[int, int], int]]:
    """Every other way of numbering the uses of tables that both read several times."""
    groups: list[list[tuple[int, int]]] = []
    for place, (ours, theirs) in enumerate(zip(leaves_of(gold), leaves_of(predicted), strict=False)):
        times = Counter(table for _, table, _ in uses_of(ours))
        spots: dict[str, list[tuple[int, int]]] = {}
        for spot, (_, table, _) in enumerate(uses_of(theirs)):
            spots.setdefault(table, []).append((place, spot))
        groups += [some for table, some in spots.items() if table and 1 < len(some) <= _MOST_USES and times[table] > 1]
    orders = [list(permutations(range(1, len(group) + 1))) for group in groups]
    for chosen in product(*orders) if groups else ():
        numbering = {
            spot: number
            for group, order in zip(groups, chosen, strict=True)
            for spot, number in zip(group, order, strict=True)
        }
        if any(list(order) != sorted(order) for order in chosen):
            yield numbering
