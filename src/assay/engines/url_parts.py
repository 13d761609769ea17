"""The parts of a server's URL. Each engine declares its parameters once, each with the form of its value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from msgspec import Struct

from assay.errors import DatabaseError, did_you_mean
from assay.model import DatabaseUrl

Reader: TypeAlias = Callable[[str], Any]
"""Reads the value of a parameter. Raises ValueError with what was expected."""
ALLOW = "allow"
"""The additional functions that a query may call. The only parameter that may be repeated."""
_SPARK = ("sc", "spark", "databricks")
"""The schemes whose parameters may follow semicolons."""
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class UrlParts(Struct, frozen=True, kw_only=True):
    """A parsed URL; percent-encoding is decoded except in ``split``."""

    split: SplitResult
    port: int | None
    """None: there is no port, or no host."""
    names: tuple[str, ...]
    """The names in the path."""
    parameters: dict[str, Any]
    """As returned by their readers, without ``allow``."""


def text(value: str) -> str:
    """Any non-empty text."""
    if not value.strip():
        raise ValueError("a value")
    return value


def flag(value: str) -> bool:
    """True or False."""
    if value.lower() not in (*_TRUE, *_FALSE):
        raise ValueError("true or false")
    return value.lower() in _TRUE


def whole(value: str) -> int:
    """A number from 0 on."""
    if not (value.isascii() and value.isdigit() and len(value) < 19):
        raise ValueError("a whole number")
    return int(value)


def port(value: str) -> int:
    """The number of a port."""
    if not (value.isascii() and value.isdigit() and 0 < int(value[:6]) < 65536):
        raise ValueError("a port from 1 to 65535")
    return int(value)


def file(value: str) -> str:
    """The path of an existing file."""
    path = Path(value).expanduser()
    if not value or not path.is_file():
        raise ValueError("the path of an existing file")
    return str(path)


def address(value: str) -> str:
    """The address of a server."""
    try:
        split = urlsplit(value)
        is_address = split.scheme in ("https", "http") and bool(split.hostname) and split.port != 0
    except ValueError:  # a wrong bracket or port
        is_address = False
    if not is_address:
        raise ValueError("an address, for example https://HOST")
    return value


def one_of(*words: str) -> Reader:
    """One of these words, in any case."""

    def read(value: str) -> str:
        if value.lower() not in words:
            raise ValueError(f"one of {', '.join(words)}{did_you_mean(value.lower(), words)}")
        return value

    return read


def read_url(
    url: DatabaseUrl, known: Mapping[str, Reader], *, form: str, path: Sequence[str], has_host: bool = True
) -> UrlParts:
    """The parts of a URL. Raises DatabaseError for invalid parts, with what to write.

    ``path``: the meaning of the names in the path, at most.
    """
    _, semicolons = _halves(url)
    split = _split(url, form)
    if ";" in split.path or ";" in split.netloc.rpartition("@")[2]:  # what follows it may be a secret
        raise DatabaseError(
            f"{url}: there is a ; in it: write ? before the first parameter and & between two, and %3B for ; in a name"
        )
    if split.fragment or "#" in semicolons:
        raise DatabaseError(f"{url}: it contains #: write %23 for # in a name or password")
    try:
        number = split.port if has_host else None
    except ValueError:
        raise DatabaseError(f"{url}: the port is not a number from 1 to 65535: write {form}") from None
    names = tuple(unquote(name) for name in split.path.split("/") if name)
    if len(names) > len(path):
        verb = "was" if len(path) == 1 else "were"
        raise DatabaseError(f"{url}: {' and '.join(path)} {verb} expected in the path: write {form}")
    if lacking := next((part for part in semicolons.split(";") if part and "=" not in part), None):
        name = lacking if lacking in known else "***"
        raise DatabaseError(f"{url}: the parameter {name} after ; has no value: write {form}")
    given = [pair for pair in pairs_of(url) if pair[0] != ALLOW]
    parameters = read_parameters(url, given, known, form=form, further=(ALLOW,))
    return UrlParts(split=split, port=number, names=names, parameters=parameters)


def read_parameters(
    url: DatabaseUrl,
    given: Sequence[tuple[str, str]],
    known: Mapping[str, Reader],
    *,
    form: str,
    further: Sequence[str] = (),
) -> dict[str, Any]:
    """The values of parameters. Raises DatabaseError for one that is unknown, given twice, or has an invalid value.

    Secrets are not shown. ``further``: the other parameters, for the message.
    """
    check_once(url, given)
    parameters = {}
    for name, value in given:
        if name not in known:
            near = did_you_mean(name, known) or f"; the parameters are {', '.join((*known, *further))}"
            raise DatabaseError(f"{url}: unknown parameter {name!r}{near}; write {form}")
        try:
            parameters[name] = known[name](value)
        except ValueError as error:
            is_shown = str(written := DatabaseUrl(text=f"{url.scheme}://h?{name}=x")) == written.text
            shown = f"is {value!r}" if is_shown else "has another value"
            raise DatabaseError(f"{url}: the parameter {name} {shown}: write {name}= and {error}") from None
    return parameters


def check_once(url: DatabaseUrl, given: Sequence[tuple[str, str]]) -> None:
    """Raise DatabaseError for a parameter that is given twice: which value counts would depend on the driver."""
    name, count = max(Counter(name for name, _ in given).items(), key=lambda each: each[1], default=("", 0))
    if count > 1:
        raise DatabaseError(f"{url}: the parameter {name} is given {count} times: write it once")


def pairs_of(url: DatabaseUrl) -> list[tuple[str, str]]:
    """The parameters behind a question mark, and of Spark Connect those behind semicolons."""
    _, semicolons = _halves(url)
    pairs = parse_qsl(_split(url).query, keep_blank_values=True)
    for part in filter(None, semicolons.split(";")):
        name, _, value = part.partition("=")
        pairs.append((name, unquote(value)))
    return pairs


def _split(url: DatabaseUrl, form: str = "") -> SplitResult:
    """The URL without what stands behind semicolons. Raises DatabaseError for a host with a wrong bracket."""
    try:
        return urlsplit(_halves(url)[0])
    except ValueError:
        pass
    hint = f": write {form or '%5B or %5D for a bracket'}"
    if found := re.search(r"\blocal\[\w*\*?\]", url.text):
        hint = (
            f": {found[0]} is a Spark within one process: start a Spark Connect server (start-connect-server.sh "
            f"--master '{found[0]}') and write spark://127.0.0.1:15002"
        )
    raise DatabaseError(f"{url}: the host cannot be read{hint}")


def _halves(url: DatabaseUrl) -> tuple[str, str]:
    head, _, semicolons = url.reveal().partition(";") if url.scheme in _SPARK else (url.reveal(), "", "")
    return head, semicolons
