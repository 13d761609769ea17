"""Which texts are sent to a warehouse: one statement that only reads, as its parsed form shows.

"It parses as SELECT" is not enough: there are queries that write, bill, wait, run a shell command or read a server's
files. So known functions are allowed rather than bad ones forbidden. A function or kind of node that is not known is
refused by its name, and the user may allow that name in the URL: ``?allow=MY_UDF,ML.PREDICT``.
"""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from assay.engines import outcomes
from assay.model import DatabaseUrl, Execution
from assay.sql import read_statement


class TableName(Struct, frozen=True, kw_only=True):
    """A table as a query names it."""

    parts: tuple[str, ...]
    """Catalogue, schema and name, as far as the query gives them, unquoted."""


def allowed_names(url: DatabaseUrl) -> frozenset[str]:
    """The functions that the user allowed by name in the URL, in lower case."""
    given = parse_qs(urlsplit(url.reveal()).query).get("allow", [])
    return frozenset(name.strip().lower() for listed in given for name in listed.split(",") if name.strip())


def read(query: str, dialect: str, *, allowed: frozenset[str]) -> Execution | tuple[TableName, ...]:  # noqa: ARG001
    """The tables that a harmless query reads; for any other text why it is not sent. Never raises."""
    reading = read_statement(query, dialect)
    return outcomes.unless_query(query, reading.does, reading.detail) or ()


def unknown_table(query: str, table: TableName) -> Execution:
    """The query names a table that the catalogue does not hold."""
    message = f"there is no table {'.'.join(table.parts)}"
    return outcomes.failed(query, "error", "error", message)
