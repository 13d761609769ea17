"""Which stored columns a query names, as each engine itself tells: what `assay.sql.query` is held to.

An oracle gives the pairs of table and column, in small letters, that its engine resolved while it prepared a query; it
raises `Refused` where the engine does not accept the query. All are exact but for what their docstrings say.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Protocol

import pytest
from four_engines import connected
from msgspec import Struct

from assay.sql.query import Query, read_query
from assay.sql.schema import SchemaNames
from assay.sql.schema.ddl import read_ddl
from assay.sql.schema_items import joined_columns
from assay.sql.select import UNKNOWN

Pairs = set[tuple[str, str]]


_READS_ALL = frozenset({"postgres", "mysql"})
"""Dialects whose engine looks at CTEs that nothing reads."""
_NOT_TOLD = {"duckdb": {"rowid"}, "postgres": {"ctid"}}
"""By dialect: columns that every table has, of which its oracle does not tell."""


class Refused(Exception):
    """The engine does not accept the query, for the reason that this says."""


class NameOracle(Protocol):
    def columns_named(self, query: str) -> Pairs: ...


def named_by_us(query: Query) -> Pairs:
    """The stored columns that our reading finds, those behind stars and USING included.

    CTEs that nothing reads are left out where the engine does not look at them, and so are columns that every table
    has, where the oracle does not tell of them.
    """

    unread = [] if query.dialect in _READS_ALL else _unread_ctes(query)
    joined = [column for column in joined_columns(query) if not _is_field(column)]
    skipped = {id(node) for cte in unread for one in (cte, query.twin(cte)) for node in one.walk()}
    read = [select for select in query.selects if id(select.node) not in skipped]
    columns = [*query.columns, *joined]
    found: Pairs = {column.key for select in read for column in query.behind_stars(select)}
    for column in columns:
        meaning = UNKNOWN if id(column) in skipped or column.is_star else query.meaning(column)
        table = None if meaning.source is None else meaning.source.table
        if table is not None and meaning.is_row and query.names is not None:
            if query.dialect != "postgres":  # where a row depends on its table alone
                found |= {(table.lower(), name) for name in query.names.columns[table.lower()]}
        elif table is not None:
            stored = query.stored(column)
            found.add((table.lower(), column.name.lower()) if stored is None else stored.key)
    return {(table, column) for table, column in found if column not in _NOT_TOLD.get(query.dialect, ())}


def _is_field(column: Any) -> bool:
    """Whether `qualify` took ``x.n`` for the field n of a column x."""
    from sqlglot import exp

    return isinstance(column.parent, exp.Dot)


def unresolved_by_us(query: Query) -> list[str]:
    """The columns that we find in no table, those of CTEs that nothing reads left out."""
    skipped = {id(node) for cte in _unread_ctes(query) for node in cte.walk()}
    return [column.sql() for column in query.unresolved if id(column) not in skipped]


def _unread_ctes(query: Query) -> list[Any]:
    from sqlglot import exp

    read: set[int] = set()
    waiting: list[exp.Expr] = [query.tree]
    for tree in waiting:  # it grows meanwhile
        for node in tree.walk(prune=lambda one: isinstance(one, exp.With)):
            inner = query.source_at(node, default="").inner if isinstance(node, exp.Table) else None
            if inner is not None and id(inner) not in read:
                read.add(id(inner))
                waiting.append(inner)
    return [cte.this for cte in query.all_of(exp.CTE) if id(cte.this) not in read]


class Counted(Struct, frozen=True, kw_only=True):
    refused: int
    unreadable: int
    equal: int
    explained: Mapping[str, int]
    """How many differ, by why they may."""
    wrong: tuple[str, ...]
    """Each query that differs without a reason, with both sides."""

    @property
    def compared(self) -> int:
        return self.unreadable + self.equal + sum(self.explained.values()) + len(self.wrong)


def compare(oracle: NameOracle, dialect: str, queries: Iterable[tuple[str, SchemaNames]]) -> Counted:
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    wrong = []
    for text, names in queries:
        try:
            theirs = oracle.columns_named(text)
        except Refused:
            counts["refused"] += 1
            continue
        query = read_query(text, dialect, names)
        if not isinstance(query, Query):
            counts["unreadable"] += 1
            continue
        ours, unresolved = named_by_us(query), unresolved_by_us(query)
        if ours == theirs and not unresolved:
            counts["equal"] += 1
        elif not unresolved and (reason := explained(query, ours, theirs)):
            reasons[reason] += 1
        else:
            wrong.append(
                f"{text}: only ours {sorted(ours - theirs)}, only theirs {sorted(theirs - ours)}, {unresolved}"
            )
    return Counted(
        refused=counts["refused"],
        unreadable=counts["unreadable"],
        equal=counts["equal"],
        explained=dict(reasons),
        wrong=tuple(wrong),
    )


def explained(query: Query, ours: Pairs, theirs: Pairs) -> str:
    """Why the pairs may differ though both sides are right; empty where they may not."""
    from sqlglot import exp

    more, less = theirs - ours, ours - theirs
    unstored = {
        source.alias for select in query.selects for source in select.sources.values() if source.table is None
    } | {cte.alias.lower() for cte in query.all_of(exp.CTE)}
    qualifiers = {column.table.lower() for column in query.columns}
    joins = list(query.all_of(exp.Join))
    joined = {name.name.lower() for join in joins for name in join.args.get("using") or ()}
    may_join = any(join.args.get("method") == "NATURAL" for join in joins) or {column for _, column in less} <= joined
    if query.dialect in ("sqlite", "mysql") and may_join:
        if not more:
            return "a column that USING or NATURAL joins is not reported"
        if query.dialect == "sqlite" and {table for table, _ in more} <= unstored:
            return "a column of a subquery is reported under the name of the subquery, which is a table's, too"
    if query.dialect == "sqlite" and any(isinstance(node.this, exp.Table) for node in query.all_of(exp.Subquery)):
        return "all columns of a join in parentheses are reported"
    if query.dialect == "mysql" and not more and any(_is_ambiguous_group(query, column) for column in query.columns):
        return "a name in GROUP BY that two tables have is taken for the alias"
    if query.dialect == "duckdb" and not less and {column for _, column in more} <= qualifiers:
        return "`x.id` is tried as a field of a column x first, which is then reported"
    return ""


def _is_ambiguous_group(query: Query, column: Any) -> bool:
    from sqlglot import exp

    select = query.select_of(column)
    if select is None or query.names is None or not isinstance(column.parent, exp.Group):
        return False
    tables = [source.table for source in select.sources.values() if source.table is not None]
    having = [table for table in tables if query.names.column(table, column.name) is not None]
    return len(having) > 1 and select.output_called(column.name) is not None


def script_of(tables: dict[str, dict[str, str]], dialect: str) -> list[str]:
    """The statements that make empty tables, with the types that `odd_names` gives in SQLite's words."""
    quote = "`" if dialect == "mysql" else '"'
    types = {"REAL": "DOUBLE PRECISION", "": "TEXT" if dialect != "sqlite" else "", "TEXT": "TEXT"}
    statements = []
    for table, columns in tables.items():
        listed = [f"{quote}{name}{quote} {types.get(kind, kind)}" for name, kind in columns.items()]
        if table == "a":
            listed[0] += " PRIMARY KEY"
        statements.append(f"CREATE TABLE {quote}{table}{quote} ({', '.join(listed)})")
    return statements


def names_in(tables: dict[str, dict[str, str]], dialect: str) -> SchemaNames:
    return SchemaNames(read_ddl(";".join(script_of(tables, dialect)), dialect).schema)


class SqliteOracle:
    """What SQLite's authorizer is asked about while a query is prepared.

    It is not asked about one side of USING and NATURAL, nor about CTEs that nothing reads; and it is asked about every
    column of a join in parentheses. It is asked about some columns of subqueries, too, under the subquery's name.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def columns_named(self, query: str) -> Pairs:
        found: Pairs = set()

        def see(action: int, table: str | None, column: str | None, *_: object) -> int:
            if action == sqlite3.SQLITE_READ and column:
                found.add(((table or "").lower(), column.lower()))
            return sqlite3.SQLITE_OK

        self.connection.set_authorizer(see)
        try:
            self.connection.execute(f"EXPLAIN {query}").fetchall()
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise Refused(str(error)) from error
        finally:
            self.connection.set_authorizer(None)
        return found


class DuckdbOracle:
    """The columns of each scan in DuckDB's bound plan before it is optimised. A CTE that nothing reads is not bound."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def columns_named(self, query: str) -> Pairs:
        import duckdb

        try:
            told = self.connection.execute(
                "SELECT json_serialize_plan(?::VARCHAR, optimize := false)", [query]
            ).fetchone()
        except duckdb.Error as error:
            raise Refused(str(error)) from error
        plan = json.loads(told[0])
        if plan["error"]:
            raise Refused(plan["error_message"])
        found: Pairs = set()
        for node in _objects(plan):
            if node.get("type") != "LOGICAL_GET" or not node.get("function_data"):
                continue
            names = node["names"]
            places = [one["index"] for one in node["column_indexes"]]
            # A place beyond the columns is the row's number, or stands for none, as in count(*).
            found |= {(node["function_data"]["table"].lower(), names[at].lower()) for at in places if at < len(names)}
        return found


def _objects(told: object) -> Iterator[dict[str, Any]]:
    if isinstance(told, dict):
        yield told
        for part in told.values():
            yield from _objects(part)
    elif isinstance(told, list):
        for part in told:
            yield from _objects(part)


class PostgresOracle:
    """The columns that a view of the query depends on, as PostgreSQL keeps them so that none can be dropped."""

    _DEPENDENCIES = """
        SELECT DISTINCT c.relname, a.attname
        FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
        JOIN pg_class c ON d.refclassid = 'pg_class'::regclass AND c.oid = d.refobjid
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid AND a.attnum > 0
        WHERE r.ev_class = 'name_oracle'::regclass AND c.relname <> 'name_oracle'
    """

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        connection.autocommit = False

    def columns_named(self, query: str) -> Pairs:
        import psycopg

        cursor = self.connection.cursor()
        try:
            cursor.execute(f"SELECT * FROM ({query}) AS whole LIMIT 0".encode(), prepare=False)
            outputs = ", ".join(f"output_{number}" for number in range(len(cursor.description)))
            cursor.execute(f"CREATE TEMPORARY VIEW name_oracle ({outputs}) AS {query}".encode(), prepare=False)
            return {(table.lower(), column.lower()) for table, column in cursor.execute(self._DEPENDENCIES)}
        except psycopg.Error as error:
            raise Refused(str(error)) from error
        finally:
            self.connection.rollback()


class MariadbOracle:
    """The columns that a user who may read nothing must be granted until MariaDB explains the query to him.

    Each table needs an invisible column ``unread_N``, with which the right to the table itself is granted.
    """

    _DENIED = re.compile(r"denied to user .* for (?:column '(?P<column>[^']+)' in table|table) (?P<table>.*)$")
    _MOST = 60

    def __init__(self, root: Any, reader: Any, database: str, tables: list[str]) -> None:
        self.root, self.reader, self.database = root.cursor(), reader.cursor(), database
        self.hidden = {table: f"unread_{number}" for number, table in enumerate(tables)}
        for table, column in self.hidden.items():
            self.root.execute(f"ALTER TABLE `{database}`.`{table}` ADD COLUMN {column} INT INVISIBLE")

    def columns_named(self, query: str) -> Pairs:
        import pymysql

        granted: Pairs = set()
        try:
            for _ in range(self._MOST):
                try:
                    self.reader.execute(f"EXPLAIN {query}")
                    self.reader.fetchall()
                except pymysql.Error as error:
                    denied = self._DENIED.search(str(error.args[-1])) if error.args[0] in (1142, 1143) else None
                    if denied is None:
                        raise Refused(str(error)) from error
                    table = denied["table"].rpartition(".")[2].strip("`'")
                    pair = (table, denied["column"] or self.hidden.get(table, ""))
                    if pair in granted or table not in self.hidden:
                        raise Refused(f"the right to {pair} does not help: {error}") from error
                    try:
                        self._change("GRANT", "TO", pair)
                    except pymysql.Error as missing:
                        raise Refused(f"a subquery's column takes a right, too: {missing}") from missing
                    granted.add(pair)
                    continue
                return {(table.lower(), column.lower()) for table, column in granted if column != self.hidden[table]}
            raise Refused("names too many columns")
        finally:
            for pair in granted:
                self._change("REVOKE", "FROM", pair)

    def _change(self, verb: str, word: str, pair: tuple[str, str]) -> None:
        table, column = pair
        self.root.execute(f"{verb} SELECT (`{column}`) ON `{self.database}`.`{table}` {word} name_reader@'%'")


@contextmanager
def opened(request: pytest.FixtureRequest, dialect: str, tables: dict[str, dict[str, str]]) -> Iterator[NameOracle]:
    door = ["CREATE TABLE door (k INT)"] if dialect == "mysql" else []
    with connected(request, dialect, [*script_of(tables, dialect), *door]) as connection:
        if dialect != "mysql":
            yield {"sqlite": SqliteOracle, "duckdb": DuckdbOracle, "postgres": PostgresOracle}[dialect](connection)
            return
        # A user who may nothing, but read one other table: without which he could not enter the database.
        cursor, server = connection.cursor(), request.getfixturevalue("mariadb")
        try:
            cursor.execute("CREATE USER name_reader@'%'")
            cursor.execute("GRANT SELECT (k) ON door TO name_reader@'%'")
            asked = {"host": server.host, "port": server.port, "user": "name_reader", "database": "sql_tests"}
            import pymysql

            with closing(pymysql.connect(**asked, autocommit=True)) as reader:  # a transaction would hold the tables
                yield MariadbOracle(connection, reader, "sql_tests", list(tables))
        finally:
            cursor.execute("DROP USER IF EXISTS name_reader@'%'")
