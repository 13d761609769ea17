"""The names in a query that a database does not have: `unknown_names`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from assay.model import DatabaseSchema
from assay.sql.clauses.leaves import aliases_of
from assay.sql.clauses.reading import bare_tree

if TYPE_CHECKING:
    from sqlglot import exp


class UnknownNames(Struct, frozen=True, kw_only=True):
    """Tables and columns that do not exist, as the query writes them, each once."""

    tables: tuple[str, ...] = ()
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Each with the tables, in small letters, that it may have been meant to be in."""


def unknown_names(query: str, dialect: str, schema: DatabaseSchema | None) -> UnknownNames | None:
    """The names that no table or column of the schema has; None where the query cannot be parsed.

    A name that the query itself gives, to a CTE or an output, is known. Without a schema nothing is unknown.
    """
    from sqlglot import exp

    tree = bare_tree(query, dialect)
    if tree is None:
        return None
    if schema is None:
        return UnknownNames()
    own = {table.name.lower(): {column.name.lower() for column in table.columns} for table in schema.tables}
    try:
        ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        aliases = {alias.alias.lower() for alias in tree.find_all(exp.Alias, exp.Subquery) if alias.alias}
        aliases |= {
            name.name.lower() for one in tree.find_all(exp.TableAlias) for name in one.args.get("columns") or ()
        }
        tables = list(tree.find_all(exp.Table))
        columns = list(tree.find_all(exp.Column))
    except RecursionError:
        return None
    missing = {
        t.name.lower(): t.name for t in tables if t.name and t.name.lower() not in own and t.name.lower() not in ctes
    }
    used = tuple(dict.fromkeys(table.name.lower() for table in tables if table.name.lower() in own))
    unknown: dict[str, tuple[str, tuple[str, ...]]] = {}
    for column in columns:
        name, table = column.name.lower(), column.table.lower()
        if not name or name in unknown or isinstance(column.this, exp.Star):
            continue
        if table:
            real = _table_called(table, column)
            known = real is None or real not in own or name in own[real] or real in ctes
            if real is None and table not in aliases and table not in ctes:
                known = False
            owners = (real,) if real in own else used
        else:
            known = name in aliases or any(name in own[one] for one in used) or bool(ctes)
            known = known or (bool(column.this.args.get("quoted")) and dialect == "sqlite") or not used
            owners = used
        if not known:
            unknown[name] = (column.name, tuple(one for one in owners if one is not None))
    return UnknownNames(tables=tuple(missing.values()), columns=tuple(unknown.values()))


def _table_called(name: str, column: exp.Expr) -> str | None:
    """The table that a name stands for where a column uses it; None where no FROM around it gives that name."""
    from sqlglot import exp

    select = column.find_ancestor(exp.Select)
    while select is not None:
        found = aliases_of(select).get(name)
        if found is not None:
            return found
        select = select.find_ancestor(exp.Select)
    return None
