"""The cases of a run as its page contains them: packed, so that the browser draws a case when it is opened.

The page contains JSON, compressed and in base64: nothing in it can end an element or run as a script. It has two parts.
The *index* has what the table, its filters and its order need of every case, in columns; the *details* have the rest,
in chunks of cases. All text has passed `assay.reports.text.plain`, and the browser puts it in place as text, never as
markup.
"""

from __future__ import annotations

import gzip
import json
from array import array
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from assay.model import CaseSummary, CauseGroup, CauseGroupKind, Count, Evidence
from assay.reports.blocks import reviews
from assay.reports.blocks.counts import cause_groups
from assay.reports.blocks.reliability import ASKED, DID
from assay.reports.blocks.run import RunReport
from assay.reports.blocks.run_sections import only_by
from assay.reports.cases.case import CaseContent, CaseView
from assay.reports.cases.selection import failure_name
from assay.reports.cases.witness import strength_said, witness_view
from assay.reports.html.payload import Facet, Index, Metric, PairDetail, State
from assay.reports.text.meanings import RETRIEVAL_LABELS, STEADINESS, label_of
from assay.reports.text.plain import billed, clipped, one_line, seconds, words
from assay.runs.aggregate.totals import failures_of

CHUNK = 200
"""How many cases have their details unpacked together."""
_QUESTION, _REASON = 240, 200
_EXPLANATION = 4000
_MOST_RATIOS = 20
OUTCOMES = ("correct", "incorrect", "unscored")


class Packed:
    """Packs the details of cases as they come, a chunk of cases at a time."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._begun: list[bytes] = []

    def add(self, detail: CaseContent | PairDetail) -> None:
        """The details of the next case."""
        self._begun.append(_json(detail))
        if len(self._begun) == CHUNK:
            self._finish()

    def _finish(self) -> None:
        if self._begun:
            self._chunks.append(_packed(b"[%s]" % b",".join(self._begun)))
            self._begun = []

    def pieces(self, index: Index) -> Iterator[bytes]:
        """The JSON in the page (`Held`): only strings of base64, so that no text of a case can be taken for markup."""
        self._finish()
        yield b'{"index": "%s", "chunks": [' % pack(index)
        for place, chunk in enumerate(self._chunks):
            yield b'%s"%s"' % (b", " if place else b"", chunk)
        yield b"]}"


def pack(value: object) -> bytes:
    """A value as JSON, gzipped, in base64: what `page.unpack` reads in a page."""
    return _packed(_json(value))


def _packed(content: bytes) -> bytes:
    # A fixed time: the same run gives the same bytes.
    return b64encode(gzip.compress(content, 6, mtime=0))


_ENCODE = msgspec.json.Encoder().encode


def _json(value: object) -> bytes:
    try:
        return _ENCODE(value)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


class CaseIndex:
    """What the table of cases of a page needs, gathered case by case in the page's order."""

    def __init__(
        self,
        headline: str,
        states: Sequence[State],
        metrics: Sequence[tuple[str, bool]],
        facets: Sequence[FacetColumn],
    ) -> None:
        """``metrics``: the name of each, and whether its values read as shares."""
        self._headline, self._states, self._metrics, self._facets = headline, states, metrics, facets
        self._state = array("B")
        self._id: list[str] = []
        self._link: list[str] = []
        self._answer: list[str] = []
        self._question: list[str] = []
        self._reason: list[str] = []
        self._values: list[tuple[float | None, ...]] = []
        self._time: list[float | None] = []

    def add(
        self,
        summary: CaseSummary,
        case: CaseView,
        *,
        state: int,
        values: Iterable[float | None],
        time_s: float | None = None,
    ) -> None:
        """The next case, with its value of each metric."""
        self._state.append(state)
        self._id.append(case.id)
        self._link.append(case.anchor)
        self._answer.append(case.answer)
        self._question.append(one_line(case.question, limit=_QUESTION))
        # The table leaves out why an answer is right; the opened case says it.
        self._reason.append("" if case.outcome == "correct" else one_line(case.reason, limit=_REASON))
        self._time.append(None if time_s is None else round(time_s, 3))
        self._values.append(
            tuple([value if value is None or value in (0.0, 1.0) else round(value, 4) for value in values])
        )
        for facet in self._facets:
            facet.add(summary, case)

    def index(self) -> Index:
        """All of it, once every case was added."""
        return Index(
            headline=self._headline,
            states=tuple(self._states),
            state=tuple(self._state),
            id=tuple(self._id),
            link=tuple(self._link),
            answer=tuple(self._answer) if any(self._answer) else (),
            question=tuple(self._question),
            reason=tuple(self._reason),
            facets=tuple(made for facet in self._facets if (made := facet.made()).values),
            metrics=tuple(
                Metric(name=name, share=share, value=tuple([row[place] for row in self._values]))
                for place, (name, share) in enumerate(self._metrics)
            ),
            time=tuple(self._time),
            chunk=CHUNK,
        )


def run_index(report: RunReport) -> CaseIndex:
    """The index of a run's page, still without a case. A case's state is the place of its outcome in `OUTCOMES`."""
    states = [
        State(name=name, label=name.capitalize(), mark=mark, tone=name)
        for name, mark in zip(OUTCOMES, ("✓", "✗", "–"), strict=True)
    ]
    metrics = [(row.metric, row.share) for row in report.metrics]
    return CaseIndex(report.headline_metric, states, metrics, [*case_facets(), *_run_facets(report)])


class FacetColumn:
    """One filter, gathered case by case; ``names`` gives a case's values."""

    def __init__(self, name: str, label: str, names: Callable[[CaseSummary, CaseView], tuple[str, ...]]) -> None:
        self._name, self._label, self._names = name, label, names
        self._groups: dict[tuple[str, ...], int] = {}
        """A number for all cases that have the same values."""
        self._of = array("I")

    def add(self, summary: CaseSummary, case: CaseView) -> None:
        """The next case."""
        names = self._names(summary, case)
        group = self._groups.get(names)
        if group is None:
            group = self._groups[names] = len(self._groups)
        self._of.append(group)

    def made(self) -> Facet:
        """The filter: its values, the most frequent first, and per case the places of its values."""
        carried = [tuple(dict.fromkeys(names)) for names in self._groups]
        counts: Counter[str] = Counter()
        for group, count in Counter(self._of).items():
            counts.update(dict.fromkeys(carried[group], count))
        values = sorted(counts, key=lambda value: (-counts[value], value))
        place = {value: number for number, value in enumerate(values)}
        placed = [tuple(place[one] for one in names) for names in carried]
        return Facet(
            name=self._name, label=self._label, values=tuple(values), of=tuple(map(placed.__getitem__, self._of))
        )


def case_facets(*, now: str = "") -> list[FacetColumn]:
    """The filters that need only the cases; ``now`` is appended to the labels of what may differ between runs."""
    return [
        FacetColumn("database", "Database", lambda _, case: _one(case.database)),
        FacetColumn("difficulty", "Difficulty", lambda _, case: _one(case.difficulty)),
        FacetColumn("cause", f"Cause{now}", lambda _, case: _one(case.cause)),
        FacetColumn(
            "use",
            f"Schema use{now}",
            lambda summary, _: () if summary.schema_use is None else (label_of(summary.schema_use),),
        ),
        FacetColumn("failure", f"Failure{now}", _failure_names),
        FacetColumn(
            "near", f"Near miss{now}", lambda _, case: tuple([miss.partition(":")[0] for miss in case.near_misses])
        ),
        FacetColumn("flag", f"Flag{now}", lambda _, case: tuple([name for name, _ in case.flags])),
        FacetColumn("tag", "Tag", lambda _, case: case.tags),
    ]


def _one(name: str | None) -> tuple[str, ...]:
    return (name,) if name else ()


def _retrieval(summary: CaseSummary) -> tuple[str, ...]:
    kind = summary.retrieval
    return () if kind is None else (RETRIEVAL_LABELS.get(kind, kind),)


def _run_facets(report: RunReport) -> Iterable[FacetColumn]:
    """The filters in the words of the first screen."""
    numbers = report.numbers
    totals = numbers.selection
    terms, periods = (totals.wrong_terms, totals.time_states) if totals else ((), ())
    held = {"term": ("Wrong term", terms), "period": ("Periods", periods)}
    for facet, (label, counts) in held.items():
        yield from _of_cases(report, facet, label, [(label_of(one.name), one) for one in counts])
    if numbers.reviews is not None:
        yield FacetColumn("review", "Review", lambda summary, _: _one(summary.review and words(summary.review)))
        yield FacetColumn("reviewed", "Verdict changed", lambda summary, _: reviews.change(summary))
    if numbers.witnesses is not None:
        yield FacetColumn("strength", "Strength of a match", lambda summary, _: _strength(summary))
    if numbers.unanswered:
        yield FacetColumn("prediction", "Prediction", lambda summary, _: ("unanswered",) * summary.unanswered)
    if numbers.reliability is not None:
        yield FacetColumn("decision", "Decision", lambda summary, _: (DID[summary.given],))
        yield FacetColumn("asks", "Question", lambda summary, _: (ASKED[summary.expects],))
    if numbers.retrieval:
        yield FacetColumn("retrieval", "Retrieval", lambda summary, _: _retrieval(summary))
    if report.run.lint is not None:
        yield FacetColumn("finding", "Gold query finding", lambda _, case: case.rules)
    groups = cause_groups(report)
    kinds: tuple[tuple[CauseGroupKind, str], ...] = (
        ("table", "Wrong about table"),
        ("column", "Wrong about column"),
        ("feature", "Wrong, gold query uses"),
    )
    for kind, label in kinds:
        named = [(one_line(group.name, limit=80), group) for group in groups.get(kind, ())]
        yield from _of_cases(report, kind, label, named)
    if report.asked > 1:
        outcomes: dict[str, set[str]] = {}
        for asked in report.run.summaries:
            outcomes.setdefault(asked.case_id, set()).add(asked.outcome)
        yield FacetColumn("steady", "Steadiness", lambda summary, _: (_steadiness(outcomes[summary.case_id]),))
    pairs = [(one_line(pair.first), one_line(pair.second)) for pair in report.disagreements]
    if pairs:
        yield FacetColumn("only", "Accepted only by", _accepted_only(pairs))


def _of_cases(
    report: RunReport, facet: str, label: str, counts: Iterable[tuple[str, Count | CauseGroup]]
) -> Iterable[FacetColumn]:
    """The filter by names that the aggregates give with the cases that carry them; none if no case does."""
    names: dict[str, tuple[str, ...]] = {}
    for name, one in counts:
        for link in report.linked(one.case_ids):
            names[link.anchor] = (*names.get(link.anchor, ()), name)
    if names:
        yield FacetColumn(facet, label, lambda _, case: names.get(case.anchor, ()))


def _failure_names(summary: CaseSummary, case: CaseView) -> tuple[str, ...]:
    """What failed on the way to a verdict, as ``blame: kind``, in the words of the first screen."""
    names = []
    for name in failures_of(summary):
        blame, _, kind = name.partition(": ")
        # Selections have no query: their gold is called the target.
        blame, kind = failure_name(blame, kind) if case.predicted is None else (blame, words(kind))
        names.append(f"{blame}: {kind}")
    return tuple(names)


def _strength(summary: CaseSummary) -> tuple[str, ...]:
    """The strength of a match, if a counterexample was searched for."""
    looked = summary.outcome == "correct" and summary.search is not None
    return (words(summary.strength),) if looked else ()


def _steadiness(outcomes: Collection[str]) -> str:
    """How steady the answers to a question are, by their outcomes."""
    right, wrong, flaky, unscored = STEADINESS
    found = {*outcomes} - {"unscored"}
    return flaky if len(found) > 1 else right if found == {"correct"} else wrong if found else unscored


def _accepted_only(pairs: Sequence[tuple[str, str]]) -> Callable[[CaseSummary, CaseView], tuple[str, ...]]:
    """The pairs of metrics in which one accepts an answer and the other does not, as names of a filter."""
    metrics = list(dict.fromkeys(name for pair in pairs for name in pair))
    places = [(metrics.index(first), metrics.index(second), first, second) for first, second in pairs]
    known: dict[tuple[float | None, ...], tuple[str, ...]] = {}

    def names(_: CaseSummary, case: CaseView) -> tuple[str, ...]:
        scores = {score.metric: score.value for score in case.scores}
        values = tuple(map(scores.get, metrics))
        found = known.get(values)
        if found is None:
            found = known[values] = tuple(
                [
                    only_by(first, second) if values[here] == 1.0 else only_by(second, first)
                    for here, there, first, second in places
                    if (values[here], values[there]) in ((1.0, 0.0), (0.0, 1.0))
                ]
            )
        return found

    return names


_MOST_GIVEN = 50
"""Tables and columns that a page shows of what a system was given."""


def for_page(item: Evidence, case: CaseView) -> CaseContent:
    """What a page contains of a case, with what only a page shows of it."""
    prediction = item.prediction
    content: dict[str, Any] = dict(zip(CaseContent.__struct_fields__, _content(case), strict=True))
    content["near_misses"] = tuple([_unsaid(miss, case.reason) for miss in case.near_misses])
    content["strength"] = strength_said(item)
    content["explanation"] = clipped(prediction.explanation, limit=_EXPLANATION) if prediction.explanation else None
    content["tables"] = tuple([one_line(name, limit=80) for name in prediction.tables_used[:50]])
    given = (*(prediction.context_tables or ()), *(prediction.context_columns or ()))
    content["given"] = tuple([one_line(name, limit=80) for name in given[:_MOST_GIVEN]])
    if len(given) > _MOST_GIVEN:
        content["given"] += (f"and {len(given) - _MOST_GIVEN:,} more",)
    content["facts"] = tuple(_facts(item))
    content["beyond"] = witness_view(item)
    return CaseContent(**content)


_content = attrgetter(*CaseContent.__struct_fields__)


def _unsaid(miss: str, reason: str) -> str:
    """A near miss, without its detail if the reason above it already says it."""
    name, _, said = miss.partition(": ")
    return name if said and said in reason else miss


def _facts(item: Evidence) -> Iterable[tuple[str, str]]:
    """Time, tokens and cost of the answer and the queries."""
    prediction = item.prediction
    for name, taken in prediction.timings_s:
        yield words(name.removesuffix("_s")), seconds(taken)
    for index, execution in enumerate(item.gold_executions):
        if execution.wall_time_s is not None:
            number = f" {index + 1}" if len(item.gold_executions) > 1 else ""
            yield f"gold query{number}", seconds(execution.wall_time_s)
    if item.predicted_execution is not None and item.predicted_execution.wall_time_s is not None:
        yield "predicted query", seconds(item.predicted_execution.wall_time_s)
    if item.pair_timings:
        ratios = [f"{pair.gold_s / pair.predicted_s:.2f}" for pair in item.pair_timings]
        more = [f"and {len(ratios) - _MOST_RATIOS} more"] if len(ratios) > _MOST_RATIOS else []
        yield "gold time / predicted time", ", ".join([*ratios[:_MOST_RATIOS], *more])
    tokens = prediction.tokens
    if tokens is not None:
        counts = ((tokens.input, "in"), (tokens.output, "out"), (tokens.total, "in all"))
        said = ", ".join(f"{count:,} {name}" for count, name in counts if count is not None)
        if said:
            yield "tokens", said
    if prediction.cost_usd is not None:
        yield "cost", f"{prediction.cost_usd:,.6f} USD"
    if item.cost is not None:
        yield "billed", billed(item.cost)
