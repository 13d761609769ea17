"""A test that leaves a SQLite connection open fails, and says where that was opened.

Python itself tells only from 3.13 on, and only when memory is tidied: in whichever test that falls.
"""

from __future__ import annotations

import itertools
import sqlite3
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

_connect = sqlite3.connect
_numbers = itertools.count()
_open: dict[int, traceback.StackSummary] = {}
"""Where each connection that is open, or that was lost unclosed, was opened."""
_FRAMES = 12
_shared = 0
"""How many fixtures that outlive a test are being set up: what they open is theirs to close."""


class _Connection(sqlite3.Connection):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._number = next(_numbers)
        if not _shared:
            _open[self._number] = traceback.StackSummary.extract(
                traceback.walk_stack(None), limit=_FRAMES, lookup_lines=False
            )

    def close(self) -> None:
        super().close()
        _open.pop(self._number, None)


def _connect_noted(*arguments: Any, **options: Any) -> sqlite3.Connection:
    return _connect(*arguments, **{"factory": _Connection, **options})


def pytest_configure() -> None:
    sqlite3.connect = _connect_noted  # type: ignore[assignment]


def pytest_unconfigure() -> None:
    sqlite3.connect = _connect


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
    global _shared  # noqa: PLW0603 - a fixture asks for others while it is set up
    outlives = fixturedef.scope != "function"
    _shared += outlives
    try:
        return (yield)
    finally:
        _shared -= outlives


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """All that a test alone had is closed by now."""
    try:
        return (yield)
    finally:
        left = list(_open.values())
        _open.clear()
        if left:
            pytest.fail(f"{len(left)} SQLite connections left open, the first by\n{_told(left[0])}", pytrace=False)


def _told(stack: traceback.StackSummary) -> str:
    """The frames from the innermost on, as far as they are the test's and not of what runs it."""
    within = itertools.takewhile(lambda frame: "pluggy" not in frame.filename, stack)
    return "".join(traceback.StackSummary.from_list([one for one in within if one.filename != __file__]).format())
