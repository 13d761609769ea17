"""In ORDER BY, GROUP BY, HAVING and WHERE a name is the alias of an output, or a column, as the engine has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pytest
from four_engines import ENGINES, Run, running
from sqlglot import exp

from assay.sql.query import Query, read_query
from assay.sql.schema import SchemaNames
from assay.sql.schema.ddl import read_ddl
from many_cases import each

SCRIPT = """
CREATE TABLE t (id INTEGER PRIMARY KEY, x INTEGER, y INTEGER);
INSERT INTO t VALUES (1, 4, 1), (2, 2, 1), (3, 3, 2), (4, 1, 2);
"""
NAMES = SchemaNames(read_ddl(SCRIPT, "sqlite").schema)
QUERIES = (
    "SELECT id AS x FROM t ORDER BY {}",
    "SELECT id AS x FROM t ORDER BY {} DESC",
    "SELECT id AS x FROM t ORDER BY ({})",
    "SELECT id AS x FROM t ORDER BY {} + 0",
    "SELECT id AS x FROM t ORDER BY -({})",
    "SELECT id AS x FROM t ORDER BY CASE WHEN {} > 2 THEN 0 ELSE 1 END, id DESC",
    "SELECT id AS x, y FROM t ORDER BY y, {}",
    "SELECT DISTINCT id AS x FROM t ORDER BY {}",
    "SELECT DISTINCT ON ({0}) y AS x, id FROM t ORDER BY {0}, id",
    "SELECT id AS x, ROW_NUMBER() OVER (ORDER BY {}) FROM t ORDER BY 1",
    "SELECT MAX(id) AS x FROM t GROUP BY y, x ORDER BY {}",
    "SELECT ABS(-7) AS x, COUNT(*) FROM t GROUP BY {}",
    "SELECT ABS(-7) AS x, COUNT(*) FROM t GROUP BY ({})",
    "SELECT ABS(-7) AS x, COUNT(*) FROM t GROUP BY {} + 1",
    "SELECT ABS(-7) AS x, COUNT(*) FROM t GROUP BY t.x HAVING {} > 2",
    "SELECT ABS(-7) AS x, COUNT(*) FROM t GROUP BY t.x HAVING {} + 0 > 2",
    "SELECT MAX(id) AS x FROM t GROUP BY y HAVING {} > 2",
    "SELECT MAX(id) AS x FROM t GROUP BY y HAVING {} + 0 > 2",
    "SELECT MIN(id) AS x FROM t GROUP BY y HAVING MAX({}) > 3",
    "SELECT MIN(id) AS x FROM t GROUP BY y ORDER BY MAX({}), 1",
    "SELECT id AS x FROM t HAVING {} > 2",
    "SELECT id AS x FROM t WHERE {} > 2",
    "SELECT id AS z FROM t WHERE {} > 2",
    "SELECT y * 2 AS z, COUNT(*) FROM t GROUP BY {}",
    "SELECT MAX(id) AS z FROM t GROUP BY y HAVING {} > 2",
    "SELECT id AS z FROM t ORDER BY -({})",
    "SELECT id AS z FROM t ORDER BY {} DESC",
)
ONLY_MARIADB = "SELECT id AS x, ROW_NUMBER() OVER (ORDER BY {}) FROM t ORDER BY 1"
"""It takes the alias there. MySQL, whose dialect this is, takes the column, as every other engine does."""


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[str, Run]]:
    with running(request, request.param, filter(str.strip, SCRIPT.split(";"))) as run:
        yield request.param, run


def _meant_by_engine(run: Run, query: str, name: str) -> Literal["output", "column"] | None:
    """What the engine takes a name for; None: it refuses the query, or both would give the same rows."""
    output = query.partition(" AS ")[0].rpartition(", ")[2].removeprefix("SELECT ").removeprefix("DISTINCT ")
    output = output.removeprefix("ON ({0}) ")
    rows = run(query.format(name))
    as_output = run(query.format(output))
    as_column = run(query.format(f"t.{name}"))
    if rows is None or as_output == as_column:
        return None
    return "output" if rows == as_output else "column"


def _meant_by_us(query: str, name: str, dialect: str) -> Literal["output", "column"]:
    read = read_query(query.format(name), dialect, NAMES)
    assert isinstance(read, Query)
    column = max((one for one in read.columns if one.name == name), key=lambda one: one.this.meta["start"])
    assert column.find_ancestor(exp.Order, exp.Group, exp.Having, exp.Where)
    return "column" if read.meaning(column).output is None else "output"


@each("query", QUERIES)
def test_a_name_is_an_alias_where_the_engine_takes_it_for_one(engine: tuple[str, Run], query: str) -> None:
    dialect, run = engine
    name = query.partition(" AS ")[2][0]
    meant = _meant_by_engine(run, query, name)
    if meant is not None and (dialect, query) != ("mysql", ONLY_MARIADB):
        assert _meant_by_us(query, name, dialect) == meant
