"""Where sqlglot reads a text differently from the engine: characters that look like blanks, and tables after IN."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from assay.sql.dialects import SPARK
from assay.sql.reader import CLICKHOUSE_TYPES

if TYPE_CHECKING:
    from sqlglot import exp

_LOOKS_BLANK = "\x1c-\x1f\x85\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
_FOUND = re.compile(f"[{_LOOKS_BLANK}]")
_QUOTED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|--[^\n]*|/\*[\s\S]*?\*/"""
_BLANKS: Mapping[str, str] = {
    "sqlite": "(?<![\\w$\x80-\U0010ffff])\ufeff",
    "duckdb": "\xa0(?=[\\s\\S])|[\u1680\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff]",
    "postgres": "(?!)",
    "mysql": "(?!)",
}
"""By dialect: what the engine reads as a blank. Every other non-ASCII character is a letter of a name there.

SQLite skips U+FEFF between two tokens. DuckDB has a list, which omits U+00A0 at the end of the text.
"""
_REFUSE_CONTROLS = frozenset({"sqlite", "postgres", "mysql"})
"""Dialects that do not accept the separators U+001C to U+001F. For DuckDB they are letters."""
_FIRST_STAND_IN = 0xF0000
"""Letters of a name that sqlglot reads as blanks are replaced by letters of a private use plane, and put back."""
_SELECTS_NOTHING = frozenset({"postgres"})
"""Dialects in which SELECT may select no columns."""


def as_engine_reads(text: str, dialect: str) -> str:
    """The text, of the same length, in which sqlglot reads the same characters as blanks as the engine does.

    Raises TokenError for a character that the engine does not accept.
    """
    from sqlglot.errors import TokenError

    if _FOUND.search(text) is None:
        return text
    blanks = _BLANKS.get(dialect, f"[{_LOOKS_BLANK}]")
    pattern = re.compile(rf"(?P<quoted>{_QUOTED})|(?P<blank>{blanks})|(?P<letter>[{_LOOKS_BLANK}])")

    def read(found: re.Match[str]) -> str:
        if found.lastgroup == "letter":
            if found[0].isascii() and dialect in _REFUSE_CONTROLS:
                raise TokenError(f"the character U+{ord(found[0]):04X} at {found.start()}")
            return chr(_FIRST_STAND_IN + ord(found[0]))
        return " " if found.lastgroup == "blank" else found[0]

    return pattern.sub(read, text)


def as_engine_means(tree: exp.Query, text: str, dialect: str) -> exp.Query | None:
    """The tree of a text from `as_engine_reads`, changed into what the engine reads; None if it refuses the text."""
    nodes = list(tree.walk())
    if not text.isascii():
        for node in nodes:
            if isinstance(name := node.args.get("this"), str) and not name.isascii():
                node.args["this"] = "".join(map(_put_back, name))
    for node in nodes:
        if node.key == "select" and not node.expressions and dialect not in _SELECTS_NOTHING:
            return None
        if node.key == "in" and dialect == "sqlite":
            _name_table(node)
        if node.key == "ordered" and dialect == "snowflake":
            _order_by_all(node)
        if node.key == "table" and dialect in SPARK:
            _name_version(node)
        if dialect == "clickhouse":
            if node.key == "datatype" and _is_unknown(node):
                return None
            if node.key == "select":
                _end_at_sample(node)
    return tree


def _is_unknown(kind: exp.Expr) -> bool:
    if kind.this.name != "USERDEFINED":
        return False
    sizes = any(size.args.get("expression") for size in kind.expressions)  # of two words
    return sizes or str(kind.args.get("kind")).lower() not in CLICKHOUSE_TYPES


def _put_back(letter: str) -> str:
    code = ord(letter) - _FIRST_STAND_IN
    return chr(code) if 0 <= code < 0x10000 else letter


def _name_version(table: exp.Expr) -> None:
    """Read ``t@v3`` as the third version of t. For sqlglot, ``@v3`` is an alias."""
    from sqlglot import exp

    alias = table.args.get("alias")
    if alias is not None and isinstance(alias.this, exp.Parameter):
        version = exp.Literal.number(alias.this.name.lstrip("vV"))
        table.set("version", exp.Version(this="VERSION", kind="AS OF", expression=version))
        table.set("alias", None)


def _order_by_all(key: exp.Expr) -> None:
    """Read Snowflake's ``ORDER BY ALL`` as sqlglot does in other dialects. There, ALL is a column."""
    from sqlglot import exp

    column = key.this
    is_bare = isinstance(column, exp.Column) and not column.table and not column.this.args.get("quoted")
    if is_bare and column.name.upper() == "ALL":
        key.set("this", exp.var("ALL"))


def _end_at_sample(select: exp.Expr) -> None:
    """Correct the clauses of ClickHouse that sqlglot reads as names and rows: settings are not columns, and in ``SAMPLE
    0.1 OFFSET 0.5`` no row is skipped."""
    from sqlglot import exp

    for setting in select.args.get("settings") or ():
        if isinstance(setting.this, exp.Column):
            setting.set("this", exp.var(setting.this.name))
    offset = select.args.get("offset")
    if offset is not None and isinstance(offset.expression, exp.Literal) and not offset.expression.is_int:
        sample = select.find(exp.TableSample)
        if sample is not None:
            sample.set("seed", offset.expression)
            select.set("offset", None)


def _name_table(node: exp.Expr) -> None:
    """Write ``x IN t`` as ``x IN (SELECT * FROM t)``, which is what it means in SQLite."""
    from sqlglot import exp

    named = node.args.get("field")
    if isinstance(named, exp.Literal) and named.is_string:
        table = exp.Table(this=exp.Identifier(this=named.name, quoted=True))
    elif isinstance(named, exp.Column) and named.args.get("db") is None:
        table = exp.Table(this=named.this, db=named.args.get("table"))
    elif isinstance(named, exp.Func):
        table = exp.Table(this=named)
    else:
        return
    node.set("field", None)
    select = exp.Select(expressions=[exp.Star()], from_=exp.From(this=table))
    node.set("query", exp.Subquery(this=select))
