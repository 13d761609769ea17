"""CSV in a Markdown code fence, as chat models write it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.errors import InputError

_FENCE = re.compile(
    r"(?:\A\ufeff?|(?<=[\r\n]))(?P<indent> {0,3})(?P<marks>`{3,}|~{3,})(?P<info>[^`\r\n]*)(?:\r\n?|\n|\Z)"
)
_TABLE_WORDS = frozenset({"", "csv", "text", "txt", "plain", "plaintext"})
_SHOWN = 60


def unfenced(text: str) -> str:
    """The text inside the only code fence of ``text``, or the text itself where it has no fence.

    Raises InputError where a fence is not closed, where other text or another block surrounds it, and
    where it names a language other than CSV. A fence inside a quoted cell is part of that cell.
    """
    if "```" not in text and not text.lstrip("\ufeff \r\n\t").startswith("~~~"):
        return text
    fences = _fences(text)
    opening = next(fences, None)
    if opening is None:
        return text
    closing = next((fence for fence in fences if _closes(opening, fence)), None)
    if closing is None:
        raise InputError(
            f"the text is no CSV: a code fence ({opening['marks']}) without its other end stands in it, so that a part "
            "of the table may be missing"
        )
    beside = {"before": text[: opening.start()].removeprefix("\ufeff"), "after": text[closing.end() :]}
    for where, words in beside.items():
        if words.strip():
            raise InputError(
                f"the text is no CSV: words stand {where} the fenced block, {_shown(words)}; give the table alone"
            )
    language = opening["info"].strip().lower()
    if language not in _TABLE_WORDS:
        raise InputError(f"the text is no CSV: the fenced block says that it holds {language!r}")
    return _outdented(text[opening.end() : closing.start()], len(opening["indent"]))


def _outdented(table: str, indent: int) -> str:
    """The lines without the indentation of their fence, as in Markdown; quoted cells keep their blanks."""
    if not indent:
        return table
    parts: list[str] = []
    quotes = 0
    for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", table):
        blanks = len(line) - len(line.lstrip(" ")) if quotes % 2 == 0 else 0
        parts.append(line[min(blanks, indent) :])
        quotes += line.count('"')
    return "".join(parts)


def _fences(text: str) -> Iterator[re.Match[str]]:
    """The fence lines outside quotes."""
    quotes = place = 0
    for fence in _FENCE.finditer(text):
        quotes += text.count('"', place, fence.start())
        place = fence.start()
        if quotes % 2 == 0:
            yield fence


def _closes(opening: re.Match[str], fence: re.Match[str]) -> bool:
    return fence["marks"].startswith(opening["marks"]) and not fence["info"].strip()


def _shown(words: str) -> str:
    line = " ".join(words.split())
    return repr(line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…")
