"""The constants of a query, and how each is used."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from sqlglot import exp

    from assay.sql.query import Query

Use = Literal[
    "equal",
    "above",
    "below",
    "pattern",
    "part",
    "date_part",
    "length",
    "sum",
    "negative",
    "padded",
    "numeral",
    "rows",
    "other",
]
"""How a constant is used: compared for equality; a column above it or below it passes; a pattern of LIKE or GLOB;
compared with part of a text; with part of a date; with a text's length; with an aggregate over the column.
``negative``, ``padded`` and ``numeral`` name what else a function distinguishes, for any value: numbers below zero,
blanks around a text, numbers written as texts. ``rows``: a number of rows, of LIMIT or compared with a COUNT."""

_MOST_COUNTED = 200
_DATE_FORMATS = {"%Y": "year", "%m": "month", "%d": "day"}


class Constant(Struct, frozen=True):
    """A value in a query's text, and how it is used."""

    value: str | int | float
    use: Use = "equal"
    detail: str = ""
    """For ``date_part``: ``year``, ``month`` or ``day``."""


def constants_of(query: Query) -> Iterator[tuple[Constant, exp.Expr | None]]:
    """Each constant, and the condition that contains it; None if there is none."""
    from sqlglot import exp

    compare_count: dict[int, bool] = {}
    for node in query.all_of(exp.Literal, exp.Column, exp.Boolean):
        value = _value(query, node)
        if value is None or node.find_ancestor(exp.DataType) is not None:
            continue
        condition = _condition(node)
        is_number_of_rows = node.find_ancestor(exp.Limit, exp.Offset, exp.Fetch) is not None
        if condition is not None and not is_number_of_rows and not isinstance(value, str):
            if id(condition) not in compare_count:
                compare_count[id(condition)] = _compares_count(condition)
            is_number_of_rows = compare_count[id(condition)]
        if is_number_of_rows:
            if isinstance(node, exp.Literal) and isinstance(value, int) and 0 <= value <= _MOST_COUNTED:
                yield Constant(value, "rows"), condition
        elif condition is None:
            yield Constant(value, "other"), None
        else:
            yield _used(value, node, condition), condition


def told_apart(query: Query) -> Iterator[tuple[Constant, exp.Expr]]:
    """The distinctions that functions make without a constant in the query, and the functions."""
    from sqlglot import exp

    for node in query.all_of(exp.Abs, exp.Sign, exp.Neg, exp.Trim, exp.Cast):
        if isinstance(node, exp.Trim):
            yield Constant(" a", "padded"), node.this
        elif not isinstance(node, exp.Cast):
            yield Constant(-1, "negative"), node.this
        elif node.to.this in exp.DataType.NUMERIC_TYPES:
            yield Constant("10", "numeral"), node.this


def columns_beside(condition: exp.Expr) -> Iterator[exp.Column]:
    """The columns of a condition; for a subquery in it, those that it selects."""
    from sqlglot import exp

    waiting = deque([condition])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, exp.Column):
            yield node
        elif isinstance(node, exp.Query):
            waiting += node.selects
        elif not isinstance(node, exp.Literal):
            waiting += node.iter_expressions()


def _value(query: Query, node: exp.Expr) -> str | int | float | None:
    """The value of a constant; None for any other node, and for a number that is too large."""
    from sqlglot import exp

    if isinstance(node, exp.Column):
        return node.name if not node.table and query.meaning(node).is_text else None
    if isinstance(node, exp.Boolean):
        return int(bool(node.this))
    if node.is_string:
        return node.name
    sign = -1 if isinstance(node.parent, exp.Neg) else 1
    try:
        if node.is_int:
            return sign * int(node.name)
        number = sign * float(node.name)
    except ValueError:
        return None
    return number if abs(number) < 1e300 else None


def _condition(node: exp.Expr) -> exp.Expr | None:
    """The nearest condition around a node, within its own SELECT."""
    from sqlglot import exp

    above = node.parent
    while above is not None and not isinstance(above, exp.Query):
        if isinstance(above, exp.Predicate) and not isinstance(above, exp.Exists | exp.SubqueryPredicate):
            return above
        above = above.parent
    return None


def _compares_count(condition: exp.Expr) -> bool:
    """Whether a condition compares a COUNT of rows, also that of a subquery."""
    from sqlglot import exp

    return any(
        part.unalias().find(exp.Count) is not None
        for side in condition.iter_expressions()
        for part in (side.selects if isinstance(side, exp.Query) else [side])
    )


def _used(value: str | int | float, node: exp.Expr, condition: exp.Expr) -> Constant:
    """How a condition uses one of its constants."""
    from sqlglot import exp

    if isinstance(condition, exp.Like | exp.ILike | exp.Glob | exp.RegexpLike | exp.SimilarTo):
        return Constant(value, "pattern", "glob" if isinstance(condition, exp.Glob) else "")
    side: exp.Expr = node
    is_argument = False
    while side.parent is not None and side.parent is not condition:
        side = side.parent
        passes_on = isinstance(side, exp.Cast | exp.Lower | exp.Upper | exp.Coalesce)
        is_argument = is_argument or (isinstance(side, exp.Func) and not passes_on)
    if is_argument and not isinstance(condition, exp.In | exp.Between):
        return Constant(value, "other")  # for example a position or a format
    is_left = isinstance(condition, exp.Binary) and side.arg_key == "this"
    other = condition.args.get("expression" if is_left else "this")
    use, detail = _wrapped(other) if isinstance(other, exp.Expr) else (None, "")
    if use is None:
        if isinstance(condition, exp.GT | exp.GTE | exp.LT | exp.LTE):
            use = "below" if isinstance(condition, exp.GT | exp.GTE) == is_left else "above"
        elif isinstance(condition, exp.Between):
            use = "above" if side.arg_key == "low" else "below"
    return Constant(value, use or "equal", detail)


def _wrapped(side: exp.Expr) -> tuple[Use | None, str]:
    """How a function changes the column before it is compared."""
    from sqlglot import exp

    match next(side.find_all(exp.TimeToStr, exp.Extract, exp.Year, exp.Month, exp.Day, exp.StrToTime), None):
        case exp.Extract(this=part):
            return "date_part", part.name.lower()
        case exp.TimeToStr() as part:
            return "date_part", _DATE_FORMATS.get(part.args["format"].name, "")
        case exp.Expr() as part:
            return "date_part", part.key
    if side.find(exp.Substring, exp.Left, exp.Right, exp.StrPosition, exp.SplitPart) is not None:
        return "part", ""
    if side.find(exp.Length) is not None:
        return "length", ""
    return ("sum", "") if side.find(exp.Sum, exp.Avg) is not None else (None, "")
