"""The HTTP side of the emulator: one request in, one response out."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from assay.testing.emulator import EXECUTE_PATH, DenodoEmulator
from assay.testing.faults import Api, Fault
from assay.testing.replying import Reply, ReplyingHandler, damaged
from assay.testing.tables import VqlError

_ASK_PATHS = ("/answerDataQuestion", "/answerQuestion")
_TRACEBACK = (
    'Traceback (most recent call last):\n  File "/opt/ai-sdk/api/main.py", line 42, in answer\n'
    "RuntimeError: connection string user=admin password=traceback-secret"
)


def handler_of(emulator: DenodoEmulator) -> type[BaseHTTPRequestHandler]:
    """The handler class of one emulator's server."""

    class Bound(_Handler):
        server_state = emulator

    return Bound


class _Handler(ReplyingHandler):
    server_state: DenodoEmulator
    server_version = "assay-denodo-emulator"

    def reply(self, path: str, body: Any) -> Reply:
        if path in _ASK_PATHS:
            return self._ask(path, body)
        if path == EXECUTE_PATH and self.command == "POST":
            return self._execute(body)
        return Reply(status=404, body={"detail": "Not Found"})

    def _ask(self, path: str, body: Any) -> Reply:
        state = self.server_state
        question = body.get("question") if isinstance(body, dict) else None
        if isinstance(question, str):
            state.count_question(question)
        if not state.lets_in(self.headers.get("Authorization")):
            return _unauthorised("ask")
        if problem := _not_understood(path, body):
            return Reply(status=422, body={"detail": [problem]})
        faults = state.faults.met_by("ask", str(question))
        return self._with(faults, "ask") or self._answer(str(question), faults)

    def _answer(self, question: str, faults: list[Fault]) -> Reply:
        state = self.server_state
        response = state.answers.response(question)
        if response["sql_query"] and not response["execution_result"]:
            response["execution_result"] = self._execution_result(response["sql_query"])
        return damaged(Reply(status=200, body=response), faults)

    def _execution_result(self, vql: str) -> dict[str, Any]:
        try:
            columns, rows = self.server_state.tables.run(vql, 100)
        except VqlError:
            return {}
        return {
            f"Row {number}": [{"columnName": column, "value": cell} for column, cell in zip(columns, row, strict=True)]
            for number, row in enumerate(rows, start=1)
        }

    def _execute(self, body: Any) -> Reply:
        state = self.server_state
        vql = body.get("vql") if isinstance(body, dict) else None
        if isinstance(vql, str):
            state.count_vql(vql)
        if not state.lets_in(self.headers.get("Authorization")):
            return _unauthorised("execute")
        server_id = parse_qs(urlsplit(self.path).query).get("serverId", [""])[-1]
        if server_id != state.server_id:
            return Reply(status=400, body={"message": f"There is no server with id '{server_id}'\nCheck serverId."})
        limit = body.get("limit") if isinstance(body, dict) else None
        if not isinstance(vql, str) or not (limit is None or (isinstance(limit, int) and limit >= 0)):
            return Reply(status=400, body={"message": "The body is not valid\nIt needs vql, and may have limit."})
        faults = state.faults.met_by("execute", vql)
        if (faulty := self._with(faults, "execute")) is not None:
            return faulty
        most = state.default_limit if limit is None else limit
        if state.row_limit is not None:
            most = min(most, state.row_limit)
        try:
            columns, rows = state.tables.run(vql, most)
        except VqlError as error:
            return Reply(status=500, body={"message": f"{error}\nat com.example.Execute.run(Execute.java:1)"})
        return damaged(Reply(status=200, body=self._rows(columns, rows)), faults)

    def _rows(self, columns: list[str], rows: list[Any]) -> dict[str, Any]:
        if not rows:
            empty: dict[str, dict[str, Any]] = {"absent": {}, "null": {"rows": None}, "list": {"rows": []}}
            return empty[self.server_state.no_rows]
        return {
            "rows": [
                {"values": [{"column": column, "value": cell} for column, cell in zip(columns, row, strict=True)]}
                for row in rows
            ]
        }

    def _with(self, faults: list[Fault], api: Api) -> Reply | None:
        """The reply of the first fault that replaces the answer. Slow ones have been waited for."""
        for fault in faults:
            match fault.kind:
                case "slow":
                    if self.server_state.stopping.wait(fault.seconds):
                        return Reply(status=0, body=None, dropped=True)
                case "error":
                    return Reply(status=500, body=_error(api, fault.message))
                case "busy":
                    wait = () if fault.retry_after is None else (("Retry-After", fault.retry_after),)
                    return Reply(status=429, body=_complaint(api, "Too many requests"), headers=wait)
                case "unavailable":
                    wait = () if fault.retry_after is None else (("Retry-After", fault.retry_after),)
                    return Reply(status=fault.status, body=_complaint(api, fault.message), headers=wait)
                case "unauthorised":
                    return _unauthorised(api)
                case "dropped":
                    return Reply(status=0, body=None, dropped=True)
                case _:
                    continue
        return None


def _not_understood(path: str, body: Any) -> dict[str, Any] | None:
    """What is wrong with the request, as FastAPI says it."""
    if not isinstance(body, dict):
        return {"type": "json_invalid", "loc": ["body", 0], "msg": "JSON decode error"}
    if "question" not in body:
        return {"type": "missing", "loc": ["body", "question"], "msg": "Field required", "input": body}
    if not isinstance(body["question"], str):
        return {"type": "string_type", "loc": ["body", "question"], "msg": "Input should be a valid string"}
    if path == "/answerQuestion" and body.get("mode", "default") not in ("default", "data", "metadata"):
        message = "Input should be 'default', 'data' or 'metadata'"
        return {"type": "literal_error", "loc": ["body", "mode"], "msg": message, "input": body["mode"]}
    return None


def _unauthorised(api: Api) -> Reply:
    challenge = (("WWW-Authenticate", "Basic"),)
    return Reply(status=401, body=_complaint(api, "Invalid credentials"), headers=challenge)


def _complaint(api: Api, message: str) -> dict[str, Any]:
    return {"detail": message} if api == "ask" else {"message": f"{message}\nat com.example.Execute.run"}


def _error(api: Api, message: str) -> dict[str, Any]:
    if api == "execute":
        return {"message": f"{message}\nat com.example.Execute.run(Execute.java:1)"}
    return {"detail": {"error": f"{message}\nsecond line", "traceback": _TRACEBACK}}
