"""Checks in several threads: each has a worker of its own, and none waits for the query of another."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import assay
from assay.api import single
from assay.engines.pool.spawn import default_workers
from assay.model import Limits
from running import sqlite_url

ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"


@pytest.fixture
def database(tmp_path: Path) -> str:
    return sqlite_url(tmp_path / "t.sqlite", "CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)")


@pytest.mark.parametrize("function", [assay.check, assay.diagnose])
def test_no_check_waits_for_endless_queries_of_other_threads(function: Callable[..., object], database: str) -> None:
    limits = Limits(timeout_s=6)
    count = default_workers() + 1
    with ThreadPoolExecutor(count) as threads:
        endless = [
            threads.submit(assay.check, ENDLESS, "SELECT 1", database=database, limits=limits) for _ in range(count)
        ]
        for number in range(5):
            function(f"SELECT {number}", f"SELECT {number}", database=database, limits=limits)
        assert not any(one.done() for one in endless)
        assert [one.result().outcome for one in endless] == ["incorrect"] * count


def test_every_thread_gets_the_verdict_of_its_own_pair(database: str) -> None:
    def outcome(number: int) -> str:
        gold = f"SELECT {number}, count(*) FROM t" if number % 7 else ENDLESS
        return assay.check(f"SELECT {number}, 2", gold, database=database, limits=Limits(timeout_s=0.3)).outcome

    with ThreadPoolExecutor(12) as threads:
        assert Counter(threads.map(outcome, range(70))) == {"correct": 60, "unscored": 10}
    assert len(single._POOLS._waiting) <= max(single._LEAST_KEPT, default_workers())
    assert single._POOLS._busy == 0


def test_calls_one_after_the_other_use_one_worker(database: str) -> None:
    before = _workers(database)
    assert len(before) == 1
    for _ in range(3):
        assert _workers(database) == before
    thread = threading.Thread(target=lambda: assay.check("SELECT 1", "SELECT 1", database=database))
    thread.start()
    thread.join()
    assert _workers(database) == before


def _workers(database: str) -> set[int]:
    """The worker of a call with the usual limits."""
    assay.check("SELECT 1", "SELECT 1", database=database)
    return set(single._POOLS._waiting[-1][1].pids)


def test_a_call_with_a_mistake_gives_its_worker_back(database: str) -> None:
    for _ in range(3):
        with pytest.raises(assay.errors.InputError):
            assay.check("SELECT 1", "SELECT 1", database=database + ".missing")
        assert single._POOLS._busy == 0


FIRST_READS = """
    import sys, threading
    from assay.errors import RunError
    from assay.model import Evidence
    from assay.runs.store.codec import decode_value
    sys.setswitchinterval(1e-6)
    refused, ready = [], threading.Barrier(8)
    def first_read():
        ready.wait()
        try:
            decode_value(b'{"case": {"id": "a"}}', Evidence)
        except RunError:
            refused.append("refused")
    threads = [threading.Thread(target=first_read) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    print(len(refused))
"""


def test_threads_that_read_their_first_evidence_at_once_do_not_crash_the_process() -> None:
    """msgspec alone crashed in about half of such processes."""
    command = [sys.executable, "-c", textwrap.dedent(FIRST_READS)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    ended = [(process.communicate(timeout=120)[0], process.returncode) for process in processes]
    assert ended == [("8\n", 0)] * 4


SCRIPT = """
    import os, signal, sys, threading, time
    import assay
    from assay.model import Limits
    database, how = sys.argv[1:]
    def check(query="SELECT 1"):
        return assay.check(query, "SELECT 1", database=database, limits=Limits(timeout_s=20)).outcome
    endless = lambda: check({endless!r})
    threads = [threading.Thread(target=check) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    if how == "fork":
        if pid := os.fork():
            status = os.waitpid(pid, 0)[1]
            assert check() == "correct"
            print("status", status)
        else:
            assert check() == "correct"
    elif how == "interrupt":
        threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            endless()
        except KeyboardInterrupt:
            print("interrupted", check())
    else:
        threading.Thread(target=endless, daemon=True).start()
        time.sleep(0.5)
        print("end")
"""
EXPECTED = {"fork": "status 0\n", "interrupt": "interrupted correct\n", "exit": "end\n"}


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and signals")
@pytest.mark.parametrize("how", EXPECTED)
def test_a_fork_an_interrupt_and_an_exit_leave_nothing_behind(how: str, database: str) -> None:
    code = textwrap.dedent(SCRIPT).format(endless=ENDLESS)
    with subprocess.Popen(
        [sys.executable, "-c", code, database, how],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        out, errors = process.communicate(timeout=120)
        assert (process.returncode, out) == (0, EXPECTED[how]), errors
        assert how == "exit" or not errors  # a daemon thread is told that its worker has ended
        assert _has_ended(process.pid)


def _has_ended(group: int) -> bool:
    """Whether no process of the group is left, within some seconds."""
    for _ in range(200):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
