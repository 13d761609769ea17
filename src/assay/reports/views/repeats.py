"""The part of a report on a run that asked each question several times."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.model import Rate, RepeatTotals, Run
from assay.reports.text.plain import interval, percent, plural
from assay.reports.views.figures import CaseLink, CountRow, Figure
from assay.reports.views.run import PassRow, RepeatsView

_ALL_UP_TO = 10
_OF_MANY = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
STEADY = (
    ("stable right", "every scored answer is right"),
    ("stable wrong", "every scored answer is wrong"),
    ("flaky", "some answers are right and some are wrong"),
    ("no scored answer", "in none of the rates"),
)


def answer_name(repeat: int, run: Run) -> str:
    """Which answer to its question this is: ``answer 2 of 3``; '' where each question was asked once."""
    asked = run.settings.repeats
    return f"answer {repeat + 1:,} of {asked:,}" if asked > 1 else ""


def repeats_view(run: Run, linked: Callable[[Sequence[str]], tuple[CaseLink, ...]]) -> RepeatsView | None:
    """How steady the system's answers are; None where each question was asked once."""
    totals = run.aggregates.repeats
    if totals is None:
        return None
    cases = run.aggregates.cases
    counts = (totals.stable_right, totals.stable_wrong, len(totals.flaky), totals.unscored)
    return RepeatsView(
        asked=totals.asked,
        said=_said(totals, cases),
        rows=tuple(
            PassRow(k=one.k, any=_figure(one.any), all=_figure(one.all))
            for one in totals.pass_rates
            if totals.asked <= _ALL_UP_TO or one.k in (*_OF_MANY, totals.asked)
        ),
        steadiness=tuple(
            CountRow(
                name=name,
                meaning=meaning,
                count=count,
                share=count / cases if cases else 0.0,
                cases=linked(totals.flaky) if name == "flaky" else (),
                facet=("steady", name) if count else None,  # no case has it, so there is no link
            )
            for (name, meaning), count in zip(STEADY, counts, strict=True)
            if count or name != "no scored answer"
        ),
    )


def _figure(rate: Rate) -> Figure:
    return Figure(rate=rate, text=percent(rate.value), interval=interval(rate), tally=f"mean of {rate.n:,}")


def _said(totals: RepeatTotals, cases: int) -> str:
    """Such as ``36 questions, asked 3 times each: 12 stable right, 20 stable wrong, 4 flaky; pass@3 …, pass^3 ….``"""
    counted = f"{totals.stable_right:,} stable right, {totals.stable_wrong:,} stable wrong, {len(totals.flaky):,} flaky"
    without = f", {totals.unscored:,} without a scored answer" if totals.unscored else ""
    said = f"{plural(cases, 'question')}, asked {totals.asked:,} times each: {counted}{without}"
    # For the largest k that some question has enough scored answers for.
    best = next((one for one in reversed(totals.pass_rates) if one.any.n), None)
    if best is None:
        return f"{said}."
    rates = ((f"pass@{best.k}", best.any), (f"pass^{best.k}", best.all))
    told = ", ".join(f"{name} {percent(rate.value)} {interval(rate)}".rstrip() for name, rate in rates)
    return f"{said}; {told}."
