"""Whether a run passes its gates. Pure: numbers in, results out.

A mean is compared at full precision, within 1e-9 for the errors of float sums: 4 of 5 reach 0.8, but 0.7999 of a large
run does not, however it would be rounded.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from functools import partial

from msgspec import Struct

from assay.errors import UsageError
from assay.model import CaseSummary, GateResult, Gates, MetricDiff, MetricInfo, Rate, Run, RunDiff
from assay.runs.aggregate.metric_infos import info_of, knowing
from assay.runs.aggregate.rates import Answers
from assay.runs.aggregate.reliability import RUN_RATES, run_rate, why_none
from assay.runs.gates.checks import check_cases, check_gates, check_metrics, fits, resolved
from assay.stats import holm, is_significant, least_p_value

_SLACK = 1e-9
_MOST_PLACES = 6
_REASON_LENGTH = 80


def evaluate_gates(
    gates: Gates, run: Run, *, diff: RunDiff | None = None, baseline: Run | None = None
) -> tuple[GateResult, ...]:
    """One result per gate: minima, drops, regressions, cases that must pass, each in the order given.

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
    return tuple(results)


def _minimum(run: Run, metric: MetricInfo, least: float) -> GateResult:
    own = metric.name in RUN_RATES
    rate = run_rate(run, metric.name) if own else run.aggregates.overall.rate(metric.name)
    wanted = _wanted(metric, f"at least {_exact(metric, least)}")
    result = partial(GateResult, gate=f"min {metric.name}={least:g}", wanted=wanted)
    if rate is None and own:
        return result(passed=False, found=why_none(metric.name))
    if rate is None or rate.value is None:
        unscored = len(run.summaries) if rate is None else rate.unscored
        return result(passed=False, found=f"no scored case, {unscored:,} unscored")
    if rate.value >= least - _SLACK:
        return result(passed=True, found=_reading(metric, rate, run))
    values = {} if own else _case_values(run, metric.name)
    missing = _size(metric, least - rate.value)
    if values and set(values.values()) <= {0.0, 1.0, None}:
        cases = math.ceil((least - _SLACK) * rate.n - rate.numerator)
        missing += f" ({_cases(cases)} short)"
    return result(
        passed=False,
        found=_reading(metric, rate, run, apart_from=least),
        missed_by=missing,
        case_ids=tuple(case_id for case_id, value in values.items() if value is not None and value < least - _SLACK),
    )


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
        return f"none of {_cases(paired)} in common is scored on both sides"

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
    wanted = _wanted(metric, f"at most {_size(metric, most, exact=True)} {_worse(metric)} the baseline")
    result = partial(GateResult, gate=f"max-drop {metric.name}={most:g}", wanted=wanted)
    found = compared.metric(metric.name)
    if found is None or found.difference is None:
        return result(passed=False, found=compared.nothing(metric.name))
    worst = metric.gain(-most)
    passed = metric.gain(found.difference) >= -most - _SLACK
    return result(
        passed=passed,
        found=_change(metric, found, apart_from=None if passed else worst),
        missed_by=None if passed else _size(metric, abs(worst - found.difference)),
        case_ids=() if passed else compared.lost(metric),
    )


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
        tested = _change(metric, one)
        if one.p_value is not None and adjusted is not None:
            corrected = f" ({_p_value(adjusted)} over {len(known)} metrics)" if len(known) > 1 else ""
            tested += f"; p {_p_value(one.p_value, sign=True)}{corrected}"
        if one.test == "sign_flip_databases" and one.clusters is not None:
            tested += " by database"
            if least is not None and least > gates.alpha:
                over = f" over {len(known)} metrics" if len(known) > 1 else ""
                tested += (
                    f", and {one.clusters} databases give none below {least:.2g}{over}: no drop can be significant"
                )
        if passed and one.detectable is not None:
            tested += f"; that number of cases shows differences from {_size(metric, one.detectable)} up"
        yield result(
            passed=passed,
            found=tested,
            missed_by=None if passed else _size(metric, abs(one.difference)),
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
    for case_id, cases in answers.items():
        outcomes = {case.outcome for case in cases}
        if "incorrect" in outcomes:
            wrong += 1
        elif "correct" in outcomes:
            continue
        else:
            unscored.append(cases[0])
        case_ids.append(case_id)
    right = len(answers) - len(case_ids)
    parts = [f"{right:,} of {_cases(len(answers))} right"]
    parts += [f"{wrong:,} wrong"] if wrong else []
    if unscored:
        reasons = Counter(" ".join(case.reason.split()) for case in unscored)
        reason, count = reasons.most_common(1)[0]
        said = reason if len(reason) <= _REASON_LENGTH else reason[: _REASON_LENGTH - 1] + "…"
        why = said if count == len(unscored) else f"such as: {said}"
        parts.append(f"{len(unscored):,} unscored ({why})")
    return GateResult(
        gate=f"must-pass {selector}",
        passed=not case_ids,
        wanted="every case right" if len(answers) > 1 else "the case right",
        found=", ".join(parts),
        missed_by=f"{len(case_ids):,} of {_cases(len(answers))}" if case_ids else None,
        case_ids=tuple(case_ids),
    )


def _case_values(run: Run, metric: str) -> Mapping[str, float | None]:
    """Per case, the mean of its scored answers, in the run's order; None if none is scored."""
    answers = Answers.of(run.summaries, repeats=run.settings.repeats)
    scores = [case.score(metric) for case in run.summaries]
    means = answers.means([None if score is None else score.value for score in scores])
    return {run.summaries[start].case_id: mean for start, mean in zip(answers.starts, means, strict=True)}


def _reading(metric: MetricInfo, rate: Rate, run: Run, *, apart_from: float | None = None) -> str:
    """``76.2 % [73.5, 78.7], 788 of 1,034, 3 unscored``. ``apart_from``: a value that it must not look equal to."""
    value = rate.value or 0.0
    text = _number(metric, value, places=_places(metric, value, apart_from)) + (" %" if metric.is_share else "")
    between = (
        "" if rate.low is None or rate.high is None else f" [{_number(metric, rate.low)}, {_number(metric, rate.high)}]"
    )
    # Means of several answers may add up to a whole number, which then is not a count.
    whole = float(rate.numerator).is_integer() and metric.is_share and run.settings.repeats == 1
    over = f"{rate.numerator:,.0f} of {rate.n:,}" if whole else f"mean of {rate.n:,}"
    return f"{text}{between}, {over}" + (f", {rate.unscored:,} unscored" if rate.unscored else "")


def _change(metric: MetricInfo, found: MetricDiff, *, apart_from: float | None = None) -> str:
    """``74.7 % after 76.2 %: -1.5 points [-3.1, +0.1], 1,030 cases, 4 gained, 19 lost``."""
    difference = found.difference or 0.0
    unit = " %" if metric.is_share else ""
    places = _places(metric, difference, apart_from)
    text = f"{_number(metric, found.candidate or 0.0)}{unit} after {_number(metric, found.baseline or 0.0)}{unit}: "
    text += f"{_number(metric, difference, places=places, sign=True)}" + (" points" if unit else "")
    if found.low is not None and found.high is not None:
        text += f" [{_number(metric, found.low, sign=True)}, {_number(metric, found.high, sign=True)}]"
        text += f" by {found.clusters:,} databases" if found.clusters else ""
    text += f", {_cases(found.n)}, {found.gained:,} gained, {found.lost:,} lost"
    return text + (f", {found.unscored:,} unscored" if found.unscored else "")


def _places(metric: MetricInfo, value: float, other: float | None) -> int:
    """Number of decimals that distinguish the two values; one if that is not needed."""
    if other is None:
        return 1
    told = (n for n in range(1, _MOST_PLACES) if _number(metric, value, places=n) != _number(metric, other, places=n))
    return next(told, _MOST_PLACES)


def _number(metric: MetricInfo, value: float, *, places: int = 1, sign: bool = False) -> str:
    """A value without its unit, a share times 100. Halves are rounded up; only 1 shows as 100.0, as in all reports."""
    shown = Decimal(f"{value * (100 if metric.is_share else 1):.12g}")
    text = str(shown.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))
    if metric.is_share and places == 1 and text == "100.0" and value < 1.0:
        text = "99.9"
    if not text.strip("-0."):
        text = text.lstrip("-")
    return f"+{text}" if sign and value > 0 and text.strip("0.") else text


def _exact(metric: MetricInfo, value: float) -> str:
    """The gate's value with all of its digits: ``80.0 %``, ``81.25 %``."""
    share = metric.is_share
    text = format(Decimal(f"{value * (100 if share else 1):.10g}"), "f")
    return (text if "." in text else f"{text}.0") + (" %" if share else "")


def _size(metric: MetricInfo, value: float, *, exact: bool = False) -> str:
    """A distance, ``3.8 points`` between percentages, with enough digits that only 0 shows as 0."""
    places = next((n for n in range(1, _MOST_PLACES) if _number(metric, value, places=n).strip("0.")), 1)
    text = _exact(metric, value).removesuffix(" %") if exact else _number(metric, value, places=places)
    return f"{text} points" if metric.is_share else text


def _p_value(value: float, *, sign: bool = False) -> str:
    if value < 0.0001:
        return "< 0.0001"
    return ("= " if sign else "") + f"{value:.2g}"


def _cases(count: int) -> str:
    return f"{count:,} case{'' if count == 1 else 's'}"
