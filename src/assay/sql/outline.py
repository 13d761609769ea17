"""Read a simple query without a parser, which takes ten times as long.

Most queries of a benchmark are SELECTs of columns and aggregates. The first words of their clauses identify these::

    SELECT city, COUNT(*) FROM t WHERE x IN (SELECT y FROM s) GROUP BY city ORDER BY COUNT(*) DESC LIMIT 3

`read_outline` returns None for a query unless it knows every word of it, and otherwise agrees with the parser: tests
compare the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

_WORD = "|".join(
    (
        r"""[^\W\d]\w*+(?>\.[^\W\d]\w*+)?+(?![.'"])""",
        r"\d++(?>\.\d++)?+(?![\w.])",
        r"[<>=!]++",
        r"[,()]|(?<!\()\+(?!\))|\*(?!\*)|-(?![->])|/(?![*/])",
        r"""'[^'\\]*+'(?!')|"[^"\\]*+"(?!")""",
    )
)
"""A name, a number, signs, or a quoted text: one word in every dialect."""
_PLAIN_WORD = re.compile(_WORD)
_PLAIN_TEXT = re.compile(rf"(?>\s++|{_WORD})*+")

Item: TypeAlias = "str | list[Item]"
"""A word, or the content of a pair of parentheses."""

_CLAUSES = {"select": 0, "from": 1, "where": 2, "group": 3, "having": 4, "order": 5, "limit": 6, "offset": 7}
_SET_OPERATIONS = ("union", "intersect", "except")
_AGGREGATES = frozenset({"count", "sum", "avg", "min", "max"})
_FUNCTIONS = _AGGREGATES | {"abs", "round", "lower", "upper", "length", "substr", "coalesce", "ifnull", "nullif"}
_NOT_BARE = frozenset({"min", "max", "select"})
"""What decides which row a column is read from, or reads rows of its own."""
_COMPARISONS = frozenset({"=", "<", ">", "<=", ">=", "<>", "!="})
_OPERATORS = _COMPARISONS | {"and", "or", "not", "in", "is", "like", "between", "exists", "+", "-", "*", "/", ","}
_COMMA = (",",)
_JOINS = ("join", ",")
_KINDS_OF_JOINS = frozenset({"inner", "left", "outer", "cross"})
_RESERVED = frozenset(
    {*_CLAUSES, *_SET_OPERATIONS, *_OPERATORS, *_KINDS_OF_JOINS}
    | {"join", "on", "as", "by", "asc", "desc", "distinct", "all", "any", "some", "case", "when", "then", "else", "end"}
    | {"array", "at", "both", "cast", "cluster", "collate", "connect", "cube", "distribute", "div", "escape"}
    | {"exclude", "fetch", "filter", "final", "for", "format", "full", "glob", "grouping", "ignore", "ilike", "indexed"}
    | {"interval", "into", "isnull", "lateral", "map", "match", "minus", "mod", "natural", "notnull", "nulls", "only"}
    | {"over", "overlaps", "partition", "pivot", "positional", "prior", "qualify", "recursive", "regexp", "replace"}
    | {"respect", "right", "rlike", "rollup", "row", "rows", "sample", "semi", "anti", "asof", "separator", "settings"}
    | {"similar", "sort", "start", "straight_join", "struct", "table", "tablesample", "top", "unique", "unpivot", "use"}
    | {"using", "values", "when", "window", "with", "within", "xor", "binary"}
    | {"current_date", "current_time", "current_timestamp", "current_user", "localtime", "localtimestamp", "user"}
    | {"session_user", "rownum", "rowid", "oid", "_rowid_"}
)
"""Words that are not names: they have a special meaning in some dialect."""
_CONSTANTS = frozenset({"null", "true", "false"})
_COUNT = re.compile(r"\d{1,9}")
_FROM = re.compile(r"\bfrom\b", re.IGNORECASE)
_ORDER_BY = re.compile(r"\border\s+by\b", re.IGNORECASE)
_LIMIT = re.compile(r"\blimit\s+\d+(?:\s+offset\s+\d+)?\s*$", re.IGNORECASE)
_MOST_CHARACTERS = 20_000
_MOST_LEVELS = 12


class Outline(Struct, frozen=True, kw_only=True):
    """What the clauses of a plain query ask for."""

    ordered: bool
    """The outermost query has ORDER BY."""
    most_rows: int | None
    """The number in the outermost LIMIT; None without one."""
    offset: int | None
    """The number in the outermost OFFSET; None without one."""
    has_inner_limit: bool
    """A subquery has LIMIT."""
    is_decided: bool
    """Every value is determined: no column that its groups do not determine, and no value of a subquery with several
    rows."""
    bare: tuple[str, ...]
    """The columns among the outputs that their groups do not determine, if nothing else reads any row of several and no
    MIN or MAX selects the row. Empty for other queries."""
    is_aggregate: bool
    """It returns one row of aggregates, each over a column of a stored table or over its rows."""
    keys: str | None
    """The keys of ORDER BY as written, if each is a column or an aggregate and none is an alias, so that a window among
    the outputs can use them. None for other queries."""


def plain_words(text: str) -> list[str] | None:
    """The words of a text that are the same in every dialect, bare ones in lower case; None for others."""
    if "'" in text or '"' in text:
        if not _PLAIN_TEXT.fullmatch(text):
            return None
        return [word if word[0] in "'\"" else word.lower() for word in _PLAIN_WORD.findall(text)]
    words = _PLAIN_WORD.findall(text)
    # Anything that is not a word was skipped. This takes half the time of matching the whole text.
    return list(map(str.lower, words)) if len("".join(words)) == len("".join(text.split())) else None


@lru_cache(maxsize=4096)
def read_outline(query: str) -> Outline | None:
    """The outline of a plain query; None for others, which must be parsed."""
    if len(query) > _MOST_CHARACTERS:
        return None
    text = query.strip().removesuffix(";")
    words = plain_words(text)
    if not words or words[0] != "select":
        return None
    try:
        level = _Level(_nested(words))
    except _NotPlainError:
        return None
    last = level.last
    return Outline(
        ordered=bool(last.order),
        most_rows=last.most_rows,
        offset=last.offset,
        has_inner_limit=level.has_inner_limit,
        is_decided=level.is_decided,
        bare=level.bare if level.is_one_select else (),
        is_aggregate=level.is_one_select and last.is_aggregate,
        keys=_ORDER_BY.split(without_limit(text))[-1].strip() if level.is_one_select and last.can_rank else None,
    )


def without_limit(query: str) -> str:
    """A plain query without its outermost LIMIT and OFFSET, and without a semicolon."""
    return _LIMIT.sub("", query.strip().removesuffix(";"))


def with_output(query: str, output: str) -> str:
    """A plain query with one more output at the end. The query must be `Outline.is_aggregate` or have
    `Outline.keys`."""
    start = _FROM.search(query)
    assert start is not None
    return f"{query[: start.start()]}, {output} {query[start.start() :]}"


class _NotPlainError(Exception):
    """The query has something that only a parser understands."""


def _nested(words: Sequence[str]) -> list[Item]:
    """The words, with the content of parentheses as a list."""
    current: list[Item] = []
    around: list[list[Item]] = []
    for word in words:
        if word == "(":
            around.append(current)
            group: list[Item] = []
            current.append(group)
            current = group
            if len(around) == _MOST_LEVELS:
                raise _NotPlainError
        elif word == ")":
            if not around:
                raise _NotPlainError
            current = around.pop()
        else:
            current.append(word)
    if around:
        raise _NotPlainError
    return current


class _Level:
    """A query or a subquery: one SELECT, or several with set operations between them, and the subqueries within."""

    def __init__(self, items: list[Item]) -> None:
        self.has_inner_limit = False
        self.is_decided = True
        self.bare: tuple[str, ...] = ()
        parts = _split(items, _SET_OPERATIONS)
        for number, part in enumerate(parts, start=1):
            self.last = _Select(part[1:] if number > 1 and part[:1] == ["all"] else part)
            if number < len(parts) and (self.last.order or self.last.most_rows is not None):
                raise _NotPlainError
            self._read(self.last)
        self.is_one_select = len(parts) == 1

    @property
    def gives_one_row(self) -> bool:
        """Whether it certainly returns at most one row: by LIMIT, or as an aggregate of all rows."""
        last = self.last
        if last.most_rows in (0, 1):
            return True
        return self.is_one_select and not last.groups and any(map(_is_aggregate, last.outputs))

    def _read(self, select: _Select) -> None:
        for entry, condition in select.sources:
            if isinstance(entry, list):
                self._walk_query(entry)
            if condition is not None:
                self._walk(condition)
        for part in (*select.outputs, *select.where, *select.groups, *select.having, *select.order):
            self._walk(part)
        if self.is_decided and not select.is_decided:
            self.is_decided, self.bare = False, select.bare

    def _walk_query(self, items: list[Item], *, as_value: bool = False) -> None:
        inner = _Level(items)
        self.has_inner_limit = self.has_inner_limit or inner.has_inner_limit or inner.last.most_rows is not None
        self.is_decided = self.is_decided and inner.is_decided and (not as_value or inner.gives_one_row)

    def _walk(self, items: Sequence[Item]) -> None:
        """Look for subqueries in an expression, whose operands have operators between them."""
        before: Item = ""
        follows_operand = False
        for item in items:
            if isinstance(item, list):
                self._walk_group(before, item)
                follows_operand = True
            elif item in _OPERATORS:
                follows_operand = False
            elif follows_operand or not _is_operand(item):
                raise _NotPlainError
            else:
                follows_operand = True
            before = item
        if not follows_operand and before != "*":
            raise _NotPlainError

    def _walk_group(self, before: Item, group: list[Item]) -> None:
        if isinstance(before, list):
            raise _NotPlainError
        if group[:1] == ["select"] and (before in _COMPARISONS or before in ("in", "exists")):
            self._walk_query(group, as_value=before in _COMPARISONS)
        elif before in _FUNCTIONS:
            self._walk(group[1:] if before in _AGGREGATES and group[:1] == ["distinct"] else group)
        elif before == "" or before in _OPERATORS:
            self._walk(group)
        else:
            raise _NotPlainError


class _Select:
    """One SELECT, split into clauses by their first words."""

    def __init__(self, items: list[Item]) -> None:
        clauses = _clauses(items)
        selected = clauses["select"]
        self._is_distinct = selected[:1] == ["distinct"]
        outputs = [_output(part) for part in _split(selected[self._is_distinct :], _COMMA)]
        self.outputs = [part for part, _ in outputs]
        self._unnamed = [part for part, alias in outputs if not alias]
        self._aliases = {alias for _, alias in outputs if alias}
        self.sources = [_source(part) for part in _split(clauses["from"], _JOINS)]
        """Each with its condition."""
        self.where = [clauses["where"]] if "where" in clauses else []
        self.having = [clauses["having"]] if "having" in clauses else []
        self.groups = _keys(clauses, "group")
        self.order = [part[:-1] if part[-1:] in (["asc"], ["desc"]) else part for part in _keys(clauses, "order")]
        self.most_rows = _count(clauses["limit"]) if "limit" in clauses else None
        self.offset = _count(clauses["offset"]) if "offset" in clauses else None
        if self.offset is not None and self.most_rows is None:
            raise _NotPlainError

    @property
    def is_decided(self) -> bool:
        """Whether all that is computed after grouping has one value per group."""
        if self._is_distinct and self.order:
            return False  # the key may not be among the outputs
        after = [*self.having, *self.order]
        if not self.groups and not any(map(_has_aggregate, (*self.outputs, *after))):
            return not self.having
        return not self._bare(after)

    @property
    def bare(self) -> tuple[str, ...]:
        """See `Outline.bare`."""
        after = [*self.having, *self.order]
        words = [word for part in (*self.outputs, *after) for word in _words(part)]
        if self._is_distinct or not self.groups or any(word in _NOT_BARE or word[0] in "'\"" for word in words):
            return ()
        found = self._bare(after)
        if not all(len(part) == 1 and _is_name(part[0]) and part in self._unnamed for part in found):
            return ()
        return tuple(dict.fromkeys([str(part[0]) for part in found]))

    def _bare(self, after: Sequence[list[Item]]) -> Sequence[list[Item]]:
        """The parts that the groups do not determine: outputs, and among ``after`` those that are not outputs."""
        keys = [str(key[0]) for key in self.groups if len(key) == 1 and _is_name(key[0])]
        if len(keys) < len(self.groups) or not self._aliases.isdisjoint(keys):
            return [["*"]]
        found = [part for part in self.outputs if not _is_grouped(part, keys)]
        # A column of a subquery may have the name of an alias, too.
        aliases = set() if any(isinstance(entry, list) for entry, _ in self.sources) else self._aliases
        others = [part for part in after if not (len(part) == 1 and str(part[0]) in aliases)]
        return found + [part for part in others if not (_is_grouped(part, keys) or part in found)]

    @property
    def is_aggregate(self) -> bool:
        """See `Outline.is_aggregate`."""
        if self._is_distinct or self.groups or self.having or self.order or self.most_rows is not None:
            return False
        return all(map(_is_plain_aggregate, self.outputs)) and all(isinstance(entry, str) for entry, _ in self.sources)

    @property
    def can_rank(self) -> bool:
        """See `Outline.keys`."""
        if self._is_distinct or not self.order:
            return False
        are_keys = all((len(key) == 1 and _is_name(key[0])) or _is_plain_aggregate(key) for key in self.order)
        are_outputs = all(len(part) == 1 or _is_plain_aggregate(part) for part in self.outputs)
        has_text = any(isinstance(part[0], str) and part[0][0] in "'\"" for part in self.outputs)
        return are_keys and are_outputs and not has_text and self._aliases.isdisjoint(str(key[0]) for key in self.order)


def _clauses(items: Sequence[Item]) -> dict[str, list[Item]]:
    """What follows the first word of each clause."""
    found: dict[str, list[Item]] = {}
    current: list[Item] | None = None
    rank = -1
    for item in items:
        if isinstance(item, str) and item in _CLAUSES:
            if _CLAUSES[item] <= rank:
                raise _NotPlainError
            rank = _CLAUSES[item]
            current = found[item] = []
        elif current is None:
            raise _NotPlainError
        else:
            current.append(item)
    if "from" not in found:
        raise _NotPlainError
    return found


def _split(items: list[Item], between: Sequence[str]) -> list[list[Item]]:
    """The parts between these words."""
    for word in between:
        if word in items:
            break
    else:
        return [items]
    parts: list[list[Item]] = [[]]
    for item in items:
        if item in between:
            parts.append([])
        else:
            parts[-1].append(item)
    return parts


def _keys(clauses: dict[str, list[Item]], name: str) -> list[list[Item]]:
    """The keys of GROUP BY or ORDER BY."""
    given = clauses.get(name)
    if given is None:
        return []
    if given[:1] != ["by"]:
        raise _NotPlainError
    return _split(given[1:], _COMMA)


def _output(items: list[Item]) -> tuple[list[Item], str]:
    """An output without its alias, and the alias."""
    if len(items) < 2 or not _is_name(items[-1]):
        return items, ""
    alias, before = str(items[-1]), items[-2]
    if before == "as":
        return items[:-2], alias
    return (items[:-1], alias) if _is_operand(before) else (items, "")


def _source(items: list[Item]) -> tuple[Item, list[Item] | None]:
    """An entry of FROM, a table or a subquery with or without an alias, and its condition."""
    while items and isinstance(items[-1], str) and items[-1] in _KINDS_OF_JOINS:  # of the entry that follows
        items = items[:-1]
    condition = None
    if "on" in items:
        place = items.index("on")
        items, condition = items[:place], items[place + 1 :]
    named = items[2:] if items[1:2] == ["as"] else items[1:]
    is_query = bool(items) and isinstance(items[0], list) and items[0][:1] == ["select"]
    if not items or not (is_query or _is_name(items[0])) or len(named) > 1 or not all(map(_is_name, named)):
        raise _NotPlainError
    return items[0], condition


def _count(items: list[Item]) -> int:
    number = items[0] if len(items) == 1 else None
    if not isinstance(number, str) or not _COUNT.fullmatch(number):
        raise _NotPlainError
    return int(number)


def _is_name(item: Item) -> bool:
    if not isinstance(item, str) or item in _RESERVED or item in _CONSTANTS:
        return False
    first = item[0]
    return first == "_" or (first.isalnum() and not first.isdecimal())


def _is_operand(item: Item) -> bool:
    """Whether a name, a number, a text or a group: an operand."""
    return isinstance(item, list) or (bool(item) and item not in _RESERVED and item[0] not in "<>=!")


def _is_aggregate(part: Sequence[Item]) -> bool:
    """Whether a part is one aggregate function: MIN and MAX of several arguments are functions of one row."""
    if len(part) != 2 or not isinstance(part[0], str) or part[0] not in _AGGREGATES or not isinstance(part[1], list):
        return False
    return "," not in part[1]


def _is_plain_aggregate(part: Sequence[Item]) -> bool:
    """Whether a part is an aggregate of a column or of all rows."""
    if len(part) != 2 or not isinstance(part[0], str) or part[0] not in _AGGREGATES or not isinstance(part[1], list):
        return False
    argument = part[1][1:] if part[1][:1] == ["distinct"] else part[1]
    return argument == ["*"] or (len(argument) == 1 and _is_name(argument[0]))


def _words(part: Sequence[Item]) -> Iterator[str]:
    """All words of a part."""
    for item in part:
        if isinstance(item, list):
            yield from _words(item)
        else:
            yield item


def _has_aggregate(part: Sequence[Item]) -> bool:
    return any(_has_aggregate(item) if isinstance(item, list) else item in _AGGREGATES for item in part)


def _is_grouped(part: Sequence[Item], keys: Sequence[str]) -> bool:
    """Whether every column in a part is grouped by or inside an aggregate."""
    if part == ["*"]:
        return False
    for place, item in enumerate(part):
        if isinstance(item, list):
            if item[:1] == ["select"] or not (_is_aggregate(part[place - 1 : place + 1]) or _is_grouped(item, keys)):
                return False
        elif isinstance(part[place + 1] if place + 1 < len(part) else "", list) and item in _FUNCTIONS:
            continue
        elif item[0] == '"' or (_is_name(item) and not any(_is_same(item, key) for key in keys)):
            return False
    return True


def _is_same(name: str, key: str) -> bool:
    """Whether a name may be that of a column that is grouped by."""
    qualifier, _, column = name.rpartition(".")
    of_key, _, grouped = key.rpartition(".")
    return column == grouped and (not qualifier or not of_key or qualifier == of_key)
