"""Which table a column belongs to: the tables that a query can see at one place, and the names it gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from sqlglot import exp


class Source(Struct):
    """One entry of a FROM clause."""

    name: str
    """The name in the resolved query: the table's own, numbered where it occurs again."""
    table: str = ""
    """The table in the database; empty for a subquery or a CTE."""
    columns: tuple[str, ...] | None = None
    """None where they are not known."""
    outputs: Mapping[str, exp.Expr] = field(default_factory=dict)
    """For a subquery or a CTE: what its columns are computed from."""
    opaque: bool = False


class Scope(Struct):
    """The sources that one SELECT sees, and through ``outer`` those of the queries around it."""

    sources: dict[str, Source] = field(default_factory=dict)
    """By alias in small letters."""
    outer: Scope | None = None
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    """The names that the SELECT gives its outputs."""

    def find(self, column: str, table: str) -> tuple[Source, int] | None:
        """The source of a column and how many queries further out it is; None where no known table has it."""
        for by_alias in (True, False) if table else (True,):  # an alias hides the table's own name
            scope: Scope | None = self
            depth = 0
            while scope is not None:
                source = scope._own(column, table, by_alias=by_alias)
                if source is not None:
                    return source, depth
                scope, depth = scope.outer, depth + 1
        return None

    def _own(self, column: str, table: str, *, by_alias: bool) -> Source | None:
        if table and by_alias:
            return self.sources.get(table)
        if table:
            return next((one for one in self.sources.values() if one.table == table), None)
        holding = [one for one in self.sources.values() if one.columns is not None and column in one.columns]
        if holding:
            return holding[0]
        unknown = [one for one in self.sources.values() if one.columns is None]
        if len(unknown) == 1 and len(self.sources) == 1:
            return unknown[0]
        return None
