"""Puts the helpers beside these tests on the path: a database, and a worker that builds suites in this process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay import registry
from assay.model import ComparisonOptions, Limits
from assay.runs.workers.suite_worker import SuiteWorker, SuiteWorkerSettings, set_up
from running import sqlite_url

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """The URL of the database."""
    from small_shop import SCRIPT

    return sqlite_url(tmp_path / "shop.sqlite", SCRIPT)


@pytest.fixture
def worker() -> Iterator[SuiteWorker]:
    """Builds as `assay suite build` does, without a process of its own."""
    settings = SuiteWorkerSettings(engines=registry.engine_references(), limits=Limits(), options=ComparisonOptions())
    made = set_up(settings)
    yield made
    made.close()
