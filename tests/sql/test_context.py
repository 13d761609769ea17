"""What a system says that it was given: every form gives the same names, and names mean what the database has."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.model import ColumnSchema, DatabaseSchema, TableSchema
from assay.sql.context import Context, InvalidContext, context_beside, read_context
from assay.sql.context.matching import context_items
from assay.sql.schema import SchemaNames, names_of
from many_cases import each

ODD = [
    *("singer", "Order", "order details", "2.5 (m)", 'say "x"', "grün", "a,b", "key", "x;y", "select", "name"),
    "Rate (%) (K-12)",
]


def _quoted(name: str, quote: str = '"') -> str:
    return quote + name.replace(quote, quote * 2) + quote


def _schema(tables: dict[str, list[str]]) -> SchemaNames:
    return names_of(
        DatabaseSchema(
            dialect="sqlite",
            tables=tuple(
                TableSchema(
                    name=name.rpartition("/")[2],
                    namespace=name.rpartition("/")[0] or None,
                    ddl="",
                    columns=tuple(ColumnSchema(name=column, type="TEXT") for column in columns),
                )
                for name, columns in tables.items()
            ),
        )
    )


def _ddl(tables: dict[str, list[str]], quote: str = '"') -> str:
    made = []
    for table, columns in tables.items():
        parts = [f"{_quoted(column, quote)} DECIMAL(10, 2) CHECK (1 < 2) DEFAULT 'a, b'" for column in columns]
        constraint = f"CONSTRAINT pk PRIMARY KEY ({_quoted(columns[0], quote)})"
        made.append(f"CREATE TABLE IF NOT EXISTS {_quoted(table, quote)} (\n  {', '.join([*parts, constraint])}\n);")
    return "\n-- rows: (1, 2)\n/* 3 rows, as\nx y */\n".join(made)


FORMS = {
    "objects": lambda tables: [{"name": table, "columns": columns} for table, columns in tables.items()],
    "objects of objects": lambda tables: [
        {"table_name": table, "columns": [{"name": column, "type": "INT"} for column in columns]}
        for table, columns in tables.items()
    ],
    "columns by table": lambda tables: tables,
    "types by column by table": lambda tables: {t: dict.fromkeys(columns, "INT") for t, columns in tables.items()},
    "JSON": json.dumps,
    "as Python prints it": repr,
    "DDL": _ddl,
    "DDL of MySQL": lambda tables: _ddl(tables, "`"),
    "statements": lambda tables: [_ddl({table: columns}) for table, columns in tables.items()],
    "text": lambda tables: "; ".join(
        f"{_quoted(table)}({', '.join(map(_quoted, columns))})" for table, columns in tables.items()
    ),
}
TABLES = st.dictionaries(
    st.sampled_from(ODD), st.lists(st.sampled_from(ODD), min_size=1, max_size=4, unique=True), min_size=1, max_size=3
)


@given(TABLES, st.sampled_from(sorted(FORMS)))
def test_every_form_of_a_schema_gives_all_of_it(tables: dict[str, list[str]], form: str) -> None:
    names = _schema(tables)
    said = read_context(FORMS[form](tables))
    assert said.columns is not None
    items = context_items(said.tables, said.columns, names, None)
    wanted = {f"{table}.{column}".lower() for table, columns in tables.items() for column in columns}
    assert items.all_tables == {table.lower() for table in tables}, (form, said)
    assert items.all_columns == wanted, (form, said)
    assert len(items.tables) == len(tables)
    assert len(items.columns) == len(wanted)


@given(TABLES, st.data())
def test_spelling_changes_nothing(tables: dict[str, list[str]], data: st.DataObject) -> None:
    names = _schema(tables)
    table = data.draw(st.sampled_from(sorted(tables)))
    column = data.draw(st.sampled_from(tables[table]))
    change = data.draw(st.sampled_from([str.upper, str.lower, str]))
    before = data.draw(st.sampled_from(["", "main.", '"main".', "DB_1.", "`db_1`.", "[db_1].", "DB_1.main."]))
    quote = data.draw(st.sampled_from(['"', "`"]))
    written = [f"{before}{_quoted(change(name), quote)}" for name in (table, column)]
    items = context_items((written[0],), (f"{written[0]}.{_quoted(change(column), quote)}",), names, "db_1")
    assert items.tables == (frozenset([table.lower()]),)
    assert items.columns == (frozenset([f"{table}.{column}".lower()]),)


SHOP = _schema(
    {
        "orders": ["id", "total"],
        "sales/orders": ["id", "region"],
        "sales/clients": ["id", "name"],
        "archive/logs": ["at"],
        "backup/logs": ["at"],
    }
)


@each(
    ("name", "means"),
    [
        ("orders", {"orders"}),
        ("ORDERS", {"orders"}),
        ("main.orders", {"orders"}),
        ("shop.orders", {"orders"}),
        ("shop.main.orders", {"orders"}),
        ("sales.orders", {"sales.orders"}),
        ('shop."Sales"."Orders"', {"sales.orders"}),
        ('"sales.orders"', {"sales.orders"}),
        ("clients", {"clients"}),
        ("sales.clients", {"clients"}),
        ("archive.clients", set()),
        ("archive.orders", set()),
        ("other.orders", set()),
        ("logs", {"logs", "backup.logs"}),
        ("archive.logs", {"logs"}),
        ("backup.logs", {"backup.logs"}),
        ("order", set()),
        ("", set()),
        ('"orders', set()),
    ],
)
def test_a_name_with_its_schema_means_that_table(name: str, means: set[str]) -> None:
    assert context_items((name,), None, SHOP, "shop").tables == (frozenset(means),)


@each(
    ("tables", "columns", "found_tables", "found_columns"),
    [
        (("orders",), None, [{"orders"}], None),
        (("orders", "main.Orders", '"orders"'), None, [{"orders"}], None),
        (None, ("orders.id",), [{"orders"}], [{"orders.id"}]),
        (None, ("orders.id", "sales.clients.name"), [{"orders"}, {"clients"}], [{"orders.id"}, {"clients.name"}]),
        (("orders", "clients"), ("id",), [{"orders"}, {"clients"}], [{"orders.id", "clients.id"}]),
        (("clients",), ("id", "name"), [{"clients"}], [{"clients.id"}, {"clients.name"}]),
        (None, ("region",), [{"sales.orders"}], [{"sales.orders.region"}]),
        (("orders",), ("orders.*",), [{"orders"}], [{"orders.id"}, {"orders.total"}]),
        (("orders.total",), None, [{"orders"}], [{"orders.total"}]),
        (("clients", "orders.id"), None, [{"clients"}, {"orders"}], [{"orders.id"}, {"clients.id"}, {"clients.name"}]),
        (None, ('orders."orders.id"', 'clients."sales.clients.id"'), [{"orders"}, {"clients"}],
         [{"orders.id"}, {"clients.id"}]),
        (("nope",), ("orders.nope", "nope.id"), [set()], [set(), set()]),
        ((), (), [], []),
        (("orders",), (), [{"orders"}], []),
    ],
)  # fmt: skip
def test_columns_come_with_their_tables(
    tables: tuple[str, ...] | None,
    columns: tuple[str, ...] | None,
    found_tables: list[set[str]],
    found_columns: list[set[str]] | None,
) -> None:
    items = context_items(tables, columns, SHOP, "shop")
    assert list(items.tables) == found_tables
    assert (None if items.columns is None else list(items.columns)) == found_columns


def test_without_a_schema_tables_are_their_names() -> None:
    items = context_items(("bank.Client", '"Loan"'), ("client.id",), SchemaNames(), None)
    assert items.tables == (frozenset({"client"}), frozenset({"loan"}))
    assert items.columns is None


@each(
    ("tables", "columns", "wanted"),
    [
        (None, None, Context()),
        ("", "  ", Context()),
        ("null", None, Context()),
        ([], None, Context(())),
        ("[]", None, Context(())),
        ({}, None, Context(())),
        ("a, b;c\n d ,", None, Context(("a", "b", "c", "d"))),
        (["a", "a"], None, Context(("a",))),
        ('"a,b", c', None, Context(('"a,b"', "c"))),
        ("[order details], [b]", None, Context(("[order details]", "[b]"))),
        ({"a": ["x"], "b": None}, None, Context(("a", "b"), ("a.x", "b.*"))),
        ({"a": ["x"], "b": []}, None, Context(("a", "b"), ("a.x",))),
        ({"a": "*", "b": "drop_all", "c": "keep_all"}, None, Context(("a", "c"), ("a.*", "c.*"))),
        ({"tables": ["a"], "columns": ["a.x"]}, None, Context(("a",), ("a.x",))),
        ([{"name": "a"}], None, Context(("a",))),
        ([{"name": "a"}, "b(x)"], None, Context(("a", "b"), ("b.x", "a.*"))),
        ("a", "a.x, y", Context(("a",), ("a.x", "y"))),
        (None, [["a", "x"], {"table": "b", "column": "y z"}], Context(None, ("a.x", "b.y z"))),
        (None, {"a": ["x", "y"]}, Context(None, ("a.x", "a.y"))),
        (None, [], Context(None, ())),
        (None, ["t.Meals (K-12)", "%) of (K-12", "t(x)"], Context(None, ("t.Meals (K-12)", "%) of (K-12", "t.x"))),
        ("singer(id: INTEGER, name:TEXT)", None, Context(("singer",), ("singer.id", "singer.name"))),
        ("t(Rate (%) of (K-12), x)", None, Context(("t",), ('t."Rate (%) of (K-12)"', "t.x"))),
        ("CREATE VIEW s.v AS SELECT a, b AS c FROM t", None, Context(("s.v",), ("s.v.a", "s.v.c"))),
        ("create or replace table `a` (`k` int, key `ix` (`k`), unique key (`k`))", None, Context(("a",), ("a.k",))),
        ("CREATE TABLE a (s STRUCT<x INT64, y ARRAY<INT64>>, z INT64)", None, Context(("a",), ("a.s", "a.z"))),
        ("CREATE TABLE a (key VARCHAR(20), \"index\" INT)", None, Context(("a",), ("a.key", "a.index"))),
    ],
)  # fmt: skip
def test_what_a_value_says(tables: object, columns: object, wanted: Context) -> None:
    assert read_context(tables, columns) == wanted


NO_TABLES: list[object] = [
    *(5, True, 1.5, b"a", [5], [None], ["a", ""], [["a"]], {"a": 5}, {"": ["x"]}, {1: ["x"]}, {"a": [5]}, {"a": [""]}),
    *("singer: id, name", "【Schema】\n# Table: singer\n[(id:INT)]", "# singer", "tables=singer", "a | b"),
    *("{a: b}", "[1", "CREATE TABLE", 'a"b', "a(b"),
]


@each("value", NO_TABLES)
def test_what_names_no_table_is_refused(value: object) -> None:
    with pytest.raises(InvalidContext):
        read_context(value)


LEAVES = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.sampled_from(["CREATE TABLE a (", "a(b)"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_anything_is_read_or_refused(value: object) -> None:
    for given_ in ((value, None), (None, value)):
        try:
            found = read_context(*given_)
        except InvalidContext:
            continue
        context_items(found.tables, found.columns, SHOP, "shop")


@each(
    ("said", "wanted"),
    [
        ({"sql": "SELECT 1"}, Context()),
        ({"sql": "SELECT 1", "contextTables": ["a"]}, Context(("a",))),
        ({"context-tables": "a, b", "Context Columns": ["a.x"]}, Context(("a", "b"), ("a.x",))),
        ({"retrieved_tables": ["a", "b"], "linked_tables": ["a"]}, Context(("a",))),
        ({"context_schema": {"a": ["x"]}}, Context(("a",), ("a.x",))),
        ({"selected_columns": ["x"], "selected_schema": "public"}, Context()),
    ],
)
def test_the_usual_names_beside_an_answer(said: dict[str, object], wanted: Context) -> None:
    assert context_beside(said) == wanted
