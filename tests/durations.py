"""Which tests are slow: those recorded as such, those that need a server, and all in folders named `slow`.

What is in such a folder (browsers, clusters, corpora) is imported with `-m slow` alone.

`python -m pytest -m "slow or not slow" --record-durations` writes to `durations.json` which tests take `SLOW_S` seconds
or more, of CPU time or of waiting: record on a machine that does nothing else. These have the mark `slow` from then on;
a new test is fast until it is recorded. `--most-cpu-s 1`, as in `.ci/run`, fails the run if a fast test takes more CPU
time. That of all processes below the test's counts too; a busy machine changes it little.

A test with the mark `journey` is fast whatever it takes: it goes through the real parts of its room.

A fixture of a module is divided among the tests that use it; one of the whole session (a server) belongs to no test.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

SLOW_S = 0.2
_FILE = Path(__file__).with_name("durations.json")
_SLOW_FOLDER = "slow"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_IMPORTED_EARLY = "duckdb pandas polars pyarrow sqlalchemy hypothesis sqlglot.optimizer httpx xlsxwriter lxml.etree"
"""What many tests import: otherwise the first of them would be measured with it."""
_SERVERS = frozenset({"postgres", "postgres_18", "mariadb", "clickhouse", "snowflake_emulator", "chromium"})
"""Fixtures that start a server."""
_Measured = dict[str, float]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("durations of tests")
    group.addoption("--record-durations", action="store_true", help=f"write which tests take {SLOW_S} CPU seconds")
    group.addoption("--most-cpu-s", type=float, metavar="S", help="fail a test without the mark slow that takes more")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.record_durations or config.option.most_cpu_s is not None:
        config.pluginmanager.register(_Meter(config), "durations-meter")


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    recorded = _recorded()
    for item in items:
        needs_server = item.get_closest_marker("server") or not _SERVERS.isdisjoint(getattr(item, "fixturenames", ()))
        is_journey = item.get_closest_marker("journey") is not None
        if needs_server or (_is_slow(item.nodeid, recorded) and not is_journey):
            item.add_marker(pytest.mark.slow)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import what `-m "not slow"` would leave out."""
    return True if collection_path.name == _SLOW_FOLDER and config.option.markexpr == "not slow" else None


def _is_slow(nodeid: str, recorded: Mapping[str, float]) -> bool:
    return _SLOW_FOLDER in nodeid.partition("::")[0].split("/") or recorded.get(nodeid, 0) >= SLOW_S


def _recorded() -> dict[str, float]:
    """The seconds of each test that was recorded as slow."""
    if not _FILE.is_file():
        return {}
    files: dict[str, dict[str, float]] = json.loads(_FILE.read_text(encoding="utf-8"))
    return {f"{file}::{test}": seconds for file, tests in files.items() for test, seconds in tests.items()}


class _Meter:
    """Measures each test of one process, and gathers what the processes of a parallel run measured."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._cpu_s: _Measured = defaultdict(float)
        self._users: dict[Any, list[str]] = defaultdict(list)
        self._wall_s: _Measured = {}
        self._test = ""
        self._apart_s = 0.0
        for name in _IMPORTED_EARLY.split():
            with suppress(ImportError):
                import_module(name)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        with suppress(ImportError):  # what hypothesis does once: it lists characters, and constants of the modules
            given, text = import_module("hypothesis").given, import_module("hypothesis.strategies").text
            given(text())(lambda _: None)()
        for item in session.items:
            known = getattr(item, "_fixtureinfo", None)
            for definitions in known.name2fixturedefs.values() if known is not None else ():
                self._users[definitions[-1]].append(item.nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._test, self._apart_s, before, start = item.nodeid, 0.0, cpu_s(), time.monotonic()
        try:
            return (yield)
        finally:
            self._cpu_s[item.nodeid] += cpu_s() - before - self._apart_s
            self._wall_s[item.nodeid] = time.monotonic() - start

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        before, apart_s = cpu_s(), self._apart_s
        try:
            return (yield)
        finally:
            taken_s = cpu_s() - before - (self._apart_s - apart_s)  # without the fixtures that it asked for
            self._apart_s += taken_s
            if fixturedef.scope != "session":
                users = self._users.get(fixturedef) or [self._test]
                for test in users:
                    self._cpu_s[test] += taken_s / len(users)

    def pytest_sessionfinish(self) -> None:
        if (output := getattr(self._config, "workeroutput", None)) is not None:
            output["durations"] = [dict(self._cpu_s), self._wall_s]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        cpu_times, wall_times = getattr(node, "workeroutput", {}).get("durations", ({}, {}))
        self._wall_s.update(wall_times)
        for test, seconds in cpu_times.items():
            self._cpu_s[test] += seconds

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        total_s, slow = sum(self._cpu_s.values()), _recorded()
        terminalreporter.section("CPU time")
        terminalreporter.write_line(f"{total_s:.0f} CPU seconds in {len(self._cpu_s)} tests")
        if self._config.option.record_durations:
            _write({test: max(seconds, self._wall_s.get(test, 0)) for test, seconds in self._cpu_s.items()})
            terminalreporter.write_line(f"written to {_FILE.name}")
        most_s = self._config.option.most_cpu_s
        for test in _over(self._cpu_s, most_s, slow):
            terminalreporter.write_line(f"{self._cpu_s[test]:.1f} s, more than {most_s:g} s: {test}")

    @pytest.hookimpl(trylast=True, specname="pytest_sessionfinish")
    def fail_slow_tests(self, session: pytest.Session) -> None:
        """Fail the run, as a failed test does."""
        is_worker = hasattr(self._config, "workeroutput")
        if not is_worker and not session.exitstatus and _over(self._cpu_s, self._config.option.most_cpu_s, _recorded()):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _over(cpu_s: _Measured, most_s: float | None, recorded: _Measured) -> list[str]:
    """The tests that took more and are not slow."""
    if most_s is None:
        return []
    return sorted(test for test, seconds in cpu_s.items() if seconds > most_s and not _is_slow(test, recorded))


def _write(measured: _Measured) -> None:
    """Keep the record of the tests that were not run."""
    files: dict[str, dict[str, float]] = defaultdict(dict)
    for nodeid, seconds in sorted({**_recorded(), **measured}.items()):
        file, _, test = nodeid.partition("::")
        if seconds >= SLOW_S and (_FILE.parents[1] / file).is_file() and not _is_slow(nodeid, {}):
            files[file][test] = round(seconds, 2)
    lines = [f"{json.dumps(file)}: {json.dumps(tests)}" for file, tests in files.items()]
    _FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def cpu_s() -> float:
    """The CPU seconds of this process and of all below it, also of those that have ended."""
    ticks, waiting = 0, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        with suppress(OSError):
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, stat[11:15]))  # its own in user and system mode, and those of its ended children
            for task in os.listdir(f"/proc/{pid}/task"):
                waiting += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return ticks / _TICKS_PER_S
