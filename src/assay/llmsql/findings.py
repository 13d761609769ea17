"""The scores of outputs in the benchmark's terms, and the benchmark's counts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from assay.cases.benchmarks.llmsql import InputMode, Outputs
from assay.llmsql.query_result import QueryResult
from assay.model import Rate
from assay.runs.aggregate.rates import rate_of


class Finding(Struct, frozen=True, kw_only=True):
    """The score of one output."""

    question_id: object
    """The id as it is in the output."""
    question: str
    gold_query: str
    completion: str | None
    has_query: bool
    """Whether the completion has a SELECT."""
    matched: bool
    """Whether one of its queries returns the gold result."""
    gold: QueryResult | None
    """None if the evaluation failed."""
    results: tuple[QueryResult, ...]
    """The result of each query in the completion."""
    failure: str | None = None
    """Why no query was executed though there is one."""

    @property
    def errors(self) -> tuple[str, ...]:
        """The errors of the output's queries, in their order."""
        if self.failure is not None:
            return (self.failure,)
        return tuple([result.error for result in self.results if result.error is not None])


class Assessment(Struct, frozen=True, kw_only=True, dict=True):
    """The scores of outputs with the benchmark's counts. They count queries, as the benchmark does."""

    version: str
    outputs: Outputs
    questions: int
    """The number of questions of the benchmark, answered or not."""
    findings: tuple[Finding, ...]
    """Those that count for more than a match, in the outputs' order: mismatches, several queries, a single NULL."""

    @property
    def total(self) -> int:
        """The number of outputs."""
        return len(self.outputs.items)

    @cached_property
    def mismatches(self) -> tuple[Finding, ...]:
        """The outputs without a query that returns the gold result."""
        return tuple(finding for finding in self.findings if not finding.matched)

    @property
    def mode(self) -> InputMode:
        """How the outputs were given."""
        return self.outputs.mode

    @property
    def unanswered(self) -> int:
        """The number of questions without an output. No other number includes them: the benchmark counts outputs."""
        return self.questions - self.total

    @property
    def matches(self) -> int:
        """The number of outputs with a query that returns the gold result."""
        return self.total - len(self.mismatches)

    @property
    def accuracy(self) -> Rate:
        """The share of outputs that match, with Wilson's interval at 95 %."""
        return rate_of([1.0] * self.matches + [0.0] * len(self.mismatches), binary=True)

    @property
    def pred_none(self) -> int:
        """The number of queries in outputs that return a single NULL."""
        return sum(result.is_null for finding in self.findings for result in finding.results)

    @property
    def gold_none(self) -> int:
        """The number of outputs for a question whose gold result is a single NULL."""
        return sum(finding.gold is not None and finding.gold.is_null for finding in self.findings)

    @cached_property
    def errors(self) -> tuple[str, ...]:
        """The errors of queries without a result, over all outputs in their order."""
        return tuple([error for finding in self.findings for error in finding.errors])

    @property
    def sql_errors(self) -> int:
        """The number of queries in outputs without a result. An output may contain several."""
        return len(self.errors)

    @property
    def without_query(self) -> int:
        """The number of outputs without a SELECT."""
        return sum(not finding.has_query for finding in self.findings)

    def gold_errors(self) -> Iterator[str]:
        """The error of the gold query, for every output whose gold query has no result."""
        golds = (finding.gold for finding in self.findings)
        return (gold.error for gold in golds if gold is not None and gold.error is not None)
