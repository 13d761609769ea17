"""What both a question and its query must mention: numbers, years, quoted values and some words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache

from msgspec import Struct

from assay.linting.spoken_numbers import SCALES, spoken

# Parts of dates, times ("1:29.488"), versions and codes are not numbers by themselves.
_NUMBER = re.compile(
    r"(?<![\w.,#/-])(?<!\d:)-?(?:\d{1,3}(?:[   ]\d{3})+|\d+(?:,\d{3})*)(?:\.\d+)?(?![\w/]|-\d|:\d|\.\d)(%?)"
)
_QUOTED = re.compile(
    r"(?<!\w)\"([^\"\n]{1,80})\"|“([^”\n]{1,80})”|‘([^’\n]{1,80})’|``\s*([^`'\n]{1,80}?)\s*''|(?<!\w)'([^'\n]{1,80})'(?!\w)"
)
_LIKE = 0.6
_WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_SMALL_WORDS = """
a an and are at by did do does each find for from give had has have how in is list many more of on or show than that
the their there to was were what when where which who whose with
"""
_ENGLISH = frozenset(_SMALL_WORDS.split())
_PEOPLES = {
    "american": ("united states", "usa", "us", "america"),
    "british": ("united kingdom", "uk", "great britain", "england"),
    "danish": ("denmark",),
    "dutch": ("netherlands", "holland"),
    "english": ("united kingdom", "uk", "england"),
    "filipino": ("philippines",),
    "greek": ("greece", "hellas"),
    "polish": ("poland",),
    "welsh": ("wales", "united kingdom", "uk"),
}
"""Names of peoples whose country begins with other letters."""


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case."""
    return tuple(_WORD.findall(text.lower()))


def has(text: str, pattern: str) -> bool:
    """Whether a regular expression of whole words occurs, case-insensitively."""
    return re.search(rf"\b(?:{pattern})\b", text, re.IGNORECASE) is not None


@lru_cache(maxsize=4096)
def quoted_values(text: str) -> tuple[str, ...]:
    """The values that a text puts in quotes."""
    found = (next(part for part in match.groups() if part is not None) for match in _QUOTED.finditer(text))
    return tuple(value.strip(" .,;?!") for value in found if value.strip(" .,;?!"))


@lru_cache(maxsize=4096)
def numbers(text: str) -> tuple[tuple[str, float], ...]:
    """The numbers in digits, as written and as values (``2 million`` is 2,000,000), without those in quotes."""
    plain = _QUOTED.sub(" ", text)
    found = []
    for match in _NUMBER.finditer(plain):
        value = float("".join(sign for sign in match[0] if sign not in "%,   "))
        after = re.match(r"\s*([A-Za-z]+)", plain[match.end() :])
        if after and after[1].lower() in SCALES:
            value *= SCALES[after[1].lower()]
        found.append((match[0], value))
    return tuple(found)


_TIME = re.compile(r"(?<![\w:.+-])\d{1,2}(?::\d{2}){1,2}(?:\.\d+)?(?![\w:]|\.\d)")


@lru_cache(maxsize=4096)
def times(text: str) -> tuple[str, ...]:
    """The times of day and durations in a text: ``10:30``, ``1:29.488``, also next to a date."""
    return tuple(_TIME.findall(text))


@lru_cache(maxsize=4096)
def said_numbers(text: str) -> frozenset[float]:
    """All numbers that a text may mean, in digits anywhere or in words."""
    found = {value for _, value in numbers(text)}
    for digits in re.findall(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+", text):
        found.add(float(digits.replace(",", "")))
    found.update(spoken(words(text)))
    for value in list(found):
        found |= {value / 100, value * 100, value * 1e3, value * 1e6}
    return frozenset(found)


def as_number(text: str | None) -> float | None:
    """The number that a text is; None if it is not a number."""
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None


def stems(text: str) -> Iterator[str]:
    """The first letters of each word: enough to see that ``French`` may stand for ``France``."""
    for word in words(text):
        yield word[:4]


def says(text: str, value: str) -> bool:
    """Whether a text mentions a value, in its words, in words with the same beginning, or by its initials."""
    lowered, wanted = text.lower(), value.lower().strip(" %_")
    if not wanted or wanted in lowered:
        return True
    plain = "".join(words(wanted))
    if plain and plain in "".join(words(lowered)):
        return True
    heard = set(stems(text))
    spoken = list(stems(wanted))
    if any(stem in heard or any(stem[:3] == one[:3] for one in heard if len(stem) >= 3) for stem in spoken if stem):
        return True
    if any(_is_like(own, word) for own in words(wanted) for word in words(lowered)):
        return True
    initials = "".join(word[0] for word in words(text))
    if len(plain) <= 4 and plain in initials:
        return True
    own = "".join(word[0] for word in words(wanted))
    spoken_words = set(words(lowered))
    if len(own) > 1 and own in spoken_words:
        return True
    return any(wanted in _PEOPLES.get(word.rstrip("s"), ()) for word in spoken_words)


def is_english(text: str) -> bool:
    """Whether a text is certainly English: it has some of its function words."""
    return any(word in _ENGLISH for word in words(text))


def _is_like(first: str, second: str) -> bool:
    """Whether one word may stand for another, for example ``French`` for ``France``."""
    return first[:2] == second[:2] and len(first) > 3 and SequenceMatcher(None, first, second).ratio() >= _LIKE


class Stated(Struct, frozen=True, kw_only=True):
    """A condition that a text states: ``Magnet = 1``."""

    text: str
    column: str
    """Lower case, without quotes and without its table."""
    operator: str
    value: str


_STATED = re.compile(
    r"(?P<column>`[^`]{1,60}`|\"[^\"]{1,60}\"|[A-Za-z_][\w.]{1,60})\s*(?P<operator><=|>=|!=|<>|=|<|>)\s*"
    r"(?P<value>'[^']{1,80}'|\"[^\"]{1,80}\"|-?\d+(?:\.\d+)?(?![\w%*/.-]))"
)


@lru_cache(maxsize=4096)
def stated_conditions(text: str) -> tuple[Stated, ...]:
    """The conditions that evidence states in the form of SQL."""
    return tuple(
        Stated(
            text=match[0],
            column=match["column"].strip('`"').rsplit(".", 1)[-1].lower(),
            operator=match["operator"],
            value=match["value"].strip("'\""),
        )
        for match in _STATED.finditer(text)
    )
