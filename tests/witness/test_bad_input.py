"""What cannot be looked at, or not honoured, is unknown with the reason in words; hostile queries cost time."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from looking import look, schema_of

import assay
from assay.engines.sqlite import SqliteEngine
from assay.errors import DatabaseError, InputError, UsageError
from assay.model import DatabaseUrl, Limits
from assay.witness import clock, query_facts
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
    for first, second in ((one, two), (two, one)):
        outcome = look(first, second, DDL, trials=200)
        assert (outcome.kind, outcome.why) == ("unknown", why), outcome
        assert said in outcome.reason
        assert outcome.witness is None


def test_an_error_of_one_side_is_no_difference() -> None:
    outcome = look("SELECT a FROM t", "SELECT CASE WHEN a > 3 THEN abs(-9223372036854775808) ELSE a END FROM t", DDL)
    assert (outcome.kind, outcome.why) == ("unknown", "one_fails")
    outcome = look("SELECT a FROM t", "SELECT CASE WHEN a > 3 THEN abs(-9223372036854775808) ELSE 7 END FROM t", DDL)
    assert outcome.kind == "refuted"


def test_a_query_that_never_ends_costs_its_budget() -> None:
    endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
    outcome = assay.refute(endless, "SELECT a FROM t", schema=DDL, seconds=0.2)
    assert (outcome.kind, outcome.why) == ("unknown", "fails")
    assert "no result within the limit" in outcome.reason
    assert outcome.trials <= 128


def test_a_query_that_eats_memory_costs_nothing_else() -> None:
    for greedy in (
        "SELECT zeroblob(1000000000) FROM t",
        "SELECT 1 FROM t, t AS u, json_each('[' || replace(hex(zeroblob(3000)), '00', '1,') || '1]')",
    ):
        outcome = assay.refute(greedy, "SELECT a FROM t", schema=DDL, seconds=0.2)
        assert outcome.kind in ("unknown", "refuted")
    assert assay.refute("SELECT a FROM t", "SELECT b FROM t", schema=DDL).kind == "refuted"


PERSON = """CREATE TABLE person (id INTEGER PRIMARY KEY, boss INT NOT NULL REFERENCES person(id), age INT);
CREATE TABLE sale (id INTEGER PRIMARY KEY, by INT NOT NULL REFERENCES person(id), price INT)"""
VIEW = f"{DDL}; CREATE VIEW v AS SELECT a AS x FROM t WHERE b = 'y'"
QUOTED = 'CREATE TABLE "my ""table" ("order" INTEGER PRIMARY KEY, "a b" TEXT, "select" INT)'
TEXT_TO_NUMBER = "CREATE TABLE p (id INT PRIMARY KEY, x TEXT); CREATE TABLE c (p TEXT NOT NULL REFERENCES p(id), y INT)"
SWITCH = "CREATE TABLE t (k INTEGER PRIMARY KEY, ok BOOLEAN)"
POSITIVE = "SELECT count(*) FROM t WHERE a > 0"


@each(
    ("ddl", "first", "second", "said"),
    [
        # Every row of a witness meets the checks; where none can, or the engine does not know them, that is said.
        ("CREATE TABLE t (a INT CHECK (a > 5 AND a < 3))", POSITIVE, "SELECT count(*) FROM t", "refuted [(None,)]"),
        ("CREATE TABLE t (a INT NOT NULL CHECK (a > 5 AND a < 3))", POSITIVE, "SELECT count(*) FROM t", "constraints"),
        ("CREATE TABLE t (a INT NOT NULL CHECK (a = 77))", POSITIVE, "SELECT count(*) FROM t", "no_difference"),
        ("CREATE TABLE t (a INT CHECK (nope(a)))", "SELECT a FROM t", "SELECT DISTINCT a FROM t", "function: nope"),
        # No row refers to one that is gone, whatever had to go.
        (
            PERSON,
            "SELECT price FROM sale",
            "SELECT price FROM sale JOIN person p ON by = p.id JOIN person b ON p.boss = b.id",
            "no_difference",
        ),
        # Tables of which no column is read, no tables at all, views, odd names, no types.
        ("CREATE TABLE t (a); CREATE TABLE u (c)", "SELECT count(*) FROM t", "SELECT count(*) FROM t, u", "refuted"),
        ("CREATE TABLE t (a INT, b TEXT)", "SELECT count(*) FROM t", "SELECT sum(1) FROM t", "refuted"),
        (DDL, "SELECT 1", "SELECT 2", "refuted"),
        (DDL, "SELECT 1", "SELECT 2 - 1", "no_difference"),
        (VIEW, "SELECT x FROM v", "SELECT a FROM t WHERE b = 'y'", "no_difference"),
        (VIEW, "SELECT x FROM v", "SELECT a FROM t", "CREATE VIEW v"),
        (QUOTED, 'SELECT "a b" FROM "my ""table" WHERE "select" > 1', 'SELECT "a b" FROM "my ""table"', '"my ""table"'),
        ("CREATE TABLE t (a)", "SELECT a FROM t", "SELECT a FROM t WHERE a = 1", "refuted"),
        # A text that refers to a number is the number's text, and no column of truth values holds a 2.
        (TEXT_TO_NUMBER, "SELECT x FROM p JOIN c ON p = id", "SELECT DISTINCT x FROM p JOIN c ON p = id", "refuted"),
        (TEXT_TO_NUMBER, "SELECT y FROM c", "SELECT y FROM c JOIN p ON p = id", "no_difference"),
        (SWITCH, "SELECT k FROM t WHERE ok", "SELECT k FROM t WHERE ok = 1", "no_difference"),
        (SWITCH, "SELECT k FROM t WHERE ok", "SELECT k FROM t WHERE ok = 0", "refuted"),
    ],
)
def test_what_a_schema_declares_is_honoured(ddl: str, first: str, second: str, said: str) -> None:
    outcome = look(first, second, ddl, trials=800)
    shown = [] if outcome.witness is None else [row for table in outcome.witness.tables for row in table.rows]
    made = () if outcome.witness is None else outcome.witness.statements
    assert said in f"{outcome.kind} {shown} {outcome.why} {outcome.reason} {' '.join(made)}", outcome
    assert (outcome.kind == "refuted") == (outcome.why is None)


def test_keys_in_a_circle() -> None:
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


def test_duckdb() -> None:
    dated = "CREATE TABLE t (id INTEGER PRIMARY KEY, d DATE, v DECIMAL(8, 2), ok BOOLEAN, tags VARCHAR[])"
    outcome = assay.refute(
        "SELECT d FROM t QUALIFY row_number() OVER (PARTITION BY d ORDER BY id) = 1", "SELECT d FROM t", schema=dated
    )
    assert outcome.kind == "refuted"
    assert outcome.engine.startswith("duckdb")
    pair = "SELECT id FROM t WHERE d >= DATE '2020-01-01'", "SELECT id FROM t WHERE d > DATE '2020-01-01'"
    assert look(*pair, dated, engine="duckdb", trials=200).kind == "refuted"
    pair = "SELECT id FROM t WHERE ok", "SELECT id FROM t WHERE ok = true"
    assert look(*pair, dated, engine="duckdb", trials=60).why == "no_difference"


def test_other_engines_are_not_stood_in_for() -> None:
    outcome = assay.refute("SELECT a FROM t", "SELECT DISTINCT a FROM t", schema=DDL, dialect="mysql")
    assert (outcome.kind, outcome.why) == ("unknown", "no_engine")
    assert "SQLite and DuckDB" in outcome.reason


def test_misuse_raises(tmp_path: Path) -> None:
    both = {"database": "sqlite:///x", "schema": DDL}
    for error, said, arguments in (
        (UsageError, "either a database, or the schema", {}),
        (UsageError, "either a database, or the schema", both),
        (UsageError, "positive", {"schema": DDL, "seconds": 0}),
        (UsageError, "did you mean", {"schema": DDL, "dialect": "sqlit"}),
        (InputError, "no CREATE TABLE", {"schema": "hello"}),
        (InputError, "cannot be read", {"schema": tmp_path / "absent.sql"}),
        (DatabaseError, "", {"database": f"sqlite:///{tmp_path}/absent.sqlite"}),
        (InputError, "template", {"database": "sqlite:///{db_id}.sqlite"}),
    ):
        with pytest.raises(error, match=said or None):
            assay.refute("SELECT 1", "SELECT 2", **arguments)


@each(
    ("first", "second", "told"),
    [
        ("SELEC 1", "SELECT 1", "the first query cannot"),
        ("SELECT 1", "SELECT 1; SELECT 2", "the second query cannot"),
        ("x y z", ")", "the first and the second query cannot"),
        (f"SELECT a FROM t WHERE b = '{'x' * 50_000}'", "SELECT 1", "the first query has more than 50,000 characters"),
        (f"SELECT {'+'.join(['a'] * 2_000)}", "SELECT 1", "the first query is nested more than 1,500 levels deep"),
    ],
)
def test_which_query_cannot_be_read_is_told(first: str, second: str, told: str) -> None:
    outcome = look(first, second, DDL)
    assert (outcome.kind, outcome.why) == ("unknown", "unreadable")
    assert outcome.reason.startswith(told)
    assert outcome.reason.endswith("of the dialect sqlite") == ("cannot" in told)


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
def test_unique_indexes_that_no_column_says(make_sqlite: Any, index: str, where: str, differ: bool) -> None:
    ddl = f"CREATE TABLE t (n TEXT NOT NULL, k INT NOT NULL, d INT); CREATE UNIQUE INDEX i ON t {index}"
    column = "lower(n)" if "COLLATE" in index else "k"
    queries = f"SELECT DISTINCT {column} FROM t WHERE {where}", f"SELECT {column} FROM t WHERE {where}"
    path = make_sqlite(f"{ddl}; INSERT INTO t VALUES ('a', 1, 1), ('b', 2, 2)", f"{index} {where}.sqlite")
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


def test_a_thousand_values_are_one_condition(monkeypatch: pytest.MonkeyPatch) -> None:
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


@dataclass
class _Time:
    wall: float = 0.0
    thread: float = 0.0

    def monotonic(self) -> float:
        return self.wall

    def thread_time(self) -> float:
        return self.thread


def test_computing_counts_and_waiting_ends_it_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time that others took is not the pair's; an engine that computes in threads of its own still comes to an end."""
    time = _Time()
    monkeypatch.setattr(clock, "time", time)
    pair = clock.Clock(2.0)
    time.wall, time.thread = 5.0, 1.0
    assert not pair.is_over
    time.wall, time.thread = 6.5, 2.0
    assert pair.is_over
    waiting = clock.Clock(2.0)
    time.wall += 19.0
    assert not waiting.is_over
    time.wall += 1.0
    assert waiting.is_over


MYSQL = {
    "an enumeration": "CREATE TABLE t (id INT PRIMARY KEY, s ENUM('a', 'b') NOT NULL)",
    "a dump": """CREATE TABLE `t` (`id` int(11) NOT NULL AUTO_INCREMENT, `s` enum('a','b') NOT NULL,
        PRIMARY KEY (`id`)) ENGINE=InnoDB DEFAULT CHARSET=utf8;""",
    "keys and character sets": """CREATE TABLE `t` (`id` int unsigned NOT NULL AUTO_INCREMENT,
        `s` varchar(1) CHARACTER SET utf8 NOT NULL CHECK (`s` IN ('a', 'b')), PRIMARY KEY (`id`), KEY `k` (`s`)
        ) ENGINE=InnoDB COMMENT='x'""",
    "columns of other types": "CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY, s ENUM('a','b') NOT NULL, o SET('x'))",
}


@each("name", MYSQL)
def test_the_tables_are_made_and_their_constraints_kept(name: str) -> None:
    differ = assay.refute("SELECT s FROM t", "SELECT DISTINCT s FROM t", schema=MYSQL[name], seconds=0.2)
    assert differ.kind == "refuted", differ.reason
    same = assay.refute(
        "SELECT id FROM t WHERE s <> 'a'", "SELECT id FROM t WHERE s = 'b'", schema=MYSQL[name], seconds=0.1
    )
    assert same.kind in ("unknown", "proved", "bounded"), same.reason
    assert same.why in (None, "no_difference", "out_of_time"), same.reason


LINKED = (
    "CREATE TABLE a (id INTEGER PRIMARY KEY, x INTEGER, y REAL);"
    "CREATE TABLE b (id INTEGER PRIMARY KEY, aid INTEGER REFERENCES a(id), z INTEGER);"
    "CREATE TABLE c (code TEXT PRIMARY KEY, n INTEGER);"
)


@each("number", ["rowid", "oid", "_rowid_", "ROWID"])
@each(
    ("first", "second"),
    [
        ("SELECT id FROM a ORDER BY {}", "SELECT id FROM a ORDER BY id DESC"),
        ("SELECT id FROM a ORDER BY {}", "SELECT id FROM a ORDER BY x"),
        ("SELECT id, x FROM a ORDER BY {} LIMIT 1", "SELECT id, x FROM a ORDER BY id DESC LIMIT 1"),
        ("SELECT {} FROM a", "SELECT x FROM a"),
        ("SELECT r.{} FROM (SELECT {} FROM a) r WHERE r.{} > 1", "SELECT id FROM a"),
        (
            "SELECT (SELECT COUNT(z) FROM b WHERE aid = a.{}) AS v FROM a ORDER BY v",
            "SELECT (SELECT COUNT(z) FROM b WHERE aid = a.{}) AS v FROM a ORDER BY x",
        ),
    ],
)
def test_a_row_number_that_is_a_key_is_not_a_choice(first: str, second: str, number: str) -> None:
    """Each pair gives what the same pair gives with the key's name, and never a tie."""
    pairs = [[text.replace("{}", name) for text in (first, second)] for name in (number, "id")]
    found = [assay.refute(*pair, schema=LINKED, seed=1) for pair in pairs]
    assert [one.kind for one in found] == ["refuted", "refuted"]


def test_a_row_number_that_is_no_key_stays_a_choice() -> None:
    found = assay.refute("SELECT code FROM c ORDER BY rowid", "SELECT code FROM c ORDER BY n", schema=LINKED, seed=1)
    assert found.kind not in ("refuted", "proved")


@each("number", ["1e400", "-1e400", "9e999", "1.5e309"])
@each(
    "pair",
    [
        ("SELECT id FROM a WHERE y < {}", "SELECT id FROM a WHERE y IS NOT NULL"),
        ("SELECT id FROM a WHERE x * y > {}", "SELECT id FROM a WHERE y > {}"),
        ("SELECT {} * y FROM a", "SELECT -1 * y * {} FROM a"),
        ("SELECT MAX({}) FROM a", "SELECT {}"),
    ],
)
def test_numbers_beyond_all_floats_raise_nothing(pair: tuple[str, str], number: str) -> None:
    found = assay.refute(*(text.replace("{}", number) for text in pair), schema=LINKED, seconds=0.3)
    assert found.kind in ("unknown", "refuted", "conditional")


def test_products_that_become_infinite_raise_nothing() -> None:
    product = " * ".join(f"(y + {number})" for number in range(300))
    found = assay.refute(f"SELECT {product} FROM a", f"SELECT -1 * {product} FROM a", schema=LINKED, seconds=0.5)
    assert found.kind in ("unknown", "refuted", "conditional")
