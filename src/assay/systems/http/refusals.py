"""How servers refuse requests: what a status and its body mean, and the settings in which protocols differ."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.systems.predictions import QuestionFailed

if TYPE_CHECKING:
    import httpx

OWN_FAILURE = 500
"""The service itself failed at the question, for example at a limit of its model. That may pass."""
_PASSING = frozenset({408, 425, 429, OWN_FAILURE, 502, 503, 504, *range(520, 528), 529, 530, 598, 599})
"""Overloaded, slow or away: the service, or a gateway before it, which may use its own statuses from 520 on."""
_NOT_OF_A_QUESTION = re.compile(
    r"(\W|\d)*(not found|page not found|method not allowed|unauthori[sz]ed|forbidden|access denied)?\W*"
    r"|.*requested url.*|(no|unknown)( such)? (route|path|endpoint)\b.*"
    r"|.*(credential|authenti|unauthori|password|token|api.?key|log ?in\b|sign ?in\b|expired).*",
    re.IGNORECASE,
)
"""Words about the address or the credentials, which servers use whatever the question."""


NOT_FOUND = 404
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
    """Not even a connection to the server could be made. Not raised outside this package."""


class TooSlow(QuestionFailed):
    """The answer was not whole within the time limit. Not raised outside this package."""


class Conventions(Struct, frozen=True, kw_only=True):
    """The settings in which protocols differ."""

    token_header: str = "Authorization"
    """The header for a token: after ``Bearer`` in this one, and unchanged in any other."""
    passing: frozenset[int] = _PASSING
    """The statuses after which the request is sent again."""
    not_found: str = "nothing takes questions there; check the path of the URL (--system)"
    """The hint for a first answer of 404, 405, 410, 415 or 501."""
    address_option: str = "--system"
    """The option that gives the address."""
    credentials: str = "a user and password (--user, --password), or a token (--token)"
    """Which credentials to give to a server that asks for them."""
    fields: str = "check the fields of the request (--request-template, --param)"
    """The hint for a first answer of 400 or 422, if the user gave fields."""
    fields_missing: str = "give the fields that it expects (--request-template, --param)"
    """The hint for a first answer of 400 or 422, if the user gave none."""
    of_question: Callable[[int, bytes], bool | None] | None = None
    """Whether a refusal is about the question, by status and body; None: the general rule decides."""
    of_all_questions: re.Pattern[str] | None = None
    """Further words of a 401, 403 or 404 that hold for every question, from a server that has not answered any yet."""


def is_of_question(response: httpx.Response, content: bytes, said: str) -> bool:
    """Whether a refusal is about the question: JSON with a reason that concerns neither address nor credentials."""
    if "WWW-Authenticate" in response.headers or _NOT_OF_A_QUESTION.fullmatch(said):
        return False
    try:
        return isinstance(json.loads(content), dict)
    except (ValueError, RecursionError):
        return False
