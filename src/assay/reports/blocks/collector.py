"""What a view needs of all cases besides the run's aggregates, gathered in one pass over their summaries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from assay.model import CaseSummary, Count, Evidence, Execution, Failure, Limits, MetricInfo, Run
from assay.reports.blocks.unscored import UnscoredCounts
from assay.reports.blocks.values import CaseLink
from assay.reports.cases.selection import TermLengths, TermNotes
from assay.reports.text.plain import distinct, one_line, plural, seconds

_SLOWEST = 5
_NEAR = 0.5
"""From this share of its time limit on, a gold query is near it."""
_NAMED = 5


class Collector:
    """Everything that a view needs of all cases besides the run's aggregates.

    Only a run over selections has its evidence decoded for it, since terms are in no summary. ``beside`` is called with
    each evidence: a format that needs something else of all cases takes it in the same pass.
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
        self.slow_golds = SlowGolds(run.settings.limits)
        cases = run.summaries
        self.declaring = {case.case_id for case in cases if case.declares_leniency}
        """Ids of the cases that declare a leniency of their own."""
        self.wrong_unanswered = sum(case.outcome == "incorrect" and case.unanswered for case in cases)
        """Unanswered answers that count as incorrect."""
        self.ambiguous = {case.case_id for case in cases if "ambiguous_gold" in case.flags}
        """Ids of the cases whose gold query is ambiguous."""
        self.all_tie = {case.case_id for case in cases if "ambiguous_gold" in case.flags and case.all_tie}
        """Those of them in which all of gold's rows tie."""
        parts = (self.unscored, self.copies, self.values, self.messages, self.slow_golds)
        adders: list[Callable[[CaseSummary], None]] = [part.add for part in parts]
        for place, case in enumerate(cases):
            for add in adders:
                add(case)
            self.slowest.add(place, case)
        of_selections = run.settings.selection is not None
        for item in run.evidence if of_selections or beside is not None else ():
            if of_selections:
                self.terms.add(item)
                self.lengths.add(item)
                self.messages.add_turns(item)
            if beside is not None:
                beside(item)
        self._link(run)

    def _link(self, run: Run) -> None:
        names = [one_line(case.case_id, limit=80) for case in run.summaries]
        for case, name, anchor in zip(run.summaries, names, distinct(names), strict=True):
            link = CaseLink(id=name, anchor=anchor)
            if run.settings.repeats > 1:
                self._answers[case.case_id, case.repeat] = replace(link, answer=answer_name(case.repeat, run))
            if run.settings.repeats == 1 or case.repeat == 0:
                self.links[case.case_id] = link

    def link_of(self, case_id: str, repeat: int) -> CaseLink:
        """The link to one answer."""
        return self._answers[case_id, repeat] if self._answers else self.links[case_id]


class ScoreValues:
    """What kind of values each metric has."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        """Metrics with values other than 0 and 1."""
        self.beyond_one: set[str] = set()
        """Metrics with values below 0 or above 1."""
        self._farthest: dict[str, float] = {}

    def add(self, case: CaseSummary) -> None:
        """Look at one answer's scores."""
        for score in case.scores:
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
        self._kept: dict[tuple[str | None, int], tuple[float, int, int, int]] = {}
        """By database and query: the time, the place among all executions, the case's place, and which execution."""
        self._count = 0
        self._least = -1.0

    def add(self, place: int, case: CaseSummary) -> None:
        """Look at the executions of one answer, which has that place in the run."""
        for index, execution in enumerate(case.executions):
            time_s = execution.wall_time_s
            if time_s is None:
                continue
            self._count += 1
            if time_s > self._least:
                self._keep(time_s, (case.database, execution.query_hash), place, index)

    def _keep(self, time_s: float, key: tuple[str | None, int], place: int, index: int) -> None:
        kept = self._kept
        if key in kept and kept[key][0] >= time_s:
            return
        kept[key] = (time_s, self._count, place, index)
        if len(kept) > _SLOWEST:
            del kept[min(kept, key=lambda one: (kept[one][0], -kept[one][1]))]
        if len(kept) == _SLOWEST:
            self._least = min(time_s for time_s, *_ in kept.values())

    def found(self, run: Run) -> Iterator[tuple[CaseSummary, str, Execution]]:
        """The slowest first; of equally slow ones, the first in the run. Each with its case and its side."""
        for _, _, place, index in sorted(self._kept.values(), key=lambda entry: (-entry[0], entry[1])):
            case, item = run.summaries[place], run.evidence[place]
            predicted = index == len(case.golds)
            execution = item.predicted_execution if predicted else item.gold_executions[index]
            assert execution is not None  # the summary has its time
            yield case, "predicted" if predicted else "gold", execution


class FirstMessages:
    """For each kind of failure, the message of the first case that has it."""

    def __init__(self, failures: Sequence[Count]) -> None:
        self._wanted: dict[str, list[str]] = defaultdict(list)
        for count in failures:
            for case_id in count.case_ids[:1]:
                self._wanted[case_id].append(count.name)
        self._found: dict[str, str] = {}

    def add(self, case: CaseSummary) -> None:
        """Look at one answer's failures."""
        if case.case_id in self._wanted:
            executed = (execution.failure for execution in case.executions)
            self._add(case.case_id, (case.failure, case.answer_failure, *executed))

    def add_turns(self, item: Evidence) -> None:
        """Look at the failures of the questions of one conversation over selections."""
        if item.case.id in self._wanted:
            self._add(
                item.case.id,
                [*(turn.failure for turn in item.turns), *(turn.failure for turn in item.prediction.turns)],
            )

    def _add(self, case_id: str, failures: Iterable[Failure | None]) -> None:
        for failure in failures:
            if failure is None:
                continue
            name = f"{failure.blame}: {failure.kind}"
            if name in self._wanted[case_id]:
                self._found.setdefault(name, one_line(failure.message, limit=160))

    def of(self, failure: str) -> str | None:
        """The message for that kind of failure, on one line."""
        return self._found.get(failure)


class GoldCopies:
    """Whether every given answer is the exact text of one of its case's gold queries, which no real system produces."""

    def __init__(self) -> None:
        self._answered = self._other = False

    def add(self, case: CaseSummary) -> None:
        """Look at one answer."""
        if not self._other and case.repeats_gold is not None:
            self._answered = True
            self._other = not case.repeats_gold

    @property
    def all(self) -> bool:
        """Whether there were answers, and all were gold's text."""
        return self._answered and not self._other


class SlowGolds:
    """Notes, case by case, which golds took half of their time limit or more, and which ran out of it."""

    def __init__(self, limits: Limits) -> None:
        self._limit_s = limits.of_gold.timeout_s
        self._near: dict[str, float] = {}
        self._out: dict[str, None] = {}

    def add(self, case: CaseSummary) -> None:
        """Look at the golds of one answer."""
        for gold in case.golds:
            if gold.status == "timeout":
                self._out[case.case_id] = None
            elif (took_s := gold.took_s) is not None and took_s >= _NEAR * self._limit_s:
                self._near[case.case_id] = max(took_s, self._near.get(case.case_id, 0.0))

    def notes(self) -> Iterator[str]:
        """One sentence for all of them; none where gold is quick."""
        limit = seconds(self._limit_s)
        if self._out:
            advice = "--gold-timeout gives gold more time than predictions have"
            yield f"Of {plural(len(self._out), 'case')} gold ran out of its {limit} ({_named(self._out)}): {advice}."
        if self._near:
            longest = max(self._near.values())
            yield (
                f"Of {plural(len(self._near), 'case')} gold took half of its {limit} or more, at most "
                f"{seconds(longest)} ({_named(self._near)}): on a slower machine they may be in no rate."
            )


def _named(ids: dict[str, float] | dict[str, None]) -> str:
    shown = ", ".join(one_line(name, limit=40) for name in list(ids)[:_NAMED])
    return f"{shown}, …" if len(ids) > _NAMED else shown


def answer_name(repeat: int, run: Run) -> str:
    """Which answer to its question this is: ``answer 2 of 3``; '' where each question was asked once."""
    asked = run.settings.repeats
    return f"answer {repeat + 1:,} of {asked:,}" if asked > 1 else ""
