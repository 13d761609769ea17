"""Where Denodo's Data Catalog is: `project_config.env`, the environment, or flags.

    DATA_CATALOG_URL=http://host:9090/denodo-data-catalog
    DATA_CATALOG_EXECUTION_URL=http://host:9090/denodo-data-catalog/public/api/askaquestion/execute
    DATA_CATALOG_SERVER_ID=1
    DATA_CATALOG_VERIFY_SSL=0

Flags weigh more than the environment, and that more than the file, setting by setting. What none
of them says has its default: the execution URL beside the catalog's URL, server 1, certificates
verified.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

from assay.errors import InputError
from assay.model import DatabaseUrl, Secret

EXECUTE_PATH = "/public/api/askaquestion/execute"
"""Where the Data Catalog executes VQL, below its own URL."""

_LINE = re.compile(r"^\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(?P<value>.*?)\s*$")
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_NAMES = ("DATA_CATALOG_URL", "DATA_CATALOG_EXECUTION_URL", "DATA_CATALOG_SERVER_ID", "DATA_CATALOG_VERIFY_SSL")


@dataclass(frozen=True, slots=True, kw_only=True)
class DenodoConfig:
    """The connection settings of a Data Catalog, each None where it is not given. Free of credentials."""

    url: str | None = None
    """The Data Catalog, such as ``http://host:9090/denodo-data-catalog``."""
    execution_url: str | None = None
    server_id: int | None = None
    verify_ssl: bool | None = None

    def overlaid(self, other: DenodoConfig) -> DenodoConfig:
        """These settings with those that ``other`` gives.

        A URL that ``other`` gives without an execution URL takes this one's execution URL away: it
        belongs to another server.
        """
        given = {one.name: value for one in fields(self) if (value := getattr(other, one.name)) is not None}
        if "url" in given and "execution_url" not in given and given["url"] != self.url:
            given["execution_url"] = None
        return replace(self, **given)

    def database_url(
        self, *, user: str | None = None, password: Secret | None = None, token: Secret | None = None
    ) -> DatabaseUrl:
        """The database URL of these settings, ``denodo+http://...`` or ``denodo+https://...``.

        With ``token`` requests bear it, else they carry user and password. Raises InputError where
        neither URL is given, for a token beside a user or password, and for a password without a user.
        """
        base = self.url or self.execution_url
        if base is None:
            raise InputError(
                "no Data Catalog is named: set DATA_CATALOG_URL in the config file or the environment, "
                "or name the database, such as --db denodo+http://host:9090/denodo-data-catalog"
            )
        if token is not None and (user is not None or password is not None):
            raise InputError("give the Data Catalog either a token or a user and password, not both")
        if password is not None and not user:
            raise InputError("a password for the Data Catalog is given without its user: give both")
        query: dict[str, str] = {}
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
        split = urlsplit(base)
        text = f"denodo+{split.scheme}://{_userinfo(user, password, token)}{split.netloc}{path}"
        return DatabaseUrl(text=f"{text}?{urlencode(query, safe='/')}" if query else text)


def read_project_config(path: str | Path) -> DenodoConfig:
    """Read a `project_config.env`. Settings of other names are left alone.

    Comments, blank lines, ``export``, quotes and spaces round ``=`` are understood; of a setting
    given twice the last counts. Raises InputError with file and line for what cannot be used.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise InputError(f"{path}: the Data Catalog's settings cannot be read: {reason}") from error
    config = DenodoConfig()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        place = f"{path}, line {number}"
        found = _LINE.match(line)
        if found is None:
            # The line itself stays unsaid: it may hold a secret.
            raise InputError(f"{place}: this is no setting: write NAME=value")
        if found["name"] in _NAMES:
            config = _with(config, found["name"], _unquoted(found["value"], place), place)
    return config


def from_environment(environ: Mapping[str, str]) -> DenodoConfig:
    """The settings of the same names in the environment. Raises InputError with the name for a wrong value."""
    config = DenodoConfig()
    for name in _NAMES:
        if name in environ:
            config = _with(config, name, environ[name].strip(), f"the environment variable {name}")
    return config


def merge(*, file: DenodoConfig, environment: DenodoConfig, flags: DenodoConfig) -> DenodoConfig:
    """The settings that count: flags before the environment before the file, each setting by itself."""
    return file.overlaid(environment).overlaid(flags)


def _with(config: DenodoConfig, name: str, value: str, place: str) -> DenodoConfig:
    """The settings with one more. An empty value leaves the setting to its default."""
    if not value:
        return config
    match name:
        case "DATA_CATALOG_URL":
            return replace(config, url=_web_address(name, value, place))
        case "DATA_CATALOG_EXECUTION_URL":
            return replace(config, execution_url=_web_address(name, value, place))
        case "DATA_CATALOG_SERVER_ID":
            return replace(config, server_id=parse_server_id(value, f"{place}: {name}"))
        case _:
            return replace(config, verify_ssl=parse_switch(value, f"{place}: {name}"))


def parse_server_id(value: str, what: str) -> int:
    """A server id. Raises InputError, opening with ``what``, for anything but a whole number from 0 on."""
    if not (value.isascii() and value.isdigit()) or len(value) > 9:
        raise InputError(f"{what} is {value!r}: give the server's number in the Data Catalog, such as 1")
    return int(value)


def parse_switch(value: str, what: str) -> bool:
    """1 or 0, also as true/false, yes/no or on/off. Raises InputError, opening with ``what``, for anything else."""
    lowered = value.lower()
    if lowered not in _TRUE | _FALSE:
        raise InputError(f"{what} is {value!r}: write 1 to verify certificates, or 0")
    return lowered in _TRUE


def _web_address(name: str, value: str, place: str) -> str:
    try:
        split = urlsplit(value)
        usable = split.scheme in ("http", "https") and bool(split.hostname) and (split.port or 1) > 0
    except ValueError:
        usable, split = False, urlsplit("")
    if "@" in value.split("?", 1)[0]:
        raise InputError(f"{place}: {name} holds credentials: give user and password apart from it")
    if not usable or split.query or split.fragment:
        raise InputError(f"{place}: {name} is {value!r}: write an address such as http://host:9090/denodo-data-catalog")
    return value.rstrip("/")


def _unquoted(value: str, place: str) -> str:
    if value[:1] in ("'", '"'):
        end = value.find(value[0], 1)
        rest = value[end + 1 :].strip()
        if end < 0 or (rest and not rest.startswith("#")):
            raise InputError(f"{place}: the value's quote does not end: close it")
        return value[1:end].strip()
    return re.split(r"(?:^|\s)#", value, maxsplit=1)[0].strip()


def _userinfo(user: str | None, password: Secret | None, token: Secret | None) -> str:
    if token is not None:
        return f":{quote(token.reveal(), safe='')}@"
    if not user:
        return ""
    after = "" if password is None else f":{quote(password.reveal(), safe='')}"
    return f"{quote(user, safe='')}{after}@"
