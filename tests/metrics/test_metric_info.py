"""What a metric says of itself, and what is taken for said where it says nothing, or too much."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import Run, UsageError, evaluate, registry
from assay.errors import plural
from assay.metrics.match import Match
from assay.metrics.ves import BirdRves, Ves, reward, without_outliers
from assay.model import Limits, MetricInfo, PairTiming, RunSettings
from assay.runs.aggregate.metric_infos import VERDICT, common_metric, info_of, leading_metric
from assay.runs.store.codec import decode_value, encode_value
from many_cases import each

OURS = [name for name, entry in registry.registered("assay.metrics").items() if entry.module.startswith("assay.")]


def _metric(**said: object) -> object:
    return type("Theirs", (), {"name": "theirs", **said})()


def _settings(*names: str, infos: tuple[MetricInfo, ...] = ()) -> RunSettings:
    return RunSettings(cases="", predictions="", database="", metrics=names, limits=Limits(), metric_infos=infos)


def test_a_metric_that_says_nothing_has_sound_defaults() -> None:
    assert MetricInfo.of(_metric()) == MetricInfo(name="theirs")
    assert MetricInfo.of(_metric(binary=True)) == MetricInfo(name="theirs", binary=True, lowest=0.0, highest=1.0)
    assert MetricInfo.of(_metric(timed=lambda timings: None)).timed


@given(
    info=st.builds(
        MetricInfo,
        name=st.text(min_size=1),
        label=st.text(),
        meaning=st.text(),
        heading=st.text(),
        lowest=st.none() | st.floats(-1e9, 0),
        highest=st.none() | st.floats(0, 1e9),
        higher_is_better=st.booleans(),
        guide_column=st.none() | st.text(),
    )
)
def test_what_is_said_is_taken_over_and_survives_the_file_of_a_run(info: MetricInfo) -> None:
    said = {name: getattr(info, name) for name in info.__struct_fields__ if name != "timed"}
    assert MetricInfo.of(_metric(**said)) == info
    settings = _settings(info.name, infos=(info,))
    assert info_of(info.name, decode_value(encode_value(settings), RunSettings)) == info


@each(
    "said",
    [
        {"name": None},
        {"label": 3},
        {"meaning": ["a"]},
        {"binary": "yes"},
        {"highest": "1"},
        {"highest": float("nan")},
        {"lowest": float("-inf")},
        {"lowest": 2, "highest": 1},
        {"higher_is_better": None},
        {"default_place": 1.5},
    ],
)
def test_what_cannot_be_is_told_with_the_metric(said: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"the metric ('theirs'|None) "):
        MetricInfo.of(_metric(**said))


def test_what_is_said_of_a_name_is_not_said_of_another_that_inherits_it() -> None:
    heir = type("Heir", (Match,), {"name": "heir"})
    for info in (MetricInfo.of(heir()), MetricInfo.of(heir)):
        assert (info.meaning, info.heading, info.default_place) == ("", "", None)
        assert (info.binary, info.highest) == (True, 1.0)
    assert MetricInfo.of(type("Variant", (Match,), {})()) == MetricInfo.of(Match())
    assert MetricInfo.of(type("Own", (Match,), {"name": "own", "meaning": "another"})()).said == "another"


def test_ours_say_all_of_it_under_the_name_they_are_registered_by() -> None:
    infos = {name: MetricInfo.of(registry.metric(name)) for name in OURS}
    assert {name: info.name for name, info in infos.items()} == {name: name for name in OURS}
    assert all(info.meaning and info.lowest is not None and info.highest is not None for info in infos.values())
    places = [info.default_place for info in infos.values() if info.default_place is not None]
    assert sorted(places) == list(range(1, len(places) + 1))
    assert registry.default_metrics()[0] == VERDICT[0]


def test_an_older_run_is_told_by_what_is_installed_and_the_rest_by_its_name() -> None:
    settings = _settings("match", "theirs")
    assert info_of("match", settings) == MetricInfo.of(Match())
    assert info_of("theirs", settings).said == ""
    said = MetricInfo(name="match", meaning="as it was then")
    assert info_of("match", _settings("match", infos=(said,))) == said


@pytest.mark.parametrize(
    ("metrics", "leading"),
    [
        (("bird_ex", "match"), "match"),
        (("macro_recall", "exact_match"), "exact_match"),
        (("bird_ex", "theirs"), "bird_ex"),
    ],
)
def test_one_place_says_which_metric_leads(metrics: tuple[str, ...], leading: str) -> None:
    assert leading_metric(metrics) == leading
    assert common_metric([_settings(*metrics), _settings(*metrics)]) == leading


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
    assert without_outliers([1.0] * 20 + [50.0]) == [1.0] * 20
    assert without_outliers([1.0, 1.0]) == [1.0, 1.0]
    assert BirdRves().timed(_timings(*[(1.5, 1.0)] * 20, (50.0, 1.0))).score.value == 100.0
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
    assert by_id["duplicates"].score("bird_rves").value > 0
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
