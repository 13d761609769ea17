"""What a SELECT reads from, and which CTE a name there means, for resolving the names of a query."""

from __future__ import annotations

from collections.abc import Iterator

from assay.sql.nodes import exp

_KINDS = frozenset({"SEMI", "ANTI", "ANY", "ASOF", "ARRAY"})


def entries_of(select: exp.Select) -> Iterator[tuple[exp.Expr, str]]:
    """The tables and subqueries of a SELECT's FROM and JOINs, each with its kind of join, without parentheses."""

    start = select.args.get("from_") or select.args.get("from")
    waiting: list[tuple[exp.Expr, str]] = [] if start is None else [(start.this, "INNER")]
    waiting += [(join.this, _side(join)) for join in select.args.get("joins") or ()]
    waiting += [
        (lateral, "LEFT" if lateral.args.get("outer") else "INNER") for lateral in select.args.get("laterals") or ()
    ]
    while waiting:
        entry, side = waiting.pop(0)
        inside = [(join.this, _side(join)) for join in entry.args.get("joins") or ()]
        if _is_join_in_parentheses(entry):
            waiting[:0] = [(entry.this, side), *inside]
            continue
        yield entry, side
        waiting[:0] = inside


def _is_join_in_parentheses(entry: exp.Expr) -> bool:
    inner = entry
    while isinstance(inner, exp.Paren | exp.Subquery):
        inner = inner.this
    return inner is not entry and isinstance(inner, exp.Table)


def _side(join: exp.Expr) -> str:
    """The side of a join; its kind, if that decides which rows and columns there are."""
    for name in ("kind", "method"):
        if (kind := str(join.args.get(name) or "").upper()) in _KINDS:
            return kind
    return str(join.args.get("side") or "INNER").upper()


class Ctes:
    """The common table expressions of a query, each visible only if SQL allows."""

    def __init__(self, *, always_recursive: bool = False) -> None:
        """``always_recursive``: as in SQLite, which ignores the word RECURSIVE."""
        self._always_recursive = always_recursive
        self._named: dict[int, dict[str, tuple[int, exp.CTE]]] = {}

    def find(self, name: str, node: exp.Expr) -> exp.CTE | None:
        """The CTE that a table's name means at a node; None if it means a stored table."""
        name = name.lower()
        below, at = node, node.parent
        while at is not None:
            if isinstance(at, exp.With):
                # A CTE only sees those before it, unless they may be recursive.
                found = self._of(at).get(name)
                is_recursive = self._always_recursive or at.recursive
                if found is not None and (is_recursive or found[0] < self._place(at, below)):
                    return found[1]
                below, at = at, at.parent  # the outer query has no others of this WITH
                if at is None:
                    return None
            elif (with_ := at.args.get("with_") or at.args.get("with")) is not None and with_ is not below:
                found = self._of(with_).get(name)
                if found is not None:
                    return found[1]
            below, at = at, at.parent
        return None

    def _of(self, with_: exp.With) -> dict[str, tuple[int, exp.CTE]]:
        found = self._named.get(id(with_))
        if found is None:
            found = {cte.alias.lower(): (place, cte) for place, cte in enumerate(with_.expressions) if cte.alias}
            self._named[id(with_)] = found
        return found

    def _place(self, with_: exp.With, cte: exp.Expr) -> int:
        return self._of(with_).get(cte.alias.lower(), (0, None))[0]


def named_outputs(query: exp.Query, names: list[str]) -> list[tuple[str, exp.Expr]]:
    """The outputs of a subquery or CTE, each with its lower-case name; ``names`` are those of its alias."""
    outputs = query.selects
    if names and len(names) == len(outputs):
        return [(name.lower(), output) for name, output in zip(names, outputs, strict=True)]
    return [(output.alias_or_name.lower(), output) for output in outputs]
