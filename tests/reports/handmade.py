"""Runs built by hand: every outcome that a report has to show, and a run of a benchmark's size."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from msgspec.structs import replace

from assay.model import (
    AlignedRow,
    Case,
    Comparison,
    Evidence,
    Execution,
    Failure,
    Fingerprint,
    Limits,
    NearMiss,
    Prediction,
    Provenance,
    Run,
    RunSettings,
    Score,
    Verdict,
)
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.aggregate.totals import aggregate


@dataclass(frozen=True)
class Named:
    name: str
    binary: bool = True


METRICS = (
    Named("match"),
    Named("non_empty_match"),
    Named("bird_ex"),
    Named("bird_soft_f1", binary=False),
    Named("spider_ex"),
    Named("same_row_count"),
)

RUNS = ["small_run", "hostile_run", "empty_run", "all_failing_run", "large_run"]
"""The fixtures of runs, by name."""

SETTINGS = RunSettings(
    cases="data/dev.jsonl",
    predictions="predictions/din-sql-gpt4.jsonl",
    database="sqlite:///database/{db_id}/{db_id}.sqlite",
    metrics=tuple(metric.name for metric in METRICS),
    limits=Limits(),
)
PROVENANCE = Provenance(
    assay_version="0.1.0",
    python_version="3.11.7",
    platform="Linux x86_64",
    engine_versions=(Fingerprint(name="sqlite", digest="3.46.1"),),
    started_at="2026-03-01T09:30:00Z",
    wall_time_s=1.42,
)


def make_run(
    evidence: Sequence[Evidence],
    *,
    metrics: Sequence[Named] = METRICS,
    settings: RunSettings = SETTINGS,
    unmatched: Sequence[str] = (),
) -> Run:
    return Run(
        settings=settings,
        provenance=replace(PROVENANCE, unmatched_predictions=tuple(unmatched)),
        summaries=summaries_of(tuple(evidence)),
        evidence=tuple(evidence),
        aggregates=aggregate(summaries_of(evidence), metrics),
    )


def scores(*values: float | None, failure: Failure | None = None) -> tuple[Score, ...]:
    return tuple(
        Score(metric=metric.name, value=value, failure=failure if value is None else None)
        for metric, value in zip(METRICS, values, strict=True)
    )


def ran(query: str, rows: int, columns: Sequence[str], *, wall_time_s: float = 0.0012) -> Execution:
    return Execution(
        query=query,
        status="rows" if rows else "empty",
        row_count=rows,
        columns=tuple(columns),
        wall_time_s=wall_time_s,
    )


def right() -> Evidence:
    gold = "SELECT name, country FROM singer WHERE age > 40"
    predicted = "SELECT T1.country, T1.name FROM singer AS T1 WHERE T1.age > 40"
    rows = (("Joe Sharp", "Netherlands"), ("John Nizinik", "France"), ("Rose White", "France"))
    return Evidence(
        case=Case(
            id="12",
            question="What are the names and countries of the singers older than 40?",
            database="concert_singer",
            golds=(gold,),
            difficulty="easy",
        ),
        prediction=Prediction(case_id="12", query=predicted),
        verdict=Verdict(
            outcome="correct",
            reason="The answer is gold's: 3 rows, its columns in another order.",
            strength="matched_on_one_database",
            gold_index=0,
        ),
        scores=scores(1, 1, 0, 0.0, 1, 1),
        comparison=Comparison(
            equal=True,
            column_mapping=(1, 0),
            gold_row_count=3,
            predicted_row_count=3,
            matched_rows=3,
            aligned=tuple(AlignedRow(state="matched", gold=row, predicted=row) for row in rows),
        ),
        gold_executions=(ran(gold, 3, ("name", "country")),),
        predicted_execution=ran(predicted, 3, ("country", "name")),
    )


def wrong() -> Evidence:
    gold = "SELECT T1.name, sum(T2.amount)\nFROM customer AS T1\n"
    gold += "JOIN payment AS T2 ON T1.id = T2.customer_id\nGROUP BY T1.id"
    predicted = "SELECT name, sum(amount) FROM customer JOIN payment GROUP BY name"
    return Evidence(
        case=Case(
            id="88",
            question="How much has each customer paid in all?",
            database="bank",
            golds=(gold, "SELECT 1"),
            difficulty="medium",
            tags=("aggregation", "join"),
            context="paid refers to payment.amount",
        ),
        prediction=Prediction(case_id="88", query=predicted, raw=f"Here you are:\n```sql\n{predicted}\n```"),
        verdict=Verdict(
            outcome="incorrect",
            reason="1 of gold's 3 rows is missing and 1 row is not gold's.",
            flags=frozenset({"nondeterministic"}),
            gold_index=0,
        ),
        scores=scores(0, 0, 0, 0.6667, 0, 1),
        comparison=Comparison(
            equal=False,
            column_mapping=(0, 1),
            gold_row_count=3,
            predicted_row_count=3,
            matched_rows=2,
            missing_rows=1,
            extra_rows=1,
            aligned=(
                AlignedRow(state="matched", gold=("Ada", Decimal("120.50")), predicted=("Ada", 120.5)),
                AlignedRow(state="matched", gold=("", None), predicted=("", None)),
                AlignedRow(state="missing", gold=("NULL", 31)),
                AlignedRow(state="extra", predicted=("NULL", "31")),
            ),
            near_misses=(NearMiss(kind="type_only", detail="text '31' where gold has the integer 31"),),
        ),
        gold_executions=(ran(gold, 3, ("name", "sum(T2.amount)")), ran("SELECT 1", 1, ("1",))),
        predicted_execution=ran(predicted, 3, ("name", "sum(amount)"), wall_time_s=4.25),
    )


def broken_gold() -> Evidence:
    failure = Failure(stage="execute", kind="error", blame="gold", message="no such column: T1.nme")
    gold = "SELECT T1.nme FROM customer AS T1"
    return Evidence(
        case=Case(id="g1", question="Name all customers.", database="bank", golds=(gold,), difficulty="easy"),
        prediction=Prediction(case_id="g1", query="SELECT name FROM customer"),
        verdict=Verdict(outcome="unscored", reason="Gold fails: no such column: T1.nme", failure=failure),
        scores=scores(None, None, None, None, None, None, failure=failure),
        gold_executions=(Execution(query=gold, status="error", failure=failure, wall_time_s=0.0003),),
        predicted_execution=ran("SELECT name FROM customer", 9, ("name",)),
    )


def timed_out() -> Evidence:
    failure = Failure(stage="execute", kind="timeout", blame="system", message="stopped after 30 s")
    query = "SELECT count(*) FROM payment a, payment b, payment c, payment d"
    return Evidence(
        case=Case(id="t1", question="How many payments?", database="bank", golds=("SELECT count(*) FROM payment",)),
        prediction=Prediction(case_id="t1", query=query),
        verdict=Verdict(
            outcome="incorrect", reason="The query ran out of time.", flags=frozenset({"timeout"}), failure=failure
        ),
        scores=scores(0, 0, 0, 0.0, 0, 0),
        gold_executions=(ran("SELECT count(*) FROM payment", 1, ("count(*)",)),),
        predicted_execution=Execution(query=query, status="timeout", failure=failure, wall_time_s=30.02),
    )


def unanswered() -> Evidence:
    failure = Failure(stage="load", kind="unanswered", blame="system", message="no prediction has the id 'u1'")
    return Evidence(
        case=Case(id="u1", question="Which loans are late?", database="bank", golds=("SELECT id FROM loan",)),
        prediction=Prediction(case_id="u1", failure=failure),
        verdict=Verdict(outcome="incorrect", reason="No prediction answers this case.", failure=failure),
        scores=scores(0, 0, 0, 0.0, 0, 0),
        gold_executions=(ran("SELECT id FROM loan", 4, ("id",)),),
    )


def vacuous() -> Evidence:
    query = "SELECT id FROM loan WHERE amount < 0"
    return Evidence(
        case=Case(id="v1", question="Loans below zero?", database="bank", golds=(query,), difficulty="hard"),
        prediction=Prediction(case_id="v1", query=query),
        verdict=Verdict(outcome="correct", reason="Both results are empty.", flags=frozenset({"vacuous"})),
        scores=scores(
            1,
            None,
            1,
            1.0,
            1,
            1,
            failure=Failure(stage="score", kind="unscorable", blame="assay", message="both results are empty"),
        ),
        comparison=Comparison(equal=True, column_mapping=(0,), vacuous=True),
        gold_executions=(ran(query, 0, ("id",)),),
        predicted_execution=ran(query, 0, ("id",)),
    )


HOSTILE = (
    "</script></style><img src=x onerror=alert(1)>\u202egnp.exe\u202c\x1b[31mred\x07 | `` ``` @everyone {{7*7}} \ud800"
)


def hostile() -> Evidence:
    failure = Failure(stage="execute", kind="error", blame="system", message=HOSTILE)
    return Evidence(
        case=Case(
            id=HOSTILE,
            question=HOSTILE,
            database=HOSTILE,
            golds=(HOSTILE,),
            difficulty=HOSTILE,
            tags=(HOSTILE,),
            context=HOSTILE,
        ),
        prediction=Prediction(case_id=HOSTILE, query=HOSTILE + "\n" + HOSTILE, raw=HOSTILE),
        verdict=Verdict(outcome="incorrect", reason=HOSTILE, failure=failure, gold_index=0),
        scores=tuple(replace(score, detail=HOSTILE) for score in scores(0, 0, 1, 0.25, 0, 1)),
        comparison=Comparison(
            equal=False,
            column_mapping=(0,),
            gold_row_count=1,
            predicted_row_count=1,
            missing_rows=1,
            extra_rows=1,
            aligned=(
                AlignedRow(state="missing", gold=(HOSTILE, float("nan"), b"\x00\xff", date(2026, 3, 1))),
                AlignedRow(state="extra", predicted=("\udcff", float("-inf"), 2**80, datetime(2026, 3, 1, 12))),  # noqa: DTZ001
            ),
            near_misses=(NearMiss(kind="scaled", detail=HOSTILE),),
        ),
        gold_executions=(ran(HOSTILE, 1, (HOSTILE, "b", "c", "d")),),
        predicted_execution=Execution(query=HOSTILE, status="error", failure=failure, wall_time_s=0.5),
        cause=HOSTILE,
    )


def benchmark_run(count: int = 1034) -> Run:
    """A run of a benchmark's size with a benchmark's spread, the same every time."""
    source = random.Random(5)
    kinds = ["easy"] * 25 + ["medium"] * 43 + ["hard"] * 17 + ["extra"] * 16
    chance = {"easy": 0.92, "medium": 0.83, "hard": 0.72, "extra": 0.53}
    evidence = []
    for index in range(count):
        difficulty = source.choice(kinds)
        correct = source.random() < chance[difficulty]
        template = right() if correct else wrong()
        broken = source.random() < 0.006
        if broken:
            template = broken_gold()
        elif not correct and source.random() < 0.05:
            template = timed_out()
        elif correct and source.random() < 0.03:
            template = vacuous()
        f1 = 1.0 if correct else round(source.random(), 3)
        loose = 1 if correct else int(source.random() < 0.06)
        strict = int(correct and source.random() < 0.98)
        empty = "vacuous" in template.verdict.flags
        values = (
            [None] * 6 if broken else [int(correct), None if empty else int(correct), loose, f1, strict, int(f1 > 0.5)]
        )
        database = f"{source.choice(['concert_singer', 'world_1', 'car_1', 'pets_1', 'dog_kennels', 'tvshow'])}"
        case = replace(
            template.case,
            id=str(index),
            difficulty=difficulty,
            database=database,
            question=f"{template.case.question} ({index})",
        )
        misses = template.comparison.near_misses if template.comparison else ()
        if misses and source.random() < 0.7:
            kind = source.choice(["superset_columns", "subset_columns", "missing_rows", "extra_rows", "order_only"])
            misses = (NearMiss(kind=kind, detail="2 of 3 columns"),)  # type: ignore[arg-type]
        evidence.append(
            replace(
                template,
                case=case,
                prediction=replace(template.prediction, case_id=str(index)),
                scores=scores(*values, failure=template.verdict.failure),
                comparison=template.comparison and replace(template.comparison, near_misses=misses),
            )
        )
    return make_run(evidence, unmatched=["1034", "1035"])
