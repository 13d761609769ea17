"""The canonical text of an expression whose columns are resolved: the same for two spellings of it.

`plain` brings one node into its plainest spelling, `conjuncts` and `positive` a condition, and `plain_text` writes a
tree in a dialect-independent form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from operator import add, mul, sub

from assay.sql.expressions import plain_text
from assay.sql.nodes import exp

_TURNED = {"GT": "LT", "GTE": "LTE", "LT": "GT", "LTE": "GTE", "EQ": "EQ", "NEQ": "NEQ"}
_DENIED = {"GT": "LTE", "GTE": "LT", "LT": "GTE", "LTE": "GT", "EQ": "NEQ", "NEQ": "EQ"}
_PLAIN = frozenset({"column", "identifier", "star", "eq", "neq", "gt", "gte", "lt", "lte", "and", "or", "var", "like"})
"""The kinds of nodes that have only one spelling."""
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {"add": add, "sub": sub, "mul": mul}
_WHOLE = re.compile(r"-?[0-9]{1,10}")
_LARGEST = 2**31
"""Every dialect calculates with whole numbers below it exactly."""
_COMPARISONS = frozenset({"eq", "neq", "gt", "gte", "lt", "lte", "like"})
MOST_PARTS = 20
"""An IN with more values is one condition: comparing its parts would take long."""
_REAL = frozenset({"FLOAT", "DOUBLE", "DECIMAL"})


def plain(node: exp.Expr, keys: frozenset[str]) -> exp.Expr:
    """One node in its plainest spelling; ``keys`` are columns that are never NULL, for example ``singer.id``."""
    if node.key in _PLAIN:
        return node
    while isinstance(node, exp.Paren) and _needs_none(node):
        inner: exp.Expr = node.this
        inner.parent, node = node.parent, inner
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return exp.Literal(this=f"-{_number(node.this.name)}", is_string=False)
    if isinstance(node, exp.Literal):
        return node if node.is_string else exp.Literal(this=_number(node.name), is_string=False)
    if node.key in _ARITHMETIC and (number := _calculated(node)) is not None:
        return exp.Literal(this=str(number), is_string=False)
    if isinstance(node, exp.Count) and not isinstance(node.this, exp.Distinct):
        one = node.this
        if isinstance(one, exp.Literal) or (isinstance(one, exp.Column) and plain_text(one) in keys):
            return exp.Count(this=exp.Star())
    if isinstance(node, exp.Sum | exp.Count) and isinstance(node.this, exp.Case | exp.If):
        counted = _counted(node)
        if counted is not None:
            return exp.CountIf(this=counted)
    extracted = part_of_date(node)
    if extracted is not None:
        return extracted
    if isinstance(node, exp.Cast) and node.to.this.name in _REAL:
        return exp.Cast(this=node.this, to=exp.DataType.build("REAL"))
    if isinstance(node, exp.Div):
        node.args["safe"] = False  # how an engine divides by 0 is not the author's choice
        node.args["typed"] = False
    if isinstance(node, exp.If) and not isinstance(node.parent, exp.Case):
        return exp.Case(
            ifs=[exp.If(this=node.this, true=node.args.get("true"))],
            default=node.args.get("false"),
        )
    return node


_STANDS_ALONE = frozenset({"column", "literal", "paren", "var", "boolean", "null", "star", "cast", "case"})
_SETS_APART = frozenset({"eq", "neq", "gt", "gte", "lt", "lte", "in", "between", "ordered", "alias", "distinct", "is"})
"""Operands of these need no parentheses, unless they are conditions."""


def _needs_none(paren: exp.Expr) -> bool:
    """Whether the parentheses are redundant."""
    inner, around = paren.this, paren.parent
    if inner.key in _STANDS_ALONE or (isinstance(inner, exp.Func) and not isinstance(inner, exp.Connector)):
        return True
    if isinstance(inner, exp.Neg):
        return isinstance(inner.this, exp.Literal | exp.Column)
    if isinstance(inner, exp.Connector | exp.Predicate | exp.Not) or around is None:
        return False
    if isinstance(inner, exp.Mul | exp.Div) and isinstance(around, exp.Add | exp.Sub):
        return True
    return around.key in _SETS_APART or (isinstance(around, exp.Func) and not isinstance(around, exp.Binary))


def _calculated(node: exp.Expr) -> int | None:
    """What a sum, difference or product of two whole numbers is, for example 100000 for ``1000 * 100``.

    None for any other, and where a number alone would be a column's position (ORDER BY 1 + 1).
    """
    around = node.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    if around is None or isinstance(around, exp.Ordered):
        return None
    values = []
    for side in (_bare(node.this), _bare(node.expression)):
        if not isinstance(side, exp.Literal) or side.is_string or not _WHOLE.fullmatch(side.name):
            return None
        values.append(int(side.name))
    number = _ARITHMETIC[node.key](*values)
    return number if max(map(abs, (number, *values))) < _LARGEST else None


def _bare(node: exp.Expr) -> exp.Expr:
    """The expression without parentheses around it."""
    while node.key == "paren":
        node = node.this
    return node


def part_of_date(node: exp.Expr) -> exp.Expr | None:
    """``YEAR(x)`` and ``date_part('year', x)`` as ``EXTRACT(YEAR FROM x)``; None for anything else."""
    if isinstance(node, exp.Year | exp.Month | exp.Day | exp.Quarter | exp.Week | exp.Hour | exp.Minute | exp.Second):
        return exp.Extract(this=exp.Var(this=node.key.upper()), expression=node.this)
    if (
        isinstance(node, exp.Anonymous)
        and node.name.lower() in ("date_part", "datepart")
        and len(node.expressions) == 2
    ):
        part, value = node.expressions
        if isinstance(part, exp.Literal) and part.is_string:
            return exp.Extract(this=exp.Var(this=part.name.upper()), expression=value)
    return None


def in_order(node: exp.Expr) -> None:
    """Sort the operands of one sum, product, AND or OR, however they are grouped. Not recursive."""
    kind, operands, waiting = type(node), [], [node.expression, node.this]
    while waiting:
        one = waiting.pop()
        bare = _bare(one)
        if type(bare) is kind:
            waiting += [bare.expression, bare.this]
        else:
            operands.append(one)
    operands.sort(key=plain_text)
    made = operands[0]
    for one in operands[1:-1]:
        made = kind(this=made, expression=one)
    node.set("this", made)
    node.set("expression", operands[-1])


def _counted(node: exp.Expr) -> exp.Expr | None:
    """The condition that a SUM of ones and zeros, or a COUNT of a CASE, counts."""
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
    """The conditions that must all hold, with NOT pushed inwards and BETWEEN split. Not recursive."""
    waiting = [] if node is None else [node]
    while waiting:
        one = positive(waiting.pop())
        if isinstance(one, exp.And):
            waiting += [one.expression, one.this]
        elif isinstance(one, exp.Or) and (factors := _factored(one)) is not None:
            waiting += reversed(factors)
        elif isinstance(one, exp.Between):
            waiting.append(exp.LTE(this=one.this, expression=one.args["high"]))
            waiting.append(exp.GTE(this=one.this, expression=one.args["low"]))
        elif not _always_holds(one):  # for example a JOIN without ON
            yield one


def holds_conjuncts(node: exp.Expr) -> bool:
    """Whether `conjuncts` returns parts of the node unchanged, so that it creates no nodes."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.key == "paren":
            waiting.append(one.this)
        elif one.key == "and":
            waiting += [one.this, one.expression]
        elif one.key not in _COMPARISONS or one.expression.key == "boolean" or _is_constant(one.this):
            return False
    return True


def _factored(node: exp.Or) -> list[exp.Expr] | None:
    """``(a AND b) OR (a AND c)`` as a and ``b OR c``; None if the parts have no common condition."""
    parts = disjuncts(node)
    if len(parts) > MOST_PARTS or not all(isinstance(one, exp.And) for one in parts):
        return None
    each = [{plain_text(one).lower(): one for one in conjuncts(part)} for part in parts]
    common = [one for text, one in each[0].items() if all(text in other for other in each[1:])]
    if not common:
        return None
    texts = {plain_text(one).lower() for one in common}
    rests = [[one.copy() for text, one in part.items() if text not in texts] for part in each]
    if not all(rests):
        return common
    return [*common, exp.or_(*(exp.and_(*rest, copy=False) for rest in rests), copy=False)]


def _always_holds(node: exp.Expr) -> bool:
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    return isinstance(node, exp.EQ) and isinstance(node.this, exp.Literal) and node.this == node.expression


def disjuncts(node: exp.Expr) -> list[exp.Expr]:
    """Conditions, at least one of which must hold."""
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
    node = _bare(node)
    if isinstance(node, exp.Not):
        return _denied(node)
    name = type(node).__name__
    if name in _TURNED:
        left, right = node.this, node.expression
        if _is_constant(left) and not _is_constant(right):
            return turned(node)
    if isinstance(node, exp.EQ | exp.NEQ) and isinstance(node.expression, exp.Boolean):
        said = bool(node.expression.this) == isinstance(node, exp.EQ)  # `flag = TRUE` is `flag`
        return positive(node.this) if said else _denied(exp.Not(this=node.this))
    if isinstance(node, exp.In) and len(node.expressions) == 1 and not node.args.get("query"):
        return exp.EQ(this=node.this, expression=node.expressions[0])
    return node


def turned(comparison: exp.Expr) -> exp.Expr:
    """The same comparison with its sides swapped."""
    kind = getattr(exp, _TURNED[type(comparison).__name__])
    made: exp.Expr = kind(this=comparison.expression, expression=comparison.this)
    return made


def _denied(node: exp.Expr) -> exp.Expr:
    inner = _bare(node.this)
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
    if isinstance(inner, exp.In) and 1 < len(inner.expressions) <= MOST_PARTS:
        unlike = [exp.NEQ(this=inner.this.copy(), expression=value.copy()) for value in inner.expressions]
        return exp.and_(*unlike, copy=False, wrap=False)
    return exp.Not(this=inner)


def _is_constant(node: exp.Expr) -> bool:
    if node.key in ("column", "literal"):  # the usual case
        return node.key == "literal"
    return not any(isinstance(one, (exp.Column, exp.Query, exp.AggFunc)) for one in node.walk())
