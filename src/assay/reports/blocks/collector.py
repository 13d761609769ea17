"""What a view needs of all cases besides the run's aggregates, gathered in one pass over their summaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from assay.model import CaseSummary, Count, Evidence, Failure, MetricInfo, Run
from assay.reports.blocks.unscored import UnscoredCounts
from assay.reports.blocks.values import CaseLink
from assay.reports.cases.selection import TermLengths, TermNotes
from assay.reports.text.plain import distinct, one_line, plural


class Collector:
    """Everything that a view needs of all cases besides the run's aggregates.

    Only a run over selections has its evidence decoded for it, since terms are in no summary. ``beside`` is called with
    each evidence: a format that needs something else of all cases takes it in the same pass.
    """

    def __init__(self, run: Run, beside: Callable[[Evidence], None] | None = None) -> None:
        cases = run.summaries
        self.links: dict[str, CaseLink] = {}
        """The link to each case, to its first answer, by its id."""
        self._answers: dict[tuple[str, int], CaseLink] = {}
        """If questions were asked several times, the link to each answer, by which answer to the case it is."""
        names = [one_line(case.case_id, limit=80) for case in cases]
        for case, name, anchor in zip(cases, names, distinct(names), strict=True):
            link = CaseLink(id=name, anchor=anchor)
            if run.settings.repeats > 1:
                self._answers[case.case_id, case.repeat] = replace(link, answer=answer_name(case.repeat, run))
            if run.settings.repeats == 1 or case.repeat == 0:
                self.links[case.case_id] = link
        self.unscored = UnscoredCounts(cases)
        self.values = ScoreValues(cases)
        copies = [case.repeats_gold for case in cases if case.repeats_gold is not None]
        self.copies_gold = bool(copies) and all(copies)
        """Whether every given answer is the exact text of one of its case's gold queries: no real system does that."""
        self.declaring = {case.case_id for case in cases if case.declares_leniency}
        """Ids of the cases that declare a leniency of their own."""
        self.wrong_unanswered = sum(case.outcome == "incorrect" and case.unanswered for case in cases)
        """Unanswered answers that count as incorrect."""
        self.ambiguous = {case.case_id for case in cases if "ambiguous_gold" in case.flags}
        """Ids of the cases whose gold query is ambiguous."""
        self.all_tie = {case.case_id for case in cases if "ambiguous_gold" in case.flags and case.all_tie}
        """Those of them in which all of gold's rows tie."""
        self.terms, self.lengths = TermNotes(run), TermLengths()
        of_selections = run.settings.selection is not None
        turns: dict[str, list[Failure | None]] = {}
        for item in run.evidence if of_selections or beside is not None else ():
            if of_selections:
                self.terms.add(item)
                self.lengths.add(item)
                told = [*(turn.failure for turn in item.turns), *(turn.failure for turn in item.prediction.turns)]
                if any(told):
                    turns.setdefault(item.case.id, []).extend(told)
            if beside is not None:
                beside(item)
        self.messages = _messages(run.aggregates.failures, cases, turns)
        """For each kind of failure, the message of the first case that has it, and how many others there are."""

    def link_of(self, case_id: str, repeat: int) -> CaseLink:
        """The link to one answer."""
        return self._answers[case_id, repeat] if self._answers else self.links[case_id]


class ScoreValues:
    """What kind of values each metric has."""

    def __init__(self, cases: Sequence[CaseSummary]) -> None:
        self._farthest: dict[str, float] = {}
        """For metrics with values other than 0 and 1, the value farthest from 0."""
        self.beyond_one: set[str] = set()
        """Metrics with values below 0 or above 1."""
        for case in cases:
            for score in case.scores:
                name, value = score.metric, score.value
                if value is None or value in (0.0, 1.0):
                    continue
                if not 0.0 <= value <= 1.0:
                    self.beyond_one.add(name)
                if abs(value) >= abs(self._farthest.get(name, 0.0)):
                    self._farthest[name] = value

    def graded(self, infos: Mapping[str, MetricInfo]) -> set[str]:
        """Metrics that have values other than 0 and 1, or could have."""
        return {*self._farthest} | {name for name, info in infos.items() if not info.binary}

    def shares(self, infos: Mapping[str, MetricInfo]) -> set[str]:
        """Metrics whose values read as percentages."""
        return {name for name, info in infos.items() if info.reads_as_share(self._farthest.get(name))}


def _messages(
    counts: Sequence[Count], cases: Sequence[CaseSummary], turns: Mapping[str, Sequence[Failure | None]]
) -> dict[str, str]:
    """For each kind of failure the message of its first case, and how many others there are.

    The ``turns`` of a case may have failed, too.
    """
    found: dict[str, dict[str, None]] = {count.name: {} for count in counts}
    for case in cases:
        failures = [case.failure, case.answer_failure, *(one.failure for one in case.executions)]
        for failure in (*failures, *turns.get(case.case_id, ())):
            if failure is not None and (name := f"{failure.blame}: {failure.kind}") in found:
                found[name][one_line(failure.message, limit=160)] = None
    return {name: _several(list(messages)) for name, messages in found.items() if messages}


def _several(messages: Sequence[str]) -> str:
    """The first message, and how many others there are."""
    others = len(messages) - 1
    return f"{messages[0]} (and {plural(others, 'other message')})" if others else messages[0]


def answer_name(repeat: int, run: Run) -> str:
    """Which answer to its question this is: ``answer 2 of 3``; '' if each question was asked once."""
    asked = run.settings.repeats
    return f"answer {repeat + 1:,} of {asked:,}" if asked > 1 else ""
