"""Bind a query to be compared: `bare_query`.

Redundant wrappers are removed (`flattening`), names of outputs and of windows are replaced by what they stand for, and
the other names are looked up by `assay.sql.query.Query`. Each column, table and query has a mark that identifies it in
copies.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import Struct

from assay.sql.differences.flattening import flattened, has_wrappers
from assay.sql.nodes import exp
from assay.sql.query import MOST_COMPARED_NODES, Query, Unreadable, read_query, read_tree, too_large
from assay.sql.schema import SchemaNames
from assay.sql.select import Meaning, Select

MARK = "mark"
_EXPANDED = ("order", "group", "having", "where")


class BareQuery(Struct, frozen=True, eq=False):
    """A query without redundant wrappers. Shared: do not change its tree."""

    bound: Query
    marked: tuple[exp.Expr, ...]

    @property
    def tree(self) -> exp.Query:
        """The tree whose names are looked up."""
        return self.bound.tree

    def original(self, node: exp.Expr) -> Any:
        """The node of the tree that this column, table or query is a copy of; None for a new node."""
        mark = node._meta.get(MARK) if node._meta else None
        return None if mark is None else self.marked[mark]

    def select(self, node: exp.Expr) -> Select | None:
        """The SELECT that a node of the tree is."""
        found = self.bound.select_of(node)
        return found if found is not None and found.node is node else None

    def meaning(self, column: exp.Column) -> Meaning:
        """What a column of the tree, or the one that this one is a copy of, means."""
        return self.bound.meaning(self.original(column) or column)


@lru_cache(maxsize=64)
def bare_query(text: str, dialect: str, names: SchemaNames) -> BareQuery | Unreadable:
    """The bound query, or why it cannot be compared."""
    read = read_query(text, dialect, names)
    if isinstance(read, Unreadable):
        return read
    if (reason := too_large(read.nodes, MOST_COMPARED_NODES)) is not None:
        return Unreadable(reason)
    try:
        bound: Query | Unreadable = read
        has_windows = any(select.node.args.get("windows") for select in read.selects)
        if has_wrappers(read.tree) or has_windows or _named_outputs(read):
            tree = flattened(_with_windows_inside(read.tree.copy()))
            bound = read_tree(tree, text, dialect, names)
            if isinstance(bound, Query) and _expand_outputs(bound):
                bound = read_tree(tree, text, dialect, names)
    except RecursionError:
        return Unreadable("is nested too deeply to be compared")
    return bound if isinstance(bound, Unreadable) else marked(bound)


def marked(bound: Query) -> BareQuery:
    """The query with a mark on each column, table and query."""
    nodes = tuple(bound.all_of(exp.Column, exp.Table, exp.Query))
    for place, node in enumerate(nodes):
        node.meta[MARK] = place
    return BareQuery(bound, nodes)


def _with_windows_inside(tree: exp.Query) -> exp.Query:
    """Copy definitions from WINDOW into each OVER that names them: ``OVER (w ORDER BY x)`` extends the window w."""
    defined: dict[tuple[int, str], exp.Expr] = {}
    selects = [select for select in list(tree.find_all(exp.Select)) if select.args.get("windows")]
    for select in selects:
        for window in select.args["windows"]:
            defined[id(select), window.name.lower()] = window
        select.set("windows", None)
    for window in list(tree.find_all(exp.Window)) if selects else ():
        around = window.find_ancestor(exp.Select)
        for _ in defined:
            base = defined.get((id(around), window.text("alias").lower()))
            if base is None:
                break
            window.set("alias", base.args.get("alias"))
            for arg in ("partition_by", "order", "spec"):
                if base.args.get(arg) and not window.args.get(arg):
                    given = base.args[arg]
                    window.set(arg, [one.copy() for one in given] if isinstance(given, list) else given.copy())
    return tree


def _expand_outputs(bound: Query) -> bool:
    """Replace an output's name by its expression, except in the ORDER BY of a set operation."""
    named = _named_outputs(bound)
    for column, output in named:
        made = output.copy()
        is_whole = isinstance(made, exp.Column | exp.Func | exp.Subquery) or isinstance(column.parent, exp.Ordered)
        column.replace(made if is_whole else exp.Paren(this=made))
    return bool(named)


def _named_outputs(bound: Query) -> list[tuple[exp.Column, exp.Expr]]:
    """The columns that are names of outputs, each with the output's expression."""
    found = []
    for column in bound.columns:
        output = bound.meaning(column).output
        clause = None if output is None else _clause_of(column)
        if output is None or clause is None or clause.arg_key not in _EXPANDED:
            continue
        # A number would be read as the position of an output.
        if isinstance(clause.parent, exp.Select) and not isinstance(output, exp.Literal):
            found.append((column, output))
    return found


def _clause_of(column: exp.Expr) -> exp.Expr | None:
    """The clause that contains a column."""
    node = column
    while node.parent is not None and not isinstance(node.parent, exp.Query):
        node = node.parent
    return node if node.parent is not None else None
