"""The numbers that an English text spells out, for example ``twenty-five``, ``two hundred thousand``, ``half``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_SMALL = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMERALS = {
    **{name: place for place, name in enumerate(_SMALL.split())},
    **{name: 10 * place for place, name in enumerate(_TENS.split(), start=2)},
}
SCALES = {
    "dozen": 12.0,
    "hundred": 1e2,
    "thousand": 1e3,
    "k": 1e3,
    "lakh": 1e5,
    "million": 1e6,
    "m": 1e6,
    "mn": 1e6,
    "crore": 1e7,
    "billion": 1e9,
    "bn": 1e9,
    "b": 1e9,
    "trillion": 1e12,
}
_SPOKEN_SCALES = {name: value for name, value in SCALES.items() if len(name) > 2}
_PLACES = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_ORDINALS = {name: place for place, name in enumerate(_PLACES.split(), start=1)}
_OTHERS = {"once": 1.0, "twice": 2.0, "thrice": 3.0, "couple": 2.0, "pair": 2.0, "decade": 10.0, "century": 100.0}
_SHARES = {"half": 0.5, "halves": 0.5, "quarter": 0.25, "quarters": 0.25, "third": 1 / 3, "thirds": 1 / 3}
_DECADE_NAMES = "twenties thirties forties fifties sixties seventies eighties nineties"
_DECADES = {name: 10 * place for place, name in enumerate(_DECADE_NAMES.split(), start=2)}


def spoken(words: Sequence[str]) -> Iterator[float]:
    """Every number that lower-case words may mean, including the parts of a longer number."""
    place = 0
    while place < len(words):
        word = words[place]
        for table in (_ORDINALS, _OTHERS, _SHARES):
            if word in table:
                yield float(table[word])
        if word in _DECADES:
            for century in (1800, 1900, 2000):
                yield from (float(century + _DECADES[word]), float(century + _DECADES[word] + 9))
        end, parts = _numeral(words, place)
        yield from parts
        place = max(end, place + 1)


def _numeral(words: Sequence[str], start: int) -> tuple[int, list[float]]:
    """The number that begins at a word: where it ends, and its values, including those of its parts."""
    whole = group = 0.0
    parts: list[float] = []
    place = start
    while place < len(words):
        word = words[place]
        if word in NUMERALS:
            value = float(NUMERALS[word])
            if parts and not (group % 100 == 0 or (group % 10 == 0 and value < 10)):
                break  # another number: "nineteen ninety"
            group += value
            parts.append(value)
        elif word in _SPOKEN_SCALES and (parts or (place and words[place - 1] in ("a", "several"))):
            scale = _SPOKEN_SCALES[word]
            group = max(group, 1.0) * scale
            if scale >= 1e3:
                whole, group = whole + group, 0.0
            parts.append(scale)
        elif word == "and" and parts and place + 1 < len(words) and words[place + 1] in NUMERALS:
            place += 1
            continue
        else:
            break
        place += 1
    return place, [*parts, whole + group, *_year(parts)] if parts else []


def _year(parts: Sequence[float]) -> Iterator[float]:
    """``twenty ten`` and the like are read as separate numbers and not combined."""
    if len(parts) == 2 and parts[0] in (19.0, 20.0) and 10 <= parts[1] < 100:
        yield parts[0] * 100 + parts[1]
