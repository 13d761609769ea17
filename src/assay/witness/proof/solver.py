"""Terms and conditions for the solver z3: three-valued logic as pairs of *is NULL* and a value.

Numbers and texts are points on the real line: only their order matters, and texts keep theirs if the dialect
compares them by code points. Anything but a comparison, sum or choice is an uninterpreted function. So whatever
the solver finds impossible is impossible; what it finds possible may not be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import z3
from msgspec import Struct, field

from assay.sql.algebra.conditions import holds, is_truth
from assay.sql.algebra.model import COMPARED, Agg, Call, Col, Const, Sub, Term, Window, is_call, parts_of, walk
from assay.sql.algebra.parts import choices
from assay.sql.algebra.stopping import UnsupportedSQL
from assay.sql.algebra.world import NUMBERS, SchemaContext

MOST_MEMORY_MB = 1024
YES, NO = z3.BoolVal(val=True), z3.BoolVal(val=False)
_BEYOND = 2**63
_DECIDED = frozenset({"and", "or", "not", *COMPARED, "same", "nsame", "isnull", "notnull", "istrue", "isfalse"})
"""Conditions that the solver gets as such when they are values."""
_SIGNLESS = frozenset({"add", "sub", "mul", "neg", "abs", "round", "floor", "ceil", "mod"})
"""Functions that ignore the sign of zero."""
Value = tuple[Any, Any]
"""Whether it is NULL, and its value otherwise."""


NOTHING: Value = (YES, z3.RealVal(0))
"""NULL."""


def as_number(condition: Any) -> Any:
    """A condition as a number."""
    return z3.If(condition, z3.RealVal(1), z3.RealVal(0))


def choice(condition: Any, value: Value, other: Value) -> Value:
    """One of two values."""
    return z3.If(condition, value[0], other[0]), z3.If(condition, value[1], other[1])


class Encoder(Struct, frozen=True):
    """Encodes terms; ``column`` gives a column's value, ``other`` that of an aggregate or a subquery."""

    world: SchemaContext
    texts: Sequence[str]
    column: Callable[[Col], Value]
    other: Callable[[Term], Value]
    exists: Callable[[Sub], Any]
    _known: dict[int, tuple[Term, Value]] = field(default_factory=dict)
    """Values by the terms' identities: nested terms are visited several times, twice as often per level."""

    def value(self, term: Term) -> Value:
        """A term's value."""
        known = self._known.get(id(term))
        if known is None:
            known = self._known[id(term)] = term, self._value(term)
        return known[1]

    def _value(self, term: Term) -> Value:
        if isinstance(term, Const):
            return self._constant(term)
        if isinstance(term, Col):
            return self.column(term)
        if isinstance(term, Agg | Sub | Window):
            return self.other(term)
        if _is_whole(term, self.world):
            return self._sum(term)
        if is_truth(term) and term.op in _DECIDED:
            # A condition as a value: 1, 0, or NULL if it is neither true nor false.
            if term.op in ("istrue", "isfalse"):  # otherwise it is false or NULL, for which there is no term
                return NO, as_number(self.truth(holds(term.args[0], self.world, wanted=term.op == "istrue")))
            true, false = (self.truth(holds(term, self.world, wanted=wanted)) for wanted in (True, False))
            return z3.Not(z3.Or(true, false)), as_number(true)
        if term.op in ("case", "coalesce"):
            return self._chosen(term)
        if term.op == "nullif":
            return choice(self.truth(Call("eq", term.args)), NOTHING, self.value(term.args[0]))
        return self._unknown(term)

    def truth(self, term: Term) -> Any:
        """Whether a condition is true."""
        if isinstance(term, Const):
            return z3.BoolVal(term.kind not in ("null", "text") and float(term.text) != 0)
        if isinstance(term, Sub) and term.kind == "exists":
            return self.exists(term)
        if not isinstance(term, Call):
            return self._truth_of_value(term, wanted=True)
        if term.op in ("and", "or"):
            parts = [self.truth(arg) for arg in term.args]
            return z3.And(*parts) if term.op == "and" else z3.Or(*parts)
        if term.op == "not" and isinstance(term.args[0], Sub):
            return z3.Not(self.truth(term.args[0]))
        if term.op in ("isnull", "notnull"):
            null = self.value(term.args[0])[0]
            return null if term.op == "isnull" else z3.Not(null)
        if term.op in COMPARED.union(("same", "nsame")):
            return self._comparison(term)
        of_value = term.op in ("is", "isnot", "not")
        return self._truth_of_value(term.args[0] if of_value else term, wanted=term.op not in ("isnot", "not"))

    def _truth_of_value(self, term: Term, *, wanted: bool) -> Any:
        """Whether a value counts as true, or as false: a number other than zero; for a text this is unknown."""
        null, value = self.value(term)
        if not _is_number(term, self.world):
            value = self._unknown(Call("truth", (term,)))[1]
        return z3.And(z3.Not(null), value != 0 if wanted else value == 0)

    def _comparison(self, term: Call) -> Any:
        if not self._comparable(*term.args):
            null, value = self._unknown(term)
            return z3.And(z3.Not(null), value != 0)
        (first_null, first), (second_null, second) = (self.value(arg) for arg in term.args)
        present = z3.And(z3.Not(first_null), z3.Not(second_null))
        if term.op in ("same", "nsame"):
            same = z3.Or(z3.And(first_null, second_null), z3.And(present, first == second))
            return same if term.op == "same" else z3.Not(same)
        compared = {"eq": first == second, "ne": first != second, "lt": first < second, "le": first <= second}[term.op]
        return z3.And(present, compared)

    def _comparable(self, one: Term, other: Term) -> bool:
        first, second = family(one, self.world), family(other, self.world)
        ordered = self.world.dialect in ("sqlite", "duckdb") or first != "text"
        return (first == second and bool(first) and ordered) or "null" in (first, second)

    def _constant(self, term: Const) -> Value:
        if term.kind == "null":
            return NOTHING
        if term.kind == "text":
            return NO, z3.RealVal(text_point(self.texts.index(term.text)))
        return NO, z3.RealVal(term.text if "e" not in term.text else float(term.text))

    def _sum(self, term: Call) -> Value:
        values = [self.value(arg) for arg in term.args]
        null = z3.Or(*(one for one, _ in values))
        if term.op == "neg":
            return null, -values[0][1]
        total = values[0][1] + values[1][1] if term.op == "add" else values[0][1] - values[1][1]
        if self.world.dialect != "sqlite":
            return null, total
        # Beyond 64 bits the sum of integers becomes a floating-point number: a large one, and no more is known.
        rounded = self._unknown(Call(f"beyond {term.op}", term.args))[1]
        large = z3.If(rounded >= _BEYOND, rounded, _BEYOND)
        small = z3.If(rounded <= -_BEYOND, rounded, -_BEYOND)
        return null, z3.If(z3.And(total < _BEYOND, total >= -_BEYOND), total, z3.If(total > 0, large, small))

    def _chosen(self, term: Call) -> Value:
        """CASE, or COALESCE: the first result whose condition is true."""
        results = choices(term)
        kinds = {family(result, self.world) for result in results} - {"null"}
        if len(kinds) > 1 or "" in kinds:
            return self._unknown(term)
        asked = term.args[:-1:2] if term.op == "case" else tuple(Call("notnull", (arg,)) for arg in term.args[:-1])
        found = self.value(results[-1])
        for condition, result in reversed(list(zip(asked, results[:-1], strict=True))):
            found = choice(self.truth(holds(condition, self.world)), self.value(result), found)
        return found

    def _unknown(self, term: Term) -> Value:
        """An uninterpreted function of its arguments."""
        if not isinstance(term, Call):
            raise UnsupportedSQL("a term without a form for the solver")
        values = [self.value(arg) for arg in term.args]
        flat = [z3.If(null, z3.RealVal(0), value) for null, value in values]
        nulls = [as_number(null) for null, _ in values]
        sorts = [z3.RealSort()] * (len(flat) + len(nulls))
        name = f"{term.op} {self._types(term)}"
        value = z3.Function(f"value {name}", *sorts, z3.RealSort())(*flat, *nulls)
        null = z3.Function(f"null {name}", *sorts, z3.BoolSort())(*flat, *nulls)
        return null, value

    def _types(self, term: Call) -> list[str]:
        """What a function may distinguish in addition to its arguments' values: 5 / 2 is not 5.0 / 2."""
        signless = term.op in _SIGNLESS or (term.op == "div" and isinstance(term.args[1], Const))
        found = [value_type(arg, self.world) for arg in term.args]
        return [
            repr(arg) if one == "real" and not signless and not isinstance(arg, Const) else one
            for arg, one in zip(term.args, found, strict=True)
        ]


def value_type(term: Term, world: SchemaContext) -> str:
    """A name that terms share only if their equal values have the same type."""
    if isinstance(term, Const):
        return term.kind
    others = world.alternatives(term)
    if others:
        chosen = {value_type(other, world) for other in others} - {"null"}
        return chosen.pop() if len(chosen) == 1 else repr(term)
    kind = world.kind(term)
    if isinstance(term, Col):
        source = world.sources[term.source]
        return kind if kind not in ("any", "numeric", "folded") else f"{source.table or source.id}.{term.name}"
    if not isinstance(term, Call | Agg):
        return repr(term)
    if kind == "boolean" or is_truth(term):
        return "integer" if world.dialect == "sqlite" else "boolean"
    if kind in ("integer", "real", "text"):
        return kind
    return f"{term.op}({', '.join(value_type(arg, world) for arg in term.args)})"


def family(term: Term, world: SchemaContext) -> str:
    """Whether a term is a number or a text; empty if unknown."""
    if isinstance(term, Call | Agg) and term.op in ("add", "sub", "neg", "sum", "avg"):
        return "number" if all(family(arg, world) == "number" for arg in term.args) else ""
    others = world.alternatives(term)
    if others:
        found = {family(other, world) for other in others} - {"null"}
        return found.pop() if len(found) == 1 else ""
    kind = world.kind(term)
    if kind == "boolean" or is_truth(term):
        return "number" if world.dialect == "sqlite" else "boolean"
    return "number" if kind in NUMBERS else kind if kind in ("text", "null") else ""


def _is_whole(term: Term, world: SchemaContext) -> bool:
    """Whether a term is a sum of integers: for other numbers, an engine's sum differs from the real one."""
    if not is_call(term, "add", "sub", "neg"):
        return False
    nested = world.dialect != "sqlite"  # in SQLite part of it may no longer be an integer
    return all(
        (nested and _is_whole(arg, world)) if isinstance(arg, Call) else world.kind(arg) == "integer"
        for arg in term.args
    )


def _is_number(term: Term, world: SchemaContext) -> bool:
    """Whether a term's values are numbers, or true and false. A NUMERIC column in SQLite may hold a date's text."""
    if is_truth(term) or (isinstance(term, Const) and term.kind in ("integer", "real", "boolean", "null")):
        return True
    mixed = any(isinstance(part, Col) and world.kind(part) == "numeric" for part in parts_of(term))
    return not mixed and (world.family(term) == "number" or world.kind(term) == "boolean")


def text_point(place: int) -> str:
    """The point on the line for a text literal: never that of a literal number."""
    return f"{7000 * (1 + place) + 1}/7"


def texts_of(*nodes: Struct) -> list[str]:
    """The text literals in terms and queries, in the order of their code points."""
    texts = {part.text for node in nodes for part in walk(node) if isinstance(part, Const) and part.kind == "text"}
    return sorted(texts)


def solver(*, steps: int, timeout_ms: int) -> Any:
    """A solver with a fixed seed. It stops after the same steps on every machine; the time limit is a last resort."""
    z3.set_param("memory_max_size", MOST_MEMORY_MB)
    made = z3.Solver()
    made.set("rlimit", steps)
    made.set("timeout", timeout_ms)
    made.set("random_seed", 0)
    return made
