"""Print what becomes of runs upon which faults are brought.

    python tests/slow/faults/figures.py

Workers killed with several seeds, servers restarted, connections cut, disks that fill at several
moments, several runs in one folder. What cannot be brought about here is named with its reason.
Exits with 1 where a case was lost.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parents[1]), str(_HERE.parents[1] / "engines")]

import experiments  # noqa: E402
import mariadb_server  # noqa: E402

import servers  # noqa: E402
from runs import Figures  # noqa: E402

Experiment = Callable[[Path], Figures]


def everything(stack: ExitStack) -> Iterator[tuple[str, Experiment]]:
    """Each fault's name and what brings it about. Servers are started when their turn comes."""
    for seed in range(5):
        yield "a worker is killed", lambda folder, seed=seed: experiments.killed_workers(folder, seed)
    try:
        postgres = stack.enter_context(servers.postgres_server())
    except servers.NoServer as reason:
        print(f"PostgreSQL: not tried: {reason}")
    else:
        yield "PostgreSQL is restarted", lambda folder: experiments.restarted_postgres(folder, postgres)
        yield "connections are cut", lambda folder: experiments.cut_connections(folder, postgres, "PostgreSQL")
        yield "PostgreSQL stands still", lambda folder: experiments.stalled(folder, postgres, "PostgreSQL")
    try:
        mariadb = stack.enter_context(closing(mariadb_server.MariadbServer()))
    except mariadb_server.Unavailable as reason:
        print(f"MariaDB: not tried: {reason}")
    else:
        yield "MariaDB is restarted", lambda folder: experiments.restarted_mariadb(folder, mariadb)
        yield "connections are cut", lambda folder: experiments.cut_connections(folder, mariadb, "MariaDB")
        yield "MariaDB stands still", lambda folder: experiments.stalled(folder, mariadb, "MariaDB")
    for size in (8, 64, 128):
        yield "a disk fills", lambda folder, size=size: experiments.full_disk(folder, kilobytes=size)
    for size in (1, 30, 100):
        yield "files may not grow", lambda folder, size=size: experiments.full_quota(folder, kilobytes=size)
    yield "several runs in one folder", experiments.two_runs


def main() -> int:
    """Bring each fault about and print its figures, and their sum."""
    print(f"{'fault':52} {'struck':>6} {'tried':>6} {'survived':>8} {'explained':>9} {'lost':>5}")
    found: list[Figures] = []
    with ExitStack() as stack:
        for name, experiment in everything(stack):
            try:
                with tempfile.TemporaryDirectory() as folder:
                    found.append(experiment(Path(folder)))
            except experiments.NotHere as reason:
                print(f"{name}: not tried: {reason}")
                continue
            _print(found[-1])
    total = Figures(
        fault="all",
        faults=sum(each.faults for each in found),
        tried=sum(each.tried for each in found),
        survived=sum(each.survived for each in found),
        explained=sum(each.explained for each in found),
    )
    _print(total)
    return int(any(each.lost for each in found))


def _print(each: Figures) -> None:
    print(
        f"{each.fault:52} {each.faults:6} {each.tried:6} {each.survived:8} {each.explained:9} {each.lost:5}", flush=True
    )


if __name__ == "__main__":
    raise SystemExit(main())
