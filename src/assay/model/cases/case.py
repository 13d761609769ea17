"""Questions with their gold query, and what a system answered."""

from __future__ import annotations

import warnings
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import force_setattr

from assay.errors import UsageError
from assay.model.cases.decision import DECISIONS, Decision, Exchange, Given, holds_nothing, is_null_word
from assay.model.cases.leniency import STRICT, Leniency
from assay.model.cases.selection import Turn, TurnAnswer
from assay.model.cases.usage import TokenUsage, read_measure
from assay.model.failure import Failure
from assay.model.results.given import GivenResult

ColumnRule = Literal["any", "strict"]
"""``any``: one permutation of columns for all rows is free; ``strict``: the gold query's column order counts."""


class CaseOptions(Struct, frozen=True, kw_only=True, gc=False):
    """How one case is to be scored, where that differs from the run's settings.

    None means: as the run says.
    """

    columns: ColumnRule | None = None
    ordered: bool | None = None
    """True: row order counts whatever the gold query's text says; False: it never counts."""
    condition_columns: tuple[tuple[int, ...], ...] = ()
    """Per gold query, queries before results, the zero-based columns of the gold query's that count. Empty, or none
    for a gold: all of them. If some count, a prediction may have others."""
    ignore_order: bool = True
    """Spider 2.0-lite: compare its column vectors sorted."""
    script_columns: tuple[tuple[int, ...] | None, ...] | None = None
    """Spider 2.0: per result, the columns that the benchmark's script compares, if these are not
    ``condition_columns``. Empty: all; None: the script fails there."""
    table: str | None = None
    """LLMSQL: the table that ``Table`` stands for in an answer, which is then a completion that may contain several
    queries (`assay.sql.extraction.completions`)."""
    leniency: Leniency = STRICT
    """The case's own leniency; it takes precedence over the run's."""


class Case(Struct, frozen=True, kw_only=True, gc=False):
    """One question with its gold query."""

    id: str
    question: str
    database: str | None = None
    """The database's name within the benchmark (``db_id``), which fills ``{db_id}`` of a URL template."""
    golds: tuple[str, ...] = ()
    """The accepted gold queries, in the file's order. Any one that matches makes an answer correct."""
    results: tuple[GivenResult, ...] = ()
    """The accepted results that are given without a query, in the file's order. They stand behind ``golds`` wherever
    gold queries are counted: with two gold queries, the first result is gold number 2, from 0."""
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    context: str | None = None
    """The question set's hints for the question (BIRD's evidence, Denodo's additional context)."""
    options: CaseOptions = field(default_factory=CaseOptions)
    origin: str | None = None
    """Where the case was read, for messages: ``dev.jsonl, line 17``."""
    name: str | None = None
    """The author's name for the case, besides the id."""
    comments: str | None = None
    """The author's notes; they are sent to no system and no LLM."""
    expects: Decision = "answer"
    """What is right to do: ``decline`` if the question has no answer, ``clarify`` if it has several readings."""
    conversation: str | None = None
    """The conversation whose turn this is; None: the question stands alone."""
    turn: int | None = None
    """The one-based place in the conversation."""
    history: tuple[Exchange, ...] = ()
    """The conversation's earlier turns, the first one first."""
    result_query: str | None = None
    """The query that is said to give ``results``. Only lint executes it."""
    engine: str | None = None
    """The engine that the question is for (``sqlite``, ``snowflake``, ``bigquery``), in a question set for several."""
    turns: tuple[Turn, ...] = ()
    """For SDMX: the questions of the conversation, each with its target. ``question`` then shows them all."""

    def __post_init__(self) -> None:
        if self.expects not in DECISIONS:
            raise UsageError(f"expects is {self.expects!r}: write {', '.join(DECISIONS)}")

    @property
    def gold_count(self) -> int:
        """How many accepted gold queries the case has, queries and results."""
        return len(self.golds) + len(self.results)

    def counting(self, gold_index: int) -> tuple[int, ...]:
        """The columns of that gold result that count, each once however often it is named; empty: all of them."""
        conditions = self.options.condition_columns
        return tuple(dict.fromkeys(conditions[gold_index])) if gold_index < len(conditions) else ()


ExtractionPlace = Literal["fence", "json", "words", "tool"]
"""``fence`` a code fence or tags; ``json`` a JSON object; ``words`` prose, or what follows a model's
thinking; ``tool`` an argument of a tool call."""


class Extraction(Struct, frozen=True, kw_only=True, gc=False):
    """How a query was taken from a text that is not a statement but contains one (`assay.sql.extraction`)."""

    place: ExtractionPlace | None
    """Where in the text the query is. None: no statement in the text is evaluated."""
    others: tuple[str, ...] = ()
    """The other statements in the text, such as a draft. They do not count."""
    several: bool = False
    """Whether the text contains several different statements and marks none as the final one. The last of those in code
    fences or tags counts; of those in prose or JSON, none does."""

    @property
    def failure(self) -> Failure | None:
        """Why no statement of the text is evaluated; None if one is."""
        if self.place is not None or not self.several:
            return None
        message = f"it contains {len(self.others)} different statements and does not mark one of them as the final one"
        return Failure(stage="read", kind="no_query", blame="system", message=message)


class Prediction(Struct, frozen=True, kw_only=True, gc=False):
    """What the system answered to one case.

    ``query`` is None if there is no query; then ``result`` has the rows that it returned instead, or ``failure``
    says why there are none. An answer that is present but blank is kept as it came, for metrics that score it as their
    scripts do, and has the failure of one that is absent.
    """

    case_id: str
    query: str | None = None
    result: GivenResult | None = None
    """The rows that the system answered with in place of a query."""
    raw: str | None = None
    """The answer as it came, if it differs from ``query``."""
    query_source: str | None = None
    """The place of the query in the answer, if not in its own place: ``answer`` is the text for a person to read."""
    timings_s: tuple[tuple[str, float], ...] = ()
    """Seconds by the system's own names, for example ``("llm_time", 1.2)``."""
    tokens: TokenUsage | None = None
    explanation: str | None = None
    """The system's explanation of its query."""
    tables_used: tuple[str, ...] = ()
    """The tables or views that the system said its query uses, in its order."""
    context_tables: tuple[str, ...] | None = None
    """The tables or views that the system was given before it wrote the query, as it names them. None: it does not say;
    empty: it was given none."""
    context_columns: tuple[str, ...] | None = None
    """The columns that it was given, each with its table: ``singer.age``; ``singer.*`` for all columns of a table."""
    cost_usd: float | None = None
    failure: Failure | None = None
    decision: Decision | None = None
    """What the system says it does. None: it says nothing of that; then a query is an answer, and no query is none."""
    confidence: float | None = None
    """How sure the system says it is that its answer is right, from 0 to 1; anything else becomes None."""
    origin: str | None = None
    turns: tuple[TurnAnswer, ...] = ()
    """For SDMX: the answers to the questions of the conversation, in their order; ``query`` is then None."""
    repeat: int = 0
    """Zero-based: which of several answers to the same question this is."""
    extraction: Extraction | None = None
    """How ``query`` was taken from the text in ``raw``; None if the text is the query."""

    def __post_init__(self) -> None:
        if self.decision is not None and self.decision not in DECISIONS:
            raise UsageError(f"decision is {self.decision!r}: write {', '.join(DECISIONS)}, or None")
        if self.confidence is not None:
            # A system's own code may report anything, and no answer is lost for it: see `assay.model.cases.measures`.
            confidence = read_measure(self.confidence)
            if confidence is None or confidence > 1.0:
                force_setattr(self, "confidence", None)
                message = "a confidence that is not a number from 0 to 1 counts as not reported"
                warnings.warn(message, UserWarning, stacklevel=2)
            elif confidence != self.confidence:
                force_setattr(self, "confidence", confidence)
        if self.context_tables is not None or self.context_columns is not None:
            force_setattr(self, "context_tables", _names("context_tables", self.context_tables))
            force_setattr(self, "context_columns", _names("context_columns", self.context_columns))
        # As `given` says, in fewer steps: a large run makes each of its answers several times.
        may_be_blank = self.query is not None and self.result is None and self.decision not in ("decline", "clarify")
        if may_be_blank and self.failure is None and holds_nothing(self.query or ""):
            message = "the system returned no query" if self.origin is None else f"{self.origin}, contains no query"
            failure = Failure(stage="ask", kind="unanswered", blame="system", message=message)
            force_setattr(self, "failure", failure)

    @property
    def has_context(self) -> bool:
        """Whether the system says which tables or columns it was given."""
        return self.context_tables is not None or self.context_columns is not None

    @property
    def answered(self) -> bool:
        """Whether there is something to score: a query or rows."""
        return self.query is not None or self.result is not None

    @property
    def given(self) -> Given:
        """What the system did. A query together with ``decline`` or ``clarify`` is not its answer; ``null``
        declines."""
        if self.decision in ("decline", "clarify"):
            return self.decision
        if self.result is not None:
            return "answer"
        if self.query is None or holds_nothing(self.query):
            return "nothing"
        return "decline" if is_null_word(self.query) else "answer"

    def timing_s(self, name: str) -> float | None:
        """The seconds under that name, None if there are none.

        Letter case and separators do not matter: ``Total Execution Time`` is ``total_execution_time``.
        """
        if not self.timings_s:
            return None
        wanted = _letters(name)
        return next((seconds for own, seconds in self.timings_s if own == name or _letters(own) == wanted), None)


def _names(field: str, given: object) -> tuple[str, ...] | None:
    """The names of a field as a tuple. Raises UsageError for anything but texts in a list."""
    if type(given) is tuple and all([type(name) is str for name in given]):  # noqa: C419 - of every stored answer
        return given
    if given is None:
        return None
    if not isinstance(given, (list, tuple, set, frozenset)) or not all(isinstance(name, str) for name in given):
        raise UsageError(f"{field} is {given!r}: give the names as a list of texts, or None if they are not known")
    return tuple(sorted(given)) if isinstance(given, (set, frozenset)) else tuple(given)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).casefold()
