"""`assay doctor`: what works here, and what a URL can reach."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Annotated

import click
import msgspec

from assay._version import __version__
from assay.cli.options.declared import JsonFile, Only, Password, Token, duration_option
from assay.cli.parsing.parameters import argument, option
from assay.cli.verbs.doctor.facts import EngineFact, Extra, Findings, Machine, Package, Protection, Reached
from assay.errors import install_command
from assay.reports.text.plain import one_line, plural
from assay.settings import Settings

_UNREACHED = 2


def doctor(
    url: Annotated[
        list[str] | None,
        argument(metavar="URL...", help="Databases to check, e.g. sqlite:///shop.sqlite."),
    ] = None,
    *,
    timeout: Annotated[
        float, duration_option("--timeout", "Time limit for each request to a database.", least=0.1)
    ] = 10.0,
    untried: Annotated[bool, option("--untried", help="Skip the test of the limits.")] = False,
    settings: Annotated[Settings, Only(("user", "denodo_config"), helps={"user": "Database user. Prefer ASSAY_USER."})],
    password: Password = None,
    token: Token = None,
    json: JsonFile = None,
) -> None:
    """Check what is installed, which engines and extras work, which limits hold, and whether a database can be read.

    Example:  assay doctor

    A database: its version, what the account may do, its tables:  assay doctor sqlite:///shop.sqlite

    Each limit is tried by a query that runs into it. A database is connected to read-only; no secret is shown.
    """
    from assay.cli.crash import secrets_of
    from assay.cli.options.access import Access
    from assay.cli.output import check_targets, write_json
    from assay.cli.verbs.doctor import installed
    from assay.cli.verbs.doctor.facts import Findings
    from assay.cli.verbs.doctor.machine import lent, machine, protections
    from assay.cli.verbs.doctor.reach import reach
    from assay.reports.text.plain import visible

    check_targets({"json": json})
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
    if json is not None:
        write_json(json, msgspec.json.format(msgspec.json.encode(found), indent=2))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        text = findings_text(found, width=width)
        click.echo("\n".join(map(visible, text.splitlines())))
    if not all(one.reached for one in found.reached):
        raise click.exceptions.Exit(_UNREACHED)


_MOST_TABLES = 12
_MOST_QUERIES = 5
"""At most this many queries that get out are shown."""
_GIB = 2**30
_RIGHTS = {
    "file": "the file is opened read-only",
    "known": "the account may only read",
    "unknown": "what the account may do is not known: use one that may only read (assay docs warehouse)",
}


def findings_text(found: Findings, *, width: int | None) -> str:
    """All of it; ``width`` None wraps nothing."""
    parts: list[tuple[str, list[tuple[str, str]]]] = [
        (f"Assay {found.assay}", list(_machine(found.machine, found.packages))),
        ("Engines", [(", ".join(one.schemes), _engine(one)) for one in found.engines]),
        ("Extras", [(one.name, _extra(one)) for one in found.extras]),
        ("Limits on queries, each tried here", [(one.name, _protection(one)) for one in found.protections]),
        ("Support by the operating system", [(one.name, _protection(one)) for one in found.operating_system]),
        ("Plug-ins of other packages", [("", line) for line in found.plugins]),
        *((one.url, list(_reached(one))) for one in found.reached),
    ]
    return "\n\n".join(_part(head, rows, width) for head, rows in parts if rows) + "\n"


def _part(head: str, rows: Sequence[tuple[str, str]], width: int | None) -> str:
    first = max(len(name) for name, _ in rows)
    lines = [one_line(head, limit=500)]
    for name, text in rows:
        lead = f"  {name:<{first}}  " if first else "  "
        whole = one_line(text, limit=2_000)
        if width is None:
            lines.append(f"{lead}{whole}".rstrip())
        else:
            room = max(width, len(lead) + 20)
            wrapped = textwrap.wrap(
                whole, room, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False
            )
            lines += [line.rstrip() for line in wrapped] or [lead.rstrip()]
    return "\n".join(lines)


def _machine(machine: Machine, packages: Sequence[Package]) -> Iterator[tuple[str, str]]:
    yield "Python", machine.python
    memory = "" if machine.memory_bytes is None else f", {machine.memory_bytes / _GIB:.1f} GiB of memory"
    yield "machine", f"{machine.platform}, {plural(machine.cores, 'core')}{memory}"
    yield "temporary", f"{machine.temporary_bytes / _GIB:.1f} GiB free in {machine.temporary_folder}"
    there = [f"{one.name} {one.version}" for one in packages if one.fits]
    if there:
        yield "packages", ", ".join(there)
    for one in packages:
        if not one.fits:
            has = "is not installed" if one.version is None else f"is {one.version}"
            yield "wrong", f"{one.name} {has}: run  {install_command(one.name)}"


def _engine(one: EngineFact) -> str:
    if one.install is not None:
        return f"not installed: run  {one.install}"
    number = (one.version or "").partition("+")[0]
    return one.trouble or (f"works: {number}" if any(map(str.isdigit, number)) else "works")


def _extra(one: Extra) -> str:
    if one.works:
        versions = ", ".join(f"{package.name} {package.version}" for package in one.packages)
        return f"works: {one.gives} ({versions})"
    old = [f"{package.name} is {package.version}" for package in one.packages if package.version and not package.fits]
    why = f" ({', '.join(old)})" if old else ""
    return f"missing{why}: {one.gives}; run  {one.install}"


def _protection(one: Protection) -> str:
    return f"{'holds' if one.holds else 'DOES NOT HOLD'}: {one.tried[:1].lower()}{one.tried[1:]}"


def _reached(one: Reached) -> Iterator[tuple[str, str]]:
    if not one.reached:
        yield "not reached", one.trouble or ""
        yield from _grants(one)
        return
    yield "reached", ", by ".join(part for part in (one.server, one.engine) if part)
    yield from (("careful", sentence) for sentence in one.rights)
    if not one.rights:
        yield "rights", _RIGHTS["file" if one.read_only_file else "known" if one.rights_known else "unknown"]
    if one.outside is not None:
        yield from (("WRONG", f"a query gets out: {told}") for told in one.outside[:_MOST_QUERIES])
        if len(one.outside) > _MOST_QUERIES:
            yield "WRONG", f"{len(one.outside) - _MOST_QUERIES} more queries get out"
        if not one.outside:
            yield "outside", "no query that was tried reaches files, the network or extensions"
    if one.tables is None:
        yield "tables", "they cannot be listed"
    elif not one.tables:
        yield "tables", "none that this account may see"
    else:
        more = f" and {len(one.tables) - _MOST_TABLES:,} more" if len(one.tables) > _MOST_TABLES else ""
        yield "tables", f"{len(one.tables):,}: {', '.join(one.tables[:_MOST_TABLES])}{more}"
    yield from _grants(one)


def _grants(one: Reached) -> Iterator[tuple[str, str]]:
    """How to make an account that may only read, a line per statement."""
    yield from (("a reader" if place == 0 else "", f"{grant};") for place, grant in enumerate(one.reader_grants))
