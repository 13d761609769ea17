"""Read the tables and views of a PostgreSQL database from its catalogue, which every role may read."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

from msgspec import Struct, field

from assay.engines.ddl import with_ddl
from assay.engines.postgres.content import NOT_SYSTEM
from assay.engines.samples import Executes, rows_of, text_literal, with_samples
from assay.model import ColumnSchema, DatabaseSchema, ForeignKey, Row, TableSchema, quoted

_SHOWN = f"""
WITH shown AS (
  SELECT c.oid, n.nspname, c.relname, c.relkind, pg_table_is_visible(c.oid) AS visible,
         c.relkind = 'r' AND c.relhassubclass AS inherited
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND {NOT_SYSTEM}
    AND has_schema_privilege(n.oid, 'USAGE')
    AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'))
)
"""
"""The rows of a partition are those of its table, and a role sees what it may read."""
_TABLES = f"""{_SHOWN}
SELECT oid::int8, nspname::text, relname::text, relkind IN ('v', 'm'), visible, inherited FROM shown
ORDER BY visible DESC, nspname, relname
"""
_COLUMNS = f"""{_SHOWN}
SELECT a.attrelid::int8, a.attnum, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.atttypid::int8
FROM pg_attribute a JOIN shown s ON s.oid = a.attrelid
WHERE a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(a.attrelid, a.attnum, 'SELECT') ORDER BY 1, 2
"""
_INDEXES = f"""{_SHOWN}
SELECT i.indrelid::int8, i.indisprimary, i.indkey::text, i.indnkeyatts
FROM pg_index i JOIN shown s ON s.oid = i.indrelid
WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND NOT s.inherited
ORDER BY i.indrelid, i.indisprimary DESC, i.indexrelid
"""
_CONSTRAINTS = f"""{_SHOWN}
SELECT r.conrelid::int8, r.conkey::text, c.relname::text, r.confrelid::int8, r.confkey::text,
       pg_get_expr(r.conbin, r.conrelid, true)
FROM pg_constraint r JOIN shown s ON s.oid = r.conrelid LEFT JOIN pg_class c ON c.oid = r.confrelid
WHERE r.contype IN ('f', 'c') AND r.convalidated AND NOT (s.inherited AND r.connoinherit)
  AND coalesce(to_jsonb(r) ->> 'conperiod', 'false') = 'false' ORDER BY r.conrelid, r.oid
"""
"""Constraints that were never validated, or are not enforced, may not hold for existing rows. A foreign key over a
period (PostgreSQL 18) does not mean that the values are equal."""
_DOMAINS = """
SELECT t.oid::int8, t.typbasetype::int8, format_type(t.typbasetype, t.typtypmod), t.typnotnull,
       pg_get_expr(r.conbin, 0, true)
FROM pg_type t LEFT JOIN pg_constraint r ON r.contypid = t.oid AND r.contype = 'c' AND r.convalidated
WHERE t.typtype = 'd' AND t.typnamespace <> 'information_schema'::regnamespace ORDER BY t.oid, r.oid
"""
_TRIGGERS = f"""{_SHOWN}
SELECT t.tgrelid::int8, pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN shown s ON s.oid = t.tgrelid
WHERE NOT t.tgisinternal AND t.tgenabled <> 'D' AND t.tgtype & 4 <> 0 ORDER BY t.tgrelid, t.tgname
"""
"""Those on INSERT."""
_LABELS = "SELECT enumtypid::int8, enumlabel::text FROM pg_enum ORDER BY enumtypid, enumsortorder"
_DOMAINS_DEEP = 10
_VALUE = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\bVALUE\b")


class _Domain(Struct):
    """A type based on another one, with its own conditions."""

    base: int
    type: str
    not_null: bool
    checks: list[str] = field(default_factory=list)


def read_schema(engine: Executes, *, with_values: bool) -> DatabaseSchema:
    """Tables and views, those first that need no schema's name. Raises DatabaseError if they cannot be listed."""
    columns, indexes, constraints = (_by_table(engine, query) for query in (_COLUMNS, _INDEXES, _CONSTRAINTS))
    triggers = _by_table(engine, _TRIGGERS)
    types = _Types(engine)
    tables = []
    for oid, namespace, name, is_view, visible, _ in rows_of(engine, _TABLES):
        numbered = {row[0]: str(row[1]) for row in columns[oid]}
        tables.append(
            TableSchema(
                name=str(name),
                namespace=None if visible else str(namespace),
                kind="view" if is_view else "table",
                ddl="",
                columns=tuple(types.column(row) for row in columns[oid]),
                checks=(
                    *(str(row[-1]) for row in constraints[oid] if row[-1] is not None),
                    *(check for row in columns[oid] for check in types.checks(row)),
                ),
                primary_key=next(iter(_keys(indexes[oid], numbered, primary=True)), ()),
                unique=tuple(_keys(indexes[oid], numbered, primary=False)),
                foreign_keys=_foreign_keys(constraints[oid], numbered, columns),
                triggers=tuple(str(row[1]) for row in triggers[oid]),
            )
        )
    if with_values:
        tables = [with_samples(engine, table, by_key=True) for table in tables]
    return DatabaseSchema(dialect="postgres", tables=tuple(map(with_ddl, tables)))


class _Types:
    """User-defined types: domains, which are replaced by their base types, and enumerations."""

    def __init__(self, engine: Executes) -> None:
        self._domains: dict[object, _Domain] = {}
        for oid, base, shown, not_null, check in rows_of(engine, _DOMAINS):
            made = _Domain(base=int(str(base)), type=str(shown), not_null=bool(not_null))
            domain = self._domains.setdefault(oid, made)
            if check is not None:
                domain.checks.append(str(check))
        self._labels: dict[object, list[str]] = defaultdict(list)
        for oid, label in rows_of(engine, _LABELS):
            self._labels[oid].append(str(label))

    def column(self, row: Row) -> ColumnSchema:
        """A column by its row of `_COLUMNS`, without the table."""
        _, name, shown, not_null, oid = row
        chain = self._chain(oid)
        return ColumnSchema(
            name=str(name),
            type=chain[-1].type if chain else str(shown),
            not_null=bool(not_null) or any(domain.not_null for domain in chain),
        )

    def checks(self, row: Row) -> list[str]:
        """The conditions that the type alone imposes on a column's values."""
        name, oid = quoted(str(row[1])), row[4]
        chain = self._chain(oid)
        found = [
            _VALUE.sub(lambda match: name if match[0] == "VALUE" else match[0], check)
            for domain in chain
            for check in domain.checks
        ]
        labels = self._labels.get(chain[-1].base if chain else oid)
        return found if labels is None else [*found, f"{name} IN ({', '.join(map(text_literal, labels))})"]

    def _chain(self, oid: object) -> list[_Domain]:
        chain: list[_Domain] = []
        while (domain := self._domains.get(oid)) is not None and len(chain) < _DOMAINS_DEEP:
            chain.append(domain)
            oid = domain.base
        return chain


def _by_table(engine: Executes, query: str) -> dict[object, list[Row]]:
    found: dict[object, list[Row]] = defaultdict(list)
    for row in rows_of(engine, query):
        found[row[0]].append(row[1:])
    return found


def _keys(rows: list[Row], names: Mapping[object, str], *, primary: bool) -> list[tuple[str, ...]]:
    found = [_named(numbers, names, int(str(count))) for is_primary, numbers, count in rows if is_primary is primary]
    return [key for key in dict.fromkeys(found) if key]


def _named(numbers: object, names: Mapping[object, str], count: int | None = None) -> tuple[str, ...]:
    """The columns of a list, for example ``{1,3}`` or ``1 3``; empty if the role may not read one of them."""
    found = [names.get(int(number)) for number in re.findall(r"\d+", str(numbers))][:count]
    return tuple(name for name in found if name is not None) if None not in found else ()


def _foreign_keys(
    rows: list[Row], names: Mapping[object, str], columns: Mapping[object, list[Row]]
) -> tuple[ForeignKey, ...]:
    found = []
    for numbers, table, oid, referenced, _ in rows:
        if table is None:
            continue
        own = _named(numbers, names)
        others = _named(referenced, {row[0]: str(row[1]) for row in columns.get(oid, ())})
        if own and others:
            found.append(ForeignKey(columns=own, table=str(table), referenced=others))
    return tuple(found)
