"""Evidence that says another value than the gold."""

import re
from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.linting.words import as_number
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
_STATED = re.compile(
    r"(?P<column>`[^`]{1,60}`|\"[^\"]{1,60}\"|[A-Za-z_][\w.]{1,60})\s*(?P<operator><=|>=|!=|<>|=|<|>)\s*"
    r"(?P<value>'[^']{1,80}'|\"[^\"]{1,80}\"|-?\d+(?:\.\d+)?(?![\w%*/.-]))"
)


def check(gold: Gold) -> Iterator[Found]:
    if gold.facts is None or not gold.evidence:
        return
    stated = [(one, _name(one["column"]), one["value"].strip("'\"")) for one in _STATED.finditer(gold.evidence)]
    for one, column, value in stated:
        own = [
            condition for condition in gold.facts.conditions
            if condition.left.column is not None and condition.left.column.column.lower() == column
            and condition.operator in ("=", "<>", "<", "<=", ">", ">=", "in", "like", "between")
        ]
        alternatives = {other for _, name, other in stated if name == column}
        if not own or value.lower() in gold.query.lower():
            continue
        plain = [condition for condition in own if condition.operator == "=" and condition.right[0].kind == "literal"]
        differing = [condition for condition in plain if not _is_same(condition, alternatives)]
        if one["operator"] == "=" and len(plain) == len(own) == len(differing) == 1 and len(alternatives) == 1:
            yield Found(
                evidence=f"The evidence says {one[0]}, and the query has {gold.shown(differing[0].place)}.",
                place=differing[0].place,
            )


def _name(text: str) -> str:
    return text.strip("`\"").rsplit(".", 1)[-1].lower()


def _is_same(condition: Condition, values: set[str]) -> bool:
    text = (condition.right[0].value or "").lower()
    return any(text == one.lower() or (as_number(one) is not None and as_number(one) == as_number(text)) for one in values)
