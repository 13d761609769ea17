"""What sqlglot's optimizer knows of a query: each column's source, what a star stands for, and types."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from assay.sql.schema import SchemaNames, TypeFamily, type_family

if TYPE_CHECKING:
    from sqlglot import exp


def bind(
    tree: exp.Query,
    nodes: list[exp.Expr],
    names: SchemaNames | None,
    dialect: str,
    *,
    texts: list[exp.Column],
    elsewhere: Mapping[int, str],
) -> tuple[exp.Expr, dict[int, exp.Expr]]:
    """A copy of the tree that `qualify` has rewritten, and its node for each of ``nodes`` by id.

    ``texts``: names in double quotes that are texts, which `qualify` cannot know. ``elsewhere``: how the schema calls
    tables of a schema other than the default one, by the id of their entries in FROM.
    """
    from sqlglot import Dialect
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.qualify import qualify

    # Names are looked up case-insensitively.
    speaks = Dialect.get_or_raise(f"{dialect}, normalization_strategy=case_insensitive")
    for expands_aliases in (True, False):
        bound: exp.Expr = tree.copy()
        twins = {id(node): twin for node, twin in zip(nodes, bound.walk(), strict=True)}
        for text in texts:
            _becomes_text(twins[id(text)], text.name)
        for entry, table in elsewhere.items():
            _is_called(twins[entry], table)
        try:
            bound = qualify(
                bound,
                dialect=speaks,
                schema=None if names is None else names.mapping,
                expand_alias_refs=expands_aliases,
                allow_partial_qualification=True,
                validate_qualify_columns=False,
                quote_identifiers=False,
            )
        except (SqlglotError, RecursionError, ValueError, AssertionError):  # it asserts that ORDER BY has no star
            continue
        return bound, twins
    return tree, {}


def _becomes_text(node: exp.Expr, text: str) -> None:
    from sqlglot import exp

    if node.parent is not None:
        literal = exp.Literal.string(text)
        literal.meta.update(node.this.meta)
        node.replace(literal)


def _is_called(entry: exp.Expr, table: str) -> None:
    from sqlglot import exp

    if not entry.alias:
        entry.set("alias", exp.TableAlias(this=entry.this))
    entry.set("this", exp.Identifier(this=table.lower(), quoted=True))
    entry.set("db", None)


def types_of(bound: exp.Expr, names: SchemaNames | None, dialect: str) -> dict[int, TypeFamily]:
    """The kind of values of each node of a bound tree, by its id, if known."""
    from sqlglot.optimizer.annotate_types import annotate_types

    mapping = None if names is None else names.mapping
    annotate_types(bound, schema=mapping, expression_metadata=_rules_of_types(dialect), dialect=dialect)
    kinds = ((id(node), _family(node.type)) for node in bound.walk())
    return {key: kind for key, kind in kinds if kind is not None}


@lru_cache(maxsize=8)
def _rules_of_types(dialect: str) -> dict[Any, Any]:
    """The type of each expression, by sqlglot's rules, except for some that would misclassify integer divisions."""
    from sqlglot import Dialect, exp

    rules: dict[Any, Any] = dict(Dialect.get_or_raise(dialect).EXPRESSION_METADATA)
    # A truth value in arithmetic is an integer. For sqlglot, anything added to or multiplied by it is a truth value
    # too, including 100.0 * SUM(age > 40).
    truths = (exp.Boolean, exp.Connector, exp.Not, exp.Predicate)
    rules.update({kind: {"returns": exp.DataType.Type.INT} for kind in rules if issubclass(kind, truths)})
    rules.pop(exp.Extract, None)  # may have a fraction, for example seconds in PostgreSQL
    if dialect == "snowflake":
        rules.pop(exp.Div, None)  # an exact number there
    if dialect == "tsql":
        rules[exp.Avg] = rules[exp.Max]  # of integers, an integer
    return rules


def _family(kind: exp.DataType | None) -> TypeFamily | None:
    from sqlglot import exp

    if kind is None or kind.this in (exp.DataType.Type.UNKNOWN, exp.DataType.Type.NULL):
        return None
    if kind.this is exp.DataType.Type.BOOLEAN:
        return "integer"
    return type_family(kind.sql())
