"""Two spellings of one query have no difference, whatever they are, and no difference tells of an alias."""

from __future__ import annotations

import random
import re
import sqlite3
import sys
from contextlib import closing
from itertools import pairwise
from types import FrameType

import generated_names
import pytest
from generated_names import generated
from name_oracles import names_in
from odd_names import TABLES

from assay.sql.differences import Difference, differences, read_pair, repaired_queries
from assay.sql.schema import SchemaNames
from assay.sql.schema.ddl import read_ddl
from many_cases import each

SCRIPT = """
CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER, v INTEGER, s TEXT);
CREATE TABLE u (uid INTEGER PRIMARY KEY, t_id INTEGER, w INTEGER);
INSERT INTO t VALUES (1, 1, 5, 'a'), (2, 1, 6, 'b'), (5, 2, 5, 'a'), (7, NULL, 3, 'c'), (8, 2, NULL, NULL);
INSERT INTO u VALUES (1, 1, 5), (2, 1, 6), (4, 5, 5), (5, 6, 3), (9, NULL, 1);
"""
NAMES = SchemaNames(read_ddl(SCRIPT.partition("INSERT")[0], "sqlite").schema)


def _found(gold: str, predicted: str, dialect: str = "sqlite", names: SchemaNames = NAMES) -> tuple[Difference, ...]:
    read = read_pair(gold, predicted, dialect, names)
    assert read is not None, (gold, predicted)
    return differences(read.gold, read.predicted)


def _rows(query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCRIPT)
        return connection.execute(query).fetchall()


def _condition(chance: random.Random, depth: int, *, shuffled: random.Random | None) -> str:
    """Tests under AND and OR, the same for one seed; ``shuffled`` puts the operands of each in another order."""
    if depth == 0 or chance.random() < 0.3:
        column = chance.choice(("t.k", "t.v", "u.w", "u.t_id", "t.id"))
        return f"{column} {chance.choice(('=', '<', '>='))} {chance.choice(('1', '5', 'u.uid'))}"
    operands = [_condition(chance, depth - 1, shuffled=shuffled) for _ in range(chance.choice((2, 2, 3)))]
    word = chance.choice((" AND ", " OR "))
    if shuffled is not None:
        shuffled.shuffle(operands)
    text = f"({word.join(operands)})"
    return f"NOT {text}" if chance.random() < 0.15 else text


_WITH_CONDITIONS = (
    "SELECT t.s FROM t JOIN u ON {}",
    "SELECT t.s FROM t LEFT JOIN u ON {}",
    "SELECT t.s FROM t LEFT JOIN u ON t.id = u.t_id AND {}",
    "SELECT t.s FROM t LEFT JOIN u ON t.id = u.t_id WHERE {}",
    "SELECT t.s, CASE WHEN {} THEN 1 ELSE 2 END FROM t JOIN u ON t.id = u.t_id",
    "SELECT COUNT(CASE WHEN {} THEN 'x' ELSE 'y' END) FROM t, u",
    "SELECT t.s FROM t, u GROUP BY t.s ORDER BY MAX({})",
)


@each("frame", _WITH_CONDITIONS)
def test_the_order_of_conditions_is_no_difference(frame: str) -> None:
    for seed in range(60):
        first = frame.format(_condition(random.Random(seed), 3, shuffled=None))
        second = frame.format(_condition(random.Random(seed), 3, shuffled=random.Random(-seed - 1)))
        assert _rows(first) == _rows(second)
        assert not _found(first, second), (first, second)


def _windows(seed: int) -> tuple[str, str]:
    """A query with named windows, and the same with each window inside OVER."""
    chance = random.Random(seed)
    parts = {"w": chance.choice(("", "PARTITION BY k", "PARTITION BY s, k")), "W2": "PARTITION BY v"}
    order = chance.choice(("ORDER BY v, id", "ORDER BY id DESC"))
    frame = chance.choice(("", "ROWS 1 PRECEDING", "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"))
    uses = {
        f"x AS (w {order})": (" OVER x", f"{parts['w']} {order}"),
        "y AS (w)": (f" OVER (Y {order} {frame})", f"{parts['w']} {order} {frame}"),
        "z AS (W2)": (f" OVER (z {order})", f"{parts['W2']} {order}"),
        f"q AS (w {order} {frame})": (" OVER q", f"{parts['w']} {order} {frame}"),
    }
    defined, (named, spelled) = chance.choice(list(uses.items()))
    function = chance.choice(("SUM(v)", "COUNT(*)", "MIN(s)"))
    windows = ", ".join([*(f"{name} AS ({text})" for name, text in parts.items()), defined])
    frame_of = chance.choice(
        ("SELECT id, {} AS n FROM t{}", "SELECT n FROM (SELECT {} AS n FROM t{}) AS sub WHERE n > 0")
    )
    return (
        frame_of.format(f"{function}{named}", f" WINDOW {windows}"),
        frame_of.format(f"{function} OVER ({' '.join(spelled.split())})", ""),
    )


@each("word", ["EXISTS", "NOT EXISTS"])
@each("rest", ["", " AND u.w > 4", " GROUP BY u.t_id HAVING COUNT(*) > 1", " ORDER BY u.w"])
@each("cut", ["", " LIMIT 1", " LIMIT 20"])
def test_what_exists_selects_is_no_difference(word: str, rest: str, cut: str) -> None:
    frame = f"SELECT s FROM t WHERE {word} (SELECT {{}} FROM u WHERE u.t_id = t.id{rest}{cut})"
    grouped = "GROUP" in rest
    selected = ["*", "1", "NULL", "u.uid", "DISTINCT w", "t.s, 'x'"] + ["COUNT(*)", "u.t_id, MAX(w)"] * grouped
    queries = [frame.replace(cut, "").format("*"), *(frame.format(one) for one in selected)]
    for query in queries[1:]:
        assert _found(queries[0], query) == _found(query, queries[0]) == ()
        assert sorted(_rows(query), key=repr) == sorted(_rows(queries[0]), key=repr)


EXISTS_FRAME = "SELECT s FROM t WHERE EXISTS (SELECT {} FROM u WHERE u.t_id = t.id{})"


@each(
    "output,cut",
    [("COUNT(*)", ""), ("MAX(uid)", ""), ("DISTINCT SUM(w)", ""), ("1", " LIMIT 0"), ("1", " LIMIT 1 OFFSET 1")],
)
def test_an_aggregate_or_a_cut_of_the_rows_of_exists_is_a_difference(output: str, cut: str) -> None:
    plain, other = EXISTS_FRAME.format("1", ""), EXISTS_FRAME.format(output, cut)
    assert _rows(plain) != _rows(other)
    assert _found(plain, other)
    assert _found(other, plain)


@each("word", ["IN", "NOT IN"])
@each("rest", ["", " ORDER BY u.w", " AND u.w > 3"])
def test_distinct_in_a_list_of_values_is_no_difference(word: str, rest: str) -> None:
    plain = f"SELECT s FROM t WHERE id {word} (SELECT {{}}u.t_id FROM u WHERE u.t_id IS NOT NULL{rest})"
    gold, predicted = plain.format(""), plain.format("DISTINCT ")
    assert _found(gold, predicted) == _found(predicted, gold) == ()
    assert sorted(_rows(gold), key=repr) == sorted(_rows(predicted), key=repr)


@each(
    "frame",
    [
        "SELECT s FROM t WHERE id IN (SELECT {}t_id FROM u ORDER BY t_id DESC LIMIT 2)",
        "SELECT s FROM t WHERE (SELECT {}k FROM t) IN (1, 2)",
        "SELECT s FROM t WHERE id IN ((SELECT {}t_id FROM u), 7)",
        "SELECT s FROM t WHERE id IN (SELECT COUNT({}t_id) FROM u)",
        "SELECT s FROM (SELECT {}s FROM t)",
    ],
)
def test_distinct_of_rows_that_are_cut_or_counted_is_a_difference(frame: str) -> None:
    assert _found(frame.format(""), frame.format("DISTINCT "))
    ordered = "SELECT s FROM t WHERE id IN (SELECT {}t_id FROM u ORDER BY w)"
    assert _found(ordered.format(""), ordered.format("DISTINCT ON (w) "), "postgres")


@each("word", ["id IN", "id NOT IN", "EXISTS", "NOT EXISTS"])
@each("operation", ["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
def test_set_operations_under_exists_and_in_are_compared(word: str, operation: str) -> None:
    frame = f"SELECT s FROM t WHERE {word} (SELECT t_id FROM u WHERE w = {{}} {operation} SELECT uid FROM u)"
    assert _found(frame.format(5), frame.format(5).replace("u WHERE", "u AS x WHERE")) == ()
    assert [one.kind for one in _found(frame.format(5), frame.format(6))] == ["literal"]
    alone = f"SELECT s FROM t WHERE {word} (SELECT t_id FROM u WHERE w = {{}})"
    assert [one.kind for one in _found(alone.format(5), alone.format(6))] == ["literal"]


def test_a_named_window_is_what_it_stands_for() -> None:
    said: dict[str, str] = {}
    for seed in range(120):
        named, spelled = _windows(seed)
        assert sorted(_rows(named), key=str) == sorted(_rows(spelled), key=str)
        assert not _found(named, spelled), named
        said[spelled] = named
    texts = sorted(said)
    for one, other in pairwise(texts):
        assert _found(said[one], said[other]), (said[one], said[other])


@each("name", ["rowid", "oid", "_ROWID_"])
@each(
    "query",
    [
        "SELECT {0} FROM t WHERE {0} > 1 ORDER BY {0}",
        "SELECT u.w FROM t JOIN u ON t.{0} = u.t_id",
        "SELECT COUNT(t.{0}), k FROM t GROUP BY k HAVING MAX({0}) > 2",
        "SELECT s FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.t_id = t.{0} AND u.w > t.{0})",
        "SELECT q.n FROM (SELECT {0} AS n, k FROM t) AS q WHERE q.n IN (SELECT {0} FROM t)",
    ],
)
def test_the_number_of_a_row_is_the_key_that_it_stands_for(query: str, name: str) -> None:
    query, other = query.format("id"), query.format(name)
    assert _rows(query) == _rows(other)
    assert not _found(query, other)


@each(
    "expression",
    [
        "(SELECT COUNT(*) FROM u WHERE u.t_id = t.id)",
        "(SELECT MAX(w) FROM u)",
        "COALESCE((SELECT MIN(w) FROM u), 1) + v",
    ],
)
@each("keys", ["{}", "{} DESC, id", "s, {}"])
def test_a_subquery_behind_an_alias_is_not_read_in_more_places(expression: str, keys: str) -> None:
    named = f"SELECT id, {expression} AS n FROM t ORDER BY {keys.format('n')}"
    spelled = f"SELECT id, {expression} AS n FROM t ORDER BY {keys.format(expression)}"
    other = f"SELECT id, {expression} AS n FROM t ORDER BY k"
    assert _rows(named) == _rows(spelled)
    assert not _found(named, spelled)
    for gold, predicted in ((named, other), (other, named), (spelled, other)):
        assert [one.kind for one in _found(gold, predicted)] == ["order_changed"]


@each("word", ["JOIN", "LEFT JOIN"])
@each("source", ["t AS other", "(SELECT id, v + 1 AS v, s FROM t) AS other", "(SELECT id, v, s FROM t) AS other"])
def test_using_is_what_it_stands_for(source: str, word: str) -> None:
    using = f"SELECT t.k FROM t {word} {source} USING (id, v)"
    spelled = f"SELECT t.k FROM t {word} {source} ON other.v = t.v AND t.id = other.id"
    assert _rows(using) == _rows(spelled)
    assert not _found(using, spelled)


@each("dialect", ["sqlite", "duckdb", "postgres", "mysql"])
def test_no_difference_tells_of_an_alias(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated_names, "_ALIASES", tuple(f"alias_{number}" for number in range(8)))
    names, told = names_in(TABLES, dialect), 0
    for seed in range(50):
        gold, predicted = generated(seed, dialect), generated(seed + 1000, dialect)
        read = read_pair(gold, predicted, dialect, names)
        for one in () if read is None else differences(read.gold, read.predicted):
            told += 1
            assert not re.search(r"alias_\d", f"{one.gold} {one.predicted}", re.I), (gold, predicted)
    assert told > 300


def _sum(chance: random.Random, depth: int) -> str:
    if depth == 0:
        return str(chance.randint(0, 2000))
    return f"({_sum(chance, depth - 1)} {chance.choice('+-*')} {_sum(chance, chance.randrange(depth))})"


@each("seed", range(40))
def test_a_number_that_is_calculated_is_that_number(seed: int) -> None:
    chance = random.Random(seed)
    sum_ = _sum(chance, chance.randint(1, 3))
    with closing(sqlite3.connect(":memory:")) as connection:
        value = connection.execute(f"SELECT {sum_}").fetchone()[0]
    gold, predicted = (f"SELECT s FROM t WHERE v > {one} AND k IN (1, {one})" for one in (value, sum_))
    assert bool(_found(gold, predicted)) == (abs(value) >= 2**31), sum_
    assert _found(gold, predicted.replace("v > ", "v > 1 + "))


@each(
    "gold,predicted",
    [
        ("SELECT s, v FROM t ORDER BY 2", "SELECT s, v FROM t ORDER BY 1 + 1"),
        ("SELECT s, v FROM t ORDER BY 2", "SELECT s, v FROM t ORDER BY (1 + 1) DESC"),
        ("SELECT s FROM t WHERE v = 10", "SELECT s FROM t WHERE v = '5' * 2"),
        ("SELECT s FROM t WHERE v = 3", "SELECT s FROM t WHERE v = 1.5 + 1.5"),
    ],
)
def test_what_is_not_only_a_whole_number_stays(gold: str, predicted: str) -> None:
    assert _found(gold, predicted)


NO_NAMES = SchemaNames()


def work_of(gold: str, predicted: str) -> int:
    """The calls that comparing and repairing takes, those of functions written in C included."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        read = read_pair(gold, predicted, "sqlite", NO_NAMES)
        for one in differences(read.gold, read.predicted):
            assert one.gold or one.predicted
        for repaired in repaired_queries(read):
            assert repaired.steps
    finally:
        sys.setprofile(before)
    return calls


LISTS = {
    "in both": ("SELECT a FROM t WHERE b IN ({0})", "SELECT c FROM t WHERE b IN ({0})"),
    "in each another one": ("SELECT a FROM t WHERE b IN ({0})", "SELECT a FROM t WHERE b IN ({1})"),
    "in gold": ("SELECT a FROM t WHERE b IN ({0})", "SELECT c FROM t"),
    "in the prediction": ("SELECT c FROM t", "SELECT a FROM t WHERE b IN ({0})"),
    "denied": ("SELECT a FROM t WHERE b NOT IN ({0})", "SELECT a FROM t WHERE NOT b IN ({1})"),
    "under OR": ("SELECT a FROM t WHERE b IN ({0}) OR c = 1", "SELECT a FROM t WHERE b IN ({1}) OR c = 1"),
    "in HAVING": (
        "SELECT a FROM t GROUP BY a HAVING MAX(b) IN ({0})",
        "SELECT a FROM t GROUP BY a HAVING MAX(b) IN ({1})",
    ),
    "in a join": ("SELECT t.a FROM t JOIN u ON t.b IN ({0})", "SELECT t.a FROM t JOIN u ON t.b IN ({1})"),
    "in a CASE": ("SELECT CASE WHEN b IN ({0}) THEN 1 END FROM t", "SELECT CASE WHEN b IN ({1}) THEN 1 END FROM t"),
    "in a subquery": (
        "SELECT a FROM t WHERE a IN (SELECT c FROM u WHERE d IN ({0}))",
        "SELECT a FROM t WHERE a IN (SELECT c FROM u WHERE d IN ({1}))",
    ),
}


@each("written", ["{}", "'{}'", "-{}", "{}.50"])
@each("place", LISTS)
def test_the_work_grows_as_the_list(place: str, written: str) -> None:
    work = []
    for length in (200, 800):
        lists = [",".join(written.format(number) for number in range(start, start + length)) for start in (1, 2)]
        work.append(work_of(*(side.format(*lists) for side in LISTS[place])))
    assert work[1] < 5 * work[0]
