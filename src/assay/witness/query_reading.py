"""How one query uses the rows that it reads: and whether its result may depend on the engine, or on chance."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from assay.sql.probes.bare_terms import bare_terms
from assay.sql.probes.edits import Edit
from assay.sql.probes.row_order import collects, is_safe_window, name_of
from assay.sql.probes.scalar_subqueries import gives_one_row, is_scalar
from assay.sql.shape import cutting, is_nondeterministic, outermost, read_shape

if TYPE_CHECKING:
    from sqlglot import exp

    from assay.sql.query import Query

Doubt = Literal[
    "limit", "inner_limit", "window", "tied_window", "collected", "bare_column", "scalar_subquery", "distinct_on"
]
"""A construct that may make a query's result depend on the order in which rows are stored. A ``tied_window`` only shows
tied rows of one table: trying all orders of these shows all its choices."""

_ANY = frozenset({"any_value", "arbitrary"})


class QueryReading(Struct, frozen=True, kw_only=True):
    """How one query uses the rows that it reads."""

    doubts: frozenset[Doubt] = frozenset()
    by_luck: bool = False
    """It uses chance, the clock, or an aggregate that may return any value."""
    ordered: bool = False
    """Its outermost level orders the rows."""
    by_key: str | None = None
    """Its text with row numbers replaced by the keys that they are; None if it reads none."""


def reading_of(query: Query, views: Collection[str]) -> QueryReading:
    """The reading of a query. ``views``: their names in lower case. Raises what sqlglot raises for too deep a query."""
    from sqlglot import exp

    takes_any = any(name_of(node) in _ANY or isinstance(node, exp.AnyValue) for node in query.all_of(exp.Func))
    return QueryReading(
        doubts=doubts_of(query, views),
        by_luck=takes_any or is_nondeterministic(query.text, query.dialect),
        ordered=read_shape(query.text, query.dialect).ordered,
        by_key=_with_keys_for_row_numbers(query),
    )


def doubts_of(query: Query, views: Collection[str] = ()) -> frozenset[Doubt]:
    """The constructs that may make the answer depend on the order of stored rows. ``views``: names in lower case."""
    from sqlglot import exp

    found: set[Doubt] = set()
    outer = cutting(query.tree)
    for node in query.all_of(exp.Limit, exp.Fetch, exp.Offset):
        found.add("limit" if any(node.parent is level for level in outer) else "inner_limit")
    if any(map(collects, query.all_of(exp.Func))):
        found.add("collected")
    for window in query.all_of(exp.Window):
        if not is_safe_window(window):
            found.add("tied_window" if _shows_ties(window, query.tree, views) else "window")
    if any(map(bare_terms, query.selects)):
        found.add("bare_column")
    for inner in query.all_of(exp.Query):
        distinct = inner.args.get("distinct")
        if isinstance(distinct, exp.Distinct) and distinct.args.get("on") is not None:
            found.add("distinct_on")
        if is_scalar(inner) and not gives_one_row(inner):
            found.add("scalar_subquery")
    return frozenset(found)


def _shows_ties(window: exp.Window, tree: exp.Query, views: Collection[str]) -> bool:
    """Whether storing the rows in every order shows all values that a window may give to tied rows.

    The outermost query only selects them, and reads one stored table: tied rows come in the order in which they are
    stored.
    """
    from sqlglot import exp

    select = outermost(tree)
    source = select.args.get("from_")
    if not isinstance(select, exp.Select) or window.parent_select is not select or source is None:
        return False
    if tree.args.get("with_") or select.args.get("with_") or select.args.get("joins") or select.args.get("laterals"):
        return False
    return (
        isinstance(source.this, exp.Table)
        and isinstance(source.this.this, exp.Identifier)
        and source.this.name.lower() not in views
    )


def _with_keys_for_row_numbers(query: Query) -> str | None:
    """The query with each ``rowid`` that is a table's integer primary key under the key's own name.

    On a copy of the table without its key, with rows stored in another order, ``rowid`` would be another number.
    None if the query does not read such a number.
    """
    from sqlglot import exp

    keys = []
    for column in query.columns:
        source, stored = query.meaning(column).source, query.stored(column)
        if source is None or source.table is None or stored is None:
            continue
        if stored.column.lower() != column.name.lower():
            keys.append((column, stored.column))
    if not keys:
        return None
    edit = Edit(query)
    for column, key in keys:
        node = edit.twin(column)
        is_output = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
        name = node.this
        node.set("this", exp.to_identifier(key, quoted=True))
        if is_output:
            node.replace(exp.alias_(node.copy(), name.copy()))
    return edit.written()
