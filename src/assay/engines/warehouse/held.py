"""Which texts are sent to a warehouse: one statement that only reads, and whose every part is known to be harmless.

"It parses as SELECT" is not enough: some queries write, incur costs, wait, run a shell command or read a server's
files. `assay.sql.harmless` defines what is known. The rest is refused by its name, and the user may allow that name in
the URL: ``?allow=MY_UDF,ML.PREDICT``.
"""

from __future__ import annotations

import re

from msgspec import Struct

from assay.engines import outcomes
from assay.engines.url_parts import ALLOW, pairs_of
from assay.errors import DatabaseError
from assay.model import DatabaseUrl, Execution
from assay.sql import read_statement
from assay.sql.harmless.reading import Harm, place_of_fault, tables_of_read
from assay.sql.statement import statement_kind

_NAME = re.compile(r"[^\W\d][\w$-]*(?:\.[\w$-]+)*")
"""A function, table or setting, with what stands before its dots."""
_STATEMENTS = (
    "alter begin call commit copy create delete describe drop execute explain from grant insert merge revoke rollback "
    "select set show truncate update use where with"
)
_NOT_ALLOWED = frozenset(_STATEMENTS.split())
"""The first words of statements and clauses. No function is called so."""


class TableName(Struct, frozen=True, kw_only=True):
    """A table as a query names it."""

    parts: tuple[str, ...]
    """Catalogue, schema and name, as far as the query gives them, unquoted."""


def allowed_names(url: DatabaseUrl) -> frozenset[str]:
    """The functions that the user allowed by name in the URL, in lower case. Raises DatabaseError for other texts."""
    allowed = set()
    for listed in (value for name, value in pairs_of(url) if name == ALLOW):
        names = [name.strip().lower() for name in listed.split(",") if name.strip()]
        if not names or not all(_NAME.fullmatch(name) and name not in _NOT_ALLOWED for name in names):
            raise DatabaseError(
                f"{url}: the parameter allow is {listed!r}: write allow= and the names of functions, e.g. my_udf or "
                "ML.PREDICT, with commas between them"
            )
        allowed.update(names)
    return frozenset(allowed)


def read(query: str, dialect: str, *, allowed: frozenset[str]) -> Execution | tuple[TableName, ...]:
    """The tables that a harmless query reads; for any other text, why it is not sent. Never raises."""
    tables = tables_of_read(query, dialect, allowed=allowed)
    if tables is None:
        return _not_one_read(query, dialect)
    if isinstance(tables, Harm):
        return outcomes.failed(query, "refused", "writes" if tables.writes else "refused", f"refused: {tables.reason}")
    return tuple(TableName(parts=parts) for parts in tables)


def unknown_table(query: str, table: TableName) -> Execution:
    """The query names a table that the catalogue does not contain."""
    message = f"the table {'.'.join(table.parts)} does not exist"
    return outcomes.failed(query, "error", "error", message)


def _not_one_read(query: str, dialect: str) -> Execution:
    """Why a text that is not one SELECT, set operation or VALUES is not sent."""
    reading = read_statement(query, dialect)
    does = reading.does
    if does == "prose" and statement_kind(query, dialect) == "write":  # Spark's FROM t INSERT INTO u
        does = "write"
    if does == "prose" and "|>" in query:  # FROM t |> …, with an operator that the parser does not know
        does = "query"
    refused = outcomes.unless_query(query, does, reading.detail)
    if refused is not None:
        return refused
    message = (
        "refused: its effects are unknown, as it cannot be read as one query of the dialect "
        f"{dialect}{place_of_fault(query, dialect)}"
    )
    return outcomes.failed(query, "refused", "refused", message)
