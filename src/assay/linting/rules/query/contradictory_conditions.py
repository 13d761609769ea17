"""Conditions that exclude each other."""

from collections import defaultdict
from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.linting.words import as_number
from assay.model.lint import LintRule
from assay.sql.facts import Condition

RULE = LintRule(
    name="contradictory-conditions",
    severity="error",
    needs="query",
    finds="conditions on one column that can never hold together",
    why="No row meets both: what is meant is OR, or rows of a group that meet the one and the other.",
    remedy="Write OR or IN; for 'both', use INTERSECT or two joins.",
    bad="SELECT name FROM singer WHERE country = 'France' AND country = 'Japan'",
    good="SELECT name FROM singer WHERE country IN ('France', 'Japan')",
)


def check(gold: Gold) -> Iterator[Found]:
    together: dict[tuple[object, ...], list[Condition]] = defaultdict(list)
    for one in gold.facts.conditions if gold.facts is not None else ():
        column = one.left.column
        plain = one.operator in ("=", "<", "<=", ">", ">=") and not one.negated and one.clause != "output"
        if column is not None and plain and one.right[0].kind == "literal":
            together[column.key, column.level, one.level, one.clause, one.conjunction].append(one)
    for group in together.values():
        for place, second in enumerate(group):
            first = next((one for one in group[:place] if _exclude(one, second)), None)
            if first is not None:
                yield Found(
                    evidence=f"{_said(gold, first)} and {_said(gold, second)} never hold for one row.",
                    place=second.place,
                )


def _said(gold: Gold, one: Condition) -> str:
    return gold.shown(one.place) or f"{one.left.text} {one.operator} {one.right[0].text}"


def _exclude(first: Condition, second: Condition) -> bool:
    a, b = first.right[0], second.right[0]
    if first.operator == second.operator == "=":
        x, y = as_number(a.value), as_number(b.value)
        if x is not None and y is not None:
            return x != y
        # Collations may take texts that differ in case or in blanks at their ends for equal.
        return (a.value or "").casefold().strip() != (b.value or "").casefold().strip()
    if not (a.is_number and b.is_number):
        return False
    x, y = as_number(a.value), as_number(b.value)
    if x is None or y is None:
        return False
    low, high = (first, second) if first.operator in (">", ">=", "=") else (second, first)
    if low.operator not in (">", ">=", "=") or high.operator not in ("<", "<=", "="):
        return False
    if low.operator == "=" and high.operator == "=":
        return False
    bottom, top = (x, y) if low is first else (y, x)
    return bottom > top or (bottom == top and (low.operator == ">" or high.operator == "<"))
