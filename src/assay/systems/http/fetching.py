"""Fetch from an SDMX service with the `Exchange` of systems: with its limits, retries and credentials."""

from __future__ import annotations

from time import monotonic

from msgspec.structs import replace

from assay.errors import SystemUnusable
from assay.sdmx.data.observations import DataTrouble
from assay.sdmx.data.rest import ServiceRefused
from assay.systems.address import http_address
from assay.systems.http.exchange import Exchange
from assay.systems.http.refusals import NobodyThere, RequestRefused, TooSlow
from assay.systems.options import SystemOptions
from assay.systems.predictions import QuestionFailed

_DEFAULTS = SystemOptions(timeout_s=60.0, retries=2, max_wait_s=10.0)
_AWAY_S = 10.0
"""How long an unavailable service is not asked again, doubled each time: a run may have thousands of queries for it."""
_MOST_AWAY_S = 600.0
_MOST_LATE = 3
"""The number of consecutive timeouts after which the service counts as unavailable."""


class ServiceFetcher:
    """Fetches from one service. Raises InputError for an invalid URL."""

    def __init__(self, url: str, *, verify_ssl: bool = True) -> None:
        address = http_address(url, "http")
        self.name: str = address.shown.rstrip("/")
        self.url: str = address.url.reveal().rstrip("/")
        self._exchange = Exchange(address, replace(_DEFAULTS, verify_ssl=verify_ssl))
        self._away: tuple[float, str] | None = None
        """Until when the service counts as unavailable, and its error."""
        self._times_away = self._late = 0

    def __call__(self, url: str, accept: str) -> bytes:
        """The body of an answer. Raises ServiceRefused, and DataTrouble if the service cannot be reached."""
        if self._away is not None and monotonic() < self._away[0]:
            raise DataTrouble(self._away[1], blame="network", is_away=True)
        try:
            content = self._exchange.fetch(url, accept=accept)
        except RequestRefused as error:
            self._times_away = self._late = 0
            raise ServiceRefused(self._said(str(error)), status=error.status) from None
        except (QuestionFailed, SystemUnusable) as error:
            message = f"{self.name}: {self._said(str(error))}"
            self._late = self._late + 1 if isinstance(error, TooSlow) else 0
            if isinstance(error, NobodyThere) or self._late >= _MOST_LATE:
                pause_s = min(_AWAY_S * 2**self._times_away, _MOST_AWAY_S)
                self._times_away += 1
                self._away = (monotonic() + pause_s, message)
            is_away = isinstance(error, NobodyThere | TooSlow)
            raise DataTrouble(message, blame="network", is_away=is_away) from None
        self._times_away = self._late = 0
        return content

    def close(self) -> None:
        """Close the connections."""
        self._exchange.close()

    def _said(self, message: str) -> str:
        return self._exchange.scrub(message)
