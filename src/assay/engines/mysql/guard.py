"""What a text would do on MySQL or MariaDB, by their own lexical rules.

sqlglot is not used: it reads ``/*! ... */`` as a comment, but these servers run it, and this module must read a text
exactly as the server does. So it only distinguishes quotes, comments, numbers and words, and refuses anything that is
not clearly a query, as well as every text that a server could split differently: a word could be hidden there.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from assay.sql.statement import MOST_CHARACTERS, QUERY, StatementReading, told_by_opening, too_long

_ESCAPED = r"'(?>[^'\\]+|\\.|'')*+'"
_PLAIN = r"'(?>[^']+|'')*+'"
_LETTER = r"(?>[A-Za-z0-9_$]|[^\W\x00-\x7f])"
"""A character of a bare name. The server takes any non-ASCII character, even blanks and dashes: see ``alien``."""

_NEVER = frozenset({"INTO", "OUTFILE", "DUMPFILE", "INFILE"})
"""Words that occur nowhere in a query."""
_WRITES = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME", "MERGE"})
_ALSO_FUNCTIONS = frozenset({"INSERT", "REPLACE", "TRUNCATE"})
_SHOWS = frozenset({"TABLES", "COLUMNS", "FIELDS", "DATABASES", "SCHEMAS", "INDEX", "INDEXES", "KEYS"})
_SHOWS_OF_TWO_WORDS = {
    "FULL": {"TABLES", "COLUMNS", "FIELDS"},  # not PROCESSLIST: the queries of other sessions
    "CREATE": {"TABLE", "VIEW", "DATABASE", "SCHEMA"},  # not USER and SERVER, which hold passwords
    "TABLE": {"STATUS"},
}
_DESCRIBES = frozenset({"DESC", "DESCRIBE", "EXPLAIN"})

_STALLING = frozenset({"load_file", "sleep", "benchmark", "get_lock"})
"""Functions whose names are refused even without a following parenthesis, unless preceded by a dot."""
_REACHING_FUNCTIONS = _STALLING | frozenset(
    {"release_lock", "release_all_locks", "is_free_lock", "is_used_lock", "setval", "nextval", "lastval"}
    | {"master_pos_wait", "master_gtid_wait", "source_pos_wait", "wait_for_executed_gtid_set", "des_encrypt"}
    | {"wait_until_sql_thread_after_gtids", "ps_kill", "set_firewall_mode", "read_firewall_users"}
    | {"flush_rewrite_rules", "load_rewrite_rules"}
)
_REACHING_PREFIXES = (
    "spider_",
    "sys_",
    "keyring_",
    "group_replication_",
    "asynchronous_connection_failover_",
    "audit_",
    "version_tokens_",
    "mysql_firewall_",
    "service_",
    "mysqlx_",
    "gtid_",
    "wsrep_sync_wait",
)
_SERVERS_OWN = "mysql"
"""The schema with the accounts and their passwords."""
_CHARACTER_SETS = frozenset({"_utf8", "_utf8mb3", "_utf8mb4", "_latin1", "_ascii", "_binary"})
"""Character sets that may introduce a literal: no byte within a character is ever a quote or backslash."""
_HINT = re.compile(
    r"(?:NO_)?(?:BKA|BNL|DERIVED_CONDITION_PUSHDOWN|GROUP_INDEX|HASH_JOIN|ICP|INDEX|INDEX_MERGE|JOIN_FIXED_ORDER|"
    r"JOIN_INDEX|JOIN_ORDER|JOIN_PREFIX|JOIN_SUFFIX|MERGE|MRR|ORDER_INDEX|QB_NAME|RANGE_OPTIMIZATION|SEMIJOIN|"
    r"SKIP_SCAN|SUBQUERY)",
    re.IGNORECASE,
)
_CALLED = re.compile(r"([\w$]+)\s*\(")

_DOUBTS = {
    "run": "a comment that the server executes, /*! ... */",
    "hint": "an optimizer hint that changes the session's limits, or is unknown",
    "nested": "a comment within a comment",
    "minus": "'--' without a blank after it, which does not begin a comment here: write '-- '",
    "digit": "a number directly followed by a word: insert a blank, or quote the name with backticks",
    "alien": "a non-ASCII blank or character outside of quotes",
    "strange": "a character that no query needs outside of quotes",
    "introducer": "a literal in a character set that may hide a quote",
}
"""Kinds of tokens that a server may split differently from this reader."""
_LOOKED_AT = _DOUBTS.keys() | {"block", "text"}
_LEFT_OUT = frozenset({"space", "comment", "block", "hint"})


class _Token(NamedTuple):
    kind: str
    text: str

    @property
    def name(self) -> str:
        """The token in lower case, without its quotes."""
        if self.kind != "name":
            return self.text.lower()
        quote = self.text[0]
        return self.text[1:-1].replace(quote * 2, quote).lower()


@lru_cache(maxsize=8)
def _lexer(*, backslash_escapes: bool, ansi_quotes: bool) -> re.Pattern[str]:
    single = _ESCAPED if backslash_escapes else _PLAIN
    double = (_ESCAPED if backslash_escapes and not ansi_quotes else _PLAIN).replace("'", '"')
    text, name = (single, f"`(?>[^`]+|``)*+`|{double}") if ansi_quotes else (f"{single}|{double}", "`(?>[^`]+|``)*+`")
    return re.compile(
        rf"""(?P<space>[ \t\n\r\f\v]++)
        |(?P<comment>--(?=[ \t\n\r\f\v]|\Z)[^\n]*|\#[^\n]*)
        |(?P<minus>--)
        |(?P<run>/\*[Mm]?!)
        |(?P<hint>/\*\+.*?\*/)
        |(?P<block>/\*.*?\*/)
        |(?P<text>{text})
        |(?P<name>{name})
        |(?P<number>(?>0x[0-9a-fA-F]++|0b[01]++|(?:[0-9]++(?>\.[0-9]*+)?+|\.[0-9]++)(?>[eE][+-]?[0-9]++)?+)(?!{_LETTER}))
        |(?P<digit>\.?[0-9])
        |(?P<word>{_LETTER}++)
        |(?P<open>['"`]|/\*)
        |(?P<sign>[-(),.;+*/%=<>!&|^~@?:])
        |(?P<alien>[^\x00-\x7f])
        |(?P<strange>.)""",
        re.DOTALL | re.VERBOSE,
    )


def read_mysql(
    query: str, *, backslash_escapes: bool = True, ansi_quotes: bool = False, loaded: Collection[str] = ()
) -> StatementReading:
    """Classify what a text would do. Never raises.

    ``backslash_escapes`` and ``ansi_quotes`` are the session's, from its ``sql_mode``: they decide where a quoted text
    ends. ``loaded`` are the names, in lower case, of functions that the server loaded from libraries: their effects are
    unknown.
    """
    if len(query) > MOST_CHARACTERS:
        return too_long(query)
    if (place := query.find("\0")) >= 0:
        return StatementReading(does="error", detail=f"it contains a NUL at character {place + 1}")
    tokens: list[_Token] = []
    doubt: StatementReading | None = None
    for found in _lexer(backslash_escapes=backslash_escapes, ansi_quotes=ansi_quotes).finditer(query):
        kind, text = found.lastgroup or "", found.group()
        if kind == "open":
            return StatementReading(does="error", detail="a quote or comment in it does not end")
        if kind in _LOOKED_AT and (doubtful := _doubt(kind, text, tokens)):
            # The rest may be split incorrectly. Whether the text begins like a query is known by now, or does not
            # matter.
            detail = f"it contains {_DOUBTS[doubtful]} (at character {found.start() + 1})"
            doubt = StatementReading(does="reaches", detail=detail)
            break
        if kind not in _LEFT_OUT:
            tokens.append(_Token(kind, text))
    while tokens and tokens[-1].text == ";" and doubt is None:
        tokens.pop()
    first = next((index for index, token in enumerate(tokens) if token.text not in ("(", ";")), None)
    if first is None:
        return doubt or StatementReading(does="none")
    opening = tokens[first].text.upper() if tokens[first].kind == "word" else ""
    following, third = ([token.text.upper() for token in tokens[first + 1 : first + 3]] + ["", ""])[:2]
    shows = opening == "SHOW" and (following in _SHOWS or third in _SHOWS_OF_TWO_WORDS.get(following, ()))
    if not (shows or opening in _DESCRIBES) and (told := told_by_opening(opening, query)) is not None:
        return told
    if any(token.text == ";" for token in tokens[first:]):
        return StatementReading(does="several")
    if opening in _DESCRIBES and following == "ANALYZE":
        return StatementReading(does="refused", detail=f"{opening} ANALYZE")
    told = _look_inside(tokens[first + 2 :] if shows else tokens, loaded)
    return told if told is not QUERY or doubt is None else doubt


def _doubt(kind: str, text: str, before: list[_Token]) -> str:
    """The kind of doubt in `_DOUBTS` about a token; empty if server and reader split it alike."""
    if kind == "hint":
        plain = not text[3:-2].strip(" \t\n\r_`@,().abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
        return "" if plain and all(map(_HINT.fullmatch, _CALLED.findall(text))) else "hint"
    if kind == "block":
        return "nested" if "/*" in text[2:] else ""
    if kind == "text" and before and before[-1].kind == "word" and before[-1].text[0] == "_":
        return "" if before[-1].name in _CHARACTER_SETS else "introducer"
    return kind if kind in _DOUBTS else ""


def _look_inside(tokens: list[_Token], loaded: Collection[str]) -> StatementReading:
    """Read the words of one statement that begins like a query."""
    end = _Token("", "")
    for index, token in enumerate(tokens):
        if token.kind not in ("word", "name"):
            continue
        before = tokens[index - 1] if index else end
        after = tokens[index + 1] if index + 1 < len(tokens) else end
        name, word, calls, behind_a_point = token.name, token.text.upper(), after.text == "(", before.text == "."
        if name == _SERVERS_OWN and after.text == "." and not behind_a_point:
            return StatementReading(
                does="reaches", detail="it reads the server's own tables (mysql), including accounts"
            )
        stalls = name in _STALLING and token.kind == "word" and not behind_a_point
        if stalls or (calls and (name in _REACHING_FUNCTIONS or name.startswith(_REACHING_PREFIXES))):
            return StatementReading(does="reaches", detail=f"{name}() reads or affects something outside of the query")
        if calls and name in loaded:
            return StatementReading(
                does="reaches", detail=f"{name}() is a function that the server loaded from a library"
            )
        if token.kind == "word" and (told := _keyword(word, before, after)) is not None:
            return told
    return QUERY


def _keyword(word: str, before: _Token, after: _Token) -> StatementReading | None:
    """The reading that a bare word gives as a keyword; None if it is harmless or not a keyword."""
    following = after.text.upper()
    if word in _NEVER:
        where = following if following in _NEVER else "a file, variable or table"
        return StatementReading(does="write", detail=f"{word} {where}" if word == "INTO" else word)
    if before.text in (".", "@"):
        return None
    if word == "FOR" and following in ("UPDATE", "SHARE"):
        return StatementReading(does="reaches", detail=f"FOR {following} locks rows")
    if word == "FOR" and following == "CONNECTION":
        return StatementReading(does="reaches", detail="FOR CONNECTION reads another session")
    if word == "LOCK" and following == "IN":
        return StatementReading(does="reaches", detail="LOCK IN SHARE MODE locks rows")
    if word in ("NEXT", "PREVIOUS") and following == "VALUE":
        return StatementReading(does="write", detail=f"{word} VALUE")
    if word in _WRITES and not (following == "(" and word in _ALSO_FUNCTIONS):
        return StatementReading(does="write", detail=word)
    return None
