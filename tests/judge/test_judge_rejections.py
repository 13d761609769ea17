"""A judge's model that rejects requests, and answers without a verdict that no repetition changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

import bad_server
from assay.errors import SystemLost, SystemUnusable
from assay.llm_judge import JudgeSettings, Opinion, QueryJudge, QueryPair, judge_cases
from assay.llm_judge.cases import CaseQueries
from assay.model import Failure
from assay.ports import ChatMessage, Completion
from assay.systems.chat.model import HttpChatModel
from assay.systems.options import SystemOptions
from assay.testing import ChatAnswer, ChatEmulator
from assay.testing.judge import verdict
from many_cases import each

Asking = Callable[..., QueryJudge]
PAIRS = [QueryPair(first=f"SELECT {number}", second=f"SELECT {number} + 0") for number in range(30)]


class Model:
    """Rejects requests after the first ``good``, and those about the queries in ``rejects``."""

    name = "model"

    def __init__(self, *, good: int = 10**6, rejects: tuple[str, ...] = (), kind: str = "rejected") -> None:
        self.good, self.rejects, self.kind, self.asked = good, rejects, kind, 0
        self._lock = Lock()

    def describe(self) -> str:
        return "model"

    def complete(self, messages: Any, **_: Any) -> Completion | Failure:
        text = messages[-1].content
        with self._lock:
            self.asked += 1
            is_good = self.asked <= self.good
        if is_good and not any(f"\n{query}\n" in text for query in self.rejects):
            return Completion(message=ChatMessage(role="assistant", content=verdict(True)))
        return Failure(stage="ask", kind=self.kind, blame="system", message="answers 413: too large")  # type: ignore[arg-type]

    def close(self) -> None:
        """Nothing to close."""


def judged(model: Model, **settings: Any) -> list[Opinion]:
    with QueryJudge(model, JudgeSettings(**settings)) as judge:
        return judge.judge_all(PAIRS)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_model_that_rejects_every_question_ends_the_asking(concurrency: int) -> None:
    model = Model(good=0)
    with pytest.raises(
        SystemUnusable, match="the first 3 questions failed, so the others would fail, too: answers 413"
    ):
        judged(model, concurrency=concurrency)
    assert model.asked <= 3 + 4 * concurrency


@each("concurrency", [1, 4])
@each("good", [1, 8, 58])
def test_a_model_that_breaks_for_good_is_lost_and_its_answers_are_kept(
    concurrency: int, good: int, tmp_path: Path
) -> None:
    model = Model(good=good)
    with pytest.raises(SystemUnusable, match=r"failed, (and so (does|would)|so the others would fail)"):
        judged(model, concurrency=concurrency, cache=tmp_path / "answers.sqlite")
    assert model.asked <= good + 3 + 4 * concurrency
    working = Model()
    opinions = judged(working, concurrency=concurrency, cache=tmp_path / "answers.sqlite")
    assert {opinion.equivalent for opinion in opinions} == {True}
    assert working.asked == 60 - good


@pytest.mark.parametrize("concurrency", [1, 4])
def test_rejections_of_single_questions_are_abstentions(concurrency: int) -> None:
    model = Model(rejects=("SELECT 7", "SELECT 8", "SELECT 29"))
    with QueryJudge(model, JudgeSettings(concurrency=concurrency)) as judge:
        cases = judge_cases(judge, [CaseQueries(case_id=pair.first, pairs=(pair,)) for pair in PAIRS])
    without = [case for case in cases if case.equivalent is None]
    assert [case.case_id for case in without] == ["SELECT 7", "SELECT 8", "SELECT 29"]
    assert all(case.abstained and not case.lacks_votes and "413: too large" in case.reason for case in without)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_kept_answers_count_as_answers_when_the_same_call_is_made_again(concurrency: int, tmp_path: Path) -> None:
    rejects = ("SELECT 7", "SELECT 8", "SELECT 29")
    first, second = Model(rejects=rejects), Model(rejects=rejects)
    cache = tmp_path / "answers.sqlite"
    opinions = judged(first, concurrency=concurrency, cache=cache)
    again = judged(second, concurrency=concurrency, cache=cache)
    assert [opinion.equivalent for opinion in again] == [opinion.equivalent for opinion in opinions]
    assert 6 < second.asked <= 6 + 2  # with control questions


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_model_that_broke_is_lost_in_the_second_call_too(concurrency: int, tmp_path: Path) -> None:
    for good in (20, 0):
        with pytest.raises(SystemLost, match="so does one that was answered before"):
            judged(Model(good=good), concurrency=concurrency, cache=tmp_path / "answers.sqlite")


@pytest.mark.parametrize("error", [KeyboardInterrupt("x"), BaseException("x")])
def test_what_a_model_raises_and_is_not_an_exception_is_a_vote_without_an_answer(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def complete(*_: Any, **__: Any) -> Completion:
        raise error

    monkeypatch.setattr(model := Model(), "complete", complete)
    assert {opinion.equivalent for opinion in judged(model)} == {None}


def test_failures_that_may_pass_are_asked_again() -> None:
    opinions = judged(Model(good=0, kind="ask_failed"))
    assert not any(vote.abstained for opinion in opinions for vote in opinion.votes)


@each("status", [400, 401, 403, 404, 413, 422])
def test_a_server_that_rejects_every_question_ends_the_asking(status: int) -> None:
    body = b'{"error": {"message": "bad"}}'
    reply = f"HTTP/1.1 {status} No\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    with bad_server.BadServer(lambda connection, _: connection.sendall(reply)) as server:
        model = HttpChatModel.open(f"chat:{server.url}/v1", SystemOptions(parameters=(("model", "m"),)))
        with QueryJudge(model) as judge, pytest.raises(SystemUnusable, match="bad"):
            judge.judge_all(PAIRS)
        assert server.requests < 20


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ChatAnswer(content="I think", finish_reason="length"), "truncated at its length limit"),
        (ChatAnswer(content="{", finish_reason="max_tokens"), "truncated at its length limit"),
        (ChatAnswer(content=""), "answer is empty"),
        (ChatAnswer(content=" \n"), "answer is empty"),
        (ChatAnswer(content=None), "answer is empty"),
    ],
)
def test_an_answer_that_was_cut_off_or_is_empty_is_kept_as_an_abstention(
    answer: ChatAnswer, reason: str, asking: Asking, tmp_path: Path
) -> None:
    given = answer
    with ChatEmulator(answers=lambda _: given) as server:
        first = asking(server, cache=tmp_path / "answers.sqlite").judge(PAIRS[0])
        assert reason in first.reason
        assert [vote.abstained for vote in first.votes] == [True, True]
        given = ChatAnswer(content=verdict(True))
        kept = asking(server, cache=tmp_path / "answers.sqlite").judge(PAIRS[0])
        assert (kept.equivalent, kept.reason, len(server.bodies)) == (None, first.reason, 2)
        again = asking(server, cache=tmp_path / "answers.sqlite", retry_refusals=True).judge(PAIRS[0])
        assert (again.equivalent, len(server.bodies)) == (True, 4)
