"""Databricks' SQL warehouses by their own connector: ``databricks://token:…@host/catalog/schema?http_path=…``.

Not tested against a real server. The parts shared with Spark (values, text, rights, the reading of a query) are tested
there; the rest follows the connector's documentation.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, ClassVar

from assay.engines.ddl import with_ddl
from assay.engines.samples import rows_of, with_samples
from assay.engines.spark import values
from assay.engines.spark.text import wrapped
from assay.engines.spark.unity import reader_grants
from assay.engines.spark.url import DATABRICKS_FORM, databricks_address
from assay.engines.warehouse.base import Answer, Problem, Warehouse
from assay.model import Cell, ColumnSchema, DatabaseSchema, DatabaseUrl, Limits, Row, TableSchema
from assay.model.results.cells import document_of
from assay.sql.statement import without_last_semicolon

UNTESTED = "not tested with a Databricks account: only the parts shared with Spark are tested"
_COLUMNS = """
SELECT c.table_name, t.table_type, c.column_name, c.full_data_type, c.is_nullable
FROM information_schema.columns c JOIN information_schema.tables t
ON t.table_schema = c.table_schema AND t.table_name = c.table_name
WHERE c.table_schema = current_schema() ORDER BY c.table_name, c.ordinal_position
"""


class DatabricksEngine(Warehouse):
    """One schema of a Databricks SQL warehouse. Untested."""

    name: ClassVar[str] = "databricks"
    dialect: ClassVar[str] = "databricks"
    form: ClassVar[str] = DATABRICKS_FORM
    extra: ClassVar[str] = "databricks"
    module: ClassVar[str] = "databricks.sql"
    package: ClassVar[str] = "databricks-sql-connector"

    __slots__ = ("_arguments", "_cursor")

    def __init__(self, url: DatabaseUrl, limits: Limits) -> None:
        super().__init__(url, limits)
        self._arguments = databricks_address(url).databricks_arguments
        self._cursor: Any = None

    @classmethod
    def version(cls) -> str:
        """The connector's version."""
        cls.require()
        from importlib.metadata import version

        return f"databricks-sql-connector {version('databricks-sql-connector')}"

    @classmethod
    def warnings(cls, url: DatabaseUrl) -> tuple[str, ...]:  # noqa: ARG003
        """Warns that the engine is untested."""
        return (UNTESTED,)

    @classmethod
    def reader_grants(cls, url: DatabaseUrl) -> tuple[str, ...]:
        """The statements that create a reader of the URL's schema."""
        return reader_grants(databricks_address(url))

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """The tables and views of the URL's schema. Raises DatabaseError if they cannot be listed."""
        columns: dict[tuple[str, bool], list[ColumnSchema]] = defaultdict(list)
        for table, kind, name, data_type, nullable in rows_of(self, _COLUMNS):
            columns[str(table), "VIEW" in str(kind)].append(
                ColumnSchema(name=str(name), type=str(data_type).upper(), not_null=nullable == "NO")
            )
        tables = [
            with_ddl(
                TableSchema(name=name, quote="`", kind="view" if is_view else "table", ddl="", columns=tuple(listed))
            )
            for (name, is_view), listed in columns.items()
        ]
        if with_values:
            tables = [with_samples(self, table) for table in tables]
        return DatabaseSchema(dialect=self.dialect, tables=tuple(tables))

    def _connect(self) -> Any:
        from databricks import sql

        logging.getLogger("databricks.sql").setLevel(logging.CRITICAL)  # its errors contain what it logs
        return sql.connect(
            **self._arguments,
            session_configuration={
                "STATEMENT_TIMEOUT": str(max(1, math.ceil(self._limits.timeout_s))),
                "TIMEZONE": "UTC",
            },
            query_tags={"client": "assay"},
            user_agent_entry="assay",
            enable_telemetry=False,
            _retry_stop_after_attempts_count=3,
        )

    def _submit(self, query: str) -> Answer:
        text = without_last_semicolon(query, self.dialect)
        cursor = self._cursor = self._connection.cursor()
        cursor.execute(f"EXPLAIN {wrapped(text)}")  # it parses only if the text is a query, and runs nothing
        cursor.execute(text)
        documents = [index for index, column in enumerate(cursor.description) if column[1] == "variant"]

        def fetch(wanted: int) -> list[Row]:
            rows = values.rows_of(cursor.fetchmany_arrow(wanted))
            return [_decoded(row, documents) for row in rows] if documents else rows

        return Answer(columns=tuple(column[0] for column in cursor.description), fetch=fetch)

    def _cancel(self) -> None:
        if self._cursor is not None:
            self._cursor.cancel()

    def _explain(self, error: BaseException) -> Problem | None:
        message = " ".join(str(error).partition("\n== SQL")[0].split())
        lowered = message.lower()
        if "invalid access token" in lowered or "401" in lowered or "unauthorized" in lowered:
            return Problem(kind="unreadable_database", message=f"the token is invalid or has expired ({message})")
        if type(error).__name__ in ("RequestError", "MaxRetryDurationError", "SessionAlreadyClosedError"):
            return Problem(kind="unreadable_database", message=message, lost=True)
        if "timed out" in lowered or "STATEMENT_TIMEOUT" in message:
            return Problem(kind="timeout", message=message)
        return Problem(kind="error", message=message[:600]) if message else None

    def _secrets(self) -> Sequence[str]:
        return (*super()._secrets(), *filter(None, (self._arguments.get("access_token"),)))


def _decoded(row: Row, documents: list[int]) -> Row:
    """The row with its VARIANT texts as values, fractions exact."""
    cells: list[Cell] = list(row)
    for index in documents:
        if isinstance(text := cells[index], str):
            cells[index] = document_of(text)
    return tuple(cells)
