"""A number of the question that the gold lacks."""

import re
from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.linting.words import as_number, numbers
from assay.model.lint import LintRule

RULE = LintRule(
    name="question-number",
    severity="warning",
    needs="question",
    finds="a number or year in the question that the gold does not use",
    why="Either a condition is missing, or the gold uses another number than the question.",
    remedy="Add the condition, or correct the number, in the query or in the question.",
    bad="Q: singers older than 40\nSELECT name FROM singer WHERE age > 50",
    good="Q: singers older than 40\nSELECT name FROM singer WHERE age > 40",
)


_NOT_ASKED = re.compile(
    r"^\s*(?:q|question|no\.?|#)?\s*\d+\s*[.:)]\s|"  # the question's own number
    r"\b\d{1,2}(?::\d\d)?\s*(?:am|pm|a\.m\.|p\.m\.|o'clock)(?!\w)|"  # an hour
    r"\b(?:last|past|previous|next|recent)\s+\d+\s+(?:second|minute|hour|day|week|month|quarter|year|decade)s?\b",
    re.IGNORECASE,
)
_COMMA = re.compile(r"(?<![\d,.])(\d+),(\d{1,2})(?![\d,])")
_UNITS = re.compile(r"\b\d+\s*(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|decades?)\b", re.IGNORECASE)
_OF_UNITS = (60.0, 3600.0, 24.0, 7.0, 12.0, 365.0, 10.0, 1 / 60, 1 / 12)
_TIMES = re.compile(r"\b(?:twice|double|thrice|triple|half|halves)\b", re.IGNORECASE)


def check(gold: Gold) -> Iterator[Found]:
    if gold.facts is None:
        return
    # A comma is a decimal point in many languages, and separates numbers in others: nothing is said of those.
    question = _COMMA.sub(" ", _NOT_ASKED.sub(" ", gold.question))
    asked = numbers(question)
    if not asked:
        return
    used, bounds = _used(gold), _bounds(gold)
    factors = [
        *(_OF_UNITS if _UNITS.search(question) else ()),
        1.0,
        1e-2,
        1e2,
        1e-3,
        1e3,
        1e6,
        *([2.0, 0.5, 3.0] if _TIMES.search(question) else []),
    ]
    digits = "".join(sign if sign.isdigit() else " " for sign in f"{gold.query} {gold.evidence}").split()
    for text, value in asked:
        written = as_number(text.rstrip("%").replace(",", ""))
        near = {value * factor for factor in factors} | {1 + value / 100, 1 - value / 100, written}
        if near & used or {value + 1, value - 1} & bounds or value in (0.0, 1.0):
            continue
        whole = str(int(value)) if value == int(value) else text
        if any(_holds(one, whole) for one in digits):
            continue
        yield Found(evidence=f"The question says {text}, and the query does not.")


def _holds(digits: str, whole: str) -> bool:
    """Whether digits hold a number: a year may stand within a date, a number within a code."""
    if digits.lstrip("0") == whole or (len(whole) == 4 and whole[2:] == digits):
        return True
    return len(whole) > 2 and whole in digits


def _used(gold: Gold) -> set[float | None]:
    assert gold.facts is not None
    found = {abs(number) for term in gold.facts.literals if (number := as_number(term.value)) is not None}
    found |= {float(level.limit) for level in gold.facts.levels if level.limit is not None}
    return {*found, *(-number for number in found)}


def _bounds(gold: Gold) -> set[float]:
    """The numbers that a comparison by size has: one more or less may say the same."""
    assert gold.facts is not None
    compared = (one for one in gold.facts.conditions if one.operator in ("<", "<=", ">", ">=", "between"))
    return {number for one in compared for term in one.right if (number := as_number(term.value)) is not None}
