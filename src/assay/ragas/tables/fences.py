"""CSV in a Markdown code fence, as chat models write it."""

from __future__ import annotations

import re

from assay.errors import InputError

_FENCE = re.compile(r"^ {0,3}(?P<marks>`{3,}|~{3,})(?P<info>[^`\r\n]*)(?:\r\n?|\n|\Z)", re.MULTILINE)
_TABLE_WORDS = frozenset({"", "csv", "text", "txt", "plain", "plaintext"})
_SHOWN = 60


def unfenced(text: str) -> str:
    """The text inside the one code fence that it is, or the text itself where it holds none.

    Raises InputError where a fence is not closed, where words or another block stand beside it, and where
    it says that it holds something else than CSV. A fence inside a quoted cell is part of that cell.
    """
    if "```" not in text and "~~~" not in text:
        return text
    fences = [fence for fence in _FENCE.finditer(text) if text.count('"', 0, fence.start()) % 2 == 0]
    if not fences:
        return text
    opening, *others = fences
    before = text[: opening.start()].removeprefix("\ufeff").strip()
    closing = next((fence for fence in others if _closes(opening, fence)), None)
    if closing is None:
        if before and not others:
            return text  # a line of marks in a table is a cell
        raise InputError("the text is no CSV: a code fence is opened and never closed, so the table may be cut off")
    for where, words in (("before", before), ("after", text[closing.end() :].strip())):
        if words:
            raise InputError(
                f"the text is no CSV: words stand {where} the fenced block, {_shown(words)}; give the table alone"
            )
    language = opening["info"].strip().lower()
    if language.split(" ")[0] not in _TABLE_WORDS:
        raise InputError(f"the text is no CSV: the fenced block says that it holds {language!r}")
    return text[opening.end() : closing.start()]


def _closes(opening: re.Match[str], fence: re.Match[str]) -> bool:
    return fence["marks"].startswith(opening["marks"]) and not fence["info"].strip()


def _shown(words: str) -> str:
    line = " ".join(words.split())
    return repr(line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…")
