"""The words of a query as Spider's script sees them.

The script puts each quoted text aside and splits the rest with NLTK's ``word_tokenize``, which is made for English
sentences: ``>=`` comes apart (and is put together again), ``a=1`` and ``a,1`` stay one word, and ``cannot`` becomes
two. Where NLTK looks for ends of sentences within a query, we don't.
"""

from __future__ import annotations

import re

from assay.metrics.spider_em.queries import UnreadableError

_ALONE = r"\[\](){}<>;@#$%&?!*«»“”‘’„\u2012-\u2015"
"""Characters that are words by themselves."""
_WORDS = re.compile(rf"\.{{2,}}|--|``|`|[{_ALONE}]|(?:(?!\.\.|--)[^\s`{_ALONE}])+")
_COMMA = re.compile(r"([,:])(\D|$)")
_LAST_PERIOD = re.compile(r"(?<=[^.])\.(?=[\])}>»”’\s]*$)")
_CONTRACTED = re.compile(r"\b(?:(can)(not)|(gim)(me)|(gon)(na)|(got)(ta)|(lem)(me))\b", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')
_COMPARED = frozenset("!<>")


def words_of(query: str) -> list[str]:
    """The words in lower case; quoted texts as they stand, in double quotes. Raises UnreadableError."""
    text = query.replace("'", '"')
    if text.count('"') % 2:
        raise UnreadableError("a quote is not closed")
    quoted: dict[str, str] = {}

    def aside(found: re.Match[str]) -> str:
        key = f"__val_{found.start()}_{found.end() - 1}__"
        quoted[key] = found.group()
        return key

    found: list[str] = []
    for word in _WORDS.findall(_COMMA.sub(r" \1 \2", _LAST_PERIOD.sub(" . ", _QUOTED.sub(aside, text)))):
        parts = _CONTRACTED.sub(lambda one: f" {' '.join(filter(None, one.groups()))} ", word).split()
        found += [quoted.get(part, part) for part in map(str.lower, parts)]
    return _joined(found)


def _joined(words: list[str]) -> list[str]:
    """``!``, ``<`` and ``>`` put together with the ``=`` that follows."""
    joined: list[str] = []
    for word in words:
        if word == "=" and joined and joined[-1] in _COMPARED:
            joined[-1] += "="
        else:
            joined.append(word)
    return joined
