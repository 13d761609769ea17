"""Numbers of rows and numbers without bounds: what two queries say is told, and nothing is raised."""

from __future__ import annotations

import assay
from many_cases import each

DDL = (
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
    found = [assay.refute(*pair, schema=DDL, seed=1) for pair in pairs]
    assert [one.kind for one in found] == ["refuted", "refuted"]


def test_a_row_number_that_is_no_key_stays_a_choice() -> None:
    found = assay.refute("SELECT code FROM c ORDER BY rowid", "SELECT code FROM c ORDER BY n", schema=DDL, seed=1)
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
    found = assay.refute(*(text.replace("{}", number) for text in pair), schema=DDL, seconds=0.3)
    assert found.kind in ("unknown", "refuted", "conditional")


def test_products_that_become_infinite_raise_nothing() -> None:
    product = " * ".join(f"(y + {number})" for number in range(300))
    found = assay.refute(f"SELECT {product} FROM a", f"SELECT -1 * {product} FROM a", schema=DDL, seconds=0.5)
    assert found.kind in ("unknown", "refuted", "conditional")
