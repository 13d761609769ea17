"""What of a text may be sent to PostgreSQL at all.

The server's read-only transaction does the main work. What it lets through is refused here by
looking at the text: everything that is not one query (the server's grammar knows no other
statement that begins with SELECT, WITH, VALUES, TABLE or a parenthesis), and calls of functions that reach
out of the database or act on the server, which no transaction takes back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from assay.engines import outcomes
from assay.model import Execution
from assay.sql.lexing import Piece, pieces

LONGEST_QUERY = 200_000
"""Characters: looking at them takes half a second at most. The server would take a gigabyte, and its memory for it."""

_BEGIN_QUERY = frozenset({"select", "with", "values", "table"})
_WRITES = re.compile(
    r"alter|analyze|cluster|comment|copy|create|delete|drop|grant|import|insert|merge|reassign|refresh|reindex|revoke|"
    r"security|truncate|update|vacuum"
)
_COMMANDS = re.compile(
    r"abort|begin|call|checkpoint|close|commit|deallocate|declare|discard|do|end|execute|explain|fetch|listen|load|"
    r"lock|move|notify|prepare|release|reset|rollback|savepoint|set|show|start|unlisten"
)
_EXPLAINED_WRITES = frozenset({"insert", "update", "delete", "merge", "create", "refresh", "declare"})

_REACHES_OUT = re.compile(
    r"pg_read_\w+|pg_ls_\w+|pg_stat_file|pg_file_\w+|lo_\w+|loread|lowrite|dblink\w*|pg_current_logfile|pg_hba_file_\w+|"
    r"postgres_fdw_\w+|query_to_xml\w*|cursor_to_xml\w*|ts_stat|ts_rewrite|xpath_table|crosstab\w*|connectby"
)
"""Functions that touch files, other servers or large objects, and those that run a text as a query."""
_SECRETS = frozenset({"pg_authid", "pg_shadow", "pg_user_mapping"})
"""Tables of the server with passwords in them. Their views without passwords are open."""
_ACTS_ON_SERVER = re.compile(
    r"pg_terminate_backend|pg_cancel_backend|pg_reload_conf|pg_rotate_logfile\w*|pg_logfile_rotate|pg_switch_wal|"
    r"pg_promote|pg_create_\w+|pg_drop_\w+|pg_copy_\w+_slot|pg_backup_\w+|pg_start_backup|pg_stop_backup|"
    r"pg_wal_replay_\w+|pg_stat_reset\w*|pg_stat_statements_reset|pg_stat_force_next_flush|pg_log_\w+|"
    r"pg_logical_\w+|pg_replication_\w+|pg_notify|pg_import_system_collations|pg_export_snapshot|"
    r"pg_advisory_\w+|pg_try_advisory_\w+|set_config|pg_prewarm|pg_extension_config_dump|"
    r"binary_upgrade_\w+|brin_\w*summarize\w*|brin_desummarize_range|gin_clean_pending_list|pg_nextoid"
)
"""Functions that act on the server, on other sessions, or on this session's own settings and locks."""


def refusal(query: str) -> Execution | None:
    """Why this text is not sent to the server; None where it is one query. Never raises."""
    if len(query) > LONGEST_QUERY:
        message = f"the query has {len(query):,} characters, and at most {LONGEST_QUERY:,} are sent to the server"
        return outcomes.failed(query, "error", "error", message)
    try:
        query.encode()
    except UnicodeEncodeError as error:
        return outcomes.not_text(query, error)
    if (place := query.find("\0")) >= 0:
        message = f"the query holds a NUL at character {place + 1}, which PostgreSQL takes in no text"
        return outcomes.failed(query, "error", "error", message)
    found = list(pieces(query))
    while found and _is(found[-1], ";"):
        found.pop()
    found = found[next((place for place, piece in enumerate(found) if not _is(piece, ";")), 0) :]
    if not found:
        return outcomes.no_query(query)
    return _kind_refusal(query, found) or _call_refusal(query, found)


def _kind_refusal(query: str, found: Sequence[Piece]) -> Execution | None:
    """Why this is not one query."""
    opening = next((piece for piece in found if not _is(piece, "(")), found[0])
    word = opening.name if opening.kind == "word" else ""
    is_query, writes, commands = word in _BEGIN_QUERY, _WRITES.fullmatch(word), _COMMANDS.fullmatch(word)
    if (is_query or writes or commands) and any(_is(piece, ";") for piece in found):
        return outcomes.several_statements(query)
    if is_query:
        return None
    if writes:
        return outcomes.failed(query, "refused", "writes", f"refused: it writes ({word.upper()})")
    if word == "explain" and any(piece.kind == "word" and piece.name in _EXPLAINED_WRITES for piece in found):
        return outcomes.failed(query, "refused", "writes", "refused: it explains what writes")
    if commands:
        return outcomes.failed(query, "refused", "refused", f"refused: it is no query ({word.upper()})")
    shown = " ".join(query.split())[:60]
    message = f"it begins with {shown!r}, and a query begins with SELECT, WITH, VALUES, TABLE or a parenthesis"
    return outcomes.failed(query, "error", "error", message)


def _call_refusal(query: str, found: Sequence[Piece]) -> Execution | None:
    """Why a function that it calls is not to be called, or a table not to be read."""
    for piece in found:
        if piece.kind in ("word", "name") and piece.name in _SECRETS:
            return outcomes.failed(query, "refused", "refused", f"refused: it reads passwords ({piece.name})")
    for piece, following in pairwise(found):
        if piece.kind == "name" and piece.is_unicode_escaped:
            return outcomes.failed(
                query, "refused", "refused", f"refused: it hides a name behind Unicode escapes ({piece.text[:60]})"
            )
        if not _is(following, "(") or piece.kind not in ("word", "name"):
            continue
        name = piece.name
        if _REACHES_OUT.fullmatch(name):
            message = f"refused: it reaches out of the database ({name})"
        elif _ACTS_ON_SERVER.fullmatch(name):
            message = f"refused: it acts on the server or its session ({name})"
        else:
            continue
        return outcomes.failed(query, "refused", "refused", message)
    return None


def _is(piece: Piece, sign: str) -> bool:
    return piece.kind == "sign" and piece.text == sign
