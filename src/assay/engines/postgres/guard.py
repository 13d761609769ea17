"""Refuse texts that must not be sent to PostgreSQL at all.

The server's read-only transaction does the main work. This module refuses, by the text only, what that transaction
allows: everything that is not exactly one query (in the server's grammar, only queries begin with SELECT, WITH, VALUES,
TABLE or a parenthesis), and calls of functions that reach outside the database or act on the server, which no rollback
undoes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from assay.engines import outcomes
from assay.model import Execution
from assay.sql.lexing import Piece, pieces

LONGEST_QUERY = 200_000
"""Limit in characters: checking them takes half a second at most. The server would accept a gigabyte, and need its
memory."""

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

_SECRETS = re.compile(
    r"pg_authid|pg_shadow|_?pg_user_mappings?|user_mapping_options|pg_subscription|pg_statistic|pg_stats|pg_toast_\d+"
)
"""Tables of the server with passwords, and those that repeat their values: after ``pg_authid`` was analyzed, the
statistics contain its hashes. Views that omit them, for example ``pg_roles``, are allowed."""
_REACHES_OUT = re.compile(
    r"pg_read_\w*file\w*|pg_ls_\w+|pg_stat_file|pg_file_\w+|pg_current_logfile|pg_hba_file_\w+|pg_ident_file_\w+|"
    r"pg_show_all_file_settings|lo_(?:import|export|open|creat|create|unlink|put|get|from_bytea|truncate|truncate64)|"
    r"loread|lowrite|dblink_\w+|postgres_fdw_\w+|(?:query|cursor|table|schema|database)_to_xml\w*|ts_stat|ts_rewrite|"
    r"xpath_table|aws_(?:s3|lambda|commons|bedrock|ml)|azure_(?:storage|ai|ml|openai|cognitive)|google_ml"
)
"""Functions that touch files, other servers or large objects, and those that run a text as a query; and the schemas
of hosted servers' extensions that do."""
_REACHES_OUT_CALLED = re.compile(
    r"lo_\w+|dblink|crosstab\w*|connectby|https?(?:_\w+)?|url_get|s3_\w+|lambda_\w+|file_copy|"
    r"table_import_from_s3|query_export_to_s3"
)
"""The same, for names that may also be a column or an alias: refused only if called."""
_ACTS_ON_SERVER = re.compile(
    r"pg_terminate_backend|pg_cancel_backend|pg_reload_conf|pg_rotate_logfile\w*|pg_logfile_rotate|pg_switch_wal|"
    r"pg_promote|pg_create_\w+|pg_drop_\w+|pg_copy_\w+_slot|pg_backup_(?:start|stop)|pg_start_backup|pg_stop_backup|"
    r"pg_wal_replay_\w+|pg_stat_reset\w*|pg_stat_statements_reset|pg_stat_force_next_flush|pg_log_\w+|"
    r"pg_logical_\w+|pg_replication_(?:origin|slot)_\w+|pg_notify|pg_import_system_collations|pg_export_snapshot|"
    r"pg_advisory_\w+|pg_try_advisory_\w+|set_config|setseed|pg_prewarm|autoprewarm_\w+|pg_extension_config_dump|"
    r"binary_upgrade_\w+|brin_\w*summarize\w*|brin_desummarize_range|gin_clean_pending_list|pg_nextoid|"
    r"pg_sleep|pg_sleep_for|pg_sleep_until|pg_buffercache_evict\w*|pg_clear_\w+|pg_restore_\w+_stats|pg_sync_\w+"
)
"""Functions that act on the server, on other sessions, or on this session's own settings and locks, or only wait."""

HARMLESS = (
    "random",
    "random_normal",
    "array_sample",
    "array_shuffle",
    "clock_timestamp",
    "timeofday",
    "gen_random_uuid",
    "uuidv4",
    "uuidv7",
    "uuid_generate_v1",
    "uuid_generate_v1mc",
    "uuid_generate_v4",
    "gen_random_bytes",
    "gen_salt",
    "normal_rand",
    "st_generatepoints",
    "pg_relation_size",
    "pg_table_size",
    "pg_indexes_size",
    "pg_total_relation_size",
    "pg_database_size",
    "pg_tablespace_size",
    "pg_is_in_recovery",
    "pg_partition_tree",
    "pg_partition_ancestors",
    "current_query",
    "currval",
    "lastval",
    "nextval",  # these two fail in the read-only transaction, with the message that they write
    "setval",
)
"""Functions that the server lists as volatile, and that change nothing."""
VOLATILE_FUNCTIONS = """
SELECT p.proname, CASE WHEN bool_or(n.nspname = 'pg_catalog') THEN 'anywhere'
                       WHEN bool_or(p.pronargs >= 1 AND p.pronargs - p.pronargdefaults <= 1 OR p.provariadic <> 0)
                       THEN 'behind a point' ELSE 'called' END
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
     JOIN pg_catalog.pg_language l ON l.oid = p.prolang JOIN pg_catalog.pg_type t ON t.oid = p.prorettype
WHERE (p.provolatile = 'v' OR p.proname IN ('connectby', 'xpath_table', 'isn_weak') OR p.proname ~ '^crosstab')
      AND p.proname <> ALL (%s)
      AND (n.nspname = 'pg_catalog' OR NOT l.lanpltrusted
           OR EXISTS (SELECT 1 FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_proc'::regclass
                      AND d.objid = p.oid AND d.deptype = 'e'))
      AND (t.typtype <> 'p' OR t.typname IN ('void', 'record', 'anyelement', 'anyarray'))
      AND 'internal'::regtype::oid <> ALL (p.proargtypes::oid[])
GROUP BY 1
"""
"""The functions of the server, of extensions and of untrusted languages that are not known to be free of effects, and
the positions in which each name is refused: PostgreSQL reads ``(x).f`` as ``f(x)``, but a bare word without a
parenthesis after it is a column. Three kinds of them run a text as a query and one sets a switch for the whole session,
although all of these are declared stable or immutable."""


def refusal(query: str) -> Execution | None:
    """Why this text is not sent to the server; None if it is one query. Never raises."""
    if len(query) > LONGEST_QUERY:
        message = f"the query has {len(query):,} characters; the limit is {LONGEST_QUERY:,}"
        return outcomes.failed(query, "error", "error", message)
    try:
        query.encode()
    except UnicodeEncodeError as error:
        return outcomes.not_text(query, error)
    if (place := query.find("\0")) >= 0:
        message = f"the query contains a NUL at character {place + 1}, which PostgreSQL does not accept"
        return outcomes.failed(query, "error", "error", message)
    found = list(pieces(query))
    while found and _is(found[-1], ";"):
        found.pop()
    found = found[next((index for index, piece in enumerate(found) if not _is(piece, ";")), 0) :]
    if not found:
        return outcomes.no_query(query)
    return _kind_refusal(query, found) or _call_refusal(query, found)


def _kind_refusal(query: str, found: Sequence[Piece]) -> Execution | None:
    """Why this text is not one query."""
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
        return outcomes.failed(query, "refused", "writes", "refused: it explains a statement that writes")
    if commands:
        return outcomes.failed(query, "refused", "refused", f"refused: it is not a query ({word.upper()})")
    shown = " ".join(query.split())[:60]
    message = f"it begins with {shown!r}, but a query begins with SELECT, WITH, VALUES, TABLE or a parenthesis"
    return outcomes.failed(query, "error", "error", message)


def volatile_refusal(query: str, functions: Mapping[str, str]) -> Execution | None:
    """Refuse a query that calls a function that has effects according to the server; else None.

    ``functions`` are the rows of `VOLATILE_FUNCTIONS`. Never raises.
    """
    found = list(pieces(query))
    for place, piece, called in _named(found):
        where = functions.get(piece.name)
        behind_a_point = place > 0 and _is(found[place - 1], ".")
        if where == "anywhere" or (where and called) or (where == "behind a point" and behind_a_point):
            return _refused(query, f"it calls a function that may have effects, according to the server ({piece.name})")
    return None


def _call_refusal(query: str, found: Sequence[Piece]) -> Execution | None:
    """Refuse a query that calls a forbidden function, or reads a forbidden table; else None."""
    for _, piece, called in _named(found):
        name = piece.name
        if piece.kind == "name" and piece.is_unicode_escaped:
            return _refused(query, f"it hides a name behind Unicode escapes ({piece.text[:60]})")
        if _SECRETS.fullmatch(name):
            return _refused(query, f"it reads passwords ({name})")
        if _REACHES_OUT.fullmatch(name) or (called and _REACHES_OUT_CALLED.fullmatch(name)):
            return _refused(query, f"it reaches outside the database ({name})")
        if _ACTS_ON_SERVER.fullmatch(name):
            return _refused(query, f"it acts on the server or its session ({name})")
    return None


def _named(found: Sequence[Piece]) -> Iterator[tuple[int, Piece, bool]]:
    """The words and names of a text, with their offsets, and whether a parenthesis follows."""
    for index, piece in enumerate(found):
        if (piece.kind == "word" and piece.text[0] not in "0123456789.") or piece.kind == "name":
            yield index, piece, index + 1 < len(found) and _is(found[index + 1], "(")


def _refused(query: str, why: str) -> Execution:
    return outcomes.failed(query, "refused", "refused", f"refused: {why}")


def _is(piece: Piece, sign: str) -> bool:
    return piece.kind == "sign" and piece.text == sign
