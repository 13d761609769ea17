"""Answers over HTTP that are endless, packed to burst, dripping or broken: a message each, in bounded memory."""

from __future__ import annotations

import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from assay.engines.denodo.engine import DenodoHttpEngine
from assay.model import Blame, Case, DatabaseUrl, Limits
from assay.registry import open_system
from assay.systems.options import SystemOptions
from bad_server import (
    BAD_GATEWAY,
    HTML,
    NO_JSON,
    Answer,
    BadServer,
    cut,
    drip_body,
    drip_head,
    endless,
    garbage,
    packed,
    reset,
    whole,
)

MIB = 1 << 20
SYSTEMS = ("denodo:", "chat:", "")
CASE = Case(id="1", question="how many?", golds=("SELECT 1",))

LARGE: dict[str, tuple[Answer, str]] = {
    "endless": (endless, "is larger than 64 MiB"),
    "packed": (packed(1), "is larger than 64 MiB"),
    "packed twice": (packed(2), "has the encoding 'gzip, gzip' instead of gzip, deflate"),
}
BROKEN: dict[str, tuple[Answer, str, Blame]] = {
    "drip of the body": (drip_body, "not complete within 0.5 s", "system"),
    "drip of the head": (drip_head, "no answer within 0.5 s", "system"),
    "reset": (reset, "the connection broke", "network"),
    "too long a length": (cut(b"{}", 100), "the connection broke", "network"),
    "too short a length": (cut(b'{"sql_query": "SELECT 1"}', 9), "is not JSON", "system"),
    "HTML": (HTML, "is not JSON", "system"),
    "bad gateway": (BAD_GATEWAY, "answers 502", "network"),
    "invalid JSON": (NO_JSON, "is not JSON", "system"),
    "no HTTP": (garbage, "the connection broke", "network"),
}


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a prompt that shows no database."""
    (tmp_path / "prompt.txt").write_text("{question}\n{context}")
    monkeypatch.chdir(tmp_path)


def asked(url: str, **options: object) -> tuple[str | None, Blame | None, str]:
    """The query, and of a failure the blame and what it says."""
    given: dict[str, Any] = {"retries": 1, "retry_wait_s": 0.01, "max_wait_s": 0.01, **options}
    if url.startswith("chat"):
        given["parameters"] = (("model", "m"),)
        given["prompt"] = "prompt.txt"
    with closing(open_system(url, SystemOptions(**given))) as system:
        answer = system.answer(CASE)
    failure = answer.failure
    return answer.query, None if failure is None else failure.blame, "" if failure is None else failure.message


@pytest.mark.parametrize("kind", SYSTEMS)
@pytest.mark.parametrize(("answer", "message"), LARGE.values(), ids=list(LARGE))
def test_a_body_that_is_too_large_costs_a_message_and_little_memory(kind: str, answer: Answer, message: str) -> None:
    with BadServer(answer) as server:
        tracemalloc.start()
        try:
            query, blame, said = asked(f"{kind}{server.url}")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (query, blame) == (None, "system")
    assert message in said
    assert peak < 200 * MIB


@pytest.mark.parametrize("kind", SYSTEMS)
@pytest.mark.parametrize(("answer", "message", "blame"), BROKEN.values(), ids=list(BROKEN))
def test_a_broken_answer_is_named_and_blamed(kind: str, answer: Answer, message: str, blame: Blame) -> None:
    with BadServer(answer) as server:
        query, found, said = asked(f"{kind}{server.url}", timeout_s=0.5 if answer in (drip_body, drip_head) else 20.0)
    assert (query, found) == (None, blame)
    assert message in said


@pytest.mark.parametrize("kind", SYSTEMS)
def test_a_body_of_millions_of_empty_lists_is_not_made_into_lists(kind: str) -> None:
    with BadServer(whole(b'{"x": [' + b"[]," * 5_000_000 + b"[]]}")) as server:
        assert "has more than 4,000,000 values" in asked(f"{kind}{server.url}")[2]


CATALOG: dict[str, tuple[Answer, str, str]] = {
    "endless": (endless, "exceeds the limit of", "truncated"),
    "packed": (packed(1), "exceeds the limit of", "truncated"),
    "packed twice": (packed(2), "instead of gzip, deflate", "unreadable_database"),
    "drip of the body": (drip_body, "limit", "timeout"),
    "drip of the head": (drip_head, "limit", "timeout"),
}


@pytest.mark.parametrize(("answer", "message", "kind"), CATALOG.values(), ids=list(CATALOG))
def test_a_catalog_that_sends_without_end_costs_a_message_and_little_memory(
    answer: Answer, message: str, kind: str
) -> None:
    limits = Limits(timeout_s=1.0 if kind == "timeout" else 60.0, max_result_bytes=10 * MIB)
    with BadServer(answer) as server:
        url = DatabaseUrl.parse(f"denodo+{server.url}/denodo-data-catalog?serverId=1")
        tracemalloc.start()
        try:
            with closing(DenodoHttpEngine.open(url, limits)) as engine:
                execution = engine.execute("SELECT 1 AS a FROM t")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert execution.failure is not None
    assert message in execution.failure.message
    assert execution.failure.kind == kind
    assert peak < 100 * MIB
