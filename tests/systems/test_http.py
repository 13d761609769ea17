"""Any HTTP endpoint, against a real server that answers what a test tells it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import pytest

from assay.errors import InputError
from assay.model import Case, Prediction, Secret, TokenUsage
from assay.systems.http.system import HttpsSystem, HttpSystem
from assay.systems.options import SystemOptions
from assay.testing import ChatEmulator
from many_cases import each
from replying import replying

Quick = Callable[..., SystemOptions]


@contextmanager
def _server(answer: Any) -> Iterator[tuple[str, list[Any]]]:
    with replying(lambda _: (200, answer)) as (url, seen):
        yield f"{url}/ask", seen


def _ask(url: str, case: Case, options: SystemOptions) -> Prediction:
    system = HttpSystem.open(url, options)
    try:
        return system.answer(case)
    finally:
        system.close()


def test_the_template_is_filled_and_the_paths_are_read(case: Case, quick: Quick) -> None:
    said = {
        "data": {"choices": [{"sql": "SELECT 1;"}]},
        "usage": {"input_tokens": 3, "total_tokens": 4},
        "timing": {"llm": 0.5, "db": "0.25", "note": "fast"},
    }
    options = quick(
        body_template='{"q": "{question}", "db": "{database}", "meta": ["{id}: {context}", 5], "{question}": null}',
        query_path="data.choices.0.sql",
        tokens_path="usage",
        times_path="timing",
        parameters=(("k", "3"), ("who", "me")),
    )
    odd = Case(id="a", question='He said "how\nmany"? {id} \\', context=None, database="shop")
    with _server(said) as (url, asked):
        started = perf_counter()
        prediction = _ask(f"http:{url}", odd, options)
        took_s = perf_counter() - started
    body = {"q": odd.question, "db": "shop", "meta": ["a: ", 5], "{question}": None, "k": 3, "who": "me"}
    assert [one.body for one in asked] == [body]
    assert (prediction.query, prediction.raw) == ("SELECT 1", "SELECT 1;")
    assert prediction.tokens == TokenUsage(input=3, total=4)
    times = dict(prediction.timings_s)
    assert 0 < times.pop("wall_time") <= took_s
    assert times == {"llm": 0.5, "db": 0.25}


@pytest.mark.parametrize("prefix", ["http:", ""])
def test_without_options_the_usual_names_serve(case: Case, quick: Quick, prefix: str) -> None:
    with _server({"sql": "SELECT 2"}) as (url, asked):
        assert _ask(prefix + url, case, quick()).query == "SELECT 2"
    assert [one.body for one in asked] == [{"question": case.question}]


def test_one_number_serves_as_tokens_and_time(case: Case, quick: Quick) -> None:
    with _server({"sql": "SELECT 2", "n": 9, "took": {"s": 1.5}}) as (url, _):
        prediction = _ask(url, case, quick(tokens_path="n", times_path="took.s"))
    assert prediction.tokens == TokenUsage(total=9)
    assert dict(prediction.timings_s)["s"] == 1.5


@each(
    ("said", "path", "kind", "message"),
    [
        ({"sql": None, "message": "I do not know"}, None, "clarification", 'no query: "I do not know"'),
        ({"sql": " "}, "sql", "unanswered", "returned no query"),
        ({"sql": "```sql\n```"}, "sql", "unanswered", "returned no query"),
        ({"sql": "/* hm */ ;"}, "sql", "unanswered", "returned no query"),
        ({"text": "SELECT 1"}, None, "rejected", "no field for the query: it has 'text'"),
        ({"text": "SELECT 1"}, "data.sql", "rejected", "nothing at 'data.sql': its fields are 'text'"),
        ({"data": [1]}, "data.5", "rejected", "nothing at 'data.5'"),
        ({"sql": {"a": 1}}, "sql", "rejected", "an object at 'sql' instead of a query: {"),
        ([1], None, "rejected", "not an object"),
    ],
)
def test_an_answer_without_a_query_says_what_it_has(
    case: Case, quick: Quick, said: Any, path: str | None, kind: str, message: str
) -> None:
    with _server(said) as (url, _):
        failure = _ask(url, case, quick(query_path=path)).failure
    assert failure.kind == kind
    assert message in failure.message


@each(
    ("template", "message"),
    [
        ('{"q": {question}}', "is not JSON"),
        ('["{question}"]', "not a JSON object"),
        ('{"q": "{context}"}', "has no {question}"),
        ('{"q": "{qestion} {question}"}', r"\{qestion\} \(did you mean \{question\}\?\)"),
    ],
)
def test_a_template_that_cannot_work_is_refused(template: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        HttpSystem.open("http://localhost/ask", SystemOptions(body_template=template))


def test_doubled_braces_are_braces(case: Case, quick: Quick) -> None:
    with _server({"sql": "SELECT 1"}) as (url, asked):
        _ask(url, case, quick(body_template='{"q": "{{id}} {question}"}'))
    assert asked[0].body["q"] == "{id} " + case.question


def test_https_addresses_are_systems_as_they_stand() -> None:
    system = HttpsSystem.open("https://localhost/ask", SystemOptions())
    assert system.describe() == 'https:https://localhost/ask body={"question": "{question}"}'
    system.close()


def test_the_description_tells_templates_apart_and_hides_secrets() -> None:
    options = SystemOptions(parameters=(("api_key", "key-98765"), ("model", "big")), token=Secret("tok-12345"))
    system = HttpSystem.open(
        "http:https://ana:hush1@host/ask?sig=1&token=hush2", SystemOptions(parameters=options.parameters)
    )
    described = system.describe()
    system.close()
    assert "big" in described
    for secret in ("key-98765", "hush1", "hush2", "ana"):
        assert secret not in described
    assert "tok-12345" not in repr(options)


@pytest.mark.parametrize("closed_while", ["connecting", "waiting for the answer"])
def test_closing_ends_the_connections_of_questions_in_flight(
    case: Case, quick: Quick, monkeypatch: pytest.MonkeyPatch, closed_while: str
) -> None:
    """What an aborted run leaves in flight ends in its own thread, and leaves no connection open."""
    begun, go_on = threading.Event(), threading.Event()
    made: list[socket.socket] = []
    connects = socket.create_connection

    def connecting(*arguments: Any, **options: Any) -> socket.socket:
        if closed_while == "connecting":
            begun.set()
            assert go_on.wait(300)
        made.append(connects(*arguments, **options))
        return made[-1]

    def slow(question: str) -> str:
        begun.set()
        assert go_on.wait(300)
        return question

    monkeypatch.setattr(socket, "create_connection", connecting)
    with ChatEmulator(answers=lambda messages: slow(messages[-1]["content"])) as server:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "{question}"}]})
        url = f"{server.openai_url}/chat/completions"
        system = HttpSystem.open(url, quick(body_template=body, query_path="choices.0.message.content"))
        asking = threading.Thread(target=system.answer, args=(case,), daemon=True)
        asking.start()
        assert begun.wait(300)
        system.close()
        go_on.set()
        asking.join(300)
        assert not asking.is_alive()
    assert [one.fileno() for one in made] == [-1] * len(made)
    assert made


@each(
    ("said", "path"),
    [
        ({"rows": [[1, "a"]], "columns": ["n", "name"]}, None),
        ({"sql": None, "rows": [[1, "a"]], "columns": ["n", "name"]}, None),
        ({"answer": {"rows": [{"n": 1, "name": "a"}]}}, None),
        ({"data": {"table": [[1, "a"]]}}, "data.table"),
    ],
)
def test_rows_in_place_of_a_query_are_an_answer(case: Case, quick: Quick, said: Any, path: str | None) -> None:
    with _server(said) as (url, _):
        answer = _ask(url, case, quick(query_path=path))
    assert answer.failure is None
    assert answer.query is None
    assert answer.result.result().rows == ((1, "a"),)


def test_a_query_beside_rows_is_the_answer_and_uneven_rows_are_no_answer_that_can_be_read(
    case: Case, quick: Quick
) -> None:
    with _server({"sql": "SELECT 1", "rows": [[2]]}) as (url, _):
        assert _ask(url, case, quick()).query == "SELECT 1"
    with _server({"rows": [[1, 2], [3]]}) as (url, _):
        failure = _ask(url, case, quick()).failure
    assert (failure.kind, failure.blame) == ("unreadable_answer", "system")
    assert "row 2" in failure.message
