"""The emulator: what it answers, what it was asked, and its life as a server."""

from __future__ import annotations

import socket
import ssl
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Literal, Self

from assay.testing.answers import Answers
from assay.testing.faults import Fault, FaultPlan
from assay.testing.tables import Tables

CATALOG_PATH = "/denodo-data-catalog"
EXECUTE_PATH = f"{CATALOG_PATH}/public/api/askaquestion/execute"
NoRows = Literal["absent", "null", "list"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request that came, as it was answered."""

    method: str
    path: str
    body: Mapping[str, Any]
    """The request's JSON body, or the parameters of a GET."""
    status: int
    """0 where the connection was ended without an answer."""


class DenodoEmulator:
    """A Denodo AI SDK and a Data Catalog on one loopback port, over real HTTP.

        with DenodoEmulator(answers=..., tables=folder, user="u", password="p") as server:
            server.api_url, server.catalog_url, server.asked["How many?"]

    ``answers``: question to response fields, or to a query as text; or a JSON-lines file of
    ``{"question": …, "response": {…}, "fault": {…}}``. A question it does not know gets an answer
    without a query. ``tables``: a folder of CSV files, the database of the execute endpoint.
    Without user and token, every request is let in. ``default_limit`` cuts results where the
    request names no limit, ``row_limit`` cuts them in any case. ``no_rows`` is how an empty result
    is written. ``certificate`` is a PEM file with key and certificate, for HTTPS.

    Raises InputError for answers or tables that cannot be read.
    """

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
    ) -> None:
        self.answers = Answers.read(answers)
        self.faults = FaultPlan((*self.answers.faults, *faults))
        self.tables = Tables(tables)
        self.default_limit = default_limit
        self.row_limit = row_limit
        self.no_rows = no_rows
        self.server_id = server_id
        self.stopping = Event()
        self._accepted = _accepted(user, password, token)
        self._port = port
        self._certificate = certificate
        self._lock = Lock()
        self._calls: list[Call] = []
        self._asked: Counter[str] = Counter()
        self._executed: Counter[str] = Counter()
        self._in_flight = 0
        self._peak = 0
        self._server: _Server | None = None

    def start(self) -> Self:
        """Begin to listen, on ``port`` or on a free one. Raises OSError where the port is taken."""
        from assay.testing.handler import handler_of

        server = _Server(("127.0.0.1", self._port), handler_of(self))
        if self._certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self._certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        self._server = server
        Thread(target=server.serve_forever, args=(0.05,), name="assay-denodo-emulator", daemon=True).start()
        return self

    def stop(self) -> None:
        """Stop listening and answer nothing more. Stopping twice is harmless."""
        self.stopping.set()
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
            server.hang_up()
            self.tables.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def base_url(self) -> str:
        """Scheme, host and port."""
        if self._server is None:
            raise RuntimeError("the emulator does not run: use it in a with statement, or call start()")
        return f"{'https' if self._certificate else 'http'}://127.0.0.1:{self._server.server_port}"

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
        """How often each question came, whatever became of it."""
        with self._lock:
            return Counter(self._asked)

    @property
    def executed(self) -> Counter[str]:
        """How often each VQL came, whatever became of it."""
        with self._lock:
            return Counter(self._executed)

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every request so far, in the order in which they were answered. Credentials are not kept."""
        with self._lock:
            return tuple(self._calls)

    @property
    def peak_concurrency(self) -> int:
        """The most requests that were being answered at one time."""
        with self._lock:
            return self._peak

    def lets_in(self, authorization: str | None) -> bool:
        """Whether a request with that Authorization header is answered."""
        given = (authorization or "").encode("utf-8", "replace")
        return not self._accepted or any(compare_digest(given, header.encode()) for header in self._accepted)

    def begin(self) -> None:
        """A request has come."""
        with self._lock:
            self._in_flight += 1
            self._peak = max(self._peak, self._in_flight)

    def end(self, call: Call | None) -> None:
        """A request has been answered."""
        with self._lock:
            self._in_flight -= 1
            if call is not None:
                self._calls.append(call)

    def count_question(self, question: str) -> None:
        """A question has come."""
        with self._lock:
            self._asked[question] += 1

    def count_vql(self, vql: str) -> None:
        """A query has come."""
        with self._lock:
            self._executed[vql] += 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: set[socket.socket] = set()
        self._lock = Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve one connection in a thread of its own, and remember the connection."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """A connection has come to its end."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End every connection: a client that kept one open must not be answered by a server that has stopped."""
        with self._lock:
            still_open = tuple(self._open)
        for connection in still_open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is no news: nothing is printed."""


def _accepted(user: str | None, password: str, token: str | None) -> tuple[str, ...]:
    basic = () if user is None else ("Basic " + b64encode(f"{user}:{password}".encode()).decode(),)
    return basic if token is None else (*basic, f"Bearer {token}")
