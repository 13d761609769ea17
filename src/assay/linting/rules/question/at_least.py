"""Bounds that the question includes and the gold query excludes, or vice versa."""

import re
from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.linting.spoken_numbers import NUMERALS
from assay.linting.words import as_number, has
from assay.model.lint import LintRule
from assay.sql.predicates import Predicate
from assay.sql.query import Query

RULE = LintRule(
    name="at-least",
    severity="warning",
    needs="question",
    finds="'at least n' with > n, 'more than n' with >= n, and similar",
    why="The gold query wrongly excludes or includes exactly the rows at the bound.",
    remedy="Write the comparison that the question asks for.",
    bad="Q: singers who are at least 40\nSELECT name FROM singer WHERE age > 40",
    good="Q: singers who are at least 40\nSELECT name FROM singer WHERE age >= 40",
)
_N = r"\$?\s*(?P<n>\d[\d,]*(?:\.\d+)?|" + "|".join(NUMERALS) + r")\b"
_UP = "more|greater|higher|larger|older"
_DOWN = "less|fewer|lower|smaller|younger"
_SAID = (
    (re.compile(rf"\b(?:at least|no less than|not less than|no fewer than|minimum of)\s+{_N}", re.I), ">="),
    (re.compile(rf"\b{_N}(?:\s+\w+)?\s+(?:or|and) (?:more|above|higher|older|greater|over)\b", re.I), ">="),
    (re.compile(rf"(?<!no )(?<!not )\b(?:(?:{_UP}) than|exceed(?:s|ing)?|over|above)\s+{_N}(?! or)", re.I), ">"),
    (re.compile(rf"\b(?:at most|no more than|not more than|not over|not above|up to|maximum of)\s+{_N}", re.I), "<="),
    (re.compile(rf"\b{_N}(?:\s+\w+)?\s+(?:or|and) (?:less|fewer|below|lower|younger|smaller|under)\b", re.I), "<="),
    (re.compile(rf"(?<!no )(?<!not )\b(?:(?:{_DOWN}) than|under|below)\s+{_N}(?! or)", re.I), "<"),
)  # fmt: skip
_WRONG = {">=": ">", ">": ">=", "<=": "<", "<": "<="}


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    if has(gold.question, "inclusive|inclusively|including"):
        return
    for pattern, operator in _SAID:
        for said in pattern.finditer(gold.question):
            text = said["n"].replace(",", "").lower()
            number = float(NUMERALS[text]) if text in NUMERALS else as_number(text)
            if number is None:
                continue
            compared = [one for one in query.predicates if _bounds(query, one, number)]
            if any(one.operator == operator for one in compared):
                continue
            for one in compared:
                if one.operator == _WRONG[operator] and not one.is_negated:
                    phrase, bound = " ".join(said[0].split()), query.shown(one.right[0])
                    yield Found(
                        evidence=f"The question says {phrase!r}, and the query has {one.operator} {bound}.",
                        place=query.span(one.node),
                    )


def _bounds(query: Query, one: Predicate, number: float) -> bool:
    return one.operator in _WRONG and as_number(query.value_of(one.right[0])) == number
