"""Runs built by hand, as fixtures."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

import assay
from assay import demo
from assay.model import Evidence, Limits, Run

sys.path.insert(0, str(Path(__file__).parent))

from handmade import (
    HOSTILE,
    SETTINGS,
    benchmark_run,
    broken_gold,
    hostile,
    make_run,
    right,
    timed_out,
    unanswered,
    vacuous,
    wrong,
)


@pytest.fixture
def small_run() -> Run:
    """One case of each outcome."""
    return make_run([right(), wrong(), broken_gold(), timed_out(), unanswered(), vacuous()], unmatched=["zz"])


@pytest.fixture
def hostile_run() -> Run:
    """A run in which every text from outside attacks the report."""
    settings = replace(SETTINGS, cases=HOSTILE, predictions=HOSTILE, database=HOSTILE, name=HOSTILE)
    return make_run([hostile(), right()], settings=settings, unmatched=[HOSTILE])


@pytest.fixture
def hostile_text() -> str:
    return HOSTILE


@pytest.fixture
def empty_run() -> Run:
    """A run without cases."""
    return make_run([])


@pytest.fixture
def all_failing_run() -> Run:
    """A run whose every prediction fails."""
    return make_run([replace(timed_out(), case=replace(timed_out().case, id=str(i))) for i in range(5)])


@pytest.fixture(scope="session")
def large_run() -> Run:
    return benchmark_run()


@pytest.fixture(scope="session")
def shop_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The bundled sample: a broken gold query, refused and unanswered cases, an ambiguous gold query."""
    database = f"sqlite:///{demo.build_database(tmp_path_factory.mktemp('shop'))}"
    limits = Limits(timeout_s=1.0)
    cases, predictions = demo.cases_path(), demo.predictions_path()
    return assay.evaluate(cases, predictions, databases=database, limits=limits, workers=1).record


@pytest.fixture(scope="session")
def sdmx_run() -> Run:
    """The bundled sample of selections."""
    cases, predictions = demo.sdmx_path("cases.yaml"), demo.sdmx_path("predictions.jsonl")
    return assay.evaluate_selections(cases, predictions, structures=[demo.sdmx_path("structures.xml")]).record


@pytest.fixture
def build_run() -> Callable[..., Run]:
    """``make_run``, for tests that need a run of their own."""
    return make_run


@pytest.fixture
def right_case() -> Evidence:
    return right()


@pytest.fixture
def wrong_case() -> Evidence:
    return wrong()
