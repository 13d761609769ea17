"""The emulator speaks the two APIs as they are documented."""

from __future__ import annotations

import json
import threading
import time
from base64 import b64encode
from pathlib import Path
from typing import Any

import httpx
import pytest

from assay.errors import CaseFileError, InputError
from assay.testing import DenodoEmulator, Fault

ROWS = """id,name,amount,day,at,open
1,Ana,12.50,2024-01-31,2024-01-31 10:30:00,true
2,,-3.25,2024-02-01,2024-02-01 00:00:00,false
3,"O'Hara, B",0.10,,2024-02-02 23:59:59,true
"""
DOCUMENTED = {
    *("answer", "sql_query", "query_explanation", "tokens", "execution_result", "related_questions", "tables_used"),
    *("raw_graph", "sql_execution_time", "vector_store_search_time", "llm_time", "total_execution_time"),
}


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny_bank"
    folder.mkdir()
    (folder / "account.csv").write_text(ROWS, encoding="utf-8")
    return folder


def _execute(server: DenodoEmulator, vql: str, *, server_id: str = "1", **more: Any) -> httpx.Response:
    body = {"vql": vql, **more}
    return httpx.post(f"{server.execute_url}?serverId={server_id}", json=body, trust_env=False)


def _values(response: httpx.Response) -> list[list[Any]]:
    return [[value["value"] for value in row["values"]] for row in response.json()["rows"]]


def test_an_answer_has_every_documented_field(bank: Path) -> None:
    with DenodoEmulator(answers={"How many?": "SELECT COUNT(*) AS n FROM account"}, tables=bank) as server:
        response = httpx.post(server.api_url, json={"question": "How many?"}, trust_env=False)
        assert server.asked["How many?"] == 1
    said = response.json()
    assert response.status_code == 200
    assert said.keys() == DOCUMENTED
    assert said["execution_result"] == {"Row 1": [{"columnName": "n", "value": 3}]}


def test_a_question_also_comes_by_get() -> None:
    with DenodoEmulator(answers={"a b": "SELECT 1"}) as server:
        said = httpx.get(server.question_url, params={"question": "a b", "mode": "data"}, trust_env=False).json()
    assert said["sql_query"] == "SELECT 1"


def test_an_unknown_question_gets_no_query() -> None:
    with DenodoEmulator() as server:
        said = httpx.post(server.api_url, json={"question": "Why?"}, trust_env=False).json()
    assert said["sql_query"] == ""
    assert said["answer"]


def test_rows_come_as_json_values(bank: Path) -> None:
    with DenodoEmulator(tables=bank) as server:
        response = _execute(server, "SELECT * FROM tiny_bank.account ORDER BY id")
        exact = _execute(server, "SELECT CAST('12345678901234567890.10' AS DECIMAL(30, 2)) AS d, 2::HUGEINT ** 70 AS h")
        assert server.executed == {
            "SELECT * FROM tiny_bank.account ORDER BY id": 1,
            json.loads(exact.request.content)["vql"]: 1,
        }
    assert response.json()["rows"][0]["values"][0] == {"column": "id", "value": 1}
    assert _values(response) == [
        [1, "Ana", 12.5, "2024-01-31", "2024-01-31 10:30:00", True],
        [2, None, -3.25, "2024-02-01", "2024-02-01 00:00:00", False],
        [3, "O'Hara, B", 0.1, None, "2024-02-02 23:59:59", True],
    ]
    assert '"value":12345678901234567890.10' in exact.text


@pytest.mark.parametrize(("no_rows", "said"), [("absent", {}), ("null", {"rows": None}), ("list", {"rows": []})])
def test_no_rows_are_written_in_each_way(bank: Path, no_rows: Any, said: dict[str, Any]) -> None:
    with DenodoEmulator(tables=bank, no_rows=no_rows) as server:
        assert _execute(server, "SELECT * FROM account WHERE id > 9").json() == said


def test_limits_cut_results() -> None:
    vql = "SELECT * FROM range(500)"
    with DenodoEmulator() as server:
        assert len(_values(_execute(server, vql))) == 100
        assert len(_values(_execute(server, vql, limit=7))) == 7
        assert len(_values(_execute(server, vql, limit=1000))) == 500
    with DenodoEmulator(row_limit=50) as server:
        assert len(_values(_execute(server, vql, limit=1000))) == 50


@pytest.mark.parametrize(
    ("vql", "message"),
    [
        ("SELECT nothing FROM account", 'Error executing VQL: Binder Error: Referenced column "nothing"'),
        ("SELEC 1", "Error executing VQL: Parser Error"),
        ("DROP TABLE account", "only one SELECT"),
        ("SELECT 1; SELECT 2", "only one SELECT"),
        ("SELECT * FROM read_csv('/etc/passwd')", "Permission Error"),
    ],
)
def test_a_query_that_fails_says_why_in_its_first_line(bank: Path, vql: str, message: str) -> None:
    with DenodoEmulator(tables=bank) as server:
        response = _execute(server, vql)
        assert len(_values(_execute(server, "SELECT * FROM account"))) == 3
    assert response.status_code == 500
    lines = response.json()["message"].splitlines()
    assert message in lines[0]
    assert len(lines) > 1


def test_requests_that_cannot_be_understood() -> None:
    with DenodoEmulator() as server:
        assert (
            _execute(server, "SELECT 1", server_id="9").json()["message"].startswith("There is no server with id '9'")
        )
        assert _execute(server, "SELECT 1", limit="x").status_code == 400
        missing = httpx.post(server.api_url, json={"plot": False}, trust_env=False)
        assert missing.status_code == 422
        assert missing.json()["detail"][0]["loc"] == ["body", "question"]
        assert httpx.post(server.api_url, content=b"{", trust_env=False).status_code == 422
        assert httpx.post(f"{server.base_url}/ask", json={}, trust_env=False).status_code == 404


def test_both_apis_want_credentials_where_they_are_set() -> None:
    basic = "Basic " + b64encode(b"ana:p:w").decode()
    with DenodoEmulator(answers={"q": "SELECT 1"}, user="ana", password="p:w", token="t") as server:
        for url, body in (
            (server.api_url, {"question": "q"}),
            (f"{server.execute_url}?serverId=1", {"vql": "SELECT 1"}),
        ):
            for header, status in ((basic, 200), ("Bearer t", 200), ("Bearer x", 401), ("", 401)):
                response = httpx.post(url, json=body, headers={"Authorization": header}, trust_env=False)
                assert response.status_code == status
        assert "p:w" not in repr(server.calls)


def test_faults_of_the_execute_endpoint() -> None:
    faults = [
        Fault(kind="error", on="execute", question="SELECT 1", message="the source is down"),
        Fault(kind="busy", on="execute", question="SELECT 2", retry_after="3", times=1),
        Fault(kind="unauthorised", on="execute", question="SELECT 3", after=1),
        Fault(kind="malformed", on="execute", question="SELECT 4"),
        Fault(kind="cut_off", on="execute", question="SELECT 5"),
    ]
    with DenodoEmulator(answers={"q": "SELECT 1"}, faults=faults) as server:
        assert _execute(server, "SELECT 1").json()["message"].splitlines()[0] == "the source is down"
        busy = _execute(server, "SELECT 2")
        assert (busy.status_code, busy.headers["Retry-After"]) == (429, "3")
        assert _execute(server, "SELECT 2").status_code == 200
        assert [_execute(server, "SELECT 3").status_code for _ in range(3)] == [200, 401, 401]
        with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
            _execute(server, "SELECT 4").json()
        with pytest.raises(httpx.RemoteProtocolError):
            _execute(server, "SELECT 5")
        assert httpx.post(server.api_url, json={"question": "q"}, trust_env=False).status_code == 200
        server.faults.clear()
        assert _execute(server, "SELECT 5").status_code == 200


def test_a_marketplace_reports_failed_queries_with_status_200(bank: Path) -> None:
    masked = Fault(kind="masked", on="execute", question="SELECT 1 AS one")
    beside = Fault(kind="error_beside_rows", on="execute", question="SELECT 2 AS two", message="a source is down")
    failing = Fault(kind="execution_error", on="execute", question="SELECT 3", message="no connection")
    with DenodoEmulator(tables=bank, faults=[masked, beside, failing], marketplace=True) as server:
        assert _execute(server, "SELECT * FROM account WHERE id > 9").json() == {
            "executionErrors": [],
            "masked": False,
        }
        wrong = _execute(server, "SELECT nothing FROM account")
        assert wrong.status_code == 200
        assert wrong.json()["rows"] == []
        assert "nothing" in wrong.json()["executionErrors"][0]["message"]
        assert _execute(server, "SELECT 1 AS one").json()["masked"] is True
        both = _execute(server, "SELECT 2 AS two")
        assert (_values(both), both.json()["executionErrors"]) == ([[2]], [{"message": "a source is down"}])
        assert "no connection" in _execute(server, "SELECT 3").json()["executionErrors"][0]["message"]


def test_a_marketplace_wants_lists_and_empties_queries() -> None:
    vql = "select name from branch"
    with DenodoEmulator(answers={"q": vql, "r": "SELECT 1 FROM t"}, marketplace=True) as server:

        def ask(question: str, **fields: Any) -> httpx.Response:
            return httpx.post(server.api_url, json={"question": question, **fields}, trust_env=False)

        refused = ask("q", vdp_database_names="bank", vdp_tag_names=[1], use_views=["v"])
        assert refused.status_code == 422
        assert [(one["type"], one["loc"]) for one in refused.json()["detail"]] == [
            ("list_type", ["body", "vdp_database_names"]),
            ("string_type", ["body", "vdp_tag_names", 0]),
        ]
        said = ask("q", vdp_database_names=["bank"]).json()
        assert (said["sql_query"], said["answer"]) == ("", vql)
        assert ask("r").json()["sql_query"] == "SELECT 1 FROM t"


def test_a_stopped_server_takes_no_connection() -> None:
    with DenodoEmulator() as server, httpx.Client(trust_env=False) as client:
        url = server.api_url
        assert client.post(url, json={"question": "q"}).status_code == 200
        server.stop()
        with pytest.raises(httpx.TransportError):
            client.post(url, json={"question": "q"})
        with pytest.raises(RuntimeError, match="does not run"):
            _ = server.api_url


def test_stopping_ends_slow_answers_and_long_queries() -> None:
    endless = "SELECT COUNT(*) FROM range(1000000000) a, range(1000000000) b"
    slow = Fault(kind="slow", seconds=60)
    troubles: list[Exception] = []

    def call(url: str, body: dict[str, str]) -> None:
        try:
            httpx.post(url, json=body, trust_env=False, timeout=30)
        except httpx.TransportError as error:
            troubles.append(error)

    with DenodoEmulator(faults=[slow]) as server:
        calls = [(server.api_url, {"question": "q"}), (f"{server.execute_url}?serverId=1", {"vql": endless})]
        threads = [threading.Thread(target=call, args=arguments) for arguments in calls]
        for thread in threads:
            thread.start()
        while not (server.asked and server.executed):
            time.sleep(0.01)
        time.sleep(0.2)
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert len(troubles) == 2


def test_answers_and_tables_that_cannot_be_read_say_where(tmp_path: Path) -> None:
    broken = tmp_path / "answers.jsonl"
    broken.write_text('{"question": "a"}\n{"query": "b"}\n')
    with pytest.raises(CaseFileError, match=r"answers\.jsonl, line 2"):
        DenodoEmulator(answers=broken)
    with pytest.raises(InputError, match="contains no CSV file"):
        DenodoEmulator(tables=tmp_path)
