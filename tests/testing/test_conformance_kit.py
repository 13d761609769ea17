"""The kit for authors of plug-ins: what Assay has itself passes it, and each check finds the fault that it is for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
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


class NoName(Good):
    name = "two words"


class Backwards(Good):
    binary = False
    lowest, highest = 1, 0


class Raises(Good):
    binary = False

    def value(self, case: Any, golds: Any, predicted: Any) -> float:
        return float(len(predicted.result.rows))


class BeyondRange(Good):
    binary = False
    lowest, highest = 0, 1

    def value(self, case: Any, golds: Any, predicted: Any) -> float:
        return 7.0


class HalfBinary(Good):
    def value(self, case: Any, golds: Any, predicted: Any) -> float:
        return super().value(case, golds, predicted) / 2


class Bare(Good):
    def score(self, case: Any, prediction: Any, executions: Any, comparison: Any) -> Any:
        return 1.0


class Silent(Good):
    def score(self, case: Any, prediction: Any, executions: Any, comparison: Any) -> Any:
        return replace(super().score(case, prediction, executions, comparison), failure=None)


class BlamesTheSystem(Good):
    def score(self, case: Any, prediction: Any, executions: Any, comparison: Any) -> Any:
        if not any(gold.result is not None for gold in executions.golds):
            return Score(metric=self.name, value=0.0)
        return super().score(case, prediction, executions, comparison)


class BlamesTheSystemForTheNetwork(Good):
    def score(self, case: Any, prediction: Any, executions: Any, comparison: Any) -> Any:
        if prediction.failure is not None:
            return Score(metric=self.name, value=0.0)
        return super().score(case, prediction, executions, comparison)


class DropsFailures(Good):
    def score(self, case: Any, prediction: Any, executions: Any, comparison: Any) -> Any:
        if executions.predicted is None or executions.predicted.result is None:
            return Score(metric=self.name, value=None, failure=FAILED)
        return super().score(case, prediction, executions, comparison)


class PaysForFailing(Good):
    binary = False
    higher_is_better = False

    def value(self, case: Any, golds: Any, predicted: Any) -> float:
        return float(len(predicted.result.rows)) if predicted is not None and predicted.result is not None else 0.0


class Remembers(Good):
    binary = False

    def __init__(self) -> None:
        self._count = count()

    def value(self, case: Any, golds: Any, predicted: Any) -> float:
        return float(next(self._count)) if predicted is not None and predicted.result is not None else -1.0


class ReadsTheQuestion(Good):
    depends_on_queries_only = True
    binary = False

    def value(self, case: Any, golds: Any, predicted: Any) -> float:
        return float(len(case.question)) if predicted is not None and predicted.result is not None else 0.0


class AsksForTexts(Good):
    def requests(self, case: Any, prediction: Any) -> Any:
        return ("SELECT 1",)


class BadlyTimed(Good):
    def timed(self, timings: Any) -> Any:
        return Score(metric=self.name, value=1.0)


def local_metric() -> Any:
    class Local(Good):
        pass

    return Local()


def test_a_plain_metric_passes() -> None:
    assert fails(METRIC_CHECKS, MetricAdapter(metric=Good)) == {}


@each(
    ("metric", "check", "said"),
    [
        (NoName, "it_says_what_it_is", "'two words' cannot be used in a list of names"),
        (Backwards, "it_says_what_it_is", "from 1.0 to 0.0"),
        (local_metric, "workers_can_load_it", "define the class at the top of a module"),
        (Raises, "every_case_has_a_score", "raised AttributeError"),
        (BeyondRange, "every_case_has_a_score", "7.0 is above the highest, 1"),
        (HalfBinary, "every_case_has_a_score", "neither 0 nor 1"),
        (Bare, "every_case_has_a_score", "gave float where an assay.Score belongs"),
        (Silent, "absence_has_a_reason", "no Failure says why"),
        (BlamesTheSystem, "a_broken_gold_scores_nobody", "not the system's failure"),
        (BlamesTheSystemForTheNetwork, "misfortune_scores_nobody", "not the answer's fault"),
        (DropsFailures, "failing_answers_count", "leave the rate"),
        (PaysForFailing, "failing_answers_count", "0.0 is better than the gold query's own text, which has 3.0"),
        (Remembers, "the_same_case_has_the_same_score", "scored again"),
        (ReadsTheQuestion, "it_depends_on_what_it_says", "another question and times"),
        (AsksForTexts, "it_asks_for_queries", "contains values that are not QueryRequests"),
        (BadlyTimed, "times_are_scored", "where a TimedScore belongs"),
    ],
)
def test_a_wrong_metric_is_found(metric: Callable[[], Any], check: str, said: str) -> None:
    held(METRIC_CHECKS, MetricAdapter(metric=metric), check, said)


def test_a_gap_must_show_as_it_says() -> None:
    def gap(shows: str) -> dict[str, Gap]:
        return {"failing_answers_count": Gap(whose="ours", why="later", shows=shows)}

    (check,) = [check for check in METRIC_CHECKS if check.name == "failing_answers_count"]
    named = conform(MetricAdapter(metric=DropsFailures, gaps=gap("leave the rate")), check)
    assert named is not None
    assert named.whose == "ours"
    with pytest.raises(AssertionError, match="leave the rate"):
        conform(MetricAdapter(metric=DropsFailures, gaps=gap("something else")), check)
    with pytest.raises(AssertionError, match="the gap is closed"):
        conform(MetricAdapter(metric=Good, gaps=gap("")), check)


# Reports


@pytest.mark.parametrize("name", ["json", "junit", "md"])
def test_assays_own_reports_pass(name: str) -> None:
    adapter = ReportAdapter(reporter=registry.load("assay.reports", name), lists_cases=name != "md")
    assert fails(REPORT_CHECKS, adapter) == {}


@pytest.mark.parametrize("name", ["html", "xlsx"])
def test_assays_own_large_reports_pass(name: str) -> None:
    assert fails(REPORT_CHECKS, ReportAdapter(reporter=registry.load("assay.reports", name))) == {}


class Ids:
    name = "ids"
    suffix = ".txt"
    drawn = 0

    def render(self, run: Run) -> Any:
        return "".join(f"{item.case.id}\n" for item in run.evidence).encode()


class NoSuffix(Ids):
    suffix = "txt"


class Strict(Ids):
    def render(self, run: Run) -> Any:
        return "".join(item.case.question for item in run.evidence).encode()


class Divides(Ids):
    def render(self, run: Run) -> Any:
        return str(run.aggregates.correct / (run.aggregates.correct + run.aggregates.incorrect)).encode()


class Textual(Ids):
    def render(self, run: Run) -> Any:
        return super().render(run).decode()


class Empty(Ids):
    def render(self, run: Run) -> Any:
        return b""


class Counting(Ids):
    def render(self, run: Run) -> Any:
        Counting.drawn += 1
        return str(Counting.drawn).encode()


class Torn(Ids):
    def pieces(self, run: Run) -> Iterator[Any]:
        yield self.render(run)[:-1]


class RightOnes(Ids):
    def render(self, run: Run) -> Any:
        return ("\n".join(item.case.id for item in run.evidence if item.outcome != "unscored") or "none").encode()


class Page(Ids):
    suffix = ".html"

    def render(self, run: Run) -> Any:
        text = "".join(f"<p>{item.case.question}</p>" for item in run.evidence)
        return text.encode("utf-8", "replace") + super().render(run)


class Tags(Ids):
    suffix = ".xml"

    def render(self, run: Run) -> Any:
        inner = "".join(f"<p>{item.case.question}</p>" for item in run.evidence if "<" not in item.case.question)
        return b"<run>" + inner.encode("utf-8", "replace") + super().render(run) + b"</run>"


class Keys(Ids):
    suffix = ".json"

    def render(self, run: Run) -> Any:
        return ("{" + super().render(run).decode() + "}").encode()


class Sheet(Ids):
    suffix = ".csv"

    def render(self, run: Run) -> Any:
        lines = ((item.case.id, item.case.question.replace('"', '""')) for item in run.evidence)
        return "".join(f'{id_},"{asked}"\n' for id_, asked in lines).encode("utf-8", "replace")


@each(
    ("reporter", "check", "said"),
    [
        (NoSuffix, "it_says_what_it_is", "its suffix is 'txt'"),
        (Strict, "every_run_is_drawn", "UnicodeEncodeError"),
        (Divides, "every_run_is_drawn", "ZeroDivisionError"),
        (Textual, "every_run_is_drawn", "gave str where bytes belong"),
        (Empty, "every_run_is_drawn", "is empty"),
        (Counting, "the_same_run_is_the_same_report", "drawn again it is another report"),
        (Torn, "pieces_make_the_whole", "not what render() gives"),
        (Page, "strangers_texts_stay_texts", "a question's <script> is markup"),
        (Tags, "strangers_texts_stay_texts", "read as XML: raised ParseError"),
        (Keys, "strangers_texts_stay_texts", "read as JSON: raised JSONDecodeError"),
        (Sheet, "strangers_texts_stay_texts", "a spreadsheet runs the cell '=HYPERLINK"),
        (RightOnes, "every_case_is_there", "cases are missing, for example case-2"),
    ],
)
def test_a_wrong_report_is_found(reporter: Callable[[], Any], check: str, said: str) -> None:
    assert fails(REPORT_CHECKS, ReportAdapter(reporter=Ids, lists_cases=True)) == {}
    held(REPORT_CHECKS, ReportAdapter(reporter=reporter, lists_cases=True), check, said)


# Case formats


class Own(JsonLinesFormat):
    """A format of its own suffix."""

    name = "own"

    def recognises(self, path: Path) -> bool:
        return path.suffix == ".own"


class Greedy(Own):
    def recognises(self, path: Path) -> bool:
        return path.is_file()


class Blind(Own):
    def recognises(self, path: Path) -> bool:
        return False


class Looks(Own):
    def recognises(self, path: Path) -> bool:
        return path.suffix == ".own" and "question" in path.read_text(encoding="utf-8")


class Nameless(Own):
    def cases(self, path: Path, fields: FieldNames) -> Any:
        return [replace(case, id="q") for case in super().cases(path, fields)]


class Placeless(Own):
    def cases(self, path: Path, fields: FieldNames) -> Any:
        return [replace(case, origin=None) for case in super().cases(path, fields)]


class Goldless(Own):
    def cases(self, path: Path, fields: FieldNames) -> Any:
        return [replace(case, golds=()) for case in super().cases(path, fields)]


class Strays(Own):
    def predictions(self, path: Path, fields: FieldNames) -> Any:
        loaded = super().predictions(path, fields)
        return replace(loaded, predictions=[replace(one, case_id="x" + one.case_id) for one in loaded.predictions])


class Numbers(Own):
    numbers = count()

    def cases(self, path: Path, fields: FieldNames) -> Any:
        return [replace(case, id=f"{next(self.numbers)}") for case in super().cases(path, fields)]


class Naive(Own):
    """Reads as a first draft does."""

    def cases(self, path: Path, fields: FieldNames) -> Any:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        golds = [(line["id"], line["question"], (line["gold_sql"],)) for line in lines]
        return [Case(id=id_, question=asked, golds=gold, origin="a line") for id_, asked, gold in golds]


class Deaf(Own):
    def predictions(self, path: Path, fields: FieldNames) -> Any:
        return super().predictions(path, replace(fields, encoding=None))


class Vague(Own):
    def cases(self, path: Path, fields: FieldNames) -> Any:
        try:
            return super().cases(path, fields)
        except CaseFileError:
            raise CaseFileError("the file is no good") from None


class Answerless(Own):
    def predictions(self, path: Path, fields: FieldNames) -> Any:
        return LoadedPredictions(predictions=[Prediction(case_id="q1", origin="line 1")])


def of_files(folder: Path, format: Callable[[], Any]) -> FormatAdapter:
    for name in ("cases.own", "answers.own"):
        (folder / name).write_text(LINES, encoding="utf-8")
    return FormatAdapter(format=format, cases=folder / "cases.own", predictions=folder / "answers.own")


def test_assays_own_way_of_reading_passes(tmp_path: Path) -> None:
    assert fails(FORMAT_CHECKS, of_files(tmp_path, Own)) == {}


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
        (Blind, "it_knows_its_files", "does not recognise it"),
        (Greedy, "it_leaves_other_files_alone", "cases.jsonl has another layout"),
        (Looks, "it_leaves_other_files_alone", "raised UnicodeDecodeError"),
        (Nameless, "cases_are_whole", "an id occurs twice"),
        (Placeless, "cases_are_whole", "where the case q1 stands"),
        (Goldless, "cases_are_whole", "the case q1 has no gold"),
        (Answerless, "predictions_are_whole", "contains no answer"),
        (Strays, "predictions_are_whole", "predictions match no case: ['xq1', 'xq2']"),
        (Numbers, "reading_again_gives_the_same", "read again"),
        (Naive, "how_lines_end_does_not_matter", "a byte order mark"),
        (Deaf, "a_named_encoding_is_taken", "answers.own in UTF-16"),
        (Naive, "damage_is_told", "raised JSONDecodeError"),
        (Vague, "damage_is_told", "does not name the file"),
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


class Secretive(Echo):
    def describe(self) -> str:
        return "echo with the token t0ps3cret"


class Changing(Echo):
    def __init__(self) -> None:
        self._number = next(self.opened)

    def describe(self) -> str:
        return f"echo number {self._number}"


class Textually(Echo):
    def answer(self, case: Case) -> Any:
        return "SELECT 1"


class Mute(Echo):
    def answer(self, case: Case) -> Any:
        return Prediction(case_id=case.id)


class Fragile(Echo):
    def answer(self, case: Case) -> Any:
        case.question.encode()
        return super().answer(case)


class Chatty(Echo):
    def answer(self, case: Case) -> Any:
        if not case.question.strip():
            why = Failure(stage="ask", kind="ask_failed", blame="system", message="it is\nblank")
            return Prediction(case_id=case.id, failure=why)
        return super().answer(case)


class Historic(Echo):
    def answer(self, case: Case) -> Any:
        if case.history:
            raise NotImplementedError("no conversations")
        return super().answer(case)


class Shared(Echo):
    """Keeps the case that it is at in itself."""

    last: Case | None = None

    def answer(self, case: Case) -> Any:
        first, self.last = self.last, self.last or case
        return super().answer(first or case)


class Wandering(Echo):
    def __init__(self) -> None:
        self._calls = count()

    def answer(self, case: Case) -> Any:
        return Prediction(case_id=case.id, query=f"SELECT {next(self._calls)}")


class Untravelled(Echo):
    def answer(self, case: Case) -> Any:
        explanation: Any = (word for word in ("no", "text"))
        return Prediction(case_id=case.id, query="SELECT 1", explanation=explanation)


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


def test_systems_of_assays_own_pass() -> None:
    assert fails(SYSTEM_CHECKS, of_system(Echo)) == {}
    adapter = of_system(
        lambda: registry.open_system("python:html:escape", SystemOptions()),
        lambda: registry.open_system("python:html:escap", SystemOptions()),
    )
    assert fails(SYSTEM_CHECKS, adapter) == {}


@each(
    ("system", "check", "said"),
    [
        (Secretive, "it_says_what_it_is", "shows a secret"),
        (Changing, "it_says_what_it_is", "opened again"),
        (Textually, "it_answers_questions", "gave str where a Prediction belongs"),
        (Mute, "it_answers_questions", "no Failure says why"),
        (Fragile, "odd_questions_are_one_answer_each", "raised UnicodeEncodeError"),
        (Chatty, "odd_questions_are_one_answer_each", "has several lines"),
        (Historic, "conversations_are_taken", "raised NotImplementedError"),
        (Shared, "several_ask_at_once", "the answer's case_id"),
        (Wandering, "several_ask_at_once", "asked among others"),
        (Untravelled, "answers_travel", "cannot pickle"),
    ],
)
def test_a_wrong_system_is_found(system: Callable[[], Any], check: str, said: str) -> None:
    held(SYSTEM_CHECKS, of_system(system), check, said)


def test_a_system_that_closes_once_is_found() -> None:
    (check,) = [check for check in SYSTEM_CHECKS if check.name == "closing_twice_is_harmless"]
    with pytest.raises(AssertionError, match="closed twice"):
        conform(of_system(ClosedOnce), check)


def test_a_system_that_takes_questions_without_being_there_is_found() -> None:
    held(SYSTEM_CHECKS, of_system(Echo, Echo), "what_is_unusable_is_said", "counted against it")
    held(SYSTEM_CHECKS, of_system(Echo, lambda: 1 // 0), "what_is_unusable_is_said", "raised ZeroDivisionError")
