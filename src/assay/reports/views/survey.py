"""What a view needs of all cases, gathered in one pass: reading the evidence of a stored run decodes it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from assay.model import Count, Evidence, Execution, MetricInfo, Run
from assay.reports.text.plain import clipped, distinct, one_line, seconds
from assay.reports.views.case import rows_and_time
from assay.reports.views.figures import CaseLink
from assay.reports.views.gold_times import SlowGolds
from assay.reports.views.joined import GoldCopies
from assay.reports.views.repeats import answer_name
from assay.reports.views.run import SlowRow
from assay.reports.views.selections_build import TermLengths, TermNotes
from assay.reports.views.unscored import UnscoredCounts
from assay.runs.aggregate.totals import is_unanswered

if TYPE_CHECKING:  # it needs msgspec, which a run in memory may do without
    from assay.runs.store.surveyed import Seen, SurveyedExecution

_SLOWEST = 5


class Survey:
    """Everything that a view needs of all cases besides the run's aggregates.

    ``beside`` is called with each evidence: a format that needs something else of all cases takes it in the same pass.
    """

    def __init__(self, run: Run, beside: Callable[[Evidence], None] | None = None) -> None:
        self.links: dict[str, CaseLink] = {}
        """The link to each case, to its first answer, by its id."""
        self._answers: dict[tuple[str, int], CaseLink] = {}
        """Where questions were asked several times, the link to each answer, by which answer to the case it is."""
        self.unscored = UnscoredCounts()
        self.copies = GoldCopies()
        self.values = ScoreValues()
        self.slowest = Slowest()
        self.messages = FirstMessages(run.aggregates.failures)
        self.terms, self.lengths = TermNotes(run), TermLengths()
        self.declaring: set[str] = set()
        """Ids of the cases that declare a leniency of their own."""
        self.wrong_unanswered = 0
        """Unanswered answers that count as incorrect."""
        self.ambiguous: set[str] = set()
        """Ids of the cases whose gold leaves its answer open."""
        self.all_tie: set[str] = set()
        """Those of them in which all of gold's rows tie."""
        names: list[str] = []
        ids: list[str] = []
        several: list[tuple[int, str]] = []
        """Which answer to its case each is, and its name, where questions were asked several times."""
        self.slow_golds = SlowGolds(run.settings.limits)
        parts = (self.unscored, self.copies, self.values, self.slowest, self.messages, self.slow_golds)
        takers: list[Callable[[Any], None]] = [self._take, *(part.take for part in parts)]
        if run.settings.selection is not None:
            takers += [self.terms.take, self.lengths.take]
        if beside is not None:
            takers.append(beside)
        for item in _seen(run, whole=beside is not None):
            names.append(one_line(item.case.id, limit=80))
            ids.append(item.case.id)
            if run.settings.repeats > 1:
                several.append((item.prediction.repeat, answer_name(item, run)))
            for take in takers:
                take(item)
        links = (CaseLink(id=name, anchor=anchor) for name, anchor in zip(names, distinct(names), strict=True))
        if not several:
            self.links = dict(zip(ids, links, strict=True))
            return
        for id_, link, (repeat, answer) in zip(ids, links, several, strict=True):
            self._answers[id_, repeat] = replace(link, answer=answer)
            if repeat == 0:
                self.links[id_] = link

    def _take(self, item: Seen) -> None:
        case, verdict = item.case, item.verdict
        if case.options.leniency.said:
            self.declaring.add(case.id)
        if verdict.outcome == "incorrect" and is_unanswered(item):
            self.wrong_unanswered += 1
        if "ambiguous_gold" in verdict.flags:
            self.ambiguous.add(case.id)
            if verdict.ambiguity and verdict.ambiguity.all_tie:
                self.all_tie.add(case.id)

    def link_of(self, item: Seen) -> CaseLink:
        """The link to one answer."""
        if not self._answers:
            return self.links[item.case.id]
        return self._answers[item.case.id, item.prediction.repeat]


class ScoreValues:
    """What kind of values each metric has."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        """Metrics with values other than 0 and 1."""
        self.beyond_one: set[str] = set()
        """Metrics with values below 0 or above 1."""
        self._farthest: dict[str, float] = {}

    def take(self, item: Seen) -> None:
        """Look at one answer's scores."""
        for score in item.scores:
            value = score.value
            if value is None or value in (0.0, 1.0):
                continue
            name = score.metric
            self._seen.add(name)
            if not 0.0 <= value <= 1.0:
                self.beyond_one.add(name)
            if abs(value) >= abs(self._farthest.get(name, 0.0)):
                self._farthest[name] = value

    def graded(self, infos: Mapping[str, MetricInfo]) -> set[str]:
        """Metrics that have values other than 0 and 1, or could have."""
        return self._seen | {name for name, info in infos.items() if not info.binary}

    def shares(self, infos: Mapping[str, MetricInfo]) -> set[str]:
        """Metrics whose values read as percentages."""
        return {name for name, info in infos.items() if info.reads_as_share(self._farthest.get(name))}


class Slowest:
    """The slowest distinct queries: a query that several cases share ran once."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str | None, str], tuple[float, int, Seen, Execution | SurveyedExecution]] = {}
        """By database and query: the time, the place among all executions, and whose it is."""
        self._count = 0
        self._least = -1.0

    def take(self, item: Seen) -> None:
        """Look at one answer's executions."""
        for execution in _executions(item):
            time_s = execution.wall_time_s
            if time_s is None:
                continue
            self._count += 1
            if time_s > self._least:
                self._keep(time_s, item, execution)

    def _keep(self, time_s: float, item: Seen, execution: Execution | SurveyedExecution) -> None:
        kept, key = self._kept, (item.case.database, execution.query)
        if key in kept and kept[key][0] >= time_s:
            return
        kept[key] = (time_s, self._count, item, execution)
        if len(kept) > _SLOWEST:
            del kept[min(kept, key=lambda one: (kept[one][0], -kept[one][1]))]
        if len(kept) == _SLOWEST:
            self._least = min(time_s for time_s, *_ in kept.values())

    def rows(self, survey: Survey) -> Iterable[SlowRow]:
        """The slowest first; of equally slow ones, the first in the run."""
        for time_s, _, item, execution in sorted(self._kept.values(), key=lambda one: (-one[0], one[1])):
            yield SlowRow(
                case=survey.link_of(item),
                side="predicted" if execution is item.predicted_execution else "gold",
                wall_time_s=time_s,
                time=seconds(time_s),
                status=rows_and_time(execution, timed=False),
                query=one_line(clipped(execution.query, limit=2000), limit=300),
            )


class FirstMessages:
    """For each kind of failure, the message of the first case that has it."""

    def __init__(self, failures: Sequence[Count]) -> None:
        self._wanted: dict[str, list[str]] = defaultdict(list)
        for count in failures:
            for case_id in count.case_ids[:1]:
                self._wanted[case_id].append(count.name)
        self._found: dict[str, str] = {}

    def take(self, item: Seen) -> None:
        """Look at one answer's failures."""
        for name in self._wanted.get(item.case.id, ()):
            if name in self._found:
                continue
            found = [item.verdict.failure, item.prediction.failure, *(done.failure for done in _executions(item))]
            found += [turn.failure for turn in item.turns]
            found += [turn.failure for turn in item.prediction.turns]
            for failure in found:
                if failure is not None and f"{failure.blame}: {failure.kind}" == name:
                    self._found[name] = one_line(failure.message, limit=160)
                    break

    def of(self, failure: str) -> str | None:
        """The message for that kind of failure, on one line."""
        return self._found.get(failure)


def _seen(run: Run, *, whole: bool) -> Iterable[Seen]:
    """What there is to look at of each answer. ``whole``: all of its evidence."""
    if whole or run.settings.selection is not None:
        return run.evidence
    from assay.runs.store.surveyed import surveyed

    return surveyed(run.evidence)


def _executions(item: Seen) -> Sequence[Execution | SurveyedExecution]:
    predicted = item.predicted_execution
    return item.gold_executions if predicted is None else (*item.gold_executions, predicted)
