"""The credentials for a live system and its database: whose they are, and where the secrets come from."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from assay.cli.options import AskFlags
from assay.errors import UsageError
from assay.model import DatabaseUrl, Secret
from assay.model.secret import MASK, read_headers
from assay.systems.options import SystemOptions

if TYPE_CHECKING:
    from assay.engines.denodo.config import DenodoConfig

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
            raise UsageError("a user's name has no colon: give the password apart from it (ASSAY_PASSWORD, --password)")
        password = password if password is not None else given[1]
        if password is None and needed and sys.stdin.isatty():
            import typer

            password = typer.prompt(f"Password of {user}", hide_input=True, err=True)
        return cls(user=user, password=Secret(password or ""))

    def system_options(
        self, asking: AskFlags, *, verify_ssl: bool, headers: Sequence[str] | None = None
    ) -> SystemOptions:
        """The options of a live system. ``headers``: those of a settings file, which the flags replace."""
        default = SystemOptions()
        return SystemOptions(
            user=self.user,
            password=self.password,
            token=self.token,
            headers=read_headers(asking.header or headers or (), os.environ),
            timeout_s=default.timeout_s if asking.ask_timeout is None else asking.ask_timeout,
            retries=default.retries if asking.retries is None else asking.retries,
            parameters=_parameters(asking.param or ()),
            verify_ssl=verify_ssl,
        )

    def denodo_database(self, url: str | None, config: Path | None) -> str:
        """The URL of Denodo's Data Catalog with these credentials, the config file's settings and the environment's.

        A URL that names its user keeps it.
        """
        from assay.engines.denodo.config import DenodoConfig

        if url is not None and "@" in url:
            return url
        plain = None if url is None else url.removeprefix("denodo+")
        if plain is not None and "?" in plain:
            parsed = DatabaseUrl.parse(url or "")
            return _with_userinfo(parsed, self)
        settings = denodo_settings(config, DenodoConfig(url=plain))
        return settings.database_url(user=self.user, password=self.password, token=self.token).reveal()


def denodo_settings(config: Path | None, flags: DenodoConfig) -> DenodoConfig:
    """The settings of a Data Catalog: flags take precedence over the environment, and the environment over the file."""
    from assay.engines.denodo.config import DenodoConfig, from_environment, merge, read_project_config

    file = DenodoConfig() if config is None else read_project_config(config, os.environ)
    return merge(file=file, environment=from_environment(os.environ), flags=flags)


def _with_userinfo(url: DatabaseUrl, access: Access) -> str:
    from assay.engines.denodo.config import DenodoConfig

    scheme, _, rest = url.reveal().removeprefix("denodo+").partition("://")
    base, _, query = rest.partition("?")
    database = DenodoConfig(url=f"{scheme}://{base}").database_url(
        user=access.user, password=access.password, token=access.token
    )
    return f"{database.reveal()}?{query}"


def _before_value(text: str) -> str:
    """The name at the beginning of a text that is not a pair. The rest may be a secret."""
    name = re.match(r"[A-Za-z_][\w.-]*(?=[:\s])", text)
    return MASK if name is None else f"{name[0]}{MASK}"


def _parameters(given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """``name=value`` pairs. Raises UsageError for one without an equals sign."""
    pairs: list[tuple[str, str]] = []
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--param {_before_value(one)} is not a pair: write --param name=value")
        pairs.append((name.strip(), value))
    return tuple(pairs)
