"""Clauses between those of a prediction and those of the gold query: `Mixture`.

A repair replaces whole clauses. If the prediction has ``ORDER BY CAST(age AS REAL) DESC`` and the gold query
``ORDER BY age``, it removes DESC and the cast. These are two edits. A mixture omits some of them:
``ORDER BY CAST(age AS REAL)`` is correct, too, so only the direction was wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from assay.sql.nodes import exp

Value = Any
"""The value of an argument of a node: a node, a list or a scalar."""

_ATOMS = frozenset({"column", "identifier", "literal", "star", "anonymous", "datatype", "table", "from"})
"""Nodes that are replaced as a whole."""
_CONTAINERS = frozenset({"order", "ordered", "group", "select", "subquery", "in", "exists", "not", "paren"})
"""Nodes that hold terms: they are mixed whatever their columns are."""
_BAGS = {"select": "expressions", "group": "expressions"}
"""Lists whose elements correspond by their text rather than by position."""


class Mixture:
    """Mixes values of two trees: the gold query's, but the prediction's for the edits that are ``omitted``.

    Edits are numbered in the order in which they occur; ``count`` is their number after mixing. Neither tree changes.
    """

    def __init__(self, omitted: frozenset[int] = frozenset()) -> None:
        self._omitted = omitted
        self.count = 0

    def of(self, gold: Value, predicted: Value) -> Value:
        """The mixture of two values."""
        if (gold or None) == (predicted or None) or _is_same_column(gold, predicted):
            return gold
        if not isinstance(gold, exp.Expr) or not isinstance(predicted, exp.Expr):
            return self._chosen(gold, predicted)
        if gold.key == "alias" or predicted.key == "alias":  # the name of an output does not matter
            mixed = self.of(gold.unalias(), predicted.unalias())
            return _with(gold, this=mixed) if gold.key == "alias" else mixed
        if gold.key in ("where", "having") and gold.key == predicted.key:
            mixed = self._condition(gold.this, predicted.this)
            return None if mixed is None else _with(gold, this=mixed)
        if isinstance(gold, exp.And | exp.Or) and isinstance(predicted, exp.And | exp.Or):
            return self._condition(gold, predicted)
        if _is_another(gold, predicted):
            return self._chosen(gold, predicted)
        if type(gold) is type(predicted):
            return self._node(gold, predicted)
        if _has_operands_of(gold, predicted):
            chosen = self._chosen(type(gold), type(predicted))
            mixed = chosen(this=self.of(gold.this, predicted.this))
            if isinstance(gold, exp.Binary):
                mixed.args["expression"] = self.of(gold.expression, predicted.expression)
            return mixed
        if _wraps(predicted):
            inner = self.of(gold, predicted.this)
            return self._chosen(inner, _with(predicted, this=inner))
        if _wraps(gold):
            inner = self.of(gold.this, predicted)
            return self._chosen(_with(gold, this=inner), inner)
        return self._chosen(gold, predicted)

    def joins(self, gold: Sequence[exp.Expr], predicted: Sequence[exp.Expr]) -> list[exp.Expr]:
        """The mixture of the joins of the same tables."""
        return [
            _with(
                self._node(left, _with(right, this=left.this, on=left.args.get("on"))),
                on=self._condition(left.args.get("on"), right.args.get("on")),
            )
            for left, right in zip(gold, predicted, strict=True)
        ]

    def _chosen(self, gold: Value, predicted: Value) -> Value:
        """One edit: the gold query's value, or the prediction's if the edit is omitted."""
        number, self.count = self.count, self.count + 1
        return predicted if number in self._omitted else gold

    def _node(self, gold: exp.Expr, predicted: exp.Expr) -> Value:
        """The mixture of two nodes of one type, argument by argument."""
        names = list({**gold.args, **predicted.args})
        pairs = {name: (gold.args.get(name) or None, predicted.args.get(name) or None) for name in names}
        differing = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
        if not differing:
            return gold
        is_bag = gold.key in _BAGS or gold.key == "order"
        lists = [pair for pair in differing.values() if any(isinstance(side, list) for side in pair)]
        if gold.key in _ATOMS or (isinstance(gold, exp.Query) and _entries(gold) != _entries(predicted)):
            return self._chosen(gold, predicted)
        if not is_bag and any(len(left or ()) != len(right or ()) for left, right in lists):
            return self._chosen(gold, predicted)
        mixed = _with(gold)
        scalars = [name for name, pair in differing.items() if not any(isinstance(s, (exp.Expr, list)) for s in pair)]
        if scalars:  # for example DESC and the order of NULLs that it implies
            chosen = self._chosen(gold, predicted)
            mixed.args.update((name, chosen.args.get(name)) for name in scalars)
        for name, (left, right) in differing.items():
            if name in scalars:
                continue
            if isinstance(left or right, list):
                mixed.args[name] = self.elements(left or [], right or [], by_text=_BAGS.get(gold.key) == name)
            else:
                mixed.args[name] = self.of(left, right)
        return None if gold.key in ("order", "group") and not mixed.expressions else mixed

    def elements(self, gold: Sequence[exp.Expr], predicted: Sequence[exp.Expr], *, by_text: bool) -> list[exp.Expr]:
        """The mixture of two lists. Elements that only one of them has are one edit each."""
        partners, others = dict(enumerate(predicted[: len(gold)])), list(predicted[len(gold) :])
        if by_text:
            partners, others = _partners(gold, predicted, (*_CORRESPOND, _is_similar))
        mixed = [self.of(element, partners.get(index)) for index, element in enumerate(gold)]
        mixed += [self._chosen(None, other) for other in others]
        return [element for element in mixed if element is not None]

    def _condition(self, gold: exp.Expr | None, predicted: exp.Expr | None) -> Value:
        """The mixture of two conditions, each of which may combine several by AND or OR.

        ``a OR b`` and ``a AND b AND c`` differ in the connective of ``a`` and ``b``, and in ``c``.
        """
        if gold is None or predicted is None:
            return self._chosen(gold, predicted)
        kinds = [exp.Or if isinstance(side, exp.Or) else exp.And for side in (gold, predicted)]
        sides = [_operands(side, kind) for side, kind in zip((gold, predicted), kinds, strict=True)]
        if kinds[0] is not kinds[1]:
            partners, others = _partners(sides[0], sides[1], _CORRESPOND)
            if len(partners) == len(sides[0]) and (not others or kinds[1] is exp.And):
                connective = self._chosen(*kinds)
                core = _combined(connective, [self.of(left, partners[index]) for index, left in enumerate(sides[0])])
                return _combined(exp.And, [*filter(None, [core]), *self.elements((), others, by_text=True)])
            kinds, sides = [exp.And], [_operands(side, exp.And) for side in (gold, predicted)]
        grouped = [_grouped(side, other) for side, other in (sides, reversed(sides))]
        return _combined(kinds[0], self.elements(*grouped, by_text=True))


def _with(node: exp.Expr, **args: Value) -> exp.Expr:
    """The node with other arguments."""
    other = type(node)()
    other.args = {**node.args, **args}
    return other


def _is_same_column(gold: Value, predicted: Value) -> bool:
    """Whether two columns differ at most in the case of their names, or in that one has no table."""
    if not isinstance(gold, exp.Column) or not isinstance(predicted, exp.Column):
        return False
    tables = {column.table.lower() for column in (gold, predicted)} - {""}
    return bool(gold.name.lower() == predicted.name.lower()) and len(tables) < 2


def _is_another(gold: exp.Expr, predicted: exp.Expr) -> bool:
    """Whether a comparison or a function of other columns is another one as a whole: more than one operand differs."""
    if gold.key in _CONTAINERS or _columns(gold) == _columns(predicted):
        return False
    if type(gold) is not type(predicted):
        return not _wraps(gold) and not _wraps(predicted)
    names = {*gold.args, *predicted.args}
    differing = [name for name in names if (gold.args.get(name) or None) != (predicted.args.get(name) or None)]
    return len(differing) > 1


def _partners(
    gold: Sequence[exp.Expr], predicted: Sequence[exp.Expr], tests: Sequence[Callable[[exp.Expr, exp.Expr], bool]]
) -> tuple[dict[int, exp.Expr], list[exp.Expr]]:
    """The elements of the prediction by the index of the gold query's that they correspond to, and the others."""
    partners: dict[int, exp.Expr] = {}
    others = list(predicted)
    for test in tests:
        for index in (index for index in range(len(gold)) if index not in partners):
            partner = next((other for other in others if test(gold[index], other)), None)
            if partner is not None:
                partners[index] = partner
                others = [other for other in others if other is not partner]
    return partners, others


def _same_text(gold: exp.Expr, predicted: exp.Expr) -> bool:
    left, right = gold.unalias(), predicted.unalias()
    return bool(left == right) or _is_same_column(left, right)


def _same_columns_and_literals(gold: exp.Expr, predicted: exp.Expr) -> bool:
    return _columns(gold) == _columns(predicted) and _literals(gold) == _literals(predicted)


def _shares_column(gold: exp.Expr, predicted: exp.Expr) -> bool:
    return bool(_columns(gold) & _columns(predicted))


def _same_literals(gold: exp.Expr, predicted: exp.Expr) -> bool:
    return bool(_literals(gold)) and _literals(gold) == _literals(predicted)


_CORRESPOND = (_same_text, _same_columns_and_literals, _shares_column, _same_literals)


def _is_similar(gold: exp.Expr, predicted: exp.Expr) -> bool:
    """Whether one may stand for the other: not a comparison for a subquery or a test for NULL."""
    left, right = (
        (node.find(exp.Is) is not None, node.find(exp.Query) is not None, isinstance(node, exp.Condition))
        for node in (gold, predicted)
    )
    return left == right


def _columns(node: exp.Expr) -> set[str]:
    return {column.name.lower() for column in node.find_all(exp.Column)}


def _literals(node: exp.Expr) -> set[str]:
    return {literal.name for literal in node.find_all(exp.Literal)}


def _operands(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """The conditions that a chain of AND or of OR combines."""
    waiting, operands = [node], []
    while waiting:
        condition = waiting.pop()
        inner = condition.unnest()
        if type(inner) is kind:
            waiting += [inner.expression, inner.this]
        else:
            operands.append(condition)
    return operands


def _grouped(operands: Sequence[exp.Expr], others: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The conditions ``a, b, c`` as ``a AND b, c`` if one of the others is ``a OR b``."""
    grouped = list(operands)
    for other in others:
        alternatives = _operands(other, exp.Or)
        partners, rest = _partners(alternatives, grouped, (_same_text, _same_columns_and_literals))
        if 1 < len(partners) == len(alternatives):
            grouped = [*rest, exp.and_(*partners.values(), copy=False, wrap=False)]
    return grouped


def _combined(kind: type[exp.Expr], operands: Sequence[exp.Expr]) -> exp.Expr | None:
    """The chain of AND or OR of these conditions; None if there are none."""
    if len(operands) < 2:
        return operands[0] if operands else None
    whole, *others = (exp.Paren(this=term) if isinstance(term, exp.And | exp.Or) else term for term in operands)
    for term in others:
        whole = kind(this=whole, expression=term)
    return whole


def _has_operands_of(gold: exp.Expr, predicted: exp.Expr) -> bool:
    """Whether two operators or aggregates take the same arguments, for example ``a < b`` and ``c >= d``."""
    kinds = (exp.Binary, exp.AggFunc)
    alike = any(isinstance(gold, kind) and isinstance(predicted, kind) for kind in kinds)
    return alike and all(set(_filled(node)) <= {"this", "expression", "big_int"} for node in (gold, predicted))


def _filled(node: exp.Expr) -> dict[str, Value]:
    """The arguments that are not empty."""
    return {name: value for name, value in node.args.items() if value}


def _wraps(node: exp.Expr) -> bool:
    """Whether a node computes a value from one other value."""
    is_scalar = isinstance(node, exp.Func | exp.Paren) and not isinstance(node, exp.AggFunc | exp.Connector | exp.Case)
    return is_scalar and isinstance(node.args.get("this"), exp.Expr)


def _entries(query: exp.Expr) -> list[tuple[str, str]]:
    """The tables that a query reads, with their aliases."""
    return [(table.name.lower(), table.alias_or_name.lower()) for table in query.find_all(exp.Table)]
