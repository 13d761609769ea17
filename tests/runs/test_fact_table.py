"""The facts of a large run, kept in columns, are the facts that were put there last."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.model import Failure, TokenUsage
from assay.runs.aggregate.totals import failures_of, is_unanswered
from assay.runs.store.fact_table import FactColumns
from assay.runs.store.facts import (
    AnswerFacts,
    CaseFacts,
    CaseName,
    ComparisonFacts,
    ExecutionFacts,
    ScoreFacts,
    VerdictFacts,
)

FAILED = Failure(stage="execute", kind="error", blame="system", message="no such table: t")
EXECUTIONS = st.builds(
    ExecutionFacts,
    st.integers(-(2**63), 2**63 - 1),
    st.none() | st.floats(0, 9),
    st.sampled_from([None, None, FAILED]),
    st.sampled_from([None, None, 0.5]),
)
ANSWERS = st.builds(
    AnswerFacts,
    st.sampled_from([(), (("latency_s", 1.5),)]),
    st.sampled_from([None, TokenUsage(total=7)]),
    st.sampled_from([None, 0.25]),
    st.sampled_from([None, FAILED]),
    st.integers(0, 2),
)
FACTS = st.builds(
    CaseFacts,
    case=st.builds(CaseName, st.text(max_size=3), st.sampled_from([None, "db"]), st.sampled_from([None, "easy"])),
    prediction=ANSWERS,
    verdict=st.sampled_from([VerdictFacts("correct"), VerdictFacts("unscored", frozenset({"vacuous"}), FAILED)]),
    scores=st.sampled_from([(), (ScoreFacts("match", 1.0),), (ScoreFacts("match", None, FAILED),)]),
    comparison=st.sampled_from([None, ComparisonFacts()]),
    gold_executions=st.lists(EXECUTIONS, max_size=2).map(tuple),
    predicted_execution=st.none() | EXECUTIONS,
    cause=st.sampled_from([None, "join_key"]),
    reason=st.just(""),
)
NAMES = (
    "case", "prediction", "verdict", "outcome", "scores", "comparison", "gold_executions", "predicted_execution",
    "cause", "diagnosis", "turns",
)  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 4), FACTS), max_size=12))
@settings(max_examples=40)
def test_the_facts_that_were_put_last_are_there(given: list[tuple[int, CaseFacts]]) -> None:
    table = FactColumns(5)
    for place, facts in given:
        table.put(place, facts)
    last = dict(given)
    assert [table.has(place) for place in range(5)] == [place in last for place in range(5)]
    for place, facts in last.items():
        found = table[place]
        assert [getattr(found, name) for name in NAMES] == [getattr(facts, name) for name in NAMES]
        assert found.score("match") == facts.score("match")
    if len(last) == 5:
        assert table.each(lambda item: item.verdict.outcome) == [last[place].outcome for place in range(5)]
        assert [item.case for item in table[1:3]] == [last[1].case, last[2].case]


@given(st.lists(FACTS, max_size=6))
@settings(max_examples=40)
def test_what_is_told_of_all_cases_at_once_is_what_each_of_them_says(given: list[CaseFacts]) -> None:
    table = FactColumns(len(given))
    for place, facts in enumerate(given):
        table.put(place, facts)
    for gold in (True, False):
        assert table.different(gold=gold) == {
            (facts.case.database, one.query, one.wall_time_s)
            for facts in given
            for one in (facts.gold_executions if gold else filter(None, (facts.predicted_execution,)))
        }
    troubled = set(table.troubled())
    assert all(place in troubled for place, facts in enumerate(given) if [*failures_of(facts)] or is_unanswered(facts))
