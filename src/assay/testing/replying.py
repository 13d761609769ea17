"""Send an emulated server's replies, whole or damaged."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Mapping
from email.message import Message
from http.server import BaseHTTPRequestHandler
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from assay.testing.faults import Fault


class Request(Struct, frozen=True, kw_only=True):
    """A client's request."""

    method: str
    path: str
    query: Mapping[str, str]
    """The parameters in the address, the last of each name."""
    body: Any
    """The JSON body, None where there is none; the parameters of a GET."""
    headers: Message


class Call(Struct, frozen=True, kw_only=True):
    """One request that came, with its answer's status."""

    method: str
    path: str
    body: Mapping[str, Any]
    """The request's JSON body, or the parameters of a GET."""
    status: int
    """0 where the connection was ended without an answer."""


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
            body = json.loads(content)
        except ValueError:
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
