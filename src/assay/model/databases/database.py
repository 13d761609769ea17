"""Databases, named by URL everywhere."""

from __future__ import annotations

import os
import re
import unicodedata
from typing import Final
from urllib.parse import quote, unquote

from msgspec import Struct

from assay.errors import DatabaseError, InputError
from assay.model.databases.mistyped import fault_of, without_driver

ENGINES = ("bigquery", "snowflake", "sqlite")
"""The engines of question sets for several (Spider 2.0), by the schemes of their URLs."""
_USER_INFO = re.compile(r"(?P<before>(?:[A-Za-z][A-Za-z0-9+._\-]*://)?(?!/)[^:]*):(?P<password>[^?]*|.*)@", re.DOTALL)
"""Up to the last @: a password may hold any character, escaped or not."""
_SECRET_PARAMETER = re.compile(
    r"(?P<name>[?&;\s][\w.\-]*(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|api[_\-]?key|credentials?|header|sig))=(?P<value>[^&;\s]*)",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"(?P<sign>[?&;])(?P<name>[^=&;?]*)=(?P<value>[^&;?]*)")
_SHOWN = {
    "bigquery": "api_endpoint credentials_path location maximum_bytes_billed quota_project use_query_cache",
    "clickhouse": (
        "secure verify ca_cert client_cert client_cert_key http_proxy https_proxy server_host_name proxy_path "
        "connect_timeout compress"
    ),
    "databricks": "http_path catalog schema",
    "denodo": "serverId verify execution rows",
    "mysql": (
        "ssl_ca ssl_cert ssl_capath ssl_cipher unix_socket bind_address charset collation sql_mode init_command "
        "program_name binary_prefix read_default_file read_default_group compress use_unicode ssl_check_hostname "
        "ssl_disabled ssl_verify_cert ssl_verify_identity connect_timeout read_timeout write_timeout client_flag "
        "max_allowed_packet"
    ),
    "postgresql": (
        "service servicefile user host hostaddr port dbname connect_timeout client_encoding options application_name "
        "fallback_application_name keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout "
        "replication target_session_attrs load_balance_hosts channel_binding require_auth requirepeer sslmode sslcert "
        "sslrootcert sslcrl sslcrldir sslcompression sslcertmode sslsni sslnegotiation ssl_min_protocol_version "
        "ssl_max_protocol_version min_protocol_version max_protocol_version gssencmode krbsrvname gsslib gssdelegation"
    ),
    "snowflake": (
        "warehouse role authenticator token_file_path private_key_file connection_name host port protocol region "
        "workload_identity_provider"
    ),
    "spark": "use_ssl user_id catalog schema",
    "": (
        "application_name catalog charset client_encoding connect_timeout database driver encrypt host location port "
        "protocol role schema service_name sslmode timeout trustservercertificate verify warehouse"
    ),
}
_SHOWN_PARAMETERS = {engine: frozenset((*names.split(), "allow")) for engine, names in _SHOWN.items()}
"""The parameters of URLs whose values are printed, by engine: those that hold no secret, and a few for other
engines."""
_SAME_ENGINE = {
    "clickhousedb": "clickhouse",
    "clickhouses": "clickhouse",
    "mariadb": "mysql",
    "postgres": "postgresql",
    "sc": "spark",
}

_PLACE = "{db_id}"
_FILE_URL = re.compile(r"^(?:[^:]+:///|(?:sqlite|duckdb):)", re.IGNORECASE)
"""A URL without a host: the rest is a file's path."""
_FILE_SCHEME = re.compile(r"(?:sqlite|duckdb|file)\b", re.IGNORECASE)
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_OF_URLS = frozenset("?#@&=;")
"""What begins or separates other parts of a server's URL."""
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A secret of the environment: ``${NAME}``."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""All that a name may consist of where it becomes a host, a user or a parameter."""


FOLDER_OF_TABLES: Final = "assay-tables-"
"""How the name of a folder begins that holds the file of tables in memory, called by a digest of their content."""
_TABLES: Final = re.compile(rf"/{FOLDER_OF_TABLES}[^/]+/(?P<digest>[0-9a-f]+)\.duckdb$")


class DatabaseUrl(Struct, frozen=True, kw_only=True):
    """A database URL or a template of one, for example ``sqlite:///data/{db_id}.sqlite``.

    ``str()`` gives the URL with its password masked; ``reveal()`` the URL as it is, with ``${NAME}`` taken from the
    environment of the process that asks: so a URL can be sent to another machine without its password.
    """

    text: str

    @classmethod
    def parse(cls, text: str) -> DatabaseUrl:
        """Read a URL. Raises DatabaseError for one that is mistyped, with what to write instead."""
        written = text.strip()
        if fault := fault_of(written):
            raise DatabaseError(fault)
        return cls(text=without_driver(written))

    @property
    def scheme(self) -> str:
        """The text before the first colon, in lower case: it names the engine."""
        return self.text.split(":", 1)[0].lower()

    @property
    def is_template(self) -> bool:
        """Whether it contains ``{db_id}``, so that each case's database fills it in."""
        return "{db_id}" in self.text

    def render(self, db_id: str | None) -> DatabaseUrl:
        """The URL of one database.

        Raises InputError for a template and a case without a database, and for a name that would lead to
        anything but an entry of the template's folder or server: the name comes from a file and must not be a path.
        """
        if not self.is_template:
            return self
        if db_id is None:
            raise InputError(f"{self} needs a db_id for each case, and this case has none")
        _check_name(db_id, self.text, str(self))
        filled = DatabaseUrl(text=self.text.replace(_PLACE, quote(db_id, safe=" ._-")))
        if _FILE_URL.match(self.text):
            _check_inside(self.path, filled.path, db_id)
        return filled

    @property
    def path(self) -> str:
        """The file path of a file URL: ``sqlite:///a/b`` is ``a/b``, ``sqlite:////a/b`` is ``/a/b``.

        ``sqlite://`` and ``sqlite:///:memory:`` name no file and give ``:memory:``.
        """
        rest = self.text.split(":", 1)[1]
        rest = rest.removeprefix("//").removeprefix("/").split("?", 1)[0]
        return unquote(rest) or ":memory:"

    def with_path(self, path: str) -> DatabaseUrl:
        """The URL of another file: ``path`` is as the property of that name gives it."""
        escaped = path.replace("%", "%25").replace("?", "%3F")
        return DatabaseUrl(text=f"{self.scheme}:///{escaped}")

    def reveal(self) -> str:
        """The URL with its password, for the driver alone.

        Raises DatabaseError if the environment has no variable of a name that the URL refers to.
        """
        return _REFERENCE.sub(self._looked_up, self.text)

    def _looked_up(self, found: re.Match[str]) -> str:
        value = os.environ.get(found[1])
        if value is None:
            raise DatabaseError(
                f"{self} takes a secret from the environment variable {found[1]}, which is not set: set it, on a "
                "cluster on every node"
            )
        return quote(value, safe="")

    @property
    def holds_secret(self) -> bool:
        """Whether a password or token stands in it, and not only a reference to the environment."""
        if _FILE_URL.match(self.text) and "@" not in self.text and "?" not in self.text:
            return False
        secrets = [found["value"] for found in _SECRET_PARAMETER.finditer(self.text)]
        if user_info := _user_info(self.text):
            secrets.append(user_info["password"])
        return any(_REFERENCE.sub("", secret) for secret in secrets)

    @property
    def digest_of_tables(self) -> str | None:
        """The digest of the content, for the file of tables in memory (`assay.api.tables`); None for any other URL."""
        match = _TABLES.search(self.text)
        return None if match is None else match["digest"]

    def __str__(self) -> str:
        # The file of tables is gone when its URL is read again: what stays is what was in it.
        digest = self.digest_of_tables
        return _masked(self.text) if digest is None else f"duckdb:///tables-{digest}"

    def __repr__(self) -> str:
        return f"DatabaseUrl({str(self)!r})"


def filled_path(template: str, db_id: str) -> str:
    """A path with ``{db_id}`` filled in. Raises InputError for a name that leads out of the template's folder."""
    _check_name(db_id, f"file:///{template}", template)
    path = template.replace(_PLACE, quote(db_id, safe=" ._-"))
    _check_inside(template, path, db_id)
    return path


def _check_name(db_id: str, template: str, shown: str) -> None:
    """Raise for a name that is more than a plain name, such as a path or a URL's parameter."""
    if not db_id.strip(" ."):
        why = "is not a name"
    elif any(sign in db_id for sign in "/\\:"):
        why = "contains a path separator"
    elif any(unicodedata.category(sign) in ("Cc", "Cs") for sign in db_id):
        why = "contains a character that names cannot have"
    elif _ENCODED.search(db_id):
        why = "contains an encoded character"
    elif not _FILE_URL.match(template) and _OF_URLS.intersection(db_id):
        why = "contains a URL delimiter"
    elif _beside_path(template) and not _PLAIN_NAME.fullmatch(db_id):
        why = "goes into a host, user or parameter: only letters, digits, _ and - are allowed there"
    else:
        return
    raise InputError(f"the db_id {db_id!r} {why}: it must name one database of {shown} and lead nowhere else")


def _beside_path(template: str) -> bool:
    """Whether the template puts the name into a part of the URL other than its path."""
    address, _, query = template.partition("?")
    scheme, _, rest = address.partition(":")
    authority = rest.removeprefix("//").partition("/")[0] if rest.startswith("//") else ""
    return any(_PLACE in part for part in (scheme, authority, query))


def _check_inside(template: str, path: str, db_id: str) -> None:
    """Raise if a file, with links resolved, lies outside the folder that the template has before the name."""
    folder = os.path.realpath(os.path.dirname(template.partition(_PLACE)[0]) or ".")
    real = os.path.realpath(path)
    if os.path.commonpath([folder, real]) != folder:
        raise InputError(
            f"the db_id {db_id!r} leads through a link out of the folder {folder!r}, to {real!r}: "
            "put the database there, or name its own folder in the URL"
        )


def _user_info(text: str) -> re.Match[str] | None:
    """What stands before an @, and is not a path."""
    found = _USER_INFO.match(text)
    if found is None or "://" in found["before"] or not found["password"].startswith("/"):
        return found
    is_server = len(found["before"]) > 1 and not _FILE_SCHEME.match(text)
    return found if is_server and ":" in found["password"] and "?" not in found["password"] else None


def _masked(text: str) -> str:
    """The text with every possible secret masked: before an @, and in each parameter that is not known to hold none."""
    if found := _user_info(text):
        text = f"{found['before']}:***@{text[found.end() :]}"
    scheme = text.partition(":")[0].lower()
    engine = scheme.partition("+")[0]
    shown = _SHOWN_PARAMETERS.get(_SAME_ENGINE.get(engine, engine)) or _SHOWN_PARAMETERS[""]
    if not _FILE_SCHEME.match(text):
        text = _PARAMETER.sub(lambda found: found[0] if found["name"] in shown else _without_value(found), text)
    return _SECRET_PARAMETER.sub(lambda found: f"{found['name']}=***", text)


def _without_value(found: re.Match[str]) -> str:
    return f"{found['sign']}{found['name']}={found['value'] and '***'}"
