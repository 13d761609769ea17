"""A system that rejects the first questions is not set up to answer any."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from answering import ask_all
from assay.errors import SystemLost, SystemUnusable
from assay.model import Case, Failure, Prediction
from assay.ports import System
from assay.registry import open_system
from assay.systems.options import SystemOptions
from many_cases import each
from replying import replying

Quick = Callable[..., SystemOptions]


class Scripted:
    """A system that answers each question by its id: with a query, or with a failure of that kind and message."""

    name = "scripted"

    def __init__(self, outcomes: list[str]) -> None:
        self.outcomes = outcomes
        self.asked = 0

    def describe(self) -> str:
        return self.name

    def answer(self, case: Case) -> Prediction:
        self.asked += 1
        kind, _, message = self.outcomes[int(case.id)].partition(" ")
        if kind == "query":
            return Prediction(case_id=case.id, query="SELECT 1")
        failure = Failure(stage="ask", kind=kind, blame="system", message=message)  # type: ignore[arg-type]
        return Prediction(case_id=case.id, failure=failure)

    def close(self) -> None:
        """Nothing to close."""


def cases(count: int) -> list[Case]:
    return [Case(id=str(number), question=f"question {number}") for number in range(count)]


def asked_in_vain(outcomes: list[str]) -> int | None:
    """After how many questions asking ends, by the rule as it is documented; None: it does not."""
    rejections: Counter[str] = Counter()
    for count, outcome in enumerate(outcomes, start=1):
        if outcome.startswith(("query", "unanswered")):
            return None
        if outcome.startswith("rejected"):
            rejections[outcome] += 1
            if rejections[outcome] == 3 or rejections.total() == 10:
                return count
    return len(outcomes) if outcomes and rejections.total() == len(outcomes) else None


OUTCOMES = ["query", "unanswered none", "ask_failed 500", "rejected 422", "rejected 403"]


@given(st.lists(st.sampled_from(OUTCOMES), max_size=12), st.booleans())
@settings(max_examples=300, deadline=None)
@example(["rejected 422"], False)
@example(["rejected 422", "ask_failed 500"], False)
@example([f"rejected {number}" for number in range(12)], False)
@example(["rejected 422"] * 12, True)
def test_asking_ends_where_the_first_questions_are_rejected_and_loses_no_answer_elsewhere(
    outcomes: list[str], has_answered: bool
) -> None:
    system, got = Scripted([*outcomes, "query"]), list[Prediction]()
    earlier = cases(len(outcomes) + 1)[-1] if has_answered else None
    end = None if has_answered else asked_in_vain(outcomes)

    def ask() -> None:
        ask_all(system, cases(len(outcomes)), concurrency=1, on_answer=got.append, answered=earlier)

    if end is None:
        ask()
        assert sorted(int(prediction.case_id) for prediction in got) == list(range(len(outcomes)))
    else:
        with pytest.raises(SystemUnusable, match=r"failed, so the others would fail, too: 4|: \d"):
            ask()
        assert system.asked <= end + 1  # a thread may have begun the next one
        assert not [one for one in got if one.failure is None or one.failure.kind == "rejected"]


class Breaking:
    """A system that rejects the questions with these ids, and every question after its first ``good`` requests."""

    name = "breaking"

    def __init__(self, *, good: int, rejects: frozenset[str] = frozenset(), kind: str = "rejected") -> None:
        self.good, self.rejects, self.kind = good, rejects, kind
        self.asked: list[str] = []

    def describe(self) -> str:
        return self.name

    def answer(self, case: Case) -> Prediction:
        self.asked.append(case.id)
        if len(self.asked) <= self.good and case.id not in self.rejects:
            return Prediction(case_id=case.id, query="SELECT 1")
        failure = Failure(stage="ask", kind=self.kind, blame="system", message=f"no {case.id}")  # type: ignore[arg-type]
        return Prediction(case_id=case.id, failure=failure)

    def close(self) -> None:
        """Nothing to close."""


@given(st.integers(1, 12), st.integers(0, 12), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_a_system_that_breaks_for_good_is_lost_and_no_question_counts_as_rejected(
    good: int, more: int, concurrency: int
) -> None:
    system, got = Breaking(good=good), list[Prediction]()
    asked = cases(good + more)
    if not more:
        ask_all(system, asked, concurrency=concurrency, on_answer=got.append)
    else:
        with pytest.raises(SystemLost, match=r"failed, and so does one that was answered before: no \d"):
            ask_all(system, asked, concurrency=concurrency, on_answer=got.append)
        assert len(system.asked) <= good + 3 + 2 * concurrency + 1
    assert not [prediction for prediction in got if prediction.failure is not None]
    assert len(got) == good


@given(st.sets(st.integers(1, 59).map(str), max_size=40), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
@example(set(map(str, range(1, 60))), 1)
def test_rejections_of_single_questions_are_kept_at_the_price_of_few_control_questions(
    rejects: set[str], concurrency: int
) -> None:
    system, got = Breaking(good=10**6, rejects=frozenset(rejects)), list[Prediction]()
    ask_all(system, cases(60), concurrency=concurrency, on_answer=got.append)
    assert {prediction.case_id for prediction in got if prediction.failure is not None} == rejects
    assert sorted(int(prediction.case_id) for prediction in got) == list(range(60))
    assert len(system.asked) - 60 <= 8


def test_a_resumed_run_asks_a_question_of_the_folder_again_before_it_counts_rejections() -> None:
    earlier = Case(id="earlier", question="?")
    lost, got = Breaking(good=0), list[Prediction]()
    with pytest.raises(SystemLost, match=r"the last \d questions"):
        ask_all(lost, cases(20), concurrency=1, on_answer=got.append, answered=earlier)
    assert "earlier" in lost.asked
    assert got == []
    choosy = Breaking(good=99, rejects=frozenset(map(str, range(20))))
    ask_all(choosy, cases(20), concurrency=1, on_answer=got.append, answered=earlier)
    assert len(got) == 20


@pytest.mark.parametrize("concurrency", [2, 8])
def test_with_several_at_once_few_questions_are_spent(concurrency: int) -> None:
    system = Scripted(["rejected 422"] * 100)
    with pytest.raises(SystemUnusable, match="the first 3 questions failed, so the others would fail, too: 422"):
        ask_all(system, cases(100), concurrency=concurrency, on_answer=lambda _: None)
    assert system.asked <= 3 + 2 * concurrency


@pytest.mark.parametrize("outcome", ["query", "rejected 422", "ask_failed 500"])
def test_first_rejections_beside_a_question_on_its_way_wait_for_its_result(outcome: str) -> None:
    system, got = Scripted([outcome, *["rejected 422"] * 11]), list[Prediction]()
    rejected, begun = threading.Semaphore(0), threading.Barrier(3)
    answer = system.answer

    def late(case: Case) -> Prediction:
        if case.id == "0" and not got:
            for _ in range(3):
                assert rejected.acquire(timeout=60)
            time.sleep(0.1)  # until the rejections have arrived
        if case.id in "123":
            begun.wait(60)
            rejected.release()
        return answer(case)

    system.answer = late  # type: ignore[method-assign]
    if outcome == "query":
        ask_all(system, cases(12), concurrency=4, on_answer=got.append)
        assert sorted(int(prediction.case_id) for prediction in got) == list(range(12))
        assert [one.case_id for one in got if one.failure is None] == ["0"]
    else:
        with pytest.raises(SystemUnusable, match="the first 3 questions failed, so the others would fail, too: 422"):
            ask_all(system, cases(12), concurrency=4, on_answer=got.append)


@contextmanager
def server(
    status: int, body: object, headers: dict[str, str] | None = None, *, good: int = 0
) -> Iterator[tuple[str, list[Any]]]:
    """A server that gives one response to everything after so many good ones."""
    fine = {"sql": "SELECT 1", "sql_query": "SELECT 1", "choices": [{"message": {"content": "SELECT 1"}}]}
    numbers = itertools.count(1)
    with replying(lambda _: (200, fine) if next(numbers) <= good else (status, body, headers or {})) as (url, seen):
        yield f"{url}/v1", seen


REASON = {"detail": {"error": "the account may not", "traceback": ""}}
KINDS = ("http", "denodo", "chat")
EMPTY: tuple[tuple[int, bytes], ...] = ((200, b""), (204, b""), (200, b" \r\n "), (202, b""))
NOT_TEXTS: tuple[tuple[object, str], ...] = (
    (["SELECT 1"], '["SELECT 1"]'),
    (7, "7"),
    (1.5, "1.5"),
    (True, "true"),
    ({"text": "SELECT 1"}, '{"text": "SELECT 1"}'),
)
SETUP: list[tuple[str, int, object, str]] = [
    # no such field, or the wrong endpoint
    ("http", 200, {"result": {"sql": "SELECT 1"}}, "--query-path"),
    ("http", 200, {}, "--query-path"),
    ("http", 200, {"sql": {"text": "SELECT 1"}}, "--query-path"),
    ("http", 200, [{"sql": "SELECT 1"}], "not an object"),
    ("http", 200, b"<html>Sign in</html>", "check the path"),
    ("chat", 200, {"result": "SELECT 1"}, "ends in /v1"),
    ("chat", 200, b"<html>Sign in</html>", "check the path"),
    ("denodo", 200, {"status": "ok"}, "--api-url"),
    ("denodo", 200, b"<html>Sign in</html>", "check the path"),
    # credentials
    *((kind, 401, {"detail": "Unauthorized"}, "--token") for kind in ("http", "denodo")),
    ("chat", 401, {"error": {"message": "Incorrect API key provided"}}, "ASSAY_TOKEN"),
    ("http", 403, {"message": "salaries are secret"}, "salaries are secret"),
    ("denodo", 401, REASON, "the account may not; if every question fails so, give a user and password (--user"),
    ("denodo", 403, REASON, "the account may not; if every question fails so, give a user and password (--user"),
    # the path
    ("http", 404, {"detail": "Not Found"}, "--system"),
    ("chat", 404, {"error": {"message": "Invalid URL"}}, "ends in /v1"),
    ("denodo", 404, {"detail": "Not Found"}, "--api-url"),
    ("http", 405, b"", "--system"),
    # the request
    ("http", 422, {"detail": [{"loc": ["body", "text"], "msg": "Field required"}]}, "--request-template, --param"),
    ("http", 422, b"what?", "--request-template, --param"),
    ("chat", 400, {"error": {"message": "max_tokens is too large"}}, "max_tokens is too large"),
    (
        "denodo",
        422,
        {"detail": [{"loc": ["body", "request"], "msg": "Field required", "type": "missing"}]},
        "--api-url",
    ),
    ("denodo", 422, {"message": "what?"}, "--param"),
    (
        "denodo",
        400,
        {"message": "use_views must be a list"},
        "use_views must be a list; the URL must end in",
    ),
    # an empty response, and a query that is not a text
    *((kind, status, body, "check the path of the URL (--") for kind in KINDS for status, body in EMPTY),
    *(("denodo", 200, {"sql_query": given, "answer": "ok"}, f"not a text: {shown}") for given, shown in NOT_TEXTS),
    *(("http", 200, {"sql": given}, f"instead of a query: {shown}") for given, shown in NOT_TEXTS[1:]),
    # a way of asking that is refused whatever the question, and whatever the body says
    *(
        (kind, status, body, wanted)
        for kind, wanted in (("http", "--system"), ("denodo", "--api-url"), ("chat", "ends in /v1"))
        for status in (405, 410, 415, 501)
        for body in (b"", b"no", {"error": "no"}, {"detail": {"error": "no"}})
    ),
    *(
        (kind, status, body, wanted)
        for kind, wanted in (("http", "--system"), ("denodo", "--api-url"), ("chat", "--system"))
        for status in (301, 302, 307, 308)
        for body in (b"", {"message": "moved"})
    ),
    ("http", 501, {"message": "not yet"}, "answers 501: not yet"),
    ("http", 200, [1, 2], "(--system)"),
]


LONG = "a reason " * 200
SETUP += [
    ("http", 422, {"detail": [{"loc": ["body", LONG], "msg": LONG}]}, "--request-template, --param"),
    ("http", 400, {"message": LONG}, "--request-template, --param"),
    ("http", 200, {f"{LONG}{number}": 1 for number in range(20)}, "--query-path"),
    ("chat", 200, {f"{LONG}{number}": 1 for number in range(20)}, "ends in /v1"),
    ("denodo", 403, {"detail": {"error": LONG}}, "--token"),
]


@each(("kind", "status", "body", "advice"), SETUP, ids=lambda value: str(value)[:40])
@each("count", [1, 20])
def test_what_can_never_succeed_ends_the_run_and_names_the_option(
    quick: Quick, kind: str, status: int, body: object, advice: str, count: int
) -> None:
    parameters = (("model", "m"),) if kind == "chat" else ()
    got: list[Prediction] = []
    with server(status, body) as (url, seen):
        system = open_system(f"{kind}:{url}", quick(parameters=parameters))
        if (with_databases := getattr(system, "with_databases", None)) is not None:
            system = with_databases(lambda _: None)
            system = Promptless(system)
        with pytest.raises(SystemUnusable) as raised:
            ask_all(system, cases(count), concurrency=2, on_answer=got.append)
        system.close()
        assert len(seen) <= 8
    assert advice in str(raised.value)
    assert "again" not in str(raised.value)
    assert got == []


LATER: list[tuple[int, object]] = [
    *((status, {"detail": "x"}) for status in (302, 400, 401, 403, 404, 405, 410, 413, 415, 418, 422, 501)),
    *((status, b"") for status in (302, 404, 405, 422, 501)),
    (404, {"detail": "Not Found"}),
    (401, {"detail": "Unauthorized"}),
    (400, {"detail": {"error": "no such view"}}),
    (200, {"foo": 1}),
    (200, b"<html>Sign in</html>"),
    (200, b""),
    (200, [1]),
]


@each("kind", KINDS)
@each(("status", "body"), LATER, ids=lambda value: str(value)[:30])
def test_a_server_that_breaks_for_good_after_its_first_answers_ends_the_run(
    quick: Quick, kind: str, status: int, body: object
) -> None:
    parameters = (("model", "m"),) if kind == "chat" else ()
    got: list[Prediction] = []
    with server(status, body, {"Location": "/x"} if status == 302 else None, good=8) as (url, seen):
        system: Any = open_system(f"{kind}:{url}", quick(parameters=parameters))
        asked = Promptless(system.with_databases(lambda _: None)) if kind == "chat" else system
        with pytest.raises(SystemLost):
            ask_all(asked, cases(40), concurrency=2, on_answer=got.append)
        system.close()
        assert len(seen) <= 8 + 3 + 2 * 2 + 1
    assert [prediction.query for prediction in got] == ["SELECT 1"] * 8


class Promptless:
    """Asks a chat model for SQL without a database to describe."""

    name = "promptless"

    def __init__(self, system: Any) -> None:
        self._model = system._model

    def describe(self) -> str:
        return self.name

    def answer(self, case: Case) -> Prediction:
        from assay.ports import ChatMessage

        found = self._model.complete([ChatMessage(role="user", content=case.question)])
        failure = found if isinstance(found, Failure) else None
        return Prediction(case_id=case.id, query=None if failure else "SELECT 1", failure=failure)

    def close(self) -> None:
        self._model.close()


@pytest.mark.parametrize("error", ["ImportError", "NameError", "NotImplementedError"])
def test_code_that_cannot_answer_any_question_ends_the_run(
    quick: Quick, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"raises_{error.lower()}.py").write_text(f"def ask(question):\n    raise {error}('no such driver')\n")
    monkeypatch.syspath_prepend(tmp_path)
    system: System = open_system(f"python:raises_{error.lower()}:ask", quick())
    with pytest.raises(SystemUnusable, match="no such driver"):
        ask_all(system, cases(5), concurrency=1, on_answer=lambda _: None)
    system.close()


@each("status", [64, 77, 78, 126, 127])
def test_a_command_that_cannot_be_run_ends_the_run(quick: Quick, status: int) -> None:
    system: System = open_system(f"command:{sys.executable} -c 'import sys; sys.exit({status})'", quick())
    with pytest.raises(SystemUnusable, match=f"ended with status {status}"):
        ask_all(system, cases(2), concurrency=1, on_answer=lambda _: None)


@pytest.mark.parametrize("status", [1, 2, 75])
def test_any_other_status_is_the_failure_of_one_question(quick: Quick, status: int) -> None:
    got: list[Prediction] = []
    system: System = open_system(f"command:{sys.executable} -c 'import sys; sys.exit({status})'", quick(retries=0))
    ask_all(system, cases(4), concurrency=2, on_answer=got.append)
    assert [one.failure and one.failure.code for one in got] == [f"status {status}"] * 4
