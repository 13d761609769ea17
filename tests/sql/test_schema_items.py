"""A query uses the tables and columns that the engine reads for it, however it is written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from name_oracles import SqliteOracle
from odd_names import ODD, TABLES
from test_query import NAMES, NOT_REPORTED

from assay.sql.query import Unreadable
from assay.sql.schema_items import SchemaItems, nearest_use, schema_items
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
    """A query over some tables, in any order and under any names, and what it uses."""
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
