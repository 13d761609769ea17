"""Any Python callable."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.api.inputs import FileOptions, as_prediction, read_inputs
from assay.errors import InputError, SystemUnusable
from assay.model import Case, GivenResult, Prediction
from assay.systems.options import SystemOptions
from assay.systems.python import PythonSystem
from many_cases import each

Quick = Callable[..., SystemOptions]


def _answer(function: Callable[..., object], case: Case, options: SystemOptions) -> Prediction:
    system = PythonSystem(function, options)
    try:
        return system.answer(case)
    finally:
        system.close()


def _failure(prediction: Prediction, kind: str = "ask_failed") -> str:
    assert prediction.query is None
    assert prediction.failure.kind == kind
    return prediction.failure.message


class _Agent:
    def __call__(self, question: str) -> str:
        return f"SELECT {len(question)}"

    async def later(self, case: Case) -> str:
        await asyncio.sleep(0)
        return f"SELECT '{case.id}'"


def test_what_a_callable_gets_follows_its_parameters(case: Case, quick: Quick) -> None:
    def annotated(one: Case) -> str:
        return one.id

    def quoted(one: "assay.Case") -> str:  # type: ignore[name-defined]  # noqa: F821, UP037
        return one.id  # type: ignore[no-any-return]

    def by_name(case):  # type: ignore[no-untyped-def]
        return case.id

    def more(text: str, context: str | None, *, database: str, retries: int = 3, **rest: object) -> str:
        return f"{text}|{context}|{database}|{retries}|{rest}"

    for function, query in (
        *((function, "7") for function in (annotated, quoted, by_name)),
        (lambda question: question, case.question),
        (more, f"{case.question}|{case.context}|harbour|3|{{}}"),
        (_Agent(), f"SELECT {len(case.question)}"),
        (_Agent().later, "SELECT '7'"),
        (str.upper, case.question.upper()),
    ):
        assert _answer(function, case, quick()).query == query


def test_what_a_callable_may_return(case: Case, quick: Quick) -> None:
    assert _answer(lambda q: "```sql\nSELECT 1;\n```", case, quick()).query == "SELECT 1"
    for blank in (None, "", " \n", "```sql\n```", "-- hm", "/* hm"):
        _failure(_answer(lambda q, blank=blank: blank, case, quick()), "unanswered")
    own = _answer(lambda q: Prediction(case_id="7", query=" "), case, quick())
    assert (own.given, own.failure and own.failure.kind) == ("nothing", "unanswered")
    given = Prediction(case_id="other", query="SELECT 1;", cost_usd=0.5)
    assert _answer(lambda q: given, case, quick()) == Prediction(case_id="7", query="SELECT 1;", cost_usd=0.5)
    assert "returned int" in _failure(_answer(lambda q: 5, case, quick()), "rejected")


def test_what_a_callable_raises_is_the_failure_of_that_question(case: Case, quick: Quick) -> None:
    def raising(error: BaseException) -> Callable[[str], str]:
        def ask(question: str) -> str:
            raise error

        return ask

    async def late(question: str) -> str:
        raise KeyError("x")

    message = _failure(_answer(raising(ValueError("no such thing\nmore")), case, quick()))
    assert message.endswith("raised ValueError: no such thing")
    for function, said in (
        (raising(SystemExit(3)), "SystemExit"),
        (late, "KeyError"),
        (raising(TimeoutError("the model is asleep")), "the model is asleep"),
    ):
        assert said in _failure(_answer(function, case, quick()))
    with pytest.raises(SystemUnusable, match="no key"):
        _answer(raising(SystemUnusable("no key")), case, quick())


class _Own(BaseException):
    """What is not an Exception."""


@each("error", [asyncio.CancelledError("x"), KeyboardInterrupt("x"), SystemExit("x"), _Own("x")])
def test_what_is_raised_and_is_not_an_exception_is_the_failure_of_that_question(
    error: BaseException, case: Case, quick: Quick
) -> None:
    first: list[BaseException] = []

    def broken(question: str) -> str:
        if not first:
            first.append(error)
            raise error
        return "SELECT 1"

    async def late(question: str) -> str:
        return broken(question)

    for function in (broken, late):
        first.clear()
        system = PythonSystem(function, quick())
        assert f"raised {type(error).__name__}" in _failure(system.answer(case))
        assert system.answer(case).query == "SELECT 1"
        system.close()


def test_a_connection_error_is_tried_again(case: Case, quick: Quick) -> None:
    tries: list[str] = []

    def shaky(question: str) -> str:
        tries.append(question)
        if len(tries) < 3:
            raise ConnectionResetError("gone")
        return "SELECT 1"

    assert _answer(shaky, case, quick(retries=2)).query == "SELECT 1"
    tries.clear()
    assert "ConnectionResetError: gone" in _failure(_answer(shaky, case, quick(retries=1)))
    assert len(tries) == 2


def test_one_that_takes_too_long_is_given_up(case: Case, quick: Quick) -> None:
    cancelled = threading.Event()

    async def sleeps(question: str) -> str:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return ""

    over = threading.Event()
    for function in (sleeps, lambda question: over.wait(600)):
        assert "did not return within 0.2 s" in _failure(_answer(function, case, quick(timeout_s=0.2)))
    over.set()
    assert cancelled.wait(300)


def test_async_callables_share_one_event_loop(case: Case, quick: Quick) -> None:
    loops: set[asyncio.AbstractEventLoop] = set()

    async def ask(question: str) -> str:
        loops.add(asyncio.get_running_loop())
        return "SELECT 1"

    system = PythonSystem(ask, quick())
    for _ in range(3):
        assert system.answer(case).query == "SELECT 1"
    system.close()
    system.close()
    assert len(loops) == 1


def test_it_is_named_by_module_and_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Case, quick: Quick
) -> None:
    (tmp_path / "my_agent_7f3.py").write_text("class Agent:\n    def ask(question): return 'SELECT 1'\nnumber = 5\n")
    (tmp_path / "broken_agent_7f3.py").write_text("import no_such_module_7f3\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    system = PythonSystem.open("python:my_agent_7f3:Agent.ask", quick())
    assert system.answer(case).query == "SELECT 1"
    assert system.describe() == "python:my_agent_7f3:Agent.ask"
    for url, message in (
        ("python:my_agent_7f3", "does not name a callable"),
        ("python:my_agent_7f3:ask", "has no 'ask'"),
        ("python:my_agent_7f3:number", "is int and cannot be called"),
        ("python:broken_agent_7f3:ask", "No module named 'no_such_module_7f3'"),
    ):
        with pytest.raises(InputError, match=message):
            PythonSystem.open(url, quick())


def test_a_callable_that_cannot_be_filled_is_refused(quick: Quick) -> None:
    with pytest.raises(InputError, match="needs a parameter 'schema'"):
        PythonSystem(lambda question, schema: None, quick())
    with pytest.raises(InputError, match="does not take a positional argument"):
        PythonSystem(lambda: None, quick())


def test_a_query_in_a_code_fence_is_read_the_same_from_every_callable(case: Case, quick: Quick) -> None:
    """As text or in a Prediction, of a live system, of `evaluate` or in a list; given rows stay as they are."""
    fence = "```sql\nSELECT 1;\n```"
    made = Prediction(case_id=case.id, query=fence)
    for answer in (fence, made):
        live = PythonSystem(lambda question, answer=answer: answer, quick()).answer(case)
        assert (live.query, live.raw) == ("SELECT 1", fence)
        assert replace(as_prediction(answer, case), timings_s=live.timings_s) == live
    quoted = Prediction(case_id=case.id, query="SELECT '```'")
    assert as_prediction(quoted, case) is quoted
    for given in (GivenResult.of([(1,)], cells="typed"), GivenResult.of([("1",)], cells="text")):
        assert PythonSystem(lambda question, given=given: given, quick()).answer(case).result == given
        assert as_prediction(given, case).result == given
    read = read_inputs([case], [made], FileOptions(), allow_unmatched=False).predictions[0]
    assert (read.query, read.raw) == ("SELECT 1", fence)


def test_a_confidence_that_is_no_number_is_told(case: Case) -> None:
    for sure in ("often", 2, -1, float("nan"), float("inf"), [1]):
        with pytest.warns(UserWarning, match="not a number from 0 to 1 counts as not reported"):
            prediction = Prediction(case_id=case.id, confidence=sure)  # type: ignore[arg-type]
        assert prediction.confidence is None
    assert Prediction(case_id=case.id, confidence="0.7").confidence == 0.7  # type: ignore[arg-type]
