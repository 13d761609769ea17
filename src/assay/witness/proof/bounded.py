"""Check two queries on all databases of a few rows per table at once: symbolic tables, given to the solver.

Each table has N rows that may be present or not, with cells that may be NULL; the declared keys, NOT NULL and foreign
keys are conditions on them. A query becomes symbolic rows, each with the condition under which it is present. Two
queries are equivalent up to N rows per table if no values make the bags of rows differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import z3
from msgspec import Struct

from assay.sql.algebra.conditions import conjunction
from assay.sql.algebra.model import (
    NULL,
    Agg,
    Block,
    Call,
    Col,
    Combined,
    FullJoin,
    LeftJoin,
    Query,
    Rows,
    Source,
    Sub,
    Term,
)
from assay.sql.algebra.stopping import UnsupportedSQL
from assay.sql.algebra.world import SchemaContext
from assay.witness.proof.solver import NO, NOTHING, YES, Encoder, Value, solver, text_point, texts_of
from assay.witness.proof.symbols import Row, Tables, aggregated, same

MOST_JOINED = 70
"""The maximum number of joined symbolic rows per query."""
MOST_SOLVER_STEPS = 6_000_000
"""For each number of rows; the orders of columns that are tried share it."""
TIMEOUT_MS = 10_000
Env = Mapping[Term, Value]


class Joined(Struct, frozen=True):
    """A combination of rows of the sources: when it is present, and its columns."""

    there: Any
    columns: Env


class Evaluator:
    """Evaluates queries over symbolic tables."""

    def __init__(self, tables: Tables) -> None:
        self.tables, self.world = tables, tables.world

    def rows(self, query: Query, outer: Env) -> list[Row]:
        """The rows of a query; one may be present several times."""
        if isinstance(query, Rows):
            encoder = self._encoder(outer, None)
            return [Row(YES, tuple(encoder.value(cell) for cell in row)) for row in query.rows]
        if isinstance(query, Combined):
            return self._combined(query, outer)
        if isinstance(query, FullJoin):
            return self._full(query, outer)
        return self._block(query, outer)

    def _combined(self, query: Combined, outer: Env) -> list[Row]:
        parts = [self.rows(part, outer) for part in query.parts]
        if query.op == "union":
            everything = [row for part in parts for row in part]
            return everything if query.all else _once(everything)
        if query.all:
            raise UnsupportedSQL(f"{query.op.upper()} ALL")
        kept = parts[0]
        for part in parts[1:]:
            found = [(row, z3.Or(*(z3.And(one.there, _same_rows(row, one)) for one in part))) for row in kept]
            wanted = query.op == "intersect"
            kept = [Row(z3.And(row.there, has if wanted else z3.Not(has)), row.cells) for row, has in found]
        return _once(kept)

    def _full(self, query: FullJoin, outer: Env) -> list[Row]:
        left, right = self._source(query.left, outer), self._source(query.right, outer)
        missing = dict.fromkeys(self.world.cols(query.left), NOTHING)
        found, pairs = self._outer_join(left, right, query.on, self.world.cols(query.right), outer)
        for index, other in enumerate(right):
            found.append(_alone(other, [row[index] for row in pairs], missing))
        return [Row(row.there, tuple(row.columns[col] for col in self.world.both(query))) for row in found]

    def _outer_join(
        self, rows: list[Joined], others: list[Joined], on: tuple[Term, ...], missing: Sequence[Term], outer: Env
    ) -> tuple[list[Joined], list[list[Joined]]]:
        """The rows of a left join, and its pairs by the left row; ``missing`` are the other side's columns."""
        found: list[Joined] = []
        pairs: list[list[Joined]] = []
        for row in rows:
            pairs.append([])
            for other in others:
                columns = {**row.columns, **other.columns}
                there = self._all(on, {**outer, **columns}, (row.there, other.there))
                pairs[-1].append(Joined(there, columns))
            found += [*pairs[-1], _alone(row, pairs[-1], dict.fromkeys(missing, NOTHING))]
        return found, pairs

    def _source(self, source: Source, outer: Env) -> list[Joined]:
        rows = self.tables.table(source.table) if source.query is None else self.rows(source.query, outer)
        columns = self.world.cols(source)
        return [Joined(row.there, dict(zip(columns, row.cells, strict=True))) for row in rows]

    def _joined(self, sources: tuple[Source, ...], outer: Env) -> list[Joined]:
        found = [self._source(source, outer) for source in sources]
        size = 1
        for one in found:
            size *= len(one)
            if size > MOST_JOINED:
                raise UnsupportedSQL(f"joins of more than {MOST_JOINED} symbolic rows")
        return [
            Joined(
                z3.And(*(row.there for row in rows)), {col: cell for row in rows for col, cell in row.columns.items()}
            )
            for rows in product(*found)
        ]

    def _with_lefts(self, rows: list[Joined], lefts: tuple[LeftJoin, ...], outer: Env) -> list[Joined]:
        for left in lefts:
            if left.lefts:
                raise UnsupportedSQL("an outer join inside an outer join")
            others = self._joined(left.sources, outer)
            missing = [col for source in left.sources for col in self.world.cols(source)]
            rows, _ = self._outer_join(rows, others, left.on, missing, outer)
            if len(rows) > MOST_JOINED:
                raise UnsupportedSQL(f"joins of more than {MOST_JOINED} symbolic rows")
        return rows

    def _all(self, terms: Sequence[Term], env: Env, given: Sequence[Any] = ()) -> Any:
        encoder = self._encoder(env, None)
        return z3.And(*given, *(encoder.truth(term) for term in conjunction(terms, self.world)))

    def _block(self, block: Block, outer: Env) -> list[Row]:
        if block.cuts or block.windowed:
            raise UnsupportedSQL("LIMIT or a window in the bounded check")
        rows = self._with_lefts(self._joined(block.sources, outer), block.lefts, outer)
        rows = [Joined(self._all(block.where, {**outer, **row.columns}, (row.there,)), row.columns) for row in rows]
        if block.group is None:
            found = []
            for row in rows:
                encoder = self._encoder({**outer, **row.columns}, None)
                found.append(Row(row.there, tuple(encoder.value(term) for term in block.outputs)))
        else:
            found = list(self._groups(block, rows, outer))
        return _once(found) if block.distinct else found

    def _groups(self, block: Block, rows: list[Joined], outer: Env) -> Iterator[Row]:
        if block.group == ():
            yield self._group(block, rows, [row.there for row in rows], outer, YES)
            return
        keys = []
        for row in rows:
            encoder = self._encoder({**outer, **row.columns}, None)
            keys.append([encoder.value(term) for term in block.group or ()])
        for index, row in enumerate(rows):
            equal = [z3.And(*(same(a, b) for a, b in zip(keys[index], key, strict=True))) for key in keys]
            first = z3.And(row.there, *(z3.Not(z3.And(rows[one].there, equal[one])) for one in range(index)))
            members = [z3.And(other.there, equal[one]) for one, other in enumerate(rows)]
            yield self._group(block, rows, members, {**outer, **row.columns}, first)

    def _group(self, block: Block, rows: list[Joined], members: list[Any], env: Env, there: Any) -> Row:
        base = dict(env)

        def aggregate(agg: Agg) -> Value:
            values = []
            for row, member in zip(rows, members, strict=True):
                encoder = self._encoder({**base, **row.columns}, None)
                # Refuse sums of possible texts, and anything that a collation decides.
                kinds = [self.world.kind(arg) for arg in agg.args]
                if agg.op in ("sum", "avg") and any(
                    self.world.family(arg) != "number" or kind == "numeric"
                    for arg, kind in zip(agg.args, kinds, strict=True)
                ):
                    raise UnsupportedSQL(f"{agg.op.upper()} of values that may not be numbers in the bounded check")
                if "folded" in kinds and (agg.distinct or agg.op in ("min", "max")):
                    raise UnsupportedSQL("an aggregate that a collation decides")
                values.append((member, encoder.value(agg.args[0]) if agg.args else (NO, z3.RealVal(1))))
            return aggregated(agg, values)

        encoder = self._encoder(env, aggregate)
        condition = z3.And(there, *(encoder.truth(term) for term in conjunction(block.having, self.world)))
        return Row(condition, tuple(encoder.value(term) for term in block.outputs))

    def _encoder(self, env: Env, aggregate: Any) -> Encoder:
        def column(col: Col) -> Value:
            if col not in env:
                raise UnsupportedSQL("a column that the bounded check does not know")
            return env[col]

        def other(term: Term) -> Value:
            if isinstance(term, Agg) and aggregate is not None:
                return aggregate(term)  # type: ignore[no-any-return]
            if isinstance(term, Sub) and term.kind == "scalar":
                single = isinstance(term.query, Block) and term.query.group == () and not term.query.having
                rows = self.rows(term.query, env)
                if single and len(rows) == 1:
                    return rows[0].cells[0]
            raise UnsupportedSQL("a subquery as a value that may have several rows")

        def exists(term: Sub) -> Any:
            return z3.Or(*(row.there for row in self.rows(term.query, env)))

        return Encoder(self.world, self.tables.texts, column, other, exists)


def _alone(row: Joined, pairs: list[Joined], missing: Env) -> Joined:
    """A row without a match: these are the pairs that it might be in."""
    return Joined(z3.And(row.there, *(z3.Not(pair.there) for pair in pairs)), {**row.columns, **missing})


def _same_rows(one: Row, other: Row) -> Any:
    return z3.And(*(same(a, b) for a, b in zip(one.cells, other.cells, strict=True)))


def _once(rows: list[Row]) -> list[Row]:
    """Each row only if no equal one is present before it."""
    if len(rows) > MOST_JOINED:
        raise UnsupportedSQL(f"more than {MOST_JOINED} symbolic rows without duplicates")
    return [
        Row(z3.And(row.there, *(z3.Not(z3.And(one.there, _same_rows(row, one))) for one in rows[:index])), row.cells)
        for index, row in enumerate(rows)
    ]


Model = tuple[tuple[str, tuple[tuple[object, ...], ...]], ...]


def equivalent_up_to(one: Query, other: Query, world: SchemaContext, rows: int) -> bool | Model | None:
    """Whether two queries give the same bag of rows on all tables of ``rows`` rows, with one column order for all.

    Returns a model of tables on which they seem to differ, if the solver finds one: to be executed before it is
    trusted.
    None if it gives up. Raises NotCovered for anything without a symbolic form.
    """
    if world.width(one) != world.width(other):
        return None
    # Refuse outputs that may be numbers or texts: no symbol stands for both.
    kinds = {world.output_kind(query, index) for query in (one, other) for index in range(world.width(query))}
    if kinds & {"folded", "text"} and world.dialect not in ("sqlite", "duckdb"):
        raise UnsupportedSQL("texts under a collation")
    tables = Tables(world, rows, texts_of(one, other))
    evaluator = Evaluator(tables)
    first, second = evaluator.rows(one, {}), evaluator.rows(other, {})
    if len(first) + len(second) > 3 * MOST_JOINED:
        raise UnsupportedSQL("too many symbolic rows to compare")
    count = world.width(one)
    orders = list(permutations(range(count))) if count <= 3 else [tuple(range(count))]
    model: Model | None = None
    for order in orders:
        turned = [Row(row.there, tuple(row.cells[index] for index in order)) for row in second]
        asked = solver(steps=MOST_SOLVER_STEPS // len(orders), timeout_ms=TIMEOUT_MS // len(orders))
        asked.add(*tables.conditions, z3.Or(*_differences(first, turned)))
        answer = asked.check()
        if answer == z3.unsat:
            return True
        if answer != z3.sat:
            return None
        model = model or _model(asked.model(), tables)
    return model


def _differences(first: list[Row], second: list[Row]) -> Iterator[Any]:
    for row in (*first, *second):
        counts = [
            z3.Sum(
                *(z3.If(z3.And(one.there, _same_rows(row, one)), z3.IntVal(1), z3.IntVal(0)) for one in side),
                z3.IntVal(0),
            )
            for side in (first, second)
        ]
        yield z3.And(row.there, counts[0] != counts[1])


def _model(model: Any, tables: Tables) -> Model:
    """The solver's tables as rows of values."""
    found = []
    for name, rows in tables.made.items():
        kinds = list(tables.world.tables[name].kinds.values())
        there = [row for row in rows if z3.is_true(model.eval(row.there, model_completion=True))]
        cells = tuple(
            tuple(_cell(model, cell, kind, tables) for cell, kind in zip(row.cells, kinds, strict=True))
            for row in there
        )
        found.append((name, cells))
    return tuple(found)


def _cell(model: Any, cell: Value, kind: str, tables: Tables) -> object:
    if z3.is_true(model.eval(cell[0], model_completion=True)):
        return None
    value = model.eval(cell[1], model_completion=True)
    number = float(value.as_fraction()) if z3.is_rational_value(value) else 0.0
    if kind == "text":
        index = int(number // 1000) - 1
        inside = 0 <= index < len(tables.texts)
        exact = inside and value.as_fraction() == Fraction(text_point(index))
        before = tables.texts[index] if 0 <= index < len(tables.texts) else ""
        return before if exact else f"{before} {number:g}"
    return int(number) if number == int(number) else number


__all__ = ["NULL", "Call", "Model", "equivalent_up_to"]
