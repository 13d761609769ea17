"""The emulated AI SDK's answers by question, and the tables that its VQL reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from threading import Condition
from typing import Any

from msgspec import Struct, field

from assay.errors import AssayError, CaseFileError, InputError
from assay.testing.faults import Fault

_TIMES = {
    "sql_execution_time": 0.05,
    "vector_store_search_time": 0.2,
    "llm_time": 1.25,
    "total_execution_time": 1.5,
}


class Answers(Struct, frozen=True, kw_only=True):
    """Response fields by question, and faults by question."""

    by_question: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()

    @classmethod
    def read(cls, source: Mapping[str, Mapping[str, Any] | str] | Path | None) -> Answers:
        """From a mapping, or from a file of JSON lines. Raises CaseFileError."""
        if isinstance(source, Path):
            return _from_file(source)
        found = {
            question: {"sql_query": given} if isinstance(given, str) else dict(given)
            for question, given in (source or {}).items()
        }
        return cls(by_question=found)

    def response(self, question: str) -> dict[str, Any]:
        """The whole response to a question, with every documented field filled."""
        given = self.by_question.get(question)
        if given is None:
            given = {"answer": "I could not find any data that answers this question.", "sql_query": ""}
        return {
            "answer": "",
            "sql_query": "",
            "query_explanation": "",
            "tokens": {"input_tokens": 1200, "output_tokens": 80, "total_tokens": 1280},
            "execution_result": {},
            "related_questions": [],
            "tables_used": "",
            "raw_graph": "",
            **_TIMES,
            **given,
        }


def _from_file(path: Path) -> Answers:
    found: dict[str, Mapping[str, Any]] = {}
    faults: list[Fault] = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CaseFileError(f"cannot be read: {error}", path=str(path)) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            question = record["question"]
            found[question] = record.get("response", {})
            if "fault" in record:
                faults.append(Fault(question=question, **record["fault"]))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CaseFileError(
                f'is not an answer ({error}): write {{"question": …, "response": {{…}}}}',
                path=str(path),
                place=f"line {number}",
            ) from error
    return Answers(by_question=found, faults=tuple(faults))


_SCHEMA = "schema.sql"
_CLOSE_S = 5.0


class VqlError(AssayError):
    """A query that the database refuses. The first line of its text is the reason."""


class Tables:
    """Tables named as their CSV files, in one in-memory database; read-only once loaded.

    Types come from ``schema.sql`` in the same folder where there is one, else from the content.
    Each table is also found under the folder's name as its database: ``bank.account``.
    """

    def __init__(self, folder: Path | None) -> None:
        import duckdb

        self._duckdb = duckdb
        self._changed = Condition()
        self._running: set[Any] = set()
        self._closed = False
        self._connection = duckdb.connect(":memory:", config={"threads": 2, "memory_limit": "1GB"})
        if folder is not None:
            self._load(folder)
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")

    def _load(self, folder: Path) -> None:
        files = sorted(folder.glob("*.csv"))
        if not files:
            raise InputError(f"{folder}: contains no CSV file: name a folder with one file per table")
        database = _quoted(folder.name)
        try:
            schema = folder / _SCHEMA
            if schema.is_file():
                self._connection.execute(schema.read_text(encoding="utf-8"))
            self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {database}")
            for file in files:
                table, source = f"main.{_quoted(file.stem)}", f"read_csv({_text(str(file))}, header = true)"
                if schema.is_file():
                    self._connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM {source}")
                else:
                    self._connection.execute(f"CREATE TABLE {table} AS SELECT * FROM {source}")
                # A view, because a search path holds for one cursor only.
                if folder.name != "main":
                    self._connection.execute(f"CREATE VIEW {database}.{_quoted(file.stem)} AS SELECT * FROM {table}")
        except self._duckdb.Error as error:
            raise InputError(f"{folder}: cannot be loaded: {error}") from error

    def run(self, vql: str, limit: int) -> tuple[list[str], list[Sequence[Any]]]:
        """Column names and at most ``limit`` rows, as JSON can represent them. Raises VqlError."""
        with self._changed:
            if self._closed:
                raise VqlError("Error executing VQL: the server is shutting down")
            cursor = self._connection.cursor()
            self._running.add(cursor)
        try:
            statements = cursor.extract_statements(vql)
            if len(statements) != 1 or statements[0].type != self._duckdb.StatementType.SELECT:
                raise VqlError("Error executing VQL: only one SELECT statement can be executed")
            cursor.execute(statements[0])
            columns = [column[0] for column in cursor.description or ()]
            return columns, [[_plain(cell) for cell in row] for row in cursor.fetchmany(limit)]
        except self._duckdb.Error as error:
            raise VqlError(f"Error executing VQL: {error}") from error
        finally:
            cursor.close()
            with self._changed:
                self._running.discard(cursor)
                self._changed.notify_all()

    def close(self) -> None:
        """Interrupt running queries and release the database. Closing twice is harmless."""
        with self._changed:
            self._closed = True
            for cursor in self._running:
                cursor.interrupt()
            self._changed.wait_for(lambda: not self._running, timeout=_CLOSE_S)
        self._connection.close()


def _plain(cell: Any) -> Any:
    """A cell as the API sends it: dates and times as text, numbers as numbers, whatever their type."""
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    if isinstance(cell, date | time):
        return cell.isoformat()
    if cell is None or isinstance(cell, bool | int | float | str | Decimal):
        return cell
    return str(cell)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
