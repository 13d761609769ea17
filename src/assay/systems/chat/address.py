"""The address of a chat model: an OpenAI-compatible base URL, or a deployment of DIAL or Azure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlencode, urljoin, urlsplit, urlunsplit

from msgspec import Struct

from assay.errors import InputError
from assay.model import Secret
from assay.model.databases.secret import masked_address
from assay.systems.address import Address, http_address, without_scheme

SCHEME = "chat"
OPENAI_URL = "https://api.openai.com/v1"
_COMPLETIONS = "/chat/completions"
_HOST = re.compile(r"(?:localhost|\d+(?:\.\d+){3}|[\w-]+(?:\.[\w-]+)+):\d+(?:/|\Z)", re.IGNORECASE)
_NO_MODEL = re.compile(r"://|[\s?]|\A[^@/]+:[^@]*@[\w.\-]+(?::\d+)?(?:/|\Z)")
"""What no model's name has: a URL's sign, a space, a query string, or a user and password before a host."""
_DEPLOYMENT = re.compile(r"(?P<base>.*)/openai/deployments/(?P<name>[^/]+)(?:/chat/completions)?/?")


class ChatAddress(Struct, frozen=True, kw_only=True):
    """The address to which requests for completions are sent."""

    address: Address
    model: str | None
    """The model that the URL names: ``chat:MODEL``, or a deployment. None: it names none."""
    is_deployment: bool
    """Whether it is a deployment of DIAL or Azure: its path names the model, and keys are sent as ``Api-Key``."""
    files_base: Secret
    """The base for relative URLs of attachments."""

    def file_url(self, url: str) -> str | None:
        """The URL of an attachment's file; None where it is on another server, or not a URL."""
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

    A model without an address is asked at ``OPENAI_BASE_URL``, else at OpenAI. Raises InputError without showing a
    password.
    """
    text = without_scheme(url, SCHEME)
    model = None
    if not re.match(r"https?:", text, re.IGNORECASE):
        if not text or _NO_MODEL.search(text):
            raise InputError(
                f"{masked_address(url)!r} names no chat model: write {SCHEME}:MODEL or {SCHEME}:http://host/v1"
            )
        if _HOST.match(text):  # taken for a model's name, it would be sent to OpenAI
            raise InputError(
                f"{masked_address(url)!r} names no chat model but a host: write {SCHEME}:http://{masked_address(text)}"
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
