"""The Denodo AI SDK client, against the emulator over real HTTP."""

from __future__ import annotations

import json
import logging
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from answering import ask_all
from assay.errors import InputError, SystemLost, SystemUnusable
from assay.model import Case, Extraction, Prediction, Secret, TokenUsage
from assay.systems.denodo import DenodoSystem
from assay.systems.http.extras import token_usage
from assay.systems.options import SystemOptions
from assay.testing import DenodoEmulator, Fault
from assay.testing.server import Reply, Request
from many_cases import each
from ports import free_port

QUESTION = "How many clients are there?"
SQL = "SELECT COUNT(*) FROM client"
Ask = Callable[..., Prediction]


def _failure(prediction: Prediction, blame: str = "system", kind: str = "ask_failed") -> str:
    assert prediction.query is None
    assert (prediction.failure.stage, prediction.failure.blame) == ("ask", blame)
    assert prediction.failure.kind == kind
    return prediction.failure.message


def test_everything_the_answer_says_is_kept(ask: Ask) -> None:
    response = {
        "sql_query": f"```sql\n{SQL};\n```",
        "query_explanation": "Counts them.",
        "tables_used": ["bank.client"],
        "tokens": {"prompt_tokens": 10, "completion_tokens": 5},
        "sql_execution_time": 0.5,
        "vector_store_search_time": 0,
        "llm_time": "1.5",
        "total_execution_time": None,
    }
    with DenodoEmulator(answers={QUESTION: response}) as server:
        assert ask(server) == Prediction(
            case_id="7",
            query=SQL,
            raw=response["sql_query"],
            explanation="Counts them.",
            context_tables=("bank.client",),
            tokens=TokenUsage(input=10, output=5),
            timings_s=(("sql_execution_time", 0.5), ("vector_store_search_time", 0.0), ("llm_time", 1.5)),
            extraction=Extraction(place="fence"),
        )
        (call,) = server.calls
        assert dict(call.body) == {
            "question": QUESTION,
            "custom_instructions": "Count the closed ones, too.",
            "plot": False,
            "disclaimer": False,
            "verbose": False,
        }


def test_parameters_extend_and_replace_the_body(ask: Ask) -> None:
    given = {"vdp_database_names": "bank", "vector_search_k": "9", "verbose": "true", "custom_instructions": "x"}
    with DenodoEmulator(answers={QUESTION: SQL}) as server:
        ask(server, parameters=tuple(given.items()))
        body = server.calls[0].body
    sent = {"vdp_database_names": "bank", "vector_search_k": 9, "verbose": True, "custom_instructions": "x"}
    assert body.items() >= sent.items()


@pytest.mark.parametrize(("parameters", "mode"), [((), "data"), ((("mode", "default"),), "default")])
def test_the_endpoint_of_all_questions_is_asked_for_data(ask: Ask, parameters: object, mode: str) -> None:
    with DenodoEmulator(answers={QUESTION: SQL}) as server:
        assert ask(server, path=server.question_url, parameters=parameters).query == SQL
        assert server.calls[0].body["mode"] == mode


def test_a_query_in_its_own_place_is_never_replaced(ask: Ask) -> None:
    with DenodoEmulator(answers={QUESTION: {"sql_query": SQL, "answer": "select 2"}}) as server:
        prediction = ask(server)
    assert (prediction.query, prediction.query_source) == (SQL, None)


@pytest.mark.parametrize("blank", [None, "", "  ", "```sql\n```", "-- hm"])
def test_a_blank_query_without_a_word_is_unanswered(ask: Ask, blank: str | None) -> None:
    with DenodoEmulator(answers={QUESTION: {"sql_query": blank, "answer": " "}}) as server:
        _failure(ask(server), kind="unanswered")


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (["bank.client", "bank.loan"], ("bank.client", "bank.loan")),
        ("a, b ,", ("a", "b")),
        ([], ()),
        ("", None),
        (None, None),
        (5, None),
        ([None], None),
    ],
)
def test_the_views_that_its_search_found_are_what_it_was_given(
    ask: Ask, said: object, wanted: tuple[str, ...] | None
) -> None:
    with DenodoEmulator(answers={QUESTION: {"sql_query": SQL, "tables_used": said}}) as server:
        prediction = ask(server)
    assert (prediction.context_tables, prediction.context_columns, prediction.tables_used) == (wanted, None, ())


def test_an_answer_in_words_is_a_clarification_with_what_was_said(ask: Ask) -> None:
    response = {"sql_query": "", "answer": "That is about metadata.\nMore.", "tables_used": "", "llm_time": 2.0}
    with DenodoEmulator(answers={QUESTION: response}) as server:
        prediction = ask(server)
    assert "That is about metadata." in _failure(prediction, kind="clarification")
    assert dict(prediction.timings_s)["llm_time"] == 2.0
    assert prediction.context_tables is None


@pytest.mark.parametrize(
    ("options", "server_options"),
    [
        ({"user": "ana", "password": Secret("p:äß")}, {"user": "ana", "password": "p:äß"}),
        ({"user": "ana"}, {"user": "ana"}),
        ({"token": Secret("abc.def")}, {"token": "abc.def"}),
    ],
)
def test_basic_and_bearer_let_in(ask: Ask, options: dict[str, object], server_options: dict[str, str]) -> None:
    with DenodoEmulator(answers={QUESTION: SQL}, **server_options) as server:  # type: ignore[arg-type]
        assert ask(server, **options).query == SQL


def test_credentials_in_the_url_are_used_and_never_shown(ask: Ask, quick: Callable[..., SystemOptions]) -> None:
    with DenodoEmulator(answers={QUESTION: SQL}, user="ana", password="sec/ret") as server:
        url = server.api_url.replace("http://", "http://ana:sec%2Fret@") + "?api_key=hush1"
        assert ask(server, path=url).query == SQL
        described = DenodoSystem.open(f"denodo:{url}", quick()).describe()
    assert "ana" not in described
    assert "sec" not in described
    assert "hush1" not in described


def test_wrong_credentials_end_the_run_at_the_first_answer(ask: Ask) -> None:
    with DenodoEmulator(answers={QUESTION: SQL}, user="ana", password="right") as server:
        with pytest.raises(SystemUnusable, match=r"refuses the credentials \(401: Invalid credentials\)") as raised:
            ask(server, user="ana", password=Secret("wrong-one"))
        assert "wrong-one" not in str(raised.value)
        with pytest.raises(SystemUnusable, match="asks for credentials"):
            ask(server)
        assert server.asked[QUESTION] == 2


def test_expired_credentials_say_so(quick: Callable[..., SystemOptions], case: Case) -> None:
    with DenodoEmulator(answers={QUESTION: SQL}, token="t-o-k", faults=[Fault(kind="unauthorised", after=1)]) as server:
        system = DenodoSystem.open(f"denodo:{server.api_url}", quick(token=Secret("t-o-k")))
        assert system.answer(case).query == SQL
        with pytest.raises(SystemUnusable, match="no longer accepts the credentials"):
            system.answer(case)
        system.close()
        system.close()


def test_a_wrong_path_names_the_address(ask: Ask) -> None:
    with DenodoEmulator() as server, pytest.raises(SystemUnusable, match="/answerDataQuestoin answers 404: Not Found"):
        ask(server, path=f"{server.base_url}/answerDataQuestoin")


WORDS = [
    "No relevant tables were found for the question",
    "Not Found",
    "Nothing is known of passwords, tokens or expired credentials",
    "Unauthorized",
    "",
]
"""What a server may say of one question, words among it that others say of an address or of credentials."""


@each("said", WORDS)
@each("status", [401, 403, 404])
def test_a_status_of_the_data_catalogs_own_is_about_the_one_question(ask: Ask, status: int, said: str) -> None:
    fault = Fault(kind="passed_through", status=status, message=said)
    with DenodoEmulator(answers={QUESTION: SQL}, faults=[fault]) as server:
        prediction = ask(server)
        assert server.asked[QUESTION] == 1
    if status == 404:  # no table fits: an answer, which the same command does not ask for again
        assert (said or "no table fits the question") in _failure(prediction, kind="clarification")
    else:
        assert f"the server answers {status}" in _failure(prediction, kind="rejected")


def test_a_newer_server_says_404_to_a_question_that_fits_no_table(ask: Ask) -> None:
    with DenodoEmulator(newer=True) as server:
        assert "No relevant tables" in _failure(ask(server), kind="clarification")


@each(
    ("status", "said"),
    [
        *((status, None) for status in (401, 403, 404)),
        *((404, said) for said in ("Not Found", "", "The requested URL was not found on the server.", "Unknown route")),
        (404, "No such endpoint: /answerDataQuestoin"),
        *((401, said) for said in ("Not authenticated", "Invalid credentials")),
        *((403, said) for said in ("Forbidden", "The token has expired")),
    ],
)
def test_a_refusal_without_a_reason_of_the_questions_own_ends_the_run(ask: Ask, status: int, said: str | None) -> None:
    """A page of a gateway is about no question either."""
    page = Fault(kind="web_page", status=status)
    fault = page if said is None else Fault(kind="unavailable", status=status, message=said)
    with DenodoEmulator(answers={QUESTION: SQL}, faults=[fault]) as server, pytest.raises(SystemUnusable):
        ask(server)


@pytest.mark.parametrize("status", [200, 500, 502])
def test_a_page_in_place_of_an_answer_is_a_failure_and_no_query(ask: Ask, status: int) -> None:
    with DenodoEmulator(answers={QUESTION: SQL}, faults=[Fault(kind="web_page", status=status)]) as server:
        _failure(ask(server), "network" if status == 502 else "system", "rejected" if status == 200 else "ask_failed")


def test_a_newer_server_asks_back_unless_it_is_told_not_to(ask: Ask) -> None:
    answers = {QUESTION: {"sql_query": SQL, "clarification": "Clients of which bank?\nThere are two."}}
    with DenodoEmulator(answers=answers, newer=True) as server:
        asked_back = ask(server)
        told = ask(server, parameters=(("check_ambiguity", "false"),))
        assert [call.body.get("check_ambiguity") for call in server.calls] == [None, False]
    assert _failure(asked_back, kind="clarification") == 'the system returned no query: "Clients of which bank?"'
    assert (told.query, told.failure) == (SQL, None)
    with DenodoEmulator(answers=answers) as older:
        assert ask(older).query == SQL


LISTS = {"vdp_database_names": "bank, sales", "vdp_tag_names": "eu", "use_views": "bank.client"}


def test_text_becomes_a_list_where_the_server_asks_for_one(quick: Callable[..., SystemOptions], case: Case) -> None:
    with DenodoEmulator(answers={QUESTION: SQL}, marketplace=True) as server:
        system = DenodoSystem.open(f"denodo:{server.api_url}", quick(parameters=tuple(LISTS.items())))
        described = system.describe()
        assert [system.answer(case).query for _ in range(2)] == [SQL, SQL]
        assert system.describe() == described  # answers are kept under it
        system.close()
        assert [call.status for call in server.calls] == [422, 200, 200]
        sent = {name: server.calls[-1].body[name] for name in LISTS}
    assert sent == {"vdp_database_names": ["bank", "sales"], "vdp_tag_names": ["eu"], "use_views": ["bank.client"]}


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("bank", ["bank"]),
        ("2024", ["2024"]),
        ("[2024, 1.5]", ["2024", "1.5"]),
        ('["bank"]', ["bank"]),
        (" a ,, b ", ["a", "b"]),
        ("true", ["true"]),
    ],
)
def test_a_value_of_any_type_is_brought_into_a_list_of_texts(ask: Ask, text: str, form: list[str]) -> None:
    with DenodoEmulator(answers={QUESTION: SQL}, marketplace=True) as server:
        assert ask(server, parameters=(("vdp_tag_names", text),)).query == SQL
        assert server.calls[-1].body["vdp_tag_names"] == form


def detail(name: str, kind: str, message: str, *more: object) -> dict[str, object]:
    return {"type": kind, "loc": ["body", name, *more], "msg": message}


class Choosy(DenodoEmulator):
    """A server that refuses bodies by a rule of the test's own."""

    def __init__(self, rule: Callable[[Mapping[str, Any]], list[dict[str, object]]]) -> None:
        super().__init__(answers={QUESTION: SQL})
        self.rule = rule

    def reply(self, request: Request) -> Reply:
        problems = self.rule(request.body)
        return Reply(status=422, body={"detail": problems}) if problems else super().reply(request)


@pytest.mark.parametrize(
    ("given", "kind", "sent"),
    [
        ('["bank", "sales"]', "string_type", "bank,sales"),
        ('["bank", "sales"]', "type_error.str", "bank,sales"),
        ("5", "string_type", "5"),
        ("1e3", "string_type", "1e3"),
        ("bank", "type_error.list", ["bank"]),
        ("bank", "set_type", ["bank"]),
    ],
)
def test_older_servers_and_their_errors_are_understood(ask: Ask, given: str, kind: str, sent: object) -> None:
    with Choosy(lambda body: [] if body["x"] == sent else [detail("x", kind, "wrong")]) as server:
        assert ask(server, parameters=(("x", given),)).query == SQL


def test_a_field_of_ours_that_a_server_does_not_take_is_left_out(ask: Ask) -> None:
    with Choosy(
        lambda body: [detail(name, "extra_forbidden", "Extra") for name in ("plot", "verbose") if name in body]
    ) as server:
        assert ask(server).query == SQL
        assert "disclaimer" in server.calls[-1].body


@pytest.mark.parametrize(
    ("problem", "advice"),
    [
        (detail("x", "extra_forbidden", "Extra inputs"), "omit --param x"),
        (detail("x", "int_parsing", "Input should be a valid integer"), "change the value of --param x=5"),
        (detail("request", "missing", "Field required"), "--api-url.*--param request=VALUE"),
        (detail("api_key", "value_error", "wrong key"), r"--param api_key=\*\*\*"),
    ],
)
def test_what_no_retry_can_change_names_the_option_at_once(ask: Ask, problem: dict[str, Any], advice: str) -> None:
    with Choosy(lambda _: [problem]) as server, pytest.raises(SystemUnusable, match=advice) as raised:
        ask(server, parameters=(("x", "5"), ("api_key", "hush-1234")))
    assert len(server.calls) == 1
    assert "hush" not in str(raised.value)


def test_a_server_that_is_never_content_is_not_asked_for_ever(ask: Ask) -> None:
    kinds = cycle(["list_type", "string_type"])
    with Choosy(lambda _: [detail("x", next(kinds), "no")]) as server:
        failure = ask(server, parameters=(("x", "5"),)).failure
    assert failure.kind == "rejected"
    assert len(server.calls) < 20


@pytest.mark.parametrize(
    "response",
    [
        {"status": "ok"},
        {"vql": SQL},
        {"message": "up"},
        {},
        {"sqlQuery": SQL},
        {"answer": SQL},
        {"detail": {"error": "no", "traceback": "secret line"}},
    ],
    ids=str,
)
def test_a_response_that_is_none_to_a_question_ends_the_run_at_once(ask: Ask, response: dict[str, Any]) -> None:
    content = json.dumps(response).encode()
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)
    with (
        _raw_server(lambda connection: connection.sendall(reply)) as url,
        pytest.raises(SystemUnusable, match=r"no 'sql_query': its fields are .*--api-url") as raised,
    ):
        ask(None, path=url)
    assert all(repr(name) in str(raised.value) for name in response)
    assert "secret" not in str(raised.value)


def test_such_a_response_from_a_server_that_answers_is_about_the_one_question(
    quick: Callable[..., SystemOptions], case: Case
) -> None:
    with DenodoEmulator(answers={QUESTION: SQL}, faults=[Fault(kind="other_endpoint", after=1, times=1)]) as server:
        system = DenodoSystem.open(f"denodo:{server.api_url}", quick())
        assert system.answer(case).query == SQL
        assert "no 'sql_query'" in _failure(system.answer(case), kind="rejected")
        assert system.answer(case).query == SQL
        system.close()


def test_a_server_that_gives_no_more_answers_ends_the_run(quick: Callable[..., SystemOptions], case: Case) -> None:
    with DenodoEmulator(answers={QUESTION: SQL}, faults=[Fault(kind="other_endpoint", after=1)]) as server:
        system = DenodoSystem.open(f"denodo:{server.api_url}", quick())
        got: list[Prediction] = []
        cases = [replace(case, id=str(number)) for number in range(9)]
        with pytest.raises(SystemLost, match=r"the last 3 questions failed, and so does one .* no 'sql_query'"):
            ask_all(system, cases, concurrency=1, on_answer=got.append)
        assert [prediction.query for prediction in got] == [SQL]
        system.close()


@pytest.mark.parametrize(
    "vql",
    [
        "select name from branch",
        "Select name From branch;",
        "select 1",
        "```sql\nselect name from branch\n```",
        "```vql\nselect name from branch;\n```",
        "with x as (select 1 as a) select a from x",
        "select name\n\nfrom branch -- all of them",
        "select name from branch context('i18n' = 'us_est')",
        "select name from branch where note = 'Select this.'",
        "select name from branch where note contains 'rain'",
    ],
)
def test_a_query_that_the_server_left_in_its_answer_is_taken(ask: Ask, vql: str) -> None:
    with DenodoEmulator(answers={QUESTION: vql}, marketplace=True) as server:
        prediction = ask(server)
    assert prediction.failure is None
    assert prediction.query == vql.replace("```sql", "").replace("```vql", "").replace("```", "").strip(" ;\n")
    assert prediction.query_source == "answer"


@pytest.mark.parametrize(
    "words",
    [
        "Here is the query: select name from branch",
        "```sql\nselect 1\n```\nThis counts them.",
        "```sql\nselect 1\n```\n```sql\nselect 2\n```",
        "select 1; select 2",
        "Select the clients",
        "Select a bank from the list.",
        "From which bank?",
        "SELECT queries from this view are not permitted",
        "Select queries from this view are not permitted",
        "drop view branch",
        "describe view branch",
        "With which of the banks (A or B) do you mean?",
        "null",
        "",
    ],
)
@pytest.mark.parametrize("empty", ["", None, "```sql\n```"])
def test_words_are_not_taken_for_a_query(ask: Ask, words: str, empty: str | None) -> None:
    with DenodoEmulator(answers={QUESTION: {"sql_query": empty, "answer": words}}) as server:
        prediction = ask(server)
    assert (prediction.query, prediction.query_source) == (None, None)
    assert prediction.failure.kind in ("clarification", "unanswered")


def test_a_parameter_that_no_question_could_be_asked_with_is_named(ask: Ask) -> None:
    with DenodoEmulator(answers={QUESTION: SQL}) as server:
        with pytest.raises(SystemUnusable, match=r"\(422: mode: Input should be .*--param mode=wrong"):
            ask(server, path=server.question_url, parameters=(("mode", "wrong"),))
        assert server.asked[QUESTION] == 1


@each(
    ("fault", "asked"),
    [
        (Fault(kind="unavailable", status=502, times=1), 2),
        (Fault(kind="unavailable", status=503, times=2), 3),
        (Fault(kind="unavailable", status=504, times=1), 2),
        (Fault(kind="busy", times=2), 3),
        (Fault(kind="dropped", times=1), 2),
        (Fault(kind="cut_off", times=1), 2),
        (Fault(kind="error", message="Error code: 429 - rate limit reached", times=2), 3),
    ],
)
def test_trouble_that_passes_is_asked_again(ask: Ask, fault: Fault, asked: int) -> None:
    with DenodoEmulator(answers={QUESTION: SQL}, faults=[fault]) as server:
        assert ask(server).query == SQL
        assert server.asked[QUESTION] == asked


@pytest.mark.parametrize(
    ("fault", "asked", "blame", "message"),
    [
        (Fault(kind="unavailable", status=502, message="bad gateway"), 3, "network", "502: bad gateway (3 tries)"),
        (Fault(kind="unavailable", status=503), 3, "network", "answers 503"),
        (Fault(kind="unavailable", status=504), 3, "network", "answers 504"),
        (Fault(kind="busy"), 3, "network", "answers 429: Too many requests (3 tries)"),
        (Fault(kind="dropped"), 3, "network", "the connection broke"),
        (Fault(kind="cut_off"), 3, "network", "the connection broke before the answer was complete"),
        (Fault(kind="error", message="429: no tokens left"), 3, "system", "answers 500: 429: no tokens left (3 tries)"),
        (Fault(kind="error", message="no valid plan"), 3, "system", "the server answers 500: no valid plan (3 tries)"),
        (Fault(kind="malformed"), 1, "system", "the answer is not JSON"),
        (Fault(kind="unavailable", status=400, message="no such view"), 1, "system", "answers 400: no such view"),
        (Fault(kind="unavailable", status=418, message="tea"), 1, "system", "answers 418: tea"),
        (Fault(kind="unavailable", status=404, message="no view is like it"), 1, "system", "answers 404: no view is"),
        (Fault(kind="unavailable", status=403, message="salaries are secret"), 1, "system", "answers 403: salaries"),
        (Fault(kind="unavailable", status=401, message="ask about clients"), 1, "system", "answers 401: ask about"),
    ],
)
def test_trouble_that_stays_is_a_failure_of_the_question_or_of_the_way_to_the_service(
    ask: Ask, fault: Fault, asked: int, blame: str, message: str
) -> None:
    with DenodoEmulator(answers={QUESTION: SQL}, faults=[fault]) as server:
        kind = "rejected" if fault.kind == "unavailable" and fault.status < 500 else "ask_failed"
        assert message in _failure(ask(server), blame, kind)
        assert server.asked[QUESTION] == asked


def test_retry_after_is_honoured_up_to_the_bound(ask: Ask) -> None:
    for header, bound, least in (("0.4", 30.0, 0.4), ("3600", 0.2, 0.2)):
        fault = Fault(kind="busy", retry_after=header, times=1)
        with DenodoEmulator(answers={QUESTION: SQL}, faults=[fault]) as server:
            started = time.monotonic()
            assert ask(server, max_wait_s=bound).query == SQL
            assert time.monotonic() - started >= least


def test_a_slow_answer_is_given_up_and_not_asked_again(ask: Ask) -> None:
    with DenodoEmulator(answers={QUESTION: SQL}, faults=[Fault(kind="slow", seconds=600)]) as server:
        assert "no answer within 0.3 s" in _failure(ask(server, timeout_s=0.3))
        assert server.asked[QUESTION] == 1


@contextmanager
def _raw_server(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that does with its connections whatever ``talk`` does."""

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                try:
                    connection.recv(65536)
                    talk(connection)
                except OSError:
                    continue

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/answerDataQuestion"


def _trickle(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{")
    while True:  # until nobody listens
        connection.sendall(b" ")
        time.sleep(0.05)


def _say(text: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(text)


@each(
    ("talk", "message", "blame", "kind"),
    [
        (_trickle, "not complete within 0.4 s", "system", "ask_failed"),
        (_say(b"SSH-2.0-OpenSSH_9\r\n"), "connection broke", "network", "ask_failed"),
        (_say(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n[1]\n"), "not an object", "system", "rejected"),
    ],
)
def test_what_is_no_answer_is_a_failure(
    ask: Ask, talk: Callable[[socket.socket], None], message: str, blame: str, kind: str
) -> None:
    with _raw_server(talk) as url:
        timeout = {"timeout_s": 0.4} if talk is _trickle else {}
        assert message in _failure(ask(None, path=url, **timeout), blame, kind)


def test_a_redirect_is_not_followed(ask: Ask) -> None:
    reply = b"HTTP/1.1 307 Moved\r\nLocation: http://elsewhere.invalid/\r\nContent-Length: 0\r\n\r\n"
    with _raw_server(_say(reply)) as url, pytest.raises(SystemUnusable, match="307 and redirects elsewhere"):
        ask(None, path=url)


@each(
    ("url", "options"),
    [
        (f"http://127.0.0.1:{free_port()}/answerDataQuestion", {}),
        (f"http://127.0.0.1:{free_port()}/", {"retries": 10_000, "retry_wait_s": 0.1, "timeout_s": 0.5}),
        ("http://assay.invalid/ask", {"timeout_s": 2, "retries": 0}),
    ],
)
def test_a_server_that_is_not_there_ends_the_run_within_the_timeout(
    ask: Ask, url: str, options: dict[str, Any]
) -> None:
    with pytest.raises(SystemUnusable, match=f"{re.escape(url)} does not respond"):
        ask(None, path=url, **options)


def test_a_server_that_comes_up_late_is_waited_for(ask: Ask, quick: Callable[..., SystemOptions]) -> None:
    server = DenodoEmulator(answers={QUESTION: SQL}, port=free_port())
    starter = threading.Timer(0.4, server.start)
    starter.start()
    try:
        url = f"http://127.0.0.1:{server._port}/answerDataQuestion"
        assert ask(None, path=url, retries=10_000, retry_wait_s=0.1, max_wait_s=0.2).query == SQL
    finally:
        starter.join()
        server.stop()


def test_a_server_that_goes_down_ends_the_run(quick: Callable[..., SystemOptions], case: Case) -> None:
    with DenodoEmulator(answers={QUESTION: SQL}) as server:
        system = DenodoSystem.open(f"denodo:{server.api_url}", quick())
        assert system.answer(case).query == SQL
    with pytest.raises(SystemUnusable, match="answered before but now accepts no connection"):
        system.answer(case)
    system.close()


def test_no_secret_comes_back_however_the_server_repeats_it(ask: Ask) -> None:
    message = "login failed for ana with password hunter2-xyz (Basic YW5hOmh1bnRlcjIteHl6)"
    fault = Fault(kind="error", message=message)
    with DenodoEmulator(answers={QUESTION: SQL}, faults=[fault]) as server:
        shown = _failure(ask(server, user="ana", password=Secret("hunter2-xyz")))
    assert "hunter2" not in shown
    assert "YW5h" not in shown
    response = {"sql_query": "", "answer": "your token tok-12345 is odd"}
    with DenodoEmulator(answers={QUESTION: response}) as server:
        assert "tok-12345" not in repr(ask(server, token=Secret("tok-12345")))


def test_nothing_secret_is_logged_described_or_represented(
    ask: Ask, quick: Callable[..., SystemOptions], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    options = {"user": "ana", "password": Secret("hunter2-xyz"), "parameters": (("api_key", "key-98765"),)}
    with DenodoEmulator(answers={QUESTION: SQL}, faults=[Fault(kind="busy", times=1)]) as server:
        ask(server, **options)
        ask(server, path=f"{server.api_url}?access_token=hunter2-url", **options)
        system = DenodoSystem.open(f"denodo:{server.api_url}", quick(**options))
        shown = [caplog.text, *capfd.readouterr(), system.describe(), repr(system), repr(quick(**options).password)]
        system.close()
    for text in shown:
        assert "hunter2" not in text
        assert "YW5h" not in text
    assert "key-98765" not in shown[3]


def test_retries_print_nothing(tmp_path: Path) -> None:
    import sys

    script = (
        "from assay.testing import DenodoEmulator, Fault\n"
        "from assay.systems.denodo import DenodoSystem\n"
        "from assay.systems.options import SystemOptions\n"
        "from assay.model import Case\n"
        "with DenodoEmulator(answers={'q': 'SELECT 1'}, faults=[Fault(kind='busy', times=1)]) as server:\n"
        "    system = DenodoSystem.open('denodo:' + server.api_url, SystemOptions(retry_wait_s=0.01))\n"
        "    print(system.answer(Case(id='1', question='q')).query)\n"
        "    system.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.stderr) == ("SELECT 1\n", "")


def test_a_certificate_that_cannot_be_verified_says_so(ask: Ask, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate of this test")
    pem = tmp_path / "server.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(pem), "-out", str(tmp_path / "cert.pem")),
        ],
        check=True,
        capture_output=True,
    )
    pem.write_text(pem.read_text() + (tmp_path / "cert.pem").read_text())
    with DenodoEmulator(answers={QUESTION: SQL}, certificate=pem) as server:
        with pytest.raises(SystemUnusable, match="certificate that cannot be verified"):
            ask(server, retry_wait_s=600)  # which nothing is worth here
        assert ask(server, verify_ssl=False).query == SQL


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("denodo:host:8008/answerDataQuestion", "has no HTTP address"),
        ("denodo:http:///answerDataQuestion", "has no host"),
        ("denodo:http://host:99999/", "port"),
        ("denodo:http://ana:hush@host:x/", "port"),
        ("denodo:ftp://host/", "has no HTTP address"),
    ],
)
def test_an_address_that_is_none_is_refused(url: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        DenodoSystem.open(url, SystemOptions())
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize(
    "given",
    [
        {"user": "a", "token": Secret("t")},
        {"password": Secret("p")},
        {"token": Secret("tökén")},
        {"timeout_s": 0.0},
        {"retries": -1},
    ],
)
def test_options_that_cannot_be_meant_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(InputError) as raised:
        SystemOptions(**given)  # type: ignore[arg-type]
    assert "tökén" not in str(raised.value)


def test_token_counts_have_many_names() -> None:
    assert token_usage({"inputTokens": 1, "outputTokens": "2", "totalTokens": 3.0}) == TokenUsage(
        input=1, output=2, total=3
    )
    assert token_usage({"input": 1, "output": 2}) == TokenUsage(input=1, output=2)
    assert token_usage(12) == TokenUsage(total=12)
    for nothing in ({}, None, "many", {"input": -1}, {"input": float("nan")}, True, []):
        assert token_usage(nothing) is None
