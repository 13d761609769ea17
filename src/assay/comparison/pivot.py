"""Which value each column header of a wide table names, by their common words and numbers.

A name spells a value if a run of its words is the value: `sales_2023` spells 2023. If names and values have anything in
common, or are of one kind (numbers, months), the names must spell exactly the values, one each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, time
from decimal import Decimal

from assay.comparison.cells import Key

_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORDS = re.compile(r"\d+|[^\W\d_]+")
_MINUS = re.compile(r"^\s*[-\N{MINUS SIGN}](?=\d)")
_FRACTION = re.compile(r"[-+]?\d+[.,]\d+")
_LEAST_WITHIN = 3
"""A value of fewer letters is only searched as a whole word: an `a` is in most names."""
_SEVERAL = -1
"""In place of a value: a name spells several."""
_MOST_WORDS = 12
"""A value of more words is only searched as a whole name."""
_MOST_WHOLE = 10**15
_MOST_WHOLE_NUMBER = 10**40
_MOST_LETTERS = 300
"""Longer names and values are not read."""
_MOST_START = 12
_MONTHS = "january february march april may june july august september october november december"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_KINDS = {
    form: kind
    for kind, names in (("month", _MONTHS), ("day", _DAYS), ("answer", "true false yes no"))
    for name in names.split()
    for form in (name, name[:3])
}
"""Words that each name one of a few values, so that another one is another value."""


def heads_by_name(names: Sequence[str], values: Sequence[Key]) -> list[Key] | bool:
    """The value that each name spells; True if names say nothing about the values, False if they name others."""
    spelt = [_spelling(value) for value in values]
    if any(len(name) > _MOST_LETTERS for name in names) or None in spelt:
        return False
    known = [words for words in spelt if words is not None]
    texts = list(map(_joined, known))
    found = [_spelt_by(name, texts, max(map(len, known)) + 1) for name in names]
    if not {None, _SEVERAL} & set(found) and len(set(found)) == len(values) == len(set(texts)):
        return [values[number] for number in found if number is not None]
    said = {word for name in names for words in _readings(name) for word in words}
    wanted = {word for words in known for word in words}
    alike = _starts(said, 1) & wanted or _starts(wanted, _LEAST_WITHIN) & said or _kinds(said) & _kinds(wanted)
    return not alike and set(found) == {None}


def _spelt_by(name: str, texts: Sequence[str], longest: int) -> int | None:
    """The one value that a name spells: the longest, if it contains the others. Values have at most this many words."""
    readings = _readings(name)
    whole = "".join(readings[0])
    pieces = () if _FRACTION.fullmatch(name.strip()) else readings  # 0.5 does not spell 5
    runs = {_joined(words) for words in readings} | {
        _joined(words[start:end])
        for words in pieces
        for start in range(len(words))
        for end in range(start + 1, min(len(words), start + min(longest, _MOST_WORDS)) + 1)
    }
    within = [
        number
        for number, text in enumerate(texts)
        if text and (text in runs or (len(text) >= _LEAST_WITHIN and text.isalpha() and text in whole))
    ]
    if not within:
        return None
    best = max(within, key=lambda number: len(texts[number]))
    return best if all(texts[number] in texts[best] for number in within) else _SEVERAL


def _spelling(value: Key) -> list[str] | None:
    """The words of a value, if it has any; None if it is too long for a name."""
    if isinstance(value, tuple) and value and value[0] == "bool":
        value = str(value[1])
    elif isinstance(value, datetime) and value.time() == time():
        value = value.date().isoformat()
    elif isinstance(value, (float, Decimal)) and -_MOST_WHOLE < value < _MOST_WHOLE and value == int(value):
        value = int(value)
    elif isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    elif value is None:
        value = "null"
    if isinstance(value, int) and abs(value) >= _MOST_WHOLE_NUMBER:
        return None
    text = "" if isinstance(value, tuple) else str(value)
    return _words(text) if len(text) <= _MOST_LETTERS else None


def _readings(name: str) -> tuple[list[str], list[str]]:
    """A name's words, and the words in it that begin with a capital letter."""
    return _words(name), _words(_HUMPS.sub(" ", name))


def _words(text: str) -> list[str]:
    found = _WORDS.findall(_MINUS.sub("minus ", text).casefold())
    return [word.lstrip("0") or "0" if word.isdigit() else word for word in found]


def _joined(words: Sequence[str]) -> str:
    """The words as one text, with a point between numbers: 1 and 11 are not 11 and 1."""
    text = ""
    for word in words:
        text += f".{word}" if text[-1:].isdigit() and word.isdigit() else word
    return text


def _starts(words: set[str], least: int) -> set[str]:
    """The words and their beginnings of some letters: F may stand for female, and Ger for Germany."""
    return words | {word[:end] for word in words for end in range(least, min(len(word), _MOST_START) + 1)}


def _kinds(words: set[str]) -> set[str]:
    return {"number" if word.isdigit() else _KINDS[word] for word in words if word.isdigit() or word in _KINDS}
