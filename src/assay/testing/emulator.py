"""The emulated Denodo: its answers, and the requests it got."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from hmac import compare_digest
from pathlib import Path
from typing import Any, Literal

from assay.testing.answers import Answers, Tables, VqlError
from assay.testing.faults import Api, Fault
from assay.testing.server import Emulator, Reply, Request, damaged

CATALOG_PATH = "/denodo-data-catalog"
EXECUTE_PATH = f"{CATALOG_PATH}/public/api/askaquestion/execute"
_ASK_PATHS = ("/answerDataQuestion", "/answerQuestion")
_TRACEBACK = (
    'Traceback (most recent call last):\n  File "/opt/ai-sdk/api/main.py", line 42, in answer\n'
    "RuntimeError: connection string user=admin password=traceback-secret"
)
_LIST_FIELDS = ("vdp_database_names", "vdp_tag_names", "use_views")
NoRows = Literal["absent", "null", "list"]


class DenodoEmulator(Emulator):
    """A Denodo AI SDK and a Data Catalog on one loopback port, over real HTTP.

        with DenodoEmulator(answers=..., tables=folder, user="u", password="p") as server:
            server.api_url, server.catalog_url, server.asked["How many?"]

    ``answers``: question to response fields, or to a query as text; or a JSON-lines file of
    ``{"question": …, "response": {…}, "fault": {…}}``. An unknown question gets an answer
    without a query. ``tables``: a folder of CSV files, the database of the execute endpoint.
    Without user and token, every request is accepted. ``default_limit`` cuts results if the
    request names no limit, ``row_limit`` cuts them in any case. ``no_rows`` is how an empty result
    is written. ``certificate`` is a PEM file with key and certificate, for HTTPS. ``newer``: as
    newer releases do, it asks back if an answer has a ``clarification``, unless the request says
    ``check_ambiguity: false``, and answers 404 to an unknown question. ``marketplace``: as the AI SDK 1.4 and its
    Data Marketplace do, it wants lists in some fields, empties a query without an upper-case FROM and leaves it in
    ``answer``, and reports a failed execution with status 200.

    Raises InputError for answers or tables that cannot be read.
    """

    software = "assay-denodo-emulator"

    def __init__(
        self,
        *,
        answers: Mapping[str, Mapping[str, Any] | str] | Path | None = None,
        tables: Path | None = None,
        user: str | None = None,
        password: str = "",
        token: str | None = None,
        faults: Iterable[Fault] = (),
        default_limit: int = 100,
        row_limit: int | None = None,
        no_rows: NoRows = "absent",
        server_id: str = "1",
        port: int = 0,
        certificate: Path | None = None,
        newer: bool = False,
        marketplace: bool = False,
    ) -> None:
        self.answers: Answers = Answers.read(answers)
        super().__init__(port=port, certificate=certificate, faults=(*self.answers.faults, *faults))
        self.tables: Tables = Tables(tables)
        self.default_limit = default_limit
        self.row_limit = row_limit
        self.no_rows = no_rows
        self.server_id = server_id
        self.newer = newer
        self.marketplace = marketplace
        self._accepted = _accepted(user, password, token)
        self._asked: Counter[str] = Counter()
        self._executed: Counter[str] = Counter()

    def released(self) -> None:
        """Close the tables together with the server."""
        self.tables.close()

    @property
    def api_url(self) -> str:
        """The AI SDK's endpoint for data questions."""
        return f"{self.base_url}/answerDataQuestion"

    @property
    def question_url(self) -> str:
        """The AI SDK's endpoint for questions of any kind."""
        return f"{self.base_url}/answerQuestion"

    @property
    def catalog_url(self) -> str:
        """The Data Catalog."""
        return f"{self.base_url}{CATALOG_PATH}"

    @property
    def execute_url(self) -> str:
        """The Data Catalog's execute endpoint."""
        return f"{self.base_url}{EXECUTE_PATH}"

    @property
    def asked(self) -> Counter[str]:
        """How often each question came, answered or not."""
        with self._lock:
            return Counter(self._asked)

    @property
    def executed(self) -> Counter[str]:
        """How often each VQL came, executed or not."""
        with self._lock:
            return Counter(self._executed)

    def _lets_in(self, authorization: str | None) -> bool:
        given = (authorization or "").encode("utf-8", "replace")
        return not self._accepted or any(compare_digest(given, header.encode()) for header in self._accepted)

    def _count(self, counter: Counter[str], text: str) -> None:
        with self._lock:
            counter[text] += 1

    def reply(self, request: Request) -> Reply:
        """The answer of the AI SDK, or of the Data Catalog."""
        if request.path in _ASK_PATHS:
            return self._ask(request)
        if request.path == EXECUTE_PATH and request.method == "POST":
            return self._execute(request)
        return Reply(status=404, body={"detail": "Not Found"})

    def _ask(self, request: Request) -> Reply:
        body = request.body
        question = body.get("question") if isinstance(body, dict) else None
        if isinstance(question, str):
            self._count(self._asked, question)
        if not self._lets_in(request.headers.get("Authorization")):
            return _unauthorised("ask")
        problems = _not_understood(request.path, body) or (_not_lists(body) if self.marketplace else [])
        if problems:
            return Reply(status=422, body={"detail": problems})
        faults = self.faults.met_by("ask", str(question))
        asks_back = self.newer and body.get("check_ambiguity") is not False
        return self._refused(faults, "ask") or self._answer(str(question), faults, asks_back=asks_back)

    def _answer(self, question: str, faults: list[Fault], *, asks_back: bool) -> Reply:
        if self.newer and question not in self.answers.by_question:
            return Reply(status=404, body=_no_table())
        response = self.answers.response(question)
        clarification = response.pop("clarification", None)
        if asks_back and clarification is not None:
            response |= {"answer": clarification, "sql_query": "", "execution_result": {}, "tables_used": ""}
        if self.marketplace and response["sql_query"] and "FROM" not in response["sql_query"]:
            response |= {"answer": response["answer"] or response["sql_query"], "sql_query": ""}
        if response["sql_query"] and not response["execution_result"]:
            response["execution_result"] = self._execution_result(response["sql_query"])
        return damaged(Reply(status=200, body=response), faults)

    def _execution_result(self, vql: str) -> dict[str, Any]:
        try:
            columns, rows = self.tables.run(vql, 100)
        except VqlError:
            return {}
        return {
            f"Row {number}": [{"columnName": column, "value": cell} for column, cell in zip(columns, row, strict=True)]
            for number, row in enumerate(rows, start=1)
        }

    def _execute(self, request: Request) -> Reply:
        body = request.body
        vql = body.get("vql") if isinstance(body, dict) else None
        if isinstance(vql, str):
            self._count(self._executed, vql)
        if not self._lets_in(request.headers.get("Authorization")):
            return _unauthorised("execute")
        server_id = request.query.get("serverId", "")
        if server_id != self.server_id:
            return Reply(status=400, body={"message": f"There is no server with id '{server_id}'\nCheck serverId."})
        limit = body.get("limit") if isinstance(body, dict) else None
        if not isinstance(vql, str) or not (limit is None or (isinstance(limit, int) and limit >= 0)):
            return Reply(status=400, body={"message": "The body is not valid\nIt needs vql, and may have limit."})
        faults = self.faults.met_by("execute", vql)
        if (faulty := self._refused(faults, "execute")) is not None:
            return faulty
        most = self.default_limit if limit is None else limit
        if self.row_limit is not None:
            most = min(most, self.row_limit)
        try:
            columns, rows = self.tables.run(vql, most)
        except VqlError as error:
            return Reply(**_failed_execution(str(error), with_status=not self.marketplace))
        kinds = {fault.kind for fault in faults}
        found = self._rows(columns, rows)
        if self.marketplace or "masked" in kinds:
            found |= {"executionErrors": [], "masked": "masked" in kinds}
        for fault in faults:
            if fault.kind == "error_beside_rows":
                found |= {"executionErrors": [{"message": fault.message}]}
        return damaged(Reply(status=200, body=found), faults)

    def _rows(self, columns: list[str], rows: list[Any]) -> dict[str, Any]:
        if not rows:
            empty: dict[str, dict[str, Any]] = {"absent": {}, "null": {"rows": None}, "list": {"rows": []}}
            return empty[self.no_rows]
        return {
            "rows": [
                {"values": [{"column": column, "value": cell} for column, cell in zip(columns, row, strict=True)]}
                for row in rows
            ]
        }

    def _refused(self, faults: list[Fault], api: Api) -> Reply | None:
        return self.reply_of(faults, lambda fault: _refusal(fault, api))


def _accepted(user: str | None, password: str, token: str | None) -> tuple[str, ...]:
    basic = () if user is None else ("Basic " + b64encode(f"{user}:{password}".encode()).decode(),)
    return basic if token is None else (*basic, f"Bearer {token}")


def _failed_execution(message: str, *, with_status: bool) -> dict[str, Any]:
    """The fields of a reply to a query that failed: by its status, or in the way of the Data Marketplace."""
    message = f"{message}\nat com.example.Execute.run(Execute.java:1)"
    if with_status:
        return {"status": 500, "body": {"message": message}}
    return {"status": 200, "body": {"rows": [], "executionErrors": [{"message": message}], "masked": False}}


def _refusal(fault: Fault, api: Api) -> Reply | None:
    """The reply of a fault in place of the server's; None if the fault does something else."""
    wait = () if fault.retry_after is None else (("Retry-After", fault.retry_after),)
    match fault.kind:
        case "error":
            return Reply(status=500, body=_error(api, fault.message))
        case "busy":
            return Reply(status=429, body=_complaint(api, "Too many requests"), headers=wait)
        case "unavailable":
            return Reply(status=fault.status, body=_complaint(api, fault.message), headers=wait)
        case "unauthorised":
            return _unauthorised(api)
        case "no_table":
            return Reply(status=404, body=_no_table())
        case "passed_through":
            return Reply(status=fault.status, body={"detail": {"error": fault.message, "traceback": ""}})
        case "execution_error":
            return Reply(**_failed_execution(fault.message, with_status=False))
        case "rejected":
            problem = {"type": "value_error", "loc": ["body", "question"], "msg": fault.message}
            return Reply(status=422, body={"detail": [problem]})
        case "other_endpoint":
            return Reply(status=200, body={"status": "ok", "message": fault.message})
        case "web_page":
            page = f"<html><body><h1>{fault.status}</h1></body></html>".encode()
            return Reply(status=fault.status, body=None, content=page, headers=(("Content-Type", "text/html"),))
        case _:
            return None


def _not_understood(path: str, body: Any) -> list[dict[str, Any]]:
    """The errors of a wrong request in FastAPI's form; none where it is right."""
    if not isinstance(body, dict):
        return [{"type": "json_invalid", "loc": ["body", 0], "msg": "JSON decode error"}]
    if "question" not in body:
        return [{"type": "missing", "loc": ["body", "question"], "msg": "Field required", "input": body}]
    if not isinstance(body["question"], str):
        return [{"type": "string_type", "loc": ["body", "question"], "msg": "Input should be a valid string"}]
    if path == "/answerQuestion" and body.get("mode", "default") not in ("default", "data", "metadata"):
        message = "Input should be 'default', 'data' or 'metadata'"
        return [{"type": "literal_error", "loc": ["body", "mode"], "msg": message, "input": body["mode"]}]
    return []


def _not_lists(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The errors of fields that the AI SDK 1.4 wants as lists of texts."""
    problems: list[dict[str, Any]] = []
    for name in _LIST_FIELDS:
        value = body.get(name)
        if value is None:
            continue
        if not isinstance(value, list):
            message = "Input should be a valid list"
            problems.append({"type": "list_type", "loc": ["body", name], "msg": message, "input": value})
            continue
        for index, item in enumerate(value):
            if not isinstance(item, str):
                message = "Input should be a valid string"
                problems.append({"type": "string_type", "loc": ["body", name, index], "msg": message, "input": item})
    return problems


def _unauthorised(api: Api) -> Reply:
    challenge = (("WWW-Authenticate", "Basic"),)
    return Reply(status=401, body=_complaint(api, "Invalid credentials"), headers=challenge)


def _no_table() -> dict[str, Any]:
    return {"detail": {"error": "No relevant tables were found for the question", "traceback": ""}}


def _complaint(api: Api, message: str) -> dict[str, Any]:
    return {"detail": message} if api == "ask" else {"message": f"{message}\nat com.example.Execute.run"}


def _error(api: Api, message: str) -> dict[str, Any]:
    if api == "execute":
        return {"message": f"{message}\nat com.example.Execute.run(Execute.java:1)"}
    return {"detail": {"error": f"{message}\nsecond line", "traceback": _TRACEBACK}}
