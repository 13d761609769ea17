"""What is demanded of a run, and whether it is so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.errors import InputError, UsageError
from assay.model import (
    Case,
    CaseChange,
    CaseSide,
    DiffSettings,
    Evidence,
    Failure,
    GateResult,
    Gates,
    Matching,
    MetricDiff,
    Prediction,
    ReviewTotals,
    Run,
    RunDiff,
    RunHead,
    Score,
    Verdict,
)
from assay.registry import registered
from assay.runs.aggregate.metric_infos import info_of
from assay.runs.gates.checks import check_cases, check_gates, check_metrics
from assay.runs.gates.results import evaluate_gates
from assay.scoring.selections.metrics import selection_metrics
from many_cases import each
from running import Named, run_of


def answer(case_id: str, value: float | None, *, tags: Sequence[str] = (), repeat: int = 0, **more: float) -> Evidence:
    outcome = "unscored" if value is None else "correct" if value == 1.0 else "incorrect"
    failure = Failure(stage="execute", kind="error", blame="gold", message="no such table") if value is None else None
    return Evidence(
        case=Case(id=case_id, question=f"{case_id}?", tags=tuple(tags), difficulty="easy", database="shop"),
        prediction=Prediction(case_id=case_id, query="SELECT 1", repeat=repeat),
        verdict=Verdict(outcome=outcome, reason="gold is broken" if value is None else outcome, failure=failure),
        scores=(
            Score(metric="match", value=value, failure=failure),
            *(Score(metric=name, value=score) for name, score in more.items()),
        ),
    )


def right_and_wrong(right: int, wrong: int, unscored: int = 0) -> Run:
    values = [1.0] * right + [0.0] * wrong + [None] * unscored
    return run_of(*(answer(f"q{place}", value) for place, value in enumerate(values)))


def checked(run: Run, diff: RunDiff | None = None, baseline: Run | None = None, **gates: Any) -> GateResult:
    """The result of the only gate."""
    (result,) = evaluate_gates(Gates(**gates), run, diff=diff, baseline=baseline)
    return result


def compared(difference: float, *, n: int = 100, p_value: float | None = 0.5, metric: str = "match") -> MetricDiff:
    return MetricDiff(
        metric=metric,
        binary=True,
        n=n,
        unscored=0,
        baseline=0.8 if n else None,
        candidate=0.8 + difference if n else None,
        difference=difference if n else None,
        low=difference - 0.05 if n else None,
        high=difference + 0.05 if n else None,
        gained=1,
        lost=2,
        p_value=p_value,
    )


def diff_of(run: Run, *metrics: MetricDiff, changes: Sequence[CaseChange] = ()) -> RunDiff:
    head = RunHead(
        label="a", folder=None, settings=run.settings, provenance=run.provenance, cases=1, repeats=1, headline=None
    )
    nothing: dict[str, Any] = dict.fromkeys(("notes", "only_baseline_metrics", "only_candidate_metrics", "groups"), ())
    return RunDiff(
        baseline=head,
        candidate=replace(head, label="b"),
        settings=DiffSettings(),
        headline_metric="match",
        matching=Matching(paired=max(one.n for one in metrics)),
        metrics=metrics,
        changes=tuple(changes),
        **nothing,
    )


def change(kind: str, case_id: str, old_id: str | None = None) -> CaseChange:
    side = CaseSide(case_id=case_id, right=0, wrong=1, unscored=0, query=None, reason="")
    return CaseChange(kind=kind, baseline=replace(side, case_id=old_id or case_id), candidate=side, question="")  # type: ignore[arg-type]


@each(
    ("right", "wrong", "least"),
    [(4, 1, 0.8), (1, 2, 1 / 3), (7, 3, 0.7), (29, 71, 0.29), (57, 43, 0.57), (5, 0, 1.0), (0, 5, 0.0)],
)
def test_a_minimum_that_is_just_reached_passes(right: int, wrong: int, least: float) -> None:
    result = checked(right_and_wrong(right, wrong), minimum=(("match", least),))
    assert result.passed
    assert (result.missed_by, result.case_ids) == (None, ())


def test_one_case_short_misses_and_says_by_how_much_and_which() -> None:
    result = checked(right_and_wrong(3, 2, 1), minimum=(("match", 0.8),))
    assert not result.passed
    assert (result.gate, result.wanted) == ("min match=0.8", "at least 80.0 %")
    assert result.found == "60.0 % [23.1, 88.2], 3 of 5, 1 unscored"
    assert result.missed_by == "20.0 points (1 case short)"
    assert result.case_ids == ("q3", "q4")


@given(
    st.lists(st.sampled_from([1.0, 0.0, None]), min_size=1, max_size=60),
    st.one_of(st.floats(0, 1), st.fractions(0, 1, max_denominator=60).map(float)),
)
def test_every_count_in_what_a_minimum_and_a_selector_say_is_counted(values: list[float | None], least: float) -> None:
    run = run_of(*(answer(f"q{place}", value) for place, value in enumerate(values)))
    right, wrong, unscored = values.count(1.0), values.count(0.0), values.count(None)
    scored = right + wrong
    minimum, must = evaluate_gates(Gates(minimum=(("match", least),), must_pass=("difficulty:easy",)), run)
    of_all = f"{len(values)} case{'' if len(values) == 1 else 's'}"
    parts = [f"{right} of {of_all} right"] + [f"{wrong} wrong"] * (wrong > 0)
    parts += [f"{unscored} unscored (gold is broken)"] * (unscored > 0)
    assert must.found == ", ".join(parts)
    assert must.passed == (right == len(values))
    assert must.missed_by == (None if must.passed else f"{wrong + unscored} of {of_all}")
    assert must.case_ids == tuple(f"q{place}" for place, value in enumerate(values) if value != 1.0)
    if not scored:
        assert (minimum.passed, minimum.found) == (False, f"no scored case, {unscored} unscored")
        return
    assert minimum.found.endswith(f", {right} of {scored}" + (f", {unscored} unscored" if unscored else ""))
    short = next(more for more in range(scored + 1) if (right + more) / scored >= least - 1e-9)
    assert minimum.passed == (short == 0)
    if short:
        assert minimum.missed_by.endswith(f" ({short} case{'' if short == 1 else 's'} short)")
        assert minimum.case_ids == tuple(f"q{place}" for place, value in enumerate(values) if value == 0.0)


def test_every_count_in_what_a_comparison_says_is_its_own() -> None:
    """All numbers differ, so that none can stand where another belongs."""
    run = right_and_wrong(8, 2)
    found = replace(
        compared(-0.1, n=12_345, p_value=0.2), unscored=1_678, gained=2_901, lost=3_456, clusters=78, detectable=0.0912
    )
    diff = diff_of(run, found, replace(found, metric="bird_ex", n=0, difference=None))
    gates = Gates(max_drop=(("match", 0.01),), fail_on_regression=("match",))
    drop, regression = evaluate_gates(gates, run, diff=diff)
    said = "70.0 %, baseline 80.0 %: -10.0 points [-15.0, -5.0] by 78 databases, 12,345 cases, 2,901 gained, 3,456 lost"
    assert drop.found == f"{said}, 1,678 unscored"
    assert regression.found == (
        f"{said}, 1,678 unscored; p = 0.2; this number of cases shows differences of 9.1 points and more; "
        "the interval excludes 0, but the gate goes by p, and 0.2 is above 0.05"
    )


@each(
    ("paired", "said"),
    [
        (0, "no case that both runs have unchanged"),
        (1, "none of 1 case in common is scored on both sides"),
        (2_345, "none of 2,345 cases in common is scored on both sides"),
    ],
)
def test_nothing_to_compare_misses_what_compares(paired: int, said: str) -> None:
    run = right_and_wrong(8, 2)
    diff = diff_of(run, compared(0.0, n=0))
    diff = replace(diff, matching=replace(diff.matching, paired=paired))
    results = evaluate_gates(Gates(max_drop=(("match", 0.5),), fail_on_regression=("match",)), run, diff=diff)
    assert [(one.passed, one.found) for one in results] == [(False, said)] * 2


def test_what_is_missed_by_a_hair_never_looks_like_what_was_wanted() -> None:
    result = checked(right_and_wrong(7999, 2001), minimum=(("match", 0.8),))
    assert not result.passed
    assert result.found.startswith("79.99 % [")
    assert result.missed_by == "0.01 points (1 case short)"
    assert checked(right_and_wrong(9, 1), minimum=(("match", 0.8125),)).wanted == "at least 81.25 %"


def test_a_metric_beyond_1_is_a_number_and_not_a_percentage() -> None:
    metrics = (Named("match"), Named("bird_rves", binary=False))
    run = run_of(
        answer("a", 1.0, bird_rves=111.8),
        answer("b", 1.0, bird_rves=50.0),
        answer("c", 0.0, bird_rves=0.0),
        metrics=metrics,
    )
    result = checked(run, minimum=(("bird_rves", 90.0),))
    assert (result.passed, result.wanted, result.missed_by) == (False, "at least 90.0", "36.1")
    assert result.found.startswith("53.9 [")
    assert result.found.endswith("mean of 3")
    assert result.case_ids == ("b", "c")


def test_repeated_answers_count_by_case() -> None:
    """Right 3 of 4 times, but in two cases: 1 and 0.5."""
    run = run_of(
        answer("a", 1.0), answer("a", 1.0, repeat=1), answer("b", 1.0), answer("b", 0.0, repeat=1), answer("c", None)
    )
    steady = checked(run, must_pass=("difficulty:easy",))
    assert (steady.passed, steady.case_ids) == (False, ("b", "c"))
    assert steady.found == "1 of 3 cases right, 1 wrong, 1 unscored (gold is broken)"
    assert checked(run, must_pass=("id:a",)).passed


def test_means_of_repeated_answers_that_add_up_to_a_whole_number_are_no_count() -> None:
    once = right_and_wrong(1, 1)
    several = replace(once, settings=replace(once.settings, repeats=2))
    found = [checked(run, minimum=(("match", 0.1),)).found for run in (once, several)]
    assert found[0].endswith(", 1 of 2")
    assert found[1].endswith(", mean of 2")


@each("selector", ["tag:smoke", "difficulty:easy", "database:shop", "id:a", "tag: smoke"])
def test_each_selector_picks_by_its_own_field(selector: str) -> None:
    other = answer("b", 0.0, tags=["more"])
    other = replace(other, case=replace(other.case, difficulty="hard", database="bank"))
    assert checked(run_of(answer("a", 1.0, tags=["smoke"]), other), must_pass=(selector,)).passed


@each(("difference", "passed"), [(-0.01, True), (-0.0100001, False), (0.05, True), (0.0, True)])
def test_a_drop_may_be_just_as_large_as_allowed(difference: float, passed: bool) -> None:
    run = right_and_wrong(8, 2)
    diff = diff_of(run, compared(difference))
    assert checked(run, diff=diff, max_drop=(("match", 0.01),)).passed is passed


def test_a_drop_names_the_cases_that_were_broken() -> None:
    run = right_and_wrong(8, 2)
    changes = [change("fixed", "q0"), change("broken", "q8"), change("worse", "q9"), change("still_wrong", "q1")]
    diff = diff_of(run, compared(-0.03), changes=changes)
    result = checked(run, diff=diff, max_drop=(("match", 0.01),))
    assert result.wanted == "at most 1.0 points below the baseline"
    said = "77.0 %, baseline 80.0 %: -3.0 points [-8.0, +2.0], 100 cases, 1 gained, 2 lost"
    why = "the interval includes 0, so the loss may be chance, but the gate compares the difference itself"
    assert result.found == f"{said}; {why}"
    assert (result.missed_by, result.case_ids) == ("2.0 points", ("q8", "q9"))


def test_with_the_baseline_itself_a_drop_of_any_metric_names_its_cases_even_renamed_ones() -> None:
    metrics = (Named("match"), Named("bird_ex"))
    run = run_of(answer("a", 1.0, bird_ex=0.0), answer("b", 0.0, bird_ex=1.0), metrics=metrics)
    baseline = run_of(answer("old-a", 1.0, bird_ex=1.0), answer("b", 1.0, bird_ex=1.0), metrics=metrics)
    changes = [change("still_right", "a", "old-a"), change("broken", "b")]
    diff = diff_of(run, compared(-0.5), compared(-0.5, metric="bird_ex"), changes=changes)
    assert checked(run, diff, baseline, max_drop=(("bird_ex", 0.1),)).case_ids == ("a",)
    assert checked(run, diff, max_drop=(("bird_ex", 0.1),)).case_ids == ()


@each(
    ("difference", "p_value", "passed"),
    [(-0.1, 0.05, False), (-0.1, 0.051, True), (0.1, 0.001, True), (-0.1, None, True), (0.0, 1.0, True)],
)
def test_only_a_significant_change_for_the_worse_is_a_regression(
    difference: float, p_value: float | None, passed: bool
) -> None:
    run = right_and_wrong(8, 2)
    diff = diff_of(run, compared(difference, p_value=p_value))
    assert checked(run, diff=diff, fail_on_regression=("headline",)).passed is passed


def test_regressions_are_corrected_over_the_metrics_that_are_watched_and_no_others() -> None:
    run = run_of(answer("a", 1.0, bird_ex=1.0), metrics=(Named("match"), Named("bird_ex")))
    diff = diff_of(run, compared(-0.1, p_value=0.03), compared(-0.1, p_value=0.5, metric="bird_ex"))
    alone = evaluate_gates(Gates(fail_on_regression=("match",)), run, diff=diff)
    both = evaluate_gates(Gates(fail_on_regression=("match", "bird_ex")), run, diff=diff)
    assert [one.passed for one in alone] == [False]
    assert [one.passed for one in both] == [True, True]
    assert "p = 0.03 (0.06 by Holm's correction over 2 metrics)" in both[0].found


def test_results_stand_in_the_order_of_what_was_asked() -> None:
    run = right_and_wrong(8, 2)
    gates = Gates(
        must_pass=("id:q1",), fail_on_regression=("match",), max_drop=(("match", 0.5),), minimum=(("match", 0.5),)
    )
    results = evaluate_gates(gates, run, diff=diff_of(run, compared(0.0)))
    assert [one.gate for one in results] == [
        "min match=0.5",
        "max-drop match=0.5",
        "fail-on-regression match",
        "must-pass id:q1",
    ]


def test_what_compares_needs_a_comparison() -> None:
    with pytest.raises(UsageError, match="compare with a baseline"):
        evaluate_gates(Gates(max_drop=(("match", 0.1),)), right_and_wrong(1, 1))


@each(
    ("gates", "said"),
    [
        (Gates(minimum=(("match", 80.0),)), "80 percent is 0.8, or 80%"),
        (Gates(minimum=(("match", 1.2),)), "min match is 1.2: give a number from 0 to 1"),
        (Gates(minimum=(("match", -0.1),)), "from 0 to 1"),
        (Gates(minimum=(("match", float("nan")),)), "give a number"),
        (Gates(minimum=(("ves", 1.3),)), "from 0 to 1.25"),
        (Gates(minimum=(("bird_rves", 120.0),)), "from 0 to 111.8"),
        (Gates(max_drop=(("match", -0.01),)), "max-drop match is -0.01"),
        (Gates(max_drop=(("theirs", -1.0),)), "from 0 up"),
        (Gates(alpha=0.0), "alpha is 0.0"),
        (Gates(alpha=5.0), "alpha is 5.0"),
        (Gates(minimum=(("match", 0.1), ("match", 0.2))), "min match is given twice"),
        (Gates(must_pass=("smoke",)), "write tag:NAME"),
        (Gates(must_pass=("tag:",)), "write tag:NAME"),
        (Gates(must_pass=("tags:smoke",)), "did you mean 'tag'"),
        (Gates(must_pass=("TAG:smoke",)), "did you mean 'tag'"),
    ],
)
def test_demands_that_cannot_be_are_told_without_a_run(gates: Gates, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        check_gates(gates)
    assert said in str(raised.value)


@pytest.mark.parametrize("name", ["minimum", "max_drop"])
@pytest.mark.parametrize(
    "value",
    [{"match": 0.35}, (("match", "35%"),), (("match", True),), ("match", 0.35), (("match",),), "match=0.35", None],
)
def test_a_value_of_a_metric_that_is_not_a_number_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=rf"{name} is .*: give pairs .*, for example {name}=\(\(\"match\", 0"):
        check_gates(Gates(**{name: value}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("max_unscored", value) for value in ("5%", True, (0.05,))),
        *(("alpha", value) for value in ("5%", None, [0.05])),
        *((name, value) for name in ("fail_on_regression", "must_pass") for value in ("match", None, (1,))),
    ],
)
def test_a_gate_of_another_kind_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=rf"{name} is .*: give .*, for example {name}="):
        check_gates(Gates(**{name: value}))


def test_metrics_have_their_own_ranges() -> None:
    check_gates(Gates(minimum=(("ves", 1.25), ("bird_rves", 111.8), ("theirs", -4.0))))


def test_the_range_of_every_metric_of_ours_is_known() -> None:
    ours = [name for name, entry in registered("assay.metrics").items() if entry.module.startswith("assay.")]
    for name in [*ours, *(one.name for one in selection_metrics(on_data=True))]:
        info = info_of(name)
        assert (info.lowest, info.higher_is_better, bool(info.meaning)) == (0.0, True, True), name
        assert info.highest is not None, name


def test_a_metric_that_is_not_computed_is_told_from_one_that_does_not_exist() -> None:
    with pytest.raises(InputError, match="does not compute bird_ex; it computes match, ves"):
        check_metrics(Gates(minimum=(("bird_ex", 0.5),)), ["match", "ves"], known=["bird_ex"])
    with pytest.raises(InputError, match="did you mean 'match'"):
        check_metrics(Gates(max_drop=(("mtach", 0.5),)), ["match", "ves"], known=["bird_ex"])


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ("tag:smok", "matches no case (did you mean 'tag:smoke'?)"),
        ("tag:easy", "matches no case (did you mean 'difficulty:easy'?)"),
        ("id:zzz", "matches no case; known: id:a"),
    ],
)
def test_a_selector_that_fits_no_case_is_an_error_since_it_could_never_be_missed(selector: str, said: str) -> None:
    cases = [Case(id="a", question="?", tags=("smoke",), difficulty="easy", database="shop")]
    with pytest.raises(InputError) as raised:
        check_cases(Gates(must_pass=(selector,)), cases)
    assert said in str(raised.value)


@pytest.mark.parametrize("allowed", [0.02, 0.1])
@pytest.mark.parametrize("half_width", [0.01, 0.3])
@pytest.mark.parametrize("difference", [-0.05, 0.05])
def test_a_drop_that_its_interval_seems_to_contradict_says_why(
    difference: float, half_width: float, allowed: float
) -> None:
    run = right_and_wrong(8, 2)
    found = replace(compared(difference), low=difference - half_width, high=difference + half_width)
    result = checked(run, diff=diff_of(run, found), max_drop=(("match", allowed),))
    excludes = difference + half_width < 0
    assert result.passed is (difference >= -allowed)
    passes = f"the interval excludes 0, so the loss is not by chance, but it is within the {100 * allowed:.1f} points"
    misses = "the interval includes 0, so the loss may be chance, but the gate compares the difference itself"
    assert (passes in result.found) is (result.passed and excludes)
    assert (misses in result.found) is (not result.passed and not excludes)


@pytest.mark.parametrize("p_value", [0.01, 0.2, None])
@pytest.mark.parametrize("half_width", [0.01, 0.3])
@pytest.mark.parametrize("difference", [-0.05, 0.05])
def test_a_regression_that_its_interval_seems_to_contradict_says_why(
    difference: float, half_width: float, p_value: float | None
) -> None:
    run = right_and_wrong(8, 2)
    found = replace(compared(difference, p_value=p_value), low=difference - half_width, high=difference + half_width)
    result = checked(run, diff=diff_of(run, found), fail_on_regression=("match",))
    excludes, is_loss = difference + half_width < 0, difference < 0
    assert result.passed is not (is_loss and p_value == 0.01)
    passes = "the interval excludes 0, but the gate goes by p, and 0.2 is above 0.05"
    misses = "the interval includes 0, but the gate goes by p, and 0.01 is at most 0.05"
    assert (passes in result.found) is (excludes and p_value == 0.2)
    assert (misses in result.found) is (is_loss and not excludes and p_value == 0.01)


@pytest.mark.parametrize(
    ("unscored", "total", "most", "missed_by"),
    [
        (0, 5, 0.0, None),
        (1, 20, 0.05, None),
        (2, 20, 0.05, "5.0 points (1 case too many)"),
        (5, 5, 1.0, None),
        (3, 3, 0.0, "100.0 points (3 cases too many)"),
        (1, 2000, 0.0004, "0.01 points (1 case too many)"),
    ],
)
def test_unscored_cases_are_counted_exactly(unscored: int, total: int, most: float, missed_by: str | None) -> None:
    run = right_and_wrong(total - unscored, 0, unscored)
    result = checked(run, max_unscored=most)
    assert (result.passed, result.missed_by) == (missed_by is None, missed_by)
    assert f"{unscored:,} of {total:,} case" in result.found
    assert ("(gold is broken)" in result.found) is (unscored > 0)
    assert len(result.case_ids) == (0 if missed_by is None else unscored)


@pytest.mark.parametrize(("unscored", "unfinished"), [(0, 1), (2, 0), (2, 3), (0, 0)])
def test_unfinished_cases_are_counted_in_the_words_of_the_gate(unscored: int, unfinished: int) -> None:
    run = right_and_wrong(10, 0, unscored)
    failed = Failure(stage="ask", kind="ask_failed", blame="system", message="it answers 500", code="HTTP 500")
    wrong = replace(run.summaries[0], outcome="incorrect", reason="it answers 500", failure=failed)
    run = replace(run, summaries=(*run.summaries, *[wrong] * unfinished))
    result = checked(run, max_unscored=1.0)
    assert result.wanted == "at most 100.0 % unscored or unfinished"
    assert f"{unscored + unfinished:,} of {10 + unscored + unfinished:,} cases" in result.found
    parts = f": {unscored} unscored, {unfinished} unfinished and counted as incorrect"
    assert (parts in result.found) is (unfinished > 0)


@pytest.mark.parametrize("least", [0.2, 0.9])
def test_a_gate_says_that_it_goes_without_reviews(least: float) -> None:
    run = right_and_wrong(5, 5)
    before = run.aggregates.overall.rate("match")
    assert before is not None
    after = replace(before, value=0.7, numerator=7.0)
    for changed, reviewed in ((False, before), (True, after)):
        totals = ReviewTotals(before=before, after=reviewed)
        found = replace(run, aggregates=replace(run.aggregates, reviews=totals))
        result = checked(found, minimum=(("match", least),))
        assert result.passed is (least < 0.5)
        assert ("gates go without reviews, after which it is 70.0 %" in result.found) is changed
