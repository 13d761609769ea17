"""Read expressions into terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace
from sqlglot import exp

from assay.sql.algebra.literals import compared, negated, number
from assay.sql.algebra.model import FALSE, NULL, ONE, TRUE, Agg, Block, Call, Const, Sub, Term, columns_of
from assay.sql.algebra.reading_windows import read_window
from assay.sql.algebra.scope import Scope
from assay.sql.algebra.stopping import NotCovered

if TYPE_CHECKING:
    from assay.sql.algebra.model import Query

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
}
_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "sub",
    exp.Mul: "mul",
    exp.Div: "div",
    exp.Mod: "mod",
    exp.DPipe: "concat2",
}
_AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}
_FUNCTIONS = frozenset(
    [
        "abs",
        "round",
        "lower",
        "upper",
        "length",
        "substring",
        "trim",
        "concat",
        "coalesce",
        "nullif",
        "greatest",
        "least",
        "floor",
        "ceil",
        "sqrt",
        "pow",
        "ln",
        "log",
        "exp",
        "mod",
        "sign",
        "year",
        "month",
        "day",
        "extract",
        "datetrunc",
        "timestamptrunc",
        "dateadd",
        "datesub",
        "datediff",
        "date",
        "timetostr",
        "strtotime",
        "tsordstotimestamp",
        "tsordstodate",
        "replace",
        "left",
        "right",
        "strposition",
        "dayofweek",
        "quarter",
        "week",
        "reverse",
    ]
)
_NAMED = frozenset(
    [
        "julianday",
        "date",
        "time",
        "datetime",
        "strftime",
        "unixepoch",
        "instr",
        "hex",
        "ltrim",
        "rtrim",
        "printf",
        "likely",
        "abs",
    ]
)


_OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
_ROW_NUMBERS = frozenset({"rowid", "oid", "_rowid_"})
"""SQLite's names for a row's number, in double quotes too."""
_CHAINED = (
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.Is,
    exp.In,
    exp.Like,
    exp.ILike,
    exp.Glob,
    exp.Between,
)
"""Operators that engines bind as tightly as one another, and the parser does not."""


class TermReader:
    """Reads the expressions of one level; ``query`` reads a subquery in it."""

    def __init__(self, scope: Scope, query: Callable[[exp.Expr, Scope], Query], *, quotes_are_text: bool) -> None:
        self.scope = scope
        self.world = scope.world
        self._query = query
        self._quotes_are_text = quotes_are_text

    def read(self, node: exp.Expr) -> Term:
        """The term of an expression. Raises NotCovered with the construct that no rule speaks of."""
        kind = type(node)
        if isinstance(node, _CHAINED):
            _no_chain(node)
        if kind in _COMPARISONS:
            return self._comparison(node)
        if kind in _ARITHMETIC:
            return self._arithmetic(node)
        if kind in _AGGREGATES:
            return self._aggregate(node)
        reader = getattr(self, f"_read_{kind.__name__.lower()}", None)
        if reader is not None:
            found: Term = reader(node)
            return found
        if isinstance(node, exp.Func) and node.key in _FUNCTIONS:
            return self._function(node)
        raise NotCovered(_name(node))

    def conjuncts(self, node: exp.Expr | None) -> tuple[Term, ...]:
        """The conditions that a WHERE, ON or HAVING asks for."""
        if node is None:
            return ()
        if isinstance(node, exp.And):
            return tuple(self.read(part) for part in node.flatten())
        return (self.read(node),)

    def _comparison(self, node: exp.Expr) -> Term:
        left, right = node.this, node.args["expression"]
        op = _COMPARISONS[type(node)]
        if isinstance(right, exp.Any | exp.All):
            return self._quantified(op, left, right)
        if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
            if op != "eq" or len(left.expressions) != len(right.expressions):
                raise NotCovered("a comparison of rows")
            pairs = zip(left.expressions, right.expressions, strict=True)
            return Call("and", tuple(compared("eq", self.read(a), self.read(b), self.world) for a, b in pairs))
        return compared(op, self.read(left), self.read(right), self.world)

    def _quantified(self, op: str, left: exp.Expr, right: exp.Expr) -> Term:
        if not isinstance(right.this, exp.Query) or (isinstance(left, exp.Tuple) and op not in ("eq", "ne")):
            raise NotCovered("a comparison with ANY or ALL")
        if isinstance(right, exp.All):  # x > ALL (q) is NOT x <= ANY (q), NULLs included
            return Call("not", (self._in(left, right.this, _OPPOSITE[op]),))
        if isinstance(left, exp.Tuple) and op != "eq":
            raise NotCovered("a comparison of rows")
        return self._in(left, right.this, op)

    def _in(self, left: exp.Expr, query: exp.Expr, op: str = "eq") -> Term:
        items = left.expressions if isinstance(left, exp.Tuple) else [left]
        return Call(
            "in" if op == "eq" else f"in {op}",
            (*(self.read(item) for item in items), Sub("rows", self._query(query, self.scope))),
        )

    def _arithmetic(self, node: exp.Expr) -> Term:
        op = _ARITHMETIC[type(node)]
        sides = (node.this, node.args["expression"])
        for side in sides:
            mixed = isinstance(side, exp.DPipe) != isinstance(node, exp.DPipe)
            if mixed and type(side) in _ARITHMETIC:
                raise NotCovered("|| beside arithmetic")
            if isinstance(side, exp.Binary) and type(side) in _COMPARISONS:
                raise NotCovered("arithmetic on a comparison")
        return Call(op, tuple(self.read(side) for side in sides))

    def _aggregate(self, node: exp.Expr) -> Term:
        op = _AGGREGATES[type(node)]
        inner = node.this
        if node.args.get("expressions"):
            raise NotCovered(f"{op.upper()} of several values")
        if isinstance(inner, exp.Star) or inner is None:
            return Agg(op, ())
        distinct = isinstance(inner, exp.Distinct)
        if isinstance(inner, exp.Distinct):
            if len(inner.expressions) != 1 or inner.args.get("on"):
                raise NotCovered("DISTINCT over several values")
            inner = inner.expressions[0]
        if isinstance(inner, exp.Order | exp.Limit | exp.IgnoreNulls | exp.RespectNulls | exp.HavingMax):
            raise NotCovered("an ordered aggregate")
        value = self.read(inner)
        own = {col for entry in self.scope.entries for _, term in entry.columns for col in columns_of(term)}
        if (used := columns_of(value)) and not used & own:
            raise NotCovered("an aggregate of an outer query's columns")
        return Agg(op, (value,), distinct)

    def _function(self, node: exp.Expr) -> Term:
        op, args, left_out = node.key, [], False
        for name in node.arg_types:
            value = node.args.get(name)
            if value is None or value is False or value == []:
                left_out = True
                continue
            if left_out:  # SUBSTRING(x FOR 2) is not SUBSTRING(x, 2)
                op += f":{name}"
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, exp.Var | exp.DataType):
                    op += f":{name}={one.sql().lower()}"
                elif isinstance(one, exp.Expr):
                    args.append(self.read(one))
                else:
                    op += f":{name}={one}"
        return _timeless(Call(op, tuple(args)))

    def _read_anonymous(self, node: exp.Anonymous) -> Term:
        name = str(node.this).lower()
        if name not in _NAMED:
            raise NotCovered(f"the function {name}")
        return _timeless(Call(f"fn:{name}", tuple(self.read(arg) for arg in node.expressions)))

    def _read_filter(self, node: exp.Filter) -> Term:
        inner = self.read(node.this)
        if not isinstance(inner, Agg):
            raise NotCovered("FILTER on no aggregate")
        condition = self.read(node.expression.this)
        return Agg(inner.op, (Call("case", (condition, *(inner.args or (ONE,)), NULL)),), inner.distinct)

    def _read_window(self, node: exp.Window) -> Term:
        return read_window(node, self)

    def _read_column(self, node: exp.Column) -> Term:
        if node.args.get("db") or node.args.get("catalog") or isinstance(node.this, exp.Star):
            raise NotCovered("a column of another schema")
        found = self.scope.find(node.name, node.table)
        if found is not None:
            return found
        identifier = node.this
        if node.name.lower() in _ROW_NUMBERS:
            raise NotCovered("the number of a row")
        if self._quotes_are_text and not node.table and isinstance(identifier, exp.Identifier) and identifier.quoted:
            return Const("text", node.name)
        raise NotCovered(f"the column {node.sql()[:60]}, which is not in the schema")

    def _read_literal(self, node: exp.Literal) -> Term:
        return Const("text", node.name) if node.is_string else number(node.name)

    def _read_boolean(self, node: exp.Boolean) -> Term:
        if self.world.dialect == "sqlite":
            return Const("integer", "1" if node.this else "0")
        return TRUE if node.this else FALSE

    def _read_null(self, _: exp.Null) -> Term:
        return NULL

    def _read_paren(self, node: exp.Paren) -> Term:
        return self.read(node.this)

    def _read_neg(self, node: exp.Neg) -> Term:
        if isinstance(node.this, exp.DPipe):
            raise NotCovered("a minus before ||")
        inner = self.read(node.this)
        if isinstance(inner, Const) and inner.kind in ("integer", "real"):
            return negated(inner)
        return Call("neg", (inner,))

    def _read_and(self, node: exp.And) -> Term:
        return Call("and", tuple(self.read(part) for part in node.flatten()))

    def _read_or(self, node: exp.Or) -> Term:
        return Call("or", tuple(self.read(part) for part in node.flatten()))

    def _read_not(self, node: exp.Not) -> Term:
        return Call("not", (self.read(node.this),))

    def _read_is(self, node: exp.Is) -> Term:
        inner, other = node.this, node.expression
        if isinstance(other, exp.Null):
            return Call("isnull", (self.read(inner),))
        if isinstance(other, exp.Not) and isinstance(other.this, exp.Null):
            return Call("notnull", (self.read(inner),))
        if isinstance(other, exp.Boolean):
            return Call("istrue" if other.this else "isfalse", (self.read(inner),))
        return self._null_safe(node)

    def _read_nullsafeeq(self, node: exp.NullSafeEQ) -> Term:
        return self._null_safe(node)

    def _read_nullsafeneq(self, node: exp.NullSafeNEQ) -> Term:
        return Call("not", (self._null_safe(node),))

    def _null_safe(self, node: exp.Binary) -> Term:
        equal = compared("same", self.read(node.this), self.read(node.expression), self.world)
        assert isinstance(equal, Call)
        return Call("isnull", (equal.args[0],)) if equal.args[1] == NULL else equal

    def _read_between(self, node: exp.Between) -> Term:
        if node.args.get("symmetric"):
            raise NotCovered("BETWEEN SYMMETRIC")
        value, low, high = self.read(node.this), self.read(node.args["low"]), self.read(node.args["high"])
        return Call("and", (compared("le", low, value, self.world), compared("le", value, high, self.world)))

    def _read_in(self, node: exp.In) -> Term:
        if node.args.get("query"):
            return self._in(node.this, node.args["query"])
        if node.args.get("field") or node.args.get("unnest") or isinstance(node.this, exp.Tuple):
            raise NotCovered("IN over something else than a list or a query")
        if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Values):
            return self._in(node.this, node.expressions[0])
        value = self.read(node.this)
        items = [self.read(item) for item in node.expressions]
        for item in items:
            if not isinstance(item, Const) and not self.world.same_values(item, value):
                raise NotCovered("IN over a list of columns of other types")
        if not items:
            return FALSE
        equal = tuple(compared("eq", value, item, self.world) for item in items)
        return equal[0] if len(equal) == 1 else Call("or", equal)

    def _read_like(self, node: exp.Like) -> Term:
        return self._matched("like", node)

    def _read_ilike(self, node: exp.ILike) -> Term:
        return self._matched("ilike", node)

    def _read_glob(self, node: exp.Glob) -> Term:
        return self._matched("glob", node)

    def _matched(self, op: str, node: exp.Binary) -> Call:
        if isinstance(node.expression, exp.Any | exp.All) or node.args.get("negate"):
            raise NotCovered("LIKE with ANY or ALL")
        value, pattern = self.read(node.this), self.read(node.expression)
        escaped = isinstance(node.parent, exp.Escape)  # its letter is no other's
        folds = op == "ilike" or (op == "like" and self.world.dialect == "sqlite")
        if folds and not escaped and isinstance(pattern, Const) and pattern.text.isascii():
            pattern = Const(pattern.kind, pattern.text.lower())
        return Call(op, (value, pattern))

    def _read_escape(self, node: exp.Escape) -> Term:
        inner = self.read(node.this)
        assert isinstance(inner, Call)
        return Call(f"{inner.op}:escape", (*inner.args, self.read(node.expression)))

    def _read_case(self, node: exp.Case) -> Term:
        subject = None if node.this is None else self.read(node.this)
        parts: list[Term] = []
        for branch in node.args["ifs"]:
            condition = self.read(branch.this)
            parts.append(condition if subject is None else compared("eq", subject, condition, self.world))
            parts.append(self.read(branch.args["true"]))
        default = node.args.get("default")
        return Call("case", (*parts, NULL if default is None else self.read(default)))

    def _read_if(self, node: exp.If) -> Term:
        other = node.args.get("false")
        yes = self.read(node.args["true"])
        return Call("case", (self.read(node.this), yes, NULL if other is None else self.read(other)))

    def _read_cast(self, node: exp.Cast) -> Term:
        if node.args.get("format") or node.args.get("action"):
            raise NotCovered("CAST with a format")
        return Call(f"cast:{node.to.sql().lower()}", (self.read(node.this),))

    def _read_exists(self, node: exp.Exists) -> Term:
        return Sub("exists", self._query(node.this, self.scope))

    def _read_subquery(self, node: exp.Subquery) -> Term:
        if self.world.width(query := self._query(node, self.scope)) != 1:
            raise NotCovered("a subquery of several columns as a value")
        return self._one_value(query)

    def _read_select(self, node: exp.Select) -> Term:
        return self._one_value(self._query(node, self.scope))

    def _one_value(self, query: Query) -> Term:
        """A subquery that stands for one value. SQLite takes the first of several rows, which is any of them without
        ORDER BY; elsewhere several are an error.
        """
        if self.world.dialect == "sqlite" and isinstance(query, Block) and query.group != ():
            self.world.open_choice = self.world.open_choice or not query.cuts
            if query.order and query.limit is None:
                query = replace(query, limit=1)
        return Sub("scalar", query)


def _no_chain(node: exp.Expr) -> None:
    """Refuse `a = b IN (c)` and its like: engines read it from left to right, the parser does not."""
    for part in ("this", "expression", "low", "high"):
        if isinstance(node.args.get(part), (*_CHAINED, exp.Not, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Escape)):
            raise NotCovered("a chain of comparisons")


def _timeless(call: Call) -> Call:
    if any(isinstance(arg, Const) and arg.kind == "text" and arg.text.lower() == "now" for arg in call.args):
        raise NotCovered("the present time")
    if not call.args or (call.op == "fn:strftime" and len(call.args) < 2):
        raise NotCovered(f"{call.op} without arguments")
    return call


def _name(node: exp.Expr) -> str:
    if isinstance(node, exp.Func):
        return f"the function {node.sql_name().lower()}"
    return {"window": "a window function", "plus": "a plus sign"}.get(node.key, node.key)
