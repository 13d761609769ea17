"""What Spider's script knows of a query: its parts, of columns and tables by name, without what it cannot read.

Two parts are the same if these values are equal. Columns are ``table.column`` in lower case, ``*`` every column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace


class UnreadableError(Exception):
    """The query is beyond what the script reads."""


class Column(Struct, frozen=True, kw_only=True):
    """A column, within an aggregate or not."""

    aggregate: str | None = None
    name: str
    distinct: bool | None = False
    """None: whether the column is DISTINCT does not count."""


class Term(Struct, frozen=True, kw_only=True):
    """One column, or two with ``-``, ``+``, ``*`` or ``/`` between them."""

    operator: str | None = None
    left: Column
    right: Column | None = None


class Condition(Struct, frozen=True, kw_only=True):
    """One comparison. Only values that are queries count, except within a query that stands in FROM."""

    negated: bool
    operator: str
    term: Term
    first: Value = None
    second: Value = None


class Conditions(Struct, frozen=True, kw_only=True):
    """Comparisons in their order, and the words ``and`` and ``or`` between them."""

    each: tuple[Condition, ...] = ()
    connectives: tuple[str, ...] = ()


NO_CONDITIONS = Conditions()


class Query(Struct, frozen=True, kw_only=True):
    """A query's clauses. What an unreadable prediction is taken for: a query without any."""

    distinct: bool | None = False
    selected: tuple[tuple[str | None, Term], ...] = ()
    """What is selected: an aggregate and its term."""
    tables: tuple[str | Query, ...] = ()
    on: Conditions = NO_CONDITIONS
    where: Conditions = NO_CONDITIONS
    grouped: tuple[Column, ...] = ()
    having: Conditions = NO_CONDITIONS
    direction: str | None = None
    """``asc`` or ``desc``, as the last ordered term says; None: not ordered."""
    ordered: tuple[Term, ...] = ()
    limit: int | None = None
    intersect: Query | None = None
    union: Query | None = None
    except_: Query | None = None

    @property
    def conditions(self) -> Iterator[Condition]:
        """All comparisons of ON, WHERE and HAVING."""
        for part in (self.on, self.where, self.having):
            yield from part.each


Value = Query | Column | float | str | None


def without_values(query: Query) -> Query:
    """The query without the values that it compares with. A query in FROM keeps its own, as in the script."""
    return replace(
        query,
        on=_valueless(query.on),
        where=_valueless(query.where),
        having=_valueless(query.having),
        intersect=_each(query.intersect, without_values),
        union=_each(query.union, without_values),
        except_=_each(query.except_, without_values),
    )


def with_columns(query: Query, named: Callable[[str], str]) -> Query:
    """The query with columns renamed, and no DISTINCT. Queries within conditions and FROM stay as they are."""

    def column(one: Column) -> Column:
        return Column(aggregate=one.aggregate, name=named(one.name), distinct=None)

    def term(one: Term) -> Term:
        right = None if one.right is None else column(one.right)
        return Term(operator=one.operator, left=column(one.left), right=right)

    def conditions(part: Conditions) -> Conditions:
        return replace(part, each=tuple([replace(one, term=term(one.term)) for one in part.each]))

    def again(part: Query) -> Query:
        return with_columns(part, named)

    return replace(
        query,
        distinct=None,
        selected=tuple([(aggregate, term(one)) for aggregate, one in query.selected]),
        on=conditions(query.on),
        where=conditions(query.where),
        grouped=tuple(map(column, query.grouped)),
        having=conditions(query.having),
        ordered=tuple(map(term, query.ordered)),
        intersect=_each(query.intersect, again),
        union=_each(query.union, again),
        except_=_each(query.except_, again),
    )


def _each(part: Query | None, change: Callable[[Query], Query]) -> Query | None:
    return None if part is None else change(part)


def _valueless(part: Conditions) -> Conditions:
    return replace(
        part, each=tuple([replace(one, first=_kept(one.first), second=_kept(one.second)) for one in part.each])
    )


def _kept(value: Value) -> Query | None:
    return without_values(value) if isinstance(value, Query) else None
