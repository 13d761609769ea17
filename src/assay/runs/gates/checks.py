"""Check that every gate can fail, before anything is executed or asked."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Real
from typing import Final

from msgspec.structs import replace

from assay.errors import InputError, UsageError, did_you_mean
from assay.model import Case, CaseSummary, Gates, MetricInfo
from assay.model.databases.suite import SUITE_MATCH
from assay.model.runs.gate import HEADLINE
from assay.model.runs.metric_names import metric_hint, other_metric
from assay.model.witness import AFTER_WITNESSES
from assay.platform.surface import option
from assay.runs.aggregate.difficulties import difficulty_key, named
from assay.runs.aggregate.metric_infos import InfoOf, info_of, leading_metric
from assay.runs.aggregate.reliability import RUN_RATES

SELECTORS: Final = ("tag", "difficulty", "database", "id")
_SHOWN = 8


def resolved(gates: Gates, metrics: Sequence[str]) -> Gates:
    """The same gates with the headline metric by its name, without repetition."""
    named = (leading_metric(metrics) if one == HEADLINE else one for one in gates.fail_on_regression)
    return replace(gates, fail_on_regression=tuple(dict.fromkeys(named)))


def check_gates(gates: Gates, infos: InfoOf = info_of) -> None:
    """Check gates without a run. Raises UsageError for a value out of range, and for a gate given twice.

    ``infos`` gives what is known of a metric by name: from a run, else from the installed metrics.
    """
    _check_kinds(gates)
    for kind, demands in (("min", gates.minimum), ("max-drop", gates.max_drop)):
        for metric, value in demands:
            _check_value(kind, infos(metric), value)
        _check_once(kind, [metric for metric, _ in demands])
    _check_once("fail-on-regression", gates.fail_on_regression)
    _check_once("must-pass", gates.must_pass)
    if not 0.0 < gates.alpha < 1.0:
        raise UsageError(f"alpha is {gates.alpha!r}: give a level between 0 and 1, for example 0.05")
    for selector in gates.must_pass:
        _selector(selector)
    if gates.max_unscored is not None and not 0.0 <= gates.max_unscored <= 1.0:
        raise UsageError(f"max-unscored is {gates.max_unscored!r}: give a share from 0 to 1, for example 0.05")


def _check_kinds(gates: Gates) -> None:
    """Raise UsageError for a field whose value is not of its kind, for example a text in place of a number."""
    for name, example in (("minimum", '(("match", 0.8),)'), ("max_drop", '(("match", 0.02),)')):
        pairs = getattr(gates, name)
        if not isinstance(pairs, tuple | list) or not all(map(_is_demand, pairs)):
            raise UsageError(f"{name} is {pairs!r}: give pairs of a metric and a number, for example {name}={example}")
    for name, example in (("fail_on_regression", '("match",)'), ("must_pass", '("tag:smoke",)')):
        texts = getattr(gates, name)
        if not isinstance(texts, tuple | list) or not all(isinstance(text, str) for text in texts):
            raise UsageError(f"{name} is {texts!r}: give a tuple of texts, for example {name}={example}")
    for name in ("alpha", "max_unscored"):
        number = getattr(gates, name)
        if not _is_number(number) and (name, number) != ("max_unscored", None):
            raise UsageError(f"{name} is {number!r}: give a number from 0 to 1, for example {name}=0.05")


def _is_demand(pair: object) -> bool:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        return False
    return isinstance(pair[0], str) and _is_number(pair[1])


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _check_value(kind: str, metric: MetricInfo, value: float) -> None:
    if not math.isfinite(value):
        raise UsageError(f"{kind} {metric.name} is {value!r}: give a number")
    lowest = -math.inf if metric.lowest is None else metric.lowest
    highest = math.inf if metric.highest is None else metric.highest
    if kind == "max-drop":  # a size
        lowest, highest = 0.0, highest - lowest
    elif not metric.higher_is_better:
        raise UsageError(
            f"min {metric.name} is {value:g}, and of {metric.name} lower is better: hold it to a baseline, with "
            f"max-drop {metric.name}=VALUE or fail-on-regression"
        )
    if lowest <= value <= highest:
        return
    hint = ""
    if highest == 1.0 < value <= 100.0:
        hint = f" (100%), not {value:.0%}" if value < 2.0 else f": {value:g} percent is {value / 100:g}, or {value:g}%"
    bound = f"{lowest:.4g} up" if highest == math.inf else f"{lowest:.4g} to {highest:.4g}"
    bound = f"up to {highest:.4g}" if lowest == -math.inf else f"from {bound}"
    raise UsageError(f"{kind} {metric.name} is {value:g}: give a number {bound}{hint}")


def _check_once(kind: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{kind} {name} is given twice: keep one of them")


def check_metrics(
    gates: Gates,
    metrics: Sequence[str],
    *,
    known: Sequence[Collection[str]] = (),
    of: str = "the run",
    is_new: bool = False,
) -> None:
    """Check that ``metrics`` are computed in ``of``. ``known`` names every metric there is, for each kind of run. To a
    run that ``is_new``, metrics can be added.

    Raises InputError, with the closest name of the run's kind, for a metric that is unknown or not computed.
    """
    own = [name for kind in known if not set(metrics).isdisjoint(kind) for name in kind]
    demanded = [
        *(("min", metric) for metric, _ in gates.minimum),
        *(("max-drop", metric) for metric, _ in gates.max_drop),
        *(("fail-on-regression", metric) for metric in gates.fail_on_regression),
    ]
    for kind, metric in demanded:
        if (
            metric in metrics
            or (kind == "min" and metric in RUN_RATES)
            or (kind == "fail-on-regression" and metric == HEADLINE)
        ):
            continue
        if any(metric in kind for kind in known):
            raise InputError(
                f"{kind} {metric}: {of} does not compute {metric}{other_metric(metric, own)}; "
                f"it computes {', '.join(metrics)}{_to_add(metric, metrics) if is_new else ''}"
            )
        every = [*metrics, *own, *(RUN_RATES if kind == "min" else ())]
        hint = other_metric(metric, metrics) or metric_hint(metric, every)
        raise InputError(
            f"{kind} {metric}: {of} does not compute this metric{hint}; its metrics are {', '.join(metrics)}"
        )


def _to_add(metric: str, metrics: Sequence[str]) -> str:
    """What to write so that a run computes the metric, too."""
    needed = {AFTER_WITNESSES: ("--witness", True), SUITE_MATCH: ("--suite", "FOLDER")}
    return f": write  {option(*needed.get(metric, ('--metrics', ','.join((*metrics, metric)))))}"


def check_cases(gates: Gates, cases: Iterable[Case | CaseSummary]) -> None:
    """Check that every selector fits a case: otherwise its gate could not fail.

    Raises InputError, with the closest name, for a selector that matches no case, UsageError for an unreadable one.
    """
    if not gates.must_pass:
        return
    names: dict[str, dict[str, None]] = {kind: {} for kind in SELECTORS}
    for case in cases:
        for kind in SELECTORS:
            names[kind].update(dict.fromkeys(_names(kind, case)))
    for selector in gates.must_pass:
        kind, name = _selector(selector)
        if name not in names[kind]:
            raise InputError(f"must-pass {selector} matches no case{_instead(kind, name, names)}")


def _instead(kind: str, name: str, names: Mapping[str, Collection[str]]) -> str:
    """A suggestion: the name under another prefix, else a close name under this prefix, else the existing names."""
    elsewhere = next((other for other in SELECTORS if name in names[other]), None)
    if elsewhere is not None:
        return f" (did you mean '{elsewhere}:{name}'?)"
    there = list(names[kind])
    close = get_close_matches(name, there, n=1, cutoff=0.5)
    if close:
        return f" (did you mean '{kind}:{close[0]}'?)"
    if not there:
        return f": no case has a {kind}"
    more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
    return f"; known: {', '.join(f'{kind}:{one}' for one in there[:_SHOWN])}{more}"


def fits(selector: str, case: Case | CaseSummary) -> bool:
    """Whether a selector selects a case. Names other than difficulties are compared exactly."""
    kind, name = _selector(selector)
    if kind == "difficulty" and case.difficulty is not None:
        return difficulty_key(name) == difficulty_key(case.difficulty)
    return name in _names(kind, case)


def _names(kind: str, case: Case | CaseSummary) -> tuple[str, ...]:
    if kind == "tag":
        return case.tags
    if kind == "id":
        return (case.id if isinstance(case, Case) else case.case_id,)
    return named(case.difficulty if kind == "difficulty" else case.database)


def _selector(text: str) -> tuple[str, str]:
    """The prefix and the name of a selector. Raises UsageError if the text is not a selector."""
    kind, colon, name = text.partition(":")
    if colon and name.strip() and kind in SELECTORS:
        return kind, name.strip()
    if not colon or not name.strip():
        raise UsageError(f"must-pass {text!r}: write tag:NAME, difficulty:NAME, database:NAME or id:ID")
    hint = did_you_mean(kind.strip().lower(), SELECTORS)
    raise UsageError(f"must-pass {text!r}: unknown selector {kind!r}{hint}; the selectors are {', '.join(SELECTORS)}")
