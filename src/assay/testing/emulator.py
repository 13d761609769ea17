"""The emulated Denodo: what it answers, and what it was asked."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Literal

from assay.testing.answers import Answers
from assay.testing.faults import Fault, FaultPlan
from assay.testing.server import Emulator
from assay.testing.tables import Tables

CATALOG_PATH = "/denodo-data-catalog"
EXECUTE_PATH = f"{CATALOG_PATH}/public/api/askaquestion/execute"
NoRows = Literal["absent", "null", "list"]


class DenodoEmulator(Emulator):
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
        super().__init__(port=port, certificate=certificate)
        self.answers = Answers.read(answers)
        self.faults = FaultPlan((*self.answers.faults, *faults))
        self.tables = Tables(tables)
        self.default_limit = default_limit
        self.row_limit = row_limit
        self.no_rows = no_rows
        self.server_id = server_id
        self._accepted = _accepted(user, password, token)
        self._asked: Counter[str] = Counter()
        self._executed: Counter[str] = Counter()

    def handler(self) -> type[BaseHTTPRequestHandler]:
        """The HTTP side."""
        from assay.testing.handler import handler_of

        return handler_of(self)

    def released(self) -> None:
        """The tables go with the server."""
        self.tables.close()

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

    def lets_in(self, authorization: str | None) -> bool:
        """Whether a request with that Authorization header is answered."""
        given = (authorization or "").encode("utf-8", "replace")
        return not self._accepted or any(compare_digest(given, header.encode()) for header in self._accepted)

    def count_question(self, question: str) -> None:
        """A question has come."""
        with self._lock:
            self._asked[question] += 1

    def count_vql(self, vql: str) -> None:
        """A query has come."""
        with self._lock:
            self._executed[vql] += 1


def _accepted(user: str | None, password: str, token: str | None) -> tuple[str, ...]:
    basic = () if user is None else ("Basic " + b64encode(f"{user}:{password}".encode()).decode(),)
    return basic if token is None else (*basic, f"Bearer {token}")
