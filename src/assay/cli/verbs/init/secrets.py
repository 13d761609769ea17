"""Which settings hold a secret, so that the file that `assay init` writes is treated as one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.model import DatabaseUrl
from assay.settings import Settings, WitnessFileSettings

_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_SECRET_NAME = re.compile(
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|key|credentials?|authorization|auth|sig(?:nature)?)", re.IGNORECASE
)
_SCHEME = re.compile(r"(?:bearer|basic|token|apikey)(?=\s|$)", re.IGNORECASE)
"""What comes before the secret in the value of a header."""
_NAMED_VALUE = re.compile(r"""(?<![\w.-])(?P<name>[\w.-]+)["']?(?:\s*[=:]\s*|\s+)["']?(?=(?P<value>[^\s"'&;{}]+))""")
"""A name with its value: in a query string, in JSON, or in the arguments of a command."""


def settings_with_secrets(settings: Settings) -> tuple[str, ...]:
    """The settings that hold a secret, and not only a reference to the environment."""
    return tuple(_with_secrets(settings))


def _with_secrets(settings: Settings) -> Iterator[str]:
    for name in ("db", "gold_db"):
        if _is_secret_url(getattr(settings, name)):
            yield name
    system = settings.system or ""
    if _is_secret_url(system.partition(":")[2]) or _is_secret_url(system) or _names_secret(system):
        yield "system"
    if any(map(_is_secret_header, settings.header_texts().values())):
        yield "headers"
    pairs = settings.param.items() if isinstance(settings.param, dict) else _pairs(settings.param or ())
    if any(_is_name_of_secret(name) and value for name, value in pairs):
        yield "param"
    if _names_secret(settings.body_template() or ""):
        yield "request_template"
    if isinstance(settings.witness, WitnessFileSettings) and _is_secret_url(settings.witness.scratch):
        yield "witness"


def shown_system(system: str) -> str:
    """The system without what may be a secret: of a command its program, of an address neither user nor query."""
    kind, _, rest = system.partition(":")
    if kind == "command":
        words = [word for word in rest.split() if not re.match(r"\w+=", word)]
        return f"{kind}:{words[0]}{' …' if len(rest.split()) > 1 else ''}" if words else kind
    return kind if "@" in rest else system.partition("?")[0]


def _is_secret_url(text: str | None) -> bool:
    return text is not None and DatabaseUrl(text=text).holds_secret


def _is_secret_header(header: str) -> bool:
    """Any value may be one: headers are for gateways, and are never shown."""
    value = re.split("[=:]", header, maxsplit=1)[-1]
    return bool(_SCHEME.sub("", _REFERENCE.sub("", value).strip()).strip())


def _names_secret(text: str) -> bool:
    return any(
        _is_name_of_secret(found["name"]) and bool(_REFERENCE.sub("", found["value"]))
        for found in _NAMED_VALUE.finditer(text)
    )


def _is_name_of_secret(name: str) -> bool:
    """Whether the last word of a name is one for a secret: ``api_key`` is, ``max_tokens`` is not."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)
    return bool(words) and _SECRET_NAME.fullmatch(words[-1]) is not None


def _pairs(given: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for text in given:
        name, _, value = text.partition("=")
        yield name.strip(), value
