"""Texts compared by size with a number."""

from collections.abc import Iterator

from assay.linting.gold import ColumnValues, Found, Gold
from assay.linting.root_causes import as_texts
from assay.linting.words import as_number
from assay.model.lint import LintRule
from assay.sql.facts import Condition

RULE = LintRule(
    name="text-compared-as-number",
    severity="warning",
    needs="database",
    finds="a column of texts that holds numbers and is compared by size",
    why="Texts compare letter by letter: '9' is greater than '10'.",
    remedy="Convert the column first: CAST(price AS REAL) > 10.",
    bad="SELECT name FROM product WHERE price > '10'  -- price is TEXT",
    good="SELECT name FROM product WHERE CAST(price AS REAL) > 10",
)


def check(gold: Gold) -> Iterator[Found]:
    if gold.facts is None or gold.database is None:
        return
    for one in gold.facts.conditions:
        column = one.left.column
        if one.operator not in ("<", "<=", ">", ">=", "between") or column is None or column.type != "text":
            continue
        if any(term.kind != "literal" or as_number(term.value) is None for term in one.right):
            continue
        values = gold.database.values(column)
        wrong = None if values is None else _misjudged(values, one)
        if wrong is not None:
            yield Found(
                evidence=f"{column.name} holds texts, and {wrong!r} is judged otherwise as a text than as a number.",
                place=one.place,
                root_cause=as_texts(column.name, "numbers"),
            )


def _misjudged(values: ColumnValues, one: Condition) -> str | None:
    """A value that a comparison of texts judges otherwise than one of numbers."""
    for value in values.counts:
        number = as_number(value) if isinstance(value, str) else None
        if number is None or not isinstance(value, str):
            continue
        for term in one.right:
            bound, text = as_number(term.value), term.value or ""
            if bound is not None and ((number < bound) != (value < text) and number != bound):
                return value
    return None
