"""What the page of a run knows of its cases: packed, so that the browser draws them when they are looked at.

The page holds JSON, compressed and in base64: nothing in it can end an element or run. It comes in two parts. The
*index* has what the table, its filters and its order need of every case, in columns; the *details* have the rest, in
chunks of cases. All text has passed `assay.reports.text.plain`, and the browser puts it in place as
text, never as markup.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from assay.model import Evidence, Run
from assay.reports.text.plain import CellText, clipped, one_line, seconds, words
from assay.reports.views.alignment import AlignmentView, alignment
from assay.reports.views.meanings import FLAGS, STRENGTHS
from assay.reports.views.repeats import STEADY
from assay.reports.views.run import CaseView, QueryView, RunView, only_by
from assay.reports.views.selections import DimensionView, TermList, TurnView
from assay.reports.views.selections_build import blamed
from assay.runs.aggregate.totals import failures_of

_CHUNK = 200
"""Cases whose details are unpacked together."""
_QUESTION, _REASON = 240, 200
_EXPLANATION = 4000
_ORIGINAL = 50_000
_MOST_RATIOS = 20
"""Characters of a query that the page keeps beside what it shows of it."""
_OUTCOMES = ("correct", "incorrect", "unscored")
_CELL_KINDS = {"null": "0", "text": "t", "number": "n", "bytes": "x", "boolean": "b", "time": "d", "other": "o"}


def payload(index: dict[str, Any], details: Sequence[dict[str, Any]]) -> str:
    """The JSON that the page holds: strings of base64 only, so no text of a case can be taken for markup."""
    chunks = [_pack(details[start : start + _CHUNK]) for start in range(0, len(details), _CHUNK)]
    return json.dumps({"index": _pack({**index, "chunk": _CHUNK}), "chunks": chunks})


def _pack(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # A fixed time: the same run gives the same bytes.
    return b64encode(gzip.compress(text.encode("utf-8", "backslashreplace"), 6, mtime=0)).decode("ascii")


def run_index(run: Run, view: RunView) -> dict[str, Any]:
    """What the table of cases needs, in the order of ``view.cases``, which are all of the run's."""
    evidence, cases = run.evidence, view.cases
    return {
        "kind": "run",
        "headline": view.headline_metric,
        "states": [
            {"name": name, "label": name.capitalize(), "mark": mark, "tone": name}
            for name, mark in zip(_OUTCOMES, ("✓", "✗", "–"), strict=True)
        ],
        "state": [_OUTCOMES.index(case.outcome) for case in cases],
        "id": [case.id for case in cases],
        "link": [case.anchor for case in cases],
        "answer": [case.answer for case in cases] if view.repeats else [],
        "question": [one_line(case.question, limit=_QUESTION) for case in cases],
        # Why it is right, nobody asks of a row; the opened case says it.
        "reason": ["" if case.outcome == "correct" else one_line(case.reason, limit=_REASON) for case in cases],
        "facets": list(_facets(evidence, view)),
        "metrics": list(_metrics(view)),
        "time": [_answer_time(item) for item in evidence],
    }


def _metrics(view: RunView) -> Iterable[dict[str, Any]]:
    values: dict[str, list[float | None]] = {row.metric: [] for row in view.metrics}
    for case in view.cases:
        found = {score.metric: score.value for score in case.scores}
        for metric, column in values.items():
            value = found.get(metric)
            column.append(None if value is None else round(value, 4))
    for row in view.metrics:
        yield {"name": row.metric, "share": row.share, "graded": row.graded, "value": values[row.metric]}


def _facets(evidence: Sequence[Evidence], view: RunView) -> Iterable[dict[str, Any]]:
    """By what the cases can be filtered, in the words that the first screen uses."""

    def facet(name: str, label: str, names_of: Callable[[CaseView, Evidence], Iterable[str]]) -> dict[str, Any]:
        return facet_of(name, label, [names_of(case, item) for case, item in zip(view.cases, evidence, strict=True)])

    made = [
        facet("database", "Database", lambda case, _: filter(None, [case.database])),
        facet("difficulty", "Difficulty", lambda case, _: filter(None, [case.difficulty])),
        facet("cause", "Cause", lambda case, _: filter(None, [case.cause])),
        facet("failure", "Failure", lambda case, item: failure_names(item, case)),
        facet("near", "Near miss", lambda case, _: (miss.partition(":")[0] for miss in case.near_misses)),
        facet("flag", "Flag", lambda case, _: case.flags),
        facet("tag", "Tag", lambda case, _: case.tags),
    ]
    for name, label, rows in (("term", "Wrong term", view.wrong_terms), ("period", "Periods", view.time_states)):
        by_anchor: dict[str, list[str]] = {}
        for row in rows:
            for link in row.cases:
                by_anchor.setdefault(link.anchor, []).append(row.name)
        made.append(facet_of(name, label, [by_anchor.get(case.anchor, ()) for case in view.cases]))
    if view.repeats:
        made.append(facet_of("steady", "Steadiness", [[name] for name in _steadiness(evidence)]))
    pairs = [(row.first, row.second) for row in view.disagreements]
    made.append(facet("only", "Accepted only by", lambda case, _: _only(case, pairs)))
    return [one for one in made if one["values"]]


def failure_names(item: Evidence, case: CaseView) -> Iterable[str]:
    """What failed on the way to a verdict, as ``blame: kind``, in the words of the first screen."""
    for name in failures_of(item):
        blame, _, kind = name.partition(": ")
        if case.predicted is None:  # selections were judged, against a target
            blame, kind = blamed(blame), "no_target" if kind == "no_gold" else kind
        yield f"{blame}: {words(kind)}"


def _steadiness(evidence: Sequence[Evidence]) -> Iterable[str]:
    """Of each answer, how steady those to its question are."""
    right, wrong, flaky, unscored = (name for name, _ in STEADY)
    outcomes: dict[str, set[str]] = {}
    for item in evidence:
        outcomes.setdefault(item.case.id, set()).add(item.outcome)
    for item in evidence:
        found = outcomes[item.case.id] - {"unscored"}
        yield flaky if len(found) > 1 else right if found == {"correct"} else wrong if found else unscored


def _only(case: CaseView, pairs: Iterable[tuple[str, str]]) -> Iterable[str]:
    """Which metric accepts this answer while which other does not."""
    values = {score.metric: score.value for score in case.scores}
    for first, second in pairs:
        one, other = values.get(first), values.get(second)
        if one == 1.0 and other == 0.0:
            yield only_by(first, second)
        elif one == 0.0 and other == 1.0:
            yield only_by(second, first)


def facet_of(name: str, label: str, names: Sequence[Iterable[str]]) -> dict[str, Any]:
    """One filter: its values, the most frequent first, and per case the places of those that it carries."""
    carried = [list(dict.fromkeys(found)) for found in names]
    counts: dict[str, int] = {}
    for found in carried:
        for value in found:
            counts[value] = counts.get(value, 0) + 1
    values = sorted(counts, key=lambda value: (-counts[value], value))
    place = {value: number for number, value in enumerate(values)}
    return {"name": name, "label": label, "values": values, "of": [[place[one] for one in found] for found in carried]}


def _answer_time(item: Evidence) -> float | None:
    told = item.prediction.timing_s("total_execution_time")
    return None if told is None else round(told, 3)


def case_detail(item: Evidence, case: CaseView) -> dict[str, Any]:
    """All that the page shows of one opened case. Empty parts are left out."""
    prediction = item.prediction
    parts: dict[str, Any] = {
        "question": case.question,
        "context": case.context,
        "name": case.name,
        "outcome": case.outcome,
        "reason": case.reason,
        "strength": _meant(item.verdict.strength, STRENGTHS) if item.verdict.strength != "none" else None,
        "cause": case.cause,
        "flags": [_meant(flag, FLAGS) for flag in sorted(item.verdict.flags)],
        "near": [_unsaid(miss, case.reason) for miss in case.near_misses],
        "database": case.database,
        "difficulty": case.difficulty,
        "tags": case.tags,
        "golds": [_query(one, query) for one, query in zip(case.golds, item.case.golds, strict=False)],
        "predicted": _query(case.predicted, prediction.query) if case.predicted else None,
        "raw": case.raw,
        "explanation": clipped(prediction.explanation, limit=_EXPLANATION) if prediction.explanation else None,
        "tables": [one_line(name, limit=80) for name in prediction.tables_used[:50]],
        "scores": [[score.metric, score.text, score.detail] for score in case.scores],
        "failures": case.failures,
        "facts": list(_facts(item)),
        "difference": _difference(item, case),
        "turns": [_turn(turn) for turn in case.turns],
    }
    return {name: value for name, value in parts.items() if value not in (None, [], (), "")}


def _meant(name: str, meanings: Mapping[str, str]) -> list[str]:
    """A name in words, with its meaning where that is known."""
    meaning = meanings.get(name)
    return [words(name), meaning] if meaning else [words(name)]


def _unsaid(miss: str, reason: str) -> str:
    """A near miss without its detail where the reason above it has just said that."""
    name, _, said = miss.partition(": ")
    return name if said and said in reason else miss


def _query(query: QueryView, original: str | None) -> dict[str, Any]:
    """A query as it is shown and, where that is not how it was given, as it was, for the clipboard."""
    told = {"label": query.label, "query": query.query, "outcome": query.outcome, "failed": query.failed}
    if original is not None and original != query.query and len(original) <= _ORIGINAL:
        told["original"] = original
    return told


def _facts(item: Evidence) -> Iterable[list[str]]:
    """What the answer and the queries took."""
    prediction = item.prediction
    for name, taken in prediction.timings_s:
        yield [words(name.removesuffix("_s")), seconds(taken)]
    for index, execution in enumerate(item.gold_executions):
        if execution.wall_time_s is not None:
            number = f" {index + 1}" if len(item.gold_executions) > 1 else ""
            yield [f"gold query{number}", seconds(execution.wall_time_s)]
    if item.predicted_execution is not None and item.predicted_execution.wall_time_s is not None:
        yield ["predicted query", seconds(item.predicted_execution.wall_time_s)]
    if item.pair_timings:
        ratios = [f"{pair.gold_s / pair.predicted_s:.2f}" for pair in item.pair_timings]
        more = [f"and {len(ratios) - _MOST_RATIOS} more"] if len(ratios) > _MOST_RATIOS else []
        yield ["gold time / predicted time", ", ".join([*ratios[:_MOST_RATIOS], *more])]
    tokens = prediction.tokens
    if tokens is not None:
        counts = ((tokens.input, "in"), (tokens.output, "out"), (tokens.total, "in all"))
        said = ", ".join(f"{count:,} {name}" for count, name in counts if count is not None)
        if said:
            yield ["tokens", said]
    if prediction.cost_usd is not None:
        yield ["cost", f"{prediction.cost_usd:,.6f} USD"]


def _difference(item: Evidence, case: CaseView) -> dict[str, Any] | None:
    if case.difference is None:
        return None
    found = alignment(item)
    rows = {} if found is None else _aligned(found)
    comparison = item.comparison
    counted = 0
    if comparison is not None:
        counted = comparison.matched_rows + comparison.missing_rows + comparison.extra_rows
    shown = sum(2 if row.state == "near" else 1 for row in found.rows) if found else 0
    return {"summary": case.difference.summary, "left": max(0, counted - shown), **rows}


def _aligned(found: AlignmentView) -> dict[str, Any]:
    return {
        "columns": [[column.gold, column.predicted] for column in found.columns],
        "leftColumns": found.columns_left_out,
        "rows": [
            [row.state, list(map(_cell, row.gold)), list(map(_cell, row.predicted)), row.differs] for row in found.rows
        ],
    }


def _cell(cell: CellText | None) -> object:
    """0: no cell; else its kind's letter, its text, and how much of it is cut, where any is."""
    if cell is None:
        return 0
    packed: list[object] = [_CELL_KINDS[cell.kind], cell.text]
    return [*packed, cell.cut] if cell.cut else packed


def _turn(turn: TurnView) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "label": turn.label,
        "question": turn.question,
        "said": turn.said,
        "exact": turn.exact,
        "figures": turn.figures,
        "dimensions": [_dimension(one) for one in turn.dimensions],
        "beyond": [_dimension(one) for one in turn.beyond],
        "datasets": turn.datasets,
        "time": [
            {"dataset": one.dataset, "said": one.said, "target": one.target, "selected": one.selected, "good": one.good}
            for one in turn.time
        ],
        "remarks": turn.remarks,
        "failures": turn.failures,
        "text": turn.text,
        "raw": turn.raw,
    }
    return {name: value for name, value in parts.items() if value not in (None, [], (), "")}


def _dimension(row: DimensionView) -> dict[str, Any]:
    return {
        "name": row.name,
        "precision": row.precision,
        "recall": row.recall,
        "lists": [_terms(found) for found in row.lists],
    }


def _terms(found: TermList) -> dict[str, Any]:
    terms = [[term.code, term.name, term.dataset, term.note] for term in found.terms]
    return {"state": found.state, "count": found.count, "terms": terms}
