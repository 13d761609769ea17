"""What a database keeps out of its tables is told the same by every engine, and nothing that it does not keep out."""

from __future__ import annotations

import secrets
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import duckdb
import pytest

import servers
from assay import registry
from assay.engines.pool.executor import Executor
from assay.model import DatabaseSchema, DatabaseUrl, ForeignKey, Limits, TableSchema
from assay.ports import DescribesSchema
from assay.sql import check_conditions
from many_cases import each

SCRIPT = (
    "CREATE TABLE town (id INTEGER NOT NULL PRIMARY KEY, code VARCHAR(9) UNIQUE, area DOUBLE PRECISION)",
    """CREATE TABLE visit (a INTEGER NOT NULL, b INTEGER NOT NULL, town INTEGER, note VARCHAR(9) NOT NULL,
    PRIMARY KEY (b, a), UNIQUE (note, town), CHECK (a > 0), CHECK (note <> ')'),
    FOREIGN KEY (town) REFERENCES town (id))""",
    "CREATE UNIQUE INDEX by_area ON town (area)",
    "CREATE VIEW seen AS SELECT a FROM visit",
    "INSERT INTO town VALUES (2, 'b', 1.5), (1, 'a', 2.5)",
)
Read = Callable[[Sequence[str]], DatabaseSchema]


def _schema(url: str) -> DatabaseSchema:
    parsed = DatabaseUrl.parse(url)
    engine_class = registry.engine_class(parsed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with closing(engine_class.open(parsed, Limits())) as engine:
            found = cast("DescribesSchema", engine).schema()
            assert cast("DescribesSchema", engine).schema() == found
            return found


def _of_file(scheme: str, connect: Callable[[str], Any]) -> Callable[[pytest.FixtureRequest, Sequence[str]], Any]:
    def read(request: pytest.FixtureRequest, script: Sequence[str]) -> Iterator[DatabaseSchema]:
        path = cast("Path", request.getfixturevalue("tmp_path")) / "one.db"
        with closing(connect(str(path))) as connection:
            for statement in script:
                connection.execute(statement)
            connection.commit()
        yield _schema(f"{scheme}:///{path}")

    return read


def _own_name() -> str:
    """Of a database on a server that other processes' tests use at the same time."""
    return f"assay_{secrets.token_hex(6)}"


def _of_postgres(scheme: str) -> Callable[[pytest.FixtureRequest, Sequence[str]], Any]:
    def read(request: pytest.FixtureRequest, script: Sequence[str]) -> Iterator[DatabaseSchema]:
        server: servers.PostgresServer = request.getfixturevalue("postgres")
        name = _own_name()
        url = server.create(name, ";".join(script))
        try:
            yield _schema(url.replace("postgresql:", f"{scheme}:"))
        finally:
            server.drop(name)

    return read


def _mariadb(request: pytest.FixtureRequest, script: Sequence[str]) -> Iterator[DatabaseSchema]:
    server, name = request.getfixturevalue("mariadb"), _own_name()
    with closing(server.connect()) as connection, connection.cursor() as cursor:
        for statement in (f"CREATE DATABASE {name}", f"USE {name}", *script):
            cursor.execute(statement)
        cursor.execute(f"CREATE USER {name} IDENTIFIED BY 'r'")
        cursor.execute(f"GRANT SELECT ON {name}.* TO {name}")
    try:
        yield _schema(f"mysql://{name}:r@{server.host}:{server.port}/{name}")
    finally:
        with closing(server.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name}")
            cursor.execute(f"DROP USER {name}")


ENGINES = {
    "sqlite": _of_file("sqlite", sqlite3.connect),
    "sqlite-sqlalchemy": _of_file("sqlite+pysqlite", sqlite3.connect),
    "duckdb": _of_file("duckdb", duckdb.connect),
    "postgres": _of_postgres("postgresql"),
    "postgres-sqlalchemy": _of_postgres("postgresql+psycopg"),
    "mariadb": _mariadb,
}
"""The servers' users may do nothing but read."""


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.server] * name.startswith(("postgres", "mariadb"))) for name in ENGINES
    ]
)
def read(request: pytest.FixtureRequest) -> Iterator[Read]:
    """Build a database of these statements, and read what it holds."""
    if "sqlalchemy" in request.param:
        pytest.importorskip("sqlalchemy")
    left: list[Iterator[DatabaseSchema]] = []

    def built(script: Sequence[str]) -> DatabaseSchema:
        left.append(ENGINES[request.param](request, script))
        return next(left[-1])

    yield built
    for one in left:
        assert next(one, None) is None


def _table(schema: DatabaseSchema, name: str) -> TableSchema:
    [found] = [table for table in schema.tables if table.name == name]
    return found


def _plain(checks: Sequence[str]) -> list[str]:
    """Conditions without the spelling of their engine."""
    kept = [check.replace("::text", "").replace("!=", "<>") for check in checks]
    return sorted("".join(letter for letter in check if letter.isalnum() or letter in "<>')") for check in kept)


def test_every_engine_tells_keys_conditions_and_where_no_null_may_be(read: Read) -> None:
    schema = read(SCRIPT)
    town, visit, seen = (_table(schema, name) for name in ("town", "visit", "seen"))
    assert [(column.name, column.not_null) for column in town.columns] == [
        ("id", True),
        ("code", False),
        ("area", False),
    ]
    assert (town.primary_key, set(town.unique)) == (("id",), {("code",), ("area",)})
    assert [column.not_null for column in visit.columns] == [True, True, False, True]
    assert (visit.primary_key, visit.unique) == (("b", "a"), (("note", "town"),))
    assert [one.replace(")", "").replace("'", "") for one in _plain(visit.checks)] == ["a>0", "note<>"]
    assert any("')'" in check for check in visit.checks)
    assert visit.foreign_keys == (ForeignKey(columns=("town",), table="town", referenced=("id",)),)
    assert (seen.kind, [column.name for column in seen.columns], seen.unique) == ("view", ["a"], ())
    assert sorted(town.columns[1].values) == ["'a'", "'b'"]
    for table in schema.tables:
        assert table.ddl.startswith("CREATE ")


def test_no_engine_takes_an_index_of_expressions_for_a_key(read: Read) -> None:
    script = ["CREATE TABLE t (a INTEGER, b INTEGER)", "CREATE UNIQUE INDEX both_ ON t (b, a)"]
    schema = read([*script, "CREATE INDEX plain ON t (a)"])
    assert _table(schema, "t").unique == (("b", "a"),)


@each(
    ("columns", "not_null", "takes_null"),
    [
        ("(id INTEGER PRIMARY KEY, x)", True, True),  # NULL stands for the next number
        ("(id INTEGER PRIMARY KEY DESC, x)", False, True),
        ("(id INT PRIMARY KEY, x)", False, True),
        ("(id TEXT PRIMARY KEY, x)", False, True),
        ("(id INTEGER, x, PRIMARY KEY (id DESC))", True, True),
        ("(id TEXT, x, PRIMARY KEY (id, x))", False, True),
        ("(id TEXT NOT NULL PRIMARY KEY, x)", True, False),
        ("(id TEXT PRIMARY KEY, x) WITHOUT ROWID", True, False),
        ("(id INTEGER PRIMARY KEY, x) WITHOUT ROWID", True, False),
    ],
)
def test_a_key_of_sqlite_lets_nulls_in_unless_it_is_the_rows_number(
    tmp_path: Path, columns: str, not_null: bool, takes_null: bool
) -> None:
    path = tmp_path / "one.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE t {columns}")
        if takes_null:
            connection.execute("INSERT INTO t (id, x) VALUES (NULL, 1)")
            connection.commit()
            assert (connection.execute("SELECT id FROM t").fetchone()[0] is None) is not not_null
        else:
            with pytest.raises(sqlite3.IntegrityError):
                connection.execute("INSERT INTO t (id, x) VALUES (NULL, 1)")
    [table] = _schema(f"sqlite:///{path}").tables
    assert [column.not_null for column in table.columns if column.name == "id"] == [not_null]
    assert table.primary_key[0] == "id"


def test_of_sqlites_unique_indexes_only_those_of_all_rows_and_whole_values_count(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE t (a INTEGER, b TEXT COLLATE NOCASE, c TEXT UNIQUE, [CHECK] INTEGER CHECK ("CHECK" <> 7),
                            d TEXT /* CHECK (no) */ CHECK (d IN ('x''(', "c")) -- CHECK (neither)
                           );
            CREATE UNIQUE INDEX part ON t (a) WHERE a > 1;
            CREATE UNIQUE INDEX lowered ON t (lower(b));
            CREATE UNIQUE INDEX exact ON t (b COLLATE BINARY);
            CREATE UNIQUE INDEX whole ON t (a DESC, b);
            CREATE VIRTUAL TABLE words USING fts5 (a);
            """
        )
    table, _ = _schema(f"sqlite:///{path}").tables
    assert table.unique == (("c",), ("a", "b"))
    assert table.checks == ('"CHECK" <> 7', "d IN ('x''(', \"c\")")


@each("statement", ["", "CHECK", "CHECK (", "CHECK ((a)", "x 'CHECK (", 'a "CHECK" (b)', "CHECK)("])
def test_a_statement_that_is_none_has_no_conditions(statement: str) -> None:
    assert check_conditions(statement, "sqlite") == ()


def test_postgres_tells_what_its_types_ask_and_shows_a_role_what_it_may_read(postgres: servers.PostgresServer) -> None:
    url = postgres.create(
        "assay_types",
        """
        CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
        CREATE DOMAIN small AS positive NOT NULL CHECK (VALUE < 1000);
        CREATE TYPE mood AS ENUM ('sad', 'it''s');
        CREATE SCHEMA other;
        CREATE TABLE other.far (a integer);
        CREATE TABLE t (n small, m mood, hidden text UNIQUE, k integer);
        CREATE UNIQUE INDEX ON t (lower(hidden));
        CREATE UNIQUE INDEX ON t (k) WHERE k > 3;
        CREATE UNIQUE INDEX ON t (m) INCLUDE (k);
        ALTER TABLE t ADD CONSTRAINT later CHECK (k > 5) NOT VALID;
        CREATE TABLE secret (s text);
        CREATE TABLE parent (id integer PRIMARY KEY);
        CREATE TABLE child () INHERITS (parent);
        CREATE TABLE parted (k integer) PARTITION BY RANGE (k);
        CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (9);
        REVOKE pg_read_all_data FROM assay_types;
        GRANT USAGE ON SCHEMA public, other TO assay_types;
        GRANT SELECT (n, m, k) ON t TO assay_types;
        GRANT SELECT ON parent, child, parted, other.far TO assay_types;
        """,
    )
    try:
        schema = _schema(url)
    finally:
        postgres.drop("assay_types")
    names = [table.quoted_name for table in schema.tables]
    assert names == ['"child"', '"parent"', '"parted"', '"t"', '"other"."far"']
    table = _table(schema, "t")
    assert [(column.name, column.type, column.not_null) for column in table.columns] == [
        ("n", "integer", True),
        ("m", "mood", False),
        ("k", "integer", False),
    ]
    assert table.unique == (("m",),)
    assert [check.replace("::integer", "").replace("(", "").replace(")", "") for check in table.checks] == [
        '"n" < 1000',
        '"n" > 0',
        "\"m\" IN 'sad', 'it''s'",
    ]
    assert _table(schema, "parent").primary_key == ()  # a child may repeat the number


def test_any_other_dialect_is_read_by_sqlalchemys_inspector_as_far_as_that_goes(
    mariadb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlalchemy

    from assay.engines.sqlalchemy.engine import read_schema

    with closing(mariadb.connect()) as connection, connection.cursor() as cursor:
        for statement in ("CREATE DATABASE assay_inspected", "USE assay_inspected", *SCRIPT):
            cursor.execute(statement)
    engine = sqlalchemy.create_engine(
        f"mysql+pymysql://root@{mariadb.host}:{mariadb.port}/assay_inspected", poolclass=sqlalchemy.NullPool
    )
    try:
        with engine.connect() as connection:
            schema = read_schema(connection, "mysql")
            inspector = type(sqlalchemy.inspect(connection))
            monkeypatch.delattr(inspector, "get_check_constraints")
            monkeypatch.setattr(inspector, "get_check_constraints", _not_told, raising=False)
            less = read_schema(connection, "mysql")
    finally:
        with closing(mariadb.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("DROP DATABASE assay_inspected")
    town, visit = _table(schema, "town"), _table(schema, "visit")
    assert [column.not_null for column in town.columns] == [True, False, False]
    assert set(town.unique) == {("code",), ("area",)}
    assert (visit.primary_key, visit.unique, len(visit.checks)) == (("b", "a"), (("note", "town"),), 2)
    assert visit.foreign_keys == (ForeignKey(columns=("town",), table="town", referenced=("id",)),)
    assert _table(schema, "seen").kind == "view"
    assert _table(less, "visit").checks == ()
    assert _table(less, "visit").unique == visit.unique


def _not_told(*_: object, **__: object) -> list[object]:
    raise NotImplementedError


def test_a_cap_on_rows_cuts_no_schema(tmp_path: Path) -> None:
    path = tmp_path / "wide.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(f'c{place}' for place in range(50))})")
    executor = Executor(engines={"sqlite": "assay.engines.sqlite.engine:SqliteEngine"}, limits=Limits(max_rows=5))
    with closing(executor):
        schema = executor.schema(DatabaseUrl.parse(f"sqlite:///{path}"))
    assert len(schema.tables[0].columns) == 50
