"""A model behind an OpenAI-compatible endpoint, or a deployment of DIAL or Azure."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urljoin, urlsplit, urlunsplit

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import InputError, SystemUnusable
from assay.model import Failure, Prediction, Secret
from assay.model.databases.secret import masked_address
from assay.platform.surface import argument, on_command_line, option
from assay.ports import ChatMessage, Completion
from assay.sql.extraction.tool_calls import tool_calls_of
from assay.systems.address import MASK, Address, http_address, is_secret_name, without_scheme
from assay.systems.chat.adapting import Adaptations
from assay.systems.chat.stream import parse_answer
from assay.systems.http.complaint import complaint_of
from assay.systems.http.exchange import Exchange, Reply
from assay.systems.http.extras import parameter_value, text_of, token_usage
from assay.systems.http.refusals import Conventions, RequestRefused, header_example
from assay.systems.options import SystemOptions
from assay.systems.predictions import QuestionFailed, UnknownForm

_PASSING = Conventions().passing | {409}
_OF_THE_ENDPOINT = re.compile(
    r"model|deployment|endpoint|region|country|organi[sz]ation|project|account|billing|permission|access|subscription"
    r"|resource|unknown (?:path|url|request)|invalid url",
    re.IGNORECASE,
)
"""Words of refusals that apply to every question: about the model, or about the permissions of the key's owner."""
_WITH_KEY = (
    "openai.com",
    "openai.azure.com",
    "anthropic.com",
    "openrouter.ai",
    "mistral.ai",
    "groq.com",
    "deepseek.com",
    "together.xyz",
    "googleapis.com",
)
"""Services that refuse every request without a key."""
_MOST_TRIES = 8  # attempts of one request, each without one more feature that the endpoint does not accept
_NO_SUCH_MODEL = re.compile(
    r"not a valid model|model\W.*\b(?:not (?:found|exist)|does not exist|is unknown)", re.IGNORECASE
)


class HttpChatModel:
    """Implements `assay.ports.ChatModel` over HTTP.

    ``options.parameters`` become fields of every request's body; fields given with one call replace them. The parameter
    ``api-version`` goes into the query string.
    """

    def __init__(
        self,
        place: ChatAddress,
        options: SystemOptions,
        *,
        name: str,
        fields: Mapping[str, Any],
        lacks_key: bool = False,
    ) -> None:
        self.name = name
        self._lacks_key = lacks_key
        self._place = place
        self._fields = dict(fields)
        self._adaptations = Adaptations()
        key = "DIAL_API_KEY" if place.is_deployment else "OPENAI_API_KEY"
        conventions = Conventions(
            token_header="Api-Key" if place.is_deployment else "Authorization",
            passing=_PASSING,
            of_all_questions=_OF_THE_ENDPOINT,
            not_found="check the model's name and the path, which ends in /v1 on most servers",
            credentials=f"a token (ASSAY_TOKEN, or {key}), or the header that the server expects ({header_example()})",
            address_option="--system, for a judge --model" if on_command_line() else "url, for a judge model",
            fields=f"check the fields of the request ({argument('--param')})",
            fields_missing="check the model's name and its limits",
        )
        self._exchange = Exchange(place.address, options, conventions)
        self.pricing = self._exchange.pricing

    @classmethod
    def open(cls, url: str, options: SystemOptions) -> HttpChatModel:
        """``chat:MODEL``, ``chat:http://host/v1`` with a parameter ``model``, or ``chat:`` and a deployment's URL.

        Reads ``OPENAI_BASE_URL`` if no address is given, and ``OPENAI_API_KEY`` (for a deployment
        ``DIAL_API_KEY``) if no credentials are given. Raises InputError. Nothing is sent yet.
        """
        fields = {name: parameter_value(value) for name, value in options.parameters}
        version = fields.pop("api-version", None)
        place = chat_address(
            url, os.environ, api_version=None if version is None else dict(options.parameters)["api-version"]
        )
        if "messages" in fields:
            raise InputError("the parameter 'messages' cannot be set: Assay sends the questions as messages")
        name = place.model
        if not place.is_deployment:
            given = fields.pop("model", None)
            if given is not None and name is not None and given != name:
                raise InputError(f"two models are named, {name!r} and {given!r}: omit one of them")
            name = name if given is None else str(given)
            if not name:
                raise InputError(
                    f"{place.address.shown} needs a model: set the parameter model=NAME "
                    f"({option('--param', 'model=NAME' if on_command_line() else {'model': 'NAME'})})"
                )
            fields = {"model": name, **fields}
        if fields.get("stream") is True:
            fields.setdefault("stream_options", {"include_usage": True})
        options = _with_key(options, place)
        return cls(place, options, name=str(name), fields=fields, lacks_key=_lacks_key(options, place))

    @property
    def notes(self) -> tuple[str, ...]:
        """What the endpoint was found not to accept in requests. Not part of `describe`."""
        return self._adaptations.notes

    def check_credentials(self) -> None:
        """Raise SystemUnusable if there is no key for a service that requires one. Sends nothing."""
        if self._lacks_key:
            key = "DIAL_API_KEY" if self._place.is_deployment else "OPENAI_API_KEY"
            raise SystemUnusable(
                f"{self._place.address.shown} needs an API key, and none is set: set the environment variable {key}, "
                f"for example  export {key}=YOUR-KEY"
            )

    def describe(self) -> str:
        """Endpoint, model and parameters, without secrets."""
        fields = (f"{name}={_shown(name, value)}" for name, value in self._fields.items() if name != "stream_options")
        return " ".join([f"{SCHEME}:{self._place.address.shown}", *fields])

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        temperature: float | None = None,
        json_schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
    ) -> Completion | Failure:
        """Ask once. If the endpoint does not support structured output, the schema goes into the system message.

        A prompt that a content filter refused is a Completion with ``finish_reason``
        ``content_filter``. Raises SystemUnusable.
        """
        self.check_credentials()
        fields = dict(self._fields)
        if max_tokens is not None:
            fields.pop("max_completion_tokens", None)
        own = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
        fields.update((name, value) for name, value in own.items() if value is not None)
        try:
            return self._scrubbed(self._ask([_sent(message) for message in messages], fields, json_schema))
        except QuestionFailed as error:
            return self._exchange.failure_of(error)

    def fetch(self, url: str) -> bytes | None:
        """The file at an attachment's URL; None if it is on another server, which is not asked.

        Raises QuestionFailed, its message scrubbed.
        """
        whole = self._place.file_url(url)
        if whole is None:
            return None
        try:
            return self._exchange.fetch(whole)
        except QuestionFailed as error:
            raise QuestionFailed(
                self.scrub(f"the attachment {url.partition('?')[0]!r} cannot be fetched: {error}")
            ) from None

    def scrub(self, text: str) -> str:
        """The text with each of Assay's secrets masked."""
        return self._exchange.scrub(text)

    def scrubbed(self, prediction: Prediction) -> Prediction:
        """As `Exchange.scrubbed`."""
        return self._exchange.scrubbed(prediction)

    def close(self) -> None:
        """Close the connections."""
        self._exchange.close()

    def _ask(
        self, messages: Sequence[Mapping[str, Any]], fields: Mapping[str, Any], schema: Mapping[str, Any] | None
    ) -> Completion:
        accept = "text/event-stream, application/json" if fields.get("stream") is True else "application/json"
        tries = 0
        while True:
            tries += 1
            body = self._adaptations.body(messages, fields, schema)
            try:
                completion = _completion(self._exchange.post(body, parse=parse_answer, accept=accept))
                self._exchange.has_answered = True
                return completion
            except RequestRefused as refused:
                if refused.status not in (400, 422):
                    raise
                if (filtered := _filtered(refused)) is not None:
                    self._exchange.has_answered = True
                    return filtered
                if not (
                    tries < _MOST_TRIES
                    and self._adaptations.learn(body, refused.content, with_schema=schema is not None)
                ):
                    self._raise_if_no_such_model(refused)
                    raise

    def _raise_if_no_such_model(self, refused: RequestRefused) -> None:
        if self._exchange.has_answered:
            return  # the field is known, so the refusal has another cause
        if b'"model_not_found"' in refused.content or _NO_SUCH_MODEL.search(complaint_of(refused.content)):
            raise SystemUnusable(
                f"{self._place.address.shown}: {self.scrub(str(refused))}: check the model's name"
            ) from None

    def _scrubbed(self, completion: Completion) -> Completion:
        message = completion.message

        def text(given: str | None) -> str | None:
            return None if given is None else self.scrub(given)

        return replace(
            completion,
            message=replace(message, content=self.scrub(message.content)),
            refusal=text(completion.refusal),
            model=text(completion.model),
            finish_reason=text(completion.finish_reason),
            tool_calls=tuple(replace(call, arguments=self.scrub(call.arguments)) for call in completion.tool_calls),
        )


def _with_key(options: SystemOptions, place: ChatAddress) -> SystemOptions:
    """The options with the key from the environment, if neither the options nor the URL have credentials."""
    if options.token is not None or options.user is not None or place.address.user is not None:
        return options
    key = (os.environ.get("DIAL_API_KEY" if place.is_deployment else "OPENAI_API_KEY") or "").strip()
    return replace(options, token=Secret(key)) if key else options


def _lacks_key(options: SystemOptions, place: ChatAddress) -> bool:
    """Whether no credentials are given for a service that is known to demand them."""
    if options.token is not None or options.user is not None or place.address.user is not None or options.headers:
        return False
    host = urlsplit(place.address.url.reveal()).hostname or ""
    return any(host == known or host.endswith(f".{known}") for known in _WITH_KEY) and not place.address.query_secrets


def _shown(name: str, value: Any) -> str:
    if is_secret_name(name):
        return MASK
    return value if isinstance(value, str) else json.dumps(_masked(value), ensure_ascii=False, sort_keys=True)


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: MASK if is_secret_name(name) else _masked(item) for name, item in value.items()}
    return [_masked(item) for item in value] if isinstance(value, list) else value


def _sent(message: ChatMessage) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.custom_content is not None:
        sent["custom_content"] = message.custom_content
    return sent


def _filtered(refused: RequestRefused) -> Completion | None:
    """Whether Azure's content filter refused the prompt."""
    try:
        error = json.loads(refused.content)["error"]
        if error["code"] != "content_filter":
            return None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    said = complaint_of(refused.content) or "the content filter refused the prompt"
    message = ChatMessage(role="assistant", content="")
    return Completion(message=message, finish_reason="content_filter", refusal=said)


def _completion(reply: Reply) -> Completion:
    choices = reply.said.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if isinstance(choice, dict) and message is None and choice.get("finish_reason"):
        message = {}  # a content filter may leave nothing of it
    if not isinstance(choice, dict) or not isinstance(message, dict):
        names = ", ".join(map(repr, list(reply.said)[:10]))[:120] or "none"
        raise UnknownForm(
            f"the answer has no choice with a message: its fields are {names}; check the path, which "
            "ends in /v1 on most servers",
            code="no choices",
        )
    content, refused = _text(message.get("content"))
    custom = message.get("custom_content")
    return Completion(
        message=ChatMessage(
            role="assistant", content=content, custom_content=custom if isinstance(custom, dict) else None
        ),
        model=text_of(reply.said.get("model")),
        finish_reason=text_of(choice.get("finish_reason")),
        refusal=text_of(message.get("refusal")) or text_of(refused),
        tool_calls=tool_calls_of(message),
        tokens=token_usage(reply.said.get("usage")),
        latency_s=reply.latency_s,
    )


def _text(content: Any) -> tuple[str, str]:
    """The text of a message's content, which may be a list of parts, and the refusals among these parts."""
    if isinstance(content, str):
        return content, ""
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    text, refused = (
        "".join(part[name] for part in parts if isinstance(part.get(name), str)) for name in ("text", "refusal")
    )
    return text, refused


SCHEME = "chat"
OPENAI_URL = "https://api.openai.com/v1"
_COMPLETIONS = "/chat/completions"
_HOST = re.compile(r"(?:localhost|\d+(?:\.\d+){3}|[\w-]+(?:\.[\w-]+)+):\d+(?:/|\Z)", re.IGNORECASE)
_NO_MODEL = re.compile(r"://|[\s?]|\A[^@/]+:[^@]*@[\w.\-]+(?::\d+)?(?:/|\Z)")
"""Never part of a model's name: a URL's sign, a space, a query string, or a user and password before a host."""
_DEPLOYMENT = re.compile(r"(?P<base>.*)/openai/deployments/(?P<name>[^/]+)(?:/chat/completions)?/?")


class ChatAddress(Struct, frozen=True, kw_only=True):
    """The address to which requests for completions are sent."""

    address: Address
    model: str | None
    """The model named by the URL: ``chat:MODEL``, or a deployment. None: it names none."""
    is_deployment: bool
    """Whether it is a deployment of DIAL or Azure: its path names the model, and keys are sent as ``Api-Key``."""
    files_base: Secret
    """The base for relative URLs of attachments."""

    def file_url(self, url: str) -> str | None:
        """The URL of an attachment's file; None if it is on another server, or not a URL."""
        base = self.files_base.reveal()
        try:
            whole = urljoin(base, url.strip())
            ours, theirs = urlsplit(base), urlsplit(whole)
            same = (ours.scheme, ours.hostname, ours.port) == (theirs.scheme, theirs.hostname, theirs.port)
        except ValueError:
            return None
        if not same or theirs.username is not None or any(character.isspace() for character in whole):
            return None
        return whole


def chat_address(url: str, environment: Mapping[str, str], *, api_version: str | None = None) -> ChatAddress:
    """Read ``chat:http://host/v1``, a URL that ends in ``/chat/completions``, a deployment, or ``chat:MODEL``.

    A model without an address is asked at ``OPENAI_BASE_URL``, by default at OpenAI. Raises InputError without showing
    a
    password.
    """
    text = without_scheme(url, SCHEME)
    model = None
    if not re.match(r"https?:", text, re.IGNORECASE):
        if not text or _NO_MODEL.search(text):
            raise InputError(
                f"{masked_address(url)!r} does not name a chat model: use {SCHEME}:MODEL or {SCHEME}:http://host/v1"
            )
        if _HOST.match(text):  # taken for a model's name, it would be sent to OpenAI
            raise InputError(
                f"{masked_address(url)!r} names a host, not a chat model: use {SCHEME}:http://{masked_address(text)}"
            )
        model, text = text, (environment.get("OPENAI_BASE_URL") or "").strip() or OPENAI_URL
    http_address(text, SCHEME)  # raises for an invalid address
    parts = urlsplit(text)
    path = parts.path.rstrip("/")
    deployment = _DEPLOYMENT.fullmatch(path)
    query = parts.query
    if api_version is not None:
        kept = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "api-version"]
        query = urlencode([*kept, ("api-version", api_version)])
    base = path.removesuffix(_COMPLETIONS)
    address = http_address(urlunsplit((parts.scheme, parts.netloc, base + _COMPLETIONS, query, "")), SCHEME)
    place = urlsplit(address.url.reveal())
    files = f"{deployment['base']}/v1/" if deployment else f"{base}/"
    if deployment and model is None:
        model = unquote(deployment["name"])
    return ChatAddress(
        address=address,
        model=model,
        is_deployment=deployment is not None,
        files_base=Secret(urlunsplit((place.scheme, place.netloc, files, "", ""))),
    )
