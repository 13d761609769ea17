"""Single clauses of a SELECT: limit, order, groups."""

from __future__ import annotations

from collections.abc import Sequence

from assay.sql.differences.parts import OrderTerm, Term
from assay.sql.differences.terms import Terms
from assay.sql.expressions import plain_text
from assay.sql.nodes import exp


def cut_of(tree: exp.Expr) -> tuple[str | None, str | None]:
    """The LIMIT and the OFFSET of a query, as text."""
    limit, offset = tree.args.get("limit"), tree.args.get("offset")
    cut = None
    if limit is not None:
        count = limit.args.get("expression") or limit.args.get("count")
        cut = plain_text(count if count is not None else limit)
    return cut, plain_text(offset.expression) if offset is not None else None


def order_of(tree: exp.Expr, terms: Terms, outputs: Sequence[exp.Expr]) -> tuple[OrderTerm, ...]:
    order = tree.args.get("order")
    return tuple(
        OrderTerm(term=terms.read(meant(key.this, outputs)), descending=bool(key.args.get("desc")))
        for key in (order.expressions if order else ())
        if key.key == "ordered"
    )


def keys_of_group(group: exp.Expr | None, outputs: Sequence[exp.Expr]) -> Sequence[exp.Expr]:
    """The keys of a GROUP BY; for GROUP BY ALL, the outputs without aggregates."""
    if group is None:
        return ()
    if group.args.get("all") and not group.expressions:
        return [one for one in outputs if next(iter(one.find_all(exp.AggFunc)), None) is None]
    keys: Sequence[exp.Expr] = group.expressions
    return keys


def meant(key: exp.Expr, outputs: Sequence[exp.Expr]) -> exp.Expr:
    """What a key of GROUP BY or ORDER BY stands for: an output by its number, or the expression itself."""
    if isinstance(key, exp.Literal) and not key.is_string and key.name.isdigit():
        place = int(key.name) - 1
        return outputs[place] if 0 <= place < len(outputs) else key
    return key


def once(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The terms without duplicates."""
    return tuple({term.text: term for term in terms}.values())
