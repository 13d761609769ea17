"""A number of the question that the gold lacks."""

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


def check(gold: Gold) -> Iterator[Found]:
    if gold.facts is None:
        return
    asked = numbers(gold.question)
    if not asked:
        return
    used = _used(gold)
    digits = "".join(sign if sign.isdigit() else " " for sign in f"{gold.query} {gold.evidence}").split()
    for text, value in asked:
        near = {value, value + 1, value - 1, value / 100, value * 100, value / 1000, value * 1000, value * 1e6}
        near |= {1 + value / 100, 1 - value / 100}
        if near & used or value in (0.0, 1.0):
            continue
        whole = str(int(value)) if value == int(value) else text
        # A year may stand within a date, a number within a code.
        if any(whole in one or (len(whole) == 4 and whole[2:] == one) for one in digits):
            continue
        yield Found(evidence=f"The question says {text}, and the query does not.")


def _used(gold: Gold) -> set[float]:
    assert gold.facts is not None
    found = {abs(number) for term in gold.facts.literals if (number := as_number(term.value)) is not None}
    found |= {float(level.limit) for level in gold.facts.levels if level.limit is not None}
    found |= {-number for number in found}
    return found
