"""The text of an expression as a message shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.sql.trees import copied, nodes_of, written

if TYPE_CHECKING:
    from sqlglot import exp

    from assay.sql.query import Query

_MOST_CHARACTERS = 120
_MOST_PARTS = 300
"""Of an expression that is written anew; a larger one is shown as it stands in the query."""


def shown(query: Query, node: exp.Expr) -> str:
    """The beginning of an expression's text, with the tables' names in place of their aliases.

    A column or a literal is shown as written, anything else as sqlglot writes it: the query's own text leaves out
    keywords and parentheses whose place the parser forgets.
    """
    from sqlglot import exp

    span = query.span(node)
    text = "" if span is None else " ".join(query.text[span.start : span.end].split())
    if isinstance(node, exp.Column):
        table = _table_of(query, node)
        text = text if table is None else str(query.stored(node) or f"{table}.{node.name}")
    elif not isinstance(node, exp.Literal) or not text:
        nodes = nodes_of(node)
        if len(nodes) <= _MOST_PARTS:
            text = _written(query, node, nodes) or text
    return text[:_MOST_CHARACTERS]


def _written(query: Query, node: exp.Expr, nodes: list[exp.Expr]) -> str:
    from sqlglot import exp

    copy = copied(node, bare=True)
    for part, twin in zip(nodes, nodes_of(copy), strict=True):
        table = _table_of(query, part) if isinstance(part, exp.Column) else None
        if table is not None:
            twin.set("table", exp.to_identifier(table))
    try:
        return written(copy, query.dialect)
    except Exception:  # noqa: BLE001 - a generator's own trouble with a rare node: the text is only shown
        return ""


def _table_of(query: Query, column: exp.Column) -> str | None:
    """The table that an alias before a column stands for; None: there is no alias, or more than one of the table."""
    meaning = query.meaning(column)
    if not column.table or meaning.source is None or meaning.select is None:
        return None
    table = meaning.source.table
    return table if sum(source.table == table for source in meaning.select.sources.values()) == 1 else None
