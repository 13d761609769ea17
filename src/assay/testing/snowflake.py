"""A server that speaks Snowflake's wire form to the real connector, and fails on demand as the service documents.

It knows no SQL: each text has the answer that it was given. It is for what an emulator cannot show: logins that are
refused, queries that run until they are cancelled, sessions and results that expire, results that break off.

    with SnowflakeFake({"SELECT 1": SnowflakeAnswer(columns=(SnowflakeColumn("N", "FIXED"),), rows=(("1",),))}) as fake:
        ...  # connect with fake.url
"""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections.abc import Iterable, Mapping
from threading import Event, Lock
from typing import Any, Literal
from urllib.parse import quote
from uuid import uuid4

from msgspec import Struct

from assay.testing.server import Emulator, Reply, Request

PASSWORD = "pass word"
_IN_PROGRESS = "333334"
_CANCELED = ("000604", "57014", "SQL execution canceled")
_TIMED_OUT = ("000630", "57014", "Statement reached its statement or warehouse timeout and was canceled.")
_POLL_S = 0.1


class SnowflakeColumn(Struct, frozen=True):
    """A column as the service describes it. ``type`` is its name on the wire, such as FIXED, TEXT or TIMESTAMP_TZ."""

    name: str
    type: str
    precision: int = 38
    scale: int = 0


class SnowflakeAnswer(Struct, frozen=True, kw_only=True):
    """A result. Its cells are texts in the wire's JSON form; in place of ``rows`` there may be one Arrow stream."""

    columns: tuple[SnowflakeColumn, ...]
    rows: tuple[tuple[str | None, ...], ...] = ()
    arrow: bytes | None = None
    later_rows: tuple[tuple[str | None, ...], ...] = ()
    """Rows in a chunk of its own, which the client fetches from another address."""
    chunk_status: int = 200
    """The status of that chunk; 403: its address has expired."""


class SnowflakeError(Struct, frozen=True):
    """A refusal: the service's number, SQLSTATE and message."""

    code: str
    sqlstate: str
    message: str


class SnowflakeTrouble(Struct, frozen=True, kw_only=True):
    """What happens to requests before they reach a session. ``times``: how many get it; None: all."""

    on: Literal["login", "query"] = "query"
    status: int = 200
    """429, 503 and the like; 0: the connection ends without an answer."""
    error: SnowflakeError | None = None
    times: int | None = 1


class SnowflakeFake(Emulator):
    """An account on one loopback port. A text without an answer gets the service's "does not exist"."""

    software = "assay-snowflake-fake"

    def __init__(
        self,
        answers: Mapping[str, SnowflakeAnswer | SnowflakeError] | None = None,
        *,
        endless: Iterable[str] = (),
        has_limit: bool = True,
        troubles: Iterable[SnowflakeTrouble] = (),
        port: int = 0,
    ) -> None:
        """``endless``: texts that run until they are cancelled.

        With ``has_limit`` they also end at the session's limit of time.
        """

        super().__init__(port=port)
        self.session_parameters: dict[str, Any] = {}
        """Those of the last login."""
        self.canceled: list[str] = []
        """The texts of the queries that the client cancelled."""
        self.answers: dict[str, SnowflakeAnswer | SnowflakeError] = {"SELECT 1": ONE, **(answers or {})}
        """What each text gets, from the next request on."""
        self._endless = frozenset(endless)
        self._has_limit = has_limit
        self._troubles = [[trouble, trouble.times] for trouble in troubles]
        self._state = Lock()
        self._running: dict[str, _Running] = {}
        self._by_request: dict[str, str] = {}
        self._chunks: dict[str, SnowflakeAnswer] = {}

    @property
    def url(self) -> str:
        """A database URL that connects here."""
        _, _, port = self.base_url.rpartition(":")
        where = f"host=127.0.0.1&port={port}&protocol=http"
        return f"snowflake://ann:{quote(PASSWORD)}@acme/SALES/PUBLIC?{where}&warehouse=W"

    def reply(self, request: Request) -> Reply:
        """The reply to a request of the connector's."""
        body = request.body if isinstance(request.body, dict) else {}
        match request.path.strip("/").split("/"):
            case ["session", "v1", "login-request"]:
                return self._troubled("login") or self._login(body)
            case ["queries", "v1", "query-request"]:
                return self._troubled("query") or self._query(body, request.query.get("requestId", ""))
            case ["queries", query_id, "result"]:
                return self._poll(query_id)
            case ["queries", "v1", "abort-request"]:
                return self._cancel(self._running.get(self._by_request.get(str(body.get("requestId")), "")))
            case ["queries", query_id, "abort-request"]:
                return self._cancel(self._running.get(query_id))
            case ["chunk", chunk]:
                return self._chunk(chunk)
            case ["session", *_]:
                return _success({"sessionToken": "renewed", "masterToken": "master", "validityInSecondsST": 3600})
        return _success({})

    def _troubled(self, on: str) -> Reply | None:
        with self._state:
            for one in self._troubles:
                trouble, left = one
                if trouble.on == on and left != 0:  # type: ignore[union-attr]
                    one[1] = None if left is None else left - 1  # type: ignore[operator]
                    break
            else:
                return None
        assert isinstance(trouble, SnowflakeTrouble)
        if trouble.error is not None:
            return _refusal(trouble.error)
        return Reply(status=trouble.status, body={}, dropped=trouble.status == 0)

    def _login(self, body: Mapping[str, Any]) -> Reply:
        self.session_parameters = dict(body.get("data", {}).get("SESSION_PARAMETERS", {}))
        return _success(
            {
                "token": "session",
                "masterToken": "master",
                "validityInSeconds": 3600,
                "masterValidityInSeconds": 14400,
                "sessionId": 1,
                "serverVersion": "9.30.0",
                "parameters": [{"name": "TIMEZONE", "value": self.session_parameters.get("TIMEZONE", "UTC")}],
                "sessionInfo": {"databaseName": "SALES", "schemaName": "PUBLIC", "warehouseName": "W", "roleName": "R"},
            }
        )

    def _query(self, body: Mapping[str, Any], request_id: str) -> Reply:
        text = str(body.get("sqlText"))
        query_id = str(uuid4())
        if text in self._endless:
            longest = 172_800
            limit = self.session_parameters.get("STATEMENT_TIMEOUT_IN_SECONDS", longest) if self._has_limit else longest
            with self._state:
                self._running[query_id] = _Running(text=text, until=time.monotonic() + float(limit))
                self._by_request[request_id] = query_id
            return self._poll(query_id)
        # The connector sends a text without the blanks around it.
        answer = next((answer for asked, answer in self.answers.items() if asked.strip() == text), None)
        if answer is None:
            what = "SQL compilation error:\nObject 'NOPE' does not exist or not authorized."
            return _refusal(SnowflakeError("002003", "42S02", what), query_id)
        return _refusal(answer, query_id) if isinstance(answer, SnowflakeError) else self._result(answer, query_id)

    def _result(self, answer: SnowflakeAnswer, query_id: str) -> Reply:
        data: dict[str, Any] = {
            "queryId": query_id,
            "rowtype": [_described(column) for column in answer.columns],
            "parameters": [{"name": "TIMEZONE", "value": "UTC"}],
            "total": len(answer.rows) + len(answer.later_rows),
            "returned": len(answer.rows),
            "statementTypeId": 4096,
            "queryResultFormat": "json",
        }
        if answer.arrow is not None:
            data |= {"queryResultFormat": "arrow", "rowsetBase64": b64encode(answer.arrow).decode(), "total": 1}
        else:
            data["rowset"] = [list(row) for row in answer.rows]
        if answer.later_rows:
            self._chunks[query_id] = answer
            count = len(answer.later_rows)
            url = f"{self.base_url}/chunk/{query_id}"
            data["chunks"] = [{"url": url, "rowCount": count, "uncompressedSize": 100, "compressedSize": 100}]
            data["chunkHeaders"] = {"x-fake": "1"}
        return _success(data)

    def _chunk(self, query_id: str) -> Reply:
        answer = self._chunks[query_id]
        # A chunk is the rows alone, without the brackets of a list.
        content = ",".join(json.dumps(list(row)) for row in answer.later_rows).encode()
        if answer.chunk_status != 200:
            return Reply(status=answer.chunk_status, body={})
        return Reply(status=200, body=None, content=content)

    def _poll(self, query_id: str) -> Reply:
        running = self._running.get(query_id)
        if running is None:
            return _refusal(SnowflakeError("000709", "02000", f"Statement {query_id} not found"))
        running.ended.wait(_POLL_S)
        if running.ended.is_set():
            return _refusal(SnowflakeError(*_CANCELED), query_id)
        if time.monotonic() >= running.until:
            return _refusal(SnowflakeError(*_TIMED_OUT), query_id)
        body = {"queryId": query_id, "getResultUrl": f"/queries/{query_id}/result"}
        return Reply(status=200, body={"data": body, "code": _IN_PROGRESS, "message": "running", "success": True})

    def _cancel(self, running: _Running | None) -> Reply:
        if running is not None:
            with self._state:
                self.canceled.append(running.text)
            running.ended.set()
        return _success({})


class _Running(Struct):
    text: str
    until: float
    ended: Event = Event()

    def __post_init__(self) -> None:
        self.ended = Event()


ONE = SnowflakeAnswer(columns=(SnowflakeColumn("1", "FIXED", 1),), rows=(("1",),))


def _described(column: SnowflakeColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.type.lower(),
        "precision": column.precision,
        "scale": column.scale,
        "length": None,
        "byteLength": None,
        "nullable": True,
    }


def _success(data: Mapping[str, Any]) -> Reply:
    return Reply(status=200, body={"data": dict(data), "code": None, "message": None, "success": True})


def _refusal(error: SnowflakeError, query_id: str = "") -> Reply:
    data = {"errorCode": error.code, "sqlState": error.sqlstate, "queryId": query_id}
    body = {"data": data, "code": error.code, "message": error.message, "success": False}
    return Reply(status=200, body=body)
