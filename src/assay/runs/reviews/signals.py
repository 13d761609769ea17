"""Why a case deserves a person's look, and what the chance is that the person finds something.

Each reason has odds, for example 0.5 for one find in two dull cases, and a sentence. What the systems say of the gold
query counts
most: the odds that the gold query is wrong rise with each system that shares a result other than the gold query's,
fall with each one that has another result still, and fall steeply with each one that has the gold query's. The numbers
were fitted to errors planted in the gold queries of nine public systems (`assay docs review-queue`).
Reasons that concern one answer, such as a counterexample to its match, have odds of their own. Odds add up; doubts
about the gold query multiply those of the systems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct

from assay.errors import InputError
from assay.model import CaseSummary, Flag, Run, Strength
from assay.model.lint import SEVERITIES, LintFinding, LintReport, Severity
from assay.model.witness import AFTER_WITNESSES
from assay.runs.aggregate.metric_infos import VERDICT, infos_of

_PER_SHARED, _PER_DIFFERENT, _PER_RIGHT = 0.6, 0.6, 6.0
_GOLD_FAILS, _JUDGE_DIFFERS, _METRIC_DIFFERS = 20.0, 0.4, 0.1
_LINT: Final[Mapping[Severity, tuple[float, float]]] = {"error": (2.0, 0.5), "warning": (1.5, 0.1), "note": (1.0, 0.02)}
"""By severity: the factor for the odds of what the systems say, and odds of its own."""
_OPEN_GOLD = (1.5, 0.05)
"""The same for a gold query that does not determine its result."""
_STRENGTHS: Final[Mapping[Strength, tuple[float, str]]] = {
    "refuted": (10.0, "The prediction matches here, but not on another database like this one."),
    "conditional": (0.3, "The prediction matches only while the data keeps a regularity that nothing guarantees."),
}
_FLAGS: Final[Mapping[Flag, tuple[float, str]]] = {
    "order_by_chance": (0.3, "The rows come in the right order, but the query does not ask for one."),
    "tie_by_chance": (0.3, "The query takes some of the rows that tie, and other ones would be wrong."),
    "storage_order": (0.3, "The query reads any row of several, and another one would give another result."),
    "interval_length": (0.1, "The intervals match only because a month counts as 30 days and a day as 24 hours."),
    "vacuous": (0.1, "The match is weak evidence: the result is empty, or computed over an empty input."),
}
"""Of matches."""
_SAME_SYSTEM, _FEW, _SAMPLE = 0.9, 20, 2000
"""The share of equal queries from which two runs are of one system; below how many queries all must be equal; and how
many cases are looked at."""
_RARE = 0.2
"""A metric that differs from the verdict on a larger share of the cases measures something else."""


class Reason(Struct, frozen=True, kw_only=True):
    """One reason to look at a case."""

    says: str
    odds: float = 0.0
    """That a person finds something because of this."""
    factor: float = 1.0
    """By which the odds that the gold query is wrong are multiplied."""
    cause: str = ""
    """What lies behind it, where that lies behind other cases, too."""


class Votes(Struct, frozen=True, kw_only=True):
    """What several systems say of one question: how many have the gold query's result, share another, or have a third
    one.

    With nine systems, when 9, 7 or 5 share one result and all others have different ones, the odds are 5.4, 1.9 and
    0.9; when the others have the gold query's result, they are 5.4, 0.3 and 0.1.
    """

    right: int
    shared: int
    """The largest number of systems that have one and the same result other than the gold query's."""
    different: int
    among: bool = False
    """Whether the answer under review has the shared result."""

    @property
    def systems(self) -> int:
        """How many have a result."""
        return self.right + self.shared + self.different

    @property
    def odds(self) -> float:
        """That the gold query is wrong."""
        return _PER_SHARED * self.shared / (1 + _PER_DIFFERENT * self.different + _PER_RIGHT * self.right)


class Signals:
    """The reasons to look at each case of a run, from its summaries, its lint and other runs of the question set."""

    def __init__(self, run: Run, others: Sequence[Run], opinions: Mapping[str, bool | None]) -> None:
        """Raises InputError for another run that has none of the run's cases."""
        own = {case.case_id: case for case in reversed(run.summaries)}
        self._others: list[Mapping[str, CaseSummary]] = []
        for other in others:
            answers = _first_answers(run, other)
            if not any(_is_same_system(known, answers) for known in (own, *self._others)):
                self._others.append(answers)
        self._opinions = opinions
        self._metrics = _telling_metrics(run)
        self._lint = _doubts(run.lint)

    def reasons(self, case: CaseSummary) -> tuple[float, list[Reason]]:
        """The odds that a person finds something in a case, and why, the strongest reason first."""
        votes = self.votes(case)
        reasons = [*self._of_gold(case), *self._of_answer(case)]
        odds = votes.odds
        for reason in reasons:
            odds *= reason.factor
        odds += sum(reason.odds for reason in reasons)
        ranked = [(reason.odds + (reason.factor - 1) * votes.odds, reason) for reason in reasons]
        if says := _said(case, votes):
            ranked.append((votes.odds, Reason(says=says)))
        return odds, [reason for _, reason in sorted(ranked, key=lambda pair: -pair[0])]

    def votes(self, case: CaseSummary) -> Votes:
        """What the systems say of a case."""
        right, own, results = 0, None, Counter[str | int]()
        for answer in (case, *(answers.get(case.case_id) for answers in self._others)):
            if answer is None or not _same_golds(case, answer):
                continue
            executed = answer.predicted
            if answer.outcome == "correct":
                right += 1
            elif answer.outcome == "incorrect" and (executed is None or executed.status in ("rows", "empty")):
                if answer.unanswered or answer.decision is not None:
                    continue
                # Runs of earlier versions have no hash of the result. Selections are never known to be equal.
                result = answer.result_hash or (id(answer) if executed is None else executed.query_hash)
                results[result] += 1
                own = result if answer is case else own
        shared = max(results.values(), default=0)
        among = own is not None and results[own] == shared
        return Votes(right=right, shared=shared, different=results.total() - shared, among=among)

    def _of_gold(self, case: CaseSummary) -> Iterator[Reason]:
        failure = case.failure
        if failure is not None and failure.blame == "gold":
            yield Reason(says=f"The gold query cannot be used: {failure.message}", odds=_GOLD_FAILS)
        if (doubt := self._lint.get(case.case_id)) is not None:
            yield doubt
        if "ambiguous_gold" in case.flags:
            factor, odds = _OPEN_GOLD
            yield Reason(says="The gold query does not determine its result.", odds=odds, factor=factor)

    def _of_answer(self, case: CaseSummary) -> Iterator[Reason]:
        if case.outcome == "unscored":
            return
        is_match = case.outcome == "correct"
        if is_match:
            if (known := _STRENGTHS.get(case.strength)) is not None:
                yield Reason(odds=known[0], says=known[1])
            for flag, (odds, says) in _FLAGS.items():
                if flag in case.flags:
                    yield Reason(odds=odds, says=says)
        opinion = self._opinions.get(case.case_id)
        if opinion is not None and opinion != is_match and case.repeat == 0:
            said = "equivalent to the gold query" if opinion else "not equivalent to the gold query"
            yield Reason(odds=_JUDGE_DIFFERS, says=f"The LLM judge calls the query {said}.")
        differing = [
            score.metric
            for score in case.scores
            if score.metric in self._metrics and score.value == float(not is_match)
        ]
        if differing:
            # For an incorrect answer this says nothing about the gold query: the metric is only less strict.
            verb = "rejects" if is_match else "accepts"
            says = f"{' and '.join(differing)} {verb if len(differing) == 1 else verb[:-1]} the prediction."
            yield Reason(odds=_METRIC_DIFFERS * is_match, says=says)


def _said(case: CaseSummary, votes: Votes) -> str:
    """What the systems say, in a sentence; empty if they give no reason to look."""
    right = f"{votes.right or 'none'} {'have' if votes.right > 1 else 'has'} the gold query's"
    if votes.shared > max(1, votes.right if case.outcome == "correct" else 1):
        among = ", this one among them," if votes.among else ""
        return f"{votes.shared} of {votes.systems} systems{among} share a result, and {right}."
    if case.outcome != "incorrect":
        return ""
    if votes.systems <= 1:
        return "The prediction is incorrect."
    if not votes.right:
        return f"None of {votes.systems} systems has the gold query's result."
    others = "1 other system has" if votes.right == 1 else f"{votes.right} other systems have"
    return f"The prediction is incorrect, and {others} the gold query's result."


def _first_answers(run: Run, other: Run) -> dict[str, CaseSummary]:
    """The other run's answers by case, of several the first. Raises InputError if no case is the run's."""
    answers = {case.case_id: case for case in reversed(other.summaries)}
    if run.summaries and not any(
        (answer := answers.get(case.case_id)) is not None and _same_golds(case, answer) for case in run.summaries
    ):
        name = other.settings.name or other.settings.predictions
        raise InputError(
            f"the run {name!r} has none of the cases of the run under review: name runs of one question set"
        )
    return answers


def _is_same_system(one: Mapping[str, CaseSummary], other: Mapping[str, CaseSummary]) -> bool:
    """Whether two runs are of one system, perhaps of two versions: it agrees with itself, which tells nothing.

    Nearly all of their queries have the same text, of few queries all; of nine public systems on one question set any
    two share at most two thirds.
    """
    both = ((case.predicted, other[case_id].predicted) for case_id, case in one.items() if case_id in other)
    pairs = [pair for pair in islice(both, _SAMPLE) if None not in pair]
    same = sum(first.query_hash == second.query_hash for first, second in pairs if first and second)
    return bool(pairs) and same >= len(pairs) * (_SAME_SYSTEM if len(pairs) >= _FEW else 1)


def _same_golds(case: CaseSummary, other: CaseSummary) -> bool:
    """Whether two answers were compared with the same gold queries, as far as these were executed."""
    if case is other or not (case.golds and other.golds):
        return True
    return case.database == other.database and [gold.query_hash for gold in case.golds] == [
        gold.query_hash for gold in other.golds
    ]


def _telling_metrics(run: Run) -> frozenset[str]:
    """The yes/no metrics that nearly always say what the verdict says, so that it means something if they do not."""
    names = {
        name
        for name, info in infos_of(run.settings).items()
        if info.binary and info.higher_is_better and name not in (*VERDICT, AFTER_WITNESSES)
    }
    scored, differing = Counter[str](), Counter[str]()
    for case in run.summaries:
        if case.outcome == "unscored":
            continue
        right = float(case.outcome == "correct")
        for score in case.scores:
            if score.metric in names and score.value is not None:
                scored[score.metric] += 1
                differing[score.metric] += score.value != right
    return frozenset(name for name in names if differing[name] <= _RARE * scored[name])


def _doubts(report: LintReport | None) -> dict[str, Reason]:
    """The severest finding of each case. Who fixes a root cause fixes its other cases, too: these count for less."""
    if report is None:
        return {}
    worst: dict[str, LintFinding] = {}
    for finding in report.findings:
        known = worst.get(finding.case_id)
        if known is None or SEVERITIES.index(finding.severity) < SEVERITIES.index(known.severity):
            worst[finding.case_id] = finding
    behind = {
        case_id: (cause.cause, cause.cases) for cause in reversed(report.root_causes()) for case_id in cause.cases
    }
    found = {}
    for case_id, finding in worst.items():
        factor, odds = _LINT[finding.severity]
        says = f"Lint {finding.severity}, {finding.rule}: {finding.evidence}"
        cause, cases = behind.get(case_id, ("", (case_id,)))
        if len(cases) > 1:
            says += f" {len(cases):,} cases have the same root cause: {cause}."
            if cases[0] != case_id:
                factor, odds = 1 + (factor - 1) / len(cases), odds / len(cases)
        found[case_id] = Reason(says=says, odds=odds, factor=factor, cause=cause)
    return found
