"""The kit for authors of plug-ins: what Assay has itself passes it, and each check finds the fault that it is for."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay import CaseFileError, Failure, InputError, Prediction, Score, registry
from assay.cases.tables.formats import JsonLinesFormat
from assay.model import Case, FieldNames, Run
from assay.ports import LoadedPredictions
from assay.systems.options import SystemOptions
from assay.testing.conformance import (
    FORMAT_CHECKS,
    METRIC_CHECKS,
    REPORT_CHECKS,
    SYSTEM_CHECKS,
    Check,
    FormatAdapter,
    Gap,
    MetricAdapter,
    ReportAdapter,
    SystemAdapter,
    conform,
)
from many_cases import each

FAILED = Failure(stage="score", kind="unscorable", blame="gold", message="there is nothing to score")
LINES = (
    '{"id": "q1", "question": "How many?", "gold_sql": "SELECT 1", "predicted_sql": "SELECT 2"}\n'
    '{"id": "q2", "question": "Who?", "gold_sql": "SELECT 3", "predicted_sql": "SELECT 4"}\n'
)


def fails(checks: tuple[Check[Any], ...], adapter: Any) -> dict[str, str]:
    """The checks that do not pass, with what they say."""
    found = {}
    for check in checks:
        try:
            conform(adapter, check)
        except AssertionError as error:
            found[check.name] = str(error)
    return found


def held(checks: tuple[Check[Any], ...], adapter: Any, check: str, said: str) -> None:
    """A fault is found by the check that is for it, which says so."""
    found = fails(checks, adapter)
    assert said in found.get(check, ""), found


# Metrics


@each("check", METRIC_CHECKS, ids=str)
def test_assays_own_metrics_pass(check: Check[MetricAdapter]) -> None:
    for name in registry.registered("assay.metrics"):
        conform(MetricAdapter(metric=registry.load("assay.metrics", name)), check)


class Good:
    """1 where the counts of rows are equal."""

    name = "good"
    binary = True

    def requests(self, case: Any, prediction: Any) -> Any:
        return ()

    def score(self, case: Any, prediction: Any, executions: Any, comparison: Any) -> Any:
        golds = [gold.result for gold in executions.golds if gold.result is not None]
        failure = prediction.failure or (executions.predicted and executions.predicted.failure)
        if not golds or (failure and failure.blame != "system"):
            return Score(metric=self.name, value=None, failure=FAILED)
        return Score(metric=self.name, value=self.value(case, golds, executions.predicted))

    def value(self, case: Any, golds: Any, predicted: Any) -> float:
        rows = predicted.result.rows if predicted is not None and predicted.result is not None else None
        return float(rows is not None and any(len(gold.rows) == len(rows) for gold in golds))


def but(base: type, **changed: Any) -> Any:
    """The class with other attributes and methods."""
    return type(base.__name__, (base,), changed)


def rows_in(predicted: Any) -> float | None:
    return float(len(predicted.result.rows)) if predicted is not None and predicted.result is not None else None


def valued(value: Callable[[Case, Any], float], **changed: Any) -> Any:
    """A metric with this value of a case and the execution of its prediction."""
    return but(Good, **{"binary": False, **changed}, value=lambda self, case, golds, predicted: value(case, predicted))


def scored(score: Callable[[Any, Any], Any]) -> Any:
    """The good metric, with this score of a prediction and executions unless it is None."""
    return but(Good, score=lambda self, case, *given: score(*given[:2]) or Good.score(self, case, *given))


ZERO, ABSENT = Score(metric="good", value=0.0), Score(metric="good", value=None, failure=FAILED)
DROPS_FAILURES = scored(lambda _, executions: None if rows_in(executions.predicted) is not None else ABSENT)


def remembers() -> Any:
    numbers = count()
    return valued(lambda _, predicted: -1.0 if rows_in(predicted) is None else float(next(numbers)))()


@each(
    ("metric", "check", "said"),
    [
        (but(Good, name="two words"), "it_says_what_it_is", "'two words' cannot be used in a list of names"),
        (but(Good, binary=False, lowest=1, highest=0), "it_says_what_it_is", "from 1.0 to 0.0"),
        (but(Good), "workers_can_load_it", "define the class at the top of a module"),
        (valued(lambda _, predicted: len(predicted.result.rows)), "every_case_has_a_score", "raised AttributeError"),
        (valued(lambda *_: 7.0, lowest=0, highest=1), "every_case_has_a_score", "7.0 is above the highest, 1"),
        (valued(lambda *_: 0.5, binary=True), "every_case_has_a_score", "neither 0 nor 1"),
        (scored(lambda *_: 1.0), "every_case_has_a_score", "gave float where an assay.Score belongs"),
        (
            but(Good, score=lambda self, *given: replace(Good.score(self, *given), failure=None)),
            *("absence_has_a_reason", "no Failure says why"),
        ),
        (
            scored(lambda _, executions: None if any(gold.result for gold in executions.golds) else ZERO),
            *("a_broken_gold_scores_nobody", "not the system's failure"),
        ),
        (
            scored(lambda prediction, _: prediction.failure and ZERO),
            *("misfortune_scores_nobody", "not the answer's fault"),
        ),
        (DROPS_FAILURES, "failing_answers_count", "leave the rate"),
        (
            valued(lambda _, predicted: rows_in(predicted) or 0.0, higher_is_better=False),
            *("failing_answers_count", "0.0 is better than the gold query's own text, which has 3.0"),
        ),
        (remembers, "the_same_case_has_the_same_score", "scored again"),
        (
            valued(
                lambda case, predicted: 0.0 if rows_in(predicted) is None else float(len(case.question)),
                depends_on_queries_only=True,
            ),
            *("it_depends_on_what_it_says", "another question and times"),
        ),
        (
            but(Good, requests=lambda *_: ("SELECT 1",)),
            *("it_asks_for_queries", "contains values that are not QueryRequests"),
        ),
        (but(Good, timed=lambda *_: ZERO), "times_are_scored", "where a TimedScore belongs"),
    ],
)
def test_a_wrong_metric_is_found(metric: Callable[[], Any], check: str, said: str) -> None:
    held(METRIC_CHECKS, MetricAdapter(metric=metric), check, said)


def test_a_gap_must_show_as_it_says() -> None:
    def conforms(metric: Any, shows: str) -> Gap | None:
        gap = Gap(whose="ours", why="later", shows=shows)
        (check,) = [check for check in METRIC_CHECKS if check.name == "failing_answers_count"]
        return conform(MetricAdapter(metric=metric, gaps={check.name: gap}), check)

    assert conforms(DROPS_FAILURES, "leave the rate").whose == "ours"
    with pytest.raises(AssertionError, match="leave the rate"):
        conforms(DROPS_FAILURES, "something else")
    with pytest.raises(AssertionError, match="the gap is closed"):
        conforms(Good, "")


# Reports


@pytest.mark.parametrize("name", ["json", "junit", "md", "html", "xlsx"])
def test_assays_own_reports_pass(name: str) -> None:
    adapter = ReportAdapter(reporter=registry.load("assay.reports", name), lists_cases=name in ("json", "junit"))
    assert fails(REPORT_CHECKS, adapter) == {}


class Ids:
    name = "ids"
    suffix = ".txt"
    drawn = count()

    def render(self, run: Run) -> Any:
        return "".join(f"{item.case.id}\n" for item in run.evidence).encode()


def drawn(render: Callable[[Run], Any], suffix: str = ".txt") -> Any:
    """A reporter that gives this, and as bytes if it is a text."""

    def encoded(self: Ids, run: Run) -> Any:
        report = render(run)
        return report.encode("utf-8", "replace") if isinstance(report, str) else report

    return but(Ids, suffix=suffix, render=encoded)


def ids(run: Run) -> str:
    return Ids().render(run).decode()


def questions(run: Run, form: str, *, without: str = "\0") -> str:
    asked = [item.case.question for item in run.evidence if without not in item.case.question]
    return "".join(form.format(question) for question in asked)


def right_ones(run: Run) -> str:
    return "\n".join(item.case.id for item in run.evidence if item.outcome != "unscored") or "none"


def sheet(run: Run) -> str:
    asked = [(item.case.id, item.case.question.replace('"', '""')) for item in run.evidence]
    return "".join(f'{id_},"{question}"\n' for id_, question in asked)


@each(
    ("reporter", "check", "said"),
    [
        (but(Ids, suffix="txt"), "it_says_what_it_is", "its suffix is 'txt'"),
        (drawn(lambda run: questions(run, "{}").encode()), "every_run_is_drawn", "UnicodeEncodeError"),
        (
            drawn(lambda run: str(run.aggregates.correct / (run.aggregates.correct + run.aggregates.incorrect))),
            *("every_run_is_drawn", "ZeroDivisionError"),
        ),
        (but(Ids, render=lambda self, run: ids(run)), "every_run_is_drawn", "gave str where bytes belong"),
        (drawn(lambda run: b""), "every_run_is_drawn", "is empty"),
        (
            drawn(lambda run: str(next(Ids.drawn))),
            "the_same_run_is_the_same_report",
            "drawn again it is another report",
        ),
        (
            but(Ids, pieces=lambda self, run: iter([self.render(run)[:-1]])),
            *("pieces_make_the_whole", "not what render() gives"),
        ),
        (
            drawn(lambda run: questions(run, "<p>{}</p>") + ids(run), ".html"),
            *("strangers_texts_stay_texts", "a question's <script> is markup"),
        ),
        (
            drawn(lambda run: f"<run>{questions(run, '<p>{}</p>', without='<')}{ids(run)}</run>", ".xml"),
            *("strangers_texts_stay_texts", "read as XML: raised ParseError"),
        ),
        (
            drawn(lambda run: f"{{{ids(run)}}}", ".json"),
            *("strangers_texts_stay_texts", "read as JSON: raised JSONDecodeError"),
        ),
        (drawn(sheet, ".csv"), "strangers_texts_stay_texts", "a spreadsheet runs the cell '=HYPERLINK"),
        (drawn(right_ones), "every_case_is_there", "cases are missing, for example case-2"),
    ],
)
def test_a_wrong_report_is_found(reporter: Callable[[], Any], check: str, said: str) -> None:
    held(REPORT_CHECKS, ReportAdapter(reporter=reporter, lists_cases=True), check, said)


# Case formats


class Own(JsonLinesFormat):
    """A format of its own suffix."""

    name = "own"

    def recognises(self, path: Path) -> bool:
        return path.suffix == ".own"


def read_otherwise(change: Callable[[Case], Case]) -> Any:
    """A format whose cases are changed so."""
    return but(Own, cases=lambda self, *given: [change(case) for case in Own.cases(self, *given)])


def strays(self: Own, *given: Any) -> Any:
    loaded = Own.predictions(self, *given)
    return replace(loaded, predictions=[replace(one, case_id="x" + one.case_id) for one in loaded.predictions])


def naive(self: Own, path: Path, fields: FieldNames) -> Any:
    """Reads as a first draft does."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Case(id=line["id"], question=line["question"], golds=(line["gold_sql"],), origin="1") for line in lines]


def vague(self: Own, *given: Any) -> Any:
    try:
        return Own.cases(self, *given)
    except CaseFileError:
        raise CaseFileError("the file is no good") from None


ANSWERLESS = LoadedPredictions(predictions=[Prediction(case_id="q1", origin="line 1")])
NUMBERS = count()


def of_files(folder: Path, format: Callable[[], Any]) -> FormatAdapter:
    for name in ("cases.own", "answers.own"):
        (folder / name).write_text(LINES, encoding="utf-8")
    return FormatAdapter(format=format, cases=folder / "cases.own", predictions=folder / "answers.own")


@each("name", ["jsonl", "json", "csv", "yaml"])
def test_assays_own_formats_of_tables_pass_but_for_one_check(tmp_path: Path, name: str) -> None:
    texts = {
        "jsonl": LINES,
        "json": json.dumps([json.loads(line) for line in LINES.splitlines()]),
        "yaml": "".join(f"- {line}\n" for line in LINES.splitlines()),
        "csv": "id,question,gold_sql,predicted_sql\nq1,How many?,SELECT 1,SELECT 2\nq2,Who?,SELECT 3,SELECT 4\n",
    }
    for file in ("cases", "answers"):
        (tmp_path / f"{file}.{name}").write_text(texts[name], encoding="utf-8")
    adapter = FormatAdapter(
        format=registry.load("assay.cases", name),
        cases=tmp_path / f"cases.{name}",
        predictions=tmp_path / f"answers.{name}",
    )
    found = fails(FORMAT_CHECKS, adapter)
    assert found.keys() == {"it_leaves_other_files_alone"}  # it takes any file with its suffix


@each(
    ("format", "check", "said"),
    [
        (but(Own, recognises=lambda *_: False), "it_knows_its_files", "does not recognise it"),
        (
            but(Own, recognises=lambda _, path: path.is_file()),
            *("it_leaves_other_files_alone", "cases.jsonl has another layout"),
        ),
        (
            but(Own, recognises=lambda _, path: path.suffix == ".own" and "question" in path.read_text("utf-8")),
            *("it_leaves_other_files_alone", "raised UnicodeDecodeError"),
        ),
        (read_otherwise(lambda case: replace(case, id="q")), "cases_are_whole", "an id occurs twice"),
        (read_otherwise(lambda case: replace(case, origin=None)), "cases_are_whole", "where the case q1 stands"),
        (read_otherwise(lambda case: replace(case, golds=())), "cases_are_whole", "the case q1 has no gold"),
        (but(Own, predictions=lambda *_: ANSWERLESS), "predictions_are_whole", "contains no answer"),
        (but(Own, predictions=strays), "predictions_are_whole", "predictions match no case: ['xq1', 'xq2']"),
        (
            read_otherwise(lambda case: replace(case, id=f"{next(NUMBERS)}")),
            *("reading_again_gives_the_same", "read again"),
        ),
        (but(Own, cases=naive), "how_lines_end_does_not_matter", "a byte order mark"),
        (
            but(
                Own, predictions=lambda self, path, fields: Own.predictions(self, path, replace(fields, encoding=None))
            ),
            *("a_named_encoding_is_taken", "answers.own in UTF-16"),
        ),
        (but(Own, cases=naive), "damage_is_told", "raised JSONDecodeError"),
        (but(Own, cases=vague), "damage_is_told", "does not name the file"),
    ],
)
def test_a_wrong_format_is_found(tmp_path: Path, format: Callable[[], Any], check: str, said: str) -> None:
    held(FORMAT_CHECKS, of_files(tmp_path, format), check, said)


# Systems


class Echo:
    """Answers with the length of the question."""

    name = "echo"
    opened = count()

    def describe(self) -> str:
        return "echo"

    def answer(self, case: Case) -> Any:
        return Prediction(case_id=case.id, query=f"SELECT {len(case.question)}")

    def close(self) -> None:
        pass


def answering(answer: Callable[[Case], Any]) -> Any:
    """A system that gives this, and the good answer in place of None."""
    return but(Echo, answer=lambda self, case: answer(case) or Echo.answer(self, case))


def fragile(case: Case) -> None:
    case.question.encode()


def chatty(case: Case) -> Prediction | None:
    why = Failure(stage="ask", kind="ask_failed", blame="system", message="it is\nblank")
    return None if case.question.strip() else Prediction(case_id=case.id, failure=why)


def historic(case: Case) -> None:
    if case.history:
        raise NotImplementedError("no conversations")


def changing() -> Any:
    number = next(Echo.opened)
    return but(Echo, describe=lambda self: f"echo number {number}")()


def wandering() -> Any:
    calls = count()
    return answering(lambda case: Prediction(case_id=case.id, query=f"SELECT {next(calls)}"))()


def untravelled(case: Case) -> Prediction:
    explanation: Any = (word for word in ("no", "text"))
    return Prediction(case_id=case.id, query="SELECT 1", explanation=explanation)


class Shared(Echo):
    """Keeps the case that it is at in itself."""

    last: Case | None = None

    def answer(self, case: Case) -> Any:
        first, self.last = self.last, self.last or case
        return super().answer(first or case)


class ClosedOnce(Echo):
    open = True

    def close(self) -> None:
        assert self.open, "closed twice"
        self.open = False


def absent() -> Any:
    raise InputError("there is no such echo")


def of_system(system: Callable[[], Any], unusable: Callable[[], Any] = absent) -> SystemAdapter:
    questions = ("How many are there?", "Who is it?")
    return SystemAdapter(open=system, unusable=unusable, questions=questions, secrets=("t0ps3cret",))


def test_what_is_right_passes(tmp_path: Path) -> None:
    assert fails(METRIC_CHECKS, MetricAdapter(metric=Good)) == {}
    assert fails(REPORT_CHECKS, ReportAdapter(reporter=Ids, lists_cases=True)) == {}
    assert fails(FORMAT_CHECKS, of_files(tmp_path, Own)) == {}
    assert fails(SYSTEM_CHECKS, of_system(Echo)) == {}
    adapter = of_system(
        lambda: registry.open_system("python:html:escape", SystemOptions()),
        lambda: registry.open_system("python:html:escap", SystemOptions()),
    )
    assert fails(SYSTEM_CHECKS, adapter) == {}


@each(
    ("system", "check", "said"),
    [
        (
            but(Echo, describe=lambda self: "echo with the token t0ps3cret"),
            *("it_says_what_it_is", "shows a secret"),
        ),
        (changing, "it_says_what_it_is", "opened again"),
        (answering(lambda case: "SELECT 1"), "it_answers_questions", "gave str where a Prediction belongs"),
        (answering(lambda case: Prediction(case_id=case.id)), "it_answers_questions", "no Failure says why"),
        (answering(fragile), "odd_questions_are_one_answer_each", "raised UnicodeEncodeError"),
        (answering(chatty), "odd_questions_are_one_answer_each", "has several lines"),
        (answering(historic), "conversations_are_taken", "raised NotImplementedError"),
        (Shared, "several_ask_at_once", "the answer's case_id"),
        (wandering, "several_ask_at_once", "asked among others"),
        (answering(untravelled), "answers_travel", "cannot pickle"),
        (ClosedOnce, "closing_twice_is_harmless", "closed twice"),
    ],
)
def test_a_wrong_system_is_found(system: Callable[[], Any], check: str, said: str) -> None:
    held(SYSTEM_CHECKS, of_system(system), check, said)


def test_a_system_that_takes_questions_without_being_there_is_found() -> None:
    held(SYSTEM_CHECKS, of_system(Echo, Echo), "what_is_unusable_is_said", "counted against it")
    held(SYSTEM_CHECKS, of_system(Echo, lambda: 1 // 0), "what_is_unusable_is_said", "raised ZeroDivisionError")
