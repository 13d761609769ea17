"""One view of a run that every format draws, so that no two reports can disagree.

All text in it is safe to show (`assay.reports.text.plain.visible`), but not escaped for any format.
`assay.reports.views.run_build.view_of` makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.model import MetricInfo, Outcome, Rate, TimeSummary
from assay.model.comparison import RowState
from assay.reports.text.plain import CellText
from assay.reports.views.selections import BesideHeadline, SelectionOverview, TurnView
from assay.reports.views.times import TimeRow, UsageRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A rate, and how it reads: ``71.2 %``, ``[68.4, 73.9]``, ``736 of 1,034``."""

    rate: Rate
    text: str
    interval: str
    tally: str
    share: bool = True
    """Whether it reads as a percentage: only then a bar from 0 to 1 can show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """One metric over all cases."""

    metric: str
    info: MetricInfo
    meaning: str
    """The metric's own words for what it is, safe to show."""
    figure: Figure
    headline: bool
    graded: bool
    """Whether its values are not 0 and 1 alone."""
    share: bool
    """Whether its values read as percentages."""

    @property
    def explained(self) -> str:
        """What the name stands for, where only its package knows: ``near_rows: Rows within one: as many as …``."""
        return f"{self.metric}: {self.meaning}" if self.info.label else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """The cases that share a difficulty, database or tag, or the turns at one place of their conversations.

    ``figures`` are in the order of the view's metrics.
    """

    name: str
    cases: int
    headline: Figure
    figures: tuple[Figure, ...]
    value: str | None = None
    """What the table of cases calls it; None where the cases share the want of it."""
    answer_time: TimeSummary | None = None
    """What the system said its answers took in all; None where no case has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTable:
    """One breakdown of the cases; ``title`` completes the headline's name and "by", as in "Accuracy by tag"."""

    kind: str
    title: str
    rows: tuple[GroupRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseLink:
    """A case by its id; ``anchor`` is unique within the report: the id, or more than it where ids look the same."""

    id: str
    anchor: str
    answer: str = ""
    """Which of several answers to its question: ``answer 2 of 3``. Of a case as such, '': it leads to the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisagreementRow:
    """Two yes/no metrics, and the cases on which only one of them says yes."""

    first: str
    second: str
    count: int
    both: int
    neither: int
    only_first: tuple[CaseLink, ...]
    only_second: tuple[CaseLink, ...]
    leading: bool
    """Whether the headline metric is one of the two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRow:
    """How many cases carry a name, what the name means, and which cases they are.

    ``share`` is of all cases. ``blame`` is set for failures only; ``example`` is the first one's message.
    """

    name: str
    meaning: str
    count: int
    share: float
    cases: tuple[CaseLink, ...]
    blame: str | None = None
    example: str | None = None
    facet: tuple[str, str] | None = None
    """By what the table of cases can show them, such as ``("flag", "vacuous")``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRow:
    """What ``k`` answers to each question come to: pass@k (``any``) and pass^k (``all``)."""

    k: int
    any: Figure
    all: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatsView:
    """How steady a system is that was asked each question several times."""

    asked: int
    said: str
    """All of it in a sentence."""
    rows: tuple[PassRow, ...]
    steadiness: tuple[CountRow, ...]
    """The questions by how steady their answers are; the flaky ones are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowRow:
    """One query's execution, slowest first."""

    case: CaseLink
    side: Literal["gold", "predicted"]
    wall_time_s: float
    time: str
    status: str
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryView:
    """One query of a case and what came of it, such as ``4 rows in 12 ms`` or an error message."""

    label: str
    query: str | None
    """None: there was none."""
    outcome: str
    failed: bool
    original: str | None = None
    """As it was given, where that is not how it is shown, and no book: for the clipboard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowView:
    """One line of the difference: a row of both (``matched``), of gold only, or of the prediction only."""

    state: RowState
    cells: tuple[CellText | None, ...]
    """None where the side that has the row has no such column."""

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple("" if cell is None else cell.whole for cell in self.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceView:
    """A sample of the aligned rows. Columns are gold's, ``- name`` where the prediction has none for it; a column that
    only the prediction has follows them as ``+ name``.
    """

    summary: str
    columns: tuple[str, ...]
    rows: tuple[RowView, ...]
    rows_left_out: int
    columns_left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreView:
    """One metric's value for one case; ``text`` is ``n/a`` where there is none, and ``detail`` says why."""

    metric: str
    value: float | None
    text: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """One case with all that is known of it."""

    id: str
    anchor: str
    question: str
    context: str | None
    database: str | None
    difficulty: str | None
    tags: tuple[str, ...]
    outcome: Outcome
    reason: str
    flags: tuple[str, ...]
    near_misses: tuple[str, ...]
    cause: str | None
    golds: tuple[QueryView, ...]
    predicted: QueryView | None
    """None where selections were judged, and no query."""
    raw: str | None
    scores: tuple[ScoreView, ...]
    failures: tuple[str, ...]
    difference: DifferenceView | None
    name: str | None = None
    answer: str = ""
    """Which of several answers to its question: ``answer 2 of 3``."""
    turns: tuple[TurnView, ...] = ()
    """For SDMX: the questions of the conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One line of what the run was made with and on."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRow:
    """One thing that was demanded of the run, what was found, and the cases that are not as demanded."""

    gate: str
    passed: bool
    wanted: str
    found: str
    missed_by: str
    """Empty where it passed."""
    cases: tuple[CaseLink, ...]

    @property
    def state(self) -> Literal["passed", "missed"]:
        """The word for it."""
        return "passed" if self.passed else "missed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run, ready to draw."""

    title: str
    headline_metric: str
    headline_name: str
    """What a title calls the headline metric: ``Accuracy`` for `match`, ``Exact selections``, else its own name."""
    headline: Figure
    tally: str
    """Such as ``736 of 1,034 correct · 0 unscored``, and what the run declares to be no mistake."""
    cases_count: int
    correct: int
    incorrect: int
    unscored: int
    unanswered: int
    confidence: str
    """Such as ``95 %``."""
    notes: tuple[str, ...]
    """What a reader must know before trusting the headline."""
    metrics: tuple[MetricRow, ...]
    overall: GroupRow
    """All cases, as the groups have theirs."""
    difficulties: tuple[GroupRow, ...]
    """The cases by difficulty, also where all have the same."""
    groups: tuple[GroupTable, ...]
    """Every breakdown into more than one group."""
    disagreements: tuple[DisagreementRow, ...]
    """Those with the headline metric first, then by count."""
    near_misses: tuple[CountRow, ...]
    flags: tuple[CountRow, ...]
    failures: tuple[CountRow, ...]
    """Gold's, setup's, engine's and judge's first: nobody else would look for them."""
    causes: tuple[CountRow, ...]
    slowest: tuple[SlowRow, ...]
    facts: tuple[Fact, ...]
    cases: tuple[CaseView, ...]
    forgiven: tuple[CountRow, ...] = ()
    """Near misses that somebody may forgive, each named with what accuracy would then be."""
    wrong_terms: tuple[CountRow, ...] = ()
    """What is known of selected terms that are wrong."""
    time_states: tuple[CountRow, ...] = ()
    selection: SelectionOverview | None = None
    """For SDMX runs only."""
    times: tuple[TimeRow, ...] = ()
    usage: tuple[UsageRow, ...] = ()
    repeats: RepeatsView | None = None
    """None where each question was asked once."""
    lenient: str = ""
    """What the run declares to be no mistake, as the tally ends: `` · lenient: duplicates ignored``."""
    gates: tuple[GateRow, ...] = ()
    """What was demanded of the run, in the order in which it was."""
    joined: str = ""
    """How answers from a file came to their questions, and which column was taken for what."""
    caution: str = ""
    """What stands in the headline itself, since without it the number would mislead; in ``tally``, too."""

    @property
    def outcomes(self) -> str:
        """What became of every case, or of every answer where each was asked several times."""
        said = f"{self.correct:,} correct, {self.incorrect:,} incorrect, {self.unscored:,} unscored"
        of = "answers: " if self.repeats else ""
        return f"{of}{said}; {self.unanswered:,} unanswered"

    @property
    def outcomes_beside(self) -> str:
        """The same where the headline does not say it: one that is graded, a mean of answers, or another metric's."""
        rate = self.headline.rate
        same = (rate.numerator, rate.n, rate.unscored) == (self.correct, self.correct + self.incorrect, self.unscored)
        return "" if same and not self.repeats else self.outcomes

    @property
    def beside(self) -> tuple[BesideHeadline, ...]:
        """The metrics that stand beside the headline."""
        return self.selection.beside if self.selection else ()

    @property
    def count_tables(self) -> tuple[tuple[str, tuple[CountRow, ...]], ...]:
        """What the cases carry, titled, in the order in which a reader needs it; nothing that no case has."""
        tables = (
            ("questions by how steady their answers are", self.repeats.steadiness if self.repeats else ()),
            ("failures, by whose they are", self.failures),
            ("wrong terms, by what is known of them", self.wrong_terms),
            ("selected periods beside the target's", self.time_states),
            ("near misses", self.near_misses),
            (FORGIVEN_TITLE, self.forgiven),
            ("causes", self.causes),
            ("flags", self.flags),
        )
        return tuple((title, rows) for title, rows in tables if rows)

    @property
    def first_groups(self) -> tuple[GroupTable, ...]:
        """What a summary leads with: the difficulties, or else the first breakdown there is."""
        by_difficulty = tuple(table for table in self.groups if table.kind == "difficulty")
        return by_difficulty or self.groups[:1]

    @property
    def other_groups(self) -> tuple[GroupTable, ...]:
        """The other breakdowns: databases and tags may be many."""
        return tuple(table for table in self.groups if table not in self.first_groups)


FORGIVEN_TITLE = "right but for …, with the accuracy if it were forgiven"


def only_by(says: str, denies: str) -> str:
    """What the table of cases calls those that one metric accepts and another does not."""
    return f"{says}, not {denies}"


def named_ids(cases: Sequence[CaseLink], *, limit: int = 5) -> str:
    """The first few ids, and how many more there are: ``7, 12, +107``."""
    shown = ", ".join(case.id if len(case.id) <= 24 else case.id[:23] + "…" for case in cases[:limit])
    return f"{shown}, +{len(cases) - limit:,}" if len(cases) > limit else shown
