"""Where a query may leave its answer to the engine: to the order in which rows are stored, or to chance."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from assay.sql.probes.bare_terms import bare_terms
from assay.sql.probes.row_order import collects, is_safe_window, name_of
from assay.sql.probes.scalar_subqueries import gives_one_row, is_scalar
from assay.sql.shape import cutting, outermost
from assay.sql.witness_facts.model import Doubt

if TYPE_CHECKING:
    from sqlglot import exp

    from assay.sql.query import Query

_ANY = frozenset({"any_value", "arbitrary"})


def takes_any(tree: exp.Query) -> bool:
    """Whether an aggregate may return any of its values."""
    from sqlglot import exp

    return any(name_of(node) in _ANY or isinstance(node, exp.AnyValue) for node in tree.find_all(exp.Func))


def doubts_of(query: Query, views: Collection[str] = ()) -> frozenset[Doubt]:
    """The constructs that may make the answer depend on the order of stored rows. ``views``: names in lower case."""
    from sqlglot import exp

    found: set[Doubt] = set()
    tree = query.tree
    outer = cutting(tree)
    for node in tree.find_all(exp.Limit, exp.Fetch, exp.Offset):
        found.add("limit" if any(node.parent is one for one in outer) else "inner_limit")
    for function in tree.find_all(exp.Func):
        if collects(function):
            found.add("collected")
    for window in tree.find_all(exp.Window):
        if not is_safe_window(window):
            found.add("tied_window" if _shows_ties(window, tree, views) else "window")
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
    """Whether all values that a window may give to tied rows are seen by storing the rows in every order.

    The outermost query only selects them, and reads one stored table: what ties comes in the order in which it is
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
