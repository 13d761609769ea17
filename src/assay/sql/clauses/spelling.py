"""Make spellings of the same expression alike, in trees whose columns are resolved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.sql.clauses.writing import plain_text

if TYPE_CHECKING:
    from sqlglot import exp

_TURNED = {"GT": "LT", "GTE": "LTE", "LT": "GT", "LTE": "GTE", "EQ": "EQ", "NEQ": "NEQ"}
_DENIED = {"GT": "LTE", "GTE": "LT", "LT": "GTE", "LTE": "GT", "EQ": "NEQ", "NEQ": "EQ"}
_PLAIN = frozenset({"column", "identifier", "star", "eq", "neq", "gt", "gte", "lt", "lte", "and", "or", "var", "like"})
"""The kinds of nodes that have one spelling only, by themselves."""
_REAL = frozenset({"FLOAT", "DOUBLE", "DECIMAL"})


def plain(node: exp.Expr, keys: frozenset[str]) -> exp.Expr:
    """One node in its plainest spelling; ``keys`` are columns that are never NULL, such as ``singer.id``."""
    if node.key in _PLAIN:
        return node
    from sqlglot import exp

    while isinstance(node, exp.Paren) and isinstance(
        node.this, exp.Column | exp.Literal | exp.Paren | exp.Func | exp.Var
    ):
        inner: exp.Expr = node.this
        node = inner
    if isinstance(node, exp.Literal):
        return exp.Literal.number(_number(node.name)) if not node.is_string else node
    if isinstance(node, exp.Count) and not isinstance(node.this, exp.Distinct):
        one = node.this
        if isinstance(one, exp.Literal) or (isinstance(one, exp.Column) and plain_text(one) in keys):
            return exp.Count(this=exp.Star())
    if isinstance(node, exp.Sum | exp.Count) and isinstance(node.this, exp.Case | exp.If):
        counted = _counted(node)
        if counted is not None:
            return exp.CountIf(this=counted)
    if isinstance(node, exp.Cast) and node.to.this.name in _REAL:
        return exp.Cast(this=node.this, to=exp.DataType.build("REAL"))
    if isinstance(node, exp.Div):
        node.args["safe"] = False  # how an engine divides by 0 is not what its author wrote
        node.args["typed"] = False
    if isinstance(node, exp.If) and not isinstance(node.parent, exp.Case):
        return exp.Case(
            ifs=[exp.If(this=node.this, true=node.args.get("true"))],
            default=node.args.get("false"),
        )
    return node


def _counted(node: exp.Expr) -> exp.Expr | None:
    """The condition that a SUM of ones and zeros, or a COUNT of a CASE, counts."""
    from sqlglot import exp

    case = node.this
    if isinstance(case, exp.Case):
        if case.this is not None or len(case.args["ifs"]) != 1:
            return None
        branch, other = case.args["ifs"][0], case.args.get("default")
    else:
        branch, other = case, case.args.get("false")
    value = branch.args.get("true")
    if not isinstance(value, exp.Literal):
        return None
    nothing = other is None or isinstance(other, exp.Null)
    if isinstance(node, exp.Count):
        condition: exp.Expr = branch.this
        return condition if nothing else None
    zero = isinstance(other, exp.Literal) and other.name in ("0", "0.0")
    found: exp.Expr = branch.this
    return found if value.name in ("1", "1.0") and (zero or nothing) else None


def _number(text: str) -> str:
    try:
        value = float(text)
    except ValueError:
        return text
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def conjuncts(node: exp.Expr | None) -> Iterator[exp.Expr]:
    """The conditions that must all hold, with NOT pushed inwards and BETWEEN taken apart. Not by recursion."""
    from sqlglot import exp

    waiting = [] if node is None else [node]
    while waiting:
        one = positive(waiting.pop())
        if isinstance(one, exp.And):
            waiting += [one.expression, one.this]
        elif isinstance(one, exp.Between):
            waiting.append(exp.LTE(this=one.this, expression=one.args["high"]))
            waiting.append(exp.GTE(this=one.this, expression=one.args["low"]))
        elif not (isinstance(one, exp.Boolean) and one.this):  # JOIN without ON
            yield one


def disjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The conditions of which one must hold."""
    from sqlglot import exp

    found: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        one = positive(waiting.pop())
        if isinstance(one, exp.Or):
            waiting += [one.expression, one.this]
        else:
            found.append(one)
    return found


def positive(node: exp.Expr) -> exp.Expr:
    """The condition without parentheses around it, a comparison with its column on the left, NOT pushed inwards."""
    from sqlglot import exp

    while isinstance(node, exp.Paren):
        inner: exp.Expr = node.this
        node = inner
    if isinstance(node, exp.Not):
        return _denied(node)
    name = type(node).__name__
    if name in _TURNED:
        left, right = node.this, node.expression
        if _is_constant(left) and not _is_constant(right):
            turned: exp.Expr = getattr(exp, _TURNED[name])(this=right, expression=left)
            return turned
    if isinstance(node, exp.In) and len(node.expressions) == 1 and not node.args.get("query"):
        return exp.EQ(this=node.this, expression=node.expressions[0])
    return node


def _denied(node: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    inner = node.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Not):
        return positive(inner.this)
    inner = positive(inner)
    name = type(inner).__name__
    if name in _DENIED:
        made: exp.Expr = getattr(exp, _DENIED[name])(this=inner.this, expression=inner.expression)
        return made
    if isinstance(inner, exp.Or):
        return exp.And(this=exp.Not(this=inner.this), expression=exp.Not(this=inner.expression))
    if isinstance(inner, exp.And):
        return exp.Or(this=exp.Not(this=inner.this), expression=exp.Not(this=inner.expression))
    return exp.Not(this=inner)


def _is_constant(node: exp.Expr) -> bool:
    from sqlglot import exp

    if isinstance(node, exp.Literal | exp.Null | exp.Boolean):
        return True
    return next(iter(node.find_all(exp.Column, exp.Query)), None) is None
