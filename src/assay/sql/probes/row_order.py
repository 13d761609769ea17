"""Run a query with its tied rows in another order, if its result shows that order.

Engines join the values of ``GROUP_CONCAT(v)`` in the order in which they read the rows, and are free to choose which of
several tied rows ``FIRST_VALUE(v) OVER (ORDER BY g)`` or ``arg_max(v, g)`` reads. Two changes show the other choices,
and both are made together:

- Each stored table is replaced by itself, sorted. A table has no order, so the result is one that the query itself
  might have returned. The LIMIT prevents engines from omitting the sort::

    SELECT GROUP_CONCAT(v) FROM t
    SELECT GROUP_CONCAT(v) FROM (SELECT * FROM t ORDER BY v DESC LIMIT 2000000000) AS t

- Each ORDER BY of a window, an aggregate, an array or a ``LIMIT n BY`` gets further keys, since few engines keep the
  order of tied rows when they sort. An aggregate without ORDER BY gets one if its engine allows that::

    SELECT LAG(v) OVER (ORDER BY g) FROM t
    SELECT LAG(v) OVER (ORDER BY g, v DESC) FROM t
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.sql.dialects import SPARK
from assay.sql.probes.edits import Edit, breaking_keys, cut_to, from_subquery, order_further
from assay.sql.query import Query

if TYPE_CHECKING:
    from sqlglot import exp

    from assay.sql.select import Select

_COLLECTING = frozenset(
    {"group_concat", "string_agg", "listagg", "array_agg", "json_group_array", "json_group_object", "json_agg"}
    | {"jsonb_group_array", "jsonb_group_object", "json_arrayagg", "json_objectagg", "list", "first", "last"}
    | {"arg_max", "arg_min", "max_by", "min_by", "mode"}
)
_CHOOSING = frozenset(
    {"groupconcat", "arrayagg", "arrayuniqueagg", "arrayconcatagg", "jsonarrayagg", "jsonbagg", "jsonobjectagg"}
    | {"jsonbobjectagg", "objectagg", "xmlagg", "rangeagg", "collectlist", "collectset", "tojsonbagg"}
    | {"anyvalue", "any", "anylast", "anyheavy", "arbitrary", "firstvalue", "lastvalue", "argmax", "argmin"}
    | {"maxby", "minby", "argmaxnull", "argminnull", "argandmax", "argandmin", "topk", "approxtopk"}
    | {"grouparray", "grouparraylast", "groupuniqarray", "grouparraysample", "firstvaluerespectnulls"}
)
"""Further aggregates that show which rows they read, or in which order, without underscores. In SQLite they do not
exist."""
_COMBINATORS = ("if", "ornull", "ordefault", "distinct")
"""What ClickHouse appends to the names of aggregates."""
_SAFE_WINDOWS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
_WITHOUT_FRAME = frozenset({"lag", "lead", "ntile", "rownumber", "row_number", "firstvalue", "first_value"})
"""Window functions that a frame does not affect, if it begins with the partition."""
_ROW_NUMBERS = frozenset({"rowid", "oid", "_rowid_"})
_ORDERS = (
    "ROW_NUMBER() OVER () DESC",
    "ROW_NUMBER() OVER () * 3571 % 10007",
    "ROW_NUMBER() OVER () * 6373 % 10007",
    "ROW_NUMBER() OVER () * ROW_NUMBER() OVER () * 2000 % 10007",
)
"""Backwards, and three that mix the rows."""
_FURTHER_ORDERS = tuple(f"ROW_NUMBER() OVER () * {factor} % 11" for factor in range(2, 10))
"""Orders of few rows in which each comes first, before others and after them."""
_ORDERS_AGGREGATES = frozenset({"postgres", "duckdb"})
"""Dialects in which every aggregate may have an ORDER BY."""
_ORDERED = frozenset(
    {"groupconcat", "arrayagg", "jsonarrayagg", "anyvalue", "first", "last", "mode", "argmax", "argmin"}
)
_ORDERS_LISTS = frozenset({"mysql", "bigquery"})
"""Dialects in which GROUP_CONCAT or STRING_AGG may have one."""
_MOST_LEADING = 8
"""At most this many columns are tried as the first key to sort by."""
_ALL_ROWS = 2_000_000_000
"""A LIMIT that cuts no row. Some engines take no greater number."""


def name_of(node: exp.Func) -> str:
    """The name of a function in lower case."""
    from sqlglot import exp

    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc | exp.ParameterizedAgg | exp.CombinedAggFunc):
        return node.name.lower()
    return node.key


def collects(function: exp.Expr) -> bool:
    """Whether an aggregate shows the order in which it reads its rows."""
    from sqlglot import exp

    return isinstance(function, exp.GroupConcat | exp.ArrayAgg | exp.JSONArrayAgg | exp.JSONObjectAgg) or (
        isinstance(function, exp.Func) and name_of(function) in _COLLECTING
    )


def chooses(function: exp.Func, dialect: str) -> bool:
    """Whether an aggregate shows which of several rows it reads, or their order."""
    if collects(function):
        return True
    if dialect == "sqlite":
        return False
    name = name_of(function).replace("_", "")
    shortened = (name.removesuffix(suffix) for suffix in _COMBINATORS)
    return name in _CHOOSING or (dialect == "clickhouse" and any(part in _CHOOSING for part in shortened))


def is_safe_window(window: exp.Window) -> bool:
    """Whether tied rows in a window's order get the same value: ranks, and aggregates over whole ties.

    A frame of RANGE or GROUPS, the default, begins and ends with whole ties.
    """
    from sqlglot import exp

    function = window.this
    name = name_of(function) if isinstance(function, exp.Func) else ""
    if name in _SAFE_WINDOWS or isinstance(function, exp.Rank | exp.DenseRank):
        return True
    inner = function.this if isinstance(function, exp.Filter) else function
    if not isinstance(inner, exp.Count | exp.Sum | exp.Avg | exp.Min | exp.Max):
        return False
    return not _has_row_frame(window)


def _has_row_frame(window: exp.Window) -> bool:
    """Whether a window counts rows, or may do so: named windows are not looked up."""
    spec = window.args.get("spec")
    if window.args.get("alias") is not None:
        return True
    return spec is not None and str(spec.args.get("kind") or "").upper() not in ("RANGE", "GROUPS")


def shows_row_order(query: Query) -> exp.Expr | None:
    """The first aggregate, window function, array or ``LIMIT n BY`` whose result may depend on the order of rows; None
    if there is none, or if rows are selected by their number."""
    from sqlglot import exp

    is_sqlite = query.dialect == "sqlite"
    found: exp.Expr | None = None
    for node in query.all_of(exp.Column, exp.Func, exp.Window, exp.Limit):
        if isinstance(node, exp.Column):
            if is_sqlite and node.name.lower() in _ROW_NUMBERS:
                return None
        elif found is not None:
            continue
        elif isinstance(node, exp.Window):
            # The module `row_number` is about numbers in an order.
            is_numbering = not is_sqlite and isinstance(node.this, exp.RowNumber) and node.args.get("order")
            found = None if is_numbering or is_safe_window(node) else node
        elif isinstance(node, exp.Limit):
            found = node.parent if node.expressions else None
        elif isinstance(node, exp.Array):
            found = node if isinstance(_array_query(node), exp.Query) else None
        elif isinstance(node, exp.Func) and chooses(node, query.dialect):
            found = node
    return found


def _array_query(array: exp.Array) -> exp.Expr | None:
    """The query of ``ARRAY(SELECT …)``; None for a list of values."""
    return array.expressions[0].unnest() if len(array.expressions) == 1 else None


def stored_tables(query: Query) -> list[exp.Table]:
    """The stored tables that a query reads, once per use."""
    from sqlglot import exp

    own = {cte.alias.lower() for cte in query.all_of(exp.CTE)}
    tables = [table for table in query.all_of(exp.Table) if isinstance(table.this, exp.Identifier)]
    return [table for table in tables if table.db or table.name.lower() not in own]


def columns_of(table: exp.Table, dialect: str) -> str:
    """A query without rows whose columns are the table's."""
    return cut_to(from_subquery(_everything(table), "assay_none"), 0).sql(dialect)


def reordered(query: Query, *, often: bool = False) -> Iterator[str]:
    """The query with its tied rows in other orders: by each column that it names, backwards, and mixed; ``often``: in
    more orders. If none of these changes the result, its rows hardly tie."""
    orders = _Orders(query, {})
    yield from orders.by(orders.names)
    yield from orders.mixed((*_ORDERS, *_FURTHER_ORDERS) if often else _ORDERS)


def reordered_further(query: Query, columns: Mapping[int, Sequence[str]]) -> Iterator[str]:
    """The query with its tied rows sorted by each column that it does not name, and by two directions. ``columns``:
    those of the stored tables, by the ids of their nodes."""
    orders = _Orders(query, columns)
    named = frozenset(column.name.lower() for column in query.columns)
    yield from orders.by([name for name in orders.names if name not in named])
    yield from orders.by(orders.names, turns_rest=True)


def respelled(query: Query) -> Iterator[str]:
    """The query with its rows read by their spelling, upwards and downwards, and set operations with their sides
    exchanged: which of several texts stays that a collation treats as equal, depends on what is read first."""
    from sqlglot import exp

    orders = _Orders(query, {}, by_bytes=True)
    yield from orders.by(orders.names[:1])
    operations = [node for node in query.all_of(exp.Union, exp.Intersect) if node.args.get("distinct")]
    if operations:
        edit = Edit(query)
        for node in operations:
            twin = edit.twin(node)
            left, right = twin.this, twin.expression
            twin.set("this", right)
            twin.set("expression", left)
        yield edit.written()


def respelled_further(query: Query) -> Iterator[str]:
    """More of `respelled`, if one of them changes the result."""
    orders = _Orders(query, {}, by_bytes=True)
    yield from orders.by(orders.names[1:])
    yield from orders.by(orders.names, turns_rest=True)
    yield from orders.mixed((*_ORDERS, *_FURTHER_ORDERS))


def merges_texts(query: Query) -> exp.Expr | None:
    """The first part of a query that keeps one of several values that compare as equal: DISTINCT, GROUP BY, UNION,
    INTERSECT, EXCEPT, MIN or MAX."""
    from sqlglot import exp

    for node in query.all_of(exp.Distinct, exp.Group, exp.SetOperation, exp.Min, exp.Max):
        if isinstance(node, exp.SetOperation) and not node.args.get("distinct"):
            continue
        return node.parent if isinstance(node, exp.Distinct | exp.Group) else node
    return None


class _Order(Struct, frozen=True, kw_only=True):
    """One order of tied rows: by one column, and then by the others that the query names."""

    name: str
    downwards: bool
    rest_downwards: bool


class _Orders:
    """The orders in which the rows of one query may be read."""

    def __init__(self, query: Query, columns: Mapping[int, Sequence[str]], *, by_bytes: bool = False) -> None:
        self._query = query
        self._by_bytes = by_bytes
        self._columns = columns
        self._tables = stored_tables(query)
        self._sites = [] if by_bytes else [site for select in query.selects for site in _sites(select, query.dialect)]
        self._rows = {id(select.node): self._terms_of(select) for select in query.selects}
        """By SELECT, what its tied rows may be sorted by, by name."""
        self._keys = [key.sql().lower() for _, select in self._sites for key in select.group]
        self._named = frozenset([*(column.name.lower() for column in query.columns), *self._keys])

    @property
    def names(self) -> list[str]:
        """What ties may be broken by."""
        names = [name for terms in self._rows.values() for name in terms]
        return list(dict.fromkeys([*names, *self._keys]))

    def by(self, leads: Sequence[str], *, turns_rest: bool = False) -> Iterator[str]:
        """Ties broken by each of these columns, upwards and downwards, and then by the other columns that are named:
        in the same direction or, with ``turns_rest``, in the other."""
        for name in leads[:_MOST_LEADING]:
            for downwards in (False, True):
                order = _Order(name=name, downwards=downwards, rest_downwards=downwards != turns_rest)
                edit = Edit(self._query)
                for node, select in self._sites:
                    self._break(edit, node, select, order)
                for table in self._tables:
                    keys = self._by(order, self._of_table(table))
                    if keys:
                        self._sort(edit, table, keys)
                yield edit.written()

    def mixed(self, orders: Sequence[str]) -> Iterator[str]:
        """The rows of every table backwards, and mixed."""
        from sqlglot import exp

        for order in orders if self._tables else ():
            edit = Edit(self._query)
            for table in self._tables:
                key = exp.select("*").order_by(order, dialect="sqlite", copy=False).args["order"].expressions
                self._sort(edit, table, key)
            yield edit.written()

    def _sort(self, edit: Edit, table: exp.Table, keys: Sequence[exp.Expr]) -> None:
        from sqlglot import exp

        twin = edit.twin(table)
        alias = exp.TableAlias(this=exp.to_identifier(table.alias_or_name, quoted=True))
        rows = _everything(twin)
        rows.set("order", exp.Order(expressions=list(keys)))
        if self._query.dialect not in SPARK:
            rows = cut_to(rows, _ALL_ROWS)
        twin.replace(exp.Subquery(this=rows, alias=alias, joins=twin.args.get("joins")))

    def _break(self, edit: Edit, node: exp.Expr, select: Select, order: _Order) -> None:
        """Break the ties of one ORDER BY."""
        from sqlglot import exp

        of_groups = select.node.args.get("group") is not None and not _is_within_groups(node)
        named = {key.sql().lower(): key for key in select.group} if of_groups else self._rows[id(select.node)]
        keys = self._by(order, named)
        if not keys:
            return
        twin = edit.twin(node)
        if isinstance(node.parent, exp.WithinGroup) and isinstance(node.parent.this, exp.Mode):
            for key in twin.expressions:  # MODE() takes the first in this order
                key.set("desc", order.downwards)
                key.set("nulls_first", not order.downwards)
            return
        if isinstance(twin, exp.Order):
            twin.set("expressions", [*twin.expressions, *keys])
            return
        if isinstance(twin, exp.Func):
            part = _last_argument(twin)
            argument = twin.args[part]
            if isinstance(argument, exp.Distinct):  # which can be ordered only by itself
                terms = [term.copy() for term in argument.expressions]
                keys = breaking_keys(terms, self._query.dialect, downwards=order.downwards)
            twin.set(part, exp.Order(this=argument, expressions=keys))
            return
        if _reads_last_peer(node):
            # Each row of a tie reads the same one of its rows: the first of them in an order within the tie.
            own = [key.this.copy() for key in node.args["order"].expressions]
            twin.set("partition_by", [*(twin.args.get("partition_by") or ()), *own])
            twin.set("this", exp.FirstValue(this=twin.this.this))
            twin.set("order", exp.Order(expressions=keys))
            return
        order_further(twin, keys)

    def _by(self, order: _Order, terms: Mapping[str, exp.Expr]) -> list[exp.Expr]:
        """The keys of ORDER BY: the first column, and those that the query names."""
        dialect = self._query.dialect
        first = [term.copy() for name, term in terms.items() if name == order.name]
        rest = [term.copy() for name, term in terms.items() if name != order.name and name in self._named]
        if self._by_bytes:
            first, rest = [_bytes(term, dialect) for term in first], [_bytes(term, dialect) for term in rest]
        return [
            *breaking_keys(first, dialect, downwards=order.downwards),
            *breaking_keys(rest, dialect, downwards=order.rest_downwards),
        ]

    def _of_table(self, table: exp.Table) -> dict[str, exp.Expr]:
        """The columns of a stored table, of which some may not be known."""
        names = self._columns.get(id(table))
        if names is None:
            for select in self._query.selects:
                if any(source.node is table for source in select.sources.values()):
                    alias = table.alias_or_name.lower()
                    return {
                        name: _column(column.name)
                        for name, column in _columns_read(select).items()
                        if column.table.lower() == alias or len(select.sources) == 1
                    }
            return {}
        return {name.lower(): _column(name) for name in names}

    def _terms_of(self, select: Select) -> dict[str, exp.Expr]:
        """What ties of a SELECT's rows may be broken by, by name: the columns that it reads first."""
        from sqlglot import exp

        terms: dict[str, exp.Expr] = dict(_columns_read(select))
        for alias, source in select.sources.items():
            names = self._columns.get(id(source.node), ()) if isinstance(source.node, exp.Table) else ()
            for name in names:
                terms.setdefault(name.lower(), _column(name, source.node.alias_or_name or alias))
        return terms


def _sites(select: Select, dialect: str) -> Iterator[tuple[exp.Expr, Select]]:
    """The windows, aggregates and ORDER BYs whose ties further keys may break without changing anything else."""
    from sqlglot import exp

    node = select.node
    for part in node.find_all(exp.Order, exp.AggFunc, exp.Window):
        above = part.parent
        if above is None or part.find_ancestor(exp.Select) is not node:
            continue
        if isinstance(part, exp.Window):
            if not part.args.get("order") and not part.args.get("alias") and _ignores_frame(part):
                yield part, select
        elif isinstance(part, exp.AggFunc):
            if _can_be_ordered(part, dialect):
                yield part, select
        elif isinstance(above, exp.Window):
            if _is_breakable(above, node):
                yield above, select
        elif isinstance(above, exp.Query):
            limit = above.args.get("limit")
            is_array = isinstance(above.parent, exp.Array | exp.Anonymous)
            if above is node and ((limit is not None and limit.expressions) or is_array):
                yield part, select
        elif isinstance(above, exp.WithinGroup):
            if isinstance(above.this, exp.Mode) or collects(above.this):
                yield part, select
        elif not isinstance(part.this, exp.Distinct):
            yield part, select


def _is_within_groups(node: exp.Expr) -> bool:
    """Whether this orders the rows of a group, not the groups."""
    from sqlglot import exp

    return isinstance(node, exp.Func) or (isinstance(node, exp.Order) and not isinstance(node.parent, exp.Query))


def _can_be_ordered(function: exp.AggFunc, dialect: str) -> bool:
    """Whether an aggregate has no ORDER BY, and may have one."""
    from sqlglot import exp

    if dialect in _ORDERS_LISTS:
        is_ordered_in = isinstance(function, exp.GroupConcat)
    else:
        is_ordered_in = dialect in _ORDERS_AGGREGATES and name_of(function) in _ORDERED
    argument = function.args.get(_last_argument(function))
    if not is_ordered_in or argument is None or isinstance(argument, exp.Order):
        return False
    above = function.parent
    while isinstance(above, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        above = above.parent
    return not isinstance(above, exp.Window | exp.WithinGroup)


def _last_argument(function: exp.Expr) -> str:
    """The part of an aggregate that its ORDER BY follows."""
    from sqlglot import exp

    return "expression" if isinstance(function, exp.ArgMax | exp.ArgMin) else "this"


def _is_breakable(window: exp.Window, select: exp.Select) -> bool:
    """Whether further keys only decide the order within ties: they would change a frame of whole ties."""
    from sqlglot import exp

    if window.this is None or isinstance(window.this, exp.Identifier):  # a named window, used by others
        users = [user for user in select.find_all(exp.Window) if user.args.get("alias") is not None]
        return bool(users) and all(_ignores_frame(user) for user in users)
    if is_safe_window(window):
        return False
    spec = window.args.get("spec")
    if spec is not None and str(spec.args.get("kind") or "").upper() == "ROWS":
        return True
    return _ignores_frame(window) or _reads_last_peer(window)


def _ignores_frame(window: exp.Window) -> bool:
    from sqlglot import exp

    function = window.this
    while isinstance(function, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        function = function.this
    spec = window.args.get("spec")
    begins = spec is None or str(spec.args.get("start") or "").upper() == "UNBOUNDED"
    return isinstance(function, exp.Func) and name_of(function) in _WITHOUT_FRAME and begins


def _reads_last_peer(window: exp.Expr) -> bool:
    """Whether a window reads the last row of a tie, of those that its order leaves tied: ``LAST_VALUE(v) OVER (ORDER BY
    k)``."""
    from sqlglot import exp

    return isinstance(window.this, exp.LastValue) and not window.args.get("spec") and not window.args.get("alias")


def _columns_read(select: Select) -> dict[str, exp.Column]:
    """The columns of its own sources that a SELECT reads, by name."""
    query = select.query
    assert isinstance(query, Query)
    read: dict[str, exp.Column] = {}
    for column in query.columns:
        meaning = query.meaning(column)
        if meaning.select is select and meaning.source is not None:
            read.setdefault(column.name.lower(), column)
    return read


def _bytes(term: exp.Expr, dialect: str) -> exp.Expr:
    """A key that sorts by spelling, whatever the collation and the type of the term."""
    from sqlglot import exp

    if dialect == "mysql":
        return exp.Cast(this=term, to=exp.DataType.build("binary"))
    text = exp.Cast(this=term, to=exp.DataType.build("text"))
    if dialect == "duckdb":
        return exp.Anonymous(this="ENCODE", expressions=[text])
    if dialect == "postgres":
        return exp.Collate(this=text, expression=exp.to_identifier("C", quoted=True))
    return term


def _everything(table: exp.Table) -> exp.Select:
    """``SELECT * FROM table``."""
    from sqlglot import exp

    bare = exp.Table(this=table.this.copy(), db=_copy(table.args.get("db")), catalog=_copy(table.args.get("catalog")))
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=bare))


def _copy(node: exp.Expr | None) -> exp.Expr | None:
    return None if node is None else node.copy()


def _column(name: str, table: str | None = None) -> exp.Column:
    from sqlglot import exp

    return exp.column(exp.to_identifier(name, quoted=True), table=table and exp.to_identifier(table))
