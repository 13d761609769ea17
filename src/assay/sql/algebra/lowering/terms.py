"""Lower expressions into terms."""

from __future__ import annotations

from msgspec.structs import replace
from sqlglot import exp

from assay.sql.algebra.literals import compared, negated, number
from assay.sql.algebra.lowering.limits import ARITHMETIC, COMPARISONS, PATTERNS
from assay.sql.algebra.lowering.windows import grouping_sets, lower_window
from assay.sql.algebra.model import FALSE, NULL, ONE, TRUE, Agg, Block, Call, Const, Query, Sub, Term
from assay.sql.algebra.stopping import UnsupportedSQL
from assay.sql.algebra.world import SchemaContext

_AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_OPERATORS = {"neq": "ne", "lte": "le", "gte": "ge", "dpipe": "concat2"}
"""Functions that sqlglot names differently."""
_OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
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


class LowersTerms:
    """Lowers expressions. Subclasses resolve columns and nested queries."""

    def __init__(self, world: SchemaContext) -> None:
        self.world = world

    def column(self, node: exp.Column) -> Term:
        """What a column's name means. Raises NotCovered."""
        raise NotImplementedError

    def query(self, node: exp.Expr, *, joined: bool = False) -> tuple[Query, list[str]]:  # noqa: ARG002
        """A query and the names of its outputs; with ``joined``, joins may follow it. Raises NotCovered."""
        raise UnsupportedSQL(node.key)

    def is_of_outer_query(self, node: exp.Expr, value: Term) -> bool:  # noqa: ARG002
        """Whether an aggregate's value only names columns of an outer query."""
        return False

    def conjuncts(self, node: exp.Expr | None) -> tuple[Term, ...]:
        """The conditions of a WHERE, ON or HAVING."""
        if node is None:
            return ()
        if isinstance(node, exp.Where | exp.Having | exp.Qualify):
            node = node.this
        return tuple(self.term(part) for part in (node.flatten() if isinstance(node, exp.And) else (node,)))

    def term(self, node: exp.Expr) -> Term:
        """The term of an expression. Raises NotCovered with the construct that no rule covers."""
        match node:
            case exp.Column():
                return self.column(node)
            case exp.Literal():
                return Const("text", node.name) if node.is_string else number(node.name)
            case exp.Null():
                return NULL
            case exp.Boolean() if self.world.dialect == "sqlite":
                return Const("integer", "1" if node.this else "0")
            case exp.Boolean():
                return TRUE if node.this else FALSE
            case exp.Paren():
                return self.term(node.this)
            case exp.And() | exp.Or():
                return Call(node.key, tuple(self.term(part) for part in node.flatten()))
            case exp.Not():
                return Call("not", (self.term(node.this),))
            case exp.NullSafeEQ():
                return self._null_safe(node)
            case exp.NullSafeNEQ():
                return Call("not", (self._null_safe(node),))
            case exp.Exists():
                return Sub("exists", self.query(node.this)[0])
            case exp.Select() | exp.Subquery():
                return self._value(node)
            case exp.Window():
                return lower_window(node, self.term)
        if isinstance(node, COMPARISONS):
            return self._comparison(node)
        if isinstance(node, ARITHMETIC):
            return self._arithmetic(node)
        if isinstance(node, _AGGREGATES):
            return self._aggregate(node)
        if isinstance(node, PATTERNS):
            return self._pattern(node)
        special = getattr(self, f"_lower_{node.key}", None)
        if special is not None:
            found: Term = special(node)
            return found
        if isinstance(node, exp.Func) and node.key in _FUNCTIONS:
            return self._function(node)
        raise UnsupportedSQL(f"the function {node.sql_name().lower()}" if isinstance(node, exp.Func) else node.key)

    def _comparison(self, node: exp.Expr) -> Term:
        left, right = node.this, node.args["expression"]
        op = _OPERATORS.get(node.key, node.key)
        if isinstance(right, exp.Any | exp.All):
            return self._quantified(op, left, right)
        if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
            if op != "eq" or len(left.expressions) != len(right.expressions):
                raise UnsupportedSQL("a comparison of rows")
            pairs = zip(left.expressions, right.expressions, strict=True)
            return Call("and", tuple(self._compared("eq", *pair) for pair in pairs))
        return self._compared(op, left, right)

    def _compared(self, op: str, left: exp.Expr, right: exp.Expr) -> Call:
        return compared(op, self.term(left), self.term(right), self.world)

    def _quantified(self, op: str, left: exp.Expr, right: exp.Expr) -> Term:
        """ANY is IN with another operator. `x > ALL (q)` is `NOT x <= ANY (q)`, including for NULL."""
        is_all = isinstance(right, exp.All)
        op = _OPPOSITE[op] if is_all else op
        if not isinstance(right.this, exp.Query) or (isinstance(left, exp.Tuple) and op != "eq"):
            raise UnsupportedSQL("a comparison with ANY or ALL")
        found = self._in_query(left, right.this, op)
        return Call("not", (found,)) if is_all else found

    def _in_query(self, left: exp.Expr, query: exp.Expr, op: str = "eq") -> Term:
        items = left.expressions if isinstance(left, exp.Tuple) else [left]
        values = [self.term(item) for item in items]
        return Call("in" if op == "eq" else f"in {op}", (*values, Sub("rows", self.query(query)[0])))

    def _arithmetic(self, node: exp.Expr) -> Term:
        sides = (self.term(node.this), self.term(node.args["expression"]))
        return Call(_OPERATORS.get(node.key, node.key), sides)

    def _aggregate(self, node: exp.Expr) -> Term:
        op, inner = node.key, node.this
        if isinstance(inner, exp.Star) or inner is None:
            return Agg(op, ())
        distinct = isinstance(inner, exp.Distinct)
        if distinct:
            if len(inner.expressions) != 1:
                raise UnsupportedSQL("DISTINCT over several values")
            inner = inner.expressions[0]
        if isinstance(inner, exp.Order | exp.Limit | exp.IgnoreNulls | exp.RespectNulls | exp.HavingMax):
            raise UnsupportedSQL("an ordered aggregate")
        value = self.term(inner)
        if self.is_of_outer_query(node, value):
            raise UnsupportedSQL("an aggregate of an outer query's columns")
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
                    args.append(self.term(one))
                else:
                    op += f":{name}={one}"
        return _timeless(Call(op, tuple(args)))

    def _lower_anonymous(self, node: exp.Anonymous) -> Term:
        name = str(node.this).lower()
        if name not in _NAMED:
            raise UnsupportedSQL(f"the function {name}")
        return _timeless(Call(f"fn:{name}", tuple(self.term(arg) for arg in node.expressions)))

    def _lower_grouping(self, node: exp.Grouping) -> Term:
        select = node.find_ancestor(exp.Select)
        if select is None or not grouping_sets(select):
            raise UnsupportedSQL("the function grouping")
        return Call("grouping", tuple(self.term(one) for one in node.expressions))

    def _lower_filter(self, node: exp.Filter) -> Term:
        inner = self.term(node.this)
        if not isinstance(inner, Agg):
            raise UnsupportedSQL("FILTER without an aggregate")
        condition = self.term(node.expression.this)
        return Agg(inner.op, (Call("case", (condition, *(inner.args or (ONE,)), NULL)),), inner.distinct)

    def _lower_neg(self, node: exp.Neg) -> Term:
        inner = self.term(node.this)
        if isinstance(inner, Const) and inner.kind in ("integer", "real"):
            return negated(inner)
        return Call("neg", (inner,))

    def _lower_is(self, node: exp.Is) -> Term:
        other = node.expression
        negated = isinstance(other, exp.Not) and isinstance(other.this, exp.Null)
        if negated or isinstance(other, exp.Null):
            return Call("notnull" if negated else "isnull", (self.term(node.this),))
        if isinstance(other, exp.Boolean):
            return Call("istrue" if other.this else "isfalse", (self.term(node.this),))
        return self._null_safe(node)

    def _null_safe(self, node: exp.Binary) -> Term:
        equal = self._compared("same", node.this, node.expression)
        return Call("isnull", (equal.args[0],)) if equal.args[1] == NULL else equal

    def _lower_between(self, node: exp.Between) -> Term:
        value, low, high = self.term(node.this), self.term(node.args["low"]), self.term(node.args["high"])
        return Call("and", (compared("le", low, value, self.world), compared("le", value, high, self.world)))

    def _lower_in(self, node: exp.In) -> Term:
        if node.args.get("query"):
            return self._in_query(node.this, node.args["query"])
        if isinstance(node.this, exp.Tuple):
            raise UnsupportedSQL("IN of rows over a list")
        if len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Values):
            return self._in_query(node.this, node.expressions[0])
        value = self.term(node.this)
        items = [self.term(item) for item in node.expressions]
        for item in items:
            if not isinstance(item, Const) and not self.world.same_values(item, value):
                raise UnsupportedSQL("IN over a list of values of different types")
        if not items:
            return FALSE
        equal = tuple(compared("eq", value, item, self.world) for item in items)
        return equal[0] if len(equal) == 1 else Call("or", equal)

    def _pattern(self, node: exp.Expr) -> Call:
        pattern = node.args["expression"]
        if isinstance(pattern, exp.Any | exp.All):
            raise UnsupportedSQL("LIKE with ANY or ALL")
        value, sought = self.term(node.this), self.term(pattern)
        escaped = isinstance(node.parent, exp.Escape)  # its escape character is a single letter
        folds = node.key == "ilike" or (node.key == "like" and self.world.dialect == "sqlite")
        if folds and not escaped and isinstance(sought, Const) and sought.text.isascii():
            sought = Const(sought.kind, sought.text.lower())
        return Call(node.key, (value, sought))

    def _lower_escape(self, node: exp.Escape) -> Term:
        inner = self.term(node.this)
        assert isinstance(inner, Call)
        return Call(f"{inner.op}:escape", (*inner.args, self.term(node.expression)))

    def _lower_case(self, node: exp.Case) -> Term:
        subject = None if node.this is None else self.term(node.this)
        parts: list[Term] = []
        for branch in node.args["ifs"]:
            condition = self.term(branch.this)
            parts.append(condition if subject is None else compared("eq", subject, condition, self.world))
            parts.append(self.term(branch.args["true"]))
        default = node.args.get("default")
        return Call("case", (*parts, NULL if default is None else self.term(default)))

    def _lower_if(self, node: exp.If) -> Term:
        yes, other = self.term(node.args["true"]), node.args.get("false")
        return Call("case", (self.term(node.this), yes, NULL if other is None else self.term(other)))

    def _lower_cast(self, node: exp.Cast) -> Term:
        return Call(f"cast:{node.to.sql().lower()}", (self.term(node.this),))

    def _value(self, node: exp.Expr) -> Term:
        """A subquery as a value. SQLite takes the first of several rows, which is any row without ORDER BY; in other
        engines, several rows are an error."""
        query, _ = self.query(node)
        if self.world.width(query) != 1:
            raise UnsupportedSQL("a subquery of several columns as a value")
        if self.world.dialect == "sqlite" and isinstance(query, Block) and query.group != ():
            self.world.open_choice = self.world.open_choice or not query.cuts
            if query.order and query.limit is None:
                query = replace(query, limit=1)
        return Sub("scalar", query)


def _timeless(call: Call) -> Call:
    if any(isinstance(arg, Const) and arg.kind == "text" and arg.text.lower() == "now" for arg in call.args):
        raise UnsupportedSQL("the current time")
    if not call.args or (call.op == "fn:strftime" and len(call.args) < 2):
        raise UnsupportedSQL(f"{call.op} without arguments")
    return call
