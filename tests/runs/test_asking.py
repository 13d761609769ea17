"""Asking with a folder: what is kept, what is asked again, and what can be judged without asking."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.errors import RunError, SystemUnusable
from assay.model import Case, Failure, Prediction
from assay.runs.execution.asking import answers_held, ask
from assay.runs.progress import Progress
from running import LiveSystem

CASES = tuple(Case(id=str(number), question=f"question {number}", golds=("SELECT 1",)) for number in range(6))


class Oracle(LiveSystem):
    """Answers all but the questions it is told to fail on, and counts."""

    def __init__(
        self, *, failing: tuple[str, ...] = (), ends_at: str | None = None, described: str = "oracle:1"
    ) -> None:
        super().__init__(self._answered)
        self.name = described
        self.asked: Counter[str] = Counter()
        self._failing, self._ends_at = failing, ends_at

    def _answered(self, case: Case) -> Prediction | str:
        self.asked[case.id] += 1
        if case.id == self._ends_at:
            raise SystemUnusable("gone")
        if case.id in self._failing:
            failure = Failure(stage="ask", kind="ask_failed", blame="system", message="500")
            return Prediction(case_id=case.id, failure=failure)
        return f"SELECT {case.id}"


def queries(predictions: tuple[Prediction, ...]) -> list[str | None]:
    return [one.query for one in predictions]


def test_answers_come_in_the_cases_order_and_are_not_asked_for_again(tmp_path: Path) -> None:
    system = Oracle()
    first = ask(system, CASES, concurrency=3, folder=tmp_path)
    assert queries(first) == [f"SELECT {number}" for number in range(6)]
    assert ask(system, CASES[::-1], concurrency=1, folder=tmp_path) == first[::-1]
    assert system.asked == {case.id: 1 for case in CASES}


def test_where_the_system_ends_what_was_answered_is_kept(tmp_path: Path) -> None:
    with pytest.raises(SystemUnusable):
        ask(Oracle(ends_at="3"), CASES, concurrency=1, folder=tmp_path)
    again = Oracle()
    ask(again, CASES, concurrency=1, folder=tmp_path)
    assert sorted(again.asked) == ["3", "4", "5"]


def test_a_failed_question_is_asked_again_and_its_answer_counts(tmp_path: Path) -> None:
    failed = ask(Oracle(failing=("2",)), CASES, concurrency=2, folder=tmp_path)
    assert failed[2].failure is not None
    well = Oracle()
    assert queries(ask(well, CASES, concurrency=2, folder=tmp_path))[2] == "SELECT 2"
    assert well.asked == {"2": 1}
    held = answers_held(well, CASES, tmp_path)
    assert (held[2].query, held[2].failure) == ("SELECT 2", None)


def test_what_was_asked_can_be_had_without_asking_failures_too(tmp_path: Path) -> None:
    system = Oracle(failing=("2",))
    answered = ask(system, CASES, concurrency=2, folder=tmp_path)
    assert answers_held(system, CASES, tmp_path) == answered
    assert system.asked == {case.id: 1 for case in CASES}


def test_what_was_never_asked_is_named(tmp_path: Path) -> None:
    system = Oracle()
    with pytest.raises(RunError, match="no answer to 6 of the 6 questions, for example case '0'"):
        answers_held(system, CASES, tmp_path)
    assert list(tmp_path.iterdir()) == []
    ask(system, CASES[:4], concurrency=1, folder=tmp_path)
    with pytest.raises(RunError, match="no answer to 2 of the 6 questions, for example case '4', asked of oracle:1"):
        answers_held(system, CASES, tmp_path)


def test_gold_is_no_part_of_the_question_and_its_words_and_the_system_are(tmp_path: Path) -> None:
    ask(Oracle(), CASES, concurrency=1, folder=tmp_path)
    system = Oracle()
    corrected = [replace(case, golds=("SELECT 2",), difficulty="hard", origin="elsewhere") for case in CASES]
    ask(system, corrected, concurrency=1, folder=tmp_path)
    assert system.asked == {}
    ask(system, [replace(CASES[0], context="in euros"), *CASES[1:]], concurrency=1, folder=tmp_path)
    assert system.asked == {"0": 1}
    other = Oracle(described="oracle:2")
    ask(other, CASES, concurrency=1, folder=tmp_path)
    assert other.asked.total() == 6


def test_progress_begins_with_what_is_there(tmp_path: Path) -> None:
    ask(Oracle(), CASES[:2], concurrency=1, folder=tmp_path)
    said: list[Progress] = []
    ask(Oracle(), CASES, concurrency=2, folder=tmp_path, on_progress=said.append)
    assert [(one.stage, one.total, one.finished, one.resumed) for one in said] == [
        ("asking", 6, finished, 2) for finished in range(2, 7)
    ]


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(ask(Oracle(), CASES, concurrency=2)) == 6
    assert list(tmp_path.iterdir()) == []
