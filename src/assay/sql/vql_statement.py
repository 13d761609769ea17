"""What a text in Denodo's VQL would do if it were run. Importing this module loads sqlglot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from sqlglot import Dialect, Token, TokenType
from sqlglot.errors import SqlglotError

from assay.sql.statement import statement_kind
from assay.sql.vql import Denodo, clause_end

_BEGINS_QUERY = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN)
_WRITE_WORDS = frozenset(
    {"INSERT", "UPDATE", "DELETE", "MERGE", "UPSERT", "REPLACE", "CREATE", "ALTER", "DROP", "TRUNCATE", "REFRESH"}
)
_COMMAND_WORDS = frozenset(
    {"CALL", "CONNECT", "DESC", "DESCRIBE", "EXEC", "EXECUTE", "EXPLAIN", "EXPORT", "GRANT", "HELP", "IMPORT", "LIST"}
    | {"LOAD", "QUERY", "REVOKE", "SET", "SHOW", "START", "STOP", "BEGIN", "COMMIT", "ROLLBACK", "USE", "CLOSE"}
)
_HIDDEN_WRITES = ("INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "ALTER", "DROP", "TRUNCATE", "INTO")
_WRITING_CONTEXT = frozenset({"cache_preload", "cache_invalidate", "datamovementplan", "mppmovementplan"})
_OTHER_USER_CONTEXT = frozenset({"username", "password", "domain"})
_ACTING_PROCEDURES = ("create_", "drop_", "clean_", "generate_stats", "compute_", "write", "logcontroller", "refresh_")
"""Prefixes of Denodo's own stored procedures that change something, for example CREATE_REMOTE_TABLE."""

DoesWhat = Literal["query", "write", "refused", "several", "none", "prose"]
"""``query`` may be run; ``write`` changes something; ``refused`` is another command; ``several`` statements; ``none``:
no statement; ``prose``: does not begin like a statement."""


class VqlReading(Struct, frozen=True, kw_only=True):
    """What a text in VQL would do if it were run."""

    does: DoesWhat
    detail: str = ""
    """The words in the text that show it, for a message. Empty for ``query``, ``several`` and ``none``."""


def read_vql(query: str) -> VqlReading:
    """Classify what a text would do. Never raises.

    Denodo executes whatever its user is allowed to do, so an ambiguous text is classified as the worst that it might
    do: a text that cannot be parsed is a query only if it begins like one and no word in it writes. A text does not
    show what a user's own stored procedures do: Denodo's privileges must restrict those.
    """
    try:
        found = Dialect.tokenize(Denodo(), query)
    except SqlglotError:
        return _read_untokenized(query)
    while found and found[-1].token_type is TokenType.SEMICOLON:
        found = found[:-1]
    while found and found[0].token_type is TokenType.SEMICOLON:
        found = found[1:]
    if not found:
        return VqlReading(does="none")
    opening = found[0].text.upper()
    named = len(found) > 1 and found[0].token_type is not TokenType.IDENTIFIER
    if named and opening in _WRITE_WORDS:
        return VqlReading(does="write", detail=opening)
    if named and opening in _COMMAND_WORDS:
        return VqlReading(does="refused", detail=opening)
    if found[0].token_type not in (*_BEGINS_QUERY, TokenType.VALUES):
        return VqlReading(does="prose", detail=" ".join(query.split())[:60])
    kind = statement_kind(query, "denodo")
    if kind == "several" or any(token.token_type is TokenType.SEMICOLON for token in found):
        return VqlReading(does="several")
    if kind == "command":  # it begins with a parenthesis and contains no query
        return VqlReading(does="prose", detail=" ".join(query.split())[:60])
    return _read_one(query, found, unreadable=kind == "unreadable", writes=kind == "write")


def _read_one(query: str, found: Sequence[Token], *, unreadable: bool, writes: bool) -> VqlReading:
    """Read one statement that begins like a query."""
    if writes or unreadable:
        word = next((token.text.upper() for token in _bare(found, _HIDDEN_WRITES)), None)
        if writes or word:
            return VqlReading(does="write", detail=word or found[0].text.upper())
    for key in _context_keys(found):
        if key in _WRITING_CONTEXT:
            return VqlReading(does="write", detail=f"CONTEXT {key}")
        if key in _OTHER_USER_CONTEXT:
            return VqlReading(does="refused", detail=f"CONTEXT {key}")
    if unreadable and found[0].token_type is TokenType.L_PAREN and not _bare(found, ("SELECT",)):
        return VqlReading(does="prose", detail=" ".join(query.split())[:60])
    for index, token in enumerate(found[:-1]):
        called = found[index + 1].token_type is TokenType.L_PAREN
        if called and token.text.lower().startswith(_ACTING_PROCEDURES) and _in_from(found, index):
            return VqlReading(does="write", detail=token.text)
    return VqlReading(does="query")


def _read_untokenized(query: str) -> VqlReading:
    """Read a text with an unclosed quote or comment. One statement may run: Denodo will refuse it anyway."""
    alone = query.strip("; \t\r\n")
    opening = alone.split(None, 1)[0].upper() if alone else ""
    if opening.startswith(("SELECT", "WITH", "(")):
        return VqlReading(does="several" if ";" in alone else "query")
    if opening in _WRITE_WORDS:
        return VqlReading(does="write", detail=opening)
    if opening in _COMMAND_WORDS:
        return VqlReading(does="refused", detail=opening)
    return VqlReading(does="prose", detail=" ".join(query.split())[:60])


def _bare(found: Sequence[Token], words: Sequence[str]) -> list[Token]:
    """The unquoted tokens of these words that are neither called nor qualified."""
    return [
        token
        for index, token in enumerate(found)
        if token.text.upper() in words
        and token.token_type not in (TokenType.IDENTIFIER, TokenType.STRING)
        and not (index + 1 < len(found) and found[index + 1].token_type is TokenType.L_PAREN)
        and not (index > 0 and found[index - 1].token_type in (TokenType.DOT, TokenType.ALIAS))
    ]


def _context_keys(found: Sequence[Token]) -> Iterator[str]:
    """The names that the CONTEXT clause sets, in lower case."""
    for index in range(len(found)):
        end = clause_end(found, index)
        if end and found[index].text.upper() == "CONTEXT":
            for place in range(index + 2, end - 1):
                if found[place - 1].token_type in (TokenType.L_PAREN, TokenType.COMMA):
                    yield found[place].text.lower()


def _in_from(found: Sequence[Token], index: int) -> bool:
    """Whether a call, with or without its database's name, is used as a table."""
    while index >= 2 and found[index - 1].token_type is TokenType.DOT:
        index -= 2
    return index > 0 and found[index - 1].token_type in (TokenType.FROM, TokenType.JOIN, TokenType.COMMA)
