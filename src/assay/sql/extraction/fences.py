"""What surrounds a query: code fences, a model's thinking, semicolons at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from assay.model.cases.decision import holds_nothing, is_null_word
from assay.sql.extraction.candidate import Candidate
from assay.sql.extraction.statements import Parser, is_statement, opening_of, pieces_of

_SQL_LANGUAGES = (
    "postgresql",
    "snowflake",
    "bigquery",
    "postgres",
    "sqlite3",
    "mariadb",
    "sqlite",
    "duckdb",
    "oracle",
    "plsql",
    "pgsql",
    "mysql",
    "tsql",
    "vql",
    "sql",
)
_OTHER_LANGUAGES = frozenset(
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
_LANGUAGE = "|".join(_SQL_LANGUAGES)
_CLEANED_FENCE = re.compile(
    r"```(?:[ \t]*(?:(?P<language>\w+)[ \t]*)?\r?\n|(?:sql|vql)\b)?(?P<body>.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE
)
FENCE = re.compile(
    rf"(?P<mark>`{{3,}}+|~{{3,}}+)(?:[ \t]*(?P<language>[\w+-]*)[ \t]*\r?\n|(?P<beside>{_LANGUAGE})\b)?"
    r"(?P<body>.*?)(?P<end>(?P=mark)|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_TAG = re.compile(
    rf"(?:(?P<angle><)|\[)(?P<tag>pre(?!\b[^<>]*>\s*<code)|(?:final_?)?(?:code|query|answer|(?:{_LANGUAGE})(?:_?query)?))"
    r"(?(angle)(?:\s[^<>\n]{0,200})?)[>\]](?P<body>.*?)(?P<end>[<\[]/(?P=tag)[>\]]|\Z)",
    re.DOTALL | re.IGNORECASE,
)
# A comment after the last semicolon is removed with it, unless a quote shows that it may be part of a text.
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,7}|#x[\da-f]{1,6});", re.IGNORECASE)
_END = re.compile(r"(?:\s*;)+\s*(?:--[^\n'\"]*)?\Z")
_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THINKING_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)


def clean_query(text: str | None) -> str | None:
    """The query without code fence, trailing semicolon and surrounding space; None if there is none.

    A text of only comments is not a query. Of several code fences, the first that is not empty counts. Everything else
    is unchanged, including comments.
    """
    if text is None:
        return None
    if "```" in text and not is_statement(text):
        fences = [fence for fence in _CLEANED_FENCE.finditer(text) if fence["body"].strip()]
        queries = [fence["body"] for fence in fences if (fence["language"] or "").lower() not in _OTHER_LANGUAGES]
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


def without_thinking(text: str) -> str:
    """The text without a model's thinking. Some servers send the thinking's end tag without its start tag."""
    text = _THINKING.sub("", text)
    *_, answer = _THINKING_END.split(text)
    return answer


def thinking_in(text: str) -> str:
    """A model's thinking, which `without_thinking` removes."""
    ends = [*_THINKING.finditer(text), *_THINKING_END.finditer(text)]
    return text[: max((end.end() for end in ends), default=0)]


def is_one_fence(text: str) -> bool:
    """Whether a text is one code fence and nothing else."""
    fence = FENCE.match(text.strip())
    return fence is not None and fence.end() == len(text.strip())


def without_fences(text: str) -> str:
    """The words of a text, with blanks in place of its code fences, so that offsets stay the same."""
    text = FENCE.sub(_blank, text)
    return _TAG.sub(lambda tag: tag[0] if opening_of(tag["body"]) is None else _blank(tag), text)


def _blank(found: re.Match[str]) -> str:
    return "".join("\n" if character == "\n" else " " for character in found[0])


def fenced(text: str) -> Iterator[Candidate]:
    """The statements in code fences that are labelled SQL, or whose content begins like SQL; else those in tags."""
    found = False
    for fence in FENCE.finditer(text):
        language = (fence["language"] or fence["beside"] or "").lower()
        for candidate in (
            _within(fence, fence["body"], is_sql=language in _SQL_LANGUAGES) if language not in _OTHER_LANGUAGES else ()
        ):
            found = True
            yield candidate
    if not found:
        for tag in _TAG.finditer(text):
            is_html = tag["angle"] is not None and tag["tag"].lower() in ("code", "pre")
            body = _ENTITY.sub(lambda entity: unescape(entity[0]), tag["body"]) if is_html else tag["body"]
            yield from _within(tag, body, is_sql=False)


def _within(fence: re.Match[str], body: str, *, is_sql: bool) -> Iterator[Candidate]:
    for piece in pieces_of(body):
        query = clean_query(piece)
        if query is not None and (is_sql or is_null_word(query) or _begins_like_sql(query)):
            label = piece.rpartition(";")[2] if ";" in piece else ""
            yield Candidate(query=query, start=fence.start(), end=fence.end(), complete=bool(fence["end"]), label=label)


def _begins_like_sql(query: str) -> bool:
    opening = opening_of(query)
    return opening in ("query", "command") or (opening is not None and Parser().reads(query))
