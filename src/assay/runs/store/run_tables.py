"""The tables that `assay sql` queries: their columns with DuckDB's types, and the rows of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from assay.model import HistoryPoint
from assay.platform.surface import argument
from assay.runs.store import journal
from assay.runs.store.folder import read_lint, read_run_file
from assay.runs.store.history import question_set, run_name, started_at
from assay.runs.store.journal_view import NEAR_MISSES, REPEAT, reading
from assay.runs.store.results_table import REPEAT_COLUMN, RESULT_COLUMNS, write_rows

if TYPE_CHECKING:
    import duckdb


import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from assay.engines.watchdog import Watchdog
from assay.errors import InputError, UsageError
from assay.model import Limits, quoted
from assay.model.results.cell_json import is_well_formed
from assay.platform.duckdb_progress import without_progress_bar
from assay.runs.store.folder import RUN_FILE
from assay.runs.store.history import read_point, scan_runs

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
        point, settings, made = run.point, run.point.settings, run.point.provenance
        assert settings is not None
        assert made is not None
        asked, begun, finished = question_set(point), started_at(point), point.status == "finished"
        names = ("cases", "correct", "incorrect", "unscored")
        counts = {name: getattr(point, name) if finished else None for name in names}
        rate = point.headline
        row = {
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
        connection.execute(f"INSERT INTO {RUNS} VALUES ({', '.join('?' * len(row))})", list(row.values()))
    path = run.folder / journal.NAME
    if not set(tables) - {RUNS} or not path.exists():
        return
    stored = read_run_file(run.folder)
    own = [name for name in stored.settings.metrics if name.casefold() not in TABLES[CASES]]
    order = stored.order or None
    if CASES in tables:
        with tempfile.TemporaryDirectory(prefix="assay-") as name:
            rows = Path(name) / "cases.parquet"
            write_rows(rows, path, order, own, read_lint(run.folder), numbered=True)
            connection.execute(
                f"INSERT INTO {CASES} BY NAME SELECT $1 AS run, * FROM read_parquet($2)", [run.name, str(rows)]
            )
    if set(tables).isdisjoint(_DETAILS):
        return
    with reading(connection, path, order):
        for table, (items, columns) in _DETAILS.items():
            if table in tables:
                connection.execute(
                    f"""INSERT INTO {table} BY NAME SELECT $1 AS run, case_id, {REPEAT_COLUMN}, {columns} FROM
                    (SELECT answer.place AS row_number, case_id, {REPEAT} AS {REPEAT_COLUMN}, unnest({items}) AS x,
                    generate_subscripts({items}, 1) AS n FROM answer) ORDER BY row_number, n""",
                    [run.name],
                )


_Got = TypeVar("_Got")

_ALLOWED = ("SELECT", "EXPLAIN", "MULTI")
"""DuckDB's kinds of statement: DESCRIBE, SHOW and SUMMARIZE are SELECT to it, PIVOT is MULTI."""


class Answered(Struct, frozen=True, kw_only=True):
    """The result of a query: its columns with DuckDB's types, and its rows, which are read once."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


def named_runs(folders: Sequence[Path]) -> tuple[list[NamedRun], list[HistoryPoint]]:
    """The runs in folders, each a run or a folder of runs, with a name each, and the damaged ones below a folder.

    A run is called by its folder's name; one below a folder by its path from there; one whose name is taken by the path
    that was given. Raises InputError for a folder without a run, and for a run that is damaged and was named itself.
    """
    runs: dict[Path, NamedRun] = {}
    damaged: list[HistoryPoint] = []
    taken: set[str] = set()
    for folder in folders:
        itself = (folder / RUN_FILE).exists()
        for point in [read_point(folder)] if itself else scan_runs(folder):
            path = Path(point.folder)
            if point.status == "damaged":
                if itself:
                    raise InputError(f"{folder}: {point.trouble}")
                damaged.append(point)
            elif path.resolve() not in runs:
                name = (path.resolve().name or str(path)) if itself else path.relative_to(folder).as_posix()
                name = name if name not in taken else str(path)
                taken.add(name)
                runs[path.resolve()] = NamedRun(name, path, point)
    if not runs:
        raise InputError(f"{', '.join(map(str, folders))}: there is no run that can be read")
    return list(runs.values()), damaged


@contextmanager
def answered(runs: Sequence[NamedRun], sql: str, *, limits: Limits | None = None) -> Iterator[Answered]:
    """The result of one reading statement over the tables of the runs.

    The time and memory of ``limits`` hold: DuckDB's time without that of reading the rows, and memory besides that of
    the tables.

    Raises UsageError for anything but one reading statement, InputError for one that DuckDB cannot execute, with the
    nearest table or column, and for one that exceeds a limit; RunError for a damaged run.
    """
    import duckdb

    limits = limits or Limits()
    with duckdb.connect(":memory:") as connection:
        without_progress_bar(connection)
        connection.execute("SET python_enable_replacements = false")
        needed = _checked(connection, sql)
        columns = _filled(connection, runs, needed)
        used = connection.execute("SELECT coalesce(sum(memory_usage_bytes), 0) FROM duckdb_memory()").fetchall()[0][0]
        for setting in (
            f"SET memory_limit = '{int(used) + limits.max_memory_bytes} bytes'",
            "SET max_temp_directory_size = '0KB'",
            "SET autoinstall_known_extensions = false",
            "SET autoload_known_extensions = false",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            connection.execute(setting)
        watch = _Watch(connection, limits.timeout_s)
        try:
            result = watch.timed(lambda: connection.execute(sql))
            described = result.description or []
            yield Answered(
                columns=tuple(column[0] for column in described),
                types=tuple(str(column[1]) for column in described),
                rows=watch.rows(result),
            )
        except duckdb.InterruptException as error:
            if watch.dog.fired:
                raise InputError(
                    f"no answer within the limit of {limits.timeout_s:g} s: look at fewer rows, or give it longer "
                    f"({argument('--timeout')})"
                ) from error
            raise KeyboardInterrupt from error
        except duckdb.OutOfMemoryException as error:
            raise InputError(
                f"the query needs more memory than the limit of {limits.max_memory_bytes // 2**20:,} MiB: look at "
                f"fewer rows, or give it more ({argument('--max-memory')})"
            ) from error
        except duckdb.Error as error:
            raise InputError(_said(str(error), columns)) from error
        finally:
            watch.dog.close()


class _Watch:
    """Interrupts what takes longer, in all, than its limit."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, limit_s: float) -> None:
        self.dog = Watchdog(connection.interrupt)
        self._left_s = limit_s

    def timed(self, step: Callable[[], _Got]) -> _Got:
        """What the step gives. Raises DuckDB's InterruptException once the time is over."""
        started = time.monotonic()
        self.dog.start(self._left_s)
        try:
            return step()
        finally:
            self.dog.stop()
            self._left_s -= time.monotonic() - started

    def rows(self, result: Any) -> Iterator[tuple[Any, ...]]:
        """The rows of a result, until the time is over."""
        while rows := self.timed(lambda: result.fetchmany(1000)):
            yield from rows


def _checked(connection: duckdb.DuckDBPyConnection, sql: str) -> Collection[str]:
    """The tables that the statement names. Raises UsageError unless it is one statement that reads."""
    import duckdb

    if not is_well_formed(sql):
        raise UsageError("the query is not valid UTF-8 text: write it in UTF-8")
    try:
        found = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise InputError(_said(str(error), TABLES)) from error
    if len(found) != 1:
        raise UsageError(f"expected one statement, found {len(found)}: write for example  SELECT count(*) FROM cases")
    if found[0].type.name not in _ALLOWED:
        raise UsageError(f"this is a {found[0].type.name} statement, and runs are only read: write SELECT")
    try:
        named = {name.casefold().rpartition(".")[2] for name in connection.get_table_names(sql)}
    except duckdb.Error:  # it says so for what is not a plain SELECT, such as SHOW TABLES
        return TABLES
    return named & set(TABLES) or TABLES


def _filled(
    connection: duckdb.DuckDBPyConnection, runs: Sequence[NamedRun], needed: Collection[str]
) -> dict[str, dict[str, str]]:
    """Make every table, with the rows of those that are needed, and return their columns."""
    metrics = dict.fromkeys(name for run in runs if run.point.settings for name in run.point.settings.metrics)
    columns = {name: dict(own) for name, own in TABLES.items()}
    columns[CASES] = columns_with_metrics(metrics)
    for name, own in columns.items():
        typed = ", ".join(f"{quoted(column)} {kind}" for column, kind in own.items())
        connection.execute(f"CREATE TABLE {name} ({typed})")
    for run in runs:
        insert_run(connection, run, needed)
    return columns


def _said(message: str, columns: Collection[str]) -> str:
    """DuckDB's message on a line, with the nearest of our names for a name in it that is none."""
    own = set(columns) | {column for name in columns for column in (TABLES.get(name) or ())}
    if isinstance(columns, dict):
        own |= {column for one in columns.values() for column in one}
    text = " ".join(message.partition("\nLINE ")[0].split())
    words = [word.strip("\"'`,.;()!").casefold() for word in text.split()]
    near = [
        close[0]
        for word in words
        if any(sign in text for sign in (f'"{word}"', f"name {word} "))
        and word not in own
        and (close := get_close_matches(word, sorted(own), n=1))
    ]
    hint = f" (did you mean {near[0]!r}?)" if near and "Did you mean" not in text else ""
    return f"{text}{hint}; the tables are {', '.join(TABLES)}: without a query,  assay sql RUN  lists their columns"
