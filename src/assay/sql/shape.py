"""What a query's outermost level asks for: row order, a LIMIT, randomness.

Determined by parsing with sqlglot, never by searching the text. A search only avoids parsing queries that do not
contain the words at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.sql.dialects import SPARK, parser_errors
from assay.sql.reader import reader, statements
from assay.sql.spelling import as_engine_means, as_engine_reads

if TYPE_CHECKING:
    from sqlglot import Token, exp

_WORTH_PARSING = re.compile(r"\b(order|limit|fetch|top|offset)\b", re.IGNORECASE)
_CUTS = re.compile(r"\b(?:limit|fetch|top|offset)\b", re.IGNORECASE)
_DISTINCT_ON = re.compile(r"\bdistinct\s+on\b")
_LUCK = (
    "rand",
    "now",
    "uuid",
    "newid",
    "today",
    "getdate",
    "sysdate",
    "clock_",
    "curdate",
    "curtime",
    "current_",
    "localtime",
    "sample",
    "_timestamp",
    "date()",
    "time()",
    "julianday()",
    "unixepoch()",
    "uniform",
    "normal(",
    "zipf",
    "shuffle",
    "yesterday",
    "utc_",
    "monotonically_increasing_id",
    "spark_partition_id",
    "rownumberin",
)
"""Every query that uses randomness or the clock contains one of these: searching for them avoids parsing."""

_OPERANDS = frozenset({"VAR", "IDENTIFIER", "NUMBER", "STRING", "R_PAREN", "R_BRACKET", "END", "NULL", "TRUE", "FALSE"})
"""The kinds of tokens after which a plus is binary. After another word, it may be either."""
_LUCKY_FUNCTIONS = frozenset(
    {
        "random",
        "rand",
        "randomblob",
        "newid",
        "uuid",
        "generateuuid",
        "gen_random_uuid",
        "uuid_generate_v4",
        "now",
        "today",
        "getdate",
        "sysdate",
        "clock_timestamp",
        "get_current_time",
        "get_current_timestamp",
        "curdate",
        "curtime",
        "localtime",
        "localtimestamp",
        "currentdate",
        "currenttime",
        "currenttimestamp",
        "currentdatetime",
        "current_date",
        "current_time",
        "current_timestamp",
        "statement_timestamp",
        "transaction_timestamp",
        "systimestamp",
        "currenttimestampltz",
        "utcdate",
        "utctime",
        "utctimestamp",
        "now64",
        "nowinblock",
        "yesterday",
    }
)
_CHANCE_FUNCTIONS = frozenset(
    {"random", "rand", "randomblob", "newid", "uuid", "generateuuid", "gen_random_uuid", "uuid_generate_v4"}
    | {"randn", "randstr", "uniform", "normal", "zipf", "shuffle", "arrayshuffle", "arraypartialshuffle"}
    | {"rand32", "rand64", "randcanonical", "randuniform", "randnormal", "randlognormal", "randbinomial", "randpoisson"}
    | {"randexponential", "randbernoulli", "randstudentt", "randchisquared", "randfisherf", "randnegativebinomial"}
    | {"randomstring", "randomfixedstring", "randomprintableascii", "randomstringutf8", "arrayrandomsample"}
    | {
        "generateuuidv4",
        "generateuuidv7",
        "generateulid",
        "generatesnowflakeid",
        "monotonically_increasing_id",
        "spark_partition_id",
    }
    | {"rownumberinblock", "rownumberinallblocks"}
)
"""Functions that give another value for every row. The clock does not change while a query runs."""
_CLOCK_FUNCTIONS = frozenset({"date", "time", "datetime", "julianday", "unixepoch"})
"""SQLite's functions that read the clock when called without arguments."""


class OuterClauses(Struct, frozen=True, kw_only=True):
    """The outermost level of one query.

    ``parsed`` False means that sqlglot failed to parse the query: ``ordered`` and ``limited`` then only say that the
    words occur.
    """

    parsed: bool = True
    ordered: bool = False
    """The outermost query has ORDER BY, not only by a random key."""
    limited: bool = False
    """The outermost query has LIMIT, OFFSET, FETCH or TOP."""
    written: bool = False
    """It is a VALUES list, whose rows come in the written order."""
    most_rows: int | None = None
    """The number in its LIMIT, if that is a plain number."""
    skips_rows: bool = False
    """It has OFFSET."""


@lru_cache(maxsize=2048)
def may_be_cut(query: str) -> bool:
    """Whether the text may contain a LIMIT or a similar choice of rows anywhere. Searched, not parsed."""
    return chooses_by_number(query) or _CUTS.search(query) is not None


def _has_any(text: str, parts: Sequence[str]) -> bool:
    for part in parts:  # noqa: SIM110 - every query passes here several times, and a generator takes twice as long
        if part in text:
            return True
    return False


def chooses_by_number(query: str) -> bool:
    """Whether the text may contain ROW_NUMBER or DISTINCT ON anywhere. Searched, not parsed."""
    lowered = query.lower()
    return "row_number" in lowered or _DISTINCT_ON.search(lowered) is not None


@lru_cache(maxsize=2048)
def read_shape(query: str, dialect: str) -> OuterClauses:
    """Read the shape of one query. Never raises: for a query that cannot be parsed, ``parsed`` is False."""
    if _WORTH_PARSING.search(query) is None:
        return OuterClauses(written=query.lstrip()[:6].lower() == "values")
    parsed = parse_query(query, dialect)
    if parsed is None:
        words = {word.lower() for word in _WORTH_PARSING.findall(query)}
        return OuterClauses(parsed=not words, ordered="order" in words, limited=bool(words - {"order"}))
    top, cuts = outermost(parsed.tree), cutting(parsed.tree)
    return OuterClauses(
        ordered=bool(deterministic_keys(top)),
        limited=bool(cuts),
        written=top.key == "values",
        most_rows=_most_rows(cuts),
        skips_rows=any(part.args.get("offset") for part in cuts),
    )


@lru_cache(maxsize=2048)
def is_nondeterministic(query: str, dialect: str) -> bool:
    """Whether a query uses randomness or the clock anywhere. False if it cannot be parsed."""
    if not _has_any(query.lower(), _LUCK):
        return False
    parsed = parse_query(query, dialect)
    return parsed is not None and _is_nondeterministic(parsed.tree, dialect)


class ParsedQuery(Struct, frozen=True):
    """The tree of one SELECT or set operation, with its tokens. Shared: do not change it."""

    tree: exp.Query
    tokens: Sequence[Token]


@lru_cache(maxsize=128)
def parse_query(query: str, dialect: str) -> ParsedQuery | None:
    """Parse one query; None if the text cannot be parsed, is not one query, or is not what sqlglot reads in it."""
    parsed = parse_roughly(query, dialect)
    return None if parsed is None or _is_misread(parsed, dialect) else parsed


@lru_cache(maxsize=128)
def parse_roughly(query: str, dialect: str) -> ParsedQuery | None:
    """Like `parse_query`, but the tree may lack parts of the text."""
    return _parsed(query, dialect)


def _is_misread(parsed: ParsedQuery, dialect: str) -> bool:
    """Whether sqlglot reads the query otherwise than the engine.

    A pipe operator changes what precedes it: sqlglot drops the first order of ``|> ORDER BY a |> ORDER BY b``, and
    filters before it limits in ``|> LIMIT 3 |> WHERE a``. In ClickHouse, the second list of ``lttb(3)(x, y)`` does not
    consist of aliases, and one aggregate has another name for sqlglot.
    """
    if any(token.token_type.name == "PIPE_GT" for token in parsed.tokens):
        return True
    return dialect == "clickhouse" and any(node.key in ("aliases", "approxtopk") for node in parsed.tree.walk())


def parse_with_signs(query: str, dialect: str) -> ParsedQuery | None:
    """Like `parse_query`, with a node for each unary plus, which sqlglot drops."""
    if "+" not in query:
        return parse_query(query, dialect)
    parsed = _parsed(query, dialect, keeps_signs=True)
    return None if parsed is None or _is_misread(parsed, dialect) else parsed


def _parsed(query: str, dialect: str, *, keeps_signs: bool = False) -> ParsedQuery | None:
    try:
        return _one_query(query, dialect, keeps_signs=keeps_signs)
    except parser_errors():
        return None


def is_nested_too_deeply(query: str, dialect: str) -> bool:
    """Whether a text cannot be parsed only because of its depth. Some engines execute texts that are too deep for
    sqlglot."""
    try:
        _one_query(query, dialect)
    except RecursionError:
        return True
    except parser_errors():
        return False
    return False


def _one_query(query: str, dialect: str, *, keeps_signs: bool = False) -> ParsedQuery | None:
    from sqlglot import exp

    text = as_engine_reads(query, dialect)
    if dialect == "denodo":
        from assay.sql.vql import flattens

        if flattens(text):
            return None
    tokens = reader(dialect).tokenize(text)
    if dialect in SPARK:
        _call_windows(tokens)
    signs = _mark_signs(tokens) if keeps_signs else 0
    trees = [tree for tree in statements(text, dialect, tokens) if not isinstance(tree, exp.Semicolon)]
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        return None
    tree = as_engine_means(trees[0], text, dialect)
    if tree is None or not _name_signs(tree, signs):
        return None
    return ParsedQuery(tree, tokens)


def _call_windows(tokens: Sequence[Token]) -> None:
    """Treat window(ts, '1 hour') as a function, as Spark does. In sqlglot, that word begins the clause WINDOW."""
    from sqlglot import TokenType

    for token, following in pairwise(tokens):
        if token.token_type is TokenType.WINDOW and following.token_type is TokenType.L_PAREN:
            token.token_type = TokenType.VAR


def _mark_signs(tokens: Sequence[Token]) -> int:
    """Turn each unary plus into ``~``, which sqlglot keeps, and return their number."""
    from sqlglot import TokenType

    count = 0
    for before, token in pairwise(tokens):
        if token.token_type is TokenType.PLUS and before.token_type.name not in _OPERANDS:
            token.token_type = TokenType.TILDE
            count += 1
    return count


def _name_signs(tree: exp.Query, count: int) -> bool:
    """Turn the nodes of `_mark_signs` into signs. False if it is not certain which they are."""
    from sqlglot import exp

    marked = list(tree.find_all(exp.BitwiseNot)) if count else []
    if len(marked) != count:
        return False
    for node in marked:
        node.replace(exp.Introducer(this=exp.var("+"), expression=node.this))
    return True


def outermost(tree: exp.Query) -> exp.Query:
    """The query whose ORDER BY orders the whole, inside any outer parentheses.

    A LIMIT after such parentheses cuts the same rows: `(SELECT … ORDER BY x) LIMIT 1`.
    """
    from sqlglot import exp

    while isinstance(tree, exp.Subquery) and not tree.args.get("order"):
        inner: exp.Query = tree.this
        tree = inner
    return tree


def cutting(tree: exp.Query) -> list[exp.Query]:
    """The levels of the outermost query that have LIMIT, OFFSET, FETCH or TOP: parentheses can make several."""
    from sqlglot import exp

    found: list[exp.Query] = []
    while True:
        limit = tree.args.get("limit")
        if (limit is not None and not limit.expressions) or tree.args.get("offset"):  # not ClickHouse's LIMIT 2 BY x
            found.append(tree)
        if not isinstance(tree, exp.Subquery) or tree.args.get("order"):
            return found
        inner: exp.Query = tree.this
        tree = inner


def _most_rows(cuts: Sequence[exp.Query]) -> int | None:
    limits = [part.args["limit"] for part in cuts if part.args.get("limit")]
    counted = [limit for limit in limits if limit.key == "limit" and not limit.args.get("limit_options")]
    plain = [limit.expression for limit in counted if limit.expression is not None]
    numbers = [int(value.name) for value in plain if value.is_int]
    return min(numbers) if numbers and len(numbers) == len(limits) else None


def same_text(first: str, second: str, dialect: str) -> bool:
    """Whether two queries are the same except for blanks, comments, the case of bare words and a closing semicolon."""
    if first == second:
        return True
    if "".join(first.lower().split()).rstrip(";") != "".join(second.lower().split()).rstrip(";"):
        return False
    try:
        return _words(first, dialect) == _words(second, dialect)
    except parser_errors():
        return False


def _words(query: str, dialect: str) -> list[str]:
    return [
        token.text if token.token_type.name in ("STRING", "IDENTIFIER") else token.text.lower()
        for token in reader(dialect).tokenize(as_engine_reads(query, dialect))
        if token.token_type.name != "SEMICOLON"
    ]


def deterministic_keys(tree: exp.Expr) -> list[exp.Ordered]:
    """The keys of an ORDER BY, of a query or a window, before the first random one, for example random()."""
    from sqlglot import exp

    order = tree.args.get("order")
    steady: list[exp.Ordered] = []
    for key in order.expressions if order else ():
        if any(_function_name(node) in _CHANCE_FUNCTIONS for node in key.find_all(exp.Func)):
            break
        steady.append(key)
    return steady


def _function_name(node: exp.Func) -> str:
    from sqlglot import exp

    return node.name.lower() if isinstance(node, exp.Anonymous) else node.key


def _is_nondeterministic(tree: exp.Expr, dialect: str = "") -> bool:
    from sqlglot import exp

    for node in tree.walk():
        if isinstance(node, exp.TableSample) and dialect != "clickhouse":  # which takes the same rows each time
            return True
        if isinstance(node, exp.Func):
            name = _function_name(node)
            if name in _LUCKY_FUNCTIONS or name in _CHANCE_FUNCTIONS:
                return True
            if _reads_clock(node, name):
                return True
    return False


def _reads_clock(node: exp.Expr, name: str) -> bool:
    """SQLite's date functions read the clock if they are given 'now', or no time."""
    from sqlglot import exp

    if name in _CLOCK_FUNCTIONS and not any(node.iter_expressions()):
        return True
    return any(literal.is_string and literal.name.lower() == "now" for literal in node.find_all(exp.Literal))


def warm_up() -> None:
    """Import sqlglot now."""
    parse_query("SELECT 1 FROM t ORDER BY 1", "sqlite")
