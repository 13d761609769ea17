"""A server on loopback that replies to each request what a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Request(NamedTuple):
    path: str
    headers: Message
    body: Any
    """What its JSON says, if it has any."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client went away."""


@contextmanager
def replying(reply: Callable[[Request], tuple[Any, ...]], port: int = 0) -> Iterator[tuple[str, list[Request]]]:
    """The server's address, and what it was asked.

    A reply is a status (or a status and a phrase), a content, and headers if there are any. A content is JSON unless it
    is a text or bytes.
    """
    asked: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append(Request(self.path, self.headers, json.loads(sent) if sent else None))
            status, content, headers = (*reply(asked[-1]), {})[:3]
            text = content if isinstance(content, str | bytes) else json.dumps(content)
            body = text.encode() if isinstance(text, str) else text
            with suppress(OSError):  # a client that waits no longer
                self.send_response(*(status if isinstance(status, tuple) else (status,)))
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        do_GET = do_POST  # noqa: N815 - the name that the server looks for

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    with _Server(("127.0.0.1", port), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
