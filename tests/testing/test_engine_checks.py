"""Each check of an engine finds the fault that it is for: here in engines that are SQLite's with one fault each."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from assay.engines import outcomes
from assay.engines.sqlite import SqliteEngine
from assay.model import DatabaseUrl, Execution, Limits, Result
from assay.testing.conformance import CHECKS, Adapter, conform, prepare
from many_cases import each

CHECK = {check.name: check for check in CHECKS}


def with_rows(execution: Execution, change: Any) -> Execution:
    """The execution with other rows."""
    if execution.result is None:
        return execution
    rows = tuple(change(list(execution.result.rows)))
    return replace(execution, result=Result(columns=execution.result.columns, rows=rows), row_count=len(rows))


class Faulty:
    """SQLite's engine; a subclass changes what is asked, or what is answered."""

    name = "sqlite"
    dialect = "sqlite"
    has_boolean_type = False
    engine = SqliteEngine

    def __init__(self, inner: Any, limits: Limits) -> None:
        self.inner = inner
        self.limits = limits

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> Any:
        return cls(cls.engine.open(url, limits), limits)

    @classmethod
    def check(cls, url: DatabaseUrl) -> None:
        cls.engine.check(url)

    @classmethod
    def version(cls) -> str:
        return cls.engine.version()

    @classmethod
    def fingerprint(cls, url: DatabaseUrl) -> str:
        return cls.engine.fingerprint(url)

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        return ()

    def execute(self, query: str) -> Execution:
        return self.inner.execute(query)

    def close(self) -> None:
        self.inner.close()


def but(**changed: Any) -> Any:
    """The engine with other attributes and methods."""
    return type("Other", (Faulty,), changed)


def answering(change: Callable[[Execution], Execution]) -> Any:
    """The engine, with each execution changed so."""
    return but(execute=lambda self, query: change(Faulty.execute(self, query)))


def asking(change: Callable[[str], str]) -> Any:
    """The engine, with each query changed so."""
    return but(execute=lambda self, query: Faulty.execute(self, change(query)))


def with_cells(change: Any, kind: type = object) -> Any:
    def changed(rows: Any) -> Any:
        return [tuple(change(cell) if isinstance(cell, kind) else cell for cell in row) for row in rows]

    return answering(lambda execution: with_rows(execution, changed))


def names_once(found: Execution) -> Execution:
    return found if found.result is None else replace(found, columns=tuple(dict.fromkeys(found.columns or ())))


def calls_nothing_an_error(found: Execution) -> Execution:
    is_error = found.failure is not None and found.failure.kind == "no_query"
    return outcomes.failed(found.query, "error", "error", "syntax error") if is_error else found


def says_many_lines(found: Execution) -> Execution:
    if found.failure is None:
        return found
    return replace(found, failure=replace(found.failure, message=f"{found.failure.message}\nat line 1"))


def cuts_in_silence(found: Execution) -> Execution:
    return replace(found, status="rows", failure=None) if found.status == "truncated" else found


class Writes(Faulty):
    """Executes whatever comes, on a connection that may write."""

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> Any:
        return cls(sqlite3.connect(url.path, isolation_level=None), limits)

    def execute(self, query: str) -> Execution:
        try:
            cursor = self.inner.execute(query)
            names = tuple(column[0] for column in cursor.description or ())
            return outcomes.fetched(query, names, cursor.fetchall(), wall_time_s=0.0, cap=None, limits=self.limits)
        except sqlite3.Error as error:
            return outcomes.failed(query, "error", "error", str(error))


def encodes(self: Faulty, query: str) -> Execution:
    if "\x00" in query:
        raise ValueError("a text with NUL")
    return Faulty.execute(self, query)


def is_interrupted(found: Execution) -> Execution:
    return outcomes.failed(found.query, "error", "error", "interrupted") if "SUM(" in found.query else found


def tells(url: DatabaseUrl) -> None:
    Faulty.check(DatabaseUrl(text=url.text.replace("absent", "absent-pa55")))


class OneConnection(Faulty):
    shared: ClassVar[dict[str, Any]] = {}

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> Any:
        if url.text not in cls.shared:
            cls.shared[url.text] = SqliteEngine.open(url, limits)
        return cls(cls.shared[url.text], limits)

    def close(self) -> None:
        self.shared.clear()
        self.inner.close()


def forgets_a_table(self: Faulty, *, with_values: bool = True) -> Any:
    found = self.inner.schema(with_values=with_values)
    return replace(found, tables=tuple(table for table in found.tables if table.name != "digit"))


def adapter(folder: Path, engine: Any) -> Adapter:
    path = folder / "kinds.sqlite"

    def write(statement: str) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(statement)
            connection.commit()

    made = Adapter(
        engine=engine,
        url=DatabaseUrl.parse(f"sqlite:///{path}"),
        absent=DatabaseUrl.parse(f"sqlite:///{folder}/absent.sqlite"),
        write=write,
        secrets=("pa55",),
    )
    prepare(made)
    return made


FAULTS = [
    (with_cells(float, int), "integers_are_exact", "found [4.611686018427388e+18,"),
    (with_cells(lambda cell: cell or None), "texts_are_exact", "found"),
    (Faulty, "decimals_are_exact", "found [12345678901.2345,"),
    (with_cells(str, float), "reals_are_floats", "found ['0.1',"),
    (but(has_boolean_type=True), "truth_is_as_declared", "the types of truths: found"),
    (Faulty, "dates_are_dates", "found ['2024-02-29',"),
    (Faulty, "timestamps_are_datetimes", "found ['2024-02-29 12:34:56',"),
    (with_cells(bytes.hex, bytes), "binaries_are_bytes", "found ['00ff27',"),
    (asking(lambda query: query.replace("%s", "NULL")), "signs_in_literals_stay", "'NULL'"),
    (answering(names_once), "columns_keep_their_names", "two columns of one name: found (('a',)"),
    (answering(lambda done: with_rows(done, sorted)), "rows_keep_their_order", "came otherwise: ((0,), (1,)"),
    (asking("SELECT * FROM ({})".format), "comments_and_a_last_semicolon_are_harmless", "/* one */"),
    (
        answering(calls_nothing_an_error),
        "no_statement_is_no_query",
        "('error', 'error') in place of ('error', 'no_query')",
    ),
    (asking(lambda query: query.split(";")[0]), "several_statements_are_refused", "SELECT 1 ran"),
    (Writes, "writes_change_nothing", "INSERT INTO digit VALUES (10) ran"),
    (Writes, "sessions_cannot_be_steered", "BEGIN ran"),
    (answering(says_many_lines), "errors_are_said_in_one_line", "has several lines"),
    (answering(is_interrupted), "what_takes_too_long_is_ended", "interrupted"),
    (answering(cuts_in_silence), "rows_are_capped", "found ('rows', 1000) in place of ('truncated', 1000)"),
    (answering(cuts_in_silence), "bytes_are_capped", "found 'rows' in place of 'truncated'"),
    (but(fingerprint=staticmethod(lambda url: "1")), "content_has_a_fingerprint", "its fingerprint has not"),
    (but(check=staticmethod(lambda url: None)), "what_is_absent_is_said", "absent.sqlite for a database"),
    (but(check=staticmethod(tells)), "what_is_absent_is_said", "shows a secret"),
    (but(execute=encodes), "monstrous_texts_are_survived", "raised ValueError: a text with NUL"),
    (but(schema=forgets_a_table), "tables_are_described", "'digit': None"),
    (
        but(schema=lambda self, *, with_values=True: self.inner.schema()),
        *("tables_are_described", "has values of ['id', 'a_integer', 'a_text']"),
    ),
    (OneConnection, "engines_are_told_apart", "Cannot operate on a closed database"),
]


@each(("engine", "check", "said"), FAULTS)
def test_a_wrong_engine_is_found(tmp_path: Path, engine: Any, check: str, said: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(said)):
        conform(adapter(tmp_path, engine), CHECK[check])


def test_every_check_finds_a_fault() -> None:
    elsewhere = {name for name in CHECK if name.startswith("no_query_")}  # test_outside
    assert {check for _, check, _ in FAULTS} | elsewhere == set(CHECK)
