"""What cannot be looked at, or not honoured, is unknown with the reason in words; hostile queries cost their budget."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from looking import look, schema_of

import assay
from assay.engines.sqlite import SqliteEngine
from assay.errors import DatabaseError, InputError, UsageError
from assay.model import DatabaseUrl, Limits
from assay.witness import query_facts
from assay.witness.query_facts import PairFacts, read_pair
from many_cases import each

DDL = "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, b TEXT)"


@each(
    ("one", "two", "why", "said"),
    [
        ("SELECT a FROM t", "SELEC", "unreadable", "one query"),
        ("SELECT a FROM t", "SELECT a FROM t; SELECT 1", "unreadable", "one query"),
        ("SELECT a FROM t", "DELETE FROM t", "unreadable", "one query"),
        ("SELECT a FROM t", "", "unreadable", "one query"),
        ("SELECT a FROM t", "SELECT a FROM u", "no_schema", "no table u"),
        ("SELECT a FROM t", "SELECT zz FROM t", "fails", "no such column: zz"),
        ("SELECT a FROM t", "SELECT abs(-9223372036854775808) FROM t", "one_fails", "integer overflow"),
        ("SELECT random() FROM t", "SELECT a FROM t", "nondeterministic", "chance"),
        ("SELECT date('now') FROM t", "SELECT a FROM t", "nondeterministic", "clock"),
        ("SELECT a FROM t", "SELECT load_extension('x') FROM t", "fails", "reaches out"),
    ],
)
def test_what_cannot_be_tried_is_unknown(one: str, two: str, why: str, said: str) -> None:
    """Whichever of the two queries it is."""
    for first, second in ((one, two), (two, one)):
        outcome = look(first, second, DDL, trials=200)
        assert (outcome.kind, outcome.why) == ("unknown", why), outcome
        assert said in outcome.reason
        assert outcome.witness is None


def test_an_error_of_one_side_is_no_difference() -> None:
    """It is looked for where both run."""
    outcome = look("SELECT a FROM t", "SELECT CASE WHEN a > 3 THEN abs(-9223372036854775808) ELSE a END FROM t", DDL)
    assert (outcome.kind, outcome.why) == ("unknown", "one_fails")
    outcome = look("SELECT a FROM t", "SELECT CASE WHEN a > 3 THEN abs(-9223372036854775808) ELSE 7 END FROM t", DDL)
    assert outcome.kind == "refuted"


def test_a_query_that_never_ends_costs_its_budget() -> None:
    """It is interrupted on each database, and soon no further one is tried."""
    endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
    outcome = assay.refute(endless, "SELECT a FROM t", schema=DDL, seconds=0.2)
    assert (outcome.kind, outcome.why) == ("unknown", "fails")
    assert "no result within the limit" in outcome.reason
    assert outcome.trials <= 128


def test_a_query_that_eats_memory_costs_nothing_else() -> None:
    """A value of a gigabyte is refused, a result of many rows too, and the next pair is looked at as ever."""
    for greedy in (
        "SELECT zeroblob(1000000000) FROM t",
        "SELECT 1 FROM t, t AS u, json_each('[' || replace(hex(zeroblob(3000)), '00', '1,') || '1]')",
    ):
        outcome = assay.refute(greedy, "SELECT a FROM t", schema=DDL, seconds=0.2)
        assert outcome.kind in ("unknown", "refuted")
    assert assay.refute("SELECT a FROM t", "SELECT b FROM t", schema=DDL).kind == "refuted"


@pytest.mark.parametrize(
    ("ddl", "why"),
    [
        ("CREATE TABLE t (a INT CHECK (a > 5 AND a < 3))", None),
        ("CREATE TABLE t (a INT NOT NULL CHECK (a > 5 AND a < 3))", "constraints"),
        ("CREATE TABLE t (a INT NOT NULL CHECK (a = 123457), b TEXT)", "no_difference"),
    ],
)
def test_checks_are_honoured(ddl: str, why: str | None) -> None:
    """Every row of a witness meets them; where none can, that is said."""
    outcome = look("SELECT count(*) FROM t WHERE a > 0", "SELECT count(*) FROM t", ddl)
    assert outcome.why == why, outcome
    if why is None:
        assert [row for table in outcome.witness.tables for row in table.rows] == [(None,)]


def test_a_check_that_the_engine_does_not_understand_is_said() -> None:
    """The table cannot be made as declared: no query on it is tried on less."""
    outcome = look("SELECT a FROM t", "SELECT DISTINCT a FROM t", "CREATE TABLE t (a INT CHECK (frobnicate(a)))")
    assert outcome.kind == "unknown"
    assert "frobnicate" in outcome.reason


def test_keys_in_a_circle() -> None:
    """Each table refers to the other, and one to itself."""
    ddl = """CREATE TABLE boss
    (id INTEGER PRIMARY KEY, dept INT NOT NULL REFERENCES dept(id), over INT REFERENCES boss(id));
    CREATE TABLE dept (id INTEGER PRIMARY KEY, head INT REFERENCES boss(id))"""
    joined = "SELECT boss.id FROM boss JOIN dept ON dept = dept.id"
    assert look("SELECT id FROM boss", joined, ddl).why == "no_difference"
    outcome = look(joined, "SELECT boss.id FROM boss JOIN dept ON head = boss.id", ddl)
    assert outcome.kind == "refuted"
    rows = {table.name: table.rows for table in outcome.witness.tables}
    departments = {row[0] for row in rows['"dept"']}
    assert all(row[1] in departments for row in rows['"boss"'])


def test_children_of_a_table_that_refers_to_itself() -> None:
    """No row refers to one that is gone, whatever had to go."""
    ddl = """CREATE TABLE person (id INTEGER PRIMARY KEY, boss INT NOT NULL REFERENCES person(id), age INT);
    CREATE TABLE sale (id INTEGER PRIMARY KEY, by INT NOT NULL REFERENCES person(id), price INT)"""
    joined = "SELECT price FROM sale JOIN person ON by = person.id JOIN person AS boss ON person.boss = boss.id"
    for seed in range(3):
        assert look("SELECT price FROM sale", joined, ddl, trials=800, seed=seed).why == "no_difference"


def test_rows_that_are_only_counted() -> None:
    """A table of which no column is read, and that has no key, has rows none the less."""
    ddl = "CREATE TABLE t (a INT, b TEXT); CREATE TABLE u (c INT)"
    assert look("SELECT count(*) FROM t", "SELECT count(*) FROM t, u", ddl).kind == "refuted"
    assert look("SELECT count(*) FROM t", "SELECT sum(1) FROM t", ddl).tags != ()


def test_no_tables_are_needed() -> None:
    """Queries that read none are simply executed."""
    assert assay.refute("SELECT 1", "SELECT 2", schema=DDL).kind == "refuted"
    assert look("SELECT 1", "SELECT 2 - 1", DDL).why == "no_difference"


def test_views() -> None:
    """A view is read through, and is part of what makes the witness."""
    ddl = f"{DDL}; CREATE VIEW v AS SELECT a AS x FROM t WHERE b = 'y'"
    assert look("SELECT x FROM v", "SELECT a FROM t WHERE b = 'y'", ddl).why == "no_difference"
    outcome = look("SELECT x FROM v", "SELECT a FROM t", ddl)
    assert outcome.kind == "refuted"
    assert any("CREATE VIEW v" in statement for statement in outcome.witness.statements)


def test_strange_names() -> None:
    """Blanks, quotes and keywords in names of tables and columns."""
    ddl = 'CREATE TABLE "my ""table" ("order" INTEGER PRIMARY KEY, "a b" TEXT, "select" INT)'
    outcome = look('SELECT "a b" FROM "my ""table" WHERE "select" > 1', 'SELECT "a b" FROM "my ""table"', ddl)
    assert outcome.kind == "refuted"
    assert outcome.witness.tables[0].name == '"my ""table"'


def test_duckdb() -> None:
    """What SQLite cannot run is tried on DuckDB; its own databases are tried on DuckDB alone."""
    dated = "CREATE TABLE t (id INTEGER PRIMARY KEY, d DATE, v DECIMAL(8, 2), ok BOOLEAN, tags VARCHAR[])"
    outcome = assay.refute(
        "SELECT d FROM t QUALIFY row_number() OVER (PARTITION BY d ORDER BY id) = 1", "SELECT d FROM t", schema=dated
    )
    assert outcome.kind == "refuted"
    assert outcome.engine.startswith("duckdb")
    assert (
        look(
            "SELECT id FROM t WHERE d >= DATE '2020-01-01'",
            "SELECT id FROM t WHERE d > DATE '2020-01-01'",
            dated,
            engine="duckdb",
            trials=200,
        ).kind
        == "refuted"
    )
    assert (
        look("SELECT id FROM t WHERE ok", "SELECT id FROM t WHERE ok = true", dated, engine="duckdb", trials=60).why
        == "no_difference"
    )


def test_other_engines_are_not_stood_in_for() -> None:
    """Another engine's answers would prove nothing."""
    outcome = assay.refute("SELECT a FROM t", "SELECT DISTINCT a FROM t", schema=DDL, dialect="mysql")
    assert (outcome.kind, outcome.why) == ("unknown", "no_engine")
    assert "SQLite and DuckDB" in outcome.reason


def test_misuse_raises(tmp_path: Path) -> None:
    """Arguments that do not go together, and files that are not there."""
    for arguments in ({}, {"database": "sqlite:///x", "schema": DDL}):
        with pytest.raises(UsageError, match="either a database, or the schema"):
            assay.refute("SELECT 1", "SELECT 2", **arguments)
    with pytest.raises(UsageError, match="positive"):
        assay.refute("SELECT 1", "SELECT 2", schema=DDL, seconds=0)
    with pytest.raises(UsageError, match="did you mean"):
        assay.refute("SELECT 1", "SELECT 2", schema=DDL, dialect="sqlit")
    with pytest.raises(InputError, match="no CREATE TABLE"):
        assay.refute("SELECT 1", "SELECT 2", schema="hello")
    with pytest.raises(InputError, match="cannot be read"):
        assay.refute("SELECT 1", "SELECT 2", schema=tmp_path / "absent.sql")
    with pytest.raises(DatabaseError):
        assay.refute("SELECT 1", "SELECT 2", database=f"sqlite:///{tmp_path}/absent.sqlite")
    with pytest.raises(InputError, match="template"):
        assay.refute("SELECT 1", "SELECT 2", database="sqlite:///{db_id}.sqlite")


def test_keys_of_two_types() -> None:
    """A text that refers to a number is the number's text, as SQLite compares them."""
    ddl = "CREATE TABLE p (id INT PRIMARY KEY, x TEXT); CREATE TABLE c (p TEXT NOT NULL REFERENCES p(id), y INT)"
    outcome = look("SELECT x FROM p JOIN c ON p = id", "SELECT DISTINCT x FROM p JOIN c ON p = id", ddl)
    assert outcome.kind == "refuted"
    assert look("SELECT y FROM c", "SELECT y FROM c JOIN p ON p = id", ddl, trials=600).why == "no_difference"


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("SELEC 1", "SELECT 1", "the first query cannot"),
        ("SELECT 1", "SELECT 1; SELECT 2", "the second query cannot"),
        ("x y z", ")", "the first and the second query cannot"),
    ],
)
def test_which_query_cannot_be_read_is_told(first: str, second: str, told: str) -> None:
    said = assay.refute(first, second, schema="CREATE TABLE t (a INT)")
    assert (said.kind, said.why) == ("unknown", "unreadable")
    assert said.reason.startswith(told)
    assert said.reason.endswith("of the dialect sqlite")


@each(
    ("index", "where", "differ"),
    [
        ("(n COLLATE NOCASE)", "1 = 1", False),
        ("(abs(k))", "k > 0", False),
        ("(k) WHERE d = 1", "d = 1", False),
        ("(k) WHERE d = 1", "d = 2", True),
        ("(k) WHERE d IS NULL", "1 = 1", True),
        ("(k, d)", "1 = 1", True),
    ],
)
def test_unique_indexes_that_no_column_says(tmp_path: Path, index: str, where: str, differ: bool) -> None:
    """Indexes of some rows, of expressions, by another collation: a witness keeps them, whoever read the schema."""
    ddl = f"CREATE TABLE t (n TEXT NOT NULL, k INT NOT NULL, d INT); CREATE UNIQUE INDEX i ON t {index}"
    column = "lower(n)" if "COLLATE" in index else "k"
    queries = f"SELECT DISTINCT {column} FROM t WHERE {where}", f"SELECT {column} FROM t WHERE {where}"
    path = tmp_path / "real.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(f"{ddl}; INSERT INTO t VALUES ('a', 1, 1), ('b', 2, 2)")
    connection.close()
    engine = SqliteEngine.open(DatabaseUrl.parse(f"sqlite:///{path}"), Limits())
    try:
        read = engine.schema(with_values=False)
    finally:
        engine.close()
    assert read.tables[0].indexes == schema_of(ddl).tables[0].indexes
    outcome = look(*queries, ddl, trials=400)
    assert outcome.differs == differ
    if outcome.witness is not None:
        with sqlite3.connect(":memory:") as connection:  # the declared index lets every row in
            connection.executescript(ddl)
            for statement in outcome.witness.statements:
                if statement.startswith("INSERT"):
                    connection.execute(statement)
        connection.close()


def test_functions_that_part_values() -> None:
    """Numbers below zero, blanks round a text, numbers as texts: a function over a column asks for them."""
    ddl = "CREATE TABLE t (k INTEGER PRIMARY KEY, a INT, r REAL, n TEXT)"
    for one, two in [
        ("abs(a)", "a"),
        ("sum(abs(a))", "abs(sum(a))"),
        ("abs(r)", "r"),
        ("trim(n)", "n"),
        ("ltrim(n)", "trim(n)"),
        ("n = '1'", "CAST(n AS INTEGER) = 1"),
        ("-a > 1", "abs(a) > 1"),
    ]:
        assert look(f"SELECT {one} FROM t", f"SELECT {two} FROM t", ddl, trials=300).kind == "refuted", one
    joined = look("SELECT x.k FROM t x JOIN t y ON x.n = y.a", "SELECT x.k FROM t x JOIN t y ON x.n = y.a || ''", ddl)
    assert joined.kind == "refuted"
    ordered = "SELECT n FROM t ORDER BY n"
    assert look(ordered, "SELECT n FROM t ORDER BY CAST(n AS INTEGER), n", ddl, trials=400).kind == "refuted"


def test_a_truth_value_is_true_or_false() -> None:
    """SQLite stores a 2 in a BOOLEAN column, which nobody else would: no witness has one."""
    ddl = "CREATE TABLE t (k INTEGER PRIMARY KEY, ok BOOLEAN)"
    assert (
        look("SELECT k FROM t WHERE ok", "SELECT k FROM t WHERE ok = 1", ddl, trials=400, proves=True).differs is False
    )
    assert look("SELECT k FROM t WHERE ok", "SELECT k FROM t WHERE ok = 0", ddl, trials=400).kind == "refuted"


def test_columns_without_a_type() -> None:
    assert look("SELECT a FROM t", "SELECT a FROM t WHERE a = 1", "CREATE TABLE t (a)", trials=60).kind == "refuted"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (f"SELECT a FROM t WHERE b = '{'x' * 50_000}'", "has more than 50,000 characters"),
        (f"SELECT {'+'.join(['a'] * 2_000)} FROM t", "is nested more than 1,500 levels deep"),
    ],
)
def test_queries_too_long_or_too_deep_are_told(query: str, told: str) -> None:
    outcome = look(query, "SELECT a FROM t", "CREATE TABLE t (a INT, b TEXT)")
    assert (outcome.why, outcome.reason) == ("unreadable", f"the first query {told}")


def test_a_thousand_values_are_one_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each condition is read once, however many constants it has."""
    seen = []
    beside = query_facts.columns_beside
    monkeypatch.setattr(query_facts, "columns_beside", lambda predicate: seen.append(predicate) or beside(predicate))
    values = ", ".join(map(str, range(1_000)))
    facts = read_pair(
        f"SELECT a FROM t WHERE a IN ({values})", "SELECT a FROM t", schema_of("CREATE TABLE t (a INT)"), "sqlite"
    )
    assert isinstance(facts, PairFacts)
    assert len(facts.constants["t", "a"]) == 1_000
    assert len(seen) == 1
