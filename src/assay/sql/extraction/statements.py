"""Distinguish a statement from prose without knowing the dialect: how one begins, and whether a text is one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from assay.model.cases.decision import holds_nothing
from assay.sql.statement import statement_kind

NOTES = re.compile(r"(?>\s|\ufeff|--[^\n]*(?:\n|\Z)|/\*(?>[^*]|\*(?!/))*\*/)*+")
_NAME = r"(?:\w+|\"[^\"\n]+\"|`[^`\n]+`|\[[^\]\n]+\])"
_GAP = r"(?>\s|--[^\n]*\n|#[^\n]*\n|/\*(?>[^*]|\*(?!/))*\*/)"
WITH = rf"WITH(?=[\s/-]){_GAP}++(?:RECURSIVE\s+)?{_NAME}\s*(?:\([^()]*\)\s*)?AS\s*(?:(?:NOT\s+)?MATERIALIZED\s*)?\("
_QUERY = rf"{WITH}|(?-i:WITH)\s|SELECT\b|VALUES\s*\(|FROM\s+\S+(?!\s+import\b)\s"
_COMMAND = (
    "INSERT|UPDATE|DELETE|MERGE|REPLACE|CREATE|ALTER|DROP|TRUNCATE|EXPLAIN|PRAGMA|PIVOT|UNPIVOT|ATTACH|DETACH|VACUUM|"
    "GRANT|REVOKE|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|DECLARE|EXECUTE|EXEC|ANALYZE|REINDEX|TABLE|DESCRIBE|DESC|"
    "SHOW|CALL|SET|USE|DO|COPY|LOAD|INSTALL|PREPARE|UPSERT|IMPORT|EXPORT|SUMMARIZE|HELP|CACHE|REFRESH|RESET|OPTIMIZE"
)
_OPENING = re.compile(rf"[(\s]*(?:(?P<query>{_QUERY})|(?P<command>{_COMMAND})\b)", re.IGNORECASE)
_ALSO_IN_SMALL = frozenset(
    {"insert", "update", "delete", "create", "alter", "drop", "truncate", "explain", "pragma", "attach", "vacuum"}
)
"""Commands that rarely begin a sentence in lower case."""

GOES_ON = re.compile(
    r"(?:SELECT|FROM|WHERE|GROUP|ORDER|HAVING|LIMIT|OFFSET|FETCH|UNION|INTERSECT|EXCEPT|MINUS|JOIN|LEFT|RIGHT|INNER|"
    r"OUTER|FULL|CROSS|NATURAL|LATERAL|AND|OR|ON|WINDOW|QUALIFY|WHEN|THEN|ELSE|END|CASE|AS|VALUES|CONTEXT)\b"
    r"|[),]|--|/\*",
    re.IGNORECASE,
)
_DOUBTFUL = re.compile(
    rf"`{{3}}|~{{3}}|<(?i:think|thinking|reasoning)>|◁|;[ \t\r\n]*[^;\s-]"
    rf"|\n[ \t>]*(?:[*#]+[ \t*]|[A-Z][a-z'’]+\b)"
    rf"|\n[ \t]*\r?\n\s*(?!(?i:{GOES_ON.pattern}))[A-Za-z]"
)
"""What may follow a statement that is not the whole text: a reason to parse the text."""
_LABEL = r"(?:(?:SQL|final)[ _]?)?(?:query|result|answer|explanation|question|observation|output|response|note)s?"
ENDS_STATEMENT = re.compile(
    rf"</[a-z]|\[/\w+\]|<[|｜]\w|^[ \t>*#_]*{_LABEL}[ \t*_]*:(?=[\s*]|\Z)|^[ \t]*\#+[ \t]*{_LABEL}[ \t*_]*$"
    r"|(?-i:\b(?:(?:SQL_?)?Result|Answer|Explanation)):(?=\s)",
    re.MULTILINE | re.IGNORECASE,
)
"""A closing tag, a special token, a label at the beginning of a line, a heading, or a label within a line that begins
with a capital letter: no SQL outside of literals and comments."""
_MAY_BE_DOUBTFUL = re.compile(r"[`~<;\n◁:]|\[/")
"""A character that all of these contain and most statements do not."""
_NOTE_IN_LINE = re.compile(r"[ \t]*(?:--[^\n]*|/\*(?:[^*\n]|\*(?!/))*\*/)")
_STYLES = (
    re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*(?:[^*]|\*(?!/))*\*/"),
    re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`[^`\n]+`|(?<=\S)[ \t]+#[^\n]*", re.DOTALL),
    re.compile(r"\$(?P<tag>\w*)\$.*?\$(?P=tag)\$|\[(?!/\w+\])[^\]\n]*\]|'(?:[^']|'')*'|`[^`\n]+`", re.DOTALL),
)
"""What engines read as strings, quoted names and comments, each in its own way."""
QUOTED = _STYLES[0]
_MOST_PARSED = 24
"""Limit for the texts that are parsed to find the statements in one text."""
_LONGEST_PARSED = 20_000
_DIALECTS = ("", "sqlite", "mysql", "tsql", "snowflake", "bigquery")

Opening = Literal["query", "command", "perhaps"]


def opening_of(text: str) -> Opening | None:
    """How a text begins, after blanks and comments: like a query, like another command, or None: not like a statement.

    ``perhaps``: with a word that also begins sentences, for example ``Select the customers`` or ``Use this query``.
    """
    notes = NOTES.match(text)
    found = _OPENING.match(text, notes.end() if notes else 0)
    if found is None:
        return None
    if (query := found["query"]) is not None:
        return "query" if query.split()[0].isupper() or query[0].islower() else "perhaps"
    word = found["command"]
    return "command" if word.isupper() or word in _ALSO_IN_SMALL else "perhaps"


def is_statement(text: str) -> bool:
    """Whether a text is SQL and nothing else. A text that begins like SQL is, unless something in it looks like prose.

    Such a text is parsed: only if no dialect can read it, it is prose. Comments are never prose.
    """
    opening = opening_of(text)
    if opening in (None, "command"):
        return opening == "command" and "\n```" not in text
    may_be_doubtful = _MAY_BE_DOUBTFUL.search(text) is not None
    if opening == "query" and not (may_be_doubtful and (_DOUBTFUL.search(text) or ENDS_STATEMENT.search(text))):
        return True
    notes = next((rest for rest in _after_semicolons(text) if NOTES.fullmatch(rest.replace(";", " "))), "")
    text = text[: len(text) - len(notes)]
    plain = masked(text, comments=" ")
    if ENDS_STATEMENT.search(plain):
        return False
    if opening == "query" and not _DOUBTFUL.search(plain):
        return True
    return Parser().reads(text) and all(map(opening_of, _after_semicolons(text)))


def is_query(text: str) -> bool:
    """Whether a text is one or several statements that return rows, and nothing else."""
    return opening_of(text) == "query" and is_statement(text)


def masked(text: str, *, comments: str = "x") -> str:
    """The text with ``x`` in place of what any engine may read as a string, a quoted name or a comment.

    ``comments``: the letter for comments.
    """
    spans = sorted(found.span() for style in _STYLES for found in style.finditer(text))
    parts: list[str] = []
    place = 0
    for start, end in spans:
        letter = comments if text.startswith(("--", "/*"), start) else "x"
        parts += text[place:start], letter * (end - max(start, place))
        place = max(place, end)
    return "".join((*parts, text[place:]))


def _after_semicolons(text: str) -> Iterator[str]:
    """The text after each semicolon outside quotes and comments, if there is any."""
    for semicolon in re.finditer(r";(?=\s*[^\s;])", masked(text)):
        yield text[semicolon.end() :]


def pieces_of(text: str) -> list[str]:
    """Each of several queries that semicolons separate, with adjacent comments; otherwise the text itself.

    A comment in the line of a semicolon belongs to the query before it.
    """
    pieces = []
    place = 0
    for rest in _after_semicolons(text):
        semicolon = len(text) - len(rest)
        note = _NOTE_IN_LINE.match(rest)
        end = semicolon + (note.end() if note else 0)
        pieces.append(text[place:end])
        place = end
    pieces.append(text[place:])
    queries = [piece for piece in pieces if not holds_nothing(piece)]
    return (
        queries if len(queries) > 1 and all(opening_of(piece) in ("query", "perhaps") for piece in queries) else [text]
    )


class Parser:
    """Parses texts, up to a limit: prose may contain any number of positions at which a statement could end."""

    def __init__(self) -> None:
        self._left = _MOST_PARSED

    def reads(self, text: str) -> bool:
        """Whether some dialect reads the text as SQL."""
        if len(text) > _LONGEST_PARSED or self._left <= 0:
            return False
        self._left -= 1
        return any(statement_kind(text, dialect) in ("query", "write", "several") for dialect in _DIALECTS)
