"""A value of the gold that the question does not say."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.linting.words import as_number, said_numbers, says
from assay.model.lint import LintRule
from assay.sql.facts import Condition, Term

RULE = LintRule(
    name="value-not-asked",
    severity="note",
    needs="question",
    finds="a value in the gold's conditions that neither question nor evidence mentions",
    why="A system cannot guess a condition that nobody asked for.",
    remedy="Say the value in the question or its evidence, or drop the condition.",
    bad="Q: names of singers\nSELECT name FROM singer WHERE country = 'France'",
    good="Q: names of singers from France\nSELECT name FROM singer WHERE country = 'France'",
)
_SHORT = 4


def check(gold: Gold) -> Iterator[Found]:
    said = f"{gold.question} {gold.evidence}"
    for one in gold.facts.conditions if gold.facts is not None else ():
        if one.clause == "output" or one.left.column is None or one.operator == "is":
            continue
        for term in one.right:
            if term.kind == "literal" and not _is_said(said, one, term):
                yield Found(
                    evidence=f"The query asks for {one.left.text} {one.operator} {term.text}, "
                    "which the question does not say.",
                    place=one.place,
                )


def _is_said(said: str, one: Condition, term: Term) -> bool:
    value = term.value or ""
    number = as_number(value)
    if number is not None:
        heard = said_numbers(said)
        near = {abs(number), abs(number) + 1, abs(number) - 1}
        return bool(near & heard) or number in (0.0, 1.0) or (term.is_number and one.operator == "=" and number < 10)
    # Short values are codes: M for male, USA.
    return len(value.strip("% _")) <= _SHORT or any(sign.isdigit() for sign in value) or says(said, value)
