"""The answers that a query allows on a database in memory: for looking at small databases by the thousand."""

from __future__ import annotations

from collections.abc import Hashable

from msgspec import Struct

from assay.model import Comparison, ComparisonOptions, DatabaseUrl, Execution, Result
from assay.ports import ScratchDatabase
from assay.scoring.queries.gold_answers import GoldAnswer, GoldAnswers
from assay.scoring.queries.recording import RecordingExecutor
from assay.scoring.time_limit import TimeLimit

_LIMIT_S = 5.0
_URL = DatabaseUrl(text="trial:")


class ScratchAnswers(Struct, frozen=True):
    """Implements `assay.ports.PossibleAnswers`."""

    answer: GoldAnswer

    @property
    def open(self) -> bool:
        """Whether a LIMIT or the like cuts rows that tie."""
        return self.answer.ambiguity is not None

    @property
    def others(self) -> tuple[Result, ...]:
        """Results of other choices within the query."""
        return tuple(other.result for other in self.answer.others)

    def compare(self, other: Result, options: ComparisonOptions) -> Comparison:
        """How another result relates to the answer that is closest to it."""
        return self.answer.compare(other, options)


def read_answers(database: ScratchDatabase, query: str, result: Result) -> ScratchAnswers:
    """Implements `assay.ports.ReadsAnswers`: the answers are those that a run would accept from a system."""
    watched = RecordingExecutor(_OnScratch(database), TimeLimit(_LIMIT_S))
    execution = Execution(query=query, status="rows" if result.rows else "empty", result=result)
    return ScratchAnswers(GoldAnswers(watched).of(_URL, execution, result))


class _OnScratch:
    """A scratch database as an executor, whatever URL is asked for. Nothing is kept: the rows change."""

    def __init__(self, database: ScratchDatabase) -> None:
        self._database = database
        self.cache = _NoCache()

    def execute(self, url: DatabaseUrl, query: str) -> Execution:  # noqa: ARG002 - the port's
        return self._database.execute(query)

    def siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:  # noqa: ARG002 - the port's
        return ()

    def has_boolean_type(self, url: DatabaseUrl) -> bool:  # noqa: ARG002 - the port's
        return self._database.has_boolean_type

    def dialect(self, url: DatabaseUrl) -> str:  # noqa: ARG002 - the port's
        return self._database.dialect


class _NoCache:
    def get(self, key: Hashable) -> object | None:  # noqa: ARG002 - the port's
        return None

    def put(self, key: Hashable, value: object) -> object:  # noqa: ARG002 - the port's
        return value
