"""Lower a bound query into blocks. A construct that no rule covers stops it, by name."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp
from sqlglot.errors import SqlglotError

from assay.model import TableSchema
from assay.sql import query as bound
from assay.sql.algebra.lowering.limits import check_limits, check_signs
from assay.sql.algebra.lowering.sources import Level, LowersFrom, only
from assay.sql.algebra.lowering.windows import grouping_sets, key_of, of_set, qualified
from assay.sql.algebra.model import Agg, Block, Col, Combined, Const, Key, Query, Rows, Sub, Term, children
from assay.sql.algebra.parts import columns_of, has_aggregate
from assay.sql.algebra.stopping import UnsupportedSQL
from assay.sql.algebra.world import SchemaContext
from assay.sql.reader import first_statement
from assay.sql.schema import names_of
from assay.sql.select import Meaning

MOST_SOURCES = 40
_ALIASES_ANYWHERE = frozenset({"sqlite", "duckdb", "mysql"})
"""Dialects in which an output may be named by its alias outside of ORDER BY, if no column has the name."""
_COLUMNS_FIRST = frozenset({"sqlite", "postgres"})
"""Dialects in which a name of both a column and an alias is the column in GROUP BY, HAVING and expressions of ORDER BY.
"""


def lower_query(text: str, world: SchemaContext) -> Query:
    """The meaning of a query. Raises NotCovered with the construct that stopped it."""
    found = bound.read_query(text, world.dialect, names_of(world.schema))
    if isinstance(found, bound.Unreadable):
        raise UnsupportedSQL(f"a text that {found.reason}")
    query, _ = _Lowering(found, world, set()).query(found.tree)
    if len(world.sources) > MOST_SOURCES:
        raise UnsupportedSQL(f"more than {MOST_SOURCES} tables")
    return query


class _Lowering(LowersFrom):
    """Lowers one bound query: each SELECT from FROM to LIMIT, and subqueries as they occur.

    The bound query says what a name means: an item of FROM, or a selected expression, of some SELECT. The level of that
    SELECT has the term to which the item's column, or the expression, was lowered. For

        SELECT t.a, (SELECT MAX(s.b) FROM s WHERE s.a = t.a) AS m FROM t ORDER BY m

    the level of the outer SELECT first holds the columns of t, as ``Col(1, "a")``, which the inner SELECT needs for
    `t.a`. After all outputs are lowered, it also holds their terms, which ORDER BY needs for `m`.
    """

    def __init__(self, query: bound.Query, world: SchemaContext, used: set[int | str]) -> None:
        super().__init__(world, used)
        self.bound = query
        self._levels: dict[int, Level] = {}
        """By the SELECT's number in the query."""
        self._around: dict[int, dict[str, Term]] = {}
        """By the id of a set operation, or of a query in parentheses: the columns that its ORDER BY may name."""
        if world.dialect == "sqlite" and "+" in query.text:
            check_signs(query.text)
        check_limits(query.tree)

    def view(self, view: TableSchema) -> tuple[Query, list[str]]:
        try:
            created = first_statement(view.ddl, self.world.dialect) if view.ddl else None
        except (SqlglotError, ValueError):
            created = None
        tree = created.expression if isinstance(created, exp.Create) else created
        if not isinstance(tree, exp.Query):
            raise UnsupportedSQL(f"the view {view.name[:60]}, whose definition is not known")
        found = bound.read_tree(tree, view.ddl, self.world.dialect, names_of(self.world.schema))
        if isinstance(found, bound.Unreadable):
            raise UnsupportedSQL(f"the view {view.name[:60]}, whose definition {found.reason}")
        self.use(view.name, tree, "a view")
        query, names = _Lowering(found, self.world, self.used).query(tree)
        named = created.this if isinstance(created, exp.Create) else None
        return query, [one.name for one in named.expressions] if isinstance(named, exp.Schema) else names

    def query(self, node: exp.Expr, *, joined: bool = False) -> tuple[Query, list[str]]:
        if isinstance(node, exp.Subquery):
            if node.args.get("joins") and not joined:
                raise UnsupportedSQL("a join after a subquery")
            return self._trimmed(*self.query(node.this), node)
        if isinstance(node, exp.SetOperation):
            return self._trimmed(*self._combined(node), node)
        if isinstance(node, exp.Values):
            rows = tuple(tuple(self.term(cell) for cell in _cells(row)) for row in node.expressions)
            if not rows or len({len(row) for row in rows}) != 1:
                raise UnsupportedSQL("VALUES with rows of different lengths")
            return Rows(rows), [f"column{place + 1}" for place in range(len(rows[0]))]
        if not isinstance(node, exp.Select):
            raise UnsupportedSQL(node.key)
        sets = grouping_sets(node)
        if not sets:
            return self._select(node)
        read = [self._select(node, keys, [key for each in sets for key in each]) for keys in sets]
        parts = tuple(part for part, _ in read)
        return (Combined("union", all=True, parts=parts) if parts[1:] else parts[0]), read[0][1]

    def _combined(self, node: exp.SetOperation) -> tuple[Query, list[str]]:
        """A chain of one operator becomes one operation of many parts; its left side is read without recursion."""
        op, sqlite = node.key, self.world.dialect == "sqlite"
        all_ = not node.args.get("distinct")
        right: list[exp.Expr] = []
        left: exp.Expr = node
        while (
            type(left) is type(node)
            and bool(left.args.get("distinct")) != all_
            and (left is node or not any(left.args.get(part) for part in ("order", "limit", "offset", "with_")))
        ):
            right.append(left.args["expression"])
            left = left.this
            if op == "except":
                break
        for part in (left, *right) if sqlite else ():
            if isinstance(part, exp.Subquery):
                raise UnsupportedSQL(f"{op.upper()} of a query in parentheses, which SQLite does not support")
            if isinstance(part, exp.SetOperation) and "intersect" in (op, part.key) and op != part.key:
                raise UnsupportedSQL("INTERSECT combined with another operator, which SQLite reads from left to right")
        read = [self.query(part) for part in (left, *reversed(right))]
        if len({self.world.width(query) for query, _ in read}) != 1:
            raise UnsupportedSQL(f"{op.upper()} of queries with different numbers of columns")
        return Combined(op, all_, tuple(query for query, _ in read)), read[0][1]  # type: ignore[arg-type]

    def _trimmed(self, query: Query, names: list[str], node: exp.Query) -> tuple[Query, list[str]]:
        """The query inside the ORDER BY and LIMIT around it."""
        if not any(node.args.get(part) for part in ("order", "limit", "offset")):
            return query, names
        source = self.world.source(query=query)
        outputs = tuple(self.world.cols(source))
        named = dict(reversed(list(zip(names, outputs, strict=True))))  # of several with one name, the first
        self._around[id(node)] = named
        return self._ended(Block(sources=(source,), outputs=outputs), node, named), names

    def _select(
        self, node: exp.Select, keys: list[exp.Expr] | None = None, every: list[exp.Expr] | None = None
    ) -> tuple[Query, list[str]]:
        """One SELECT; of grouping sets, with the ``keys`` of one set, out of ``every`` key."""
        select = self.bound.select_of(node)
        if select is None:
            raise UnsupportedSQL("a SELECT that is not bound")
        level = self._levels[select.index] = Level(select)
        found = self.lower_from(level)
        names, outputs = self._outputs(node, level)
        where = self.conjuncts(node.args.get("where"))
        if any(has_aggregate(term) for term in where):
            raise UnsupportedSQL("an aggregate in WHERE")
        group = self._group(node, outputs) if keys is None else tuple(dict.fromkeys(self.term(key) for key in keys))
        block = replace(
            found.block,
            where=(*found.block.where, *where),
            group=group,
            having=self.conjuncts(node.args.get("having")),
            outputs=outputs,
            distinct=bool(node.args.get("distinct")),
        )
        if every is not None:
            block = of_set(block, {self.term(key) for key in every})
        named = {
            one.alias.lower(): level.outputs[id(one.this)]
            for one in reversed(node.expressions)
            if isinstance(one, exp.Alias)
        }
        block = self._ended(block, node, named)
        used = (*block.outputs, *block.having, *(key.term for key in block.order))
        if self.world.dialect == "duckdb" and group is not None and not all(_is_grouped(term, group) for term in used):
            raise UnsupportedSQL("a column outside of GROUP BY, which DuckDB rejects")
        if group is None and any(has_aggregate(term) for term in used):
            block = replace(block, group=())
        elif group is None and block.having:
            raise UnsupportedSQL("HAVING without GROUP BY")
        if node.args.get("qualify"):
            block = qualified(block, self.conjuncts(node.args["qualify"]), self.world)
        return block, names

    def _outputs(self, node: exp.Select, level: Level) -> tuple[list[str], tuple[Term, ...]]:
        """The names and terms of what is selected."""
        found: list[tuple[str, Term]] = []
        terms: dict[int, Term] = {}
        for one in node.expressions:
            if not one.is_star or isinstance(one, exp.Count):
                bare = one.this if isinstance(one, exp.Alias) else one
                terms[id(bare)] = self.term(bare)
                found.append((one.alias_or_name.lower(), terms[id(bare)]))
                continue
            table = one.table.lower() if isinstance(one, exp.Column) else ""
            entries = [entry for entry in level.entries if table in ("", entry.source.alias)]
            if not entries:
                raise UnsupportedSQL(f"{table}.*, which names no table")
            for entry in entries:
                found += [column for column in entry.columns if table or column[0] not in entry.hidden]
        if not found:
            raise UnsupportedSQL("a SELECT without columns")
        level.outputs = terms
        return [name for name, _ in found], tuple(term for _, term in found)

    def _group(self, node: exp.Select, outputs: tuple[Term, ...]) -> tuple[Term, ...] | None:
        group = node.args.get("group")
        if group is None:
            return None
        keys = [one.unnest() for one in group.expressions]
        if any(isinstance(one, exp.Tuple) for one in keys):
            raise UnsupportedSQL("GROUP BY of rows")
        found = tuple(_at(outputs, one) or self.term(one) for one in keys)
        if any(has_aggregate(term) for term in found):
            raise UnsupportedSQL("an aggregate in GROUP BY")
        return found

    def _ended(self, block: Block, node: exp.Expr, named: dict[str, Term]) -> Block:
        """The block with the node's ORDER BY and LIMIT. An output that is ``named`` takes precedence over a column."""
        order = node.args.get("order")
        keys = tuple(self._key(one, block, named) for one in (order.expressions if order else []))
        limit, offset = node.args.get("limit"), node.args.get("offset")
        count = start = None
        if limit is not None:
            if not isinstance(limit, exp.Limit):
                raise UnsupportedSQL("FETCH")
            count = _whole(limit.expression)
            offset = limit.args.get("offset") or offset
        if offset is not None:
            start = _whole(offset.expression if isinstance(offset, exp.Offset) else offset)
        if count is not None or start:
            self.world.open_choice = True
            if not keys and any(_ordered(one.query) for one in block.sources):
                raise UnsupportedSQL("a LIMIT over a query that is ordered")
        return replace(block, order=keys, limit=count, offset=start or 0)

    def _key(self, node: exp.Expr, block: Block, named: dict[str, Term]) -> Key:
        if not isinstance(node, exp.Ordered):
            raise UnsupportedSQL("an ORDER BY with options")
        key = node.this.unnest()
        term = _at(block.outputs, key)
        if term is None and isinstance(key, exp.Column) and not key.table:
            term = named.get(key.name.lower())
        return key_of(node, term or self.term(key))

    def column(self, node: exp.Column) -> Term:
        name = node.name.lower()
        if isinstance(node.this, exp.Star):
            raise UnsupportedSQL("* as a value")
        around, part = _place_of(node)
        meaning = self.bound.meaning(node)
        level = None if meaning.select is None else self._levels.get(meaning.select.index)
        if meaning.is_text and self.bound.text[node.this.meta.get("start", 0)] == '"':
            return Const("text", node.name)
        found: Term | None = None
        if not isinstance(around, exp.Select):
            found = None if node.table else self._around.get(id(around), {}).get(name)
        elif level is not None and node.table:
            found = only(name, [entry for entry in level.entries if entry.source is meaning.source], shown=False)
        elif level is not None:
            found = self._unqualified(node, part, level, meaning)
        if found is not None:
            return found
        if name in ("rowid", "oid", "_rowid_"):
            raise UnsupportedSQL("the number of a row")
        raise UnsupportedSQL(f"the column {node.sql()[:60]}, which is not in the schema")

    def _unqualified(self, node: exp.Column, part: str, level: Level, meaning: Meaning) -> Term | None:
        """A column, or an output by its alias. Refuses names of several columns, and names that engines read
        differently."""
        name, dialect = node.name.lower(), self.world.dialect
        own, column = self.bound.select_of(node), only(name, level.entries)
        alias = None if own is None else own.output_called(name)
        is_of_outer = alias is not None and own is not level.select
        output = level.outputs.get(id(alias))
        differs = None not in (column, output) and column != output
        if is_of_outer or (differs and dialect not in _COLUMNS_FIRST and part in ("group", "having", "order")):
            raise UnsupportedSQL(f"the name {name}, which is a column and an alias")
        if meaning.output is None:
            return column
        output = level.outputs.get(id(meaning.output))
        return output if dialect in _ALIASES_ANYWHERE or part == "order" else None

    def is_of_outer_query(self, node: exp.Expr, value: Term) -> bool:
        select = self.bound.select_of(node)
        level = None if select is None else self._levels.get(select.index)
        own = {
            col for entry in (level.entries if level else ()) for _, term in entry.columns for col in columns_of(term)
        }
        return bool(used := columns_of(value)) and not used & own


def _place_of(node: exp.Expr) -> tuple[exp.Expr | None, str]:
    """The SELECT that contains a node, or the query in whose ORDER BY it is, and the clause: ``where``, ``order``, …"""
    around = node.parent
    while around is not None and not isinstance(around, exp.Select):
        if isinstance(around, exp.Query) and node.arg_key == "order":
            break
        node, around = around, around.parent
    return around, node.arg_key or ""


def _is_grouped(term: Struct, group: tuple[Term, ...]) -> bool:
    """Whether a term consists of keys and aggregates only."""
    if term in group or isinstance(term, Agg | Const | Sub):
        return True
    return not isinstance(term, Col) and all(_is_grouped(part, group) for part in children(term))


def _ordered(query: Query | None) -> bool:
    """Whether the surrounding query takes some rows of an ordered query in FROM."""
    if not isinstance(query, Block):
        return False
    return (bool(query.order) and not query.cuts) or (
        query.group is None and any(_ordered(one.query) for one in query.sources)
    )


def _cells(row: exp.Expr) -> list[exp.Expr]:
    return row.expressions if isinstance(row, exp.Tuple) else [row.this if isinstance(row, exp.Paren) else row]


def _at(outputs: tuple[Term, ...], node: exp.Expr) -> Term | None:
    """The output that a key names by its position; None if the key is an expression."""
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    if not node.name.isdecimal() or not 1 <= int(node.name) <= len(outputs):
        raise UnsupportedSQL(f"the place {node.name[:20]}")
    return outputs[int(node.name) - 1]


def _whole(node: exp.Expr) -> int:
    node = node.unnest()
    if not isinstance(node, exp.Literal) or not node.name.isdecimal():
        raise UnsupportedSQL("a LIMIT that is not a number")
    return int(node.name)


__all__ = ["lower_query"]
