"""Which rows a conditional aggregate takes: those that meet its condition.

``COUNT(CASE WHEN c THEN 1 END)``, ``SUM(CASE WHEN c THEN x ELSE 0 END)``, ``SUM(c)``, ``SUM((c) * x)``, ``COUNT(c OR
NULL)``: these filter rows inside the aggregate. Rows that fail the condition do not contribute to its value, like rows
that a WHERE excludes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp


def argument_of(aggregate: exp.Expr) -> exp.Expr | None:
    """The expression that is aggregated; None for ``COUNT(*)``."""
    from sqlglot import exp

    found = aggregate.this
    if isinstance(aggregate, exp.Anonymous):
        found = aggregate.expressions[0] if aggregate.expressions else None
    return None if not isinstance(found, exp.Expr) or isinstance(found, exp.Star) else found


def counted_rows(aggregate: exp.Expr) -> exp.Expr | None:
    """The condition that a row must meet for this aggregate to take it; None if it takes all."""
    from sqlglot import exp

    argument = argument_of(aggregate)
    if isinstance(argument, exp.Distinct) and len(argument.expressions) == 1:
        argument = argument.expressions[0]
    if argument is None:
        return None
    if isinstance(aggregate, (exp.CountIf, exp.LogicalOr)):
        return argument.copy()
    return _taken(argument, zero_counts=isinstance(aggregate, exp.Count))


def _taken(argument: exp.Expr, *, zero_counts: bool) -> exp.Expr | None:
    """The condition under which this value counts: it is not NULL and, unless ``zero_counts``, not 0. None: always."""
    from sqlglot import exp

    if isinstance(argument, (exp.Paren, exp.Cast, exp.Neg, exp.Round, exp.Abs, exp.Div, exp.IntDiv)):
        return _taken(argument.this, zero_counts=zero_counts)
    if isinstance(argument, exp.Coalesce):
        rest = argument.expressions
        return None if zero_counts or not all(map(_is_zero_or_null, rest)) else _taken(argument.this, zero_counts=False)
    if isinstance(argument, exp.Mul):
        sides = [_taken(side, zero_counts=zero_counts) for side in (argument.this, argument.expression)]
        found = [side for side in sides if side is not None]
        return exp.and_(*found) if found else None
    if isinstance(argument, (exp.Case, exp.If)):
        return _taken_cases(argument, zero_counts=zero_counts)
    if zero_counts:
        # COUNT(c OR NULL): NULL if c does not hold.
        ored = isinstance(argument, exp.Or) and any(isinstance(side, exp.Null) for side in argument.flatten())
        return argument.copy() if ored else None
    return argument.copy() if isinstance(argument, (exp.Predicate, exp.Connector, exp.Not)) else None


def _taken_cases(choice: exp.Case | exp.If, *, zero_counts: bool) -> exp.Expr:
    """The same CASE or IF, giving 1 if its value counts and NULL if not."""
    from sqlglot import exp

    taken = exp.Case(this=choice.this.copy()) if isinstance(choice, exp.Case) and choice.this else exp.Case()
    branches = choice.args["ifs"] if isinstance(choice, exp.Case) else [choice]
    for branch in branches:
        taken = taken.when(branch.this.copy(), _mark(branch.args["true"], zero_counts=zero_counts), copy=False)
    default = choice.args.get("default" if isinstance(choice, exp.Case) else "false")
    if default is not None:
        taken = taken.else_(_mark(default, zero_counts=zero_counts), copy=False)
    return exp.EQ(this=taken, expression=exp.Literal.number(1))


def _mark(value: exp.Expr, *, zero_counts: bool) -> exp.Expr:
    from sqlglot import exp

    if isinstance(value, exp.Null) or (not zero_counts and _is_zero_or_null(value)):
        return exp.null()
    condition = _taken(value, zero_counts=zero_counts)
    one = exp.Literal.number(1)
    return one if condition is None else exp.Case().when(condition, one)


def _is_zero_or_null(value: exp.Expr) -> bool:
    from sqlglot import exp

    value = value.unnest()
    if isinstance(value, exp.Literal) and value.is_number:
        return float(value.name) == 0
    return isinstance(value, exp.Null) or (isinstance(value, exp.Boolean) and not value.this)
