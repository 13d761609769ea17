"""Find where an engine reads any one row of several: a scalar subquery or a bare column of an aggregated query in
SQLite, a bare column in MySQL, and everywhere a function that shows which rows it reads, or in which order.

`x = (SELECT …)` reads the first row that the subquery happens to return. A column that is neither grouped by nor
aggregated comes from any row of its group; with MIN or MAX, from any row that has the extreme. Only the order in
which rows are stored decides which, unless the rows agree.

`AnyRow.check` asks the database whether they do. `AnyRow.ways` are the query with other rows read: each result is one
that the query itself might have returned. Bare columns follow the last MIN or MAX of their query, so an additional one
in HAVING makes them read its row::

    SELECT city, name, COUNT(*) FROM t GROUP BY city
    SELECT city, name, COUNT(*) FROM t GROUP BY city HAVING MIN(QUOTE(name)) IS NULL OR COUNT(*) >= 0

A function that shows the order of its rows, for example GROUP_CONCAT, is handled separately, and so are the bare
columns of MySQL, whose row no MIN or MAX selects: see `row_order`.

All of these are written from the tree, which may lose special features of a text: see `AnyRow.again`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from assay.sql.nodes import exp
from assay.sql.probes.bare_terms import bare_terms, extremes
from assay.sql.probes.edits import Edit, alone, cut_to, from_subquery, order_further, places, read_for_probes
from assay.sql.probes.hidden_keys import as_groups, orders_by_hidden_key
from assay.sql.probes.row_order import (
    columns_of,
    merges_texts,
    reordered,
    reordered_further,
    respelled,
    respelled_further,
    shows_row_order,
    stored_tables,
)
from assay.sql.probes.scalar_subqueries import gives_one_row, is_scalar
from assay.sql.query import Query
from assay.sql.shape import deterministic_keys, may_be_cut

MOST_LISTED = 40
"""At most this many rows of a scalar subquery are tried one by one."""
MOST_CANDIDATES = 512
"""At most this many rows are listed that bare columns may be read from."""
_MOST_LEADING = 3
"""At most this many bare columns are tried as the first key to choose a row by."""
_MOST_CHARACTERS = 20_000
_WORTH_READING = ("(", "group", "having", "distinct")
_AGGREGATE = r"(?:count|sum|avg|min|max)\(\s*(?:distinct\s+)?(?:[a-z_][\w.]*|\*)\s*\)"
_AGGREGATES_ALONE = re.compile(rf"\s*select\s+{_AGGREGATE}(?:\s*,\s*{_AGGREGATE})*\s+from\b", re.ASCII)
_MAY_READ_MORE = ("(", "select", "values", "group", "having", "order", "window", ";", "--", "/*")
"""What may follow FROM, besides columns, values and operators."""
_WORTH_PARSING = re.compile(
    r"\bgroup\s+by\b|\bdistinct\b.*\border\s+by\b|\bhaving\b|\bover\b|\(.*\b(?:select|values)\b|\b(?:count|sum|avg|min|max|total|group_concat|string_agg|json\w*_group_\w+)\b",
    re.IGNORECASE | re.DOTALL,
)
_MAY_CHOOSE = re.compile(
    r"\bover\b|\blimit\b.*\bby\b|\barray\b|concat|agg|\bany|\bfirst|\blast|\blist|arg_?m|_by\b|\bmode\b|collect"
    r"|group_?(?:uniq_?)?array|top_?k|arbitrary",
    re.IGNORECASE | re.DOTALL,
)
"""What a text has if an engine besides SQLite may choose which rows it reads, apart from bare columns."""
_READS_BARE_COLUMNS = frozenset({"sqlite", "mysql"})
_MERGES = re.compile(r"\b(?:distinct|group|union|intersect|except|min|max)\b", re.IGNORECASE)
AnyRowKind = Literal["scalar subquery", "bare column", "row order", "spelling"]


class AnyRow(Struct, frozen=True):
    """One place where a query may read any of several rows."""

    kind: AnyRowKind
    query: Query
    """The whole query."""
    node: exp.Query
    """The subquery, or the query with the bare columns, or the whole query if the order of all rows matters."""
    terms: tuple[exp.Expr, ...] = ()
    """The expressions over bare columns, or the function that shows the order of rows."""
    asked: tuple[Query, exp.Expr] | None = None
    """The original query and what it reads from any row there, if ``query`` is a rewritten form of it."""

    @property
    def _keys(self) -> tuple[exp.Expr, ...]:
        """What the query with the bare columns groups by."""
        select = self.query.select_of(self.node)
        return () if select is None else select.group

    @property
    def text(self) -> str:
        """What reads any row, for a reader."""
        if self.asked is not None:
            return self.asked[1].sql(self.query.dialect)
        return (self.node if self.kind == "scalar subquery" else self.terms[0]).sql(self.query.dialect)

    @property
    def is_steered(self) -> bool:
        """Whether a further MIN or MAX selects the row that is read. Otherwise the tables' rows are read in other
        orders."""
        return self.kind in ("scalar subquery", "bare column") and self.query.dialect == "sqlite"

    @property
    def tables(self) -> Mapping[int, str]:
        """Queries for the columns of the stored tables, by the ids of their nodes, for `further_ways`."""
        if self.is_steered or self.kind == "spelling":
            return {}
        return {id(table): columns_of(table, self.query.dialect) for table in stored_tables(self.query)}

    @property
    def is_ordered(self) -> bool:
        """Whether an ORDER BY or LIMIT influences which row is read."""
        return any(self.node.args.get(part) for part in ("order", "limit", "offset"))

    @property
    def decides_ties(self) -> bool:
        """Whether other rows of the result may tie if other rows are read here."""
        return self.kind == "bare column" and self.node is self.query.tree and self.node.args.get("order") is not None

    @property
    def gives_row_per_group(self) -> bool:
        """Whether the result has a row per group, and the choice in one group does not affect the row of another."""
        parts = ("order", "limit", "offset", "distinct", "having")
        is_plain = (
            self.kind == "bare column" and self.node is self.query.tree and not any(map(self.node.args.get, parts))
        )
        return is_plain and self.node.find(exp.Window) is None

    @property
    def again(self) -> str:
        """The query as it is, written from the tree. If its rows differ from the text's, the ways prove nothing."""
        query = self.query if self.asked is None else self.asked[0]
        return query.tree.sql(query.dialect)

    def check(self) -> str | None:
        """A query with a row if rows differ here; None if only the ways can tell. It cannot run if it refers to an
        outer query."""
        if self.kind in ("row order", "spelling"):
            return None
        copy = alone(self.node)
        if self.kind == "scalar subquery":
            return f"SELECT * FROM ({copy.sql('sqlite', copy=False)}) AS assay_rows LIMIT 1 OFFSET 1"
        dialect = self.query.dialect
        tests = [_differs(term, only, dialect) for only in self._filters() for term in self.terms]
        for part in ("order", "limit", "offset", "distinct"):
            copy.set(part, None)
        if (group := copy.args.get("group")) is not None:
            group.set("expressions", [key.copy() for key in self._keys])
        copy.set("expressions", [exp.Literal.number(1)])
        copy.set("having", exp.Having(this=exp.or_(*tests, copy=False)))
        return f"{copy.sql(dialect, copy=False)} LIMIT 1"

    def distinct_rows(self) -> str:
        """The different rows of a scalar subquery, one more than are tried."""
        rows = alone(self.node).sql("sqlite", copy=False)
        return f"SELECT DISTINCT * FROM ({rows}) AS assay_rows ORDER BY 1 LIMIT {MOST_LISTED + 1}"

    def candidates(self, columns: Sequence[str] = ()) -> str | None:
        """A query for the rows that bare columns may be read from, in groups with several: a text for the group and one
        for the row. ``columns`` are those of the result. None if it is not known what a star stands for, or if the row
        cannot be selected."""
        terms = self._labelled(columns)
        if terms is None:
            return None
        copy = self._ungrouped()
        filters = [only for only in self._filters() if only is not None]
        if filters:
            copy = copy.where(exp.or_(*filters, copy=False), copy=False)
        keys = self._keys
        # Keys that a collation treats as equal form one group.
        group = exp.Window(this=_function("MIN", _label(keys)), partition_by=[key.copy() for key in keys])
        outputs = (group, "assay_group"), (self._row_label(terms), "assay_row")
        copy.set("expressions", [exp.alias_(output, name) for output, name in outputs])
        counted = (
            "SELECT *, COUNT(*) OVER (PARTITION BY assay_group) AS assay_count "
            f"FROM ({copy.sql('sqlite', copy=False)}) AS assay_rows"
        )
        rows = f"SELECT assay_group, assay_row FROM ({counted}) AS assay_counted WHERE assay_count > 1"
        return f"{rows} LIMIT {MOST_CANDIDATES}"

    def take(self, edit: Edit, row: int) -> None:
        """Make this scalar subquery return only one of its `distinct_rows`."""
        listed = from_subquery(self.node.copy(), "assay_rows")
        listed.set("distinct", exp.Distinct())
        listed.set("order", exp.Order(expressions=[exp.Ordered(this=exp.Literal.number(1))]))
        edit.twin(self.node).replace(cut_to(listed, 1, offset=row))

    def steer_to(self, edit: Edit, labels: Sequence[str], columns: Sequence[str]) -> None:
        """Make this query read its bare columns from these `candidates`, one per group."""
        row = self._row_label(self._labelled(columns) or ())
        filters = [only for only in self._filters() if only is not None]
        test = exp.Not(this=exp.In(this=row, expressions=list(map(exp.Literal.string, labels))))
        self._steer(edit, "MIN", [test], exp.or_(*filters, copy=False) if filters else None)

    def _labelled(self, columns: Sequence[str]) -> list[exp.Expr] | None:
        if not self.is_steered:
            return None
        terms = [term for term in self.terms if not term.is_star]
        if len(terms) == len(self.terms):
            return terms
        return [*terms, *map(_column, columns)] if self.node is self.query.tree and columns else None

    def _row_label(self, terms: Sequence[exp.Expr]) -> exp.Expr:
        return _label([*self._keys, *terms])

    def values(self) -> str | None:
        """A query for the literals of what may be read here, `MOST_LISTED` at most; None if a star hides it."""
        term = self._term
        if term is None:
            return None
        copy = self._ungrouped()
        copy.set("expressions", [_quoted(term)])
        return f"{copy.sql('sqlite', copy=False)} LIMIT {MOST_LISTED}"

    def _ungrouped(self) -> exp.Select:
        """The query that it groups, by itself, with distinct rows."""
        copy = alone(self.node)
        assert isinstance(copy, exp.Select)
        for part in ("order", "limit", "offset", "group", "having"):
            copy.set(part, None)
        copy.set("distinct", exp.Distinct())
        return copy

    @property
    def _term(self) -> exp.Expr | None:
        if not self.is_steered:
            return None
        if self.kind == "bare column":
            return next((term for term in self.terms if not term.is_star), None)
        node = self.node
        plain = isinstance(node, exp.Select) and len(node.expressions) == 1 and not node.args.get("group")
        return None if not plain or node.expressions[0].is_star else node.expressions[0].unalias()

    def further_ways(self, columns: Mapping[int, Sequence[str]]) -> Iterator[str]:
        """More of `ways`, if one of them changes the result. ``columns`` are those that `tables` asks for."""
        if self.kind == "spelling":
            return respelled_further(self.query)
        return iter(()) if self.is_steered else reordered_further(self.query, columns)

    def ways(self, columns: Sequence[str] = (), literals: Sequence[str] = ()) -> Iterator[str]:
        """The whole query with other rows read. ``columns`` are those of its result, for what a star stands for;
        ``literals`` are some of `values`, which are then read if possible."""
        if self.kind == "spelling":
            yield from respelled(self.query)
            return
        if not self.is_steered:
            yield from reordered(self.query)
            return
        towards = [
            exp.NEQ(this=_quoted(self._term), expression=exp.Literal.string(literal))
            for literal in literals
            if self._term is not None
        ]
        if self.kind == "scalar subquery":
            for downwards in (False, True):
                yield self._turned(self._values(), downwards=downwards)
            for test in towards:
                yield self._turned([test])
            return
        terms = [term for term in self.terms if not term.is_star] or [_column(name) for name in columns]
        for lead in range(min(len(terms), _MOST_LEADING)):
            for name in ("MIN", "MAX"):
                for only in self._filters():
                    yield self._steered(name, [*terms[lead:], *terms[:lead]], only)
        for test in towards:
            for only in self._filters():
                yield self._steered("MIN", [test], only)

    def _values(self) -> list[exp.Expr]:
        """What a scalar subquery gives, as keys of ORDER BY."""
        outputs = [output.unalias() for output in self.node.selects if not output.is_star]
        if self.node.key != "select" or not outputs:
            return places(max(len(outputs), 1))
        return [_quoted(output) for output in outputs]

    def _turned(self, keys: Sequence[exp.Expr], *, downwards: bool = False) -> str:
        """The scalar subquery's row chosen by these keys; if it has an order, only among tied rows."""
        edit = Edit(self.query)
        ordered = [exp.Ordered(this=key, desc=downwards, nulls_first=not downwards) for key in keys]
        order_further(edit.twin(self.node), ordered)
        return edit.written()

    def _steered(self, name: str, terms: Sequence[exp.Expr], only: exp.Expr | None) -> str:
        edit = Edit(self.query)
        self._steer(edit, name, terms, only)
        return edit.written()

    def _steer(self, edit: Edit, name: str, terms: Sequence[exp.Expr], only: exp.Expr | None) -> None:
        select = edit.twin(self.node)
        steer = _aggregate(name, _label(terms), only)
        always = exp.GTE(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
        test: exp.Expr = exp.Paren(this=exp.Or(this=exp.Is(this=steer, expression=exp.Null()), expression=always))
        having = select.args.get("having")
        if having is not None:
            test = exp.And(this=exp.Paren(this=having.this), expression=test)
        select.set("having", exp.Having(this=test))

    def _filters(self) -> list[exp.Expr | None]:
        """The rows that bare columns may come from, one condition per MIN or MAX; without one, all rows."""
        found: list[exp.Expr | None] = []
        for extreme in extremes(self.node) if self.is_steered else ():
            only = extreme.parent.expression.this if isinstance(extreme.parent, exp.Filter) else None
            inner = self.node.copy()
            for part in ("having", "order", "limit", "offset", "distinct"):
                inner.set(part, None)
            keys = self._keys
            if keys:
                inner.set("group", exp.Group(expressions=[key.copy() for key in keys]))
            best = (extreme.parent if isinstance(extreme.parent, exp.Filter) else extreme).copy()
            inner.set("expressions", [*map(_quoted, keys), _function("QUOTE", best)])
            argument = extreme.this.expressions[0] if isinstance(extreme.this, exp.Distinct) else extreme.this
            parts = [*map(_quoted, keys), _quoted(argument)]
            left = parts[0] if len(parts) == 1 else exp.Tuple(expressions=parts)
            condition: exp.Expr = exp.In(this=left, query=exp.Subquery(this=inner))
            if only is not None:
                condition = exp.And(this=condition, expression=exp.Paren(this=only.copy()))
            found.append(condition)
        return found or [None]


def takes_any_row(query: str, dialect: str) -> bool:
    """Whether the engine may read any of several rows somewhere in a query, decided from the text only."""
    return bool(any_rows(query, dialect))


@lru_cache(maxsize=2048)
def leaves_choice(query: str, dialect: str) -> bool:
    """Whether a query may choose among rows: by a LIMIT or the like, or by reading any row of several."""
    return may_be_cut(query) or takes_any_row(query, dialect)


@lru_cache(maxsize=2048)
def merging_places(query: str, dialect: str) -> tuple[AnyRow, ...]:
    """The place where a query may keep one of several texts that a collation treats as equal; empty if there is
    none."""
    if len(query) > _MOST_CHARACTERS or not _MERGES.search(query):
        return ()
    read = read_for_probes(query, dialect)
    merges = None if read is None else merges_texts(read)
    return () if read is None or merges is None else (AnyRow("spelling", read, read.tree, (merges,)),)


@lru_cache(maxsize=2048)
def any_rows(query: str, dialect: str) -> tuple[AnyRow, ...]:
    """The places where a query may read any of several rows; empty if it cannot be read."""
    may_limit_by = dialect == "clickhouse" and "limit" in query.lower()
    if len(query) > _MOST_CHARACTERS or not (may_limit_by or _may_take_any_row(query)):
        return ()
    reads_bare = dialect in _READS_BARE_COLUMNS and _WORTH_PARSING.search(query) is not None
    if not reads_bare and not _may_choose(query, dialect):
        return ()
    read = read_for_probes(query, dialect)
    return () if read is None else tuple(_found(read))


def _may_choose(query: str, dialect: str) -> bool:
    return dialect != "sqlite" and _MAY_CHOOSE.search(query) is not None


def _may_take_any_row(query: str) -> bool:
    """Whether a query has any of the words that this would need; neither groups nor subqueries, and only aggregates,
    need nothing."""
    lowered = query.lower()
    if not any([word in lowered for word in _WORTH_READING]):  # noqa: C419 - a generator takes longer
        return False
    outputs = _AGGREGATES_ALONE.match(lowered)
    return outputs is None or any([word in lowered[outputs.end() :] for word in _MAY_READ_MORE])  # noqa: C419


def _found(query: Query) -> Iterator[AnyRow]:
    for node in query.all_of(exp.Query):
        select = query.select_of(node) if isinstance(node, exp.Select) else None
        reads_bare = select is not None and query.dialect in _READS_BARE_COLUMNS
        if reads_bare and select is not None and (terms := bare_terms(select)):
            yield AnyRow("bare column", query, node, tuple(terms))
        if query.dialect != "sqlite":  # other engines refuse the rest
            continue
        if isinstance(node, exp.Select) and orders_by_hidden_key(query, node):
            yield from _hidden_keys(query, node)
        if is_scalar(node) and not gives_one_row(node):
            yield AnyRow("scalar subquery", query, node)
    if (shown := shows_row_order(query)) is not None:
        yield AnyRow("row order", query, query.tree, (shown,))


def _hidden_keys(query: Query, node: exp.Select) -> Iterator[AnyRow]:
    """The keys of a SELECT DISTINCT that may be read from any of the rows that it merges."""
    is_inner = node is not query.tree
    if is_inner and not (node.args.get("limit") or node.args.get("offset")):
        return
    asked = query, deterministic_keys(node)[0].this
    for downwards in (False, True) if is_inner else (None,):
        for grouped, inner in as_groups(query, node, "any", downwards=downwards):
            select = grouped.select_of(inner)
            if select is not None:
                yield AnyRow("bare column", grouped, inner, tuple(bare_terms(select)), asked)


def _function(name: str, argument: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[argument])


def _quoted(term: exp.Expr) -> exp.Expr:
    """The term as its SQL literal: a text that is never NULL, and that every collation compares by its characters."""
    return _function("QUOTE", term.copy())


def _label(terms: Sequence[exp.Expr]) -> exp.Expr:
    """One text for the values of several terms."""
    if not terms:
        return exp.Literal.string("")
    label = _quoted(terms[0])
    for term in terms[1:]:
        label = exp.DPipe(this=label, expression=_quoted(term), safe=True)
    return label


def _aggregate(name: str, key: exp.Expr, only: exp.Expr | None) -> exp.Expr:
    made = _function(name, key)
    return made if only is None else exp.Filter(this=made, expression=exp.Where(this=only.copy()))


def _differs(term: exp.Expr, only: exp.Expr | None, dialect: str) -> exp.Expr:
    if term.is_star:
        counted = _aggregate("COUNT", exp.Literal.number(1), only)
        return exp.GT(this=counted, expression=exp.Literal.number(1))
    value = _quoted(term)
    if dialect == "mysql":  # whose texts have the collation of the term
        value = exp.Cast(this=value, to=exp.DataType.build("binary"))
    low, high = (_aggregate(name, value.copy(), only) for name in ("MIN", "MAX"))
    return exp.NEQ(this=low, expression=high)


def _column(name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True))
