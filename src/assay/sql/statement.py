"""What kind of statement a text is, and whether it only reads.

`statement_kind` is for texts from anywhere, `read_statement` for servers that execute whatever their user is allowed to
do; `assay.engines.mysql.guard` reads texts by MySQL's own lexical rules. Neither replaces privileges: a text does not
show what a stored function does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from assay.sql.dialects import parser_errors
from assay.sql.reader import reader, statements

if TYPE_CHECKING:
    from sqlglot import Token

StatementKind = Literal["query", "write", "command", "several", "none", "unreadable"]
"""``query`` one statement that only reads; ``write`` one that changes data or schema, however deeply the change is
hidden; ``command`` one of another kind (PRAGMA, SET, ATTACH); ``several`` more than one statement; ``none`` no
statement; ``unreadable`` a text that sqlglot cannot parse."""

MOST_CHARACTERS = 1_000_000
"""A longer text is not a plausible answer, and takes seconds to read."""

Does = Literal["query", "write", "refused", "reaches", "several", "none", "prose", "error"]
"""``query`` may be run; ``write`` changes something; ``refused`` is another command; ``reaches`` outside of the query;
``several`` statements; ``none``: no statement; ``prose``: does not begin like a statement; ``error``: no server would
accept it."""

_QUERY_WORDS = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
_WRITE_WORDS = frozenset(
    {"INSERT", "UPDATE", "DELETE", "MERGE", "UPSERT", "REPLACE", "CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME"}
    | {"COPY", "IMPORT", "EXPORT", "UNLOAD", "PUT", "REFRESH", "VACUUM", "REINDEX", "OPTIMIZE", "INTO"}
)
_COMMAND_WORDS = frozenset(
    {"ANALYZE", "ATTACH", "BACKUP", "BEGIN", "CALL", "CHECKPOINT", "CLOSE", "COMMENT", "COMMIT", "DBCC", "DEALLOCATE"}
    | {"DECLARE", "DESC", "DESCRIBE", "DETACH", "DISCARD", "DO", "EXEC", "EXECUTE", "EXPLAIN", "FETCH", "FLUSH", "GET"}
    | {"GRANT", "HANDLER", "INSTALL", "KILL", "LISTEN", "LIST", "LOAD", "LOCK", "NOTIFY", "OPEN", "PRAGMA", "PREPARE"}
    | {"PURGE", "REASSIGN", "RECONFIGURE", "RELEASE", "REMOVE", "RESET", "RESTORE", "REVERT", "REVOKE", "ROLLBACK"}
    | {"SAVEPOINT", "SECURITY", "SET", "SHOW", "SHUTDOWN", "START", "USE", "WAITFOR", "XA"}
    | {"BINLOG", "CACHE", "CHANGE", "CHECK", "CHECKSUM", "CLONE", "DENY", "HELP", "REPAIR", "SIGNAL", "STOP"}
    | {"UNINSTALL", "UNLISTEN", "UNLOCK"}
)
_BATCH_WORDS = _WRITE_WORDS | frozenset(
    {"EXEC", "EXECUTE", "GRANT", "REVOKE", "KILL", "SHUTDOWN", "BACKUP", "RESTORE", "DBCC", "RECONFIGURE", "WAITFOR"}
    | {"BULK", "USE", "REVERT", "DENY", "CHECKPOINT", "COMMIT", "ROLLBACK", "SAVE", "SETUSER", "BEGIN", "DECLARE"}
)
"""Reserved words of Transact-SQL that begin a statement: there no semicolon needs to precede it."""

_REACHING = frozenset(
    {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "load_file", "sys_exec", "sys_eval"}
    | {"pg_sleep", "pg_sleep_for", "pg_sleep_until", "pg_read_file", "pg_read_binary_file", "pg_ls_dir", "lo_import"}
    | {"lo_export", "dblink", "dblink_exec", "set_config", "nextval", "setval", "openrowset", "opendatasource"}
    | {"openquery", "utl_http.request", "xp_cmdshell", "pg_terminate_backend", "pg_cancel_backend", "pg_reload_conf"}
)


class StatementReading(Struct, frozen=True, kw_only=True):
    """What a text would do if it were run, and the words in it that show it (empty if not needed)."""

    does: Does
    detail: str = ""


QUERY = StatementReading(does="query")


@lru_cache(maxsize=2048)
def statement_kind(query: str, dialect: str) -> StatementKind:
    """What a text holds. Never raises: a text that cannot be parsed is ``unreadable``."""
    from sqlglot import exp

    try:
        trees = [tree for tree in statements(query, dialect) if not isinstance(tree, exp.Semicolon)]
    except parser_errors():
        return "unreadable"
    if len(trees) != 1:
        return "several" if trees else "none"
    tree = trees[0]
    writes = (exp.DML, exp.DDL, exp.Drop, exp.Alter, exp.TruncateTable, exp.Merge, exp.Into)
    # In sqlglot, DDL and DML are also base classes of queries, so they are checked separately.
    if any(isinstance(node, writes) and not isinstance(node, exp.Query) for node in tree.walk()):
        return "write"
    if not isinstance(tree, (exp.Query, exp.Values)):
        return "command"
    return "query"


def read_statement(query: str, dialect: str) -> StatementReading:
    """Classify what a text would do. Never raises.

    An ambiguous text is classified as the worst that it might do: a text that sqlglot cannot parse is a query only if
    it begins like one and no bare word in it writes. In Transact-SQL, whose statements need no semicolon between them,
    such a text is never a query.
    """
    from sqlglot import TokenType
    from sqlglot.errors import SqlglotError

    from assay.sql.shape import is_nested_too_deeply

    if len(query) > MOST_CHARACTERS:
        return too_long(query)
    try:
        tokens = list(reader(dialect).tokenize(query))
    except (SqlglotError, ValueError):
        return StatementReading(does="error", detail="a quote or comment in it does not end")
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    while tokens and tokens[0].token_type is TokenType.SEMICOLON:
        tokens.pop(0)
    first = next((token for token in tokens if token.token_type not in (TokenType.L_PAREN, TokenType.SEMICOLON)), None)
    if first is None:
        return StatementReading(does="none")
    opening = "" if first.token_type in (TokenType.IDENTIFIER, TokenType.STRING) else first.text.upper()
    if (told := told_by_opening(opening, query)) is not None:
        return told
    kind = statement_kind(query, dialect)
    if kind == "several" or any(token.token_type is TokenType.SEMICOLON for token in tokens):
        return StatementReading(does="several")
    bare = _bare_words(tokens)
    if kind in ("write", "unreadable") and (word := _first_of(bare, _WRITE_WORDS)):
        return StatementReading(does="write", detail=word)
    if dialect == "tsql" and (word := _first_of(bare, _BATCH_WORDS)):
        return StatementReading(does="refused", detail=word)
    if kind != "query" and (kind != "unreadable" or dialect == "tsql"):
        why = (
            "is nested too deeply to be read" if is_nested_too_deeply(query, dialect) else "cannot be read as one query"
        )
        return StatementReading(does="refused", detail=f"it {why}: {opening}")
    called = [a.text.lower() for a, b in pairwise(tokens) if b.token_type is TokenType.L_PAREN]
    if reaching := next((name for name in called if name in _REACHING), None):
        return StatementReading(does="reaches", detail=f"{reaching}() reads or affects something outside of the query")
    return QUERY


def told_by_opening(opening: str, query: str) -> StatementReading | None:
    """The reading by the first word only; None if that begins a query."""
    if opening in _QUERY_WORDS:
        return None
    if opening in _WRITE_WORDS:
        return StatementReading(does="write", detail=opening)
    if opening in _COMMAND_WORDS:
        return StatementReading(does="refused", detail=opening)
    return StatementReading(does="prose", detail=" ".join(query[:400].split())[:60])


def too_long(query: str) -> StatementReading:
    """The reading of a text of more than `MOST_CHARACTERS`."""
    detail = f"its text has {len(query):,} characters, and the limit is {MOST_CHARACTERS:,}"
    return StatementReading(does="error", detail=detail)


def without_last_semicolon(text: str, dialect: str) -> str:
    """The text up to the semicolon after its last statement, which may precede a comment."""
    if ";" not in text:
        return text
    from sqlglot import TokenType

    try:
        tokens = reader(dialect).tokenize(text)
    except parser_errors():
        return text
    end = len(text)
    for token in reversed(tokens):
        if token.token_type is not TokenType.SEMICOLON:
            break
        end = token.start
    return text[:end]


def without_blank_statements(text: str, dialect: str) -> str:
    """The text without semicolons before its first statement and after its last, which servers reject."""
    if text.count(";") == (1 if text.rstrip().endswith(";") else 0):
        return text
    from sqlglot import TokenType

    try:
        tokens = reader(dialect).tokenize(text)
    except parser_errors():
        return text
    kept = [token for token in tokens if token.token_type is not TokenType.SEMICOLON]
    return text[kept[0].start : kept[-1].end + 1] if kept else text


def _bare_words(tokens: Sequence[Token]) -> list[str]:
    """The unquoted words that are neither names after a dot nor functions."""
    from sqlglot import TokenType

    quoted = (TokenType.IDENTIFIER, TokenType.STRING)
    found = []
    for index, token in enumerate(tokens):
        if token.token_type in quoted or (index and tokens[index - 1].token_type is TokenType.DOT):
            continue
        if index + 1 < len(tokens) and tokens[index + 1].token_type is TokenType.L_PAREN:
            continue
        found.append(token.text.upper())
    return found


def _first_of(words: Sequence[str], wanted: frozenset[str]) -> str | None:
    return next((word for word in words if word in wanted), None)
