"""The options for asking a live system."""

from __future__ import annotations

from msgspec import Struct

from assay.errors import InputError
from assay.model import Secret, TokenUsage
from assay.model.databases.secret import check_headers
from assay.platform.surface import argument

_MOST_PRICE = 1_000_000


class SystemOptions(Struct, frozen=True, kw_only=True):
    """Options of all kinds of systems besides their URL. Each kind reads those that apply to it.

    Safe to print: the secrets mask themselves. Raises InputError for impossible values.
    """

    user: str | None = None
    password: Secret | None = None
    """With ``user``: HTTP Basic. A user without a password has an empty one."""
    token: Secret | None = None
    """Sent as ``Authorization: Bearer``; not together with a user."""
    headers: tuple[tuple[str, Secret], ...] = ()
    """HTTP headers of each request, for example for a gateway before the system. Their values are secrets."""
    timeout_s: float = 120.0
    """Time limit per attempt at a question, from sending it to the last byte of the answer. Also limits how long,
    including retries, to wait for a server that accepts no connection."""
    retries: int = 3
    """Retries after a transient error. Wrong answers are not retried."""
    retry_wait_s: float = 0.5
    """The wait before the first retry; it doubles from one retry to the next, with jitter."""
    max_wait_s: float = 30.0
    """The longest wait before one retry, even if a server's Retry-After asks for more."""
    parameters: tuple[tuple[str, str], ...] = ()
    """Extra fields of the request body, in order. A value that is JSON (``5``, ``false``, ``["a"]``)
    is sent as such, any other as text."""
    verify_ssl: bool = True
    body_template: str | None = None
    """``http``: the request body as JSON text whose strings may contain ``{question}``, ``{context}``,
    ``{database}``, ``{id}`` and, of a conversation, ``{history}``, ``{conversation}`` and ``{turn}``. None:
    ``{"question": "{question}"}``, in a conversation with ``history``."""
    query_path: str | None = None
    """``http``: the path of the query in the answer, for example ``data.choices.0.sql``. None: the first of the usual
    names at the top level."""
    tokens_path: str | None = None
    """``http``: the path of the token counts: an object of counts, or their total."""
    times_path: str | None = None
    """``http``: the path of the times, in seconds: an object of numbers by name, or one number."""
    decision_path: str | None = None
    """``http``: the path of the system's decision: ``answer``, ``decline`` or ``clarify``, or true: it declines."""
    confidence_path: str | None = None
    """``http``: the path of its confidence, from 0 to 1."""
    context_path: str | None = None
    """``http``: the path of the tables, optionally with columns, that the system got before it wrote the query."""
    prompt: str | None = None
    """``chat``: the template for asking for SQL: a built-in one's name, or a file's path. None: ``ddl``."""
    query_tool: str | None = None
    """``chat``: the name of the tool whose SQL argument is the query, if the model calls a tool. None: any tool named
    like one that executes queries, for example ``run_sql`` or ``query``."""
    price_in: float | None = None
    """US dollars per million input tokens; with ``price_out`` it gives the cost of each answer with token counts."""
    price_out: float | None = None
    """US dollars per million output tokens."""

    def __post_init__(self) -> None:
        if self.user is not None and self.token is not None:
            raise InputError(
                "give a user with a password, or a token, not both: a request has one Authorization header"
            )
        if self.password is not None and self.user is None:
            raise InputError("a password is given without a user: add the user")
        if self.token is not None and not (self.token.reveal().isascii() and self.token.reveal().isprintable()):
            raise InputError("the token has characters that are invalid in an HTTP header: was it copied correctly?")
        check_headers(self.headers, authenticates=self.user is not None or self.token is not None)
        if not self.timeout_s > 0:
            raise InputError(f"invalid timeout of {self.timeout_s:g} s: use a positive number")
        if (self.price_in is None) is not (self.price_out is None):
            missing = "price_in" if self.price_in is None else "price_out"
            both = f"{argument('--price-in')}, {argument('--price-out')}"
            raise InputError(f"{missing} is missing: give the prices of input and of output ({both})")
        for price in (self.price_in, self.price_out):
            if price is not None and not 0 <= price <= _MOST_PRICE:
                raise InputError(f"invalid price of {price:g} USD per million tokens: use 0 to {_MOST_PRICE:,}")
        if self.retries < 0:
            raise InputError(f"invalid number of retries {self.retries}: use 0 or more")
        if self.retry_wait_s < 0 or self.max_wait_s < 0:
            raise InputError("the wait before a retry is negative: use 0 s or more")

    @property
    def has_prices(self) -> bool:
        """Whether the cost of answers can be computed."""
        return self.price_in is not None and self.price_out is not None

    def cost_usd(self, tokens: TokenUsage | None) -> float | None:
        """The cost of these tokens in US dollars; None without prices, or if a count is missing."""
        if self.price_in is None or self.price_out is None or tokens is None:
            return None
        given, output = tokens.input, tokens.output
        if output is None and given is not None and tokens.total is not None:
            output = max(0, tokens.total - given)
        if given is None and output is not None and tokens.total is not None:
            given = max(0, tokens.total - output)
        if given is None or output is None:
            return None
        return (given * self.price_in + output * self.price_out) / 1_000_000
