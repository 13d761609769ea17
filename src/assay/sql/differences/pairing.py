"""Align two queries before their clauses are compared.

Parts without an order in SQL are put into the gold query's order: the halves of a UNION or an INTERSECT, and the uses
of a table that a query reads several times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, permutations, product

from assay.sql.differences.binding import BareQuery, marked
from assay.sql.differences.leaves import Uses, leaves_of, operators_of, sources_of, table_of
from assay.sql.expressions import plain_text
from assay.sql.nodes import exp
from assay.sql.query import Unreadable, read_tree

_COMMUTE = ({"UNION"}, {"UNION ALL"}, {"INTERSECT"})
_MOST_HALVES = 4
_MOST_USES = 3
_MOST_NUMBERINGS = 6


def in_golds_order(gold: BareQuery, predicted: BareQuery) -> BareQuery:
    """The prediction with the halves of its set operation in the order that is most similar to the gold query."""
    ours, theirs = leaves_of(gold.tree), leaves_of(predicted.tree)
    operators = set(operators_of(predicted.tree))
    if len(ours) != len(theirs) or not 1 < len(theirs) <= _MOST_HALVES or operators not in _COMMUTE:
        return predicted
    if any(half.args.get("limit") or half.args.get("order") for half in (*ours, *theirs)):
        return predicted
    words = [[_words(half) for half in side] for side in (ours, theirs)]
    places = range(len(theirs))
    best = min(permutations(places), key=lambda order: (_unlike(words, order), order))
    if best == tuple(places):
        return predicted
    made = predicted.tree.copy()
    own = leaves_of(made)
    copies = [own[place].copy() for place in best]
    for half, other in zip(own, copies, strict=True):
        half.replace(other)
    bound = read_tree(made, predicted.bound.text, predicted.bound.dialect, predicted.bound.names)
    return predicted if isinstance(bound, Unreadable) else marked(bound)


def _words(half: exp.Expr) -> Counter[str]:
    return Counter(plain_text(half).lower().replace("(", " ").replace(")", " ").replace(",", " ").split())


def _unlike(words: Sequence[Sequence[Counter[str]]], order: Sequence[int]) -> int:
    ours, theirs = words
    pairs = ((left, theirs[place]) for left, place in zip(ours, order, strict=True))
    return sum(((left - right) + (right - left)).total() for left, right in pairs)


def numberings(gold: BareQuery, predicted: BareQuery) -> list[Uses]:
    """The ways of numbering the uses of the prediction's tables, text order first.

    ``SELECT b.name FROM person a JOIN person b`` and the same with a and b swapped are one query.
    """
    return [{}, *islice(_numberings(gold, predicted), _MOST_NUMBERINGS - 1)]


def _numberings(gold: BareQuery, predicted: BareQuery) -> Iterator[Uses]:
    """Every other way of numbering the uses of tables that both read several times."""
    groups: list[list[int]] = []
    for ours, theirs in zip(leaves_of(gold.tree), leaves_of(predicted.tree), strict=False):
        times = Counter(map(table_of, sources_of(gold, ours)))
        entries: dict[str, list[int]] = {}
        for source in sources_of(predicted, theirs):
            entries.setdefault(table_of(source), []).append(id(source.node))
        groups += [some for name, some in entries.items() if name and 1 < len(some) <= _MOST_USES and times[name] > 1]
    orders = [list(permutations(range(1, len(group) + 1))) for group in groups]
    for chosen in product(*orders) if groups else ():
        if any(list(order) != sorted(order) for order in chosen):
            yield {
                entry: number
                for group, order in zip(groups, chosen, strict=True)
                for entry, number in zip(group, order, strict=True)
            }
