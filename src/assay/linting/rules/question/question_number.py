"""A number in the question that the gold query lacks in every form that a query can use (`UsedNumbers`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product

from assay.linting.gold import Found, Gold
from assay.linting.spoken_numbers import spoken
from assay.linting.words import as_number, numbers, times, words
from assay.model.lint import LintRule
from assay.sql.predicates import Predicate
from assay.sql.query import Query

RULE = LintRule(
    name="question-number",
    severity="warning",
    needs="question",
    finds="a number, year or time in the question that the gold query does not use",
    why="Either a condition is missing, or the gold query uses another number than the question.",
    remedy="Add the condition, or correct the number, in the query or in the question.",
    bad="Q: singers older than 40\nSELECT name FROM singer WHERE age > 50",
    good="Q: singers older than 40\nSELECT name FROM singer WHERE age > 40",
)


_UNIT = r"(?:second|minute|hour|day|week|month|quarter|year|decade)s?"
_NOT_ASKED = re.compile(
    r"^\s*(?:q|question|no\.?|#)?\s*\d+\s*[.:)]\s|"  # the question's own number
    r"\b\d{1,2}(?:[:.]\d\d)?\s*(?:am|pm|a\.m\.|p\.m\.|o'clock)(?!\w)|"  # an hour
    rf"\b(?:last|past|previous|next|recent)\s+\d+\s+{_UNIT}\b|"
    # a day relative to another: "2 months after March", "3 days before 2020-01-05"
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
    # A comma is a decimal point in many languages and a separator in others: such numbers are ignored.
    question = _COMMA.sub(" ", _NOT_ASKED.sub(" ", gold.question))
    asked, asked_times = numbers(question), times(question)
    if not asked and not asked_times:
        return
    used = UsedNumbers(gold, query)
    for time in asked_times:
        if used.times and not used.has_time(time):
            yield Found(evidence=f"The question says {time}, but the query says {', '.join(used.times[:3])}.")
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
        yield Found(evidence=f"The question says {text}, but the query does not.")


_TOO_COMMON = 12


def _reads_often(query: Query, value: float) -> bool:
    """Whether the query reads one table that many times, and so asks for at least that many rows of something."""
    tables = [[source.table for source in select.sources.values() if source.table] for select in query.selects]
    return any(held.count(table) == value for held in tables for table in held)


def _is_used(text: str, value: float, used: UsedNumbers, factors: Sequence[float]) -> bool:
    """Whether the query has the number itself, in another unit, as the adjacent bound, or within a date or a code."""
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
    """Whether digits contain a number: a year may be within a date, a number within a code."""
    if digits.lstrip("0") == whole or (len(whole) == 4 and whole[2:] == digits):
        return True
    return len(whole) > 2 and whole in digits


_BY_SIZE = ("<", "<=", ">", ">=", "between")
_YEAR = re.compile(r"\b[12]\d{3}\b")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_ROMAN = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"]
_SMALL = 12
"""Numbers up to this can be the length of a list, a month, a Roman numeral."""


class UsedNumbers:
    """The numbers that a gold query uses, in any form."""

    def __init__(self, gold: Gold, query: Query) -> None:
        self._gold = gold
        self._query = query

    @cached_property
    def plain(self) -> frozenset[float]:
        """Numbers as such, without their sign, and the limits."""
        found = {abs(number) for value in self._query.literals if (number := as_number(value)) is not None}
        found |= {float(select.limit) for select in self._query.selects if select.limit is not None}
        return frozenset(found | {-number for number in found})

    @cached_property
    def bounds(self) -> frozenset[float]:
        """Numbers in comparisons by size, including those within a date, and offsets: one more or less can mean the
        same."""
        sides = [side for one in self._query.predicates if one.operator in _BY_SIZE for side in one.right]
        texts = [self._query.value_of(side) or "" for side in sides]
        texts += re.findall(r"\boffset\s+\d+|\blimit\s+\d+(?=\s*,)", self._gold.text, re.IGNORECASE)
        whole = {number for text in texts if (number := as_number(text)) is not None}
        return frozenset(whole | {float(digits) for text in texts for digits in re.findall(r"\d+", text)[:6]})

    @cached_property
    def digits(self) -> tuple[str, ...]:
        """Digits anywhere in the query and in the evidence."""
        text = f"{self._gold.text} {self._gold.evidence}"
        return tuple("".join(sign if sign.isdigit() else " " for sign in text).split())

    @cached_property
    def in_words(self) -> frozenset[float]:
        """Numbers in words, in names and values: ``three_pointers``, ``'Second'``, ``'May'``, ``'World War II'``."""
        found = set(spoken(words(self._gold.text)))
        for value in self._query.literals:
            held = words(value)
            found |= {float(_ROMAN.index(word) + 1) for word in held if word in _ROMAN and len(held) > 1}
            found |= {float(_MONTHS.index(word[:3]) + 1) for word in held if word[:3] in _MONTHS and word.isalpha()}
        return frozenset(found)

    @cached_property
    def patterns(self) -> frozenset[float]:
        """How many letters or parts a pattern of LIKE asks for: ``'____'``, ``'%,%,%'``."""
        likes = [one.right[0] for one in self._query.predicates if one.operator == "like"]
        patterns = [self._query.value_of(pattern) or "" for pattern in likes]
        parts = {pattern.count("%") for pattern in patterns if pattern.count("%") > 2}  # two are around any word
        return frozenset(float(number) for number in parts | {pattern.count("_") for pattern in patterns})

    @cached_property
    def lengths(self) -> frozenset[float]:
        """How many values are listed, or times a table is read."""
        found: set[int] = set()
        equal: Counter[tuple[object, ...]] = Counter()
        for one in self._query.predicates:
            column = self._query.column_of(one.left)
            if one.operator == "in":
                found.add(len(one.right))
            elif one.operator == "=" and column is not None and self._query.value_of(one.right[0]) is not None:
                equal[column.name.lower(), one.clause] += 1
        for select in self._query.selects:
            found.update(Counter(source.table for source in select.sources.values() if source.table).values())
        found |= set(equal.values())
        return frozenset(float(number) for number in found if 1 < number <= _SMALL)

    @cached_property
    def times(self) -> tuple[str, ...]:
        """Times in the query's texts: ``'1:29.488'``, ``'2020-01-05 10:30'``."""
        return tuple(time for value in self._query.literals for time in times(value))

    def has_time(self, asked: str) -> bool:
        """Whether one of the query's times can be the one in the question: less exact, on a 12-hour clock, or the
        adjacent bound."""
        hour, _, rest = asked.partition(":")
        wanted = {f"{number}:{rest}".lstrip("0:") for number in (int(hour), int(hour) + 12, int(hour) - 12)}
        for used in self.times:
            bare = used.lstrip("0:")
            if any(bare.startswith(time) or time.startswith(bare) for time in wanted):
                return True
            # '10:29' is the last minute before 10:30, '11:59:59' is the last second before 12:00.
            longer, shorter = sorted((_parts(used), _parts(asked)), key=len, reverse=True)
            scale = 60 ** (len(longer) - len(shorter))
            if abs(_in_last_unit(longer) - _in_last_unit(shorter) * scale) in (0, 1):
                return True
        return False

    def spans(self, value: float, asked: Sequence[float]) -> bool:
        """Whether a number lies within a range whose ends the question also names: 9, 10, 11 of BETWEEN 9 AND 11."""
        return any(low < value < high and {low, high} <= set(asked) for low, high in self._ranges())

    def _ranges(self) -> Iterator[tuple[float, float]]:
        lower: list[tuple[Predicate, float]] = []
        upper: list[tuple[Predicate, float]] = []
        for one in self._query.predicates:
            ends = [as_number(self._query.value_of(side)) for side in one.right]
            if one.operator == "between" and len(ends) == 2 and ends[0] is not None and ends[1] is not None:
                yield ends[0], ends[1]
            elif one.operator in (">", ">=") and ends[0] is not None:
                lower.append((one, ends[0]))
            elif one.operator in ("<", "<=") and ends[0] is not None:
                upper.append((one, ends[0]))
        for (first, low), (second, high) in product(lower[:9], upper[:9]):
            if first.left == second.left:
                yield low, high

    @cached_property
    def has_column_of_a_year(self) -> bool:
        """Whether the evidence says that a column used by the query is about a year: ``A12 is the rate of 1995``."""
        used = set(words(self._gold.text))
        return any(
            _YEAR.search(part) is not None and not used.isdisjoint(_identifiers(part))
            for part in re.split(r"[;\n]|,\s|\.\s", self._gold.evidence)
        )


def _identifiers(text: str) -> set[str]:
    """The words of a text that look like columns' names: with a digit, a capital letter within, or in backquotes."""
    found = re.findall(r"`([^`]+)`|\b([A-Za-z]+\d\w*|[a-z]+[A-Z]\w*|\w+_\w+)\b", text)
    return {word for pair in found for name in pair for word in words(name)}


def _parts(time: str) -> list[float]:
    return [float(part) for part in time.split(":")]


def _in_last_unit(parts: Sequence[float]) -> float:
    total = 0.0
    for part in parts:
        total = total * 60 + part
    return total


def computed_of(value: float, others: Sequence[float]) -> Iterator[float]:
    """What a question's two numbers can give that a query then has: aged 18 in 2010 is born in 1992."""
    for other in others:
        if other in (value, 0.0):
            continue
        yield from (value - other, other - value, value + other, value * other, value * other / 100)
        yield from (value * (1 + other / 100), value * (1 - other / 100))
        yield from (other * (1 + value / 100), other * (1 - value / 100))
