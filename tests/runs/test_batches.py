"""What a cluster's nodes are given at once: as much as they do in a moment, by what tasks cost."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.model import DatabaseUrl
from assay.ports import Task
from assay.runs.backends.batches import MOST_TASKS, Batch, Costs

_URL = DatabaseUrl(text="sqlite:///shop.sqlite")


def _batch(count: int, *, shared: bool = True) -> Batch:
    tasks = {number: Task(id=number, payload=None, database=_URL) for number in range(count)}
    return Batch(tasks=tasks, shared=shared, times_lost=1)


@given(size=st.integers(1, 600), counts=st.lists(st.integers(-1, 400), max_size=8))
@settings(max_examples=40)
def test_heads_and_what_is_left_are_the_batch_in_its_order(size: int, counts: list[int]) -> None:
    batch = _batch(size)
    found: list[int] = []
    for count in counts:
        head = batch.head(count)
        if head is not None:
            assert 1 <= len(head.tasks) <= MOST_TASKS
            assert (head.shared, head.times_lost, head.name) == (True, 1, _URL.text)
            found += head.tasks
    assert batch.tasks
    assert [*found, *batch.tasks] == list(range(size))


@given(size=st.integers(1, 600))
@settings(max_examples=20)
def test_halves_are_the_batch(size: int) -> None:
    halves = list(_batch(size).halves())
    assert [task_id for half in halves for task_id in half.tasks] == list(range(size))
    assert all(half.shared and half.times_lost == 1 for half in halves)


def test_what_one_worker_is_to_do_stays_whole() -> None:
    assert _batch(1000, shared=False).head(1) is None


def test_a_cost_is_that_of_the_database_and_else_the_usual_one() -> None:
    costs = Costs()
    unknown = costs.of("slow")
    for _ in range(200):
        costs.note("slow", 0.25)
        costs.note("fast", 0.001)
    assert costs.of("slow") > 0.2
    assert costs.of("fast") < 0.002
    assert costs.of("fast") < costs.of("another") < costs.of("slow")
    assert unknown > 0
