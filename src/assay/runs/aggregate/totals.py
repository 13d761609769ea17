"""The numbers of a run, computed once. Every report draws these and adds none."""

from __future__ import annotations

import math
import statistics
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, combinations, islice, pairwise
from typing import get_args

from assay.errors import UsageError
from assay.model import (
    Aggregates,
    CauseGroup,
    CauseGroupKind,
    Cost,
    Count,
    Disagreement,
    Forgiven,
    Group,
    MetricInfo,
    MetricSummary,
    NearMissKind,
    Rate,
    Strength,
    TimeSummary,
    TokenUsage,
    UsageTotals,
    WitnessTotals,
)
from assay.model.verdicts.retrieval import CONTEXT_COMPLETE
from assay.model.verdicts.summary import CaseSummary
from assay.model.verdicts.verdict import MATCH_STRENGTHS
from assay.runs.aggregate.difficulties import named, partition
from assay.runs.aggregate.metric_infos import VERDICT
from assay.runs.aggregate.rates import Answers, Values, rate_of
from assay.runs.aggregate.reliability import reliability_totals
from assay.runs.aggregate.repeats import conversation_totals, repeat_totals
from assay.runs.aggregate.spread import spreads_of


def aggregate(
    summaries: Sequence[CaseSummary],
    metrics: Sequence[MetricInfo],
    *,
    repeats: int = 1,
    confidence: float = 0.95,
    doubtful: Collection[str] = (),
    penalties: Sequence[float] = (),
) -> Aggregates:
    """Every number of a run: over all cases, and over those that share a difficulty, database or tag.

    Groups are in order of difficulty, else of name, the cases without one last; a kind that no case
    has gives no groups. A case is unscored for a metric if its score has no value or is missing:
    of that metric's numbers it then counts only in ``unscored``. Case ids are in the run's order.

    If each question was asked ``repeats`` times, the answers to a case are consecutive. Rates and times are over
    cases, each by the mean of its answers that have a value: answers to one question are not an independent sample
    of questions, and an interval depends on the number of questions. Flags, near misses, failures and causes count
    the cases that have some answer with them. ``doubtful`` are the ids of the cases whose gold query is;
    ``penalties`` are of the reliability score.

    Raises `UsageError` if a metric's value is not finite, or not 0 or 1 though it says it is.
    """
    answers = Answers.of(summaries, repeats=repeats, confidence=confidence)
    firsts = [summaries[start] for start in answers.starts]
    columns = columns_of(summaries, metrics)
    means = list(map(answers.means, columns))
    times = answers.means([case.answer_time_s for case in summaries])

    def group(kind: str, name: str | None, members: Sequence[int]) -> Group:
        rates = tuple(
            MetricSummary(
                metric=metric.name,
                rate=rate_of(
                    [values[i] for i in members], binary=metric.binary and answers.once, confidence=confidence
                ),
            )
            for metric, values in zip(metrics, means, strict=True)
        )
        seconds = [value for i in members if (value := times[i]) is not None and math.isfinite(value)]
        answer_time = (
            TimeSummary(
                n=len(seconds),
                mean_s=statistics.fmean(seconds),
                std_dev_s=statistics.stdev(seconds) if len(seconds) > 1 else None,
            )
            if seconds
            else None
        )
        return Group(kind=kind, name=name, cases=len(members), metrics=rates, answer_time=answer_time)

    def grouped(kind: str, names: Sequence[Collection[str]]) -> tuple[Group, ...]:
        parts = partition(names, easiest_first=kind == "difficulty") if any(names) else ()
        return tuple(group(kind, name, members) for name, members in parts)

    def apart(kind: str, members: Sequence[int]) -> Group | None:
        return group(kind, None, members) if len(members) < len(firsts) else None

    outcomes = [case.outcome for case in summaries]
    return Aggregates(
        cases=len(firsts),
        correct=outcomes.count("correct"),
        incorrect=outcomes.count("incorrect"),
        unscored=outcomes.count("unscored"),
        unanswered=sum(case.unanswered for case in summaries),
        overall=group("all", None, range(len(firsts))),
        by_difficulty=grouped("difficulty", [named(case.difficulty) for case in firsts]),
        by_database=grouped("database", [named(case.database) for case in firsts]),
        by_tag=grouped("tag", [case.tags for case in firsts]),
        determined=apart("determined", [i for i, case in enumerate(firsts) if "ambiguous_gold" not in case.flags]),
        sound=apart("sound", [i for i, case in enumerate(firsts) if case.case_id not in doubtful]),
        disagreements=_disagreements(firsts, metrics, answers, columns),
        flags=counts_of((case.case_id, case.flags) for case in summaries if case.flags),
        near_misses=counts_of((case.case_id, case.near_misses) for case in summaries if case.near_misses),
        failures=counts_of((case.case_id, failures_of(case)) for case in summaries),
        causes=counts_of((case.case_id, (case.cause,)) for case in summaries if case.cause is not None),
        fix_first=counts_of(
            (case.case_id, named(case.cause))
            for case in summaries  # the primary cause, if a repair of one clause made the answer right
            if case.repair_steps == 1 and case.repair_strength != "refuted"
        ),
        cause_groups=cause_groups(summaries),
        schema_use=counts_of((case.case_id, (case.schema_use,)) for case in summaries if case.schema_use is not None),
        retrieval=_retrieval(summaries) if any(metric.name == CONTEXT_COMPLETE for metric in metrics) else (),
        forgiven=forgiven_of(summaries, answers),
        repeats=None if repeats == 1 else repeat_totals(summaries, asked=repeats, confidence=confidence),
        usage=usage_of(summaries),
        billed=billed_for(summaries),
        times=spreads_of(summaries),
        witnesses=witness_totals(summaries, answers),
        reliability=reliability_totals(summaries, answers, penalties=penalties),
        conversations=conversation_totals(summaries, answers),
    )


def _retrieval(summaries: Iterable[CaseSummary]) -> tuple[Count, ...]:
    """The wrong answers by what retrieval had to do with them."""
    found = ((case.case_id, case.retrieval) for case in summaries)
    return counts_of((case_id, (kind,)) for case_id, kind in found if kind is not None)


def columns_of(summaries: Sequence[CaseSummary], metrics: Sequence[MetricInfo]) -> list[list[float | None]]:
    """Each metric's value for each answer, in the run's order."""
    keys = [id(case.scores) for case in summaries]
    distinct = _with_distinct_scores(summaries)
    columns: list[list[float | None]] = []
    for metric in metrics:
        values: dict[int, float | None] = {}
        for case in distinct:
            score = case.score(metric.name)
            value = values[id(case.scores)] = None if score is None else score.value
            if value is not None and not (value in (0.0, 1.0) if metric.binary else math.isfinite(value)):
                wanted = "0, 1" if metric.binary else "a finite number"
                raise UsageError(
                    f"metric {metric.name!r} gave {value!r} for case {case.case_id!r}: it must give {wanted} or None"
                )
        columns.append([values[key] for key in keys])
    return columns


def _with_distinct_scores(summaries: Iterable[CaseSummary]) -> Collection[CaseSummary]:
    """A case for each object of scores, the first one that has it: most answers share their scores with others."""
    distinct: dict[int, CaseSummary] = {}
    for case in summaries:
        distinct.setdefault(id(case.scores), case)
    return distinct.values()


def usage_of(summaries: Sequence[CaseSummary]) -> UsageTotals | None:
    """Tokens and cost over the answers that report them.

    The tokens in all of an answer without a total, or with too small a one, are those of its input and output; without
    a total they are known only if both are.
    """
    saying = [one for one in summaries if one.tokens is not None or one.cost_usd is not None]
    if not saying:
        return None
    tokens = [one.tokens for one in saying if one.tokens is not None]

    def total(counts: Iterable[int | None]) -> tuple[int | None, int]:
        known = [count for count in counts if count is not None]
        return (sum(known) if known else None), len(known)

    input_, with_input = total(one.input for one in tokens)
    output, with_output = total(one.output for one in tokens)
    in_all, with_total = total(map(_tokens_in_all, tokens))
    costs = [one.cost_usd for one in saying if one.cost_usd is not None and math.isfinite(one.cost_usd)]
    return UsageTotals(
        answers=len(saying),
        input=input_,
        output=output,
        total=in_all,
        cost_usd=math.fsum(costs) if costs else None,
        answers_with_tokens=len(tokens),
        answers_with_input=with_input,
        answers_with_output=with_output,
        answers_with_total=with_total,
        answers_with_cost=len(costs),
    )


def billed_for(summaries: Iterable[CaseSummary]) -> Cost | None:
    """What the queries of all cases cost; None if no service tells."""
    total: Cost | None = None
    for case in summaries:
        if case.billed is not None:
            total = case.billed.plus(total)
    return total


def _tokens_in_all(tokens: TokenUsage) -> int | None:
    if tokens.total is None:
        return None if tokens.input is None or tokens.output is None else tokens.input + tokens.output
    return max(tokens.total, (tokens.input or 0) + (tokens.output or 0))


def _disagreements(
    firsts: Sequence[CaseSummary],
    metrics: Sequence[MetricInfo],
    answers: Answers,
    columns: Sequence[Values],
) -> tuple[Disagreement, ...]:
    """Every pair of yes/no metrics that differ on some answer, in the metrics' order.

    A case is listed under each metric that alone accepts some answer of it. A case on whose answers both metrics
    always agree counts as ``both`` if they accept any of them, else as ``neither``.
    """
    names = [metric.name for metric in metrics if metric.binary]
    binary = [column for metric, column in zip(metrics, columns, strict=True) if metric.binary]
    # Many cases have the same values of all metrics, a row for each answer, so that each such case is looked at once.
    alike: dict[tuple[tuple[float | None, ...], ...], array[int]] = defaultdict(lambda: array("q"))
    rows = zip(*binary, strict=True)
    for place, (start, end) in enumerate(pairwise((*answers.starts, answers.count))):
        alike[tuple(islice(rows, end - start))].append(place)
    ids = [case.case_id for case in firsts]
    groups = list(alike.values())
    known: dict[tuple[int, ...], tuple[str, ...]] = {}

    def ids_of(numbers: Sequence[int]) -> tuple[str, ...]:
        """The ids of the cases of these groups, in the run's order. Metrics that agree with one another share them."""
        if (shared := known.get(key := tuple(numbers))) is None:
            places = sorted(chain.from_iterable(groups[number] for number in numbers))
            shared = known[key] = tuple([ids[place] for place in places])
        return shared

    found = []
    for left, right in combinations(range(len(names)), 2):
        both = neither = 0
        only_first: list[int] = []
        only_second: list[int] = []
        for number, (case, places) in enumerate(alike.items()):
            values = {pair for row in case if None not in (pair := (row[left], row[right]))}
            if _FIRST in values:
                only_first.append(number)
            if _SECOND in values:
                only_second.append(number)
            if values.isdisjoint((_FIRST, _SECOND)):
                both += len(places) * (_BOTH in values)
                neither += len(places) * (values == {_NEITHER})
        if only_first or only_second:
            found.append(
                Disagreement(
                    first=names[left],
                    second=names[right],
                    both=both,
                    neither=neither,
                    only_first=ids_of(only_first),
                    only_second=ids_of(only_second),
                )
            )
    return tuple(found)


_BOTH, _FIRST, _SECOND, _NEITHER = (1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)


def counts_of(named: Iterable[tuple[str, Iterable[str]]]) -> tuple[Count, ...]:
    """How many cases have each name, the most frequent first, then by name. ``named``: a case's id with its names.

    A case counts once per name, however often the name occurs in its answers.
    """
    ids: dict[str, dict[str, None]] = {}
    for case_id, names in named:
        for name in names:
            ids.setdefault(name, {})[case_id] = None
    counts = [Count(name=name, count=len(case_ids), case_ids=tuple(case_ids)) for name, case_ids in ids.items()]
    return tuple(sorted(counts, key=lambda count: (-count.count, count.name)))


def failures_of(case: CaseSummary) -> Iterable[str]:
    """Every failure on the way to the verdict, as ``blame: kind``.

    A failure of a single metric to score is not counted here, but in that metric's ``unscored``.
    """
    failures = [case.failure, case.answer_failure, *[execution.failure for execution in case.golds]]
    told = case.failure is not None and case.failure.blame == "system"
    if case.predicted is not None and not told and case.answer_failure is None:
        # These describe such a failure better: a text that failed to run may be prose, or blank.
        failures.append(case.predicted.failure)
    if not any(failures):
        return ()
    return [f"{failure.blame}: {failure.kind}" for failure in failures if failure is not None]


FORGIVABLE: tuple[NearMissKind, ...] = (
    "superset_columns",
    "column_order_only",
    "duplicates_only",
    "order_only",
    "rounding_only",
    "type_only",
    "case_or_whitespace_only",
)
"""Kinds of near misses that some users may not count as mistakes. Missing rows or columns are always mistakes."""


def forgiven_of(summaries: Sequence[CaseSummary], answers: Answers) -> tuple[Forgiven, ...]:
    """One entry for each kind that would make some case right."""
    scores = {id(case.scores): case.score(VERDICT[0]) for case in _with_distinct_scores(summaries)}
    if not any(scores.values()):
        return ()
    values = [None if (score := scores[id(case.scores)]) is None else score.value for case in summaries]
    excused: dict[NearMissKind, list[int]] = {kind: [] for kind in FORGIVABLE}
    """Per kind, the places of the answers that forgiving it would make right."""
    for place, (value, case) in enumerate(zip(values, summaries, strict=True)):
        if value == 0.0:
            for kind in set(case.near_misses).intersection(FORGIVABLE):
                excused[kind].append(place)
    found = []
    for kind, places in excused.items():
        if places:
            ids = dict.fromkeys(summaries[place].case_id for place in places)
            lenient = list(values)
            for place in places:
                lenient[place] = 1.0
            found.append(Forgiven(kind=kind, count=len(ids), rate=answers.rate(lenient), case_ids=tuple(ids)))
    return tuple(found)


def witness_totals(summaries: Sequence[CaseSummary], answers: Answers) -> WitnessTotals | None:
    """The matches by their strength, and accuracy as it stands after witnesses; None without a search."""
    if not any(case.search is not None for case in summaries):
        return None
    matches = [case for case in summaries if case.outcome == "correct" and case.decision is None]
    ids = {name: [case.case_id for case in matches if case.strength == name] for name in MATCH_STRENGTHS}

    def rate(*wrong: Strength) -> Rate:
        """Accuracy, if the right answers of these strengths are wrong."""
        outcomes = (None if case.outcome == "unscored" else case for case in summaries)
        return answers.rate(
            [None if one is None else float(one.outcome == "correct" and one.strength not in wrong) for one in outcomes]
        )

    return WitnessTotals(
        matches=len(matches),
        searched=sum(case.search is not None for case in matches),
        strengths=tuple(
            Count(name=name, count=len(held), case_ids=tuple(dict.fromkeys(held))) for name, held in ids.items() if held
        ),
        claimed=rate(),
        after=rate("refuted"),
        at_worst=rate("refuted", "conditional"),
    )


def cause_groups(summaries: Sequence[CaseSummary]) -> tuple[CauseGroup, ...]:
    """The groups of each kind, the largest first, then by name. A case counts once in each group and cause."""
    found: dict[tuple[CauseGroupKind, str], dict[tuple[str, str], None]] = {}
    for case in summaries:
        if not case.cause:
            continue
        table, column = case.cause_table, case.cause_column
        shared: dict[CauseGroupKind, Iterable[str]] = {
            "difficulty": named(case.difficulty or None),
            "database": named(case.database or None),
            "table": named(table or None),
            "column": named((f"{table}.{column}" if table else column) if column else None),
            "feature": case.gold_features,
        }
        for kind, names in shared.items():
            for name in names:
                found.setdefault((kind, name), {})[case.case_id, case.cause] = None
    groups = []
    for (kind, name), members in found.items():
        ids = tuple(dict.fromkeys(case_id for case_id, _ in members))
        causes = Counter(cause for _, cause in members)
        ranked = tuple(sorted(causes.items(), key=lambda cause: (-cause[1], cause[0])))
        groups.append(CauseGroup(kind=kind, name=name, count=len(ids), causes=ranked, case_ids=ids))
    kinds = get_args(CauseGroupKind)
    return tuple(sorted(groups, key=lambda group: (kinds.index(group.kind), -group.count, group.name)))
