"""A quoted value in the question that the gold query lacks."""

from collections.abc import Iterator

from assay.linting.gold import Found, Gold
from assay.linting.words import quoted_values, words
from assay.model.lint import LintRule
from assay.sql.query import Query

RULE = LintRule(
    name="question-quote",
    severity="warning",
    needs="question",
    finds="a quoted value in the question that the gold query does not use",
    why="Either a condition is missing, or the gold query uses another value than the question.",
    remedy="Add the condition, or correct the value, in the query or in the question.",
    bad="Q: singers of the song 'Hey'\nSELECT name FROM singer WHERE song = 'Hi'",
    good="Q: singers of the song 'Hey'\nSELECT name FROM singer WHERE song = 'Hey'",
)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    said = "".join(words(gold.text))
    for value in quoted_values(gold.question):
        own = words(value)
        # As in the question, or except for a word's ending: "Cats" for 'cat'.
        if not own or "".join(own) in said or all(one[: max(3, len(one) - 2)] in said for one in own):
            continue
        if any(_is_code_of(literal, value) for literal in query.literals):
            continue
        if value.lower() in gold.evidence.lower():
            continue  # the evidence says what the value stands for
        yield Found(evidence=f"The question quotes {value!r}, but the query does not use it.")


def _is_code_of(code: str, value: str) -> bool:
    """Whether a short code can stand for a value: ``CA`` for California, ``USA`` for United States of America."""
    letters = iter(value.upper())
    return (
        1 < len(code) <= 4 and code.isupper() and code[:1] == value[:1].upper() and all(one in letters for one in code)
    )
