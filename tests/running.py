"""What many tests begin with: a SQLite file, a live system, and runs that nobody executed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay import registry
from assay.diagnosis.diagnoser import CauseFinder
from assay.engines.pool.executor import Executor
from assay.model import Case, ComparisonOptions, DatabaseUrl, Evidence, Limits, Prediction, Provenance, Run, RunSettings
from assay.model.lint import LintReport
from assay.runs.aggregate.summarize import summaries_of
from assay.runs.aggregate.totals import aggregate
from assay.runs.workers.known_schemas import KnownSchemas
from assay.scoring.queries.scorer import QueryScorer

SETTINGS = {"cases": "cases.jsonl", "predictions": "answers.jsonl", "database": "sqlite:///{db_id}.sqlite"}
PROVENANCE = {"assay_version": "1", "python_version": "3", "platform": "linux"}


def sqlite_url(path: Path, script: str) -> str:
    """Make a SQLite file and give its URL."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return f"sqlite:///{path.as_posix()}"


class LiveSystem:
    """A system that answers by a function, with a query or a whole prediction."""

    name = "live"

    def __init__(self, ask: Callable[[Case], Any]) -> None:
        self.ask = ask

    def describe(self) -> str:
        return self.name

    def answer(self, case: Case) -> Prediction:
        found = self.ask(case)
        return found if isinstance(found, Prediction) else Prediction(case_id=case.id, query=found)

    def close(self) -> None:
        """Nothing is open."""


def scored_pairs(database: str, *pairs: tuple[str, str | None]) -> list[Evidence]:
    """What a run says of pairs of gold and prediction, without the worker that a run starts."""
    url = DatabaseUrl.parse(database)
    with closing(Executor(engines=registry.engine_references(), limits=Limits())) as executor:
        finder = CauseFinder(executor, KnownSchemas(executor))
        scorer = QueryScorer(executor, [registry.metric("match")], ComparisonOptions(), diagnoser=finder)
        return [
            scorer.evidence(Case(id=str(n), question="", golds=(gold,)), Prediction(case_id=str(n), query=query), url)
            for n, (gold, query) in enumerate(pairs)
        ]


@dataclass(frozen=True)
class Named:
    """What is known of a metric."""

    name: str
    binary: bool = True


def run_of(
    *evidence: Evidence,
    metrics: Sequence[Any] = (Named("match"),),
    provenance: Mapping[str, Any] = {},
    lint: LintReport | None = None,
    **settings: Any,
) -> Run:
    """A run of this evidence; further arguments are its settings."""
    summaries = summaries_of(evidence)
    names = tuple(metric.name for metric in metrics)
    return Run(
        settings=RunSettings(**{**SETTINGS, "metrics": names, "limits": Limits(), **settings}),
        provenance=Provenance(**{**PROVENANCE, **provenance}),
        summaries=summaries,
        evidence=evidence,
        aggregates=aggregate(summaries, metrics),
        lint=lint,
    )
