"""Write a SELECT DISTINCT that is ordered by a key outside its outputs as groups, which any probe can read.

The rows that DISTINCT merges may differ in a key that is not among the outputs. SQLite and MySQL order the merged row
by the key of any of them. That is a bare column of a group::

    SELECT DISTINCT v FROM t ORDER BY k LIMIT 1
    SELECT assay_1 AS v FROM (SELECT v AS assay_1, k AS assay_key_1 FROM t) AS assay_rows
        GROUP BY assay_1 ORDER BY assay_key_1 LIMIT 1
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING, Literal

from assay.sql.probes.edits import Edit, breaking_keys, order_further, places
from assay.sql.probes.order_keys import read_key
from assay.sql.query import Query, Unreadable, read_tree
from assay.sql.shape import deterministic_keys

if TYPE_CHECKING:
    from sqlglot import exp

Reads = Literal["any", "first", "least"]
"""Which row's key is read: any one, the first of the table, or the least key of all rows."""
_MOST_READINGS = 4


def orders_by_hidden_key(query: Query, node: exp.Expr) -> bool:
    """Whether a query is a SELECT DISTINCT with a key of ORDER BY that none of its outputs holds."""
    from sqlglot import exp

    if not isinstance(node, exp.Select) or node.args.get("order") is None:
        return False
    distinct = node.args.get("distinct")
    if distinct is None or distinct.args.get("on") is not None or isinstance(node.selects[0], exp.Star):
        return False
    return any(read_key(query, key, node.selects).column(node.selects) is None for key in deterministic_keys(node))


def as_groups(
    query: Query, node: exp.Select, reads: Reads, *, downwards: bool | None = None
) -> Iterator[tuple[Query, exp.Select]]:
    """The whole query with this SELECT DISTINCT as groups, and the grouped SELECT, for each possible meaning of names
    in its keys. None if a star hides an output. ``downwards``: how outputs break ties; None if they do not."""
    if node.is_star:
        return
    keys = [read_key(query, key, node.selects) for key in deterministic_keys(node)]
    readings = product(*(list(key.readings(query, node.selects)) for key in keys))
    for ordered in islice(readings, _MOST_READINGS):
        edit = Edit(query)
        grouped = _grouped(edit, node, ordered, reads)
        if downwards is not None:
            outputs = places(len(node.selects))
            order_further(grouped, breaking_keys(outputs, query.dialect, downwards=downwards))
        read = read_tree(edit.tree, query.text, query.dialect)
        if not isinstance(read, Unreadable):
            yield read, grouped


def _grouped(edit: Edit, node: exp.Select, ordered: Sequence[exp.Expr], reads: Reads) -> exp.Select:
    from sqlglot import exp

    rows = edit.twin(node)
    outputs = rows.selects
    names = [f"assay_{number}" for number, _ in enumerate(outputs, start=1)]
    hidden = [f"assay_key_{number}" for number, _ in enumerate(ordered, start=1)]
    shown = [
        exp.alias_(exp.column(name), output.output_name or name) for name, output in zip(names, outputs, strict=True)
    ]
    keys: list[exp.Expr] = []
    for key, name in zip(ordered, hidden, strict=True):
        read: exp.Expr = exp.column(name)
        keys.append(
            exp.Ordered(
                this=exp.Min(this=read) if reads == "least" else read,
                desc=key.args.get("desc"),
                nulls_first=key.args.get("nulls_first"),
            )
        )
    grouped = exp.select(*shown).group_by(*names, copy=False)
    grouped.set("order", exp.Order(expressions=keys))
    if reads == "first":  # bare columns follow a MIN
        grouped.having("MIN(assay_row) > 0", copy=False)
    for part in ("with_", "limit", "offset"):
        grouped.set(part, rows.args.get(part))
        rows.set(part, None)
    if rows is edit.tree:
        edit.tree = grouped
    else:
        rows.replace(grouped)
    for part in ("distinct", "order"):
        rows.set(part, None)
    columns = [exp.alias_(output.unalias(), name) for output, name in zip(outputs, names, strict=True)]
    columns += [exp.alias_(key.this, name) for key, name in zip(ordered, hidden, strict=True)]
    if reads == "first":
        columns.append(exp.alias_(exp.Window(this=exp.RowNumber(), over="OVER"), "assay_row"))
    rows.set("expressions", columns)
    grouped.from_(rows.subquery("assay_rows", copy=False), copy=False)
    return grouped
