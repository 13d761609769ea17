"""How steady a system's answers are if each question is asked several times: as a sentence, and as a section."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.model import PassRate, RepeatTotals
from assay.reports.blocks.run_numbers import RunNumbers
from assay.reports.blocks.values import (
    Column,
    Description,
    Name,
    Number,
    Row,
    Section,
    Table,
    columns,
    count,
    rows,
)
from assay.reports.text.meanings import STEADINESS
from assay.reports.text.plain import interval, percent, plural

_ALL_UP_TO = 10
_OF_MANY = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def shown_rates(totals: RepeatTotals) -> Sequence[PassRate]:
    """The rates over k answers, for all k or, if there are many, for some of them."""
    every = totals.asked <= _ALL_UP_TO
    return [one for one in totals.pass_rates if every or one.k in (*_OF_MANY, totals.asked)]


def said(totals: RepeatTotals, cases: int) -> str:
    """``36 questions, asked 3 times each: 12 stable right, 20 stable wrong, 4 flaky; pass@3 …, pass^3 ….``"""
    counts = f"{totals.stable_right:,} stable right, {totals.stable_wrong:,} stable wrong, {len(totals.flaky):,} flaky"
    without = f", {totals.unscored:,} without a scored answer" if totals.unscored else ""
    text = f"{plural(cases, 'question')}, asked {totals.asked:,} times each: {counts}{without}"
    # For the largest k that some question has enough scored answers for.
    best = next((one for one in reversed(totals.pass_rates) if one.any.n), None)
    if best is None:
        return f"{text}."
    rates = ((f"pass@{best.k}", best.any), (f"pass^{best.k}", best.all))
    return f"{text}; {', '.join(f'{name} {percent(rate.value)} {interval(rate)}'.rstrip() for name, rate in rates)}."


def section(report: RunNumbers, totals: RepeatTotals) -> Section:
    """pass@k and pass^k."""
    table = Table(
        columns=columns(
            "k",
            Column(title="pass@k", long="pass@{}", parts="bounds"),
            Column(title="pass^k", long="pass^{}", parts="bounds"),
            Column(title="questions", long="n"),
        ),
        rows=rows(
            (f"{one.k:,}", report.verdict_figure(one.any), report.verdict_figure(one.all), count(one.any.n))
            for one in shown_rates(totals)
        ),
        look="figures",
    )
    return Section(
        key="repeats",
        title="k answers to a question",
        aside="pass@k, at least one is right; pass^k, all are",
        blocks=(table,),
        rank=1,
    )


def steadiness(report: RunNumbers, totals: RepeatTotals) -> Iterable[Row]:
    """Counts of questions by how steady their answers are; the flaky questions are named."""
    counts = (totals.stable_right, totals.stable_wrong, len(totals.flaky), totals.unscored)
    for (name, meaning), number in zip(STEADINESS.items(), counts, strict=True):
        if number or name != "no scored answer":
            share = number / report.numbers.cases if report.numbers.cases else 0.0
            yield Row(
                cells=(
                    Name(text=name),
                    count(number, link=(("steady", name),)),
                    Number(value=share, text="", style="percent"),
                    report.linked(totals.flaky) if name == "flaky" else (),
                    Description(meaning=meaning),
                )
            )
