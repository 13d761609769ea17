"""What two queries say differently, clause by clause: `differences`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from assay.sql.differences.condition_pairs import condition_differences, conditions_of
from assay.sql.differences.parts import OrderTerm, QueryParts, SelectParts, Term, inner_queries, place_of
from assay.sql.differences.terms import text_of

Clause = Literal[
    "SELECT", "DISTINCT", "FROM", "JOIN", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "set operation", "WITH"
]
Kind = Literal[
    "output_changed",
    "output_missing",
    "output_extra",
    "aggregate",
    "aggregate_argument",
    "function",
    "arithmetic",
    "conversion",
    "conditional",
    "window",
    "date_function",
    "math_function",
    "string_function",
    "output_literal",
    "distinct_missing",
    "distinct_extra",
    "table_missing",
    "table_extra",
    "table_changed",
    "join_condition",
    "join_type",
    "literal",
    "literal_format",
    "operator",
    "connective",
    "condition_column",
    "condition_changed",
    "condition_missing",
    "condition_extra",
    "condition_replaced",
    "null_condition_missing",
    "group_missing",
    "group_extra",
    "group_changed",
    "order_missing",
    "order_extra",
    "order_changed",
    "direction",
    "limit_missing",
    "limit_extra",
    "limit_changed",
    "set_operation_missing",
    "set_operation_extra",
    "set_operation_changed",
    "subquery_missing",
    "subquery_extra",
    "subquery_changed",
]


class Difference(Struct, frozen=True, kw_only=True):
    """One thing that gold and a prediction say differently; a side that says nothing there is empty."""

    kind: Kind
    clause: Clause
    gold_text: str = ""
    """What gold says, if that is not one term."""
    predicted_text: str = ""
    inside: bool = False
    """It is in a subquery or a CTE."""
    elsewhere: bool = False
    """The side that says nothing here says the same elsewhere, as where gold selects a column twice."""
    gold_columns: frozenset[str] = frozenset()
    """The columns that gold joins on and the prediction does not, as in `Term.columns`."""
    predicted_columns: frozenset[str] = frozenset()
    gold_term: Term | None = None
    predicted_term: Term | None = None

    @property
    def gold(self) -> str:
        """What gold says here."""
        return self.gold_text if self.gold_term is None else self.gold_term.shown

    @property
    def predicted(self) -> str:
        """What the prediction says here."""
        return self.predicted_text if self.predicted_term is None else self.predicted_term.shown


def differences(gold: QueryParts, predicted: QueryParts) -> tuple[Difference, ...]:
    """All differences, clause after clause; none where both say the same.

    A query that uses a table twice may number the uses otherwise: the numbering with the fewest differences counts.
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
    ours = [select for query in _inner(gold) for select in query.all_selects()]
    theirs = [select for query in _inner(predicted) for select in query.all_selects()]
    yield from _subqueries(gold, predicted, ours, theirs)
    if len(ours) == len(theirs):
        for left, right in zip(ours, theirs, strict=True):
            yield from _of_selects(left, right, inside=True)
    least = min(len(gold.selects), len(predicted.selects))
    further = [replace(query, selects=query.selects[least:]) for query in (gold, predicted)]
    gold, predicted = (replace(query, selects=query.selects[:least]) for query in (gold, predicted))
    # What a further part of a set operation has is not missing: that it stands there is a difference of its own.
    kept = [conditions_of(tuple(query.all_selects())) for query in further]
    conditions = [
        Difference(
            kind=found.kind,
            clause=found.clause,
            gold_term=found.gold,
            predicted_term=found.predicted,
            inside=found.inside,
            elsewhere=found.elsewhere,
        )
        for found in condition_differences(tuple(gold.all_selects()), tuple(predicted.all_selects()))
        if not (found.predicted is None and found.gold is not None and found.gold.merged in kept[1])
        and not (found.gold is None and found.predicted is not None and found.predicted.merged in kept[0])
    ]
    read = [_uses(query) for query in further]
    for one in _tables(gold, predicted):
        if (one.kind == "table_missing" and one.gold_text in read[1]) or (
            one.kind == "table_extra" and one.predicted_text in read[0]
        ):
            continue
        joining = [other for other in conditions if one.kind == "join_condition" and _joins_otherwise(one, other)]
        conditions = [other for other in conditions if other not in joining]
        yield _joined_with(one, joining)
    yield from conditions


def _joins_otherwise(join: Difference, condition: Difference) -> bool:
    """Whether a condition of one side compares the columns of a join that only the other side has, as ``<>`` does."""
    ours = condition.kind == "condition_missing"
    term = condition.gold_term if ours else condition.predicted_term
    if term is None or not (ours or condition.kind == "condition_extra") or term.literals or term.inner:
        return False
    tables = {_table(column) for column in term.columns}
    held = join.predicted_columns if ours else join.gold_columns
    return len(tables) > 1 and set(term.columns) <= held


def _joined_with(join: Difference, conditions: Sequence[Difference]) -> Difference:
    """The join's difference with the conditions that stand in its place."""
    if not conditions:
        return join
    gold = ", ".join(filter(None, [join.gold, *(one.gold for one in conditions)]))
    predicted = ", ".join(filter(None, [join.predicted, *(one.predicted for one in conditions)]))
    return replace(join, gold_text=gold, predicted_text=predicted)


def _inner(query: QueryParts) -> list[QueryParts]:
    return [inner for select in query.selects for inner in inner_queries(select)]


def _set_operation(gold: QueryParts, predicted: QueryParts) -> Difference:
    kind: Kind = "set_operation_changed"
    if not predicted.operators:
        kind = "set_operation_missing"
    elif not gold.operators:
        kind = "set_operation_extra"
    return Difference(
        kind=kind,
        clause="set operation",
        gold_text=", ".join(gold.operators),
        predicted_text=", ".join(predicted.operators),
    )


def _subqueries(
    gold: QueryParts, predicted: QueryParts, ours: Sequence[SelectParts], theirs: Sequence[SelectParts]
) -> Iterator[Difference]:
    if len(ours) == len(theirs):
        return
    kind: Kind = "subquery_missing" if len(ours) > len(theirs) else "subquery_extra"
    both = bool(ours) and bool(theirs)
    if not ours and _is_condition_more(gold, predicted):
        return  # the condition that holds it is the difference
    yield Difference(
        kind="subquery_changed" if both else kind,
        clause="WHERE",
        gold_text="; ".join(query.shown for query in _inner(gold)),
        predicted_text="; ".join(query.shown for query in _inner(predicted)),
    )


def _is_condition_more(gold: QueryParts, predicted: QueryParts) -> bool:
    """Whether the prediction has all of gold's conditions, and its subqueries stand in others."""
    holders = [term for select in predicted.selects for term in select.where if term.inner]
    held = sum(len(list(inner.all_selects())) for term in holders for inner in term.inner)
    texts = [{term.merged for select in query.selects for term in select.where} for query in (gold, predicted)]
    return texts[0] <= texts[1] and held == len(list(predicted.all_selects())) - len(predicted.selects)


def _of_selects(gold: SelectParts, predicted: SelectParts, *, inside: bool) -> Iterator[Difference]:
    yield from _outputs(gold, predicted, inside=inside)
    if gold.distinct != predicted.distinct and not _only_groups(gold, predicted):
        kind: Kind = "distinct_missing" if gold.distinct else "distinct_extra"
        words = ("DISTINCT", "") if gold.distinct else ("", "DISTINCT")
        yield Difference(kind=kind, clause="DISTINCT", gold_text=words[0], predicted_text=words[1], inside=inside)
    yield from _groups(gold, predicted, inside=inside)
    yield from _order_and_limit(gold, predicted, inside=inside)


def _only_groups(gold: SelectParts, predicted: SelectParts) -> bool:
    """Whether one of them says DISTINCT and the other the same by grouping without an aggregate."""
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
    """Leave out the columns that one of the queries makes equal by a join: each selects what the other does."""
    for left in list(ours):
        same = next((one for one in joins if left.text in one), frozenset())
        twin = next((right for right in theirs if right.text in same), None)
        if twin is not None:
            ours.remove(left)
            theirs.remove(twin)


_DATES = ("DATE", "TIME", "STRFTIME", "JULIAN", "EXTRACT", "YEAR", "MONTH", "DAY")
_MATH = ("ROUND", "ABS", "CEIL", "FLOOR", "POWER", "SQRT", "MOD", "SIGN", "LN", "LOG")
_TEXTS = ("SUBSTR", "LOWER", "UPPER", "TRIM", "REPLACE", "CONCAT", "LENGTH", "INSTR", "LEFT", "RIGHT", "STR_POSITION")


def output_kind(gold: Term, predicted: Term) -> Kind:
    """What sets two outputs apart: the aggregate, a function, the column."""
    if gold.windowed or predicted.windowed:
        return "window"
    if _names(gold, "CASE", "COUNT_IF", "IF") != _names(predicted, "CASE", "COUNT_IF", "IF"):
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
        if gold.literals != predicted.literals:
            kind = function_kind(gold, predicted)
            return kind if kind in ("date_function", "string_function", "math_function") else "output_literal"
        return "arithmetic"
    return "aggregate_argument" if gold.aggregates else "output_changed"


def function_kind(gold: Term, predicted: Term) -> Kind:
    """Which family the functions are of that only one side calls."""
    ours, theirs = Counter(gold.functions), Counter(predicted.functions)
    names = set((ours - theirs) | (theirs - ours)) or set(ours)
    families: tuple[tuple[Kind, Callable[[str], bool]], ...] = (
        ("date_function", lambda name: any(part in name for part in _DATES)),
        ("conversion", lambda name: "CAST" in name),
        ("string_function", lambda name: name.startswith(_TEXTS)),
        ("math_function", lambda name: name.startswith(_MATH)),
        ("conditional", lambda name: name in ("CASE", "IF", "COALESCE", "NULLIF", "IIF")),
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
    kind: Kind = "group_changed"
    if not predicted.group:
        kind = "group_missing"
    elif not gold.group:
        kind = "group_extra"
    shown = (", ".join(term.shown for term in gold.group), ", ".join(term.shown for term in predicted.group))
    yield Difference(kind=kind, clause="GROUP BY", gold_text=shown[0], predicted_text=shown[1], inside=inside)


def _order_and_limit(
    gold: SelectParts | QueryParts, predicted: SelectParts | QueryParts, *, inside: bool
) -> Iterator[Difference]:
    ours, theirs = _ordering(gold.order), _ordering(predicted.order)
    if ours != theirs:
        shown = (_shown_order(gold.order), _shown_order(predicted.order))
        kind: Kind = "order_changed"
        if not theirs:
            kind = "order_missing"
        elif not ours:
            kind = "order_extra"
        elif [key for key, _ in ours] == [key for key, _ in theirs]:
            kind = "direction"
        yield Difference(kind=kind, clause="ORDER BY", gold_text=shown[0], predicted_text=shown[1], inside=inside)
    if (gold.limit, gold.offset) != (predicted.limit, predicted.offset):
        kind = "limit_changed"
        if predicted.limit is None and predicted.offset is None:
            kind = "limit_missing"
        elif gold.limit is None and gold.offset is None:
            kind = "limit_extra"
        yield Difference(
            kind=kind,
            clause="LIMIT",
            gold_text=_shown_limit(gold),
            predicted_text=_shown_limit(predicted),
            inside=inside,
        )


def _ordering(order: Sequence[OrderTerm]) -> list[tuple[str, bool]]:
    return [(key.term.merged, key.descending) for key in order]


def _shown_order(order: Sequence[OrderTerm]) -> str:
    return ", ".join(key.term.shown + (" DESC" if key.descending else "") for key in order)


def _shown_limit(parts: SelectParts | QueryParts) -> str:
    limit = "" if parts.limit is None else f"LIMIT {parts.limit}"
    return limit if parts.offset is None else f"{limit} OFFSET {parts.offset}".strip()


def _tables(gold: QueryParts, predicted: QueryParts) -> Iterator[Difference]:
    ours, theirs = _uses(gold), _uses(predicted)
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
    show = {column: one for select in query.all_selects() for column, one in select.compared.items()}
    texts = (" = ".join(sorted(show[column]() if column in show else column for column in same)) for same in joins)
    return ", ".join(sorted(set(texts)))


def unshared_tables(gold: QueryParts, predicted: QueryParts) -> tuple[list[str], list[str]]:
    """The tables that only one of them reads: SELECT by SELECT where both have as many, else anywhere in them."""
    left, right = list(gold.all_selects()), list(predicted.all_selects())
    if len(left) != len(right):
        ours, theirs = _uses(gold), _uses(predicted)
        return sorted((ours - theirs).elements()), sorted((theirs - ours).elements())
    missing: Counter[str] = Counter()
    extra: Counter[str] = Counter()
    for one, other in zip(left, right, strict=True):
        uses = [Counter(source.table for source in side.sources if source.table) for side in (one, other)]
        missing |= uses[0] - uses[1]
        extra |= uses[1] - uses[0]
    return sorted(missing.elements()), sorted(extra.elements())


def _as_many(gold: QueryParts, predicted: QueryParts) -> bool:
    return len(list(gold.all_selects())) == len(list(predicted.all_selects()))


_Joins = Counter[frozenset[str]]


def _both(pair: list[_Joins]) -> tuple[tuple[_Joins, _Joins], ...]:
    return ((pair[0], pair[1]), (pair[1], pair[0]))


def _uses(query: QueryParts) -> Counter[str]:
    """How often each table is used in one SELECT at most."""
    found: Counter[str] = Counter()
    for select in query.all_selects():
        found |= Counter(source.table for source in select.sources if source.table)
    return found


def _joins(query: QueryParts, *, each: bool) -> _Joins:
    """The sets of columns that joins compare: of ``each`` SELECT, or else of the query as a whole."""
    found: _Joins = Counter()
    for select in query.all_selects():
        classes = [*select.joins]
        for same in select.outer_equal:  # an outer join of the same columns differs in its kind alone
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
    return sorted(f"{one.join} JOIN" for select in query.all_selects() for one in select.sources if one.join != "INNER")
