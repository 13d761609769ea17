"""A number of the question that the gold lacks."""

import re
from collections.abc import Iterator, Sequence

from assay.linting.asked_numbers import UsedNumbers, computed_of
from assay.linting.gold import Found, Gold
from assay.linting.words import as_number, numbers, times
from assay.model.lint import LintRule
from assay.sql.query import Query

RULE = LintRule(
    name="question-number",
    severity="warning",
    needs="question",
    finds="a number, year or time in the question that the gold does not use",
    why="Either a condition is missing, or the gold uses another number than the question.",
    remedy="Add the condition, or correct the number, in the query or in the question.",
    bad="Q: singers older than 40\nSELECT name FROM singer WHERE age > 50",
    good="Q: singers older than 40\nSELECT name FROM singer WHERE age > 40",
)


_UNIT = r"(?:second|minute|hour|day|week|month|quarter|year|decade)s?"
_NOT_ASKED = re.compile(
    r"^\s*(?:q|question|no\.?|#)?\s*\d+\s*[.:)]\s|"  # the question's own number
    r"\b\d{1,2}(?:[:.]\d\d)?\s*(?:am|pm|a\.m\.|p\.m\.|o'clock)(?!\w)|"  # an hour
    rf"\b(?:last|past|previous|next|recent)\s+\d+\s+{_UNIT}\b|"
    # a day that is reckoned from another: "2 months after March", "3 days before 2020-01-05"
    rf"\b\d+\s+{_UNIT}\s+(?:before|after|prior to|from|later than)\s+(?=\d|(?-i:[A-Z]))|"
    r"\bout of (?:a |the )?(?:maximum )?\d+\b|\bscale (?:of|from) \d+\s*(?:to|-|–)\s*\d+|"
    # a number that only counts what there is
    r"\ball(?: of)?(?: the)? \d+\b|\b(?:the|these|those|following) \d+ \w+ *(?=[:—–]|-[ -])",
    re.IGNORECASE,
)
_COMMA = re.compile(r"(?<![\d,.])(\d+),(\d{1,2})(?![\d,])")
_UNITS = re.compile(rf"\b\d+\s*{_UNIT}\b", re.IGNORECASE)
_OF_UNITS = (60.0, 3600.0, 24.0, 7.0, 12.0, 365.0, 10.0, 1 / 60, 1 / 12)
_TIMES = re.compile(r"\b(?:twice|double|thrice|triple|half|halves)\b", re.IGNORECASE)
_COMPARED = re.compile(r"(?:top|first|last|best|more|less|fewer|greater|least|most|over|under|than)\s+$", re.IGNORECASE)
_FACTORS = (1.0, 1e-2, 1e2, 1e-3, 1e3, 1e6)


def check_query(gold: Gold, query: Query) -> Iterator[Found]:
    # A comma is a decimal point in many languages, and separates numbers in others: nothing is said of those.
    question = _COMMA.sub(" ", _NOT_ASKED.sub(" ", gold.question))
    asked, asked_times = numbers(question), times(question)
    if not asked and not asked_times:
        return
    used = UsedNumbers(gold, query)
    for time in asked_times:
        if used.times and not used.has_time(time):
            yield Found(evidence=f"The question says {time}, and the query says {', '.join(used.times[:3])}.")
    factors = [
        *_FACTORS,
        *(_OF_UNITS if _UNITS.search(question) else ()),
        *([2.0, 0.5, 3.0] if _TIMES.search(question) else []),
    ]
    values = [value for _, value in asked]
    for text, value in asked:
        if value in (0.0, 1.0) or _is_used(text, value, used, factors):
            continue
        # A number of things that the query lists; "top 3" and "more than 3" are more than that.
        start = question.find(text)
        if value in used.lengths and not _COMPARED.search(question[:start]):
            continue
        if used.spans(value, values) or (value in used.lengths and _reads_often(query, value)):
            continue
        if used.has_column_of_a_year and 1000 <= value < 3000:
            continue
        if any(abs(number) > _TOO_COMMON and number in used.plain for number in computed_of(value, values)):
            continue
        yield Found(evidence=f"The question says {text}, and the query does not.")


_TOO_COMMON = 12


def _reads_often(query: Query, value: float) -> bool:
    """Whether the query reads one table so often: so it asks for at least that many rows of something."""
    tables = [[source.table for source in select.sources.values() if source.table] for select in query.selects]
    return any(held.count(table) == value for held in tables for table in held)


def _is_used(text: str, value: float, used: UsedNumbers, factors: Sequence[float]) -> bool:
    """Whether the query has the number itself, in another unit, as the bound next to it, or within a date or a code."""
    written = as_number(text.rstrip("%").replace(",", "").replace(" ", ""))
    near = {value * factor for factor in factors} | {1 + value / 100, 1 - value / 100, 100 / value, written}
    if (
        not near.isdisjoint(used.plain)
        or {value + 1, value - 1} & used.bounds
        or value in used.in_words | used.patterns
    ):
        return True
    whole = str(int(value)) if value == int(value) else text
    return any(_holds(one, whole) for one in used.digits)


def _holds(digits: str, whole: str) -> bool:
    """Whether digits hold a number: a year may stand within a date, a number within a code."""
    if digits.lstrip("0") == whole or (len(whole) == 4 and whole[2:] == digits):
        return True
    return len(whole) > 2 and whole in digits
