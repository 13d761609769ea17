"""The assertion: silent where the prediction is right, a whole report where it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import assay


@pytest.fixture
def database(make_sqlite: Callable[..., Path]) -> str:
    path = make_sqlite("CREATE TABLE t (a TEXT, n INTEGER); INSERT INTO t VALUES ('x', 1), ('', NULL), ('NULL', 0);")
    return f"sqlite:///{path}"


def test_a_right_answer_gives_its_verdict(database: str) -> None:
    verdict = assay.assert_equivalent("SELECT n, a FROM t", "SELECT a, n FROM t", database=database)
    assert verdict.outcome == "correct"
    assert assay.assert_equivalent("SELECT 1", ["SELECT 2", "SELECT 1"], database=database).gold_index == 1


def test_a_wrong_answer_shows_reason_queries_results_and_difference(database: str) -> None:
    with pytest.raises(AssertionError) as caught:
        assay.assert_equivalent("SELECT a, n FROM t WHERE n > 0", "SELECT a, n FROM t", database=database)
    text = str(caught.value)
    assert text.splitlines()[0].startswith("the prediction returns 1 row, the gold query 3")
    for part in (
        "near miss: missing rows",
        "    SELECT a, n FROM t WHERE n > 0",
        "gold returns 3 rows:\n    a      | n\n    x      | 1\n    ''     | NULL\n    'NULL' | 0\n",
        "the prediction returns 1 row:\n    a | n\n    x | 1\n",
        "    - ''     | NULL\n",
        "      x      | 1\n",
    ):
        assert part in text, text


def test_long_results_and_cells_are_cut_and_say_so(database: str) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, {} FROM n"
    gold, predicted = numbers.format("printf('%0500d', i)"), numbers.format("printf('%0500d', i + 1)")
    with pytest.raises(AssertionError) as caught:
        assay.assert_equivalent(predicted, gold, database=database)
    text = str(caught.value)
    assert "… and 895 more rows" in text
    assert "… +460" in text
    assert max(map(len, text.splitlines())) < 200
    assert len(text) < 6000


def test_a_query_that_fails_is_wrong_and_shows_what_gold_gives(database: str) -> None:
    with pytest.raises(AssertionError, match=r"the prediction fails: .*no such column: m") as caught:
        assay.assert_equivalent("SELECT m FROM t", "SELECT n FROM t", database=database)
    assert "gold returns 3 rows:" in str(caught.value)
    assert "difference" not in str(caught.value)


def test_a_broken_gold_is_no_assertion_error(database: str, tmp_path: Path) -> None:
    said = r"for a reason outside the prediction: the gold query gives no answer: "
    with pytest.raises(assay.UnscoredError, match=said):
        assay.assert_equivalent("SELECT n FROM t", "SELECT m FROM t", database=database)
    assert not issubclass(assay.UnscoredError, AssertionError)
    with pytest.raises(assay.DatabaseError, match=r"gone\.sqlite"):
        assay.assert_equivalent("SELECT 1", "SELECT 1", database=f"sqlite:///{tmp_path}/gone.sqlite")


def test_columns_and_order_count_where_asked(database: str) -> None:
    with pytest.raises(AssertionError):
        assay.assert_equivalent("SELECT n, a FROM t", "SELECT a, n FROM t", database=database, columns="strict")
    backwards = "SELECT n FROM t ORDER BY n DESC"
    assay.assert_equivalent(backwards, "SELECT n FROM t", database=database)
    with pytest.raises(AssertionError):
        assay.assert_equivalent(backwards, "SELECT n FROM t", database=database, ordered=True)


@pytest.mark.parametrize(
    ("predicted", "gold", "raised"),
    [
        ("SELECT 2", "SELECT 1", AssertionError),
        ("SELECT nothing FROM t", "SELECT n FROM t", AssertionError),
        ("SELECT n FROM t", "SELECT nothing FROM t", assay.UnscoredError),
    ],
)
def test_pytest_shows_the_line_of_the_test_and_no_frame_of_assay(
    predicted: str, gold: str, raised: type[Exception], database: str
) -> None:
    with pytest.raises(raised) as caught:
        assay.assert_equivalent(predicted, gold, database=database)
    assert [entry.path.name for entry in caught.traceback.filter(caught)] == [Path(__file__).name]
