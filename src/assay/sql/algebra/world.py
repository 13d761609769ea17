"""What is known of the tables while two queries are read and compared: columns, kinds of values, keys, references."""

from __future__ import annotations

import re

from msgspec import Struct, field

from assay.model import DatabaseSchema, TableSchema
from assay.sql.algebra.model import (
    NULL,
    Agg,
    Block,
    Call,
    Col,
    Combined,
    Const,
    FullJoin,
    Query,
    Source,
    Sub,
    Term,
)
from assay.sql.schema import type_family
from assay.sql.schema.create_table import table_clauses

NUMBERS = frozenset({"integer", "real", "numeric"})
_EXACT = re.compile(r"(integer|text|bool(ean)?|date|time|datetime|timestamp|uuid|blob|bytea)\b|(decimal|numeric)\(")
"""Kinds of which equal values are one value in all respects: not so texts that a collation folds, or 1.0 and 1.00."""
_TEXT_FUNCTIONS = frozenset(["lower", "upper", "substring", "trim", "replace", "concat2", "timetostr", "fn:strftime"])
_NUMBER_FUNCTIONS = frozenset(
    ["add", "sub", "mul", "div", "mod", "neg", "abs", "round", "length", "sign", "floor", "ceil", "fn:julianday"]
)
_FOLDING = frozenset({"mysql", "mariadb", "tsql", "singlestore", "doris", "starrocks", "tidb"})


class TableFacts(Struct, frozen=True, kw_only=True):
    """A stored table, names in lower case."""

    name: str
    kinds: dict[str, str]
    """What values a column holds: ``integer``, ``real``, ``numeric``, ``text``, ``folded``, or another type's name."""
    not_null: frozenset[str]
    keys: tuple[tuple[str, ...], ...]
    """Sets of columns that no two rows share, unless one of them is NULL."""
    references: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...]
    """Foreign keys: own columns, the other table, its columns."""
    checks: tuple[str, ...] = ()
    """CHECK constraints, where the engine heeds them."""


def table_facts(table: TableSchema, dialect: str) -> TableFacts:
    """The facts of a table. A primary key is taken not to be NULL, as the standard has it, in SQLite too."""
    clauses = table_clauses(table.ddl, dialect).columns
    collated = {name for name, found in clauses.items() if found.collation}
    kinds = {one.name.lower(): _kind(one.type, dialect, folded=one.name.lower() in collated) for one in table.columns}
    primary = tuple(name.lower() for name in table.primary_key)
    keys = [primary] if primary else []
    keys += [tuple(name.lower() for name in key) for key in table.unique]
    declared = {one.name.lower() for one in table.columns if one.not_null}
    return TableFacts(
        name=table.name.lower(),
        kinds=kinds,
        not_null=frozenset(declared | set(primary)),
        checks=() if dialect in ("mysql", "mariadb") else table.checks,
        keys=tuple(dict.fromkeys(key for key in keys if key)),
        references=tuple(
            (
                tuple(name.lower() for name in one.columns),
                one.table.lower(),
                tuple(name.lower() for name in one.referenced),
            )
            for one in table.foreign_keys
        ),
    )


def _kind(declared: str, dialect: str, *, folded: bool) -> str:
    """What values a column of this type holds; in SQLite by its rules of affinity."""
    lowered = declared.lower()
    if folded:
        return "folded"
    if dialect == "sqlite":
        if "int" in lowered:  # FLOATING POINT too, but nobody keeps whole numbers there
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


class World(Struct):
    """The tables, and every source that was read, by its number."""

    schema: DatabaseSchema
    dialect: str
    tables: dict[str, TableFacts] = field(default_factory=dict)
    views: dict[str, TableSchema] = field(default_factory=dict)
    """By their names in lower case; they are read as their definition says."""
    sources: dict[int, Source] = field(default_factory=dict)
    checks: dict[int, tuple[Term, ...]] = field(default_factory=dict)
    """What a stored table's CHECK constraints say of a source's row: none of them is false."""
    open_choice: bool = False
    """Whether a query leaves open which rows it takes."""
    used: set[str] = field(default_factory=set)
    """The rules that changed something, each in its own words: the first line of its docstring."""

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

    def columns(self, source: Source) -> list[str]:
        """The names of a source's columns, as `Col` has them."""
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
        """What values a term has; ``any`` where that is not known."""
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
        if term.op in ("eq", "ne", "lt", "le", "and", "or", "not", "isnull", "notnull"):
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

    def family(self, term: Term) -> str:
        """Whether all values of a term are numbers, or texts; empty where that is not known."""
        if isinstance(term, Call):
            if term.op in _NUMBER_FUNCTIONS:
                return "number"
            if term.op in ("coalesce", "nullif", "case"):
                parts = (*term.args[1::2], term.args[-1]) if term.op == "case" else term.args
                found = {self.family(part) for part in parts if part != NULL}
                return found.pop() if len(found) == 1 else ""
        if isinstance(term, Agg) and term.op in ("sum", "avg", "count"):
            return "number"
        if isinstance(term, Col):
            query = self.sources[term.source].query
            if isinstance(query, Block):
                return self.family(query.outputs[int(term.name)])
        if isinstance(term, Sub):
            inner = term.query
            return self.family(inner.outputs[0]) if term.kind == "scalar" and isinstance(inner, Block) else ""
        kind = self.kind(term)
        if kind in NUMBERS or (kind == "boolean" and self.dialect == "sqlite"):
            return "number"
        return "text" if kind in ("text", "folded") else ""

    def affinity(self, term: Term) -> str:
        """SQLite's affinity of a term: of a stored column, through queries, and of CAST; empty for none."""
        if not self.is_stored(term):
            return ""
        kind = self.kind(term)
        return "number" if kind in NUMBERS else "text" if kind in ("text", "folded") else ""

    def output_kind(self, query: Query, place: int) -> str:
        """What values an output of a query has."""
        if isinstance(query, Block):
            return self.kind(query.outputs[place])
        if isinstance(query, Combined):
            found = {self.output_kind(part, place) for part in query.parts}
        elif isinstance(query, FullJoin):
            return self.kind(self.both(query)[place])
        else:
            found = {self.kind(row[place]) for row in query.rows}
        found.discard("null")
        if "folded" in found:
            return "folded"
        return found.pop() if len(found) == 1 else "any"

    def is_stored(self, term: Term) -> bool:
        """Whether a term is a stored column, whose type an engine heeds when it compares; CAST has one, too."""
        while isinstance(term, Col | Sub):
            if isinstance(term, Sub):
                if term.kind != "scalar" or not isinstance(term.query, Block):
                    return False
                term = term.query.outputs[0]
                continue
            source = self.sources[term.source]
            if source.table:
                return True
            if isinstance(source.query, FullJoin):
                term = self.both(source.query)[int(term.name)]
                continue
            if not isinstance(source.query, Block):
                return False
            term = source.query.outputs[int(term.name)]
        return isinstance(term, Call) and term.op.startswith("cast:") and self.dialect == "sqlite"

    def same_values(self, one: Term, other: Term) -> bool:
        """Whether equal values of the two are one value, told apart by nothing that a query can do."""
        first, second = self.kind(one), self.kind(other)
        if first == second == "real":  # 0.0 is equal to -0.0, and as a text another
            return any(isinstance(term, Const) and float(term.text) != 0 for term in (one, other))
        if self.dialect == "sqlite" and {first, second} <= {"integer", "numeric"}:
            return True
        return first == second and _EXACT.match(first) is not None
