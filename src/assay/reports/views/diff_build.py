"""Make the view of a comparison that every format draws. Nothing is computed here: the numbers are the record's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from assay.model import CaseChange, CaseSide, ChangedCase, GroupDiff, MetricDiff, MetricInfo, Rate, RunDiff, RunHead
from assay.reports.text.plain import clipped, interval, one_line, percent, plural, words
from assay.reports.views.diff import (
    ChangeRow,
    ChangeTable,
    DiffFigure,
    DiffGroupRow,
    DiffGroupTable,
    DiffMetricRow,
    DiffView,
    Direction,
    KindCount,
    MatchRow,
    ShownKind,
    SideText,
    SideView,
    WeakerRow,
)
from assay.reports.views.diff_causes import cause_rows
from assay.reports.views.diff_text import p_said, p_text, points, points_interval, some
from assay.runs.metric_infos import info_of
from assay.stats import clusters_needed, is_significant, least_p_value

CASES = 5
"""How many cases of each kind are shown in full by default."""
_QUERY_LENGTH = 2000
KINDS: tuple[tuple[ShownKind, str, str], ...] = (
    ("fixed", "fixed", "wrong in the baseline, right in the candidate"),
    ("broken", "broken", "right in the baseline, wrong in the candidate"),
    ("better", "more often right", "a greater share of the repeated answers is right"),
    ("worse", "less often right", "a smaller share of the repeated answers is right"),
    ("otherwise", "still wrong, but otherwise", "wrong in both, in different ways"),
    ("unscored", "unscored", "no scored answer on at least one side"),
    ("still_right", "still right", "right in both"),
    ("still_wrong", "still wrong in the same way", "wrong in both"),
    ("flaky", "as unsteady as before", "the same share of right answers, neither none nor all"),
)
"""Each kind of change, its name in reports, and its meaning."""
_SHOWN_ONE_BY_ONE = frozenset({"fixed", "broken", "better", "worse", "otherwise", "unscored"})
_TESTS = {
    "mcnemar_exact": "McNemar's exact test",
    "sign_flip": "a permutation test that flips signs",
    "sign_flip_databases": "a permutation test that flips the signs of whole databases",
}


def view_of_diff(diff: RunDiff, *, cases: int | None = None) -> DiffView:
    """The view of a comparison; ``cases`` is how many of each kind it shows in full, None for `CASES`."""
    shown = CASES if cases is None else max(0, cases)
    by_kind = _by_kind(diff.changes)
    lead_metric = next((one for one in diff.metrics if one.metric == diff.headline_metric), None)
    direction, lead, rest = _answer(diff, lead_metric)
    # The headline was chosen beforehand, so it needs no adjustment; the other metrics are many tests on the same data.
    figures = {
        one.metric: figure_of(one, diff, direction=direction if one is lead_metric else None) for one in diff.metrics
    }
    return DiffView(
        title=f"{label_of(diff.candidate)} against {label_of(diff.baseline)}",
        baseline=_side("baseline", diff.baseline, diff.headline_metric),
        candidate=_side("candidate", diff.candidate, diff.headline_metric),
        headline_metric=metric_name(diff.headline_metric),
        confidence=f"{diff.settings.confidence * 100:g} %",
        direction=direction,
        firm=lead_metric is None or figures[lead_metric.metric].beyond,
        lead=lead,
        rest=rest,
        counts=tuple(
            KindCount(kind=kind, name=name, count=len(by_kind[kind])) for kind, name, _ in KINDS if by_kind[kind]
        ),
        notes=tuple(one_line(note) for note in (*diff.notes, *_own_notes(lead_metric, direction, diff.settings.alpha))),
        gates=diff.gates,
        changes=tuple(
            _change_table(kind, name, meaning, by_kind[kind], shown)
            for kind, name, meaning in KINDS
            if by_kind[kind] and kind in _SHOWN_ONE_BY_ONE
        ),
        metrics=tuple(
            DiffMetricRow(
                metric=metric_name(one.metric),
                meaning=one_line(info.said, limit=300),
                explained=f"{metric_name(one.metric)}: {one_line(info.said, limit=300)}" if info.label else "",
                figure=figures[one.metric],
                headline=one is lead_metric,
            )
            for one in diff.metrics
            for info in (info_of(one.metric, diff.candidate.settings),)
        ),
        only_in_one=tuple(_only_in_one(diff)),
        groups=tuple(_group_tables(diff)),
        matching=tuple(_matching(diff)),
        paired=diff.matching.paired,
        power=_power(lead_metric, diff),
        methods=tuple(_methods(lead_metric, diff)),
        causes=cause_rows(diff.changes),
        weaker=tuple(
            WeakerRow(
                case=_shown_id(one.candidate.case_id),
                baseline=words(one.baseline.strength),
                candidate=words(one.candidate.strength),
            )
            for one in diff.changes
            if one.lost_strength
        ),
    )


def figure_of(one: MetricDiff, diff: RunDiff, *, direction: Direction | None = None) -> DiffFigure:
    """A metric's difference with its texts; ``direction`` is given where it was decided elsewhere."""
    alpha, share = diff.settings.alpha, is_share(one, diff.candidate)
    unscored = f", {one.unscored:,} unscored" if one.unscored else ""
    holds_zero = one.low is not None and one.high is not None and one.low <= 0 <= one.high
    p_value = one.p_value if one.adjusted_p_value is None else one.adjusted_p_value
    return DiffFigure(
        diff=one,
        share=share,
        baseline=percent(one.baseline, share=share),
        candidate=percent(one.candidate, share=share),
        difference=points(one.difference, share=share),
        interval=points_interval(one.low, one.high, share=share),
        p_value=p_text(one.p_value, alpha=alpha),
        adjusted_p_value=p_text(one.adjusted_p_value, alpha=alpha),
        decisive_p_value=p_text(p_value if direction is None else one.p_value, alpha=alpha),
        tally=f"{one.n:,}{unscored}",
        direction=direction or direction_of(one.improvement, p_value, alpha),
        beyond=not holds_zero,
    )


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
    """``2.3 points``, or a plain number where ``share`` is false."""
    return points(value, signed=False, share=share) + (" points" if share else "")


def _answer(diff: RunDiff, one: MetricDiff | None) -> tuple[Direction, str, str]:
    """Whether the candidate is better: as a direction, as a few words, and as the rest of the sentence."""
    metric = metric_name(diff.headline_metric)
    if not diff.matching.paired:
        return "unknown", "Nothing to compare", "the two runs have no case of the same content in common"
    if one is None:
        return "unknown", "Nothing to compare", f"not both runs have the metric {metric}"
    if one.difference is None:
        return "unknown", "Nothing to compare", f"no case has a score of {metric} in both runs"
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
        return direction, lead, f"{_movement(metric, one, share)} over {cases}{ending}"
    these = "this case" if one.n == 1 else f"these {cases}"
    limits = [f"a difference below {_size(one.detectable, share)} would probably go unnoticed"]
    limits = limits if one.detectable is not None else []
    if one.cases_needed is not None and one.difference:
        limits.append(f"some {some(one.cases_needed)} cases would be needed for the one observed")
    rest = "; ".join((f"{_movement(metric, one, share)}{ending}", *limits))
    return direction, f"No difference that {these} can show", rest


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
            f"On these cases alone the difference is more than chance ({told} by cases one by one), but on other "
            "databases it may be another."
        )


def _own_notes(one: MetricDiff | None, direction: Direction, alpha: float) -> Iterable[str]:
    """Notes where interval and test, which answer different questions, seem to contradict each other."""
    if one is None or one.low is None or one.high is None or one.difference is None:
        return
    holds_zero = one.low <= 0 <= one.high
    if one.test == "sign_flip_databases" and one.clusters is not None:
        yield from _database_notes(one, one.clusters, direction, alpha)
    elif one.p_value is not None and (least := least_p_value(one.n)) > alpha:
        yield (
            f"With {plural(one.n, 'case')} no difference can be significant at α = {alpha:g}: flipping cases gives no "
            f"p below {least:.2g}. It takes {clusters_needed(alpha)} cases or more."
        )
    # Where the interval allows for databases, the record itself says so.
    if direction in ("better", "worse") and holds_zero and one.clusters is None:
        yield "The test finds more than chance, while the interval just holds 0: the difference is a close call."
    elif direction == "unclear" and not holds_zero:
        yield "The interval leaves 0 out, but the test, which is the stricter here, does not rule out chance."


def _power(one: MetricDiff | None, diff: RunDiff) -> str:
    if one is None or one.difference is None:
        return ""
    share = is_share(one, diff.candidate)
    power, alpha = f"{diff.settings.power * 100:g} %", f"{diff.settings.alpha:g}"
    said = ""
    if one.detectable is not None:
        size = _size(one.detectable, share)
        said = (
            f"{plural(one.n, 'case')} show a difference of {size} or more with a power of {power} "
            f"at α = {alpha}, where {'cases' if one.clusters is None else 'cases and databases'} vary as here."
        )
    if one.cases_needed is not None and one.difference:
        said += f" To show the observed {_size(one.difference, share)} takes some {some(one.cases_needed)} cases."
    return said.strip()


def _methods(one: MetricDiff | None, diff: RunDiff) -> Iterable[str]:
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
            f"{metric} is judged by its own p, every other metric and group by the adjusted one (Holm), "
            f"at α = {settings.alpha:g}."
        )


def _by_kind(changes: Sequence[CaseChange]) -> dict[ShownKind, list[CaseChange]]:
    found: dict[ShownKind, list[CaseChange]] = {kind: [] for kind, _, _ in KINDS}
    for change in changes:
        found[kind_of(change)].append(change)
    return found


def kind_of(change: CaseChange) -> ShownKind:
    """The kind under which a case is shown."""
    return "otherwise" if change.kind == "still_wrong" and change.otherwise else change.kind


def _change_table(kind: ShownKind, name: str, meaning: str, changes: Sequence[CaseChange], shown: int) -> ChangeTable:
    return ChangeTable(
        kind=kind,
        title=name[0].upper() + name[1:],
        meaning=meaning,
        count=len(changes),
        rows=tuple(map(_change_row, changes[:shown])),
        more=tuple(_shown_id(change.candidate.case_id) for change in changes[shown:]),
    )


def _change_row(change: CaseChange) -> ChangeRow:
    former, name = _shown_id(change.baseline.case_id), _shown_id(change.candidate.case_id)
    places = (change.database, change.difficulty, *change.tags)
    return ChangeRow(
        id=name if former == name else f"{name} (was {former})",
        question=one_line(change.question, limit=300),
        where=" · ".join(one_line(place, limit=40) for place in places if place),
        baseline=_side_text(change.baseline),
        candidate=_side_text(change.candidate),
    )


def _side_text(side: CaseSide) -> SideText:
    answers = side.right + side.wrong + side.unscored
    if answers > 1:
        state = f"{side.right:,} of {side.right + side.wrong:,} right" if side.right + side.wrong else "unscored"
    else:
        state = "right" if side.right else "wrong" if side.wrong else "unscored"
    query = None if side.query is None else clipped(side.query, limit=_QUERY_LENGTH)
    return SideText(state=state, reason=one_line(side.reason, limit=300), query=query)


def metric_name(name: str) -> str:
    """A metric's name, made safe to show since it may come from a plugin."""
    return one_line(name, limit=60)


def _shown_id(case_id: str) -> str:
    return one_line(case_id, limit=60) or "''"


def label_of(head: RunHead) -> str:
    """The name of a run in the comparison."""
    return one_line(head.label, limit=80) or "''"


def own_rate(rate: Rate | None, info: MetricInfo) -> str:
    """``73.5 % [70.7, 76.1], 1,034 cases``."""
    if rate is None or rate.value is None:
        return "no scored case"
    share = info.reads_as_share(rate.value)
    bounds = interval(rate, share=share)
    unscored = f", {rate.unscored:,} unscored" if rate.unscored else ""
    return f"{percent(rate.value, share=share)}{' ' if bounds else ''}{bounds}, {plural(rate.n, 'case')}{unscored}"


def facts_of(head: RunHead) -> tuple[tuple[str, str], ...]:
    """The facts about a run that help to tell two runs apart."""
    settings, provenance = head.settings, head.provenance
    entries = (
        ("Folder", head.folder or ""),
        ("Predictions", settings.predictions),
        ("Cases", settings.cases),
        ("Database", settings.database),
        ("Gold's database", settings.gold_database or ""),
        ("Repeats", f"{head.repeats:,}" if head.repeats > 1 else ""),
        ("Assay", f"{provenance.assay_version} on Python {provenance.python_version}, {provenance.platform}"),
        ("Started", provenance.started_at or ""),
    )
    return tuple((name, one_line(value, limit=300)) for name, value in entries if value)


def _side(role: Literal["baseline", "candidate"], head: RunHead, metric: str) -> SideView:
    return SideView(
        role=role,
        label=label_of(head),
        own=own_rate(head.headline, info_of(metric, head.settings)),
        facts=facts_of(head),
    )


def _only_in_one(diff: RunDiff) -> Iterable[str]:
    for head, names in ((diff.baseline, diff.only_baseline_metrics), (diff.candidate, diff.only_candidate_metrics)):
        if names:
            yield f"Only {label_of(head)} has {', '.join(map(metric_name, names))}."


def _group_tables(diff: RunDiff) -> Iterable[DiffGroupTable]:
    kinds: tuple[Literal["difficulty", "database", "tag"], ...] = ("difficulty", "database", "tag")
    for kind in kinds:
        rows = tuple(_group_row(group, diff) for group in diff.groups if group.kind == kind)
        rows_with_metric = tuple(row for row in rows if row is not None)
        if rows_with_metric:
            yield DiffGroupTable(kind=kind, title=kind, rows=rows_with_metric)


def _group_row(group: GroupDiff, diff: RunDiff) -> DiffGroupRow | None:
    one = next((each for each in group.metrics if each.metric == diff.headline_metric), None)
    if one is None:
        return None
    name = f"no {group.kind}" if group.name is None else one_line(group.name, limit=60) or "''"
    return DiffGroupRow(name=name, cases=group.cases, figure=figure_of(one, diff))


def _matching(diff: RunDiff) -> Iterable[MatchRow]:
    matching = diff.matching
    changed = tuple(map(_changed, matching.changed))
    renamed = tuple(f"{_shown_id(former)} → {_shown_id(name)}" for former, name in matching.renamed)
    for title, meaning, names in (
        ("changed", "their content differs: compared with nothing", changed),
        ("added", "only the candidate has them", tuple(map(_shown_id, matching.added))),
        ("removed", "only the baseline has them", tuple(map(_shown_id, matching.removed))),
        ("renamed", "the same content under another id: compared", renamed),
    ):
        if names:
            yield MatchRow(title=title, meaning=meaning, names=names)


def _changed(case: ChangedCase) -> str:
    former, name = _shown_id(case.baseline_id), _shown_id(case.candidate_id)
    shown = name if former == name else f"{former} → {name}"
    return f"{shown} ({', '.join(map(one_line, case.parts))})"
