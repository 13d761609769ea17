"""Queries clause by clause: what says the same is no difference, and one change is one difference."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlglot

from assay.sql.differences import (
    QueryParts,
    RepairedQuery,
    SchemaNames,
    differences,
    place_of,
    read_pair,
    read_parts,
    repaired_queries,
)
from assay.sql.differences.canonical import plain_text
from assay.sql.query import Query, read_query
from assay.sql.schema.ddl import read_ddl
from many_cases import each

NAMES = SchemaNames(
    read_ddl(
        "CREATE TABLE singer (id PRIMARY KEY, name, age, Country);"
        "CREATE TABLE song (id PRIMARY KEY, singer_id, title, year);"
        "CREATE TABLE award (id PRIMARY KEY, song_id, label)",
        "sqlite",
    ).schema
)


def kinds(gold: str, predicted: str, dialect: str = "sqlite") -> list[str]:
    read = read_pair(gold, predicted, dialect, NAMES)
    return [one.kind for one in differences(read.gold, read.predicted)]


def repairs(gold: str, predicted: str) -> Iterator[RepairedQuery]:
    read = read_pair(gold, predicted, "sqlite", NAMES)
    assert read is not None
    return repaired_queries(read)


SAME = [
    (
        "SELECT T1.name FROM singer AS T1 JOIN song AS T2 ON T1.id = T2.singer_id WHERE T2.year > 3",
        "SELECT T2.name FROM song AS T1 JOIN singer AS T2 ON T1.singer_id = T2.id WHERE T1.year > 3",
    ),
    ("SELECT name FROM singer, song WHERE singer.id = singer_id", "SELECT name FROM singer JOIN song ON singer_id = singer.id"),  # noqa: E501
    ("SELECT name FROM singer WHERE age BETWEEN 1 AND 2", "SELECT name FROM singer WHERE age <= 2 AND 1 <= age"),
    ("SELECT name FROM singer WHERE age = 1 OR age = 2", "SELECT name FROM singer WHERE age IN (2, 1)"),
    ("SELECT name FROM singer WHERE NOT (age > 1 OR id = 2)", "SELECT name FROM singer WHERE age <= 1 AND id != 2"),
    ("SELECT COUNT(*) FROM singer", "SELECT count(id) FROM singer"),
    ("SELECT NAME FROM Singer ORDER BY AGE", "SELECT name AS n FROM singer s ORDER BY s.age ASC"),
    ("SELECT Country, COUNT(*) FROM singer GROUP BY Country", "SELECT COUNT(*) AS c, country FROM singer GROUP BY 2"),
    ("SELECT COUNT(*) AS c FROM singer GROUP BY age ORDER BY c", "SELECT COUNT(*) FROM singer GROUP BY age ORDER BY COUNT(*)"),  # noqa: E501
    ("SELECT DISTINCT age FROM singer", "SELECT age FROM singer GROUP BY age"),
    ("SELECT name FROM singer WHERE Country = 'x'", 'SELECT name FROM singer WHERE country = "x"'),
    ("SELECT SUM(CASE WHEN age > 3 THEN 1 ELSE 0 END) FROM singer", "SELECT COUNT(CASE WHEN age > 3 THEN 1 END) FROM singer"),  # noqa: E501
    ("WITH c AS (SELECT age FROM singer) SELECT age FROM c", "SELECT d.age FROM (SELECT age FROM singer) AS d"),
    ("SELECT name FROM singer WHERE id IN (SELECT singer_id FROM song AS s WHERE s.year = 1)",
     "SELECT name FROM singer WHERE id IN (SELECT x.singer_id FROM song x WHERE x.year = 1)"),
    ("SELECT * FROM singer", "SELECT Country, age, name, id FROM singer"),
    ("SELECT singer.id FROM singer JOIN song ON singer.id = singer_id", "SELECT singer_id FROM singer JOIN song ON singer.id = singer_id"),  # noqa: E501
    ("SELECT name FROM singer WHERE age NOT IN (1, 2)", "SELECT name FROM singer WHERE 2 <> age AND NOT age = 1"),
    ("SELECT age FROM singer GROUP BY age HAVING COUNT(*) > 3",
     "SELECT age FROM singer GROUP BY 1 HAVING 3 < count(1)"),
    ("SELECT name FROM singer WHERE age > -5 AND 1 = 1", "SELECT name FROM singer WHERE (-5) < age"),
    ("SELECT name FROM singer WHERE age * 2 + id > 3", "SELECT name FROM singer WHERE 3 < id + (2 * age)"),
    ("SELECT name FROM singer WHERE age > 1 AND (id = 2 OR Country = 'x')",
     "SELECT name FROM singer WHERE (id = 2 AND age > 1) OR (1 < age AND Country = 'x')"),
    ("SELECT name FROM singer WHERE id = 1", "WITH w AS (SELECT name FROM singer WHERE id = 1) SELECT * FROM w"),
    ("SELECT title FROM song WHERE year > 3",
     "SELECT x.t FROM (SELECT title AS t, year AS y FROM song) x WHERE x.y > 3"),
    ("SELECT s.name FROM singer s JOIN song t ON s.id = t.singer_id",
     "SELECT a.name FROM (SELECT * FROM singer) a, (SELECT * FROM song) b WHERE b.singer_id = a.id"),
    ("SELECT a.name FROM singer a JOIN singer b ON a.age = b.id WHERE a.Country = 'x'",
     "SELECT y.name FROM singer x JOIN singer y ON x.id = y.age WHERE y.Country = 'x'"),
    ("SELECT name FROM singer WHERE age = 1 UNION SELECT title FROM song", "SELECT title FROM song UNION SELECT name FROM singer WHERE age = 1"),  # noqa: E501
    ("SELECT name FROM singer s WHERE age > (SELECT AVG(t.age) FROM singer t WHERE t.Country = s.Country)",
     "SELECT name FROM singer WHERE age > (SELECT AVG(age) FROM singer u WHERE singer.Country = u.Country)"),
    ("SELECT name FROM singer JOIN song ON singer.id = song.id WHERE year < age", "SELECT name FROM singer JOIN song USING (id) WHERE age > year"),  # noqa: E501
]  # fmt: skip
SAME_IN_DUCKDB = [
    ("SELECT COUNT(*) FROM song WHERE EXTRACT(year FROM year) = 3", "SELECT COUNT(*) FROM song WHERE year(year) = 3"),
    (
        "SELECT COUNT(*) FROM song WHERE EXTRACT(year FROM year) = 3",
        "SELECT COUNT(*) FROM song WHERE date_part('year', year) = 3",
    ),
    ("SELECT age, COUNT(*) FROM singer GROUP BY age", "SELECT age, COUNT(*) FROM singer GROUP BY ALL"),
    ("SELECT id, name, age FROM singer", "SELECT * EXCLUDE (Country) FROM singer"),
    ("SELECT name FROM singer WHERE age AND NOT id", "SELECT name FROM singer WHERE age = TRUE AND id = FALSE"),
    ("SELECT CAST(age AS DOUBLE) FROM singer", "SELECT age::DOUBLE FROM singer"),
]


@each(
    ("gold", "predicted", "dialect"),
    [*((*pair, "sqlite") for pair in SAME), *((*pair, "duckdb") for pair in SAME_IN_DUCKDB)],
)
def test_what_says_the_same_is_no_difference(gold: str, predicted: str, dialect: str) -> None:
    assert kinds(gold, predicted, dialect) == kinds(predicted, gold, dialect) == []


BASE = (
    "SELECT T1.name, T1.age FROM singer AS T1 JOIN song AS T2 ON T1.id = T2.singer_id WHERE T2.year > 3 AND T1.age = 5"
)
IN_SONG = "T1.id IN (SELECT s.singer_id FROM song AS s)"
ONE = [
    (BASE, BASE.replace("T1.name", "T1.Country"), "output_changed"),
    (BASE, BASE.replace("T1.name, ", ""), "output_missing"),
    (BASE, BASE.replace("SELECT", "SELECT T2.title,"), "output_extra"),
    (BASE, BASE.replace("SELECT", "SELECT DISTINCT"), "distinct_extra"),
    (BASE, BASE.replace("> 3", "> 4"), "literal"),
    (BASE, BASE.replace("T1.id =", "T1.id <>"), "join_condition"),
    (f"{BASE} UNION ALL {BASE}", f"{BASE} UNION ALL {BASE.replace('T1.id =', 'T1.age =')}", "join_condition"),
    (BASE, BASE.replace("T1.name", "T1.name || '!'"), "string_function"),
    (f"{BASE} AND {IN_SONG}", f"{BASE} AND ({IN_SONG} OR T1.id > 4)", "condition_extra"),
    (BASE, BASE.replace("T1.age FROM", "-T1.age FROM"), "arithmetic"),
    (BASE, f"{BASE} AND T1.id IN (SELECT T2.age FROM singer AS T2)", "condition_extra"),
    (BASE, f"WITH w AS ({BASE.replace('> 3', '> 4')}) SELECT * FROM w", "literal"),
    (BASE, BASE.replace("> 3", ">= 3"), "operator"),
    (BASE, BASE.replace(" AND ", " OR "), "connective"),
    (BASE, BASE.replace(" AND T1.age = 5", ""), "condition_missing"),
    (BASE, BASE + " AND T1.Country = 'x'", "condition_extra"),
    (BASE, BASE.replace("T2.year > 3", "T2.id > 3"), "condition_column"),
    (BASE, BASE + " ORDER BY T1.age", "order_extra"),
    (BASE + " ORDER BY T1.age", BASE + " ORDER BY T1.age DESC", "direction"),
    (BASE + " LIMIT 3", BASE, "limit_missing"),
    (BASE + " LIMIT 3", BASE + " LIMIT 4", "limit_changed"),
    (BASE, BASE.replace("T1.id = ", "T1.age = "), "join_condition"),
    (BASE, BASE.replace(" JOIN", " LEFT JOIN"), "join_type"),
    ("SELECT MAX(age) FROM singer", "SELECT MIN(age) FROM singer", "aggregate"),
    ("SELECT COUNT(age) FROM singer", "SELECT COUNT(DISTINCT age) FROM singer", "distinct_extra"),
    ("SELECT id FROM song", "SELECT id FROM award", "table_changed"),
    ("SELECT id FROM song GROUP BY year HAVING COUNT(*) > 2", "SELECT id FROM song GROUP BY year HAVING COUNT(*) > 3", "literal"),  # noqa: E501
    ("SELECT id FROM song UNION SELECT id FROM award", "SELECT id FROM song INTERSECT SELECT id FROM award", "set_operation_changed"),  # noqa: E501
    ("SELECT id FROM song WHERE year = 1 OR year = 2", "SELECT id FROM song WHERE year = 1 AND year = 2", "connective"),
    ("SELECT id FROM song WHERE year = 1 OR year = 2", "SELECT id FROM song WHERE year = 1 OR year = 3", "literal"),
]  # fmt: skip


@each(("gold", "predicted", "kind"), ONE)
def test_one_change_is_one_difference(gold: str, predicted: str, kind: str) -> None:
    """And gold's clause in the place of the changed one gives gold again."""
    assert kinds(gold, predicted) == [kind]
    first = next(iter(repairs(gold, predicted)), None)
    assert first is not None, kind
    assert kinds(gold, first.query) == []
    assert len(first.steps) == 1


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        ("SELECT name FROM singer WHERE age > 3 AND 1 < id", "SELECT name FROM singer AS s WHERE age < 3 ORDER BY id"),
        (
            "SELECT name FROM singer UNION SELECT title FROM song",
            "SELECT name FROM singer EXCEPT SELECT title FROM song",
        ),
        ("SELECT name FROM singer JOIN song ON singer.id = singer_id", "SELECT name FROM singer WHERE NOT age = 3"),
    ],
)
def test_comparing_and_repairing_leaves_the_shared_trees_as_they_are(gold: str, predicted: str) -> None:
    """Others read the same trees: the use of the schema, and the lint of gold queries."""
    texts = [read_query(text, "sqlite", NAMES) for text in (gold, predicted)]
    trees = [read.tree for read in texts if isinstance(read, Query)]
    before = [tree.sql("sqlite") for tree in trees]
    pair = read_pair(gold, predicted, "sqlite", NAMES)
    assert pair is not None
    assert [step for repaired in repaired_queries(pair) for step in repaired.steps]
    assert [tree.sql("sqlite") for tree in trees] == before
    for tree in trees:
        assert all(child.parent is node for node in tree.walk() for child in node.iter_expressions())


def test_a_repair_speaks_of_the_prediction_s_own_aliases() -> None:
    gold = "SELECT a.name FROM singer AS a JOIN song AS b ON a.id = b.singer_id WHERE b.year > 3"
    predicted = "SELECT b.name FROM song AS a JOIN singer AS b ON b.id = a.singer_id WHERE a.year > 4"
    (step,) = next(repairs(gold, predicted)).steps
    assert (step.clause, step.before, step.after) == ("WHERE", "WHERE a.year > 4", "WHERE a.year > 3")


UNREADABLE = [
    "",
    ";;;",
    "I cannot answer this question.",
    "SELEC name FRM singer",
    "SELECT name FROM singer WHERE ((((",
    "SELECT '\x00",
    "SELECT " + ", ".join(f"c{n}" for n in range(20_000)) + " FROM singer",
    "SELECT name FROM singer WHERE " + "(" * 5_000 + "1" + ")" * 5_000,
    "SELECT name FROM singer WHERE " + "NOT " * 2_000 + "age",
    "SELECT " + " + ".join("age" for _ in range(4_000)) + " FROM singer",
    "WITH " + ", ".join(f"c{n} AS (SELECT * FROM {f'c{n - 1}' if n else 'singer'})" for n in range(1_000)) + " SELECT * FROM c999",  # noqa: E501
    "WITH "
    + ", ".join(f"c{n} AS (SELECT 1 FROM {f'c{n - 1} a, c{n - 1} b' if n else 'singer'})" for n in range(40))
    + " SELECT * FROM c39",
    "SELECT id FROM song WHERE id IN " * 1_000 + "(1)",
    " UNION ".join("SELECT id FROM song" for _ in range(400)),
]  # fmt: skip


@each("query", UNREADABLE, ids=lambda query: query[:20])
@each("dialect", ["sqlite", "no such dialect"])
def test_a_query_that_cannot_be_compared_is_none_and_raises_nothing(query: str, dialect: str) -> None:
    assert read_pair(BASE, query, dialect, NAMES) is None
    assert read_pair(query, BASE, dialect, NAMES) is None


def test_writing_a_tree_as_text_gives_what_sqlglot_gives_and_changes_nothing() -> None:
    corpus = [
        "SELECT T1.a / T2.b, CAST(a AS REAL) / 2, -x, 'it''s', \"odd \"\"name\", t.[b c], 1e3, 'back\\slash' FROM t",
        "SELECT COUNT(DISTINCT t.a), SUM(CASE WHEN b THEN 1 END) FROM t WHERE a IN (1, 2) AND NOT b LIKE 'x%'",
        "SELECT a FROM t WHERE b BETWEEN 1 AND 2 OR c IS NULL ORDER BY a DESC NULLS LAST LIMIT 3 OFFSET 2",
        "WITH x AS (SELECT 1 AS n) SELECT n FROM x WHERE n > (SELECT AVG(n) FROM x) UNION SELECT 2",
        "SELECT strftime('%Y', d), ROW_NUMBER() OVER (PARTITION BY a ORDER BY b), a || b, ROUND(a, 1) FROM t /* c */",
        "SELECT * FROM a JOIN b USING (id) LEFT JOIN c ON a.id = c.id AND c.n > 1 GROUP BY 1 HAVING COUNT(*) >= 2",
    ]
    for query in corpus:
        tree = sqlglot.parse_one(query, dialect="sqlite")
        for node in list(tree.walk()):
            before = repr(tree)
            assert plain_text(node) == node.sql()
            assert repr(tree) == before, node
    resolved = sqlglot.exp.column("a", table="^t#2")
    assert plain_text(resolved) == resolved.sql()


def test_the_place_of_a_column_is_that_of_its_table_in_every_use() -> None:
    for column in ("singer.name", '"singer#2".name', '"^^singer".name'):
        assert place_of(column) == ("singer", "name")
    assert place_of('"^order details#12"."unit.price"') == ("order details", "unit.price")
    assert place_of('"say ""a.b"""."c#1"') == ('say "a.b"', "c#1")
    assert place_of("name") == ("", "name")


def test_columns_of_further_uses_and_of_outer_queries_are_their_tables() -> None:
    query = (
        "SELECT a.name FROM singer a JOIN singer b ON a.id = b.id WHERE b.age > 2 AND EXISTS "
        "(SELECT 1 FROM song WHERE song.singer_id = a.id AND b.age > 3)"
    )
    parts = read_parts(query, "sqlite", NAMES)
    assert isinstance(parts, QueryParts)
    inner = [one for select in parts.all_selects for term in select.where for one in term.inner]
    terms = [term for query in (parts, *inner) for select in query.all_selects for term in select.where]
    columns = {column for term in terms for column in term.columns}
    assert any("^" in column for column in columns), columns
    assert any("#2" in column for column in columns), columns
    assert {place_of(column)[0] for column in columns} == {"singer", "song"}


@each(
    ("one", "other"),
    [
        (
            "SELECT id FROM singer EXCEPT SELECT singer_id FROM song",
            "SELECT id FROM singer WHERE id NOT IN (SELECT singer_id FROM song)",
        ),
        (
            "SELECT id FROM singer WHERE age = 2 UNION SELECT id FROM singer WHERE name = 'p'",
            "SELECT id FROM singer WHERE age = 2 OR name = 'p'",
        ),
        (
            "SELECT id FROM singer INTERSECT SELECT song_id FROM award",
            "SELECT s.id FROM singer s JOIN award a ON a.song_id = s.id",
        ),
        (
            "SELECT id FROM song WHERE year > 1 UNION SELECT song_id FROM award EXCEPT SELECT id FROM singer",
            "SELECT id FROM song WHERE year > 1",
        ),
    ],
)
def test_what_stands_in_a_further_part_of_a_set_operation_is_not_missing(one: str, other: str) -> None:
    for gold, predicted in ((one, other), (other, one)):
        read = read_pair(gold, predicted, "sqlite", NAMES)
        found = differences(read.gold, read.predicted)
        assert any(difference.kind.startswith("set_") for difference in found), found
        for difference in found:
            lacking = predicted if difference.kind.endswith("_missing") else gold
            said = difference.gold if difference.kind.endswith("_missing") else difference.predicted
            if difference.kind in ("table_missing", "table_extra"):
                assert f" {said} " not in f"{lacking} ".replace(")", " )"), difference
            elif difference.kind in ("condition_missing", "condition_extra"):
                assert said.split(".")[-1] not in lacking, difference
