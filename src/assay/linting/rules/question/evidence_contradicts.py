"""Evidence that contradicts the gold query."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.linting.gold import Found, Gold
from assay.linting.words import as_number, stated_conditions
from assay.model.lint import LintRule
from assay.sql.query import Query

if TYPE_CHECKING:
    from sqlglot import exp

RULE = LintRule(
    name="evidence-contradicts",
    severity="warning",
    needs="question",
    finds="a condition in the evidence (column = value) that has another value or operator in the gold query",
    why="A system that follows the evidence cannot match the gold result.",
    remedy="Correct the evidence, or the query.",
    bad="evidence: female refers to gender = 'F'\nSELECT name FROM singer WHERE gender = 'M'",
    good="evidence: female refers to gender = 'F'\nSELECT name FROM singer WHERE gender = 'F'",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    if not gold.evidence:
        return
    stated = stated_conditions(gold.evidence)
    for one in stated:
        own = [
            condition
            for condition in query.predicates
            if (column := query.column_of(condition.left)) is not None and _name(query, column) == one.column
        ]
        alternatives = {other.value for other in stated if other.column == one.column}
        if not own or one.value.lower() in gold.text.lower():
            continue
        plain = [(condition, query.value_of(condition.right[0])) for condition in own if condition.operator == "="]
        differing = [condition for condition, value in plain if value is not None and not _is_same(value, alternatives)]
        if one.operator == "=" and len(own) == len(differing) == 1 and len(alternatives) == 1:
            yield Found(
                evidence=f"The evidence says {one.text}, but the query has {query.shown(differing[0].node)}.",
                place=query.span(differing[0].node),
            )


def _name(query: Query, column: exp.Column) -> str:
    """The column's own name, in lower case."""
    stored = query.stored(column)
    return column.name.lower() if stored is None else stored.key[1]


def _parts(text: str) -> list[int] | None:
    """The numbers of a date, in any format; None if it is not a date."""
    found = [int(part) for part in re.findall(r"\d+", text)]
    return found if len(found) >= 3 else None


def _is_same(value: str, values: set[str]) -> bool:
    text = value.lower()
    number, parts = as_number(text), _parts(text)
    for one in values:
        if text == one.lower() or (number is not None and number == as_number(one)):
            return True
        if parts is not None and parts == _parts(one):
            return True
    return False
