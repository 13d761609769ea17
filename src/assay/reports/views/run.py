"""One view of a run that every format draws, so that no two reports can disagree.

All text in it is safe to show (`assay.reports.text.plain.visible`), but not escaped for any format.
`assay.reports.views.run_build.view_of` makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from assay.model import MetricInfo, Outcome, TimeSummary
from assay.model.comparison import RowState
from assay.reports.text.plain import CellText
from assay.reports.views.figures import CaseLink, CountRow, Figure
from assay.reports.views.reliability import ConversationsView, ReliabilityView
from assay.reports.views.selections import BesideHeadline, SelectionOverview, TurnView
from assay.reports.views.times import TimeRow, UsageRow


class MetricRow(Struct, frozen=True, kw_only=True):
    """One metric over all cases."""

    metric: str
    info: MetricInfo
    meaning: str
    """The metric's description of itself, safe to show."""
    figure: Figure
    headline: bool
    graded: bool
    """Whether its values may be other than 0 and 1."""
    share: bool
    """Whether its values read as percentages."""

    @property
    def explained(self) -> str:
        """What the name stands for, where only its package says it: ``near_rows: Rows within one: as many as …``."""
        return f"{self.metric}: {self.meaning}" if self.info.label else ""


class GroupRow(Struct, frozen=True, kw_only=True):
    """The cases that share a difficulty, database or tag, or the turns at one place of their conversations.

    ``figures`` are in the order of the view's metrics.
    """

    name: str
    cases: int
    headline: Figure
    figures: tuple[Figure, ...]
    value: str | None = None
    """The group's name in the filters of the table of cases; None for the cases without one, such as without a tag."""
    answer_time: TimeSummary | None = None
    """The total times of answers as the system reported them; None where no case has one."""


class GroupTable(Struct, frozen=True, kw_only=True):
    """One breakdown of the cases; ``title`` completes the headline's name and "by", as in "Accuracy by tag"."""

    kind: str
    title: str
    rows: tuple[GroupRow, ...]


class DisagreementRow(Struct, frozen=True, kw_only=True):
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


class CauseGroupRow(Struct, frozen=True, kw_only=True):
    """Wrong answers that have something in common, such as the table that they are wrong about."""

    kind: str
    """Such as ``table``."""
    name: str
    count: int
    said: str
    """The most frequent causes with their counts."""
    cases: tuple[CaseLink, ...]
    facet: tuple[str, str]
    """The filter by which the table of cases shows them, wrong or not where it is not about causes."""


class PassRow(Struct, frozen=True, kw_only=True):
    """The rates over ``k`` answers to each question: pass@k (``any``) and pass^k (``all``)."""

    k: int
    any: Figure
    all: Figure


class RepeatsView(Struct, frozen=True, kw_only=True):
    """How steady a system's answers are when each question is asked several times."""

    asked: int
    said: str
    """The whole in one sentence."""
    rows: tuple[PassRow, ...]
    steadiness: tuple[CountRow, ...]
    """Counts of questions by how steady their answers are; the flaky questions are named."""


class StrengthsView(Struct, frozen=True, kw_only=True):
    """How sure a run's matches are."""

    claimed: Figure
    after: Figure
    """Without the refuted ones."""
    at_worst: Figure
    """Without the conditional ones, too."""
    said: str
    """The whole in a few sentences."""
    rows: tuple[CountRow, ...]
    """The matches by strength, the surest first."""


class SlowRow(Struct, frozen=True, kw_only=True):
    """One query's execution, slowest first."""

    case: CaseLink
    side: Literal["gold", "predicted"]
    wall_time_s: float
    time: str
    status: str
    query: str


class QueryView(Struct, frozen=True, kw_only=True):
    """One query of a case and its outcome, such as ``4 rows in 12 ms`` or an error message."""

    label: str
    query: str | None
    """None: there was no query."""
    outcome: str
    failed: bool
    original: str | None = None
    """The given text for the clipboard, where it differs from the shown one and is not too long."""


class RowView(Struct, frozen=True, kw_only=True):
    """One line of the difference: a row of both (``matched``), of gold only, or of the prediction only."""

    state: RowState
    cells: tuple[CellText | None, ...]
    """None where the side that has the row has no such column."""

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple("" if cell is None else cell.whole for cell in self.cells)


class DifferenceView(Struct, frozen=True, kw_only=True):
    """A sample of the aligned rows. Columns are gold's, ``- name`` where the prediction has none for it; a column
    that only the prediction has follows as ``+ name``.
    """

    summary: str
    columns: tuple[str, ...] = ()
    rows: tuple[RowView, ...] = ()
    rows_left_out: int = 0
    columns_left_out: int = 0


class ScoreView(Struct, frozen=True, kw_only=True):
    """One metric's value for one case; where there is no value, ``text`` is ``n/a`` and ``detail`` says why."""

    metric: str
    value: float | None
    text: str
    detail: str


class CaseView(Struct, frozen=True, kw_only=True):
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
    """The name of the primary cause."""
    golds: tuple[QueryView, ...]
    predicted: QueryView | None
    """None where selections were judged instead of queries."""
    raw: str | None
    scores: tuple[ScoreView, ...]
    failures: tuple[str, ...]
    difference: DifferenceView | None
    name: str | None = None
    answer: str = ""
    """Which of several answers to its question: ``answer 2 of 3``."""
    turns: tuple[TurnView, ...] = ()
    """For SDMX: the questions of the conversation."""
    why: tuple[str, ...] = ()
    """Every cause with its evidence."""
    repair: tuple[str, ...] = ()
    """The smallest change that makes the answer right, a line for each clause."""
    findings: tuple[str, ...] = ()
    """What is doubtful about the case's gold, the severest first."""
    rules: tuple[str, ...] = ()
    """The rules that say so."""
    strength: str = ""
    """How sure a match is, in words; empty where nobody looked."""
    alike: tuple[str, ...] = ()
    """Clauses in which both queries say the same, however they spell it."""


class Fact(Struct, frozen=True, kw_only=True):
    """One line on the run's settings, system or data."""

    name: str
    value: str


class GateRow(Struct, frozen=True, kw_only=True):
    """One demand on the run, the value found, and the cases that do not meet it."""

    gate: str
    passed: bool
    wanted: str
    found: str
    missed_by: str
    """By how much the gate is missed; empty where it passed."""
    cases: tuple[CaseLink, ...]

    @property
    def state(self) -> Literal["passed", "missed"]:
        """The outcome as a word."""
        return "passed" if self.passed else "missed"


class RunView(Struct, frozen=True, kw_only=True):
    """A run, ready to draw."""

    title: str
    headline_metric: str
    headline_name: str
    """The headline metric's name in titles: ``Accuracy`` for `match`, ``Exact selections``, else its own name."""
    headline: Figure
    tally: str
    """Such as ``736 of 1,034 correct · 0 unscored``, followed by the run's leniency."""
    cases_count: int
    correct: int
    incorrect: int
    unscored: int
    unanswered: int
    confidence: str
    """Such as ``95 %``."""
    notes: tuple[str, ...]
    """Notes to read before trusting the headline."""
    metrics: tuple[MetricRow, ...]
    overall: GroupRow
    """All cases as one group."""
    difficulties: tuple[GroupRow, ...]
    """The cases by difficulty, even where all have the same one."""
    groups: tuple[GroupTable, ...]
    """Every breakdown into more than one group."""
    disagreements: tuple[DisagreementRow, ...]
    """Pairs with the headline metric first, then by count."""
    near_misses: tuple[CountRow, ...]
    flags: tuple[CountRow, ...]
    failures: tuple[CountRow, ...]
    """Failures of gold, setup, engine and judge first: readers would not look for them."""
    causes: tuple[CountRow, ...]
    """Each with what to do about it."""
    slowest: tuple[SlowRow, ...]
    facts: tuple[Fact, ...]
    cases: tuple[CaseView, ...]
    fix_first: tuple[CountRow, ...] = ()
    """Causes that, mended alone, make so many answers right, as repairs that were executed prove."""
    cause_groups: tuple[CauseGroupRow, ...] = ()
    """Kind after kind, the largest group first. A kind with a single group is left out: it repeats the whole."""
    schema_use: tuple[CountRow, ...] = ()
    """Wrong answers by the tables and columns that they use; the share is of those of which that is known."""
    forgiven: tuple[CountRow, ...] = ()
    """Near misses that a user may forgive, each with the accuracy if it were forgiven."""
    wrong_terms: tuple[CountRow, ...] = ()
    """Notes on selected terms that are wrong, such as invented codes."""
    time_states: tuple[CountRow, ...] = ()
    selection: SelectionOverview | None = None
    """For SDMX runs only."""
    times: tuple[TimeRow, ...] = ()
    usage: tuple[UsageRow, ...] = ()
    repeats: RepeatsView | None = None
    """None where each question was asked once."""
    lenient: str = ""
    """The run's leniency, as it ends the tally: `` · lenient: duplicates ignored``."""
    gates: tuple[GateRow, ...] = ()
    """What was demanded of the run, in the order of the demands."""
    joined: str = ""
    """How answers from a file were matched to their questions, and which column was used for which field."""
    findings: tuple[CountRow, ...] = ()
    """What the lint found doubtful about gold, by rule."""
    strengths: StrengthsView | None = None
    """None where nobody looked for witnesses."""
    reliability: ReliabilityView | None = None
    """None where every question has an answer, and nothing was declined or said with a confidence."""
    conversations: ConversationsView | None = None
    """None where no question is part of a conversation of queries."""
    caution: str = ""
    """A caution shown in the headline itself, and in ``tally``: without it the number would mislead."""

    @property
    def outcomes(self) -> str:
        """Counts of cases by outcome, or of answers where each question was asked several times."""
        said = f"{self.correct:,} correct, {self.incorrect:,} incorrect, {self.unscored:,} unscored"
        of = "answers: " if self.repeats else ""
        return f"{of}{said}; {self.unanswered:,} unanswered"

    @property
    def outcomes_beside(self) -> str:
        """As ``outcomes``, but empty where the headline already says it."""
        rate = self.headline.rate
        same = (rate.numerator, rate.n, rate.unscored) == (self.correct, self.correct + self.incorrect, self.unscored)
        return "" if same and not self.repeats else self.outcomes

    @property
    def beside(self) -> tuple[BesideHeadline, ...]:
        """The metrics shown next to the headline."""
        return self.selection.beside if self.selection else ()

    @property
    def count_tables(self) -> tuple[tuple[str, tuple[CountRow, ...]], ...]:
        """The tables of counts with their titles, in the order that a reader needs; empty tables are left out."""
        tables = (
            ("questions by how steady their answers are", self.repeats.steadiness if self.repeats else ()),
            (FIX_FIRST_TITLE, self.fix_first),
            ("failures, by whose they are", self.failures),
            ("wrong terms, by what is known of them", self.wrong_terms),
            ("selected periods beside the target's", self.time_states),
            ("near misses", self.near_misses),
            (FORGIVEN_TITLE, self.forgiven),
            ("causes", self.causes),
            ("wrong answers by schema use", self.schema_use),
            ("flags", self.flags),
            ("doubts about gold, by rule", self.findings),
        )
        return tuple((title, rows) for title, rows in tables if rows)

    @property
    def first_groups(self) -> tuple[GroupTable, ...]:
        """The groups that a summary begins with: the difficulties, or else the first breakdown."""
        by_difficulty = tuple(table for table in self.groups if table.kind == "difficulty")
        return by_difficulty or self.groups[:1]

    @property
    def other_groups(self) -> tuple[GroupTable, ...]:
        """The other breakdowns: databases and tags may be many."""
        return tuple(table for table in self.groups if table not in self.first_groups)


FIX_FIRST_TITLE = "fix this first: answers that one repair makes right"
FORGIVEN_TITLE = "right but for …, with the accuracy if it were forgiven"


def only_by(says: str, denies: str) -> str:
    """The filter label of cases that one metric accepts and another does not."""
    return f"{says}, not {denies}"


def named_ids(cases: Sequence[CaseLink], *, limit: int = 5) -> str:
    """The first few ids, and how many more there are: ``7, 12, +107``."""
    shown = ", ".join(case.id if len(case.id) <= 24 else case.id[:23] + "…" for case in cases[:limit])
    return f"{shown}, +{len(cases) - limit:,}" if len(cases) > limit else shown
