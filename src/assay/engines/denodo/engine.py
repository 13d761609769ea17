"""Denodo over the Data Catalog's HTTP API: VQL out, JSON rows back.

The API has no read-only switch, so any text that is not exactly one query is refused before it is sent
(`assay.sql.vql_statement.read_vql`). That check cannot see inside a user's own stored procedures: give Assay a Denodo
user that may only read.
"""

from __future__ import annotations

import time
import warnings
from hashlib import blake2b
from typing import ClassVar, TypeVar

from assay.engines import outcomes
from assay.engines.denodo.connection import CatalogConnection, DeadlinePassed, Reply, Unreachable
from assay.engines.denodo.rows import MalformedAnswer, UnreadableRows, error_line, parse_cut_rows, parse_rows
from assay.engines.denodo.url import Endpoint, read_endpoint
from assay.errors import DatabaseError
from assay.model import DatabaseUrl, Execution, Limits
from assay.model.databases.secret import shown_location

CHECK_TIMEOUT_S = 10.0
"""How long `check` waits for a server."""

_CHECK_QUERY = "SELECT 1"
_BUSY = (429, 502, 503)
_Self = TypeVar("_Self", bound="DenodoHttpEngine")


class DenodoHttpEngine:
    """A Denodo server behind its Data Catalog (Data Marketplace), over plain HTTP.

    ``denodo+http://[user[:password]@]host:9090/denodo-data-catalog[?serverId=1&verify=1&execution=/path]``;
    ``header=NAME:VALUE``, repeatable, is sent with each request; a password without a user is a bearer token.
    `assay.engines.denodo.config` makes such URLs from a `project_config.env`.

    Values have JSON's types: see `assay.engines.denodo.rows` for numbers; dates and times are text. An empty result has
    no columns. The engine asks for one row more than the row limit, to see whether the limit cut the result; a lower
    limit of the server's own cannot be detected. With ``rows=100`` it asks for at most 100 rows and takes those as the
    whole result, as Denodo's own evaluator does. A response that reports an execution error is a failed query, whatever
    its status; one that says that its values are masked has no result that could be compared.
    """

    name: ClassVar[str] = "denodo+http"
    dialect: ClassVar[str] = "denodo"
    has_boolean_type: ClassVar[bool] = True
    stands_between: ClassVar[bool] = True
    """The catalog reports its own errors with the Denodo server as an error of the query."""

    __slots__ = ("_connection", "_endpoint", "_limits")

    def __init__(self, endpoint: Endpoint, limits: Limits) -> None:
        self._endpoint = endpoint
        self._limits = limits
        self._connection = CatalogConnection(endpoint)

    @classmethod
    def open(cls: type[_Self], url: DatabaseUrl, limits: Limits) -> _Self:
        """Prepare the connection; it is made with the first query. Raises DatabaseError for a wrong URL."""
        return cls(read_endpoint(url), limits)

    @classmethod
    def check(cls, url: DatabaseUrl) -> None:
        """Raise DatabaseError if no Data Catalog responds, or it rejects the credentials.

        Asks for ``SELECT 1`` and waits at most `CHECK_TIMEOUT_S` seconds. If only that query is refused, it passes with
        a warning: the server is there and accepted the credentials, but Denodo behind it may be down.
        """
        engine = cls.open(url, Limits(timeout_s=CHECK_TIMEOUT_S, max_rows=1))
        try:
            failure = engine._run(_CHECK_QUERY, time.perf_counter()).failure
        finally:
            engine.close()
        if failure is not None and failure.kind == "error":
            message = (
                f"{engine._named} answers {_CHECK_QUERY} with an error ({failure.message}). If Denodo behind it "
                "is not available, every query of the run fails"
            )
            warnings.warn(message, UserWarning, stacklevel=2)
        if failure is None or failure.kind in ("error", "truncated", "masked"):
            return
        if failure.kind == "timeout":
            raise DatabaseError(
                f"{engine._named} did not respond within {CHECK_TIMEOUT_S:g} s: check that it is running, and "
                "the address"
            )
        raise DatabaseError(failure.message)

    @classmethod
    def version(cls) -> str:
        """The name of the API: it does not tell the server's version."""
        return "data-catalog"

    @classmethod
    def fingerprint(cls, url: DatabaseUrl) -> str:
        """A hash of execution URL, server id and user. The content of a live server cannot be seen: it may change."""
        endpoint = read_endpoint(url)
        told = f"{endpoint.execution_url}\0{endpoint.server_id}\0{endpoint.user or ''}"
        told += "" if endpoint.rows is None else f"\0{endpoint.rows}"
        return blake2b(told.encode(), digest_size=12).hexdigest()

    def execute(self, query: str) -> Execution:
        """Run one query under the limits. Never raises for what the query does."""
        started = time.perf_counter()
        try:
            query.encode()
        except UnicodeEncodeError as error:
            return outcomes.not_text(query, error)
        return refusal(query) or self._run(query, started)

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        """None: a server has no sibling databases of the same schema."""
        return ()

    def close(self) -> None:
        """Close the connection. Closing twice is harmless."""
        self._connection.close()

    @property
    def _named(self) -> str:
        return f"the Data Catalog at {self._endpoint.execution_url}"

    def _run(self, query: str, started: float) -> Execution:
        limits = self._limits
        # One more than the row limit, to see whether the limit cut the result; unless the URL asks for fewer.
        most = limits.max_rows + 1
        most = most if self._endpoint.rows is None else min(most, self._endpoint.rows)
        try:
            reply = self._connection.execute(
                query, limit=most, timeout_s=limits.timeout_s, max_bytes=limits.max_result_bytes
            )
        except DeadlinePassed:
            return outcomes.timed_out(query, limits, time.perf_counter() - started)
        except Unreachable as error:
            return self._unreadable(query, str(error), ran=error.sent)
        wall_time_s = time.perf_counter() - started
        if reply.status != 200:
            return self._refused_by_server(query, reply, wall_time_s)
        try:
            answer = (parse_cut_rows if reply.cut else parse_rows)(reply.body)
        except UnreadableRows as error:
            message = f"the response of {self._named} cannot be read: it {self._endpoint.scrubbed(str(error))}"
            return outcomes.unreadable_value(query, message, wall_time_s=wall_time_s)
        except MalformedAnswer as error:
            why = f"its response {self._endpoint.scrubbed(str(error))}: check the address"
            return self._unreadable(query, why, ran=True)
        if answer.error is not None:
            reason = self._endpoint.scrubbed(answer.error)
            return outcomes.failed(query, "error", "error", reason, wall_time_s=wall_time_s)
        if answer.masked:
            return outcomes.masked(query, wall_time_s=wall_time_s)
        cap: outcomes.Cap | None = "bytes" if reply.cut else None
        if len(answer.rows) > limits.max_rows:
            del answer.rows[limits.max_rows :]
            cap = "rows"
        return outcomes.fetched(
            query,
            tuple(map(self._endpoint.scrubbed, answer.columns)),  # rows stay unchanged: they are compared
            answer.rows,
            wall_time_s=wall_time_s,
            cap=cap,
            limits=limits,
            undecodable_text=answer.undecodable,
        )

    def _refused_by_server(self, query: str, reply: Reply, wall_time_s: float) -> Execution:
        """What a response other than 200 means: the query's own error, or a failure before its execution."""
        said = error_line(reply.body)
        said = None if said is None else self._endpoint.scrubbed(said)
        told = f"{reply.status} {self._endpoint.scrubbed(reply.reason)}".strip() + (f": {said}" if said else "")
        match reply.status:
            case 401 | 403:
                who = "the token" if self._endpoint.token is not None else f"user {self._endpoint.user!r}"
                if self._endpoint.user is None and self._endpoint.token is None:
                    return self._unreadable(query, f"it requires a user and password, but none are given ({told})")
                why = f"it rejects {who} ({told}): check user, password and privileges"
                return self._unreadable(query, why, ran=reply.status == 403)
            case 504:
                return outcomes.failed(
                    query, "timeout", "timeout", f"a gateway timed out ({told})", wall_time_s=wall_time_s
                )
            case status if status in _BUSY:
                return self._unreadable(query, f"it is not available ({told})")
            case status if status < 400:
                location = None if reply.location is None else self._endpoint.scrubbed(shown_location(reply.location))
                leads = f" and leads to {location}" if location else ""
                return self._unreadable(query, f"it responded with {told}{leads}: check the address")
            case status if said is None and status < 500:
                return self._unreadable(
                    query, f"it responded with {told} without a reason: check the address", ran=True
                )
        return outcomes.failed(query, "error", "error", said or f"the server failed ({told})", wall_time_s=wall_time_s)

    def _unreadable(self, query: str, why: str, *, ran: bool = False) -> Execution:
        """``ran``: the query itself may be the cause, if the server answers a plain one."""
        message = f"{self._named} cannot be used: {why}"
        if ran:
            return outcomes.server_lost(query, message)
        return outcomes.failed(query, "error", "unreadable_database", message)


class DenodoHttpsEngine(DenodoHttpEngine):
    """Like `DenodoHttpEngine`, over HTTPS. ``verify=0`` accepts any certificate."""

    name: ClassVar[str] = "denodo+https"

    __slots__ = ()


def refusal(query: str) -> Execution | None:
    """Why this text is not sent to Denodo; None if it is one query."""
    from assay.sql.vql_statement import read_vql  # loads sqlglot, which `check` does not need

    reading = read_vql(query)
    return outcomes.unless_query(query, reading.does, reading.detail)
