"""What a metric says of itself, and what is taken for said where it says nothing, or too much."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import UsageError, registry
from assay.metrics.match import Match
from assay.model import Limits, MetricInfo, RunSettings
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
    variant = type("Variant", (Match,), {})
    assert MetricInfo.of(variant()) == MetricInfo.of(Match())
    own = type("Own", (Match,), {"name": "own", "meaning": "another"})
    assert MetricInfo.of(own()).said == "another"


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
