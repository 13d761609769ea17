"""A fake of BigQuery's REST API that fails on demand, for what an emulator cannot show.

It knows queries by their text and executes none. What it answers follows the service's documentation: time limits,
cancelling, billed bytes, expired tokens, quotas, pages. That it answers as the service does was never tried against it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from assay.testing.faults import Api, Fault
from assay.testing.server import Emulator, Reply, Request, damaged

_PATH = re.compile(
    r"/bigquery/v2/projects/(?P<project>[^/]+)/"
    r"(?:(?P<jobs>jobs)(?:/(?P<job>[^/]+)(?P<cancel>/cancel)?)?|queries/(?P<results>[^/]+)|"
    r"datasets/(?P<dataset>[^/]+)(?:/(?P<tables>tables)(?:/(?P<table>[^/:]+)(?P<rows>/data)?(?P<test>:testIamPermissions)?)?)?)"
)
_STATUS = {"accessDenied": 403, "quotaExceeded": 403, "responseTooLarge": 403, "notFound": 404, "backendError": 503}
_WAIT_S = 0.2
"""How long a request for the result of a running job is held."""


class FakeQuery(Struct, frozen=True, kw_only=True):
    """What the fake knows of one query."""

    fields: tuple[Mapping[str, Any], ...] = ({"name": "f0_", "type": "INTEGER", "mode": "NULLABLE"},)
    """The result's schema, in the service's form."""
    rows: tuple[tuple[Any, ...], ...] = (("1",),)
    """The cells in the service's form: texts, lists of ``{"v": …}``, ``{"f": […]}``."""
    page_rows: int = 1000
    """How many rows a page has at most."""
    bytes_billed: int = 10_485_760
    statement_type: str = "SELECT"
    running_s: float = 0.0
    """How long the job runs; ``inf``: until it is cancelled or its time limit ends it."""
    keeps_limit: bool = True
    """Whether the job ends at its time limit. False: as a job that the service is slow to stop."""
    error: tuple[str, str] | None = None
    """Reason and message with which the job ends."""
    invalid: str | None = None
    """The message with which the text is refused, dry or not."""
    lost_rows: int = 0
    """How many rows of those that it announces do not come."""


class _Job(Struct):
    """A job that was started."""

    query: FakeQuery
    config: Mapping[str, Any]
    started: float
    cancelled: bool = False

    def error(self) -> tuple[str, str] | None:
        """Why the job failed; None: it did not, or not yet."""
        if self.cancelled:
            return "stopped", "Job execution was cancelled: User requested cancellation"
        bound = self.config["query"].get("maximumBytesBilled")
        if bound is not None and self.query.bytes_billed > int(bound):
            needed = self.query.bytes_billed
            return "bytesBilledLimitExceeded", (
                f"Query exceeded limit for bytes billed: {bound}. {needed} or higher required."
            )
        limit_ms = self.config.get("jobTimeoutMs") if self.query.keeps_limit else None
        elapsed_s = time.monotonic() - self.started
        if limit_ms is not None and self.query.running_s > int(limit_ms) / 1000 <= elapsed_s:
            return "stopped", f"Job execution was cancelled: Job timed out after {limit_ms} ms"
        return self.query.error if elapsed_s >= self.query.running_s else None

    @property
    def is_done(self) -> bool:
        return self.error() is not None or time.monotonic() - self.started >= self.query.running_s


class BigqueryFake(Emulator):
    """A project ``p`` with the dataset ``d``, on one loopback port.

    ``tables``: name to fields in the service's form; each has no rows. ``token``: the access token that is accepted;
    None: every request is. ``permissions``: what the account may do to tables beyond reading.
    """

    software = "assay-bigquery-fake"

    def __init__(
        self,
        queries: Mapping[str, FakeQuery] | None = None,
        *,
        tables: Mapping[str, tuple[Mapping[str, Any], ...]] | None = None,
        token: str | None = None,
        permissions: Iterable[str] = (),
        location: str = "EU",
        faults: Iterable[Fault] = (),
        port: int = 0,
    ) -> None:
        super().__init__(port=port, faults=faults)
        self.queries: dict[str, FakeQuery] = {"SELECT 1": FakeQuery()} | dict(queries or {})
        self.cancelled: list[str] = []
        """The texts of the queries whose jobs were cancelled."""
        self._tables = dict(tables or {})
        self._token = token
        self._permissions = frozenset(permissions)
        self._location = location
        self._jobs: dict[str, _Job] = {}
        self._jobs_lock = Lock()

    @property
    def url(self) -> str:
        """The URL of the dataset."""
        return f"bigquery://p/d?api_endpoint={self.base_url}"

    @property
    def jobs(self) -> tuple[Mapping[str, Any], ...]:
        """The configurations of all jobs that ran, in order."""
        with self._jobs_lock:
            return tuple(job.config for job in self._jobs.values())

    def reply(self, request: Request) -> Reply:
        """The reply to a request."""
        path = _PATH.fullmatch(unquote(request.path))
        if path is None:
            return _failed(404, "notFound", f"Not found: {request.path}")
        api, text = self._api(path, request)
        faults = self.faults.met_by(api, text)
        if (replaced := self.reply_of(faults, _refusal)) is not None:
            return replaced
        if self._token is not None and request.headers["Authorization"] != f"Bearer {self._token}":
            return _failed(401, "authError", "Request had invalid authentication credentials.")
        return damaged(self._answer(path, request), faults)

    def _api(self, path: re.Match[str], request: Request) -> tuple[Api, str]:
        if path["job"] is not None:
            return "job", self._text_of(path["job"])
        if path["results"] is not None:
            return "results", self._text_of(path["results"])
        if path["jobs"] is not None:
            config = request.body["configuration"]
            return "dry_run" if config.get("dryRun") else "insert", config["query"]["query"]
        return ("tables" if path["tables"] else "datasets"), path["table"] or path["dataset"]

    def _text_of(self, job_id: str) -> str:
        with self._jobs_lock:
            job = self._jobs.get(job_id)
        return "" if job is None else str(job.config["query"]["query"])

    def _answer(self, path: re.Match[str], request: Request) -> Reply:
        if path["dataset"] is not None:
            return self._catalogue(path, request)
        if path["jobs"] is not None and path["job"] is None:
            return self._insert(request.body)
        job_id = path["job"] or path["results"]
        with self._jobs_lock:
            job = self._jobs.get(job_id)
        if job is None:
            return _failed(404, "notFound", f"Not found: Job p:{job_id}")
        if path["cancel"]:
            if not job.is_done:
                job.cancelled = True
                self.cancelled.append(str(job.config["query"]["query"]))
            return Reply(status=200, body={"kind": "bigquery#jobCancelResponse", "job": self._resource(job_id, job)})
        if path["job"] is not None:
            return Reply(status=200, body=self._resource(job_id, job))
        return self._results(job_id, job, request.query)

    def _insert(self, body: Mapping[str, Any]) -> Reply:
        config = body["configuration"]
        text = config["query"]["query"]
        query = self.queries.get(text.strip())
        if query is None:
            return _failed(400, "invalidQuery", "Syntax error: Unexpected identifier at [1:1]")
        if query.invalid is not None:
            return _failed(400, "invalidQuery", query.invalid)
        job_id = body.get("jobReference", {}).get("jobId") or f"job_{len(self._jobs)}"
        job = _Job(query=query, config=config, started=time.monotonic())
        if not config.get("dryRun"):
            with self._jobs_lock:
                self._jobs[job_id] = job
        return Reply(status=200, body=self._resource(job_id, job))

    def _resource(self, job_id: str, job: _Job) -> dict[str, Any]:
        dry = bool(job.config.get("dryRun"))
        error = None if dry else job.error()
        done = dry or job.is_done
        statistics: dict[str, Any] = {"statementType": job.query.statement_type}
        if done:
            statistics["totalBytesProcessed"] = str(job.query.bytes_billed)
        if dry:
            statistics["schema"] = {"fields": job.query.fields}
        elif done and error is None:
            statistics |= {"totalBytesBilled": str(job.query.bytes_billed), "cacheHit": False}
        status: dict[str, Any] = {"state": "DONE" if done else "RUNNING"}
        if error is not None:
            status["errorResult"] = {"reason": error[0], "message": error[1]}
            status["errors"] = [status["errorResult"]]
        return {
            "kind": "bigquery#job",
            "id": f"p:{self._location}.{job_id}",
            "jobReference": {"projectId": "p", "jobId": job_id, "location": self._location},
            "configuration": dict(job.config, jobType="QUERY"),
            "status": status,
            "statistics": {
                "query": statistics,
                "totalBytesProcessed": str(job.query.bytes_billed),
            },
        }

    def _results(self, job_id: str, job: _Job, asked: Mapping[str, str]) -> Reply:
        if not job.is_done:
            self.stopping.wait(_WAIT_S)
        reference = {"projectId": "p", "jobId": job_id, "location": self._location}
        if not job.is_done:
            return Reply(status=200, body={"jobReference": reference, "jobComplete": False})
        if (error := job.error()) is not None:
            return _failed(_STATUS.get(error[0], 400), *error)
        query = job.query
        start = int(asked.get("pageToken") or asked.get("startIndex") or 0)
        most = min(int(asked.get("maxResults") or query.page_rows), query.page_rows)
        rows = query.rows[: len(query.rows) - query.lost_rows][start : start + most]
        body: dict[str, Any] = {
            "jobReference": reference,
            "jobComplete": True,
            "schema": {"fields": query.fields},
            "totalRows": str(len(query.rows)),
            "rows": [{"f": [{"v": cell} for cell in row]} for row in rows],
        }
        if start + most < len(query.rows) - query.lost_rows:
            body["pageToken"] = str(start + most)
        return Reply(status=200, body=body)

    def _catalogue(self, path: re.Match[str], request: Request) -> Reply:
        dataset, table = path["dataset"], path["table"]
        if dataset != "d":
            return _failed(404, "notFound", f"Not found: Dataset p:{dataset}")
        named = {"projectId": "p", "datasetId": "d"}
        if path["tables"] is None:
            return Reply(status=200, body={"datasetReference": named, "location": self._location})
        if table is None:
            listed = [
                {"tableReference": {**named, "tableId": name}, "type": "TABLE", "id": f"p:d.{name}"}
                for name in self._tables
            ]
            return Reply(status=200, body={"tables": listed, "totalItems": len(listed)})
        if table not in self._tables:
            return _failed(404, "notFound", f"Not found: Table p:d.{table}")
        if path["test"]:
            asked = request.body.get("permissions", ())
            return Reply(status=200, body={"permissions": [name for name in asked if name in self._permissions]})
        if path["rows"]:
            return Reply(status=200, body={"totalRows": "0", "rows": []})
        fields = self._tables[table]
        return Reply(
            status=200,
            body={"tableReference": {**named, "tableId": table}, "type": "TABLE", "schema": {"fields": fields}},
        )


def _refusal(fault: Fault) -> Reply | None:
    """The reply of a fault that replaces the answer."""
    match fault.kind:
        case "unauthorised":
            return _failed(401, "authError", "Request had invalid authentication credentials.")
        case "busy":
            reply = _failed(429, "rateLimitExceeded", "Exceeded rate limits: too many requests per second")
            reply.headers = (("Retry-After", fault.retry_after),) if fault.retry_after else ()
            return reply
        case "unavailable":
            return _failed(fault.status, "backendError", "The service is currently unavailable.")
        case "failed":
            return _failed(fault.status, fault.reason, fault.message)
    return None


def _failed(status: int, reason: str, message: str) -> Reply:
    """An error in the service's form."""
    errors = [{"message": message, "domain": "global", "reason": reason}]
    return Reply(status=status, body={"error": {"code": status, "message": message, "errors": errors}})
