"""What the tests of the judge share: a judge over real HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from assay.llm_judge import JudgeSettings, QueryJudge
from assay.model import Secret
from assay.systems.chat.model import HttpChatModel
from assay.systems.options import SystemOptions
from assay.testing import ChatEmulator

Asking = Callable[..., QueryJudge]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "DIAL_API_KEY", "ASSAY_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def asking() -> Iterator[Asking]:
    """Open a judge on an emulated server, with short waits; closed after the test."""
    with ExitStack() as stack:

        def make(server: ChatEmulator, *, token: str | None = None, retries: int = 1, **settings: Any) -> QueryJudge:
            options = SystemOptions(
                parameters=(("model", "judge-1"),),
                timeout_s=300.0,
                retries=retries,
                retry_wait_s=0.01,
                token=None if token is None else Secret(token),
            )
            model = HttpChatModel.open(f"chat:{server.openai_url}", options)
            return stack.enter_context(QueryJudge(model, JudgeSettings(**settings)))

        yield make
