"""What one room needs of another, as Protocols. An implementation imports only this module and the model."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from assay.model import (
    Case,
    ColumnUse,
    Comparison,
    DatabaseSchema,
    DatabaseUrl,
    Diagnosis,
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
    """False where the engine returns 1 for True and 0 for False."""

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
    """Executes what scoring needs, on any database by its URL."""

    def execute(self, url: DatabaseUrl, query: str) -> Execution:
        """Run one query. Never raises for what the query does."""
        ...

    def siblings(self, url: DatabaseUrl) -> tuple[DatabaseUrl, ...]:
        """The databases of the same schema beside this one."""
        ...

    def has_boolean_type(self, url: DatabaseUrl) -> bool:
        """False where that database returns 1 for True and 0 for False."""
        ...

    def dialect(self, url: DatabaseUrl) -> str:
        """sqlglot's name of that database's SQL dialect."""
        ...


class Cache(Protocol):
    """Keeps values from case to case. It may drop any of them."""

    def get(self, key: Hashable) -> object | None:
        """The value under this key; None where there is none."""
        ...

    def put(self, key: Hashable, value: object) -> object:
        """Keep a value, if there is room for it."""
        ...


class CachingExecutor(QueryExecutor, Protocol):
    """An executor with a cache for what is computed from its results."""

    @property
    def cache(self) -> Cache: ...


LABEL_BYTES = 16
"""The length in bytes of a label that tells a `Pulse` what runs."""
LossKind = Literal["timeout", "crashed", "out_of_memory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """How a worker was lost while something ran."""

    kind: LossKind
    message: str
    """A clause without a subject, such as ``ended its process with SIGSEGV``."""


class Pulse(Protocol):
    """How a worker says what it does right now, so that the process that waits for it can end what hangs.

    Work that may hang or crash is done between ``begin`` and ``end``. `lost` tells a later worker which work ended
    an earlier one, so that it skips that work.
    """

    def begin(self, label: bytes, seconds: float) -> None:
        """Say that ``label`` (`LABEL_BYTES` long) runs now and must end within ``seconds``."""
        ...

    def end(self) -> None:
        """Say that the labelled work has ended."""
        ...

    def lost(self, label: bytes) -> Loss | None:
        """How an earlier worker was lost while this label ran; None where it never was."""
        ...


LostKind = Literal["timeout", "crashed", "out_of_memory", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One unit of work. Its id is unique within a run of the backend; its payload must pickle."""

    id: int
    payload: object
    database: DatabaseUrl | None = None
    """The database on which it executes queries, for a backend of several machines; None: it needs none, or any."""


@dataclass(frozen=True, slots=True)
class TaskDone:
    """A task's outcome, as the task function returned it."""

    task_id: int
    outcome: object
    took_s: float = 0.0
    """About how long it took in its worker."""


@dataclass(frozen=True, slots=True)
class TaskLost:
    """A task without an outcome.

    Its function raised (``error``, ``out_of_memory``), or its worker was lost repeatedly, or outside of a labelled
    step.
    """

    task_id: int
    kind: LostKind
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededDatabase:
    """A database that tasks will need, so that a machine can tell whether it has the same one."""

    url: DatabaseUrl
    fingerprint: str
    """The hash of its content, or of something that changes with it."""
    version: str
    """The version of its engine where the run was started."""
    origin: str | None = None
    """The place of the first case on it, for messages."""


class Backend(Protocol):
    """Where a run's tasks are done: in worker processes of this machine, or on the machines of a cluster.

    A context manager: leaving it ends the workers. It is used by one thread.
    """

    @property
    def size(self) -> int:
        """How many tasks run at once."""
        ...

    def expect(self, databases: Sequence[NeededDatabase]) -> None:
        """Say which databases the tasks of later runs need. Raises `assay.errors.InputError` where one is out of reach.

        It is called before anything is asked or written.
        """
        ...

    def run(self, batches: Iterable[Sequence[Task]], *, shared: bool = False) -> Iterator[TaskDone | TaskLost]:
        """Run every task and yield each outcome soon after it is there, in no particular order.

        A batch is done by one worker, unless that is lost: the unfinished tasks then go to another one. ``shared``: as
        far as possible, but it may be taken apart, so that no worker is idle for long. Leaving the iteration early
        closes the backend.
        """
        ...

    def wind_up(self) -> None:
        """Begin no further task: `run` ends when those in flight are done. Safe to call from a signal handler."""
        ...

    def wait_until_ready(self) -> None:
        """Return when every worker is ready, for callers that must not spend that time later."""
        ...

    def close(self) -> None:
        """End the workers now. Closing twice is harmless."""
        ...

    def __enter__(self) -> Backend: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class DescribesSchema(Protocol):
    """An optional ability of an Engine: say what its database holds, for systems that write queries from that."""

    def schema(self, *, with_values: bool = True) -> DatabaseSchema:
        """All tables and views but the database's own, and a few values, read under the engine's limits.

        The same content gives the same answer. What cannot be read (a view on a table that is gone) is left
        out. Raises `assay.errors.DatabaseError` where the tables cannot be listed.
        """
        ...


class TellsContent(Protocol):
    """An optional ability of an Engine whose database is one file: its executions may be kept from run to run."""

    beside: ClassVar[tuple[str, ...]]
    """What is appended to the file's name for the files that may hold a part of its content."""

    def session(self) -> str | None:
        """All that decides answers besides the file, the query and the limits: settings, extensions, the library.

        None where that cannot be told.
        """
        ...

    def repeats(self, query: str) -> bool:
        """Whether the query that was just executed, for the first time on this connection, depends on the file alone.

        False wherever that is not certain: for chance, the clock, the session, and whatever is unknown.
        """
        ...


class EngineClass(Protocol):
    """What an `assay.engines` entry point loads to: the class of an Engine.

    It may also have ``warnings(url) -> tuple[str, ...]``: one sentence for each thing that the URL's user may
    do beyond reading. A run shows them before it starts.
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
        """A hash of the database's content, or of something that changes with it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRequest:
    """One more query that a metric needs executed, beside gold and prediction as they are.

    ``scope`` ``siblings`` runs it on the case's database and on each database beside it, too. A ``candidate`` is
    another query of the answer itself: it is executed even if gold failed, all queries of an answer share one
    time limit, and its execution is part of the evidence. ``turn`` tells apart requests with the same text.
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


class Diagnoser(Protocol):
    """Names the causes of a wrong answer."""

    def diagnose(self, evidence: Evidence, url: DatabaseUrl, is_right: Callable[[str], bool]) -> Diagnosis | None:
        """The causes of an incorrect answer, the primary one first; None for any other.

        ``is_right`` executes a query under the run's limits and says whether it would have been a right answer.
        """
        ...


class CaseScorer(Protocol):
    """Judges the cases of one kind: queries by executing them, selections by their terms.

    A scorer executes its queries itself, through the `QueryExecutor` that it was made with. A scorer that executes
    nothing needs no worker: the run calls it in its own process.
    """

    def evidence(self, case: Case, prediction: Prediction, url: DatabaseUrl) -> Evidence:
        """Everything found out about one case. Never raises for what an answer says or does."""
        ...


class Metric(Protocol):
    """A pure function from what happened to a score: rescoring needs no database.

    Its class may have every attribute of `assay.model.MetricInfo`: whether it is ``binary``, its ``label``, its
    ``meaning``, its range, whether higher is better. That is all that reports, gates and comparisons need to know.

    It may also set ``depends_on_queries_only = True``: its score then depends on the
    database, the golds, the predicted query and the case's options alone (not on the question, the
    tags or the timings), so that cases which share these are scored once.
    """

    name: str

    def requests(self, case: Case, prediction: Prediction) -> Sequence[QueryRequest]:
        """The queries that the metric needs beside gold and the prediction as they are. Usually none."""
        ...

    def score(self, case: Case, prediction: Prediction, executions: Executions, comparison: Comparison | None) -> Score:
        """Score one case. ``comparison`` is the verdict's; None where there was nothing to compare."""
        ...


class TimedMetric(Metric, Protocol):
    """A metric over wall times. It is asked twice.

    First, as every metric, where the rows are: it says 0, None, or `AWAITS_TIMING` as the failure
    of a score without a value. For the cases that await it, both queries are then executed in turn,
    alone on one worker, and ``timed`` gives the score.
    """

    def timed(self, timings: Sequence[PairTiming]) -> TimedScore:
        """The score of these timings; there is at least one.

        It is called again with more timings where its score was noisy. A prediction that is gold's own text has one
        timing, which is not measured: gold's time for both.
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
"""Why an efficiency metric has no value: nothing is measured yet, or measuring failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a file as it came: a value for each case or prediction, None where there is none."""

    name: str
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedCases:
    """A question set as a file gave it. A format may return it in place of bare cases, for safer joining.

    ``by_position`` is true where the file has no ids, so that a case's id is its zero-based position;
    ``stated`` is true where the user asked for positions.
    """

    cases: tuple[Case, ...]
    by_position: bool = False
    stated: bool = False
    columns: tuple[ColumnUse, ...] = ()
    """What was taken for what."""
    beside: tuple[Column, ...] = ()
    """The unused columns: one of them may be the id that the predictions use."""
    left_out: tuple[str, ...] = ()
    """Sheets with content that were not read."""

    def __iter__(self) -> Iterator[Case]:
        """The cases."""
        return iter(self.cases)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPredictions:
    """Predictions as a file gave them, before they meet their cases.

    ``by_position`` is true where the format has no ids: then the n-th prediction answers the n-th
    case, and ``case_id`` of each holds its zero-based position. They are joined by position only where the cases
    have no ids either and are as many, or where ``stated`` is true: the format or the user asks for positions.
    """

    predictions: tuple[Prediction, ...]
    by_position: bool = False
    stated: bool = False
    columns: tuple[ColumnUse, ...] = ()
    """What was taken for what."""
    beside: tuple[Column, ...] = ()
    """The unused columns, such as a copy of the question: their content is compared with the cases."""
    left_out: tuple[str, ...] = ()
    """Sheets with content that were not read."""


class CaseFormat(Protocol):
    """Reads question sets and prediction files of one layout."""

    name: str

    def recognises(self, path: Path) -> bool:
        """Whether this file or folder has this layout: by suffix, and by content where layouts share a suffix."""
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


@runtime_checkable
class StreamingReporter(Reporter, Protocol):
    """A reporter that makes its report piece by piece, so that no memory holds that of a hundred thousand cases."""

    def pieces(self, run: Run) -> Iterator[bytes]:
        """The whole report, cut anywhere."""
        ...


class System(Protocol):
    """A system under test that answers questions live. Several threads ask it at once."""

    name: str

    def describe(self) -> str:
        """What the system is and how it is asked, without secrets. Equal descriptions mean equal requests."""
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
    """Tells a system what a case's database holds. Several threads call it at once."""

    def __call__(self, case: Case) -> DatabaseSchema:
        """The schema of the case's database. Raises `assay.errors.InputError` where it cannot be had."""
        ...


class AsksAboutDatabases(System, Protocol):
    """A System that puts the database's schema into its requests."""

    def with_databases(self, schemas: SchemaSource) -> System:
        """The system to ask in place of this one. Closing this one closes both."""
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
    """From the request to the end of the answer, without the time between attempts."""


class ChatModel(Protocol):
    """A model behind an OpenAI-compatible endpoint. Several threads ask it at once."""

    name: str
    """The model or deployment."""

    def describe(self) -> str:
        """Endpoint, model and settings, without secrets."""
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
        """Ask once, with retries after passing trouble; trouble that lasts comes back as a Failure.

        ``json_schema`` asks for output of that schema. Raises
        `assay.errors.SystemUnusable` where no question could be answered.
        """
        ...

    def close(self) -> None:
        """Release connections. Closing twice is harmless."""
        ...
