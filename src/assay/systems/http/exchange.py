"""Send questions to an HTTP server, with time limits and retries, and interpret its refusals."""

from __future__ import annotations

import json
import logging
import re
import ssl
import weakref
from base64 import b64encode
from collections.abc import Callable, Mapping
from threading import Lock, local
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from assay.bodies import ACCEPTED, Unreadable, unpacked
from assay.errors import SystemLost, SystemUnusable
from assay.model import Case, Prediction, Secret
from assay.model.secret import masked
from assay.systems.address import Address, is_secret_name
from assay.systems.http.complaint import complaint_of, retry_after_s
from assay.systems.options import SystemOptions
from assay.systems.predictions import QuestionFailed, failed, first_line
from assay.systems.retrying import TryAgain, with_retries

if TYPE_CHECKING:
    import httpx

_MAX_ANSWER_BYTES = 64 * 1024 * 1024
_MAX_VALUES = 4_000_000
"""An empty list takes three bytes in JSON, and 64 in memory."""
_MOST_CONNECT_S = 10.0
_OWN_FAILURE = 500
"""The service itself failed at the question, for example at a limit of its model. That may pass."""
_PASSING = frozenset({408, 425, 429, _OWN_FAILURE, 502, 503, 504, *range(520, 528), 529, 530, 598, 599})
"""Overloaded, slow or away: the service, or a gateway before it, which may use its own statuses from 520 on."""
_PART = 206
"""Only a part of what was asked for, though nobody asks for a part here: some services cut long answers so."""
_NOT_OF_A_QUESTION = re.compile(
    r"(\W|\d)*(not found|page not found|method not allowed|unauthori[sz]ed|forbidden|access denied)?\W*"
    r"|.*requested url.*|(no|unknown)( such)? (route|path|endpoint)\b.*"
    r"|.*(credential|authenti|unauthori|password|token|api.?key|log ?in\b|sign ?in\b|expired).*",
    re.IGNORECASE,
)
"""Words about the address or the credentials, which servers use whatever the question."""


class RequestRefused(QuestionFailed):
    """The server answered with a status that no retry would change. Not raised outside this package."""

    def __init__(self, message: str, *, status: int, content: bytes) -> None:
        self.status = status
        self.content = content
        """The response's body as it came, not scrubbed."""
        super().__init__(message)


class NobodyThere(QuestionFailed):
    """Not even a connection to the server could be made. Not raised outside this package."""


class TooSlow(QuestionFailed):
    """The answer was not whole within the time limit. Not raised outside this package."""


class Conventions(Struct, frozen=True, kw_only=True):
    """The settings in which protocols differ."""

    token_header: str = "Authorization"
    """The header for a token: after ``Bearer`` in this one, and unchanged in any other."""
    passing: frozenset[int] = _PASSING
    """The statuses after which the request is sent again."""
    not_found: str = "nothing takes questions there; check the path"
    """The hint for a first answer of 404 or 405."""
    credentials: str = "a user and password, or a token"
    """Which credentials to give to a server that asks for them."""
    of_question: Callable[[int, bytes], bool | None] | None = None
    """Whether a refusal is about the question, by status and body; None: the general rule decides."""
    of_all_questions: re.Pattern[str] | None = None
    """Further words of a 401, 403 or 404 that hold for every question, from a server that has not answered any yet."""


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
        self._conventions = conventions or Conventions()
        user = options.user if options.user is not None else address.user
        password = options.password or (address.password if options.user is None else None) or Secret("")
        token = options.token
        if token is not None:
            user = None
        self._of_thread = local()
        """``deadline``: when the answer that this thread waits for must be complete."""
        self._authenticates = user is not None or token is not None
        self._secrets = _secrets(user, password, token, address, options)
        self.has_answered: bool = False
        """Whether the server has answered a question: its address and the credentials are right."""
        # httpx's own pool would lose a connection that is closed while it is being made.
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lock = Lock()
        self._closed = False
        # httpx logs whole addresses; a secret in a query string must not get into the user's log.
        self._log_filter = _Masking(self.scrub) if address.query_secrets else None
        if self._log_filter is not None:
            logging.getLogger("httpx").addFilter(self._log_filter)
        self._client = httpx.Client(
            auth=None if user is None else httpx.BasicAuth(user, password.reveal()),
            headers={"Accept-Encoding": ACCEPTED, **_token_headers(token, self._conventions.token_header)},
            verify=options.verify_ssl,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
            # A proxy from the environment is for other hosts; it could not reach this machine's loopback.
            trust_env=not address.is_loopback,
        )

    def close(self) -> None:
        """Close the connections, also those of questions in flight that nobody waits for."""
        self._client.close()
        with self._lock:
            self._closed, made = True, tuple(self._made)
        for stream in made:
            stream.close()
        if self._log_filter is not None:
            logging.getLogger("httpx").removeFilter(self._log_filter)

    def ask(
        self,
        case: Case,
        body: object,
        read: Callable[[dict[str, Any]], Prediction],
        *,
        refused: Callable[[RequestRefused], Prediction | None] = lambda _: None,
    ) -> Prediction:
        """Post ``body`` for a case, and read the answer's JSON object with ``read``.

        ``refused`` may read a refusal as an answer. Trouble of the question is returned as a Failure. Outside the
        query, no returned text holds one of Assay's secrets. Raises SystemUnusable.
        """
        try:
            prediction = read(self.post(body).said)
        except QuestionFailed as error:
            said = refused(error) if isinstance(error, RequestRefused) else None
            if said is None:
                return failed(case, self.scrub(str(error)), reached=error.reached)
            prediction = said
        failure = prediction.failure
        return replace(
            prediction,
            raw=None if prediction.raw is None else self.scrub(prediction.raw),
            explanation=None if prediction.explanation is None else self.scrub(prediction.explanation),
            failure=None if failure is None else replace(failure, message=self.scrub(failure.message)),
        )

    def scrub(self, text: str) -> str:
        """The text with each of Assay's secrets masked, in case a server sent one back."""
        return masked(text, (secret.reveal() for secret in self._secrets))

    def post(self, body: object, *, parse: Parse | None = None, accept: str = "application/json") -> Reply:
        """Post ``body`` and return the JSON object of the answer, with retries after trouble that may pass.

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
            return (parse or parse_json)(*answer), latency_s

        try:
            said, latency_s = with_retries(attempt, self._options)
        except TryAgain as error:
            if error.nobody_there:
                raise self._unusable(self._nobody_there(error)) from None
            raise self._given_up(error) from None
        if not isinstance(said, dict):
            raise QuestionFailed(f"the answer is JSON, but no object: {first_line(json.dumps(said))}")
        self.has_answered = True
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
            raise self._given_up(error) from None

    def _given_up(self, error: TryAgain) -> QuestionFailed:
        times = self._options.retries + 1
        tries = f" ({times} tries)" if times > 1 else ""
        if error.nobody_there:
            return NobodyThere(f"{error}{tries}", reached=error.reached)
        return QuestionFailed(f"{error}{tries}", reached=error.reached)

    def _nobody_there(self, error: TryAgain) -> str:
        if self.has_answered:
            return f"{self.address.shown} answered before and now takes no connection ({error}): is it still running?"
        return (
            f"nobody answers at {self.address.shown} ({error}): "
            "check that the server runs, and that host and port are right"
        )

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
                if not response.is_success or response.status_code == _PART:
                    raise self._trouble(response, answer, is_question=method == "POST")
                return answer, response.headers.get("Content-Type", "")
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            raise self._unconnected(error, started) from None
        except httpx.TimeoutException:
            raise TooSlow(f"no answer within {limit:g} s: ask less, or give it more time") from None
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            raise TryAgain(
                f"the connection broke before the answer was whole: {error or type(error).__name__}", reached=False
            ) from None
        except Unreadable as error:
            raise QuestionFailed(f"the answer cannot be read: {error}") from None
        except httpx.HTTPError as error:
            raise QuestionFailed(f"the answer cannot be read ({type(error).__name__}): {error}") from None

    def _unconnected(self, error: httpx.TransportError, started: float) -> TryAgain | SystemUnusable:
        certificate = _certificate_error(error)
        if certificate is not None:
            return SystemUnusable(
                f"{self.address.shown} shows a certificate that cannot be verified ({certificate.verify_message}): "
                "add its authority to those that this machine trusts (SSL_CERT_FILE), or turn verification off"
            )
        reason = "no connection in time" if isinstance(error, _timeouts()) else first_line(self.scrub(str(error)))
        return TryAgain(reason or type(error).__name__, nobody_there=True, give_up_at=started + self._options.timeout_s)

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        """Keep a new connection for `close`, and limit each wait for its bytes to the deadline of the whole answer.

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
        late = f"the answer was not whole within {self._options.timeout_s:g} s"
        try:
            for portion in unpacked(response.iter_raw(), response.headers.get("Content-Encoding", "")):
                size += len(portion)
                if size > _MAX_ANSWER_BYTES:
                    raise QuestionFailed(f"the answer is larger than {_MAX_ANSWER_BYTES // 2**20} MiB")
                if monotonic() > deadline:
                    raise TooSlow(late)
                portions.append(portion)
        except httpx.TimeoutException:
            raise TooSlow(late) from None
        return b"".join(portions)

    def _trouble(self, response: httpx.Response, content: bytes, *, is_question: bool) -> Exception:
        status = response.status_code
        said = first_line(self.scrub(complaint_of(content)))
        if status == _PART:
            said = "only a part of what was asked for"
        elif response.is_redirect and not is_question:
            to = first_line(self.scrub(str(response.headers.get("Location", ""))))
            said = f"it sends to {to}, where credentials are not to follow: name the address that answers itself"
        quoted = f": {said}" if said else ""
        refused = RequestRefused(f"the server answers {status}{quoted}", status=status, content=content)
        if status in self._conventions.passing:
            if status == 429 and b'"insufficient_quota"' in content:
                return SystemUnusable(
                    f"{self.address.shown} answers {status}{quoted}: no waiting helps; see to the quota"
                )
            wait_s = retry_after_s(response.headers.get("Retry-After"))
            return TryAgain(f"the server answers {status}{quoted}", wait_s=wait_s, reached=status == _OWN_FAILURE)
        if not is_question:
            return refused
        told = None if self._conventions.of_question is None else self._conventions.of_question(status, content)
        of_question = _is_of_question(response, content, said) and not self._is_of_all(said) if told is None else told
        if status in (401, 403) and not of_question:
            return self._unusable(self._refused(status, quoted))
        # A server that has answered questions is at the right address: this is about the one question.
        if not (self.has_answered or of_question):
            if status in (404, 405):
                return SystemUnusable(f"{self.address.shown} answers {status}{quoted}: {self._conventions.not_found}")
            if response.is_redirect:
                return SystemUnusable(
                    f"{self.address.shown} answers {status} and sends elsewhere, where credentials are not to follow: "
                    "name the address that answers itself"
                )
        if status == 422:
            message = f"the server does not understand the request (422){quoted}"
            return RequestRefused(message, status=status, content=content)
        return refused

    def _is_of_all(self, said: str) -> bool:
        words = self._conventions.of_all_questions
        return words is not None and not self.has_answered and words.search(said) is not None

    def _unusable(self, message: str) -> SystemUnusable:
        return SystemLost(message) if self.has_answered else SystemUnusable(message)

    def _refused(self, status: int, quoted: str) -> str:
        if not self._authenticates:
            return f"{self.address.shown} asks for credentials ({status}{quoted}): give {self._conventions.credentials}"
        if self.has_answered:
            return (
                f"{self.address.shown} no longer accepts the credentials ({status}{quoted}): "
                "give fresh ones, the same command goes on from there"
            )
        return f"{self.address.shown} refuses the credentials ({status}{quoted}): check user and password, or the token"


def _is_of_question(response: httpx.Response, content: bytes, said: str) -> bool:
    """Whether a refusal is about the question: JSON with a reason that concerns neither address nor credentials."""
    if "WWW-Authenticate" in response.headers or _NOT_OF_A_QUESTION.fullmatch(said):
        return False
    try:
        return isinstance(json.loads(content), dict)
    except (ValueError, RecursionError):
        return False


def parse_json(content: bytes, content_type: str) -> Any:  # noqa: ARG001 - as all of its kind
    """Parse JSON, whatever the content type. Raises QuestionFailed for a body without JSON or with too many values."""
    if sum(map(content.count, (b",", b"[", b"{"))) > _MAX_VALUES:
        raise QuestionFailed(f"the answer holds more than {_MAX_VALUES:,} values")
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise QuestionFailed(
            f"the answer is no JSON: it holds {len(content)} bytes and begins "
            f'"{first_line(content[:200].decode("utf-8", "replace"))}"'
        ) from None


class _Masking(logging.Filter):
    def __init__(self, scrub: Callable[[str], str]) -> None:
        super().__init__()
        self._scrub = scrub

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self._scrub(record.getMessage()), None
        return True


def _token_headers(token: Secret | None, name: str) -> dict[str, str]:
    if token is None:
        return {}
    return {name: f"Bearer {token.reveal()}" if name == "Authorization" else token.reveal()}


def _timeouts() -> type[Exception]:
    import httpx

    return httpx.TimeoutException


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
    texts += [secret.reveal() for secret in address.query_secrets]
    texts += [form for text in texts for form in (quote(text, safe=""), json.dumps(text)[1:-1])]
    texts.append(b64encode(f"{user or ''}:{password.reveal()}".encode()).decode())
    return tuple(Secret(text) for text in dict.fromkeys(texts) if text)
