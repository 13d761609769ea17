"""Denodo's VQL as a dialect of sqlglot, for reading.

sqlglot finds the dialect under the name ``denodo`` through its plugin group (``sqlglot.dialects`` in pyproject.toml),
and once this module is imported. Importing this module loads sqlglot: import it inside a function if startup must be
fast.

The dialect reads VQL, as far as scoring needs it, and writes what it has read; it does not translate. VQL's additions
to SQL are removed from the tokens before parsing, so that positions in the text stay valid: the CONTEXT and TRACE
clauses at a query's end, and the hints of joins (HASH, NESTED, MERGE, ORDERED, REVERSEORDER), which change no result.
FLATTEN does: `flattens` finds the queries that must not be written again. Grammar: Denodo's VQL guide, "SELECT
statement".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from sqlglot import Dialect, Token, TokenType, exp, tokens

from assay.sql.depth import CLOSING, OPENING

_JOIN_HINTS = frozenset({"HASH", "NESTED", "MERGE", "PARALLEL", "ORDERED", "REVERSEORDER"})
_JOIN_TYPES = frozenset({"INNER", "LEFT", "RIGHT", "FULL", "OUTER", "NATURAL"})
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_BEFORE_NAME = frozenset(
    {TokenType.ALIAS, TokenType.DOT, TokenType.COMMA, TokenType.SELECT, TokenType.DISTINCT, TokenType.FROM}
    | {TokenType.JOIN, TokenType.ON, TokenType.WHERE, TokenType.HAVING, TokenType.AND, TokenType.OR, TokenType.NOT}
    | {TokenType.GROUP_BY, TokenType.ORDER_BY}
)
"""After one of these any word is a name: a query cannot end before it."""


class Denodo(Dialect):
    """VQL, for reading, and for writing what was read."""

    ORIGINAL_NAME_META_KEY = "denodo_name"

    class Tokenizer(tokens.Tokenizer):
        """SQL's tokens and MINUS."""

        KEYWORDS: ClassVar[dict[str, TokenType]] = {**tokens.Tokenizer.KEYWORDS, "MINUS": TokenType.EXCEPT}

    def tokenize(self, sql: str, dialect: str | Dialect | type[Dialect] | None = None) -> list[Token]:
        """The tokens without VQL's additions."""
        return list(_plain(super().tokenize(sql, dialect)))

    def generate(self, expression: exp.Expr, copy: bool = True, **opts: Any) -> str:  # noqa: FBT001, FBT002 - as in sqlglot
        """SQL, with VQL's names of functions."""
        return str(super().generate(expression.transform(_in_vql, copy=copy), copy=False, **opts))


def _in_vql(node: exp.Expr) -> exp.Expr:
    """The node with the name by which VQL calls its function."""
    name = node.meta_get("denodo_name") if isinstance(node, exp.Func) else None
    match node:
        case exp.Mod():
            return exp.Anonymous(this="MOD", expressions=[node.this, node.expression])
        case exp.CurrentTimestamp():
            return exp.Anonymous(this="NOW") if name else exp.var("CURRENT_TIMESTAMP")
        case exp.StrPosition() if not name:
            return exp.Anonymous(this="POSITION", expressions=[exp.In(this=node.args["substr"], field=node.this)])
    return node


def flattens(query: str) -> bool:
    """Whether a text has FLATTEN, whose rows are not those of the view that it names."""
    if "flatten" not in query.lower():
        return False
    found = Dialect.tokenize(Denodo(), query)
    return any(_is_flatten(found, index) for index in range(len(found)))


def _plain(found: Sequence[Token]) -> Iterator[Token]:
    """The tokens without CONTEXT, TRACE, join hints and FLATTEN, and ``CAST('int', x)`` as ``CAST(x AS int)``."""
    depth = 0
    skip = 0  # tokens before this index are dropped
    fields = -1
    casts: list[tuple[int, Token]] = []  # the depth in each CAST, and its type
    for index, token in enumerate(found):
        kind = token.token_type
        if index < skip:
            continue
        if index == fields:
            skip = _past_parentheses(found, index)
            continue
        depth += (kind in OPENING) - (kind in CLOSING)
        if casts and kind in CLOSING and depth < casts[-1][0]:
            _, target = casts.pop()
            yield Token(TokenType.ALIAS, "AS", token.line, token.col, target.start, target.end)
            for part in Dialect.get_or_raise(None).tokenize(target.text):
                yield Token(part.token_type, part.text, token.line, token.col, target.start, target.end)
        if depth == 0 and (end := clause_end(found, index)):
            skip = end
        elif _is_flatten(found, index):
            fields = _flattened_fields(found, index + 1)
        elif not _is_join_hint(found, index):
            yield token
        if _is_type_first(found, index):
            casts.append((depth, found[index + 1]))
            skip = index + 3


def _is_type_first(found: Sequence[Token], index: int) -> bool:
    """Whether this is the parenthesis of ``CAST('int', x)``."""
    kinds = [token.token_type for token in found[index : index + 3]]
    return kinds == [TokenType.L_PAREN, TokenType.STRING, TokenType.COMMA] and found[index - 1].text.upper() == "CAST"


def clause_end(found: Sequence[Token], index: int) -> int:
    """The end of the CONTEXT or TRACE clause that begins here, which ends its statement. 0 if there is none."""
    token = found[index]
    if token.token_type is not TokenType.VAR or index == 0:
        return 0
    if found[index - 1].token_type in _BEFORE_NAME:
        return 0
    name = token.text.upper()
    end = index + 1
    if name == "CONTEXT" and end < len(found) and found[end].token_type is TokenType.L_PAREN:
        end = _past_parentheses(found, end)
        if end < len(found) and found[end].text.upper() == "TRACE":
            end += 1
    elif name != "TRACE":
        return 0
    return end if end >= len(found) or found[end].token_type is TokenType.SEMICOLON else 0


def _past_parentheses(found: Sequence[Token], index: int) -> int:
    """The index after the parenthesis that closes the one here; the end if it is not closed."""
    depth = 0
    for place in range(index, len(found)):
        depth += (found[place].token_type in OPENING) - (found[place].token_type in CLOSING)
        if depth == 0:
            return place + 1
    return len(found)


def _is_join_hint(found: Sequence[Token], index: int) -> bool:
    """Whether this is a hint in front of a JOIN: ``HASH``, ``NESTED PARALLEL 4``, ``MERGE ORDERED``, ..."""
    if index == 0 or found[index].token_type in (TokenType.IDENTIFIER, TokenType.STRING):
        return False
    if found[index - 1].token_type in (TokenType.FROM, TokenType.DOT, TokenType.ALIAS, TokenType.COMMA):
        return False
    word = found[index].text.upper()
    if word not in _JOIN_HINTS and not (
        found[index].token_type is TokenType.NUMBER and found[index - 1].text.upper() == "PARALLEL"
    ):
        return False
    for token in found[index + 1 :]:
        if token.token_type is TokenType.JOIN:
            return True
        if token.text.upper() not in _JOIN_HINTS | _JOIN_TYPES and token.token_type is not TokenType.NUMBER:
            return False
    return False


def _is_flatten(found: Sequence[Token], index: int) -> bool:
    if found[index].text.upper() != "FLATTEN" or index == 0 or index + 1 >= len(found):
        return False
    before = found[index - 1].token_type in (TokenType.FROM, TokenType.JOIN, TokenType.COMMA)
    return before and found[index + 1].token_type in _NAMES


def _flattened_fields(found: Sequence[Token], index: int) -> int:
    """The index of the parenthesis in ``db.view AS v (v.fields)``; -1 if there is none."""
    place = index
    while place < len(found) and found[place].token_type in (*_NAMES, TokenType.DOT, TokenType.ALIAS):
        place += 1
    return place if place < len(found) and found[place].token_type is TokenType.L_PAREN else -1
