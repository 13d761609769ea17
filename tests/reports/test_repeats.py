"""What reports draw of a run that asked each question several times, built by hand."""

from __future__ import annotations

from counted import counted
from handmade import SETTINGS, Named, make_run
from msgspec.structs import replace

from assay.model import Case, Evidence, Prediction, Run, Score, Verdict
from assay.reports.blocks.repeats import shown_rates
from assay.reports.blocks.run import RunReport
from assay.reports.blocks.run_numbers import differing
from assay.reports.console.run import plain_summary
from assay.reports.markdown.run import MarkdownReporter
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.aggregate.totals import aggregate
from drawing import draw_summary


def answer(name: str, repeat: int, *, right: bool) -> Evidence:
    one = float(right)
    return Evidence(
        case=Case(id=name, question=f"question {name}?", golds=("SELECT 1",)),
        prediction=Prediction(case_id=name, query="SELECT 1", repeat=repeat),
        verdict=Verdict(outcome="correct" if right else "incorrect", reason="because"),
        # The two disagree now in the one direction, now in the other.
        scores=(Score(metric="match", value=one), Score(metric="bird_ex", value=1 - one)),
    )


def run_of(repeats: int) -> Run:
    evidence = tuple(answer(name, n, right=n % (place + 1) == 0) for place, name in enumerate("abc")
                     for n in range(repeats))  # fmt: skip
    metrics = (Named("match"), Named("bird_ex"))
    made = make_run(
        evidence, metrics=metrics, settings=replace(SETTINGS, metrics=("match", "bird_ex"), repeats=repeats)
    )
    return replace(made, aggregates=aggregate(summaries_of(evidence), metrics, repeats=repeats))


def test_of_many_answers_a_few_k_are_shown_and_the_last() -> None:
    for asked, shown in ((3, [1, 2, 3]), (10, list(range(1, 11))), (12, [1, 2, 3, 5, 10, 12])):
        totals = run_of(asked).aggregates.repeats
        assert totals is not None
        assert [one.k for one in shown_rates(totals)] == shown


def test_a_question_on_which_metrics_differ_both_ways_is_named_twice_and_counted_once() -> None:
    view = RunReport(run_of(4))
    row = next(row for row in view.disagreements if {row.first, row.second} == {"match", "bird_ex"})
    assert row.only_first == ("a", "b", "c")
    assert row.only_second == ("b", "c")
    assert differing(row) == 3


def test_links_of_a_case_lead_to_its_first_answer_and_each_answer_has_its_own_place() -> None:
    run = run_of(3)
    view = RunReport(run)
    cases = [view.case(item, view.room()) for item in run.evidence]
    assert [(case.anchor, case.answer) for case in cases[3:6]] == [
        ("b", "answer 1 of 3"),
        ("b~2", "answer 2 of 3"),
        ("b~3", "answer 3 of 3"),
    ]
    flaky = next(row for row in counted(view) if row.name == "flaky")
    assert [(link.id, link.anchor, link.answer) for link in flaky.cases] == [("b", "b", ""), ("c", "c", "")]


def test_a_comment_shows_one_wrong_answer_a_question() -> None:
    text = MarkdownReporter().render(run_of(4)).decode()
    assert text.count("<summary>b, answer") == 1
    assert text.count("<summary>c, answer") == 1
    assert "2 more are in the HTML and JSON reports." in text


def test_the_terminal_has_the_table_at_any_width() -> None:
    run = run_of(3)
    for width in (50, 80, 140):
        drawn = draw_summary(run, width=width)
        assert "pass^k" in drawn
        assert all(len(line) <= width for line in drawn.splitlines())
    assert "asked 3 times each: 1 stable right, 0 stable wrong, 2 flaky" in plain_summary(RunReport(run))
