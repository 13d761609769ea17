"""Whether a run passes its gates. Pure: numbers in, results out.

A mean is compared at full precision, within 1e-9 for the errors of float sums: 4 of 5 reach 0.8, but 0.7999 of a large
run does not, however it would be rounded.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct

from assay.errors import UsageError, plural
from assay.model import CaseSummary, GateResult, Gates, MetricDiff, MetricInfo, Run, RunDiff
from assay.model.failure import is_final
from assay.runs.aggregate.metric_infos import info_of, knowing, leading_metric
from assay.runs.aggregate.rates import Answers
from assay.runs.aggregate.reliability import RUN_RATES, run_rate, why_none
from assay.runs.gates.checks import check_cases, check_gates, check_metrics, fits, resolved
from assay.runs.gates.numbers import change, decimals, in_full, number, p_value, reading, size
from assay.stats import holm, is_significant, least_p_value

_SLACK = 1e-9
_REASON_LENGTH = 80


def evaluate_gates(
    gates: Gates, run: Run, *, diff: RunDiff | None = None, baseline: Run | None = None
) -> tuple[GateResult, ...]:
    """One result per gate: minima, drops, regressions, cases that must pass, unscored cases, each in the order given.

    ``diff`` is the comparison of the run with its baseline, which `Gates.needs_baseline` needs; ``baseline`` is only
    for the names of cases that got worse. Raises UsageError or InputError, as `check_gates`, `check_metrics` and
    `check_cases` do, for gates that do not fit the run, and UsageError if a needed ``diff`` is absent.
    """
    infos = knowing(run.settings)
    check_gates(gates, infos)
    check_metrics(gates, run.settings.metrics)
    check_cases(gates, run.summaries)
    gates = resolved(gates, run.settings.metrics)
    if gates.needs_baseline and diff is None:
        raise UsageError("max_drop and fail_on_regression compare with a baseline: name the finished run to be beaten")
    results = [_minimum(run, infos(metric), least) for metric, least in gates.minimum]
    if diff is not None:
        compared = _Compared(run=run, diff=diff, baseline=baseline)
        results += [_max_drop(compared, infos(metric), most) for metric, most in gates.max_drop]
        results += _regressions(compared, gates)
    results += [_must_pass(run, selector) for selector in gates.must_pass]
    results += [] if gates.max_unscored is None else [_max_unscored(run, gates.max_unscored)]
    return tuple(results)


def _minimum(run: Run, metric: MetricInfo, least: float) -> GateResult:
    own = metric.name in RUN_RATES
    rate = run_rate(run, metric.name) if own else run.aggregates.overall.rate(metric.name)
    wanted = _wanted(metric, f"at least {in_full(metric, least)}")
    result = partial(GateResult, gate=f"min {metric.name}={least:g}", wanted=wanted)
    if rate is None and own:
        return result(passed=False, found=why_none(metric.name))
    if rate is None or rate.value is None:
        unscored = len(run.summaries) if rate is None else rate.unscored
        return result(passed=False, found=f"no scored case, {unscored:,} unscored")
    if rate.value >= least - _SLACK:
        return result(passed=True, found=reading(metric, rate, run) + _after_reviews(metric, run))
    values = {} if own else _case_values(run, metric.name)
    missing = size(metric, least - rate.value)
    if values and set(values.values()) <= {0.0, 1.0, None}:
        short = math.ceil((least - _SLACK) * rate.n - rate.numerator)
        missing += f" ({plural(short, 'case')} short)"
    return result(
        passed=False,
        found=reading(metric, rate, run, apart_from=least) + _after_reviews(metric, run),
        missed_by=missing,
        case_ids=tuple(case_id for case_id, value in values.items() if value is not None and value < least - _SLACK),
    )


def _after_reviews(metric: MetricInfo, run: Run) -> str:
    """That a gate of the accuracy goes without reviews, if these change it; empty otherwise."""
    reviews = run.aggregates.reviews
    if (
        reviews is None
        or metric.name != leading_metric(run.settings.metrics)
        or reviews.after.value == reviews.before.value
    ):
        return ""
    if reviews.after.value is None:
        return "; gates go without reviews"
    return f"; gates go without reviews, after which it is {number(metric, reviews.after.value)} %"


class _Compared(Struct, frozen=True, kw_only=True):
    """A run compared with its baseline."""

    run: Run
    diff: RunDiff
    baseline: Run | None

    def metric(self, name: str) -> MetricDiff | None:
        """The comparison of that metric; None if the baseline does not have it, or no case is scored on both."""
        found = next((one for one in self.diff.metrics if one.metric == name), None)
        return None if found is None or found.n == 0 or found.difference is None else found

    def nothing(self, name: str) -> str:
        """Why there is no comparison of that metric."""
        if name not in (one.metric for one in self.diff.metrics):
            return f"the baseline has no {name}"
        paired = self.diff.matching.paired
        if paired == 0:
            return "no case that both runs have unchanged"
        return f"none of {plural(paired, 'case')} in common is scored on both sides"

    def lost(self, metric: MetricInfo) -> tuple[str, ...]:
        """The cases whose value got worse, in the run's order."""
        name = metric.name
        if self.baseline is None:
            if name != self.diff.headline_metric:
                return ()
            return tuple(one.candidate.case_id for one in self.diff.changes if one.kind in ("broken", "worse"))
        now, before = _case_values(self.run, name), _case_values(self.baseline, name)
        pairs = ((one.candidate.case_id, one.baseline.case_id) for one in self.diff.changes)
        values = ((case_id, now.get(case_id), before.get(other)) for case_id, other in pairs)
        return tuple(
            case_id
            for case_id, new, old in values
            if new is not None and old is not None and metric.gain(new - old) < -_SLACK
        )


def _wanted(metric: MetricInfo, demand: str) -> str:
    """The gate's text, with the metric's label if that differs from its name."""
    return f"{metric.label}: {demand}" if metric.label else demand


def _worse(metric: MetricInfo) -> str:
    return "below" if metric.higher_is_better else "above"


def _max_drop(compared: _Compared, metric: MetricInfo, most: float) -> GateResult:
    wanted = _wanted(metric, f"at most {size(metric, most, exact=True)} {_worse(metric)} the baseline")
    result = partial(GateResult, gate=f"max-drop {metric.name}={most:g}", wanted=wanted)
    found = compared.metric(metric.name)
    if found is None or found.difference is None:
        return result(passed=False, found=compared.nothing(metric.name))
    worst = metric.gain(-most)
    passed = metric.gain(found.difference) >= -most - _SLACK
    shown = change(metric, found, apart_from=None if passed else worst)
    return result(
        passed=passed,
        found=shown + _drop_and_interval(metric, found, most, passed=passed),
        missed_by=None if passed else size(metric, abs(worst - found.difference)),
        case_ids=() if passed else compared.lost(metric),
    )


def _drop_and_interval(metric: MetricInfo, found: MetricDiff, most: float, *, passed: bool) -> str:
    """Why a drop passes though its interval excludes 0, or is missed though it includes 0; empty otherwise."""
    excludes = _is_loss_for_certain(metric, found)
    if excludes is None or excludes != passed:
        return ""
    if excludes:
        allowed = size(metric, most, exact=True)
        return f"; the interval excludes 0, so the loss is not by chance, but it is within the {allowed} allowed"
    return "; the interval includes 0, so the loss may be chance, but the gate compares the difference itself"


def _is_loss_for_certain(metric: MetricInfo, found: MetricDiff) -> bool | None:
    """Whether the interval of the difference excludes 0 and has only losses in it; None without an interval."""
    if found.low is None or found.high is None:
        return None
    return max(metric.gain(found.low), metric.gain(found.high)) < 0.0


def _test_and_interval(metric: MetricInfo, found: MetricDiff, adjusted: float | None, alpha: float) -> str:
    """Why the test of a regression and the interval disagree; empty if they agree or there is no test."""
    excludes = _is_loss_for_certain(metric, found)
    if excludes is None or adjusted is None or excludes == is_significant(adjusted, alpha):
        return ""
    if excludes:
        return f"; the interval excludes 0, but the gate goes by p, and {p_value(adjusted)} is above {alpha:g}"
    if metric.gain(found.difference or 0.0) >= 0.0:
        return ""
    return f"; the interval includes 0, but the gate goes by p, and {p_value(adjusted)} is at most {alpha:g}"


def _regressions(compared: _Compared, gates: Gates) -> Iterator[GateResult]:
    """Each metric that must not be significantly worse.

    The diff's two-sided tests at ``gates.alpha``, their p-values corrected over just these metrics (`holm`).
    """
    found = [compared.metric(metric) for metric in gates.fail_on_regression]
    known = [None if one is None else one.p_value for one in found]
    # Holm's values rise with every p-value, so that these are the least that each can have.
    least_adjusted = holm([None if one is None else _least_p_value(one) for one in found])
    for name, one, adjusted, least in zip(gates.fail_on_regression, found, holm(known), least_adjusted, strict=True):
        metric = info_of(name, compared.run.settings)
        wanted = _wanted(metric, f"not significantly {_worse(metric)} the baseline (at {gates.alpha:g})")
        result = partial(GateResult, gate=f"fail-on-regression {name}", wanted=wanted)
        if one is None or one.difference is None:
            yield result(passed=False, found=compared.nothing(name))
            continue
        passed = not (metric.gain(one.difference) < 0.0 and is_significant(adjusted, gates.alpha))
        tested = change(metric, one)
        if one.p_value is not None and adjusted is not None:
            corrected = (
                f" ({p_value(adjusted)} by Holm's correction over {len(known)} metrics)" if len(known) > 1 else ""
            )
            tested += f"; p {p_value(one.p_value, sign=True)}{corrected}"
        if one.test == "sign_flip_databases" and one.clusters is not None:
            tested += " by database"
            if least is not None and least > gates.alpha:
                over = f" over {len(known)} metrics" if len(known) > 1 else ""
                tested += (
                    f", and {one.clusters} databases give none below {least:.2g}{over}: no drop can be significant"
                )
        if passed and one.detectable is not None:
            tested += f"; this number of cases shows differences of {size(metric, one.detectable)} and more"
        yield result(
            passed=passed,
            found=tested + _test_and_interval(metric, one, adjusted, gates.alpha),
            missed_by=None if passed else size(metric, abs(one.difference)),
            case_ids=() if passed else compared.lost(metric),
        )


def _least_p_value(one: MetricDiff) -> float | None:
    """The least that the test could give for that number of databases or cases; None if none was made."""
    if one.p_value is None:
        return None
    by_database = one.test == "sign_flip_databases" and one.clusters is not None
    return least_p_value(one.clusters if by_database and one.clusters is not None else one.n)


def _must_pass(run: Run, selector: str) -> GateResult:
    """Whether every selected case has a scored answer, and all of its scored answers are right."""
    answers: dict[str, list[CaseSummary]] = {}
    for case in run.summaries:
        if fits(selector, case):
            answers.setdefault(case.case_id, []).append(case)
    wrong, unscored, case_ids = 0, [], []
    for case_id, given in answers.items():
        outcomes = {case.outcome for case in given}
        if "incorrect" in outcomes:
            wrong += 1
        elif "correct" in outcomes:
            continue
        else:
            unscored.append(given[0])
        case_ids.append(case_id)
    right = len(answers) - len(case_ids)
    parts = [f"{right:,} of {plural(len(answers), 'case')} right"]
    parts += [f"{wrong:,} wrong"] if wrong else []
    if unscored:
        parts.append(f"{len(unscored):,} unscored ({_reasons(unscored)})")
    return GateResult(
        gate=f"must-pass {selector}",
        passed=not case_ids,
        wanted="every case right" if len(answers) > 1 else "the case right",
        found=", ".join(parts),
        missed_by=f"{len(case_ids):,} of {plural(len(answers), 'case')}" if case_ids else None,
        case_ids=tuple(case_ids),
    )


def _max_unscored(run: Run, most: float) -> GateResult:
    """Whether few enough answers are unscored or unfinished: the same command asks or evaluates these again.

    A system that answers HTTP 500 is incorrect, but unfinished: a build must not pass if it was down all the time.
    """
    total = len(run.summaries)
    unscored = [case for case in run.summaries if case.outcome == "unscored" or not is_final(case.failure)]
    share = len(unscored) / total if total else 0.0
    info = MetricInfo(name="max-unscored")
    passed = share <= most + _SLACK
    over = f"{number(info, share, places=decimals(info, share, None if passed else most))} %"
    noun = "case" if run.settings.repeats == 1 else "answer"
    unfinished = sum(case.outcome != "unscored" for case in unscored)
    found = f"{over}, {len(unscored):,} of {plural(total, noun)}"
    if unfinished:
        found += f": {len(unscored) - unfinished:,} unscored, {unfinished:,} unfinished and counted as incorrect"
    excess = len(unscored) - math.floor(most * total + _SLACK)
    return GateResult(
        gate=f"max-unscored {most:g}",
        passed=passed,
        wanted=f"at most {in_full(info, most)} unscored or unfinished",
        found=f"{found} ({_reasons(unscored)})" if unscored else found,
        missed_by=None if passed else f"{size(info, share - most)} ({plural(excess, noun)} too many)",
        case_ids=() if passed else tuple(dict.fromkeys(case.case_id for case in unscored)),
    )


def _reasons(unscored: Sequence[CaseSummary]) -> str:
    """The reason why cases are unscored; if there are several, the most frequent as an example."""
    reasons = Counter(" ".join(case.reason.split()) for case in unscored)
    reason, count = reasons.most_common(1)[0]
    shown = reason if len(reason) <= _REASON_LENGTH else reason[: _REASON_LENGTH - 1] + "…"
    return shown if count == len(unscored) else f"for example: {shown}"


def _case_values(run: Run, metric: str) -> Mapping[str, float | None]:
    """Per case, the mean of its scored answers, in the run's order; None if none is scored."""
    answers = Answers.of(run.summaries, repeats=run.settings.repeats)
    scores = [case.score(metric) for case in run.summaries]
    means = answers.means([None if score is None else score.value for score in scores])
    return {run.summaries[start].case_id: mean for start, mean in zip(answers.starts, means, strict=True)}
