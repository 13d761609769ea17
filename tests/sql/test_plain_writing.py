"""Plain trees are written as sqlglot's generators write them."""

from __future__ import annotations

from sqlglot import parse_one

from assay.sql.plain_writing import DIALECTS, plainly_written
from assay.sql.trees import nodes_of, written
from many_cases import each

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
