"""The numbers of a run as text: headline, metrics, groups, counts, links to cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from assay.model import Count, Disagreement, Evidence, Group, MetricInfo, Rate, Run
from assay.reports.blocks.collector import Collector
from assay.reports.blocks.unscored import with_reason
from assay.reports.blocks.values import CaseLink, Description, Figure, Link, Name, Number, Row, figure
from assay.reports.blocks.values import count as counted
from assay.reports.cases import selection
from assay.reports.cases.gold_findings import GoldFindings
from assay.reports.text.plain import one_line, percent, plural, source_name
from assay.runs.aggregate.metric_infos import VERDICT, info_of, leading_metric

_OF_DENODO = "denodo_percent_overlap"
"""A run with this metric counts as Denodo's own workbook does."""
RESULTS_MATCH = "Results Match"
"""The workbook's column of the metric behind Percent Correct Queries."""


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


class RunNumbers:
    """A run with the text of its numbers, from which its notes and sections are made.

    The numbers are the run's aggregates; nothing is computed here. What the aggregates do not hold, for example links
    to cases and the slowest queries, one pass over the summaries collects (`Collector`).

    ``beside`` is called with each evidence of the run: a format that needs something else of all cases takes it in the
    same pass.
    """

    def __init__(self, run: Run, *, beside: Callable[[Evidence], None] | None = None) -> None:
        self.run = run
        self.numbers = run.aggregates
        self.of_selections = run.settings.selection is not None
        self.collected = Collector(run, beside)
        self.links = self.collected.links
        self.findings = GoldFindings(run)
        self.asked = run.settings.repeats if self.numbers.repeats is not None else 1
        """How many times each question was asked."""
        names = tuple(summary.metric for summary in self.numbers.overall.metrics)
        self.infos = {name: info_of(name, run.settings) for name in names}
        self.leading = leading_metric(names)
        """The name of the headline metric, as it came."""
        self.graded = self.collected.values.graded(self.infos)
        self.shares = self.collected.values.shares(self.infos)
        self.headline = with_reason(self.figure(self.numbers.overall, self.leading), self.collected.unscored)
        self.confidence = f"{self.headline.rate.confidence * 100:g} %"

    @property
    def title(self) -> str:
        """The run's name, or what was evaluated on which cases."""
        settings = self.run.settings
        made = f"{source_name(settings.predictions)} on {source_name(settings.cases)}"
        return one_line(settings.name or made, limit=120)

    @property
    def headline_metric(self) -> str:
        """The headline metric's own name."""
        return one_line(self.leading)

    @property
    def headline_name(self) -> str:
        """The headline metric's name in titles: ``Accuracy`` for `match`, ``Exact selections``, else its own name."""
        return one_line(self.headline_info.title, limit=80)

    @property
    def headline_info(self) -> MetricInfo:
        """What is known of the headline metric, also if the run does not have it."""
        return info_of(self.leading, self.run.settings)

    @cached_property
    def metrics(self) -> tuple[MetricRow, ...]:
        """Every metric over all cases, in the run's order."""
        return tuple(
            MetricRow(
                metric=one_line(metric),
                info=info,
                meaning=one_line(info.said, limit=300),
                figure=figure,
                headline=metric == self.leading,
                graded=metric in self.graded,
                share=info.is_share and metric not in self.collected.values.beyond_one,
            )
            for (metric, info), figure in zip(self.infos.items(), self.figures(self.numbers.overall), strict=True)
        )

    @property
    def groups(self) -> tuple[tuple[str, tuple[Group, ...]], ...]:
        """Every breakdown into more than one group, with its kind: a single group would repeat the headline."""
        numbers, totals = self.numbers, self.numbers.selection
        kinds = (
            ("difficulty", numbers.by_difficulty),
            ("database", numbers.by_database),
            ("tag", numbers.by_tag),
            ("turn", totals.by_turn if totals else ()),
            ("dataset", totals.by_dataset if totals else ()),
        )
        return tuple((kind, groups) for kind, groups in kinds if len(groups) > 1)

    @property
    def disagreements(self) -> list[Disagreement]:
        """Pairs of yes/no metrics that differ on some case: pairs with the headline metric first, then by count."""
        return sorted(self.numbers.disagreements, key=lambda pair: (not self.leads(pair), -differing(pair)))

    def leads(self, pair: Disagreement) -> bool:
        """Whether the headline metric is one of the two."""
        return self.leading in (pair.first, pair.second)

    @property
    def beside(self) -> tuple[tuple[str, str], ...]:
        """The metrics of selections shown next to the headline: their names in words, and their own."""
        pairs = (("macro recall", "macro_recall"), ("macro precision", "macro_precision"))
        return tuple((name, metric) for name, metric in pairs if self.of_selections and metric in self.infos)

    @property
    def figures_beside(self) -> list[tuple[str, Figure]]:
        """Their figures over all cases."""
        return [(name, self.figure(self.numbers.overall, metric)) for name, metric in self.beside]

    @property
    def lenient(self) -> str:
        """The run's leniency, as it ends the tally: `` · lenient: duplicates ignored``."""
        said = self.run.settings.leniency.said
        return f" · lenient: {said}" if said else ""

    @property
    def caution(self) -> str:
        """A caution shown in the headline itself: without it the number would mislead."""
        return "every prediction is a copy of its gold query" if self.collected.copies_gold else ""

    @property
    def as_denodo(self) -> bool:
        """Whether means count as in Denodo's own workbook (``--as-denodo``): a case without a score counts as 0."""
        return _OF_DENODO in self.infos

    @property
    def workbook(self) -> str:
        """``in the workbook: Percent Correct Queries 40.0 %``, if that counts as Denodo does; else empty."""
        name = next((name for name, info in self.infos.items() if info.guide_column == RESULTS_MATCH), None)
        if not self.as_denodo or name is None:
            return ""
        rate = self.figure(self.numbers.overall, name).rate
        mean = over_all(rate.value, rate.n, self.numbers.cases)
        return f"in the workbook: Percent Correct Queries {percent(mean)}"

    @property
    def reviewed(self) -> str:
        """Accuracy after people's reviews: ``83.3 % [43.6, 97.0] (5 of 6)``; empty without reviews."""
        totals = self.numbers.reviews
        if totals is None or not totals.reviewed:
            return ""
        shown = self.verdict_figure(totals.after)
        unscored = f", {totals.after.unscored:,} unscored" if totals.after.unscored else ""
        return " ".join(part for part in (shown.text, shown.interval, f"({shown.tally})") if part) + unscored

    @property
    def tally(self) -> str:
        """``736 of 1,034 correct · 0 unscored``, followed by a caution, the run's leniency and reviews."""
        return " · ".join(self.tallies)

    @property
    def tallies(self) -> tuple[str, ...]:
        """The parts of ``tally``."""
        rate = self.headline.rate
        if self.asked > 1:
            said = (
                f"mean of {plural(rate.n, 'question')} asked {self.asked:,} times" if rate.n else "no scored question"
            )
        else:
            # Another metric may accept a case that the verdict does not call correct.
            own = (
                self.leading in VERDICT
                and self.leading not in self.graded
                and rate.n
                and not self.collected.unscored.nothing
            )
            said = self.headline.tally + ("" if not own else " exact" if self.of_selections else " correct")
        reviewed = f"after reviews {self.reviewed}" if self.reviewed else ""
        lenient = self.lenient.removeprefix(" · ")
        parts = (said, f"{rate.unscored:,} unscored", self.workbook, self.caution, lenient, reviewed)
        return tuple(filter(None, parts))

    @property
    def outcomes(self) -> str:
        """Counts of cases by outcome, or of answers if each question was asked several times."""
        numbers = self.numbers
        said = f"{numbers.correct:,} correct, {numbers.incorrect:,} incorrect, {numbers.unscored:,} unscored"
        return f"{'answers: ' if self.asked > 1 else ''}{said}; {numbers.unanswered:,} unanswered"

    @property
    def outcomes_beside(self) -> str:
        """As ``outcomes``, but empty if the headline already says it."""
        if self.collected.unscored.nothing:
            return ""
        rate, numbers = self.headline.rate, self.numbers
        known = (numbers.correct, numbers.correct + numbers.incorrect, numbers.unscored)
        return "" if (rate.numerator, rate.n, rate.unscored) == known and self.asked == 1 else self.outcomes

    def figure(self, group: Group, metric: str) -> Figure:
        """A metric over a group of cases."""
        rate = group.rate(metric) or Rate(n=0, numerator=0.0, unscored=group.cases, value=None, low=None, high=None)
        share = metric in self.shares or metric not in self.infos
        made = figure(rate, share=share, counted=self.asked == 1 and metric not in self.graded)
        if self.collected.unscored.nothing:  # a rate over failures to ask would look like a system that is always wrong
            return replace(made, text=percent(None), interval="", tally="no scored case")
        return made

    def figures(self, group: Group) -> tuple[Figure, ...]:
        """Every metric over a group of cases."""
        return tuple(self.figure(group, metric) for metric in self.infos)

    def verdict_figure(self, rate: Rate) -> Figure:
        """The figure of a rate over right and wrong answers."""
        return figure(rate, counted=self.asked == 1)

    def group_name(self, group: Group) -> str:
        """A group's name in tables."""
        if group.name is None:
            return f"no {group.kind}"
        shown = one_line(group.name, limit=60) or "''"
        return f"turn {shown}" if group.kind == "turn" else shown

    def linked(self, case_ids: Sequence[str]) -> tuple[CaseLink, ...]:
        """The links to cases, as far as the report has them."""
        return tuple(self.links[case_id] for case_id in case_ids if case_id in self.links)

    def counted(
        self,
        count: Count,
        name: str,
        meaning: str,
        *,
        link: Link = (),
        blame: str = "",
        example: str = "",
        of: int | None = None,
    ) -> Row:
        """A row of a table of counts (`count_table`): how many cases carry the name, and which.

        The share is of ``of`` cases, by default of all.
        """
        whole = self.numbers.cases if of is None else of
        share = count.count / whole if whole else 0.0
        cells = (
            Name(text=name, blame=blame),
            counted(count.count, link=link),
            Number(value=share, text="" if of is None else percent(share), style="percent"),
            self.linked(count.case_ids),
            Description(meaning=meaning, example=example),
        )
        return Row(cells=cells)

    def flagged(self, flag: str) -> int:
        """How many cases have a flag."""
        return next((count.count for count in self.numbers.flags if count.name == flag), 0)

    def failure(self, count: Count) -> tuple[str, str]:
        """The attribution and name of a kind of failure. For selections, the gold query is called the target."""
        blame, _, kind = count.name.partition(": ")
        return selection.failure_name(blame, kind) if self.of_selections else (blame, kind.replace("_", " "))


def over_all(mean: float | None, n: int, cases: int) -> float | None:
    """The mean over all cases, as in Denodo's workbook: 0 for the cases that the usual mean leaves out."""
    return None if not cases else (mean or 0.0) * n / cases


def differing(pair: Disagreement) -> int:
    """Cases on which two metrics differ. Of several answers to one question, each may accept a different one."""
    return len({*pair.only_first, *pair.only_second})
