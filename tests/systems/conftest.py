"""What the tests of systems share: a case, quick options, and asking one question of a server."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from assay.model import Case, Prediction
from assay.systems.denodo import DenodoSystem
from assay.systems.options import SystemOptions
from assay.testing import DenodoEmulator
from assay.testing.server import Emulator

QUESTION = "How many clients are there?"


@pytest.fixture
def case() -> Case:
    return Case(id="7", question=QUESTION, database="harbour", context="Count the closed ones, too.")


@pytest.fixture
def quick() -> Callable[..., SystemOptions]:
    """Options with short waits between the tries of a question, and a long one for its answer."""

    def make(**given: object) -> SystemOptions:
        return SystemOptions(**{"timeout_s": 300.0, "retries": 2, "retry_wait_s": 0.01, **given})  # type: ignore[arg-type]

    return make


@pytest.fixture
def ask(case: Case, quick: Callable[..., SystemOptions]) -> Callable[..., Prediction]:
    """Ask the case of an emulator over HTTP and close the connections."""

    def one(server: DenodoEmulator, *, path: str = "", **options: object) -> Prediction:
        system = DenodoSystem.open(f"denodo:{path or server.api_url}", quick(**options))
        try:
            return system.answer(case)
        finally:
            system.close()

    return one


@pytest.fixture
def answers_when_waiting() -> Callable[[Emulator, int], None]:
    """Have a server that holds up its answers give them once so many questions wait at a time."""

    def give(server: Emulator, count: int) -> None:
        def release() -> None:
            while server.peak_concurrency < count and not server.stopping.wait(0.01):
                pass
            server.faults.clear()

        threading.Thread(target=release, daemon=True).start()

    return give
