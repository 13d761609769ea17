"""Find the query in the text that a system answers."""

from __future__ import annotations

import re

from assay.model.decision import holds_nothing

_FENCE = re.compile(r"```(?:[ \t]*(?:\w+[ \t]*)?\r?\n|(?:sql|vql)\b)?(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
# A comment after the last semicolon is removed with it, unless a quote shows that it may be part of a text.
_END = re.compile(r"(?:\s*;)+\s*(?:--[^\n'\"]*)?\Z")


def clean_query(text: str | None) -> str | None:
    """The query without code fence, trailing semicolon and surrounding space; None where there is none.

    Text with nothing but comments is no query. Of several code fences, the first that is not empty counts. Everything
    else is unchanged, including comments.
    """
    if text is None:
        return None
    if "```" in text:
        text = next((found for found in _FENCE.findall(text) if found.strip()), "")
    if holds_nothing(text):
        return None
    # Stripping first leaves one place to start matching from, however many semicolons the text has.
    text = text.strip()
    cut = text.rfind(";")
    while cut > 0 and text[cut - 1] in "; \t\r\n":
        cut -= 1
    if cut >= 0 and (end := _END.match(text, cut)):
        text = text[: end.start()]
    return text.strip() or None
