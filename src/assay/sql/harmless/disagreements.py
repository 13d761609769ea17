"""When a service may read a text differently from the parser: signs, tables that the parser drops, aliases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from assay.sql.dialects import SPARK, parser_errors
from assay.sql.harmless.known import is_known
from assay.sql.reader import reader
from assay.sql.statement import MOST_CHARACTERS

if TYPE_CHECKING:
    from sqlglot import Token, exp

_IN_QUOTES = frozenset({"STRING", "IDENTIFIER", "HEREDOC_STRING", "RAW_STRING", "NATIONAL_STRING"})
OPENING = frozenset({"L_PAREN", "L_BRACKET", "L_BRACE"})
CLOSING = frozenset({"R_PAREN", "R_BRACKET", "R_BRACE"})
_PLAIN_OUTPUT = frozenset({"VAR", "IDENTIFIER", "STAR", "NUMBER", "STRING"})
_CLAUSES = {"WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT", "PIPE_GT"}
_AFTER_OUTPUT = frozenset({"COMMA", "ALIAS", "R_PAREN", "SEMICOLON"} | _CLAUSES)
_BEGINS_QUERY = frozenset({"SELECT", "FROM", "WITH", "L_PAREN", "VALUES", "TABLE"})
_ENDS_SOURCES = frozenset(
    {"SELECT", "WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "UNION", "EXCEPT", "INTERSECT", "PIPE_GT"}
    | {"CLUSTER_BY", "DISTRIBUTE_BY", "SORT_BY"}
)
"""After one of these, no comma precedes a source. None of them can be an alias."""
_SIGNS = frozenset({"DASH", "PLUS", "TILDE", "STAR", "NOT", "NULL", "TRUE", "FALSE", "CASE"})
"""What begins a value and never a name: ``WITH FILL FROM -5``."""
_TAKES_FROM = frozenset({"EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY"})
"""The functions in which FROM may begin no clause: ``TRIM(' ' FROM a)``."""
_TAKES_TABLE = frozenset({"SEMANTIC_VIEW", "DIRECTORY"})
"""The functions whose first argument is a table or a stage."""
_AFTER_ALIAS = frozenset({"lateral", "map", "pivot", "reduce", "transform", "unpivot", "values", "window"})


def in_known_words(query: str, dialect: str) -> str:
    """The query in words that the parser knows, with the same tables and functions.

    These are Spark's ``TABLE t``, BigQuery's ``|> WINDOW``, and ClickHouse's ``LIMIT n BY a`` before another LIMIT.
    Each pipe operator gets a table of its own, so that the parser replaces nothing of what precedes it.
    """
    if len(query) > MOST_CHARACTERS or not re.search(r"\btable\b|\blimit\b|\|>", query, re.IGNORECASE):
        return query
    try:
        tokens = reader(dialect).tokenize(query)
    except parser_errors():
        return query
    kinds = [token.token_type.name for token in tokens]
    changes: list[tuple[Token, str]] = []
    if dialect in SPARK and kinds[:1] == ["TABLE"] and kinds[1:2] != ["L_PAREN"]:
        changes.append((tokens[0], "SELECT * FROM"))
    for index, (token, kind) in enumerate(zip(tokens, kinds, strict=True)):
        if kind == "PIPE_GT":
            operator = tokens[index + 1].text.upper() if index + 1 < len(tokens) else ""
            # After a dot or AS, the parser reads the sign as a name.
            if operator not in ("LIMIT", "AS") and kinds[index - 1] not in ("DOT", "ALIAS"):
                changes.append((token, f"|> AS assay_{index} |>"))
            if operator == "WINDOW" and dialect == "bigquery":
                changes.append((tokens[index + 1], "EXTEND"))
    if dialect == "clickhouse":
        limited = [""]  # per open parenthesis the last word of a LIMIT
        for token, kind in zip(tokens, kinds, strict=True):
            if kind in OPENING:
                limited.append("")
            elif kind in CLOSING:
                limited = limited[:-1] or [""]
            elif kind in ("SELECT", "UNION", "INTERSECT", "EXCEPT"):
                limited[-1] = ""
            elif kind == "LIMIT":
                if limited[-1] == "BY":
                    changes.append((token, ","))  # a further expression to read
                limited[-1] = "" if limited[-1] == "BY" else "LIMIT"
            elif token.text.upper() == "BY" and limited[-1] == "LIMIT":
                limited[-1] = "BY"
    for token, word in reversed(changes):
        query = query[: token.start] + word + query[token.end + 1 :]
    return query


def template(query: str, dialect: str) -> str | None:
    """Why a template is not sent. Its signs mean nothing to the services, but look like a comment to other readers."""
    if "{" not in query or len(query) > MOST_CHARACTERS:
        return None
    try:
        tokens = reader(dialect).tokenize(query)
    except parser_errors():
        return None
    for token in tokens:
        if token.token_type.name == "L_BRACE" and (sign := query[token.start : token.start + 2]) in ("{#", "{{", "{%"):
            return f"{sign} at line {token.line}, column {token.col} begins a template, which {dialect} does not read"
    return None


def dropped_table(tokens: Sequence[Token], nodes: Sequence[exp.Expr]) -> str | None:
    """Why a query whose tree lacks a table of the text is not sent: sqlglot drops some unexpected parts."""
    from sqlglot import exp

    in_tree = {node._meta.get("start") for node in nodes if node._meta}
    for token in _sources(tokens):
        if token.start not in in_tree:
            return f"the table {token.text} is in a position in which no table is expected"
    pairs = pairwise(token.token_type.name for token in tokens)
    if sum(pair == ("TABLE", "L_PAREN") for pair in pairs) > sum(isinstance(node, exp.TableFromRows) for node in nodes):
        return "TABLE(…) is in a position in which no table is expected"
    return None


def _sources(tokens: Sequence[Token]) -> Iterator[Token]:
    """The first word of each entry of FROM and JOIN, and of what else may name a table, except for functions.

    ``FROM a, (b JOIN c ON …), f(d)`` has a, b and c. Where it is not certain that a list of sources has ended, its
    further entries are found, too: what the parser has not dropped is in the tree anyway.
    """
    expects = False  # a source comes next
    has_rows = False  # VALUES precedes
    queries, lists = [True], [False]  # per open parenthesis: FROM begins a clause there; a comma separates sources
    before: Token | None = None
    for index, token in enumerate(tokens):
        kind, word = token.token_type.name, token.text.upper()
        following = tokens[index + 1].token_type.name if index + 1 < len(tokens) else ""
        if kind in OPENING:
            called = "" if before is None else before.text.upper()
            queries.append(following in _BEGINS_QUERY or called not in _TAKES_FROM)
            expects = expects or called in _TAKES_TABLE
            lists.append(expects)
        elif kind in CLOSING:
            queries, lists, expects = queries[:-1] or [True], lists[:-1] or [False], False
        elif before is not None and before.token_type.name in ("ALIAS", "DOT") and not expects:
            pass  # a name, whatever else the word means
        elif expects and kind not in ("LATERAL", "SELECT"):
            expects, has_rows = False, kind == "VALUES"
            if kind not in _SIGNS and not _is_called(tokens, index):
                yield token
        elif kind in _ENDS_SOURCES:
            lists[-1] = False
            queries[-1] = queries[-1] or kind == "SELECT"
        elif kind == "SETTINGS" and [after.token_type.name for after in tokens[index + 2 : index + 3]] == ["EQ"]:
            lists[-1] = False
        elif kind == "FROM" and queries[-1] and not _compares(tokens[:index]):
            lists[-1] = expects = True
        elif kind == "COMMA":
            expects = lists[-1] and not (has_rows and following == "L_PAREN")
        elif kind in ("JOIN", "STRAIGHT_JOIN") or (
            word in ("TABLE", "MODEL") and _is_name(tokens[index + 1 : index + 3])
        ):
            expects = True
        else:
            has_rows = False
        before = token


def _compares(tokens: Sequence[Token]) -> bool:
    """Whether FROM after these words belongs to ``IS DISTINCT FROM``."""
    return [token.text.upper() for token in tokens[-2:]] in (["IS", "DISTINCT"], ["NOT", "DISTINCT"])


def _is_name(tokens: Sequence[Token]) -> bool:
    """Whether the first of two tokens is a name rather than another keyword."""
    kinds = [token.token_type.name for token in tokens]
    return kinds[:1] in (["VAR"], ["IDENTIFIER"], ["STRING"]) or kinds[1:] == ["DOT"]


def _is_called(tokens: Sequence[Token], index: int) -> bool:
    """Whether a name with dots, which begins here, is followed by a parenthesis."""
    while index + 2 < len(tokens) and tokens[index + 1].token_type.name == "DOT":
        index += 2
    return index + 1 < len(tokens) and tokens[index + 1].token_type.name == "L_PAREN"


def other_words(query: str, tokens: Sequence[Token], dialect: str) -> str | None:
    """Why the service might find other words in the text than sqlglot did, for example code in what sqlglot reads as a
    comment. None: it would not."""
    comments = [comment for token in tokens for comment in token.comments or ()]
    hints = re.findall(r"/\*\+(.*?)\*/", query, re.DOTALL)
    if any("/*" in comment for comment in (*comments, *hints)):
        return "a comment begins within a comment"
    if comments and re.search(r"\r(?!\n)", query):
        return "the text has comments and a carriage return without a line feed"
    pairs = list(pairwise(tokens))
    if dialect in SPARK:
        if any(comment.rstrip("\r").endswith("\\") for comment in comments):  # for Spark, it continues on the next line
            return "a comment ends with a backslash"
        if "${" in query:  # which Spark replaces by a value of its settings or environment before it parses
            return "${…} is replaced by a value of the server's settings"
        if any(token.text.upper() == "USING" and following.token_type.name == "STRING" for token, following in pairs):
            return "TRANSFORM runs a command on the server"
    if dialect == "snowflake" and "\\$$" in query:
        return "a backslash precedes $$"
    if dialect == "clickhouse":  # whose typographic quotes and minus sign are part of names for sqlglot
        bare = (token.text for token in tokens if token.token_type.name not in _IN_QUOTES)
        if not all(map(str.isascii, bare)):
            return "a non-ASCII character is outside of quotes"
    for token in tokens:
        if token.token_type.name == "IDENTIFIER" and "\\" in query[token.start : token.end + 1]:
            return "a quoted name contains a backslash"
    return None


def may_be_alias(query: exp.Query, tokens: Sequence[Token]) -> bool:
    """Whether SELECT follows FROM, so that Spark may read it as an alias: ``FROM t SELECT (a), text.x``.

    It does not if a known function follows, or a column, star or number before a comma, AS or a clause.
    """
    sources, first = _first_place(query.args.get("from_")), _first_place(*query.expressions)
    if sources is None or first is None or first < sources:
        return False
    index = next((index for index, token in enumerate(tokens) if token.start >= first), 0)
    depth = 0
    while index > 0:
        index -= 1
        kind = tokens[index].token_type.name
        depth = max(0, depth + (kind in CLOSING) - (kind in OPENING))  # outputs may be in parentheses
        if not depth and kind == "PIPE_GT":
            return False
        if not depth and kind == "SELECT":
            break
    if index and tokens[index - 1].token_type.name == "PIPE_GT":
        return False
    index += 1 + (tokens[index + 1].token_type.name == "DISTINCT")
    while index + 2 < len(tokens) and tokens[index + 1].token_type.name == "DOT":
        index += 2
    output, following = tokens[index], tokens[index + 1 : index + 2]
    if output.token_type.name not in _PLAIN_OUTPUT:
        return True
    if following and following[0].token_type.name == "L_PAREN":
        return output.text.lower() in _AFTER_ALIAS or not is_known(output.text, output.text, "spark")
    return bool(following) and following[0].token_type.name not in _AFTER_OUTPUT


def _first_place(*nodes: exp.Expr | None) -> int | None:
    """Start of the first of some nodes; 0 for a star that the parser added."""
    parts = (part for node in nodes if node is not None for part in node.walk())
    return min((part._meta["start"] for part in parts if part._meta and part._meta.get("start")), default=None)


def symbols(tokens: Sequence[Token], nodes: Sequence[exp.Expr]) -> set[int]:
    """The places in patterns of MATCH_RECOGNIZE that name symbols, not functions: ``PATTERN (a (b | c)+)``."""
    from sqlglot import exp

    begins = [
        index + 1
        for index, (token, following) in enumerate(pairwise(tokens))
        if token.text.upper() == "PATTERN" and following.token_type.name == "L_PAREN"
    ]
    if len(begins) != sum(isinstance(node, exp.MatchRecognize) for node in nodes):
        return set()
    starts = set()
    for index in begins:
        depth = 0
        for token in tokens[index:]:
            kind = token.token_type.name
            depth += (kind in OPENING) - (kind in CLOSING)
            if not depth:
                break
            starts.add(token.start)
    return starts
