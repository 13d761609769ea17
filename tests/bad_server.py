"""An HTTP server on loopback that answers badly: without end, in drips, packed to burst, cut off, or not in HTTP."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

_PORTION = bytes(1 << 20)


class BadServer:
    """Answers each request with ``answer``, which is given the connection; counts the requests.

    ``good``: how many requests get ``fine`` first, a JSON body.
    """

    def __init__(self, answer: Callable[[socket.socket, threading.Event], None], *, fine: bytes = b"", good: int = 0):
        self.requests = 0
        self.good = good
        self.sent_bytes = 0
        self._answer, self._fine = answer, fine
        self._stop = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            _request(connection)
            self.requests += 1
            if self.requests <= self.good:
                connection.sendall(head(len(self._fine)) + self._fine)
            else:
                self._answer(connection, self._stop)

    def __enter__(self) -> BadServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._listener.close()


def _request(connection: socket.socket) -> None:
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    before, _, body = received.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in before.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65536)


def head(length: int | None, *more: str, status: str = "200 OK", kind: str = "application/json") -> bytes:
    """The head of a response; without a length the body goes on to the connection's end."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", "Connection: close", *more]
    lines += [f"Content-Length: {length}"] if length is not None else []
    return "\r\n".join([*lines, "", ""]).encode()


Answer = Callable[[socket.socket, threading.Event], None]


def whole(content: bytes, *more: str, status: str = "200 OK", kind: str = "application/json") -> Answer:
    """This body."""
    return lambda connection, _: connection.sendall(head(len(content), *more, status=status, kind=kind) + content)


def cut(content: bytes, length: int) -> Answer:
    """This body under a length that is not its own."""
    return lambda connection, _: connection.sendall(head(length) + content)


def reset(connection: socket.socket, _: threading.Event) -> None:
    """The connection breaks in the middle of the body."""
    connection.sendall(head(1000) + b'{"sql')
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def garbage(connection: socket.socket, _: threading.Event) -> None:
    """What is no HTTP at all."""
    connection.sendall(b"\x16\x03\x01 what is it?\r\n\r\n")


def endless(connection: socket.socket, stop: threading.Event) -> None:
    """Two gigabytes of blanks in a JSON text."""
    connection.sendall(head(None) + b'{"choices": ')
    for _ in range(2048):
        if stop.is_set():
            return
        connection.sendall(_PORTION.replace(b"\0", b" "))


def packed(layers: int) -> Answer:
    """Two gigabytes of zeros in a body of two megabytes; with another layer it is a few kilobytes."""
    blob = gzip.compress(_PORTION) * 2048
    for _ in range(layers - 1):
        blob = gzip.compress(blob)
    encoding = "Content-Encoding: " + ", ".join(["gzip"] * layers)
    return whole(blob, encoding)


def drip_body(connection: socket.socket, stop: threading.Event) -> None:
    """A byte of the body now and then, without end."""
    connection.sendall(head(None) + b"{")
    while not stop.wait(0.05):
        connection.sendall(b" ")


def drip_head(connection: socket.socket, stop: threading.Event) -> None:
    """A byte of the head now and then, without end."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not stop.wait(0.05):
        connection.sendall(b"a")


HTML = whole(b"<html><body>It works!</body></html>", kind="text/html")
BAD_GATEWAY = whole(b"<html>Bad gateway</html>", status="502 Bad Gateway", kind="text/html")
INVALID_UTF8 = whole(b'{"choices": [{"message": {"content": "\xff\xfe\xc3("}}], "sql_query": "\xff\xfe"}')
NO_JSON = whole(b'{"sql_query": "SELECT 1", ')
