"""Puts the helpers beside these tests on the path, and closes what they opened."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    from looking import close

    yield
    close()
