"""Conditions that exclude each other."""

from collections import defaultdict
from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.linting.words import as_number
from assay.model.lint import LintRule
from assay.sql.predicates import Predicate
from assay.sql.query import Query

RULE = LintRule(
    name="contradictory-conditions",
    severity="error",
    needs="query",
    finds="conditions on one column that can never hold together",
    why="No row meets both. Probably OR is meant, or groups with rows that meet one and rows that meet the other.",
    remedy="Write OR or IN; for 'both', use INTERSECT or two joins.",
    bad="SELECT name FROM singer WHERE country = 'France' AND country = 'Japan'",
    good="SELECT name FROM singer WHERE country IN ('France', 'Japan')",
)


def check_query(_: Gold, query: Query) -> Iterator[Found]:
    together: dict[tuple[object, ...], list[Predicate]] = defaultdict(list)
    for one in query.predicates:
        column = query.column_of(one.left)
        is_plain = one.operator in ("=", "<", "<=", ">", ">=") and not one.is_negated and one.clause != "output"
        if column is not None and is_plain and query.value_of(one.right[0]) is not None:
            together[query.identity(column), one.select, one.clause, id(one.conjunction)].append(one)
    for group in together.values():
        for index, second in enumerate(group):
            first = next((one for one in group[:index] if _exclude(query, one, second)), None)
            if first is not None:
                yield Found(
                    evidence=f"{query.shown(first.node)} and {query.shown(second.node)} are never both true "
                    "of one row.",
                    place=query.span(second.node),
                )


def _exclude(query: Query, first: Predicate, second: Predicate) -> bool:
    a, b = (query.value_of(one.right[0]) or "" for one in (first, second))
    x, y = as_number(a), as_number(b)
    if first.operator == second.operator == "=":
        if x is not None and y is not None:
            return x != y
        # Collations may treat texts as equal that differ in case or in trailing blanks.
        return a.casefold().strip() != b.casefold().strip()
    if x is None or y is None or not (first.right[0].is_number and second.right[0].is_number):
        return False
    low, high = (first, second) if first.operator in (">", ">=", "=") else (second, first)
    if low.operator not in (">", ">=", "=") or high.operator not in ("<", "<=", "="):
        return False
    bottom, top = (x, y) if low is first else (y, x)
    return bottom > top or (bottom == top and (low.operator == ">" or high.operator == "<"))
