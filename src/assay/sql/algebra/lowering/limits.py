"""What prevents lowering a query: its size, options of constructs, and constructs that the parser reads incorrectly."""

from __future__ import annotations

from collections.abc import Mapping

import sqlglot
from sqlglot import exp

from assay.sql.algebra.stopping import UnsupportedSQL

MOST_LEVELS = 60
"""A query with more nested expressions is not lowered: terms are compared recursively."""
MOST_CONDITIONS = 400
MOST_PARTS = 4_000
"""Limit for the query's tree. The time of many rules grows with the square of the number of conditions, or of outputs.
"""

_ENDING = ("order", "limit", "offset", "with_")
_SELECT = ("hint", "distinct", "expressions", "from_", "joins", "where", "group", "having", "windows", "qualify")
_LOWERED_PARTS: Mapping[str, tuple[str, ...]] = {
    "select": (*_SELECT, "operation_modifiers", *_ENDING),
    **dict.fromkeys(("union", "intersect", "except"), ("this", "expression", "distinct", *_ENDING)),
    "values": ("expressions", "alias"),
    "table": ("this", "alias", "db", "catalog", "joins", "hints", "indexed"),
    "subquery": ("this", "alias", "joins", *_ENDING),
    "join": ("this", "on", "side", "kind", "using", "method", "hint"),
    "group": ("expressions",),
    "distinct": ("expressions",),
    "ordered": ("this", "desc", "nulls_first"),
    "limit": ("expression", "offset"),
    "star": (),
    "column": ("this", "table"),
    "cast": ("this", "to"),
    "between": ("this", "low", "high"),
    "in": ("this", "expressions", "query"),
    **dict.fromkeys(("like", "ilike", "glob"), ("this", "expression")),
    **dict.fromkeys(("count", "min", "max", "sum", "avg"), ("this", "big_int")),
    "window": ("this", "partition_by", "order", "spec", "alias", "over"),
    "windowspec": ("kind", "start", "start_side", "end", "end_side"),
}
"""The arguments that are lowered, for constructs that have others."""
_CONNECTIVES = (exp.And, exp.Or, exp.SetOperation)
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe)
PATTERNS = (exp.Like, exp.ILike, exp.Glob)
_CHAINED = (*COMPARISONS, *PATTERNS, exp.Is, exp.In, exp.Between)
"""Operators that have equal precedence in engines but not in the parser."""
_CHAINS = (*_CHAINED, exp.Not, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Escape)
_ENDS = frozenset({"VAR", "IDENTIFIER", "NUMBER", "STRING", "R_PAREN", "END", "NULL"})


def check_limits(root: exp.Expr) -> None:
    """Refuse queries that are long, deeply nested, or not lowered completely. Raises NotCovered.

    Chains of one connective count as one level.
    """
    stack, conditions, parts = [(root, 0)], 0, 0
    while stack:
        node, depth = stack.pop()
        parts += 1
        if depth > MOST_LEVELS:
            raise UnsupportedSQL(f"expressions nested more than {MOST_LEVELS} levels deep")
        conditions += isinstance(node, exp.Predicate | exp.Join)
        _check_parts(node)
        for child in node.iter_expressions():
            chained = isinstance(node, _CONNECTIVES) and type(child) is type(node)
            stack.append((child, depth if chained else depth + 1))
    if parts > MOST_PARTS:
        raise UnsupportedSQL(f"more than {MOST_PARTS:,} parts")
    if conditions > MOST_CONDITIONS:
        raise UnsupportedSQL(f"more than {MOST_CONDITIONS} conditions and joins")


def _check_parts(node: exp.Expr) -> None:
    """Refuse arguments that are not lowered, and chains that engines read from left to right but the parser
    does not."""
    lowered = _LOWERED_PARTS.get(node.key, node.args)
    for part, value in node.args.items():
        if value and part not in lowered:
            name = {"group": "GROUP BY", "star": "*"}.get(node.key, node.key.upper())
            raise UnsupportedSQL(f"{name} with {part.strip('_').replace('_', ' ').upper()}")
    sides = [node.args.get(part) for part in ("this", "expression", "low", "high")]
    if isinstance(node, _CHAINED) and any(isinstance(side, _CHAINS) for side in sides):
        raise UnsupportedSQL("a chain of comparisons")
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.DPipe):
        raise UnsupportedSQL("a minus before ||")
    for side in sides if isinstance(node, ARITHMETIC) else ():
        if isinstance(side, ARITHMETIC) and isinstance(side, exp.DPipe) != isinstance(node, exp.DPipe):
            raise UnsupportedSQL("|| mixed with arithmetic")
        if isinstance(side, COMPARISONS):
            raise UnsupportedSQL("arithmetic on a comparison")


def check_signs(text: str) -> None:
    """Refuse a unary plus: in SQLite, it removes the column's type, and the parser drops the sign."""
    before = ""
    for token in sqlglot.tokenize(text, dialect="sqlite"):
        if token.token_type.name == "PLUS" and before not in _ENDS:
            raise UnsupportedSQL("a plus sign")
        before = token.token_type.name
