"""The facts of one query: its levels, and in each the tables, conditions, outputs and keys, with their places."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from assay.sql.schema_names import TypeFamily

Clause = Literal["where", "having", "on", "output", "group", "order", "other"]
TermKind = Literal["column", "literal", "null", "aggregate", "subquery", "star", "computed"]
Operator = Literal["=", "<>", "<", "<=", ">", ">=", "like", "in", "between", "is"]


class Place(Struct, frozen=True):
    """A part of the query's text: zero-based, without the character at ``end``."""

    start: int
    end: int


class ColumnRef(Struct, frozen=True, kw_only=True):
    """A column as a query uses it. ``table`` is the stored table's name; None where that is not known."""

    column: str
    table: str | None = None
    source: str | None = None
    """The alias or name under which the query reads the table, in lower case."""
    level: int = -1
    """The level that reads the table; -1 where it is not known."""
    type: TypeFamily | None = None
    place: Place | None = None

    @property
    def key(self) -> tuple[str | None, str]:
        """What tells two uses of one column apart from uses of another: the source and the name, in lower case."""
        return (self.source, self.column.lower())

    @property
    def name(self) -> str:
        """The column for a reader: ``singer.Country``."""
        return f"{self.table}.{self.column}" if self.table else self.column


class Term(Struct, frozen=True, kw_only=True):
    """One expression."""

    kind: TermKind
    text: str
    column: ColumnRef | None = None
    """The column, where the term is nothing else."""
    value: str | None = None
    """The text or the number, where the term is a literal."""
    is_number: bool = False
    columns: tuple[ColumnRef, ...] = ()
    """Every column in it, those within subqueries left out."""
    bare: tuple[ColumnRef, ...] = ()
    """Those of ``columns`` that stand outside of aggregate functions and windows."""
    aggregated: bool = False
    windowed: bool = False
    extreme: bool = False
    """A MIN, a MAX, or the first row by an order: of itself, or of the subquery whose column it is."""
    type: TypeFamily | None = None
    place: Place | None = None


class Condition(Struct, frozen=True, kw_only=True):
    """One comparison. ``right`` has several terms for IN and BETWEEN."""

    operator: Operator
    left: Term
    right: tuple[Term, ...]
    clause: Clause
    level: int
    negated: bool = False
    certain: bool = True
    """It must hold for every row: no OR, NOT or CASE is above it."""
    conjunction: int = 0
    """Conditions of one number hold together: nothing but AND joins them."""
    disjunction: int = 0
    """Conditions of one number other than 0 are alternatives: nothing but OR joins them."""
    branch: int = 0
    """The number of the OR whose side this condition's conjunction is, without parentheses around it; 0: of none."""
    place: Place | None = None


class Source(Struct, frozen=True, kw_only=True):
    """One entry of FROM."""

    alias: str
    """Lower case."""
    table: str | None
    """The stored table's name; None for a subquery, a CTE or a function."""
    single_row: bool = False
    """It surely gives at most one row, as an aggregate without GROUP BY does."""
    known: bool = True
    """Its columns are known."""
    crossed: bool = False
    """It is read by CROSS JOIN, in so many words."""
    place: Place | None = None


class JoinPair(Struct, frozen=True, kw_only=True):
    """Two columns of different sources that must be equal."""

    left: ColumnRef
    right: ColumnRef
    place: Place | None = None


class Aggregate(Struct, frozen=True, kw_only=True):
    """One use of an aggregate function. ``argument`` is None for COUNT(*)."""

    function: str
    """Lower case, such as ``count``."""
    argument: Term | None
    distinct: bool
    level: int
    clause: Clause
    place: Place | None = None


class Division(Struct, frozen=True, kw_only=True):
    """``left / right``."""

    left: Term
    right: Term
    level: int
    type: TypeFamily | None
    rounds: bool = False
    """It is multiplied by its own divisor again: ``year / 10 * 10``, where cutting off is what is meant."""
    place: Place | None = None


class Output(Struct, frozen=True, kw_only=True):
    """One selected expression."""

    term: Term
    alias: str | None


class OrderKey(Struct, frozen=True, kw_only=True):
    """One key of ORDER BY, with the selected expression that a position or an alias names."""

    term: Term
    descending: bool
    nulls_first: bool | None
    """As the key says it, else as its dialect has it; None where that is not known."""


class Level(Struct, frozen=True, kw_only=True):
    """One SELECT."""

    index: int
    parent: int | None
    outermost: bool
    in_condition: bool = False
    """Its rows are only looked at by EXISTS, IN or a comparison."""
    in_exists: bool = False
    """EXISTS asks only whether it has a row."""
    sources: tuple[Source, ...] = ()
    unlinked: tuple[Source, ...] = ()
    """Sources that no condition ties to the others."""
    joins: tuple[JoinPair, ...] = ()
    inner_only: bool = True
    """No outer join."""
    outputs: tuple[Output, ...] = ()
    group: tuple[Term, ...] = ()
    order: tuple[OrderKey, ...] = ()
    limited: bool = False
    limit: int | None = None
    distinct: bool = False
    aggregated: bool = False
    """An aggregate function stands among the outputs, in HAVING or in ORDER BY."""
    place: Place | None = None
    limit_place: Place | None = None
    distinct_place: Place | None = None


class LooseLimit(Struct, frozen=True, kw_only=True):
    """A LIMIT that stands after more than one SELECT, without an order."""

    what: str
    """``UNION ALL``, or ``parentheses``."""
    count: int | None
    place: Place | None = None


class QueryFacts(Struct, frozen=True, kw_only=True):
    """All that was read of one query."""

    levels: tuple[Level, ...]
    conditions: tuple[Condition, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    divisions: tuple[Division, ...] = ()
    literals: tuple[Term, ...] = ()
    """Every text and number anywhere in the query, those of LIMIT and OFFSET left out."""
    set_operations: frozenset[str] = frozenset()
    """``union``, ``intersect``, ``except``."""
    union_all: bool = False
    windowed: bool = False
    compares_with_subquery: bool = False
    loose_limits: tuple[LooseLimit, ...] = ()
    """Of the outermost query only."""
    unresolved: tuple[ColumnRef, ...] = field(default=())
    """Columns that no table of the schema has, where every source is known."""

    @property
    def top(self) -> Level | None:
        """The outermost SELECT; None where a set operation or VALUES is outermost."""
        return next((level for level in self.levels if level.outermost), None)
