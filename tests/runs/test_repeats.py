"""Each question asked several times: what is asked, what is kept, and what the answers amount to."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import duckdb
import pytest
from msgspec.structs import replace

from assay import Run, evaluate, load_run
from assay.demo import build_database, cases_path
from assay.errors import RunError, UsageError
from assay.model import Case, Evidence, Failure, NearMiss, Prediction, Score, TokenUsage, Verdict
from assay.model import Comparison as Compared
from assay.runs.aggregate.repeats import repeat_totals, repeated
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.aggregate.totals import aggregate
from assay.runs.execution.asking import ask
from assay.stats import bounded_mean_interval, wilson_interval
from many_cases import each
from running import LiveSystem, Named

MATCH, EX, F1 = Named("match"), Named("bird_ex"), Named("bird_soft_f1", binary=False)
METRICS = (MATCH, EX, F1)


def answer(name: str, repeat: int, *scores: float | None, **more: object) -> Evidence:
    outcome = {None: "unscored", 1: "correct", 0: "incorrect"}[scores[0]]
    return Evidence(
        case=Case(id=name, question="?", difficulty=str(more.get("difficulty", "easy"))),
        prediction=Prediction(
            case_id=name,
            query="SELECT 1",
            repeat=repeat,
            timings_s=tuple(more.get("times", ())),  # type: ignore[arg-type]
            tokens=TokenUsage(input=10, output=1),
        ),
        verdict=Verdict(outcome=outcome, reason="", flags=frozenset(more.get("flags", ()))),  # type: ignore[arg-type]
        scores=tuple(Score(metric=m.name, value=v) for m, v in zip(METRICS, scores, strict=False)),
        comparison=Compared(equal=False, near_misses=(NearMiss(kind="rounding", detail=""),)),
        cause=more.get("cause"),  # type: ignore[arg-type]
    )


def answers(name: str, *outcomes: float | None, **more: object) -> list[Evidence]:
    return [answer(name, repeat, one, **more) for repeat, one in enumerate(outcomes)]


RUN = [*answers("a", 1, 1, 1), *answers("b", 0, 0, 0), *answers("c", 1, 0, 0), *answers("d", None, 1, 1)]


def test_a_rate_is_over_questions_each_by_the_mean_of_its_scored_answers() -> None:
    numbers = aggregate(summaries_of([*RUN, *answers("e", None, None, None)]), [MATCH], repeats=3)
    rate = numbers.overall.rate("match")
    means = [1.0, 0.0, 1 / 3, 1.0]
    assert (rate.n, rate.unscored, rate.value) == (4, 1, pytest.approx(7 / 12))
    assert (rate.low, rate.high) == bounded_mean_interval(means)
    assert (numbers.cases, numbers.correct, numbers.incorrect, numbers.unscored) == (5, 6, 5, 4)
    assert (numbers.overall.cases, numbers.by_difficulty[0].cases) == (5, 5)


def test_equal_answers_make_no_interval_narrower() -> None:
    """What asking again says of a question that is always answered alike: nothing of other questions."""
    evidence = [one for name, right in zip("abcdefgh", (1, 1, 0, 1, 0, 1, 1, 1), strict=True) for one in
                answers(name, *([right] * 5))]  # fmt: skip
    rate = aggregate(summaries_of(evidence), [MATCH], repeats=5).overall.rate("match")
    assert (rate.low, rate.high) == pytest.approx(wilson_interval(6, 8))


def test_how_steady_the_answers_are_by_their_verdicts() -> None:
    totals = repeat_totals(summaries_of([*RUN, *answers("e", None, None, None)]), asked=3)
    assert (totals.stable_right, totals.stable_wrong, totals.flaky, totals.unscored) == (2, 1, ("c",), 1)
    at = {one.k: one for one in totals.pass_rates}
    # a and b say 1 and 0 for every k; c is right in one of three; d has two scored answers, e has none.
    assert [(at[k].any.n, at[k].any.unscored) for k in (1, 2, 3)] == [(4, 1), (4, 1), (3, 2)]
    assert [at[k].any.value for k in (1, 2, 3)] == pytest.approx([7 / 12, (1 + 0 + 2 / 3 + 1) / 4, 2 / 3])
    assert [at[k].all.value for k in (1, 2, 3)] == pytest.approx([7 / 12, 2 / 4, 1 / 3])


def test_pass_rates_are_shares_of_all_choices_of_answers() -> None:
    source = random.Random(11)
    chances = [source.random() for _ in range(25)]
    evidence = [
        one for number, chance in enumerate(chances)
        for one in answers(str(number), *(source.choices((1, 0, None), (chance, 1 - chance, 0.1), k=6)))
    ]  # fmt: skip
    by_case = [
        [one.outcome for one in evidence[at : at + 6] if one.outcome != "unscored"] for at in range(0, len(evidence), 6)
    ]
    for rate in repeat_totals(summaries_of(evidence), asked=6).pass_rates:
        choices = [list(itertools.combinations(given, rate.k)) for given in by_case if len(given) >= rate.k]
        some = [sum("correct" in chosen for chosen in every) / len(every) for every in choices]
        whole = [sum(set(chosen) == {"correct"} for chosen in every) / len(every) for every in choices]
        assert rate.any.value == pytest.approx(sum(some) / len(some))
        assert rate.all.value == pytest.approx(sum(whole) / len(whole))
        for one in (rate.any, rate.all):
            assert one.low <= one.value <= one.high


def test_what_answers_carry_counts_each_question_once() -> None:
    evidence = [
        *answers("a", 0, 0, flags={"vacuous"}, cause="join"),
        answer("b", 0, 1),
        answer("b", 1, 0, flags={"vacuous"}),
    ]
    numbers = aggregate(summaries_of(evidence), [MATCH], repeats=2)
    assert [(one.name, one.count, one.case_ids) for one in numbers.flags] == [("vacuous", 2, ("a", "b"))]
    assert [(one.count, one.case_ids) for one in numbers.near_misses] == [(2, ("a", "b"))]
    assert [(one.name, one.count) for one in numbers.causes] == [("join", 1)]
    assert (numbers.usage.answers, numbers.usage.input) == (4, 40)


def test_metrics_disagree_on_questions_not_on_answers() -> None:
    evidence = [
        *(answer("a", 0, 1, 0), answer("a", 1, 0, 1)),
        *(answer("b", 0, 1, 1), answer("b", 1, 0, 0)),
        *(answer("c", 0, 0, 0), answer("c", 1, 0, None)),
    ]
    (found,) = aggregate(summaries_of(evidence), [MATCH, EX], repeats=2).disagreements
    assert (found.only_first, found.only_second, found.both, found.neither) == (("a",), ("a",), 1, 1)


def test_times_are_of_questions_by_the_mean_of_their_answers() -> None:
    evidence = [
        answer("a", 0, 1, times=[("total_execution_time", 1.0)]),
        answer("a", 1, 1, times=[("total_execution_time", 3.0)]),
        answer("b", 0, 1, times=[("Total Execution Time", 4.0)]),
        answer("b", 1, 1),
    ]
    time = aggregate(summaries_of(evidence), [MATCH], repeats=2).overall.answer_time
    assert (time.n, time.mean_s) == (2, 3.0)


def test_asked_once_the_numbers_are_those_of_any_run() -> None:
    evidence = [answer(name, 0, *scores) for name, *scores in (("a", 1, 0, 0.5), ("b", 0, 0, 0.1), ("c", None, 1, 1))]
    once = aggregate(summaries_of(evidence), METRICS)
    again = aggregate(summaries_of(evidence), METRICS, repeats=2)
    assert [replace(one.rate, low=None, high=None) for one in again.overall.metrics] == [
        replace(one.rate, low=None, high=None) for one in once.overall.metrics
    ]


class Flaky(LiveSystem):
    """Right with a chance of its own for each question. Counts, and answers the n-th asking by the n-th draw."""

    def __init__(self, cases: Sequence[Case], *, failing: int = 0) -> None:
        super().__init__(self._answered)
        self.asked: Counter[str] = Counter()
        self.order: list[str] = []
        self._golds = {case.id: case.golds[0] for case in cases}
        self._failing = failing
        self._lock = Lock()

    def _answered(self, case: Case) -> Prediction:
        with self._lock:
            self.asked[case.id] += 1
            self.order.append(case.id)
            number = self.asked[case.id]
        if number <= self._failing:
            failure = Failure(stage="ask", kind="ask_failed", blame="system", message="503")
            return Prediction(case_id=case.id, failure=failure)
        chance = random.Random(case.id).choice([0.0, 0.4, 0.8, 1.0])
        right = random.Random(f"{case.id} {number}").random() < chance
        # Gold in other words: its very text would need no timing.
        gold = f"WITH unused AS (SELECT 1) {self._golds[case.id]}"
        return Prediction(case_id=case.id, query=gold if right else "SELECT 'wrong'", repeat=7)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[Case, ...], str]:
    from assay.cases import load_cases
    from assay.registry import case_formats

    folder = tmp_path_factory.mktemp("shop")
    cases = load_cases(cases_path(), formats=case_formats())[:12]
    return cases, f"sqlite:///{build_database(folder)}"


def run_flaky(shop: tuple[tuple[Case, ...], str], system: Flaky, folder: Path | None = None, **more: object) -> Run:
    cases, database = shop
    given: dict[str, object] = {"metrics": ["match", "bird_ex"], "workers": 1, "repeats": 3, "concurrency": 2}
    return evaluate(cases, system, databases=database, output=folder, **{**given, **more})  # type: ignore[arg-type]


def test_all_are_asked_once_before_any_again_and_answers_are_numbered_as_they_come(tmp_path: Path) -> None:
    cases = tuple(Case(id=str(number), question="?", golds=("SELECT 1",)) for number in range(4))
    system = Flaky(cases)
    found = ask(system, cases, concurrency=1, repeats=3, folder=tmp_path)
    assert system.order == [*"0123"] * 3
    assert [(one.case_id, one.repeat) for one in found] == [(case.id, n) for case in cases for n in range(3)]
    assert ask(system, cases, concurrency=2, repeats=3, folder=tmp_path) == found
    assert system.asked.total() == 12


@each("kept", [0, 1, 5, 11])
def test_only_what_has_no_answer_yet_is_asked_for(kept: int, tmp_path: Path) -> None:
    cases = tuple(Case(id=str(number), question="?", golds=("SELECT 1",)) for number in range(4))
    ask(Flaky(cases), cases, concurrency=3, repeats=3, folder=tmp_path)
    path = tmp_path / "answers.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:kept]) + (lines[kept][:-9]))
    again = Flaky(cases)
    found = ask(again, cases, concurrency=3, repeats=3, folder=tmp_path)
    assert again.asked.total() == 12 - kept
    assert [(one.case_id, one.repeat) for one in found] == [(case.id, n) for case in cases for n in range(3)]
    assert len(path.read_bytes().splitlines()) == 12


def test_an_answer_that_failed_is_asked_for_again_in_its_own_place(tmp_path: Path) -> None:
    cases = tuple(Case(id=str(number), question="?", golds=("SELECT 1",)) for number in range(4))
    first = ask(Flaky(cases, failing=1), cases, concurrency=1, repeats=3, folder=tmp_path)
    assert [one.failure is not None for one in first] == [True, False, False] * 4
    well = Flaky(cases)
    then = ask(well, cases, concurrency=2, repeats=3, folder=tmp_path)
    assert well.asked == dict.fromkeys("0123", 1)
    assert [one for one in then if one.repeat] == [one for one in first if one.repeat]


@pytest.mark.journey
def test_a_whole_run_of_a_flaky_system(shop: tuple[tuple[Case, ...], str], tmp_path: Path) -> None:
    cases, _ = shop
    system = Flaky(cases)
    run = run_flaky(shop, system, tmp_path / "run")
    assert system.asked == dict.fromkeys([case.id for case in cases], 3)
    assert [(one.case.id, one.prediction.repeat) for one in run.evidence] == [
        (case.id, repeat) for case in cases for repeat in range(3)
    ]
    assert [one.case for one in run.evidence] == list(repeated(cases, 3))
    totals = run.aggregates.repeats
    assert len(totals.flaky) > 1
    assert totals.stable_right
    assert totals.stable_wrong
    rate = run.rate("match")
    assert rate.value == pytest.approx(totals.pass_rates[0].any.value)
    stored = load_run(tmp_path / "run")
    assert (stored.evidence, stored.aggregates, stored.settings) == (run.evidence, run.aggregates, run.settings)
    again = run_flaky(shop, system, tmp_path / "run")
    assert (again.evidence, again.aggregates) == (run.evidence, run.aggregates)
    assert system.asked.total() == 36
    run.save(tmp_path / "saved")
    assert load_run(tmp_path / "saved").evidence == run.evidence


def test_results_have_a_row_an_answer_numbered_only_where_there_are_several(
    shop: tuple[tuple[Case, ...], str], tmp_path: Path
) -> None:
    cases, _ = shop
    run_flaky(shop, Flaky(cases), tmp_path / "three")
    run_flaky(shop, Flaky(cases), tmp_path / "one", repeats=1)
    with duckdb.connect() as connection:
        rows = connection.sql(f"SELECT case_id, repeat FROM '{tmp_path}/three/results.parquet'")
        assert rows.types == ["VARCHAR", "INTEGER"]
        assert rows.fetchall() == [(case.id, number) for case in cases for number in (1, 2, 3)]
        assert "repeat" not in connection.sql(f"SELECT * FROM '{tmp_path}/one/results.parquet'").columns


def test_queries_that_answers_share_are_executed_once(shop: tuple[tuple[Case, ...], str], tmp_path: Path) -> None:
    """A remembered execution is the very same one, its time included."""
    run = run_flaky(shop, Flaky(shop[0]), tmp_path / "run")
    golds: dict[str, set[object]] = {}
    predicted: dict[str, set[object]] = {}
    for one in run.evidence:
        golds.setdefault(one.case.id, set()).update(done.wall_time_s for done in one.gold_executions)
        if one.predicted_execution is not None:
            predicted.setdefault(one.predicted_execution.query, set()).add(one.predicted_execution.wall_time_s)
    assert {len(found) for found in golds.values()} == {1}
    assert {len(found) for found in predicted.values()} == {1}


def test_a_run_cannot_be_gone_on_with_by_another_number_but_judged_again_by_a_smaller_one(
    shop: tuple[tuple[Case, ...], str], tmp_path: Path
) -> None:
    system = Flaky(shop[0])
    whole = run_flaky(shop, system, tmp_path / "run")
    with pytest.raises(RunError, match="repeats was 3, now 2"):
        run_flaky(shop, system, tmp_path / "run", repeats=2)
    with pytest.raises(RunError, match=r"lacks 24 of the 60 answers \(5 per question\)"):
        run_flaky(shop, system, tmp_path / "run", repeats=5, rescore=True)
    fewer = run_flaky(shop, system, tmp_path / "run", repeats=2, rescore=True)
    assert system.asked.total() == 36
    assert [one.prediction for one in fewer.evidence] == [
        one.prediction for one in whole.evidence if one.prediction.repeat < 2
    ]
    again = run_flaky(shop, system, tmp_path / "run", rescore=True)
    assert [(one.prediction, one.verdict) for one in again.evidence] == [
        (one.prediction, one.verdict) for one in whole.evidence
    ]
    assert again.aggregates.repeats == whole.aggregates.repeats


def test_efficiency_is_timed_answer_by_answer(shop: tuple[tuple[Case, ...], str]) -> None:
    run = run_flaky(shop, Flaky(shop[0]), metrics=["match", "ves"], timing_iterations=1)
    right = [one for one in run.evidence if one.outcome == "correct"]
    assert right
    assert all(one.pair_timings for one in right)
    rate = run.rate("ves")
    assert rate.n == 12


def test_a_function_is_asked_once() -> None:
    cases = [{"id": "a", "question": "?", "gold_sql": "SELECT 1"}]
    with pytest.raises(UsageError, match="only a live system can be asked"):
        evaluate(cases, lambda case: "SELECT 1", databases="sqlite:///:memory:", repeats=2)
    with pytest.raises(UsageError, match="repeats is 0: give a whole number from 1"):
        evaluate(cases, {"a": "SELECT 1"}, databases="sqlite:///:memory:", repeats=0)
