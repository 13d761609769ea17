"""Literals in one spelling, and as an engine reads them when compared with a column."""

from __future__ import annotations

import re
from math import isfinite

from assay.sql.algebra.model import NULL, Call, Col, Combined, Const, Term, is_call
from assay.sql.algebra.parts import names
from assay.sql.algebra.stopping import UnsupportedSQL
from assay.sql.algebra.world import NUMBERS, SchemaContext

_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_WHOLE = re.compile(r"-?\d+", re.ASCII)
_MOST_DIGITS = 15
_MOST = 2**63


def number(text: str) -> Const:
    """A numeric literal. Integers beyond 64 bits are not read, since engines differ in how they read them."""
    text = text.strip()
    if re.fullmatch(r"[+-]?\d+", text):
        value = int(text)
        if not -_MOST < value < _MOST:
            raise UnsupportedSQL("an integer of more than 64 bits")
        return Const("integer", str(value))
    try:
        real = float(text)
    except ValueError:
        raise UnsupportedSQL(f"the number {text[:40]}") from None
    if not isfinite(real):
        raise UnsupportedSQL("a number beyond the largest floating-point number")
    return Const("real", repr(real))


def negated(value: Const) -> Const:
    """The number with its sign reversed."""
    return (
        Const(value.kind, value.text[1:] if value.text.startswith("-") else f"-{value.text}")
        if value.text != "0"
        else value
    )


def fitted(value: Term, beside: Term, world: SchemaContext) -> Term:
    """A literal as it is compared with a stored column.

    Side conditions: the column is stored, since SQLite applies only the type of columns; in other dialects only a text
    that spells a number is read as a number when compared with a numeric column.
    """
    if not isinstance(value, Const) or value.kind in ("null", "boolean"):
        return value
    kind = world.kind(beside)
    stored = world.is_stored(beside)
    if kind in NUMBERS:
        if value.kind == "text":
            spelling = _WHOLE if kind == "integer" and world.dialect != "sqlite" else _NUMBER  # DuckDB rounds '1.5'
            if not stored or not spelling.fullmatch(value.text):
                return value
            if len(value.text) > _MOST_DIGITS:
                raise UnsupportedSQL("a number of many digits as a text")
            value = number(value.text)
        return _as_number(value, kind)
    if kind in ("text", "folded") and stored and world.dialect == "sqlite" and value.kind in ("integer", "real"):
        if value.kind == "real":
            raise UnsupportedSQL("a column of texts compared with a number that is not an integer")
        return Const("text", value.text)
    return value


def _as_number(value: Const, kind: str) -> Const:
    """A number in the spelling of its column's kind; comparisons do not distinguish 5 from 5.0."""
    as_float = float(value.text)
    if abs(as_float) >= 2**53:
        return value
    if kind == "real":
        return Const("real", repr(as_float))
    return Const("integer", str(int(as_float))) if as_float == int(as_float) else value


def compared(op: str, left: Term, right: Term, world: SchemaContext) -> Call:
    """A comparison with its literals adapted; "greater than" becomes "less than", reversed."""
    left, right = fitted(left, right, world), fitted(right, left, world)
    if op in ("gt", "ge"):
        op, left, right = ("lt" if op == "gt" else "le"), right, left
    made = _converted(left, right, world) if world.dialect == "sqlite" else None
    if made is None:
        return Call(op, (left, right))
    if op not in ("lt", "le") and made[0] > made[1]:
        made, left, right = made[::-1], right, left
    return Call(":".join((op, *made)), (left, right))


def _converted(left: Term, right: Term, world: SchemaContext) -> tuple[str, ...] | None:
    """What SQLite applies to two values before it compares them, as part of the operator; None if nothing.

    It reads a text as a number when compared with a numeric column, but not with COALESCE of it. So a rule that
    replaces a term by another of the same value must not change how the two are compared.
    """
    if NULL in (left, right):
        return None
    for one, other in ((left, right), (right, left)):
        if world.kind(one) == "folded" and not (
            (isinstance(other, Const) and world.is_stored(one)) or _same_column(one, other, world)
        ):
            raise UnsupportedSQL("a comparison that a collation decides")
    families = world.family(left), world.family(right)
    if families[0] == families[1] != "":
        return None
    for one in (left, right):
        if isinstance(one, Col) and isinstance(world.sources[one.source].query, Combined):
            raise UnsupportedSQL("a comparison of a set operation's column with a value of another type")
    if isinstance(left, Const) or isinstance(right, Const):
        return None
    return world.affinity(left), world.affinity(right)


def _same_column(one: Term, other: Term, world: SchemaContext) -> bool:
    """Whether two terms are one column of one stored table, perhaps of two rows."""
    if not isinstance(one, Col) or not isinstance(other, Col) or one.name != other.name:
        return False
    tables = world.sources[one.source].table, world.sources[other.source].table
    return tables[0] == tables[1] != ""


def linked(sides: tuple[Term, ...], source: int) -> tuple[Col, Term] | None:
    """For the two sides of an equality: the column of a source, and the value that it must equal, which is not of that
    source."""
    for one, other in (sides, sides[::-1]) if sides else ():
        if isinstance(one, Col) and one.source == source and not names({source}, other):
            return one, other
    return None


def equated(term: Term) -> tuple[Term, Term] | None:
    """The two sides of a condition that is an equality, regardless of what the engine applies to the values first."""
    if is_call(term, "is") and isinstance(term.args[0], Call):
        term = term.args[0]
    if isinstance(term, Call) and term.op.partition(":")[0] == "eq":
        return term.args[0], term.args[1]
    return None
