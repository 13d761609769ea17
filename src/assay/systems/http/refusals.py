"""How servers refuse requests: what a status and its body mean, and the settings in which protocols differ."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from assay.errors import SystemLost, SystemUnusable
from assay.model.databases.secret import shown_location
from assay.platform.surface import argument, on_command_line
from assay.systems.address import Address
from assay.systems.http.complaint import complaint_of, retry_after_s
from assay.systems.options import SystemOptions
from assay.systems.predictions import QuestionFailed, first_line
from assay.systems.retrying import TryAgain

if TYPE_CHECKING:
    import httpx

OWN_FAILURE = 500
"""The service itself failed at the question, for example at a limit of its model. May be transient."""
_PASSING = frozenset({408, 425, 429, OWN_FAILURE, 502, 503, 504, *range(520, 528), 529, 530, 598, 599})
"""Overloaded, slow or unavailable: the service, or a gateway before it, which may use its own statuses from 520 on."""
_NOT_OF_A_QUESTION = re.compile(
    r"(\W|\d)*(not found|page not found|method not allowed|unauthori[sz]ed|forbidden|access denied)?\W*"
    r"|.*requested url.*|(no|unknown)( such)? (route|path|endpoint)\b.*"
    r"|.*(credential|authenti|unauthori|password|token|api.?key|log ?in\b|sign ?in\b|expired).*",
    re.IGNORECASE,
)
"""Words about the address or the credentials, which servers use for any question."""


NOT_FOUND = 404
PART = 206
"""Only part of the requested data, though no part was requested: some services truncate long answers so."""
_MOST_QUOTED = 120
"""Characters of a server's reason before a hint."""
OF_THE_ADDRESS = frozenset({405, 410, 415, 501})
"""Refusals of a way of asking, whatever their body says: another question would be refused, too."""


class RequestRefused(QuestionFailed):
    """The server answered with a status that no retry would change. Not raised outside this package."""

    def __init__(self, message: str, *, status: int, content: bytes) -> None:
        self.status = status
        self.content = content
        """The response's body as it came, not scrubbed."""
        super().__init__(message, code=f"HTTP {status}", rejected=True)


class NobodyThere(QuestionFailed):
    """The connection to the server failed. Not raised outside this package."""


class TooSlow(QuestionFailed):
    """The answer was not complete within the time limit. Not raised outside this package."""


def _address() -> str:
    return "--system" if on_command_line() else "url"


def _fields() -> str:
    return f"{argument('--request-template')}, {argument('--param')}"


def header_example() -> str:
    """An option of a header with credentials, to copy."""
    return "--header 'X-Api-Key=KEY'" if on_command_line() else "headers={'X-Api-Key': 'KEY'}"


class Conventions(Struct, frozen=True, kw_only=True):
    """The settings in which protocols differ."""

    token_header: str = "Authorization"
    """The header for a token: after ``Bearer`` in this one, unchanged in any other."""
    passing: frozenset[int] = _PASSING
    """The statuses after which the request is sent again."""
    not_found: str = field(
        default_factory=lambda: f"this path does not take questions; check the path of the URL ({_address()})"
    )
    """The hint for a first answer of 404, 405, 410, 415 or 501."""
    address_option: str = field(default_factory=_address)
    """The option that gives the address."""
    credentials: str = field(
        default_factory=lambda: (
            f"a user and password ({argument('--user')}, {argument('--password')}), a token ({argument('--token')}), "
            f"or the header that the server expects ({header_example()})"
        )
    )
    """The credentials to give to a server that asks for them."""
    fields: str = field(default_factory=lambda: f"check the fields of the request ({_fields()})")
    """The hint for a first answer of 400 or 422, if the user gave fields."""
    fields_missing: str = field(default_factory=lambda: f"add the fields that it expects ({_fields()})")
    """The hint for a first answer of 400 or 422, if the user gave none."""
    of_question: Callable[[int, bytes], bool | None] | None = None
    """Whether a refusal is about the question, by status and body; None: the general rule decides."""
    of_all_questions: re.Pattern[str] | None = None
    """Further words in a 401, 403 or 404 that apply to every question, for a server that has not answered any yet."""


class Refusals:
    """The meaning of a response without an answer, and what to do about it.

    A refusal is about one question, about all questions (the address, the credentials, the fields), or transient. A
    server that has answered a question has the right address and credentials: from then on fewer
    refusals are about all questions.
    """

    def __init__(
        self,
        address: Address,
        options: SystemOptions,
        conventions: Conventions,
        *,
        authenticates: bool,
        scrub: Callable[[str], str],
    ) -> None:
        """``scrub`` masks Assay's secrets in the server's messages."""
        self._address = address
        self._options = options
        self._conventions = conventions
        self._authenticates = authenticates
        self._scrub = scrub
        self.has_answered: bool = False
        """Whether the server has answered a question."""

    def given_up(self, error: TryAgain, *, is_question: bool) -> Exception:
        """The error after the last retry: a missing server affects all questions, anything else this one."""
        if error.nobody_there and is_question:
            if self.has_answered:
                return SystemLost(
                    f"{self._address.shown} answered before but now accepts no connection ({error}): "
                    "is it still running?"
                )
            return SystemUnusable(
                f"{self._address.shown} does not respond ({error}): check that the server runs, and "
                "that host and port are right"
            )
        times = self._options.retries + 1
        tries = f" ({times} tries)" if times > 1 else ""
        kind = NobodyThere if error.nobody_there else QuestionFailed
        return kind(f"{error}{tries}", reached=error.reached, code=error.code)

    def of(self, response: httpx.Response, content: bytes, *, is_question: bool) -> Exception:
        """The exception for a response without an answer, whose body is ``content``."""
        status, conventions = response.status_code, self._conventions
        said = first_line(self._scrub(complaint_of(content)))
        if status == PART:
            said = "only part of the requested data"
        elif response.is_redirect and not is_question:
            to = first_line(self._scrub(shown_location(str(response.headers.get("Location", "")))))
            said = f"it redirects to {to}, which must not get the credentials: use the final address"
        quoted = f": {said}" if said else ""
        refused = RequestRefused(f"the server answers {status}{quoted}", status=status, content=content)
        if status in conventions.passing:
            if status == 429 and b'"insufficient_quota"' in content:
                return SystemUnusable(
                    f"{self._address.shown} answers {status}{quoted}: waiting does not help; check the quota"
                )
            wait_s = retry_after_s(response.headers.get("Retry-After"))
            reached = status == OWN_FAILURE
            return TryAgain(
                f"the server answers {status}{quoted}", wait_s=wait_s, reached=reached, code=f"HTTP {status}"
            )
        if not is_question:
            return refused
        of_question = None if conventions.of_question is None else conventions.of_question(status, content)
        if of_question is None:
            words = conventions.of_all_questions
            of_all = words is not None and not self.has_answered and words.search(said) is not None
            of_question = not of_all and _is_of_question(response, content, said)
        if status in (401, 403) and not of_question:
            return self._of_credentials(f"({status}{quoted})")
        # A server that has answered was at the right address: the caller finds out if this is about one question.
        if not self.has_answered:
            if response.is_redirect:
                return SystemUnusable(
                    f"{self._address.shown} answers {status} and redirects elsewhere; "
                    "credentials must not be sent there: use the final address "
                    f"({conventions.address_option})"
                )
            if status in OF_THE_ADDRESS or (status == NOT_FOUND and not of_question):
                return SystemUnusable(f"{self._address.shown} answers {status}{quoted}: {conventions.not_found}")
        if status != 422 and (self.has_answered or status not in (400, 401, 403)):
            return refused
        # The fields that the server does not understand may be the user's, or missing.
        gave_fields = self._options.parameters or self._options.body_template is not None
        hint = conventions.fields if gave_fields else conventions.fields_missing
        if status in (401, 403):
            hint = f"if every question fails so, give {conventions.credentials} with more rights"
        what = "does not understand the request (422)" if status == 422 else f"answers {status}"
        short = f": {said[:_MOST_QUOTED]}" if said else ""  # a longer message would truncate the hint after it
        end = "" if self.has_answered else f"; {hint}"
        return RequestRefused(f"the server {what}{short}{end}", status=status, content=content)

    def _of_credentials(self, quoted: str) -> SystemUnusable:
        shown, wanted = self._address.shown, self._conventions.credentials
        kind = SystemLost if self.has_answered else SystemUnusable
        if not self._authenticates:
            return kind(f"{shown} asks for credentials {quoted}: give {wanted}")
        if self.has_answered:
            return kind(
                f"{shown} no longer accepts the credentials {quoted}: give new ones; the same command resumes the run"
            )
        return kind(f"{shown} refuses the credentials {quoted}: give {wanted} that it accepts")


def _is_of_question(response: httpx.Response, content: bytes, said: str) -> bool:
    """Whether a refusal is about the question: JSON with a reason that concerns neither address nor credentials."""
    if "WWW-Authenticate" in response.headers or _NOT_OF_A_QUESTION.fullmatch(said):
        return False
    try:
        return isinstance(json.loads(content), dict)
    except (ValueError, RecursionError):
        return False
