"""Find where a query chooses rows by a LIMIT in an inner part: a subquery or a CTE.

If rows tie there, the engine chooses, and the query's result may depend on that choice.
"""

from __future__ import annotations

from collections.abc import Sequence
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
)
from assay.sql.probes.ranked import ordered_inside
from assay.sql.query import Query
from assay.sql.shape import cutting

if TYPE_CHECKING:
    from sqlglot import exp


class InnerLimit(Struct, frozen=True):
    """A query with a LIMIT inside another."""

    query: Query
    """The whole."""
    node: exp.Query
    """The inner one."""

    @property
    def alone(self) -> str:
        """The inner query by itself. It can be executed unless it is correlated."""
        return alone(self.node).sql(self.query.dialect)

    @property
    def width(self) -> int | None:
        """How many columns it returns; None if a star leaves that open."""
        return None if self.node.is_star else len(self.node.selects)

    def taking(self, rows: Sequence[int], width: int) -> str:
        """The whole query, with the inner query returning only the rows at these positions, its ties broken upwards."""
        runs: list[list[int]] = []
        for row in rows:
            if runs and runs[-1][-1] + 1 == row:
                runs[-1].append(row)
            else:
                runs.append([row])
        parts = [cut_to(self._sorted(width), len(run), offset=run[0]) for run in runs]
        if len(parts) == 1:
            return self._with(parts[0])
        made: exp.Query = from_subquery(parts[0], "assay_0")
        for number, part in enumerate(parts[1:], start=1):
            made = made.union(from_subquery(part, f"assay_{number}"), distinct=False, copy=False)
        return self._with(made)

    def extremes(self, width: int) -> tuple[str, ...]:
        """The whole query, with the ties of the inner query broken upwards, and downwards."""
        made = []
        for downwards in (False, True):
            part = self._sorted(width, downwards=downwards)
            for clause in ("limit", "offset"):
                cut = self.node.args.get(clause)
                part.set(clause, None if cut is None else cut.copy())
            made.append(self._with(part))
        return made[0], made[1]

    def _sorted(self, width: int, *, downwards: bool = False) -> exp.Query:
        """The inner query without its LIMIT, its ties broken by all its columns."""
        part = uncut(self.node.copy())
        return order_further(part, breaking_keys(places(width), self.query.dialect, downwards=downwards))

    def _with(self, part: exp.Query) -> str:
        edit = Edit(self.query)
        edit.twin(self.node).replace(part)
        return edit.written()


def inner_limits(query: str, dialect: str) -> list[InnerLimit]:
    """The inner queries that have a LIMIT, the innermost last. None if the query cannot be read."""
    from sqlglot import exp

    read = read_for_probes(query, dialect)
    if read is None:
        return []
    others = {id(part) for part in (*cutting(read.tree), ordered_inside(read))}
    return [
        InnerLimit(read, node)
        for node in read.all_of(exp.Select, exp.SetOperation)
        if (node.args.get("limit") or node.args.get("offset"))
        and id(node) not in others
        and not isinstance(node.parent, exp.Exists)
    ]
