"""The order in which cases are reviewed, and why."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.runs.reviews.reviewing import case_of, draw_of, evidence_of, review_of

from assay.errors import InputError
from assay.model import Evidence, Execution, Failure, Review, Run, Score
from assay.model.lint import LintFinding, LintReport
from assay.runs.estimates.drawing import QueuedAnswer, read_queue, write_queue
from assay.runs.reviews.queue import pace, progress, read_opinions, review_queue
from assay.runs.reviews.signals import Votes
from many_cases import each
from running import Named, run_of


def _answer(case: str, outcome: str = "incorrect", *, result: str | None = None, **fields: Any) -> Evidence:
    more = {name: fields.pop(name) for name in list(fields) if name in ("flags", "strength", "failure")}
    made = evidence_of(case_of(id=case), f"SELECT {result}", outcome, result=result, **more)
    gold = Execution(query="SELECT 1", status="rows")
    predicted = Execution(query=f"SELECT {result}", status="rows")
    return replace(made, **{"gold_executions": (gold,), "predicted_execution": predicted} | fields)


def _ids(run: Run, reviews: Sequence[Review] = (), **asked: Any) -> list[str]:
    return [queued.case_id for queued in review_queue(run, reviews, **asked)]


def test_systems_that_agree_against_gold_come_first() -> None:
    run = run_of(_answer("alone", result="a"), _answer("doubted", result="b"), _answer("trusted", result="c"))
    others = [
        run_of(_answer("alone", result=f"a{n}"), _answer("doubted", result="b"), _answer("trusted", "correct"))
        for n in range(3)
    ]
    queue = review_queue(run, others=others)
    assert [queued.case_id for queued in queue] == ["doubted", "alone", "trusted"]
    assert [queued.why[0] for queued in queue] == [
        "4 of 4 systems, this one among them, share a result, and none has the gold query's.",
        "None of 4 systems has the gold query's result.",
        "The prediction is incorrect, and 3 other systems have the gold query's result.",
    ]
    assert all(queued.draw is None for queued in queue)
    assert [queued.worth for queued in queue] == sorted((queued.worth for queued in queue), reverse=True)


def test_a_match_is_queued_if_more_systems_share_another_result() -> None:
    run = run_of(_answer("q1", "correct"), _answer("q2", "correct"))
    others = [run_of(_answer("q1", result="b"), _answer("q2", result=f"b{n}")) for n in range(2)]
    (queued,) = review_queue(run, others=others)
    assert queued.case_id == "q1"
    assert queued.why == ("2 of 3 systems share a result, and 1 has the gold query's.",)


def test_a_system_does_not_agree_with_itself() -> None:
    run = run_of(*(_answer(f"q{n}", result="b") for n in range(3)))
    again = run_of(*(_answer(f"q{n}", result="b") for n in range(3)))
    assert review_queue(run, others=[again, again]) == review_queue(run)
    other = run_of(*(_asked(f"q{n}", "SELECT 9", result="b") for n in range(3)))
    assert review_queue(run, others=[other, other, again]) == review_queue(run, others=[other])
    assert review_queue(run, others=[other])[0].why[0].startswith("2 of 2 systems")


def _asked(case: str, query: str, **fields: Any) -> Evidence:
    return _answer(case, predicted_execution=Execution(query=query, status="rows"), **fields)


def test_selections_refusals_and_answers_without_a_result_agree_with_nobody() -> None:
    selections = [run_of(_answer("q1", predicted_execution=None)) for _ in range(3)]
    (queued,) = review_queue(selections[0], others=selections[1:])
    assert queued.why == ("None of 3 systems has the gold query's result.",)
    refused = _answer("q1", predicted_execution=None)
    refused = replace(refused, verdict=replace(refused.verdict, decision="decline"))
    failed = _answer("q1", predicted_execution=Execution(query="SELECT", status="error"))
    for answer in (refused, failed):
        (queued,) = review_queue(run_of(answer), others=[run_of(answer)] * 3)
        assert queued.why == ("The prediction is incorrect.",)


def test_answers_by_another_gold_do_not_count() -> None:
    gold = Execution(query="SELECT 5", status="rows")
    other = run_of(_asked("q1", "SELECT 8", result="b", gold_executions=(gold,)), _answer("q2", result="c"))
    queue = review_queue(run_of(_answer("q1", result="b"), _answer("q2", result="c")), others=[other])
    assert [queued.case_id for queued in queue] == ["q2", "q1"]
    assert queue[1].why[0] == "The prediction is incorrect."
    with pytest.raises(InputError, match="none of the cases"):
        review_queue(run_of(_answer("q1")), others=[run_of(_answer("q9"))])


@each(
    ("fields", "why"),
    [
        ({"strength": "refuted"}, "not on another database"),
        ({"strength": "conditional"}, "regularity"),
        ({"flags": frozenset({"vacuous"})}, "weak evidence"),
        ({"flags": frozenset({"tie_by_chance"})}, "rows that tie"),
        ({"flags": frozenset({"order_by_chance"})}, "right order"),
        ({"flags": frozenset({"ambiguous_gold"})}, "does not determine"),
    ],
)
def test_weak_matches_are_queued(fields: dict[str, Any], why: str) -> None:
    (queued,) = review_queue(run_of(_answer("sound", "correct"), _answer("weak", "correct", **fields)))
    assert queued.case_id == "weak"
    assert why in queued.why[0]


def test_a_gold_that_fails_comes_before_all() -> None:
    failure = Failure(stage="execute", kind="error", blame="gold", message="no such column: x")
    setup = Failure(stage="execute", kind="error", blame="setup", message="no such file")
    broken = _answer("broken", "unscored", failure=failure)
    run = run_of(_answer("weak", "correct", strength="refuted"), broken, _answer("absent", "unscored", failure=setup))
    queue = review_queue(run)
    assert [queued.case_id for queued in queue] == ["broken", "weak"]
    assert queue[0].why == ("The gold query cannot be used: no such column: x",)


def test_metrics_that_rarely_differ_from_the_verdict_tell_something_if_they_do() -> None:
    def scored(case: str, **scores: float) -> Evidence:
        return _answer(case, "correct", scores=tuple(Score(metric=name, value=one) for name, one in scores.items()))

    run = run_of(
        *(scored(f"q{n}", bird_ex=float(n > 0), spider_em=0.0) for n in range(10)),
        metrics=(Named("bird_ex"), Named("spider_em")),
    )
    (queued,) = review_queue(run)
    assert (queued.case_id, queued.why) == ("q0", ("bird_ex rejects the prediction.",))


def test_a_judge_against_execution_is_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "opinions.jsonl"
    lines = [
        {"case_id": "q1", "equivalent": False},
        {"case_id": "q2", "equivalent": True},
        {"case_id": "q3", "equivalent": None},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = run_of(*(_answer(case, "correct") for case in ("q1", "q2", "q3")))
    (queued,) = review_queue(run, opinions=read_opinions(path))
    assert (queued.case_id, queued.why) == ("q1", ("The LLM judge calls the query not equivalent to the gold query.",))
    path.write_text('{"case_id": "q1", "equivalent": true}\n{"case": 1}\n')
    with pytest.raises(InputError, match="line 2: not an opinion"):
        read_opinions(path)


def _finding(case: str, severity: str, root_cause: str = "") -> LintFinding:
    return LintFinding(
        rule="unknown-literal",
        severity=severity,  # type: ignore[arg-type]
        case_id=case,
        gold=0,
        evidence=f"'{case}' never occurs.",
        remedy="Correct it.",
        root_cause=root_cause,
    )


def test_lint_is_a_reason_and_one_root_cause_counts_in_full_once() -> None:
    findings = [_finding("q1", "warning"), *(_finding(f"q{n}", "error", "blanks") for n in range(2, 9))]
    lint = LintReport(name="c", findings=tuple(findings), cases=9, golds=9, rules=("unknown-literal",))
    run = run_of(*(_answer(f"q{n}", "correct") for n in range(1, 10)), lint=lint)
    queue = review_queue(run)
    assert [queued.case_id for queued in queue[:2]] == ["q2", "q1"]
    assert queue[0].why == (
        "Lint error, unknown-literal: 'q2' never occurs. 7 cases have the same root cause: blanks.",
    )
    assert {queued.case_id for queued in queue[2:]} == {f"q{n}" for n in range(3, 9)}
    assert queue[-1].worth < queue[1].worth
    assert len({queued.cluster for queued in queue if queued.case_id != "q1"}) == 1


def test_cases_alike_stand_together() -> None:
    causes = ["distinct", "other", "distinct", "value_mismatch", "other", "distinct"]
    run = run_of(*(_answer(f"q{n}", result=f"r{n}", cause=cause) for n, cause in enumerate(causes)))
    queue = review_queue(run)
    assert [queued.cluster for queued in queue] == ["incorrect, distinct"] * 3 + ["incorrect, other"] * 2 + [""]


def test_cases_of_a_cluster_that_are_worth_less_do_not_come_forward() -> None:
    run = run_of(*(_answer(f"q{n}", result="b", cause="distinct") for n in range(3)), _answer("q3", result="b"))
    other = run_of(
        _answer("q0", result="b"), _answer("q1", result="b"), _answer("q2", "correct"), _answer("q3", result="c")
    )
    queue = review_queue(run, others=[other])
    assert [queued.case_id for queued in queue] == ["q0", "q1", "q3", "q2"]
    assert queue[3].cluster == queue[0].cluster


def test_reviewed_cases_are_left_out_and_open_ones_say_what_happened() -> None:
    run = run_of(*(_answer(f"q{n}", result=f"r{n}") for n in range(6)))
    case, answer = [evidence.case for evidence in run.evidence], run.evidence
    stale = replace(review_of(case[2], "confirm", answer[2]), gold_hash="other")
    reviews = [
        review_of(case[0], "confirm", answer[0]),
        review_of(case[1], "unsure", answer[1], note="which year?"),
        stale,
        review_of(case[3], "accept", answer[3]),
        review_of(case[3], "reject", answer[3], reviewer="Ben"),
        review_of(case[4], "accept", evidence_of(case[4], "SELECT 77", result="r77")),
    ]
    queue = {queued.case_id: queued for queued in review_queue(run, reviews)}
    assert list(queue) == ["q2", "q3", "q1", "q4", "q5"]
    assert queue["q4"].why[0] == "Ana accepted another answer to the question."
    assert queue["q1"].why[0] == "Ana was not sure: which year?"
    assert queue["q2"].why[0] == "The gold changed since Ana's review."
    assert queue["q3"].why[0] == "Ana and Ben do not agree."
    undo = review_of(case[0], "undo", undoes=reviews[0].id)
    assert "q0" in _ids(run, [*reviews, undo])


def test_of_several_answers_to_a_question_the_most_doubtful_is_queued() -> None:
    def repeat(number: int, outcome: str) -> Evidence:
        made = _answer("q1", outcome, result=None if outcome == "correct" else "b")
        return replace(made, prediction=replace(made.prediction, repeat=number))

    (queued,) = review_queue(run_of(repeat(0, "correct"), repeat(1, "incorrect"), repeat(2, "correct")))
    assert (queued.index, queued.repeat) == (1, 1)


def test_no_evidence_is_decoded_but_that_of_cases_with_reviews() -> None:
    run = run_of(*(_answer(f"q{n}", result=f"r{n}") for n in range(5)))
    read: list[int] = []

    class Watched(tuple[Evidence, ...]):
        __slots__ = ()

        def __getitem__(self, place: Any) -> Any:
            read.append(place)
            return super().__getitem__(place)

        def __iter__(self) -> Any:
            raise AssertionError("all evidence is read")

    watched = replace(run, evidence=Watched(run.evidence))
    assert len(_ids(watched)) == 5
    assert read == []
    assert len(_ids(watched, [review_of(run.evidence[2].case, "confirm", run.evidence[2])])) == 4
    assert set(read) == {2}


def _timed(seconds: Sequence[int], reviewer: str = "Ana") -> list[Review]:
    case = case_of()
    return [
        replace(
            review_of(case, "confirm", reviewer=reviewer),
            case_id=f"q{number}",
            at=f"2026-01-01T{at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}Z",
        )
        for number, at in enumerate(seconds)
    ]


def test_a_budget_takes_as_many_cases_as_fit_at_the_measured_pace() -> None:
    run = run_of(*(_answer(f"x{n}", result=f"r{n}") for n in range(50)))
    assert len(_ids(run, minutes=10)) == 10  # a minute each, as long as nothing is known
    steady = _timed(range(0, 20 * 20, 20))
    assert (pace(steady).seconds, pace(steady).reviews) == (20, 20)
    assert len(_ids(run, steady, minutes=10)) == 30
    assert len(_ids(run, minutes=0.1)) == 1


def test_pauses_and_second_thoughts_are_not_the_time_of_a_case() -> None:
    paused = _timed([*range(0, 300, 30), *range(7200, 7500, 30)])
    assert pace(paused).seconds == 30
    twice = [one for review in _timed(range(0, 600, 30)) for one in (review, replace(review, id=f"{review.id}x"))]
    assert pace(twice).seconds == 30
    together = [*_timed(range(0, 600, 30)), *_timed(range(7, 607, 30), "Ben")]
    assert pace(together).seconds == 30
    assert pace([*_timed(range(0, 600, 30)), replace(paused[0], at="yesterday")]).seconds == 30
    assert pace([]).reviews == 0


def test_progress_counts_the_cases_of_the_queue() -> None:
    run = run_of(*(_answer(f"q{n}", result=f"r{n}") for n in range(4)))
    queue = review_queue(run)
    since = [
        review_of(run.evidence[0].case, "confirm"),
        review_of(run.evidence[1].case, "unsure"),
        review_of(case_of(id="elsewhere"), "confirm"),
    ]
    done = progress(queue, since, seconds=30)
    assert (done.reviewed, done.left, done.seconds_left) == (1, 3, 90)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_odds_rise_with_systems_that_agree_and_fall_with_all_others(right: int, shared: int, different: int) -> None:
    odds = Votes(right=right, shared=shared, different=different).odds
    assert odds >= 0
    assert Votes(right=right, shared=shared + 1, different=different).odds > odds
    if shared:
        assert Votes(right=right, shared=shared, different=different + 1).odds < odds
        assert Votes(right=right + 1, shared=shared, different=different).odds < odds


def test_a_queue_overwrites_nothing_but_a_queue(tmp_path: Path) -> None:
    draw = draw_of()
    queue = [QueuedAnswer(case_id="q1", question_hash="h", query="SELECT 1", draw=draw)]
    review = review_of(case_of(), "accept", draw=draw)
    others = {
        "reviews.jsonl": msgspec.json.encode(review) + b"\n",
        "answers.jsonl": b'{"id": "q1", "question": "?", "sql": "SELECT 1"}\n',
        "notes.txt": b"to do\n",
    }
    for name, content in others.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match="is not a queue: write the queue into another file"):
            write_queue(tmp_path / name, queue)
        assert (tmp_path / name).read_bytes() == content
    with pytest.raises(InputError, match="is not a regular file"):
        write_queue(tmp_path, queue)
    for _ in range(2):
        write_queue(tmp_path / "queue.jsonl", queue)
        assert read_queue(tmp_path / "queue.jsonl") == queue
