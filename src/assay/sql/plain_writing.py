"""Write the simple parts of a tree as sqlglot's generator does, in a fraction of its time: `plainly_written`.

Nearly all trees that are written consist only of these nodes. The generator writes trees that contain other nodes or
arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlglot import exp

DIALECTS = frozenset({"", "sqlite"})
"""The dialects in which simple nodes are written as here; "" is sqlglot's own."""
_INFIX: Mapping[str, str] = {
    "eq": "=",
    "neq": "<>",
    "gt": ">",
    "gte": ">=",
    "lt": "<",
    "lte": "<=",
    "is": "IS",
    "like": "LIKE",
    "and": "AND",
    "or": "OR",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "collate": "COLLATE",
}
_PREFIX: Mapping[str, str] = {"not": "NOT ", "from": " FROM ", "where": " WHERE ", "having": " HAVING "}
_LISTS: Mapping[str, str] = {"group": " GROUP BY ", "order": " ORDER BY "}
_COMBINING = ("union", "intersect", "except")
_FUNCTIONS = ("count", "sum", "avg", "min", "max")
_CLAUSES = ("where", "group", "having", "order", "limit", "offset")


class _UnplainError(Exception):
    """A node that is not written here."""


def plainly_written(tree: exp.Expr) -> str | None:
    """The text of a tree in one of `DIALECTS`; None if the generator must write it."""
    try:
        return _written(tree).strip()
    except (_UnplainError, RecursionError):
        return None


def _written(node: Any) -> str:
    write = _WRITERS.get(getattr(node, "key", ""))
    if write is None or node.comments:
        raise _UnplainError
    return write(node.args)


def _only(args: Mapping[str, Any], *names: str) -> None:
    """Raise if other arguments than these are given."""
    for name, value in args.items():
        if value and name not in names:
            raise _UnplainError


def _column(args: Mapping[str, Any]) -> str:
    table = args.get("table")
    if len(args) > 2:
        _only(args, "this", "table")
    name = _written(args.get("this"))
    return name if table is None else f"{_written(table)}.{name}"


def _identifier(args: Mapping[str, Any]) -> str:
    text: str = args["this"]
    if args.get("quoted"):
        if '"' in text or "\n" in text:
            raise _UnplainError
        return f'"{text}"'
    if not text.isidentifier():
        raise _UnplainError
    return text


def _literal(args: Mapping[str, Any]) -> str:
    text: str = args["this"]
    if not args.get("is_string"):
        return text
    if "'" in text or "\\" in text or "\n" in text:
        raise _UnplainError
    return f"'{text}'"


def _star(args: Mapping[str, Any]) -> str:
    _only(args)
    return "*"


def _infix(operator: str, args: Mapping[str, Any]) -> str:
    if len(args) > 2:
        _only(args, "this", "expression")
    return f"{_written(args.get('this'))} {operator} {_written(args.get('expression'))}"


def _prefix(word: str, args: Mapping[str, Any]) -> str:
    if len(args) > 1:
        _only(args, "this")
    return word + _written(args.get("this"))


def _listed(word: str, args: Mapping[str, Any]) -> str:
    _only(args, "expressions")
    return word + _all(args.get("expressions"))


def _all(nodes: list[Any] | None) -> str:
    if not nodes:
        raise _UnplainError
    return ", ".join([_written(node) for node in nodes])


def _function(name: str, args: Mapping[str, Any]) -> str:
    _only(args, "this", "big_int")
    return f"{name}({_written(args.get('this'))})"


def _unknown_function(args: Mapping[str, Any]) -> str:
    _only(args, "this", "expressions")
    name, given = args.get("this"), args.get("expressions")
    if not isinstance(name, str) or not name.isidentifier():
        raise _UnplainError
    return f"{name.upper()}({_all(given) if given else ''})"


def _filter(args: Mapping[str, Any]) -> str:
    _only(args, "this", "expression")
    return f"{_written(args.get('this'))} FILTER({_written(args.get('expression')).strip()})"


def _concatenation(args: Mapping[str, Any]) -> str:
    _only(args, "this", "expression", "safe")
    return f"{_written(args.get('this'))} || {_written(args.get('expression'))}"


def _distinct(args: Mapping[str, Any]) -> str:
    _only(args, "expressions")
    return f"DISTINCT {_all(args['expressions'])}" if args.get("expressions") else "DISTINCT"


def _alias(args: Mapping[str, Any]) -> str:
    _only(args, "this", "alias")
    return f"{_written(args.get('this'))} AS {_written(args.get('alias'))}"


def _table(args: Mapping[str, Any]) -> str:
    _only(args, "this", "alias")
    this, alias = args.get("this"), args.get("alias")
    if getattr(this, "key", "") != "identifier" or args.get("indexed") is not None:  # False: NOT INDEXED
        raise _UnplainError
    return _written(this) if alias is None else f"{_written(this)} AS {_written(alias)}"


def _ordered(args: Mapping[str, Any]) -> str:
    _only(args, "this", "desc", "nulls_first")
    descending = args.get("desc")
    if bool(args.get("nulls_first")) is bool(descending):
        raise _UnplainError
    return _written(args.get("this")) + (" DESC" if descending else " ASC" if descending is False else "")


def _in(args: Mapping[str, Any]) -> str:
    _only(args, "this", "expressions", "query")
    this, query = _written(args.get("this")), args.get("query")
    return f"{this} IN ({_all(args.get('expressions'))})" if query is None else f"{this} IN {_written(query)}"


def _between(args: Mapping[str, Any]) -> str:
    _only(args, "this", "low", "high")
    return f"{_written(args.get('this'))} BETWEEN {_written(args.get('low'))} AND {_written(args.get('high'))}"


def _exists(args: Mapping[str, Any]) -> str:
    _only(args, "this")
    return f"EXISTS({_written_select(args.get('this'))})"


def _number(word: str, args: Mapping[str, Any]) -> str:
    _only(args, "expression")
    return word + _written(args.get("expression"))


def _join(args: Mapping[str, Any]) -> str:
    _only(args, "this", "on", "side", "kind")
    on, words = args.get("on"), " ".join(word for word in (args.get("side"), args.get("kind")) if word)
    if "SEMI" in words or "ANTI" in words or words == "STRAIGHT_JOIN":
        raise _UnplainError
    if on is None:
        return f" {words} JOIN {_written(args.get('this'))}" if words else f", {_written(args.get('this'))}"
    return f" {words + ' ' if words else ''}JOIN {_written(args.get('this'))} ON {_written(on)}"


def _select(args: Mapping[str, Any]) -> str:
    _only(args, "distinct", "expressions", "from_", "joins", *_CLAUSES)
    if args.get("offset") is not None and args.get("limit") is None:
        raise _UnplainError
    distinct = args.get("distinct")
    if distinct:
        _only(distinct.args)
    clauses = [args.get("from_"), *(args.get("joins") or ()), *(args.get(name) for name in _CLAUSES)]
    outputs = _all(args.get("expressions"))
    return "".join(
        ["SELECT DISTINCT " if distinct else "SELECT ", outputs, *(_written(one) for one in clauses if one is not None)]
    )


def _subquery(args: Mapping[str, Any]) -> str:
    _only(args, "this", "alias")
    inner, alias = _written_select(args.get("this")), args.get("alias")
    return f"({inner})" if alias is None else f"({inner}) AS {_written(alias)}"


def _written_select(node: Any) -> str:
    """The text of a SELECT; raises for other parts that a query may have."""
    if getattr(node, "key", "") != "select":
        raise _UnplainError
    return _written(node)


def _combined(word: str, args: Mapping[str, Any]) -> str:
    _only(args, "this", "expression", "distinct")
    left, right = _written_select(args.get("this")), _written_select(args.get("expression"))
    if any(args[side].args.get(name) for side in ("this", "expression") for name in ("order", "limit", "offset")):
        raise _UnplainError
    if not args.get("distinct"):
        if args.get("distinct") is None or word != "UNION":
            raise _UnplainError
        word = "UNION ALL"
    return f"{left} {word} {right}"


_WRITERS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    **{key: partial(_infix, operator) for key, operator in _INFIX.items()},
    **{key: partial(_prefix, word) for key, word in _PREFIX.items()},
    **{key: partial(_listed, word) for key, word in _LISTS.items()},
    **{key: partial(_function, key.upper()) for key in _FUNCTIONS},
    **{key: partial(_combined, key.upper()) for key in _COMBINING},
    "limit": partial(_number, " LIMIT "),
    "offset": partial(_number, " OFFSET "),
    "tablealias": partial(_prefix, ""),
    "paren": lambda args: f"({_prefix('', args)})",
    "null": lambda _: "NULL",
    "var": lambda args: str(args.get("this")),
    "column": _column,
    "identifier": _identifier,
    "literal": _literal,
    "star": _star,
    "alias": _alias,
    "anonymous": _unknown_function,
    "distinct": _distinct,
    "dpipe": _concatenation,
    "filter": _filter,
    "table": _table,
    "ordered": _ordered,
    "in": _in,
    "between": _between,
    "exists": _exists,
    "join": _join,
    "select": _select,
    "subquery": _subquery,
}
