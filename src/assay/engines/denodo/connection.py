"""One persistent HTTP connection to a Data Catalog: send a query, receive the whole response within a deadline."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from assay.engines.denodo.url import Endpoint
from assay.engines.watchdog import Watchdog
from assay.errors import MissingDependency
from assay.model.databases.mistyped import plain_port_hint
from assay.model.databases.secret import MaskedLog
from assay.platform.certificates import tls_context
from assay.platform.decompression import ACCEPTED, Unreadable, iter_decompressed

if TYPE_CHECKING:
    import httpx

_ERROR_BYTES = 64 * 1024


class Unreachable(Exception):
    """There is no complete response, and the query is not the reason. The text gives the reason, without
    credentials."""

    def __init__(self, message: str, *, sent: bool) -> None:
        self.sent = sent
        """Whether the query had reached the server."""
        super().__init__(message)


class DeadlinePassed(Exception):
    """There was no complete response in time."""


class Reply(Struct, frozen=True, kw_only=True):
    """The server's response."""

    status: int
    body: bytes
    cut: bool = False
    """``body`` is only the beginning: the response was larger than asked for."""
    location: str | None = None
    """Where a redirect leads."""
    reason: str = ""


class CatalogConnection:
    """Posts queries, one at a time, over a persistent connection. Used by one thread.

    The deadline covers the whole exchange, from connecting to the last byte. httpx's own timeouts only cover each
    single wait, so a watchdog ends the connection if a response arrives too slowly.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        """Prepare; nothing is sent. Raises MissingDependency if httpx is not installed."""
        try:
            import httpx
        except ImportError:
            raise MissingDependency("httpx", None) from None
        self._endpoint = endpoint
        self._httpx = httpx
        self._stream: Any = None
        self._connected_now = False
        self._watchdog = Watchdog(self._disconnect)
        self._log = MaskedLog(endpoint.scrubbed)
        self._log.begin()
        headers = {"accept": "application/json", "accept-encoding": ACCEPTED}
        headers |= {name: value.reveal() for name, value in endpoint.headers}
        auth: tuple[str, str] | None = None
        if endpoint.token is not None:
            headers["authorization"] = f"Bearer {endpoint.token.reveal()}"
        elif endpoint.user is not None:
            auth = (endpoint.user, endpoint.password.reveal() if endpoint.password is not None else "")
        self._client = httpx.Client(
            auth=auth,
            headers=headers,
            verify=tls_context(verify=endpoint.verify),
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
            follow_redirects=False,
        )

    def execute(self, vql: str, *, limit: int, timeout_s: float, max_bytes: int) -> Reply:
        """Send a query for execution. Raises Unreachable and DeadlinePassed."""
        end = time.monotonic() + timeout_s
        self._watchdog.start(timeout_s)
        try:
            while True:
                self._connected_now = False
                try:
                    return self._post(vql, limit, end, max_bytes)
                except Unreadable as error:
                    if self._watchdog.fired:
                        raise DeadlinePassed from error
                    raise Unreachable(str(error), sent=True) from error
                except self._httpx.TimeoutException as error:
                    raise DeadlinePassed from error
                except (self._httpx.HTTPError, OSError) as error:
                    if self._watchdog.fired or time.monotonic() >= end:
                        raise DeadlinePassed from error
                    if self._connected_now or not isinstance(error, self._httpx.RemoteProtocolError | OSError):
                        sent = not isinstance(error, self._httpx.ConnectError | self._httpx.ProxyError)
                        raise Unreachable(self._endpoint.scrubbed(self._explain(error)), sent=sent) from error
                    # The server has closed the idle connection: retry once, on a new one.
        finally:
            self._watchdog.stop()

    def close(self) -> None:
        """Close the connection. Closing twice is harmless."""
        self._watchdog.close()
        self._client.close()
        self._log.end()

    def _post(self, vql: str, limit: int, end: float, max_bytes: int) -> Reply:
        left = max(0.001, end - time.monotonic())
        with self._client.stream(
            "POST",
            self._endpoint.execution_url,
            params={"serverId": str(self._endpoint.server_id)},
            json={"vql": vql, "limit": limit},
            timeout=self._httpx.Timeout(left),
            extensions={"trace": self._trace},
        ) as response:
            if response.status_code != 200:
                max_bytes = _ERROR_BYTES
            body, cut = _read(response, max_bytes)
            if self._watchdog.fired:  # a body without a stated length just seems to end
                raise DeadlinePassed
            return Reply(
                status=response.status_code,
                body=body,
                cut=cut,
                location=response.headers.get("location"),
                reason=response.reason_phrase,
            )

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        """Remember the current connection, for the watchdog."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._stream = info["return_value"]
            self._connected_now = True

    def _disconnect(self) -> None:
        """Break the connection, which ends another thread's wait for it."""
        sock = self._stream.get_extra_info("socket") if self._stream is not None else None
        if sock is not None:
            try:
                # The plain socket's shutdown: a TLS one would first wait for its own state.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
            except OSError:
                return  # it is closed already

    def _explain(self, error: Exception) -> str:
        said = str(error).strip().splitlines()
        detail = said[0] if said else type(error).__name__
        if isinstance(error, self._httpx.ConnectError):
            if "CERTIFICATE_VERIFY_FAILED" in detail:
                return (
                    f"its certificate is not trusted ({detail}): verify=0 or DATA_CATALOG_VERIFY_SSL=0 skips the check"
                )
            return f"the connection failed ({detail}){plain_port_hint(detail)}"
        return f"the connection broke before the response was complete ({detail})"


def _read(response: httpx.Response, max_bytes: int) -> tuple[bytes, bool]:
    """The body up to a limit of bytes, and whether there was more."""
    chunks: list[bytes] = []
    size = 0
    for chunk in iter_decompressed(response.iter_raw(), response.headers.get("content-encoding", "")):
        chunks.append(chunk)
        size += len(chunk)
        if size > max_bytes:
            return b"".join(chunks)[:max_bytes], True
    return b"".join(chunks), False
