"""Random gold queries over small tables with many ties, each with the answers that its meaning allows.

What is allowed is worked out from what the generator knows of each key (which value it stands for
in a row), never from SQL text: by sorting in Python and choosing by brute force.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, product
from typing import Any

Row = tuple[Any, ...]
Record = dict[str, Any]
"""One row of a table, or one group, by the names of its values."""
ENGINES = ("sqlite", "duckdb", "postgres", "mariadb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """t(id, a, b, s, g): a, b and g repeat and a may be NULL; id does not; s is text."""

    records: tuple[Record, ...]

    @classmethod
    def of(cls, chance: random.Random, rows: int) -> Table:
        ids = chance.sample(range(1, 100), rows)
        return cls(
            records=tuple(
                {
                    "id": number,
                    "a": chance.choice([None, 201, 202, 203]),
                    "b": chance.choice([301, 302, 303]),
                    "s": chance.choice(["x", "y", "z"]),
                    "g": chance.choice([401, 402]),
                }
                for number in ids
            )
        )

    def statements(self) -> list[str]:
        return [
            "CREATE TABLE t(id INTEGER, a INTEGER, b INTEGER, s VARCHAR(9), g INTEGER)",
            *(f"INSERT INTO t VALUES {literal(tuple(record.values()))}" for record in self.records),
        ]


def literal(row: Row) -> str:
    return "(" + ", ".join("NULL" if cell is None else repr(cell) for cell in row) + ")"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    text: str
    value: Callable[[Record], Any]
    descending: bool

    @property
    def written(self) -> str:
        return f"{self.text} DESC" if self.descending else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    query: str
    pool: tuple[Row, ...]
    """Rows that look like the answer's."""
    size: int
    allows: Callable[[Sequence[Row]], bool]
    some: Callable[[random.Random], list[Row]]
    """An allowed answer, drawn by chance."""
    choices: int
    """How many different sets of rows are allowed; above 1 gold is ambiguous."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """Records in the order of some keys, those that tie together, and what a LIMIT takes of them."""

    ties: tuple[tuple[Record, ...], ...]
    offset: int
    limit: int | None

    @classmethod
    def by(
        cls, records: Sequence[Record], keys: Sequence[Key], engine: str, *, offset: int = 0, limit: int | None = None
    ) -> Ordered:
        def place(record: Record) -> tuple[Any, ...]:
            return tuple(_place(key.value(record), engine, descending=key.descending) for key in keys)

        ranked = sorted(records, key=place)
        return cls(ties=tuple(tuple(tied) for _, tied in groupby(ranked, key=place)), offset=offset, limit=limit)

    def taken(self) -> list[tuple[tuple[Record, ...], int]]:
        """Of each tie, in order, how many records are taken."""
        total = sum(map(len, self.ties))
        end = total if self.limit is None else min(total, self.offset + self.limit)
        found, start = [], 0
        for tied in self.ties:
            take = min(start + len(tied), end) - max(start, self.offset)
            if take > 0:
                found.append((tied, take))
            start += len(tied)
        return found

    def choices(self) -> Iterator[tuple[Record, ...]]:
        for way in product(*(combinations(tied, take) for tied, take in self.taken())):
            yield tuple(record for part in way for record in part)


def _place(value: Any, engine: str, *, descending: bool) -> tuple[int, Any]:
    """Where a value stands in an engine's order: NULL first in SQLite's and MariaDB's, last in DuckDB's."""
    null_first = {"sqlite": not descending, "mariadb": not descending, "duckdb": False, "postgres": descending}[engine]
    if value is None:
        return (0 if null_first else 2, 0)
    if isinstance(value, str):
        return (1, -ord(value) if descending else ord(value))
    return (1, -value if descending else value)


def golds(chance: random.Random, table: Table, engine: str, count: int) -> Iterator[Gold]:
    kinds = [_plain, _plain, _plain, _grouped, _over, _filtered, _numbered]
    for _ in range(count):
        yield chance.choice(kinds)(chance, table, engine)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Output:
    text: str
    alias: str | None
    value: Callable[[Record], Any]

    @property
    def written(self) -> str:
        return f"{self.text} AS {self.alias}" if self.alias else self.text


def _value(name: str, sign: int = 1) -> Callable[[Record], Any]:
    return lambda record: None if record[name] is None else sign * record[name] if sign < 0 else record[name]


def _outputs(chance: random.Random) -> list[_Output]:
    """Some of them named like another column of the table."""
    found = [_Output(text="t.id", alias=chance.choice([None, None, "number"]), value=_value("id"))]
    for text, value in chance.sample(
        [("t.a", _value("a")), ("t.b", _value("b")), ("t.s", _value("s")), ("-t.b", _value("b", -1))], 2
    ):
        taken = {output.alias for output in found}
        alias = chance.choice([None, "w", "a", "b", "A"])
        found.append(
            _Output(text=text, alias=None if alias in taken or ("a" in taken and alias == "A") else alias, value=value)
        )
    if len({(output.alias or "").lower() for output in found if output.alias}) < sum(
        output.alias is not None for output in found
    ):
        return _outputs(chance)
    if any(
        output.alias is None and output.text.removeprefix("t.") in {(o.alias or "").lower() for o in found}
        for output in found
    ):
        return _outputs(chance)  # some engines refuse a name that an alias and another output share
    chance.shuffle(found)
    return found


def _key(chance: random.Random, outputs: Sequence[_Output], engine: str) -> Key:
    """A key in one of the many ways to write one."""
    descending = chance.random() < 0.5
    place = chance.randrange(len(outputs))
    output = outputs[place]
    column = chance.choice(["a", "b", "g"])
    aliases = {(other.alias or "").lower(): other for other in outputs if other.alias}
    names = {other.text.removeprefix("t.") for other in outputs if other.alias is None}
    ways: list[tuple[str, Callable[[Record], Any]]] = [
        (f"t.{column}", _value(column)),
        (f"(t.{column})", _value(column)),
        (f"t.{column} + 0", _value(column)),
        (f"COALESCE(t.{column}, 0)", lambda record: record[column] or 0),
        (f"RANK() OVER (ORDER BY t.{'b'})", _value("b")),
        (f"(SELECT t.{column})", _value(column)),
        (f"CASE WHEN t.{column} IS NULL THEN 0 ELSE 1 END", lambda record: 0 if record[column] is None else 1),
        (f"{place + 1}", output.value),
        (f"({place + 1})", output.value),
        (f"(({place + 1}))", output.value),
    ]
    # Inside an expression a name is the column, whatever alias there is.
    ways += [(f"{column} + 0", _value(column)), (f"-{column}", _value(column, -1)), (f"ABS({column})", _value(column))]
    if column in aliases:
        ways += [
            (column, aliases[column].value),
            (f"({column})", aliases[column].value),
            (column.upper(), aliases[column].value),
        ]
    elif column not in names:
        ways.append((column, _value(column)))
    if output.alias:
        ways += [(output.alias, output.value), (f"(({output.alias}))", output.value)]
    if "w" in aliases and engine != "postgres" and aliases["w"].text != "t.s":
        worth = aliases["w"].value
        ways += [
            ("w + 0", worth),
            ("-w", lambda record: None if worth(record) is None else -worth(record)),
            ("(SELECT w)", worth),
        ]
    if engine in ("sqlite", "mariadb"):
        ways += [(f"+{place + 1}", output.value), (f"+({place + 1})", output.value)]
    if engine == "sqlite":
        ways += [
            (f"{place + 1} COLLATE NOCASE", output.value),
            (f"({place + 1} COLLATE BINARY)", output.value),
            *(
                [(f"{output.alias} COLLATE NOCASE", output.value), (f'"{output.alias}"', output.value)]
                if output.alias
                else []
            ),
        ]
    if engine in ("duckdb", "postgres"):
        ways.append((f"+{place + 1}", lambda _: 0))  # a constant, which orders nothing
    text, value = chance.choice(ways)
    return Key(text=text, value=value, descending=descending)


def _listed(parts: Sequence[_Output] | Sequence[Key]) -> str:
    return ", ".join(part.written for part in parts)


def _cut(chance: random.Random) -> tuple[int, int | None]:
    if chance.random() < 0.3:
        return 0, None
    return chance.choice([0, 0, 0, 1, 2]), chance.choice([1, 1, 2, 3])


def _limit(offset: int, limit: int | None) -> str:
    return ("" if limit is None else f" LIMIT {limit}") + (f" OFFSET {offset}" if offset else "")


def _ordered_gold(query: str, records: Sequence[Record], order: Ordered, show: Callable[[Record], Row]) -> Gold:
    taken = [([show(record) for record in tied], take) for tied, take in order.taken()]

    def allows(rows: Sequence[Row]) -> bool:
        start = 0
        for tied, take in taken:
            part, offered = Counter(rows[start : start + take]), Counter(tied)
            if part.total() != take or part - offered:
                return False
            start += take
        return start == len(rows)

    def some(chance: random.Random) -> list[Row]:
        return [row for tied, take in taken for row in chance.sample(tied, take)]

    different = {tuple(sorted(map(repr, map(show, choice)))) for choice in order.choices()}
    return Gold(
        query=query,
        pool=tuple(map(show, records)),
        size=sum(take for _, take in taken),
        allows=allows,
        some=some,
        choices=len(different),
    )


def _shows(outputs: Sequence[_Output]) -> Callable[[Record], Row]:
    return lambda record: tuple(output.value(record) for output in outputs)


def _plain(chance: random.Random, table: Table, engine: str) -> Gold:
    """One SELECT, perhaps in parentheses or under a LIMIT of its own."""
    outputs = _outputs(chance)
    keys = [_key(chance, outputs, engine) for _ in range(chance.choice([1, 1, 2]))]
    offset, limit = _cut(chance)
    select = f"SELECT {_listed(outputs)} FROM t ORDER BY {_listed(keys)}"
    query = select + _limit(offset, limit)
    if limit is not None and engine != "sqlite" and chance.random() < 0.2:
        query = f"({select})" + _limit(offset, limit)
    order = Ordered.by(table.records, keys, engine, offset=offset, limit=limit)
    return _ordered_gold(query, table.records, order, _shows(outputs))


def _grouped(chance: random.Random, table: Table, engine: str) -> Gold:
    """Groups, where an alias is named like the column that it sums up."""
    records = []
    for s in sorted({record["s"] for record in table.records}):
        group = [record for record in table.records if record["s"] == s]
        records.append(
            {
                "s": s,
                "n": len(group),
                "sum": sum(record["b"] for record in group),
                "g": max(record["g"] for record in group),
            }
        )
    alias = chance.choice(["b", "total", "s2"])
    outputs = [
        _Output(text="s", alias=None, value=_value("s")),
        _Output(text="SUM(b)", alias=alias, value=_value("sum")),
    ]
    if chance.random() < 0.5:
        outputs.append(_Output(text="COUNT(*)", alias="n", value=_value("n")))
    ways = [
        ("SUM(b)", _value("sum")),
        ("COUNT(*)", _value("n")),
        ("MAX(g)", _value("g")),
        (alias, _value("sum")),
        ("(2)", _value("sum")),
    ]
    keys = [
        Key(text=text, value=value, descending=chance.random() < 0.5)
        for text, value in chance.sample(ways, chance.choice([1, 1, 2]))
    ]
    offset, limit = _cut(chance)
    query = f"SELECT {_listed(outputs)} FROM t GROUP BY s ORDER BY {_listed(keys)}"
    order = Ordered.by(records, keys, engine, offset=offset, limit=limit)
    return _ordered_gold(query + _limit(offset, limit), records, order, _shows(outputs))


def _over(chance: random.Random, table: Table, engine: str) -> Gold:
    """Nothing but a LIMIT over an ordered query: the same as if the LIMIT stood inside. MariaDB takes any rows."""
    outputs = [
        _Output(text="t.id", alias="number", value=_value("id")),
        _Output(text="t.b", alias="w", value=_value("b")),
    ]
    keys = [_key(chance, outputs, engine) for _ in range(chance.choice([1, 2]))]
    limit = chance.choice([1, 2, 3])
    inner = f"SELECT t.id AS number, t.b AS w FROM t ORDER BY {_listed(keys)}"
    shown = chance.choice([outputs, outputs[:1], outputs[::-1]])
    names = "*" if shown == outputs else ", ".join(output.alias or "" for output in shown)
    query = chance.choice(
        [
            f"SELECT {names} FROM ({inner}) AS q LIMIT {limit}",
            f"WITH q AS ({inner}) SELECT {names} FROM q LIMIT {limit}",
        ]
    )
    order = Ordered.by(table.records, [] if engine == "mariadb" else keys, engine, limit=limit)
    return _ordered_gold(query, table.records, order, _shows(shown))


def _bag_gold(query: str, table: Table, answers: Sequence[list[Row]], pool: Sequence[Row]) -> Gold:
    allowed = {tuple(sorted(map(repr, answer))) for answer in answers}
    return Gold(
        query=query,
        pool=tuple(pool),
        size=max(map(len, answers)),
        allows=lambda rows: tuple(sorted(map(repr, rows))) in allowed,
        some=lambda chance: list(chance.choice(answers)),
        choices=len(allowed),
    )


def _filtered(chance: random.Random, table: Table, engine: str) -> Gold:
    """A LIMIT in a subquery or CTE, whose choice decides which rows the whole gives."""
    key = chance.choice(["a", "b", "g"])
    keys = [Key(text=f"t.{key}", value=_value(key), descending=chance.random() < 0.5)]
    column = chance.choice(["id", "id", "b", key])
    limit = 1 if engine == "mariadb" else chance.choice([1, 1, 2, 3])
    inner = f"SELECT t.{column} FROM t ORDER BY {keys[0].written} LIMIT {limit}"
    shown = chance.choice(["id", "b"])
    forms = [f"SELECT {shown}, s FROM t AS o WHERE {column} = ({inner})"] if limit == 1 else []
    if engine != "mariadb":
        forms += [
            f"SELECT {shown}, s FROM t AS o WHERE {column} IN ({inner})",
            f"WITH q AS ({inner}) SELECT {shown}, s FROM t AS o WHERE {column} IN (SELECT * FROM q)",
        ]
    order = Ordered.by(table.records, keys, engine, limit=limit)
    answers = []
    for choice in order.choices():
        values = {record[column] for record in choice} - {None}
        answers.append([(record[shown], record["s"]) for record in table.records if record[column] in values])
    return _bag_gold(chance.choice(forms), table, answers, [(record[shown], record["s"]) for record in table.records])


def _numbered(chance: random.Random, table: Table, engine: str) -> Gold:
    """The first rows by ROW_NUMBER, of all or of each group, or by DISTINCT ON; as they are, or summed up."""
    name = chance.choice(["a", "b"])
    key = Key(text=name, value=_value(name), descending=chance.random() < 0.5)
    part = chance.choice([None, "s", "g"])
    most = chance.choice([1, 1, 2])
    over = (f"PARTITION BY {part} " if part else "") + f"ORDER BY {key.written}"
    test = "rn = 1" if most == 1 else f"rn <= {most}"
    shown = chance.choice(["id", "b"])
    inner = f"SELECT id, b, s, ROW_NUMBER() OVER ({over}) AS rn FROM t"
    summed = chance.random() < 0.3
    made = "COUNT(*), MAX(b), COUNT(DISTINCT s)" if summed else f"{shown}, s"
    forms = [
        f"SELECT {made} FROM ({inner}) AS q WHERE {test}",
        f"WITH q AS ({inner}) SELECT {made} FROM q WHERE {test}",
    ]
    if part and most == 1 and engine in ("duckdb", "postgres"):
        distinct = f"SELECT DISTINCT ON ({part}) * FROM t ORDER BY {part}, {key.written}"
        forms += [f"SELECT {made} FROM ({distinct}) AS q", f"WITH q AS ({distinct}) SELECT {made} FROM q"]
    query = chance.choice(forms)
    parts: dict[Any, list[Record]] = {}
    for record in table.records:
        parts.setdefault(record[part] if part else None, []).append(record)
    ways = [list(Ordered.by(records, [key], engine, limit=most).choices()) for records in parts.values()]
    sets = [[record for taken in way for record in taken] for way in product(*ways)]
    answers = [[(record[shown], record["s"]) for record in chosen] for chosen in sets]
    pool = [(record[shown], record["s"]) for record in table.records]
    if summed:
        answers = [[(len(one), max(r["b"] for r in one), len({r["s"] for r in one}))] for one in sets]
        pool = [(1, 301, 1), (2, 303, 1), *(row for answer in answers for row in answer)]
    return _bag_gold(query, table, answers, pool)


def predictions(chance: random.Random, gold: Gold, count: int) -> Iterator[list[Row]]:
    for number in range(count):
        rows = gold.some(chance)
        if number % 3 == 1 and rows:
            chance.shuffle(rows)
            if chance.random() < 0.5:
                rows[0] = chance.choice(gold.pool)
        elif number % 3 == 2:
            rows = [chance.choice(gold.pool) for _ in range(gold.size)]
        yield rows
