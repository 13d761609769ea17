"""Live systems by URL."""

from __future__ import annotations

from collections.abc import Mapping

from assay import registry
from assay.api.public import public
from assay.model import Secret
from assay.ports import System
from assay.systems.options import SystemOptions


@public
def open_system(
    url: str,
    *,
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 120.0,
    retries: int = 3,
    parameters: Mapping[str, str] | None = None,
    verify_ssl: bool = True,
    body_template: str | None = None,
    query_path: str | None = None,
    tokens_path: str | None = None,
    times_path: str | None = None,
    decision_path: str | None = None,
    confidence_path: str | None = None,
    context_path: str | None = None,
    prompt: str | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
) -> System:
    """Open a live system, to be given to `evaluate` in place of predictions.

    ``denodo:http://host:8008/answerDataQuestion``, ``http:https://host/ask``, ``chat:MODEL``,
    ``command:./ask.sh`` or ``python:module:function``; `assay docs live-systems` explains the options. Raises
    InputError for a URL that names no such system, or options that do not go together.
    """
    options = SystemOptions(
        user=user,
        password=None if password is None else Secret(password),
        token=None if token is None else Secret(token),
        headers=tuple((name, Secret(value)) for name, value in (headers or {}).items()),
        timeout_s=timeout_s,
        retries=retries,
        parameters=tuple((parameters or {}).items()),
        verify_ssl=verify_ssl,
        body_template=body_template,
        query_path=query_path,
        tokens_path=tokens_path,
        times_path=times_path,
        decision_path=decision_path,
        confidence_path=confidence_path,
        context_path=context_path,
        prompt=prompt,
        price_in=price_in,
        price_out=price_out,
    )
    return registry.open_system(url, options)
