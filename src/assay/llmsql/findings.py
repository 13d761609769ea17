"""The judgement of outputs in the benchmark's terms, and the benchmark's counts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from assay.cases.benchmarks.llmsql import InputMode, Outputs
from assay.llmsql.query_result import QueryResult
from assay.model import Rate
from assay.runs.aggregate.rates import rate_of


class Finding(Struct, frozen=True, kw_only=True):
    """The judgement of one output."""

    question_id: object
    """The id as it is in the output."""
    question: str
    gold_query: str
    completion: str | None
    has_query: bool
    """Whether there is a SELECT in the completion."""
    matched: bool
    """Whether one of its queries gives gold's rows."""
    gold: QueryResult | None
    """None if judging failed."""
    results: tuple[QueryResult, ...]
    """What each query of the completion gave."""
    failure: str | None = None
    """Why no query was executed though there is one."""

    @property
    def errors(self) -> tuple[str, ...]:
        """Why queries of the output gave no result, in their order."""
        if self.failure is not None:
            return (self.failure,)
        return tuple([result.error for result in self.results if result.error is not None])


class Assessment(Struct, frozen=True, kw_only=True, dict=True):
    """The judgement of outputs with the benchmark's counts. They count queries, as the benchmark does."""

    version: str
    outputs: Outputs
    questions: int
    """How many questions the benchmark has, answered or not."""
    findings: tuple[Finding, ...]
    """Those that count for more than a match, in the outputs' order: mismatches, several queries, a single NULL."""

    @property
    def total(self) -> int:
        """How many outputs there are."""
        return len(self.outputs.items)

    @cached_property
    def mismatches(self) -> tuple[Finding, ...]:
        """The outputs without a query that gives gold's rows."""
        return tuple(finding for finding in self.findings if not finding.matched)

    @property
    def mode(self) -> InputMode:
        """How the outputs were given."""
        return self.outputs.mode

    @property
    def unanswered(self) -> int:
        """How many questions have no output. They are in no other number: the benchmark counts outputs."""
        return self.questions - self.total

    @property
    def matches(self) -> int:
        """How many outputs have a query that gives gold's rows."""
        return self.total - len(self.mismatches)

    @property
    def accuracy(self) -> Rate:
        """The share of outputs that match, with Wilson's interval at 95 %."""
        return rate_of([1.0] * self.matches + [0.0] * len(self.mismatches), binary=True)

    @property
    def pred_none(self) -> int:
        """How many queries in outputs give a single NULL."""
        return sum(result.is_null for finding in self.findings for result in finding.results)

    @property
    def gold_none(self) -> int:
        """How many outputs answer a question whose gold result is a single NULL."""
        return sum(finding.gold is not None and finding.gold.is_null for finding in self.findings)

    @cached_property
    def errors(self) -> tuple[str, ...]:
        """Why queries gave no result, over all outputs in their order."""
        return tuple([error for finding in self.findings for error in finding.errors])

    @property
    def sql_errors(self) -> int:
        """How many queries in outputs gave no result. An output may hold several."""
        return len(self.errors)

    @property
    def without_query(self) -> int:
        """How many outputs hold no SELECT."""
        return sum(not finding.has_query for finding in self.findings)

    def gold_errors(self) -> Iterator[str]:
        """Why gold gives no result, for every output whose gold query gives none."""
        golds = (finding.gold for finding in self.findings)
        return (gold.error for gold in golds if gold is not None and gold.error is not None)
