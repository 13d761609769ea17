"""A comparison of two runs as every format draws it: its answer, its notes and its blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from assay.model import (
    CaseChange,
    CaseSide,
    ChangedCase,
    GroupDiff,
    MetricDiff,
    MetricInfo,
    Rate,
    ReviewedDiff,
    RunDiff,
    RunHead,
)
from assay.reports.blocks import diff_answer
from assay.reports.blocks.diff_answer import metric_name
from assay.reports.blocks.gates import gates_section
from assay.reports.blocks.run_sections import explained
from assay.reports.blocks.values import (
    Block,
    Cell,
    ChangeRow,
    Changes,
    Column,
    Description,
    DiffFigure,
    Direction,
    IdList,
    KeyValues,
    Name,
    Row,
    Section,
    ShownKind,
    SideText,
    Table,
    Text,
    columns,
    count,
    rows,
)
from assay.reports.text.plain import (
    clipped,
    interval,
    one_line,
    p_text,
    percent,
    plural,
    points,
    points_interval,
    words,
)
from assay.runs.aggregate.metric_infos import info_of

CASES = 5
"""How many cases of each kind are shown in full by default."""
_QUERY_LENGTH = 2000
KINDS: tuple[tuple[ShownKind, str, str], ...] = (
    ("fixed", "fixed", "wrong in the baseline, right in the candidate"),
    ("broken", "broken", "right in the baseline, wrong in the candidate"),
    ("better", "more often right", "a greater share of the repeated answers is right"),
    ("worse", "less often right", "a smaller share of the repeated answers is right"),
    ("otherwise", "still wrong in another way", "wrong in both, in different ways"),
    ("unscored", "unscored", "no scored answer on at least one side"),
    ("still_right", "still right", "right in both"),
    ("still_wrong", "still wrong in the same way", "wrong in both"),
    ("flaky", "as unsteady as before", "the same share of right answers, neither none nor all"),
)
"""Each kind of change, its name in reports, and its meaning."""
_SHOWN_ONE_BY_ONE = frozenset({"fixed", "broken", "better", "worse", "otherwise", "unscored"})
_MOST_IN_LINES, _MOST = 8, 30


class DiffReport:
    """A comparison of two runs with the text of its numbers, from which every format draws.

    The numbers are the record's; nothing is computed here. ``cases`` is how many of each kind the report shows in full,
    None for `CASES`. All text is safe to show (`assay.reports.text.plain.visible`), but not escaped for any format.
    """

    def __init__(self, diff: RunDiff, *, cases: int | None = None) -> None:
        self.diff = diff
        self.cases = CASES if cases is None else max(0, cases)
        self.headline_metric = metric_name(diff.headline_metric)
        self.confidence = f"{diff.settings.confidence * 100:g} %"
        self.leading = next((one for one in diff.metrics if one.metric == diff.headline_metric), None)
        self.baseline, self.candidate = label_of(diff.baseline), label_of(diff.candidate)
        self.answer = diff_answer.answer(diff, self.leading)
        self.direction, self.lead = self.answer.direction, self.answer.lead
        self.rest = "; ".join((self.answer.movement, *self.answer.limits))
        # The headline was chosen beforehand, so it needs no adjustment; the other metrics are many tests on the same
        # data.
        self.figures = {
            one.metric: figure_of(one, diff, direction=self.direction if one is self.leading else None)
            for one in diff.metrics
        }
        """The difference of every metric over all paired cases, by its name."""

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Every section below the answer of a comparison, the most important first."""
        return tuple(_sections(self))

    @property
    def title(self) -> str:
        """``graphix against din``."""
        return f"{self.candidate} against {self.baseline}"

    @property
    def sentence(self) -> str:
        """Whether the candidate is better, in one sentence."""
        return f"{self.lead}: {self.rest}"

    @property
    def firm(self) -> bool:
        """Whether the interval of the headline also excludes 0."""
        return self.leading is None or self.figures[self.leading.metric].beyond

    @property
    def corrected(self) -> str:
        """What to add to the title of p-values if some are corrected; else empty."""
        others = (one for one in self.diff.metrics if one is not self.leading)
        return ", after Holm's correction" if any(one.adjusted_p_value is not None for one in others) else ""

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes to read before trusting the answer."""
        own = diff_answer.notes(self.leading, self.direction, self.diff.settings.alpha)
        return tuple(map(one_line, (*self.diff.notes, *own)))

    @cached_property
    def changes(self) -> dict[ShownKind, list[CaseChange]]:
        """The paired cases by kind; kinds without a case are left out."""
        found: dict[ShownKind, list[CaseChange]] = {kind: [] for kind, _, _ in KINDS}
        for change in self.diff.changes:
            found[kind_of(change)].append(change)
        return {kind: changes for kind, changes in found.items() if changes}

    @property
    def counts(self) -> list[tuple[ShownKind, str, int]]:
        """How many paired cases are of each kind, with the kind's name: ``still right``."""
        return [(kind, name, len(self.changes[kind])) for kind, name, _ in KINDS if kind in self.changes]

    @property
    def sides(self) -> tuple[tuple[str, str, RunHead], ...]:
        """Each run with its part and its label."""
        return ("baseline", self.baseline, self.diff.baseline), ("candidate", self.candidate, self.diff.candidate)

    def own(self, head: RunHead) -> str:
        """A run's headline over all of its own cases: ``73.5 % [70.7, 76.1], 1,034 cases``."""
        return _own_rate(head.headline, info_of(self.diff.headline_metric, head.settings))

    def info(self, metric: str) -> MetricInfo:
        """What is known of a metric."""
        return info_of(metric, self.diff.candidate.settings)


def _sections(report: DiffReport) -> Iterable[Section]:
    diff = report.diff
    if diff.gates:
        yield gates_section(diff.gates)
    if diff.reviewed is not None:
        yield _reviewed(report, diff.reviewed)
    for kind, name, meaning in KINDS:
        if kind in report.changes and kind in _SHOWN_ONE_BY_ONE:
            changes = report.changes[kind]
            shown, more = changes[: report.cases], changes[report.cases :]
            block = Changes(
                kind=kind,
                rows=tuple(map(_change_row, shown)),
                more=tuple(_shown_id(change.candidate.case_id) for change in more),
            )
            title = f"{name[0].upper() + name[1:]}: {len(changes):,}"
            yield Section(key=f"changes-{kind}", title=title, aside=meaning, blocks=(block,), folded=True)
    weaker = [one for one in diff.changes if one.lost_strength]
    if weaker:
        yield _weaker(weaker)
    yield from _metrics(report)
    for group_kind in ("difficulty", "database", "tag"):
        yield from _groups(report, group_kind)
    yield from _causes(diff.changes)
    yield from _matching(diff)
    power, methods = diff_answer.power(report.leading, diff), tuple(diff_answer.methods(report.leading, diff))
    if power or methods:
        lines = (Text(lines=(power,) if power else (), quiet=False), Text(lines=methods))
        yield Section(key="power", title="What these numbers can show", blocks=lines, tab="run", place="bottom")
    runs = tuple(
        KeyValues(rows=facts_of(head), detail="full", title=f"{role.capitalize()}: {label}", said=report.own(head))
        for role, label, head in report.sides
    )
    yield Section(key="runs", title="The two runs", blocks=runs, tab="run", place="bottom", folded=True)


def _reviewed(report: DiffReport, found: ReviewedDiff) -> Section:
    """Both runs before and after people's reviews: accuracy, and what was fixed and broken."""

    def cases(names: Sequence[str]) -> tuple[Cell, Cell]:
        return count(len(names)), IdList(names=tuple(map(_shown_id, names)))

    leading = report.leading
    before = [[one.candidate.case_id for one in report.changes.get(kind, ())] for kind in ("fixed", "broken")]
    own = (None, None) if leading is None else (leading.baseline, leading.candidate)
    lines: list[tuple[Cell, ...]] = [
        ("before", *map(percent, own), *cases(before[0]), *cases(before[1])),
        (
            Name(text="after", strong=True),
            *(f"{percent(rate.value)} {interval(rate)}".strip() for rate in (found.baseline, found.candidate)),
            *cases(found.fixed),
            *cases(found.broken),
        ),
    ]
    titles = columns(
        "reviews",
        Column(title=f"{report.baseline}", right=True),
        Column(title=f"{report.candidate}", right=True),
        Column(title="fixed", right=True),
        Column(title="fixed cases", rank=2),
        Column(title="broken", right=True),
        Column(title="broken cases", rank=1),
    )
    foot = f"{plural(found.reviewed, 'case')} with a reviewed verdict; after: over {plural(found.candidate.n, 'case')}."
    table = Table(look="grid", columns=titles, rows=rows(lines), foot=foot)
    return Section(key="reviews", title="After people's reviews", blocks=(table,))


def _metrics(report: DiffReport) -> Iterable[Section]:
    """Every metric over all paired cases, and those that only one run has."""
    lines, labelled = [], {}
    for name, figure in report.figures.items():
        info, leads = report.info(name), figure.diff is report.leading
        meaning = one_line(info.said, limit=300)
        if info.label:
            labelled[metric_name(name)] = meaning
        cells = (Name(text=metric_name(name), strong=leads), figure, Description(meaning=meaning))
        lines.append(Row(cells=cells, strong=leads))
    blocks: list[Block] = []
    if lines:
        table = Table(
            columns=columns("metric", "", Column(title="meaning", detail="full")),
            rows=tuple(lines),
            look="differences",
            most=_MOST,
        )
        blocks += (table, *explained(labelled))
    diff = report.diff
    only = (
        f"Only {label} has {', '.join(map(metric_name, names))}."
        for label, names in (
            (report.baseline, diff.only_baseline_metrics),
            (report.candidate, diff.only_candidate_metrics),
        )
        if names
    )
    if others := tuple(only):
        blocks.append(Text(lines=others))
    if blocks:
        aside = f"difference in points, {report.confidence} interval"
        yield Section(key="metrics", title="Metrics", aside=aside, blocks=tuple(blocks), place="top")


def _weaker(changes: Sequence[CaseChange]) -> Section:
    """The matches of both runs for which other databases say less than for the baseline's."""
    lines = (
        (Name(text=_shown_id(one.candidate.case_id)), words(one.baseline.strength), words(one.candidate.strength))
        for one in changes
    )
    titles = columns("case", "baseline", Column(title="candidate", strong=True))
    return Section(
        key="weaker",
        title=f"Matches that lost strength: {len(changes):,}",
        aside="right in both, and less sure on other databases",
        blocks=(Table(columns=titles, rows=rows(lines), most_in_lines=_MOST_IN_LINES, most=_MOST),),
        folded=True,
    )


def _groups(report: DiffReport, kind: str) -> Iterable[Section]:
    """The headline metric over the cases that share a difficulty, database or tag."""

    def line(group: GroupDiff) -> Row | None:
        one = next((each for each in group.metrics if each.metric == report.diff.headline_metric), None)
        if one is None:
            return None
        name = f"no {group.kind}" if group.name is None else one_line(group.name, limit=60) or "''"
        # Among groups with equally many changes, those with more cases stay.
        weight = (one.gained + one.lost) * 1_000_000 + group.cases
        return Row(cells=(Name(text=name), figure_of(one, report.diff)), weight=weight)

    made = tuple(row for group in report.diff.groups if group.kind == kind and (row := line(group)) is not None)
    if made:
        table = Table(
            columns=columns(kind, Column(parts="bounds")),
            rows=made,
            look="differences",
            more="in which fewer cases changed",
            most_in_lines=_MOST_IN_LINES,
            most=_MOST,
        )
        title = f"{report.headline_metric} by {kind}"
        yield Section(key=f"by-{kind}", title=title, blocks=(table,), tab="metrics", folded=True)


def _causes(changes: Sequence[CaseChange]) -> Iterable[Section]:
    """How often one cause is a wrong answer's primary one in each run, over the cases that both have.

    A case whose cause changed has one fixed and one new.
    """
    before = Counter(one.baseline.cause for one in changes if one.baseline.cause)
    after = Counter(one.candidate.cause for one in changes if one.candidate.cause)
    changed = [one for one in changes if one.baseline.cause != one.candidate.cause]
    fixed = Counter(one.baseline.cause for one in changed)
    new = Counter(one.candidate.cause for one in changed)
    names = sorted(before | after, key=lambda name: (-max(before[name], after[name]), name))
    if names:
        strong = (Column(title=title, strong=True) for title in ("fixed", "new"))
        table = Table(
            columns=columns("cause", "baseline", "candidate", *strong),
            rows=rows(
                (Name(text=one_line(name, limit=80)), *(count(counts[name]) for counts in (before, after, fixed, new)))
                for name in names
            ),
            most_in_lines=_MOST_IN_LINES,
            most=_MOST,
            more="more causes",
        )
        yield Section(key="causes", title="Causes of wrong predictions, fixed and new", blocks=(table,))


def _matching(diff: RunDiff) -> Iterable[Section]:
    """Cases that are not the same in both runs, by how they differ."""
    matching = diff.matching
    renamed = tuple(f"{_shown_id(former)} → {_shown_id(name)}" for former, name in matching.renamed)
    every = (
        ("changed", "their content differs: compared with nothing", tuple(map(_changed, matching.changed))),
        ("added", "only the candidate has them", tuple(map(_shown_id, matching.added))),
        ("removed", "only the baseline has them", tuple(map(_shown_id, matching.removed))),
        ("renamed", "the same content under another id: compared", renamed),
    )
    found = [(title, meaning, names) for title, meaning, names in every if names]
    if found:
        lines = (
            (title, count(len(names)), IdList(names=names), Description(meaning=meaning))
            for title, meaning, names in found
        )
        titles = columns("", Column(title="cases", strong=True), "case ids", "meaning")
        yield Section(
            key="matching",
            title="Cases that are not the same in both runs",
            aside=", ".join(f"{len(names):,} {title}" for title, _, names in found),
            blocks=(Table(columns=titles, rows=rows(lines), headed=False, wraps=True),),
            tab="run",
            place="bottom",
            folded=True,
        )


def figure_of(one: MetricDiff, diff: RunDiff, *, direction: Direction | None = None) -> DiffFigure:
    """A metric's difference with its texts; ``direction`` is given if it was decided elsewhere."""
    alpha, share = diff.settings.alpha, diff_answer.is_share(one, diff.candidate)
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
        direction=direction or diff_answer.direction_of(one.improvement, p_value, alpha),
        beyond=not holds_zero,
    )


def kind_of(change: CaseChange) -> ShownKind:
    """The kind under which a case is shown."""
    return "otherwise" if change.kind == "still_wrong" and change.otherwise else change.kind


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


def _changed(case: ChangedCase) -> str:
    former, name = _shown_id(case.baseline_id), _shown_id(case.candidate_id)
    shown = name if former == name else f"{former} → {name}"
    return f"{shown} ({', '.join(map(one_line, case.parts))})"


def _shown_id(case_id: str) -> str:
    return one_line(case_id, limit=60) or "''"


def label_of(head: RunHead) -> str:
    """The name of a run in the comparison."""
    return one_line(head.label, limit=80) or "''"


def _own_rate(rate: Rate | None, info: MetricInfo) -> str:
    if rate is None or rate.value is None:
        return "no scored case"
    share = info.reads_as_share(rate.value)
    bounds = interval(rate, share=share)
    unscored = f", {rate.unscored:,} unscored" if rate.unscored else ""
    return f"{percent(rate.value, share=share)}{' ' if bounds else ''}{bounds}, {plural(rate.n, 'case')}{unscored}"


def facts_of(head: RunHead) -> tuple[tuple[str, str], ...]:
    """The facts about a run that help to distinguish two runs."""
    settings, provenance = head.settings, head.provenance
    entries = (
        ("Folder", head.folder or ""),
        ("Predictions", settings.predictions),
        ("Cases", settings.cases),
        ("Database", settings.database),
        ("Gold database", settings.gold_database or ""),
        ("Repeats", f"{head.repeats:,}" if head.repeats > 1 else ""),
        ("Assay", f"{provenance.assay_version} on Python {provenance.python_version}, {provenance.platform}"),
        ("Started", provenance.started_at or ""),
    )
    return tuple((name, one_line(value, limit=300)) for name, value in entries if value)
