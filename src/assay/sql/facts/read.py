"""Read the facts of a query from its tree. Every step is a loop, or gives up where the tree is too deep for Python."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from assay.sql.facts.levels import read_levels
from assay.sql.facts.model import QueryFacts
from assay.sql.facts.scopes import Scopes
from assay.sql.facts.terms import Terms
from assay.sql.schema_names import SchemaNames
from assay.sql.shape import parse_query

if TYPE_CHECKING:
    from sqlglot import exp

MOST_CHARACTERS = 50_000
"""A longer query is not read: that would take seconds."""


def read_facts(query: str, dialect: str, names: SchemaNames | None = None) -> QueryFacts | None:
    """The facts of one query; None where it cannot be parsed, is not one query or is too long. Never raises.

    Without ``names`` columns have no types, and a table only where the query itself says which.
    """
    from sqlglot.errors import SqlglotError

    if len(query) > MOST_CHARACTERS:
        return None
    parsed = parse_query(query, dialect)
    if parsed is None:
        return None
    try:
        return _facts(parsed.tree, query, dialect, names)
    except (RecursionError, SqlglotError, ValueError):
        return None


def _facts(tree: exp.Query, query: str, dialect: str, names: SchemaNames | None) -> QueryFacts:
    from sqlglot import exp

    scopes = Scopes(tree, names, dialect)
    terms = Terms(scopes, query, dialect)
    read = read_levels(scopes, terms)
    operations = {
        kind: any(True for _ in tree.find_all(node))
        for kind, node in (("union", exp.Union), ("intersect", exp.Intersect), ("except", exp.Except))
    }
    unions = list(tree.find_all(exp.Union))
    literals = tuple(terms.literals(tree))
    return QueryFacts(
        levels=tuple(read.levels),
        conditions=tuple(read.conditions),
        aggregates=tuple(read.aggregates),
        divisions=tuple(read.divisions),
        literals=literals,
        set_operations=frozenset(kind for kind, there in operations.items() if there),
        union_all=any(union.args.get("distinct") is False for union in unions),
        windowed=tree.find(exp.Window) is not None,
        compares_with_subquery=any(
            isinstance(side, (exp.Subquery, exp.All, exp.Any))
            for node in tree.find_all(exp.Predicate)
            for side in (node.args.get("this"), node.args.get("expression"))
        ),
        unresolved=tuple(scopes.unresolved),
    )


@lru_cache(maxsize=4096)
def comments_of(query: str, dialect: str) -> tuple[str, ...]:
    """The texts of a query's comments; none where it cannot be cut into words."""
    from sqlglot import Dialect
    from sqlglot.errors import SqlglotError

    if "--" not in query and "/*" not in query and "#" not in query:
        return ()
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(query)
    except (SqlglotError, ValueError):
        return ()
    return tuple(comment for token in tokens for comment in token.comments)
