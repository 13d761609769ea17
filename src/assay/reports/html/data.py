"""The cases of a run as its page holds them: packed, so that the browser draws a case when it is opened.

The page holds JSON, compressed and in base64: nothing in it can end an element or run as a script. It has two parts.
The *index* has what the table, its filters and its order need of every case, in columns; the *details* have the rest,
in chunks of cases. All text has passed `assay.reports.text.plain`, and the browser puts it in place as text, never as
markup.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from assay.model import Evidence, Run
from assay.reports.html.payload import (
    AlignedRow,
    Cell,
    CellKind,
    Detail,
    Difference,
    Facet,
    Held,
    Index,
    Metric,
    PairDetail,
    State,
)
from assay.reports.text.plain import CellText, clipped, one_line, seconds, words
from assay.reports.views.alignment import alignment
from assay.reports.views.meanings import FLAGS, STRENGTHS
from assay.reports.views.repeats import STEADY
from assay.reports.views.run import CaseView, RunView, only_by
from assay.reports.views.selections_build import blamed
from assay.runs.aggregate.totals import failures_of

CHUNK = 200
"""How many cases have their details unpacked together."""
QUESTION, REASON = 240, 200
_EXPLANATION = 4000
_MOST_RATIOS = 20
_OUTCOMES = ("correct", "incorrect", "unscored")
_CELL_KINDS: Mapping[str, CellKind] = {
    "null": "0",
    "text": "t",
    "number": "n",
    "bytes": "x",
    "boolean": "b",
    "time": "d",
    "other": "o",
}


def packed(index: Index, details: Sequence[Detail | PairDetail]) -> str:
    """The JSON in the page: only strings of base64, so that no text of a case can be taken for markup."""
    chunks = tuple(_pack(details[start : start + CHUNK]) for start in range(0, len(details), CHUNK))
    return json.dumps(msgspec.to_builtins(Held(index=_pack(index), chunks=chunks)))


def _pack(value: object) -> str:
    text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False, separators=(",", ":"))
    # A fixed time: the same run gives the same bytes.
    return b64encode(gzip.compress(text.encode("utf-8", "backslashreplace"), 6, mtime=0)).decode("ascii")


def run_index(run: Run, view: RunView) -> Index:
    """What the table of cases needs, in the order of ``view.cases``, which are all of the run's."""
    evidence, cases = run.evidence, view.cases
    return Index(
        headline=view.headline_metric,
        states=tuple(
            State(name=name, label=name.capitalize(), mark=mark, tone=name)
            for name, mark in zip(_OUTCOMES, ("✓", "✗", "–"), strict=True)
        ),
        state=tuple(_OUTCOMES.index(case.outcome) for case in cases),
        id=tuple(case.id for case in cases),
        link=tuple(case.anchor for case in cases),
        answer=tuple(case.answer for case in cases) if view.repeats else (),
        question=tuple(one_line(case.question, limit=QUESTION) for case in cases),
        # The table leaves out why an answer is right; the opened case says it.
        reason=tuple("" if case.outcome == "correct" else one_line(case.reason, limit=REASON) for case in cases),
        facets=tuple(_facets(evidence, view)),
        metrics=tuple(_metrics(view)),
        time=tuple(map(_answer_time, evidence)),
        chunk=CHUNK,
    )


def _metrics(view: RunView) -> Iterable[Metric]:
    values: dict[str, list[float | None]] = {row.metric: [] for row in view.metrics}
    for case in view.cases:
        found = {score.metric: score.value for score in case.scores}
        for metric, column in values.items():
            value = found.get(metric)
            column.append(None if value is None else round(value, 4))
    for row in view.metrics:
        yield Metric(name=row.metric, share=row.share, value=tuple(values[row.metric]))


def _facets(evidence: Sequence[Evidence], view: RunView) -> Iterable[Facet]:
    """The filters of the table of cases, in the words of the first screen."""

    made = list(facets_of_cases(evidence, view.cases))
    for name, label, rows in (("term", "Wrong term", view.wrong_terms), ("period", "Periods", view.time_states)):
        by_anchor: dict[str, list[str]] = {}
        for row in rows:
            for link in row.cases:
                by_anchor.setdefault(link.anchor, []).append(row.name)
        made.append(facet_of(name, label, [by_anchor.get(case.anchor, ()) for case in view.cases]))
    if view.repeats:
        made.append(facet_of("steady", "Steadiness", [[name] for name in _steadiness(evidence)]))
    pairs = [(row.first, row.second) for row in view.disagreements]
    made.append(facet_of("only", "Accepted only by", [_only(case, pairs) for case in view.cases]))
    return [one for one in made if one.values]


def facets_of_cases(evidence: Sequence[Evidence], cases: Sequence[CaseView], *, now: str = "") -> Iterable[Facet]:
    """The filters that need only the cases; ``now`` is appended to the labels of what may differ between runs."""
    pairs = list(zip(evidence, cases, strict=True))
    yield facet_of("database", "Database", [filter(None, [case.database]) for case in cases])
    yield facet_of("difficulty", "Difficulty", [filter(None, [case.difficulty]) for case in cases])
    yield facet_of("cause", f"Cause{now}", [filter(None, [case.cause]) for case in cases])
    yield facet_of("failure", f"Failure{now}", [_failure_names(item, case) for item, case in pairs])
    near = [(miss.partition(":")[0] for miss in case.near_misses) for case in cases]
    yield facet_of("near", f"Near miss{now}", near)
    yield facet_of("flag", f"Flag{now}", [case.flags for case in cases])
    yield facet_of("tag", "Tag", [case.tags for case in cases])


def _failure_names(item: Evidence, case: CaseView) -> Iterable[str]:
    """What failed on the way to a verdict, as ``blame: kind``, in the words of the first screen."""
    for name in failures_of(item):
        blame, _, kind = name.partition(": ")
        if case.predicted is None:  # selections were judged: gold is called the target
            blame, kind = blamed(blame), "no_target" if kind == "no_gold" else kind
        yield f"{blame}: {words(kind)}"


def _steadiness(evidence: Sequence[Evidence]) -> Iterable[str]:
    """Per answer, how steady the answers to its question are."""
    right, wrong, flaky, unscored = (name for name, _ in STEADY)
    outcomes: dict[str, set[str]] = {}
    for item in evidence:
        outcomes.setdefault(item.case.id, set()).add(item.outcome)
    for item in evidence:
        found = outcomes[item.case.id] - {"unscored"}
        yield flaky if len(found) > 1 else right if found == {"correct"} else wrong if found else unscored


def _only(case: CaseView, pairs: Iterable[tuple[str, str]]) -> Iterable[str]:
    """The pairs of metrics of which the first accepts this answer and the second does not."""
    values = {score.metric: score.value for score in case.scores}
    for first, second in pairs:
        one, other = values.get(first), values.get(second)
        if one == 1.0 and other == 0.0:
            yield only_by(first, second)
        elif one == 0.0 and other == 1.0:
            yield only_by(second, first)


def facet_of(name: str, label: str, names: Sequence[Iterable[str]]) -> Facet:
    """One filter: its values, the most frequent first, and per case the places of its values."""
    carried = [list(dict.fromkeys(found)) for found in names]
    counts: dict[str, int] = {}
    for found in carried:
        for value in found:
            counts[value] = counts.get(value, 0) + 1
    values = sorted(counts, key=lambda value: (-counts[value], value))
    place = {value: number for number, value in enumerate(values)}
    of = tuple(tuple(place[one] for one in found) for found in carried)
    return Facet(name=name, label=label, values=tuple(values), of=of)


def _answer_time(item: Evidence) -> float | None:
    told = item.prediction.timing_s("total_execution_time")
    return None if told is None else round(told, 3)


def case_detail(item: Evidence, case: CaseView) -> Detail:
    """All that the page shows of one opened case."""
    prediction = item.prediction
    return Detail(
        question=case.question,
        context=case.context,
        name=case.name,
        database=case.database,
        difficulty=case.difficulty,
        tags=case.tags,
        outcome=case.outcome,
        reason=case.reason,
        strength=_meant(item.verdict.strength, STRENGTHS) if item.verdict.strength != "none" else None,
        cause=case.cause,
        flags=tuple(_meant(flag, FLAGS) for flag in sorted(item.verdict.flags)),
        why=case.why,
        near=tuple(_unsaid(miss, case.reason) for miss in case.near_misses),
        golds=case.golds,
        predicted=case.predicted,
        raw=case.raw or None,
        explanation=clipped(prediction.explanation, limit=_EXPLANATION) if prediction.explanation else None,
        tables=tuple(one_line(name, limit=80) for name in prediction.tables_used[:50]),
        scores=tuple((score.metric, score.text, score.detail) for score in case.scores),
        failures=case.failures,
        facts=tuple(_facts(item)),
        difference=_difference(item, case),
        turns=case.turns,
    )


def _meant(name: str, meanings: Mapping[str, str]) -> tuple[str, str]:
    """A name in words, with its meaning where that is known."""
    return words(name), meanings.get(name, "")


def _unsaid(miss: str, reason: str) -> str:
    """A near miss, without its detail where the reason above it already says it."""
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


def _difference(item: Evidence, case: CaseView) -> Difference | None:
    if case.difference is None:
        return None
    found, comparison = alignment(item), item.comparison
    counted = 0
    if comparison is not None:
        counted = comparison.matched_rows + comparison.missing_rows + comparison.extra_rows
    if found is None:
        return Difference(summary=case.difference.summary, left=counted)
    shown = sum(2 if row.state == "near" else 1 for row in found.rows)
    return Difference(
        summary=case.difference.summary,
        left=max(0, counted - shown),
        left_columns=found.columns_left_out,
        columns=tuple((column.gold, column.predicted) for column in found.columns),
        rows=tuple(
            AlignedRow(row.state, tuple(map(_cell, row.gold)), tuple(map(_cell, row.predicted)), row.differs)
            for row in found.rows
        ),
    )


def _cell(cell: CellText | None) -> Cell | Literal[0]:
    return 0 if cell is None else Cell(_CELL_KINDS[cell.kind], cell.text, cell.cut)
