"""A value in the gold query that the question does not mention."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.linting.words import as_number, is_english, said_numbers, says
from assay.model.lint import LintRule
from assay.sql.query import Query

RULE = LintRule(
    name="value-not-asked",
    severity="note",
    needs="question",
    finds="a value in the gold query's conditions that neither question nor evidence mentions",
    why="A system cannot guess a condition that is not stated.",
    remedy="State the value in the question or its evidence, or remove the condition.",
    bad="Q: names of singers\nSELECT name FROM singer WHERE country = 'France'",
    good="Q: names of singers from France\nSELECT name FROM singer WHERE country = 'France'",
)
_SHORT = 4


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    said = f"{gold.question} {gold.evidence}"
    for one in query.predicates:
        if one.clause == "output" or query.column_of(one.left) is None or one.operator == "is":
            continue
        for side in one.right:
            value = query.value_of(side)
            if value is not None and not _is_said(said, one.operator, value, is_number=side.is_number):
                yield Found(
                    evidence=f"The query requires {query.shown(one.left)} {one.operator} "
                    f"{query.shown(side)}, which the "
                    "question does not mention.",
                    place=query.span(one.node),
                )


def _is_said(said: str, operator: str, value: str, *, is_number: bool) -> bool:
    number = as_number(value)
    if number is not None:
        heard = said_numbers(said)
        near = {abs(number)}
        if operator in ("<", "<=", ">", ">=", "between"):
            near |= {abs(number) + 1, abs(number) - 1}
        return bool(near & heard) or number in (0.0, 1.0) or (is_number and operator == "=" and number < 10)
    # Short values are codes: M for male, USA.
    if len(value.strip("% _")) <= _SHORT or any(sign.isdigit() for sign in value):
        return True
    return not is_english(said) or says(said, value)  # other languages have other words for it
