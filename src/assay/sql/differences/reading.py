"""Read a query into its parts: `read_parts`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from assay.sql.differences.comparing import differences, unshared_tables
from assay.sql.differences.flattening import flattened
from assay.sql.differences.leaves import number_of_use
from assay.sql.differences.pairing import best_numbering, in_golds_order
from assay.sql.differences.parts import OrderTerm, QueryParts, SelectParts, SourceTable, Term, inner_queries
from assay.sql.differences.scopes import Scope, Source
from assay.sql.differences.spelling import conjuncts
from assay.sql.differences.terms import Merging, Terms, outputs_of
from assay.sql.differences.writing import plain_text
from assay.sql.schema_names import SchemaNames
from assay.sql.shape import ParsedQuery, parse_query
from assay.sql.sources import entries_of
from assay.sql.trees import copied, written

if TYPE_CHECKING:
    from sqlglot import exp

MOST_CHARACTERS = 10_000
MOST_TOKENS = 1_500
MOST_SELECTS = 60
"""A longer query is not compared clause by clause: that would take seconds, and nobody would read the result."""


class TooLargeError(Exception):
    """A query holds more SELECTs than are read."""


def read_parts(
    query: str, dialect: str, names: SchemaNames, *, called: Mapping[str, str] | None = None
) -> QueryParts | None:
    """The parts of one query; None where it cannot be parsed, or is too long or too deep to compare.

    ``called`` gives tables other names, under which their columns then stand.
    """
    tree = bare_tree(query, dialect)
    return None if tree is None else _parts(tree, dialect, names, called=called)


def _parts(
    tree: exp.Query, dialect: str, names: SchemaNames, *, called: Mapping[str, str] | None = None
) -> QueryParts | None:
    try:
        return Reader(names, dialect, called or {}).query(tree, None, {})
    except (RecursionError, TooLargeError):
        return None


_Ctes = Mapping[str, tuple[QueryParts, Mapping[str, "exp.Expr"]]]


def parse_short(query: str, dialect: str) -> ParsedQuery | None:
    """The tree of a query; None where it cannot be parsed or is too long."""
    if len(query) > MOST_CHARACTERS:
        return None
    parsed = parse_query(query, dialect)
    return None if parsed is None or len(parsed.tokens) > MOST_TOKENS else parsed


@lru_cache(maxsize=64)
def bare_tree(query: str, dialect: str) -> exp.Query | None:
    """The tree of a query, `flattened`, without the places of its parts in the text; None as for `parse_short`.

    Copying those places takes as long as copying the rest. The tree is shared: whoever changes it must copy it first.
    """
    parsed = parse_short(query, dialect)
    if parsed is None:
        return None
    try:
        return flattened(copied(parsed.tree, bare=True))
    except RecursionError:
        return None


@lru_cache(maxsize=8)
def pair_trees(gold: str, predicted: str, dialect: str, names: SchemaNames) -> tuple[exp.Query, exp.Query] | None:
    """The trees of two queries to be compared, what has no order in gold's order; None as for `bare_tree`.

    The trees are shared: whoever changes one must copy it first.
    """
    ours, theirs = bare_tree(gold, dialect), bare_tree(predicted, dialect)
    if ours is None or theirs is None:
        return None

    @cache
    def known() -> QueryParts | None:
        return _parts(ours, dialect, names)

    def differ(tree: exp.Query) -> int:
        parts, golds = _parts(tree, dialect, names), known()
        return 0 if parts is None or golds is None else sum(1 for _ in differences(golds, parts))

    try:
        return ours, best_numbering(ours, in_golds_order(ours, theirs), differ)
    except RecursionError:
        return None


def read_pair(gold: str, predicted: str, dialect: str, names: SchemaNames) -> tuple[QueryParts, QueryParts] | None:
    """The parts of two queries to be compared; None where one of them cannot be read.

    Where the prediction reads one table in place of one of gold's, its columns stand under the name of gold's table:
    that they are another table's is one difference, not one for each column.
    """
    trees = pair_trees(gold, predicted, dialect, names)
    ours, theirs = (_parts(tree, dialect, names) for tree in trees) if trees is not None else (None, None)
    if trees is None or ours is None or theirs is None:
        return None
    missing, extra = unshared_tables(ours, theirs)
    known = {source.table for select in ours.all_selects() for source in select.sources}
    if len(missing) == len(extra) == 1 and extra[0] not in known:
        again = _parts(trees[1], dialect, names, called={extra[0]: missing[0]})
        return ours, theirs if again is None else again
    return ours, theirs


class Reader:
    """Reads one query and all inside it."""

    def __init__(self, names: SchemaNames, dialect: str, called: Mapping[str, str]) -> None:
        self._names = names
        self._called = called
        self._dialect = dialect
        self._sizes: dict[int, tuple[int, QueryParts]] = {}
        """How many SELECTs a query holds, a CTE counted at each use. The query is kept so that its id stays its own."""

    def query(self, tree: exp.Expr, outer: Scope | None, ctes: _Ctes) -> QueryParts:
        """The parts of a query that stands inside ``outer``."""
        return self.query_and_outputs(tree, outer, ctes)[0]

    def query_and_outputs(
        self, tree: exp.Expr, outer: Scope | None, ctes: _Ctes
    ) -> tuple[QueryParts, Mapping[str, exp.Expr]]:
        """As `query`, with what each output column is computed from, by name. Raises TooLargeError."""
        parts, outputs = self._query(tree, outer, ctes)
        inner = (query for select in parts.selects for query in inner_queries(select))
        size = len(parts.selects) + sum(self._sizes.get(id(query), (0, query))[0] for query in inner)
        if size > MOST_SELECTS:
            raise TooLargeError
        self._sizes[id(parts)] = (size, parts)
        return parts, outputs

    def _query(self, tree: exp.Expr, outer: Scope | None, ctes: _Ctes) -> tuple[QueryParts, Mapping[str, exp.Expr]]:
        from sqlglot import exp

        ctes = self._ctes(tree, outer, ctes)
        if isinstance(tree, exp.SetOperation):
            return self._set_operation(tree, outer, ctes)
        if isinstance(tree, exp.Subquery):
            inner, outputs = self.query_and_outputs(tree.this, outer, ctes)
            limit, offset = _cut(tree)
            if limit is not None or offset is not None:
                inner = QueryParts(
                    selects=inner.selects, operators=inner.operators, order=inner.order, limit=limit, offset=offset
                )
            return inner, outputs
        if isinstance(tree, exp.Select):
            select, outputs = self._select(tree, outer, ctes)
            return QueryParts(selects=(select,)), outputs
        text = plain_text(tree)
        return QueryParts(selects=(SelectParts(outputs=(Term(text=text, merged=text, shown=text),)),)), {}

    def _ctes(self, tree: exp.Expr, outer: Scope | None, ctes: _Ctes) -> _Ctes:
        with_ = tree.args.get("with_")
        if with_ is None:
            return ctes
        known = dict(ctes)
        for cte in with_.expressions:
            parts, outputs = self.query_and_outputs(cte.this, outer, known)
            columns = [column.name.lower() for column in cte.args["alias"].args.get("columns") or ()]
            if columns and len(columns) == len(outputs):
                outputs = dict(zip(columns, outputs.values(), strict=True))
            known[cte.alias.lower()] = (parts, outputs)
        return known

    def _set_operation(
        self, tree: exp.SetOperation, outer: Scope | None, ctes: _Ctes
    ) -> tuple[QueryParts, Mapping[str, exp.Expr]]:
        left, outputs = self.query_and_outputs(tree.this, outer, ctes)
        right, _ = self.query_and_outputs(tree.expression, outer, ctes)
        operator = tree.key.upper() + ("" if tree.args.get("distinct", True) else " ALL")
        limit, offset = _cut(tree)
        scope = Scope(outer=outer, aliases=dict(outputs))
        terms = Terms(self, scope, self._dialect, self._keys(()), ctes)
        parts = QueryParts(
            selects=(*left.selects, *right.selects),
            operators=(*left.operators, operator, *right.operators),
            order=_order(tree, terms, tuple(outputs.values())),
            limit=limit,
            offset=offset,
        )
        return parts, outputs

    def _select(self, tree: exp.Select, outer: Scope | None, ctes: _Ctes) -> tuple[SelectParts, Mapping[str, exp.Expr]]:
        scope = Scope(outer=outer)
        inner: list[QueryParts] = []
        tables: list[SourceTable] = []
        for item, join in entries_of(tree):
            source, query = self._source(item, scope, ctes, outer)
            scope.sources[(item.alias_or_name or source.name).lower()] = source
            inner += [] if query is None else [query]
            tables.append(SourceTable(name=source.name, table=source.table, join=join))
        keys = frozenset() if any(table.join != "INNER" for table in tables) else self._keys(scope.sources.values())
        terms = Terms(self, scope, self._dialect, keys, ctes)
        for join in tree.args.get("joins") or ():
            list(terms.using(join))  # what a star leaves out
        outputs = outputs_of(tree, scope, terms)
        scope.aliases = {name: tree for name, tree in outputs if name}
        plain = tuple(resolved for _, resolved in outputs)
        merging, outer_merging, where, outer_joins, having = self._conditions(tree, terms)
        group = _keys_of_group(tree.args.get("group"), plain)
        limit, offset = _cut(tree)
        parts = SelectParts(
            outputs=tuple(
                terms.term(resolved, shown or plain_text(resolved))
                for resolved, shown in zip(plain, _shown(tree, len(plain)), strict=True)
            ),
            distinct=tree.args.get("distinct") is not None,
            sources=tuple(tables),
            joins=merging.classes,
            outer_equal=outer_merging.classes,
            outer_joins=outer_joins,
            where=where,
            group=tuple(terms.read(terms.output(key, plain)) for key in group),
            having=having,
            order=_order(tree, terms, plain),
            limit=limit,
            offset=offset,
            inner=tuple(inner),
        )
        return merging.applied(parts), {name or f"_{place}": tree for place, (name, tree) in enumerate(outputs)}

    def _conditions(
        self, tree: exp.Select, terms: Terms
    ) -> tuple[Merging, Merging, tuple[Term, ...], tuple[Term, ...], tuple[Term, ...]]:
        """Joins, WHERE, other join conditions and HAVING: what a condition says counts, not where it stands."""
        merging, outer = Merging(), Merging()
        where: list[Term] = []
        outer_joins: list[Term] = []
        for join in tree.args.get("joins") or ():
            is_outer = bool(join.args.get("side"))
            for left, right in terms.using(join):
                (outer if is_outer else merging).equate(left, right)
            for one in conjuncts(join.args.get("on")):
                resolved = terms.resolve(one)
                equated = terms.equated(resolved)
                if is_outer and equated is not None:
                    outer.equate(*equated)
                elif is_outer:
                    outer_joins.append(terms.term(resolved, written(one, self._dialect)))
                elif equated is None or not merging.equate(*equated):
                    where.append(terms.condition(resolved, written(one, self._dialect)))
        found = tree.args.get("where")
        for one in conjuncts(found.this if found else None):
            resolved = terms.resolve(one)
            equated = terms.equated(resolved)
            if equated is None or not merging.equate(*equated):
                where.append(terms.condition(resolved, written(one, self._dialect)))
        having: list[Term] = []
        found = tree.args.get("having")
        for one in conjuncts(found.this if found else None):
            having.append(terms.condition(terms.resolve(one), written(one, self._dialect)))
        return merging, outer, _once(where), tuple(outer_joins), _once(having)

    def _source(
        self, item: exp.Expr, scope: Scope, ctes: _Ctes, outer: Scope | None
    ) -> tuple[Source, QueryParts | None]:
        from sqlglot import exp

        if isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier):
            table = item.name.lower()
            if table in ctes:
                query, outputs = ctes[table]
                name = item.alias.lower() or table
                return Source(name=name, outputs=outputs, columns=tuple(outputs)), query
            use = number_of_use(item, Counter(source.table for source in scope.sources.values())[table])
            name = self._called.get(table, table)
            name = f"{name}#{use}" if use > 1 else name
            return Source(name=name, table=table, columns=self._names.columns.get(table)), None
        if isinstance(item, exp.Subquery):
            parts, outputs = self.query_and_outputs(item, outer, ctes)
            return Source(name=item.alias.lower() or "subquery", outputs=outputs, columns=tuple(outputs)), parts
        return Source(name=item.alias_or_name.lower() or "source"), None

    def _keys(self, sources: Sequence[Source] | object) -> frozenset[str]:
        found: set[str] = set()
        for source in sources if not isinstance(sources, tuple) else ():  # type: ignore[attr-defined]
            found |= {f"{source.name}.{key}" for key in self._names.keys.get(source.table, ())}
        return frozenset(found)


def _cut(tree: exp.Expr) -> tuple[str | None, str | None]:
    """The LIMIT and the OFFSET of a query, as text."""
    limit, offset = tree.args.get("limit"), tree.args.get("offset")
    cut = None
    if limit is not None:
        count = limit.args.get("expression") or limit.args.get("count")
        cut = plain_text(count if count is not None else limit)
    return cut, plain_text(offset.expression) if offset is not None else None


def _order(tree: exp.Expr, terms: Terms, outputs: Sequence[exp.Expr]) -> tuple[OrderTerm, ...]:
    order = tree.args.get("order")
    return tuple(
        OrderTerm(term=terms.read(terms.output(key.this, outputs)), descending=bool(key.args.get("desc")))
        for key in (order.expressions if order else ())
        if key.key == "ordered"
    )


def _keys_of_group(group: exp.Expr | None, outputs: Sequence[exp.Expr]) -> Sequence[exp.Expr]:
    """The keys of a GROUP BY; of GROUP BY ALL the outputs that aggregate nothing."""
    from sqlglot import exp

    if group is None:
        return ()
    if group.args.get("all") and not group.expressions:
        return [one for one in outputs if next(iter(one.find_all(exp.AggFunc)), None) is None]
    keys: Sequence[exp.Expr] = group.expressions
    return keys


def _shown(tree: exp.Select, count: int) -> list[str]:
    written = [plain_text(output.unalias()) for output in tree.expressions]
    return written if len(written) == count else [""] * count


def _once(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The terms without repetitions."""
    return tuple({term.text: term for term in terms}.values())
