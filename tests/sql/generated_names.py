"""Generate queries in which it takes a rule to say which column a name means. One seed gives one query.

The queries are on the tables of `odd_names`, and each test of a value is one that takes any type (``x IS NULL``), so
that servers with strict types accept them, too. An engine refuses some, as ambiguous or not grouped: those are no test.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

KINDS = {
    "a": {"id": "number", "x": "text", "n": "number", "b_id": "number"},
    "b": {"id": "number", "x": "text", "Order": "number", "y": "text"},
    "c d": {"id": "number", "select": "text", "Z": "text"},
    "e": {"e": "number", "x": "number"},
}
_ALIASES = ("p", "q", "t1", "T2", "a", "b", "e", "x")
_OUTPUTS = ("x", "id", "n", "k", "e", "Z", "q", "Order", "b_id")
_HAS_LATERAL = frozenset({"postgres", "duckdb"})
_ROW_NUMBERS = {"sqlite": ("rowid", "oid", "_rowid_"), "duckdb": ("rowid",)}
_PLAIN = frozenset({"a", "b", "e", "p", "q", "t1", "id", "x", "n", "b_id", "y", "k", "w"})
"""Names that need no quotes and have only small letters."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One source of a SELECT, by its alias, and its columns with their kinds."""

    alias: str
    columns: dict[str, str]
    is_stored: bool = False


@dataclass(kw_only=True)
class Level:
    """The sources that a SELECT may name: its own, and those of the queries around it."""

    entries: list[Entry] = field(default_factory=list)
    joined: set[str] = field(default_factory=set)
    """Columns of USING, which stand for both sides."""
    outer: Level | None = None


Outputs = list[tuple[str, str]]
"""Name and kind of each output."""


class QueryGenerator:
    """Makes one query. What is random is only the choice; each choice is written once, below."""

    def __init__(self, seed: int, dialect: str) -> None:
        self.random = random.Random(seed)
        self.dialect = dialect
        self.ctes: list[tuple[str, Outputs]] = []
        self.closed = ""
        """The name of the CTE being made, which SQLite takes for itself."""

    def query(self) -> str:
        choice = self.random.random()
        if choice < 0.25:
            return self.with_ctes()
        if choice < 0.4:
            return self.operation(None, depth=2)[0]
        if choice < 0.5:
            return self.recursive()
        return self.select(None, depth=self.random.choice((1, 2, 2, 5)), is_top=True)[0]

    # --- names

    def name(self, text: str) -> str:
        """A name, in quotes or not, in any case of letters that the dialect takes for the same."""
        plain = text.isidentifier() and text.lower() not in ("select", "order")
        folds = self.dialect != "postgres" or text == text.lower()
        quote = '"' if self.dialect != "mysql" else "`"
        if not plain or not folds or self.random.random() < 0.1:
            return f"{quote}{text}{quote}"
        if text not in _PLAIN or self.random.random() < 0.8:
            return text
        return text.upper()

    def alias_name(self, text: str) -> str:
        """The name of a table or alias, which MariaDB takes by its letters' case."""
        return f"`{text}`" if self.dialect == "mysql" else self.name(text)

    def column(self, level: Level, kind: str | None = None) -> tuple[str, str, str]:
        """A column that the level may name, as written; its own name, and its kind."""
        depth: Level | None = level
        if level.outer is not None and self.random.random() < 0.4:
            depth = level.outer
            while depth.outer is not None and self.random.random() < 0.5:
                depth = depth.outer
        found = [
            (entry, name)
            for entry in depth.entries
            for name, one in entry.columns.items()
            if kind is None or one == kind
        ]
        if not found:
            return ("1" if kind != "text" else "'t'"), "k", kind or "number"
        entry, name = self.random.choice(found)
        numbers = _ROW_NUMBERS.get(self.dialect, ()) if entry.is_stored and depth is level else ()
        if numbers and kind != "text" and self.random.random() < 0.05:
            return f"{self.alias_name(entry.alias)}.{self.random.choice(numbers)}", "k", "number"
        if self.random.random() < 0.5 and self._is_plain(level, depth, name):
            return self.name(name), name, entry.columns[name]
        return f"{self.alias_name(entry.alias)}.{self.name(name)}", name, entry.columns[name]

    def _is_plain(self, level: Level, depth: Level, name: str) -> bool:
        """Whether a name without its table means a column of ``depth``, and only one."""
        at: Level | None = level
        while at is not None:
            count = sum(name.lower() in map(str.lower, entry.columns) for entry in at.entries)
            if at is depth:
                return count == 1 or name in at.joined
            if count:
                return False
            at = at.outer
        return False

    def condition(self, level: Level, depth: int) -> str:
        choice = self.random.random()
        if choice < 0.55 or depth <= 0:
            return f"{self.column(level)[0]} IS {self.random.choice(('NULL', 'NOT NULL'))}"
        if choice < 0.7:
            column, _, kind = self.column(level)
            if self.dialect == "sqlite" and self.random.random() < 0.4:
                return self.in_table(level)
            inner = self.select(level, depth=depth - 1, kinds=[kind])[0]
            return f"{column} IN ({inner})"
        if choice < 0.85:
            return f"{self.random.choice(('', 'NOT '))}EXISTS ({self.select(level, depth=depth - 1)[0]})"
        return f"({self.condition(level, depth - 1)} OR {self.condition(level, depth - 1)})"

    def in_table(self, level: Level) -> str:
        """A test against all rows of a table or a CTE, which SQLite has without a SELECT."""
        schema = self.random.choice(("", "", "main."))
        table = self.random.choice([name for name in KINDS if name != self.closed or schema])
        shadow = next((dict(outputs) for name, outputs in reversed(self.ctes) if name == table), None)
        kinds = KINDS[table] if schema or shadow is None else shadow
        values = ", ".join(self.column(level, kind)[0] for kind in kinds.values())
        values = f"({values})" if len(kinds) > 1 else values
        named = f"'{table}'" if self.random.random() < 0.1 else self.name(table)
        return f"{values} {self.random.choice(('', 'NOT '))}IN {schema}{named}"

    # --- sources

    def source(self, level: Level, depth: int) -> tuple[str, Entry]:
        if depth > 0 and self.random.random() < 0.25:
            text, outputs = self.select(None, depth=depth - 1)
            alias = self.fresh(level)
            return f"({text}) AS {self.alias_name(alias)}", Entry(alias=alias, columns=dict(outputs))
        if self.ctes and self.random.random() < 0.4:
            table, outputs = self.random.choice(self.ctes)
            columns, is_stored = dict(outputs), False
        else:
            table = self.random.choice([name for name in KINDS if name != self.closed])
            columns, is_stored = KINDS[table], True
            shadow = next((dict(outputs) for name, outputs in reversed(self.ctes) if name == table), None)
            if shadow is not None:
                columns, is_stored = shadow, False
        written = self.alias_name(table)
        if self.random.random() < 0.35 and all(entry.alias != table for entry in level.entries):
            return written, Entry(alias=table, columns=columns, is_stored=is_stored)
        alias = self.fresh(level)
        return f"{written} AS {self.alias_name(alias)}", Entry(alias=alias, columns=columns, is_stored=is_stored)

    def fresh(self, level: Level) -> str:
        """An alias that the level does not have; it may be the name of a table or column."""
        taken = {entry.alias.lower() for entry in level.entries}
        return self.random.choice([alias for alias in _ALIASES if alias.lower() not in taken])

    def sources(self, level: Level, depth: int) -> str:
        text, entry = self.source(level, depth)
        level.entries.append(entry)
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            joined, entry = self.source(level, depth)
            common = [
                name
                for name, kind in entry.columns.items()
                if sum(name in other.columns for other in level.entries) == 1
                and any(other.columns.get(name) == kind for other in level.entries)
            ]
            choice = self.random.random()
            if common and choice < 0.3:
                name = self.random.choice(common)
                level.entries.append(entry)
                level.joined.add(name)
                side = self.random.choice(("", "LEFT "))
                text = f"{text} {side}JOIN {joined} USING ({self.name(name)})"
            elif common and choice < 0.4:
                level.joined |= set(common)
                level.entries.append(entry)
                text = f"{text} NATURAL JOIN {joined}"
            elif choice < 0.5 and self.dialect in _HAS_LATERAL:
                inner, outputs = self.select(level, depth=0)
                alias = self.fresh(level)
                level.entries.append(Entry(alias=alias, columns=dict(outputs)))
                text = f"{text} CROSS JOIN LATERAL ({inner}) AS {self.alias_name(alias)}"
            elif choice < 0.6:
                level.entries.append(entry)
                text = f"{text} CROSS JOIN {joined}"
            else:
                level.entries.append(entry)
                side = self.random.choice(("", "LEFT "))
                text = f"{text} {side}JOIN {joined} ON {self.condition(level, min(depth, 1) - 1)}"
        return text

    # --- queries

    def select(
        self, outer: Level | None, *, depth: int, kinds: Sequence[str] | None = None, is_top: bool = False
    ) -> tuple[str, Outputs]:
        """A SELECT and its outputs. ``kinds``: of the outputs, where these are given."""
        level = Level(outer=outer)
        from_ = self.sources(level, depth)
        if kinds is None and self.random.random() < 0.3:
            return self.grouped(level, from_, depth)
        if kinds is None and not level.joined and is_top and self.random.random() < 0.15:
            star = self.random.choice(["*", *(f"{self.alias_name(entry.alias)}.*" for entry in level.entries)])
            return self.finished(f"SELECT {star} FROM {from_}", level, [], depth)
        items: list[str] = []
        outputs: Outputs = []
        wanted: Sequence[str | None] = kinds or [None] * self.random.choice((1, 2, 2, 3))
        for kind in wanted:
            text, name, found = self.column(Level(entries=level.entries, joined=level.joined), kind)
            if self.random.random() < 0.1 and depth > 0:
                text, name, found = self.scalar(level, depth), "k", "number"
            if self.random.random() < 0.1 and not outer and kinds is None:
                text, name, found = self.window(level), "k", "number"
            taken = {one for one, _ in outputs}
            free = [one for one in _OUTPUTS if one not in taken]
            if name in taken or name == "k" or self.random.random() < 0.5:
                name = self.random.choice(free)
                text = f"{text} AS {self.name(name)}"
            items.append(text)
            outputs.append((name, kind or found))
        distinct = self.random.choice(("", "", "", "DISTINCT "))
        return self.finished(f"SELECT {distinct}{', '.join(items)} FROM {from_}", level, outputs, depth)

    def finished(self, text: str, level: Level, outputs: Outputs, depth: int) -> tuple[str, Outputs]:
        if self.random.random() < 0.6:
            text = f"{text} WHERE {self.condition(level, depth)}"
        if level.outer is None and self.random.random() < 0.5:
            text = f"{text} ORDER BY {self.order(level, outputs)}"
        return text, outputs

    def order(self, level: Level, outputs: Outputs) -> str:
        name = self.random.choice(outputs)[0] if outputs and self.random.random() < 0.6 else None
        written = self.name(name) if name else self.column(level)[0]
        collate = {"sqlite": "NOCASE", "duckdb": "NOCASE", "postgres": '"C"'}.get(self.dialect)
        collated = f"{written} COLLATE {collate}" if collate else written
        tested = f"CASE WHEN {written} IS NULL THEN 1 ELSE 0 END"
        return self.random.choice((written, written, f"({written})", collated, tested))

    def grouped(self, level: Level, from_: str, depth: int) -> tuple[str, Outputs]:
        key, name, kind = self.column(Level(entries=level.entries, joined=level.joined))
        alias = self.random.choice((name, *_OUTPUTS))
        counted = self.random.choice([one for one in _OUTPUTS if one != alias])
        other = self.column(Level(entries=level.entries, joined=level.joined))[0]
        measure = self.random.choice(("count(*)", f"max({other})", f"count(DISTINCT {other})"))
        text = f"SELECT {key} AS {self.name(alias)}, {measure} AS {self.name(counted)} FROM {from_}"
        if self.random.random() < 0.4:
            text = f"{text} WHERE {self.condition(level, depth)}"
        text = f"{text} GROUP BY {self.random.choice((key, self.name(alias), '1'))}"
        if self.random.random() < 0.4:
            tested = self.random.choice((measure, self.name(counted), self.name(alias)))
            text = f"{text} HAVING {tested} IS NOT NULL"
        if level.outer is None and self.random.random() < 0.4:
            text = f"{text} ORDER BY {self.random.choice((self.name(alias), self.name(counted), measure, '2'))}"
        return text, [(alias, kind), (counted, "number" if measure.startswith("count") else "other")]

    def scalar(self, level: Level, depth: int) -> str:
        inner = Level(outer=level)
        from_ = self.sources(inner, depth - 1)
        column = self.column(Level(entries=inner.entries, joined=inner.joined))[0]
        return f"(SELECT count({column}) FROM {from_} WHERE {self.condition(inner, depth - 1)})"

    def window(self, level: Level) -> str:
        own = Level(entries=level.entries, joined=level.joined)
        split = f"PARTITION BY {self.column(own)[0]} " if self.random.random() < 0.5 else ""
        return f"row_number() OVER ({split}ORDER BY {self.column(own)[0]})"

    def operation(self, outer: Level | None, *, depth: int) -> tuple[str, Outputs]:
        """A set operation, with an ORDER BY that may name the first SELECT's outputs only."""
        kinds = self.random.choices(("number", "text"), k=self.random.choice((1, 2)))
        generate: Callable[[], tuple[str, Outputs]] = lambda: self.select(outer or Level(), depth=depth, kinds=kinds)  # noqa: E731
        first, outputs = generate()
        word = self.random.choice(("UNION", "UNION ALL", "EXCEPT", "INTERSECT"))
        text = f"{first} {word} {generate()[0]}"
        if outer is None and self.random.random() < 0.6:
            text = f"{text} ORDER BY {self.name(self.random.choice(outputs)[0])}"
        return text, outputs

    def with_ctes(self) -> str:
        """A query with one or two CTEs, which may have the name of a table, or of each other."""
        parts = []
        for _ in range(self.random.choice((1, 2))):
            free = [name for name in ("q", "r", "b", "a") if all(name != one for one, _ in self.ctes)]
            name = self.random.choice(free)
            self.closed = name if self.dialect == "sqlite" else ""
            if self.random.random() < 0.25:
                text, outputs = self.operation(Level(), depth=1)
            else:
                text, outputs = self.select(Level(), depth=1)
            listed = ""
            if self.random.random() < 0.3:
                given = self.random.sample(_OUTPUTS, len(outputs))
                outputs = [(new, kind) for new, (_, kind) in zip(given, outputs, strict=True)]
                listed = f"({', '.join(map(self.name, given))})"
            parts.append(f"{self.alias_name(name)}{listed} AS ({text})")
            self.ctes.append((name, outputs))
            self.closed = ""
        return f"WITH {', '.join(parts)} {self.select(None, depth=2, is_top=True)[0]}"

    def recursive(self) -> str:
        """A recursive CTE, from a column of numbers to another one of the same table."""
        table, first, second = self.random.choice((("a", "id", "b_id"), ("b", "id", "Order"), ("e", "e", "x")))
        name = self.random.choice(("q", "r", "e" if table != "e" else "a"))
        one, two = self.random.sample(_OUTPUTS, 2)
        first, second, stored = self.name(first), self.name(second), self.alias_name(table)
        recursive, here = self.alias_name(name), Level(entries=[Entry(alias=table, columns=KINDS[table])])
        self.ctes.append((name, [(one, "number"), (two, "number")]))
        start = f"SELECT {first}, {second} FROM {stored} WHERE {self.condition(here, 0)}"
        step = f"SELECT {stored}.{first}, {stored}.{second} FROM {stored}, {recursive} "
        step = f"{step}WHERE {stored}.{first} = {recursive}.{self.name(two)}"
        head = f"WITH RECURSIVE {recursive}({self.name(one)}, {self.name(two)}) AS ({start} UNION {step})"
        return f"{head} {self.select(None, depth=1, is_top=True)[0]}"


def generated(seed: int, dialect: str) -> str:
    return QueryGenerator(seed, dialect).query()
