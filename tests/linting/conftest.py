"""The helpers beside these tests, and one database for all that only read it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.linting.gold import GoldDatabase

if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def songs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoldDatabase]:
    from golds import database

    with database(tmp_path_factory.mktemp("songs")) as opened:
        yield opened
