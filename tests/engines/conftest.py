from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def tasks_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A SQLite database with customers and orders, one name of which is not valid UTF-8."""
    path = tmp_path / "data" / "shop.sqlite"
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE orders(id INTEGER PRIMARY KEY, customer_id INTEGER, total REAL, note);
        INSERT INTO customer VALUES (1, 'Ada'), (2, 'Bob'), (3, CAST(x'43ff' AS TEXT));
        INSERT INTO orders VALUES (1, 1, 9.5, NULL), (2, 1, 20, x'00ff'), (3, 2, 1.25, 'gift');
        """
    )
    connection.close()
    return path


@pytest.fixture
def settled() -> Callable[..., Any]:
    """What an engine with a short limit makes of a short query, once no clock cuts it: a busy machine may, at first."""

    def execute(engine: Any, query: str) -> Any:
        for _ in range(50):
            if (execution := engine.execute(query)).status != "timeout":
                break
        return execution

    return execute


@pytest.fixture
def wait_for_exit() -> Callable[[int], bool]:
    """Whether a process ends, however long a busy machine takes for it."""
    import time

    def gone(pid: int) -> bool:
        end = time.monotonic() + 300
        while time.monotonic() < end:
            try:
                os.kill(pid, 0)
                if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                    return True
            except (ProcessLookupError, FileNotFoundError):
                return True
            time.sleep(0.02)
        return False

    return gone
