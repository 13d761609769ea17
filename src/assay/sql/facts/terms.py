"""Expressions of a query as `Term`s: what each is, which columns it uses, what type it has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from assay.sql.facts.model import ColumnRef, Place, Term
from assay.sql.facts.scopes import Scopes, place_of
from assay.sql.schema_names import TypeFamily, type_family

if TYPE_CHECKING:
    from sqlglot import exp

_SHOWN = 120
_DEEPEST = 60
_MOST_PARTS = 300


class Terms:
    """Reads expressions of one query."""

    def __init__(self, scopes: Scopes, query: str, dialect: str) -> None:
        self.scopes = scopes
        self.query = query
        self.dialect = dialect

    def term(self, node: exp.Expr) -> Term:
        """One expression."""
        from sqlglot import exp

        node = inside(node)
        place = place_of(node)
        if _is_large(node):
            text = "" if place is None else " ".join(self.query[place.start : place.end].split())[:_SHOWN]
            return Term(kind="subquery" if isinstance(node, exp.Query) else "computed", text=text, place=place)
        text = self._text(node, place)
        if isinstance(node, exp.Column) and not node.is_star:
            ref = self.scopes.column(node)
            if ref is None:
                return Term(kind="literal", text=text, value=node.name, type="text", place=place)
            kind = ref.type if ref.table is not None else self.type_of(node)
            extreme = ref.table is None and self._is_extreme(self.scopes.behind(node), 1)
            return Term(
                kind="column",
                text=text,
                column=ref,
                columns=(ref,),
                bare=(ref,),
                extreme=extreme,
                type=kind,
                place=place,
            )
        if (literal := self._literal(node, text, place)) is not None:
            return literal
        if isinstance(node, exp.Query):
            return Term(kind="subquery", text=text, type=self.type_of(node), place=place)
        if node.is_star and not isinstance(node, exp.AggFunc):
            return Term(kind="star", text=text, place=place)
        columns, bare, aggregated, windowed = self._uses(node)
        return Term(
            kind="aggregate" if isinstance(node, exp.AggFunc) else "computed",
            text=text,
            columns=columns,
            bare=bare,
            aggregated=aggregated,
            windowed=windowed,
            extreme=self._is_extreme(node),
            type=self.type_of(node),
            place=place,
        )

    def _is_extreme(self, node: exp.Expr | None, depth: int = 0) -> bool:
        from sqlglot import exp

        while isinstance(node, exp.Window | exp.Filter | exp.Alias | exp.Paren | exp.Coalesce | exp.Cast):
            node = node.this
        if node is None or depth > _DEEPEST:
            return False
        if isinstance(node, exp.Min | exp.Max | exp.FirstValue):
            return True
        select = node.find_ancestor(exp.Select) if depth else None
        limit = None if select is None else select.args.get("limit")
        if select is not None and limit is not None and select.args.get("order") is not None:
            return True
        if isinstance(node, exp.Column):
            return self._is_extreme(self.scopes.behind(node), depth + 1)
        return False

    def _literal(self, node: exp.Expr, text: str, place: Place | None) -> Term | None:
        from sqlglot import exp

        if isinstance(node, exp.Literal):
            number = not node.is_string
            return Term(
                kind="literal", text=text, value=node.name, is_number=number, type=self.type_of(node), place=place
            )
        if isinstance(node, exp.Null):
            return Term(kind="null", text="NULL", place=place)
        if isinstance(node, exp.Neg) and isinstance(inside(node.this), exp.Literal):
            value = f"-{inside(node.this).name}"
            return Term(
                kind="literal", text=text, value=value, is_number=True, type=self.type_of(node.this), place=place
            )
        return None

    def _text(self, node: exp.Expr, place: Place | None) -> str:
        if place is not None:
            written = " ".join(self.query[place.start : place.end].split())
            if node.key in ("column", "literal", "identifier"):
                return written[:_SHOWN]
        try:
            return node.sql(dialect=self.dialect)[:_SHOWN]
        except Exception:  # noqa: BLE001 - a generator's own trouble with a rare node: the text is only shown
            return "" if place is None else written[:_SHOWN]

    def _uses(self, node: exp.Expr) -> tuple[tuple[ColumnRef, ...], tuple[ColumnRef, ...], bool, bool]:
        from sqlglot import exp

        columns: list[ColumnRef] = []
        bare: list[ColumnRef] = []
        aggregated = windowed = False
        pending: list[tuple[exp.Expr, bool]] = [(node, False)]
        while pending:
            one, covered = pending.pop()
            if isinstance(one, exp.Query):
                continue
            if isinstance(one, exp.Window):
                windowed = covered = True
            elif isinstance(one, exp.AggFunc | exp.WithinGroup):
                aggregated = aggregated or not covered
                covered = True
            elif isinstance(one, exp.Column) and not one.is_star:
                ref = self.scopes.column(one)
                if ref is not None:
                    columns.append(ref)
                    if not covered:
                        bare.append(ref)
                continue
            pending += [(child, covered) for child in one.iter_expressions()]
        return tuple(columns[::-1]), tuple(bare[::-1]), aggregated, windowed

    def type_of(self, node: exp.Expr, depth: int = 0) -> TypeFamily | None:
        """The kind of values that an expression gives; None where that cannot be told."""
        from sqlglot import exp

        node = inside(node)
        if depth > _DEEPEST or (not depth and _is_large(node)):
            return None
        if isinstance(node, exp.Literal):
            return "text" if node.is_string else "integer" if node.is_int else "real"
        if isinstance(node, exp.Column):
            ref = self.scopes.column(node)
            if ref is not None and ref.table is None and (behind := self.scopes.behind(node)) is not None:
                return self.type_of(behind, depth + 1)
            return "text" if ref is None else ref.type
        if isinstance(node, exp.Filter | exp.Window):
            return self.type_of(node.this, depth + 1)
        if isinstance(node, exp.Cast):
            return type_family(node.to.sql())
        if isinstance(node, exp.Count | exp.Length | exp.CountIf):
            return "integer"
        if isinstance(node, exp.Avg):
            return "integer" if self.dialect == "tsql" and self.type_of(node.this, depth + 1) == "integer" else "real"
        if isinstance(node, exp.Sum | exp.Max | exp.Min | exp.Abs | exp.Neg):
            return self.type_of(node.this, depth + 1)
        if isinstance(node, exp.Predicate | exp.Connector):
            return "integer"
        if isinstance(node, exp.Select):
            return self.type_of(node.selects[0].unalias(), depth + 1) if len(node.selects) == 1 else None
        return self._type_of_parts(node, depth)

    def _type_of_parts(self, node: exp.Expr, depth: int) -> TypeFamily | None:
        from sqlglot import exp

        parts: list[exp.Expr | None]
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod):
            parts = [node.this, node.expression]
        elif isinstance(node, exp.Case):
            parts = [one.args.get("true") for one in node.args.get("ifs") or ()] + [node.args.get("default")]
        elif isinstance(node, exp.If):
            parts = [node.args.get("true"), node.args.get("false")]
        elif isinstance(node, exp.Coalesce):
            parts = [node.this, *node.expressions]
        else:
            return None
        kinds = {self.type_of(one, depth + 1) for one in parts if one is not None and not isinstance(one, exp.Null)}
        if "real" in kinds and isinstance(node, exp.Binary):
            return "real"
        return kinds.pop() if len(kinds) == 1 else None

    def literals(self, tree: exp.Expr) -> Iterator[Term]:
        """Every text and number, in the order of the text; those of LIMIT and OFFSET left out."""
        from sqlglot import exp

        found = []
        for node in tree.walk(prune=lambda one: isinstance(one, exp.Limit | exp.Offset | exp.Fetch | exp.DataType)):
            if isinstance(node, exp.Literal) or (isinstance(node, exp.Column) and self.scopes.column(node) is None):
                found.append(self.term(node))
        return iter(sorted(found, key=lambda term: -1 if term.place is None else term.place.start))


def _is_large(node: exp.Expr) -> bool:
    """Whether an expression has so many parts that reading it at each of its own parts would take long."""
    return next(islice(node.walk(), _MOST_PARTS, None), None) is not None


def inside(node: exp.Expr) -> exp.Expr:
    """The expression without parentheses around it, and without an alias."""
    from sqlglot import exp

    while isinstance(node, exp.Paren | exp.Alias) or (isinstance(node, exp.Subquery) and not node.alias):
        node = node.this
    return node
