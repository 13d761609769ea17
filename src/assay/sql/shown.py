"""The text of an expression as a message shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from assay.sql.select import StoredColumn

if TYPE_CHECKING:
    from sqlglot import exp

_MOST_CHARACTERS = 120
_MOST_PARTS = 300
"""Limit for an expression that is written from the tree; a larger one is shown as in the query."""


def shown(node: exp.Expr, text: str, stored: Callable[[exp.Column], StoredColumn | None], dialect: str) -> str:
    """The beginning of an expression's text, with the tables' names in place of their aliases.

    A column or a literal is shown as written (``text``), the rest as sqlglot writes it: parsing loses the positions of
    keywords and parentheses. ``stored`` gives the column behind a column with an alias before it.
    """
    from sqlglot import exp

    if isinstance(node, exp.Column):
        text = str(stored(node) or text)
    elif not isinstance(node, exp.Literal) or not text:
        nodes = list(node.walk())
        if len(nodes) <= _MOST_PARTS:
            copy = node.copy()
            for part, twin in zip(nodes, copy.walk(), strict=True):
                column = stored(part) if isinstance(part, exp.Column) else None
                if column is not None:
                    twin.set("table", exp.to_identifier(column.table))
            text = _written(copy, dialect) or text
    return text[:_MOST_CHARACTERS]


def _written(tree: exp.Expr, dialect: str) -> str:
    try:
        return tree.sql(dialect)
    except Exception:  # noqa: BLE001 - the generator may fail on a rare node: the text is only shown
        return ""
