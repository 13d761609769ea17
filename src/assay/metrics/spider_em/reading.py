"""Read a query as Spider's script does: the SQL of its question set, and nothing beyond.

The script knows joins by ``JOIN … ON``, one INTERSECT, UNION or EXCEPT, conditions without parentheses around them, and
aliases of tables only. Whatever comes after what it could read (an OFFSET, say) is not looked at.

The script puts each quoted text aside and splits the rest into words with NLTK's ``word_tokenize``, which is made for
English sentences: ``>=`` comes apart (and is put together again), ``a=1`` and ``a,1`` stay one word, and ``cannot``
becomes two. If NLTK looks for ends of sentences within a query, we don't.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assay.metrics.spider_em.queries import (
    NO_CONDITIONS,
    Column,
    Condition,
    Conditions,
    Query,
    Term,
    UnreadableError,
    Value,
)

_CLAUSES = frozenset({"select", "from", "where", "group", "order", "limit", "intersect", "union", "except"})
_JOINING = frozenset({"join", "on", "as"})
_COMPARISONS = frozenset({"not", "between", "=", ">", "<", ">=", "<=", "!=", "in", "like", "is", "exists"})
_ARITHMETIC = frozenset({"none", "-", "+", "*", "/"})
_AGGREGATES = frozenset({"none", "max", "min", "count", "sum", "avg"})
_COMBINING = frozenset({"intersect", "union", "except"})
_ENDS = frozenset({")", ";"})


def read_query(text: str, tables: Mapping[str, Sequence[str]]) -> Query:
    """The query's clauses. ``tables`` are the columns of each table, in lower case. Raises UnreadableError."""
    words = words_of(text)
    try:
        return _Reader(words, tables, _aliases(words, tables)).query()
    except (IndexError, KeyError, ValueError) as error:
        raise UnreadableError(f"not what the script reads: {error}") from error
    except RecursionError as error:
        raise UnreadableError("nested too deeply") from error


def _aliases(words: Sequence[str], tables: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """What each name of a table stands for: whatever stood before AS, also within SELECT."""
    found = {words[place + 1]: words[place - 1] for place, word in enumerate(words) if word == "as"}
    for table in tables:
        if table in found:
            raise UnreadableError(f"the alias {table} is the name of a table")
        found[table] = table
    return found


class _Reader:
    """Reads words from a place that moves on."""

    def __init__(self, words: Sequence[str], tables: Mapping[str, Sequence[str]], aliases: Mapping[str, str]) -> None:
        self._words = words
        self._tables = tables
        self._aliases = aliases
        self._at = 0
        self._from: Sequence[str] = ()
        """The tables of the query being read, if names of columns without a table are looked for."""

    def query(self) -> Query:
        """A query that begins here, its INTERSECT, UNION or EXCEPT included."""
        start, outer = self._at, self._from
        enclosed = self._is("(")
        self._at = self._words.index("from", start) + 1
        tables, on = self._joined()
        after = self._at
        self._at = start + enclosed
        distinct, selected = self._select()
        self._at = after
        where = self._conditions_after("where")
        grouped = self._group_by()
        having = self._conditions_after("having")
        direction, ordered = self._order_by()
        limit = int(self._next()) if self._skip("limit") else None
        self._skip_semicolons()
        if enclosed:
            self._demand(")")
        self._skip_semicolons()
        self._from = outer
        parts: dict[str, Query | None] = {}
        if self._here() in _COMBINING:
            word = self._next()
            parts[word] = self.query()
        self._from = outer
        return Query(
            distinct=distinct,
            selected=selected,
            tables=tables,
            on=on,
            where=where,
            grouped=grouped,
            having=having,
            direction=direction,
            ordered=ordered,
            limit=limit,
            intersect=parts.get("intersect"),
            union=parts.get("union"),
            except_=parts.get("except"),
        )

    def _joined(self) -> tuple[tuple[str | Query, ...], Conditions]:
        tables: list[str | Query] = []
        known: list[str] = []
        each: list[Condition] = []
        connectives: list[str] = []
        while self._at < len(self._words):
            enclosed = self._skip("(")
            if self._word() == "select":
                tables.append(self.query())
            else:
                self._skip("join")
                name = self._aliases[self._next()]
                if name not in self._tables:
                    raise UnreadableError(f"no table {name}")
                if self._here() == "as":
                    self._at += 2
                tables.append(name)
                known.append(name)
            if self._skip("on"):
                self._from = known
                part = self._conditions()
                connectives += [*(["and"] if each else []), *part.connectives]
                each += part.each
            if enclosed:
                self._demand(")")
            if self._here() in _CLAUSES | _ENDS:
                break
        self._from = known
        return tuple(tables), Conditions(each=tuple(each), connectives=tuple(connectives))

    def _select(self) -> tuple[bool, tuple[tuple[str | None, Term], ...]]:
        self._demand("select")
        distinct = self._skip("distinct")
        selected: list[tuple[str | None, Term]] = []
        while self._at < len(self._words) and self._words[self._at] not in _CLAUSES:
            aggregate = self._aggregate() if self._words[self._at] in _AGGREGATES else None
            selected.append((aggregate, self._term()))
            self._skip(",")
        return distinct, tuple(selected)

    def _conditions_after(self, word: str) -> Conditions:
        return self._conditions() if self._skip(word) else NO_CONDITIONS

    def _conditions(self) -> Conditions:
        each: list[Condition] = []
        connectives: list[str] = []
        while self._at < len(self._words):
            term = self._term()
            negated = self._word() == "not"
            self._at += negated
            operator = self._next()
            if operator not in _COMPARISONS:
                raise UnreadableError(f"{operator} compares nothing")
            first, second = self._value(), None
            if operator == "between":
                self._demand("and")
                second = self._value()
            each.append(Condition(negated=negated, operator=operator, term=term, first=first, second=second))
            if self._here() in _CLAUSES | _ENDS | _JOINING:
                break
            if self._here() in {"and", "or"}:
                connectives.append(self._next())
        return Conditions(each=tuple(each), connectives=tuple(connectives))

    def _value(self) -> Value:
        start = self._at
        enclosed = self._skip("(")
        value: Value
        if self._word() == "select":
            value = self.query()
        elif '"' in self._word():
            value = self._next()
        else:
            try:
                value = float(self._word())
                self._at += 1
            except ValueError:
                value = self._column_from(start)
        if enclosed:
            self._demand(")")
        return value

    def _column_from(self, start: int) -> Column:
        """A column among the words up to the value's end; some may stay unread."""
        end = self._at
        while end < len(self._words) and not (
            self._words[end] in {",", ")", "and"} or self._words[end] in _CLAUSES or self._words[end] in _JOINING
        ):
            end += 1
        inner = _Reader(self._words[start:end], self._tables, self._aliases)
        inner._from = self._from
        self._at = end
        return inner._column()

    def _term(self) -> Term:
        enclosed = self._skip("(")
        left, operator, right = self._column(), None, None
        if self._here() in _ARITHMETIC:
            operator = self._next()
            right = self._column()
        if enclosed:
            self._demand(")")
        return Term(operator=None if operator == "none" else operator, left=left, right=right)

    def _column(self) -> Column:
        enclosed = self._skip("(")
        if self._word() in _AGGREGATES:
            aggregate = self._aggregate()
            self._demand("(")
            distinct = self._skip("distinct")
            name = self._name()
            self._demand(")")
            return Column(aggregate=aggregate, name=name, distinct=distinct)  # the script leaves the parenthesis open
        distinct = self._skip("distinct")
        name = self._name()
        if enclosed:
            self._demand(")")
        return Column(name=name, distinct=distinct)

    def _aggregate(self) -> str | None:
        word = self._next()
        return None if word == "none" else word

    def _name(self) -> str:
        word = self._next()
        if word == "*":
            return word
        if "." in word:
            alias, name = word.split(".")
            table = self._aliases[alias]
            if name not in self._tables[table]:
                raise UnreadableError(f"{table} has no column {name}")
            return f"{table}.{name}"
        for table in self._from:
            if word in self._tables[table]:
                return f"{table}.{word}"
        raise UnreadableError(f"no column {word}")

    def _group_by(self) -> tuple[Column, ...]:
        columns: list[Column] = []
        if self._skip("group"):
            self._demand("by")
            while self._at < len(self._words) and self._words[self._at] not in _CLAUSES | _ENDS:
                columns.append(self._column())
                if not self._skip(","):
                    break
        return tuple(columns)

    def _order_by(self) -> tuple[str | None, tuple[Term, ...]]:
        if not self._skip("order"):
            return None, ()
        self._demand("by")
        direction, terms = "asc", []
        while self._at < len(self._words) and self._words[self._at] not in _CLAUSES | _ENDS:
            terms.append(self._term())
            if self._here() in {"asc", "desc"}:
                direction = self._next()
            if not self._skip(","):
                break
        return direction, tuple(terms)

    def _skip_semicolons(self) -> None:
        while self._skip(";"):
            pass

    def _here(self) -> str | None:
        return self._words[self._at] if self._at < len(self._words) else None

    def _is(self, word: str) -> bool:
        return self._here() == word

    def _word(self) -> str:
        return self._words[self._at]

    def _next(self) -> str:
        self._at += 1
        return self._words[self._at - 1]

    def _skip(self, word: str) -> bool:
        if here := self._is(word):
            self._at += 1
        return here

    def _demand(self, word: str) -> None:
        if not self._skip(word):
            raise UnreadableError(f"{self._here() or 'the end'} where {word} belongs")


_ALONE = r"\[\](){}<>;@#$%&?!*«»“”‘’„\u2012-\u2015"
"""Characters that are words by themselves."""
_WORDS = re.compile(rf"\.{{2,}}|--|``|`|[{_ALONE}]|(?:(?!\.\.|--)[^\s`{_ALONE}])+")
_COMMA = re.compile(r"([,:])(\D|$)")
_LAST_PERIOD = re.compile(r"(?<=[^.])\.(?=[\])}>»”’\s]*$)")
_CONTRACTED = re.compile(r"\b(?:(can)(not)|(gim)(me)|(gon)(na)|(got)(ta)|(lem)(me))\b", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')
_COMPARED = frozenset("!<>")


def words_of(query: str) -> list[str]:
    """The words in lower case; quoted texts as they stand, in double quotes. Raises UnreadableError."""
    text = query.replace("'", '"')
    if text.count('"') % 2:
        raise UnreadableError("a quote is not closed")
    quoted: dict[str, str] = {}

    def aside(found: re.Match[str]) -> str:
        key = f"__val_{found.start()}_{found.end() - 1}__"
        quoted[key] = found.group()
        return key

    found: list[str] = []
    for word in _WORDS.findall(_COMMA.sub(r" \1 \2", _LAST_PERIOD.sub(" . ", _QUOTED.sub(aside, text)))):
        parts = _CONTRACTED.sub(lambda one: f" {' '.join(filter(None, one.groups()))} ", word).split()
        found += [quoted.get(part, part) for part in map(str.lower, parts)]
    return _joined(found)


def _joined(words: list[str]) -> list[str]:
    """``!``, ``<`` and ``>`` put together with the ``=`` that follows."""
    joined: list[str] = []
    for word in words:
        if word == "=" and joined and joined[-1] in _COMPARED:
            joined[-1] += "="
        else:
            joined.append(word)
    return joined
