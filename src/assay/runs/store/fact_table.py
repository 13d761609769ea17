"""The facts of a run's cases, in its order: as objects where there are few, in columns where there are many."""

from __future__ import annotations

import math
from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import compress, count
from typing import Any, TypeAlias, TypeVar, Union, overload

import msgspec

from assay.model import Decision, Evidence, Outcome, TurnScore
from assay.runs.store.facts import (
    AnswerFacts,
    CaseFacts,
    CaseName,
    ComparisonFacts,
    DiagnosisFacts,
    ExecutionFacts,
    RefutationFacts,
    ScoreFacts,
    VerdictFacts,
)

T = TypeVar("T")

Judged: TypeAlias = Union[Evidence, CaseFacts, "BareFacts"]
"""One judged answer: all of its evidence, or its facts."""

_NONE = -1
"""In place of a row of `FactColumns`: nothing is known yet."""


class FactList(Sequence[Judged]):
    """What is known of each case: facts or evidence, once it is judged."""

    @abstractmethod
    def put(self, place: int, judged: Judged) -> None:
        """The case at that place is judged, or judged again."""

    @abstractmethod
    def has(self, place: int) -> bool:
        """Whether the case at that place is judged. Until it is, nobody may ask for it."""

    @overload
    def __getitem__(self, place: int) -> Judged: ...
    @overload
    def __getitem__(self, place: slice) -> list[Judged]: ...
    def __getitem__(self, place: int | slice) -> Judged | list[Judged]:
        if isinstance(place, slice):
            return [self._at(at) for at in range(len(self))[place]]
        return self._at(range(len(self))[place])

    def __iter__(self) -> Iterator[Judged]:
        return map(self._at, range(len(self)))

    @abstractmethod
    def _at(self, place: int) -> Judged: ...


class FactObjects(FactList):
    """Facts or evidence as they are."""

    def __init__(self, count: int) -> None:
        self._found: list[Judged | None] = [None] * count

    def __len__(self) -> int:
        return len(self._found)

    def put(self, place: int, judged: Judged) -> None:
        self._found[place] = judged

    def has(self, place: int) -> bool:
        return self._found[place] is not None

    def _at(self, place: int) -> Judged:
        found = self._found[place]
        if found is None:
            raise KeyError(place)
        return found


class _Shared(msgspec.Struct, frozen=True, gc=False):
    """What many cases have in common."""

    database: str | None
    difficulty: str | None
    tags: tuple[str, ...]
    features: tuple[str, ...]
    answer: AnswerFacts
    verdict: VerdictFacts
    scores: tuple[ScoreFacts, ...]
    comparison: ComparisonFacts | None
    cause: str | None
    diagnosis: DiagnosisFacts | None
    refutation: RefutationFacts | None
    expects: Decision

    @property
    def case(self) -> CaseName:
        """What the cases have in common."""
        return CaseName("", self.database, self.difficulty, self.tags, self.features, self.expects)

    def score(self, metric: str) -> ScoreFacts | None:
        """The score of that metric, or None where the run did not ask for it."""
        return next((score for score in self.scores if score.metric == metric), None)


class FactColumns(FactList):
    """The facts of a large run's cases: for each its id, a number for all that it shares with others, and its times.

    It takes some 50 bytes for each case beside its id. `FactReader.read_alone` gives what it takes.
    """

    def __init__(self, count: int) -> None:
        self.ids: list[str] = [""] * count
        self.rows: array[int] = array("i", [_NONE]) * count
        self.shared: list[_Shared] = []
        self._numbers: dict[tuple[int, ...], int] = {}
        self.answers: dict[int, AnswerFacts] = {}
        """The answers that tell times, tokens, a cost or how sure they are."""
        self.turns: dict[int, tuple[str, int | None]] = {}
        """The conversation and turn of the cases that have one."""
        self._golds, self._predicted = _Executions(count), _Executions(count)
        self._odd: dict[int, tuple[tuple[ExecutionFacts, ...], ExecutionFacts | None]] = {}
        """The executions of cases that have several golds, or trouble."""

    def __len__(self) -> int:
        return len(self.rows)

    def has(self, place: int) -> bool:
        return self.rows[place] != _NONE

    def put(self, place: int, judged: Judged) -> None:
        assert isinstance(judged, CaseFacts)
        case, answer = judged.case, judged.prediction
        assert isinstance(case, CaseName)
        assert isinstance(answer, AnswerFacts)
        self.answers.pop(place, None)
        if answer.own:
            self.answers[place] = answer
            answer = _UNTOLD
        parts = (
            case.database,
            case.difficulty,
            case.tags,
            case.features,
            answer,
            judged.verdict,
            judged.scores,
            judged.comparison,
            judged.cause,
            judged.diagnosis,
            judged.refutation,
            case.expects,
        )
        # The reader gives equal parts as one object, and those that are shared live as long as this.
        key = tuple(map(id, parts))
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.shared)
            self.shared.append(_Shared(*parts))
        self.ids[place], self.rows[place] = case.id, number
        self.turns.pop(place, None)
        if case.conversation is not None:
            self.turns[place] = case.conversation, case.turn
        golds, predicted = judged.gold_executions, judged.predicted_execution
        self._odd.pop(place, None)
        fits = len(golds) <= 1 and self._golds.put(place, golds[0] if golds else None)
        if not (fits and self._predicted.put(place, predicted)):
            self._odd[place] = golds, predicted

    def executions(self, place: int) -> tuple[tuple[ExecutionFacts, ...], ExecutionFacts | None]:
        """Of gold, and of the answer."""
        if place in self._odd:
            return self._odd[place]
        gold = self._golds.at(place)
        return (() if gold is None else (gold,)), self._predicted.at(place)

    def each(self, tell: Callable[[Any], T]) -> list[T]:
        """What ``tell`` says of each case, asked once for all that have so much in common.

        It may ask for all but ids, answers and executions.
        """
        told = list(map(tell, self.shared))
        return list(map(told.__getitem__, self.rows))

    def troubled(self) -> list[int]:
        """The places of all answers that have any failure, and of some others."""
        shared = self.each(lambda item: item.verdict.failure is not None or item.answer.failure is not None)
        return sorted({*compress(count(), shared), *self.answers, *self._odd})

    def different(self, *, gold: bool) -> set[tuple[str | None, str | int, float | None]]:
        """The different executions, of gold queries or of predicted ones: database, query and time."""
        databases = self.each(lambda item: item.database)
        side = self._golds if gold else self._predicted
        usual = bytearray(side.there)
        for place in self._odd:
            usual[place] = False
        found: set[tuple[str | None, str | int, float | None]] = {
            (database, query, None if math.isnan(time_s) else time_s)
            for database, query, time_s in compress(zip(databases, side.queries, side.times, strict=True), usual)
        }
        for place, (golds, predicted) in self._odd.items():
            for one in golds if gold else filter(None, (predicted,)):
                found.add((databases[place], one.query, one.wall_time_s))
        return found

    def _at(self, place: int) -> BareFacts:
        return BareFacts(self, place)


_UNTOLD = AnswerFacts()


class _Executions:
    """For each case one execution, if it went well: a hash of its query, and its time."""

    def __init__(self, count: int) -> None:
        self.queries = array("q", bytes(8 * count))
        self.times = array("d", bytes(8 * count))
        self.there = bytearray(count)

    def put(self, place: int, execution: ExecutionFacts | None) -> bool:
        """Keep what there is; False where it is more than fits in here."""
        self.there[place] = execution is not None
        if execution is None:
            return True
        query = execution.query
        if execution.failure is not None or execution.earlier_time_s is not None or not isinstance(query, int):
            return False
        self.queries[place] = query
        self.times[place] = math.nan if execution.wall_time_s is None else execution.wall_time_s
        return True

    def at(self, place: int) -> ExecutionFacts | None:
        if not self.there[place]:
            return None
        time_s = self.times[place]
        return ExecutionFacts(self.queries[place], None if math.isnan(time_s) else time_s)


class BareFacts:
    """Of `assay.model.Evidence`: the facts of one case in a `FactColumns`, without the texts of case and answer."""

    __slots__ = ("_place", "_table")

    def __init__(self, table: FactColumns, place: int) -> None:
        self._table = table
        self._place = place

    @property
    def _shared(self) -> _Shared:
        return self._table.shared[self._table.rows[self._place]]

    @property
    def case(self) -> CaseName:
        """The case's name."""
        found = self._shared
        conversation, turn = self._table.turns.get(self._place, (None, None))
        return CaseName(
            self._table.ids[self._place],
            found.database,
            found.difficulty,
            found.tags,
            found.features,
            found.expects,
            conversation,
            turn,
        )

    @property
    def prediction(self) -> AnswerFacts:
        """The answer's facts."""
        table = self._table
        return (table.answers.get(self._place) if table.answers else None) or self._shared.answer

    @property
    def verdict(self) -> VerdictFacts:
        """The verdict's facts."""
        return self._shared.verdict

    @property
    def outcome(self) -> Outcome:
        """Short for ``verdict.outcome``."""
        return self._shared.verdict.outcome

    @property
    def scores(self) -> tuple[ScoreFacts, ...]:
        """The scores."""
        return self._shared.scores

    def score(self, metric: str) -> ScoreFacts | None:
        """The score of that metric, or None where the run did not ask for it."""
        return self._shared.score(metric)

    @property
    def comparison(self) -> ComparisonFacts | None:
        """The comparison's facts."""
        return self._shared.comparison

    @property
    def cause(self) -> str | None:
        """The named cause of a wrong answer."""
        return self._shared.cause

    @property
    def diagnosis(self) -> DiagnosisFacts | None:
        """Where the cause is, and its repair."""
        return self._shared.diagnosis

    @property
    def refutation(self) -> RefutationFacts | None:
        """What came of looking for a witness."""
        return self._shared.refutation

    @property
    def gold_executions(self) -> tuple[ExecutionFacts, ...]:
        """Of gold's queries."""
        return self._table.executions(self._place)[0]

    @property
    def predicted_execution(self) -> ExecutionFacts | None:
        """Of the answer's query."""
        return self._table.executions(self._place)[1]

    @property
    def turns(self) -> tuple[TurnScore, ...]:
        """None: only cases with selections have turns."""
        return ()


def facts_of(evidence: Sequence[Evidence]) -> Sequence[Judged]:
    """The facts that a run kept beside its evidence, where it did; else the evidence itself.

    For whoever adds up cases: reading the evidence of a large run takes much longer.
    """
    kept: Sequence[Judged] | None = getattr(evidence, "facts", None)
    return evidence if kept is None else kept
