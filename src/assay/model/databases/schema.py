"""What a database holds, as far as the author of a query needs to know it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class ColumnSchema(Struct, frozen=True, kw_only=True):
    """One column of a table or view."""

    name: str
    type: str
    """As the database declares it; empty if it declares none."""
    not_null: bool = False
    """Whether a constraint keeps NULL out of it."""
    values: tuple[str, ...] = ()
    """A few distinct values as SQL literals, in the order in which they come, without NULL."""


class ForeignKey(Struct, frozen=True, kw_only=True):
    """Columns that refer to another table's."""

    columns: tuple[str, ...]
    table: str
    referenced: tuple[str, ...]
    """The other table's columns, in the order of ``columns``; empty: its primary key."""


class TableSchema(Struct, frozen=True, kw_only=True):
    """A table or view. A view has no sample values: they would have to be computed."""

    name: str
    """The name without quotes; see ``quoted_name``."""
    quote: str = '"'
    """What the database puts around names: MySQL a backtick."""
    namespace: str | None = None
    """The table's schema, if it is not the default one."""
    kind: Literal["table", "view"] = "table"
    ddl: str
    """The statement that made it, without a semicolon at its end."""
    columns: tuple[ColumnSchema, ...]
    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    """Other sets of columns that the database keeps unique; rows with a NULL in one of them may be equal."""
    indexes: tuple[str, ...] = ()
    """Statements that make further unique indexes: of some rows only, of expressions, by another collation."""
    checks: tuple[str, ...] = ()
    """Conditions that no row may make false, as SQL expressions."""
    foreign_keys: tuple[ForeignKey, ...] = ()
    triggers: tuple[str, ...] = ()
    """Statements that make the triggers that inserting rows may set off."""
    first_row: tuple[str, ...] = ()
    """Its first row as SQL literals, long ones cut; empty if there is none."""

    @property
    def quoted_name(self) -> str:
        """The name as a query must write it, whatever characters it has."""
        return ".".join(quoted(part, self.quote) for part in (self.namespace, self.name) if part is not None)


class DatabaseSchema(Struct, frozen=True, kw_only=True):
    """All tables and views of a database, in an order that depends only on its content."""

    dialect: str
    """sqlglot's name of its SQL dialect."""
    tables: tuple[TableSchema, ...]


def quoted(name: str, quote: str = '"') -> str:
    """An identifier in SQL's double quotes, or in the database's own."""
    return quote + name.replace(quote, quote * 2) + quote
