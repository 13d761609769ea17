"""What a text would do on MySQL or MariaDB, by their own lexical rules.

sqlglot is not asked: it takes ``/*! ... */`` for a comment, which these servers run, and what the
server reads must be what was read here. So only quotes, comments and words are told apart, and
what is not plainly a query is refused.
"""

from __future__ import annotations

import re
from functools import lru_cache

from assay.sql.statement import MOST_CHARACTERS, QUERY, StatementReading, told_by_opening, too_long

_ESCAPED = r"'(?:[^'\\]+|\\.|'')*+'"
_PLAIN = r"'(?:[^']+|'')*+'"

_WRITES = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME", "MERGE"})
_SHOWS = frozenset(
    {"TABLES", "COLUMNS", "FIELDS", "FULL", "DATABASES", "SCHEMAS", "INDEX", "INDEXES", "KEYS", "CREATE", "TABLE"}
)
_DESCRIBES = frozenset({"DESC", "DESCRIBE", "EXPLAIN"})

_REACHING_FUNCTIONS = frozenset(
    {"load_file", "sleep", "benchmark", "get_lock", "release_lock", "release_all_locks", "is_free_lock", "is_used_lock"}
    | {"master_pos_wait", "master_gtid_wait", "source_pos_wait", "wait_for_executed_gtid_set", "setval", "nextval"}
    | {"wait_until_sql_thread_after_gtids", "sys_exec", "sys_eval", "sys_get", "sys_set", "lastval", "des_encrypt"}
    | {"flush_rewrite_rules", "load_rewrite_rules", "set_firewall_mode", "read_firewall_users", "ps_kill"}
)
_REACHING_PREFIXES = (
    "spider_",
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


@lru_cache(maxsize=8)
def _lexer(*, backslash_escapes: bool, ansi_quotes: bool) -> re.Pattern[str]:
    single = _ESCAPED if backslash_escapes else _PLAIN
    double = (_ESCAPED if backslash_escapes and not ansi_quotes else _PLAIN).replace("'", '"')
    return re.compile(
        rf"""(?P<space>\s++)
        |(?P<comment>--(?=[\s\x00-\x1f]|\Z)[^\n]*|\#[^\n]*)
        |(?P<run>/\*M?!)
        |(?P<hint>/\*\+.*?\*/)
        |(?P<block>/\*.*?\*/)
        |(?P<text>{single}|{double})
        |(?P<name>`(?:[^`]+|``)*+`)
        |(?P<word>[\w$]++)
        |(?P<open>['"`]|/\*)
        |(?P<assign>:=)
        |(?P<sign>[^\x00])""",
        re.DOTALL | re.VERBOSE,
    )


def read_mysql(query: str, *, backslash_escapes: bool = True, ansi_quotes: bool = False) -> StatementReading:
    """Say what a text would do. Never raises.

    ``backslash_escapes`` and ``ansi_quotes`` are the session's, from its ``sql_mode``: they decide
    where a text in quotes ends.
    """
    if len(query) > MOST_CHARACTERS:
        return too_long(query)
    tokens: list[tuple[str, str]] = []
    position = 0
    for found in _lexer(backslash_escapes=backslash_escapes, ansi_quotes=ansi_quotes).finditer(query):
        kind = found.lastgroup or ""
        if found.start() != position:
            break
        position = found.end()
        if kind in ("space", "comment", "block"):
            continue
        if kind == "run":
            return StatementReading(does="reaches", detail="it holds a comment that the server executes, /*! ... */")
        if kind == "open":
            return StatementReading(does="error", detail="a quote or comment in it does not end")
        if kind == "hint":
            if re.search(r"SET_VAR|MAX_EXECUTION_TIME|RESOURCE_GROUP", found.group(), re.IGNORECASE):
                return StatementReading(does="reaches", detail="it holds a hint that changes the session's limits")
            continue
        tokens.append((kind, found.group()))
    if position != len(query):
        return StatementReading(does="error", detail="it holds a NUL character outside of quotes")
    while tokens and tokens[-1] == ("sign", ";"):
        tokens.pop()
    return _read_tokens(query, tokens)


def _read_tokens(query: str, tokens: list[tuple[str, str]]) -> StatementReading:
    first = next((index for index, token in enumerate(tokens) if token not in (("sign", "("), ("sign", ";"))), None)
    if first is None:
        return StatementReading(does="none")
    kind, text = tokens[first]
    opening = text.upper() if kind == "word" else ""
    following = tokens[first + 1][1].upper() if first + 1 < len(tokens) else ""
    shows = opening == "SHOW" and following in _SHOWS
    if not (shows or opening in _DESCRIBES) and (told := told_by_opening(opening, query)) is not None:
        return told
    if ("sign", ";") in tokens[first:]:
        return StatementReading(does="several")
    if opening in _DESCRIBES and following == "ANALYZE":
        return StatementReading(does="refused", detail=f"{opening} ANALYZE")
    return _look_inside(tokens[first + 2 :] if shows else tokens)


def _look_inside(tokens: list[tuple[str, str]]) -> StatementReading:
    """What the words of one statement say that begins like a query."""
    for index, (kind, text) in enumerate(tokens):
        if kind not in ("word", "name"):
            continue
        following = tokens[index + 1] if index + 1 < len(tokens) else ("", "")
        if following == ("sign", "("):
            called = text.strip("`").replace("``", "`").lower()
            if called in _REACHING_FUNCTIONS or called.startswith(_REACHING_PREFIXES):
                return StatementReading(does="reaches", detail=f"{called}() reaches out of the query")
            continue
        if kind == "name" or (index and tokens[index - 1] in (("sign", "."), ("sign", "@"))):
            continue
        word, after = text.upper(), following[1].upper()
        if word == "FOR" and after in ("UPDATE", "SHARE"):
            return StatementReading(does="reaches", detail=f"FOR {after} locks rows")
        if word == "LOCK" and after == "IN":
            return StatementReading(does="reaches", detail="LOCK IN SHARE MODE locks rows")
        if word == "INTO":
            where = after if after in ("OUTFILE", "DUMPFILE") else "a variable or table"
            return StatementReading(does="write", detail=f"SELECT ... INTO {where}")
        if word == "NEXT" and after == "VALUE":
            return StatementReading(does="write", detail="NEXT VALUE FOR")
        if word in _WRITES:
            return StatementReading(does="write", detail=word)
    return QUERY
