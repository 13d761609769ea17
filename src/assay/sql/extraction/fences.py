"""A query without what surrounds it: a code fence, semicolons at its end."""

from __future__ import annotations

import re

from assay.model.cases.decision import holds_nothing
from assay.sql.extraction.statements import is_statement

OTHER_LANGUAGES = frozenset(
    {
        "python",
        "py",
        "bash",
        "sh",
        "shell",
        "zsh",
        "powershell",
        "javascript",
        "js",
        "typescript",
        "ts",
        "java",
        "scala",
    }
    | {"kotlin", "r", "go", "rust", "c", "cpp", "csharp", "ruby", "php", "html", "xml", "yaml", "toml", "ini", "csv"}
    | {"diff", "markdown", "md", "mermaid", "output"}
)
_CLEANED_FENCE = re.compile(
    r"```(?:[ \t]*(?:(?P<language>\w+)[ \t]*)?\r?\n|(?:sql|vql)\b)?(?P<body>.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE
)
# A comment after the last semicolon is removed with it, unless a quote shows that it may be part of a text.
_END = re.compile(r"(?:\s*;)+\s*(?:--[^\n'\"]*)?\Z")


def clean_query(text: str | None) -> str | None:
    """The query without code fence, trailing semicolon and surrounding space; None if there is none.

    A text of only comments is not a query. Of several code fences, the first that is not empty counts. Everything else
    is unchanged, including comments.
    """
    if text is None:
        return None
    if "```" in text and not is_statement(text):
        fences = [fence for fence in _CLEANED_FENCE.finditer(text) if fence["body"].strip()]
        queries = [fence["body"] for fence in fences if (fence["language"] or "").lower() not in OTHER_LANGUAGES]
        text = queries[0] if queries else text if fences else ""
    if holds_nothing(text):
        return None
    return without_end(text) or None


def without_end(text: str) -> str:
    """The text without the semicolons at its end, a comment after them, and surrounding space."""
    # Stripping first leaves only one position at which a match can start, however many semicolons the text has.
    text = text.strip()
    cut = text.rfind(";")
    while cut > 0 and text[cut - 1] in "; \t\r\n":
        cut -= 1
    if cut >= 0 and (end := _END.match(text, cut)):
        text = text[: end.start()]
    return text.strip()
