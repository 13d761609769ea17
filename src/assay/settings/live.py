"""The settings of how a live system is asked."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

from msgspec import Struct

from assay.errors import UsageError
from assay.model.databases.secret import MASK
from assay.settings.setting import LIVE, MOST_SECONDS, Setting


class LiveSettings(Struct, frozen=True, kw_only=True):
    """How a live system is asked. None: the default of `assay.systems.options.SystemOptions`."""

    system: Annotated[
        str | None,
        Setting(
            "--system",
            LIVE,
            "Live system: http:, chat:, command:, python:, denodo:",
            "URL",
            example="chat:gpt-4.1",
        ),
    ] = None
    user: Annotated[
        str | None, Setting("--user", LIVE, "User of the live system or Denodo. Prefer ASSAY_USER.", "NAME")
    ] = None
    concurrency: Annotated[
        int | None,
        Setting("--concurrency", LIVE, "Questions asked at once. [default: 4]", "N", least=1, most=1024, example="4"),
    ] = None
    repeat: Annotated[
        int | None,
        Setting(
            "--repeat",
            LIVE,
            "Ask each question N times and report consistency.",
            "N",
            least=1,
            most=1000,
            example="5",
        ),
    ] = None
    param: Annotated[
        tuple[str, ...] | dict[str, Any] | None,
        Setting(
            "--param",
            LIVE,
            "Field of each request, e.g. model=gpt-4.1. Can be repeated.",
            "NAME=VALUE",
            old=("params",),
            example="{model: gpt-4.1}",
            meaning="Fields of each request, for example `{model: gpt-4.1}`, or a list of `NAME=VALUE`.",
        ),
    ] = None
    headers: Annotated[
        tuple[str, ...] | dict[str, str | int] | None,
        Setting(
            "--header",
            LIVE,
            "HTTP header of each request, masked in all output. Can be repeated.",
            "NAME=VALUE",
            example="{X-Api-Key: '${GATEWAY_KEY}'}",
            meaning=(
                "HTTP headers, for example `{X-Api-Key: '${GATEWAY_KEY}'}`, or a list of `NAME=VALUE`; "
                "`${NAME}` is taken from the environment."
            ),
        ),
    ] = None
    system_timeout_s: Annotated[
        float | None,
        Setting(
            "--system-timeout",
            LIVE,
            "Time limit per question. [default: 120]",
            "TIME",
            old=("--ask-timeout", "ask_timeout_s", "ask_timeout", "system_timeout"),
            least=0.01,
            most=MOST_SECONDS,
            example="120",
        ),
    ] = None
    retries: Annotated[
        int | None,
        Setting(
            "--retries", LIVE, "Retries after a transient error. [default: 3]", "N", least=0, most=1000, example="3"
        ),
    ] = None
    verify_ssl: Annotated[
        bool | None,
        Setting(
            "--verify-ssl/--no-verify-ssl",
            LIVE,
            "Verify the server's certificate. [default: verify-ssl]",
            meaning="Verify the server's certificate. Default: true.",
        ),
    ] = None
    prompt: Annotated[
        str | None,
        Setting(
            "--prompt",
            LIVE,
            "Prompt for chat: ddl, ddl-or-null, llmsql-0, -1, -5 or a file. [default: ddl]",
            "NAME|FILE",
            example="ddl",
        ),
    ] = None
    query_tool: Annotated[
        str | None,
        Setting(
            "--query-tool",
            LIVE,
            "Tool of a chat model that executes queries. Default: names like run_sql.",
            "NAME",
            example="run_sql",
        ),
    ] = None
    request_template: Annotated[
        str | dict[str, Any] | None,
        Setting(
            "--request-template",
            LIVE,
            "Request body for http, with {question}, {context}, {database}.",
            "JSON",
            old=("--body", "body"),
            example='{ask: "{question}"}',
        ),
    ] = None
    query_path: Annotated[
        str | None,
        Setting(
            "--query-path", LIVE, "Location of the query in a response, e.g. data.sql.", "PATH", example="data.sql"
        ),
    ] = None
    tokens_path: Annotated[
        str | None,
        Setting("--tokens-path", LIVE, "Location of the token counts in a response.", "PATH", example="usage"),
    ] = None
    times_path: Annotated[
        str | None, Setting("--times-path", LIVE, "Location of the times in a response.", "PATH", example="times")
    ] = None
    decision_path: Annotated[
        str | None,
        Setting(
            "--decision-path",
            LIVE,
            "Location of the decision in a response: answer, decline, clarify.",
            "PATH",
            example="decision",
        ),
    ] = None
    confidence_path: Annotated[
        str | None,
        Setting(
            "--confidence-path",
            LIVE,
            "Location of the confidence in a response, from 0 to 1.",
            "PATH",
            example="confidence",
        ),
    ] = None
    context_path: Annotated[
        str | None,
        Setting(
            "--context-path",
            LIVE,
            "Location in a response of the tables that the system was given.",
            "PATH",
            example="context",
        ),
    ] = None
    price_in: Annotated[
        float | None, Setting("--price-in", LIVE, "Price of a million input tokens.", "USD", least=0, example="2.5")
    ] = None
    price_out: Annotated[
        float | None, Setting("--price-out", LIVE, "Price of a million output tokens.", "USD", least=0, example="10")
    ] = None

    def parameters(self) -> tuple[tuple[str, str], ...]:
        """The fields of each request as pairs, each value a text that is read as JSON if it can be.

        Raises UsageError for a text that is not ``NAME=VALUE``, and for a name that is blank or given twice.
        """
        if isinstance(self.param, dict):
            pairs = [(name.strip(), _as_read(value)) for name, value in self.param.items()]
        else:
            pairs = []
            for text in self.param or ():
                name, equals, value = text.partition("=")
                if not equals:
                    raise UsageError(f"--param {_before_value(text)} is not a pair: write --param name=value")
                pairs.append((name.strip(), value))
        names = [name for name, _ in pairs]
        if "" in names:
            raise UsageError("--param has a value without a name: write --param name=value")
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise UsageError(f"--param {twice[0]} is given twice: give it once")
        return tuple(pairs)

    def header_texts(self) -> dict[str | int, str]:
        """The HTTP headers as ``NAME=VALUE``, each by its name or position in the setting.

        Raises UsageError for a name that such a text cannot have.
        """
        if isinstance(self.headers, dict):
            if any({"=", ":"} & set(name) for name in self.headers):
                raise UsageError("a header's name has a colon or an equals sign: write  headers: {X-Api-Key: abc}")
            return {name: f"{name}={value}" for name, value in self.headers.items()}
        return dict(enumerate(self.headers or ()))

    def body_template(self) -> str | None:
        """The request's body as JSON text."""
        return None if self.request_template is None else _json(self.request_template)


def _json(value: Any) -> str:
    return value if isinstance(value, str) else _dumped(value)


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise UsageError("a number is infinite or not a number, and JSON has no such numbers") from None


def _as_read(value: Any) -> str:
    """The text that is read as this value: a text that looks like JSON, e.g. ``"5"``, stays a text."""
    from assay.systems.http.extras import parameter_value

    return value if isinstance(value, str) and parameter_value(value) is value else _dumped(value)


def _before_value(text: str) -> str:
    """The name at the beginning of a text that is not a pair. The rest may be a secret."""
    name = re.match(r"[A-Za-z_][\w.-]*(?=[:\s])", text)
    return MASK if name is None else f"{name[0]}{MASK}"
