"""Whether a wrong answer uses other tables than gold, other columns, or the same, from the worker to every report."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from python_calamine import CalamineWorkbook

import assay
from assay import registry
from assay.model import Case, Prediction
from assay.model.verdicts.evidence import Evidence
from assay.reports.blocks.run import RunReport
from assay.reports.console.run import plain_summary
from assay.reports.text.explanation import explanation_of
from assay.runs.store.codec import decode_evidence, encode_evidence
from assay.runs.store.run_tables import answered, named_runs

SCRIPT = """
CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT, age INTEGER);
CREATE TABLE concert (id INTEGER PRIMARY KEY, singer_id INTEGER REFERENCES singer (id), year INTEGER);
INSERT INTO singer VALUES (1, 'Ada', 30), (2, 'Ben', 40);
INSERT INTO concert VALUES (1, 1, 2020), (2, 1, 2021);
"""
GOLD = "SELECT name FROM singer"
ANSWERS: dict[str, tuple[str | None, str | None]] = {
    "right": ("SELECT s.name FROM singer AS s", None),
    "other table": ("SELECT name FROM singer JOIN concert ON singer.id = singer_id", "other_tables"),
    "no such table": ("SELECT name FROM singers", "other_tables"),
    "other column": ("SELECT age FROM singer", "other_columns"),
    "no such column": ("SELECT height FROM singer", "other_columns"),
    "star": ("SELECT * FROM singer", "other_columns"),
    "same": ("SELECT name FROM singer LIMIT 1", "same"),
    "same in a CTE": ("WITH q AS (SELECT name AS n FROM singer) SELECT upper(n) FROM q", "same"),
    "not SQL": ("I do not know", None),
    "nothing": (None, None),
}


@pytest.fixture
def run(make_sqlite: Callable[..., Path]) -> assay.Run:
    path = make_sqlite(SCRIPT)
    cases = [Case(id=name, question="Who sings?", golds=(GOLD,)) for name in ANSWERS]
    several = Case(id="several", question="Who sings?", golds=("SELECT year FROM concert", GOLD))
    predictions = [Prediction(case_id=name, query=query) for name, (query, _) in ANSWERS.items()]
    predictions.append(Prediction(case_id="several", query="SELECT age FROM singer"))
    return assay.evaluate([*cases, several], predictions, databases=f"sqlite:///{path.as_posix()}", workers=1)


def _use(item: Evidence) -> str | None:
    return None if item.diagnosis is None else item.diagnosis.schema_use


def test_each_wrong_answer_has_its_use(run: assay.Run, tmp_path: Path) -> None:
    wanted = {name: use for name, (_, use) in ANSWERS.items()} | {"several": "other_columns"}
    assert {item.case.id: _use(item) for item in run.evidence} == wanted
    assert {case.case_id: case.schema_use for case in run.record.summaries} == wanted
    assert all(decode_evidence(encode_evidence(item)) == item for item in run.evidence)
    run.save(tmp_path / "run")
    table = duckdb.read_parquet(str(tmp_path / "run" / "results.parquet"))
    assert dict(table.select("case_id", "schema_use").fetchall()) == wanted
    runs, _ = named_runs([tmp_path / "run"])
    with answered(runs, "SELECT schema_use, count(*) FROM cases GROUP BY ALL ORDER BY 1 NULLS LAST") as result:
        assert list(result.rows) == [("other_columns", 4), ("other_tables", 2), ("same", 2), (None, 3)]
    assert {case.case_id: case.schema_use for case in assay.load_run(tmp_path / "run").record.summaries} == wanted


def test_they_are_counted_beside_the_causes(run: assay.Run) -> None:
    counts = {one.name: one.count for one in run.record.aggregates.schema_use}
    assert counts == {"other_columns": 4, "other_tables": 2, "same": 2}
    document = json.loads(registry.render("json", run.record))
    assert {one["name"]: one["count"] for one in document["aggregates"]["schema_use"]} == counts
    lines = [" ".join(line.split()) for line in plain_summary(RunReport(run.record)).splitlines()]
    start = lines.index("Wrong predictions by schema use")
    assert lines[start + 1 : start + 4] == [
        "other columns 4 50.0 % other column, no such column, star, several",
        "other tables 2 25.0 % other table, no such table",
        "the same tables and columns 2 25.0 % same, same in a CTE",
    ]
    markdown = registry.render("md", run.record).decode()
    assert "| `other columns` | 4 | 50.0 % |" in markdown
    assert "Wrong predictions by schema use" in registry.render("html", run.record).decode()
    book = CalamineWorkbook.from_filelike(io.BytesIO(registry.render("xlsx", run.record)))
    rows = book.get_sheet_by_name("Summary").to_python()
    assert [row[1:3] for row in rows if row[0] == "other columns"] == [[4, 0.5]]


def test_a_case_says_it_in_the_page_and_in_the_terminal(run: assay.Run) -> None:
    items = {item.case.id: item for item in run.evidence}
    assert "schema use: other columns (the gold query's tables, but not" in explanation_of(items["other column"])
    assert "schema use: the same tables and columns" in explanation_of(items["same"])
    assert "schema use" not in explanation_of(items["not SQL"])
