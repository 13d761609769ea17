"""Questions without an answer and conversations, from the verdict to the run's numbers, its folder and its reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from msgspec.structs import replace

import assay
from assay import Run, evaluate, load_run
from assay.cli.app import run_command_line
from assay.errors import InputError, UsageError
from assay.model import Aggregates, Case, Decision, Exchange, Gates, Given, MetricInfo, Prediction
from assay.runs.aggregate.totals import aggregate

GOLD = "SELECT a FROM t"
ANSWERS: dict[str, dict[str, Any]] = {
    "right": {"query": GOLD},
    "wrong": {"query": "SELECT 0"},
    "decline": {"query": GOLD, "decision": "decline"},
    "null": {"query": "null"},
    "clarify": {"decision": "clarify"},
    "nothing": {},
}
EXPECTED: tuple[Decision, ...] = ("answer", "decline", "clarify")


def case_of(id_: str, expects: Decision = "answer", **more: Any) -> Case:
    golds = (GOLD,) if expects == "answer" else ()
    return Case(id=id_, question=f"question {id_}", golds=golds, expects=expects, **more)


@pytest.fixture
def judged(make_sqlite: Callable[..., Path]) -> Callable[..., Run]:
    database = f"sqlite:///{make_sqlite('CREATE TABLE t(a); INSERT INTO t VALUES (1), (2);')}"

    def run(cases: list[Case], predictions: Any, **more: Any) -> Run:
        return evaluate(cases, predictions, databases=database, workers=1, **{"metrics": ["match", "bird_ex"], **more})

    return run


@pytest.fixture
def every(judged: Callable[..., Run]) -> Callable[..., Run]:
    """A run of every kind of answer to every kind of question."""

    def run(**more: Any) -> Run:
        cases, predictions = [], []
        for expects in EXPECTED:
            for number, (name, answer) in enumerate(ANSWERS.items()):
                cases.append(case_of(f"{expects} {name}", expects))
                sure = (number + 1) / 10 if name in ("right", "wrong") else None
                predictions.append(Prediction(case_id=cases[-1].id, confidence=sure, **answer))
        return judged(cases, predictions, **more)

    return run


def totals_of(run: Run) -> Any:
    found = run.aggregates.reliability
    assert found is not None
    return found


def test_every_answer_to_every_question_has_its_verdict(every: Callable[..., Run]) -> None:
    run = every()
    right = {"answer right", "decline decline", "decline null", "clarify clarify"}
    assert {item.case.id for item in run.evidence if item.outcome == "correct"} == right
    assert {item.outcome for item in run.evidence} == {"correct", "incorrect"}
    given: dict[str, Given] = {"right": "answer", "wrong": "answer", "decline": "decline", "null": "decline"}
    for item in run.evidence:
        name = item.case.id.split()[1]
        assert item.verdict.decision == (None if name in ("right", "wrong", "nothing") else given.get(name, "clarify"))
        assert (item.verdict.failure is None) == (item.outcome == "correct" or item.case.id == "answer wrong")
        assert (match := item.score("match")) is not None
        assert match.value == (item.outcome == "correct")
        assert (other := item.score("bird_ex")) is not None
        assert (other.value is None) == (item.case.expects != "answer")
        # What must not be answered is not executed, nor what stands beside a refusal.
        executed = name in ("right", "wrong") and item.case.expects == "answer"
        assert (item.predicted_execution is not None) == executed


def test_the_numbers_are_those_of_their_definitions(every: Callable[..., Run]) -> None:
    found = totals_of(every(penalties=[3]))
    assert (found.answerable, found.unanswerable, found.ambiguous) == (6, 6, 6)
    assert (found.coverage.numerator, found.coverage.n) == (6, 18)
    assert (found.accuracy.numerator, found.accuracy.n) == (1, 6)
    assert (found.declined_rightly.numerator, found.declined_rightly.n) == (2, 6)
    assert (found.found_unanswerable.numerator, found.found_unanswerable.n) == (2, 6)
    assert [(score.name, score.rate.value) for score in found.scores] == [
        ("RS(3)", pytest.approx((4 - 3 * 5) / 18)),
        ("RS(N)", pytest.approx((4 - 18 * 5) / 18)),
    ]
    assert sum(one.count for one in found.decisions) == 18
    sure = found.confidence
    assert (sure.n, sure.without) == (6, 0)
    assert [(point.threshold, point.answered, point.wrong) for point in sure.curve] == [(0.2, 3, 3), (0.1, 6, 5)]
    # Declining what is less sure than 0.2 makes one more question without an answer right.
    assert sure.curve[0].scores[0] == pytest.approx((3 + 1 - 3 * 3) / 18)
    assert sure.curve[1].scores[0] == pytest.approx(found.scores[0].rate.value)


def test_each_point_of_the_curve_is_the_run_that_holds_the_others_back(judged: Callable[..., Run]) -> None:
    """Those without a confidence, too: declining them is right where the question has no answer."""
    sure = (None, 0.2, 0.5, 0.5, 0.9)
    cases = [case_of(f"{expects} {at}", expects) for expects in EXPECTED for at in range(2 * len(sure))]
    answers = [
        Prediction(case_id=case.id, query=GOLD if at % 2 else "SELECT 0", confidence=sure[at // 2])
        for case, at in zip(cases, [*range(2 * len(sure))] * len(EXPECTED), strict=True)
    ]
    found = totals_of(judged(cases, answers, metrics=["match"], penalties=[3])).confidence
    for point in found.curve:
        held = [
            one if (one.confidence or 0.0) >= point.threshold else replace(one, decision="decline") for one in answers
        ]
        beside = totals_of(judged(cases, held, metrics=["match"], penalties=[3]))
        assert point.scores == pytest.approx([score.rate.value for score in beside.scores])
        assert (point.coverage, point.risk) == pytest.approx((beside.coverage.value, 1 - beside.accuracy.value))


def test_without_such_questions_there_are_no_such_numbers(judged: Callable[..., Run]) -> None:
    run = judged([case_of("1"), case_of("2")], {"1": GOLD, "2": None})
    assert run.aggregates.reliability is None
    assert run.aggregates.conversations is None
    assert "declin" not in run.summary()


def test_a_broken_gold_leaves_a_refusal_unscored(judged: Callable[..., Run]) -> None:
    broken = replace(case_of("1"), golds=("SELECT nonsense",))
    run = judged([broken, case_of("2", "decline")], {"1": "null", "2": "null"})
    assert [item.outcome for item in run.evidence] == ["unscored", "correct"]
    assert totals_of(run).coverage.unscored == 1


def test_a_stored_run_has_the_same_numbers_and_other_penalties_need_no_judging(
    every: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = every(output=tmp_path / "run")
    assert load_run(tmp_path / "run").aggregates == first.aggregates
    journal = (tmp_path / "run" / "journal.jsonl").read_bytes()
    again = every(output=tmp_path / "run", penalties=[5])
    assert [score.name for score in totals_of(again).scores] == ["RS(5)", "RS(N)"]
    assert (tmp_path / "run" / "journal.jsonl").read_bytes() == journal
    assert load_run(tmp_path / "run").aggregates == again.aggregates
    other = load_run(tmp_path / "run").with_penalties([3, 0])
    assert totals_of(other) == totals_of(every(penalties=[3, 0]))
    assert first.with_penalties([5]).settings.penalties == (5.0,)
    for given in ([-1], [float("nan")]):
        with pytest.raises(UsageError, match="a penalty is"):
            first.with_penalties(given)
    table = tmp_path / "run" / "results.parquet"
    query = f"SELECT expects, given, confidence FROM '{table}' WHERE case_id = 'decline wrong'"
    with duckdb.connect() as connection:
        rows = connection.execute(query).fetchall()
    assert rows == [("decline", "answer", 0.2)]


def test_a_report_takes_penalties_and_a_run_tells_its_rates_by_name(
    every: Callable[..., Run], judged: Callable[..., Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = every(output=tmp_path / "run", repeats=1)
    stored = (tmp_path / "run" / "run.json").read_bytes()
    found = totals_of(run.with_penalties([3]))
    assert run_command_line(["report", str(tmp_path / "run"), "--penalty", "3", "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)["aggregates"]["reliability"]["scores"]
    assert [one["rate"]["value"] for one in told] == [one.rate.value for one in found.scores]
    least = found.scores[0].rate.value
    held = ["report", str(tmp_path / "run"), "--penalty", "3", "--history", str(tmp_path), "--html"]
    assert run_command_line([*held, str(tmp_path / "a.html"), "--min", f"reliability={least}"]) == 0
    assert run_command_line([*held, str(tmp_path / "b.html"), "--min", f"reliability={least + 0.01}"]) == 1
    assert (tmp_path / "run" / "run.json").read_bytes() == stored
    rates = {"coverage": "coverage", "selective_accuracy": "accuracy"}
    assert {name: run.rate(name) for name in rates} == {name: getattr(totals_of(run), of) for name, of in rates.items()}
    assert run.with_penalties([3]).rate("reliability") == found.scores[0].rate
    assert run.rate("interaction_match") is None
    plain = judged([case_of("a")], {"a": GOLD})
    assert plain.rate("coverage") is None
    with pytest.raises(UsageError, match="did you mean 'coverage'"):
        plain.rate("covrage")
    with pytest.raises(UsageError, match="no reliability score that a penalty would change"):
        plain.with_penalties([1])


@pytest.mark.journey
def test_every_report_shows_them(every: Callable[..., Run], tmp_path: Path) -> None:
    run = every(output=tmp_path / "run")
    for name in ("html", "md", "xlsx", "json", "junit"):
        run.report(tmp_path / f"report.{name}", format=name)
    assert "accuracy when answered" in run.summary(full=True)
    assert "RS(N)" in (tmp_path / "report.md").read_text()
    assert '<svg class="curve"' in (tmp_path / "report.html").read_text()
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["aggregates"]["reliability"]["coverage"]["n"] == 18
    assert {case["case"]["expects"] for case in document["cases"]} == set(EXPECTED)


def test_gates_on_these_rates(every: Callable[..., Run]) -> None:
    run = every()
    wanted = {
        ("coverage", 0.3): True,
        ("coverage", 0.4): False,
        ("selective_accuracy", 0.1): True,
        ("reliability", -5.0): True,
        ("reliability", 0.0): False,
        ("interaction_match", 0.0): False,
    }
    for minimum, passed in wanted.items():
        (result,) = run.check(Gates(minimum=(minimum,)))
        assert result.passed == passed, minimum


def test_gates_and_penalties_that_cannot_be(every: Callable[..., Run]) -> None:
    run = every()
    with pytest.raises(InputError, match="did you mean 'coverage'"):
        run.check(Gates(minimum=(("coverag", 0.5),)))
    with pytest.raises(UsageError):
        run.check(Gates(minimum=(("coverage", 1.5),)))
    with pytest.raises(UsageError, match="penalty"):
        every(penalties=[-1])


def talk(count: int, name: str = "t") -> list[Case]:
    return [
        case_of(
            f"{name}-{turn}",
            conversation=name,
            turn=turn,
            history=tuple(Exchange(question=f"question {name}-{before}") for before in range(1, turn)),
        )
        for turn in range(1, count + 1)
    ]


def test_a_conversation_is_right_where_every_turn_is(judged: Callable[..., Run]) -> None:
    cases = [*talk(2, "a"), *talk(3, "b"), *talk(1, "c"), case_of("alone")]
    broken = replace(cases[5], golds=("SELECT nonsense",))
    answers = {case.id: GOLD for case in cases} | {"b-2": "SELECT 0", "b-3": "SELECT 0"}
    run = judged([*cases[:5], broken, *cases[6:]], answers)
    found = run.aggregates.conversations
    assert (found.conversations, found.turns, found.failed) == (3, 6, ("b",))
    assert (found.whole.numerator, found.whole.n, found.whole.unscored) == (1, 2, 1)
    assert [(turn, rate.numerator, rate.n) for turn, rate in found.by_turn] == [(1, 2, 2), (2, 1, 2), (3, 0, 1)]
    assert found.first_wrong == ((2, 1),)
    assert "all turns right" in run.summary(full=True)
    assert run.check(Gates(minimum=(("interaction_match", 0.5),)))[0].passed


def test_a_stored_run_gives_the_same_numbers(
    every: Callable[..., Run], judged: Callable[..., Run], tmp_path: Path
) -> None:
    talks = judged([*talk(2, "a"), *talk(2, "b")], {"a-1": GOLD, "a-2": GOLD, "b-1": GOLD, "b-2": "SELECT 0"})
    for name, run in (("every", every()), ("talks", talks)):
        run.save(tmp_path / name)
        stored = assay.load_run(tmp_path / name).record
        again: Aggregates = aggregate(stored.summaries, [MetricInfo(name="match", binary=True)])
        made = aggregate(run.record.summaries, [MetricInfo(name="match", binary=True)])
        assert again.reliability == made.reliability
        assert again.conversations == made.conversations


def test_two_runs_differ_by_declining(judged: Callable[..., Run]) -> None:
    cases = [case_of("1"), case_of("2", "decline"), *talk(2)]
    first = judged(cases, {"1": GOLD, "2": "SELECT 1", "t-1": GOLD, "t-2": GOLD})
    second = judged(cases, {"1": "null", "2": "null", "t-1": GOLD, "t-2": GOLD})
    diff = assay.diff(first, second)
    changed = {(one.candidate.case_id, one.kind) for one in diff.record.changes if one.kind != "still_right"}
    assert changed == {("1", "broken"), ("2", "fixed")}
    figures = {one.metric: (one.baseline, one.candidate) for one in diff.record.metrics}
    assert figures["coverage"] == (1.0, 0.5)
    assert figures["reliability"] == (pytest.approx((3 - 10) / 4), pytest.approx(3 / 4))
    plain, again = (judged(talk(2), {"t-1": GOLD, "t-2": GOLD}) for _ in range(2))
    assert "coverage" not in {one.metric for one in assay.diff(plain, again).record.metrics}
