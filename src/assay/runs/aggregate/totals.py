"""The numbers of a run, computed once. Every report draws these and adds none."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import Struct

from assay.errors import UsageError
from assay.model import (
    Aggregates,
    Count,
    Disagreement,
    Group,
    MetricInfo,
    MetricSummary,
    Prediction,
    Score,
    TimeSummary,
    TokenUsage,
    UsageTotals,
)
from assay.model.blame import has_no_answer
from assay.runs.aggregate.causes import cause_groups
from assay.runs.aggregate.conversations import conversation_totals
from assay.runs.aggregate.forgiven import forgiven_of
from assay.runs.aggregate.rates import Answers, Values, each, rate_of
from assay.runs.aggregate.reliability import reliability_totals
from assay.runs.aggregate.repeats import repeat_totals
from assay.runs.aggregate.spread import ANSWER_TIME, spreads_of
from assay.runs.aggregate.strengths import witness_totals

if TYPE_CHECKING:  # it needs msgspec, which adding up does not
    from assay.runs.store.fact_table import Judged
    from assay.runs.store.facts import AnswerFacts, ScoreFacts
    from assay.runs.store.surveyed import Surveyed

_Answer = TypeVar("_Answer", bound="Judged")

_DIFFICULTY_ORDER = ("simple", "easy", "moderate", "medium", "challenging", "hard", "extra", "extra hard")
"""Spider's and BIRD's own words, easiest first; other words follow by name."""


def aggregate(
    evidence: Sequence[Judged],
    metrics: Sequence[MetricInfo],
    *,
    repeats: int = 1,
    confidence: float = 0.95,
    doubtful: Collection[str] = (),
    penalties: Sequence[float] = (),
) -> Aggregates:
    """Every number of a run: over all cases, and over those that share a difficulty, database or tag.

    Groups are in order of difficulty, else of name, the cases without one last; a kind that no case
    has gives no groups. A case is unscored for a metric where its score has no value or is missing:
    of that metric's numbers it then counts only in ``unscored``. Case ids are in the run's order.

    Where each question was asked ``repeats`` times, the answers to a case are consecutive. Rates and times are over
    cases, each by the mean of its answers that have a value: answers to one question are not an independent sample
    of questions, and an interval depends on the number of questions. Flags, near misses, failures and causes count
    the cases that have some answer with them. ``doubtful`` are the ids of the cases whose gold is;
    ``penalties`` are of the reliability score.

    Raises `UsageError` where a metric's value is not finite, or not 0 or 1 though it says it is.
    """
    once = repeats == 1
    answers = Answers.once_each(len(evidence)) if once else Answers.of(evidence)
    firsts = evidence if once else [evidence[start] for start in answers.starts]
    columns = [column_of(evidence, metric) for metric in metrics]
    times = [item.prediction.timing_s(ANSWER_TIME) for item in evidence]
    # Means of several answers are no longer 0 and 1 alone.
    binary = [metric.binary and once for metric in metrics]
    groups = groups_of(
        firsts,
        list(zip([metric.name for metric in metrics], map(answers.means, columns), binary, strict=True)),
        answers.means(times),
        confidence=confidence,
        doubtful=doubtful,
    )
    outcomes = each(evidence, lambda item: item.verdict.outcome)
    troubled = _troubled(evidence)
    return Aggregates(
        cases=len(firsts),
        correct=outcomes.count("correct"),
        incorrect=outcomes.count("incorrect"),
        unscored=outcomes.count("unscored"),
        unanswered=sum(map(is_unanswered, troubled)),
        overall=groups.overall,
        by_difficulty=groups.by_difficulty,
        by_database=groups.by_database,
        by_tag=groups.by_tag,
        determined=groups.determined,
        sound=groups.sound,
        disagreements=_disagreements(
            firsts,
            metrics,
            columns if once else [list(map(tuple, answers.split(column))) for column in columns],
            once=once,
        ),
        flags=counts_of(evidence, _flags),
        near_misses=counts_of(evidence, _near_misses),
        failures=counts_of(troubled, failures_of),
        causes=counts_of(evidence, lambda item: _one(item.cause)),
        fix_first=counts_of(evidence, _mended_alone),
        cause_groups=cause_groups(evidence),
        forgiven=forgiven_of(
            evidence, lambda values: rate_of(answers.means(values), binary=once, confidence=confidence)
        ),
        repeats=None if once else repeat_totals(evidence, asked=repeats, confidence=confidence),
        usage=usage_of([item.prediction for item in evidence]),
        times=spreads_of(evidence, times),
        witnesses=witness_totals(
            evidence, lambda values: rate_of(answers.means(values), binary=once, confidence=confidence)
        ),
        reliability=reliability_totals(
            evidence,
            answers,
            lambda values, *, binary: rate_of(answers.means(values), binary=binary and once, confidence=confidence),
            penalties=penalties,
        ),
        conversations=conversation_totals(
            evidence, answers, lambda values, *, binary: rate_of(values, binary=binary, confidence=confidence)
        ),
    )


class Groups(Struct, frozen=True, kw_only=True):
    """The rates of a run over all of its cases, and over those that share something."""

    overall: Group
    by_difficulty: tuple[Group, ...]
    by_database: tuple[Group, ...]
    by_tag: tuple[Group, ...]
    determined: Group | None
    """The cases whose gold determines its answer; None where all are."""
    sound: Group | None
    """The cases whose gold is not doubtful; None where all are."""


def groups_of(
    evidence: Sequence[Judged],
    metrics: Sequence[tuple[str, Values, bool]],
    times: Values,
    *,
    confidence: float,
    doubtful: Collection[str] = (),
) -> Groups:
    """Every rate of a run. For each metric: its name, its value per case, and whether all values are 0 or 1."""

    def group(kind: str, name: str | None, members: Sequence[int]) -> Group:
        summaries = tuple(
            MetricSummary(
                metric=metric,
                rate=rate_of([column[i] for i in members], binary=binary, confidence=confidence),
            )
            for metric, column, binary in metrics
        )
        answer_time = _time([times[i] for i in members])
        return Group(kind=kind, name=name, cases=len(members), metrics=summaries, answer_time=answer_time)

    def grouped(kind: str, names_of: Callable[[Judged], Collection[str]]) -> tuple[Group, ...]:
        order = difficulty_rank if kind == "difficulty" else _no_rank
        return tuple(group(kind, name, members) for name, members in _partition(evidence, names_of, order))

    ambiguous = each(evidence, lambda item: "ambiguous_gold" in item.verdict.flags)
    determined = [i for i, one in enumerate(ambiguous) if not one]
    sound = [i for i, item in enumerate(evidence) if item.case.id not in doubtful] if doubtful else range(len(evidence))
    return Groups(
        sound=group("sound", None, sound) if len(sound) < len(evidence) else None,
        determined=group("determined", None, determined) if len(determined) < len(evidence) else None,
        overall=group("all", None, range(len(evidence))),
        by_difficulty=grouped("difficulty", lambda item: _one(item.case.difficulty)),
        by_database=grouped("database", lambda item: _one(item.case.database)),
        by_tag=grouped("tag", lambda item: item.case.tags),
    )


def column_of(evidence: Sequence[Judged], metric: MetricInfo) -> list[float | None]:
    """One metric's value for each case, in the run's order."""
    place = 0

    def value_of(item: Judged) -> float | None:
        nonlocal place
        # Usually a metric's score has the same place in every case.
        scores: Sequence[Score | ScoreFacts] = item.scores
        score = scores[place] if place < len(scores) else None
        if score is None or score.metric != metric.name:
            place = next((at for at, other in enumerate(scores) if other.metric == metric.name), 0)
            score = item.score(metric.name)
        return None if score is None else score.value

    column = each(evidence, value_of)
    for value in dict.fromkeys(column):
        if value is not None and not (value in (0.0, 1.0) if metric.binary else math.isfinite(value)):
            wanted = "0, 1" if metric.binary else "a finite number"
            case_id = evidence[next(at for at, one in enumerate(column) if one is value)].case.id
            raise UsageError(
                f"metric {metric.name!r} gave {value!r} for case {case_id!r}: it must give {wanted} or None"
            )
    return column


def _time(seconds: Values) -> TimeSummary | None:
    """Mean and spread of the times in seconds, without None and numbers that are not finite."""
    known = [value for value in seconds if value is not None and math.isfinite(value)]
    if not known:
        return None
    std_dev_s = statistics.stdev(known) if len(known) > 1 else None
    return TimeSummary(n=len(known), mean_s=math.fsum(known) / len(known), std_dev_s=std_dev_s)


def usage_of(predictions: Sequence[Prediction | AnswerFacts]) -> UsageTotals | None:
    """Tokens and cost over the answers that report them.

    The tokens in all of an answer without a total, or with too small a one, are those of its input and output.
    """
    saying = [one for one in predictions if one.tokens is not None or one.cost_usd is not None]
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


def _tokens_in_all(tokens: TokenUsage) -> int | None:
    parts = [count for count in (tokens.input, tokens.output) if count is not None]
    if tokens.total is None:
        return sum(parts) if parts else None
    return max(tokens.total, sum(parts))


def _partition(
    evidence: Sequence[Judged], names_of: Callable[[Judged], Collection[str]], order: Callable[[str], int]
) -> list[tuple[str | None, list[int]]]:
    """Indices of the cases by name, ordered by rank and name; empty where no case has a name."""
    members: dict[str | None, list[int]] = {}
    for index, names in enumerate(each(evidence, names_of)):
        for name in dict.fromkeys(names) if names else (None,):
            members.setdefault(name, []).append(index)
    if set(members) <= {None}:
        return []
    return sorted(members.items(), key=lambda entry: (entry[0] is None, order(entry[0] or ""), entry[0] or ""))


def difficulty_rank(name: str) -> int:
    """The rank of a difficulty, the easiest first."""
    word = name.strip().lower()
    return _DIFFICULTY_ORDER.index(word) if word in _DIFFICULTY_ORDER else len(_DIFFICULTY_ORDER)


def _no_rank(_: str) -> int:
    return 0


def _disagreements(
    firsts: Sequence[Judged],
    metrics: Sequence[MetricInfo],
    columns: Sequence[Sequence[float | None]] | Sequence[Sequence[tuple[float | None, ...]]],
    *,
    once: bool,
) -> tuple[Disagreement, ...]:
    """Every pair of yes/no metrics that differ on some answer, in the metrics' order. ``once``: one answer to a case.

    A case is listed under each metric that alone accepts some answer of it. A case on whose answers both metrics
    always agree counts as ``both`` where they accept any of them, else as ``neither``.
    """
    found = []
    ids: list[str] = []
    binary: list[tuple[str, Sequence[Any]]] = [
        (metric.name, column) for metric, column in zip(metrics, columns, strict=True) if metric.binary
    ]
    for (first, left), (second, right) in combinations(binary, 2):
        # Cases have few different values, so that each pair of values is looked at once.
        counts = Counter(zip(left, right, strict=True))
        agreements = {pair: _agreement((pair[0],), (pair[1],)) if once else _agreement(*pair) for pair in counts}
        if not any(one.only_first or one.only_second for one in agreements.values()):
            continue
        told = [agreements[pair] for pair in zip(left, right, strict=True)]
        ids = ids or [item.case.id for item in firsts]
        found.append(
            Disagreement(
                first=first,
                second=second,
                both=sum(counts[pair] for pair, one in agreements.items() if one.both),
                neither=sum(counts[pair] for pair, one in agreements.items() if one.neither),
                only_first=tuple([id_ for id_, one in zip(ids, told, strict=True) if one.only_first]),
                only_second=tuple([id_ for id_, one in zip(ids, told, strict=True) if one.only_second]),
            )
        )
    return tuple(found)


class _Agreement(NamedTuple):
    """How two metrics relate on a case's answers."""

    only_first: bool
    only_second: bool
    both: bool
    neither: bool


def _agreement(ones: Sequence[float | None], others: Sequence[float | None]) -> _Agreement:
    pairs = {pair for pair in zip(ones, others, strict=True) if None not in pair}
    agree = bool(pairs) and all(one == other for one, other in pairs)
    both = (1.0, 1.0) in pairs
    return _Agreement((1.0, 0.0) in pairs, (0.0, 1.0) in pairs, agree and both, agree and not both)


def counts_of(evidence: Sequence[_Answer], names_of: Callable[[_Answer], Iterable[str]]) -> tuple[Count, ...]:
    """How many cases carry each name, the most frequent first, then by name.

    A case counts once per name, however often the name occurs in its answers.
    """
    ids: dict[str, dict[str, None]] = {}
    for place, names in enumerate(each(evidence, names_of)):
        for name in names:
            ids.setdefault(name, {})[evidence[place].case.id] = None
    counts = [Count(name=name, count=len(case_ids), case_ids=tuple(case_ids)) for name, case_ids in ids.items()]
    return tuple(sorted(counts, key=lambda count: (-count.count, count.name)))


def _mended_alone(item: Judged) -> Sequence[str]:
    """The primary cause, where a repair of one clause made the answer right."""
    found = item.diagnosis
    repair = None if found is None else found.repair
    alone = repair is not None and len(repair.steps) == 1 and repair.strength != "refuted"
    return _one(item.cause) if alone else ()


def _flags(item: Judged) -> Iterable[str]:
    return item.verdict.flags


def _near_misses(item: Judged) -> Iterable[str]:
    """The kinds of near misses of a wrong answer."""
    if item.verdict.outcome != "incorrect" or item.comparison is None:
        return ()
    return [miss.kind for miss in item.comparison.near_misses]


def _troubled(evidence: Sequence[Judged]) -> Sequence[Judged]:
    """The answers that have failures, and perhaps others."""
    places = getattr(evidence, "troubled", None)  # as in `assay.runs.aggregate.rates.each`
    return evidence if places is None else [evidence[place] for place in places()]


def failures_of(item: Judged) -> Iterable[str]:
    """Every failure on the way to the verdict, as ``blame: kind``.

    A failure of a single metric to score is not counted here, but in that metric's ``unscored``.
    """
    failures = [item.verdict.failure, item.prediction.failure]
    failures += [execution.failure for execution in item.gold_executions]
    told = item.verdict.failure is not None and item.verdict.failure.blame == "system"
    if item.predicted_execution is not None and not told and item.prediction.failure is None:
        # These describe such a failure better: a text that failed to run may be prose, or blank.
        failures.append(item.predicted_execution.failure)
    return [f"{failure.blame}: {failure.kind}" for failure in failures if failure is not None]


def is_unanswered(item: Judged | Surveyed) -> bool:
    """Whether the system gave no answer, or failed on the question."""
    failure = item.prediction.failure
    if failure is None or failure.blame != "system":
        return False
    return failure.kind == "unanswered" or has_no_answer(failure)


def _one(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)
