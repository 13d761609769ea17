"""A query uses the tables and columns that the engine reads for it, however it is written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from name_oracles import SqliteOracle
from odd_names import ODD, SCRIPT, TABLES
from sqlglot import exp
from test_query import NAMES, NOT_REPORTED

from assay.sql.query import Unreadable
from assay.sql.schema.ddl import read_ddl
from assay.sql.schema_items import SchemaItems, nearest_use, schema_items
from assay.sql.shape import parse_query
from assay.sql.unknown_names import UnknownNames, unknown_names
from many_cases import each


def _items(query: str) -> SchemaItems:
    found = schema_items(query, "sqlite", NAMES)
    assert isinstance(found, SchemaItems), (query, found)
    return found


UNREAD_CTE = "WITH q AS (SELECT id FROM a) SELECT x FROM b WHERE id IN (WITH q AS (SELECT e FROM e) SELECT e FROM q)"
"""SQLite reads nothing of a CTE that nothing reads."""


@each("text", [text for text in ODD if text not in {UNREAD_CTE, *NOT_REPORTED}])
def test_the_columns_are_those_that_sqlite_reads(sqlite: SqliteOracle, text: str) -> None:
    theirs = {".".join(pair) for pair in sqlite.columns_named(text)}
    ours = _items(text).columns
    if "USING" in text or "NATURAL" in text:  # of the joined columns, SQLite reports one side
        assert theirs <= ours
    else:
        assert ours == theirs


@each("text", ODD)
def test_a_cte_around_a_query_uses_nothing_more(text: str) -> None:
    assert _items(f"WITH wrapped AS ({text}) SELECT * FROM wrapped") == _items(text)


@st.composite
def _queries(draw: st.DrawFn) -> tuple[str, SchemaItems]:
    tables = draw(st.lists(st.sampled_from(["a", "b", "e"]), min_size=1, max_size=3, unique=True))
    aliases = {table: draw(st.sampled_from([f"t_{table}", f"{table}{table}", table])) for table in tables}
    everything = [(table, column) for table in tables for column in TABLES[table]]
    used = draw(st.lists(st.sampled_from(everything), min_size=1, max_size=4))
    shown, *compared = [f'{aliases[table]}."{column}"' for table, column in used]
    separator = draw(st.sampled_from([", ", " JOIN ", " CROSS JOIN "]))
    source = separator.join(f"{table} AS {aliases[table]}" for table in draw(st.permutations(tables)))
    where = " AND ".join(f"{column} IS NOT NULL" for column in compared) or "1 = 1"
    query = f"SELECT {shown} FROM {source} WHERE {where}"
    if draw(st.booleans()):
        query = f"SELECT k FROM (SELECT {shown} AS k FROM {source} WHERE {where}) AS q ORDER BY k"
    columns = frozenset(f"{table}.{column}".lower() for table, column in used)
    return query, SchemaItems(frozenset(tables), columns)


@given(_queries())
def test_order_aliases_and_subqueries_do_not_matter(made: tuple[str, SchemaItems]) -> None:
    query, wanted = made
    assert _items(query) == wanted
    assert nearest_use([query], query, "sqlite", NAMES) == "same"


@each(
    ("query", "columns"),
    [
        ("SELECT COUNT(*) FROM a", ""),
        ("SELECT 1 FROM a WHERE EXISTS (SELECT * FROM b WHERE b.id = a.b_id)", "a.b_id b.id"),
        ("SELECT e FROM e WHERE EXISTS (SELECT e.* FROM a)", "e.e"),
        ("SELECT e.* FROM e, a", "e.e e.x"),
        ("SELECT e FROM e JOIN a USING (x)", "a.x e.e e.x"),
        ("SELECT rowid FROM a", "a.id"),
        ("SELECT rowid FROM b", "b.rowid"),
        ('SELECT e FROM e WHERE x = "blue"', "e.e e.x"),
        ("SELECT height, e.width FROM e", "e.width height"),
    ],
)
def test_columns_used(query: str, columns: str) -> None:
    assert sorted(_items(query).columns) == columns.split()


@each(
    ("golds", "predicted", "use"),
    [
        (["SELECT id FROM a"], "SELECT x FROM a", "other_columns"),
        (["SELECT id FROM a"], "SELECT id FROM b", "other_tables"),
        (["SELECT id FROM a"], "SELECT a.id FROM a, b", "other_tables"),
        (["SELECT id FROM a"], "SELECT MAX(id) FROM a", "same"),
        (["SELECT id FROM b", "SELECT x FROM a", "SELECT id FROM a"], "SELECT -id FROM a", "same"),
        (["SELECT id FROM b", "SELECT x FROM a"], "SELECT id FROM a", "other_columns"),
        (["SELECT id FROM", "SELECT id FROM a"], "SELECT id FROM a", "same"),
        (["SELECT id FROM"], "SELECT id FROM a", None),
        (["SELECT id FROM a"], "SELECT id FROM", None),
        ([], "SELECT id FROM a", None),
    ],
)
def test_the_nearest_gold_query_counts(golds: list[str], predicted: str, use: str | None) -> None:
    assert nearest_use(golds, predicted, "sqlite", NAMES) == use


def test_a_text_that_is_not_a_query_has_no_items() -> None:
    assert isinstance(schema_items("DROP TABLE a", "sqlite", NAMES), Unreadable)


SINGERS = read_ddl(
    "CREATE TABLE singer(id INTEGER, name TEXT, age INT, Country TEXT); CREATE TABLE song(id INTEGER, title TEXT);",
    "sqlite",
).schema
ODD_TABLES = read_ddl(";".join(SCRIPT.split(";")[:4]), "sqlite").schema


@each(
    ("query", "tables", "columns"),
    [
        ("SELECT nme FROM singer", (), ("nme",)),
        ("SELECT s.nme, s.age FROM singer AS s", (), ("nme",)),
        ("SELECT name FROM singers", ("singers",), ()),
        ("SELECT x.name FROM singer AS s", (), ("name",)),
        ("WITH c AS (SELECT age AS a FROM singer) SELECT a FROM c", (), ()),
        ("SELECT COUNT(*) AS n FROM singer ORDER BY n", (), ()),
        ("SELECT d.n FROM (SELECT name AS n FROM singer) AS d", (), ()),
        ('SELECT name FROM singer WHERE Country = "France"', (), ()),
    ],
)
def test_names_that_the_database_lacks_are_found(query: str, tables: tuple[str, ...], columns: tuple[str, ...]) -> None:
    found = unknown_names(query, "sqlite", SINGERS)
    assert isinstance(found, UnknownNames)
    assert (found.tables, tuple(column.name for column in found.columns)) == (tables, columns)


@each(
    ("query", "qualifier", "sources", "is_out_of_scope"),
    [
        ("SELECT T3.name FROM singer T1", "T3", ("singer AS T1",), False),
        ("SELECT T3.nme FROM singer T1 JOIN song ON T1.id = song.id", "T3", ("singer AS T1", "song"), False),
        ("SELECT singer.name FROM singer AS T1", "singer", ("singer AS T1",), False),
        (
            "SELECT age FROM singer WHERE id IN (SELECT id FROM song WHERE title = q.title)",
            "q",
            ("song", "singer"),
            False,
        ),
        ("SELECT T2.title FROM singer WHERE id IN (SELECT id FROM song T2)", "T2", ("singer",), True),
        ("SELECT d.a FROM (SELECT T2.age AS a FROM singer) d, song T2", "T2", ("singer",), True),
        ("SELECT x.n FROM (SELECT name AS n FROM singer) AS d", "x", ("d",), False),
        ("SELECT name FROM singer UNION SELECT singer.name FROM song", "singer", ("song",), True),
        ("SELECT x.name", "x", (), False),
    ],
)
def test_an_unknown_qualifier_is_told(
    query: str, qualifier: str, sources: tuple[str, ...], is_out_of_scope: bool
) -> None:
    found = unknown_names(query, "sqlite", SINGERS)
    assert isinstance(found, UnknownNames)
    (column,) = found.columns
    assert (column.unknown_qualifier, column.sources, column.is_out_of_scope) == (qualifier, sources, is_out_of_scope)


@pytest.mark.parametrize(
    "query", ["SELECT T1.nme FROM singer T1", "SELECT nme FROM singer T1", "SELECT d.x FROM (SELECT age FROM singer) d"]
)
def test_a_known_qualifier_is_not_called_unknown(query: str) -> None:
    found = unknown_names(query, "sqlite", SINGERS)
    assert isinstance(found, UnknownNames)
    assert [column.unknown_qualifier for column in found.columns] == [""]


def _with_one_name_changed(text: str) -> Iterator[str]:
    """The query with one of its columns called ``nowhere``, for each of them."""
    parsed = parse_query(text, "sqlite")
    for place, node in enumerate(parsed.tree.walk()):
        if isinstance(node, exp.Column) and not node.is_star:
            changed = parsed.tree.copy()
            column = next(one for number, one in enumerate(changed.walk()) if number == place)
            column.set("this", exp.to_identifier("nowhere"))
            yield changed.sql(dialect="sqlite")


@each("text", [text for text in ODD if "(WITH q" not in text])  # SQLite skips what nothing reads
def test_a_column_is_unknown_when_sqlite_says_so(text: str) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCRIPT)
        for changed in _with_one_name_changed(text):
            problem = ""
            try:
                connection.execute(f"EXPLAIN {changed}")
            except sqlite3.OperationalError as error:
                problem = str(error)
            found = unknown_names(changed, "sqlite", ODD_TABLES)
            assert isinstance(found, UnknownNames)
            assert not found.tables
            names = [column.name.lower() for column in found.columns]
            if not problem:
                assert not names, changed
            elif problem.startswith("no such column: "):
                assert problem.rpartition(": ")[2].rpartition(".")[2].lower() in names, (changed, problem)
