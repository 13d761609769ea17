"""The constants of a query, each with the columns that it is compared with and how."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from assay.sql.witness_facts.model import Constant, Use

if TYPE_CHECKING:
    from sqlglot import exp

_MOST_COUNTED = 200
_DATE_FORMATS = {"%Y": "year", "%m": "month", "%d": "day"}


def constants_of(
    tree: exp.Query, *, is_text: Callable[[exp.Column], bool]
) -> Iterator[tuple[Constant, list[exp.Column]]]:
    """Each constant with the columns beside it in the same condition; with none where it stands in no condition.

    ``is_text`` says whether a name in double quotes is a text.
    """
    from sqlglot import exp

    read: dict[int, tuple[list[exp.Column], bool]] = {}  # by condition: an IN of a thousand values is read once
    for node in tree.find_all(exp.Literal, exp.Column, exp.Boolean):
        if isinstance(node, exp.Column):
            if node.table or not isinstance(node.this, exp.Identifier) or not node.this.quoted or not is_text(node):
                continue
            value: str | int | float | None = node.name
        elif isinstance(node, exp.Boolean):
            value = int(bool(node.this))
        else:
            value = _value(node) if isinstance(node, exp.Literal) else None
        if value is None or node.find_ancestor(exp.Limit, exp.Offset, exp.Fetch, exp.DataType) is not None:
            continue
        predicate = _predicate(node)
        if predicate is None:
            yield Constant(value, "other"), []
            continue
        if id(predicate) not in read:
            read[id(predicate)] = [one for one in _beside(predicate) if not is_text(one)], _counts(predicate)
        beside, counts = read[id(predicate)]
        columns = [one for one in beside if one is not node]
        if counts and not isinstance(value, str):
            continue  # it is among `counted_numbers`
        for constant in _read(value, node, predicate):
            yield constant, columns


def bent_columns(tree: exp.Query) -> Iterator[tuple[Constant, list[exp.Column]]]:
    """What functions tell apart that no constant of the query says, with the columns that they are applied to."""
    from sqlglot import exp

    for node in tree.find_all(exp.Abs, exp.Sign, exp.Neg, exp.Trim, exp.Cast):
        match node:
            case exp.Trim():
                told = Constant(" a", "padded")
            case exp.Cast() if node.to.this in exp.DataType.NUMERIC_TYPES:
                told = Constant("10", "numeral")
            case exp.Cast():
                continue
            case _:
                told = Constant(-1, "negative")
        columns = list(node.this.find_all(exp.Column)) if isinstance(node.this, exp.Expr) else []
        if columns:
            yield told, columns


def counted_numbers(tree: exp.Query) -> Iterator[int]:
    """The numbers of rows that something turns on."""
    from sqlglot import exp

    counts: dict[int, bool] = {}
    for node in tree.find_all(exp.Literal):
        value = _value(node)
        if not isinstance(value, int) or not 0 <= value <= _MOST_COUNTED:
            continue
        if node.find_ancestor(exp.Limit, exp.Offset, exp.Fetch) is not None:
            yield value
            continue
        predicate = _predicate(node)
        if predicate is None:
            continue
        if id(predicate) not in counts:
            counts[id(predicate)] = _counts(predicate)
        if counts[id(predicate)]:
            yield value


def _value(node: exp.Literal) -> str | int | float | None:
    from sqlglot import exp

    if node.is_string:
        return str(node.this)
    sign = -1 if isinstance(node.parent, exp.Neg) else 1
    text = str(node.this)
    try:
        return sign * int(text)
    except ValueError:
        pass
    try:
        number = sign * float(text)
    except ValueError:
        return None
    return number if abs(number) < 1e300 else None


def _predicate(node: exp.Expr) -> exp.Expr | None:
    """The nearest condition around a node, within its own SELECT."""
    from sqlglot import exp

    above = node.parent
    while above is not None and not isinstance(above, exp.Query):
        if isinstance(above, exp.Predicate) and not isinstance(above, exp.Exists | exp.SubqueryPredicate):
            return above
        above = above.parent
    return None


def _beside(predicate: exp.Expr) -> Iterator[exp.Column]:
    """The columns of a condition; of a subquery in it, those that it selects."""
    from sqlglot import exp

    waiting = deque([predicate])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, exp.Column):
            yield node
        elif isinstance(node, exp.Query):
            waiting += node.selects
        elif not isinstance(node, exp.Literal):
            waiting += list(node.iter_expressions())


def _counts(predicate: exp.Expr) -> bool:
    """Whether a condition compares a COUNT of rows, also that of a subquery."""
    from sqlglot import exp

    for side in predicate.iter_expressions():
        looked = side.unnest() if isinstance(side, exp.Subquery) else side
        parts = looked.selects if isinstance(looked, exp.Query) else [looked]
        if any(part.unalias().find(exp.Count) is not None for part in parts):
            return True
    return False


def _read(value: str | int | float, node: exp.Expr, predicate: exp.Expr) -> Iterator[Constant]:
    from sqlglot import exp

    if isinstance(predicate, exp.Like | exp.ILike | exp.Glob | exp.RegexpLike | exp.SimilarTo):
        yield Constant(value, "pattern", "glob" if isinstance(predicate, exp.Glob) else "")
        return
    inside = _function_above(node, predicate)
    if inside is not None and not isinstance(predicate, exp.In | exp.Between):
        yield Constant(value, "other")  # an argument of a function, such as a position or a format
        return
    other = _other_side(node, predicate)
    kind, detail = _wrapped(other)
    if kind is not None:
        yield Constant(value, kind, detail)
        return
    yield Constant(value, _use(node, predicate))


def _function_above(node: exp.Expr, predicate: exp.Expr) -> exp.Expr | None:
    from sqlglot import exp

    above = node.parent
    while above is not None and above is not predicate:
        if isinstance(above, exp.Func) and not isinstance(above, exp.Cast | exp.Lower | exp.Upper | exp.Coalesce):
            return above
        above = above.parent
    return None


def _other_side(node: exp.Expr, predicate: exp.Expr) -> exp.Expr | None:
    """What the constant is compared with."""
    from sqlglot import exp

    if isinstance(predicate, exp.In | exp.Between) or not isinstance(predicate, exp.Binary):
        this = predicate.args.get("this")
        return this if isinstance(this, exp.Expr) else None
    within = node
    while within.parent is not None and within.parent is not predicate:
        within = within.parent
    side = predicate.expression if within is predicate.this else predicate.this
    return side if isinstance(side, exp.Expr) else None


def _wrapped(side: exp.Expr | None) -> tuple[Use | None, str]:
    """How a function changes the column before it is compared."""
    from sqlglot import exp

    if side is None:
        return None, ""
    part = next(side.find_all(exp.TimeToStr, exp.Extract, exp.Year, exp.Month, exp.Day, exp.StrToTime), None)
    if part is not None:
        if isinstance(part, exp.Extract):
            return "date_part", str(part.this.name).lower()
        if isinstance(part, exp.TimeToStr):
            return "date_part", _DATE_FORMATS.get(part.args["format"].name, "")
        return "date_part", part.key
    if side.find(exp.Substring, exp.Left, exp.Right, exp.StrPosition, exp.SplitPart) is not None:
        return "part", ""
    if side.find(exp.Length) is not None:
        return "length", ""
    if side.find(exp.Sum, exp.Avg) is not None:
        return "sum", ""
    return None, ""


def _use(node: exp.Expr, predicate: exp.Expr) -> Use:
    from sqlglot import exp

    on_left = isinstance(predicate, exp.Binary) and any(one is node for one in predicate.this.walk())
    match predicate:
        case exp.GT() | exp.GTE():
            return "below" if on_left else "above"
        case exp.LT() | exp.LTE():
            return "above" if on_left else "below"
        case exp.Between():
            return "above" if any(one is node for one in predicate.args["low"].walk()) else "below"
    return "equal"
