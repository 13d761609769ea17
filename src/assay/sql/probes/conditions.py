"""Combine the conditions under which a value has an empty input: known ones, and ones that the engine evaluates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias, Union

if TYPE_CHECKING:
    from sqlglot import exp

Condition: TypeAlias = Union["exp.Expr", bool, None]
"""When a value has an empty input; None for a constant, which depends on no rows."""


def none_counted(from_nothing: Condition, counted: exp.Expr | None) -> Condition:
    """The condition that every counted row's value has an empty input."""
    from sqlglot import exp

    if from_nothing is True:
        return True
    held = None if from_nothing is None or from_nothing is False else exp.not_(from_nothing)
    parts = [part for part in (counted, held) if part is not None]
    if not parts:
        return exp.EQ(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
    one = exp.Case().when(exp.and_(*parts), exp.Literal.number(1))
    return exp.EQ(this=exp.Count(this=one), expression=exp.Literal.number(0))


def all_of(conditions: Iterable[Condition]) -> Condition:
    """The condition that all values other than constants have an empty input."""
    return _combined(conditions, deciding=False)


def any_of(conditions: Iterable[Condition]) -> Condition:
    """The condition that some value has an empty input."""
    return _combined(conditions, deciding=True)


def _combined(conditions: Iterable[Condition], *, deciding: bool) -> Condition:
    """``deciding``: the one value that decides the whole, regardless of the others."""
    from sqlglot import exp

    found = [condition for condition in conditions if condition is not None]
    if not found or any(condition is deciding for condition in found):
        return deciding if found else None
    open_ones = [condition for condition in found if not isinstance(condition, bool)]
    combine = exp.or_ if deciding else exp.and_
    # Each condition was created for this one: copying them at each level would take quadratic time in a deep
    # expression.
    return combine(*open_ones, copy=False) if open_ones else not deciding


def as_number(condition: Condition) -> exp.Expr:
    from sqlglot import exp

    if condition is None or isinstance(condition, bool):
        return exp.Literal.number(int(bool(condition)))
    return exp.Case().when(condition, exp.Literal.number(1)).else_(exp.Literal.number(0))


def is_one(number: exp.Expr, *, absent: int = 0) -> exp.Expr:
    from sqlglot import exp

    known = exp.Coalesce(this=number, expressions=[exp.Literal.number(absent)])
    return exp.EQ(this=known, expression=exp.Literal.number(1))
