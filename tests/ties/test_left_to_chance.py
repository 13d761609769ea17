"""A flag is on each match that another choice of rows would end, and on no other."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import islice, permutations
from pathlib import Path
from typing import Any

import pytest
from chance_queries import TABLE, ChanceQuery, given, queries, table, variant
from tied_queries import ENGINES, Gold, Table, golds, literal, predictions

from assay.model import Verdict

CHANCE = {"tie_by_chance", "order_by_chance", "storage_order"}
PAIRS = 12
Row = tuple[Any, ...]
Verdicts = Callable[[Path, str, str], Verdict]


def _accepts(results: Sequence[Sequence[Row]], predicted: Sequence[Row], *, ordered: bool) -> bool:
    """Whether one of the results that gold may return is the prediction's, its columns in any order."""
    if not predicted:
        return any(not rows for rows in results)
    for mapping in permutations(range(len(predicted[0]))):
        moved = [tuple(row[place] for place in mapping) for row in predicted]
        if any(list(rows) == moved if ordered else Counter(rows) == Counter(moved) for rows in results):
            return True
    return False


@pytest.mark.parametrize("seed", [*(pytest.param(seed, marks=pytest.mark.journey) for seed in range(5)), *range(5, 12)])
def test_whatever_a_choice_of_rows_changes_is_flagged(seed: int, verdict: Verdicts, tmp_path: Path) -> None:
    chance = random.Random(seed)
    rows = table(chance)
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(TABLE)
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    for prediction in islice(queries(chance), PAIRS):
        with closing(sqlite3.connect(path)) as connection:
            own = connection.execute(prediction.text).fetchall()
        for ordered in (False, True) if own else ():
            gold = given(own, ordered=ordered)
            _holds(verdict, path, rows, (gold, prediction), [own], chance)
    for gold in islice(queries(chance), PAIRS):
        predictions = [variant(gold, chance), variant(gold, chance), next(queries(chance))]
        right = gold.results(rows, chance)
        for prediction in predictions:
            _holds(verdict, path, rows, (gold, prediction), right, chance)


def _holds(
    score: Verdicts,
    path: Path,
    rows: Sequence[Row],
    pair: tuple[ChanceQuery, ChanceQuery],
    right: Sequence[Sequence[Row]],
    chance: random.Random,
) -> None:
    gold, prediction = pair
    possible = prediction.results(rows, chance)
    verdict = score(path, gold.text, prediction.text)
    with closing(sqlite3.connect(path)) as connection:
        cursor, golds = connection.execute(prediction.text), connection.execute(gold.text)
        own = cursor.fetchall()
        alike = len(cursor.description) == len(golds.description)
    accepted = alike and _accepts(right, own, ordered=gold.is_ordered)
    said = f"{rows}\ngold       {gold.text}\nprediction {prediction.text}\n{own} {verdict}"
    assert (verdict.outcome == "correct") == accepted, said
    bags = {repr(sorted(map(repr, result))) for result in right}
    if not gold.is_ordered or "LIMIT" in gold.text:
        assert ("ambiguous_gold" in verdict.flags) >= (len(bags) > 1), said
        if "ambiguous_gold" in verdict.flags:
            assert len(right) > 1, said
    if accepted and gold.text.strip() != prediction.text.strip():
        wrong = [result for result in possible if not _accepts(right, result, ordered=gold.is_ordered)]
        assert bool(verdict.flags & CHANCE) == bool(wrong), f"{said}\nwrong {wrong[:3]}\nright {right[:3]}"


GOLDS = 60
ANSWERS = 6
FILES = [
    pytest.param(engine, seed, marks=[pytest.mark.journey] * (not seed))
    for engine in ("sqlite", "duckdb")
    for seed in range(3)
]
SERVERS = [pytest.param(engine, 0, marks=pytest.mark.server) for engine in ("postgres", "mariadb")]


@pytest.mark.parametrize(("engine", "seed"), [*FILES, *SERVERS])
def test_every_answer_that_gold_allows_is_right_and_no_other(
    verdict: Callable[..., Verdict], database: Callable[[str, Sequence[str]], str], engine: str, seed: int
) -> None:
    assert engine in ENGINES
    chance = random.Random(f"{engine} {seed}")
    table = Table.of(chance, 7)
    url = database({"mariadb": "mysql"}.get(engine, engine), table.statements())
    for gold in golds(chance, table, engine, GOLDS):
        for rows in filter(None, predictions(chance, gold, ANSWERS)):
            found = verdict(url, gold.query, f"VALUES {', '.join(map(literal, rows))}", columns="strict")
            said = f"{gold.query}\n{rows}\n{found}"
            assert found.outcome != "unscored", said
            assert "strict_order" not in found.flags, said
            _agrees(gold, rows, found, said)


def _agrees(gold: Gold, rows: list[Any], verdict: Verdict, said: str) -> None:
    known = verdict.ambiguity is None or verdict.ambiguity.complete
    if verdict.outcome == "correct" or known:
        assert (verdict.outcome == "correct") == gold.allows(rows), said
    assert ("ambiguous_gold" in verdict.flags) == (verdict.ambiguity is not None) == (gold.choices > 1), said
    if verdict.ambiguity is not None and known:
        assert verdict.ambiguity.choices == gold.choices, said
