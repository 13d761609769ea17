"""The SELECTs under a query's set operations, and their names for their tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from assay.sql.differences.binding import BareQuery
from assay.sql.nodes import exp
from assay.sql.select import Source

Uses = Mapping[int, int]
"""The number of the use of its table, by the id of an entry of FROM. Others are numbered in text order."""


def leaves_of(tree: exp.Expr) -> list[exp.Expr]:
    """The SELECTs under the set operations, in order."""
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
    """The set operations between the SELECTs, in order."""
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


def sources_of(query: BareQuery, leaf: exp.Expr) -> list[Source]:
    """The sources of a SELECT."""
    select = query.select(leaf)
    return [] if select is None else list(select.sources.values())


def table_of(source: Source) -> str:
    """The lower-case name by which an entry of FROM reads its table or CTE; empty for a subquery."""
    return source.node.name.lower() if source.node.key == "table" else ""


def numbered_uses(query: BareQuery, leaf: exp.Expr, uses: Uses) -> dict[tuple[str, int], str]:
    """The name of each use of a table, as written, by the table and the number of the use."""
    seen: Counter[str] = Counter()
    found: dict[tuple[str, int], str] = {}
    for source in sources_of(query, leaf):
        table = table_of(source)
        seen[table] += 1
        found[table, uses.get(id(source.node), seen[table])] = source.node.alias_or_name
    return found


def renaming_of(giver: Mapping[tuple[str, int], str], host: Mapping[tuple[str, int], str]) -> dict[str, str]:
    """The lower-case names of one FROM's tables, mapped to those of another FROM, use by use."""
    found = {alias.lower(): host[use] for use, alias in giver.items() if use in host}
    alone = [alias.lower() for use, alias in giver.items() if use not in host]
    others = [alias for use, alias in host.items() if use not in giver]
    if len(alone) == len(others) == 1:  # one table in place of another
        found[alone[0]] = others[0]
    return found
