"""How a live system and its database are reached: the options that several verbs share, and where secrets come from."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from assay.errors import UsageError
from assay.model import Secret
from assay.systems.options import SystemOptions

USER_VARIABLE, PASSWORD_VARIABLE, TOKEN_VARIABLE = "ASSAY_USER", "ASSAY_PASSWORD", "ASSAY_TOKEN"


def credentials(
    user: str | None, password: str | None, token: str | None
) -> tuple[str | None, Secret | None, Secret | None]:
    """User, password and token from flags, else the environment; a terminal is asked for a password that lacks."""
    token = token or os.environ.get(TOKEN_VARIABLE) or None
    if token is not None:
        return None, None, Secret(token)
    user = user or os.environ.get(USER_VARIABLE) or None
    if user is None:
        return None, None, None
    password = password if password is not None else os.environ.get(PASSWORD_VARIABLE)
    if password is None and sys.stdin.isatty():
        import typer

        password = typer.prompt(f"Password of {user}", hide_input=True, err=True)
    return user, Secret(password or ""), None


def parameters(given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """``name=value`` pairs. Raises UsageError for one without an equals sign."""
    pairs: list[tuple[str, str]] = []
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--param {one!r} is no pair: write --param name=value")
        pairs.append((name.strip(), value))
    return tuple(pairs)


def system_options(  # one parameter an option
    *,
    user: str | None,
    password: str | None,
    token: str | None,
    timeout_s: float | None,
    retries: int | None,
    params: Sequence[str],
    verify_ssl: bool,
    body: str | None = None,
    query_path: str | None = None,
    tokens_path: str | None = None,
    times_path: str | None = None,
) -> SystemOptions:
    """The options of a system from those of the command line."""
    name, secret, bearer = credentials(user, password, token)
    default = SystemOptions()
    return SystemOptions(
        user=name,
        password=secret,
        token=bearer,
        timeout_s=default.timeout_s if timeout_s is None else timeout_s,
        retries=default.retries if retries is None else retries,
        parameters=parameters(params),
        verify_ssl=verify_ssl,
        body_template=body,
        query_path=query_path,
        tokens_path=tokens_path,
        times_path=times_path,
    )
