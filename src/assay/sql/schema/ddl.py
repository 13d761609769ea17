"""Read a database's schema from the statements that make it: CREATE TABLE, CREATE INDEX, ALTER TABLE.

Other statements are ignored. One that cannot be read is reported, never guessed: its table is then unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from assay.model import ColumnSchema, DatabaseSchema, ForeignKey, TableSchema
from assay.sql.reader import first_statement
from assay.sql.schema.create_table import TableClauses, table_clauses, without_sqlites_own

if TYPE_CHECKING:
    from sqlglot import Token, exp

_DEFAULT_NAMESPACES = frozenset({"main", "public", "dbo"})
_COPIED_ROWS = re.compile(
    r"^[ \t]*COPY\b[^;]*\bFROM\s+stdin\b[^;]*;.*?^\\\.[ \t]*$", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
_CLIENT_COMMAND = re.compile(r"^[ \t]*\\\w.*$", re.MULTILINE)
_OPENS_SCHEMA = frozenset({"create", "alter"})
_UNPARSED_OPTIONS = frozenset({"without", "rowid", "strict", ","})
"""What may follow SQLite's CREATE TABLE and sqlglot does not know."""
_NEVER_NULL_TYPES = frozenset({"SERIAL", "BIGSERIAL", "SMALLSERIAL"})


class DdlReading(Struct, frozen=True, kw_only=True):
    """The contents of a DDL text."""

    schema: DatabaseSchema
    unread: tuple[str, ...] = ()
    """What could not be read or cannot be expressed, one sentence each: the schema may lack tables or constraints."""


def read_ddl(text: str, dialect: str) -> DdlReading:
    """The tables, views and constraints that a text of SQL statements makes. Never raises for the content of the
    text."""
    from sqlglot import Dialect
    from sqlglot.errors import SqlglotError

    text = _CLIENT_COMMAND.sub("", _COPIED_ROWS.sub("", text))
    found = _Found(dialect=dialect)
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(text)
    except SqlglotError as error:
        return DdlReading(
            schema=DatabaseSchema(dialect=dialect, tables=()),
            unread=(f"the text cannot be split into statements: {_first_line(error)}",),
        )
    for statement in _statements(tokens):
        if statement[0].text.lower() in _OPENS_SCHEMA:
            _read_statement(text[statement[0].start : statement[-1].end + 1], statement, found)
    return DdlReading(
        schema=DatabaseSchema(dialect=dialect, tables=tuple(table.schema() for table in found.tables.values())),
        unread=tuple(found.unread),
    )


def with_declared(schema: DatabaseSchema) -> DatabaseSchema:
    """The schema with the constraints of each table's own statement, if the reader omitted these."""
    tables = []
    for table in schema.tables:
        told = table.unique or table.checks or any(column.not_null for column in table.columns)
        read = () if told or table.kind == "view" else read_ddl(table.ddl, schema.dialect).schema.tables
        own = read[0] if len(read) == 1 else None
        if own is not None:
            never_null = {column.name.lower() for column in own.columns if column.not_null}
            columns = tuple(
                replace(column, not_null=True) if column.name.lower() in never_null else column
                for column in table.columns
            )
            table = replace(table, columns=columns, unique=own.unique, checks=own.checks)  # noqa: PLW2901
        tables.append(table)
    return replace(schema, tables=tuple(tables))


class _Column(Struct):
    name: str
    type: str
    not_null: bool = False
    is_descending_key: bool = False
    """SQLite: INTEGER PRIMARY KEY DESC is not the row number, and may be NULL."""


class _Table(Struct):
    """A table while it is read."""

    name: str
    namespace: str | None
    ddl: str
    kind: Literal["table", "view"] = "table"
    columns: list[_Column] = field(default_factory=list)
    primary_key: tuple[str, ...] = ()
    unique: list[tuple[str, ...]] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    """Conditions that columns of enumerated types meet."""
    foreign_keys: list[ForeignKey] = field(default_factory=list)

    def spelt(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names as the table spells them."""
        own = {column.name.lower(): column.name for column in self.columns}
        return tuple(own.get(name.lower(), name) for name in names)

    def schema(self) -> TableSchema:
        return TableSchema(
            name=self.name,
            namespace=self.namespace,
            kind=self.kind,
            ddl=self.ddl,
            columns=tuple(ColumnSchema(name=one.name, type=one.type, not_null=one.not_null) for one in self.columns),
            primary_key=self.spelt(self.primary_key),
            unique=tuple(dict.fromkeys(map(self.spelt, self.unique))),
            indexes=tuple(self.indexes),
            checks=(*self.values, *self.checks),
            foreign_keys=tuple(
                ForeignKey(columns=self.spelt(key.columns), table=key.table, referenced=key.referenced)
                for key in self.foreign_keys
            ),
        )


class _Found(Struct):
    dialect: str
    tables: dict[tuple[str | None, str], _Table] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    enums: dict[str, list[str]] = field(default_factory=dict)
    """The values of PostgreSQL's enumerated types, as SQL literals, by the type's name in lower case."""

    def table(self, node: exp.Table) -> _Table | None:
        return self.tables.get((_namespace(node), node.name.lower()))


def _statements(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    statement: list[Token] = []
    for token in tokens:
        if token.token_type.name != "SEMICOLON":
            statement.append(token)
        elif statement:
            yield statement
            statement = []
    if statement:
        yield statement


def _read_statement(text: str, tokens: Sequence[Token], found: _Found) -> None:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    if any(token.text.lower() == "trigger" for token in tokens[:5]):
        found.unread.append(f"{_shown(text)} is omitted: triggers are not created")
        return
    clauses = table_clauses(text, found.dialect)
    plain = text[: clauses.end] if clauses.options and clauses.options <= _UNPARSED_OPTIONS else text
    try:
        tree = _parsed(plain, found.dialect)
    except (SqlglotError, RecursionError, ValueError) as error:
        if _concerns_tables(tokens):
            why = "it is nested too deeply" if isinstance(error, RecursionError) else _first_line(error)
            found.unread.append(f"{_shown(text)} cannot be read: {why}")
        return
    match tree:
        case exp.Create(kind="TABLE") | exp.Create(kind="VIEW"):
            _create(tree, text, clauses, found)
        case exp.Create(kind="INDEX"):
            _index(tree, text, found)
        case exp.Create(kind="TYPE") if isinstance(tree.expression, exp.DataType):
            values = [one.sql(found.dialect) for one in tree.expression.expressions]
            found.enums[tree.this.name.lower()] = values
        case exp.Alter():
            _alter(tree, text, found)
        case _ if _concerns_tables(tokens):
            found.unread.append(f"{_shown(text)} is not understood")


def _parsed(text: str, dialect: str) -> exp.Expr:
    """The tree of a statement. Raises what sqlglot raises for a text that it cannot parse."""
    from sqlglot.errors import SqlglotError

    try:
        return first_statement(text, dialect)
    except SqlglotError as error:
        simpler = without_sqlites_own(text) if dialect == "sqlite" else text
        if simpler == text:
            raise
        try:
            return first_statement(simpler, dialect)
        except SqlglotError:
            raise error from None


def _concerns_tables(tokens: Sequence[Token]) -> bool:
    """Whether a statement may add or remove tables, columns or constraints."""
    words = {token.text.lower() for token in tokens}
    makes = tokens[0].text.lower() == "create"
    return "table" in words and (makes or not words.isdisjoint(("add", "drop", "rename", "modify", "change")))


def _create(tree: exp.Create, text: str, clauses: TableClauses, found: _Found) -> None:
    from sqlglot import exp

    declared = tree.this
    named = declared.this if isinstance(declared, exp.Schema) else declared
    is_view = tree.kind == "VIEW"
    if not isinstance(named, exp.Table) or not named.name:
        found.unread.append(f"{_shown(text)} is not understood")
        return
    table = _Table(name=named.name, namespace=_namespace(named), ddl=text.strip(), kind="view" if is_view else "table")
    if is_view:
        names = declared.expressions if isinstance(declared, exp.Schema) else ()
        outputs = [one.name for one in names]
        if not outputs and isinstance(tree.expression, exp.Query):
            outputs = [one.alias_or_name for one in tree.expression.selects]
        table.columns = [_Column(name=name, type="") for name in outputs if name and name != "*"]
    elif not isinstance(declared, exp.Schema) or not (declared.find(exp.ColumnDef) or _is_untyped(tree, found.dialect)):
        found.unread.append(f"{_shown(text)} does not list the table's columns")
        return
    else:
        is_sqlite = found.dialect == "sqlite"
        types = {name: column.type for name, column in clauses.columns.items() if is_sqlite}
        for part in declared.expressions:
            if isinstance(part, exp.ColumnDef):
                _column(part, table, found, types)
            elif isinstance(part, exp.Identifier) or (isinstance(part, exp.Literal) and part.is_string):
                table.columns.append(_Column(name=part.name, type=""))  # SQLite: a column without a type
            else:
                _constraint(part, table, found)
        table.checks = list(clauses.checks)  # as written
    _finish(table, found.dialect, never_null_keys=not clauses.options.isdisjoint(("rowid", "strict")))
    found.tables[table.namespace, table.name.lower()] = table


def _is_untyped(tree: exp.Create, dialect: str) -> bool:
    """Whether a table's columns are only names, as SQLite allows."""
    from sqlglot import exp

    return (
        dialect == "sqlite"
        and tree.args.get("expression") is None
        and any(isinstance(one, exp.Identifier) for one in tree.this.expressions)
    )


def _column(node: exp.ColumnDef, table: _Table, found: _Found, types: dict[str, str]) -> None:
    from sqlglot import exp

    kind = node.args.get("kind")
    declared = types.get(node.name.lower())
    if declared is None:
        declared = "" if kind is None else kind.sql(found.dialect)
    if found.dialect == "sqlite" and isinstance(kind, exp.DataType) and kind.is_type("enum"):
        declared = "TEXT"  # MySQL's enumerations are read as texts, and the condition below allows some
    column = _Column(name=node.name, type=declared)
    table.columns.append(column)
    if isinstance(kind, exp.DataType):
        column.not_null = kind.this.name in _NEVER_NULL_TYPES if isinstance(kind.this, exp.DataType.Type) else False
        values = [one.sql(found.dialect) for one in kind.expressions] if kind.is_type("enum") else None
        values = found.enums.get(kind.sql(found.dialect).lower(), values)
        if values:
            name = exp.to_identifier(node.name, quoted=True).sql(found.dialect)
            table.values.append(f"{name} IN ({', '.join(values)})")
    for constraint in node.args.get("constraints") or ():
        match constraint.args.get("kind"):
            case exp.NotNullColumnConstraint() as one:
                column.not_null = column.not_null or not one.args.get("allow_null")
            case exp.GeneratedAsIdentityColumnConstraint() as one if one.expression is None:  # else it is computed
                column.not_null = True
            case exp.PrimaryKeyColumnConstraint() as one:
                column.is_descending_key = bool(one.args.get("desc"))
                table.primary_key = (node.name,)
            case exp.UniqueColumnConstraint():
                table.unique.append((node.name,))
            case exp.CheckColumnConstraint() | exp.Reference() as one:
                _constraint(one, table, found, of=(node.name,))


def _constraint(part: exp.Expr, table: _Table, found: _Found, *, of: tuple[str, ...] = ()) -> None:
    """Add a constraint. ``of``: the columns with an inline reference."""
    from sqlglot import exp

    match part:
        case exp.Constraint():
            clustered = next((one for one in part.expressions if isinstance(one, exp.ClusteredColumnConstraint)), None)
            if clustered is None:
                for one in part.expressions:
                    _constraint(one, table, found)
                return
            # SQL Server: PRIMARY KEY CLUSTERED (a, b), in two nodes
            names = _plain_names(clustered.this if isinstance(clustered.this, list) else clustered.this.expressions)
            if names and any(isinstance(one, exp.PrimaryKeyColumnConstraint) for one in part.expressions):
                table.primary_key = names
            elif names and any(isinstance(one, exp.UniqueColumnConstraint) for one in part.expressions):
                table.unique.append(names)
        case exp.PrimaryKey():
            table.primary_key = _plain_names(part.expressions) or table.primary_key
        case exp.UniqueColumnConstraint():
            names = _plain_names(part.this.expressions if isinstance(part.this, exp.Schema) else ())
            if names:
                table.unique.append(names)
            else:
                found.unread.append(f"a UNIQUE constraint of {table.name} is omitted: it is not on plain columns")
        case exp.CheckColumnConstraint():
            table.checks.append(part.this.sql(found.dialect))
        case exp.ForeignKey(args={"reference": exp.Reference() as reference}):
            _constraint(reference, table, found, of=tuple(one.name for one in part.expressions))
        case exp.Reference(this=exp.Schema(this=named, expressions=columns)):
            referenced = tuple(one.name for one in columns)
            table.foreign_keys.append(ForeignKey(columns=of, table=named.name, referenced=referenced))
        case exp.Reference(this=named):
            table.foreign_keys.append(ForeignKey(columns=of, table=named.name, referenced=()))
        case exp.IndexColumnConstraint() | exp.Identifier() | exp.ForeignKey():
            pass
        case _:
            found.unread.append(f"{part.sql(found.dialect)} in the table {table.name} is omitted: it is not understood")


def _plain_names(nodes: Sequence[exp.Expr]) -> tuple[str, ...]:
    """The columns that these nodes name; empty if one is more than a whole column."""
    from sqlglot import exp

    names: list[str] = []
    for node in nodes:
        bare = node.this if isinstance(node, exp.Ordered) else node
        if not isinstance(bare, exp.Column | exp.Identifier) and not (isinstance(bare, exp.Literal) and bare.is_string):
            return ()
        names.append(bare.name)
    return tuple(names)


def _finish(table: _Table, dialect: str, *, never_null_keys: bool) -> None:
    """The columns of a primary key are not NULL, except for a quirk of SQLite.

    INTEGER keys of one column are exempt from the quirk, and so are tables WITHOUT ROWID and STRICT tables
    (``never_null_keys``).
    """
    key = {name.lower() for name in table.primary_key}
    for column in table.columns:
        if column.name.lower() in key:
            by_number = len(key) == 1 and column.type.upper() == "INTEGER" and not column.is_descending_key
            column.not_null = column.not_null or dialect != "sqlite" or never_null_keys or by_number


def _index(tree: exp.Create, text: str, found: _Found) -> None:
    from sqlglot import exp

    index = tree.this
    if not tree.args.get("unique") or not isinstance(index, exp.Index):
        return
    named = index.args.get("table")
    table = found.table(named) if isinstance(named, exp.Table) else None
    parameters = index.args.get("params")
    names = _plain_names(parameters.args.get("columns") or ()) if parameters is not None else ()
    partial = parameters is not None and parameters.args.get("where") is not None
    if table is not None and found.dialect == "sqlite" and (partial or not names):
        table.indexes.append(text.strip())
        return
    if table is None or not names or partial:
        found.unread.append(f"{_shown(text)} is omitted: it is not a unique index on plain columns of a known table")
        return
    table.unique.append(names)


def _alter(tree: exp.Alter, text: str, found: _Found) -> None:
    from sqlglot import exp

    table = found.table(tree.this) if isinstance(tree.this, exp.Table) else None
    if table is None:
        found.unread.append(f"{_shown(text)} is omitted: it changes an unknown table")
        return
    for action in tree.args.get("actions") or ():
        match action:
            case exp.AddConstraint():
                for part in action.expressions:
                    _constraint(part, table, found)
            case exp.ColumnDef():
                _column(action, table, found, {})
            case exp.AlterColumn():
                column = next((one for one in table.columns if one.name.lower() == action.name.lower()), None)
                if column is not None and "allow_null" in action.args:
                    column.not_null = not action.args["allow_null"]
            case exp.Identifier():
                pass  # OWNER TO, and the like
            case _:
                found.unread.append(f"{_shown(text)} is omitted: it is not understood")
    _finish(table, found.dialect, never_null_keys=False)


def _namespace(node: exp.Table) -> str | None:
    name: str = node.db
    return name if name and name.lower() not in _DEFAULT_NAMESPACES else None


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].partition("\x1b")[0].strip() or type(error).__name__
