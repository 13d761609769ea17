"""Where the causes of wrong answers are: each wrong case counts once in each group that it belongs to."""

from __future__ import annotations

import random

from assay.model import Case, Cause, Diagnosis, Evidence, Prediction, Verdict
from assay.runs.aggregate.summarize import features_of, summaries_of
from assay.runs.aggregate.totals import cause_groups
from assay.runs.store.codec import decode_evidence, encode_evidence
from many_cases import each

GOLDS = ("SELECT a FROM t", "SELECT COUNT(*) FROM t JOIN u ON t.i = u.i", "SELECT a FROM t ORDER BY b LIMIT 1")
_SET = "set operation"
TITLES = ("Value mismatch", "Attribute mismatch", "Clause missing")


def item(draw: random.Random, number: int) -> Evidence:
    case = Case(
        id=str(number),
        question="",
        golds=(draw.choice(GOLDS),),
        difficulty=draw.choice(["easy", "hard", None]),
        database=draw.choice(["one", "two", None]),
    )
    prediction = Prediction(case_id=case.id, query="SELECT 1")
    if draw.random() < 0.4:
        return Evidence(case=case, prediction=prediction, verdict=Verdict(outcome="correct", reason="the same"))
    title = draw.choice(TITLES)
    cause = Cause(kind="value_mismatch", message="m", table=draw.choice(["t", "u", ""]), column=draw.choice(["a", ""]))
    return Evidence(
        case=case,
        prediction=prediction,
        verdict=Verdict(outcome="incorrect", reason="differs"),
        cause=title,
        diagnosis=Diagnosis(causes=(cause,), title=title),
    )


@each("seed", range(20))
def test_groups_count_each_wrong_case_once_by_its_cause(seed: int) -> None:
    draw = random.Random(seed)
    evidence = [item(draw, number) for number in range(40)]
    wrong = [one for one in evidence if one.cause]
    groups = cause_groups(summaries_of(evidence))
    for group in groups:
        assert group.count == len(set(group.case_ids)) == sum(count for _, count in group.causes)
    by_kind = {kind: [one for one in groups if one.kind == kind] for kind in ("difficulty", "database", "feature")}
    assert sum(one.count for one in by_kind["difficulty"]) == sum(bool(one.case.difficulty) for one in wrong)
    assert sum(one.count for one in by_kind["database"]) == sum(bool(one.case.database) for one in wrong)
    expected = sum(len(features_of(one.case.golds[0])) for one in wrong)
    assert sum(one.count for one in by_kind["feature"]) == expected


def test_evidence_that_was_stored_gives_the_same_groups() -> None:
    draw = random.Random(3)
    evidence = [item(draw, number) for number in range(30)]
    stored = [decode_evidence(encode_evidence(one)) for one in evidence]
    assert cause_groups(summaries_of(stored)) == cause_groups(summaries_of(evidence))


@each(
    ("query", "features"),
    [
        ("SELECT 'join group by' AS \"having\" FROM t -- order by", ("none of these",)),
        ("WITH x AS (SELECT 1) SELECT DISTINCT a FROM x UNION SELECT 2", ("DISTINCT", "subquery", "CTE", _SET)),
        (
            "select count ( * ) from a Join b group\n by c having max(d) > 1",
            ("join", "aggregate", "GROUP BY", "HAVING"),
        ),
        ("SELECT IIF(a, 1, 2), RANK() OVER (ORDER BY b) FROM t LIMIT 3", ("ORDER BY", "LIMIT", "window", "CASE")),
        ("", ("none of these",)),
    ],
)
def test_features_are_those_of_the_text_without_its_literals(query: str, features: tuple[str, ...]) -> None:
    assert features_of(query) == features
