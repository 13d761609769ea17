"""Denodo's VQL: a sqlglot dialect that reads it, and what a text in it would do.

sqlglot finds the dialect under the name ``denodo`` through its plugin group (``sqlglot.dialects`` in pyproject.toml),
and once this module is imported. Importing this module loads sqlglot: import it inside a function if startup must be
fast.

The dialect reads VQL, as far as scoring needs it, and writes what it has read; it does not translate. VQL's additions
to SQL are removed from the tokens before parsing, so that positions in the text stay valid: the CONTEXT and TRACE
clauses at a query's end are dropped; join hints (HASH, NESTED, MERGE, ORDERED, REVERSEORDER) and FLATTEN become tokens
of a kind that cannot be a name. Grammar: Denodo's VQL guide, "SELECT statement".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

from msgspec import Struct
from sqlglot import Dialect, Token, TokenType, exp, generator, parser, tokens
from sqlglot.errors import SqlglotError

from assay.sql.statement import statement_kind

_OPEN = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSE = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_JOIN_HINTS = frozenset({"HASH", "NESTED", "MERGE", "PARALLEL", "ORDERED", "REVERSEORDER"})
_JOIN_TYPES = frozenset({"INNER", "LEFT", "RIGHT", "FULL", "OUTER", "NATURAL"})
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_BEFORE_NAME = frozenset(
    {TokenType.ALIAS, TokenType.DOT, TokenType.COMMA, TokenType.SELECT, TokenType.DISTINCT, TokenType.FROM}
    | {TokenType.JOIN, TokenType.ON, TokenType.WHERE, TokenType.HAVING, TokenType.AND, TokenType.OR, TokenType.NOT}
    | {TokenType.GROUP_BY, TokenType.ORDER_BY}
)
"""After one of these any word is a name: a query cannot end before it."""
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


class Denodo(Dialect):
    """VQL, for reading, and for writing what was read."""

    ORIGINAL_NAME_META_KEY = "denodo_name"

    class Tokenizer(tokens.Tokenizer):
        """SQL's tokens and MINUS."""

        KEYWORDS: ClassVar[dict[str, TokenType]] = {**tokens.Tokenizer.KEYWORDS, "MINUS": TokenType.EXCEPT}

    class Parser(parser.Parser):
        """SQL's grammar, join hints, FLATTEN, and VQL's second form of CAST, the type first: ``CAST('int', x)``."""

        FUNCTION_PARSERS: ClassVar = {
            **parser.Parser.FUNCTION_PARSERS,
            "CAST": lambda self: _parse_cast(self),  # noqa: PLW0108 - it is defined further down
        }

        def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
            hints: list[str] = []
            while self._match(TokenType.HINT):
                hints.append(self._prev.text)
            join = super()._parse_join(*args, **kwargs)
            if join is not None and hints:
                join.set("hint", " ".join(hints))
            return join

        def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
            is_flattened = self._match(TokenType.HINT)
            table = super()._parse_table(*args, **kwargs)
            if table is not None and is_flattened:
                fields = self._curr and self._curr.text.startswith("(") and self._match(TokenType.HINT)
                table.set("flattened", self._prev.text if fields else "")
            return table

    class Generator(generator.Generator):
        """SQL, with VQL's names of functions, join hints and FLATTEN."""

        TRANSFORMS: ClassVar = {
            **generator.Generator.TRANSFORMS,
            exp.CastToStrType: lambda self, node: self.func("CAST", node.args["to"], node.this),
            exp.CurrentTimestamp: lambda _, node: "NOW()" if node.meta_get("denodo_name") else "CURRENT_TIMESTAMP",
            exp.Mod: lambda self, node: self.func("MOD", node.this, node.expression),
            exp.StrPosition: lambda self, node: _position(self, node),  # noqa: PLW0108 - it is defined further down
        }

        def join_sql(self, expression: exp.Join, join_op: str | None = None) -> str:
            """The hint precedes the kind of join."""
            hint = expression.args.pop("hint", None)
            text = super().join_sql(expression, join_op)
            return text if hint is None else f" {hint}{text}"

        def table_sql(self, expression: exp.Table, sep: str = " AS ") -> str:
            """With FLATTEN before it, and its fields after it."""
            text = super().table_sql(expression, sep)
            fields = expression.args.get("flattened")
            return text if fields is None else f"FLATTEN {text} {fields}".rstrip()

    def tokenize(self, sql: str, dialect: str | Dialect | type[Dialect] | None = None) -> list[Token]:
        """The tokens, VQL's additions dropped or marked."""
        return list(_plain(super().tokenize(sql, dialect), sql))


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


def _parse_cast(reader: parser.Parser) -> exp.Expr | None:
    """``CAST('int', x)`` as well as ``CAST(x AS int)``."""
    here, following = reader._curr, reader._next
    if here and following and here.token_type is TokenType.STRING and following.token_type is TokenType.COMMA:
        target = reader._parse_string()
        reader._match(TokenType.COMMA)
        value = reader._parse_disjunction()
        return reader.expression(exp.CastToStrType(this=value, to=target))
    return reader._parse_cast(strict=reader.STRICT_CAST)


def _position(writer: generator.Generator, node: exp.StrPosition) -> str:
    """``POSITION(part IN text)``, or the function under the name that was read."""
    if node.meta_get("denodo_name"):
        return writer.function_fallback_sql(node)
    return f"POSITION({writer.sql(node, 'substr')} IN {writer.sql(node, 'this')})"


def _plain(found: Sequence[Token], text: str) -> Iterator[Token]:
    """The tokens without CONTEXT and TRACE; join hints, FLATTEN and its list of fields marked."""
    depth = 0
    skip = 0  # tokens before this index are dropped
    fields = -1
    for index, token in enumerate(found):
        kind = token.token_type
        if index < skip:
            continue
        if index == fields:
            skip = _past_parentheses(found, index)
            yield _marked(token, text[token.start : found[skip - 1].end + 1], end=found[skip - 1].end)
            continue
        depth += (kind in _OPEN) - (kind in _CLOSE)
        if depth == 0 and (end := _clause_end(found, index)):
            skip = end
        elif _is_flatten(found, index):
            fields = _flattened_fields(found, index + 1)
            yield _marked(token, token.text, end=token.end)
        elif _is_join_hint(found, index):
            yield _marked(token, token.text, end=token.end)
        else:
            yield token


def _marked(token: Token, text: str, *, end: int) -> Token:
    return Token(TokenType.HINT, text, token.line, token.col, token.start, end)


def _clause_end(found: Sequence[Token], index: int) -> int:
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
        depth += (found[place].token_type in _OPEN) - (found[place].token_type in _CLOSE)
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
        end = _clause_end(found, index)
        if end and found[index].text.upper() == "CONTEXT":
            for place in range(index + 2, end - 1):
                if found[place - 1].token_type in (TokenType.L_PAREN, TokenType.COMMA):
                    yield found[place].text.lower()


def _in_from(found: Sequence[Token], index: int) -> bool:
    """Whether a call, with or without its database's name, is used as a table."""
    while index >= 2 and found[index - 1].token_type is TokenType.DOT:
        index -= 2
    return index > 0 and found[index - 1].token_type in (TokenType.FROM, TokenType.JOIN, TokenType.COMMA)
