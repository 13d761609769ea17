"""From two query texts to a proof, or to the obstacle."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Literal

from assay.errors import install_command
from assay.model import DatabaseSchema, Proof, Unproved
from assay.sql import is_nondeterministic, same_text
from assay.sql.algebra.lowering.selects import lower_query
from assay.sql.algebra.model import Block, Query
from assay.sql.algebra.normalising import Normaliser
from assay.sql.algebra.stopping import UnsupportedSQL
from assay.sql.algebra.world import SchemaContext
from assay.witness.proof.matching import Matching
from assay.witness.proof.oracle import available, row_oracle

REWRITTEN = "The same tables, conditions, groups and outputs, written differently"


def prove(
    a: str, b: str, schema: DatabaseSchema, *, dialect: str, ordered: bool, max_rows: int = 0
) -> Proof | Unproved:
    """Prove that two queries give the same answer under the verdict's comparison, or say what prevents it. Never
    raises.

    ``a`` is the gold query: rows are compared as bags, columns in any order. ``ordered`` says whether its outermost
    query
    has ORDER BY; rows then have to be in its order, too. Every answer of ``b`` is one that ``a`` allows. With
    ``max_rows``, pairs that no rule decides are checked on all tables of up to that many rows, if the extra ``prove``
    is
    installed.
    """
    try:
        return _proved(a, b, SchemaContext(schema, dialect), ordered=ordered, max_rows=max_rows)
    except (RecursionError, ctypes.ArgumentError):  # the solver's interface turns the first into the second
        return Unproved(reason="expressions nested too deeply")


def _proved(a: str, b: str, world: SchemaContext, *, ordered: bool, max_rows: int) -> Proof | Unproved:
    if is_nondeterministic(a, world.dialect) or is_nondeterministic(b, world.dialect):
        return Unproved(reason="a function with a new value on each call")
    if same_text(a, b, world.dialect):
        return Proof(rules=("same text",), up_to_choice=True)
    if world.dialect == "clickhouse":
        return Unproved(reason="ClickHouse's own rules for aliases, outer joins and aggregates over empty inputs")
    alone = []
    for text, where in _sides(a, b):
        try:
            alone.append(lower_query(text, SchemaContext(world.schema, world.dialect)))
        except UnsupportedSQL as stopped:
            return Unproved(reason=str(stopped), where=where)
    if alone[0] == alone[1]:
        return Proof(rules=("same query in other words",), up_to_choice=True)
    return _compared(a, b, world, ordered=ordered, max_rows=max_rows)


def _sides(a: str, b: str) -> tuple[tuple[str, Literal["first", "second"]], ...]:
    return (a, "first"), (b, "second")


def _compared(a: str, b: str, world: SchemaContext, *, ordered: bool, max_rows: int) -> Proof | Unproved:
    normaliser = Normaliser(world, Matching(world))
    normal: list[Query] = []
    for text, where in _sides(a, b):
        try:
            normal.append(normaliser.root(lower_query(text, world), ordered=ordered))
        except UnsupportedSQL as stopped:
            return Unproved(reason=str(stopped), where=where)
    oracles = (None, row_oracle()) if available() else (None,)
    try:
        for oracle in oracles:
            if Matching(world, oracle=oracle).equal(*normal, ordered=ordered):
                used = (world.used or {REWRITTEN}) | ({"what conditions imply of a row (z3)"} if oracle else set())
                return Proof(rules=tuple(sorted(used)), up_to_choice=world.open_choice)
    except UnsupportedSQL as stopped:
        return Unproved(reason=str(stopped))
    reason = _difference(*normal)
    if not max_rows:
        return Unproved(reason=reason)
    return _bounded(normal[0], normal[1], world, reason, ordered=ordered, max_rows=max_rows)


def _bounded(
    one: Query, other: Query, world: SchemaContext, reason: str, *, ordered: bool, max_rows: int
) -> Proof | Unproved:
    """Check small tables, one row more at a time, and return the strongest result."""
    if not available():
        return Unproved(
            reason=f"{reason}; small tables are checked with z3: {install_command('z3-solver', extra='prove')}"
        )
    if ordered:
        return Unproved(reason=f"{reason}; the check of small tables does not cover order")
    from assay.witness.proof.bounded import equivalent_up_to

    tables = any(source.table for source in world.sources.values())
    decided = 0
    for rows in range(1, max_rows + 1 if tables else 2):
        try:
            found = equivalent_up_to(one, other, world, rows)
        except UnsupportedSQL as stopped:
            return Unproved(reason=f"{reason}; {stopped}")
        if isinstance(found, tuple):
            return Unproved(reason=f"{reason}; the solver found a difference, to be executed", model=found)
        if found is None:
            break
        decided = rows
    if decided and not tables:
        return Proof(rules=("values without tables (z3)",), up_to_choice=world.open_choice)
    if decided:
        return Proof(rules=("small tables (z3)",), up_to_rows=decided, up_to_choice=world.open_choice)
    return Unproved(reason=f"{reason}; the solver gave up")


_MEASURES: tuple[tuple[str, Callable[[Block], object]], ...] = (
    ("a different number of columns", lambda block: len(block.outputs)),
    ("a LIMIT on one side only, or a different one", lambda block: (block.limit, block.offset)),
    ("GROUP BY or aggregates on one side only", lambda block: block.group is None),
    ("DISTINCT on one side only", lambda block: block.distinct),
)


def _difference(one: Query, other: Query) -> str:
    """The first difference of two normal forms."""
    if type(one) is not type(other):
        return "a set operation on one side only"
    if not isinstance(one, Block) or not isinstance(other, Block):
        return "set operations whose parts no rule proves equal"
    for words, measure in _MEASURES:
        if measure(one) != measure(other):
            return words
    tables = [sorted(source.table or "(query)" for source in block.sources) for block in (one, other)]
    if tables[0] != tables[1]:
        return f"different tables: {', '.join(tables[0]) or 'none'} and {', '.join(tables[1]) or 'none'}"
    if len(one.lefts) != len(other.lefts):
        return "an outer join on one side only"
    return "conditions, groups, outputs or order that no rule proves equal"


__all__ = ["prove"]
