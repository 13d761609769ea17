"""Read the numbers of rows by the keys that they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.sql.probes.edits import Edit

if TYPE_CHECKING:
    from assay.sql.query import Query


def with_keys_for_row_numbers(query: Query) -> str | None:
    """The query with each ``rowid`` that is a table's integer primary key under the key's own name.

    On a copy of the table without its key, where rows are stored in another order, ``rowid`` would be another number.
    None if the query reads no such number.
    """
    from sqlglot import exp

    keys = {}
    for column in query.columns:
        source, stored = query.meaning(column).source, query.stored(column)
        if source is None or source.table is None or stored is None:
            continue
        if stored.column.lower() != column.name.lower():
            keys[id(column)] = stored.column
    if not keys:
        return None
    edit = Edit(query)
    for column in query.columns:
        if id(column) in keys:
            node = edit.twin(column)
            is_output = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
            name = node.this
            node.set("this", exp.to_identifier(keys[id(column)], quoted=True))
            if is_output:
                node.replace(exp.alias_(node.copy(), name.copy()))
    return edit.written()
