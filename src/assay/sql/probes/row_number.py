"""Find where a query chooses rows by ROW_NUMBER or DISTINCT ON, and what it would return if tied rows changed places.

Each way to break ties adds keys, and so makes a choice that the query itself might make: its result is one of the right
results. The ways sort by each output in turn, ascending and descending, to reach the extreme choices: if all of them
return the same result, the choice does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.sql.probes.edits import (
    Edit,
    alone,
    breaking_keys,
    cut_to,
    from_subquery,
    order_further,
    places,
    read_for_probes,
    uncut,
    window,
)
from assay.sql.query import Query

if TYPE_CHECKING:
    from sqlglot import exp

_PART = "assay_part"
_MOST_LEADING = 6
"""At most this many outputs are tried as the first key to break ties."""
_CHANGES_CHOICE = ("group", "having", "distinct", "joins", "order", "limit", "offset", "windows", "qualify")


class RowNumbers(Struct, frozen=True, kw_only=True):
    """The same query with another function for each of its ROW_NUMBERs."""

    ranked: str
    """The query with RANK, which returns the same only if nothing ties."""
    apart: tuple[str, str, str] | None
    """Three queries, each with the number of a row's partition as its last column: with ROW_NUMBER, as it is; with
    RANK, which returns every row that some way of breaking ties selects; and with the position of a tie's last row,
    which returns the rows that every way selects. None if the query does more to the rows than choose them by their
    numbers."""


class TieBreak(Struct, frozen=True, kw_only=True):
    """One place where a query chooses among rows that may tie: a ROW_NUMBER, or the SELECT with a DISTINCT ON."""

    query: Query
    node: exp.Expr
    """The window or the SELECT."""
    select: exp.Select

    @property
    def columns_of(self) -> str | None:
        """A query without rows whose columns are the outputs; None if no star hides their names."""
        if not self.select.is_star:
            return None
        empty = cut_to(from_subquery(uncut(alone(self.select)), "assay_none"), 0)
        return empty.sql(self.query.dialect)

    def ways(self, columns: Sequence[str]) -> Iterator[str]:
        """The whole query with its ties broken in several ways; ``columns`` are those of `columns_of`."""
        terms = self._terms(columns)
        own = [] if self.node.args.get("order") else self.select.args["distinct"].args["on"].expressions
        for lead in range(min(len(terms), _MOST_LEADING)):
            for downwards in (False, True):
                turned = [term.copy() for term in (*terms[lead:], *terms[:lead])]
                keys = breaking_keys(turned, self.query.dialect, downwards=downwards)
                edit = Edit(self.query)
                order_further(edit.twin(self.node), [*(key.copy() for key in own), *keys])
                yield edit.written()

    def _terms(self, columns: Sequence[str]) -> list[exp.Expr]:
        """The outputs as keys: tied rows that agree in all of them are interchangeable."""
        from sqlglot import exp

        outputs = self.select.selects
        if self.node is self.select:
            return places(len(columns) or len(outputs))
        terms: list[exp.Expr] = [
            exp.Paren(this=output.unalias().copy())
            for output in outputs
            if not output.is_star and not output.find(exp.Window) and not isinstance(output.unalias(), exp.Literal)
        ]
        aliases = {output.alias.lower() for output in outputs}
        names = [name for name in columns if name.lower() not in aliases]
        return [*terms, *(exp.column(exp.to_identifier(name, quoted=True)) for name in names)]


def row_numbers(query: str, dialect: str) -> RowNumbers | None:
    """The query with its ROW_NUMBERs replaced; None if it has no ROW_NUMBER or cannot be read."""
    read = read_for_probes(query, dialect) if "row_number" in query.lower() else None
    windows = [] if read is None else _numbering(read)
    if read is None or not windows or any(not window.args.get("order") for window in windows):
        return None
    edit = Edit(read)
    for node in windows:
        _call(edit.twin(node), "RANK")
    return RowNumbers(ranked=edit.written(), apart=_apart(read, windows[0]) if len(windows) == 1 else None)


def tie_breaks(query: str, dialect: str) -> list[TieBreak]:
    """The places where a query chooses rows by ROW_NUMBER or DISTINCT ON. None if it cannot be read."""
    from sqlglot import exp

    read = read_for_probes(query, dialect)
    if read is None:
        return []
    nodes: list[tuple[exp.Expr, exp.Select | None]] = [
        (node, node.parent_select) for node in _numbering(read) if node.args.get("order")
    ]
    for select in read.all_of(exp.Select):
        distinct = select.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            nodes.append((select, select))
    return [TieBreak(query=read, node=node, select=select) for node, select in nodes if select is not None]


def _numbering(query: Query) -> list[exp.Window]:
    from sqlglot import exp

    return [node for node in query.all_of(exp.Window) if isinstance(node.this, exp.RowNumber)]


def _call(node: exp.Window, name: str, *arguments: exp.Expr) -> None:
    from sqlglot import exp

    node.set("this", exp.Anonymous(this=name, expressions=list(arguments)))


def _apart(query: Query, node: exp.Window) -> tuple[str, str, str] | None:
    """The queries that show partitions, if the outermost query only chooses rows and columns."""
    from sqlglot import exp

    top, inner = query.tree, node.parent_select
    if not isinstance(top, exp.Select) or inner is top or any(top.args.get(part) for part in _CHANGES_CHOICE):
        return None
    if any(output.find(exp.AggFunc, exp.Window, exp.Subquery) for output in top.selects):
        return None
    if not isinstance(inner, exp.Select) or inner.args.get("distinct"):
        return None

    def with_part(function: str | None, *arguments: exp.Expr) -> str:
        edit = Edit(query)
        keys = [key.copy() for key in node.args.get("partition_by") or ()]
        part = window("DENSE_RANK", keys, _PART) if keys else exp.alias_(exp.Literal.number(0), _PART)
        edit.twin(inner).append("expressions", part)
        if not top.is_star:
            edit.twin(top).append("expressions", exp.column(_PART))
        if function is not None:
            _call(edit.twin(node), function, *arguments)
        return edit.written()

    return with_part(None), with_part("RANK"), with_part("COUNT", exp.Star())
