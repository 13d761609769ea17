"""What the tests of the command line share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.testing import DenodoEmulator, example

if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def workbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled example's questions."""
    return example.write_workbook(tmp_path_factory.mktemp("input") / example.WORKBOOK)


@pytest.fixture
def server() -> Iterator[DenodoEmulator]:
    """A new one for each test, on which every question is answered."""
    from processes import emulator

    with emulator() as running:
        yield running
