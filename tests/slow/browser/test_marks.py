"""The page colours and marks a query as the terminal does."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from assay.sql.display import differing, tokens_of

if TYPE_CHECKING:
    from browser_window import Look

PAIRS = [
    ("SELECT n FROM t WHERE a = 1 AND b = 2", "SELECT n, m FROM t WHERE b = 3 AND a = 1 ORDER BY n DESC LIMIT 1"),
    ("(SELECT a FROM t) UNION ALL (SELECT b FROM u)", "(SELECT a FROM t) UNION (SELECT c FROM u)"),
    ("SELECT a FROM t WHERE b IS NOT DISTINCT FROM 1", "WITH q AS (SELECT a FROM t) SELECT q.a FROM q"),
    ('SELECT "Order" FROM t WHERE c = "France"', "select `order` from t where c = 'France' -- same"),
    ("SELECT a /* open", "SELECT 'open"),
    ("SELECT x.order, t.group AS limit FROM t WITH TIES", "SELECT 1e5, .5, 2.5 FROM t;"),
    ("SELECT a FROM t WHERE a BETWEEN 1 AND 2 AND b != 3", "SELECT a FROM t WHERE b <> 3 AND a BETWEEN 1 AND 4"),
    ("SELECT a FROM t GROUP BY a, b HAVING a > 1 OR b > 2", "SELECT a FROM t GROUP BY b, a HAVING b > 2 OR a > 1"),
    ("", "SELECT"),
    ("je ne sais pas ))", "((((SELECT) é @x #y $1 FROM FROM"),
]
_TEXT = (
    "SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT AND OR NOT BETWEEN CASE WHEN END UNION ALL DISTINCT AS WITH a b t.c "
    "'x' \"x\" `y` 1 2.5 ( ) ( ) , , = <> != < ; /*c*/ --d\n IN EXISTS x"
)
_WORDS = _TEXT.split(" ")
_SCRIPT = """([gold, predicted, alike]) => {
  const found = sql.compare(gold, predicted, alike);
  const said = (one) => [one.text, one.kind, one.clause || "", one.differs];
  return [found.gold.map(said), found.predicted.map(said)];
}"""


def _by_python(gold: str, predicted: str, alike: list[str]) -> list[list[list[object]]]:
    sides = tokens_of(gold), tokens_of(predicted)
    marks = differing(*sides, alike)
    return [
        [[token.text, token.kind, token.clause, token.place in marked] for token in side]
        for side, marked in zip(sides, marks, strict=True)
    ]


def _compare(look: Look, report: Path, pairs: list[tuple[str, str, list[str]]]) -> None:
    page = look(report).page
    for gold, predicted, alike in pairs:
        found = page.evaluate(_SCRIPT, [gold, predicted, alike])
        assert found == _by_python(gold, predicted, alike), (gold, predicted, alike)


@pytest.mark.parametrize("alike", [[], ["FROM"], ["SELECT", "FROM", "WHERE", "GROUP BY"]])
def test_pairs_are_marked_alike(alike: list[str], look: Look, report: Path) -> None:
    _compare(look, report, [(gold, predicted, alike) for gold, predicted in PAIRS])


def test_any_texts_are_marked_alike(look: Look, report: Path) -> None:
    draw = random.Random(5)
    texts = [" ".join(draw.choices(_WORDS, k=draw.randrange(1, 30))) for _ in range(300)]
    _compare(look, report, [(one, draw.choice(texts), draw.choice([[], ["SELECT"]])) for one in texts])


def test_real_predictions_are_marked_alike(look: Look, report: Path, shared_data: Path) -> None:
    folder = shared_data / "spider-dev"
    lines = (folder / "predictions" / "din-sql-gpt4.jsonl").read_text("utf-8").splitlines()
    answers = {one["id"]: one["predicted_sql"] for one in map(json.loads, lines)}
    cases = map(json.loads, (folder / "dev.jsonl").read_text("utf-8").splitlines())
    _compare(look, report, [(case["gold_sql"], answers[case["id"]] or "", []) for case in cases])
