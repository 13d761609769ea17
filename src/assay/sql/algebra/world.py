"""What is known of the tables while two queries are read and compared: columns, kinds of values, keys, references."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from assay.model import DatabaseSchema, TableSchema
from assay.sql.algebra.model import (
    COMPARED,
    NULL,
    Agg,
    Block,
    Call,
    Col,
    Combined,
    Const,
    FullJoin,
    Query,
    Rows,
    Source,
    Sub,
    Term,
)
from assay.sql.algebra.parts import choices
from assay.sql.dialects import DECLARED_KEYS
from assay.sql.schema import type_family
from assay.sql.schema.create_table import table_clauses

NUMBERS = frozenset({"integer", "real", "numeric"})
_EXACT = re.compile(r"(integer|text|bool(ean)?|date|time|datetime|timestamp|uuid|blob|bytea)\b|(decimal|numeric)\(")
"""Kinds whose equal values are identical: not texts that a collation folds, or 1.0 and 1.00."""
_TEXT_FUNCTIONS = frozenset(["lower", "upper", "substring", "trim", "replace", "concat2", "timetostr", "fn:strftime"])
_NUMBER_FUNCTIONS = frozenset({"sum", "avg", "count"}).union(
    ["add", "sub", "mul", "div", "mod", "neg", "abs", "round", "length", "sign", "floor", "ceil", "fn:julianday"]
)
_FOLDING = frozenset({"mysql", "mariadb", "tsql", "singlestore", "doris", "starrocks", "tidb"})


class TableFacts(Struct, frozen=True, kw_only=True):
    """A stored table, names in lower case."""

    name: str
    kinds: dict[str, str]
    """The kind of a column's values: ``integer``, ``real``, ``numeric``, ``text``, ``folded``, or another type's name.
    """
    not_null: frozenset[str]
    keys: tuple[tuple[str, ...], ...]
    """Sets of columns that are unique, unless one of them is NULL."""
    references: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...]
    """Foreign keys: own columns, the other table, its columns."""
    checks: tuple[str, ...] = ()
    """CHECK constraints, if the engine enforces them."""


def table_facts(table: TableSchema, dialect: str) -> TableFacts:
    """The facts of a table. Primary keys are assumed not to be NULL, as in the standard, in SQLite too."""
    clauses = table_clauses(table.ddl, dialect).columns
    collated = {name for name, found in clauses.items() if found.collation}
    kinds = {one.name.lower(): _kind(one.type, dialect, folded=one.name.lower() in collated) for one in table.columns}
    enforced = dialect not in DECLARED_KEYS
    keys = [_lowered(key) for key in (table.primary_key, *table.unique) if key and enforced]
    declared = {one.name.lower() for one in table.columns if one.not_null}
    return TableFacts(
        name=table.name.lower(),
        kinds=kinds,
        not_null=frozenset(declared.union(_lowered(table.primary_key) if enforced else ())),
        checks=() if dialect in ("mysql", "mariadb") or not enforced else table.checks,
        keys=tuple(dict.fromkeys(keys)),
        references=tuple(
            (_lowered(one.columns), one.table.lower(), _lowered(one.referenced))
            for one in (table.foreign_keys if enforced else ())
        ),
    )


def _lowered(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.lower() for name in names)


def _kind(declared: str, dialect: str, *, folded: bool) -> str:
    """The kind of values that a column of this type holds; in SQLite by its rules of affinity."""
    lowered = declared.lower()
    if folded:
        return "folded"
    if dialect == "sqlite":
        if "int" in lowered:  # FLOATING POINT too, but such columns rarely hold whole numbers
            return "integer" if type_family(declared) == "integer" else "numeric"
        if any(word in lowered for word in ("char", "clob", "text")):
            return "text"
        if not lowered or "blob" in lowered:
            return "any"
        return "real" if any(word in lowered for word in ("real", "floa", "doub")) else "numeric"
    if re.match(r"(tiny|small|medium|big|huge)?int(eger)?\d*\b|u?int\d+\b|(big|small)?serial\b", lowered):
        return "integer"
    if re.match(r"(var)?char|character|text|string|clob", lowered):
        padded = re.match(r"(char|character)\b(?! varying)", lowered) and dialect != "duckdb"
        return "folded" if padded or dialect in _FOLDING else "text"
    if re.match(r"real|float|double", lowered):
        return "real"
    return lowered or "any"


class SchemaContext(Struct):
    """The tables, and every source that was read, by its number."""

    schema: DatabaseSchema
    dialect: str
    tables: dict[str, TableFacts] = field(default_factory=dict)
    views: dict[str, TableSchema] = field(default_factory=dict)
    """By their names in lower case; they are read as defined."""
    sources: dict[int, Source] = field(default_factory=dict)
    checks: dict[int, tuple[Term, ...]] = field(default_factory=dict)
    """What a stored table's CHECK constraints say of a source's row: none of them is false."""
    open_choice: bool = False
    """Whether it is ambiguous which rows a query takes."""
    used: set[str] = field(default_factory=set)
    """The rules that changed something, described by the first line of their docstrings."""

    def __post_init__(self) -> None:
        for table in self.schema.tables:
            if table.kind == "view":
                self.views.setdefault(table.name.lower(), table)
                continue
            self.tables.setdefault(table.name.lower(), table_facts(table, self.dialect))

    def source(self, *, table: str = "", query: Query | None = None) -> Source:
        """A new source with a number of its own."""
        made = Source(len(self.sources) + 1, table, query)
        self.sources[made.id] = made
        return made

    def facts(self, source: Source) -> TableFacts | None:
        """The stored table that a source names."""
        return self.tables.get(source.table) if source.table else None

    def references(self, table: TableFacts) -> Iterator[tuple[TableFacts, list[tuple[str, str]]]]:
        """A table's foreign keys: the other table, and the pairs of own columns and columns of that."""
        for own, name, referenced in table.references:
            other = self.tables.get(name)
            columns = referenced or (other.keys[0] if other is not None and other.keys else ())
            if other is not None and len(columns) == len(own) and set(columns) <= other.kinds.keys():
                yield other, list(zip(own, columns, strict=True))

    def columns(self, source: Source) -> list[str]:
        """The names of a source's columns, as in `Col`."""
        known = self.facts(source)
        if known is not None:
            return list(known.kinds)
        return [str(place) for place in range(self.width(source.query))] if source.query is not None else []

    def cols(self, source: Source) -> list[Term]:
        """A source's columns."""
        return [Col(source.id, name) for name in self.columns(source)]

    def both(self, full: FullJoin) -> list[Term]:
        """The columns of the left side of a FULL JOIN, then those of the right."""
        return [*self.cols(full.left), *self.cols(full.right)]

    def width(self, query: Query) -> int:
        """How many outputs a query has."""
        if isinstance(query, Combined):
            return self.width(query.parts[0])
        if isinstance(query, FullJoin):
            return len(self.both(query))
        return len(query.outputs if isinstance(query, Block) else query.rows[0])

    def kind(self, term: Term) -> str:
        """The kind of a term's values; ``any`` if that is not known."""
        if isinstance(term, Const):
            return term.kind
        if isinstance(term, Col):
            source = self.sources[term.source]
            known = self.facts(source)
            if known is not None:
                return known.kinds.get(term.name, "any")
            return "any" if source.query is None else self.output_kind(source.query, int(term.name))
        if isinstance(term, Agg):
            if term.op == "count":
                return "integer"
            return self.kind(term.args[0]) if term.op in ("min", "max") else "any"
        if isinstance(term, Sub):
            return self.output_kind(term.query, 0) if term.kind == "scalar" else "any"
        if isinstance(term, Call):
            return self._call_kind(term)
        return "any"

    def _call_kind(self, term: Call) -> str:
        if term.op in COMPARED.union(("and", "or", "not", "isnull", "notnull")):
            return "boolean"
        if term.op in _TEXT_FUNCTIONS:
            return "folded" if self.dialect in _FOLDING else "text"
        if term.op.startswith("cast:"):
            folded = self.kind(term.args[0]) == "folded"
            if self.dialect != "sqlite":
                return "folded" if folded else "any"
            kind = _kind(term.op.removeprefix("cast:"), self.dialect, folded=folded)
            return kind if kind in ("integer", "real", "text", "folded") else "any"
        return "any"

    def outputs(self, query: Query, place: int) -> list[Term]:
        """The terms one of which is an output of a query."""
        if isinstance(query, Block):
            return [query.outputs[place]]
        if isinstance(query, FullJoin):
            return [self.both(query)[place]]
        if isinstance(query, Rows):
            return [row[place] for row in query.rows]
        return [term for part in query.parts for term in self.outputs(part, place)]

    def alternatives(self, term: Term) -> Sequence[Term]:
        """The terms one of which is the value of a term: the output for a query's column, the results for CASE.

        Empty if the value is the term's own, and for set operations, which have their own rules for types.
        """
        if isinstance(term, Agg):
            return term.args if term.op in ("min", "max") else ()
        query, place = None, 0
        if isinstance(term, Col) and not self.sources[term.source].table:
            query, place = self.sources[term.source].query, int(term.name)
        elif isinstance(term, Sub) and term.kind == "scalar" and isinstance(term.query, Block):
            query = term.query
        return self.outputs(query, place) if isinstance(query, Block | FullJoin) else choices(term)

    def family(self, term: Term) -> str:
        """Whether all values of a term are numbers, or texts; empty if that is not known."""
        if isinstance(term, Call | Agg) and term.op in _NUMBER_FUNCTIONS:
            return "number"
        others = self.alternatives(term)
        if others:
            found = {self.family(other) for other in others if other != NULL}
            return found.pop() if len(found) == 1 else ""
        kind = self.kind(term)
        if kind in NUMBERS or (kind == "boolean" and self.dialect == "sqlite"):
            return "number"
        return "text" if kind in ("text", "folded") else ""

    def affinity(self, term: Term) -> str:
        """SQLite's affinity of a term: of a stored column, through queries, and of CAST; empty if it has none."""
        if not self.is_stored(term):
            return ""
        kind = self.kind(term)
        return "number" if kind in NUMBERS else "text" if kind in ("text", "folded") else ""

    def output_kind(self, query: Query, place: int) -> str:
        """The kind of values of a query's output."""
        found = {self.kind(term) for term in self.outputs(query, place)}
        if "folded" in found:
            return "folded"
        if len(found) > 1:
            found.discard("null")
        return found.pop() if len(found) == 1 else "any"

    def is_stored(self, term: Term) -> bool:
        """Whether a term is a stored column, whose type an engine uses when it compares; CAST has one, too."""
        if isinstance(term, Call):
            return term.op.startswith("cast:") and self.dialect == "sqlite"
        if isinstance(term, Col) and self.sources[term.source].table:
            return True
        return isinstance(term, Col | Sub) and any(map(self.is_stored, self.alternatives(term)))

    def same_values(self, one: Term, other: Term) -> bool:
        """Whether equal values of the two are identical, so that no query can distinguish them."""
        first, second = self.kind(one), self.kind(other)
        if first == second == "real":  # 0.0 equals -0.0 but is a different text
            return any(isinstance(term, Const) and float(term.text) != 0 for term in (one, other))
        if self.dialect == "sqlite" and {first, second} <= {"integer", "numeric"}:
            return True
        return first == second and _EXACT.match(first) is not None
