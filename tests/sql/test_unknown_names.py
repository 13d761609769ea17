"""The names that a database lacks are found, and no others."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from odd_names import ODD, SCRIPT
from sqlglot import exp

from assay.sql.schema.ddl import read_ddl
from assay.sql.shape import parse_query
from assay.sql.unknown_names import UnknownNames, unknown_names
from many_cases import each

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
def test_an_unknown_qualifier_is_told_from_an_unknown_column(
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
