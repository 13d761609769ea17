"""Read the tables and views of a dataset over the tables API, which is free, unlike INFORMATION_SCHEMA.

Keys are not read: BigQuery does not enforce them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from assay.engines.bigquery.login import Address
from assay.engines.bigquery.values import reader_of
from assay.engines.ddl import with_ddl
from assay.engines.samples import ROWS_LOOKED_AT, sampled
from assay.errors import DatabaseError
from assay.model import ColumnSchema, DatabaseSchema, TableSchema

_MOST_TABLES = 2_000
_REQUEST_S = 30.0
_NAMES = {"INTEGER": "INT64", "FLOAT": "FLOAT64", "BOOLEAN": "BOOL", "RECORD": "STRUCT"}


def read_schema(client: Any, address: Address, *, with_values: bool) -> DatabaseSchema:
    """Tables and views by name, with a few values of each table. Raises DatabaseError without a dataset."""
    from google.api_core.exceptions import GoogleAPICallError
    from google.cloud.bigquery import DEFAULT_RETRY

    dataset = address.dataset
    if dataset is None:
        raise DatabaseError("the URL names no dataset whose tables could be listed: write bigquery://PROJECT/DATASET")
    options = {"retry": DEFAULT_RETRY.with_timeout(_REQUEST_S), "timeout": _REQUEST_S}
    listed = list(client.list_tables(dataset, max_results=_MOST_TABLES, **options))

    def read(item: Any) -> TableSchema | None:
        try:
            return _table(client, client.get_table(item.reference, **options), options, with_values=with_values)
        except GoogleAPICallError:  # it was dropped a moment ago, or the account may not read it
            return None

    with ThreadPoolExecutor(address.requests_at_once) as threads:
        tables = [table for table in threads.map(read, sorted(listed, key=lambda item: item.table_id)) if table]
    return DatabaseSchema(dialect="bigquery", tables=tuple(map(with_ddl, tables)))


def _table(client: Any, table: Any, options: dict[str, Any], *, with_values: bool) -> TableSchema:
    from google.api_core.exceptions import GoogleAPICallError

    is_view = table.table_type in ("VIEW", "MATERIALIZED_VIEW")
    schema = TableSchema(
        name=table.table_id,
        quote="`",
        kind="view" if is_view else "table",
        ddl="",
        columns=tuple(
            ColumnSchema(name=field.name, type=type_of(field), not_null=field.mode == "REQUIRED")
            for field in table.schema
        ),
    )
    if not with_values or is_view or not schema.columns:
        return schema
    try:  # by tabledata.list: a query for the first rows would bill the whole table
        rows = client.list_rows(table, max_results=ROWS_LOOKED_AT, **options)
        rows.item_to_value = lambda _, item: item
        readers = [reader_of(field) for field in rows.schema]
        cells = [
            tuple([read(cell["v"]) for read, cell in zip(readers, item["f"], strict=True)])
            for page in rows.pages
            for item in page
        ]
    except (GoogleAPICallError, ValueError, TypeError, LookupError):
        # An external table has no rows to list, and an emulator may list them in another format.
        return schema
    return sampled(schema, cells)


def type_of(field: Any) -> str:
    """A column's type as SQL writes it, with the fields of a STRUCT."""
    kind = field.field_type.upper()
    kind = _NAMES.get(kind, kind)
    if kind == "STRUCT":
        kind = f"STRUCT<{', '.join(_field(nested) for nested in field.fields)}>"
    elif kind == "RANGE":
        kind = f"RANGE<{field.range_element_type.element_type}>"
    elif field.precision is not None:
        kind += f"({field.precision}{'' if field.scale is None else f', {field.scale}'})"
    elif field.max_length is not None:
        kind += f"({field.max_length})"
    return f"ARRAY<{kind}>" if field.mode == "REPEATED" else kind


def _field(field: Any) -> str:
    return f"{field.name} {type_of(field)}".strip()
