"""Which tables and joins of two queries differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from msgspec.structs import replace

from assay.sql.differences.difference import Difference
from assay.sql.differences.parts import QueryParts, place_of

_Joins = Counter[frozenset[str]]


def table_differences(gold: QueryParts, predicted: QueryParts) -> Iterator[Difference]:
    """The differences in the tables that two queries read, and in how these are joined."""
    ours, theirs = table_uses(gold), table_uses(predicted)
    missing, extra = unshared_tables(gold, predicted)
    for left, right in zip_longest(missing, extra):
        if left and right:
            yield Difference(kind="table_changed", clause="FROM", gold_text=left, predicted_text=right)
        elif left:
            yield Difference(kind="table_missing", clause="FROM", gold_text=left, elsewhere=left in theirs)
        else:
            yield Difference(kind="table_extra", clause="FROM", predicted_text=right, elsewhere=right in ours)
    joins = [_joins(query, each=_as_many(gold, predicted)) for query in (gold, predicted)]
    if joins[0] != joins[1]:
        shown = [
            _shown_joins(query, one - other)
            for query, (one, other) in zip((gold, predicted), _both(joins), strict=True)
        ]
        shared = {table for table in ours if table in theirs}
        within = [_over(one - other, shared) for one, other in _both(joins)]
        if any(within) or (not missing and not extra):
            columns = [frozenset().union(*(one - other)) for one, other in _both(joins)]
            yield Difference(
                kind="join_condition",
                clause="JOIN",
                gold_text=shown[0],
                predicted_text=shown[1],
                gold_columns=columns[0],
                predicted_columns=columns[1],
            )
    kinds = [_join_kinds(query) for query in (gold, predicted)]
    if kinds[0] != kinds[1] and not missing and not extra:
        yield Difference(
            kind="join_type", clause="JOIN", gold_text=", ".join(kinds[0]), predicted_text=", ".join(kinds[1])
        )


def _shown_joins(query: QueryParts, joins: _Joins) -> str:
    show = {column: one for select in query.all_selects for column, one in select.compared.items()}
    texts = (" = ".join(sorted(show[column]() if column in show else column for column in same)) for same in joins)
    return ", ".join(sorted(set(texts)))


def unshared_tables(gold: QueryParts, predicted: QueryParts) -> tuple[list[str], list[str]]:
    """The tables that only one of them reads: per SELECT if both have equally many, else anywhere in them."""
    left, right = gold.all_selects, predicted.all_selects
    if len(left) != len(right):
        ours, theirs = table_uses(gold), table_uses(predicted)
        return sorted((ours - theirs).elements()), sorted((theirs - ours).elements())
    missing: Counter[str] = Counter()
    extra: Counter[str] = Counter()
    for one, other in zip(left, right, strict=True):
        uses = [Counter(source.table for source in side.sources if source.table) for side in (one, other)]
        missing |= uses[0] - uses[1]
        extra |= uses[1] - uses[0]
    return sorted(missing.elements()), sorted(extra.elements())


def _as_many(gold: QueryParts, predicted: QueryParts) -> bool:
    return len(gold.all_selects) == len(predicted.all_selects)


def _both(pair: list[_Joins]) -> tuple[tuple[_Joins, _Joins], ...]:
    return ((pair[0], pair[1]), (pair[1], pair[0]))


def table_uses(query: QueryParts) -> Counter[str]:
    """The largest number of uses of each table in one SELECT."""
    found: Counter[str] = Counter()
    for select in query.all_selects:
        found |= Counter(source.table for source in select.sources if source.table)
    return found


def _joins(query: QueryParts, *, each: bool) -> _Joins:
    """The sets of columns that joins compare: of ``each`` SELECT, or else of the query as a whole."""
    found: _Joins = Counter()
    for select in query.all_selects:
        classes = [*select.joins]
        for same in select.outer_equal:  # an outer join of the same columns differs only in its kind
            touching = [one for one in classes if one & same]
            classes = [one for one in classes if not one & same] + [same.union(*touching)]
        found.update(classes)
    return found if each else Counter(set(found))


def _over(joins: _Joins, tables: set[str]) -> bool:
    """Whether some join is between tables of this set."""
    return any(len({_table(column) for column in same} & tables) > 1 for same in joins)


def _table(column: str) -> str:
    return place_of(column)[0]


def _join_kinds(query: QueryParts) -> list[str]:
    return sorted(f"{one.join} JOIN" for select in query.all_selects for one in select.sources if one.join != "INNER")


def joins_otherwise(join: Difference, condition: Difference) -> bool:
    """Whether a condition of one side compares the columns of a join that only the other side has, for example with
    ``<>``."""
    ours = condition.kind == "condition_missing"
    term = condition.gold_term if ours else condition.predicted_term
    if term is None or not (ours or condition.kind == "condition_extra") or term.literals or term.inner:
        return False
    tables = {_table(column) for column in term.columns}
    held = join.predicted_columns if ours else join.gold_columns
    return len(tables) > 1 and set(term.columns) <= held


def joined_with(join: Difference, conditions: Sequence[Difference]) -> Difference:
    """The join's difference with the conditions that replace it."""
    if not conditions:
        return join
    gold = ", ".join(filter(None, [join.gold, *(one.gold for one in conditions)]))
    predicted = ", ".join(filter(None, [join.predicted, *(one.predicted for one in conditions)]))
    return replace(join, gold_text=gold, predicted_text=predicted)
