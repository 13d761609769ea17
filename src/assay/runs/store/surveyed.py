"""What a report's overview needs of each case, read from its line: the rest is skipped, as in `assay.runs.store.facts`.

The classes have the names of the model's fields, so that an overview takes these and evidence alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

import msgspec

from assay.model import Evidence, Failure, Leniency, Outcome, TurnAnswer, TurnScore
from assay.runs.store.facts import decoded
from assay.runs.store.kept_lines import LazyEvidence


class SurveyedOptions(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.CaseOptions`."""

    leniency: Leniency


class SurveyedCase(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Case`."""

    id: str
    options: SurveyedOptions
    database: str | None = None
    golds: tuple[str, ...] = ()


class SurveyedAnswer(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Prediction`."""

    query: str | None = None
    query_source: str | None = None
    failure: Failure | None = None
    repeat: int = 0

    @property
    def turns(self) -> tuple[TurnAnswer, ...]:
        """None: only conversations have turns."""
        return ()


class SurveyedAmbiguity(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Ambiguity`."""

    all_tie: bool = False


class SurveyedVerdict(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Verdict`."""

    outcome: Outcome
    flags: tuple[str, ...] = ()
    ambiguity: SurveyedAmbiguity | None = None
    failure: Failure | None = None


class SurveyedScore(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Score`."""

    metric: str
    value: float | None


class SurveyedExecution(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Execution`."""

    query: str
    status: str
    failure: Failure | None = None
    wall_time_s: float | None = None
    earlier_time_s: float | None = None
    row_count: int | None = None

    @property
    def took_s(self) -> float | None:
        """As `Execution.took_s`."""
        return self.earlier_time_s if self.wall_time_s is None else self.wall_time_s


class Surveyed(msgspec.Struct, frozen=True, gc=False):
    """Of `assay.model.Evidence`, for a case with queries."""

    case: SurveyedCase
    prediction: SurveyedAnswer
    verdict: SurveyedVerdict
    scores: tuple[SurveyedScore, ...] = ()
    gold_executions: tuple[SurveyedExecution, ...] = ()
    predicted_execution: SurveyedExecution | None = None

    @property
    def outcome(self) -> Outcome:
        """Short for ``verdict.outcome``."""
        return self.verdict.outcome

    @property
    def turns(self) -> tuple[TurnScore, ...]:
        """None: only cases with selections have turns."""
        return ()


Seen: TypeAlias = Evidence | Surveyed
"""One answer as an overview sees it."""


def surveyed(evidence: Sequence[Evidence]) -> Iterable[Seen]:
    """What an overview needs of the answers to cases with queries: from their lines, where they are kept as lines."""
    if isinstance(evidence, LazyEvidence) and (line := evidence.line) is not None:
        return (decoded(_decoder(), line(place)) for place in range(len(evidence)))
    return evidence


@lru_cache(maxsize=1)
def _decoder() -> msgspec.json.Decoder[Surveyed]:
    return msgspec.json.Decoder(Surveyed)
