"""The parts of a query, clause by clause, with resolved names and canonical spelling."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache

from msgspec import Struct

_NAME = re.compile(r'"((?:[^"]|"")*)"|([^".]+)')
_USE = re.compile(r"#\d+\Z")


@lru_cache(maxsize=4096)
def place_of(column: str) -> tuple[str, str]:
    """The table and the name of one of `Term.columns`, without quotes, regardless of the use of the table.

    A further use of a table is marked by its number (``singer#2``), one of an outer query by its depth (``^singer``).
    The table is empty if it is not known.
    """
    names = [(found[1] or found[2] or "").replace('""', '"') for found in _NAME.finditer(column)]
    table = names[-2] if len(names) > 1 else ""
    return _USE.sub("", table).lstrip("^"), names[-1] if names else ""


class Term(Struct, frozen=True, kw_only=True):
    """One expression or condition with every column under its table's own name.

    Two terms with equal ``text`` are equivalent; so are two with equal ``merged``, in which each column stands for all
    columns that the query's inner joins equate with it.
    """

    text: str
    merged: str
    show: Callable[[], str] = str
    """Writes `shown` on demand: few terms are shown, and writing one takes longer than reading it."""
    columns: tuple[str, ...] = ()
    """For example ``singer.name``, in the order in which they are read."""
    literals: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    """Upper-case names of functions, except aggregates."""
    aggregates: tuple[str, ...] = ()
    arithmetic: tuple[str, ...] = ()
    operator: str = ""
    """For a condition: ``=``, ``<>``, ``<``, ``IN``, ``LIKE``, ``IS NULL``, ``EXISTS``, ``OR`` and the like."""
    parts: tuple[Term, ...] = ()
    """The conditions that an ``OR`` combines."""
    inner: tuple[QueryParts, ...] = ()
    """The subqueries in it."""
    distinct: bool = False
    """An aggregate in it counts distinct values."""
    windowed: bool = False

    @property
    def shown(self) -> str:
        """As written by its author, except for columns, which have their tables' names."""
        return self.show()

    def leaves(self) -> Iterator[Term]:
        """The conditions without the OR around them."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


class OrderTerm(Struct, frozen=True, kw_only=True):
    """One key of ORDER BY."""

    term: Term
    descending: bool


class SourceTable(Struct, frozen=True, kw_only=True):
    """One table that a SELECT reads, under a name that distinguishes several uses of it: ``city``, ``city#2``."""

    name: str
    table: str
    """The table's own name; empty for a subquery."""
    join: str = "INNER"


class SelectParts(Struct, frozen=True, kw_only=True):
    """One SELECT. Parts without an order in SQL are bags or sets here."""

    outputs: tuple[Term, ...] = ()
    distinct: bool = False
    sources: tuple[SourceTable, ...] = ()
    joins: frozenset[frozenset[str]] = frozenset()
    """Sets of columns that inner joins make equal."""
    outer_equal: frozenset[frozenset[str]] = frozenset()
    """Sets of columns that outer joins compare."""
    outer_joins: tuple[Term, ...] = ()
    """The other conditions of outer joins."""
    where: tuple[Term, ...] = ()
    """Conditions that all must hold."""
    group: tuple[Term, ...] = ()
    having: tuple[Term, ...] = ()
    order: tuple[OrderTerm, ...] = ()
    limit: str | None = None
    offset: str | None = None
    inner: tuple[QueryParts, ...] = ()
    """The subqueries and CTEs that it reads rows from."""
    compared: Mapping[str, Callable[[], str]] = {}
    """The columns of ``joins`` and ``outer_equal``, each with what writes it."""
    written_on: frozenset[str] = frozenset()
    """The conditions written in FROM, including equal columns."""
    written_where: frozenset[str] = frozenset()
    """The conditions written in WHERE, including equal columns."""

    @property
    def aggregated(self) -> bool:
        """Whether its outputs aggregate rows."""
        return any(output.aggregates for output in self.outputs)


class QueryParts(Struct, frozen=True, kw_only=True, dict=True):
    """One query: a SELECT, or several under set operations."""

    selects: tuple[SelectParts, ...]
    operators: tuple[str, ...] = ()
    """Between the SELECTs, for example ``UNION`` and ``EXCEPT ALL``."""
    order: tuple[OrderTerm, ...] = ()
    """For a set operation; a SELECT's own is in the SELECT."""
    limit: str | None = None
    offset: str | None = None
    show: Callable[[], str] = str

    @property
    def shown(self) -> str:
        """In parentheses, as written by its author, except for columns, which have their tables' names."""
        return self.show()

    @cached_property
    def all_selects(self) -> tuple[SelectParts, ...]:
        """Every SELECT, the outermost first, including those in subqueries and CTEs."""
        found: list[SelectParts] = []
        for select in self.selects:
            found.append(select)
            for query in inner_queries(select):
                found += query.all_selects
        return tuple(found)


def inner_queries(select: SelectParts) -> Iterator[QueryParts]:
    """The queries directly inside a SELECT, clause by clause; ORDER BY and later clauses do not repeat those of its
    outputs.

    ``SELECT (SELECT …) AS n … ORDER BY n`` has one.
    """
    yield from select.inner
    selected = [query for term in select.outputs for query in inner_of(term)]
    yield from selected
    keys = (key.term for key in select.order)
    for terms in (select.outer_joins, select.where, select.group, select.having, keys):
        for term in terms:
            yield from (query for query in inner_of(term) if not any(query is one for one in selected))


def inner_of(term: Term) -> Iterator[QueryParts]:
    """The queries directly inside a term."""
    if not term.parts:  # else they are in one of the parts
        yield from term.inner
    for part in term.parts:
        yield from inner_of(part)
