"""Random queries over the schema of `proof_pairs`, in pairs that share most of their choices.

A query follows from a list of choices. Its neighbour follows from the same list with one choice changed, so that many
pairs are equal, many differ little, and a rule whose side condition fails is met sooner or later.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

LINKS = [
    ("player", "team_id", "team", "id"),
    ("player", "mentor_id", "player", "id"),
    ("game", "home_id", "team", "id"),
    ("game", "away_id", "team", "id"),
    ("part", "player_id", "player", "id"),
    ("part", "game_id", "game", "id"),
    ("player", "age", "game", "crowd"),
    ("player", "id", "player", "id"),
    ("player", "nick", "player", "name"),
]
NUMBERS = {
    "team": ["id", "budget"],
    "player": ["id", "team_id", "age", "goals", "mentor_id"],
    "game": ["id", "home_id", "away_id", "crowd", "season"],
    "part": ["player_id", "game_id", "minutes"],
}


class Choices:
    """Takes each choice from a list, and what is not in it from a seeded draw."""

    def __init__(self, taken: Sequence[int], seed: int) -> None:
        self._draw = random.Random(seed)
        self._given = list(taken)
        self.taken: list[int] = []

    def pick(self, options: Sequence[str]) -> str:
        return options[self.number(len(options))]

    def number(self, count: int) -> int:
        place = len(self.taken)
        raw = self._given[place] if place < len(self._given) else self._draw.randrange(1000)
        self.taken.append(raw)
        return raw % count


def random_query(choices: Choices) -> str:
    shape = choices.number(10)
    if shape == 0:
        table = choices.pick(list(NUMBERS))
        column = choices.pick(NUMBERS[table])
        first, op = _one(choices, table, column), choices.pick(["UNION", "UNION ALL", "EXCEPT", "INTERSECT"])
        return f"{first} {op} {_one(choices, table, column)}"
    own, link, other, at = LINKS[choices.number(len(LINKS))]
    joined = choices.number(4) > 0
    kind = choices.pick(["JOIN", "LEFT JOIN", "JOIN"])
    from_ = f"{own} a {kind} {other} b ON a.{link} = b.{at}" if joined else f"{own} a"
    columns = [f"a.{name}" for name in NUMBERS[own]] + ([f"b.{name}" for name in NUMBERS[other]] if joined else [])
    conditions = [_condition(choices, columns) for _ in range(choices.number(3))]
    where = f" WHERE {choices.pick([' AND ', ' OR ']).join(conditions)}" if conditions else ""
    if shape <= 4:
        keys = [choices.pick(columns) for _ in range(1 + choices.number(2))]
        aggregate = choices.pick([
            "COUNT(*)", f"COUNT({choices.pick(columns)})", f"COUNT(DISTINCT {choices.pick(columns)})",
            f"MAX({choices.pick(columns)})", f"SUM({choices.pick(columns)})", "COUNT(a.rowid)"[:8],
        ][:5])  # fmt: skip
        having = choices.pick(["", "", f" HAVING COUNT(*) > {choices.number(3)}", f" HAVING {keys[0]} > 1"])
        outputs = ", ".join([*keys[: 1 + choices.number(2)], *([aggregate] if choices.number(3) else [])])
        if shape == 4:
            return f"SELECT {aggregate} FROM {from_}{where}"
        distinct = choices.pick(["", "", "DISTINCT "])
        return f"SELECT {distinct}{outputs} FROM {from_}{where} GROUP BY {', '.join(keys)}{having}"
    outputs = ", ".join(choices.pick(columns) for _ in range(1 + choices.number(2)))
    query = f"SELECT {choices.pick(['', '', 'DISTINCT '])}{outputs} FROM {from_}{where}"
    if shape == 5:
        first = outputs.split(", ", maxsplit=1)[0].split(".")[1]
        return (
            f"SELECT d.{first} FROM ({query}) AS d WHERE d.{first} {choices.pick(['>', '<=', '='])} {choices.number(4)}"
        )
    return query


def _one(choices: Choices, table: str, column: str) -> str:
    columns = [f"a.{name}" for name in NUMBERS[table]]
    where = choices.pick(["", f" WHERE {_condition(choices, columns)}"])
    return f"SELECT a.{column} FROM {table} a{where}"


def _condition(choices: Choices, columns: Sequence[str]) -> str:
    column, value = choices.pick(columns), choices.number(4)
    other, kind = choices.pick(columns), choices.number(12)
    inner = choices.pick(["player", "game"])
    target = choices.pick(NUMBERS[inner])
    extra = choices.pick(["", f" WHERE s.{choices.pick(NUMBERS[inner])} > {choices.number(3)}"])
    return [
        f"{column} = {value}",
        f"{column} > {value}",
        f"NOT {column} <= {value}",
        f"{column} BETWEEN {value} AND {value + 1}",
        f"{column} IN ({value}, {value + 1})",
        f"{column} IS NULL",
        f"{column} IS NOT NULL",
        f"{column} = {other}",
        f"{column} IN (SELECT s.{target} FROM {inner} s{extra})",
        f"{column} NOT IN (SELECT s.{target} FROM {inner} s{extra})",
        f"EXISTS (SELECT 1 FROM {inner} s WHERE s.{target} = {column})",
        f"{column} = (SELECT MAX(s.{target}) FROM {inner} s{extra})",
    ][kind]


def random_pair(seed: int) -> tuple[str, str]:
    """Two queries that differ in at most a few choices."""
    first = Choices((), seed)
    one = random_query(first)
    draw = random.Random(-seed - 1)
    taken = list(first.taken)
    for _ in range(draw.choice([1, 1, 2, 3])):
        taken[draw.randrange(len(taken))] = draw.randrange(1000)
    return one, random_query(Choices(taken, seed))
