"""Literals in one spelling, and as an engine reads them beside a column."""

from __future__ import annotations

import re

from assay.sql.normal.algebra import Agg, Block, Call, Col, Const, Term
from assay.sql.normal.stopping import NotCovered
from assay.sql.normal.world import NUMBERS, World

_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*")
_MOST = 2**63


def number(text: str) -> Const:
    """A numeric literal; an integer beyond 64 bits is not read, as engines differ in it."""
    text = text.strip()
    if re.fullmatch(r"[+-]?\d+", text):
        value = int(text)
        if not -_MOST < value < _MOST:
            raise NotCovered("an integer of more than 64 bits")
        return Const("integer", str(value))
    try:
        return Const("real", repr(float(text)))
    except ValueError:
        raise NotCovered(f"the number {text[:40]}") from None


def negated(value: Const) -> Const:
    """The number with its sign turned."""
    return (
        Const(value.kind, value.text[1:] if value.text.startswith("-") else f"-{value.text}")
        if value.text != "0"
        else value
    )


def fitted(value: Term, beside: Term, world: World) -> Term:
    """A literal as it is compared with a stored column.

    Side conditions: the column is stored, for SQLite applies the type of columns alone; in other dialects only a
    text that spells a number is read as one beside a column of numbers.
    """
    if not isinstance(value, Const) or value.kind in ("null", "boolean"):
        return value
    kind = world.kind(beside)
    stored = world.is_stored(beside)
    if kind in NUMBERS:
        if value.kind == "text":
            if not stored or not _NUMBER.fullmatch(value.text) or len(value.text) > 15:
                return value
            value = number(value.text)
        return _as_number(value, kind)
    if kind == "text" and stored and world.dialect == "sqlite" and value.kind == "integer":
        return Const("text", value.text)
    return value


def _as_number(value: Const, kind: str) -> Const:
    """A number in the spelling of its column's kind; comparing tells no 5 from 5.0."""
    as_float = float(value.text)
    if abs(as_float) >= 2**53:
        return value
    if kind == "real":
        return Const("real", repr(as_float))
    return Const("integer", str(int(as_float))) if as_float == int(as_float) else value


def compared(op: str, left: Term, right: Term, world: World) -> Term:
    """A comparison, its literals fitted; greater than is less than, turned round."""
    if world.dialect == "sqlite":
        _no_mixture(left, right, world)
    left, right = fitted(left, right, world), fitted(right, left, world)
    if op in ("gt", "ge"):
        return Call("lt" if op == "gt" else "le", (right, left))
    return Call(op, (left, right))


def _no_mixture(left: Term, right: Term, world: World) -> None:
    """Refuse to compare a text column with a value that a rule may find to be a column of numbers.

    SQLite reads a text as a number beside such a column, but not beside MAX or COALESCE of it.
    """
    for one, other in ((left, right), (right, left)):
        made = _made_of(other, world)
        simpler = isinstance(made, Agg) or (isinstance(made, Call) and made.op == "coalesce")
        kinds = world.kind(one), world.kind(made)
        if simpler and world.is_stored(one) and "text" in kinds and kinds[0] != kinds[1]:
            raise NotCovered("a column compared with an expression of another type")


def _made_of(term: Term, world: World) -> Term:
    """The expression that a query's column stands for."""
    while isinstance(term, Col):
        query = world.sources[term.source].query
        if not isinstance(query, Block):
            return term
        term = query.outputs[int(term.name)]
    return term
