"""Whether a query only reads and is harmless, by its parsed form.

"It parses as SELECT" is not enough: some queries write, incur costs, wait, run a shell command or read a server's
files. So queries are accepted only if everything in them is known to be harmless:

- the root is a SELECT, a set operation or VALUES;
- each node is of a kind that a read can have (`HARMLESS_NODES`);
- each function is one that sqlglot knows, except for a few (`HARMFUL`), or one that the service documents as harmless
  (``DIALECT.txt``), without a schema before its name: ``db.upper(x)`` is user-defined;
- FROM names tables of the catalogue, not files, stages or values.

Anything else is refused by its name. The user may allow that name in the URL of the database.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.sql.dialects import SPARK, parser_errors
from assay.sql.harmless.disagreements import (
    CLOSING,
    OPENING,
    dropped_table,
    in_known_words,
    may_be_alias,
    other_words,
    symbols,
    template,
)
from assay.sql.harmless.known import (
    FORBIDDEN,
    HARMFUL,
    HARMLESS_NODES,
    HARMLESS_SETTINGS,
    HIGHER_ORDER,
    HINTS,
    OF_MATCHES,
    WORDS,
    is_file,
    is_known,
    is_of_the_service,
)
from assay.sql.reader import reader, statements
from assay.sql.shape import ParsedQuery, parse_roughly
from assay.sql.sources import Ctes
from assay.sql.statement import MOST_CHARACTERS

if TYPE_CHECKING:
    from sqlglot import Token, exp

_NAMES = frozenset({"VAR", "IDENTIFIER", "FILE", "DICTIONARY", "MERGE"})
"""The kinds of words that may be the name of a function that sqlglot does not know."""
_PIPES = SPARK | {"bigquery"}
"""The dialects with pipe operators."""
_NOT_NAMES = OPENING | CLOSING | {"NUMBER", "STRING", "COMMA", "DASH", "PLUS", "STAR", "SLASH"}


class Harm(Struct, frozen=True, kw_only=True):
    """Why a query is not known to be harmless."""

    reason: str
    writes: bool = False


def tables_of_read(query: str, dialect: str, *, allowed: frozenset[str]) -> tuple[tuple[str, ...], ...] | Harm | None:
    """The tables that a harmless query reads, each as its unquoted parts; None if a text is not one query.

    ``allowed``: lower-case names that the user declares harmless. Never raises.
    """
    if sign := template(query, dialect):
        return Harm(reason=sign)
    query = in_known_words(query, dialect)
    parsed = _parsed(query, dialect)
    if parsed is None:
        return None
    if dialect not in _PIPES and any(token.token_type.name == "PIPE_GT" for token in parsed.tokens):
        return None
    if hidden := other_words(query, parsed.tokens, dialect):
        return Harm(reason=hidden)
    nodes, tokens = list(parsed.tree.walk()), parsed.tokens
    check = _Check(dialect, allowed, tokens)
    for node in nodes:
        if reason := check.refusal(node):
            return Harm(reason=reason, writes=_writes(node))
    if dropped := dropped_table(tokens, nodes):
        return Harm(reason=dropped)
    if reason := check.refusal_of_words(nodes):
        return Harm(reason=reason)
    tables = tuple(dict.fromkeys((*_tables(nodes, dialect), *_of_system(tokens, nodes, dialect))))
    if file := next((table for table in tables if dialect in SPARK and is_file(table)), None):
        return Harm(reason=f"{'.'.join(file)} is a file of the server, not a table of the catalogue")
    for table in tables:
        name = ".".join(table)
        if is_of_the_service(table, dialect) and name.lower() not in allowed:
            shown = f"{name} describes the service or other users, not the data"
            return Harm(reason=f"{shown}. To allow it, write ?allow={name} in the database's URL")
    return tables


def place_of_fault(query: str, dialect: str) -> str:
    """Where the parser stops, as the end of a sentence; empty if it does not say."""
    from sqlglot.errors import ParseError

    try:
        statements(query, dialect)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        if first.get("line"):
            return f" from line {first['line']}, column {first['col']}"
    except parser_errors():
        pass
    return ""


def _parsed(query: str, dialect: str) -> ParsedQuery | None:
    """A SELECT, a set operation or VALUES; None for any other text."""
    from sqlglot import exp

    if len(query) > MOST_CHARACTERS:
        return None
    parsed = parse_roughly(query, dialect)
    if parsed is not None:
        return parsed
    if query.lstrip()[:6].lower() != "values":
        return None
    try:
        tokens = reader(dialect).tokenize(query)
        trees = statements(query, dialect, tokens)
    except parser_errors():
        return None
    if len(trees) != 1 or not isinstance(trees[0], exp.Values):
        return None
    return ParsedQuery(trees[0], tokens)  # type: ignore[arg-type]


def _writes(node: exp.Expr) -> bool:
    from sqlglot import exp

    kinds = (exp.DML, exp.DDL, exp.Drop, exp.Alter, exp.TruncateTable, exp.Merge, exp.Into)
    return isinstance(node, kinds) and not isinstance(node, exp.Query)


class _Check:
    """What is refused in the nodes of a tree."""

    def __init__(self, dialect: str, allowed: frozenset[str], tokens: Sequence[Token]) -> None:
        self._dialect = dialect
        self._allowed = allowed
        self._tokens = tokens

    def refusal(self, node: exp.Expr) -> str | None:
        """Why a query with this node is not sent; None if the node is harmless."""
        from sqlglot import exp

        kind = type(node).__name__
        if kind in FORBIDDEN:
            return FORBIDDEN[kind]
        if _writes(node):
            return f"it writes ({kind.upper()})"
        if isinstance(node, exp.Func):
            return self._of_function(node)
        if kind == "Aliases" and self._dialect not in SPARK:
            return "a list in parentheses stands behind an expression"
        if kind not in HARMLESS_NODES:
            return self._unless_allowed(kind, f"the construct {kind} is")
        if isinstance(node, exp.Table | exp.TableFromRows):
            return self._of_source(node)
        if isinstance(node, exp.Query):
            return self._of_clauses(node)
        method = node.args.get("method") if isinstance(node, exp.TableSample) else None
        if method is not None and method.name.upper() not in ("SYSTEM", "BERNOULLI", "ROW", "BLOCK"):
            return f"{method.name} is not a sampling method"
        return None

    def refusal_of_words(self, nodes: Sequence[exp.Expr]) -> str | None:
        """Like `refusal`, for the names before parentheses: sqlglot drops some unexpected arguments."""
        from sqlglot import exp

        tokens = self._tokens
        aliases = (node.this for node in nodes if isinstance(node, exp.TableAlias))
        types = (node for node in nodes if isinstance(node, exp.DataType))
        named = (node for node in (*aliases, *types) if isinstance(node, exp.Expr) and node._meta)
        starts = {node.meta.get("start") for node in named} | symbols(tokens, nodes)
        in_tree = {node.name.lower() for node in nodes if isinstance(node, _anonymous())} | _names_of_types(
            tokens, nodes
        )
        for index, (token, following) in enumerate(pairwise(tokens)):
            kind = token.token_type.name
            if kind == "TABLE" and self._dialect in SPARK and following.token_type.name != "L_PAREN":
                return "TABLE is used as a query"
            if kind == "DOT" and self._dialect == "snowflake" and following.text.lower() in ("nextval", "currval"):
                what = f"{following.text} advances a sequence. It is"
                if reason := self._unless_allowed(following.text, what):
                    return reason
            if following.token_type.name != "L_PAREN" or kind not in _NAMES or token.start in starts:
                continue
            if index and tokens[index - 1].token_type.name == "PIPE_GT":  # an operator, for example EXTEND
                continue
            if reason := self._of_first_argument(tokens, index):
                return reason
            full = _dotted(tokens, index)
            is_plain = "." not in full or (self._dialect == "bigquery" and full.upper().startswith(("SAFE.", "NET.")))
            name = token.text.lower()
            if is_plain and (name in in_tree or name.upper() in WORDS):
                continue
            if reason := self._of_name(full, name if is_plain else ""):
                return reason
        return None

    def _of_first_argument(self, tokens: Sequence[Token], index: int) -> str | None:
        """What is refused of a function that is passed to ClickHouse by its bare name: ``arrayMap(file, paths)``.

        For sqlglot, the name is a column. It may be in parentheses, in quotes or behind an alias, so each name in an
        argument that is not a lambda must be the name of a harmless function.
        """
        if self._dialect != "clickhouse" or tokens[index].text.lower() not in HIGHER_ORDER:
            return None
        depth, first = 0, []
        for token in tokens[index + 1 :]:
            kind = token.token_type.name
            depth += (kind in OPENING) - (kind in CLOSING)
            if kind == "ARROW" or not depth:
                return None
            if kind == "COMMA" and depth == 1:
                break
            first.append(token)
        names = [token.text for token in first if token.token_type.name not in _NOT_NAMES]
        return next((reason for name in names if (reason := self._of_name(name, name))), None)

    def _of_function(self, node: exp.Func) -> str | None:
        from sqlglot import exp

        if isinstance(node, exp.Apply):  # ClickHouse's * APPLY(f)
            applied = node.expression or node.this
            return self._of_name(applied.name, applied.name) if isinstance(applied, exp.Var | exp.Column) else None
        if isinstance(node.parent, exp.Hint) and self._dialect in SPARK and node.name.lower() in HINTS:
            return None
        before = _qualifier(node)
        anonymous = isinstance(node, _anonymous())
        name = node.name if anonymous else _snake(type(node).__name__)
        if name.lower() in OF_MATCHES.get(self._dialect, ()) and node.find_ancestor(exp.MatchRecognize) and not before:
            return None
        if not anonymous and not before and type(node).__name__ not in HARMFUL:
            return None
        if before and name.startswith(f"{before[-1].upper()}_"):  # AI.GENERATE is sqlglot's AIGenerate
            name = name[len(before[-1]) + 1 :]
        full = ".".join((*before, name))
        return self._of_name(full, name if not before else "")

    def _of_name(self, full: str, plain: str) -> str | None:
        """``plain``: the name, if it has no schema."""
        if is_known(full, plain, self._dialect):
            return None
        return self._unless_allowed(full, f"the function {full} is")

    def _of_source(self, node: exp.Table | exp.TableFromRows) -> str | None:
        from sqlglot import exp

        source = node.this
        if isinstance(node, exp.TableFromRows):
            if isinstance(source, exp.Func | exp.Dot | exp.Query):
                return None
            return "TABLE() names a table by a value"
        if node.args.get("format") or node.args.get("pattern") or source.name.startswith("@"):
            return f"it reads files of the stage {source.name}"
        if isinstance(source, exp.Identifier | exp.Func | exp.Dot):
            return None
        if type(source).__name__ not in HARMLESS_NODES:
            return None  # the node itself is refused
        if isinstance(source, exp.Literal):
            return f"it reads the file {source.name}"
        return f"it names a table by a value ({source.name})"

    def _of_clauses(self, query: exp.Query) -> str | None:
        """What is refused in a query's own clauses."""
        if self._dialect in SPARK and may_be_alias(query, self._tokens):
            return "FROM precedes SELECT, which may be an alias there. Begin with SELECT"
        if form := query.args.get("format"):
            return f"FORMAT {form.name} sets the format of the result, which the driver must be able to read"
        for setting in query.args.get("settings") or ():
            name = str(setting.this) if setting.key != "eq" else setting.this.name
            if name.lower() not in HARMLESS_SETTINGS and (
                reason := self._unless_allowed(name, f"the setting {name} is")
            ):
                return reason
        return None

    def _unless_allowed(self, name: str, what: str) -> str | None:
        if name.lower() in self._allowed:
            return None
        return f"{what} not known to be harmless. To allow it, write ?allow={name} in the database's URL"


def _anonymous() -> tuple[type[exp.Expr], ...]:
    """The kinds of nodes for functions that are identified by name, not by kind."""
    from sqlglot import exp

    aggregates = (exp.AnonymousAggFunc, exp.CombinedAggFunc, exp.CombinedParameterizedAgg, exp.ParameterizedAgg)
    return (exp.Anonymous, *aggregates)


def _names_of_types(tokens: Sequence[Token], nodes: Sequence[exp.Expr]) -> set[str]:
    """The names before parentheses that are types wherever they occur: ``a::Time64(3)``."""
    from sqlglot import exp

    types = Counter(
        str(node.args["kind"]).lower() for node in nodes if isinstance(node, exp.DataType) and node.args.get("kind")
    )
    before = Counter(name.text.lower() for name, sign in pairwise(tokens) if sign.token_type.name == "L_PAREN")
    return {name for name, count in types.items() if count >= before[name]}


def _qualifier(node: exp.Func) -> tuple[str, ...]:
    """What precedes a function's name."""
    from sqlglot import exp

    above = node.parent
    if isinstance(above, exp.Table) and node.arg_key == "this":
        parts = (above.args.get("catalog"), above.args.get("db"))
        return tuple(part.name for part in parts if part is not None)
    if not isinstance(above, exp.Dot) or node.arg_key != "expression":
        return ()
    names: list[str] = []
    waiting = [above.this]
    while waiting:
        part = waiting.pop()
        if isinstance(part, exp.Dot):
            waiting += [part.this, part.expression]
        elif isinstance(part, exp.Column):
            names = [*(one.name for one in part.parts), *names]
        else:
            names = [(part.name if part is not None else "") or "…", *names]
    return tuple(names)


def _snake(name: str) -> str:
    """The SQL name of a class of sqlglot's."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=^AI)(?=[A-Z])|(?<=^ML)(?=[A-Z])", "_", name).upper()


def _dotted(tokens: Sequence[Token], index: int) -> str:
    """The name that ends with a token, including what precedes its dots."""
    parts = [tokens[index].text]
    while index >= 2 and tokens[index - 1].token_type.name == "DOT":
        index -= 2
        parts.insert(0, tokens[index].text)
    return ".".join(parts)


def _tables(nodes: Sequence[exp.Expr], dialect: str) -> Iterator[tuple[str, ...]]:
    """The stored tables that a tree names."""
    from sqlglot import exp

    ctes = Ctes()
    aliases = {node.alias_or_name.lower() for node in nodes if isinstance(node, exp.Table | exp.Subquery)}
    for node in nodes:
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier | exp.Dot):
            continue
        parts = tuple(part.name for part in node.parts)
        if len(parts) == 1 and ctes.find(parts[0], node) is not None:
            continue
        if dialect == "bigquery":
            parts = tuple(part for name in parts for part in name.split("."))
            if len(parts) > 1 and parts[0].lower() in aliases and not _is_own_alias(node, parts[0]):
                continue  # the array of a row: FROM orders AS o, o.items
        yield parts


def _of_system(tokens: Sequence[Token], nodes: Sequence[exp.Expr], dialect: str) -> Iterator[tuple[str, ...]]:
    """ClickHouse's system tables that an expression may read, if the tree has a column: ``x IN system.users``.

    The name may also stand behind an alias or in a function, for example ``nullIn``, so that each one counts, wherever
    it stands. It is a column where a source is called so, and the query asks for no membership.
    """
    from sqlglot import exp

    if dialect != "clickhouse":
        return
    sources = {node.alias_or_name.lower() for node in nodes if isinstance(node, exp.Table | exp.Subquery | exp.CTE)}
    asks = (exp.In, exp.Any, exp.All, exp.AnyValue, exp.Anonymous)
    if "system" in sources and not any(isinstance(node, asks) for node in nodes):
        return
    for token, dot, name in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.text.lower() == "system" and dot.token_type.name == "DOT":
            yield token.text, name.text


def _is_own_alias(table: exp.Table, name: str) -> bool:
    return bool(table.alias_or_name.lower() == name.lower())
