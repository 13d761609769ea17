"""What SQLite reads from any row: each small table is stored in every order, and whatever changes must be flagged."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest

from assay import check
from assay.comparison.answer import Answer
from assay.comparison.compare import compare
from assay.model import ComparisonOptions, Result, Verdict
from assay.scoring.queries import chance_match as luck
from assay.scoring.queries.chance_match import ChanceMatchDetector
from assay.scoring.queries.gold_answers import GoldAnswer
from assay.sql.probes.any_row import AnyRow, any_rows
from assay.sql.probes.row_choices import RowChoice, reading, readings
from many_cases import each

Rows = list[tuple[object, ...]]
Verdicts = Callable[[Path, str, str], Verdict]

CHOOSING = [
    "SELECT g, a, COUNT(*) FROM t GROUP BY g",
    "SELECT a || '-' || g, SUM(x) FROM t GROUP BY 2 - 1 + g",
    "SELECT a FROM t GROUP BY g HAVING COUNT(*) > 1",
    "SELECT COUNT(*) FROM t GROUP BY g HAVING a = 'p'",
    "SELECT a, COUNT(*) FROM t",
    "SELECT a, MAX(x) FROM t",
    "SELECT a, TOTAL(x) FROM t",
    "SELECT a, SUM(x) + TOTAL(g) FROM t GROUP BY g",
    "SELECT (SELECT x + COUNT(x) FILTER (WHERE g > 0) OVER () FROM t)",
    "SELECT g, a, MIN(x) FROM t GROUP BY g",
    "SELECT u.a, COUNT(*) FROM t JOIN t AS u ON u.g >= t.g GROUP BY t.a",
    "SELECT n FROM (SELECT a AS n, COUNT(*) FROM t GROUP BY g) AS grouped WHERE n > 'p'",
    "WITH grouped AS (SELECT g AS k, a AS n FROM t GROUP BY g) SELECT COUNT(*) FROM grouped WHERE n = 'p'",
    "SELECT * FROM t GROUP BY g",
    "SELECT COUNT(*) FROM t WHERE x = (SELECT x FROM t WHERE g = 1)",
    "SELECT a FROM t WHERE x >= (SELECT u.x FROM t AS u WHERE u.g = t.g)",
    "SELECT (SELECT a FROM t WHERE g = 2), COUNT(*) FROM t",
    "SELECT COUNT(*) FROM t WHERE (a, x) = (SELECT a, x FROM t)",
    "SELECT COUNT(*) FROM t WHERE (SELECT a FROM t WHERE x = 7) IN ('p', 'q')",
    "SELECT CASE WHEN x > (SELECT x FROM t WHERE a = 'q') THEN 1 ELSE 0 END FROM t",
    "SELECT COUNT(*) FROM t WHERE a = (SELECT a FROM t ORDER BY g)",
    "SELECT g FROM t EXCEPT SELECT (SELECT g FROM t WHERE x = 5)",
]
ORDERED = [
    "SELECT GROUP_CONCAT(a) FROM t",
    "SELECT g, GROUP_CONCAT(DISTINCT a) FROM t GROUP BY g",
    "SELECT g, COUNT(*) FILTER (WHERE x > 5), GROUP_CONCAT(a, '-') FROM t GROUP BY g",
    "SELECT JSON_GROUP_ARRAY(a) FROM t",
    "SELECT JSON_GROUP_OBJECT(a, x) FROM t",
    "SELECT COUNT(*) FROM t WHERE (SELECT GROUP_CONCAT(a, '') FROM t) LIKE 'p%'",
    "WITH u AS (SELECT a, x FROM t) SELECT GROUP_CONCAT(u.a || t.g) FROM u JOIN t ON t.x = u.x",
    "SELECT FIRST_VALUE(a) OVER (ORDER BY g) FROM t",
    "SELECT g, LAST_VALUE(a) OVER (PARTITION BY g) FROM t",
    "SELECT NTH_VALUE(a, 2) OVER (ORDER BY g) FROM t",
    "SELECT LAG(a) OVER (PARTITION BY g ORDER BY g) FROM t",
    "SELECT g, LEAD(a) OVER (ORDER BY x) FROM t",
    "SELECT a, ROW_NUMBER() OVER (ORDER BY g) FROM t",
    "SELECT a, NTILE(2) OVER (ORDER BY g) FROM t",
    "SELECT a, SUM(x) OVER (ORDER BY g ROWS UNBOUNDED PRECEDING) FROM t",
    "SELECT a, COUNT(*) OVER w FROM t WINDOW w AS (ORDER BY g ROWS 1 PRECEDING)",
]
"""A function shows the order of rows."""
SCALARS = ["(SELECT x FROM t WHERE g = 1)", "((SELECT MAX(x, 4) FROM t))"]
ENCLOSING = [
    "SELECT {}",
    "SELECT ABS({})",
    "SELECT ABS( /* of */ {})",
    "SELECT ROUND({}, 1)",
    "SELECT COALESCE({}, 0)",
    "SELECT IFNULL({}, 0)",
    "SELECT NULLIF({}, 6)",
    "SELECT CAST({} AS REAL)",
    "SELECT CAST({} AS TEXT) || '!'",
    "SELECT SUBSTR({}, 1)",
    "SELECT HEX({})",
    "SELECT IIF({} > 6, 'more', 'less')",
    "SELECT MAX({}, 1)",
    "SELECT PRINTF('%d', {})",
    "SELECT DATE({})",
    "SELECT -{}",
    "SELECT {} COLLATE NOCASE",
    "SELECT CASE {} WHEN 7 THEN 'more' END",
    "SELECT SUM({}) FROM t",
    "SELECT COUNT(*) FILTER (WHERE {} > 6) FROM t",
    "SELECT UPPER(TRIM(CAST({} AS TEXT)))",
    "SELECT value FROM JSON_EACH(JSON_ARRAY({}))",
    "SELECT COUNT(*) FROM t WHERE x = ABS({})",
    "SELECT COUNT(*) FROM t WHERE x IN ({})",
    "SELECT COUNT(*) FROM t WHERE x NOT IN (1, {})",
    "SELECT COUNT(*) FROM t WHERE x BETWEEN ({}) AND 6",
    "SELECT COUNT(*) FROM t AS u JOIN t ON u.x = ABS({})",
    "SELECT g FROM t GROUP BY g HAVING COUNT(*) > ABS({}) - 6",
    "SELECT COUNT(*) FROM (SELECT 1 FROM t WHERE x > ABS({}) - 1)",
    "WITH r AS (SELECT ABS({}) AS x) SELECT x FROM r",
]
AROUND = [place.format(scalar) for place in ENCLOSING for scalar in SCALARS]
SURE = [
    "SELECT ABS((SELECT MAX(x) FROM t))",
    "SELECT ABS((SELECT TOTAL(x) FROM t)), CAST((SELECT COUNT(*) FROM t) AS TEXT)",
    "SELECT COUNT(*) FROM (SELECT ABS(x) FROM t)",
    "SELECT g, COUNT(*) FROM t GROUP BY g",
    "SELECT g, 2 * g, MAX(x) FROM t GROUP BY g",
    "SELECT a, MAX(x) FROM t GROUP BY a",
    "SELECT g + 0 AS h, COUNT(*) FROM t GROUP BY h ORDER BY h",
    "SELECT COUNT(*) FROM t WHERE x = (SELECT MAX(x) FROM t)",
    "SELECT COUNT(*) FROM t WHERE x IN (SELECT x FROM t WHERE g = 1)",
    "SELECT (SELECT COUNT(*) FROM t AS u WHERE u.g = t.g) FROM t",
    "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT a FROM t WHERE g = 1)",
    "SELECT GROUP_CONCAT(a) FROM (SELECT a FROM t ORDER BY a)",
    "WITH u AS (SELECT a FROM t ORDER BY a LIMIT 9) SELECT JSON_GROUP_ARRAY(a) FROM u",
    "SELECT g, GROUP_CONCAT(g) FROM t GROUP BY g",
    "SELECT LENGTH(GROUP_CONCAT(a)) FROM t",
    "SELECT FIRST_VALUE(x) OVER (ORDER BY x) FROM t",
    "SELECT a, LAG(g) OVER (PARTITION BY g ORDER BY x) IS NULL AND g < 0 FROM t",
    "SELECT a, SUM(x) OVER (ORDER BY g) FROM t",
    "SELECT a, RANK() OVER (ORDER BY g), COUNT(*) OVER () FROM t",
]


def _tables(chance: random.Random) -> Rows:
    return [(chance.choice([1, 1, 2]), chance.choice("pqr"), chance.choice([5, 7])) for _ in range(4)]


def _stored(path: Path, rows: Rows) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t(g INTEGER, a TEXT, x INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    return path


def _results(rows: Rows, query: str) -> dict[str, Rows]:
    """The different results of a query, the rows stored in every order."""
    found: dict[str, Rows] = {}
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t(g INTEGER, a TEXT, x INTEGER)")
        for order in permutations(rows):
            connection.execute("DELETE FROM t")
            connection.executemany("INSERT INTO t VALUES (?, ?, ?)", order)
            result = connection.execute(query).fetchall()
            found[repr(sorted(result, key=repr))] = result
    return found


def _written(rows: Rows, columns: int) -> str:
    if not rows:
        return f"SELECT {', '.join(['1'] * columns)} WHERE 0"
    return " UNION ALL ".join(
        f"SELECT {', '.join('NULL' if cell is None else repr(cell) for cell in row)}" for row in rows
    )


@each("query", [*CHOOSING, *ORDERED, *AROUND, *SURE])
def test_whatever_the_order_of_stored_rows_changes_is_flagged(query: str, verdict: Verdicts, tmp_path: Path) -> None:
    chance = random.Random(query)
    changing = 0
    for number in range(6):
        rows = _tables(chance)
        path = _stored(tmp_path / f"{number}.db", rows)
        with closing(sqlite3.connect(path)) as connection:
            cursor = connection.execute(query)
            own = _written(cursor.fetchall(), len(cursor.description))
        changes = len(_results(rows, query)) > 1
        changing += changes
        as_gold, as_prediction = verdict(path, query, own), verdict(path, own, query)
        assert (as_gold.outcome, as_prediction.outcome) == ("correct", "correct")
        if changes:
            assert "ambiguous_gold" in as_gold.flags, rows
            assert as_gold.ambiguity is not None
            assert "storage_order" in as_prediction.flags, rows
        if query in SURE:
            assert not changes
            assert not {"ambiguous_gold", "storage_order"} & (as_gold.flags | as_prediction.flags)
        if number >= 2 and (changing or query in SURE):
            break
    assert changing or query in SURE


@pytest.mark.parametrize(
    "query",
    [
        "SELECT g FROM t GROUP BY g ORDER BY v",
        "SELECT g FROM t GROUP BY g ORDER BY v DESC, g",
        "SELECT g FROM t GROUP BY g ORDER BY v * 10 + COUNT(*)",
        "SELECT g FROM t GROUP BY g ORDER BY (SELECT u.v FROM t AS u WHERE u.g = t.g)",
        "WITH c AS (SELECT g, v FROM t) SELECT g FROM c GROUP BY g ORDER BY v",
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_choice_of_order_counts_if_gold_is_ordered(
    query: str, turned: bool, make_sqlite: Callable[..., Path]
) -> None:
    rows = [("x", 1), ("x", 5), ("y", 3), ("y", 2)]
    values = ", ".join(map(repr, rows[::-1] if turned else rows))
    url = f"sqlite:///{make_sqlite(f'CREATE TABLE t(g, v); INSERT INTO t VALUES {values}').as_posix()}"
    for gold in (
        "SELECT 'x' AS g UNION ALL SELECT 'y' ORDER BY 1",
        "SELECT 'x' AS g UNION ALL SELECT 'y' ORDER BY 1 DESC",
    ):
        assert "storage_order" in check(query, gold, database=url).flags
        verdict = check(gold, query, database=url)
        assert (verdict.outcome, "ambiguous_gold" in verdict.flags) == ("correct", True)
    assert "storage_order" not in check(query, "SELECT 'y' UNION ALL SELECT 'x'", database=url).flags


@pytest.fixture
def three_rows(make_sqlite: Callable[..., Path]) -> str:
    path = make_sqlite("CREATE TABLE t(a, x); INSERT INTO t VALUES ('p', 7), ('q', 7), ('r', 5)")
    return f"sqlite:///{path.as_posix()}"


@each(
    ("prediction", "gold", "outcome", "flags"),
    [
        # Every row that gold may read is right, and no other; also where the prediction is gold in its own words.
        ("SELECT 'p', 7", "SELECT a, MAX(x) FROM t", "correct", {"ambiguous_gold"}),
        ("SELECT 'q', 7", "SELECT a, MAX(x) FROM t", "correct", {"ambiguous_gold"}),
        ("SELECT 'r', 7", "SELECT a, MAX(x) FROM t", "incorrect", {"ambiguous_gold"}),
        ("SELECT a, COUNT(*) FROM t", "SELECT a, COUNT(*) FROM t", "correct", {"ambiguous_gold"}),
        # An incorrect prediction that another row would make right.
        ("SELECT COUNT(*) FROM t WHERE a = (SELECT a FROM t)", "SELECT 0", "incorrect", set()),
        ("SELECT a, COUNT(*) FROM t", "SELECT 'q', 3", "incorrect", {"storage_order"}),
    ],
)
def test_one_row_of_many_is_flagged(three_rows: str, prediction: str, gold: str, outcome: str, flags: set[str]) -> None:
    verdict = check(prediction, gold, database=three_rows)
    assert (verdict.outcome, verdict.flags) == (outcome, flags)
    if prediction == gold:
        said = "the gold query reads one of several rows, as they happen to be stored"
        assert verdict.ambiguity.text.startswith(said)


COMBINING = [
    "SELECT g, a FROM t GROUP BY g",
    "SELECT a FROM t GROUP BY g",
    "SELECT * FROM t GROUP BY g",
    "SELECT g, a, x, COUNT(*) FROM t GROUP BY g",
    "SELECT g, a, MAX(x) FROM t GROUP BY g",
    "SELECT g, a FROM t GROUP BY g ORDER BY g",
    "SELECT a, MIN(x), MAX(x) FROM t GROUP BY g",
    "SELECT COUNT(*) FROM (SELECT a FROM t GROUP BY g) WHERE a = 'p'",
    "WITH r AS (SELECT g, a FROM t GROUP BY g) SELECT GROUP_CONCAT(a || g, '') FROM r",
    "SELECT g FROM t GROUP BY g HAVING a <> 'q'",
    "SELECT (SELECT a FROM t WHERE x = 5), ABS((SELECT x FROM t WHERE a = 'p'))",
    "SELECT a FROM t GROUP BY CASE a WHEN 'p' THEN 'P' ELSE a END COLLATE NOCASE",
    "SELECT (SELECT a FROM t GROUP BY g)",
    "SELECT COUNT(*) FROM t WHERE x = (SELECT x FROM t) AND a = UPPER((SELECT a FROM t WHERE g = 1))",
]


@each("query", COMBINING)
def test_every_combination_of_rows_is_right(query: str, verdict: Verdicts, tmp_path: Path) -> None:
    chance = random.Random(query)
    for number in range(4):
        rows = [(g, chance.choice("pqr"), chance.choice([5, 7])) for g in (1, 1, 2, 2, 2)]
        path = _stored(tmp_path / f"{number}.db", rows)
        results = list(_results(rows, query).values())
        width = max((len(row) for result in results for row in result), default=1)
        for result in results:
            told = verdict(path, query, _written(result, width))
            assert told.outcome == "correct", (rows, result)
            assert ("ambiguous_gold" in told.flags) >= (len(results) > 1)


@pytest.mark.parametrize(
    ("groups", "rows", "complete"), [(2, 3, True), (4, 4, True), (1, 256, True), (5, 4, False), (9, 2, False)]
)
def test_untried_combinations_are_unknown(
    groups: int, rows: int, complete: bool, make_sqlite: Callable[..., Path]
) -> None:
    values = ", ".join(f"({group}, 'n{group}-{row}')" for group in range(groups) for row in range(rows))
    path = make_sqlite(f"CREATE TABLE t(g, a); INSERT INTO t VALUES {values}")
    url = f"sqlite:///{path.as_posix()}"
    gold = "SELECT g, a FROM t GROUP BY g"
    other = " UNION ALL ".join(f"SELECT {group}, 'n{group}-{(group + 1) % rows}'" for group in range(groups))
    verdict = check(other, gold, database=url)
    assert verdict.ambiguity.complete == complete
    assert verdict.outcome == "correct" or not complete
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO t VALUES (?, 'alone')", [(100 + number,) for number in range(600)])
    many = check(f"{other} UNION ALL SELECT g, a FROM t WHERE a = 'alone'", gold, database=url)
    assert many.ambiguity == verdict.ambiguity
    assert many.outcome == verdict.outcome
    mixed = " UNION ALL ".join(f"SELECT {group}, 'n0-0'" for group in range(groups)) + " UNION ALL SELECT 0, 'n0-1'"
    assert check(mixed, gold, database=url).outcome == "incorrect"


class _AnyDialect:
    dialect = "sqlite"


@pytest.mark.parametrize("wrong", [None, "other", 1.0])
def test_right_results_of_other_rows_are_compared_with_one_answer(
    wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gold and prediction both read any of 2^8 combinations of rows, which would be 65,536 comparisons."""
    choices = [[(number, name) for number, name in enumerate(names)] for names in product("ab", repeat=8)]
    gold = [Result(columns=("n", "name"), rows=tuple(rows)) for rows in choices]
    predicted = [Result(columns=("name", "n"), rows=tuple((name, n) for n, name in reversed(rows))) for rows in choices]
    if wrong is not None:
        predicted.append(Result(columns=("name", "n"), rows=(*predicted[0].rows[1:], (wrong, 0))))
    known = GoldAnswer(answer=Answer.bag(gold[0]), others=tuple(map(Answer.bag, gold[1:])))
    options = ComparisonOptions(near_misses=False, sample_rows=0)
    monkeypatch.setattr(luck, "other_results", lambda *_: iter(predicted))
    compared = []
    real = GoldAnswer.compare

    def counted(self: GoldAnswer, other: Result, *given: Any, **named: Any) -> Any:
        compared.append(other)
        return real(self, other, *given, **named)

    monkeypatch.setattr(GoldAnswer, "compare", counted)
    comparison = compare(predicted[0], known.answer, options)
    assert comparison.equal
    detector = ChanceMatchDetector(
        probes=_AnyDialect(),  # type: ignore[arg-type]
        known=known,
        comparison=comparison,
        options=options,
        query="SELECT 1",
        result=predicted[0],
    )
    assert detector.reads_other_rows() == (wrong is not None)
    assert compared == predicted[256:]


@each(
    "query",
    [
        "SELECT g, a FROM t GROUP BY g",
        "SELECT g, a, 'assay label 0' FROM t GROUP BY g HAVING COUNT(*) > 1",
        "SELECT * FROM (SELECT g, a FROM t GROUP BY g) x JOIN (SELECT g, b, MAX(c) FROM u GROUP BY g) y ON x.g = y.g",
        "SELECT g, a, (SELECT b FROM u) FROM t GROUP BY g",
    ],
)
def test_queries_that_read_chosen_rows_are_written_alike_one_by_one_and_together(query: str) -> None:
    """Whatever the labels hold: quotes, what stands for a label while the query is written, nothing at all."""
    labels = ("it's", "'", "''", '"', "assay label 0", "assay label 1", "a\nb", "", "\\", "{0}", "%s")
    places = list(any_rows(query, "sqlite"))
    assert places
    combinations = [
        [RowChoice(place, labels=tuple(labels[number : number + width]), columns=("g", "a")) for place in places]
        for number in range(len(labels))
        for width in (1, 3)
    ]
    assert list(readings(combinations)) == [reading(choices) for choices in combinations]


@each("seed", range(4))
def test_results_put_together_are_those_executed(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    path = tmp_path / "groups.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (g, a, b, n)")
        rows = [
            (g, chance.choice("xyz"), chance.choice([1, None]), chance.randint(0, 3)) for g in range(4) for _ in "12"
        ]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    url = f"sqlite:///{path.as_posix()}"
    golds = [
        "SELECT g, a FROM t GROUP BY g",
        "SELECT a, COUNT(*) FROM t GROUP BY g",
        "SELECT a, b, MAX(n) FROM t GROUP BY g",
        "SELECT g, UPPER(a) || b FROM t WHERE n > 0 GROUP BY g",
        "SELECT * FROM t GROUP BY g",
    ]
    predictions = [*golds, "SELECT g, MIN(a) FROM t GROUP BY g", "SELECT g, MAX(a), MAX(b), MAX(n) FROM t GROUP BY g"]
    pairs = [(predicted, gold) for gold in golds for predicted in predictions]
    together = [check(predicted, gold, database=url) for predicted, gold in pairs]
    monkeypatch.setattr(AnyRow, "gives_row_per_group", property(lambda _: False))
    executed = [check(predicted, gold, database=url) for predicted, gold in pairs]
    assert [(one.outcome, one.ambiguity, one.flags) for one in together] == [
        (one.outcome, one.ambiguity, one.flags) for one in executed
    ]
