"""Texts compared by size with a number."""

from collections.abc import Iterator

from assay.linting.gold import ColumnValues, Found, Gold
from assay.linting.root_causes import as_texts
from assay.linting.words import as_number
from assay.model.lint import LintRule
from assay.sql.query import Query

RULE = LintRule(
    name="text-compared-as-number",
    severity="warning",
    needs="database",
    finds="a column of texts that contains numbers and is compared by size",
    why="Texts compare letter by letter: '9' is greater than '10'.",
    remedy="Convert the column first: CAST(price AS REAL) > 10.",
    bad="SELECT name FROM product WHERE price > '10'  -- price is TEXT",
    good="SELECT name FROM product WHERE CAST(price AS REAL) > 10",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    if gold.database is None:
        return
    for one in query.predicates:
        column = query.column_of(one.left)
        stored = None if column is None else query.stored(column)
        if one.operator not in ("<", "<=", ">", ">=", "between") or column is None or query.type_of(column) != "text":
            continue
        bounds = [query.value_of(side) or "" for side in one.right]
        if any(as_number(bound) is None for bound in bounds):
            continue
        values = gold.database.values(stored)
        wrong = None if values is None else _misjudged(values, bounds)
        if wrong is not None:
            yield Found(
                evidence=f"{stored} contains texts, and {wrong!r} compares differently as a text than as a number.",
                place=query.span(one.node),
                root_cause=as_texts(str(stored), "numbers"),
            )


def _misjudged(values: ColumnValues, bounds: list[str]) -> str | None:
    """A value that compares differently as a text than as a number."""
    for value in values.counts:
        number = as_number(value) if isinstance(value, str) else None
        if number is None or not isinstance(value, str):
            continue
        for text in bounds:
            bound = as_number(text)
            if bound is not None and ((number < bound) != (value < text) and number != bound):
                return value
    return None
