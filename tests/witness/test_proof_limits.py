"""What stops a proof is said, and what is huge, deep or odd costs little and never raises."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from looking import look, schema_of

from assay.model import ColumnSchema, DatabaseSchema, Proof, TableSchema, Unproved
from assay.witness.proof import prove
from many_cases import each

from .proof_pairs import SCHEMA

SQLITE = schema_of(SCHEMA)


def proof(one: str, other: str, *, ordered: bool = False, schema: DatabaseSchema = SQLITE) -> Proof | Unproved:
    return prove(one, other, schema, dialect="sqlite", ordered=ordered)


HOSTILE = {
    "long": "SELECT name FROM player WHERE name = '" + "x" * 100_000 + "'",
    "joins": "SELECT 1 FROM player a0" + "".join(f" JOIN player a{n} ON a{n}.id = a{n - 1}.id" for n in range(1, 400)),
    "ands": "SELECT name FROM player WHERE " + " AND ".join(f"age <> {n}" for n in range(1000)),
    "ors": "SELECT name FROM player WHERE " + " OR ".join(f"age = {n}" for n in range(300)),
    "parentheses": "SELECT name FROM player WHERE " + "(" * 3000 + "age = 1" + ")" * 3000,
    "nots": "SELECT name FROM player WHERE " + "NOT " * 3000 + "age = 1",
    "columns": "SELECT " + ", ".join(["age"] * 3000) + " FROM player",
    "sums": "SELECT " + " + ".join(["age"] * 2000) + " FROM player",
    "subqueries": "SELECT id FROM player WHERE id IN (" * 90 + "1" + ")" * 90,
    "unions": " UNION ".join(f"SELECT {n}" for n in range(500)),
    "nothing": "",
    "several": "SELECT 1; SELECT 2",
    "write": "DELETE FROM player",
    "prose": "I cannot answer this.",
    "half": "SELECT name FROM player WHERE (",
    "nul": "SELECT '\x00'",
}


@each("name", HOSTILE)
def test_a_hostile_query_is_unproved_in_bounded_time(name: str) -> None:
    for pair in ((HOSTILE[name], "SELECT name FROM player"), (HOSTILE[name] + " ", HOSTILE[name].replace("1", "2"))):
        found = proof(*pair)
        assert isinstance(found, Unproved | Proof)
    found = proof(HOSTILE[name], "SELECT name FROM player WHERE goals = 7")
    assert isinstance(found, Unproved)
    assert found.reason


@each(
    ("one", "other", "said"),
    [
        ("SELECT GROUP_CONCAT(name) FROM player", "SELECT GROUP_CONCAT(name) AS n FROM player", "group_concat"),
        ("SELECT RANDOM()", "SELECT RANDOM() AS r", "a new value on each call"),
        ("SELECT x FROM player", "SELECT id FROM player", "the column x"),
        ("SELECT id FROM nowhere", "SELECT id FROM player", "the table nowhere"),
        ("SELECT name FROM player GROUP BY team_id", "SELECT nick FROM player", "does not determine"),
        ("SELECT DATE('now'), id FROM player", "SELECT id, DATE('now') FROM player", ""),
        ("SELECT name FROM player", "SELECT name, id FROM player", "a different number of columns"),
        ("WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT * FROM r) SELECT * FROM r", "SELECT 1", "recursive"),
        ("SELECT ROW_NUMBER() OVER (ORDER BY age) FROM player", "SELECT id FROM player", "ROW_NUMBER"),
    ],
)
def test_what_stopped_it_is_named(one: str, other: str, said: str) -> None:
    found = proof(one, other)
    assert isinstance(found, Unproved)
    assert said in found.reason
    assert found.text.startswith("not known: ")


def test_order_counts_where_gold_asks_for_it() -> None:
    gold = "SELECT name FROM player ORDER BY age"
    assert isinstance(proof(gold, "SELECT name FROM player ORDER BY age, name DESC", ordered=True), Proof)
    assert isinstance(proof(gold, "SELECT name FROM player ORDER BY age DESC", ordered=True), Unproved)
    assert isinstance(proof(gold, "SELECT p.name FROM player p", ordered=True), Unproved)
    assert isinstance(proof(gold, "SELECT p.name FROM player p", ordered=False), Proof)


def test_a_narrower_choice_is_allowed_and_a_wider_is_not() -> None:
    gold, narrower = (
        "SELECT id FROM player ORDER BY age LIMIT 2",
        "SELECT p.id FROM player p ORDER BY p.age, p.id LIMIT 2",
    )
    found = proof(gold, narrower, ordered=True)
    assert isinstance(found, Proof)
    assert found.up_to_choice
    assert isinstance(proof(narrower, gold, ordered=True), Unproved)


def typed(**types: str) -> DatabaseSchema:
    columns = tuple(ColumnSchema(name=name, type=kind) for name, kind in types.items())
    ddl = "CREATE TABLE t (" + ", ".join(f"{name} {kind}" for name, kind in types.items()) + ")"
    return DatabaseSchema(dialect="sqlite", tables=(TableSchema(name="t", ddl=ddl, columns=columns),))


def test_literals_are_read_as_sqlite_reads_them_beside_a_column() -> None:
    schema = typed(i="INTEGER", s="TEXT", n="TEXT COLLATE NOCASE")
    assert isinstance(proof("SELECT 1 FROM t WHERE i = '5'", "SELECT 1 FROM t WHERE i = 5.0", schema=schema), Proof)
    assert isinstance(proof("SELECT 1 FROM t WHERE s = 5", "SELECT 1 FROM t WHERE s = '5'", schema=schema), Proof)
    assert isinstance(proof("SELECT 1 FROM t WHERE +i = '5'", "SELECT 1 FROM t WHERE i = 5", schema=schema), Unproved)
    assert isinstance(proof('SELECT 1 FROM t WHERE s = "a"', "SELECT 1 FROM t WHERE s = 'a'", schema=schema), Proof)
    assert isinstance(proof("SELECT s FROM t WHERE s = 'a'", "SELECT 'a' FROM t WHERE s = 'a'", schema=schema), Proof)
    assert isinstance(
        proof("SELECT n FROM t WHERE n = 'a'", "SELECT 'a' FROM t WHERE n = 'a'", schema=schema), Unproved
    )
    assert isinstance(proof("SELECT S FROM T", "SELECT x.s FROM t AS X", schema=schema), Proof)
    assert isinstance(proof("SELECT DISTINCT n FROM t", "SELECT n FROM t GROUP BY n", schema=schema), Unproved)


def nested(levels: int, age: int) -> str:
    inner = f"SELECT mentor_id FROM player WHERE age = {age}"
    return "SELECT id FROM player WHERE id IN (" * levels + inner + ")" * levels


@each("levels", range(1, 9))
def test_queries_within_queries_are_compared_at_every_level(levels: int) -> None:
    assert isinstance(proof(nested(levels, 1), nested(levels, 1).replace("age = 1", "1 = age")), Proof)
    apart = proof(nested(levels, 1), nested(levels, 2))
    assert isinstance(apart, Unproved)
    assert apart.reason.startswith("conditions")


STAFF = """CREATE TABLE emp(empno INT NOT NULL PRIMARY KEY, job VARCHAR(20), deptno INT, sal INT, comm INT);
CREATE TABLE dept(deptno INT NOT NULL PRIMARY KEY, name VARCHAR(20));"""
NOT_IN = "SELECT empno FROM emp WHERE deptno NOT IN (SELECT deptno FROM dept WHERE emp.job = dept.name)"
JOINED = """SELECT emp.empno FROM emp
LEFT JOIN (SELECT name, COUNT(*) AS c, COUNT(deptno) AS ck FROM dept WHERE name IS NOT NULL GROUP BY name) AS t0
  ON emp.job = t0.name
LEFT JOIN (SELECT deptno, name, TRUE AS i FROM dept WHERE name IS NOT NULL GROUP BY deptno, name) AS t1
  ON emp.deptno = t1.deptno AND emp.job = t1.name
WHERE """
WRITTEN = [
    "(t0.c <> 0) IS NOT TRUE OR t1.i IS NULL AND (t0.ck < t0.c) IS NOT TRUE AND emp.deptno IS NOT NULL",
    "(t0.c <> 0) IS NOT TRUE OR t1.i IS NULL AND ((t0.ck < t0.c) IS TRUE) IS FALSE AND (emp.deptno IS NULL) IS FALSE",
    "((t0.c > 0) IS TRUE) IS FALSE OR (t1.i IS NOT NULL) IS NOT TRUE AND (emp.deptno IS NULL) IS NOT TRUE",
]
WRAPPED: dict[str, Callable[[str, int], str]] = {
    "not true": lambda inner, _: f"(({inner}) IS NOT TRUE)",
    "true": lambda inner, _: f"(({inner}) IS TRUE)",
    "not false": lambda inner, _: f"(({inner}) IS NOT FALSE)",
    "null": lambda inner, _: f"(({inner}) IS NULL)",
    "equal": lambda inner, number: f"(({inner}) = (comm > {number}))",
    "not": lambda inner, number: f"(NOT ({inner}) AND comm > {number})",
    "case": lambda inner, number: f"CASE WHEN {inner} > {number} THEN 1 ELSE comm END",
    "nullif": lambda inner, number: f"NULLIF({inner}, comm + {number})",
    "coalesce": lambda inner, number: f"COALESCE(NULLIF({inner}, {number}), comm)",
}


@each("condition", WRITTEN)
@each("turned", [False, True])
def test_not_in_against_left_joins_of_counts_is_decided(condition: str, turned: bool) -> None:
    pair = (JOINED + condition, NOT_IN) if turned else (NOT_IN, JOINED + condition)
    found = look(*pair, STAFF, trials=200, proves=True)
    assert found.kind in ("proved", "bounded", "unknown")
    assert found.reason


@each("name", sorted(WRAPPED))
@each("depth", [3, 27, 200])
def test_conditions_of_any_depth_are_decided_or_said_to_be_too_deep(name: str, depth: int) -> None:
    inner = "(sal > 1)"
    for number in range(depth):
        inner = WRAPPED[name](inner, number)
    query = f"SELECT empno FROM emp WHERE {inner}"
    found = look(query, f"{query} AND (sal >= 0 OR sal < 0 OR sal IS NULL)", STAFF, trials=50, proves=True)
    assert found.kind != "refuted"
    assert found.reason


def test_running_out_of_the_stack_within_the_solver_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    from assay.model import DatabaseSchema
    from assay.witness.proof import proving

    for error in (RecursionError(), ctypes.ArgumentError("argument 1: RecursionError")):

        def fails(*_: object, error: Exception = error, **__: object) -> Proof | Unproved:
            raise error

        monkeypatch.setattr(proving, "_proved", fails)
        found = prove(
            "SELECT 1", "SELECT 2", DatabaseSchema(tables=(), dialect="sqlite"), dialect="sqlite", ordered=False
        )
        assert isinstance(found, Unproved)
        assert "deep" in found.reason


NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": lambda depth: f"SELECT {'(' * depth}sal{')' * depth} FROM emp",
    "not": lambda depth: f"SELECT empno FROM emp WHERE {'NOT (' * depth}sal > 1{')' * depth}",
    "functions": lambda depth: f"SELECT {'ABS(' * depth}sal{')' * depth} FROM emp",
    "derived tables": lambda depth: f"{'SELECT * FROM (' * depth}SELECT sal FROM emp{')' * depth}",
    "subqueries": lambda depth: (
        f"SELECT empno FROM emp WHERE {'sal IN (SELECT sal FROM emp WHERE ' * depth}sal > 1{')' * depth}"
    ),
}


@each("name", sorted(NESTED))
@each("depth", [5, 60, 90])
def test_a_query_too_deep_to_be_read_is_not_said_to_be_another_statement(name: str, depth: int) -> None:
    found = look(NESTED[name](depth), "SELECT sal + 1 FROM emp WHERE sal > 2", STAFF, trials=50)
    assert found.why != "unreadable" or "nested too deeply" in found.reason, found.reason
    assert depth > 5 or found.why != "unreadable"


@pytest.mark.parametrize(
    "text", ["SELECT (sal FROM emp", f"SELECT {'(' * 20}sal{')' * 19} FROM emp", "DELETE FROM emp"]
)
def test_a_text_that_is_not_one_query_is_said_to_be_that(text: str) -> None:
    assert "cannot be read as one query" in look(text, "SELECT sal FROM emp", STAFF, trials=50).reason
