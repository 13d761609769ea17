"""An emulated server: it listens on loopback, counts requests, sends replies, whole or damaged, and stops."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from assay.testing.faults import Fault, FaultPlan


class Emulator(ABC):
    """A server on one loopback port, over real HTTP, to be used in a with statement.

    ``certificate`` is a PEM file with key and certificate, for HTTPS.
    """

    software = "assay-emulator"
    """The name in the server's ``Server`` header."""

    def __init__(self, *, port: int = 0, certificate: Path | None = None, faults: Iterable[Fault] = ()) -> None:
        self.stopping: Event = Event()
        self.faults: FaultPlan = FaultPlan(faults)
        self._port = port
        self._certificate = certificate
        self._lock = Lock()
        self._calls: list[Call] = []
        self._in_flight = 0
        self._peak = 0
        self._server: LoopbackServer | None = None

    @abstractmethod
    def reply(self, request: Request) -> Reply:
        """The reply to a request."""

    def released(self) -> None:  # noqa: B027 - most have nothing to release
        """Release resources after the server has stopped."""

    def start(self) -> Self:
        """Begin to listen, on ``port`` or on a free one. Raises OSError if the port is taken."""
        server = LoopbackServer(("127.0.0.1", self._port), handler_of(self))
        if self._certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self._certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        self._server = server
        name = f"assay-{type(self).__name__}"
        Thread(target=server.serve_forever, args=(0.05,), name=name, daemon=True).start()
        return self

    def stop(self) -> None:
        """Stop listening and answer nothing more. Stopping twice is harmless."""
        self.stopping.set()
        self.faults.clear()
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
            server.hang_up()
            self.released()

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
    def calls(self) -> tuple[Call, ...]:
        """Every request so far, in the order in which they were answered. Credentials are not kept."""
        with self._lock:
            return tuple(self._calls)

    @property
    def peak_concurrency(self) -> int:
        """The most requests that were being answered at one time."""
        with self._lock:
            return self._peak

    def begin(self) -> None:
        """Count a request that has come."""
        with self._lock:
            self._in_flight += 1
            self._peak = max(self._peak, self._in_flight)

    def end(self, call: Call | None) -> None:
        """Count a request as answered, and keep its call."""
        with self._lock:
            self._in_flight -= 1
            if call is not None:
                self._calls.append(call)

    def reply_of(self, faults: Iterable[Fault], refusal: Callable[[Fault], Reply | None]) -> Reply | None:
        """The reply of the first fault that replaces the answer. Waits as slow faults demand."""
        for fault in faults:
            if fault.kind == "slow":
                self.faults.wait(fault)
            if fault.kind == "dropped" or self.stopping.is_set():
                return Reply(status=0, body=None, dropped=True)
            if (refused := refusal(fault)) is not None:
                return refused
        return None


class LoopbackServer(ThreadingHTTPServer):
    """Serves each connection in a thread of its own, and can end them all."""

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
        """Forget a connection that has ended."""
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
        """Print nothing for a client that goes away in the middle of a request."""


class Request(Struct, frozen=True, kw_only=True):
    """A client's request."""

    method: str
    path: str
    query: Mapping[str, str]
    """The parameters in the address, the last of each name."""
    body: Any
    """The JSON body, None if there is none; the parameters of a GET."""
    headers: Message


class Call(Struct, frozen=True, kw_only=True):
    """One request that came, with its answer's status."""

    method: str
    path: str
    body: Mapping[str, Any]
    """The request's JSON body, or the parameters of a GET."""
    status: int
    """0 if the connection was ended without an answer."""


class Reply(Struct, kw_only=True):
    """A response still to be sent."""

    status: int
    body: Any
    headers: tuple[tuple[str, str], ...] = ()
    cut_off: bool = False
    malformed: bool = False
    dropped: bool = False
    content: bytes | None = None
    """Sent in place of the body as JSON, up to the connection's end: ``headers`` then name its type."""


def damaged(reply: Reply, faults: Iterable[Fault]) -> Reply:
    """The reply with its body damaged by the faults."""
    kinds = {fault.kind for fault in faults}
    reply.cut_off = "cut_off" in kinds
    reply.malformed = "malformed" in kinds
    return reply


class Answering(Protocol):
    """The server behind a handler: it counts each request and gives its reply."""

    software: str

    def begin(self) -> None:
        """Count a request that has come."""

    def reply(self, request: Request) -> Reply:
        """The reply to a request."""

    def end(self, call: Call | None) -> None:
        """Count a request as answered; None: making the reply failed."""


def handler_of(served: Answering) -> type[BaseHTTPRequestHandler]:
    """The class that serves one connection of an emulated server."""

    class Bound(_Handler):
        server_version = served.software
        answering = served

    return Bound


class _Handler(BaseHTTPRequestHandler):
    """One request in, one reply out, counted before it goes."""

    answering: Answering
    protocol_version = "HTTP/1.1"
    sys_version = ""
    timeout = 60
    # Head and body leave together: sent apart, the second would wait 40 ms for the client's acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve(self._query())

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(gzip.decompress(content) if self.headers.get("Content-Encoding") == "gzip" else content)
        except (ValueError, OSError, EOFError):
            body = None
        self._serve(body)

    def _query(self) -> dict[str, str]:
        given = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        return {name: values[-1] for name, values in given.items()}

    def _serve(self, body: Any) -> None:
        path = urlsplit(self.path).path
        request = Request(method=self.command, path=path, query=self._query(), body=body, headers=self.headers)
        self.answering.begin()
        call = None
        try:
            reply = self.answering.reply(request)
            sent = 0 if reply.dropped else reply.status
            call = Call(method=self.command, path=path, body=body if isinstance(body, dict) else {}, status=sent)
        finally:
            # Before the answer goes out: a client that has it must find the call counted.
            self.answering.end(call)
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        if reply.dropped:
            self._hang_up()
            return
        self.send_response(reply.status)
        if reply.content is None:
            import msgspec

            # Decimals as numbers with all their digits, which the standard library's encoder cannot write.
            content = msgspec.json.Encoder(decimal_format="number").encode(reply.body)
            if reply.malformed:
                content = content[:-1] + b',"'
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
        else:
            content = reply.content
            self.send_header("Connection", "close")
        for name, value in reply.headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if reply.cut_off else content)
        if reply.cut_off:
            self.wfile.flush()
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # the client was faster

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: `Emulator.calls` keeps what came."""
