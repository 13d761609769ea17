"""What a text holds: one read-only query, or something else."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

StatementKind = Literal["query", "write", "command", "several", "none", "unreadable"]
"""``query`` one statement that only reads; ``write`` one that changes data or schema, however
deeply the change is hidden; ``command`` one of another kind (PRAGMA, SET, ATTACH); ``several``
more than one statement; ``none`` no statement at all; ``unreadable`` a text that sqlglot cannot parse."""


@lru_cache(maxsize=2048)
def statement_kind(query: str, dialect: str) -> StatementKind:
    """What a text holds. Never raises: a text that cannot be parsed is ``unreadable``."""
    from sqlglot import exp, parse
    from sqlglot.errors import SqlglotError

    try:
        parsed = parse(query, read=dialect)
    except (SqlglotError, RecursionError, ValueError):
        return "unreadable"
    trees = [tree for tree in parsed if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(trees) != 1:
        return "several" if trees else "none"
    tree = trees[0]
    writes = (exp.DML, exp.DDL, exp.Drop, exp.Alter, exp.TruncateTable, exp.Merge, exp.Into)
    # In sqlglot, DDL and DML are also base classes of queries, so they are checked separately.
    if any(isinstance(node, writes) and not isinstance(node, exp.Query) for node in tree.walk()):
        return "write"
    if not isinstance(tree, (exp.Query, exp.Values)):
        return "command"
    return "query"
