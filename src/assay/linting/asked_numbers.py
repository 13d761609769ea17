"""In how many ways a query can use a number that its question says: as a bound, a list, a unit, a word, a column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product

from assay.linting.gold import Gold
from assay.linting.spoken_numbers import spoken
from assay.linting.words import as_number, times, words
from assay.sql.predicates import Predicate
from assay.sql.query import Query

_BY_SIZE = ("<", "<=", ">", ">=", "between")
_YEAR = re.compile(r"\b[12]\d{3}\b")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_ROMAN = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"]
_SMALL = 12
"""Numbers up to this can be the length of a list, a month, a Roman numeral."""


class UsedNumbers:
    """The numbers that a gold query uses, whatever form they have there."""

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
        """Numbers in comparisons by size, those within a date too, and offsets: one more or less can mean the same."""
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
        """Whether one of the query's times can be the one that the question says: less exact, on a clock of twelve
        hours, or the bound next to it.
        """
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
        """Whether a number lies within a range whose ends the question says as well: 9, 10, 11 of BETWEEN 9 AND 11."""
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
        """Whether the evidence says that a column which the query uses is about a year: ``A12 is the rate of 1995``."""
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
