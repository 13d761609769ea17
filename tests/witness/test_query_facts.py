"""What is read of a pair of queries: columns that are compared, their constants, and choices left to the engine."""

from __future__ import annotations

import pytest

from assay.sql.query import Unreadable
from assay.sql.schema.ddl import read_ddl
from assay.witness import query_facts
from assay.witness.query_facts import PairFacts, read_pair
from many_cases import each

SCHEMA = read_ddl(
    """CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT, size INT);
    CREATE TABLE b (aid INT REFERENCES a(id), label TEXT, day DATE CHECK (day > '1999-01-01'));
    CREATE TABLE far (x INT);
    CREATE VIEW v AS SELECT name AS n, size FROM a WHERE size > 7""",
    "sqlite",
).schema


def _read(query: str, other: str = "SELECT 1") -> PairFacts:
    found = read_pair(query, other, SCHEMA, "sqlite")
    assert isinstance(found, PairFacts)
    return found


@each(
    ("query", "together"),
    [
        ("SELECT 1 FROM a JOIN b ON a.name = b.label", {("a", "name"), ("b", "label")}),
        ("SELECT 1 FROM a, b WHERE b.label >= a.name", {("a", "name"), ("b", "label")}),
        ("SELECT 1 FROM a WHERE name IN (SELECT label FROM b)", {("a", "name"), ("b", "label")}),
        ("SELECT 1 FROM a WHERE (size, name) IN (SELECT aid, label FROM b)", {("a", "name"), ("b", "label")}),
        ("SELECT 1 FROM a WHERE (size, name) = (SELECT aid, label FROM b)", {("a", "name"), ("b", "label")}),
        ("SELECT 1 FROM a WHERE name = (SELECT max(label) FROM b)", {("a", "name"), ("b", "label")}),
        ("SELECT name FROM a UNION SELECT label FROM b", {("a", "name"), ("b", "label")}),
        ("SELECT name FROM a EXCEPT SELECT label FROM b", {("a", "name"), ("b", "label")}),
        ("SELECT 1 FROM (SELECT label AS l FROM b) s JOIN a ON l = name", {("a", "name"), ("b", "label")}),
        ("WITH c AS (SELECT label FROM b) SELECT 1 FROM c JOIN a ON c.label = name", {("a", "name"), ("b", "label")}),
        ("SELECT 1 FROM a JOIN far USING (x)", set()),
        ("SELECT 1 FROM v JOIN b ON n = label", {("a", "name"), ("b", "label")}),
        ("SELECT 1 FROM a JOIN b ON upper(name) = upper(label)", {("a", "name"), ("b", "label")}),
    ],
)
def test_columns_that_are_compared_share_a_class(query: str, together: set[tuple[str, str]]) -> None:
    assert not together or any(together <= group for group in _read(query).classes)


@each(
    "joined",
    ["size + {}", "size - {}", "size + ({})", "coalesce(size, {})", "CASE WHEN size > 1 THEN size ELSE {} END"],
)
def test_a_term_of_a_long_expression_is_looked_up_a_few_times(joined: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[object] = []
    keys_of = query_facts._Reader._keys_of
    monkeypatch.setattr(
        query_facts._Reader, "_keys_of", lambda self, query, node: looked_up.append(node) or keys_of(self, query, node)
    )
    counts = []
    for terms in (5, 20):
        term = "aid"
        for _ in range(terms):
            term = joined.format(term)
        looked_up.clear()
        found = _read(f"SELECT 1 FROM a JOIN b ON 1 WHERE name = {term}")
        assert any({("a", "size"), ("a", "name"), ("b", "aid")} <= group for group in found.classes)
        counts.append(len(looked_up))
    assert counts[1] <= 5 * counts[0]
    flat = " + ".join(["size"] * 700 + ["aid"])
    assert any({("a", "size"), ("b", "aid")} <= group for group in _read(f"SELECT {flat} FROM a, b").classes)


def test_foreign_keys_tie_columns() -> None:
    found = _read("SELECT label FROM b")
    assert {("a", "id"), ("b", "aid")} in found.classes
    assert (found.tables, found.read) == (("a", "b"), {"b"})
    assert "far" not in found.tables


@each(
    ("condition", "column", "value", "use"),
    [
        ("size = 3", "size", 3, "equal"),
        ("3 = size", "size", 3, "equal"),
        ("size > 3", "size", 3, "above"),
        ("3 > size", "size", 3, "below"),
        ("size BETWEEN -3 AND 9", "size", -3, "above"),
        ("size BETWEEN -3 AND 9", "size", 9, "below"),
        ("size IN (1, 2.5)", "size", 2.5, "equal"),
        ("name LIKE 'x%'", "name", "x%", "pattern"),
        ('name = "text"', "name", "text", "equal"),
        ("name = 'it''s'", "name", "it's", "equal"),
        ("substr(name, 1, 2) = 'ab'", "name", "ab", "part"),
        ("length(name) > 4", "name", 4, "length"),
        ("strftime('%Y', name) = '2013'", "name", "2013", "date_part"),
        ("size + 1 < 8", "size", 8, "below"),
        ("size > (SELECT avg(size) FROM a WHERE name = 'q')", "name", "q", "equal"),
    ],
)
def test_constants_go_to_the_columns_beside_them(condition: str, column: str, value: object, use: str) -> None:
    found = _read(f"SELECT 1 FROM a WHERE {condition}").constants["a", column]
    assert (value, use) in {(one.value, one.use) for one in found}


def test_numbers_of_rows() -> None:
    found = _read(
        "SELECT name FROM a GROUP BY name HAVING count(*) > 4 LIMIT 6 OFFSET 2",
        "SELECT 1 FROM a WHERE (SELECT count(*) FROM b WHERE aid = id) = 9",
    )
    assert found.counts == (2, 4, 6, 9)
    assert not any(one.value in (2, 4, 6, 9) for values in found.constants.values() for one in values)


def test_checks_and_views_give_constants() -> None:
    assert [one.value for one in _read("SELECT label FROM b").constants["b", "day"]] == ["1999-01-01"]
    assert [one.value for one in _read("SELECT n FROM v").constants["a", "size"]] == [7]


@each(
    ("query", "doubts"),
    [
        ("SELECT name FROM a ORDER BY size", set()),
        ("SELECT name FROM a LIMIT 1", {"limit"}),
        ("SELECT name FROM a WHERE id = (SELECT aid FROM b ORDER BY day LIMIT 1)", {"inner_limit"}),
        ("SELECT name FROM a WHERE id = (SELECT aid FROM b)", {"scalar_subquery"}),
        ("SELECT name FROM a WHERE id = (SELECT max(aid) FROM b)", set()),
        ("SELECT name FROM a WHERE id IN (SELECT aid FROM b)", set()),
        ("SELECT name, size FROM a GROUP BY name", {"bare_column"}),
        ("SELECT name, max(size) FROM a", {"bare_column"}),
        ("SELECT name, max(size) FROM a GROUP BY name", set()),
        ("SELECT upper(name), max(size) FROM a GROUP BY upper(name)", set()),
        ("SELECT name, count(*) FROM a GROUP BY 1 ORDER BY count(*)", set()),
        ("SELECT group_concat(name) FROM a", {"collected"}),
        ("SELECT row_number() OVER (ORDER BY size) FROM a", {"tied_window"}),
        ("SELECT rank() OVER (ORDER BY size) FROM a", set()),
        ("SELECT sum(size) OVER (PARTITION BY name) FROM a", set()),
        ("SELECT sum(size) OVER (PARTITION BY name ORDER BY size) FROM a", set()),
    ],
)
def test_choices_that_are_left_to_the_engine(query: str, doubts: set[str]) -> None:
    assert _read(query).first.doubts == doubts


def test_what_cannot_be_read() -> None:
    for query in ("", "SELEC", "SELECT 1; SELECT 2", "DELETE FROM a", "SELECT " + "(" * 5000):
        assert isinstance(read_pair(query, "SELECT 1", SCHEMA, "sqlite"), Unreadable)
    assert _read("SELECT 1 FROM nowhere").unknown == ("nowhere",)
    assert _read("SELECT random() FROM a").first.by_luck
