"""Schemas read from DDL: held to what SQLite itself makes of the same text."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from assay.sql.schema.create_table import table_clauses
from assay.sql.schema.ddl import read_ddl
from many_cases import each

TEXTS = {
    "column constraints": """
        CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT, b varchar(20) NOT NULL DEFAULT 'x, y' COLLATE NOCASE,
            c int UNIQUE CHECK (c > 0), d REFERENCES z(q) ON DELETE CASCADE, e double precision);
        CREATE TABLE z (q text PRIMARY KEY)""",
    "table constraints": """
        CREATE TABLE "t t" ("a b" int, [c] numeric(10, 2), `d` text, e, PRIMARY KEY ("a b", [c]),
            CONSTRAINT u UNIQUE (d, e), FOREIGN KEY (d, e) REFERENCES other, CHECK (e <> ','));
        CREATE TABLE other (x text, y, PRIMARY KEY (x, y)) WITHOUT ROWID""",
    "names in single quotes": "CREATE TABLE 'q r' ('a b' int, 'c' text primary key, 'd')",
    "comments": """-- a table
        CREATE TABLE t ( -- its first column
            a int /* , b int */, c text -- the last
        );
        INSERT INTO t VALUES (1, ';');""",
    "unique indexes": """
        CREATE TABLE t (a int, b int, c int);
        CREATE UNIQUE INDEX one ON t (b DESC, a);
        CREATE INDEX two ON t (a, c)""",
    "strict": "CREATE TABLE t (a INT PRIMARY KEY, b TEXT) STRICT, WITHOUT ROWID; CREATE TABLE u (a INT) STRICT",
    "types of SQLite's own": """
        CREATE TABLE t (a UNSIGNED BIG INT PRIMARY KEY, b NATIVE CHARACTER(70) NOT NULL, c ANY, d, e FLOATING POINT);
        CREATE TABLE u (a ANY PRIMARY KEY, b INT DEFAULT (1)) STRICT, WITHOUT ROWID""",
    "conflicts, directions and names": """
        CREATE TABLE t (a LONG VARCHAR CONSTRAINT k PRIMARY KEY DESC ON CONFLICT REPLACE,
            b INT CONSTRAINT c AS (1) STORED, c TEXT COLLATE nocase CONSTRAINT alone,
            d UNIQUE ON CONFLICT FAIL REFERENCES other(x),
            e GENERATED ALWAYS AS (b || ')') VIRTUAL, UNIQUE (b DESC, c) ON CONFLICT IGNORE)""",
    "temporary and if not exists": "CREATE TABLE IF NOT EXISTS t (a int); CREATE TABLE main.u (b int)",
}


def _by_sqlite(text: str) -> dict[str, object]:
    """Names, types, keys and foreign keys as SQLite reads them; unique sets without the primary key."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(text)
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name.lower(): _table_by_sqlite(connection, name) for name in tables if not name.startswith("sqlite_")}
    finally:
        connection.close()


def _table_by_sqlite(connection: sqlite3.Connection, name: str) -> object:
    columns = connection.execute("SELECT name, type, pk FROM pragma_table_xinfo(?) ORDER BY cid", (name,)).fetchall()
    indexes = connection.execute(
        "SELECT name FROM pragma_index_list(?) WHERE \"unique\" AND origin <> 'pk' AND NOT partial", (name,)
    ).fetchall()
    unique = set()
    for (index,) in indexes:
        names = connection.execute("SELECT name FROM pragma_index_info(?) ORDER BY seqno", (index,)).fetchall()
        if all(one is not None for (one,) in names):
            unique.add(tuple(one for (one,) in names))
    keys = connection.execute(
        'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq', (name,)
    ).fetchall()
    foreign: dict[int, list[tuple[str, str, str | None]]] = {}
    for number, table, column, referenced in keys:
        foreign.setdefault(number, []).append((table.lower(), column.lower(), referenced and referenced.lower()))
    return (
        [(column, type_.upper()) for column, type_, _ in columns],
        tuple(column for _, column in sorted((place, column) for column, _, place in columns if place)),
        unique,
        list(foreign.values()),
    )


def _by_assay(text: str) -> dict[str, object]:
    return {
        table.name.lower(): (
            [(column.name, column.type.upper()) for column in table.columns],
            table.primary_key,
            set(table.unique),
            [
                [
                    (key.table.lower(), column.lower(), key.referenced[place].lower() if key.referenced else None)
                    for place, column in enumerate(key.columns)
                ]
                for key in table.foreign_keys
            ],
        )
        for table in read_ddl(text, "sqlite").schema.tables
    }


@each("name", TEXTS)
def test_reads_what_sqlite_reads(name: str) -> None:
    assert _by_assay(TEXTS[name]) == _by_sqlite(TEXTS[name])
    assert read_ddl(TEXTS[name], "sqlite").unread == ()


def test_reads_published_schemas_as_sqlite_does(shared_data: Path) -> None:
    looked_at = 0
    for path in sorted((shared_data / "spider-dev").rglob("*.sqlite")):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            statements = [row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
        connection.close()
        text = ";\n".join(one for one in statements if "sqlite_sequence" not in one)
        assert _by_assay(text) == _by_sqlite(text), path.name
        looked_at += 1
    assert looked_at


DUCKDB = [
    'CREATE TABLE t (a INT PRIMARY KEY, b TEXT NOT NULL UNIQUE COLLATE NOCASE, "c c" HUGEINT[] CHECK (len("c c") < 3))',
    'CREATE TABLE t (a INT, b STRUCT(x INT), "c c" DECIMAL(10, 2), PRIMARY KEY (a, "c c"), UNIQUE ("c c"))',
    "CREATE TABLE t (a INT REFERENCES u(x), b INT, CHECK (a > 0 OR b > 0), FOREIGN KEY (b) REFERENCES u(x))",
    "CREATE TABLE t (a INT, b INT GENERATED ALWAYS AS (a + 1), UNIQUE (a))",
]


@each("text", DUCKDB)
def test_reads_what_duckdbs_catalogue_says(text: str) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE u (x INT PRIMARY KEY)")
        connection.execute(text)
        constraints = connection.execute(
            "SELECT constraint_type, constraint_column_names, referenced_table, referenced_column_names "
            "FROM duckdb_constraints() WHERE table_name = 't'"
        ).fetchall()
        never_null = connection.execute(
            "SELECT column_name FROM duckdb_columns() WHERE table_name = 't' AND NOT is_nullable"
        ).fetchall()
    (table,) = read_ddl(text, "duckdb").schema.tables
    by_kind = {
        "PRIMARY KEY": [table.primary_key] if table.primary_key else [],
        "UNIQUE": sorted(table.unique),
        "FOREIGN KEY": sorted((key.columns, key.table, key.referenced) for key in table.foreign_keys),
    }
    for kind, own in by_kind.items():
        of_kind = [(tuple(names), other, tuple(to)) for found, names, other, to in constraints if found == kind]
        assert own == sorted(of_kind if kind == "FOREIGN KEY" else [names for names, _, _ in of_kind])
    assert len(table.checks) == sum(kind == "CHECK" for kind, *_ in constraints)
    assert [column.name for column in table.columns if column.not_null] == [name for (name,) in never_null]


@pytest.mark.parametrize("type_", ["INTEGER[]", "int(10) unsigned zerofill"])
def test_types_of_other_engines_are_not_sqlites(type_: str) -> None:
    """By what cannot be read as SQLite's, the dialect of a text is found out."""
    assert read_ddl(f"CREATE TABLE t (a {type_}, b ANY)", "sqlite").unread


@pytest.mark.parametrize("keys", ["(a COLLATE nocase, b)", "(a, b COLLATE binary) ON CONFLICT FAIL"])
def test_a_key_by_another_collation_is_left_out(keys: str) -> None:
    read = read_ddl(f"CREATE TABLE t (a ANY, b LONG VARCHAR COLLATE nocase, UNIQUE {keys})", "sqlite")
    assert [table.unique for table in read.schema.tables] == [()]
    assert "omitted" in read.unread[0]


@each("dialect", ["sqlite", "duckdb", "postgres", "mysql"])
def test_conditions_stay_as_they_are_written(dialect: str) -> None:
    """The names of functions, too; comments round them are no part of them."""
    text = "CREATE TABLE t (a text CHECK ( substr(a,1) <> 'x' -- the first\n), CHECK (/* b */ ifnull(a, '')<>')'))"
    (table,) = read_ddl(text, dialect).schema.tables
    assert table.checks == ("substr(a,1) <> 'x'", "ifnull(a, '')<>')'")


def test_constraints_of_columns_and_tables() -> None:
    """NOT NULL and CHECK, which SQLite does not list."""
    first, second = read_ddl(TEXTS["table constraints"], "sqlite").schema.tables
    assert first.checks == ("e <> ','",)
    assert [column.not_null for column in first.columns] == [False] * 4, "SQLite lets NULL into such a key"
    assert [column.not_null for column in second.columns] == [True, True]
    (table, _) = read_ddl(TEXTS["column constraints"], "sqlite").schema.tables
    assert [column.not_null for column in table.columns] == [True, True, False, False, False]
    assert table.checks == ("c > 0",)


def test_a_dump_of_postgresql() -> None:
    text = """
\\connect shop
CREATE TYPE public.mood AS ENUM ('sad', 'it''s fine');
CREATE TABLE public.person (id integer NOT NULL, boss integer, feels mood, at shop.thing);
ALTER TABLE public.person OWNER TO postgres;
CREATE TABLE sales.item (number bigserial, label text);
COPY public.person (id) FROM stdin;
1\tit's
\\.
ALTER TABLE ONLY public.person ADD CONSTRAINT person_key PRIMARY KEY (id);
ALTER TABLE ONLY public.person ADD CONSTRAINT bosses FOREIGN KEY (boss) REFERENCES public.person(id);
ALTER TABLE ONLY sales.item ADD CONSTRAINT labels UNIQUE (label);
ALTER TABLE sales.item ALTER COLUMN label SET NOT NULL;
"""
    read = read_ddl(text, "postgres")
    person, item = read.schema.tables
    assert (person.namespace, item.namespace) == (None, "sales")
    assert person.primary_key == ("id",)
    assert [column.not_null for column in person.columns] == [True, False, False, False]
    assert person.foreign_keys[0].columns == ("boss",)
    assert person.checks == ("\"feels\" IN ('sad', 'it''s fine')",)
    assert item.unique == (("label",),)
    assert [column.not_null for column in item.columns] == [True, True]
    assert read.unread == ()


def test_other_servers() -> None:
    (table,) = read_ddl(
        "CREATE TABLE `a` (`id` int(11) NOT NULL AUTO_INCREMENT, b enum('x','y'), PRIMARY KEY (`id`), "
        "UNIQUE KEY k2 (id, b), KEY `z` (b), CONSTRAINT `fk` FOREIGN KEY (`b`) REFERENCES `t` (`x`)) ENGINE=InnoDB",
        "mysql",
    ).schema.tables
    assert (table.primary_key, table.unique, table.checks) == (("id",), (("id", "b"),), ("`b` IN ('x', 'y')",))
    (table,) = read_ddl(
        "CREATE TABLE [dbo].[t] ([a] [int] NOT NULL, CONSTRAINT [k] PRIMARY KEY CLUSTERED ([a] ASC))", "tsql"
    ).schema.tables
    assert table.primary_key == ("a",)


@each(
    ("text", "said"),
    [
        ("create table (", "cannot be read"),
        ("'", "cannot be split into statements"),
        ("create table q as select 1 as x", "does not list the table's columns"),
        ("alter table nobody add constraint k primary key (a)", "unknown table"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, said: str) -> None:
    unread = read_ddl(text, "sqlite").unread
    assert len(unread) == 1
    assert said in unread[0]


@pytest.mark.parametrize("keys", ["(lower(a))", "(a) where a > 0"])
def test_an_index_that_no_column_says_is_kept_for_sqlite_and_left_out_elsewhere(keys: str) -> None:
    index = f"create unique index i on t {keys}"
    script = f"create table t (a int); {index}"
    kept = read_ddl(script, "sqlite")
    assert (kept.schema.tables[0].indexes, kept.schema.tables[0].unique, kept.unread) == ((index,), (), ())
    for dialect in ("duckdb", "postgres", "mysql"):
        other = read_ddl(script, dialect)
        assert other.schema.tables[0].indexes == ()
        assert len(other.unread) == 1
        assert "omitted" in other.unread[0]


def test_nothing_to_read() -> None:
    for text in ("", "  ;; ", "insert into t values (1); select 1"):
        assert read_ddl(text, "sqlite").schema.tables == ()
        assert read_ddl(text, "sqlite").unread == ()


@each(
    ("definition", "column", "text"),
    [
        ("s INT GENERATED ALWAYS AS (a + (b)) VIRTUAL", "s", "GENERATED ALWAYS AS (a + (b)) VIRTUAL"),
        ("s AS (a) stored NOT NULL", "s", "GENERATED ALWAYS AS (a) STORED"),
        ("s INT NOT NULL CONSTRAINT x AS (a || ')')", "s", "GENERATED ALWAYS AS (a || ')')"),
        ("n TEXT COLLATE NOCASE DEFAULT 'collate rtrim'", "n", "COLLATE NOCASE"),
        ("n COLLATE \"RTRIM\" CHECK (n COLLATE nocase <> 'x')", "n", 'COLLATE "RTRIM"'),
        ('"c ""as" TEXT /* AS (1) */ COLLATE binary -- , AS (2)\n', 'c "as', "COLLATE binary"),
        ("[as] INT COLLATE nocase", "as", "COLLATE nocase"),
        ("x TEXT DEFAULT (CAST(1 AS TEXT))", "x", ""),
        ("x CANVAS(3) DEFAULT 'a'", "x", ""),
        ("x INT CHECK (EXISTS (SELECT 1 AS y))", "x", ""),
        ("x TEXT, CHECK (x COLLATE nocase = 'a')", "x", ""),
    ],
)
def test_clauses_of_a_column(definition: str, column: str, text: str) -> None:
    ddl = f"CREATE TABLE t (a INT, b INT, {definition})"
    found = table_clauses(ddl, "sqlite").columns.get(column)
    assert ("" if found is None else found.text) == text
    if text and "CONSTRAINT" not in ddl:  # SQLite itself reads what is kept as it reads the whole
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(f'CREATE TABLE t (a INT, b INT, "x" {text})')


def test_clauses_of_duckdb_and_of_whole_tables() -> None:
    ddl = "CREATE TABLE b(v DECIMAL(10,2), g INTEGER GENERATED ALWAYS AS((v + 1)), h VARCHAR COLLATE nocase.noaccent);"
    found = table_clauses(ddl, "duckdb")
    assert {name: clauses.text for name, clauses in found.columns.items() if clauses.text} == {
        "g": "GENERATED ALWAYS AS ((v + 1))",
        "h": "COLLATE nocase.noaccent",
    }
    assert {name: clauses.type for name, clauses in found.columns.items()} == {
        "v": "DECIMAL(10,2)",
        "g": "INTEGER",
        "h": "VARCHAR",
    }
    assert not found.strict
    assert table_clauses("CREATE TABLE t (a ANY, strict INT) WITHOUT ROWID, STRICT", "sqlite").strict
    assert not table_clauses("CREATE TABLE t (a INT, strict INT)", "sqlite").strict
    assert table_clauses("CREATE TABLE t AS SELECT 'it", "sqlite").columns == {}
    assert table_clauses("", "sqlite").columns == {}


@each("options", ["STRICT", "WITHOUT ROWID", "strict, Without rowid", "WITHOUT ROWID, STRICT"])
def test_tables_with_options_are_read(options: str) -> None:
    found = read_ddl(f"CREATE TABLE t (k TEXT PRIMARY KEY, v BLOB, CHECK (v <> k)) {options};", "sqlite")
    assert not found.unread
    (table,) = found.schema.tables
    assert [(column.name, column.type) for column in table.columns] == [("k", "TEXT"), ("v", "BLOB")]
    assert table.columns[0].not_null
    assert table.checks == ("v <> k",)
