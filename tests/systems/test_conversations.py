"""Conversations with live systems: turn after turn, each with what the system answered before it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.errors import InputError
from assay.model import Case, Exchange, Failure, Prediction, Secret
from assay.runs.execution.asking import answers_held, ask
from assay.systems.chat.sql import read_answer
from assay.systems.chat.system import ChatSystem
from assay.systems.concurrency import Sayings
from assay.systems.denodo import DenodoSystem
from assay.systems.http.system import HttpSystem
from assay.systems.options import SystemOptions
from assay.systems.predictions import QuestionFailed
from assay.systems.process.command import CommandSystem
from assay.systems.python import PythonSystem
from assay.testing import ChatAnswer, ChatEmulator, DenodoEmulator
from many_cases import each
from replying import replying

Quick = Callable[..., SystemOptions]
HISTORY = (Exchange(question="all", answer="SELECT 1"), Exchange(question="fewer"))
TURN = Case(id="t-3", question="now?", conversation="t", turn=3, history=HISTORY)


def talk(name: str, count: int) -> list[Case]:
    asked = [Exchange(question=f"{name}{turn}") for turn in range(1, count + 1)]
    return [
        Case(id=f"{name}-{turn}", question=f"{name}{turn}", conversation=name, turn=turn, history=(*asked[: turn - 1],))
        for turn in range(1, count + 1)
    ]


class Recorder:
    """Remembers what it is asked, and with which history."""

    name = "recorder"

    def __init__(self, *failing: str) -> None:
        self.asked: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self._failing = failing
        self._times: Counter[str] = Counter()

    def describe(self) -> str:
        return "recorder:1"

    def answer(self, case: Case) -> Prediction:
        self.asked.append((case.id, tuple((one.question, one.answer) for one in case.history)))
        if case.id in self._failing:
            failure = Failure(stage="ask", kind="ask_failed", blame="network", message="gone")
            return Prediction(case_id=case.id, failure=failure)
        self._times[case.id] += 1
        return Prediction(case_id=case.id, query=f"{case.id} time {self._times[case.id]}")

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("concurrency", [1, 3])
def test_turns_are_asked_in_their_order_with_the_systems_own_answers(tmp_path: Path, concurrency: int) -> None:
    cases = [*talk("a", 3), Case(id="alone", question="alone"), *talk("b", 2)]
    system = Recorder()
    # The order of the file does not matter.
    found = ask(system, cases[::-1], concurrency=concurrency, folder=tmp_path)
    assert [one.case_id for one in found] == [case.id for case in cases[::-1]]
    asked = dict(system.asked)
    assert len(asked) == len(system.asked) == 6
    assert asked["a-3"] == (("a1", "a-1 time 1"), ("a2", "a-2 time 1"))
    assert asked["b-2"] == (("b1", "b-1 time 1"),)
    assert asked["alone"] == asked["a-1"] == ()


def test_a_conversation_goes_on_where_it_was_left(tmp_path: Path) -> None:
    cases = talk("a", 4)
    first = Recorder("a-3")
    found = ask(first, cases, concurrency=1, folder=tmp_path)
    assert [id_ for id_, _ in first.asked] == ["a-1", "a-2", "a-3"]
    failures = [one.failure for one in found]
    assert failures[:2] == [None, None]
    assert failures[3].kind == "ask_failed"
    assert failures[3].message == "not asked, since the earlier turn 3 failed: gone"
    again = Recorder()
    assert [one.query for one in ask(again, cases, concurrency=1, folder=tmp_path)] == [
        f"a-{turn} time 1" for turn in (1, 2, 3, 4)
    ]
    assert [id_ for id_, _ in again.asked] == ["a-3", "a-4"]
    assert again.asked[0][1] == (("a1", "a-1 time 1"), ("a2", "a-2 time 1"))


def test_a_conversation_that_is_held_repeatedly_keeps_its_answers_together(tmp_path: Path) -> None:
    cases = [*talk("a", 2), *talk("b", 2)]
    system = Recorder()
    found = ask(system, cases, concurrency=2, repeats=3, folder=tmp_path)
    assert [one.repeat for one in found] == [0, 1, 2] * 4
    histories = {(history[0][1]) for id_, history in system.asked if id_ == "a-2"}
    assert histories == {f"a-1 time {time}" for time in (1, 2, 3)}
    assert answers_held(system, cases, tmp_path, repeats=3) == found


def test_a_chat_gets_the_earlier_turns_as_messages(quick: Quick, tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("SQL for {question}")
    with ChatEmulator(answers=lambda _: ChatAnswer(content="```sql\nSELECT 3\n```")) as server:
        options = quick(parameters=(("model", "m"),), prompt=str(tmp_path / "prompt.txt"))
        system = ChatSystem.open(f"chat:{server.openai_url}", options)
        assert system.answer(TURN).query == "SELECT 3"
        system.close()
        (call,) = server.calls
    assert [(one["role"], one["content"]) for one in call.body["messages"]] == [
        ("user", "all"),
        ("assistant", "SELECT 1"),
        ("user", "fewer"),
        ("user", "SQL for now?"),
    ]


@each("text", ["null", "NULL;", "```sql\nnull\n```", "`null`", "<think>SELECT 1?</think>\nnull"])
def test_a_chat_declines_by_the_word_null_alone(text: str) -> None:
    assert Prediction(case_id="1", query=read_answer(text).query or "?").given == "decline"
    for words in ("The answer is null.", "I cannot answer.", "null values are left out"):
        assert read_answer(words).query is None


def _http(quick: Quick, **options: Any) -> HttpSystem:
    return HttpSystem.open("http:http://127.0.0.1:9/ask", quick(**options))


_ROLES = [("user", "all"), ("assistant", "SELECT 1"), ("user", "fewer")]


@pytest.mark.parametrize(
    ("template", "body"),
    [
        (None, {"question": "now?", "history": [{"role": role, "content": said} for role, said in _ROLES]}),
        ('{"q": "{question}", "session": "{conversation}/{turn}"}', {"q": "now?", "session": "t/3"}),
        ('{"q": "{history}\\n{question}"}', {"q": "Question: all\nAnswer: SELECT 1\nQuestion: fewer\nnow?"}),
    ],
)
def test_http_gets_the_earlier_turns_in_its_body(quick: Quick, template: str | None, body: dict[str, Any]) -> None:
    with replying(lambda _: (200, {"sql": "SELECT 1"})) as (url, asked):
        system = HttpSystem.open(f"http:{url}/ask", quick(body_template=template))
        assert system.answer(TURN).query == "SELECT 1"
        system.close()
    assert [one.body for one in asked] == [body]


@each(
    ("said", "given", "confidence"),
    [
        ({"sql": "SELECT 1", "meta": {"did": "answer", "sure": 0.9}}, "answer", 0.9),
        ({"sql": "SELECT 1", "meta": {"did": "abstain", "sure": None}}, "decline", None),
        ({"sql": None, "meta": {"did": True}}, "decline", None),
        ({"sql": None, "meta": {"did": "clarify"}}, "clarify", None),
        ({"sql": "null"}, "decline", None),
        ({"sql": None}, "nothing", None),
        ({"meta": {"did": "decline"}}, "decline", None),
        ({"meta": {"did": "clarify"}, "message": "Which year?"}, "clarify", None),
        ({"sql": None, "rows": None, "meta": {"did": "answer"}}, "nothing", None),
        ({"rows": None, "meta": {"did": "answer"}}, "nothing", None),
        ({"sql": " ;", "rows": [[1]], "meta": {"did": "answer", "sure": "0.5"}}, "answer", 0.5),
    ],
)
def test_http_says_what_it_does_where_its_paths_say(
    quick: Quick, said: dict[str, Any], given: str, confidence: float | None
) -> None:
    system = _http(quick, decision_path="meta.did", confidence_path="meta.sure")
    found = system._read(TURN, said, 0.0)
    assert (found.given, found.confidence) == (given, confidence)
    assert (found.failure is not None) == (given == "nothing")


def test_http_refuses_a_decision_that_it_cannot_read(quick: Quick) -> None:
    system = HttpSystem.open("http:http://127.0.0.1:9/ask", quick(decision_path="meta.did"))
    for said in ({"sql": "SELECT 1", "meta": {"did": "maybe"}}, {"meta": {"did": "answer"}}):
        with pytest.raises(QuestionFailed, match=r"expected answer|name the query's path"):
            system._read(TURN, said, 0.0)


@each("sure", [87, 1.01, -0.1, "high", "87%", True, {"v": 1}, float("nan")])
def test_an_answer_is_not_lost_for_a_confidence_that_cannot_be_read(quick: Quick, sure: object) -> None:
    """It is told, once, and the answer counts as one without."""
    system = HttpSystem.open("http:http://127.0.0.1:9/ask", quick(confidence_path="sure"))
    with pytest.warns(UserWarning, match="case t-3 has .* at 'sure': expected a number from 0 to 1"):
        found = system._read(TURN, {"sql": "SELECT 1", "sure": sure}, 0.0)
    assert (found.query, found.confidence, found.failure) == ("SELECT 1", None, None)
    assert system._read(TURN, {"sql": "SELECT 2", "sure": sure}, 0.0).query == "SELECT 2"


def test_no_part_of_a_secret_is_told_with_a_confidence_that_cannot_be_read(quick: Quick) -> None:
    """Also where it is longer than what is shown."""
    token = "hush" * 40
    system = HttpSystem.open("http:http://127.0.0.1:9/ask", quick(confidence_path="sure", token=Secret(token)))
    with pytest.warns(UserWarning, match="expected a number from 0 to 1") as told:
        system._read(TURN, {"sql": "SELECT 1", "sure": f"as Bearer {token}"}, 0.0)
    assert not [one for one in told if "hush" in str(one.message)]


def test_rows_stand_beside_the_place_of_the_query_wherever_that_is(quick: Quick) -> None:
    system = HttpSystem.open("http:http://127.0.0.1:9/ask", quick(query_path="data.sql"))
    for query in ({"sql": None}, {"sql": ""}, {}):
        found = system._read(TURN, {"data": {**query, "rows": [[1]]}}, 0.0)
        assert found.result.row_count == 1
    assert system._read(TURN, {"data": {"sql": "SELECT 1", "rows": [[2]]}}, 0.0).query == "SELECT 1"


def test_answers_are_kept_by_the_paths_that_they_were_read_by(quick: Quick) -> None:
    paths = ("query_path", "decision_path", "confidence_path")
    told = [_http(quick, **{path: "a.b"}).describe() for path in paths]
    assert len({*told, _http(quick).describe()}) == 4


def test_every_kind_of_answer_goes_along_with_the_next_turn(quick: Quick) -> None:
    """Rows, a refusal, a question back: what the system said is in its history, not only its queries."""
    big = [[number] for number in range(500)]
    answers = [
        ({"columns": ["n"], "rows": [[1], [None]]}, '{"columns": ["n"], "rows": [[1],[null]]}'),
        ({"sql": "```sql\nSELECT 1\n```"}, "```sql\nSELECT 1\n```"),
        ({"sql": None, "did": "clarify", "message": "Which year?"}, "Which year?"),
        ({"did": "decline"}, "null"),
        ({"sql": None}, None),
        ({"rows": big}, f'{{"rows": {big[:100]}, "rows_in_all": 500}}'),
    ]
    system = HttpSystem.open("http:http://127.0.0.1:9/ask", quick(decision_path="did"))
    said = Sayings()
    cases = talk("t", len(answers) + 1)
    for case, (answer, _) in zip(cases, answers, strict=False):
        said.note(case, system._read(case, answer, 0.0))
    asked = said.before(cases[-1])
    assert isinstance(asked, Case)
    assert [one.answer for one in asked.history] == [spoken for _, spoken in answers]


def test_a_command_gets_the_earlier_turns_as_an_argument(quick: Quick) -> None:
    script = "import json, sys; print(json.dumps(sys.argv[1:]))"
    system = CommandSystem.open(f"command:{sys.executable} -c '{script}' {{question}} {{history}} {{turn}}", quick())
    found = system.answer(TURN)
    system.close()
    assert found.result.result().rows == (("now?",), ("Question: all\nAnswer: SELECT 1\nQuestion: fewer",), ("3",))


def test_a_python_callable_gets_the_earlier_turns_by_name(quick: Quick) -> None:
    def asked(question: str, history: tuple[Exchange, ...], conversation: str, turn: int) -> str:
        return f"{question} {len(history)} {conversation} {turn}"

    assert PythonSystem(asked, quick()).answer(TURN).query == "now? 2 t 3"


def test_denodo_gets_the_earlier_turns_as_instructions(quick: Quick) -> None:
    with DenodoEmulator(answers={"now?": "SELECT 1"}) as server:
        system = DenodoSystem.open(f"denodo:{server.api_url}", quick())
        assert system.answer(TURN).query == "SELECT 1"
        system.close()
        (call,) = server.calls
    assert call.body["question"] == "now?"
    assert call.body["custom_instructions"].endswith("Question: all\nAnswer: SELECT 1\nQuestion: fewer")


def test_an_unknown_placeholder_offers_the_closest(quick: Quick) -> None:
    with pytest.raises(InputError, match=r"did you mean \{history\}"):
        HttpSystem.open("http:http://127.0.0.1:9/ask", quick(body_template='{"q": "{question}{histroy}"}'))
