"""The SELECTs under a query's set operations, and what each calls its tables."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from assay.sql.trees import nodes_of_kind

if TYPE_CHECKING:
    from sqlglot import exp


def leaves_of(tree: exp.Expr) -> list[exp.Expr]:
    """The SELECTs under the set operations, in their order."""
    from sqlglot import exp

    found: list[exp.Expr] = []
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.SetOperation):
            waiting += [one.expression, one.this]
        elif isinstance(one, exp.Subquery):
            waiting.append(one.this)
        else:
            found.append(one)
    return found


def operators_of(tree: exp.Expr) -> list[str]:
    """The set operations between the SELECTs, in their order."""
    from sqlglot import exp

    found: list[str] = []
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.SetOperation):
            found.append(one.key.upper() + ("" if one.args.get("distinct", True) else " ALL"))
            waiting += [one.expression, one.this]
        elif isinstance(one, exp.Subquery):
            waiting.append(one.this)
    return found


def uses_of(leaf: exp.Expr) -> list[tuple[exp.Expr, str, str]]:
    """The entries of a FROM, each with its table and the name that the query gives it, in small letters."""
    start = leaf.args.get("from_")
    items = [] if start is None else [start.this]
    items += [join.this for join in leaf.args.get("joins") or ()]
    return [
        (item, item.name.lower(), item.alias_or_name.lower()) for item in items if item.key in ("table", "subquery")
    ]


def number_of_use(item: exp.Expr, before: int) -> int:
    """Which use of its table an entry of FROM is: what it was numbered (`pairing`), else the next after ``before``."""
    meta = item._meta
    return int(meta["use"]) if meta and "use" in meta else before + 1


def aliases_of(leaf: exp.Expr) -> dict[str, str]:
    """The tables of a FROM by the names that the query gives them, in small letters."""
    return {alias: table for _, table, alias in uses_of(leaf)}


def written_names(leaf: exp.Expr) -> dict[str, str]:
    """The names that a FROM gives its tables, as they are written, by the same in small letters."""
    from sqlglot import exp

    return {one.alias_or_name.lower(): one.alias_or_name for one in nodes_of_kind(leaf, exp.Table, exp.Subquery)}


def renaming_of(giver: exp.Expr, host: exp.Expr) -> dict[str, str]:
    """The names of one FROM's tables in another, use by use."""
    found: dict[str, str] = {}
    theirs = numbered_uses(host)
    written = written_names(host)
    for use, alias in numbered_uses(giver).items():
        if use in theirs:
            found[alias] = written.get(theirs[use], theirs[use])
    alone = [alias for alias in aliases_of(giver) if alias not in found]
    others = [alias for use, alias in theirs.items() if use not in numbered_uses(giver)]
    if len(alone) == len(others) == 1:  # one table in place of another
        found[alone[0]] = written.get(others[0], others[0])
    return found


def numbered_uses(leaf: exp.Expr) -> dict[tuple[str, int], str]:
    """What each use of a table is called, by the table and the number of the use."""
    seen: Counter[str] = Counter()
    found: dict[tuple[str, int], str] = {}
    for item, table, alias in uses_of(leaf):
        found[table, number_of_use(item, seen[table])] = alias
        seen[table] += 1
    return found


def is_inner(column: exp.Expr, table: str, root: exp.Expr) -> bool:
    """Whether a column belongs to a subquery inside the clause."""
    from sqlglot import exp

    inner = column.find_ancestor(exp.Select)
    while inner is not None and inner is not root and _is_below(inner, root):
        if not table or table in aliases_of(inner):
            return True
        inner = inner.find_ancestor(exp.Select)
    return False


def _is_below(node: exp.Expr, root: exp.Expr) -> bool:
    above = node.parent
    while above is not None:
        if above is root:
            return True
        above = above.parent
    return False
