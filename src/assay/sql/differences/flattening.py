"""Remove redundant wrappers of a query: `flattened`.

`SELECT * FROM (query)`, `WITH w AS (query) SELECT * FROM w`, `FROM (SELECT * FROM t) AS x`, and a derived table that
only picks columns and rows of one table: each is written as the query without it, which has the same rows. Wrappers
that the query's text alone cannot prove redundant are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from assay.sql.nodes import exp

_MOST_STEPS = 100
_PICKS = frozenset({"expressions", "from_", "where"})
_PASSES = frozenset({"expressions", "from_", "with_"})


def flattened(tree: exp.Query) -> exp.Query:
    """The query without redundant wrappers. Changes its argument."""
    for _ in range(_MOST_STEPS):
        changed = _step(tree)
        if changed is None:
            return tree
        tree = changed
    return tree


def has_wrappers(tree: exp.Query) -> bool:
    """Whether a query has something that may be a wrapper: a query in FROM, or a CTE."""
    return any(
        isinstance(node, exp.With) or isinstance(node.parent, exp.From | exp.Join)
        for node in list(tree.find_all(exp.With, exp.Subquery))
    )


def _step(tree: exp.Query) -> exp.Query | None:
    """The tree with one wrapper less; None if it has none."""
    for select in list(tree.find_all(exp.Select)):
        inner = _passed_on(select)
        if inner is not None:
            inner.pop()
            if select is tree:
                return inner
            select.replace(inner)
            return tree
        for item in _items(select):
            made = _merged(select, item, tree)
            if made is not None:
                item.replace(made)
                return tree
    return None


def _given(node: exp.Expr) -> frozenset[str]:
    """The names of the arguments that a node has."""
    return frozenset(name for name, value in node.args.items() if value not in (None, [], False) and name != "kind")


def _is_bare_star(node: exp.Expr) -> bool:
    return node.key == "star" and not _given(node)


def _items(select: exp.Select) -> Iterator[exp.Expr]:
    start = select.args.get("from_")
    if start is not None:
        yield start.this
    for join in select.args.get("joins") or ():
        yield join.this


def _query_in(item: exp.Expr) -> exp.Expr | None:
    """The query of a derived table without anything but an alias."""
    if item.key != "subquery" or _given(item) - {"this", "alias"}:
        return None
    alias = item.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        return None
    found: exp.Expr = item.this
    return found


def _passed_on(select: exp.Select) -> exp.Query | None:
    """The query whose rows a SELECT passes on unchanged."""
    start = select.args.get("from_")
    if _given(select) - _PASSES or start is None:
        return None
    inner = _query_in(start.this)
    with_ = select.args.get("with_")
    if inner is None and with_ is not None and not with_.args.get("recursive"):
        cte = with_.expressions[-1]
        if not _names_only(start.this, cte.alias) or cte.args["alias"].args.get("columns"):
            return None
        inner = cte.this
    if not isinstance(inner, exp.Select | exp.SetOperation):
        return None
    outputs = _same_outputs(select, inner)
    if outputs is None or (with_ is not None and inner.args.get("with_") is not None):
        return None
    if isinstance(inner, exp.Select):
        inner.set("expressions", outputs)
    if with_ is not None:
        rest = with_.expressions if inner is start.this.this else with_.expressions[:-1]
        inner.set("with_", exp.With(expressions=[cte.copy() for cte in rest]) if rest else None)
    return inner


def _names_only(item: exp.Expr, name: str) -> bool:
    """Whether an entry of FROM is only a table's name, with an optional alias."""
    return item.key == "table" and not _given(item) - {"this", "alias"} and item.name.lower() == name.lower()


def _same_outputs(select: exp.Select, inner: exp.Expr) -> list[exp.Expr] | None:
    """What the inner query selects, as the outer one picks it; None if that would change its rows or its order."""
    if len(select.expressions) == 1 and _is_bare_star(select.expressions[0]):
        return list(inner.expressions) if isinstance(inner, exp.Select) else []
    if not isinstance(inner, exp.Select):
        return None
    named = {one.alias_or_name.lower(): one for one in inner.expressions if one.alias_or_name != "*"}
    picked = []
    for output in select.expressions:
        column = output.unalias()
        if not isinstance(column, exp.Column) or column.name.lower() not in named:
            return None
        picked.append(named[column.name.lower()])
    if len(named) != len(inner.expressions) or len({id(one) for one in picked}) != len(picked):
        return None
    if [id(one) for one in picked] == [id(one) for one in inner.expressions]:
        return picked
    keys = [key for arg in ("order", "group") if inner.args.get(arg) for key in inner.args[arg].expressions]
    if any(isinstance(key.this if key.key == "ordered" else key, exp.Literal) for key in keys):
        return None
    aliases = {one.alias.lower() for one in inner.expressions if one.alias and one not in picked}
    if any(column.name.lower() in aliases for key in keys for column in key.find_all(exp.Column)):
        return None
    return None if inner.args.get("distinct") and len(picked) < len(named) else picked


def _merged(select: exp.Select, item: exp.Expr, tree: exp.Query) -> exp.Expr | None:
    """The table that can replace a derived table, or a CTE used once, that only picks from it; moves its WHERE out."""
    alias, inner, cte = item.alias_or_name, _query_in(item), None
    if inner is None:
        cte = _cte_used_once(item, tree)
        inner = None if cte is None else cte.this
    if not isinstance(inner, exp.Select) or _given(inner) - _PICKS or inner.args.get("from_") is None:
        return None
    source = inner.args["from_"].this
    if source.key != "table" or _given(source) - {"this", "alias", "db"}:
        return None
    alias = alias or source.alias_or_name
    others = [one for one in _items(select) if one is not item]
    if any(one.alias_or_name.lower() == alias.lower() for one in others):
        return None
    where = inner.args.get("where")
    if where is not None and (
        where.find(exp.Query) or any(join.args.get("side") for join in select.args.get("joins") or ())
    ):
        return None
    if not _renamed(select, item, inner, alias, alone=not others):
        return None
    if where is not None:
        for column in where.find_all(exp.Column):
            column.set("table", exp.to_identifier(alias))
        select.where(where.this, copy=False)
    if cte is not None:
        _drop(cte)
    made: exp.Expr = source.copy()
    if alias.lower() != made.name.lower():
        made.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    else:
        made.set("alias", None)
    return made


def _cte_used_once(item: exp.Expr, tree: exp.Query) -> exp.CTE | None:
    """The CTE of the outermost WITH that an entry of FROM names, and that is not named elsewhere."""
    with_ = tree.args.get("with_")
    if with_ is None or with_.args.get("recursive") or not _names_only(item, item.name):
        return None
    name = item.name.lower()
    uses = Counter(table.name.lower() for table in tree.find_all(exp.Table))
    found = [cte for cte in tree.find_all(exp.CTE) if cte.alias.lower() == name]
    if len(found) != 1 or found[0].parent is not with_ or uses[name] != 1 or found[0].args["alias"].args.get("columns"):
        return None
    return found[0]


def _drop(cte: exp.CTE) -> None:
    with_ = cte.parent
    cte.pop()
    if with_ is not None and not with_.expressions:
        with_.pop()


def _renamed(select: exp.Select, item: exp.Expr, inner: exp.Select, alias: str, *, alone: bool) -> bool:
    """Rename the outer columns to the derived table's names. Returns False, without changes, if that is unsafe."""
    if len(inner.expressions) == 1 and _is_bare_star(inner.expressions[0]):
        return True
    named: dict[str, str] = {}
    for output in inner.expressions:
        column = output.unalias()
        if not isinstance(column, exp.Column) or isinstance(column.this, exp.Star):
            return False
        named[output.alias_or_name.lower()] = column.name
    stars = [one for one in select.find_all(exp.Star) if not _is_inside(one, item)]
    if any(not isinstance(star.parent, exp.Count) for star in stars):
        return False
    mine = [one for one in select.find_all(exp.Column) if not _is_inside(one, item)]
    own = {output.alias.lower() for output in select.expressions if output.alias}
    nested = any(not _is_inside(one, item) and one is not select for one in select.find_all(exp.Query))
    moved = [name for name, column in named.items() if name != column.lower()]
    if nested and moved:
        return False
    changed: list[tuple[exp.Column, str]] = []
    for one in mine:
        name, table = one.name.lower(), one.table.lower()
        if table and table != alias.lower():
            continue
        if name not in named:
            if table or (not alone and not nested) or (alone and name not in own and not nested):
                return False
            continue
        if name in moved and (name in own and not table):
            return False
        if name in moved:
            changed.append((one, named[name]))
    for column, name in changed:
        column.set("this", exp.to_identifier(name, quoted=not name.isidentifier()))
        column.set("table", exp.to_identifier(alias))
    return True


def _is_inside(node: exp.Expr, item: exp.Expr) -> bool:
    above: exp.Expr | None = node
    while above is not None:
        if above is item:
            return True
        above = above.parent
    return False
