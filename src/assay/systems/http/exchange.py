"""Send questions to an HTTP server, with time limits and retries, and interpret its refusals."""

from __future__ import annotations

import json
import ssl
import weakref
from collections.abc import Callable, Mapping
from threading import Lock, local
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import SystemUnusable
from assay.model import Case, Failure, Prediction, Secret, TurnAnswer
from assay.model.databases.mistyped import plain_port_hint
from assay.model.databases.secret import MaskedLog, masked, secret_forms
from assay.platform.certificates import tls_context
from assay.platform.decompression import ACCEPTED, Unreadable, iter_decompressed
from assay.sql.extraction.embedded_json import read_json
from assay.systems.address import Address, is_secret_name
from assay.systems.http.refusals import PART, Conventions, Refusals, RequestRefused, TooSlow
from assay.systems.options import SystemOptions
from assay.systems.predictions import NO_TIME, QuestionFailed, UnknownForm, ask_failure, first_line
from assay.systems.pricing import Pricing
from assay.systems.retrying import TryAgain, with_retries

if TYPE_CHECKING:
    import httpx

_MAX_ANSWER_BYTES = 64 * 1024 * 1024
_MAX_VALUES = 4_000_000
"""An empty list takes three bytes in JSON, and 64 in memory."""
_MOST_CONNECT_S = 10.0
_MOST_SHOWN = 4096
"""Bytes of an answer in a message; its first line is truncated, and marked, after that."""
_MOST_ADAPTATIONS = 8
"""Bodies that are sent instead of refused ones, each with one more difference."""
_MOST_QUOTED = 120
"""Characters of an answer of another kind in a message."""
_UNREADABLE = "unreadable answer"
"""The code of that failure."""


class Reply(Struct, frozen=True, kw_only=True):
    """A server's answer."""

    said: dict[str, Any]
    latency_s: float
    """Seconds from the request to the answer's last byte, for the one attempt that was answered."""


Parse = Callable[[bytes, str], Any]
"""Gives the value of a response from its body and content type. Raises QuestionFailed or TryAgain."""


class Exchange:
    """A connection pool to one address, used by any number of threads."""

    def __init__(self, address: Address, options: SystemOptions, conventions: Conventions | None = None) -> None:
        import httpx

        self.address = address
        self._options = options
        self.pricing = Pricing(options)
        self._conventions = conventions or Conventions()
        user = options.user if options.user is not None else address.user
        password = options.password or (address.password if options.user is None else None) or Secret("")
        token = options.token
        if token is not None:
            user = None
        self._of_thread = local()
        """``deadline``: when the answer that this thread waits for must be complete."""
        named = {name.lower() for name, _ in options.headers}
        self._secrets = _secrets(user, password, token, address, options)
        self._refusals = Refusals(
            address,
            options,
            self._conventions,
            authenticates=user is not None or token is not None or "authorization" in named,
            scrub=self.scrub,
        )
        # httpx's own pool would lose a connection that is closed while it is being made.
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lock = Lock()
        self._closed = False
        self._log = MaskedLog(self.scrub)
        self._log.begin()
        headers = {"Accept-Encoding": ACCEPTED}
        if token is not None:
            name = self._conventions.token_header
            headers[name] = f"Bearer {token.reveal()}" if name == "Authorization" else token.reveal()
        self._client = httpx.Client(
            auth=None if user is None else httpx.BasicAuth(user, password.reveal()),
            headers=headers | {name: value.reveal() for name, value in options.headers},
            verify=tls_context(verify=options.verify_ssl, trust_env=not address.is_loopback),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            # A proxy from the environment is for other hosts; it could not reach this machine's loopback.
            trust_env=not address.is_loopback,
        )

    @property
    def has_answered(self) -> bool:
        """Whether the server has answered a question: its address and the credentials are correct."""
        return self._refusals.has_answered

    @has_answered.setter
    def has_answered(self, value: bool) -> None:
        self._refusals.has_answered = value

    def close(self) -> None:
        """Close the connections, including those of abandoned questions in flight."""
        self._client.close()
        with self._lock:
            self._closed, made = True, tuple(self._made)
        for stream in made:
            stream.close()
        self._log.end()
        self.pricing.close()

    def ask(
        self,
        case: Case,
        body: object,
        read: Callable[[dict[str, Any]], Prediction],
        *,
        refused: Callable[[RequestRefused], Prediction | None] = lambda _: None,
        adapted: Callable[[Any, RequestRefused], object | None] = lambda _, __: None,
    ) -> Prediction:
        """Post ``body`` for a case, and read the answer's JSON object with ``read``.

        ``refused`` may read a refusal as an answer. ``adapted`` may return a body to send instead of one that was
        refused. A question that fails is returned as a Failure. Outside the query, no returned text contains any of
        Assay's secrets. Raises SystemUnusable.
        """
        try:
            for _ in range(_MOST_ADAPTATIONS):
                try:
                    reply = self.post(body)
                    break
                except RequestRefused as refusal:
                    other = adapted(body, refusal)
                    if other is None:
                        raise
                    body = other
            else:
                reply = self.post(body)
            prediction = read(reply.said)
        except QuestionFailed as error:
            said = refused(error) if isinstance(error, RequestRefused) else None
            if said is None:
                return Prediction(case_id=case.id, failure=self.failure_of(error))
            prediction = said
        self.has_answered = True
        if prediction.cost_usd is None:
            prediction = replace(prediction, cost_usd=self.pricing.cost_usd(prediction.tokens))
        return self.scrubbed(prediction)

    def scrubbed(self, prediction: Prediction) -> Prediction:
        """The answer with Assay's secrets masked in all of its texts, except in the query and in rows.

        These two are evaluated unchanged.
        """

        def text(given: str | None) -> str | None:
            return None if given is None else self.scrub(given)

        def names(given: tuple[str, ...] | None) -> tuple[str, ...] | None:
            return None if given is None else tuple(map(self.scrub, given))

        def failure(given: Failure | None) -> Failure | None:
            return None if given is None else replace(given, message=self.scrub(given.message))

        def turn(given: TurnAnswer) -> TurnAnswer:
            return replace(given, raw=text(given.raw), text=text(given.text), failure=failure(given.failure))

        return replace(
            prediction,
            raw=text(prediction.raw),
            explanation=text(prediction.explanation),
            tables_used=tuple(map(self.scrub, prediction.tables_used)),
            context_tables=names(prediction.context_tables),
            context_columns=names(prediction.context_columns),
            timings_s=tuple((self.scrub(name), seconds) for name, seconds in prediction.timings_s),
            failure=failure(prediction.failure),
            turns=tuple(map(turn, prediction.turns)),
        )

    def failure_of(self, error: QuestionFailed) -> Failure:
        """The failure of a question, without secrets."""
        return ask_failure(self.scrub(str(error)), reached=error.reached, code=error.code, rejected=error.rejected)

    def scrub(self, text: str) -> str:
        """The text with each of Assay's secrets masked, in case a server sent one back."""
        return masked(text, (secret.reveal() for secret in self._secrets))

    def post(self, body: object, *, parse: Parse | None = None, accept: str = "application/json") -> Reply:
        """Post ``body`` and return the JSON object of the answer, with retries after transient errors.

        ``parse`` reads answers that are not plain JSON. Raises SystemUnusable, RequestRefused and
        QuestionFailed, the messages of the latter two not scrubbed.
        """
        try:
            content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        except (ValueError, RecursionError) as error:  # text from a server's earlier answer, now part of the request
            raise QuestionFailed(f"the question cannot be sent as JSON: {error}") from None
        headers = {"Content-Type": "application/json", "Accept": accept}
        started = monotonic()

        def attempt() -> tuple[Any, float]:
            sent = monotonic()
            answer = self._send("POST", self.address.url.reveal(), started, headers=headers, content=content)
            latency_s = monotonic() - sent
            try:
                return (parse or parse_json)(*answer), latency_s
            except UnknownForm as error:
                raise UnknownForm(f"{error} ({self._conventions.address_option})", code=error.code or "") from None

        try:
            said, latency_s = with_retries(attempt, self._options)
        except TryAgain as error:
            raise self._refusals.given_up(error, is_question=True) from None
        if not isinstance(said, dict):
            shown = first_line(json.dumps(said))[:_MOST_QUOTED]
            what = f"the answer is JSON, but not an object: {shown}; check the path of the URL"
            raise UnknownForm(f"{what} ({self._conventions.address_option})", code="not an object")
        return Reply(said=said, latency_s=latency_s)

    def fetch(self, url: str, *, accept: str | None = None) -> bytes:
        """The content at a URL of the same server, fetched with the same credentials.

        Raises QuestionFailed: NobodyThere without a connection, TooSlow after the time limit.
        """
        started = monotonic()
        headers = {} if accept is None else {"Accept": accept}
        try:
            return with_retries(lambda: self._send("GET", url, started, headers=headers, content=None), self._options)[
                0
            ]
        except TryAgain as error:
            raise self._refusals.given_up(error, is_question=False) from None

    def _send(
        self, method: str, url: str, started: float, *, headers: Mapping[str, str], content: bytes | None
    ) -> tuple[bytes, str]:
        """The body and the content type of a successful answer."""
        import httpx

        if self._closed:
            raise QuestionFailed("not asked: the connections are closed")
        limit = self._options.timeout_s
        deadline = monotonic() + limit
        connect = max(0.05, min(_MOST_CONNECT_S, started + limit - monotonic()))
        timeout = httpx.Timeout(limit, connect=connect)
        self._of_thread.deadline = deadline
        sent: dict[str, Any] = {"content": content, "headers": headers, "extensions": {"trace": self._trace}}
        try:
            with self._client.stream(method, url, timeout=timeout, **sent) as response:
                answer = self._read(response, deadline)
                if not response.is_success or response.status_code == PART:
                    raise self._refusals.of(response, answer, is_question=method == "POST")
                return answer, response.headers.get("Content-Type", "")
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            raise self._unconnected(error, started) from None
        except httpx.TimeoutException:
            raise TooSlow(
                f"no answer within {limit:g} s: ask for less, or raise the time limit", code=NO_TIME
            ) from None
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            raise TryAgain(
                f"the connection broke before the answer was complete: {error or type(error).__name__}",
                reached=False,
                code="broken connection",
            ) from None
        except Unreadable as error:
            raise QuestionFailed(f"the answer cannot be read: {error}", code=_UNREADABLE) from None
        except httpx.HTTPError as error:
            raise QuestionFailed(
                f"the answer cannot be read ({type(error).__name__}): {error}", code=_UNREADABLE
            ) from None

    def _unconnected(self, error: httpx.TransportError, started: float) -> TryAgain | SystemUnusable:
        import httpx

        certificate = _certificate_error(error)
        if certificate is not None:
            return SystemUnusable(
                f"{self.address.shown} has a certificate that cannot be verified "
                f"({certificate.verify_message}): add its authority to the trusted ones "
                "(SSL_CERT_FILE), or turn verification off"
            )
        is_late = isinstance(error, httpx.TimeoutException)
        reason = "no connection within the time limit" if is_late else first_line(self.scrub(str(error)))
        return TryAgain(
            (reason or type(error).__name__) + plain_port_hint(reason),
            nobody_there=True,
            give_up_at=started + self._options.timeout_s,
            code="no connection",
        )

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        """Record a new connection for `close`, and limit each wait for its bytes to the deadline of the whole answer.

        httpx limits each wait alone: headers that trickle in byte by byte could take days.
        """
        if not event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            return
        stream = info["return_value"]
        with self._lock:
            self._made.add(stream)
            closed = self._closed
        if closed:
            stream.close()
        plain: Callable[..., bytes] = type(stream).read
        itself = weakref.ref(stream)  # a reference cycle would keep the socket open until the next garbage collection
        of_thread = self._of_thread

        def read(max_bytes: int, timeout: float | None = None) -> bytes:
            left = max(0.001, of_thread.deadline - monotonic())
            return plain(itself(), max_bytes, timeout=left if timeout is None else min(timeout, left))

        stream.read = read

    def _read(self, response: httpx.Response, deadline: float) -> bytes:
        """The body, limited in unpacked size, and complete within the time limit."""
        import httpx

        portions: list[bytes] = []
        size = 0
        late = f"the answer was not complete within {self._options.timeout_s:g} s"
        try:
            for portion in iter_decompressed(response.iter_raw(), response.headers.get("Content-Encoding", "")):
                size += len(portion)
                if size > _MAX_ANSWER_BYTES:
                    raise QuestionFailed(
                        f"the answer is larger than {_MAX_ANSWER_BYTES // 2**20} MiB", code="too large"
                    )
                if monotonic() > deadline:
                    raise TooSlow(late, code=NO_TIME)
                portions.append(portion)
        except httpx.TimeoutException:
            raise TooSlow(late, code=NO_TIME) from None
        return b"".join(portions)


def parse_json(content: bytes, content_type: str) -> Any:  # noqa: ARG001 - as all of its kind
    """Parse JSON, whatever the content type. Raises QuestionFailed for a body without JSON or with too many values."""
    if sum(map(content.count, (b",", b"[", b"{"))) > _MAX_VALUES:
        raise QuestionFailed(f"the answer has more than {_MAX_VALUES:,} values", code="too large")
    if not content.strip():
        raise UnknownForm("the answer is not JSON: it is empty; check the path of the URL", code="an empty answer")
    try:
        return read_json(content)
    except (ValueError, RecursionError):
        message = (
            f"the answer is not JSON: it has {len(content)} bytes and begins "
            f'"{first_line(content[:_MOST_SHOWN].decode("utf-8", "replace"))}"'
        )
        if content.lstrip().startswith(b"<"):
            raise UnknownForm(f"{message}; check the path of the URL", code="a web page") from None
        raise QuestionFailed(message, code="not JSON") from None


def _certificate_error(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _secrets(
    user: str | None, password: Secret, token: Secret | None, address: Address, options: SystemOptions
) -> tuple[Secret, ...]:
    """Every form in which a server could send back one of Assay's secrets."""
    named = [value for name, value in options.parameters if is_secret_name(name)]
    texts = [password.reveal(), token.reveal() if token else "", *named]
    texts += [secret.reveal() for secret in (*address.query_secrets, *(value for _, value in options.headers))]
    # The credentials after a scheme, as in "Authorization: Bearer abc".
    texts += [value.reveal().rpartition(" ")[2] for _, value in options.headers]
    return tuple(map(Secret, secret_forms(*texts, user=user)))
