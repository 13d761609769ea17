"""When a service may read a text differently from the parser: signs, tables that the parser drops, aliases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from assay.sql.dialects import SPARK, parser_errors
from assay.sql.harmless.known import is_known
from assay.sql.reader import reader
from assay.sql.shape import ParsedQuery
from assay.sql.statement import MOST_CHARACTERS
from assay.sql.trees import nodes_of

if TYPE_CHECKING:
    from sqlglot import Token, exp

_IN_QUOTES = frozenset({"STRING", "IDENTIFIER", "HEREDOC_STRING", "RAW_STRING", "NATIONAL_STRING"})
OPENING = frozenset({"L_PAREN", "L_BRACKET", "L_BRACE"})
CLOSING = frozenset({"R_PAREN", "R_BRACKET", "R_BRACE"})
_PLAIN_OUTPUT = frozenset({"VAR", "IDENTIFIER", "STAR", "NUMBER", "STRING"})
_CLAUSES = {"WHERE", "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT", "PIPE_GT"}
_AFTER_OUTPUT = frozenset({"COMMA", "ALIAS", "R_PAREN", "SEMICOLON"} | _CLAUSES)
_AFTER_ALIAS = frozenset({"lateral", "map", "pivot", "reduce", "transform", "unpivot", "values", "window"})


def in_known_words(query: str, dialect: str) -> str:
    """The query in words that the parser knows, with the same tables and functions.

    These are Spark's ``TABLE t``, BigQuery's ``|> WINDOW``, and ClickHouse's ``LIMIT n BY a`` before another LIMIT.
    """
    if len(query) > MOST_CHARACTERS or not re.search(r"\b(?:table|window|limit)\b", query, re.IGNORECASE):
        return query
    try:
        tokens = reader(dialect).tokenize(query)
    except parser_errors():
        return query
    kinds = [token.token_type.name for token in tokens]
    changes: list[tuple[Token, str]] = []
    if dialect in SPARK and kinds[:1] == ["TABLE"] and kinds[1:2] != ["L_PAREN"]:
        changes.append((tokens[0], "SELECT * FROM"))
    if dialect == "bigquery":
        pairs = zip(kinds, tokens[1:], strict=False)
        changes += [(word, "EXTEND") for kind, word in pairs if kind == "PIPE_GT" and word.text.upper() == "WINDOW"]
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


def dropped_table(parsed: ParsedQuery, nodes: Sequence[exp.Expr]) -> str | None:
    """Why a query whose tree lacks a table of the text is not sent: sqlglot drops some unexpected parts."""
    from sqlglot import exp

    in_tree = {node._meta.get("start") for node in nodes if node._meta}
    place = min(parsed.table_places - in_tree, default=None)
    if place is not None:
        name = next(token.text for token in parsed.tokens if token.start == place)
        return f"the table {name} is in a position in which no table is expected"
    pairs = pairwise(token.token_type.name for token in parsed.tokens)
    if sum(pair == ("TABLE", "L_PAREN") for pair in pairs) > sum(isinstance(node, exp.TableFromRows) for node in nodes):
        return "TABLE(…) is in a position in which no table is expected"
    return None


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
    parts = (part for node in nodes if node is not None for part in nodes_of(node))
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
