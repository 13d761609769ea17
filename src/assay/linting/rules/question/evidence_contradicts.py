"""Evidence that says another value than the gold."""

import re
from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.linting.words import as_number, stated_conditions
from assay.model.lint import LintRule
from assay.sql.facts import Condition

RULE = LintRule(
    name="evidence-contradicts",
    severity="warning",
    needs="question",
    finds="a condition in the evidence (column = value) that the gold has with another value or operator",
    why="A system that believes the evidence cannot match the gold.",
    remedy="Correct the evidence, or the query.",
    bad="evidence: female refers to gender = 'F'\nSELECT name FROM singer WHERE gender = 'M'",
    good="evidence: female refers to gender = 'F'\nSELECT name FROM singer WHERE gender = 'F'",
)


def check(gold: Gold) -> Iterator[Found]:
    if gold.facts is None or not gold.evidence:
        return
    stated = stated_conditions(gold.evidence)
    for one in stated:
        own = [
            condition
            for condition in gold.facts.conditions
            if condition.left.column is not None and condition.left.column.column.lower() == one.column
        ]
        alternatives = {other.value for other in stated if other.column == one.column}
        if not own or one.value.lower() in gold.query.lower():
            continue
        plain = [condition for condition in own if condition.operator == "=" and condition.right[0].kind == "literal"]
        differing = [condition for condition in plain if not _is_same(condition, alternatives)]
        if one.operator == "=" and len(plain) == len(own) == len(differing) == 1 and len(alternatives) == 1:
            yield Found(
                evidence=f"The evidence says {one.text}, and the query has {gold.shown(differing[0].place)}.",
                place=differing[0].place,
            )


def _parts(text: str) -> list[int] | None:
    """The numbers of a date, however it is written; None for what is no date."""
    found = [int(part) for part in re.findall(r"\d+", text)]
    return found if len(found) >= 3 else None


def _is_same(condition: Condition, values: set[str]) -> bool:
    text = (condition.right[0].value or "").lower()
    number, parts = as_number(text), _parts(text)
    for one in values:
        if text == one.lower() or (number is not None and number == as_number(one)):
            return True
        if parts is not None and parts == _parts(one):
            return True
    return False
