"""Conditions as what must be true: NOT is pushed down to the comparisons, so that no NULL remains under a NOT.

Each rule holds in SQL's three-valued logic: *is true* of a whole follows from *is true* and *is false* of its parts.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from assay.sql.algebra.literals import compared
from assay.sql.algebra.model import (
    COMPARED,
    FALSE,
    NULL,
    ONE,
    TRUE,
    ZERO,
    Agg,
    Block,
    Call,
    Col,
    Combined,
    Const,
    Query,
    Rows,
    Sub,
    Term,
    is_call,
)
from assay.sql.algebra.parts import has_aggregate
from assay.sql.algebra.stopping import UnsupportedSQL
from assay.sql.algebra.world import SchemaContext

_OPPOSITE = {"eq": "ne", "ne": "eq", "same": "nsame", "nsame": "same", "isnull": "notnull", "notnull": "isnull"}
_STRICT = COMPARED.union(
    [
        "like",
        "ilike",
        "glob",
        "like:escape",
        "ilike:escape",
        "add",
        "sub",
        "mul",
        "div",
        "mod",
        "neg",
        "concat2",
        "abs",
        "round",
        "lower",
        "upper",
        "length",
        "substring",
        "replace",
    ]
)
"""Operators that give NULL if an argument is NULL."""
_TOTAL = COMPARED.union(["neg", "concat2", "lower", "upper", "length", "abs", "like"])
"""Operators that give NULL only if an argument is NULL."""
BOOLEAN = COMPARED.union(
    [
        "and",
        "or",
        "not",
        "same",
        "nsame",
        "isnull",
        "notnull",
        "in",
        "like",
        "ilike",
        "glob",
        "istrue",
        "isfalse",
    ]
)


def conjunction(terms: Iterable[Term], world: SchemaContext) -> tuple[Term, ...]:
    """The conditions that must be true for all of these to be true, without duplicates and without AND at their top."""
    found: list[Term] = []
    for term in terms:
        held = holds(term, world)
        found += held.args if is_call(held, "and") else (held,)
    kept = tuple(dict.fromkeys(term for term in found if term != TRUE))
    return (FALSE,) if FALSE in kept else kept


def holds(term: Term, world: SchemaContext, *, wanted: bool = True) -> Term:
    """The condition for a term to be true or, if ``wanted`` is False, to be false."""
    if isinstance(term, Const):
        return _constant(term, wanted=wanted)
    if isinstance(term, Sub) and term.kind == "exists":
        return _exists(term.query, world, wanted=wanted)
    if not isinstance(term, Call):
        return Call("is" if wanted else "isnot", (term,))
    if term.op in ("and", "or"):
        return _joined(term.op if wanted else {"and": "or", "or": "and"}[term.op], term.args, world, wanted=wanted)
    if term.op == "not":
        return holds(term.args[0], world, wanted=not wanted)
    if term.op == "in" or term.op.startswith("in "):
        return _in(term, world, wanted=wanted)
    if term.op == "istrue" and wanted:
        return holds(term.args[0], world)
    if term.op == "isfalse" and wanted:
        return holds(term.args[0], world, wanted=False)
    if (found := _of_count(term)) is not None:
        return holds(found, world, wanted=wanted)
    if term.op in COMPARED.union(("same", "nsame")):
        return _strictly(comparison(term.op, *term.args, wanted=wanted), world)
    if term.op in ("isnull", "notnull"):
        op = term.op if wanted else _OPPOSITE[term.op]
        inner = term.args[0]
        if isinstance(inner, Const):
            return TRUE if (inner == NULL) == (op == "isnull") else FALSE
        return Call(op, (inner,))
    if term.op in ("is", "isnot"):
        return term
    return Call("is" if wanted else "isnot", (term,))


def comparison(op: str, left: Term, right: Term, *, wanted: bool = True) -> Term:
    """A comparison, or its opposite. Values are totally ordered, and with NULL neither is true."""
    if op not in ("same", "nsame") and NULL in (left, right):
        return FALSE
    if not wanted and op in ("lt", "le"):
        op, left, right = ("le" if op == "lt" else "lt"), right, left
    elif not wanted:
        op = _OPPOSITE[op]
    if isinstance(left, Const) and isinstance(right, Const):
        decided = between_constants(op, left, right)
        if decided is not None:
            return TRUE if decided else FALSE
    return Call(op, (left, right))


def _strictly(term: Term, world: SchemaContext) -> Term:
    """At least 2 is more than 1. Side condition: the value is an integer: a count, or an integer column if the engine
    enforces the type."""
    if not is_call(term, "le"):
        return term
    low, high = term.args
    if isinstance(low, Const) and low.kind == "integer" and _is_whole(high, world):
        return Call("lt", (Const("integer", str(int(low.text) - 1)), high))
    if isinstance(high, Const) and high.kind == "integer" and _is_whole(low, world):
        return Call("lt", (low, Const("integer", str(int(high.text) + 1))))
    return term


def _is_whole(term: Term, world: SchemaContext) -> bool:
    if isinstance(term, Agg) and term.op == "count":
        return True
    return world.dialect != "sqlite" and world.is_stored(term) and world.kind(term) == "integer"


def between_constants(op: str, left: Const, right: Const) -> bool | None:
    """The truth of a comparison of two numbers or two equal texts; None if only the engine can decide."""
    numbers = ("integer", "real")
    if op in ("same", "nsame"):
        return None
    if left.kind in numbers and right.kind in numbers:
        one, other = float(left.text), float(right.text)
        if max(abs(one), abs(other)) >= 2**53:
            return None
        return {"eq": one == other, "ne": one != other, "lt": one < other, "le": one <= other}[op]
    if left == right and left.kind != "null":
        return op in ("eq", "le")
    if (
        left.kind == right.kind == "text"
        and op in ("eq", "ne")
        and (left.text + right.text).isascii()  # a collation may treat accented letters as equal to others
        and left.text.casefold().strip() != right.text.casefold().strip()
    ):
        return op == "ne"
    return None


def _constant(value: Const, *, wanted: bool) -> Term:
    if value.kind == "null":
        return FALSE
    if value.kind == "text":
        return Call("is" if wanted else "isnot", (value,))
    return TRUE if (float(value.text) != 0) == wanted else FALSE


def _joined(op: str, parts: tuple[Term, ...], world: SchemaContext, *, wanted: bool) -> Term:
    absorbing, neutral = (FALSE, TRUE) if op == "and" else (TRUE, FALSE)
    found: list[Term] = []
    for part in parts:
        held = holds(part, world, wanted=wanted)
        found += held.args if isinstance(held, Call) and held.op == op else (held,)
    kept = tuple(dict.fromkeys(term for term in found if term != neutral))
    if absorbing in kept:
        return absorbing
    return neutral if not kept else kept[0] if len(kept) == 1 else Call(op, kept)


def _of_count(term: Call) -> Term | None:
    """COUNT above zero is EXISTS, COUNT of zero is NOT EXISTS: it is never NULL."""
    if term.op not in COMPARED or len(term.args) != 2:
        return None
    first = isinstance(term.args[0], Const)
    number, counted = term.args if first else reversed(term.args)
    if not isinstance(number, Const) or number.kind != "integer" or not isinstance(counted, Sub):
        return None
    block = counted.query
    if counted.kind != "scalar" or not isinstance(block, Block) or block.group != () or block.having:
        return None
    count = block.outputs[0]
    if not isinstance(count, Agg) or count.op != "count" or block.cuts or len(block.outputs) != 1:
        return None
    present = tuple(Call("notnull", (arg,)) for arg in count.args)
    rows = replace(block, group=None, where=(*block.where, *present))
    counts = (ZERO, ONE, Const("integer", "2"))  # what is true of these is true of all above
    truths = [between_constants(term.op, *((number, one) if first else (one, number))) for one in counts]
    if truths == [False, True, True]:
        return rows.exists
    return Call("not", (rows.exists,)) if truths == [True, False, False] else None


def _in(term: Call, world: SchemaContext, *, wanted: bool) -> Term:
    """IN is EXISTS. NOT IN is NOT EXISTS of a row that is equal or whose comparison is NULL. Likewise ANY with other
    operators."""
    *values, rows = term.args
    op = term.op.removeprefix("in").strip() or "eq"
    assert isinstance(rows, Sub)
    if world.width(rows.query) != len(values):
        raise UnsupportedSQL("IN over a query with a different number of columns")
    if any(has_aggregate(value) for value in values):
        raise UnsupportedSQL("IN of an aggregate")  # within the subquery, it would become the subquery's own aggregate
    source = world.source(query=rows.query)
    conditions: list[Term] = []
    for place, value in enumerate(values):
        equal = compared(op, value, Col(source.id, str(place)), world)
        nulls = tuple(Call("isnull", (side,)) for side in equal.args if not (isinstance(side, Const) and side != NULL))
        conditions.append(equal if wanted else Call("or", (equal, *nulls)))
    block = Block(sources=(source,), where=tuple(conditions), outputs=(ONE,))
    return _exists(block, world, wanted=wanted)


def _exists(query: Query, world: SchemaContext, *, wanted: bool) -> Term:
    """EXISTS only asks for a row: its columns, order and duplicates do not matter."""
    found: Term
    if (
        isinstance(query, Block) and query.group == () and not query.having and query.offset == 0 and query.limit != 0
    ) or isinstance(query, Rows):
        found = TRUE
    else:
        found = Sub("exists", bare_existence(query, world))
    if found == TRUE:
        return TRUE if wanted else FALSE
    return found if wanted else Call("not", (found,))


def bare_existence(query: Query, world: SchemaContext) -> Block:
    """A block that has a row if and only if the query has one."""
    if not isinstance(query, Block) or query.offset or query.limit == 0:
        return Block(sources=(world.source(query=query),))
    group = query.group if query.having or query.group == () else None
    return replace(query, outputs=(ONE,), distinct=False, order=(), limit=None, group=group)


def rejected(term: Term) -> frozenset[Term]:
    """The terms that cannot be NULL if a condition is true."""
    if not isinstance(term, Call):
        return frozenset()
    if term.op == "and":
        return frozenset().union(*(rejected(part) for part in term.args))
    if term.op == "or":
        first, *rest = (rejected(part) for part in term.args)
        return first.intersection(*rest)
    if term.op in COMPARED:
        return frozenset().union(*(_strict_parts(part) for part in term.args))
    if term.op in ("notnull", "is", "isnot"):
        return _strict_parts(term.args[0])
    return frozenset()


def _strict_parts(term: Term) -> frozenset[Term]:
    """The parts whose NULL would make the term NULL, including the term itself."""
    inner: frozenset[Term] = frozenset({term})
    if isinstance(term, Call) and (term.op in _STRICT or term.op.partition(":")[0] in {"cast", *COMPARED}):
        return inner.union(*(_strict_parts(arg) for arg in term.args))
    return inner


def is_truth(term: Term) -> bool:
    """Whether a term's value can only be true, false or NULL."""
    if isinstance(term, Call):
        return term.op in BOOLEAN or term.op in ("is", "isnot") or term.op.partition(":")[0] in COMPARED
    return term in (TRUE, FALSE) or (isinstance(term, Sub) and term.kind == "exists")


def is_total(term: Call, world: SchemaContext) -> bool:
    """Whether the operator's value is not NULL if no argument is: no division by zero, no failed cast.

    In SQLite, infinity minus infinity and zero times infinity are NULL.
    """
    if term.op in ("add", "sub", "mul"):
        finite = [isinstance(arg, Const) and "e" not in arg.text and "inf" not in arg.text for arg in term.args]
        safe = any(arg != ZERO for arg, known in zip(term.args, finite, strict=True) if known)
        return world.dialect != "sqlite" or safe or all(world.kind(arg) == "integer" for arg in term.args)
    return term.op in _TOTAL


__all__ = ["Agg", "Combined", "conjunction", "holds", "rejected"]
