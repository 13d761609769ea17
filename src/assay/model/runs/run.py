"""A run: its settings, the numbers over its cases, and the cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from assay.model.cases.joining import FieldNames, Joining
from assay.model.cases.leniency import STRICT, Leniency
from assay.model.cases.selection import DimensionTotal, SelectionSettings, TermCounts
from assay.model.cases.usage import UsageTotals
from assay.model.lint import LintReport
from assay.model.results.result import Cost, Limits
from assay.model.runs.gate import GateResult
from assay.model.runs.metric import Count, MetricInfo, Rate
from assay.model.runs.reliability import ConversationTotals, ReliabilityTotals
from assay.model.runs.reviews import ReviewTotals
from assay.model.verdicts.evidence import Evidence
from assay.model.verdicts.summary import CaseSummary
from assay.model.witness import WitnessSettings


class MetricSummary(Struct, frozen=True, kw_only=True):
    """One metric over one group of cases."""

    metric: str
    rate: Rate


class TimeSummary(Struct, frozen=True, kw_only=True):
    """Seconds over the ``n`` cases that have them. ``std_dev_s`` is the sample's (n - 1), None where n is 1."""

    n: int
    mean_s: float
    std_dev_s: float | None


class TimeBin(Struct, frozen=True, kw_only=True):
    """How many times lie in [``low_s``, ``high_s``)."""

    low_s: float
    high_s: float
    count: int


class TimeSpread(Struct, frozen=True, kw_only=True):
    """How ``n`` times are spread. ``bins`` are adjacent, on a scale of 1, 2, 5, and hold all times."""

    name: str
    """``answer``, ``gold query`` or ``predicted query``."""
    n: int
    mean_s: float
    median_s: float
    p90_s: float
    """The 90th percentile."""
    max_s: float
    bins: tuple[TimeBin, ...] = ()


class Group(Struct, frozen=True, kw_only=True):
    """The metrics over the cases that share a tag, difficulty or database.

    ``kind`` is ``all``, ``determined``, ``sound``, ``difficulty``, ``database``, ``tag``, ``turn`` or ``dataset``;
    ``name`` the shared value, None if the cases have none. For the kinds ``turn`` and ``dataset``, ``cases`` counts
    scored questions of conversations.
    """

    kind: str
    name: str | None
    cases: int
    metrics: tuple[MetricSummary, ...]
    answer_time: TimeSummary | None = None
    """The total time of an answer as the system states it (``total_execution_time``); None if no case has one."""

    def rate(self, metric: str) -> Rate | None:
        """That metric's rate, or None if the run did not ask for it."""
        return next((summary.rate for summary in self.metrics if summary.metric == metric), None)


class Disagreement(Struct, frozen=True, kw_only=True):
    """Where two yes/no metrics differ on the same cases.

    ``both`` and ``neither`` count agreeing cases; ``only_first`` and ``only_second`` name the
    cases on which only that metric says yes, in the run's order. Cases that either metric leaves
    unscored count nowhere.
    """

    first: str
    second: str
    both: int
    neither: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


CauseGroupKind = Literal["difficulty", "database", "table", "column", "feature"]
"""``table`` and ``column``: what the primary cause is about; ``feature``: of the SQL of the first gold query."""


class CauseGroup(Struct, frozen=True, kw_only=True):
    """The wrong answers that have something in common, by their causes."""

    kind: CauseGroupKind
    name: str
    count: int
    """Cases."""
    causes: tuple[tuple[str, int], ...]
    """Each with how many of the cases have it, the most frequent first."""
    case_ids: tuple[str, ...] = ()


class Forgiven(Struct, frozen=True, kw_only=True):
    """What accuracy would be if one kind of near miss were forgiven. It replaces no verdict."""

    kind: str
    """A `NearMissKind`."""
    count: int
    """Cases that would then be right."""
    rate: Rate
    """The rate of `match` if these cases were right."""
    case_ids: tuple[str, ...] = ()


class WitnessTotals(Struct, frozen=True, kw_only=True):
    """How sure the matches of a run are. All rates are over all scored cases; an unsearched match stands."""

    matches: int
    """Answers that are right."""
    searched: int
    """Of these, how many another database was looked for."""
    strengths: tuple[Count, ...]
    """The matches by their strength, the surest first."""
    claimed: Rate
    """The share of right answers, as the run's own databases say it."""
    after: Rate
    """Without the refuted ones."""
    at_worst: Rate
    """Without the conditional ones, too."""


class SelectionTotals(Struct, frozen=True, kw_only=True):
    """The numbers that only runs over selections have. All are over scored turns."""

    turns: int
    micro: TermCounts
    """The terms of all turns pooled."""
    by_dimension: tuple[DimensionTotal, ...] = ()
    """Dimensions in the order in which targets first have them, then those that only selections have."""
    by_turn: tuple[Group, ...] = ()
    """By the question's place in its conversation; empty if every case has one question."""
    by_dataset: tuple[Group, ...] = ()
    """By dataset of the targets; empty if all targets have the same. A question counts in each of its datasets."""
    wrong_terms: tuple[Count, ...] = ()
    """Cases by the note that a false positive carries (`TermNote`), for example ``unknown_code``."""
    time_states: tuple[Count, ...] = ()
    """Cases by `TimeState`, without ``not_judged``."""
    through_hierarchy: int = 0
    """Turns in which a code stands for its children, or the children for the code."""
    compared_by_id_only: int = 0
    """Turns in which some term lacked a name on one side or both."""


class PassRate(Struct, frozen=True, kw_only=True):
    """pass@k and pass^k, over the cases with at least ``k`` scored answers."""

    k: int
    any: Rate
    """pass@k: at least one of ``k`` answers is right."""
    all: Rate
    """pass^k: all ``k`` answers are right."""


class RepeatTotals(Struct, frozen=True, kw_only=True):
    """How consistently a system answers that was asked each question several times. All counts are of cases."""

    asked: int
    """How often each question was asked."""
    stable_right: int
    """Every scored answer is right."""
    stable_wrong: int
    """Every scored answer is wrong."""
    flaky: tuple[str, ...]
    """Ids of the cases with right and wrong answers, in the run's order."""
    unscored: int
    """Cases without any scored answer."""
    pass_rates: tuple[PassRate, ...]
    """For ``k`` from 1 to ``asked``, by the metric that decides the verdict."""


class Aggregates(Struct, frozen=True, kw_only=True):
    """The numbers of a run, computed once; reports only draw them.

    If questions were asked several times, ``cases`` counts cases, ``correct``, ``incorrect``, ``unscored`` and
    ``unanswered`` count answers, and every rate is over cases, each by the mean of its scored answers.
    """

    cases: int
    correct: int
    incorrect: int
    unscored: int
    unanswered: int
    overall: Group
    by_difficulty: tuple[Group, ...]
    by_database: tuple[Group, ...]
    by_tag: tuple[Group, ...]
    disagreements: tuple[Disagreement, ...]
    flags: tuple[Count, ...]
    near_misses: tuple[Count, ...]
    failures: tuple[Count, ...]
    """Counted by ``blame: kind``, for instance ``gold: error``."""
    causes: tuple[Count, ...] = ()
    fix_first: tuple[Count, ...] = ()
    """Causes by how many answers become right by fixing this cause alone: a repair of one clause was executed."""
    cause_groups: tuple[CauseGroup, ...] = ()
    """Kind after kind, the largest group first."""
    schema_use: tuple[Count, ...] = ()
    """Incorrect cases by the tables and columns that they use compared with the gold query's:
    `Diagnosis.schema_use`."""
    retrieval: tuple[Count, ...] = ()
    """Incorrect cases by what retrieval had to do with it (`Retrieval`); empty if no prediction says what the system
    was given."""
    forgiven: tuple[Forgiven, ...] = ()
    """The kinds of near miss that would make some case right, in their order; empty if `match` was not computed."""
    selection: SelectionTotals | None = None
    """For SDMX runs only."""
    repeats: RepeatTotals | None = None
    """None if every question was asked once."""
    usage: UsageTotals | None = None
    """None if no answer states tokens or a cost."""
    billed: Cost | None = None
    """What all queries of the run cost; None if no service tells."""
    determined: Group | None = None
    """The cases without the flag ``ambiguous_gold``, whose gold query determines its answer; None where all are."""
    sound: Group | None = None
    """The cases whose gold query the lint did not find doubtful; None if there was no lint, or it doubts no gold
    query."""
    times: tuple[TimeSpread, ...] = ()
    """The times of answers, gold queries and predicted queries, as far as they were measured."""
    witnesses: WitnessTotals | None = None
    """None without a search for witnesses."""
    reliability: ReliabilityTotals | None = None
    """None if every question has an answer, and no system declines, asks back or says how sure it is."""
    conversations: ConversationTotals | None = None
    """None if no question is part of a conversation of queries."""
    reviews: ReviewTotals | None = None
    """None without reviews."""


class Fingerprint(Struct, frozen=True, kw_only=True):
    """One input of a run, a file or a database, and the hash of its content."""

    name: str
    digest: str


class RunSettings(Struct, frozen=True, kw_only=True):
    """The settings of a run, without secrets: two runs with equal settings did the same work."""

    cases: str
    """The question set as the user named it."""
    predictions: str
    database: str
    """The database URL or template, with passwords masked."""
    metrics: tuple[str, ...]
    limits: Limits
    columns: str = "any"
    penalties: tuple[float, ...] = ()
    """The penalties of the reliability score that were asked for, the gates' first; none: the usual ones."""
    relative_tolerance: float = 1e-12
    absolute_tolerance: float = 1e-12
    timing_iterations: int = 3
    """How often efficiency metrics execute both queries, after a warm-up."""
    timing_budget_s: float | None = None
    """For all timing together; None: as long as those executions take, plus `timing_extra_s`."""
    timing_extra_s: float = 0.0
    """Without a budget: the time for measuring pairs again whose noise could change their score."""
    workers: int = 2
    name: str | None = None
    tags: tuple[str, ...] = ()
    """The user's own labels for the run, in order."""
    repeats: int = 1
    """How often a live system was asked each question."""
    leniency: Leniency = STRICT
    """Differences that do not count as mistakes, if a case does not say otherwise."""
    selection: SelectionSettings | None = None
    """Set if the run scores selections instead of queries: ``database`` is then empty."""
    witness: WitnessSettings | None = None
    """How witnesses of the matches were looked for; None: not at all."""
    gold_database: str | None = None
    """The database of the gold queries, where they have their own, with passwords masked."""
    suite: str | None = None
    """The suite whose databases answers were tried on too: its folder's name, and a hash of its content."""
    extract: bool = True
    """Whether the query is extracted from a prediction whose text is not a statement but contains one."""
    diagnose: bool = True
    """Whether the causes of incorrect predictions were looked for."""
    metric_infos: tuple[MetricInfo, ...] = ()
    """What each metric's class says of it, in the metrics' order. Runs of earlier versions have none."""


class CacheUse(Struct, frozen=True, kw_only=True):
    """How many executions of gold and predicted queries a run has, and how many of them came from its cache."""

    executions: int = 0
    from_cache: int = 0


class Provenance(Struct, frozen=True, kw_only=True):
    """The versions and inputs of a run: enough to tell why two runs differ."""

    assay_version: str
    python_version: str
    platform: str
    engine_versions: tuple[Fingerprint, ...] = ()
    """Engine name and version, for example ``sqlite`` and ``3.40.1``."""
    inputs: tuple[Fingerprint, ...] = ()
    """Case file, prediction file and databases, by content."""
    started_at: str | None = None
    """ISO 8601 in UTC."""
    wall_time_s: float | None = None
    blank_rows: int = 0
    """How many rows of the question set were skipped because they are blank."""
    cases_left_out: int = 0
    """How many cases of the question set a limit left out."""
    unmatched_predictions: tuple[str, ...] = ()
    """Ids of predictions that match no case."""
    joining: Joining | None = None
    """How answers were joined to their questions; None if a live system was asked."""
    unread_columns: tuple[str, ...] = ()
    """The columns of the question set and the predictions that were not read."""
    input_notes: tuple[str, ...] = ()
    """Sentences that say how the evaluation ended whose log was read, and what the log lacks."""
    notes: tuple[str, ...] = ()
    """Sentences that say what could not be read in the inputs or is missing, and what is therefore unknown."""
    unprotected: tuple[str, ...] = ()
    """The names of the safeguards that this operating system lacks (`assay.platform.safeguards`); none on Linux."""
    cache: CacheUse | None = None
    """None if every query was executed for this run."""
    reviews: str | None = None
    """The file of people's reviews, seen from the run's folder. None: there was none."""
    cases: str | None = None
    """The question set, seen from the run's folder. None: it is not a file."""
    case_format: str | None = None
    """The format of the question set, if it was named. None: recognised."""
    case_fields: FieldNames | None = None
    """The columns of the question set that were named. None: not known (runs of earlier versions)."""


class HistoryPoint(Struct, frozen=True, kw_only=True):
    """A stored run, as a point in a list or a trend."""

    folder: str
    status: Literal["running", "finished", "damaged"]
    settings: RunSettings | None
    """None if the run is damaged."""
    provenance: Provenance | None
    cases: int = 0
    correct: int = 0
    incorrect: int = 0
    unscored: int = 0
    headline_metric: str | None = None
    headline: Rate | None = None
    trouble: str | None = None
    """What is damaged."""
    gates: tuple[GateResult, ...] = ()
    """What was demanded of the run when it was made, and whether it was reached."""


class Run(Struct, frozen=True, kw_only=True):
    """Every Evidence of one evaluation, with its settings, provenance and aggregates.

    ``evidence`` is in the question set's order; repeated answers to a question follow one another. A run that was just
    made, or read from its folder, decodes each evidence when it is read (`assay.runs.store.journal`).
    """

    settings: RunSettings
    provenance: Provenance
    summaries: Sequence[CaseSummary]
    """The short form of each answer, in the same order."""
    evidence: Sequence[Evidence]
    aggregates: Aggregates
    gates: tuple[GateResult, ...] = ()
    """The results of the gates that it is held to, for its reports; of a stored run, those that it was made with."""
    history: tuple[HistoryPoint, ...] = ()
    """Earlier runs in neighbouring folders, oldest first, for its reports; not stored with it."""
    lint: LintReport | None = None
    """What is doubtful about the gold query itself; None without lint. Stored in a file of its own."""
