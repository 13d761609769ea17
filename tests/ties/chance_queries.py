"""Random queries that may leave their results to chance, with every result that each may return.

The results are found by executing a query, not by reading it: the rows of its table are stored in every order, and
each place where rows may tie is marked, so that a further key can break its ties in every way.
"""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import permutations
from typing import Any

Row = tuple[Any, ...]
COLUMNS = ("id", "k", "v", "s")
TABLE = "CREATE TABLE t(id INTEGER, k INTEGER, v INTEGER, s TEXT)"
_BROKEN = 100
_MARK = re.compile(r"(!?)@([\w.]+)")


@dataclass(frozen=True, slots=True)
class ChanceQuery:
    """A query; ``marked`` has ``@column`` where a key that breaks ties may be added, ``!@column`` for an ORDER BY."""

    marked: str

    @property
    def text(self) -> str:
        return _MARK.sub("", self.marked)

    @property
    def is_ordered(self) -> bool:
        """Whether its outermost level orders its rows."""
        outermost = self.text
        while outermost != (outermost := re.sub(r"\([^()]*\)", "", outermost)):
            pass
        return "ORDER BY" in outermost

    def broken(self, rows: Sequence[Row], chance: random.Random) -> str:
        def key(mark: re.Match[str]) -> str:
            values = list(dict.fromkeys(row[COLUMNS.index(mark[2].split(".")[-1])] for row in rows))
            chance.shuffle(values)
            cases = " ".join(
                f"WHEN {mark[2]} IS NOT DISTINCT FROM {literal(value)} THEN {place}"
                for place, value in enumerate(values)
            )
            return f"{' ORDER BY' if mark[1] else ','} CASE {cases} END"

        return _MARK.sub(key, self.marked)

    def results(self, rows: Sequence[Row], chance: random.Random) -> list[list[Row]]:
        """The different results that it may return, in every order that it may return them in."""
        found: dict[str, list[Row]] = {}
        orders = list(permutations(rows))
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(TABLE)
            for order in orders:
                connection.execute("DELETE FROM t")
                connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", order)
                for query in (self.text, *(self.broken(rows, chance) for _ in range(_BROKEN // len(orders) + 1))):
                    result = connection.execute(query).fetchall()
                    for rows_in_order in (result,) if self.is_ordered else (result, result[::-1]):
                        found[repr(rows_in_order)] = rows_in_order
        return list(found.values())


def literal(value: object) -> str:
    return "NULL" if value is None else repr(value)


def table(chance: random.Random) -> list[Row]:
    ids = chance.sample(range(1, 9), chance.choice([2, 3, 4, 4]))
    return [
        (number, chance.choice([0, 1, 1, 2, None]), chance.choice([1, 2, 3]), chance.choice("ppqw")) for number in ids
    ]


def queries(chance: random.Random) -> Iterator[ChanceQuery]:
    """Queries without end, of every kind that an engine may choose rows in."""

    def one_of(*texts: str) -> str:
        return chance.choice(texts)

    while True:
        where = one_of("", "", "", " WHERE k > 0", " WHERE s = 'p'", " WHERE k > 99")
        count, turn = chance.choice([1, 1, 2, 3]), one_of("", " DESC")
        offset = one_of("", "", " OFFSET 1", " OFFSET 2")
        cut = f"LIMIT {count}{offset}"
        column, key = one_of("v", "s", "id"), one_of("k", "v", "s", "k, s", "k, id", "id")
        order = f" ORDER BY {key}{turn}@id"
        inner = f"SELECT id FROM t{where}{one_of(order, order, '!@id')} {cut}"
        outer_order = one_of("", "", " ORDER BY k@id", " ORDER BY id DESC", f" ORDER BY v@id {cut}")
        hidden = one_of("k", "v", "s", "id", "-k", "k, s")
        yield ChanceQuery(
            one_of(
                f"SELECT {column} FROM t{where}{order} {cut}",
                f"SELECT {column} FROM t{where}{order} LIMIT -1{offset}",
                f"SELECT {column} FROM t{where}!@id {cut}",
                f"SELECT {column} FROM t{where}{order}",
                f"SELECT {column} FROM t{where}",
                f"SELECT {column}, k FROM t WHERE id IN ({inner}){outer_order}",
                f"SELECT {column} FROM t WHERE id IN ({inner}){outer_order}",
                f"SELECT {column} FROM t WHERE id NOT IN ({inner}){outer_order}",
                f"SELECT COUNT(*), SUM(v) FROM t WHERE id IN ({inner})",
                f"SELECT {column} FROM t WHERE k = (SELECT k FROM t{where}{order} LIMIT 1{offset}){outer_order}",
                f"SELECT {column} FROM t WHERE v > 1 AND id = (SELECT id FROM t{where}{order} LIMIT 1{offset})",
                f"SELECT {column}, (SELECT v FROM t{where}{order} LIMIT 1{offset}) FROM t",
                f"SELECT {column} FROM (SELECT * FROM t{where}{order} {cut}) AS d{outer_order}",
                f"SELECT s, COUNT(*) FROM (SELECT * FROM t{where}{order} {cut}) AS d GROUP BY s",
                f"WITH c AS (SELECT * FROM t{where}{order} {cut}) SELECT {column} FROM c{outer_order}",
                f"WITH c AS (SELECT * FROM t{where}!@id {cut}) SELECT COUNT(*) FROM c JOIN t ON c.v = t.v",
                f"SELECT * FROM (SELECT {column} FROM t{where}{order} {cut}) UNION SELECT {column} FROM t WHERE k = 1",
                f"SELECT v FROM t AS o WHERE id = (SELECT id FROM t AS i WHERE i.s = o.s ORDER BY k{turn}@i.id "
                "LIMIT 1)",
                f"SELECT {column} FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY k{turn}@id) AS n FROM t{where}) AS d "
                f"WHERE n <= {count}",
                f"SELECT {column} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY s ORDER BY k{turn}@id) AS n "
                f"FROM t) AS d WHERE n = {count}",
                f"SELECT DISTINCT {column} AS c FROM t{where} ORDER BY c{turn} {cut}",
                f"SELECT DISTINCT v FROM t{where} ORDER BY {hidden}{turn}@v {cut}",
                f"SELECT DISTINCT v FROM t{where} ORDER BY {hidden}{turn}@v",
                f"SELECT DISTINCT s, v % 2 FROM t{where} ORDER BY {hidden}{turn}@s {cut}",
                f"SELECT COUNT(*) FROM t WHERE v IN (SELECT DISTINCT v FROM t{where} ORDER BY {hidden}{turn}@v {cut})",
                f"SELECT s FROM t{where} GROUP BY s ORDER BY COUNT(*){turn}@s {cut}",
                f"SELECT s, MAX(k) FROM t{where} GROUP BY s ORDER BY MAX(k){turn}@s{one_of('', ' ' + cut)}",
                f"SELECT {column} FROM t WHERE s = (SELECT s FROM t{where} GROUP BY s ORDER BY COUNT(*){turn}@s "
                "LIMIT 1)",
                f"SELECT s, v FROM t{where} GROUP BY s",
                f"SELECT v, MAX(k) FROM t{where}",
                f"SELECT {column} FROM t WHERE v = (SELECT v FROM t{where})",
            )
        )


def given(rows: Sequence[Row], *, ordered: bool) -> ChanceQuery:
    parts = " UNION ALL ".join(
        f"SELECT {place} AS place, {', '.join(f'{literal(cell)} AS c{number}' for number, cell in enumerate(row))}"
        for place, row in enumerate(rows)
    )
    columns = ", ".join(f"c{number}" for number, _ in enumerate(rows[0]))
    return ChanceQuery(f"SELECT {columns} FROM ({parts}) AS g{' ORDER BY place' if ordered else ''}")


def variant(query: ChanceQuery, chance: random.Random) -> ChanceQuery:
    text = query.marked
    changes = [
        text.replace("ORDER BY k", "ORDER BY v", 1),
        text.replace("ORDER BY s", "ORDER BY k", 1),
        text.replace(" DESC", "", 1),
        re.sub(r"ORDER BY k(?=[@ ])", "ORDER BY k, id", text, count=1),
        re.sub(r"LIMIT (\d) OFFSET \d", r"LIMIT \1", text, count=1),
        re.sub(r"LIMIT \d", "LIMIT 2", text, count=1),
        text.replace("k > 0", "k >= 0"),
        f"{text} ",
    ]
    return ChanceQuery(chance.choice([changed for changed in changes if changed != text]))
