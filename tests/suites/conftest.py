"""Puts the helpers beside these tests on the path: a database, and a worker that builds suites in this process."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay import registry
from assay.model import ComparisonOptions, Limits
from assay.runs.workers.suite_worker import SuiteWorker, SuiteWorkerSettings, set_up

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """The URL of the database."""
    path = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(path)
    from small_shop import SCRIPT

    connection.executescript(SCRIPT)
    connection.close()
    return f"sqlite:///{path}"


@pytest.fixture
def worker() -> Iterator[SuiteWorker]:
    """Builds as `assay suite build` does, without a process of its own."""
    settings = SuiteWorkerSettings(engines=registry.engine_references(), limits=Limits(), options=ComparisonOptions())
    made = set_up(settings)
    yield made
    made.close()
