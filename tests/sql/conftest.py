"""Make the helpers beside these tests importable."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def sqlite(request: pytest.FixtureRequest) -> Iterator[Any]:
    """What SQLite reads (`name_oracles`), on the tables of `odd_names`."""
    from name_oracles import opened
    from odd_names import TABLES

    with opened(request, "sqlite", TABLES) as oracle:
        yield oracle
