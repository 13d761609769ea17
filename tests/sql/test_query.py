"""Names mean what the engine says that they mean."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from four_engines import ENGINES
from generated_names import generated
from name_oracles import SqliteOracle, compare, named_by_us, names_in, opened, unresolved_by_us
from odd_names import ODD, ODD_OF, TABLES

from assay.engines.sqlite.engine import SqliteEngine
from assay.model import DatabaseUrl, Limits
from assay.sql.query import Query, read_query
from assay.sql.schema import SchemaNames
from many_cases import each

NAMES = names_in(TABLES, "sqlite")
NOT_REPORTED = {
    # SQLite reports one side of USING and NATURAL, and every column of joins in parentheses.
    "SELECT n, e FROM a JOIN (b JOIN e ON e.e = b.id) ON a.b_id = b.id"
}


@each("text", ODD + ODD_OF["sqlite"])
def test_the_columns_read_are_those_that_sqlite_reads(sqlite: SqliteOracle, text: str) -> None:
    query = read_query(text, "sqlite", NAMES)
    assert isinstance(query, Query), query
    assert not unresolved_by_us(query)
    theirs, ours = sqlite.columns_named(text), named_by_us(query)
    if "USING" in text or "NATURAL" in text:
        assert theirs <= ours
        assert {column for _, column in ours - theirs} <= {"id", "x"}  # the joined columns themselves
    elif text in NOT_REPORTED:
        assert ours != theirs
    else:
        assert ours == theirs


COUNTS = {"sqlite": 500, "duckdb": 500, "postgres": 120, "mysql": 40}


@pytest.mark.parametrize("dialect", ENGINES)
def test_names_in_generated_queries_mean_what_the_engine_reads(request: pytest.FixtureRequest, dialect: str) -> None:
    names = names_in(TABLES, dialect)
    texts = [*ODD, *ODD_OF.get(dialect, ()), *(generated(seed, dialect) for seed in range(COUNTS[dialect]))]
    if dialect == "mysql":  # whose windows know no alias, and where a quotation mark begins a text
        texts = [text for text in texts if '"' not in text and "OVER (ORDER BY x)" not in text]
    asked = ((text, names) for text in texts)
    with opened(request, dialect, TABLES) as oracle:
        found = compare(oracle, dialect, asked)
    assert not found.wrong, found.wrong[0]
    assert found.compared > 0.4 * len(texts)
    assert found.equal > 0.7 * found.compared


def test_names_in_queries_of_spider_mean_what_sqlite_reads(shared_data: Path) -> None:
    folder = shared_data / "spider-dev"
    cases = {one["id"]: one for one in map(json.loads, (folder / "dev.jsonl").read_text().splitlines())}
    queries = {(case["db_id"], case["gold_sql"]) for case in cases.values()}
    for path in (folder / "predictions").glob("*.jsonl"):
        for line in path.read_text().splitlines():
            told = json.loads(line)
            queries.add((cases[told["id"]]["db_id"], told["predicted_sql"] or ""))
    compared = 0
    for name in sorted({name for name, _ in queries}):
        path = folder / "database" / name / f"{name}.sqlite"
        engine = SqliteEngine.open(DatabaseUrl.parse(f"sqlite:///{path}"), Limits())
        names = SchemaNames(engine.schema(with_values=False))
        engine.close()
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            texts = sorted(text for other, text in queries if other == name and text)
            found = compare(SqliteOracle(connection), "sqlite", ((text, names) for text in texts))
        assert not found.wrong, found.wrong[0]
        assert not found.unreadable
        compared += found.equal
    assert compared > 4000


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM a ORDER BY 1 UNION SELECT max(n) / count(*) FROM a",
        "SELECT *, x FROM a ORDER BY 1",
        "SELECT x FROM a UNION SELECT * FROM e ORDER BY 2",
    ],
)
def test_a_query_that_qualify_refuses_is_read_as_parsed(text: str) -> None:
    query = read_query(text, "sqlite", NAMES)
    assert isinstance(query, Query)
    assert query.bound is not None
    assert [query.type_of(output) for select in query.selects for output in select.node.expressions]
