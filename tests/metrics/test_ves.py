"""Efficiency: the guide's and BIRD's reward, measured for right answers alone, and said to be noisy where it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from assay import Run, evaluate, registry
from assay.errors import plural
from assay.metrics.ves import BirdRves, Ves, reward, without_outliers
from assay.model import PairTiming
from many_cases import each


def _timings(*pairs: tuple[float, float]) -> list[PairTiming]:
    return [PairTiming(gold_s=gold, predicted_s=predicted) for gold, predicted in pairs]


def test_the_guides_worked_example() -> None:
    result = Ves().timed(_timings((0.12, 0.15), (0.13, 0.14), (0.11, 0.16)))
    assert result.score.value == 0.75
    assert result.score.detail.startswith("the gold query's time is 0.81 [")


@each(
    ("ratio", "value"),
    [
        (9.0, 1.25),
        (2.0, 1.25),
        (1.99, 1.0),
        (1.0, 1.0),
        (0.99, 0.75),
        (0.5, 0.75),
        (0.25, 0.5),
        (0.24, 0.25),
        (0, 0.25),
    ],
)
def test_the_reward_scale(ratio: float, value: float) -> None:
    assert reward(ratio) == value


def test_noise_that_could_change_the_reward_is_flagged() -> None:
    assert Ves().timed(_timings((1.0, 1.05), (1.05, 1.0), (1.0, 1.0))).noisy
    assert not Ves().timed(_timings((1.5, 1.0), (1.51, 1.0), (1.49, 1.0))).noisy
    assert Ves().timed(_timings((1.05, 1.0), (1.0, 1.05))).noisy
    assert not Ves().timed(_timings((1.5, 1.0), (1.51, 1.0))).noisy
    assert not Ves().timed(_timings((1.0, 1.0))).noisy


@pytest.mark.parametrize(
    ("ratios", "shown"), [([1.5], "1.50"), ([1.6, 1.4], "1.50 [0.23, 2.77]"), ([1.5, 1.6, 1.4], "1.50 [1.25, 1.75]")]
)
def test_a_mean_ratio_has_an_interval_from_two_measurements_on(ratios: list[float], shown: str) -> None:
    found = Ves().timed(_timings(*((ratio, 1.0) for ratio in ratios))).score.detail
    assert (
        found == f"the gold query's time is {shown} times the prediction's, over {plural(len(ratios), 'measurement')}"
    )


def test_birds_outlier_rule() -> None:
    ratios = [1.0] * 20 + [50.0]
    assert without_outliers(ratios) == [1.0] * 20
    assert without_outliers([1.0, 1.0]) == [1.0, 1.0]
    result = BirdRves().timed(_timings(*[(1.5, 1.0)] * 20, (50.0, 1.0)))
    assert result.score.value == 100.0
    assert BirdRves().timed(_timings((0.6, 1.0))).score.value == pytest.approx(100 * math.sqrt(0.75))


@pytest.fixture
def run(make_sqlite: Callable[..., Path], tmp_path: Path) -> Callable[[], Run]:
    database = make_sqlite("CREATE TABLE t(a INTEGER, b INTEGER); INSERT INTO t VALUES (1, 2), (3, 4), (1, 2);")
    cases = [
        {"id": name, "question": name, "gold_sql": gold}
        for name, gold in (
            ("right", "SELECT a FROM t"),
            ("swapped", "SELECT a, b FROM t"),
            ("duplicates", "SELECT a FROM t"),
            ("wrong", "SELECT a FROM t"),
            ("broken gold", "SELECT nope FROM t"),
        )
    ]
    predictions = {
        "right": "SELECT a FROM t WHERE 1 = 1",
        "swapped": "SELECT b, a FROM t",
        "duplicates": "SELECT DISTINCT a FROM t",
        "wrong": "SELECT b FROM t",
        "broken gold": "SELECT a FROM t",
    }
    return lambda: evaluate(
        cases,
        predictions,
        databases=f"sqlite:///{database}",
        metrics=["match", "ves", "bird_rves"],
        timing_iterations=4,
        output=tmp_path / "run",
        workers=2,
    )


def test_right_answers_are_timed_and_others_score_zero(run: Callable[[], Run]) -> None:
    by_id = {evidence.case.id: evidence for evidence in run().evidence}
    ves = {name: evidence.score("ves") for name, evidence in by_id.items()}
    assert ves["right"].value in (0.25, 0.5, 0.75, 1.0, 1.25)
    assert len(by_id["right"].pair_timings) >= 4
    assert all(timing.gold_s > 0 and timing.predicted_s > 0 for timing in by_id["right"].pair_timings)
    values = {name: score.value for name, score in ves.items() if score is not None}
    assert (values["swapped"], values["duplicates"], values["wrong"], values["broken gold"]) == (0.0, 0.0, 0.0, None)
    # BIRD takes duplicates for right, so that pair is timed for its metric alone.
    rves = by_id["duplicates"].score("bird_rves")
    assert rves.value > 0
    assert by_id["wrong"].pair_timings == ()


def test_what_was_timed_is_kept_and_not_timed_again(run: Callable[[], Run]) -> None:
    first, second = run(), run()
    assert [evidence.pair_timings for evidence in first.evidence] == [
        evidence.pair_timings for evidence in second.evidence
    ]
    assert first.aggregates == second.aggregates


def test_both_metrics_are_registered_but_not_in_a_run_that_names_none() -> None:
    assert {registry.metric("ves").name, registry.metric("bird_rves").name} == {"ves", "bird_rves"}
    assert not {"ves", "bird_rves"} & set(registry.default_metrics())
