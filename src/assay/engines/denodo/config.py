"""The location of Denodo's Data Catalog: `project_config.env`, the environment, or options.

    DATA_CATALOG_URL=http://host:9090/denodo-data-catalog
    DATA_CATALOG_EXECUTION_URL=http://host:9090/denodo-data-catalog/public/api/askaquestion/execute
    DATA_CATALOG_SERVER_ID=1
    DATA_CATALOG_VERIFY_SSL=0

Newer releases call it Data Marketplace: ``DATA_MARKETPLACE_URL``, ``AI_SDK_DATA_MARKETPLACE_URL`` and the like mean the
same, and the newest name takes precedence if one source has several. Without a URL, ``DATA_CATALOG_HOST`` and
``DATA_CATALOG_PORT`` (9090 by default; 443 and 9443 are HTTPS) name the catalog, too.

For each setting, options take precedence over the environment, and the environment over the file. A missing setting has
its default: the execution URL below the catalog's URL, server 1, certificates verified.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import InputError
from assay.model import DatabaseUrl, Secret

EXECUTE_PATH = "/public/api/askaquestion/execute"
"""The path below its own URL at which the Data Catalog executes VQL."""

_LINE = re.compile(r"^\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(?P<value>.*?)\s*$")
_REFERENCE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_HOST, _PORT = "HOST", "PORT"
_PREFIXES = ("DATA_CATALOG_", "DATA_MARKETPLACE_", "AI_SDK_DATA_MARKETPLACE_")
"""The newest name last: it takes precedence."""
_DEFAULT_PORT = "9090"
_HTTPS_PORTS = ("443", "9443")
_PATH = "/denodo-data-catalog"
_CLOSE = 0.8
_CLOSE_WHOLE = 0.9
"""The required similarity of whole names: high, since half of each name is the common prefix."""

PROJECT_CONFIG = "project_config.env"
"""The name of the file that Denodo's own evaluator reads from the working folder by default."""


class DenodoConfig(Struct, frozen=True, kw_only=True):
    """The connection settings of a Data Catalog, each None if it is not given. Free of credentials."""

    url: str | None = None
    """The Data Catalog, for example ``http://host:9090/denodo-data-catalog``."""
    execution_url: str | None = None
    server_id: int | None = None
    verify_ssl: bool | None = None

    def overlaid(self, other: DenodoConfig) -> DenodoConfig:
        """These settings, overridden by those of ``other``.

        If ``other`` has a URL without an execution URL, these settings' execution URL is dropped: it belongs to another
        server.
        """
        given = {name: value for name in self.__struct_fields__ if (value := getattr(other, name)) is not None}
        if "url" in given and "execution_url" not in given and given["url"] != self.url:
            given["execution_url"] = None
        return replace(self, **given)

    @classmethod
    def of_flags(
        cls,
        *,
        url: str | None = None,
        execution_url: str | None = None,
        server_id: int | None = None,
        verify_ssl: bool | None = None,
    ) -> DenodoConfig:
        """Settings from a command line. Raises InputError for an invalid address."""
        addresses = {"url": ("--catalog-url", url), "execution_url": ("--execution-url", execution_url)}
        checked = {
            field: _parse_address(value, f"the command line: {flag}")
            for field, (flag, value) in addresses.items()
            if value is not None
        }
        return cls(server_id=server_id, verify_ssl=verify_ssl, **checked)

    @property
    def is_named(self) -> bool:
        """Whether these settings name a Data Catalog."""
        return self.url is not None or self.execution_url is not None

    def database_url(
        self,
        *,
        user: str | None = None,
        password: Secret | None = None,
        token: Secret | None = None,
        headers: Iterable[tuple[str, Secret]] = (),
        otherwise: str = "name the database, for example --db denodo+http://host:9090/denodo-data-catalog",
    ) -> DatabaseUrl:
        """The database URL of these settings, ``denodo+http://...`` or ``denodo+https://...``.

        Requests carry ``token`` if it is given, else user and password, and ``headers``. Raises InputError if neither
        URL is given (``otherwise`` names the alternative), for a token together with a user or password, and for a
        password without a user.
        """
        base = self.url or self.execution_url
        if base is None:
            raise InputError(
                f"the Data Catalog is missing: set DATA_CATALOG_URL in {PROJECT_CONFIG} or the environment, or "
                f"{otherwise}"
            )
        if token is not None and (user is not None or password is not None):
            raise InputError("give the Data Catalog either a token or a user and password, not both")
        if password is not None and not user:
            raise InputError("the password for the Data Catalog has no user: give both")
        query: dict[str, str | list[str]] = {}
        path = urlsplit(base).path.rstrip("/")
        if self.url is None:
            if path.endswith(EXECUTE_PATH):
                path = path.removesuffix(EXECUTE_PATH)
            else:
                query["execution"], path = path, ""
        elif self.execution_url is not None and self.execution_url.rstrip("/") != base.rstrip("/") + EXECUTE_PATH:
            query["execution"] = self.execution_url
        if self.server_id is not None:
            query["serverId"] = str(self.server_id)
        if self.verify_ssl is not None:
            query["verify"] = str(int(self.verify_ssl))
        if sent := [f"{name}:{value.reveal()}" for name, value in headers]:
            query["header"] = sent
        split = urlsplit(base)
        text = f"denodo+{split.scheme}://{_userinfo(user, password, token)}{split.netloc}{path}"
        return DatabaseUrl(text=f"{text}?{urlencode(query, doseq=True, safe='/')}" if query else text)


def read_project_config(path: str | Path, environ: Mapping[str, str] | None = None) -> DenodoConfig:
    """Read a `project_config.env`. Settings with other names are ignored.

    Comments, blank lines, ``export``, quotes, spaces around ``=`` and ``${NAME}`` of another setting or of ``environ``
    are supported. If a setting is given twice, the last one counts. Raises InputError with file and line for an invalid
    line, and warns of a name that looks like a misspelt setting.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text: save it as UTF-8"
        if isinstance(error, FileNotFoundError):
            reason = f"{reason}{nearest_file(Path(path))}"
        raise InputError(f"{path}: the Data Catalog's settings cannot be read: {reason}") from error
    plain: dict[str, str] = {}
    given: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = f"{path}, line {number}"
        found = _LINE.match(line)
        if found is None:
            # The message does not quote the line: it may hold a secret.
            raise InputError(f"{place}: not a setting: write NAME=value")
        name, value = found["name"], found["value"]
        if _is_ours(name):
            given[name] = _expanded(_unquoted(value, place), value, {**plain, **(environ or {})}, place), place
            plain[name] = given[name][0]
            continue
        plain[name] = value.strip("'\"")
        if meant := _meant(name):
            warnings.warn(f"{place}: {name} is ignored: did you mean {meant}?", UserWarning, stacklevel=2)
    return _settings(given)


def nearest_file(path: Path) -> str:
    """For a missing file, the similarly named file next to it, as the end of a message."""
    try:
        near = get_close_matches(path.name, [one.name for one in path.parent.iterdir()], n=1)
    except OSError:
        return ""
    return f"; did you mean {path.with_name(near[0])}?" if near else ""


def _expanded(value: str, written: str, known: Mapping[str, str], place: str) -> str:
    """The value with each ``${NAME}`` or ``${NAME:-default}`` in it replaced, except in single quotes."""

    def of_name(found: re.Match[str]) -> str:
        name, default = found["name"], found["default"]
        if name not in known and default is None:
            near = get_close_matches(name, known, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise InputError(f"{place}: {name} is set neither before this line nor in the environment{hint}")
        return known.get(name) or default or ""

    return value if written.startswith("'") else _REFERENCE.sub(of_name, value)


def from_environment(environ: Mapping[str, str]) -> DenodoConfig:
    """The settings of the same names in the environment. Raises InputError with the name for an invalid value."""
    names = filter(_is_ours, environ)
    return _settings({name: (environ[name].strip(), f"the environment variable {name}") for name in names})


def _is_ours(name: str) -> bool:
    return any(name == prefix + setting for prefix in _PREFIXES for setting in (*_SETTINGS, _HOST, _PORT))


def _meant(name: str) -> str | None:
    """The setting that this name misspells; None if it is not similar to any setting."""
    prefix = next((prefix for prefix in _PREFIXES if name.upper().startswith(prefix)), None)
    if prefix is None:
        names = [prefix + setting for prefix in _PREFIXES for setting in _SETTINGS]
        return next(iter(get_close_matches(name.upper(), names, n=1, cutoff=_CLOSE_WHOLE)), None)
    said = name.upper().removeprefix(prefix)
    close = get_close_matches(said, _SETTINGS, n=1, cutoff=_CLOSE)
    close += [setting for setting in _SETTINGS if sorted(setting) == sorted(said)]
    return prefix + close[0] if close else None


def _settings(given: Mapping[str, tuple[str, str]]) -> DenodoConfig:
    """The settings from values and their locations, both by name. Newer names take precedence over older ones.

    An empty value leaves a setting at its default.
    """
    config = DenodoConfig()
    names: dict[str, str] = {}
    for prefix in _PREFIXES:
        values: dict[str, Any] = {}
        of_prefix: dict[str, str] = {}
        for setting, (field, parse) in _SETTINGS.items():
            value, place = given.get(prefix + setting, ("", ""))
            if value:
                values[field] = parse(value, f"{place}: {prefix}{setting}")
                of_prefix[field] = prefix + setting
        if "url" not in values and (url := _of_host(prefix, given)) is not None:
            values["url"], of_prefix["url"] = url, prefix + _HOST
        for field, name in of_prefix.items():
            if field in names and getattr(config, field) not in (None, values[field]):
                message = f"{given[name][1]}: {name} is used, although {names[field]} has another value"
                warnings.warn(message, UserWarning, stacklevel=3)
        names |= of_prefix
        overlaid = config.overlaid(DenodoConfig(**values))
        if config.url is None and overlaid.execution_url is None:  # nothing says that it belongs to another server
            overlaid = replace(overlaid, execution_url=config.execution_url)
        config = overlaid
    return config


def _of_host(prefix: str, given: Mapping[str, tuple[str, str]]) -> str | None:
    """The catalog's URL from host and port; None without a host. A port without a host may be another program's
    setting."""
    host, place = given.get(prefix + _HOST, ("", ""))
    if not host:
        return None
    port, place_of_port = given.get(prefix + _PORT, ("", ""))
    if "://" not in host and "/" not in host:
        port = _checked_port(port or _DEFAULT_PORT, f"{place_of_port}: {prefix}{_PORT}")
        scheme = "https" if port in _HTTPS_PORTS else "http"
        shown_host = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return _parse_address(f"{scheme}://{shown_host}:{port}{_PATH}", f"{place}: {prefix}{_HOST}")
    # An address given as the host gets the missing port and path.
    split = urlsplit(_parse_address(host, f"{place}: {prefix}{_HOST}"))
    authority = split.netloc
    if port and split.port is None:
        authority = f"{authority.rstrip(':')}:{_checked_port(port, f'{place_of_port}: {prefix}{_PORT}')}"
    elif port and port != str(split.port):
        message = f"{place_of_port}: {prefix}{_PORT} is not used, since {prefix}{_HOST} has another port"
        warnings.warn(message, UserWarning, stacklevel=2)
    return f"{split.scheme}://{authority}{split.path or _PATH}"


def _checked_port(port: str, what: str) -> str:
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536):
        raise InputError(f"{what} is {port!r}: write a port, for example {_DEFAULT_PORT}")
    return port


def merge(*, file: DenodoConfig, environment: DenodoConfig, flags: DenodoConfig) -> DenodoConfig:
    """The effective settings: options take precedence over the environment, the environment over the file."""
    return file.overlaid(environment).overlaid(flags)


def parse_server_id(value: str, what: str) -> int:
    """A server id. Raises InputError, beginning with ``what``, for anything but an integer from 0 on."""
    if not (value.isascii() and value.isdigit()) or len(value) > 9:
        raise InputError(f"{what} is {value!r}: write the server's number in the Data Catalog, for example 1")
    return int(value)


def parse_switch(value: str, what: str) -> bool:
    """1 or 0, also as true/false, yes/no or on/off. Raises InputError, beginning with ``what``, for anything else."""
    lowered = value.lower()
    if lowered not in _TRUE | _FALSE:
        raise InputError(f"{what} is {value!r}: write 1 to verify certificates, or 0")
    return lowered in _TRUE


def _parse_address(value: str, what: str) -> str:
    """A web address without credentials. Raises InputError, beginning with ``what``, for anything else."""
    try:
        split = urlsplit(value)
        usable = split.scheme in ("http", "https") and bool(split.hostname) and (split.port or 1) > 0
    except ValueError:
        usable, split = False, urlsplit("")
    if "@" in value:
        raise InputError(f"{what} contains credentials: give user and password separately")
    if not usable or split.query or split.fragment:
        end = re.search("[?#@]", value)  # what follows may be a secret
        shown = repr(value) if end is None else f"{value[: end.start()]!r} with more after it"
        raise InputError(f"{what} is {shown}: write an address, for example http://host:9090/denodo-data-catalog")
    return value.rstrip("/")


_SETTINGS: Mapping[str, tuple[str, Callable[[str, str], object]]] = {
    "URL": ("url", _parse_address),
    "EXECUTION_URL": ("execution_url", _parse_address),
    "SERVER_ID": ("server_id", parse_server_id),
    "VERIFY_SSL": ("verify_ssl", parse_switch),
}
"""After its prefix, the name of each setting: its field, and what reads a value and names itself in messages."""


def _unquoted(value: str, place: str) -> str:
    if value[:1] in ("'", '"'):
        end = value.find(value[0], 1)
        rest = value[end + 1 :].strip()
        if end < 0 or (rest and not rest.startswith("#")):
            raise InputError(f"{place}: the value has no closing quote")
        return value[1:end].strip()
    return re.split(r"(?:^|\s)#", value, maxsplit=1)[0].strip()


def _userinfo(user: str | None, password: Secret | None, token: Secret | None) -> str:
    if token is not None:
        return f":{quote(token.reveal(), safe='')}@"
    if not user:
        return ""
    after = "" if password is None else f":{quote(password.reveal(), safe='')}"
    return f"{quote(user, safe='')}{after}@"
