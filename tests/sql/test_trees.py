"""Trees are copied and written as sqlglot does it itself, whatever they hold, plain ones too, and stay as they were."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from assay.sql.plain_writing import DIALECTS, plainly_written
from assay.sql.trees import copied, nodes_of, nodes_of_kind, put_in_place, written
from many_cases import each

_QUERIES = (
    "SELECT 1",
    "SELECT a.b, t.* FROM main.t AS a, u t WHERE NOT a.b IS NULL AND (a.c = 'it''s' OR a.d <> -1.50)",
    'SELECT DISTINCT "A b"."c d", `e` FROM "A b" LEFT JOIN `f g` AS h USING (i) ORDER BY 1 DESC, 2 LIMIT 3 OFFSET 4',
    "SELECT count(*), count(DISTINCT x), sum(y) / 2.0, avg(z) % 3 FROM t GROUP BY w HAVING count(*) > 1 ORDER BY v",
    "SELECT x FROM t WHERE y IN (SELECT z FROM u WHERE u.k = t.k LIMIT 1) AND EXISTS (SELECT 1 FROM v) ORDER BY x",
    "SELECT x FROM t WHERE y BETWEEN 1 AND 2 AND z LIKE 'a%' ESCAPE '\\' AND w NOT IN (1, 2) AND v IS NOT TRUE",
    "SELECT x FROM t UNION ALL SELECT y FROM u EXCEPT SELECT z FROM v INTERSECT SELECT w FROM s ORDER BY 1 LIMIT 2",
    "(SELECT x FROM t ORDER BY y LIMIT 1) UNION (SELECT x FROM u ORDER BY y LIMIT 1)",
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c), d AS (SELECT * FROM c) SELECT n FROM d",
    "SELECT * FROM (WITH c AS (SELECT 1 AS a) SELECT a FROM c) AS s",
    "SELECT CASE x WHEN 1 THEN 'a' ELSE CAST(y AS REAL) END AS k, COALESCE(z, IIF(w, 1, 0)) FROM t",
    "SELECT rank() OVER (PARTITION BY a ORDER BY b DESC NULLS LAST) AS r FROM t /* why */ WHERE /* b */ a > 1 -- end",
    "SELECT DISTINCT ON (a) a, b FROM t ORDER BY a NULLS FIRST, b",
    "SELECT a FROM t LEFT SEMI JOIN u ON t.a = u.a",
    "SELECT a FROM t QUALIFY row_number() OVER (ORDER BY b) = 1",
    "SELECT t.a || '\\n' || x'00', 1e5, 0x1F, .5 FROM t NATURAL JOIN u CROSS JOIN v FULL OUTER JOIN w ON TRUE",
    "SELECT strftime('%Y', d), d + INTERVAL '1' day, a -> '$.b', [1, 2][0] FROM t, UNNEST(c) AS e",
    "SELECT TRUE AND NOT FALSE, NULL IS NULL, a IS b, (a = b) = c FROM t WHERE a GROUP BY (a)",
    "VALUES (1, 'a'), (2, 'b')",
)
_READ_AS = ("sqlite", "postgres")
_WRITTEN_IN = ("", "sqlite", "mysql", "tsql")


def _trees() -> list[exp.Expr]:
    found = []
    for query in _QUERIES:
        for dialect in _READ_AS:
            try:
                found.append(parse_one(query, dialect=dialect))
            except Exception:  # noqa: BLE001 - not every dialect reads every query
                continue
    return found


def _account(tree: exp.Expr) -> list[object]:
    """Each node of a tree with its place in it, and what it holds beside other nodes."""
    return [
        (type(node), node.arg_key, node.index, type(node.parent), node.comments, node.meta, list(node.args))
        for node in tree.walk()
    ]


def test_a_copy_is_the_tree_again_and_shares_nothing_with_it() -> None:
    trees = _trees()
    assert len(trees) > 1.5 * len(_QUERIES)
    for tree in trees:
        made = copied(tree)
        assert repr(made) == repr(tree)
        assert _account(made) == _account(tree.copy())
        assert {id(node) for node in made.walk()}.isdisjoint({id(node) for node in tree.walk()})
        assert not any(node.meta for node in copied(tree, bare=True).walk())


def test_each_node_is_found_by_its_copy() -> None:
    for tree in _trees():
        twins: dict[int, exp.Expr] = {}
        made = copied(tree, twins=twins)
        assert [id(twins[id(node)]) for node in tree.walk()] == [id(node) for node in made.walk()]


def test_a_part_of_a_tree_is_copied_as_a_root() -> None:
    for tree in _trees():
        for part in tree.walk():
            made = copied(part)
            assert made.parent is None
            assert made.arg_key is None
            assert repr(made) == repr(part)


@each("dialect", _WRITTEN_IN)
def test_a_tree_and_its_parts_are_written_as_sqlglot_does_and_stay_as_they_were(dialect: str) -> None:
    for tree in _trees():
        before = _account(tree), repr(tree)
        assert written(tree, dialect) == tree.sql(dialect)
        assert written(copied(tree), dialect, is_last=True) == tree.sql(dialect)
        for part in list(tree.walk())[1:]:
            if isinstance(
                part, exp.Query | exp.Where | exp.From | exp.Join | exp.Group | exp.Having | exp.Order | exp.EQ
            ):
                assert written(part, dialect) == part.sql(dialect), repr(part)
        assert (_account(tree), repr(tree)) == before


def test_the_nodes_of_a_tree_come_in_the_order_of_a_walk() -> None:
    for tree in _trees():
        assert list(map(id, nodes_of(tree))) == list(map(id, tree.walk()))
        kinds = exp.Column, exp.Select
        assert list(map(id, nodes_of_kind(tree, *kinds))) == list(map(id, tree.find_all(*kinds)))


@pytest.mark.parametrize(
    "text", ["SELECT a FROM t WHERE b IN (1, 2, 3)", "SELECT a, b, c FROM t WHERE NOT a = 1 OR f(1, a)"]
)
def test_a_node_that_is_put_in_place_stands_where_sqlglot_puts_it(text: str) -> None:
    count = len(nodes_of(parse_one(text)))
    for place in range(1, count):
        ours, theirs = parse_one(text), parse_one(text)
        assert hash(ours) == hash(theirs)  # what a node knows of itself is out of date afterwards
        put_in_place(nodes_of(ours)[place], exp.column("z"))
        nodes_of(theirs)[place].replace(exp.column("z"))
        assert ours == theirs
        assert hash(ours) == hash(theirs)
        for one, other in zip(nodes_of(ours), nodes_of(theirs), strict=True):
            assert (one.arg_key, one.index, type(one.parent)) == (other.arg_key, other.index, type(other.parent))


def test_the_root_of_a_tree_has_no_place() -> None:
    tree = parse_one("SELECT a")
    put_in_place(tree, exp.column("z"))
    assert tree.sql() == "SELECT a"


_PLAIN = (
    "SELECT DISTINCT T1.a, b AS c, COUNT(*), COUNT(DISTINCT T2.x) FROM t AS T1 JOIN u AS T2 ON T1.id = T2.id",
    "SELECT * FROM t, u LEFT JOIN v ON u.a <> v.a CROSS JOIN w WHERE a > 1 AND (b <= 2 OR NOT c LIKE 'x%')",
    "SELECT MAX(a) - MIN(a) * 2 FROM t GROUP BY b, c HAVING SUM(a) >= 3 ORDER BY AVG(a) DESC, b ASC, c LIMIT 3",
    "SELECT \"a b\" FROM t WHERE x IN (1, 'two') AND y BETWEEN 1 AND 2 AND z IS NULL AND NOT w IS NULL",
    "SELECT a FROM (SELECT a FROM t) AS s WHERE a IN (SELECT a FROM u) AND EXISTS(SELECT 1 FROM v WHERE v.a = s.a)",
    "SELECT a FROM t UNION SELECT a FROM u",
    "SELECT a FROM t UNION ALL SELECT a FROM u",
    "SELECT a FROM t EXCEPT SELECT a FROM u",
    "SELECT COUNT(*) FILTER(WHERE a > 1), total(DISTINCT a), Quote(a) || quote(b), f() FROM t",
    "SELECT a FROM t ORDER BY b COLLATE nocase DESC, 1 COLLATE BINARY",
)
_LEFT_TO_THE_GENERATOR = (
    "SELECT 'it''s'",
    'SELECT "a""b" FROM t',
    "SELECT a -- why\nFROM t",
    "SELECT a FROM t ORDER BY a NULLS LAST",
    "SELECT a FROM t JOIN u USING (a)",
    "WITH w AS (SELECT 1) SELECT * FROM w",
    "SELECT a FROM main.t",
    "SELECT a / b FROM t",
    "SELECT CASE WHEN a THEN b END FROM t",
    'SELECT "my f"(a) FROM t',
    "SELECT MAX(a, b) FROM t",
    "SELECT a FROM t UNION SELECT a FROM u ORDER BY a",
    "VALUES (1)",
    "SELECT a FROM t NOT INDEXED",
    "SELECT a FROM t INDEXED BY i",
)


@each("text", _PLAIN)
@each("dialect", sorted(DIALECTS))
def test_plain_nodes_are_written_as_the_generator_writes_them(dialect: str, text: str) -> None:
    tree = parse_one(text, dialect="sqlite")
    assert plainly_written(tree) == tree.sql(dialect)
    for node in nodes_of(tree):
        assert plainly_written(node) in (None, node.sql(dialect))


@each("text", _LEFT_TO_THE_GENERATOR)
@each("dialect", sorted(DIALECTS))
def test_what_is_not_plain_is_left_to_the_generator(dialect: str, text: str) -> None:
    tree = parse_one(text, dialect="sqlite")
    before = tree.sql("sqlite")
    assert plainly_written(tree) is None
    assert written(tree, dialect) == tree.sql(dialect)
    assert tree.sql("sqlite") == before  # writing leaves the tree as it is
    for node in nodes_of(tree):
        assert plainly_written(node) in (None, node.sql(dialect))


def test_a_condition_of_thousands_of_parts_is_written() -> None:
    tree = parse_one(
        "SELECT a FROM t WHERE " + " OR ".join(f"a = {number}" for number in range(3_000)), dialect="sqlite"
    )
    assert written(tree, "sqlite") == tree.sql("sqlite")
