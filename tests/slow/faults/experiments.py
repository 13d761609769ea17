"""The faults: each is brought upon real runs, and comes back as figures. `figures.py` prints all of them."""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from proxy import CutProxy

import commands
from assay.model import DatabaseUrl
from runs import SERVER_SCRIPT, Figures, Job, disturb, insert, make_job, workers

KILLED = ("ended its process, which was ended by SIGKILL", "its worker process was ended by SIGKILL")
AWAY = ("connection", "Connection", "server", "Server")
ROOM = "make room and run the same command again"


class NotHere(Exception):
    """Why a fault cannot be brought about on this machine."""


def sqlite_job(folder: Path, *, count: int = 150) -> Job:
    """A run on a SQLite file."""
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(folder / "data.sqlite")) as connection:
        connection.execute(SERVER_SCRIPT)
        connection.execute(insert())
        connection.commit()
    return make_job(folder, f"sqlite:///{folder / 'data.sqlite'}", count=count)


def killed_workers(folder: Path, seed: int, *, count: int = 400, times: int = 8) -> Figures:
    """Workers of a run are killed at random moments."""
    job = sqlite_job(folder, count=count)
    chance = random.Random(seed)
    killed = 0

    def kill(process: subprocess.Popen[str]) -> None:
        nonlocal killed
        threading.Event().wait(chance.random() * 0.05)
        # Three in a row that die while they start rightly end a run: who is killed has started.
        while process.poll() is None and Path("/proc/self/fd").exists():
            if found := workers(process, folder / "data.sqlite"):
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(found), signal.SIGKILL)
                    killed += 1
                return
            threading.Event().wait(0.005)

    done = disturb(job, kill, sorted(chance.sample(range(5, count - 20), times)))
    if not killed:
        raise NotHere("the processes of a run cannot be listed on this system")
    return job.figures(f"a worker is killed (seed {seed})", killed, done, KILLED, ("incorrect", "unscored"))


@contextmanager
def _postgres_database(server: Any, name: str) -> Iterator[str]:
    url = server.create(name, f"{SERVER_SCRIPT}; {insert()}")
    try:
        yield url
    finally:
        server.drop(name)


@contextmanager
def _mariadb_database(server: Any, name: str) -> Iterator[str]:
    def run(*statements: str) -> None:
        with closing(server.connect()) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    run(f"CREATE DATABASE {name}", f"USE {name}", f"CREATE USER {name} IDENTIFIED BY 'word'")
    run(f"GRANT SELECT ON {name}.* TO {name}", f"USE {name}")
    with closing(server.connect(database=name)) as connection, connection.cursor() as cursor:
        cursor.execute(SERVER_SCRIPT)
        cursor.execute(insert())
    try:
        yield f"mariadb+pymysql://{name}:word@{server.host}:{server.port}/{name}"
    finally:
        run(f"DROP DATABASE {name}", f"DROP USER {name}")


def restarted_postgres(folder: Path, server: Any) -> Figures:
    """PostgreSQL crashes and starts again, twice in one run."""
    if server.folder is None:
        raise NotHere("the PostgreSQL server is not ours to restart")
    with _postgres_database(server, "assay_restarted") as url:
        job = make_job(folder, url)
        done = disturb(job, lambda _: server.restart(), [20, 80])
        return job.figures("PostgreSQL is restarted", 2, done, AWAY)


_LIMIT_S, _STALL_S = 2.0, 6.0


def stalled(folder: Path, server: Any, kind: str) -> Figures:
    """The server stands still for longer than a query may take, while all cases share one gold query."""
    make: Callable[[Any, str], Any] = {"PostgreSQL": _postgres_database, "MariaDB": _mariadb_database}[kind]
    if kind == "PostgreSQL" and (server.folder is None or not Path("/proc/self/task").exists()):
        raise NotHere("the PostgreSQL server's processes are not ours to stop")
    with make(server, "assay_stalled") as url:
        job = make_job(folder, url, count=60, timeout_s=_LIMIT_S, gold="SELECT a, b FROM t WHERE a <= 1")

        def stall(_: object) -> None:
            stopped = server.processes()
            for number, process in ((number, one) for number in (signal.SIGSTOP, signal.SIGCONT) for one in stopped):
                with suppress(ProcessLookupError):
                    os.kill(process, number)
                if number == signal.SIGSTOP and process == stopped[-1]:
                    threading.Event().wait(_STALL_S)

        return job.figures(f"{kind} stands still", 1, disturb(job, stall, [5]), ())


def restarted_mariadb(folder: Path, server: Any) -> Figures:
    """MariaDB is killed and started again, twice in one run."""

    def restart(_: object) -> None:
        server.kill()
        server.start()

    with _mariadb_database(server, "assay_restarted") as url:
        job = make_job(folder, url, count=300)
        return job.figures("MariaDB is restarted", 2, disturb(job, restart, [20, 80]), AWAY)


def cut_connections(folder: Path, server: Any, kind: str) -> Figures:
    """Every connection of a run is cut, five times."""
    make: Callable[[Any, str], Any] = {"PostgreSQL": _postgres_database, "MariaDB": _mariadb_database}[kind]
    with make(server, "assay_cut") as url:
        parts = DatabaseUrl(text=url).reveal()
        host, _, port = parts.rpartition("@")[2].partition("/")[0].partition(":")
        cut = 0
        with CutProxy(host, int(port)) as proxy:
            job = make_job(folder, url.replace(f":{port}/", f":{proxy.port}/"))

            def strike(_: object) -> None:
                nonlocal cut
                cut += proxy.cut()

            done = disturb(job, strike, [10, 40, 70, 100, 120])
        return job.figures(f"a connection to {kind} is cut", cut, done, AWAY)


def full_disk(folder: Path, *, kilobytes: int) -> Figures:
    """A file system of its own fills while the run is written, and is then made larger. Root only."""
    job = sqlite_job(folder)
    job.run.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", job.run],
        capture_output=True,
        check=False,
        text=True,
    )
    if mounted.returncode:
        raise NotHere(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:

        def make_room() -> None:
            subprocess.run(["mount", "-o", "remount,size=16m", job.run], check=True, capture_output=True)

        return _filled(job, f"a disk of {kilobytes} KiB fills", make_room)
    finally:
        subprocess.run(["umount", job.run], check=True)


def full_quota(folder: Path, *, kilobytes: int) -> Figures:
    """No file of the run's may grow beyond a size, and then it may again."""
    limit = kilobytes * 1024

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return _filled(sqlite_job(folder), f"files end at {kilobytes} KiB", lambda: None, preexec_fn=lower)


def _filled(job: Job, fault: str, make_room: Callable[[], None], **options: Any) -> Figures:
    stopped = job.again(**options)
    assert stopped.returncode == 2, (stopped.returncode, stopped.stderr)
    assert ROOM in stopped.stderr, stopped.stderr
    assert "Traceback" not in stopped.stderr, stopped.stderr
    before = job.lines()
    make_room()
    done = job.again()
    assert job.lines()[: len(before)] == before, "what was finished stays as it was"
    if before and len(before) < job.count:
        assert f"{len(before)} of {job.count} cases were finished before and are kept" in done.stderr, done.stderr
    return job.figures(f"{fault}, at case {len(before)}", 1, done, ())


def two_runs(folder: Path) -> Figures:
    """While a run goes on, the same command is started again, and once more to overwrite it."""
    job = sqlite_job(folder, count=400)
    refused: list[str] = []

    def strike(process: subprocess.Popen[str]) -> None:
        process.send_signal(signal.SIGSTOP)  # or it may be done before the other command has started
        if process.poll() is not None:
            return
        try:
            refused.append(_refused([*job.arguments(), *(("--overwrite",) if refused else ())]))
        finally:
            process.send_signal(signal.SIGCONT)

    done = disturb(job, strike, [5, 40])
    assert all("another process is writing this run" in text for text in refused), refused
    return job.figures("another run writes the same folder", len(refused), done, ())


def _refused(arguments: list[str]) -> str:
    done = commands.run(arguments, env=os.environ)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr
