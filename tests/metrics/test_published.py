"""The published metrics give the scripts' numbers: worked examples, quirks, and their authors' own values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import sqlparse
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay import Run, evaluate, registry
from assay.metrics.bird import soft_f1
from assay.metrics.spider import _without_distinct, results_equal
from assay.model import Case, CaseOptions, Cell, Execution, Failure, Prediction, Result, Score
from assay.ports import Executions
from many_cases import each

GUIDE_GOLD, GUIDE_PREDICTED = [(1, 2, 3), (4, 5, 6)], [(1, 2, 7), (4, 8, 6)]
Rows = Sequence[tuple[Cell, ...]]


def _execution(rows: Rows, width: int = 0) -> Execution:
    result = Result.of(rows, columns=[f"c{i}" for i in range(len(rows[0]) if rows else width)])
    return Execution(query="", status="rows" if rows else "empty", result=result, row_count=len(rows))


def _failed(kind: str = "error") -> Execution:
    failure = Failure(stage="execute", kind=kind, blame="system", message="m")  # type: ignore[arg-type]
    return Execution(query="", status="error", failure=failure)


def _score(metric: str, gold: Rows, predicted: Rows | Execution | None, **options: object) -> Score:
    case = Case(id="1", question="", golds=("g",), options=CaseOptions(**options))  # type: ignore[arg-type]
    execution = predicted if predicted is None or isinstance(predicted, Execution) else _execution(predicted)
    executions = Executions(golds=(_execution(gold),), predicted=execution)
    return registry.metric(metric).score(case, Prediction(case_id="1", query="p"), executions, None)


def _value(metric: str, gold: Rows, predicted: Rows | Execution | None, **options: object) -> float | None:
    return _score(metric, gold, predicted, **options).value


def test_the_guides_worked_examples() -> None:
    assert _value("percent_subset", GUIDE_GOLD, GUIDE_PREDICTED) == pytest.approx(2 / 3)
    assert _value("bird_soft_f1", GUIDE_GOLD, GUIDE_PREDICTED) == pytest.approx(2 / 3)
    assert _value("percent_overlap", GUIDE_GOLD, GUIDE_PREDICTED) == pytest.approx(1 / 2)  # cells as bags: 4 of 8


@each(
    ("gold", "predicted", "share"),
    [
        ([], [], 1.0),
        ([(1, 2)], [(1, 2), (3, 4)], 0.5),
        ([(1, 2), (3, 4)], [(1, 2)], 0.5),
        ([(1, 2)], [(2, 1, 9, 8)], 1.0),
        ([(1, 1)], [(1, 5)], 1.0),
        ([(0.3,)], [(0.1 + 0.2,)], 1.0),
        ([(1,)], [(1.0,)], 1.0),
        ([(None,)], [(0,)], 0.0),
    ],
)
def test_percent_subset_by_row_index(gold: Rows, predicted: Rows, share: float) -> None:
    assert _value("percent_subset", gold, predicted) == pytest.approx(share)


@each(
    ("gold", "predicted", "share"),
    [
        ([], [], 1.0),
        ([(1, 2)], [(2,), (1,)], 1.0),
        ([(1, 1)], [(1, 2)], 1 / 3),
        ([(1, 2)], [(3, 4)], 0.0),
        ([(0.3, "x")], [("x", 0.1 + 0.2)], 1.0),
        ([(1,)], [], 0.0),
    ],
)
def test_percent_overlap_of_bags_of_cells(gold: Rows, predicted: Rows, share: float) -> None:
    assert _value("percent_overlap", gold, predicted) == pytest.approx(share)


@each(
    ("gold", "predicted", "same"),
    [
        ([(1,), (1,)], [(1,)], 1.0),
        ([(1,), (2,)], [(2,), (1,)], 1.0),
        ([(1, "a")], [("a", 1)], 0.0),
        ([], [], 1.0),
        ([], [(None,)], 0.0),
        ([(1,)], [(1.0,)], 1.0),
        ([("1",)], [(1,)], 0.0),
    ],
)
def test_bird_ex_compares_sets_of_rows(gold: Rows, predicted: Rows, same: float) -> None:
    assert _value("bird_ex", gold, predicted) == same


@each(
    ("gold", "predicted", "f1"),
    [
        ([], [], 1.0),
        ([], [(1,)], 0.0),
        ([(1,)], [], 0.0),
        ([(1,), (2,), (3,)], [(3,), (2,), (1,)], 1 / 3),
        ([(1,), (2,), (3,), (4,)], [(2,), (3,), (4,)], 0.0),
        ([(1, 2, 3)], [(1, 1, 1)], 0.75),
        ([(1,), (1,)], [(1,)], 1.0),
        ([(None,)], [(None,)], 1.0),
    ],
)
def test_bird_soft_f1_with_its_known_flaws(gold: Rows, predicted: Rows, f1: float) -> None:
    assert _value("bird_soft_f1", gold, predicted) == pytest.approx(f1)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=5))
def test_soft_f1_of_equal_results_is_one(rows: list[tuple[int, int]]) -> None:
    assert soft_f1(rows, rows) == 1.0


@each(
    ("gold", "predicted", "ordered", "same"),
    [
        ([(1, 2)], [(2, 1)], False, True),
        ([(1, 1.5)], [(1.0, 1.5)], False, False),
        ([(2, 1.5)], [(2.0, 1.5)], False, True),
        ([(1,)], [(1.0,)], False, True),
        ([(1,), (1,)], [(1,)], False, False),
        ([(1,), (2,)], [(2,), (1,)], False, True),
        ([(1,), (2,)], [(2,), (1,)], True, False),
        ([(1, "a"), (2, "b")], [("a", 1), ("b", 2)], True, True),
        ([(1, "a"), (2, "b")], [("b", 1), ("a", 2)], False, False),
        ([], [], True, True),
        ([], [(1,)], False, False),
        ([([1, 2],)], [(5,)], False, False),
        ([(5,)], [([1, 2],)], False, False),
        ([([1, {"a": [2]}],)], [([1, {"a": [2]}],)], True, True),
        ([([1, {"a": [2]}], 1)], [(1, [1, {"a": [2]}])], False, True),
        ([([1, {"a": [2]}], 1)], [(1, [1, {"a": [3]}])], False, False),
        ([({1: [2]},), ([None],)], [([None],), ({1: [2]},)], False, True),
        ([({1: [2]},), ([None],)], [([None],), ([[1, [2]]],)], False, False),
        ([([1],)], [((1,),)], False, False),
    ],
)
def test_spiders_comparison_with_its_quirks(gold: Rows, predicted: Rows, ordered: bool, same: bool) -> None:
    assert results_equal(gold, predicted, ordered=ordered) is same


_WORDS = ("distinct", "DISTINCT", "Distinct", "SELECT", "a", "1", "1.5", "1e5", "é", "begin", "end", "distinct_a")
_BLANKS = (" ", "\n", "\t", "\r", "\x1c")
_QUOTED = ("'", "''", '"', "`", "[", "]", "\\", "'distinct'", '"a distinct b"')
_SIGNS = ("--", "/*", "*/", *"-/*#;(),.=<>!|+$@?%")
_PIECES = st.sampled_from([*_WORDS, *_BLANKS, *_QUOTED, *_SIGNS])


@given(st.lists(_PIECES, max_size=9).map("".join))
@example("select distinct 'distinct', \"distinct\", [distinct] from t -- distinct")
@example("SELECT count(DISTINCT a) FROM t; SELECT b")
@example("/* distinct */ select case when a then distinct end; x")
@example("begin; select 1; end")
@example("SELECT a -- distinct")
@example("SELECT '--', distinct a")
@example("SELECT 1e5distinct a")
@pytest.mark.parametrize("ending", ["", " distinct b", ";"])
def test_distinct_is_dropped_as_sqlparse_drops_it_from_any_text(ending: str, query: str) -> None:
    expected = None
    if statements := sqlparse.parse(query + ending):
        expected = "".join(token.value for token in statements[0].flatten() if token.value.lower() != "distinct")
    assert _without_distinct(query + ending) == expected


@each(
    ("gold", "predicted", "same"),
    [
        ([(1, "a")], [("a", 1, "more")], 1.0),
        ([(1,), (2,)], [(2,), (1,)], 1.0),
        ([(1, 1)], [(1,)], 1.0),
        ([(0.001,)], [(0.009,)], 1.0),
        ([(None,)], [(0,)], 1.0),
        ([(1,)], [(1.02,)], 0.0),
        ([(1, "a"), (2, "b")], [(1, "b"), (2, "a")], 1.0),
        ([("x",)], [("y",)], 0.0),
        ([("x",), ("y",)], [("y",), ("x",)], 1.0),
        ([("x",), ("x",)], [("x",), ("y",)], 0.0),
        ([(1,), ("1",), ("a",)], [("1",), ("a",), (1,)], 1.0),
        ([(1,), ("1",), ("a",)], [("1",), ("1",), ("a",)], 0.0),
        ([(1,), (1,)], [(1,), (1.005,)], 1.0),
        ([(1,), (2,)], [(1,), (1,)], 0.0),
        ([(1,)], [], 0.0),
    ],
)
def test_spider2_matches_columns_one_by_one(gold: Rows, predicted: Rows, same: float) -> None:
    assert _value("spider2_lite", gold, predicted) == same


def test_spider2_looks_at_condition_columns_alone_and_at_order_where_told() -> None:
    assert _value("spider2_lite", [(1, "a")], [(1, "b")], condition_columns=((0,),)) == 1.0
    assert _value("spider2_lite", [(1, "a")], [(1, "b")], condition_columns=((1,),)) == 0.0
    assert _value("spider2_lite", [(1,), (2,)], [(2,), (1,)], ignore_order=False) == 0.0


@each("metric", [name for name in registry.default_metrics() if name != "spider_ex"])
def test_a_failing_answer_scores_zero_and_an_absent_one_too(metric: str) -> None:
    assert _value(metric, [(1,)], _failed()) == 0.0
    assert _value(metric, [(1,)], None) == 0.0


def test_spider_scores_what_its_own_queries_return_and_an_absent_answer_zero() -> None:
    metric = registry.metric("spider_ex")
    case = Case(id="1", question="", golds=("SELECT DISTINCT a FROM t",))
    prediction = Prediction(case_id="1", query="SELECT value FROM t WHERE a > = 1")
    gold, predicted = metric.requests(case, prediction)
    assert (gold.query, predicted.query) == ("SELECT  a FROM t", "SELECT 1 FROM t WHERE a >= 1")
    requested = {gold: (_execution([(1,)]), _execution([(2,)])), predicted: (_execution([(1,)]), _execution([(2,)]))}
    executions = Executions(golds=(_execution([(1,)]),), predicted=_failed(), requested=requested)
    assert metric.score(case, prediction, executions, None).value == 1.0
    requested[predicted] = (_execution([(1,)]), _failed())
    assert metric.score(case, prediction, executions, None).value == 0.0
    requested[gold] = (_execution([(1,)]), _failed())
    assert metric.score(case, prediction, executions, None).value is None
    absent = Executions(golds=(_execution([(1,)]),))
    assert metric.score(case, Prediction(case_id="1"), absent, None).value == 0.0


@each("metric", registry.default_metrics())
def test_a_failing_gold_gives_no_score_but_a_reason(metric: str) -> None:
    executions = Executions(golds=(_failed(),), predicted=_execution([(1,)]))
    score = registry.metric(metric).score(
        Case(id="1", question="", golds=("g",)), Prediction(case_id="1", query="p"), executions, None
    )
    assert score.value is None
    assert score.failure is not None


def test_a_text_without_a_statement_is_an_empty_result_to_bird() -> None:
    assert _value("bird_ex", [], _failed("no_query")) == 1.0
    assert _value("bird_ex", [(1,)], _failed("no_query")) == 0.0
    assert _value("same_row_count", [], _failed("no_query")) == 0.0


def _ran(query: str, rows: Rows) -> Execution:
    return replace(_execution(rows), query=query)


@each(
    ("query", "value"),
    [
        ("SELECT 1;", 1.0),
        ("SELECT 1; -- done", 1.0),
        ("SELECT 1; /* done */\n", 1.0),
        ("SELECT 1; /* done", 1.0),
        ("; ;SELECT 1", 1.0),
        ("-- a;\n/* ; */ SELECT 1 -- ; ;", 1.0),
        ("SELECT ';;', \";;\", [;;], `;;`, 'it''s;;'", 1.0),
        ("SELECT 1;; ", 0.0),
        ("SELECT 1 ; -- a\n;", 0.0),
        ("SELECT 1; /* a */ ;", 0.0),
        ("SELECT 1;\v", 0.0),
        ("SELECT ';';;", 0.0),
    ],
)
def test_birds_driver_refuses_what_follows_the_first_semicolon(query: str, value: float) -> None:
    for metric in ("bird_ex", "bird_soft_f1"):
        assert _value(metric, [(1,)], _ran(query, [(1,)])) == value
    assert _value("same_row_count", [(1,)], _ran(query, [(1,)])) == 1.0


def test_a_gold_that_birds_driver_refuses_makes_the_answer_wrong_as_it_does_there() -> None:
    case = Case(id="1", question="", golds=("SELECT 1;;",))
    prediction = Prediction(case_id="1", query="p")
    executions = Executions(golds=(_ran("SELECT 1;;", [(1,)]),), predicted=_execution([(1,)]))
    assert registry.metric("bird_ex").score(case, prediction, executions, None).value == 0.0
    undecodable = Executions(
        golds=(replace(_execution([("\udcff", 1)]), undecodable_text=True),), predicted=_execution([(1,)])
    )
    assert registry.metric("bird_soft_f1").score(case, prediction, undecodable, None).value == 0.0


def test_a_begin_of_a_transaction_is_an_empty_result_to_the_scripts() -> None:
    begin = replace(_failed("refused"), query="-- go\nBEGIN;")
    assert _value("bird_ex", [], begin) == 1.0
    assert _value("bird_ex", [(1,)], begin) == 0.0
    assert _value("bird_ex", [], replace(begin, query="BEGIN; SELECT 1")) == 0.0
    assert _value("bird_ex", [], replace(begin, query="PRAGMA query_only = OFF")) == 0.0


def test_the_best_gold_counts() -> None:
    executions = Executions(golds=(_failed(), _execution([(2,)]), _execution([(1,)])), predicted=_execution([(1,)]))
    case = Case(id="1", question="", golds=("a", "b", "c"))
    assert registry.metric("bird_ex").score(case, Prediction(case_id="1", query="p"), executions, None).value == 1.0


@pytest.fixture(scope="module", params=["din-sql-gpt4", "graphix-t5", "gpt4-few-shot"])
def spider_run(request: pytest.FixtureRequest, shared_data: Path) -> tuple[Run, dict[str, dict[str, float]]]:
    data = shared_data / "spider-dev"
    run = evaluate(
        data / "dev.jsonl",
        data / "predictions" / f"{request.param}.jsonl",
        databases=f"sqlite:///{data.as_posix()}/database/{{db_id}}/{{db_id}}.sqlite",
        metrics=["spider_ex", "spider_em", "bird_ex", "bird_soft_f1"],
    )
    lines = (data / "expected" / f"{request.param}.jsonl").read_text().splitlines()
    return run, {str(line["id"]): line for line in map(json.loads, lines)}


@pytest.mark.parametrize(
    ("metric", "published"),
    [("spider_ex", "spider_ex"), ("spider_em", "spider_em"), ("bird_ex", "bird_ex"), ("bird_soft_f1", "bird_f1")],
)
def test_every_question_of_real_systems_scores_as_the_official_scripts_say(
    spider_run: tuple[Run, dict[str, dict[str, float]]], metric: str, published: str
) -> None:
    run, expected = spider_run
    assert len(run.evidence) == len(expected) == 1034
    differing = [
        (evidence.case.id, score.value, expected[evidence.case.id][published])
        for evidence in run.evidence
        if (score := evidence.score(metric)) is not None
        and (score.value is None or abs(score.value - expected[evidence.case.id][published]) > 1e-9)
    ]
    assert differing == []
    assert all(evidence.score(metric) is not None for evidence in run.evidence)
