"""Tables in memory as databases: their types, the guards, and what stays of them."""

from __future__ import annotations

import datetime
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest

import assay
from assay.errors import RunError, UsageError
from assay.model.databases.database import FOLDER_OF_TABLES
from many_cases import each

MOMENT = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
COLUMNS: dict[str, list[Any]] = {
    "number": [1, 2],
    "share": [0.5, None],
    "is_open": [True, False],
    "name": ["a", None],
    "day": [datetime.date(2024, 1, 1), None],
    "moment": [MOMENT, None],
    "amount": [Decimal("1.50"), None],
    "parts": [[1, 2], []],
    "place": [{"city": "Ulm"}, None],
}
CASES = [{"id": "1", "question": "?", "gold_sql": "SELECT number FROM orders", "db_id": "shop"}]
ANSWERS = {"1": "SELECT number FROM orders WHERE number > 0"}


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that were made for tables."""
    made: list[Path] = []
    make = tempfile.mkdtemp

    def made_and_noted(*args: Any, **options: Any) -> str:
        folder = make(*args, **options)
        if options.get("prefix") == FOLDER_OF_TABLES:
            made.append(Path(folder))
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", made_and_noted)
    return made


def all_are_gone(folders: list[Path]) -> bool:
    return not any(folder.exists() for folder in folders)


def tables() -> dict[str, Any]:
    frame = polars.DataFrame(COLUMNS)
    made: dict[str, Any] = {"polars": frame, "lazy": frame.lazy(), "pandas": pandas.DataFrame(COLUMNS)}
    try:
        import pyarrow
    except ImportError:  # an extra brings it
        return made
    table = pyarrow.table(COLUMNS)
    return {**made, "arrow": table, "batch": table.to_batches()[0]}


@each("library", sorted(tables()))
def test_values_keep_their_types(library: str, folders: list[Path]) -> None:
    expected = [
        "SELECT typeof(number) = 'BIGINT' AND typeof(is_open) = 'BOOLEAN' AND typeof(name) = 'VARCHAR'",
        "typeof(share) = 'DOUBLE' AND typeof(day) = 'DATE' AND typeof(moment) = 'TIMESTAMP WITH TIME ZONE'",
        "typeof(amount) LIKE 'DECIMAL%' AND typeof(parts) LIKE '%[]' AND typeof(place) LIKE 'STRUCT%' FROM t LIMIT 1",
    ]
    database = {"t": tables()[library]}
    verdict = assay.check(" AND ".join(expected), "SELECT true", database=database)
    assert verdict.outcome == "correct", verdict.reason
    nulls = "SELECT count(*) FROM t WHERE name IS NULL AND day IS NULL AND moment IS NULL AND amount IS NULL"
    assert assay.check(nulls, "SELECT 1", database=database).outcome == "correct"
    assert (
        assay.check(
            "SELECT moment FROM t WHERE number = 1", "SELECT TIMESTAMPTZ '2024-01-01 12:00:00+00'", database=database
        ).outcome
        == "correct"
    )
    assert all_are_gone(folders)


def test_a_named_index_and_numbered_columns_of_pandas_are_columns() -> None:
    frame = pandas.DataFrame([[10], [20]], index=pandas.Index([1, 2], name="id"))
    assert assay.check('SELECT id, "0" FROM t', "VALUES (1, 10), (2, 20)", database={"t": frame}).outcome == "correct"


def test_names_of_tables_may_be_any_text() -> None:
    frame = polars.DataFrame({"a": [1]})
    assert assay.check('SELECT a FROM "my ""t\'"', "SELECT 1", database={"my \"t'": frame}).outcome == "correct"


def test_one_database_serves_all_cases_and_several_are_told_apart() -> None:
    one, two = polars.DataFrame({"number": [1]}), pandas.DataFrame({"number": [2]})
    cases = [*CASES, {**CASES[0], "id": "2", "db_id": "other"}]
    answers = {"1": "SELECT 1", "2": "SELECT 2"}
    run = assay.evaluate(cases, answers, databases={"shop": {"orders": one}, "other": {"orders": two}}, workers=1)
    assert [one.outcome for one in run.evidence] == ["correct", "correct"]
    run = assay.evaluate(cases, answers, databases={"orders": one}, workers=1)
    assert [one.outcome for one in run.evidence] == ["correct", "incorrect"]


@each("query", ["INSERT INTO orders VALUES (1)", "DROP TABLE orders", "ATTACH 'x.db'", "COPY orders TO 'x.csv'"])
def test_the_guards_of_duckdb_hold(query: str) -> None:
    verdict = assay.check(query, CASES[0]["gold_sql"], database={"orders": polars.DataFrame({"number": [1]})})
    assert verdict.outcome == "incorrect"
    assert "refused" in verdict.reason


def test_a_stored_run_has_a_digest_and_goes_on_with_equal_tables(tmp_path: Path, folders: list[Path]) -> None:
    frame = polars.DataFrame({"number": [1, 2]})

    def evaluated(table: Any) -> assay.Run:
        return assay.evaluate(CASES, ANSWERS, databases={"shop": {"orders": table}}, output=tmp_path / "run", workers=1)

    first = evaluated(frame)
    assert first.settings.database.startswith("shop: duckdb:///tables-")
    assert evaluated(frame.clone()).settings == first.settings
    assert len(folders) == 2
    with pytest.raises(RunError, match="database was 'shop: duckdb:///tables-"):
        evaluated(frame.with_columns(number=3))
    assert all_are_gone(folders)
    for file in (tmp_path / "run").rglob("*"):
        assert file.is_dir() or FOLDER_OF_TABLES.encode() not in file.read_bytes(), file


def test_lint_and_refute_read_tables() -> None:
    frame = polars.DataFrame({"number": [1], "name": ["a"]})
    cases = [{**CASES[0], "gold_sql": "SELECT number FROM orders WHERE name = NULL"}]
    report = assay.lint(cases, databases={"shop": {"orders": frame}})
    assert "null-comparison" in {one.rule for one in report.findings}
    queries = "SELECT number FROM orders", "SELECT number FROM orders WHERE number > 1"
    assert assay.refute(*queries, database={"orders": frame}).witness is not None


@each(
    ("databases", "said"),
    [
        ({"s": 3}, "databases['s'] is of the type int"),
        ({"s": pandas.Series([1])}, "databases['s'] is of the type Series"),
        ({"s": {}}, "databases['s'] has no table"),
        ({"s": {"t": 3}}, "databases['s']['t'] is of the type int: give a table"),
        ({"s": {"t": pandas.DataFrame()}}, "databases['s']['t'] has no column"),
        ({"s": {3: pandas.DataFrame({"a": [1]})}}, "a table's name is a text"),
        ({"s": {"t": pandas.DataFrame({"a": [object()]})}}, "the column 'a' has a cell of the type object"),
        ({"s": {"t": pandas.DataFrame({"a": [1, "x"]})}}, "the column 'a' has numbers and texts"),
        ({"s": {"t": pandas.DataFrame({"a": [1 + 2j]})}}, "the table 't' cannot be a table of DuckDB"),
        ({"s": {"t": polars.DataFrame({"a": [object()]})}}, "the column 'a' has cells of the type Object"),
        ({"s": {"t": pandas.DataFrame([[1, 2]], columns=["a", "A"])}}, "two columns called 'a'"),
        ({"s": {"t": pandas.DataFrame({"a": [1]}), "T": pandas.DataFrame({"a": [1]})}}, "two tables called 'T'"),
    ],
)
def test_what_is_no_table_is_refused_with_what_to_write(databases: Any, said: str, folders: list[Path]) -> None:
    with pytest.raises(UsageError) as raised:
        assay.evaluate(CASES, ANSWERS, databases=databases, workers=1)
    assert said in str(raised.value)
    assert all_are_gone(folders)
