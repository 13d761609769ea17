"""SQL over the tables of runs, in a DuckDB in memory that reaches nothing outside of itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from assay.engines.watchdog import Watchdog
from assay.errors import InputError, UsageError
from assay.model import HistoryPoint, Limits, quoted
from assay.platform.duckdb_progress import without_progress_bar
from assay.runs.history import read_point, scan_runs
from assay.runs.store.folder import RUN_FILE
from assay.runs.store.run_tables import CASES, TABLES, NamedRun, columns_with_metrics, insert_run

if TYPE_CHECKING:
    import duckdb

_Got = TypeVar("_Got")

_ALLOWED = ("SELECT", "EXPLAIN", "MULTI")
"""Of DuckDB's kinds of statement: DESCRIBE, SHOW and SUMMARIZE are SELECT to it, PIVOT is MULTI."""


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

    Of ``limits`` the time and the memory hold: the time of DuckDB alone, not of whoever reads the rows, and the memory
    beside that of the tables.

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
                    "(--timeout)"
                ) from error
            raise KeyboardInterrupt from error
        except duckdb.OutOfMemoryException as error:
            raise InputError(
                f"the query needs more memory than the limit of {limits.max_memory_bytes // 2**20:,} MiB: look at "
                "fewer rows, or give it more (--max-memory)"
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
        """The rows of a result, of which no more are read once the time is over."""
        while rows := self.timed(lambda: result.fetchmany(1000)):
            yield from rows


def _checked(connection: duckdb.DuckDBPyConnection, sql: str) -> Collection[str]:
    """The tables that the statement names. Raises UsageError unless it is one statement that reads."""
    import duckdb

    try:
        found = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise InputError(_said(str(error), TABLES)) from error
    if len(found) != 1:
        raise UsageError(f"there are {len(found) or 'no'} statements: write one, such as  SELECT count(*) FROM cases")
    if found[0].type.name not in _ALLOWED:
        raise UsageError(f"this is a {found[0].type.name} statement, and runs are only read: write SELECT")
    try:
        named = {name.casefold().rpartition(".")[2] for name in connection.get_table_names(sql)}
    except duckdb.Error:  # it says so for what is no plain SELECT, such as SHOW TABLES
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
