"""Puts the helpers beside these tests on the path, and scores pairs of queries without a worker for each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from assay import registry
from assay.engines.pool.executor import Executor
from assay.model import Case, ComparisonOptions, DatabaseUrl, Limits, Prediction, Verdict
from assay.scoring.queries.scorer import QueryScorer


@pytest.fixture
def verdict() -> Iterator[Callable[[Path, str, str], Verdict]]:
    """The verdict on a prediction, given a SQLite file, the gold query and the prediction."""
    executor = Executor(engines=registry.engine_references(), limits=Limits())
    scorer = QueryScorer(executor, [], ComparisonOptions(near_misses=False))

    def score(path: Path, gold: str, prediction: str) -> Verdict:
        case = Case(id="1", question="", golds=(gold,))
        url = DatabaseUrl(text=f"sqlite:///{path.as_posix()}")
        return scorer.score(case, Prediction(case_id="1", query=prediction), url).evidence.verdict

    yield score
    executor.close()
