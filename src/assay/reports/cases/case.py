"""One case, ready to draw: its queries, their outcomes, and a sample of the difference."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct

from assay.diagnosis import CAUSES, SELECTION
from assay.model import Case, Cause, Diagnosis, Evidence, Execution, Failure, Outcome, Prediction, Score
from assay.model.verdicts.comparison import RowState
from assay.model.verdicts.retrieval import CONTEXT_COMPLETE, retrieval_of
from assay.reports.blocks.values import CaseLink
from assay.reports.cases.alignment import Alignment, alignment
from assay.reports.cases.witness import WitnessView
from assay.reports.text import meanings
from assay.reports.text.meanings import FLAGS
from assay.reports.text.plain import clipped, number, one_line, plural, seconds, words
from assay.reports.text.results import given_text, golds_text

_QUERY_LENGTH = 6000
_ORIGINAL_LENGTH = 50_000
_MESSAGE_LENGTH = 1000
_ROWS: Mapping[RowState, int] = {"matched": 3, "missing": 6, "extra": 6}
_COLUMNS = 12


class QueryView(Struct, frozen=True, kw_only=True, gc=False):
    """One query of a case and its outcome, for example ``4 rows in 12 ms`` or an error message."""

    label: str
    query: str | None
    """None: the system returned none."""
    outcome: str
    failed: bool
    original: str | None = None
    """The given text for the clipboard, if it differs from the shown one and is not too long."""


class ScoreView(Struct, frozen=True, array_like=True, gc=False):
    """One metric's value for one case; if there is no value, ``text`` is ``n/a`` and ``detail`` says why."""

    metric: str
    value: float | None
    text: str
    detail: str


Meant: TypeAlias = tuple[str, str]
"""A name in words, and what it means."""


class CaseContent(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    gc=False,
    rename={"near_misses": "near"},
):
    """What is known of one case, as every format shows it and as a page contains it in JSON."""

    outcome: Outcome
    question: str = ""
    context: str | None = None
    name: str | None = None
    database: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    label: str = ""
    """On the page of two runs, the run's."""
    reason: str = ""
    flags: tuple[Meant, ...] = ()
    near_misses: tuple[str, ...] = ()
    cause: str | None = None
    """The name of the primary cause."""
    why: tuple[str, ...] = ()
    """Every cause with its evidence."""
    repair: tuple[str, ...] = ()
    """The smallest change that makes the answer right, a line for each clause."""
    alike: tuple[str, ...] = ()
    """Clauses in which both queries say the same, however they spell it: nothing in them is marked."""
    golds: tuple[QueryView, ...] = ()
    predicted: QueryView | None = None
    """None if selections were scored instead of queries."""
    turns: tuple[TurnView, ...] = ()
    """For SDMX: the questions of the conversation."""
    raw: str | None = None
    scores: tuple[ScoreView, ...] = ()
    failures: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    """What is doubtful about the case's gold queries, the severest first."""
    difference: Alignment | None = None
    """The two results side by side."""
    reviewed: Meant | None = None
    """The reviewed verdict, and the decision that it follows from."""
    strength: Meant | None = None
    """For a page, as what follows."""
    explanation: str | None = None
    tables: tuple[str, ...] = ()
    """Those that the system said it used."""
    given: tuple[str, ...] = ()
    """The tables and columns that the system says it was given."""
    facts: tuple[Meant, ...] = ()
    """Time, tokens and cost of the answer and the queries."""
    beyond: WitnessView | None = None
    """The result of the search for a counterexample."""


class CaseView(CaseContent, frozen=True, kw_only=True, gc=False):
    """One case with all that is known of it, and how a report names and finds it."""

    id: str
    anchor: str
    answer: str = ""
    """Which of several answers to its question: ``answer 2 of 3``."""
    rules: tuple[str, ...] = ()
    """The rules of the lint that found something about its gold queries."""


def case_view(item: Evidence, link: CaseLink, *, page: bool = False) -> CaseView:
    """All that is known of one case; ``page``: with as many rows of the results as a page shows."""
    case, verdict = item.case, item.verdict
    raw = item.prediction.raw
    return CaseView(
        id=link.id,
        anchor=link.anchor,
        answer=link.answer,
        question=clipped(case.question, limit=_QUERY_LENGTH),
        context=_context(case),
        database=short_name(case.database),
        difficulty=short_name(case.difficulty),
        tags=tuple(one_line(tag, limit=60) for tag in case.tags),
        outcome=verdict.outcome,
        reason=message(verdict.reason),
        flags=flags(item),
        near_misses=near_misses(item),
        cause=short_name(item.cause),
        golds=_golds(item),
        predicted=_predicted(item.prediction, item.predicted_execution),
        raw=clipped(raw, limit=_QUERY_LENGTH) if raw and raw != item.prediction.query else None,
        scores=tuple(map(score_view, item.scores)),
        failures=_failures(item),
        difference=alignment(item) if page else alignment(item, most=_ROWS, columns=_COLUMNS),
        why=why(item),
        repair=repair(item),
        alike=item.diagnosis.alike if item.diagnosis is not None else (),
    )


def _context(case: Case) -> str | None:
    """What goes along with the question: the conversation before it, and the question set's hints."""
    earlier = [f"{turn}. {one.question}" for turn, one in enumerate(case.history, start=1)]
    parts = (*(("Earlier in this conversation:", *earlier) if earlier else ()), case.context or "")
    text = "\n".join(filter(None, parts))
    return clipped(text, limit=_QUERY_LENGTH) if text else None


def near_misses(item: Evidence) -> tuple[str, ...]:
    """How a wrong result comes close to the gold result, each as ``name: detail``; empty for any other prediction."""
    misses = item.comparison.near_misses if item.comparison and item.outcome == "incorrect" else ()
    return tuple(f"{words(miss.kind)}: {message(miss.detail)}" if miss.detail else words(miss.kind) for miss in misses)


def failures(item: Evidence) -> tuple[str, ...]:
    """Each failure once, as ``blame: message``."""
    executions = (*item.gold_executions, *filter(None, [item.predicted_execution]))
    found = (item.verdict.failure, item.prediction.failure, *(execution.failure for execution in executions))
    return tuple(dict.fromkeys(f"{failure.blame}: {message(failure.message)}" for failure in found if failure))


def rows_and_time(execution: Execution, *, timed: bool = True) -> str:
    """The outcome of a query: ``4 rows in 12 ms``, ``no rows``, ``timeout after 30.0 s``, ``error``."""
    time = seconds(execution.wall_time_s) if timed and execution.wall_time_s is not None else None
    if execution.status in ("error", "timeout", "refused"):
        return f"{execution.status} after {time}" if time else execution.status
    rows = execution.row_count
    counted = "no rows" if rows == 0 else "rows" if rows is None else plural(rows, "row")
    cut = ", cut by a cap" if execution.status == "truncated" else ""
    return f"{counted}{cut} in {time}" if time else counted + cut


def short_name(text: str | None) -> str | None:
    """A name on one line; None stays None."""
    return None if text is None else one_line(text, limit=80)


def message(text: str) -> str:
    """A reason or error message on one line, cut if it is long."""
    return one_line(text, limit=_MESSAGE_LENGTH)


def _golds(item: Evidence) -> tuple[QueryView, ...]:
    several = item.case.gold_count > 1
    views = []
    for index, query in enumerate(golds_text(item.case)):
        execution = item.gold_executions[index] if index < len(item.gold_executions) else None
        label = f"Gold {index + 1}" if several else "Gold"
        if several and index == item.verdict.gold_index:
            label += ", compared with this one"
        views.append(_query(label, query, execution, None))
    return tuple(views)


def _predicted(prediction: Prediction, execution: Execution | None) -> QueryView:
    given = prediction.result
    shown = prediction.query if given is None else given_text(given)
    return _query("Predicted", shown, execution, prediction.failure)


def _query(label: str, query: str | None, execution: Execution | None, failure: Failure | None) -> QueryView:
    outcome = rows_and_time(execution) if execution else "not executed"
    failure = failure or (execution.failure if execution else None)
    if failure is not None:
        told = message(failure.message)
        # "refused: it writes" already says that the query is refused.
        said = execution is None or told.startswith(f"{outcome}:")
        outcome = told if said else f"{outcome}: {told}"
    shown = None if query is None else clipped(query, limit=_QUERY_LENGTH)
    kept = query is not None and query != shown and len(query) <= _ORIGINAL_LENGTH
    return QueryView(
        label=label,
        query=shown,
        original=query if kept else None,
        outcome=outcome,
        failed=failure is not None or (execution is not None and not execution.succeeded),
    )


@lru_cache(maxsize=1000)
def score_view(score: Score) -> ScoreView:
    """One metric's value, or why there is none."""
    detail = score.failure.message if score.value is None and score.failure else score.detail
    value = score.value
    text = "n/a" if value is None else number(value) if value in (0.0, 1.0) else f"{value:.3f}"
    return ScoreView(one_line(score.metric, limit=80), value, text, message(detail or ""))


def _failures(item: Evidence) -> tuple[str, ...]:
    """Failures other than a query's own, as ``blame: message``: a query's failure is shown above its text."""
    executions = (*item.gold_executions, *filter(None, [item.predicted_execution]))
    failures = (item.prediction.failure, *(execution.failure for execution in executions))
    told = {failure.message for failure in failures if failure}
    failure = item.verdict.failure
    return (f"{failure.blame}: {message(failure.message)}",) if failure and failure.message not in told else ()


def flags(item: Evidence) -> tuple[Meant, ...]:
    """The flags of a case with their meanings."""
    return tuple((words(flag), FLAGS.get(flag, "")) for flag in sorted(item.verdict.flags))


TermState = Literal["right", "extra", "missing"]
"""In both (true positives), only selected (false positives), only in the target (false negatives)."""


class TermView(Struct, frozen=True, kw_only=True):
    """One scored term. ``name`` and ``dataset`` are empty if absent or not needed."""

    code: str
    name: str = ""
    dataset: str = ""
    note: str = ""

    @property
    def line(self) -> str:
        """The term on one line: ``LP: Population (invented code, of IMF:CPI)``."""
        aside = ", ".join(filter(None, (self.note, self.dataset and f"in {self.dataset}")))
        return (f"{self.code}: {self.name}" if self.name else self.code) + (f" ({aside})" if aside else "")


class TermList(Struct, frozen=True, kw_only=True):
    """The terms of one state: all are counted, the first ones shown."""

    state: TermState
    count: int
    terms: tuple[TermView, ...]

    @property
    def left_out(self) -> int:
        """How many terms are not shown."""
        return self.count - len(self.terms)


class DimensionView(Struct, frozen=True, kw_only=True):
    """One dimension of one turn: its three lists, always in the order right, extra, missing."""

    name: str
    lists: tuple[TermList, TermList, TermList]
    precision: str
    recall: str

    @property
    def is_empty(self) -> bool:
        """Whether neither side has a term: an explicitly empty target that was met."""
        return not any(terms.count for terms in self.lists)


class TimeView(Struct, frozen=True, kw_only=True):
    """The periods of one dataset, in words. ``good`` None: not scored."""

    dataset: str
    said: str
    target: str
    selected: str
    good: bool | None


class TurnView(Struct, frozen=True, kw_only=True):
    """One question of a conversation, and how its answer compares with the target."""

    label: str
    """``Turn 2`` of a conversation, else empty."""
    question: str
    said: str
    """``exact`` or ``not exact``."""
    exact: bool | None
    """None: not scored."""
    figures: str
    """``macro recall 0.500, macro precision 1.000``; empty if the turn is not scored."""
    dimensions: tuple[DimensionView, ...]
    beyond: tuple[DimensionView, ...]
    """Dimensions that the target does not have."""
    datasets: tuple[tuple[TermState, str], ...]
    time: tuple[TimeView, ...]
    remarks: tuple[str, ...]
    """The target it was scored by, terms that match through a hierarchy, terms compared by code alone."""
    failures: tuple[str, ...]
    text: str | None
    raw: str | None


_LENGTH = 400


def why(item: Evidence) -> tuple[str, ...]:
    """Each cause with its evidence, the primary one first, then notes; nothing for an answer without causes."""
    found, retrieval = item.diagnosis, retrieval_line(item)
    if found is None:
        return (f"Retrieval: {retrieval}",) if retrieval else ()
    use = schema_use_line(found)
    notes = (one_line(note, limit=_LENGTH) for note in found.notes)
    facts = [f"{name}: {line}" for name, line in (("Schema use", use), ("Retrieval", retrieval)) if line]
    return (*map(_told, found.causes), *facts, *notes)


def schema_use_line(found: Diagnosis) -> str:
    """The tables and columns that the prediction uses, in words; empty: that is not known."""
    if found.schema_use is None:
        return ""
    return f"{meanings.label_of(found.schema_use)} ({meanings.SCHEMA_USE[found.schema_use]})"


def retrieval_line(item: Evidence) -> str:
    """What retrieval had to do with a wrong answer, and what it missed; empty: its system says nothing of that."""
    score = item.score(CONTEXT_COMPLETE)
    kind = None if score is None else retrieval_of(item.outcome, score.value)
    if kind in (None, "unknown") or score is None:
        return ""
    detail = f" ({one_line(score.detail, limit=_LENGTH)})" if score.detail else ""
    return f"{meanings.RETRIEVAL_LABELS[kind]}{detail}"


def repair(item: Evidence) -> tuple[str, ...]:
    """The repair of an answer, a line for each clause; nothing if none is known."""
    return () if item.diagnosis is None else repair_lines(item.diagnosis)


def _told(cause: Cause) -> str:
    return f"{CAUSES[cause.kind].title}: {one_line(cause.message, limit=_LENGTH)}"


def repair_lines(found: Diagnosis) -> tuple[str, ...]:
    """The repair, a line for each clause: what to write there."""
    if found.repair is None:
        return ()
    lines = []
    selection = CAUSES[found.causes[0].kind].category == SELECTION
    for step in found.repair.steps:
        before, after = (one_line(text, limit=_LENGTH) for text in (step.before, step.after))
        if selection:  # the terms of one dimension stand beside its name
            before, after = (f"{step.clause} {text}" if text else "" for text in (before, after))
        if before and after:
            lines.append(f"right with {after} in place of {before}")
        else:
            lines.append(f"right with {after}" if after else f"right without {before}")
    if found.repair.elsewhere:
        return (*lines, f"but not everywhere: {one_line(found.repair.elsewhere, limit=_LENGTH)}")
    return tuple(lines) if len(lines) == 1 else tuple(f"{place}. {line}" for place, line in enumerate(lines, 1))


def advice_of(title: str) -> str:
    """What to do about a cause, by its title."""
    return next((info.advice for info in CAUSES.values() if info.title == title), "")
