"""Two runs over the same cases, and many of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from assay.model.cases.usage import UsageTotals
from assay.model.runs.gate import GateResult
from assay.model.runs.metric import Rate
from assay.model.runs.run import Provenance, RunSettings, TimeSpread
from assay.model.verdicts.verdict import Strength

_SURENESS: Mapping[Strength, int] = {
    "same_text": 4,
    "proved": 4,
    "bounded": 3,
    "survived": 3,
    "tie": 2,
    "unknown": 2,
    "conditional": 1,
    "refuted": 0,
}
"""How much other databases support a match; nothing is known without a search."""

ChangeKind = Literal["fixed", "broken", "better", "worse", "still_right", "still_wrong", "flaky", "unscored"]
"""How the result of a case that both runs have changed, by `match` (or by the metric that leads the run in its place).

``fixed``: every scored answer of the baseline is wrong, every one of the candidate right; ``broken``: the other way
round. ``better``, ``worse``: with repeats, the share of right answers rose or fell otherwise; ``flaky``: the share is
the same on both sides and neither 0 nor 1. ``unscored``: a side has no scored answer.
"""

PairedTest = Literal["mcnemar_exact", "sign_flip", "sign_flip_databases"]
"""``sign_flip_databases`` flips the signs of whole databases, the others look at case by case."""


class RunHead(Struct, frozen=True, kw_only=True):
    """One of the compared runs: its name, its source and its headline metric."""

    label: str
    """The run's name, or else its folder's; unique among the compared runs."""
    folder: str | None
    settings: RunSettings
    provenance: Provenance
    cases: int
    repeats: int
    """How often each question was asked."""
    headline: Rate | None
    """The headline metric over all of its own cases."""


class CaseSide(Struct, frozen=True, kw_only=True):
    """What one run says of a case. ``right + wrong + unscored`` is the number of its answers."""

    case_id: str
    right: int
    wrong: int
    unscored: int
    query: str | None
    """The query of the first answer that is not right, else of the first answer."""
    reason: str
    """The reason of the verdict on the same answer."""
    cause: str | None = None
    """The name of its cause, if the answer is wrong and the run found one."""
    strength: Strength = "none"
    """How sure it is that the answer is right, where it is."""

    @property
    def share(self) -> float | None:
        """The share of right answers among the scored ones; None where none is."""
        scored = self.right + self.wrong
        return self.right / scored if scored else None


class CaseChange(Struct, frozen=True, kw_only=True):
    """One case that both runs have, unchanged in itself, and how its result changed."""

    kind: ChangeKind
    baseline: CaseSide
    candidate: CaseSide
    question: str
    database: str | None = None
    difficulty: str | None = None
    tags: tuple[str, ...] = ()
    otherwise: bool = False
    """Still wrong, but in another way: another failure, or another near miss."""

    @property
    def lost_strength(self) -> bool:
        """Whether both answers are right, and other databases say less for the candidate's than for the baseline's."""
        was, now = (_SURENESS.get(side.strength) for side in (self.baseline, self.candidate))
        return was is not None and now is not None and now < was


class ChangedCase(Struct, frozen=True, kw_only=True):
    """A case whose content differs between the runs: it is not compared, only named."""

    baseline_id: str
    candidate_id: str
    parts: tuple[str, ...]
    """What differs: any of ``question``, ``gold``, ``database``, ``context``, ``options``."""


class Matching(Struct, frozen=True, kw_only=True):
    """Which cases of two runs are the same."""

    paired: int
    """Number of cases with the same content: the comparison is over these."""
    renamed: tuple[tuple[str, str], ...] = ()
    """The baseline's and the candidate's id of each paired case whose ids differ."""
    changed: tuple[ChangedCase, ...] = ()
    added: tuple[str, ...] = ()
    """Ids of cases that only the candidate has."""
    removed: tuple[str, ...] = ()
    """Ids of cases that only the baseline has."""


class MetricDiff(Struct, frozen=True, kw_only=True):
    """One metric over the paired cases that both runs score; a repeated case counts once, by the mean of its answers.

    ``difference`` is the candidate's mean less the baseline's, ``low`` and ``high`` bound it at the diff's confidence.
    All three are None if ``n`` is 0.
    """

    metric: str
    binary: bool
    n: int
    unscored: int
    """Paired cases that at least one of the runs leaves unscored."""
    baseline: float | None
    candidate: float | None
    difference: float | None
    low: float | None
    high: float | None
    gained: int
    """Cases whose value got better: it rose, if higher is better."""
    lost: int
    """Cases whose value got worse."""
    higher_is_better: bool = True
    test: PairedTest | None = None
    p_value: float | None = None
    """Two-sided, of no difference. Several databases are flipped whole, as the interval resamples them."""
    case_p_value: float | None = None
    """Where databases are flipped whole: the p-value with cases flipped one by one, which holds for these databases."""
    adjusted_p_value: float | None = None
    """After Holm's correction: across the metrics of a diff, or across the groups of one kind."""
    clusters: int | None = None
    """How many databases the interval resamples and the test flips; None: they take cases."""
    detectable: float | None = None
    """The smallest difference that this many cases can show at the diff's power and this rate of differing cases."""
    cases_needed: int | None = None
    """How many cases would show the observed difference; None if there is no difference."""

    @property
    def improvement(self) -> float | None:
        """The difference, above 0 if the candidate is better."""
        return self.difference if self.difference is None or self.higher_is_better else -self.difference


class GroupDiff(Struct, frozen=True, kw_only=True):
    """The paired cases that share a difficulty, database or tag (the candidate's, if the runs differ)."""

    kind: Literal["difficulty", "database", "tag"]
    name: str | None
    cases: int
    metrics: tuple[MetricDiff, ...]


SamplingUnit = Literal["database", "case"]
"""What tests and intervals of differences resample. ``database``: whole databases, if there are several, so that the
result holds for new ones; ``case``: cases, so that it holds for these databases, which a fixed benchmark is about."""


class DiffSettings(Struct, frozen=True, kw_only=True):
    """The settings of a comparison's statistics."""

    confidence: float = 0.95
    alpha: float = 0.05
    power: float = 0.80
    resamples: int = 2000
    seed: int = 0
    by: SamplingUnit = "database"


class ReviewedDiff(Struct, frozen=True, kw_only=True):
    """Two runs by what people decided, over the paired cases that both have scored then."""

    reviewed: int
    """How many of the paired cases have a reviewed verdict in a run."""
    baseline: Rate
    candidate: Rate
    fixed: tuple[str, ...]
    """The candidate's ids of the cases that were wrong in the baseline and are right, by the reviewed verdicts."""
    broken: tuple[str, ...]


class RunDiff(Struct, frozen=True, kw_only=True):
    """Two runs over the same cases: what was fixed and broken, and how sure the difference is."""

    baseline: RunHead
    candidate: RunHead
    settings: DiffSettings
    headline_metric: str
    matching: Matching
    notes: tuple[str, ...]
    """Sentences that say why the two runs are less comparable than they look."""
    metrics: tuple[MetricDiff, ...]
    """The metrics that both runs have, in the candidate's order."""
    only_baseline_metrics: tuple[str, ...]
    only_candidate_metrics: tuple[str, ...]
    groups: tuple[GroupDiff, ...]
    """By kind: difficulties, databases, tags. A kind with a single group is left out."""
    changes: tuple[CaseChange, ...]
    """Every paired case, in the candidate's order."""
    gates: tuple[GateResult, ...] = ()
    reviewed: ReviewedDiff | None = None
    """None if no case of either run is reviewed."""


class Standing(Struct, frozen=True, kw_only=True):
    """One run's place among several."""

    run: RunHead
    rate: Rate
    """The metric over the cases that all runs have and score."""
    rank: int
    """From 1, by the mean; equal means share a rank."""
    rank_low: int
    rank_high: int
    """The best and worst rank that the data leave: counted from the runs that are significantly better or worse."""
    groups: str
    """Letters, for example ``ab``: runs that share one do not differ significantly."""
    answer_time: TimeSpread | None = None
    """What answers took, over all of the run's own cases; None if it is not known."""
    usage: UsageTotals | None = None
    """Tokens and cost, over all of the run's own cases; None if no answer states any."""
    reviewed: Rate | None = None
    """The share of right answers by the reviewed verdicts, over the cases that all runs have and score then. None: no
    case is reviewed."""
    reviewed_rank: int | None = None


class StandingPair(Struct, frozen=True, kw_only=True):
    """Two runs of a leaderboard, ``first`` and ``second`` being their places in ``standings``."""

    first: int
    second: int
    diff: MetricDiff
    """The second run's values less the first's, corrected across all pairs."""


class BoardGroup(Struct, frozen=True, kw_only=True):
    """The common cases, or those that share a difficulty, a database or a tag, with every run's rates."""

    kind: Literal["overall", "difficulty", "database", "tag"]
    name: str | None
    """None: all of them, or those without one."""
    cases: int
    rates: tuple[tuple[Rate, ...], ...]
    """``rates[run][metric]``, in the order of the standings and of `BoardDetail.metrics`."""


class BoardAnswer(Struct, frozen=True, kw_only=True):
    """What one run says of a case."""

    value: float | None
    """Value of the metric that the runs are ranked by; a mean if the question was asked several times."""
    query: str | None
    reason: str
    cause: str | None = None


class BoardCase(Struct, frozen=True, kw_only=True):
    """A common case with every run's answer, in the order of the standings."""

    case_id: str
    """In the first standing's run."""
    question: str
    golds: tuple[str, ...]
    database: str | None
    difficulty: str | None
    tags: tuple[str, ...]
    answers: tuple[BoardAnswer, ...]


class BoardDetail(Struct, frozen=True, kw_only=True):
    """What a leaderboard says beyond the ranking, all over the common cases and in the order of the standings."""

    metrics: tuple[str, ...]
    """Those that all runs have, the one that they are ranked by first."""
    groups: tuple[BoardGroup, ...]
    """All cases first, then by difficulty, database and tag, each kind only if there are several groups."""
    only_right: tuple[tuple[int, ...], ...]
    """``only_right[i][j]``: how many cases run i has right and run j wrong. Right is a value of 1."""
    alone_right: tuple[tuple[str, ...], ...]
    """For each run the ids of the cases that it alone has right; empty for a run without others."""
    alone_wrong: tuple[tuple[str, ...], ...]
    all_right: int
    none_right: int
    cases: tuple[BoardCase, ...]


class Leaderboard(Struct, frozen=True, kw_only=True):
    """Several runs on one question set, best first."""

    metric: str
    settings: DiffSettings
    cases: int
    """Cases that all runs have in the same content and score."""
    left_out: int
    """Cases that some run lacks, has with other content, or leaves unscored."""
    standings: tuple[Standing, ...]
    pairs: tuple[StandingPair, ...]
    notes: tuple[str, ...] = ()
    detail: BoardDetail | None = None
    """None if only the ranking was asked for."""
