"""Pages over HTTP on this machine's loopback address, and nothing else.

Any web site can make a browser send requests to 127.0.0.1. A site whose name is made to lead here (DNS rebinding)
could read the answer, so only requests that name a loopback host get one. Only the method, the path and a few
headers of a request are read; no file is served by name.

A page may send what a person does on it (`ActingSite`). Any web site can make a browser send such a request, too, so
it must come from a page of this server, and carry the token that only the address printed on the terminal has.
"""

from __future__ import annotations

import gzip
import html
import json
import os
import re
import socketserver
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from assay.errors import AssayError, InputError
from assay.runs.store import journal
from assay.runs.store.folder import RUN_FILE

ADDRESS = "127.0.0.1"
TOKEN_HEADER = "X-Assay-Token"
LARGEST_BODY = 1 << 20
"""Bytes of a request: a query of any length that a person writes."""
_POLL_S = 0.5
_PATIENCE_S = 20.0
_META_POLICY = re.compile(rb'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
_NOTHING = "default-src 'none'"
_REFUSAL_POLICY = f"{_NOTHING}; frame-ancestors 'none'"
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::\d{1,5})?")
_ALWAYS = (
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
)


class ServedPage(Struct, frozen=True, kw_only=True):
    """A page with the values for its headers."""

    content: bytes
    packed: bytes
    """The page, gzipped."""
    policy: str
    """The page's own Content-Security-Policy, with a ban on framing, which only a header can state."""


_State = tuple[tuple[int, int, int] | None, ...]


class LivePage:
    """A page over stored runs, drawn again when one of them has changed. For many threads at once."""

    def __init__(self, folders: Sequence[Path], draw: Callable[[], bytes]) -> None:
        # A run that is being copied may have its run.json long before its journal.
        self._files = tuple(folder / name for folder in folders for name in (RUN_FILE, journal.NAME))
        self._draw = draw
        self._lock = threading.Lock()
        self._page: ServedPage | None = None
        self._state: _State = ()

    def current(self) -> ServedPage:
        """The page as the runs are now. Raises AssayError if one cannot be read; the next call reads it again."""
        with self._lock:
            # Taken before the run is read: a change during the reading is seen the next time.
            state = tuple(map(_state_of, self._files))
            if self._page is None or state != self._state:
                self._page = None
                self._page = served(self._draw())
                self._state = state
            return self._page


def _state_of(path: Path) -> tuple[int, int, int] | None:
    """A mark that changes when a file is written or replaced; None without a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def served(content: bytes) -> ServedPage:
    """A page with the values for its headers."""
    found = _META_POLICY.search(content)
    own = html.unescape(found[1].decode()) if found else _NOTHING
    return ServedPage(
        content=content,
        packed=gzip.compress(content, 6, mtime=0),
        policy=f"{own.rstrip('; ')}; frame-ancestors 'none'",
    )


class Site(Protocol):
    """The pages that are served."""

    def find(self, path: str, query: str) -> ServedPage | None:
        """The page at a path, with its query string; None if there is none.

        Raises AssayError if it cannot be shown.
        """


@runtime_checkable
class ActingSite(Site, Protocol):
    """A site whose pages send what a person does."""

    token: str
    """Requests without it are refused."""

    def act(self, path: str, asked: Mapping[str, Any]) -> Mapping[str, object] | None:
        """Do what a page asks for at a path, and return what it is told; None for an unknown path.

        Raises AssayError, whose message the person sees, if it cannot be done.
        """


class OnePage:
    """A site with one page, at ``/``."""

    def __init__(self, page: LivePage) -> None:
        self._page = page

    def find(self, path: str, query: str) -> ServedPage | None:  # noqa: ARG002 - whatever is asked of the page
        """The page."""
        return self._page.current() if path == "/" else None


class ReportServer(ThreadingHTTPServer):
    """Serves a site. Raises InputError if the port is not available; port 0 picks a free one."""

    # Elsewhere this skips the wait after a server has ended; on Windows it would let two servers share the port.
    allow_reuse_address = os.name != "nt"
    daemon_threads = True

    def __init__(self, site: Site, port: int) -> None:
        self.site = site
        self._lock = threading.Lock()
        self._busy = 0
        self._last_s = time.monotonic()
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise InputError(
                f"port {port} on {ADDRESS} is not available ({error.strerror}): "
                "give another with --port, or omit --port for a free one"
            ) from error

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{ADDRESS}:{self.server_address[1]}/"

    def serve_until_idle(self, idle_s: float | None) -> None:
        """Answer requests, each in a thread, until none has come for ``idle_s`` seconds; None: for ever."""
        self._last_s = time.monotonic()
        while idle_s is None or (left := self._left_s(idle_s)) > 0:
            self.timeout = _POLL_S if idle_s is None else min(_POLL_S, left)
            self.handle_request()

    def _left_s(self, idle_s: float) -> float:
        with self._lock:
            return idle_s if self._busy else self._last_s + idle_s - time.monotonic()

    def began(self) -> None:
        """Count a request that has come."""
        with self._lock:
            self._busy += 1

    def ended(self) -> None:
        """Count a request as answered."""
        with self._lock:
            self._busy -= 1
            self._last_s = time.monotonic()

    def server_bind(self) -> None:
        """Bind without asking a name server what this machine is called."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = ADDRESS, int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that goes away while it is answered."""


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: ReportServer
    server_version, sys_version = "assay", ""
    protocol_version = "HTTP/1.1"
    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(code)d %(message)s\n"
    timeout = _PATIENCE_S
    policy = _REFUSAL_POLICY

    def handle_one_request(self) -> None:
        """Answer one request. A connection that is only kept open does not count as one."""
        self.counted = False
        try:
            super().handle_one_request()
        finally:
            if self.counted:
                self.server.ended()

    def parse_request(self) -> bool:
        """Read the head, and refuse at once a request that is not to be served."""
        self.counted = True
        self.server.began()
        if not super().parse_request():
            return False
        if not _is_loopback(self.headers.get_all("Host", [])):
            self._refuse(HTTPStatus.FORBIDDEN, "this is served on the loopback address only: open it as 127.0.0.1")
        elif self.command not in ("GET", "HEAD", *self._more_methods()):
            allowed = ", ".join(("GET", "HEAD", *self._more_methods()))
            self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, f"only {allowed} are answered", ("Allow", allowed))
        else:
            return True
        return False

    def _more_methods(self) -> Sequence[str]:
        return ("POST",) if isinstance(self.server.site, ActingSite) else ()

    def do_GET(self) -> None:
        """The page as it is now, or why it cannot be shown."""
        path, _, query = self.path.partition("?")
        try:
            page = self.server.site.find(path, query)
        except AssayError as error:
            # The run was readable at the start: it is being rewritten, or has been removed.
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
            return
        if page is None:
            self._refuse(HTTPStatus.NOT_FOUND, "this page does not exist: begin at /")
            return
        packed = _accepts_gzip(self.headers.get("Accept-Encoding", ""))
        content = page.packed if packed else page.content
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Vary", "Accept-Encoding")
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self._end(page.policy, content)

    def do_POST(self) -> None:
        """What a person does on a page of this server, as JSON; the answer is JSON, too."""
        site = self.server.site
        if not isinstance(site, ActingSite) or (length := self._body_length(site.token)) is None:
            return
        try:
            asked = json.loads(self.rfile.read(length))
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            self._refuse(HTTPStatus.BAD_REQUEST, "the body is not a JSON object")
            return
        try:
            told = site.act(self.path, asked)
        except AssayError as error:
            told, status = {"error": str(error)}, HTTPStatus.UNPROCESSABLE_ENTITY
        except Exception as error:  # noqa: BLE001 - the top: the person must not take what failed for done
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"this is a bug in Assay: {type(error).__name__}: {error}")
            return
        else:
            status = HTTPStatus.OK
        if told is None:
            self._refuse(HTTPStatus.NOT_FOUND, "this path does not exist")
            return
        content = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self._end(_REFUSAL_POLICY, content)

    def _body_length(self, token: str) -> int | None:
        """How long the body is; None for a request that was refused: not from our page, or not of its form."""
        given = self.headers.get
        length = given("Content-Length", "")
        if (
            given("Origin") != f"http://{given('Host', '').strip()}"
            or given("Sec-Fetch-Site", "same-origin") != "same-origin"
        ):
            self._refuse(HTTPStatus.FORBIDDEN, "only a page of this server may send this")
        elif not compare_digest(given(TOKEN_HEADER, "").encode(), token.encode()):
            self._refuse(HTTPStatus.FORBIDDEN, "the token is wrong: open the address that the command printed last")
        elif given("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "only JSON is taken")
        elif not (length.isascii() and length.isdigit()) or given("Transfer-Encoding") is not None:
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "the length of the body must be given")
        elif len(length) > 9 or int(length) > LARGEST_BODY:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {LARGEST_BODY:,} bytes")
        else:
            return int(length)
        return None

    def do_HEAD(self) -> None:
        """The headers of `do_GET` without the page."""
        self.do_GET()

    def _refuse(self, status: HTTPStatus, message: str, *more: tuple[str, str]) -> None:
        content = f"{status.value} {message}\n".encode("utf-8", "backslashreplace")
        # The body of a refused request is not read, so the connection cannot be used again.
        self.close_connection = True
        self.send_response(status)
        for name, value in (*more, ("Connection", "close")):
            self.send_header(name, value)
        self.send_header("Content-Type", self.error_content_type)
        self.send_header("Content-Length", str(len(content)))
        self._end(_REFUSAL_POLICY, content)

    def _end(self, policy: str, content: bytes) -> None:
        self.policy = policy
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def end_headers(self) -> None:
        """Add the headers of every answer, including the base class's answers to malformed requests."""
        self.send_header("Content-Security-Policy", self.policy)
        for name, value in _ALWAYS:
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: one person looks at one page."""


def _is_loopback(hosts: Sequence[str]) -> bool:
    """Whether the one Host header names this machine's loopback, with any port, since ports may be forwarded."""
    found = _HOST.fullmatch(hosts[0].strip()) if len(hosts) == 1 else None
    if found is None:
        return False
    name = found["name"].strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _accepts_gzip(header: str) -> bool:
    """Whether an Accept-Encoding header names gzip without refusing it (``gzip;q=0``)."""
    for part in header.lower().split(","):
        name, _, options = part.partition(";")
        if name.strip() in ("gzip", "x-gzip"):
            return re.fullmatch(r"\s*q=0(\.0*)?\s*", options) is None
    return False
