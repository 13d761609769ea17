"""The numbers of a run: denominators, order, intervals, and who is named where."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from assay.errors import UsageError
from assay.model import (
    Aggregates,
    Case,
    Comparison,
    Evidence,
    Execution,
    Failure,
    NearMiss,
    Prediction,
    Score,
    TokenUsage,
    UsageTotals,
    Verdict,
)
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.aggregate.totals import aggregate
from assay.stats import bounded_mean_interval, mean_interval, wilson_interval
from running import Named

MATCH, EX, F1 = Named("match"), Named("bird_ex"), Named("bird_soft_f1", binary=False)
GOLD_ERROR = Failure(stage="execute", kind="error", blame="gold", message="no such table: t")


def case(
    name: str,
    *scores: float | None,
    difficulty: str | None = None,
    database: str | None = None,
    tags: Sequence[str] = (),
    flags: Sequence[str] = (),
    failure: Failure | None = None,
    prediction_failure: Failure | None = None,
    gold_failures: Sequence[Failure | None] = (),
    near: Sequence[str] = (),
    cause: str | None = None,
) -> Evidence:
    metrics = (MATCH, EX, F1)
    outcome = {None: "unscored", 1: "correct", 0: "incorrect"}[scores[0] if scores else None]
    return Evidence(
        case=Case(id=name, question="?", difficulty=difficulty, database=database, tags=tuple(tags)),
        prediction=Prediction(case_id=name, query="SELECT 1", failure=prediction_failure),
        verdict=Verdict(outcome=outcome, reason="", flags=frozenset(flags), failure=failure),  # type: ignore[arg-type]
        scores=tuple(Score(metric=m.name, value=v) for m, v in zip(metrics, scores, strict=False)),
        comparison=Comparison(equal=False, near_misses=tuple(NearMiss(kind=kind, detail="") for kind in near)),  # type: ignore[arg-type]
        gold_executions=tuple(
            Execution(query="g", status="error" if failed else "rows", failure=failed) for failed in gold_failures
        ),
        cause=cause,
    )


def totals(evidence: Sequence[Evidence], metrics: Sequence[Named] = (MATCH,)) -> Aggregates:
    return aggregate(summaries_of(evidence), metrics)


def test_an_unscored_case_is_in_no_denominator_but_is_counted() -> None:
    numbers = totals([case("a", 1), case("b", 0), case("c", None), case("d")])
    rate = numbers.overall.rate("match")
    assert (rate.n, rate.numerator, rate.unscored, rate.value) == (2, 1, 2, 0.5)
    assert (rate.low, rate.high) == wilson_interval(1, 2)
    assert (numbers.cases, numbers.correct, numbers.incorrect, numbers.unscored) == (4, 1, 1, 2)


def test_an_empty_denominator_has_no_value_and_no_interval() -> None:
    for evidence in ([], [case("a", None, failure=GOLD_ERROR)]):
        rate = totals(evidence).overall.rate("match")
        assert (rate.n, rate.numerator, rate.value, rate.low, rate.high) == (0, 0, None, None, None)


def test_groups_are_in_order_of_difficulty_then_name_then_none() -> None:
    words = ["zesty", None, "extra", "hard", "Easy", "medium", "alpha"]
    numbers = totals([case(str(i), 1, difficulty=word) for i, word in enumerate(words)])
    names = ["Easy", "medium", "hard", "extra", "alpha", "zesty", None]
    assert [group.name for group in numbers.by_difficulty] == names
    birds = totals([case(w, 1, difficulty=w) for w in ("challenging", "simple", "moderate")])
    assert [group.name for group in birds.by_difficulty] == ["simple", "moderate", "challenging"]


def test_databases_and_tags_are_in_order_of_name_even_where_they_sound_like_difficulties() -> None:
    evidence = [case("1", 1, database="hard", tags=("b", "a", "a")), case("2", 0, database="alpha", tags=("easy",))]
    numbers = totals(evidence)
    assert [group.name for group in numbers.by_database] == ["alpha", "hard"]
    assert [(group.name, group.cases) for group in numbers.by_tag] == [("a", 1), ("b", 1), ("easy", 1)]
    plain = totals([case("1", 1)])
    assert (plain.by_difficulty, plain.by_database, plain.by_tag) == ((), (), ())


def test_disagreements_name_the_cases_on_each_side_and_leave_unscored_ones_out() -> None:
    evidence = [case("a", 1, 1, 0.5), case("b", 0, 1, 0.5), case("c", 1, 0), case("d", 0, 0), case("e", None, 1)]
    (found,) = totals(evidence, [MATCH, EX, F1]).disagreements
    assert (found.first, found.second, found.both, found.neither) == ("match", "bird_ex", 1, 1)
    assert (found.only_first, found.only_second) == (("c",), ("b",))
    assert totals([case("a", 1, 1), case("b", 0, 0)], [MATCH, EX]).disagreements == ()


def test_means_get_the_interval_that_fits_their_range() -> None:
    evidence = [case(str(i), 1, 1, value) for i, value in enumerate((0.2, 0.4, 1.0, 0.9))]
    rate = totals(evidence, [F1]).overall.rate("bird_soft_f1")
    assert rate.value == pytest.approx(0.625)
    assert (rate.low, rate.high) == bounded_mean_interval((0.2, 0.4, 1.0, 0.9))
    evidence.append(case("reward", 1, 1, 1.25))
    rate = totals(evidence, [F1]).overall.rate("bird_soft_f1")
    assert (rate.low, rate.high) == mean_interval((0.2, 0.4, 1.0, 0.9, 1.25))


def test_failures_are_counted_once_a_case_by_blame_and_kind() -> None:
    timeout = Failure(stage="execute", kind="timeout", blame="system", message="30 s")
    evidence = [
        case("a", None, failure=GOLD_ERROR, gold_failures=[GOLD_ERROR, GOLD_ERROR]),
        case("b", 0, failure=timeout),
        case("c", 1, gold_failures=[None, GOLD_ERROR]),
    ]
    numbers = totals(evidence)
    assert [(count.name, count.count, count.case_ids) for count in numbers.failures] == [
        ("gold: error", 2, ("a", "c")),
        ("system: timeout", 1, ("b",)),
    ]


def test_an_unanswered_case_is_incorrect_and_counted_as_unanswered() -> None:
    silence = Failure(stage="load", kind="unanswered", blame="system", message="no prediction has this id")
    numbers = totals([case("a", 0, prediction_failure=silence, failure=silence), case("b", 1)])
    assert (numbers.unanswered, numbers.incorrect) == (1, 1)
    assert [count.name for count in numbers.failures] == ["system: unanswered"]


def test_flags_near_misses_and_causes_name_their_cases_most_frequent_first() -> None:
    evidence = [
        case("a", 1, flags=["vacuous"], near=["order_only"]),
        case("b", 0, flags=["vacuous", "timeout"], near=["order_only", "type_only", "type_only"], cause="join"),
        case("c", 0, near=["type_only"]),
    ]
    numbers = totals(evidence)
    assert [(c.name, c.case_ids) for c in numbers.flags] == [("vacuous", ("a", "b")), ("timeout", ("b",))]
    assert [(c.name, c.case_ids) for c in numbers.near_misses] == [("type_only", ("b", "c")), ("order_only", ("b",))]
    assert [(c.name, c.count) for c in numbers.causes] == [("join", 1)]


@pytest.mark.parametrize("value", [0.5, 2.0])
def test_a_yes_no_metric_that_gives_something_else_is_named(value: float) -> None:
    broken = replace(case("x7", 1), scores=(Score(metric="match", value=value),))
    with pytest.raises(UsageError, match=r"'match'.*'x7'"):
        totals([broken])


def test_times_are_summed_up_over_the_cases_that_have_them() -> None:
    def timed(name: str, difficulty: str, *timings: tuple[str, float]) -> Evidence:
        item = case(name, 1, difficulty=difficulty)
        return replace(item, prediction=Prediction(case_id=name, query="SELECT 1", timings_s=timings))

    numbers = totals(
        [
            timed("a", "easy", ("llm_time", 9.0), ("total_execution_time", 1.0)),
            timed("b", "easy", ("Total Execution Time", 4.0)),
            timed("c", "easy"),
            timed("d", "hard", ("total_execution_time", 2.0)),
            timed("e", "extra", ("total_execution_time", float("nan"))),
        ]
    )
    easy, hard, extra = numbers.by_difficulty
    assert (easy.answer_time.n, easy.answer_time.mean_s) == (2, 2.5)
    assert easy.answer_time.std_dev_s == pytest.approx(4.5**0.5)
    assert (hard.answer_time.n, hard.answer_time.std_dev_s) == (1, None)
    assert extra.answer_time is None
    assert numbers.overall.answer_time.n == 3


def test_tokens_and_cost_are_summed_over_the_answers_that_say_them() -> None:
    def answer(name: str, tokens: TokenUsage | None = None, cost_usd: float | None = None) -> Evidence:
        item = case(name, 1)
        return replace(item, prediction=replace(item.prediction, tokens=tokens, cost_usd=cost_usd))

    assert totals([answer("a"), answer("b")]).usage is None
    numbers = totals(
        [
            answer("a", TokenUsage(input=10, output=2), 0.25),
            answer("b", TokenUsage(input=5, total=9)),
            answer("c"),
            answer("d", cost_usd=0.5),
        ]
    )
    assert numbers.usage == UsageTotals(
        answers=3,
        input=15,
        output=2,
        total=21,
        cost_usd=0.75,
        answers_with_cost=2,
        answers_with_tokens=2,
        answers_with_input=2,
        answers_with_output=1,
        answers_with_total=2,
    )
