"""What stops a proof is said, and what is huge, deep or odd costs little and never raises."""

from __future__ import annotations

from assay.model import ColumnSchema, DatabaseSchema, Proof, TableSchema, Unproved
from assay.witness.proof import prove
from many_cases import each

from .proof_pairs import SCHEMA
from .random_databases import schema_of

SQLITE = schema_of(SCHEMA)


def proof(one: str, other: str, *, ordered: bool = False, schema: DatabaseSchema = SQLITE) -> Proof | Unproved:
    """What is proved of two queries of SQLite's."""
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
    """A table t with columns of these types."""
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
    """IN within IN."""
    inner = f"SELECT mentor_id FROM player WHERE age = {age}"
    return "SELECT id FROM player WHERE id IN (" * levels + inner + ")" * levels


@each("levels", range(1, 9))
def test_queries_within_queries_are_compared_at_every_level(levels: int) -> None:
    found = proof(nested(levels, 1), nested(levels, 1).replace("age = 1", "1 = age"))
    assert isinstance(found, Proof)
    apart = proof(nested(levels, 1), nested(levels, 2))
    assert isinstance(apart, Unproved)
    assert apart.reason.startswith("conditions")
