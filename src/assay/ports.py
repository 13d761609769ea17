"""What one room needs of another, as Protocols. Whoever implements one imports nothing but this and the model."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from assay.model import (
    Case,
    ColumnUse,
    Comparison,
    DatabaseSchema,
    DatabaseUrl,
    Evidence,
    Execution,
    Failure,
    FieldNames,
    Limits,
    PairTiming,
    Prediction,
    Run,
    Score,
    TokenUsage,
)


class Engine(Protocol):
    """Executes queries on one database, read-only and under limits.

    An engine lives in one worker process and is used by one thread. It never raises for what a
    query does: every trouble of a query comes back as an Execution with a Failure.
    """

    name: str
    """The scheme it is registered under, such as ``sqlite``."""
    dialect: str
    """sqlglot's name of its SQL dialect."""
    has_boolean_type: bool
    """False where True is 1 and False is 0 in its results."""

    @classmethod
    def open(cls, url: DatabaseUrl, limits: Limits) -> Engine:
        """Open a database read-only. Raises `assay.errors.DatabaseError` where it cannot be read."""
        ...

    def execute(self, query: str) -> Execution:
        """Run one query under the limits given at opening. Never raises for what the query does."""
        ...

    def siblings(self) -> tuple[DatabaseUrl, ...]:
        """The other databases of the same schema kept beside this one (Spider's test suite), sorted."""
        ...

    def close(self) -> None:
        """Release the database. Closing twice is harmless."""
        ...


class QueryExecutor(Protocol):
    """What scoring needs executed goes through this, on any database by its URL."""

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        """What the database makes of the query. Never raises for what the query does."""
        ...

    def siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:
        """The databases of the same schema beside this one."""
        ...

    def has_boolean_type(self, url: DatabaseUrl) -> bool:
        """False where True is 1 and False is 0 in results from there."""
        ...

    def dialect(self, url: DatabaseUrl) -> str:
        """sqlglot's name of the SQL dialect spoken there."""
        ...


class Cache(Protocol):
    """Room for what is worth keeping from case to case. What is put there may be dropped."""

    def get(self, key: Hashable) -> object | None:
        """The value under this key; None where there is none."""
        ...

    def put(self, key: Hashable, value: object) -> object:
        """Keep a value, if there is room for it."""
        ...


class CachingExecutor(QueryExecutor, Protocol):
    """An executor with room to keep what is made of its results."""

    @property
    def cache(self) -> Cache: ...


LABEL_BYTES = 16
"""The length of what names to a `Pulse` the thing that runs."""
LossKind = Literal["timeout", "crashed", "out_of_memory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """How a worker was lost while something ran."""

    kind: LossKind
    message: str
    """A clause without a subject, such as ``ended its process with SIGSEGV``."""


class Pulse(Protocol):
    """How a worker says what it does right now, so that whoever waits for it can end what hangs.

    Whatever may hang or crash is done between ``begin`` and ``end``. What cost an earlier worker its life is `lost`
    to those that come after: they leave it out.
    """

    def begin(self, label: bytes, seconds: float) -> None:
        """Say that ``label`` (`LABEL_BYTES` long) runs now and must be over in so many seconds."""
        ...

    def end(self) -> None:
        """Say that nothing runs that could be to blame."""
        ...

    def lost(self, label: bytes) -> Loss | None:
        """How an earlier worker was lost while this label ran; None where it never was."""
        ...


class DescribesSchema(Protocol):
    """What an Engine may do beside: say what its database holds, for systems that write queries from that."""

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """All tables and views but the database's own, and a few values, read under the engine's limits.

        The same content gives the same answer. What cannot be read (a view on a table that is gone) is left
        out. Raises `assay.errors.DatabaseError` where the tables cannot be listed.
        """
        ...


class EngineClass(Protocol):
    """What an `assay.engines` entry point loads to: the class of an Engine.

    It may also have ``warnings(url) -> tuple[str, ...]``: what the URL's user may do beyond reading, each
    a sentence. A run shows them before it starts.
    """

    name: str
    dialect: str
    has_boolean_type: bool

    def open(self, url: DatabaseUrl, limits: Limits) -> Engine:
        """As `Engine.open`."""
        ...

    def check(self, url: DatabaseUrl) -> None:
        """Raise `assay.errors.DatabaseError` where the database cannot be read, cheaply and in any process."""
        ...

    def version(self) -> str:
        """The database library's or server's version, for the run's provenance."""
        ...

    def fingerprint(self, url: DatabaseUrl) -> str:
        """A hash of the database's content, or of what stands for it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRequest:
    """One more query that a metric needs executed, beside gold and prediction as they are.

    ``scope`` ``siblings`` runs it on the case's database and on each database beside it, too. A ``candidate`` is
    another query of the answer itself: it is executed whatever became of gold, all of an answer's queries share one
    time limit, and what came of it is part of the evidence. ``turn`` tells apart those of one text.
    """

    query: str
    scope: Literal["own", "siblings"] = "own"
    candidate: bool = False
    turn: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Executions:
    """What was executed for one case, rows included.

    ``golds`` are in the order of ``Case.golds``; ``predicted`` is None where there was no query
    to run. ``requested`` holds, per request, one Execution for each database of its scope, the
    case's own first.
    """

    golds: tuple[Execution, ...] = ()
    predicted: Execution | None = None
    requested: Mapping[QueryRequest, tuple[Execution, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredCase:
    """A judged case, with the rows that its evidence no longer carries."""

    evidence: Evidence
    executions: Executions


class CaseScorer(Protocol):
    """Judges the cases of one kind: queries by executing them, selections by their terms.

    What it needs executed it executes itself, through the `QueryExecutor` that it was made with; one that executes
    nothing needs no worker, and the run calls it where it is.
    """

    def evidence(self, case: Case, prediction: Prediction, url: DatabaseUrl) -> Evidence:
        """All that is found out of one case. Never raises for what an answer says or does."""
        ...


class Metric(Protocol):
    """A pure function from what happened to a score: rescoring needs no database.

    Its class may say of it all that `assay.model.MetricInfo` has: whether it is ``binary``, its ``label``, its
    ``meaning``, its range, whether higher is better. Nothing else needs to know the metric for it to stand in
    every report, gate and comparison.

    It may also set ``depends_on_queries_only = True``: its score then depends on the
    database, the golds, the predicted query and the case's options alone (not on the question, the
    tags or the timings), so that cases which share these are scored once.
    """

    name: str

    def requests(self, case: Case, prediction: Prediction) -> Sequence[QueryRequest]:
        """What it needs executed beside gold and prediction as they are. Usually nothing."""
        ...

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Score:
        """Score one case. ``comparison`` is that of the verdict; None where there was nothing to compare."""
        ...


class TimedMetric(Metric, Protocol):
    """A metric over wall times. It is asked twice.

    First, as every metric, where the rows are: it says 0, None, or `AWAITS_TIMING` as the failure
    of a score without a value. For the cases that await it, both queries are then executed in turn,
    alone on one worker, and ``timed`` gives the score.
    """

    def timed(self, timings: Sequence[PairTiming]) -> TimedScore:
        """The score of these timings; there is at least one.

        It is asked again where more were measured since its score was noisy. Of a prediction that is gold's own text
        there is one, which nobody measured: gold's time for both.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedScore:
    """A score over wall times, and whether their noise could have changed it."""

    score: Score
    noisy: bool


AWAITS_TIMING = Failure(
    stage="score", kind="unscorable", blame="assay", message="the times of this pair were not measured"
)
"""Why an efficiency metric has no value yet, or at all where the measuring failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a file as it came: a value for each case or prediction, None where there is none."""

    name: str
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedCases:
    """A question set as a file gave it. What a format may return in place of bare cases, for sounder joining.

    ``by_position`` is true where the file has no ids, and that of a case is its zero-based position;
    ``stated`` where the user asked for that.
    """

    cases: tuple[Case, ...]
    by_position: bool = False
    stated: bool = False
    columns: tuple[ColumnUse, ...] = ()
    """What was taken for what."""
    beside: tuple[Column, ...] = ()
    """The columns that were taken for nothing: one of them may be the id that the predictions go by."""
    left_out: tuple[str, ...] = ()
    """Sheets with content that were not read."""

    def __iter__(self) -> Iterator[Case]:
        """The cases."""
        return iter(self.cases)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPredictions:
    """Predictions as a file gave them, before they meet their cases.

    ``by_position`` is true where the format has no ids: then the n-th prediction answers the n-th
    case, and ``case_id`` of each holds its zero-based position. They are joined so only where the cases
    have no ids either and are as many, or where ``stated`` is true: the format or the user says positions.
    """

    predictions: tuple[Prediction, ...]
    by_position: bool = False
    stated: bool = False
    columns: tuple[ColumnUse, ...] = ()
    """What was taken for what."""
    beside: tuple[Column, ...] = ()
    """The columns that were taken for nothing, such as the question again: what they say is compared."""
    left_out: tuple[str, ...] = ()
    """Sheets with content that were not read."""


class CaseFormat(Protocol):
    """Reads question sets and prediction files of one layout."""

    name: str

    def recognises(self, path: Path) -> bool:
        """Whether this file or folder looks like this layout: by suffix, with a look inside where that is shared."""
        ...

    def cases(self, path: Path, fields: FieldNames) -> Iterable[Case]:
        """Read a question set. Raises `assay.errors.CaseFileError` with file, row and column."""
        ...

    def predictions(self, path: Path, fields: FieldNames) -> LoadedPredictions:
        """Read a prediction file. Raises `assay.errors.CaseFileError` with file, row and column."""
        ...


class Reporter(Protocol):
    """Draws a run's numbers in one format. It computes nothing of its own."""

    name: str
    suffix: str

    def render(self, run: Run) -> bytes:
        """The whole report."""
        ...


class System(Protocol):
    """A system under test that answers questions live. Asked from several threads at once."""

    name: str

    def describe(self) -> str:
        """What it is and how it is asked, free of secrets: systems of equal description are asked the same."""
        ...

    def answer(self, case: Case) -> Prediction:
        """Ask one question. Trouble of one question comes back as a Prediction with a Failure.

        Raises `assay.errors.SystemUnusable` where no question could be answered, such as for wrong
        credentials: that ends the run.
        """
        ...

    def close(self) -> None:
        """Release connections. Closing twice is harmless."""
        ...


class SchemaSource(Protocol):
    """Where a system finds what a case's database holds. Asked from several threads at once."""

    def __call__(self, case: Case) -> DatabaseSchema:
        """The schema of the case's database. Raises `assay.errors.InputError` where there is none to be had."""
        ...


class AsksAboutDatabases(System, Protocol):
    """A System that puts the database into what it asks."""

    def with_databases(self, schemas: SchemaSource) -> System:
        """The system to ask in place of this one, which is closed with this one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str
    custom_content: Mapping[str, Any] | None = None
    """DIAL's addition, as it came: attachments, and the state that the next request must carry back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a model answered."""

    message: ChatMessage
    model: str | None = None
    """The model that answered, as it calls itself."""
    finish_reason: str | None = None
    """``stop``, ``length``, ``content_filter`` …; None where it was not said."""
    refusal: str | None = None
    """What the model said in place of an answer, where it refused."""
    tokens: TokenUsage | None = None
    latency_s: float = 0.0
    """From the request to the end of the answer, the time between attempts left out."""


class ChatModel(Protocol):
    """A model behind an OpenAI-compatible endpoint. Asked from several threads at once."""

    name: str
    """The model or deployment."""

    def describe(self) -> str:
        """Endpoint, model and settings, free of secrets."""
        ...

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        temperature: float | None = None,
        json_schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
    ) -> Completion | Failure:
        """Ask once, with retries after trouble that may pass; trouble that stays comes back as a Failure.

        ``json_schema`` asks for structured output by that schema. Raises
        `assay.errors.SystemUnusable` where no question could be answered.
        """
        ...

    def close(self) -> None:
        """Release connections. Closing twice is harmless."""
        ...
