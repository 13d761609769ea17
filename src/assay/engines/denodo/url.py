"""Read a ``denodo+http`` URL: the address at which queries are executed, and the user."""

from __future__ import annotations

from difflib import get_close_matches
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct

from assay.engines.denodo.config import EXECUTE_PATH, parse_server_id, parse_switch
from assay.engines.url_parts import check_once
from assay.errors import DatabaseError, InputError
from assay.model import DatabaseUrl, Secret
from assay.model.databases.secret import check_headers, masked, secret_forms

FORM = "denodo+http://[user:password@]host:9090/denodo-data-catalog[?serverId=1&verify=1&execution=/path&header=NAME:VALUE]"
_OPTIONS = ("serverId", "verify", "execution", "rows", "header")
_PORT = {"http": 9090, "https": 443}


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where VQL is executed over HTTP, and as which user. Its repr shows no secret."""

    execution_url: str
    """Without credentials and without the server id."""
    server_id: int = 1
    verify: bool = True
    """Whether the server's certificate must be valid."""
    user: str | None = None
    password: Secret | None = None
    rows: int | None = None
    """The most rows to ask for, as Denodo's own evaluator asks for 100. If set, a cut result is not a failure."""
    token: Secret | None = None
    """Bearer token of the requests, if given; user and password are then None."""
    headers: tuple[tuple[str, Secret], ...] = ()
    """HTTP headers of each request, for example for a gateway."""

    def scrubbed(self, text: str) -> str:
        """The text without the password or token, in case the server repeats it in any form."""
        held = (self.password, self.token, *(value for _, value in self.headers))
        secrets = [secret.reveal() for secret in held if secret is not None]
        return masked(text, secret_forms(*secrets, user=self.user))


def read_endpoint(url: DatabaseUrl) -> Endpoint:
    """Read the URL. Raises DatabaseError, without any credentials, for any other text.

    User and password are percent-decoded. A password without a user, ``//:TOKEN@host``, is a bearer token.
    ``execution`` is a path on the same host, or a whole address, instead of the usual path below the URL's own. The
    default port is Denodo's 9090, for https 443.
    """
    text = url.reveal()
    authority = text.partition("://")[2].split("/", 1)[0]
    try:
        split = urlsplit(text.removeprefix("denodo+").removeprefix("DENODO+"))
        host, port = split.hostname, split.port
    except ValueError as error:
        reason = str(error) if "@" not in authority else "its host or port cannot be read"
        raise DatabaseError(f"a {url.scheme} URL cannot be read: {reason}; its form is {FORM}") from None
    if not host:
        raise DatabaseError(f"{url} names no host: its form is {FORM}")
    options = _options(url, split.query)
    shown_host = f"[{host}]" if ":" in host else host
    origin = f"{split.scheme}://{shown_host}:{port or _PORT.get(split.scheme, 9090)}"
    execution = options.get("execution", split.path.rstrip("/") + EXECUTE_PATH)
    if "@" in execution:
        raise DatabaseError(f"a {url.scheme} URL has '@' in execution=: user and password belong before the host")
    if not execution.startswith(("http://", "https://")):
        execution = f"{origin}/{execution.lstrip('/')}"
    user, password = split.username, split.password
    try:
        server_id = parse_server_id(options.get("serverId", "1"), f"{url}: serverId")
        verify = parse_switch(options.get("verify", "1"), f"{url}: verify")
        rows = _rows(options["rows"], f"{url}: rows") if "rows" in options else None
        given = parse_qsl(split.query, keep_blank_values=True)
        parts = [value.partition(":") for name, value in given if name == "header"]
        headers = tuple((name.strip(), Secret(value.strip())) for name, _, value in parts)
        check_headers(headers, authenticates=password is not None)
    except InputError as error:
        raise DatabaseError(str(error)) from None
    secret = Secret(unquote(password)) if password is not None else None
    bearer = not user and secret is not None
    return Endpoint(
        execution_url=execution,
        server_id=server_id,
        verify=verify,
        rows=rows,
        user=unquote(user) if user else None,
        password=None if bearer else secret,
        token=secret if bearer else None,
        headers=headers,
    )


def _rows(value: str, what: str) -> int:
    if not (value.isascii() and value.isdigit() and int(value[:10]) > 0) or len(value) > 9:
        raise InputError(f"{what} is {value!r}: write how many rows to ask for, for example 100")
    return int(value)


def _options(url: DatabaseUrl, query: str) -> dict[str, str]:
    pairs = parse_qsl(query, keep_blank_values=True)
    options = dict(pairs)
    for name in options:
        if name not in _OPTIONS:
            close = get_close_matches(name, _OPTIONS, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            # The message omits the URL: an unknown option may be a misplaced secret.
            raise DatabaseError(
                f"a {url.scheme} URL has no option {name!r}{hint}: the options are {', '.join(_OPTIONS)}; its "
                f"form is {FORM}"
            )
    check_once(url, [pair for pair in pairs if pair[0] != "header"])
    return options
