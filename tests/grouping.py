"""Tests that share what is dear run in one process: those of a server, and those of a module with a fixture of its own.

Which tests belong together only a process that has collected them knows. It writes that down, and the scheduler of
pytest-xdist reads it: the marker that xdist reads itself has no effect from pytest 9.2 on.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest

_SERVERS = ("postgres", "mariadb", "chromium")
"""Fixtures that start a server. All tests of one run in the same process, so that it starts once."""
_MANY_CASES = 20
_FILE = pytest.StashKey[Path]()


@pytest.hookimpl(tryfirst=True)  # before xdist tells the scheduler that this process has collected
def pytest_collection_finish(session: pytest.Session) -> None:
    place = getattr(session.config, "workerinput", {}).get("groups")
    if place is not None:
        groups = {item.nodeid: group for item in session.items if (group := _group(item)) is not None}
        long = [item.nodeid for item in session.items if _takes_long(item)]
        draft = Path(f"{place}.{os.getpid()}")
        draft.write_text(json.dumps([groups, long]), encoding="utf-8")
        draft.replace(place)  # each process writes the same


def _takes_long(item: pytest.Item) -> bool:
    """Whether it is to start before others of its kind: it is said to take long, or it tries many cases."""
    slow = item.get_closest_marker("slow")
    return bool(slow and slow.kwargs) or getattr(getattr(item, "obj", None), "cases", 1) >= _MANY_CASES


def _group(item: pytest.Item) -> str | None:
    """The name of the tests that belong in one process with this one; None where it may run in any."""
    marked = item.get_closest_marker("xdist_group")
    if marked is not None:
        return str(marked.args[0])
    scopes = {name: found[-1].scope for name, found in _fixtures(item).items()}
    server = next((name for name in _SERVERS if name in scopes), None)
    if server is None and {"module", "package"} & set(scopes.values()):
        return item.nodeid.partition("::")[0]
    return server


def _fixtures(item: pytest.Item) -> dict[str, Sequence[Any]]:
    """The fixtures that a test asks for, by name, as far as they are defined under this folder."""
    known = getattr(item, "_fixtureinfo", None)
    named = known.name2fixturedefs if known is not None else {}
    return {name: found for name, found in named.items() if found[-1].baseid.startswith("tests")}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One more than there are cores for the slow tests: many of them wait for a limit, a server or a process."""
    if config.option.markexpr != "slow" or not hasattr(os, "sched_getaffinity"):
        return None
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Iterator[Any]:
    """What a test printed or logged may hold half a character, with which one process could not tell another of it."""
    return spelt((yield))


def spelt(told: Any) -> Any:
    """The same with each half of a character written out: the parallel run would end at it."""
    if isinstance(told, str):
        return told.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(told, dict):
        return {spelt(name): spelt(value) for name, value in told.items()}
    if isinstance(told, list | tuple):
        return type(told)(map(spelt, told))
    return told


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process that is about to start where to write the groups."""
    if _FILE not in node.config.stash:
        number, place = tempfile.mkstemp(prefix="assay-groups-")
        os.close(number)
        node.config.stash[_FILE] = Path(place)
    node.workerinput["groups"] = str(node.config.stash[_FILE])


def pytest_unconfigure(config: pytest.Config) -> None:
    if (place := config.stash.get(_FILE, None)) is not None:
        place.unlink(missing_ok=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getvalue("dist") != "loadgroup" or (place := config.stash.get(_FILE, None)) is None:
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):  # type: ignore[misc]
        """Hands out groups whole, those of many tests first, then each other test, those that take long first.

        What is done is forgotten: its base looks through all that a process was ever given, after each test.
        """

        groups: ClassVar[dict[str, str]] = {}
        long: ClassVar[set[str]] = set()

        def schedule(self) -> None:
            with suppress(ValueError):  # nothing was collected
                groups, long = json.loads(place.read_text(encoding="utf-8"))
                self.groups.update(groups)
                self.long.update(long)
            super().schedule()

        def _assign_work_unit(self, node: Any) -> None:
            # One that takes long must not be the last of all, while the other processes have nothing left to do.
            if len(next(iter(self.workqueue.values()))) == 1 and self.long:
                there = [scope for scope in self.workqueue if scope in self.long]
                self.long.clear()
                for scope in there:
                    self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

        def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
            super().mark_test_complete(node, item_index, duration)
            given = self.assigned_work[node]
            scope = self._split_scope(self.registered_collections[node][item_index])
            if all(given[scope].values()):
                del given[scope]

        def _split_scope(self, nodeid: str) -> str:
            return self.groups.get(nodeid, nodeid)

    return Together(config, log)
