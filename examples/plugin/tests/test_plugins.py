"""The plug-ins, held to what Assay demands of each kind. First: python -m pip install examples/plugin"""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from assay_example import select_star
from assay_example.csv_folder import CsvFolderEngine
from assay_example.csv_report import CsvReporter
from assay_example.first_row import FirstRow
from assay_example.nearest import NearestSystem
from assay_example.sql_file import SqlFileFormat

from assay import FieldNames, Limits, registry
from assay.model import Case, DatabaseUrl
from assay.systems.options import SystemOptions
from assay.testing.conformance import (
    CHECKS,
    FORMAT_CHECKS,
    LINT_RULE_CHECKS,
    METRIC_CHECKS,
    REPORT_CHECKS,
    SYSTEM_CHECKS,
    Adapter,
    Check,
    FormatAdapter,
    Gap,
    LintRuleAdapter,
    MetricAdapter,
    ReportAdapter,
    SystemAdapter,
    conform,
    prepare,
)

NO_TYPES = "CSV has no types but those that its texts look like"
GAPS = {
    "texts_are_exact": Gap(
        whose="never", why="CSV has no NULL: an empty field is one", shows=", None, None] in place of"
    ),
    "decimals_are_exact": Gap(whose="never", why=NO_TYPES, shows="found [12345678901.2345, -0.5, None]"),
    "dates_are_dates": Gap(whose="never", why=NO_TYPES, shows="found ['2024-02-29', None, None]"),
    "timestamps_are_datetimes": Gap(whose="never", why=NO_TYPES, shows="found ['2024-02-29 12:34:56', None, None]"),
    "binaries_are_bytes": Gap(whose="never", why="CSV holds no bytes", shows="found ['b"),
}
"""What a folder of CSV files cannot do, each with how it shows."""


def test_assay_finds_each_by_its_name() -> None:
    assert registry.load("assay.engines", "csvfolder") is CsvFolderEngine
    assert registry.load("assay.systems", "nearest") is NearestSystem
    assert registry.load("assay.metrics", "first_row") is FirstRow
    assert registry.load("assay.cases", "sqlfile") is SqlFileFormat
    assert registry.load("assay.reports", "csv") is CsvReporter
    assert registry.load("assay.lint_rules", "select-star") is select_star


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Adapter:
    folder = tmp_path_factory.mktemp("csvfolder")
    tables = folder / "tables"
    tables.mkdir()

    def write(statement: str) -> None:
        """As someone who may write: in a database beside the folder, whose tables become its files."""
        with closing(sqlite3.connect(folder / "beside.sqlite", isolation_level=None)) as connection:
            connection.execute(statement)
            for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall():
                rows = connection.execute(f"SELECT * FROM {name}")
                with (tables / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                    writer = csv.writer(file)
                    writer.writerow([column[0] for column in rows.description])
                    writer.writerows(rows)

    adapter = Adapter(
        engine=CsvFolderEngine,
        url=DatabaseUrl.parse(f"csvfolder:///{tables}"),
        absent=DatabaseUrl.parse(f"csvfolder:///{folder}/absent"),
        write=write,
        gaps=GAPS,
    )
    prepare(adapter)
    return adapter


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_the_engine(engine: Adapter, check: Check[Adapter]) -> None:
    conform(engine, check)


@pytest.mark.parametrize("check", METRIC_CHECKS, ids=str)
def test_the_metric(check: Check[MetricAdapter]) -> None:
    conform(MetricAdapter(metric=FirstRow), check)


@pytest.mark.parametrize("check", REPORT_CHECKS, ids=str)
def test_the_report(check: Check[ReportAdapter]) -> None:
    conform(ReportAdapter(reporter=CsvReporter, lists_cases=True), check)


@pytest.mark.parametrize("check", LINT_RULE_CHECKS, ids=str)
def test_the_lint_rule(check: Check[LintRuleAdapter]) -> None:
    def case(gold: str) -> Case:
        return Case(id="1", question="Who are they?", golds=(gold,))

    adapter = LintRuleAdapter(
        rule=select_star,
        flagged=(case("SELECT * FROM customers"), case("SELECT c.*, 1 FROM customers AS c")),
        accepted=(case("SELECT name FROM customers"), case("SELECT COUNT(*) FROM (SELECT * FROM customers)")),
        schema="CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO customers VALUES (1, 'Ada')",
    )
    conform(adapter, check)


@pytest.mark.parametrize("check", FORMAT_CHECKS, ids=str)
def test_the_format(tmp_path: Path, check: Check[FormatAdapter]) -> None:
    (tmp_path / "gold.sql").write_text(
        "-- @q1 [shop]: How many customers are there?\nSELECT COUNT(*) -- note: all of them\nFROM customers;\n\n"
        "-- @q2: Who are they?\n-- TODO: order them\nSELECT name FROM customers\n",
        encoding="utf-8",
    )
    (tmp_path / "answers.sql").write_text("-- @q2\nSELECT 1;\n-- @q1:\nSELECT 2\n", encoding="utf-8")
    adapter = FormatAdapter(format=SqlFileFormat, cases=tmp_path / "gold.sql", predictions=tmp_path / "answers.sql")
    conform(adapter, check)


def test_comments_of_a_query_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "gold.sql").write_text("-- @a: Who?\n-- note: b\nSELECT 1; -- @c\n;\n-- @d : What?\nSELECT 2")
    first, second = SqlFileFormat().cases(tmp_path / "gold.sql", FieldNames())
    assert (first.id, first.question, first.golds) == ("a", "Who?", ("-- note: b\nSELECT 1; -- @c",))
    assert (second.id, second.question, second.golds) == ("d", "What?", ("SELECT 2",))


@pytest.mark.parametrize("check", SYSTEM_CHECKS, ids=str)
def test_the_system(tmp_path: Path, check: Check[SystemAdapter]) -> None:
    known = {"How many customers?": "SELECT COUNT(*) FROM customers", "Which days?": "SELECT day FROM days"}
    lines = [json.dumps({"question": question, "sql": sql}) for question, sql in known.items()]
    (tmp_path / "known.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def opened(name: str) -> NearestSystem:
        return NearestSystem.open(f"nearest:{tmp_path / name}", SystemOptions())

    adapter = SystemAdapter(
        open=lambda: opened("known.jsonl"),
        unusable=lambda: opened("absent.jsonl"),
        questions=("How many customers are there?", "Which days are there?"),
    )
    conform(adapter, check)


@pytest.mark.parametrize(
    ("rows", "types"),
    [(["7", "-0", ""], "INTEGER"), (["007", "7"], "TEXT"), (["1.5", "2"], "REAL"), (["1e5"], "TEXT"), ([""], "TEXT")],
)
def test_a_column_has_the_type_of_all_its_values(tmp_path: Path, rows: Sequence[str], types: str) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{row},x\n" for row in rows), encoding="utf-8")
    engine = CsvFolderEngine.open(DatabaseUrl.parse(f"csvfolder:///{tmp_path}"), Limits())
    found = engine.execute("SELECT DISTINCT typeof(a) FROM t WHERE a IS NOT NULL").result
    engine.close()
    assert found is not None
    assert {row[0].upper() for row in found.rows if isinstance(row[0], str)} <= {types}
