"""The way from two texts to a proof, or to what stopped it."""

from __future__ import annotations

from dataclasses import replace

from assay.model import DatabaseSchema
from assay.model.proof import Proof, Unproved
from assay.sql import is_nondeterministic, same_text
from assay.sql.normal.algebra import Block, Query
from assay.sql.normal.normalising import Normaliser
from assay.sql.normal.reading import MOST_CHARACTERS, read_query
from assay.sql.normal.stopping import NotCovered
from assay.sql.normal.world import World
from assay.witness.proof.matching import Matching
from assay.witness.proof.oracle import available, row_oracle


def prove(a: str, b: str, schema: DatabaseSchema, *, dialect: str, ordered: bool) -> Proof | Unproved:
    """Prove that two queries give the same answer under the verdict's comparison, or say what stops it. Never raises.

    ``a`` is gold: rows are compared as bags, columns in any order, and with ``ordered``, which says whether gold's
    outermost query has ORDER BY, in gold's order too. Every answer of ``b`` is one that ``a`` allows.
    """
    if max(len(a), len(b)) > MOST_CHARACTERS:
        return Unproved(reason=f"a text of {max(len(a), len(b)):,} characters; the limit is {MOST_CHARACTERS:,}")
    try:
        return _proved(a, b, schema, dialect=dialect, ordered=ordered)
    except RecursionError:
        return Unproved(reason="expressions nested too deeply")


def _proved(a: str, b: str, schema: DatabaseSchema, *, dialect: str, ordered: bool) -> Proof | Unproved:
    if is_nondeterministic(a, dialect) or is_nondeterministic(b, dialect):
        return Unproved(reason="a function that gives another value each time")
    if same_text(a, b, dialect):
        return Proof(rules=("same text",), up_to_choice=True)
    queries, worlds = [], []
    for text, where in ((a, "first"), (b, "second")):
        worlds.append(World(schema, dialect))
        try:
            queries.append(read_query(text, worlds[-1]))
        except NotCovered as stopped:
            return Unproved(reason=str(stopped), where=where)  # type: ignore[arg-type]
    if queries[0] == queries[1]:
        return Proof(rules=("same query in other words",), up_to_choice=True)
    return _compared(a, b, World(schema, dialect), ordered=ordered)


def _compared(a: str, b: str, world: World, *, ordered: bool) -> Proof | Unproved:
    matching = Matching(world, oracle=row_oracle() if available() else None)
    normaliser = Normaliser(world, matching)
    normal: list[Query] = []
    for text, where in ((a, "first"), (b, "second")):
        try:
            query = read_query(text, world)
            normal.append(normaliser.root(query, ordered=ordered))
        except NotCovered as stopped:
            return Unproved(reason=str(stopped), where=where)  # type: ignore[arg-type]
    try:
        if matching.equal(normal[0], normal[1], ordered=ordered):
            return Proof(rules=tuple(sorted(world.used)), up_to_choice=world.open_choice)
    except NotCovered as stopped:
        return Unproved(reason=str(stopped))
    return Unproved(reason=_difference(normal[0], normal[1]))


def _difference(one: Query, other: Query) -> str:
    """What of two normal forms differs first."""
    if type(one) is not type(other):
        return "a set operation on one side only"
    if not isinstance(one, Block) or not isinstance(other, Block):
        return "set operations whose parts no rule makes equal"
    if len(one.outputs) != len(other.outputs):
        return "another number of columns"
    if (one.limit, one.offset) != (other.limit, other.offset):
        return "a LIMIT on one side only, or another one"
    if (one.group is None) != (other.group is None):
        return "GROUP BY or aggregates on one side only"
    if one.distinct != other.distinct:
        return "DISTINCT on one side only"
    tables = [sorted(source.table or "(query)" for source in block.sources) for block in (one, other)]
    if tables[0] != tables[1]:
        return f"other tables: {', '.join(tables[0]) or 'none'} and {', '.join(tables[1]) or 'none'}"
    if len(one.lefts) != len(other.lefts):
        return "an outer join on one side only"
    return "conditions, groups, outputs or order that no rule makes equal"


__all__ = ["prove", "replace"]
