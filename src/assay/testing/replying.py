"""Send what an emulated server answers, whole or damaged."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from assay.testing.faults import Fault
from assay.testing.server import Call, Emulator


@dataclass(slots=True, kw_only=True)
class Reply:
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
    """The reply with what the faults do to its body."""
    kinds = {fault.kind for fault in faults}
    reply.cut_off = "cut_off" in kinds
    reply.malformed = "malformed" in kinds
    return reply


class ReplyingHandler(BaseHTTPRequestHandler):
    """One request in, one reply out, counted before it goes."""

    server_state: Emulator
    protocol_version = "HTTP/1.1"
    sys_version = ""
    timeout = 60
    # Head and body leave together: sent apart, the second would wait 40 ms for the client's acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        given = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        self._serve({name: values[-1] for name, values in given.items()})

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(content)
        except ValueError:
            body = None
        self._serve(body)

    def reply(self, path: str, body: Any) -> Reply:
        """What to answer to a request for ``path``; ``body`` None: the request held no JSON."""
        raise NotImplementedError

    def _serve(self, body: Any) -> None:
        state = self.server_state
        path = urlsplit(self.path).path
        state.begin()
        call = None
        try:
            reply = self.reply(path, body)
            sent = 0 if reply.dropped else reply.status
            call = Call(method=self.command, path=path, body=body if isinstance(body, dict) else {}, status=sent)
        finally:
            # Before the answer goes out: whoever has it must find it counted.
            state.end(call)
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        if reply.dropped:
            self._hang_up()
            return
        self.send_response(reply.status)
        if reply.content is None:
            content = _encoded(reply.body)
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


def _encoded(body: Any) -> bytes:
    import msgspec

    # Decimals as numbers with all of their digits, which the standard library's encoder cannot do.
    return msgspec.json.Encoder(decimal_format="number").encode(body)
