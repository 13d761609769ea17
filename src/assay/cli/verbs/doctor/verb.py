"""`assay doctor`: what works here, and what a URL can reach."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Annotated

import typer
from msgspec import to_builtins

from assay._version import __version__
from assay.cli.options.declared import Only, Password, Token
from assay.settings import Settings

_UNREACHED = 2


def doctor(
    url: Annotated[
        list[str] | None,
        typer.Argument(metavar="URL...", help="Databases to look at, such as sqlite:///shop.sqlite."),
    ] = None,
    *,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="For what a database is asked.")] = 10.0,
    untried: Annotated[
        bool, typer.Option("--untried", help="Try no limits: faster, and no process is started.")
    ] = False,
    settings: Annotated[Settings, Only(("user", "denodo_config"))],
    password: Password = None,
    token: Token = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON on standard output.")] = False,
) -> None:
    """Say what is installed, which engines and extras work, which limits hold here, and what a URL can reach.

    Example:  assay doctor

    A database: its version, what the account may do, its tables:  assay doctor sqlite:///shop.sqlite

    Each limit is tried by a query that runs into it. A database is connected to read-only; no secret is shown.
    """
    from assay.cli.crash import secrets_of
    from assay.cli.options.access import Access
    from assay.cli.verbs.doctor import installed
    from assay.cli.verbs.doctor.drawing import findings_text
    from assay.cli.verbs.doctor.facts import Findings
    from assay.cli.verbs.doctor.machine import lent, machine, protections
    from assay.cli.verbs.doctor.reach import reach
    from assay.reports.text.plain import visible

    secrets = (*secrets_of(()), *(one for one in (password, token) if one))  # before any is taken from the environment
    given = url or []
    if any(one.startswith("denodo+") for one in given):
        access = Access.gathered(user=settings.user, password=password, token=token, needed=True)
        given = [access.database(address, settings) or address for address in given]
    extras = installed.extras()
    found = Findings(
        assay=__version__,
        machine=machine(),
        packages=installed.core_packages(),
        extras=extras,
        engines=installed.engines(extras),
        plugins=installed.plugins(),
        protections=() if untried else protections(),
        operating_system=lent(),
        reached=tuple(reach(one, timeout_s=timeout, secrets=secrets) for one in given),
    )
    if as_json:
        typer.echo(json.dumps(to_builtins(found), indent=2, ensure_ascii=False))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        text = findings_text(found, width=width)
        typer.echo("\n".join(map(visible, text.splitlines())))
    if not all(one.reached for one in found.reached):
        raise typer.Exit(_UNREACHED)
