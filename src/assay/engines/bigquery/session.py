"""The HTTP session of a client. Import it only if the driver is known to be installed."""

from __future__ import annotations

import time
from typing import Any

from google.auth.transport.requests import AuthorizedSession
from google.cloud import bigquery  # noqa: F401 - loaded with the session, before a query is timed

_GRACE_S = 1.0
"""How long beyond the time limit to wait for a response: the service may respond first, and cancelling a job takes a
moment."""


class TimedSession(AuthorizedSession):
    """Ends requests soon after the current query's time limit.

    The client itself waits two minutes for a page of a result, regardless of the limit that it is given.
    """

    until: float | None = None
    """The moment of `time.monotonic` at which the current query reaches its time limit; None: no query runs."""

    def request(self, method: str, url: str, *arguments: Any, **options: Any) -> Any:  # type: ignore[override]
        """Send a request."""
        if self.until is not None:
            left_s = max(0.0, self.until - time.monotonic()) + _GRACE_S
            given = options.get("timeout")
            options["timeout"] = min(given, left_s) if isinstance(given, int | float) else left_s
        return super().request(method, url, *arguments, **options)  # type: ignore[no-untyped-call]
