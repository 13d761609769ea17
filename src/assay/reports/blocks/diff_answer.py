"""Whether the candidate of two runs is better, in words: the answer, its limits, and how it was computed."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from assay.model import MetricDiff, RunDiff, RunHead
from assay.reports.blocks.values import Direction
from assay.reports.text.plain import one_line, p_said, percent, plural, points, points_interval, some
from assay.runs.aggregate.metric_infos import info_of
from assay.stats import clusters_needed, is_significant, least_p_value

_TESTS = {
    "mcnemar_exact": "McNemar's exact test",
    "sign_flip": "a permutation test that flips signs",
    "sign_flip_databases": "a permutation test that flips the signs of whole databases",
}


def direction_of(improvement: float | None, p_value: float | None, alpha: float) -> Direction:
    """Which way a difference goes, and whether it is more than chance."""
    if improvement is None:
        return "unknown"
    if not is_significant(p_value, alpha) or improvement == 0:
        return "unclear"
    return "better" if improvement > 0 else "worse"


def is_share(one: MetricDiff, head: RunHead) -> bool:
    """Whether a metric's values read as percentages, and its differences in percentage points."""
    return info_of(one.metric, head.settings).reads_as_share(one.baseline, one.candidate)


def _size(value: float | None, share: bool) -> str:  # noqa: FBT001 - private
    """``2.3 points``, or a plain number if ``share`` is false."""
    return points(value, signed=False, share=share) + (" points" if share else "")


class Answer(Struct, frozen=True, kw_only=True):
    """Whether the candidate is better."""

    direction: Direction
    lead: str
    """A few words."""
    movement: str
    """The rest of the sentence: by how much, and how certain."""
    limits: tuple[str, ...] = ()
    """What these cases cannot show."""


def answer(diff: RunDiff, one: MetricDiff | None) -> Answer:
    """Whether the candidate is better."""
    metric = metric_name(diff.headline_metric)
    if not diff.matching.paired:
        return _nothing("no case of the same content in common")
    if one is None:
        return _nothing(f"not both runs have the metric {metric}")
    if one.difference is None:
        return _nothing(f"no case has a score of {metric} in both runs")
    direction, share = direction_of(one.improvement, one.p_value, diff.settings.alpha), is_share(one, diff.candidate)
    cases = plural(one.n, "case")
    told = p_said(one.p_value, alpha=diff.settings.alpha)
    if told and one.test == "sign_flip_databases":
        told += " by database"
    ending = f"; {told}" if told else ""
    if direction != "unclear":
        lead = "Better" if direction == "better" else "Worse"
        if one.clusters is not None and one.low is not None and one.high is not None and one.low <= 0 <= one.high:
            lead += " on these cases, perhaps not on others"
        return Answer(direction=direction, lead=lead, movement=f"{_movement(metric, one, share)} over {cases}{ending}")
    these = "this case" if one.n == 1 else f"these {cases}"
    limits = [f"a difference below {_size(one.detectable, share)} would probably go unnoticed"]
    limits = limits if one.detectable is not None else []
    if one.cases_needed is not None and one.difference:
        limits.append(f"some {some(one.cases_needed)} cases would be needed for the one observed")
    return Answer(
        direction=direction,
        lead=f"No difference that {these} can show",
        movement=f"{_movement(metric, one, share)}{ending}",
        limits=tuple(limits),
    )


def _nothing(why: str) -> Answer:
    return Answer(direction="unknown", lead="Nothing to compare", movement=why)


def _movement(metric: str, one: MetricDiff, share: bool) -> str:  # noqa: FBT001 - private
    """``match fell by 2.3 points [-3.9, -0.8], from 73.5 % to 71.2 %``.

    The interval is signed like every paired difference: the candidate minus the baseline.
    """
    difference = one.difference or 0.0
    bounds = points_interval(one.low, one.high, share=share)
    if not difference:
        changed = one.gained + one.lost
        why = f"{plural(one.gained, 'case')} gained, {one.lost:,} lost" if changed else "and no case changed"
        ending = f", a difference of {'0 points' if share else '0'} {bounds}" if bounds else ""
        return f"{metric} is {percent(one.candidate, share=share)} in both, {why}{ending}"
    size = f"{_size(difference, share)}{' ' if bounds else ''}{bounds}"
    verb = "rose" if difference > 0 else "fell"
    was, now = percent(one.baseline, share=share), percent(one.candidate, share=share)
    return f"{metric} {verb} by {size}, from {was} to {now}"


def _database_notes(one: MetricDiff, databases: int, direction: Direction, alpha: float) -> Iterable[str]:
    """The limits of a test by database, and what a test case by case shows instead."""
    least = least_p_value(databases)
    if least > alpha:
        yield (
            f"With {databases} databases no difference can be significant at α = {alpha:g}: flipping whole databases "
            f"gives no p below {least:.2g}. It takes {clusters_needed(alpha)} databases or more."
        )
    if direction == "unclear" and one.difference and is_significant(one.case_p_value, alpha):
        told = p_said(one.case_p_value, alpha=alpha)
        yield (
            f"On these cases alone the difference is more than chance ({told} when each case counts by itself), but "
            "on other databases it may be another."
        )


def notes(one: MetricDiff | None, direction: Direction, alpha: float) -> Iterable[str]:
    """Notes for the case that interval and test, which answer different questions, seem to contradict each other."""
    if one is None or one.low is None or one.high is None or one.difference is None:
        return
    holds_zero = one.low <= 0 <= one.high
    if one.test == "sign_flip_databases" and one.clusters is not None:
        yield from _database_notes(one, one.clusters, direction, alpha)
    elif one.p_value is not None and (least := least_p_value(one.n)) > alpha:
        yield (
            f"With {plural(one.n, 'case')} no difference can be significant at α = {alpha:g}: flipping cases gives no "
            f"p below {least:.2g}."
            # The answer says how many cases the observed difference would need, which are never fewer.
            + ("" if one.cases_needed and one.difference else f" It takes {clusters_needed(alpha)} cases or more.")
        )
    # Where the interval allows for databases, the record itself says so.
    if direction in ("better", "worse") and holds_zero and one.clusters is None:
        yield "The test finds more than chance, while the interval just holds 0: the difference is a close call."
    elif direction == "unclear" and not holds_zero:
        yield "The interval leaves 0 out, but the test, which is the stricter here, does not rule out chance."


def power(one: MetricDiff | None, diff: RunDiff) -> str:
    """The smallest difference that this number of cases can show, in a sentence; empty if it is not known."""
    if one is None or one.difference is None:
        return ""
    share = is_share(one, diff.candidate)
    power_text, alpha = f"{diff.settings.power * 100:g} %", f"{diff.settings.alpha:g}"
    said = ""
    if one.detectable is not None:
        size = _size(one.detectable, share)
        said = (
            f"{plural(one.n, 'case')} show a difference of {size} or more with a power of {power_text} "
            f"at α = {alpha}, if {'cases' if one.clusters is None else 'cases and databases'} vary as here."
        )
    if one.cases_needed is not None and one.difference:
        said += f" To show the observed {_size(one.difference, share)} takes some {some(one.cases_needed)} cases."
    return said.strip()


def methods(one: MetricDiff | None, diff: RunDiff) -> Iterable[str]:
    """How interval and p-value were computed: sentences."""
    settings = diff.settings
    if one is None or one.difference is None:
        return
    if one.low is not None:
        alike = "each case standing alone"
        if one.clusters is not None:
            alike = f"allowing for the cases of each of {plural(one.clusters, 'database')} being alike"
        yield (
            f"{settings.confidence * 100:g} % interval: of the mean of the paired differences, {alike}; the wider of a "
            f"bootstrap ({settings.resamples:,} resamples, seed {settings.seed}) and a score interval."
        )
    tests = dict.fromkeys(each.test for each in diff.metrics if each.test is not None)
    if tests:
        yield f"p: two-sided, by {' or '.join(_TESTS[test] for test in tests)}."
    if any(each.adjusted_p_value is not None for each in diff.metrics):
        metric = metric_name(diff.headline_metric)
        yield (
            f"{metric} is tested by its own p, every other metric and group by p after Holm's "
            f"correction, at α = {settings.alpha:g}."
        )


def metric_name(name: str) -> str:
    """A metric's name, made safe to show since it may come from a plugin."""
    return one_line(name, limit=60)
