"""The content of a ClickHouse database, a hash of it, and its user's rights: from the system tables."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import tzinfo
from hashlib import blake2b
from zoneinfo import ZoneInfo

from assay.engines.ddl import with_ddl
from assay.engines.samples import Executes, rows_of, with_samples
from assay.model import ColumnSchema, DatabaseSchema, TableSchema, quoted

CONTENT_BYTES = 64 * 1024 * 1024
"""Up to this size of all tables together, their rows are read; beyond it, the hashes of their files are used."""

_TABLES = """
SELECT name, engine LIKE '%View' FROM system.tables
WHERE database = currentDatabase() AND NOT is_temporary AND name NOT LIKE '.inner%' ORDER BY name
"""
_COLUMNS = """
SELECT table, name, type FROM system.columns WHERE database = currentDatabase() ORDER BY table, position
"""
_SHAPE = """
SELECT name, engine, create_table_query, ifNull(total_bytes, 0) FROM system.tables
WHERE database = currentDatabase() AND NOT is_temporary ORDER BY name
"""
_PARTS = """
SELECT table, name, hash_of_all_files FROM system.parts
WHERE database = currentDatabase() AND active ORDER BY table, name
"""
_GRANT = re.compile(r"GRANT (?P<rights>.+?) ON (?P<scope>\S+) TO ")
_READS = re.compile(r"(?:SELECT|SHOW\b.*|CHECK|dictGet|displaySecretsInShowAndSelect)$")
_ZONE = re.compile(r"DateTime(?:64)?\((?:\d, )?'([^']+)'\)")
_SHOWN_RIGHTS = 5


def read_schema(engine: Executes, *, with_values: bool) -> DatabaseSchema:
    """The tables and views of the database.

    A primary or sorting key of ClickHouse describes how rows are stored; it is not unique, so no key is returned.
    """
    columns: dict[object, list[ColumnSchema]] = defaultdict(list)
    for table, name, kind in rows_of(engine, _COLUMNS):
        nullable = str(kind).startswith(("Nullable(", "LowCardinality(Nullable(", "Variant(", "Dynamic"))
        columns[table].append(ColumnSchema(name=str(name), type=str(kind), not_null=not nullable))
    tables = [
        TableSchema(
            name=str(name), kind="view" if is_view else "table", ddl="", quote="`", columns=tuple(columns[name])
        )
        for name, is_view in rows_of(engine, _TABLES)
    ]
    if with_values:
        tables = [with_samples(engine, table) for table in tables]
    return DatabaseSchema(dialect="clickhouse", tables=tuple(map(with_ddl, tables)))


def fingerprint(engine: Executes) -> str:
    """A hash of the server's version, the definitions of the tables and views, and their content.

    If all tables take `CONTENT_BYTES` at most, every row is hashed, in any order, and the fingerprint begins with
    ``content``. Beyond that it begins with ``parts`` and covers the server's hashes of its files, which also change
    when it merges them. Raises DatabaseError if the database cannot be read.
    """
    version = str(rows_of(engine, "SELECT version()")[0][0])
    digest = blake2b(_json([version]), digest_size=12)
    shape = rows_of(engine, _SHAPE)
    digest.update(_json([row[:3] for row in shape]))
    whole = sum(int(str(row[3])) for row in shape) <= CONTENT_BYTES
    if whole:
        for name, kind, *_ in shape:
            if not str(kind).endswith("View"):
                # The hash of a row with a NULL would be NULL, so its bytes are hashed.
                rows = f"SELECT count(), sum(cityHash64(formatRow('RowBinary', *))) FROM {quoted(str(name), '`')}"
                digest.update(_json([name, rows_of(engine, rows)]))
    else:
        digest.update(_json(rows_of(engine, _PARTS)))
    return f"{'content' if whole else 'parts'}-{digest.hexdigest()} (ClickHouse {version})"


def warnings(engine: Executes) -> tuple[str, ...]:
    """What the user may do beyond reading, a sentence; empty for one that may only read."""
    rights = beyond_reading(str(row[0]) for row in rows_of(engine, "SHOW GRANTS"))
    if not rights:
        return ()
    user = rows_of(engine, "SELECT currentUser()")[0][0]
    more = f" and {len(rights) - _SHOWN_RIGHTS} more" if len(rights) > _SHOWN_RIGHTS else ""
    can = ", ".join(rights[:_SHOWN_RIGHTS]) + more
    advice = "use a user who may only read: see assay docs clickhouse"
    return (f"the user {user!r} may do more than read ({can}): {advice}",)


def beyond_reading(grants: Iterable[str]) -> list[str]:
    """The rights in the lines of SHOW GRANTS that go beyond reading, sorted."""
    rights: set[str] = set()
    for line in grants:
        if found := _GRANT.match(line):
            rights.update(part.strip() for part in re.sub(r"\([^)]*\)", "", found["rights"]).split(","))
    return sorted(right for right in rights if not _READS.match(right))


def reader_grants(database: str) -> tuple[str, ...]:
    """Statements that create a user who may only read a database."""
    return (
        "CREATE USER assay IDENTIFIED BY '…'",
        f"GRANT SELECT ON {quoted(database, '`')}.* TO assay",
    )


def zones(kinds: Sequence[str]) -> dict[int, tzinfo]:
    """The time zones in the names of types, by the position of the column."""
    return {index: ZoneInfo(found[1]) for index, kind in enumerate(kinds) if (found := _ZONE.search(kind))}


def _json(value: object) -> bytes:
    return json.dumps(value, default=str, ensure_ascii=True).encode()
