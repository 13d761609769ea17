"""Denodo's database port, through which older releases of its evaluator execute queries: `--db-config`, or options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from assay.engines.denodo.config import nearest_file
from assay.errors import InputError
from assay.model import Secret

DEFAULT_PORT = 9996
_LAST_PORT = 65535
_LONGEST_PORT = len(str(_LAST_PORT))
_FORM = 'write {"user": "…", "password": "…", "host": "…", "port": 9996, "databaseName": "…"}'
_KINDS: Mapping[str, type] = {"user": str, "password": str, "host": str, "port": int, "databaseName": str}


class DatabasePort(Struct, frozen=True, kw_only=True):
    """The address, database and credentials of a Denodo server's PostgreSQL port; each None if not given."""

    user: str | None = None
    password: Secret | None = None
    host: str | None = None
    port: int | None = None
    database: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether a host or a database is given."""
        return self.host is not None or self.database is not None

    def overlaid(self, *, host: str | None, port: int | None, database: str | None) -> DatabasePort:
        """These settings, overridden by those from options."""
        return replace(self, host=host or self.host, port=port or self.port, database=database or self.database)

    def database_url(self, *, user: str | None, password: Secret | None) -> str:
        """``denodo+psycopg2://...``. Raises InputError if no database is named."""
        if self.database is None:
            raise InputError(
                f"the database port {self.host}:{self.port or DEFAULT_PORT} has no database: give --database, "
                "or name the Data Catalog (--catalog-url)"
            )
        secret = "" if password is None else f":{quote(password.reveal(), safe='')}"
        who = "" if user is None else f"{quote(user, safe='')}{secret}@"
        place = f"{self.host or 'localhost'}:{self.port or DEFAULT_PORT}"
        return f"denodo+psycopg2://{who}{place}/{quote(self.database, safe='')}"


def read_database_port(path: Path | None) -> DatabasePort:
    """The settings in a ``--db-config`` file; empty if no file is given.

    Raises InputError, with the file and the most similar name, for a file without such settings.
    """
    if path is None:
        return DatabasePort()
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        if isinstance(error, FileNotFoundError):
            reason = f"{reason}{nearest_file(path)}"
        raise InputError(f"{path}: the settings of the database port cannot be read: {reason}") from error
    except (ValueError, RecursionError) as error:
        # Give the location, but do not quote the text: it may hold a password.
        where = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{path}{where}: invalid JSON: {_FORM}") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: not a JSON object: {_FORM}")
    port = found.get("port")
    if isinstance(port, str) and port.isascii() and port.isdigit() and len(port) <= _LONGEST_PORT:
        found["port"] = int(port)  # drivers accept this form, too
    _check(path, found)
    password = found.get("password")
    return DatabasePort(
        user=found.get("user"),
        password=None if password is None else Secret(password),
        host=found.get("host"),
        port=found.get("port"),
        database=found.get("databaseName"),
    )


def _check(path: Path, found: Mapping[str, Any]) -> None:
    for name, value in found.items():
        if name not in _KINDS:
            near = get_close_matches(name, _KINDS, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise InputError(f"{path}: unknown setting {name!r}{hint}: the settings are {', '.join(_KINDS)}")
        if value is not None and (not isinstance(value, _KINDS[name]) or isinstance(value, bool)):
            raise InputError(f"{path}: {name} is no {'number' if name == 'port' else 'text'}: {_FORM}")
        if name == "port" and isinstance(value, int) and not 1 <= value <= _LAST_PORT:
            raise InputError(f"{path}: port is {value}: write one from 1 to {_LAST_PORT}")
