"""Faults that an emulated server makes on demand."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Event, Lock
from typing import Literal

from msgspec import Struct

FaultKind = Literal[
    "slow",  # answer after `seconds`, or once the fault is cleared
    "error",  # 500 with FastAPI's detail of error and traceback; 500 with a message from the execute endpoint
    "busy",  # 429, with Retry-After where `retry_after` is given
    "unavailable",  # `status`, such as 502, 503 or 504
    "cut_off",  # half of the body, then the connection ends
    "malformed",  # the whole body, of JSON that does not parse
    "dropped",  # the connection ends without an answer
    "unauthorised",  # 401, as for credentials that expired
    "no_table",  # 404 in the AI SDK's own form: no table fits the question
    "passed_through",  # `status` of the Data Catalog, such as 401 or 403, in the AI SDK's own form
    "web_page",  # `status` with a page of HTML, as a gateway answers
    "execution_error",  # 200 with `executionErrors` and no rows, as the Data Marketplace reports a failed query
    "error_beside_rows",  # the same, with the rows that there are
    "masked",  # the rows with `masked: true`, as for an account with restricted columns
    "rejected",  # 422 with `message`, in FastAPI's form
    "other_endpoint",  # 200 with the response of another endpoint, such as a health check
    "failed",  # `status` with `message` and `reason`, in BigQuery's form
]
Api = Literal["ask", "execute", "dry_run", "insert", "job", "results", "datasets", "tables"]
"""Denodo's two, and BigQuery's."""


class Fault(Struct, frozen=True, kw_only=True):
    """One kind of fault, and which calls get it."""

    kind: FaultKind
    on: Api = "ask"
    question: str | None = None
    """Only calls with this question (with ``on="execute"``: this VQL); None: every call of the API."""
    after: int = 0
    """How many matching calls succeed first."""
    times: int | None = None
    """How many calls then get the fault; None: all that follow."""
    seconds: float = 1.0
    retry_after: str | None = None
    status: int = 503
    reason: str = "backendError"
    message: str = "the emulator was told to fail"


class FaultPlan:
    """The faults of one server, with how often each was used. Safe to use from several threads."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self._lock = Lock()
        self._faults: list[tuple[Fault, list[int]]] = []
        self._cleared = Event()
        for fault in faults:
            self.add(fault)

    def add(self, fault: Fault) -> None:
        """Add a fault, from the next call on."""
        with self._lock:
            self._faults.append((fault, [0]))

    def clear(self) -> None:
        """Remove all faults, from the next call on; calls that a slow one holds up are answered now."""
        with self._lock:
            self._faults.clear()
            self._cleared.set()
            self._cleared = Event()

    def wait(self, fault: Fault) -> None:
        """Wait the seconds of a slow fault, until it is cleared at the latest."""
        with self._lock:
            cleared = self._cleared if any(fault is one for one, _ in self._faults) else None
        if cleared is not None:
            cleared.wait(fault.seconds)

    def met_by(self, api: Api, text: str) -> list[Fault]:
        """The faults for this call, in the order in which they were given. Counts the call."""
        met: list[Fault] = []
        with self._lock:
            for fault, seen in self._faults:
                if fault.on != api or (fault.question is not None and fault.question != text):
                    continue
                seen[0] += 1
                if fault.after < seen[0] and (fault.times is None or seen[0] <= fault.after + fault.times):
                    met.append(fault)
        return met
