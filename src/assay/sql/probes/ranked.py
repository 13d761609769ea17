"""Find out which rows of an ordered query tie, and which rows its LIMIT cut off.

The first probe is the query without its LIMIT and with one more column, `DENSE_RANK() OVER (ORDER BY <its keys>)`: the
engine itself then shows which rows tie, regardless of the keys' types and collations, even if a key is not among the
outputs. If a rank cannot be added (set operations, keys over windows), the outputs that contain the keys show ties.
Otherwise two queries break ties by all outputs, one ascending and one descending: rows that change positions tie.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from assay.sql.probes.edits import Edit, alone, breaking_keys, order_further, places, read_for_probes, uncut, window
from assay.sql.probes.hidden_keys import Reads, as_groups, orders_by_hidden_key
from assay.sql.probes.order_keys import OrderKey, read_key
from assay.sql.query import Query, Unreadable, read_tree
from assay.sql.shape import cutting, deterministic_keys, outermost

if TYPE_CHECKING:
    from sqlglot import exp

RANK_COLUMN = "assay_rank"
_MOST_RANKS = 4
_KEEPS_INNER_ORDER = frozenset({"sqlite", "duckdb", "postgres"})
"""Dialects of engines in which a LIMIT directly on an ordered inner query takes that query's first rows."""
_CHANGES_ROWS = (
    *("where", "group", "having", "distinct", "joins", "laterals", "windows", "qualify", "order", "match", "pivots"),
    *("sample", "cluster", "sort", "distribute", "connect"),
)
_CHANGES_SOURCE = ("limit", "offset", "order", "pivots", "sample", "joins")


class TieProbe(Struct, frozen=True, kw_only=True):
    """A query that shows the ties of another.

    Its rows are the other's rows before LIMIT and OFFSET, in the same order. Rows tie if their keys are equal: the last
    column, an added rank, or the output columns ``key_columns``. Without ORDER BY, and with a random one, all rows tie:
    ``key_columns`` is empty and no rank is added. With a ``mirror``, rows tie if the mirror has them in reverse order.
    """

    query: str
    ranked: bool = False
    key_columns: tuple[int, ...] = ()
    mirror: str | None = None
    offset: int = 0
    shown: tuple[str, ...] | None = None
    """The columns that the other query selects from these rows, by name; None if it selects all."""
    ordered: bool = True
    """Whether the query orders its rows; if not, all rows tie."""

    def first(self, rows: int) -> str:
        """The probe's query for its first ``rows`` rows only."""
        return f"{self.query} LIMIT {rows}"


def tie_probes(query: str, dialect: str, width: int = 0) -> Iterator[TieProbe]:
    """The probes that may show the ties, the most reliable first. None if ties cannot be seen this way.

    ``width`` is how many columns the query returns; without it there is no mirrored probe.
    """
    read = read_for_probes(query, dialect)
    if read is not None:
        yield from _probes(read, width)


def visible_keys(query: str, dialect: str) -> tuple[int, ...] | None:
    """The output columns that contain the keys of ORDER BY; None if a key is not in the output or has a collation."""
    from sqlglot import exp

    read = read_for_probes(query, dialect)
    top = None if read is None else outermost(read.tree)
    if read is None or not isinstance(top, exp.Select | exp.SetOperation):
        return None
    return _columns(_keys(read, top), top) or None


def _probes(query: Query, width: int) -> Iterator[TieProbe]:
    from sqlglot import exp

    top = outermost(query.tree)
    offset = _total_offset(query.tree)
    is_ordered = bool(top.args.get("order"))
    if offset is None or (is_ordered and not isinstance(top, exp.Select | exp.SetOperation)):
        return
    if is_ordered and (keys := _keys(query, top)):
        for probe in _of_ordered(query, top, keys, width):
            yield replace(probe, offset=offset)
        return
    inside = ordered_inside(query)
    if inside is not None:
        names = None if top.is_star else tuple(output.unalias().name for output in top.selects)
        inner_width = 0 if inside.is_star else len(inside.selects)
        read = read_tree(alone(inside), query.text, query.dialect)
        for probe in () if isinstance(read, Unreadable) else _probes(read, width if names is None else inner_width):
            if probe.ordered:
                yield replace(probe, offset=probe.offset + offset, shown=names)
    yield TieProbe(query=_uncut(query).written(), offset=offset, ordered=False)


def _of_ordered(query: Query, top: exp.Query, keys: Sequence[OrderKey], width: int) -> Iterator[TieProbe]:
    from sqlglot import exp

    if isinstance(top, exp.Select) and orders_by_hidden_key(query, top):
        for grouped in _as_groups(query, top):
            top = outermost(grouped.tree)
            yield from _of_ordered(grouped, top, _keys(grouped, top), width)
        return
    columns = _columns(keys, top)
    if isinstance(top, exp.Select):
        for rank in islice(_ranks(query, top, keys), _MOST_RANKS):
            edit = _uncut(query)
            edit.twin(top).append("expressions", rank)
            yield TieProbe(query=edit.written(), ranked=True)
    if columns is not None:
        yield TieProbe(query=_uncut(query).written(), key_columns=columns)
    if width:
        turned: list[str] = []
        for downwards in (False, True):
            edit = _uncut(query)
            order_further(edit.twin(top), breaking_keys(places(width), query.dialect, downwards=downwards))
            turned.append(edit.written())
        yield TieProbe(query=turned[0], mirror=turned[1])


def _as_groups(query: Query, top: exp.Select) -> Iterator[Query]:
    ways: tuple[Reads, ...] = ("first", "least") if query.dialect == "sqlite" else ("least",)
    for reads in ways:
        yield from (grouped for grouped, _ in as_groups(query, top, reads))


def _uncut(query: Query) -> Edit:
    edit = Edit(query)
    uncut(edit.tree)
    return edit


def _keys(query: Query, top: exp.Query) -> list[OrderKey]:
    return [read_key(query, key, top.selects) for key in deterministic_keys(top)]


def _columns(keys: Sequence[OrderKey], top: exp.Query) -> tuple[int, ...] | None:
    """The outputs that hold the keys; None if one is not among them."""
    columns = [key.column(top.selects) for key in keys]
    return None if None in columns else tuple(column for column in columns if column is not None)


def _ranks(query: Query, top: exp.Select, keys: Sequence[OrderKey]) -> Iterator[exp.Expr]:
    """The rank columns that may be added, the most likely reading first; empty if a key cannot be read."""
    from sqlglot import exp

    terms = [key.term if key.output is None else top.selects[key.output] for key in keys]
    if any(term.find(exp.Window) for term in terms):
        return
    for choice in product(*(list(key.readings(query, top.selects)) for key in keys)):
        yield window("DENSE_RANK", choice, RANK_COLUMN)


def _total_offset(tree: exp.Query) -> int | None:
    """How many rows OFFSET skips; None if that is not a plain number."""
    offsets = [part.args["offset"].expression for part in cutting(tree) if part.args.get("offset")]
    if any(offset is None or not offset.is_int or int(offset.name) < 0 for offset in offsets):
        return None
    return sum(int(offset.name) for offset in offsets)


def ordered_inside(query: Query) -> exp.Query | None:
    """The ordered query of one that only applies a LIMIT to it, as a subquery or a CTE.

    `SELECT * FROM (SELECT … ORDER BY x) LIMIT 1` asks for the first row by x. Its outermost query may select columns,
    but does nothing else to the rows.
    """
    from sqlglot import exp

    top = query.top
    if query.dialect not in _KEEPS_INNER_ORDER or top is None or not cutting(query.tree):
        return None
    if any(top.node.args.get(part) for part in _CHANGES_ROWS) or len(top.sources) != 1:
        return None
    outputs = top.node.selects
    is_all = len(outputs) == 1 and isinstance(outputs[0], exp.Star) and not outputs[0].args.get("except_")
    if not is_all and any(output.is_star or not isinstance(output.unalias(), exp.Column) for output in outputs):
        return None
    (source,) = top.sources.values()
    inner: exp.Query | None = source.inner
    if inner is None or source.names or any(source.node.args.get(part) for part in _CHANGES_SOURCE):
        return None
    if source.cte is None:
        return None if isinstance(source.node.this, exp.Subquery) else inner  # which may have a LIMIT of its own
    return None if source.cte.parent.recursive else inner
