"""Find the one query in a chat model's answer to a request for SQL."""

from __future__ import annotations

import re

from msgspec import Struct

from assay.embedded_json import json_objects
from assay.model.decision import is_null_word
from assay.systems.query import clean_query

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THINKING_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(
    r"```(?:[ \t]*(?P<language>[\w+-]*)[ \t]*\r?\n|(?P<beside>sql(?:ite)?|duckdb|vql)\b)?(?P<body>.*?)(?P<end>```|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_EMPTY_FENCE = re.compile(r"```\w*\s*```")
_NOTES = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*\*/)*")
_STATEMENT = re.compile(
    r"[(\s]*(?:SELECT|WITH|VALUES|FROM|EXPLAIN|PRAGMA|INSERT|UPDATE|DELETE|MERGE|REPLACE|CREATE|ALTER|DROP|PIVOT)\b",
    re.IGNORECASE,
)
_NAME = r"(?:\w+|\"[^\"\n]+\"|`[^`\n]+`|\[[^\]\n]+\])"
_WITH = rf"WITH\s+(?:RECURSIVE\s+)?{_NAME}\s*(?:\([^()]*\)\s*)?AS\s*(?:(?:NOT\s+)?MATERIALIZED\s*)?\("
_AT_LINE_START = re.compile(rf"^[ \t>*-]*(?P<query>\(*(?:{_WITH}|SELECT\b))", re.MULTILINE | re.IGNORECASE)
_WITHIN_A_LINE = re.compile(rf"(?P<query>\b{_WITH}|\bSELECT\b)", re.IGNORECASE)
_HAS_FROM = re.compile(r"\bFROM\b", re.IGNORECASE)
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*(?:[^*]|\*(?!/))*\*/")
_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")
_GOES_ON = re.compile(
    r"(?:SELECT|FROM|WHERE|GROUP|ORDER|HAVING|LIMIT|OFFSET|UNION|INTERSECT|EXCEPT|JOIN|LEFT|RIGHT|INNER|OUTER|FULL|CROSS|"
    r"AND|OR|ON|WINDOW|QUALIFY)\b|[),]",
    re.IGNORECASE,
)
_SQL_LANGUAGES = frozenset(
    [
        "sql",
        "sqlite",
        "sqlite3",
        "duckdb",
        "postgres",
        "postgresql",
        "pgsql",
        "mysql",
        "tsql",
        "plsql",
        "bigquery",
        "vql",
    ]
)
_JSON_NAMES = ("sql", "query", "sql_query", "sqlquery")
_MOST_STARTS = 50  # places in one text at which a query or JSON is looked for


class Said(Struct, frozen=True, kw_only=True):
    """An answer, split into its query and its words."""

    query: str | None
    words: str
    """The text besides the query, without the thinking."""
    complete: bool = True
    """False where the query goes to the end of the answer and no mark ends it."""


def read_answer(text: str) -> Said:
    """The query in an answer: the first of these forms that occurs.

    1. A code fence that holds a SQL statement, whatever statement that is.
    2. JSON with the query under ``sql`` or ``query``, in a fence or bare.
    3. A statement in the words that begins with SELECT or WITH. It ends with its semicolon, at a
       blank line that no clause follows, or with the text.

    An answer of the word ``null`` alone is that. Text between ``<think>`` and ``</think>`` is skipped.
    """
    text = without_thinking(text)
    fences = list(_FENCE.finditer(text))
    for fence in fences:
        language = (fence["language"] or fence["beside"] or "").lower()
        if clean_query(fence["body"]) and (language in _SQL_LANGUAGES or _is_statement(fence["body"])):
            return _said(text, fence.span(), fence["body"], complete=bool(fence["end"]))
    for start, end, value in json_objects(text, starts=_MOST_STARTS):
        for name, one in value.items():
            if str(name).replace(" ", "_").lower() in _JSON_NAMES:
                return _said(text, (start, end), one if isinstance(one, str) else "")
    declined = unfenced_null(text)
    if declined is not None:
        return Said(query=declined, words="")
    words = _FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text)
    found = _in_words(words)
    return Said(query=None, words=text.strip()) if found is None else found


def unfenced_null(text: str) -> str | None:
    """``null`` where an answer is this word alone, perhaps in a code fence: the model declines."""
    bare = text.strip().strip("`").strip().removeprefix("sql").strip()
    return bare if is_null_word(bare) else None


def without_thinking(text: str) -> str:
    """The answer without its thinking. Some servers send the end mark of the thinking without its start mark."""
    text = _THINKING.sub("", text)
    *_, answer = _THINKING_END.split(text)
    return answer


def _is_statement(text: str) -> bool:
    notes = _NOTES.match(text)
    return _STATEMENT.match(text, notes.end() if notes else 0) is not None


def _said(text: str, span: tuple[int, int], query: str, *, complete: bool = True) -> Said:
    words = _EMPTY_FENCE.sub("", f"{text[: span[0]].strip()}\n{text[span[1] :].strip()}")
    return Said(query=clean_query(query), words=words.strip(), complete=complete)


def _in_words(text: str) -> Said | None:
    # "Select the customers …" is usually advice in prose; "SELECT 1" and "select 1" are queries.
    for title_case in (False, True):
        for pattern in (_AT_LINE_START, _WITHIN_A_LINE):
            for _, found in zip(range(_MOST_STARTS), pattern.finditer(text), strict=False):
                if found["query"].startswith("Sel") is not title_case:
                    continue
                start = found.start("query")
                end, complete = _end_of(text, start)
                query = text[start:end]
                if (pattern is _AT_LINE_START and not title_case) or _HAS_FROM.search(query):
                    return _said(text, (start, end), query, complete=complete)
    return None


def _end_of(text: str, start: int) -> tuple[int, bool]:
    """The end of the query that starts there, and whether a mark ends it."""
    if start > 0 and text[start - 1] == "`":
        line_end = text.find("\n", start)
        close = text.rfind("`", start, len(text) if line_end < 0 else line_end)
        if close > start:
            return close, True
    # Quotes and comments keep their length, so that positions in the text stay the same.
    plain = _QUOTED.sub(lambda found: "x" * len(found[0]), text[start:])
    semicolon = plain.find(";")
    stop = len(plain) if semicolon < 0 else semicolon
    place = depth = 0
    for blank in _BLANK_LINE.finditer(plain, 0, stop):
        paragraph = plain[place : blank.start()]
        depth += paragraph.count("(") - paragraph.count(")")
        place = blank.end()
        is_open = depth > 0 or paragraph.rstrip().endswith(",")
        if not is_open and blank.end() < stop and not _GOES_ON.match(plain, blank.end()):
            return start + blank.start(), True
    return start + stop, semicolon >= 0
