"""What a key of ORDER BY stands for: an output, an expression, or something that only the engine knows.

Every engine reads a whole key that is an output's alias as that output, and an integer as an output's position, in
parentheses or not. Within a larger expression a name is a column if there is one; otherwise some engines use the alias.
Keys that engines read differently, for example ``+1``, ``name COLLATE c`` and an alias given twice, are not read. The
table of tests/sql/test_order_keys.py runs each rule on the engines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from sqlglot import exp

    from assay.sql.query import Query


class OrderKey(Struct, frozen=True, kw_only=True):
    """One key of an ORDER BY."""

    node: exp.Ordered
    term: exp.Expr
    """What it orders by, without the parentheses around it."""
    output: int | None = None
    """The output that the whole key stands for, from 0; None if it is an expression of its own."""
    is_unread: bool = False
    """Engines differ in what it stands for."""

    def column(self, outputs: Sequence[exp.Expr]) -> int | None:
        """The output that contains the key's values, as such or as the same expression; None if none certainly does."""
        from sqlglot import exp

        if self.is_unread or self.term.find(exp.Collate):
            return None
        star = next((place for place, output in enumerate(outputs) if output.is_star), len(outputs))
        if self.output is not None:
            return self.output if self.output < star else None
        if star < len(outputs):
            return None
        if isinstance(self.term, exp.Column) and not self.term.table:
            # If several outputs had a column of this name, the engine would reject the key as ambiguous.
            name = self.term.name.lower()
            same = [
                place
                for place, output in enumerate(outputs)
                if isinstance(output, exp.Column) and output.name.lower() == name
            ]
            return same[0] if len(same) == 1 else None
        return next((place for place, output in enumerate(outputs) if output.unalias() == self.term), None)

    def readings(self, query: Query, outputs: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
        """The key for a window among the outputs, which sees no alias: in each possible meaning.

        First with all names as columns, then with aliases if there are any of that name: the first one that the engine
        can execute is correct. None if one cannot be written.
        """
        from sqlglot import exp

        if self.output is not None:
            if not any(output.is_star for output in outputs[: self.output + 1]):
                key = self.node.copy()
                output = outputs[self.output].unalias().copy()
                key.set("this", output if isinstance(output, exp.Column) else exp.Paren(this=output))
                yield key
            return
        if self.is_unread:
            return
        yield self._reading(query, outputs, takes_aliases=False)
        if self._names(query, outputs):
            yield self._reading(query, outputs, takes_aliases=True)

    def _names(self, query: Query, outputs: Sequence[exp.Expr]) -> dict[int, exp.Expr]:
        """The outputs that names in the key may stand for, by the number of the name's node."""
        from sqlglot import exp

        aliases = {output.alias.lower(): output.unalias() for output in outputs if isinstance(output, exp.Alias)}
        return {
            number: aliases[node.name.lower()]
            for number, node in enumerate(list(self.node.walk()))
            if isinstance(node, exp.Column) and not node.table and node.name.lower() in aliases
            if query.meaning(node).source is None
        }

    def _reading(self, query: Query, outputs: Sequence[exp.Expr], *, takes_aliases: bool) -> exp.Expr:
        from sqlglot import exp

        key = self.node.copy()
        nodes = list(key.walk())
        for number, output in self._names(query, outputs).items():
            name = nodes[number].name
            if takes_aliases:
                nodes[number].replace(exp.Paren(this=output.copy()))
            elif query.dialect == "sqlite" and name.isidentifier():
                # A quoted name that is not a column would be a text.
                nodes[number].set("this", exp.to_identifier(name, quoted=False))
        return key


def read_key(query: Query, key: exp.Ordered, outputs: Sequence[exp.Expr]) -> OrderKey:
    """Read one key of a query's ORDER BY; ``outputs`` are the query's."""
    from sqlglot import exp

    term = _without_parentheses(key.this)
    inner = term
    while isinstance(inner, exp.Paren | exp.Collate | exp.Introducer):
        inner = inner.expression if isinstance(inner, exp.Introducer) else inner.this
    if isinstance(inner, exp.Literal):
        place = int(inner.name) - 1 if inner.is_int else -1
        is_place = inner is term and 0 <= place < len(outputs)
        return OrderKey(node=key, term=term, output=place if is_place else None, is_unread=not is_place)
    if isinstance(inner, exp.Column) and not inner.table:
        alike = [place for place, output in enumerate(outputs) if output.alias.lower() == inner.name.lower()]
        if alike:
            is_spelled_alike = outputs[alike[0]].alias == inner.name or not inner.this.quoted
            is_sure = inner is term and len(alike) == 1 and is_spelled_alike
            return OrderKey(node=key, term=term, output=alike[0] if is_sure else None, is_unread=not is_sure)
        named = [place for place, output in enumerate(outputs) if output.alias_or_name.lower() == inner.name.lower()]
        if inner is term and len(named) == 1 and query.meaning(inner).output is outputs[named[0]].unalias():
            return OrderKey(node=key, term=term, output=named[0])
    return OrderKey(node=key, term=term, is_unread=term.find(exp.Column, exp.Func, exp.Query) is None)


def _without_parentheses(term: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    while isinstance(term, exp.Paren):
        term = term.this
    return term
