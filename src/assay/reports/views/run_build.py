"""Make the view that every format draws. Cases are not counted again here: the numbers are the run's aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from assay.model import Count, Disagreement, Evidence, Group, Limits, Rate, Run
from assay.reports.text.gate_table import gate_rows
from assay.reports.text.plain import (
    interval,
    number,
    one_line,
    percent,
    plural,
    seconds,
    source_name,
    visible,
    words,
)
from assay.reports.views import meanings, selections_build
from assay.reports.views.case import case_view
from assay.reports.views.cause_groups import cause_group_rows
from assay.reports.views.causes import advices
from assay.reports.views.figures import CaseLink, CountRow, Figure
from assay.reports.views.gold_findings import GoldFindings
from assay.reports.views.joined import joined_text, joining_notes
from assay.reports.views.reliability import ReliabilityView, conversations_view, reliability_view
from assay.reports.views.repeats import repeats_view
from assay.reports.views.run import (
    CaseView,
    DisagreementRow,
    Fact,
    GroupRow,
    GroupTable,
    MetricRow,
    RunView,
    StrengthsView,
)
from assay.reports.views.strengths import strengths_view
from assay.reports.views.survey import Survey
from assay.reports.views.times import time_rows, usage_facts, usage_rows
from assay.reports.views.unscored import told, unscored_notes
from assay.runs.metric_infos import VERDICT, info_of, leading_metric

_BLAME_ORDER = {"gold": 0, "target": 0, "setup": 1, "engine": 2, "network": 2, "assay": 3, "judge": 3}


def view_of(
    run: Run,
    *,
    detailed: Sequence[Evidence] | None = None,
    terms: int | None = None,
    beside: Callable[[Evidence], None] | None = None,
) -> RunView:
    """The view of a run; ``detailed`` is the evidence to show case by case, None for all of it.

    ``terms`` is how many terms a selection's list shows at most; None: decided by the number of all terms. ``beside``
    is called with each evidence of the run, before ``detailed`` is read.
    """
    builder = _Builder(run, beside)
    detailed = run.evidence if detailed is None else detailed
    room = selections_build.room_for(detailed, terms=terms)
    return builder.view(room, tuple(builder.case(item, room) for item in detailed))


def drawing_of(run: Run, *, shown: Iterable[Evidence] | None = None) -> tuple[RunView, Callable[[Evidence], CaseView]]:
    """The view of a run without its cases, and what makes the view of each: there may be a hundred thousand.

    Those views have no rows of the difference: a page shows the results side by side (`assay.reports.views.alignment`).
    ``shown``: the evidence of the cases that are shown together; None: of all.
    """
    builder = _Builder(run)
    everything = shown is None or not builder.of_selections
    room = builder.survey.lengths.room() if everything else selections_build.room_for(shown or ())
    return builder.view(room, ()), lambda item: builder.case(item, room, sampled=False)


class _Builder:
    """Holds what the parts of one view share: the run, its case links, and which metrics are yes/no."""

    def __init__(self, run: Run, beside: Callable[[Evidence], None] | None = None) -> None:
        self.run = run
        self.numbers = run.aggregates
        self.survey = Survey(run, beside)
        self.findings = GoldFindings(run)
        self.links = self.survey.links
        self.repeats = repeats_view(run, self.linked)
        self.noun, self.asking = ("case", "case") if self.repeats is None else ("answer", "asking")
        self.metrics = tuple(summary.metric for summary in self.numbers.overall.metrics)
        self.of_selections = run.settings.selection is not None
        self.infos = {name: info_of(name, run.settings) for name in self.metrics}
        self.headline_metric = leading_metric(self.metrics)
        values = self.survey.values
        self.graded, self.shares, self.beyond_one = (
            values.graded(self.infos),
            values.shares(self.infos),
            values.beyond_one,
        )

    def view(self, room: selections_build.Room, cases: tuple[CaseView, ...]) -> RunView:
        numbers, totals = self.numbers, self.numbers.selection
        headline = told(self.figure(numbers.overall, self.headline_metric), self.survey.unscored)
        failures = [self.failure_row(count) for count in numbers.failures]
        return RunView(
            title=self.title(),
            headline_metric=one_line(self.headline_metric),
            headline_name=one_line(info_of(self.headline_metric, self.run.settings).title, limit=80),
            headline=headline,
            tally=f"{' · '.join(filter(None, (self.tally(headline), self.caution())))}{self.leniency}",
            lenient=self.leniency,
            caution=self.caution(),
            cases_count=numbers.cases,
            correct=numbers.correct,
            incorrect=numbers.incorrect,
            unscored=numbers.unscored,
            unanswered=numbers.unanswered,
            confidence=f"{headline.rate.confidence * 100:g} %",
            joined=self.joined(),
            notes=tuple(self.notes()),
            metrics=tuple(
                MetricRow(
                    metric=one_line(metric),
                    info=info,
                    meaning=one_line(info.said, limit=300),
                    figure=self.figure(numbers.overall, metric),
                    headline=metric == self.headline_metric,
                    graded=metric in self.graded,
                    share=info.is_share and metric not in self.beyond_one,
                )
                for metric, info in self.infos.items()
            ),
            overall=self.group_row(numbers.overall, "all"),
            difficulties=self.group_table("difficulty", numbers.by_difficulty).rows,
            groups=tuple(
                self.group_table(kind, groups)
                for kind, groups in (
                    ("difficulty", numbers.by_difficulty),
                    ("database", numbers.by_database),
                    ("tag", numbers.by_tag),
                    ("turn", totals.by_turn if totals else ()),
                    ("dataset", totals.by_dataset if totals else ()),
                )
                # A single group would repeat the headline.
                if len(groups) > 1
            ),
            disagreements=self.disagreement_rows(),
            near_misses=self.count_rows(numbers.near_misses, meanings.NEAR_MISSES, facet="near"),
            flags=self.count_rows(numbers.flags, meanings.FLAGS, facet="flag"),
            forgiven=self.forgiven_rows(),
            failures=tuple(sorted(failures, key=lambda row: _BLAME_ORDER.get(row.blame or "", 9))),
            causes=self.count_rows(numbers.causes, advices(numbers.causes), facet="cause"),
            fix_first=self.count_rows(numbers.fix_first, advices(numbers.fix_first), facet="cause"),
            findings=self.finding_rows(),
            schema_use=self.schema_use_rows(),
            cause_groups=cause_group_rows(numbers.cause_groups, self.linked, of_selections=self.of_selections),
            slowest=tuple(self.survey.slowest.rows(self.run, self.survey)),
            facts=tuple(self.facts()),
            cases=cases,
            wrong_terms=self.count_rows(
                totals.wrong_terms if totals else (), meanings.TERM_NOTES, labels=meanings.TERM_LABELS, facet="term"
            ),
            time_states=self.count_rows(totals.time_states if totals else (), meanings.TIME_STATES, facet="period"),
            times=time_rows(numbers),
            usage=usage_rows(numbers, len(self.run.evidence)),
            repeats=self.repeats,
            selection=selections_build.overview(self.run, self.metrics, room) if self.of_selections else None,
            gates=gate_rows(self.run.gates, self.links),
            strengths=self.strengths(),
            reliability=self.reliability(),
            conversations=conversations_view(numbers.conversations, self.verdict_figure),
        )

    def case(self, item: Evidence, room: selections_build.Room, *, sampled: bool = True) -> CaseView:
        link = self.survey.link_of(item.case.id, item.prediction.repeat)
        if self.of_selections:
            return selections_build.case_view(item, link, room)
        view = case_view(item, link, sampled=sampled)
        found = self.findings.of(item.case.id)
        return replace(view, findings=found, rules=self.findings.rules(item.case.id)) if found else view

    def joined(self) -> str:
        joining = self.run.provenance.joining
        return "" if joining is None else visible(joined_text(joining))

    def title(self) -> str:
        settings = self.run.settings
        return one_line(
            settings.name or f"{source_name(settings.predictions)} on {source_name(settings.cases)}", limit=120
        )

    def figure(self, group: Group, metric: str) -> Figure:
        rate = group.rate(metric) or Rate(n=0, numerator=0.0, unscored=group.cases, value=None, low=None, high=None)
        if rate.n == 0:
            tally = "no scored case"
        elif self.repeats is not None or metric in self.graded:
            tally = f"mean of {rate.n:,}"
        else:
            tally = f"{number(rate.numerator)} of {rate.n:,}"
        share = metric in self.shares or metric not in self.infos
        text, bounds = percent(rate.value, share=share), interval(rate, share=share)
        if self.survey.unscored.nothing:  # a rate over failures to ask would look like a system that is always wrong
            text, bounds, tally = percent(None), "", "no scored case"
        return Figure(rate=rate, text=text, interval=bounds, tally=tally, share=share)

    def tally(self, headline: Figure) -> str:
        if self.repeats is not None:
            scored = plural(headline.rate.n, "question") if headline.rate.n else "no scored question"
            mean = f"mean of {scored} asked {self.repeats.asked:,} times" if headline.rate.n else scored
            return f"{mean} · {headline.rate.unscored:,} unscored"
        graded = self.headline_metric in self.graded or headline.rate.n == 0
        # Another metric may accept a case that the verdict does not call correct.
        own = self.headline_metric in VERDICT and not graded
        said = "" if not own else " exact" if self.of_selections else " correct"
        return f"{headline.tally}{said} · {headline.rate.unscored:,} unscored"

    @property
    def leniency(self) -> str:
        """The run's leniency, for the headline's line."""
        said = self.run.settings.leniency.said
        return f" · lenient: {said}" if said else ""

    def lenient_notes(self) -> Iterable[str]:
        """Notes on how many cases declare a leniency of their own, and how many are right only by a leniency."""
        declaring = self.survey.declaring
        needing = next((count.count for count in self.numbers.flags if count.name == "lenient"), 0)
        if declaring:
            verb = "declares a leniency of its own" if len(declaring) == 1 else "declare a leniency of their own"
            yield f"{plural(len(declaring), 'case')} {verb}."
        if needing:
            verb, they = ("is", "it") if needing == 1 else ("are", "they")
            yield f"{plural(needing, 'case')} {verb} right only by leniency: strictly, {they} would be wrong."

    def caution(self) -> str:
        return "every answer is gold's text to the letter" if self.survey.copies.all else ""

    def notes(self) -> Iterable[str]:
        numbers, provenance = self.numbers, self.run.provenance
        yield from self.lenient_notes()
        strengths = self.strengths()
        if strengths is not None:
            yield strengths.said
        if (declining := self.reliability()) is not None:
            yield from filter(None, (declining.said, declining.silent))
        if self.repeats is not None:
            yield self.repeats.said
        yield from unscored_notes(self.survey.unscored, noun=self.noun, gold="target" if self.of_selections else "gold")
        yield from selections_build.notes(self.run, self.survey.terms)
        if numbers.unanswered:
            none = numbers.unanswered
            counted = self.survey.wrong_unanswered
            # An unanswered case whose gold is also broken is in no rate.
            which = " and" if counted == none else f", of which {counted:,}"
            said = f"{which} {_counts(counted)} as incorrect" if counted else ""
            yield f"{plural(none, self.asking)} got no answer{said}."
        yield from self.extracted_notes()
        vacuous = next((count.count for count in numbers.flags if count.name == "vacuous"), 0)
        if vacuous:
            without = self.figure(numbers.overall, "non_empty_match")
            rest = f" Over the others, accuracy is {without.text}." if without.rate.n else ""
            said = "both results are empty or computed over no rows, which says little"
            yield f"In {plural(vacuous, 'case')} {said}.{rest}"
        yield from self.open_gold_notes()
        yield from self.doubtful_gold_notes()
        yield from self.survey.slow_golds.notes()
        yield from joining_notes(provenance.joining)
        if provenance.blank_rows:
            rows = plural(provenance.blank_rows, "blank row")
            yield f"{rows} of the question set {_is(provenance.blank_rows)} skipped."
        if provenance.unmatched_predictions:
            ids = provenance.unmatched_predictions
            named = ", ".join(one_line(name, limit=40) for name in ids[:5]) + (", …" if len(ids) > 5 else "")
            yield f"{plural(len(ids), 'prediction')} {'fits' if len(ids) == 1 else 'fit'} no case: {named}."
        if provenance.unprotected:
            lacks = ", ".join(provenance.unprotected)
            yield (
                f"The system of this run ({provenance.platform}) lacks protections: {lacks}. Judge queries that you do "
                "not trust on Linux or in a container."
            )

    def extracted_notes(self) -> Iterable[str]:
        """A note on how many predictions are texts that contain the statement that was evaluated."""
        count = next((count.count for count in self.numbers.flags if count.name == "extracted"), 0)
        if count:
            contain = "contains" if count == 1 else "contain"
            yield (
                f"{plural(count, 'prediction')} {_is(count)} not a statement but {contain} one, which was evaluated "
                "(flag extracted; --no-extract evaluates texts as written). The benchmarks' own metrics score the "
                "whole text of a file's prediction."
            )

    def open_gold_notes(self) -> Iterable[str]:
        """Notes on how many golds leave their answer open, and on the accuracy without them."""
        determined = self.numbers.determined
        if determined is None:
            return
        cases, all_tie = len(self.survey.ambiguous), len(self.survey.all_tie)
        wide = f", and in {all_tie:,} all its rows tie, where a match says almost nothing" if all_tie else ""
        rest = self.over_the_others(determined)
        yield f"In {plural(cases, 'case')} gold leaves its answer open: it takes some of the rows that tie{wide}.{rest}"

    def doubtful_gold_notes(self) -> Iterable[str]:
        """Notes on how many golds the lint doubts, and on the accuracy without them."""
        sound = self.numbers.sound
        yield from self.findings.notes("" if sound is None else self.over_the_others(sound, bounded=True))

    def over_the_others(self, others: Group, *, bounded: bool = False) -> str:
        """The headline over some of the cases, as a sentence, ``bounded`` with its interval; empty if none counts."""
        without = self.figure(others, self.headline_metric)
        if not without.rate.n:
            return ""
        info = info_of(self.headline_metric, self.run.settings)
        what = info.heading.lower() or one_line(info.title, limit=80)
        bounds = f" {without.interval}" if bounded and without.interval else ""
        return f" Over the others, {what} is {without.text}{bounds} ({without.tally})."

    def group_table(self, kind: str, groups: Sequence[Group]) -> GroupTable:
        def name(group: Group) -> str:
            if group.name is None:
                return f"no {kind}"
            shown = one_line(group.name, limit=60) or "''"
            return f"turn {shown}" if kind == "turn" else shown

        rows = tuple(self.group_row(group, name(group)) for group in groups)
        return GroupTable(kind=kind, title=kind, rows=rows)

    def group_row(self, group: Group, name: str) -> GroupRow:
        return GroupRow(
            name=name,
            cases=group.cases,
            value=None if group.name is None else one_line(group.name, limit=60 if group.kind == "tag" else 80),
            headline=self.figure(group, self.headline_metric),
            figures=tuple(self.figure(group, metric) for metric in self.metrics),
            answer_time=group.answer_time,
        )

    def disagreement_rows(self) -> tuple[DisagreementRow, ...]:
        def row(found: Disagreement) -> DisagreementRow:
            return DisagreementRow(
                first=one_line(found.first),
                second=one_line(found.second),
                count=_differing(found),
                both=found.both,
                neither=found.neither,
                only_first=self.linked(found.only_first),
                only_second=self.linked(found.only_second),
                leading=self.headline_metric in (found.first, found.second),
            )

        def place(found: DisagreementRow) -> tuple[bool, int]:
            return not found.leading, -found.count

        return tuple(sorted(map(row, self.numbers.disagreements), key=place))

    def count_rows(
        self, counts: Sequence[Count], said: Mapping[str, str], *, facet: str, labels: Mapping[str, str] | None = None
    ) -> tuple[CountRow, ...]:
        """Rows of counts; ``said``: the meaning per name; ``labels``: titles of names that do not read as words."""
        named = [((labels or {}).get(count.name) or words(count.name), count) for count in counts]
        return tuple(
            replace(
                self.count_row(count, name, said.get(count.name, "")),
                facet=(facet, one_line(count.name, limit=80) if facet == "cause" else name),
            )
            for name, count in named
        )

    def schema_use_rows(self) -> tuple[CountRow, ...]:
        """Wrong answers by the tables and columns that they use, with their share of those."""
        counts = self.numbers.schema_use
        known = sum(count.count for count in counts)
        rows = self.count_rows(counts, meanings.SCHEMA_USE, facet="use", labels=meanings.SCHEMA_USE_LABELS)
        return tuple(replace(row, share=row.count / known) for row in rows)

    def forgiven_rows(self) -> tuple[CountRow, ...]:
        """Per kind of near miss, a row of its cases with the accuracy if this kind were forgiven."""
        rows = []
        for one in self.numbers.forgiven:
            label = meanings.FORGIVEN.get(one.kind, words(one.kind))
            count = Count(name=one.kind, count=one.count, case_ids=one.case_ids)
            said = meanings.NEAR_MISSES.get(one.kind, "")
            row = self.count_row(count, f"{label}: {percent(one.rate.value)} {interval(one.rate)}".strip(), said)
            rows.append(replace(row, facet=("near", words(one.kind))))
        return tuple(rows)

    def count_row(
        self, count: Count, name: str, meaning: str, *, blame: str | None = None, example: str | None = None
    ) -> CountRow:
        return CountRow(
            name=name,
            meaning=meaning,
            count=count.count,
            share=count.count / self.numbers.cases if self.numbers.cases else 0.0,
            cases=self.linked(count.case_ids),
            blame=blame,
            example=example,
        )

    def strengths(self) -> StrengthsView | None:
        """How sure the matches are."""

        def row(count: Count, name: str, meaning: str) -> CountRow:
            return replace(self.count_row(count, name, meaning), facet=("strength", name))

        return strengths_view(self.numbers.witnesses, self.verdict_figure, row)

    def reliability(self) -> ReliabilityView | None:
        """Answering and declining."""
        return reliability_view(
            self.numbers.reliability, self.run.settings.penalties, self.verdict_figure, self.count_row
        )

    def verdict_figure(self, rate: Rate) -> Figure:
        """The figure of a rate over right and wrong answers."""
        tally = f"mean of {rate.n:,}" if self.repeats is not None else f"{number(rate.numerator)} of {rate.n:,}"
        tally = tally if rate.n else "no scored case"
        return Figure(rate=rate, text=percent(rate.value), interval=interval(rate), tally=tally)

    def finding_rows(self) -> tuple[CountRow, ...]:
        """Per rule, the cases whose gold it doubts."""
        said = self.findings.meanings()
        return tuple(
            replace(self.count_row(count, count.name, said.get(count.name, "")), facet=("finding", count.name))
            for count in self.findings.counts()
        )

    def failure_row(self, count: Count) -> CountRow:
        blame, _, kind = count.name.partition(": ")
        example = self.survey.messages.of(count.name)
        said = meanings.SELECTION_FAILURES if self.of_selections else meanings.FAILURES
        blame = selections_build.blamed(blame) if self.of_selections else blame
        name = "no target" if self.of_selections and kind == "no_gold" else words(kind)
        row = self.count_row(count, name, said.get(kind, ""), blame=blame, example=example)
        return replace(row, facet=("failure", f"{blame}: {name}"))

    def linked(self, case_ids: Sequence[str]) -> tuple[CaseLink, ...]:
        return tuple(self.links[case_id] for case_id in case_ids if case_id in self.links)

    def facts(self) -> Iterable[Fact]:
        settings, provenance = self.run.settings, self.run.provenance
        limits = settings.limits
        engines = ", ".join(f"{engine.name} {engine.digest}" for engine in provenance.engine_versions)
        of_queries = (
            ("Database", settings.database),
            ("Gold's database", settings.gold_database or ""),
            ("Columns", "in gold's order" if settings.columns == "strict" else "in any order, the same for all rows"),
            ("Tolerance", f"relative {settings.relative_tolerance:g}, absolute {settings.absolute_tolerance:g}"),
            ("Leniency", settings.leniency.said or "none"),
            ("Limits", _limits(limits)),
            ("Engines", engines),
        )
        of_selections = (*selections_build.facts(self.run), ("Libraries", engines))
        entries = (
            ("Cases", settings.cases),
            ("Predictions", settings.predictions),
            ("Joined", self.joined()),
            *(of_selections if self.of_selections else of_queries),
            ("Asked", "" if self.repeats is None else f"each question {self.repeats.asked:,} times"),
            *usage_facts(self.numbers, len(self.run.evidence)),
            *self.findings.facts(),
            ("Assay", f"{provenance.assay_version} on Python {provenance.python_version}, {provenance.platform}"),
            ("Started", provenance.started_at or ""),
            ("Took", seconds(provenance.wall_time_s) if provenance.wall_time_s is not None else ""),
        )
        return [Fact(name=name, value=visible(value)) for name, value in entries if value]


def _differing(found: Disagreement) -> int:
    """Cases on which the two differ. Of several answers to one question, each metric may accept a different one."""
    return len({*found.only_first, *found.only_second})


def _limits(limits: Limits) -> str:
    own = "" if limits.gold_timeout_s is None else f" (gold {limits.gold_timeout_s:g} s)"
    return f"{limits.timeout_s:g} s{own}, {limits.max_rows:,} rows, {_size(limits.max_memory_bytes)} a query"


def _size(count: int) -> str:
    return f"{count / 2**30:g} GiB" if count >= 2**30 else f"{count / 2**20:g} MiB"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _counts(count: int) -> str:
    return "counts" if count == 1 else "count"
