"""The tables that `assay sql` queries: their columns with DuckDB's types, and the rows of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from assay.model import HistoryPoint
from assay.runs.history import question_set, run_name, started_at
from assay.runs.store import journal
from assay.runs.store.folder import read_lint, read_run_file
from assay.runs.store.results_table import (
    NEAR_MISSES,
    REPEAT,
    REPEAT_COLUMN,
    RESULT_COLUMNS,
    case_columns,
    reading,
)

if TYPE_CHECKING:
    import duckdb

_ANSWER = {"run": "VARCHAR", "case_id": "VARCHAR", REPEAT_COLUMN: "INTEGER"}
CASES, RUNS = "cases", "runs"
TABLES: Final[Mapping[str, Mapping[str, str]]] = {
    CASES: {"run": "VARCHAR", **RESULT_COLUMNS, REPEAT_COLUMN: "INTEGER"},
    "scores": {**_ANSWER, "metric": "VARCHAR", "value": "DOUBLE", "detail": "VARCHAR", "failure": "VARCHAR"},
    "flags": {**_ANSWER, "flag": "VARCHAR"},
    "causes": {
        **_ANSWER,
        "place": "INTEGER",
        "cause": "VARCHAR",
        "clause": "VARCHAR",
        "message": "VARCHAR",
        "proved": "BOOLEAN",
        "table_name": "VARCHAR",
        "column_name": "VARCHAR",
    },
    "near_misses": {**_ANSWER, "near_miss": "VARCHAR", "detail": "VARCHAR"},
    "failures": {**_ANSWER, "blame": "VARCHAR", "failure": "VARCHAR", "message": "VARCHAR"},
    RUNS: {
        "run": "VARCHAR",
        "folder": "VARCHAR",
        "name": "VARCHAR",
        "status": "VARCHAR",
        "tags": "VARCHAR[]",
        "started_at": "TIMESTAMP",
        "wall_s": "DOUBLE",
        "question_set": "VARCHAR",
        "system": "VARCHAR",
        "database": "VARCHAR",
        "cases": "BIGINT",
        "correct": "BIGINT",
        "incorrect": "BIGINT",
        "unscored": "BIGINT",
        "headline_metric": "VARCHAR",
        "headline": "DOUBLE",
        "low": "DOUBLE",
        "high": "DOUBLE",
        "gates": "BIGINT",
        "gates_missed": "BIGINT",
        "assay_version": "VARCHAR",
    },
}
"""Every table of `assay sql` with its columns; `cases` has a column for each metric besides."""

_FAILURES = """list_filter([e.verdict.failure, e.prediction.failure]
    || list_transform(coalesce(e.gold_executions, []), lambda x: x.failure) || [e.predicted_execution.failure],
    lambda x: x IS NOT NULL)"""
_DETAILS: Final = {
    "scores": (
        "coalesce(e.scores, [])",
        """x.metric, x."value", x.detail, x.failure.kind AS failure""",
    ),
    "flags": ("list_sort(coalesce(e.verdict.flags, []))", "x AS flag"),
    "causes": (
        "coalesce(e.diagnosis.causes, [])",
        """n::INTEGER AS place, x.kind AS cause, nullif(x.clause, '') AS clause, x.message,
        coalesce(x.proved, false) AS proved, nullif(x."table", '') AS table_name,
        nullif(x."column", '') AS column_name""",
    ),
    "near_misses": (f"coalesce({NEAR_MISSES}, [])", "x.kind AS near_miss, coalesce(x.detail, '') AS detail"),
    "failures": (  # each once
        f"list_filter({_FAILURES}, lambda x, n: n = list_position({_FAILURES}, x))",
        "x.blame, x.kind AS failure, x.message",
    ),
}
"""The tables with several rows per answer: the list that they are made of, and the columns of an item ``x``."""


class NamedRun(NamedTuple):
    """A stored run, finished or not, under the name that its rows have."""

    name: str
    folder: Path
    point: HistoryPoint


def columns_with_metrics(metrics: Collection[str]) -> dict[str, str]:
    """The columns of `cases`. A metric that is called like another column is in `scores` alone."""
    own = TABLES[CASES]
    return {**own, **{name: "DOUBLE" for name in metrics if name.casefold() not in own}}


def insert_run(connection: duckdb.DuckDBPyConnection, run: NamedRun, tables: Collection[str]) -> None:
    """Insert the rows of a run into those tables, which exist already. Raises RunError if its journal is damaged."""
    if RUNS in tables:
        row = _run_row(run)
        connection.execute(f"INSERT INTO {RUNS} VALUES ({', '.join('?' * len(row))})", list(row.values()))
    path = run.folder / journal.NAME
    if not set(tables) - {RUNS} or not path.exists():
        return
    stored = read_run_file(run.folder)
    own = [name for name in stored.settings.metrics if name.casefold() not in TABLES[CASES]]
    with reading(connection, path, stored.order or None, lint=read_lint(run.folder)):
        if CASES in tables:
            columns = case_columns(own, numbered=True)
            connection.execute(
                f"INSERT INTO {CASES} BY NAME SELECT $1 AS run, {columns} FROM answer ORDER BY place", [run.name]
            )
        for table, (items, columns) in _DETAILS.items():
            if table in tables:
                connection.execute(
                    f"""INSERT INTO {table} BY NAME SELECT $1 AS run, case_id, {REPEAT_COLUMN}, {columns} FROM
                    (SELECT answer.place AS row_number, case_id, {REPEAT} AS {REPEAT_COLUMN}, unnest({items}) AS x,
                    generate_subscripts({items}, 1) AS n FROM answer) ORDER BY row_number, n""",
                    [run.name],
                )


def _run_row(run: NamedRun) -> dict[str, object]:
    point, settings, made = run.point, run.point.settings, run.point.provenance
    assert settings is not None
    assert made is not None
    asked, begun, finished = question_set(point), started_at(point), point.status == "finished"
    names = ("cases", "correct", "incorrect", "unscored")
    counts = {name: getattr(point, name) if finished else None for name in names}
    rate = point.headline
    return {
        "run": run.name,
        "folder": str(run.folder),
        "name": run_name(point),
        "status": point.status,
        "tags": settings.tags,
        "started_at": None if begun is None else begun.replace(tzinfo=None),
        "wall_s": made.wall_time_s,
        "question_set": None if asked is None else asked.name,
        "system": settings.predictions,
        "database": settings.database,
        **counts,
        "headline_metric": point.headline_metric,
        "headline": rate and rate.value,
        "low": rate and rate.low,
        "high": rate and rate.high,
        "gates": len(point.gates),
        "gates_missed": sum(not one.passed for one in point.gates),
        "assay_version": made.assay_version,
    }
