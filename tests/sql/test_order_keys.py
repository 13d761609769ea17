"""What a key of ORDER BY stands for: each rule said once in a table, and asked of the engine itself.

The table t has columns a and b; the query gives b under the name that is tested. A key that stands
for the column a, for the output (b), or for a constant puts the rows in another order each.
"""

from __future__ import annotations

import pytest
from four_engines import ENGINES, Run, running

from assay.sql.probes.edits import read_for_probes
from assay.sql.probes.order_keys import read_key

SETUP = ["CREATE TABLE t(id INTEGER, a INTEGER, b INTEGER)", "INSERT INTO t VALUES (1, 3, 20), (2, 1, 30), (3, 2, 10)"]
BY = {(2, 3, 1): "column", (3, 1, 2): "output", (1, 3, 2): "-column", (2, 1, 3): "-output", (1, 2, 3): "constant"}

# Outputs, key, and what it stands for on SQLite, DuckDB, PostgreSQL and MariaDB; None where the engine refuses it.
OUT, COL, CON = "output", "column", "constant"
RULES: list[tuple[str, str, tuple[str | None, str | None, str | None, str | None]]] = [
    ("id, b AS a", "a", (OUT, OUT, OUT, OUT)),
    ("id, b AS a", "A", (OUT, OUT, OUT, OUT)),
    ("id, b AS A", "a", (OUT, OUT, OUT, OUT)),
    ("id, b AS a", "(a)", (OUT, OUT, OUT, OUT)),
    ("id, b AS a", "((a))", (OUT, OUT, OUT, OUT)),
    ("id, b AS a", "+a", (COL, COL, COL, OUT)),
    ("id, b AS a", "a + 0", (COL, COL, COL, COL)),
    ("id, b AS a", "-a", ("-column", "-column", "-column", "-column")),
    ("id, b AS a", "abs(a)", (COL, COL, COL, COL)),
    ("id, b AS a", "t.a", (COL, COL, COL, COL)),
    ("id, b AS a", "(t.a)", (COL, COL, COL, COL)),
    ("id, b AS a", "(SELECT a)", (COL, COL, COL, COL)),
    ("id, b AS a", "CASE WHEN a IS NULL THEN 0 ELSE a END", (COL, COL, COL, COL)),
    ("id, b AS w", "w + 0", (OUT, OUT, None, OUT)),
    ("id, b AS w", "-w", ("-output", "-output", None, "-output")),
    ("id, b AS w", "(SELECT w)", (OUT, OUT, None, OUT)),
    ("id, b AS w", '"w"', (OUT, OUT, OUT, CON)),
    ("id, b AS w", '"W"', (OUT, OUT, None, CON)),
    ("id, b AS w", "'w'", (CON, None, None, CON)),
    ("id, b AS w", "a COLLATE NOCASE", (COL, None, None, None)),
    ("id, b AS a", "a COLLATE NOCASE", (OUT, None, None, None)),
    ("id, b AS w, a AS w", "w", (OUT, COL, None, None)),
    ("id, a, b AS a", "a", (OUT, OUT, None, None)),
    ("id, b", "2", (OUT, OUT, OUT, OUT)),
    ("id, b", "(2)", (OUT, OUT, OUT, OUT)),
    ("id, b", "((2))", (OUT, OUT, OUT, OUT)),
    ("id, b", "2 DESC", ("-output",) * 4),
    ("id, b", "(2) DESC", ("-output",) * 4),
    ("id, b", "2 DESC NULLS FIRST", ("-output", "-output", "-output", None)),
    ("id, b", "+2", (OUT, CON, CON, OUT)),
    ("id, b", "+(2)", (OUT, CON, CON, OUT)),
    ("id, b", "2 + 0", (CON, CON, CON, CON)),
    ("id, b", "1 + 1", (CON, CON, CON, CON)),
    ("id, b", "'2'", (CON, None, None, CON)),
    ("id, b", "-2", (None, None, None, None)),
    ("id, b", "2 COLLATE NOCASE", (OUT, None, None, None)),
    ("id, b", "(2) COLLATE NOCASE", (OUT, None, None, None)),
    ("id, b", "(2 COLLATE NOCASE)", (OUT, None, None, None)),
    ("DISTINCT id, b AS a", "a", (OUT, OUT, OUT, OUT)),
    ("DISTINCT id, b AS a", "(a)", (OUT, OUT, OUT, OUT)),
]


def _stands_for(run: Run, outputs: str, key: str) -> str | None:
    rows = run(f"SELECT {outputs} FROM t ORDER BY {key}")
    return None if rows is None else BY[tuple(row[0] for row in rows)]


def _agrees(dialect: str, outputs: str, key: str, meant: str | None) -> None:
    query = read_for_probes(f"SELECT {outputs} FROM t ORDER BY {key}", dialect)
    if query is None or meant is None:
        return
    selected = query.tree.selects
    read = read_key(query, query.tree.args["order"].expressions[0], selected)
    if read.output is not None:
        shown = {"id": CON, "a": COL, "b": OUT}[selected[read.output].unalias().name]
        assert shown == meant.removeprefix("-"), key
    elif not read.is_unread:
        assert meant.removeprefix("-") == COL or (meant.removeprefix("-") == OUT and "w" in key), key
    said = {meant for _, other, row in RULES if other == key for meant in row if meant is not None}
    assert not read.is_unread or len(said) > 1 or CON in said or "COLLATE" in key, key


@pytest.mark.parametrize("dialect", ENGINES)
def test_the_rules_are_those_of_the_engine(request: pytest.FixtureRequest, dialect: str) -> None:
    place = ["sqlite", "duckdb", "postgres", "mysql"].index(dialect)
    with running(request, dialect, SETUP) as run:
        found = {(outputs, key): _stands_for(run, outputs, key) for outputs, key, _ in RULES}
    assert found == {(outputs, key): meant[place] for outputs, key, meant in RULES}
    for outputs, key, meant in RULES:
        _agrees(dialect, outputs, key, meant[place])
