"""Credentials for a live system and its database, from options, the environment or a prompt."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct

from assay.errors import UsageError
from assay.model import DatabaseUrl, Secret
from assay.model.databases.secret import MASK, read_headers
from assay.settings import Settings
from assay.systems.options import SystemOptions

if TYPE_CHECKING:
    from assay.engines.denodo.config import DenodoConfig

_MASKED_LOGIN = re.compile(rf"(?P<scheme>[\w+]+://)(?P<user>[^:@/]*):{re.escape(MASK)}@")
_USER, _PASSWORD, _TOKEN = "ASSAY_USER", "ASSAY_PASSWORD", "ASSAY_TOKEN"


class Access(Struct, frozen=True, kw_only=True):
    """The credentials of a user with a password or of a token; without either, none."""

    user: str | None = None
    password: Secret | None = None
    token: Secret | None = None

    @classmethod
    def gathered(cls, *, user: str | None, password: str | None, token: str | None, needed: bool) -> Access:
        """Read from flags, else from the environment; on a terminal a missing password of a user is asked for.

        Values read from the environment are removed from it, so that no process started from here has them.
        """
        given = [os.environ.pop(name, None) or None for name in (_USER, _PASSWORD, _TOKEN)]
        token = token or (given[2] if user is None else None)
        if token is not None:
            if user is not None:
                raise UsageError("--user and --token were both given: give one of them")
            return cls(token=Secret(token))
        user = user or given[0]
        if user is None:
            return cls()
        if ":" in user:  # curl's spelling; HTTP Basic has no such names
            raise UsageError(
                "the user name contains a colon: give the password separately (ASSAY_PASSWORD, --password)"
            )
        password = password if password is not None else given[1]
        if password is None and needed and sys.stdin.isatty():
            import click

            try:
                password = click.prompt(f"Password of {user}", hide_input=True, err=True)
            except click.Abort as error:
                if isinstance(error.__context__, KeyboardInterrupt):
                    raise KeyboardInterrupt from error
                raise UsageError("no password was given: type one, or set ASSAY_PASSWORD") from error
        return cls(user=user, password=Secret(password or ""))

    @classmethod
    def of_environment(cls) -> Access:
        """What the environment has, a password without its user as well. The values are removed from it."""
        user, password, token = (os.environ.pop(name, None) or None for name in (_USER, _PASSWORD, _TOKEN))
        return cls(
            user=user,
            password=None if password is None else Secret(password),
            token=None if token is None else Secret(token),
        )

    def completed(self, url: DatabaseUrl) -> DatabaseUrl:
        """The URL of a stored run with these credentials for its masked ones, if it is Denodo's; else the same."""
        found = _MASKED_LOGIN.match(url.text) if url.scheme.startswith("denodo") else None
        secret = None if found is None else self.password if found["user"] else self.token
        if found is None or secret is None:
            return url
        user = quote(self.user, safe="") if self.user is not None and found["user"] else found["user"]
        return DatabaseUrl(text=f"{found['scheme']}{user}:{quote(secret.reveal(), safe='')}@{url.text[found.end() :]}")

    def system_options(self, settings: Settings) -> SystemOptions:
        """The options of a live system."""
        given = settings.given(SystemOptions.__struct_fields__) | {
            "user": self.user,
            "password": self.password,
            "token": self.token,
            "headers": read_headers(settings.header_texts().values(), os.environ),
            "parameters": settings.parameters(),
            "body_template": settings.body_template(),
        }
        if settings.system_timeout_s is not None:
            given["timeout_s"] = settings.system_timeout_s
        return SystemOptions(**given)

    def databases(self, db: str | dict[str, str] | None, settings: Settings) -> str | dict[str, str] | None:
        """As `database`, of one URL or of one for each engine."""
        if isinstance(db, str):
            check_no_folder(db)
        if isinstance(db, dict):
            return {engine: self.database(url, settings) or url for engine, url in db.items()}
        return self.database(db, settings)

    def database(self, url: str | None, settings: Settings) -> str | None:
        """The URL of a database, a Data Catalog's with these credentials and its configuration file's settings.

        A URL that names its user keeps it.
        """
        if url is None or not url.startswith("denodo+http") or "@" in url:
            return url
        from assay.engines.denodo.config import DenodoConfig

        end = ""
        if "?" in url:
            scheme, _, rest = DatabaseUrl.parse(url).reveal().removeprefix("denodo+").partition("://")
            base, _, query = rest.partition("?")
            catalog, end = DenodoConfig(url=f"{scheme}://{base}"), f"?{query}"
        else:
            config = None if settings.denodo_config is None else Path(settings.denodo_config)
            catalog = denodo_settings(config, DenodoConfig(url=url.removeprefix("denodo+")))
        return catalog.database_url(user=self.user, password=self.password, token=self.token).reveal() + end


def check_no_folder(db: str) -> None:
    """Raise UsageError for a folder in place of a URL, with the URL of the databases in it."""
    if not db or ":" in db or not Path(db).is_dir():
        return
    from assay.cli.options.two_files import template_in
    from assay.platform.shell import command_line

    found = template_in(Path(db))
    written = (
        f"write  --db {command_line([found])}"
        if found
        else ("without a .sqlite or .duckdb file in it or one level below: write  --db sqlite:///path/to/file.sqlite")
    )
    raise UsageError(f"--db {db} is a folder{':' if found else ''} {written}")


def denodo_settings(config: Path | None, flags: DenodoConfig) -> DenodoConfig:
    """The settings of a Data Catalog: flags take precedence over the environment, and the environment over the file."""
    from assay.engines.denodo.config import DenodoConfig, from_environment, merge, read_project_config

    file = DenodoConfig() if config is None else read_project_config(config, os.environ)
    return merge(file=file, environment=from_environment(os.environ), flags=flags)
