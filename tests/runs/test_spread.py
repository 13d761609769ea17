"""How long answers and queries took: what counts as a time, how it is binned, and what is counted once."""

from __future__ import annotations

import math
import statistics

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.model import Aggregates, Case, Evidence, Execution, Prediction, TurnAnswer, Verdict
from assay.runs.aggregate.spread import spread_of, spreads_of
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.aggregate.totals import aggregate
from assay.runs.store.codec import decode_value, encode_value


def item(
    name: str, *, gold_s: float | None = None, query: str = "SELECT 1", timings: tuple[tuple[str, float], ...] = ()
) -> Evidence:
    return Evidence(
        case=Case(id=name, question="?", database="shop"),
        prediction=Prediction(case_id=name, query="SELECT 2", timings_s=timings),
        verdict=Verdict(outcome="correct", reason=""),
        gold_executions=(Execution(query=query, status="rows", wall_time_s=gold_s),),
    )


@given(st.lists(st.floats(min_value=0.0, max_value=1e9), min_size=1, max_size=60))
def test_bins_are_neighbours_that_hold_every_time(times: list[float]) -> None:
    spread = spread_of("answer", times)
    assert sum(one.count for one in spread.bins) == spread.n == len(times)
    for one, after in zip(spread.bins, spread.bins[1:], strict=False):
        assert one.high_s == after.low_s
    for one in spread.bins:
        assert one.count == sum(one.low_s <= time < one.high_s for time in times)
    assert spread.bins[0].count
    assert spread.bins[-1].count
    assert spread.max_s == max(times)
    assert math.isclose(spread.median_s, statistics.median(times))


def test_percentiles_are_those_of_other_programs_and_only_times_count() -> None:
    spread = spread_of("answer", [float(value) for value in range(1, 11)])
    assert (spread.median_s, round(spread.p90_s, 9), spread.mean_s) == (5.5, 9.1, 5.5)  # numpy.percentile(..., 90)
    assert spread_of("answer", [None, math.nan, math.inf, -1.0]) is None
    spread = spread_of("answer", [None, 0.0, math.nan, 2.0])
    assert (spread.n, spread.max_s, spread.bins[0].low_s) == (2, 2.0, 0.0)


def test_an_answers_time_is_the_total_or_else_its_latency() -> None:
    evidence = [
        item("a", timings=(("total_execution_time", 3.0), ("latency_s", 9.0))),
        item("b", timings=(("llm_time", 1.0), ("latency_s", 2.0))),
        item("c", timings=(("llm_time", 1.0),)),
        item("d"),
    ]
    turns = (TurnAnswer(text="", latency_s=1.5), TurnAnswer(text="", latency_s=2.5), TurnAnswer(text=""))
    evidence.append(replace(item("e"), prediction=Prediction(case_id="e", turns=turns)))
    (spread,) = aggregate(summaries_of(evidence), []).times
    assert (spread.name, spread.n, spread.max_s, spread.mean_s) == ("answer", 3, 4.0, 3.0)


def test_a_query_that_ran_once_for_several_cases_counts_once() -> None:
    evidence = [item("a", gold_s=0.1), item("b", gold_s=0.1), item("c", gold_s=0.3, query="SELECT 3")]
    (spread,) = spreads_of(summaries_of(evidence))
    assert (spread.name, spread.n, spread.max_s) == ("gold query", 2, 0.3)


def test_of_repeated_answers_each_has_its_time() -> None:
    first = item("a", gold_s=0.1, timings=(("total_execution_time", 1.0),))
    second = item("a", gold_s=0.1, timings=(("total_execution_time", 2.0),))
    second = replace(second, prediction=replace(second.prediction, repeat=1))
    times = {one.name: one.n for one in aggregate(summaries_of([first, second]), [], repeats=2).times}
    assert times == {"answer": 2, "gold query": 1}


def test_numbers_of_a_run_that_was_stored_before_there_were_times_load() -> None:
    numbers = aggregate(summaries_of([item("a", gold_s=0.1)]), [])
    stored = encode_value(numbers)
    assert decode_value(stored, Aggregates) == numbers
    start, _, _ = stored.partition(b',"times":')
    rest = stored[len(start) :]
    old = start + rest[rest.index(b"]}]") + 3 :]
    assert decode_value(old, Aggregates).times == ()


def test_a_spread_says_nothing_of_its_scale_but_its_bins() -> None:
    bins = [(one.low_s, one.high_s) for one in spread_of("gold query", [0.00002, 0.00015, 0.2]).bins if one.count]
    assert bins == [(0.00002, 0.00005), (0.0001, 0.0002), (0.2, 0.5)]
