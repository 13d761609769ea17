"""What people's reviews change: the accuracy after them, as a sentence and as a section, and one case's decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sized

from assay.model import CaseSummary, Evidence, ReviewTotals
from assay.reports.blocks.counts import count_table, figure_table
from assay.reports.blocks.run_numbers import RunNumbers
from assay.reports.blocks.values import Block, Description, Row, Section, Text
from assay.reports.text.meanings import REVIEW_DECISIONS
from assay.reports.text.plain import one_line, plural, words
from assay.runs.reviews.applying import NO_SUCH_CASE

_NAMED = 5


def section(report: RunNumbers, totals: ReviewTotals) -> Section:
    """Accuracy before and after the reviews, the decisions, and the verdicts that they change."""
    lines = (
        ("before", totals.before, "by Assay's own verdicts"),
        ("after", totals.after, "by the reviewed verdicts, and by Assay's own without a review"),
    )
    figures = figure_table(
        "accuracy",
        (
            Row(
                cells=(name, report.verdict_figure(rate), Description(meaning=meaning)),
                strong=rate is totals.after,
                style="percent",
            )
            for name, rate, meaning in lines
        ),
    )
    blocks: list[Block] = [figures]
    decisions = [
        report.counted(one, name, REVIEW_DECISIONS[one.name], link=(("review", name),))
        for one in totals.decisions
        for name in [words(one.name)]
    ]
    if decisions:
        blocks.append(count_table(("decision", "cases"), decisions))
    changes = [report.counted(one, one.name, "", link=(("reviewed", one.name),)) for one in totals.changes]
    if changes:
        blocks.append(count_table(("verdict changed", "cases"), changes))
    if people := ", ".join(one_line(name, limit=40) for name in totals.reviewers):
        rule = {"latest": "the latest decision counts", "majority": "the majority decides"}
        settle = rule.get(totals.settle, f"the decision of {totals.settle} counts")
        shared = f"; if they disagree, {settle}" if len(totals.reviewers) > 1 else ""
        blocks.append(Text(lines=(f"Reviewed by {people}{shared}.",)))
    return Section(key="reviews", title="After people's reviews", blocks=tuple(blocks), rank=1)


def said(totals: ReviewTotals) -> Iterable[str]:
    """What a reader must know about the reviews, in sentences."""
    changed = sum(one.count for one in totals.changes)
    unsure = f" Reviewers are not sure about {plural(len(totals.unsure), 'other case')}." if totals.unsure else ""
    if totals.reviewed:
        are = "is" if len(totals.reviewed) == 1 else "are"
        what = "no verdict" if not changed else plural(changed, "verdict")
        yield f"{plural(len(totals.reviewed), 'case')} {are} reviewed, which changes {what}.{unsure}"
    elif unsure:
        yield f"No case has a decision.{unsure}"
    if pending := totals.pending:
        yield (
            f"{plural(len(pending), 'reviewed case')} must be scored by the corrected question first, and "
            f"{'is' if len(pending) == 1 else 'are'} unscored until then: make the run again ({_named(pending)})."
        )
    if totals.conflicts:
        yield f"Reviewers disagree about {plural(len(totals.conflicts), 'case')}: {_named(totals.conflicts)}."
    if totals.done:
        are = "is" if totals.done == 1 else "are"
        yield f"{plural(totals.done, 'review')} {are} already applied to the question set."
    stale = [one for one in totals.inactive if one.why != NO_SUCH_CASE]
    if stale:
        changes = Counter(one.why for one in stale)
        why = "; ".join(f"{what} changed: {count:,}" for what, count in changes.most_common())
        shown = ", ".join(f"{one_line(one.case_id, limit=40)}{_line(one.line)}" for one in stale[:_NAMED])
        told = f"{plural(len(stale), 'review')} {'is' if len(stale) == 1 else 'are'} stale and without effect"
        yield f"{told} ({why}): {shown}{_more(stale)}."
    unknown = [one for one in totals.inactive if one.why == NO_SUCH_CASE]
    # A folder may hold several question sets with one file of reviews: only those of this one are of interest.
    if unknown and (totals.reviewed or totals.conflicts or totals.done or totals.unsure or totals.pending or stale):
        shown = ", ".join(f"{one_line(one.case_id, limit=40)}{_line(one.line)}" for one in unknown[:_NAMED])
        are = "is of a case" if len(unknown) == 1 else "are of cases"
        told = f"{plural(len(unknown), 'review')} {are} that this run does not have, or of other question sets"
        yield f"{told}: {shown}{_more(unknown)}."


def _line(number: int | None) -> str:
    return "" if number is None else f" (line {number})"


def _named(case_ids: tuple[str, ...]) -> str:
    return ", ".join(one_line(name, limit=40) for name in case_ids[:_NAMED]) + _more(case_ids)


def _more(items: Sized) -> str:
    left = len(items) - _NAMED
    return f" and {left:,} more" if left > 0 else ""


def of_case(item: Evidence) -> tuple[str, str] | None:
    """The reviewed verdict of an answer, and why; None if there is none."""
    found = item.reviewed
    if found is None:
        return None
    return ("pending" if found.pending else found.outcome), one_line(found.reason, limit=1000)


def change(case: CaseSummary) -> tuple[str, ...]:
    """How the reviewed verdict of an answer differs from Assay's own, as a filter names it."""
    if case.reviewed is None or case.pending or case.reviewed == case.outcome:
        return ()
    return (f"{case.outcome} to {case.reviewed}",)
