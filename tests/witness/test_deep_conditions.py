"""Conditions within conditions: whatever their depth, the outcome has a kind and a reason, and nothing raises."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from looking import look

from assay.model import Proof, Unproved
from assay.witness.proof import prove
from many_cases import each

DDL = """CREATE TABLE emp(empno INT NOT NULL PRIMARY KEY, job VARCHAR(20), deptno INT, sal INT, comm INT);
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
    found = look(*pair, DDL, trials=200, proves=True)
    assert found.kind in ("proved", "bounded", "unknown")
    assert found.reason


@each("name", sorted(WRAPPED))
@each("depth", [3, 27, 200])
def test_conditions_of_any_depth_are_decided_or_said_to_be_too_deep(name: str, depth: int) -> None:
    inner = "(sal > 1)"
    for number in range(depth):
        inner = WRAPPED[name](inner, number)
    query = f"SELECT empno FROM emp WHERE {inner}"
    found = look(query, f"{query} AND (sal >= 0 OR sal < 0 OR sal IS NULL)", DDL, trials=50, proves=True)
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
    query = NESTED[name](depth)
    found = look(query, "SELECT sal + 1 FROM emp WHERE sal > 2", DDL, trials=50)
    assert found.why != "unreadable" or "nested too deeply" in found.reason, found.reason
    assert depth > 5 or found.why != "unreadable"


@pytest.mark.parametrize(
    "text", ["SELECT (sal FROM emp", f"SELECT {'(' * 20}sal{')' * 19} FROM emp", "DELETE FROM emp"]
)
def test_a_text_that_is_not_one_query_is_said_to_be_that(text: str) -> None:
    found = look(text, "SELECT sal FROM emp", DDL, trials=50)
    assert "cannot be read as one query" in found.reason
