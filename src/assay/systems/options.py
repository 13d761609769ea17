"""The options for asking a live system."""

from __future__ import annotations

from math import inf

from msgspec import Struct

from assay.errors import InputError
from assay.model import Secret


class SystemOptions(Struct, frozen=True, kw_only=True):
    """Options of all kinds of systems besides their URL. Each kind reads those that concern it.

    Safe to print: the secrets mask themselves. Raises InputError for impossible values.
    """

    user: str | None = None
    password: Secret | None = None
    """With ``user``: HTTP Basic. A user without a password has an empty one."""
    token: Secret | None = None
    """Sent as ``Authorization: Bearer``; not together with a user."""
    timeout_s: float = 120.0
    """For one try of one question, from sending it to the last byte of the answer. Also limits how long, including
    retries, to wait for a server that accepts no connection."""
    retries: int = 3
    """How often a question is asked again after trouble that may pass. Wrong answers are not asked again."""
    retry_wait_s: float = 0.5
    """The wait before the first retry; it doubles from one retry to the next, with jitter."""
    max_wait_s: float = 30.0
    """The longest wait before one retry, even where a server's Retry-After asks for more."""
    parameters: tuple[tuple[str, str], ...] = ()
    """Extra fields of the request body, in order. A value that is JSON (``5``, ``false``, ``["a"]``)
    is sent as such, any other as text."""
    verify_ssl: bool = True
    body_template: str | None = None
    """``http``: the request body as JSON text whose strings may hold ``{question}``, ``{context}``,
    ``{database}``, ``{id}`` and, of a conversation, ``{history}``, ``{conversation}`` and ``{turn}``. None:
    ``{"question": "{question}"}``, in a conversation with ``history``."""
    query_path: str | None = None
    """``http``: the path of the query in the answer, such as ``data.choices.0.sql``. None: the first of the usual names
    at the top level."""
    tokens_path: str | None = None
    """``http``: the path of the token counts: an object of counts, or their total."""
    times_path: str | None = None
    """``http``: the path of the times, in seconds: an object of numbers by name, or one number."""
    decision_path: str | None = None
    """``http``: the path of what the system decided: ``answer``, ``decline`` or ``clarify``, or true: it declines."""
    confidence_path: str | None = None
    """``http``: the path of how sure it is, from 0 to 1."""
    prompt: str | None = None
    """``chat``: the template for asking for SQL: a built-in one's name, or a file's path. None: ``ddl``."""
    price_in: float | None = None
    """``chat``: US dollars for a million tokens of input; with ``price_out`` it gives each answer's cost."""
    price_out: float | None = None
    """``chat``: US dollars for a million tokens of output."""

    def __post_init__(self) -> None:
        if self.user is not None and self.token is not None:
            raise InputError("give a user with a password or a token, not both: a request carries one Authorization")
        if self.password is not None and self.user is None:
            raise InputError("a password was given without a user: give the user, too")
        if self.token is not None and not (self.token.reveal().isascii() and self.token.reveal().isprintable()):
            raise InputError("the token holds characters that no HTTP header can carry: was it copied whole?")
        if not self.timeout_s > 0:
            raise InputError(f"a timeout of {self.timeout_s:g} s leaves no time to answer: give a positive number")
        if (self.price_in is None) is not (self.price_out is None):
            raise InputError("the price of input or of output tokens is missing: give both, or neither")
        for price in (self.price_in, self.price_out):
            if price is not None and not 0 <= price < inf:
                raise InputError(f"a price of {price:g} USD for a million tokens is none: give a number from 0 up")
        if self.retries < 0:
            raise InputError(f"{self.retries} retries cannot be made: give 0 or more")
        if self.retry_wait_s < 0 or self.max_wait_s < 0:
            raise InputError("a wait before a retry cannot be negative: give 0 s or more")
