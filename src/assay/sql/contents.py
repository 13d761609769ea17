"""What a text holds: one read-only query or something else, and the tables and literals it names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

StatementKind = Literal["query", "write", "command", "several", "none", "unreadable"]
"""``query`` one statement that only reads; ``write`` one that changes data or schema, however
deeply the change is hidden; ``command`` one of another kind (PRAGMA, SET, ATTACH); ``several``
more than one statement; ``none`` no statement at all; ``unreadable`` what sqlglot cannot parse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContents:
    """What one text holds. Tables and literals are sorted and without duplicates.

    Tables are as written, without those that the query itself defines (CTEs); literals are the
    texts of its string and number literals. Both are empty unless ``kind`` is ``query``.
    """

    kind: StatementKind
    tables: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()

    @property
    def read_only(self) -> bool:
        """Whether it is one query that only reads."""
        return self.kind == "query"


@lru_cache(maxsize=2048)
def read_contents(query: str, dialect: str) -> QueryContents:
    """Read what a text holds. Never raises: what cannot be parsed is ``unreadable``."""
    from sqlglot import exp, parse
    from sqlglot.errors import SqlglotError

    try:
        parsed = parse(query, read=dialect)
    except (SqlglotError, RecursionError, ValueError):
        return QueryContents(kind="unreadable")
    trees = [tree for tree in parsed if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(trees) != 1:
        return QueryContents(kind="several" if trees else "none")
    tree = trees[0]
    writes = (exp.DML, exp.DDL, exp.Drop, exp.Alter, exp.TruncateTable, exp.Merge, exp.Into)
    # DDL and DML are also bases of queries (a Select can be inserted from), so those are told apart.
    if any(isinstance(node, writes) and not isinstance(node, exp.Query) for node in tree.walk()):
        return QueryContents(kind="write")
    if not isinstance(tree, (exp.Query, exp.Values)):
        return QueryContents(kind="command")
    defined = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    tables = {table.name for table in tree.find_all(exp.Table) if table.name and table.name.lower() not in defined}
    literals = {literal.name for literal in tree.find_all(exp.Literal)}
    return QueryContents(kind="query", tables=tuple(sorted(tables)), literals=tuple(sorted(literals)))
